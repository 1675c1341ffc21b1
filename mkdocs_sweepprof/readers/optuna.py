"""Optuna: studies in SQLite databases and in journal files; each trial is a run.

Optuna 5 stores UTC, 4 and older the local time of the machine without its zone; durations are the same either way.
Intermediate values have no time of their own, so a trial has a start and an end, and no markers.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mkdocs_sweepprof.readers import sqlite
from mkdocs_sweepprof.readers.base import Reading, Run, Scalar, Source, Status
from mkdocs_sweepprof.readers.complaints import Complaints
from mkdocs_sweepprof.readers.tree import Tree
from mkdocs_sweepprof.readers.values import EARLIEST, finite, parse_time, scalar

TABLES = frozenset({"studies", "trials", "trial_params", "version_info"})
MARKS, NAMES = (b"distribution_json", b'"CategoricalDistribution"', b'"FloatDistribution"'), ("optuna", "study")
"""What tells a damaged database of Optuna."""
JOURNALS = (".log", ".journal", ".jsonl", ".json", ".txt", ".log.gz", ".journal.gz", ".jsonl.gz")
"""How people name a journal file."""
MAX_TRIALS = 1_000_000
MAX_ROWS = 10_000_000
"""Rows read of one table."""
UTC_SINCE = 5
"""First major version that stores UTC."""
HOUR = 3600.0

_FIRST = re.compile(rb'^(?:\xef\xbb\xbf)?\s*\{"op_code"\s*:\s*\d+\s*,\s*"worker_id"\s*:')
_ZONED = re.compile(r"(?:[zZ]|[+-]\d\d:?\d\d)$")
_STATES: dict[str, Status] = {
    "RUNNING": "running",
    "COMPLETE": "completed",
    "PRUNED": "pruned",
    "FAIL": "failed",
    "WAITING": "not_started",
}
_STATE_NUMBERS = ("RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING")
# What a journal line does.
_CREATE_STUDY, _DELETE_STUDY, _CREATE_TRIAL, _PARAM, _STATE = 0, 1, 4, 5, 6
_LOST_OP = re.compile(r'"op_code"\s*:\s*(\d+)')
_LOST_STUDY = re.compile(r'"study_id"\s*:\s*(\d+)')


@dataclass(slots=True)
class Trial:
    """One trial, as stored."""

    study: Any
    number: int
    state: str | None = None
    start: Any = None
    complete: Any = None
    heartbeat: Any = None
    config: dict[str, Scalar] = field(default_factory=dict)
    line: int | None = None
    lost: bool = False
    """A journal line that could not be read created it."""


class OptunaReader:
    """Optuna databases and journals. A trial's id is ``<study>/<number>``."""

    name = "optuna"
    title = "Optuna"
    version = 1

    def find(self, tree: Tree) -> Sequence[Source]:
        """One source a database or journal."""
        sources = []
        databases = sqlite.candidates(tree)
        ours = set()
        for path in databases:
            if sqlite.is_sqlite(tree, path) and sqlite.has_tables(tree, path, TABLES, MARKS, NAMES):
                ours.add(path.rpartition("/")[0])
                sources.append(Source(self.name, path, (path, *sqlite.beside(tree, path))))
        for path in databases:
            # Beside a study, an empty database is one that was never begun.
            if tree.size(path) == 0 and path.rpartition("/")[0] in ours:
                sources.append(Source(self.name, path, (path,)))
        for path in tree.files:
            if path.endswith(JOURNALS) and _FIRST.match(tree.head(path, 200)):
                sources.append(Source(self.name, path, (path,)))
        return sources

    def read(self, tree: Tree, source: Source) -> Reading:
        """All trials of all studies in one file."""
        path = source.files[0]
        complaints = Complaints()
        reading = Reading()
        if tree.size(path) == 0:
            complaints.add(
                path,
                "the database is empty: no study was ever begun in it.",
                "Remove it.",
                kind="unreadable",
                severity="info",
            )
        elif path.lower().endswith(sqlite.SUFFIXES):
            _read_database(tree, path, reading, complaints)
        else:
            _read_journal(tree, path, reading, complaints)
        for run in reading.runs:
            run.files = source.files
        reading.problems = complaints.all()
        return reading


# --- SQLite --------------------------------------------------------------------------------------------------------


def _read_database(tree: Tree, path: str, reading: Reading, complaints: Complaints) -> None:
    try:
        with sqlite.opened(tree, path) as connection:
            _read_tables(connection, path, reading, complaints)
    except OSError as error:
        complaints.cannot_read(path, error)
    except sqlite3.Error as error:
        complaints.add(
            path,
            f"the database cannot be opened ({error}).",
            "Copy it again, or recover it with `sqlite3 <file> .recover`.",
            kind="unreadable",
        )


def _read_tables(connection: sqlite3.Connection, path: str, reading: Reading, complaints: Complaints) -> None:
    version: str | None = None
    for (value,) in sqlite.rows(connection, "SELECT library_version FROM version_info", path, complaints, 10):
        version = str(value)
    names: dict[Any, str] = {}
    for key, name in sqlite.rows(connection, "SELECT study_id, study_name FROM studies", path, complaints, MAX_TRIALS):
        names[key] = str(name)
    trials: dict[Any, Trial] = {}
    known = sqlite.columns(connection, "trials")
    number = "number" if "number" in known else "NULL"
    counted: dict[Any, int] = {}
    query = f"SELECT trial_id, study_id, {number}, state, datetime_start, datetime_complete FROM trials"  # noqa: S608
    for key, study, given, state, start, complete in sqlite.rows(connection, query, path, complaints, MAX_TRIALS):
        position = counted.get(study, 0)
        counted[study] = position + 1
        trials[key] = Trial(study, given if isinstance(given, int) else position, state, start, complete)
    query = "SELECT trial_id, param_name, param_value, distribution_json FROM trial_params"
    for key, name, value, distribution in sqlite.rows(connection, query, path, complaints, MAX_ROWS):
        if key in trials:
            trials[key].config[str(name)] = _external(value, distribution)
    if sqlite.columns(connection, "trial_heartbeats"):
        query = "SELECT trial_id, MAX(heartbeat) FROM trial_heartbeats GROUP BY trial_id"
        for key, beat in sqlite.rows(connection, query, path, complaints, MAX_TRIALS):
            if key in trials:
                trials[key].heartbeat = beat
    _to_runs(list(trials.values()), names, path, version, reading, complaints)


def _external(value: Any, distribution: Any) -> Scalar:
    """A stored parameter as the trial saw it: a choice by its index, a whole number as int."""
    try:
        parsed = json.loads(distribution) if isinstance(distribution, str) else distribution
    except (ValueError, RecursionError):
        parsed = None
    number = finite(value)
    if not isinstance(parsed, dict):
        return scalar(value)
    kind, attributes = str(parsed.get("name", "")), parsed.get("attributes")
    choices = attributes.get("choices") if isinstance(attributes, dict) else None
    if kind == "CategoricalDistribution" and isinstance(choices, list):
        if number is not None and 0 <= number < len(choices):
            return scalar(choices[int(number)])
        return f"choice {value}"
    if kind.startswith("Int") and number is not None:
        return int(number)
    return scalar(value)


# --- journal -------------------------------------------------------------------------------------------------------


def _read_journal(tree: Tree, path: str, reading: Reading, complaints: Complaints) -> None:
    """Replay the journal. Studies and trials are numbered by the order in which lines created them."""
    names: dict[Any, str] = {}
    deleted: set[int] = set()
    trials: list[Trial] = []
    counted: dict[Any, int] = {}
    try:
        lines = tree.read_text(path).split("\n")
    except OSError as error:
        complaints.cannot_read(path, error)
        return
    last = max((i for i, line in enumerate(lines) if line.strip("\0 \t")), default=0)
    for index, line in enumerate(lines):
        if not line.strip("\0 \t"):
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict) or not isinstance(entry.get("op_code"), int):
            entry = _lost(line)
            cut = index == last and not line.rstrip().endswith("}")
            told = "it is left out"
            if entry is None and not cut:
                told += "; if it created a trial, later trials have the wrong parameters"
            complaints.add(
                path,
                f"the {'last line is cut' if cut else 'line is no journal entry'}; {told}.",
                "Nothing needs to be done if the process was killed." if cut else "Copy the journal again.",
                line=index + 1,
                kind="unreadable",
                severity="info" if cut else "warning",
            )
            if entry is None:
                continue
        _replay(entry, index + 1, names, deleted, trials, counted)
        if len(trials) > MAX_TRIALS:
            complaints.add(
                path, f"more than {MAX_TRIALS} trials; the rest was not read.", "Split the study.", kind="size"
            )
            break
    kept = [t for t in trials if t.study not in deleted]
    if deleted:
        count = f"{len(deleted)} deleted {'study' if len(deleted) == 1 else 'studies'}"
        reading.mentions.append(f"{count} with {len(trials) - len(kept)} trials left out.")
    _to_runs(kept, names, path, None, reading, complaints)


def _lost(line: str) -> dict[str, Any] | None:
    """What a damaged line did, when it created something: others are counted from it."""
    op, study = _LOST_OP.search(line), _LOST_STUDY.search(line)
    if op and int(op.group(1)) == _CREATE_TRIAL:
        return {"op_code": _CREATE_TRIAL, "study_id": int(study.group(1)) if study else 0, "lost": True}
    if op and int(op.group(1)) == _CREATE_STUDY:
        return {"op_code": _CREATE_STUDY}
    return None


def _replay(
    entry: dict[str, Any],
    line: int,
    names: dict[Any, str],
    deleted: set[int],
    trials: list[Trial],
    counted: dict[Any, int],
) -> None:
    op = entry["op_code"]
    if op == _CREATE_STUDY:
        name = entry.get("study_name")
        # A study of a name that exists is not created again.
        alive = {names[k] for k in names if k not in deleted}
        if name is None or name not in alive:
            names[len(names)] = str(name) if name is not None else f"study {len(names)}"
    elif op == _DELETE_STUDY:
        if entry.get("study_id") in names:
            deleted.add(entry["study_id"])
    elif op == _CREATE_TRIAL:
        study = entry.get("study_id")
        if study not in names or study in deleted:
            return
        trial = Trial(study, counted.get(study, 0), line=line, lost=bool(entry.get("lost")))
        counted[study] = trial.number + 1
        trial.state = _state(entry.get("state", 0))
        trial.start, trial.complete = entry.get("datetime_start"), entry.get("datetime_complete")
        params, distributions = entry.get("params"), entry.get("distributions")
        if isinstance(params, dict) and isinstance(distributions, dict):
            # A trial that was added as a whole carries its parameters as the trial saw them, or by index.
            for name, value in params.items():
                trial.config[str(name)] = _external(value, distributions.get(name))
        trials.append(trial)
    elif op in (_PARAM, _STATE):
        key = entry.get("trial_id")
        if not isinstance(key, int) or not 0 <= key < len(trials):
            return
        trial = trials[key]
        if trial.state not in (None, "RUNNING", "WAITING"):
            return  # what is finished cannot be changed
        if op == _PARAM:
            trial.config[str(entry.get("param_name"))] = _external(
                entry.get("param_value_internal"), entry.get("distribution")
            )
            return
        trial.state = _state(entry.get("state"))
        trial.start = entry.get("datetime_start", trial.start)
        trial.complete = entry.get("datetime_complete", trial.complete)


def _state(value: Any) -> str | None:
    if isinstance(value, int) and 0 <= value < len(_STATE_NUMBERS):
        return _STATE_NUMBERS[value]
    return str(value) if value is not None else None


# --- both ----------------------------------------------------------------------------------------------------------


def _to_runs(
    trials: Sequence[Trial],
    names: dict[Any, str],
    path: str,
    version: str | None,
    reading: Reading,
    complaints: Complaints,
) -> None:
    folder = path.rpartition("/")[0]
    several = len({t.study for t in trials}) > 1
    for trial in sorted(trials, key=lambda t: (str(names.get(t.study, t.study)), t.number)):
        study = names.get(trial.study, f"study {trial.study}")
        identity = f"{study}/{trial.number}"
        run = Run(f"{folder}/{identity}" if folder else identity, "optuna")
        if folder:
            run.aliases = (identity,)
        run.config = dict(sorted(trial.config.items()))
        if several:
            run.config.setdefault("study", study)
        run.status = _STATES.get(trial.state or "")
        if trial.state is not None and run.status is None:
            complaints.add(
                path,
                f"trial {identity} has state {trial.state[:40]!r}, which Optuna does not know; it is not used.",
                "Correct it (RUNNING, COMPLETE, PRUNED, FAIL, WAITING).",
                line=trial.line,
                run=run.id,
            )
        notes: list[str] = []
        run.started_at = _instant(trial.start, "start", identity, path, trial.line, complaints)
        run.ended_at = _instant(trial.complete, "end", identity, path, trial.line, complaints)
        _check_clock(run, identity, path, trial.line, complaints, notes)
        beat = parse_time(trial.heartbeat) if trial.heartbeat else None
        if run.ended_at is None and run.started_at is not None and run.status == "running":
            run.first_activity = run.started_at
            run.last_activity = max(run.started_at, beat) if beat is not None else run.started_at
        if _is_local(trial.start, version):
            older = f"Optuna {version}" if version else "Optuna before 5"
            notes.append(
                f"{older} stores local time without its zone; it is taken as UTC, so that dates may be some hours off. "
                "Durations are not affected."
            )
        if trial.lost:
            run.unreadable = run.started_at is None
        run.notes = tuple(notes)
        reading.runs.append(run)


def _instant(value: Any, what: str, identity: str, path: str, line: int | None, complaints: Complaints) -> float | None:
    if value is None or value == "":
        return None
    time = parse_time(value)
    if time is None or time < EARLIEST:
        complaints.add(
            path,
            f"the {what} of trial {identity} is {str(value)[:40]!r}, which is no time; it is not used.",
            "Correct it, or delete the trial.",
            line=line,
            kind="time",
        )
        return None
    return time


def _check_clock(
    run: Run, identity: str, path: str, line: int | None, complaints: Complaints, notes: list[str]
) -> None:
    """An end before its start cannot be used."""
    start, end = run.started_at, run.ended_at
    if start is None or end is None or end >= start:
        return
    back = start - end
    why = "its clock was set back" + (", or daylight saving time ended while it ran" if back < HOUR else "")
    complaints.add(
        path,
        f"trial {identity} ends {back:.1f} s before it starts: {why}. Its duration is not known.",
        "Exclude the run in collection.yml.",
        line=line,
        kind="clock",
        severity="info",
        run=run.id,
    )
    notes.append("Its end lies before its start, since the clock was set back; its duration is not known.")
    run.ended_at = None


def _is_local(value: Any, version: str | None) -> bool:
    """Whether a time was stored without its zone by a version that meant local time."""
    if not isinstance(value, str) or _ZONED.search(value):
        return False
    if version is None:
        return True  # a journal of Optuna 5 has the offset
    major = version.partition(".")[0]
    return not major.isdigit() or int(major) < UTC_SINCE
