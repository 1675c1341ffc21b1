"""MLflow: file stores (``mlruns/<experiment>/<run>/meta.yaml``) and SQLite databases.

A store holds more than runs: experiments, a model registry, deleted runs, and parents that only hold their children.
MLflow keeps one start and one end in milliseconds; metrics carry their own times, which give progress markers and,
where a run was resumed, its sessions.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mkdocs_sweepprof.readers import sqlite
from mkdocs_sweepprof.readers.base import Reading, Run, Scalar, Source, Status
from mkdocs_sweepprof.readers.complaints import Complaints
from mkdocs_sweepprof.readers.progress import Point, markers
from mkdocs_sweepprof.readers.sessions import Stamp, infer
from mkdocs_sweepprof.readers.tree import Tree
from mkdocs_sweepprof.readers.values import EARLIEST, BadText, finite, guess, load_yaml, parse_time

META = "meta.yaml"
TABLES = frozenset({"experiments", "runs", "params", "tags", "metrics"})
"""What an MLflow database holds, among much else."""
MARKS, NAMES = (b"run_uuid", b"mlflow."), ("mlflow", "mlruns")
"""What tells a damaged database of MLflow."""
MAX_RECORDS = 500_000
"""Metric records of one run in a file store; the rest is left aside, and said."""
MAX_ROWS = 5_000_000
"""Rows read of one table of a database."""
PARENT_OWN_SHARE = 0.5
"""A parent is a run of its own when its children cover less than this share of its time, and it logged a series of
metrics itself."""
COUNTERS = frozenset({"epoch", "trainer/epoch", "current_epoch"})
"""Metrics whose value is an epoch number."""
STEP_COUNTERS = frozenset({"global_step", "trainer/global_step", "step", "iteration"})
"""Metrics whose value is a step number."""

_STATUS: dict[str, Status] = {
    "1": "running",
    "2": "not_started",
    "3": "completed",
    "4": "failed",
    "5": "killed",
    "RUNNING": "running",
    "SCHEDULED": "not_started",
    "FINISHED": "completed",
    "FAILED": "failed",
    "KILLED": "killed",
}
_RUN = re.compile(rb"^(?:\xef\xbb\xbf)?(?:run_id|run_uuid)\s*:", re.M)
_OURS = re.compile(rb"^(?:\xef\xbb\xbf)?(?:experiment_id|lifecycle_stage|artifact_uri)\s*:", re.M)
_EXPERIMENT = re.compile(rb"^(?:\xef\xbb\xbf)?(?:artifact_location|lifecycle_stage)\s*:", re.M)
_RUN_ONLY = re.compile(rb"^(?:\xef\xbb\xbf)?(?:artifact_uri|start_time|end_time)\s*:", re.M)
_EXPERIMENT_ID = re.compile(rb"^(?:\xef\xbb\xbf)?experiment_id\s*:", re.M)
_REGISTRY = re.compile(rb"^(?:\xef\xbb\xbf)?(?:current_stage|model_id|version)\s*:", re.M)
_DELETED = re.compile(rb"^(?:\xef\xbb\xbf)?lifecycle_stage\s*:\s*['\"]?deleted", re.M)
_RUN_FOLDER = re.compile(r"[0-9a-f]{32}")
_PARENT_TAG = "mlflow.parentRunId"
_ASIDE = "#left aside"


@dataclass(slots=True)
class Raw:
    """One run as a store holds it. Times are epoch seconds."""

    run_id: str
    name: str | None = None
    status: str | None = None
    start: float | None = None
    end: float | None = None
    params: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    stamps: list[Stamp] = field(default_factory=list)
    epochs: list[Point] = field(default_factory=list)

    def metric(self, key: str, time: float, step: int | None, value: float | None) -> None:
        """Add one record of a metric."""
        counter = value if key in COUNTERS or key in STEP_COUNTERS else None
        self.stamps.append(Stamp(time, key, step, counter))
        if key in COUNTERS and value is not None:
            self.epochs.append(Point(time, step, value))


class MLflowReader:
    """MLflow file stores and SQLite databases. A run's id is MLflow's run id; its name is an alias."""

    name = "mlflow"
    title = "MLflow"
    version = 1

    def find(self, tree: Tree) -> Sequence[Source]:
        """One source a run folder, one an experiment for what is left aside, one a database."""
        return [*_find_store(tree), *self._find_databases(tree)]

    def _find_databases(self, tree: Tree) -> list[Source]:
        found = [
            path
            for path in sqlite.candidates(tree)
            if sqlite.is_sqlite(tree, path) and sqlite.has_tables(tree, path, TABLES, MARKS, NAMES)
        ]
        return [Source(self.name, path, (path, *sqlite.beside(tree, path))) for path in found]

    def read(self, tree: Tree, source: Source) -> Reading:
        """The run of a folder, all runs of a database, or the mentions of an experiment."""
        if source.key.endswith(_ASIDE):
            return _read_aside(tree, source)
        if source.directory is None:
            return _read_database(tree, source)
        return _read_folder(tree, source)


# --- file store: recognising ---------------------------------------------------------------------------------------


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _find_store(tree: Tree) -> list[Source]:
    runs: dict[str, bytes] = {}
    experiments: dict[str, bytes] = {}
    aside: dict[str, list[str]] = {}
    unsure: list[str] = []
    for path in tree.named(META):
        head = tree.head(path)
        folder = _folder(path)
        if _REGISTRY.search(head):
            if _RUN.search(head) or _EXPERIMENT_ID.search(head):
                aside.setdefault(_folder(_folder(folder)), []).append(path)
        elif _RUN.search(head) and _OURS.search(head):
            runs[folder] = head
        elif _EXPERIMENT_ID.search(head) and _EXPERIMENT.search(head) and not _RUN_ONLY.search(head):
            experiments[folder] = head
        else:
            unsure.append(folder)
    # A cut or empty meta.yaml says nothing; what lies beside it does.
    for folder in unsure:
        if _folder(folder) in experiments and _RUN_FOLDER.fullmatch(folder.rpartition("/")[2]):
            runs[folder] = b""
    for experiment in experiments:
        for sub in tree.subfolders(experiment):
            folder = _join(experiment, sub)
            if _RUN_FOLDER.fullmatch(sub) and folder not in runs and not tree.exists(_join(folder, META)):
                runs[folder] = b""

    for folder in list(runs):
        experiment = _folder(folder)
        trash = ".trash" in folder.split("/")
        if trash or _DELETED.search(runs[folder]) or _DELETED.search(experiments.get(experiment, b"")):
            del runs[folder]
            aside.setdefault(experiment, []).append(_join(folder, META))

    children = _children(tree, runs)
    names = {f.rpartition("/")[2]: f for f in runs}
    holding = sorted({_folder(f) for f in runs if _folder(f) in experiments})
    # With several experiments each run is told from which it is, so all their names matter to each run.
    shared = tuple(_join(e, META) for e in holding)
    sources = []
    for folder in sorted(runs):
        own = _run_files(tree, folder)
        experiment = _join(_folder(folder), META)
        extra = shared if len(holding) > 1 else ((experiment,) if _folder(folder) in experiments and not own else ())
        kin: list[str] = []
        for child in children.get(folder.rpartition("/")[2], ()):
            if child in runs and names.get(child.rpartition("/")[2]) == child:
                kin += [_join(child, META), _join(child, f"tags/{_PARENT_TAG}")]
        sources.append(Source("mlflow", folder, (*own, *extra, *(k for k in kin if tree.exists(k))), folder))
    for experiment in sorted(aside):
        key = f"{experiment}/{_ASIDE}" if experiment else _ASIDE
        sources.append(Source("mlflow", key, tuple(sorted(p for p in aside[experiment] if tree.exists(p))), experiment))
    return sources


def _children(tree: Tree, runs: Iterable[str]) -> dict[str, list[str]]:
    """Run id of a parent → folders of its children."""
    known = set(runs)
    found: dict[str, list[str]] = {}
    for path in tree.named(_PARENT_TAG):
        folder = _folder(_folder(path))
        if folder in known:
            parent = tree.head(path, 200).decode("latin-1").strip("\ufeff \r\n\t")
            found.setdefault(parent, []).append(folder)
    return found


def _run_files(tree: Tree, folder: str) -> tuple[str, ...]:
    files = [_join(folder, META)] if tree.exists(_join(folder, META)) else []
    for part in ("metrics", "params", "tags"):
        files += _files_below(tree, _join(folder, part))
    return tuple(files)


def _files_below(tree: Tree, folder: str, depth: int = 0) -> list[str]:
    """Like ``tree.below``, but without looking at every file of the collection."""
    if not tree.is_folder(folder) or depth > 8:
        return []
    files = [_join(folder, name) for name in tree.names(folder)]
    for sub in tree.subfolders(folder):
        files += _files_below(tree, _join(folder, sub), depth + 1)
    return files


# --- file store: reading -------------------------------------------------------------------------------------------


def _read_aside(tree: Tree, source: Source) -> Reading:
    """Mentions of deleted runs and registry folders."""
    deleted = registry = 0
    for path in source.files:
        if _REGISTRY.search(tree.head(path)):
            registry += 1
        else:
            deleted += 1
    where = _experiment_name(tree, source.directory or "") or source.directory or "the store"
    mentions = []
    if deleted:
        mentions.append(f"{deleted} deleted MLflow {'run' if deleted == 1 else 'runs'} of {where} left out.")
    if registry:
        entries = "entry" if registry == 1 else "entries"
        mentions.append(f"{registry} MLflow model registry {entries} of {where} left out: no runs.")
    return Reading(mentions=mentions)


def _experiment_name(tree: Tree, folder: str) -> str | None:
    path = _join(folder, META)
    if not tree.exists(path):
        return None
    try:
        content = load_yaml(tree.read_text(path))
    except (OSError, BadText):
        return None
    name = content.get("name") if isinstance(content, dict) else None
    return str(name) if name is not None else None


def _meta(tree: Tree, path: str, complaints: Complaints) -> dict[str, Any] | None:
    """``meta.yaml`` as a mapping; None with a problem when it cannot be read."""
    remedy = "Copy the run folder again from where MLflow wrote it, or remove it."
    try:
        text = tree.read_text(path)
    except OSError as error:
        complaints.cannot_read(path, error)
        return None
    if not text.strip("\0 \n\t"):
        complaints.add(path, "the file is empty.", remedy, kind="unreadable")
        return None
    if not text.endswith("\n"):
        # MLflow ends the file with a line end; without one the last value may be half of what it was.
        complaints.add(path, "the file is cut in its last line.", remedy, line=text.count("\n") + 1, kind="unreadable")
        text = text[: text.rfind("\n") + 1]
    try:
        content = load_yaml(text)
    except BadText as error:
        complaints.add(path, error.message, remedy, line=error.line, kind="unreadable")
        return None
    if not isinstance(content, dict):
        complaints.add(path, "the file holds no names and values.", remedy, line=1, kind="unreadable")
        return None
    return content


def _read_folder(tree: Tree, source: Source) -> Reading:
    folder = source.key
    run_id = folder.rpartition("/")[2] or tree.root.name
    complaints = Complaints(run_id)
    files = tuple(f for f in source.files if f.startswith(f"{folder}/" if folder else ""))
    path = _join(folder, META)
    if not files:
        run = Run(run_id, "mlflow", folder, status="not_started", files=source.files)
        run.notes = ("The run folder is empty.",)
        return Reading([run])
    meta = _meta(tree, path, complaints) if tree.exists(path) else None
    if not tree.exists(path):
        complaints.add(
            folder,
            "the run folder has no meta.yaml, so its start and end are unknown.",
            "Copy the run folder again from where MLflow wrote it, or remove it.",
            kind="unreadable",
        )
    raw = Raw(run_id)
    if meta is not None:
        given = meta.get("run_id", meta.get("run_uuid"))
        # The folder has the id's name; in YAML an id of digits alone could be a number.
        if given is not None and not _RUN_FOLDER.fullmatch(run_id):
            raw.run_id = str(given)
        raw.name = _text(meta.get("run_name")) or _text(meta.get("name"))
        raw.status = _text(meta.get("status"))
        raw.start = _instant(meta.get("start_time"), path, "start_time", complaints)
        raw.end = _instant(meta.get("end_time"), path, "end_time", complaints)
    for file in files:
        part, _, key = file[len(folder) + 1 if folder else 0 :].partition("/")
        if not key:
            continue
        try:
            if part == "params":
                raw.params[key] = tree.read_text(file)
            elif part == "tags":
                raw.tags[key] = tree.read_text(file)
            elif part == "metrics":
                _read_metric(tree, file, key, raw, complaints)
        except OSError as error:
            complaints.cannot_read(file, error)
    run = _to_run(raw, complaints, path)
    run.directory = folder
    run.files = files
    if meta is None:
        run.unreadable = raw.start is None
    if any(f not in files and f.endswith(f"/{META}") and _folder(f) == _folder(folder) for f in source.files):
        name = _experiment_name(tree, _folder(folder))
        if name is not None:
            run.config.setdefault("experiment", name)
    kin = {_folder(_folder(f)) for f in source.files if f not in files and f.endswith(f"tags/{_PARENT_TAG}")}
    if kin:
        spans = [_span(tree, child, complaints) for child in sorted(kin)]
        run.children = _only_holds(raw, spans)
    return Reading([run], complaints.all())


def _span(tree: Tree, folder: str, complaints: Complaints) -> tuple[float | None, float | None]:
    """Start and end of a child; its own reading tells what is wrong with it."""
    quiet = Complaints()
    meta = _meta(tree, _join(folder, META), quiet) or {}
    return _instant(meta.get("start_time"), "", "", quiet), _instant(meta.get("end_time"), "", "", quiet)


def _text(value: Any) -> str | None:
    return str(value) if value not in (None, "") else None


def _instant(value: Any, path: str, name: str, complaints: Complaints) -> float | None:
    """Epoch seconds from MLflow's milliseconds (seconds in the oldest stores); None when there is none."""
    if value is None or value == "":
        return None
    time = parse_time(value)
    if time is None or time < EARLIEST:
        shown = str(value)
        complaints.add(
            path,
            f"{name} is {shown if len(shown) <= 40 else shown[:39] + '…'}, which is no time; it is not used.",
            "MLflow writes milliseconds since 1970; correct the value, or remove the run.",
            kind="time",
        )
        return None
    return time


def _read_metric(tree: Tree, path: str, key: str, raw: Raw, complaints: Complaints) -> None:
    """Lines of ``timestamp value [step …]``."""
    counts = key in COUNTERS or key in STEP_COUNTERS
    for number, line in tree.lines(path):
        parts = line.split()
        if (
            len(parts) == 3
            and not counts
            and len(parts[0]) == 13
            and parts[0].isdigit()
            and len(raw.stamps) < MAX_RECORDS
        ):
            try:  # nearly every line of nearly every store
                raw.stamps.append(Stamp(int(parts[0]) / 1000, key, int(parts[2])))
                continue
            except ValueError:
                pass
        if not line.strip("\0 \t"):
            continue
        if len(raw.stamps) >= MAX_RECORDS:
            complaints.add(
                path,
                f"more than {MAX_RECORDS} metric records in the run; the rest is not used for markers and sessions.",
                "Nothing needs to be done: start and end are not affected.",
                line=number,
                kind="size",
                severity="info",
            )
            return
        time = parse_time(parts[0]) if len(parts) >= 2 else None
        if time is None or time < EARLIEST:
            complaints.add(
                path,
                "the line is no metric record (milliseconds, value, step); it is left out.",
                "Remove the line, or copy the run folder again.",
                line=number,
            )
            continue
        step = _step(parts[2]) if len(parts) > 2 else None
        value = finite(parts[1]) if counts else None
        raw.metric(key, time, step, value)


def _step(value: Any) -> int | None:
    number = finite(value)
    return int(number) if number is not None and abs(number) < 2**63 else None


# --- both stores ---------------------------------------------------------------------------------------------------


def _to_run(raw: Raw, complaints: Complaints, path: str) -> Run:
    run = Run(raw.run_id, "mlflow")
    name = raw.name or _text(raw.tags.get("mlflow.runName"))
    if name and name != raw.run_id:
        run.aliases = (name,)
    notes: list[str] = []
    run.config = _config(raw.params)
    if not run.config:
        run.config = _config({k: v for k, v in raw.tags.items() if not k.startswith("mlflow.")})
        if run.config:
            notes.append("No parameters were logged; tags are used as settings.")
    run.status = _STATUS.get((raw.status or "").upper())
    if raw.status is not None and run.status is None:
        complaints.add(
            path,
            f"status {raw.status[:40]!r} is none that MLflow knows; the run's end is judged by its end time.",
            "Correct the status (RUNNING, SCHEDULED, FINISHED, FAILED, KILLED).",
        )
    start, end = raw.start, raw.end
    if start is not None and end is not None and end < start:
        complaints.add(
            path,
            f"the run ends {start - end:.1f} s before it starts: its clock was set back. Its duration is not known.",
            "Exclude the run in collection.yml, or correct end_time.",
            kind="clock",
            severity="info",
        )
        notes.append("Its end lies before its start, since the clock was set back; its duration is not known.")
        end = None
    elif run.status == "completed" and end is None:
        notes.append("It is marked as finished, but no end time was recorded.")
    run.started_at, run.ended_at = start, end
    if raw.stamps:
        stamps = raw.stamps
        first, last = min(s.time for s in stamps), max(s.time for s in stamps)
        stepped = start is not None and first < start - 1
        if not stepped:
            run.first_activity, run.last_activity = start if start is not None else first, last
            run.sessions, told = infer(start, end, stamps)
            notes += told
        points = raw.epochs or [Point(s.time, s.step) for s in stamps if not s.key.startswith("system/")]
        if not stepped:
            run.events = markers(points, ended=run.status == "completed")
    elif start is not None and end is None:
        run.first_activity = run.last_activity = start
    run.notes = tuple(notes)
    return run


def _config(params: dict[str, str]) -> dict[str, Scalar]:
    """Parameters as values; ``a/b`` (nested, as Lightning's logger writes it) becomes ``a.b``."""
    return {key.replace("/", "."): guess(value) for key, value in sorted(params.items())}


def _only_holds(raw: Raw, children: Sequence[tuple[float | None, float | None]]) -> bool:
    """Whether a parent only holds its children: they cover its time, or it logged no series of its own."""
    if raw.start is None or raw.end is None or raw.end <= raw.start:
        return True
    steps: dict[str, set[int | None]] = {}
    for stamp in raw.stamps:
        if not stamp.key.startswith("system/"):
            steps.setdefault(stamp.key, set()).add(stamp.step)
    if not any(len(found) >= 2 for found in steps.values()):
        return True
    covered, reached = 0.0, raw.start
    for start, end in sorted((s, raw.end if e is None else e) for s, e in children if s is not None):
        covered += max(0.0, min(end, raw.end) - max(start, reached))
        reached = max(reached, end)
    return covered >= PARENT_OWN_SHARE * (raw.end - raw.start)


# --- SQLite --------------------------------------------------------------------------------------------------------


def _read_database(tree: Tree, source: Source) -> Reading:
    path = source.files[0]
    complaints = Complaints()
    reading = Reading()
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
    for run in reading.runs:
        run.files = source.files
    reading.problems = complaints.all()
    return reading


def _read_tables(connection: sqlite3.Connection, path: str, reading: Reading, complaints: Complaints) -> None:
    experiments: dict[Any, tuple[str, bool]] = {}
    query = "SELECT experiment_id, name, lifecycle_stage FROM experiments"
    for key, name, stage in sqlite.rows(connection, query, path, complaints, MAX_ROWS):
        experiments[key] = (str(name), stage == "deleted")
    name_column = "name" if "name" in sqlite.columns(connection, "runs") else "NULL"
    query = f"SELECT run_uuid, {name_column}, status, start_time, end_time, lifecycle_stage, experiment_id FROM runs"  # noqa: S608
    raws: dict[str, Raw] = {}
    belongs: dict[str, Any] = {}
    deleted = 0
    for run_id, name, status, start, end, stage, experiment in sqlite.rows(
        connection, query, path, complaints, MAX_ROWS
    ):
        if stage == "deleted" or experiments.get(experiment, ("", False))[1]:
            deleted += 1
            continue
        raw = Raw(str(run_id), _text(name), _text(status))
        raw.start = _instant(start, path, f"start_time of run {run_id}", complaints)
        raw.end = _instant(end, path, f"end_time of run {run_id}", complaints)
        raws[raw.run_id] = raw
        belongs[raw.run_id] = experiment
    for part in ("params", "tags"):
        query = f"SELECT run_uuid, key, value FROM {part}"  # noqa: S608 - the two names above
        for run_id, key, value in sqlite.rows(connection, query, path, complaints, MAX_ROWS):
            if run_id in raws and value is not None:
                target = raws[run_id].params if part == "params" else raws[run_id].tags
                target[str(key)] = str(value)
    query = "SELECT run_uuid, key, timestamp, step, value FROM metrics"
    for run_id, key, timestamp, step, value in sqlite.rows(connection, query, path, complaints, MAX_ROWS):
        time = parse_time(timestamp)
        if run_id in raws and time is not None and time >= EARLIEST:
            raws[run_id].metric(str(key), time, _step(step), finite(value))
    children: dict[str, list[str]] = {}
    for raw in raws.values():
        parent = raw.tags.get(_PARENT_TAG)
        if parent:
            children.setdefault(parent, []).append(raw.run_id)
    several = len(set(belongs.values())) > 1
    for raw in raws.values():
        run = _to_run(raw, complaints, path)
        if several and belongs[raw.run_id] in experiments:
            run.config.setdefault("experiment", experiments[belongs[raw.run_id]][0])
        if raw.run_id in children:
            run.children = _only_holds(raw, [(raws[c].start, raws[c].end) for c in children[raw.run_id]])
        reading.runs.append(run)
    if deleted:
        reading.mentions.append(f"{deleted} deleted MLflow {'run' if deleted == 1 else 'runs'} left out.")
