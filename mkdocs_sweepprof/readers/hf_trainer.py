"""Hugging Face Trainer: ``trainer_state.json``, ``*_results.json``, ``training_args.json``, ``config.json``, logs.

The Trainer times its training loop itself: ``train_runtime`` is the run's own duration, with evaluations and saves
inside, and without imports, setup and what follows training. With token counting it stands in every log entry and
grows: the last one counts. After a resume it covers the last session only. Evaluations log ``eval_runtime`` each; any
other ``<name>_runtime`` that a callback logs is a section too. Times are seconds.

``log_history`` has no clock, so there are no events. A ``*.log`` file that the Trainer's logger wrote has one: it tells
the sessions of a resumed run, and how far a killed one came. ``training_args.bin`` is a pickle, and is never opened.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from mkdocs_sweepprof.levels import natural
from mkdocs_sweepprof.readers.base import Problem, Reading, Run, Section, Session, Source
from mkdocs_sweepprof.readers.text import read_mapping, read_text
from mkdocs_sweepprof.readers.tree import Tree
from mkdocs_sweepprof.readers.values import finite, flatten, parse_time

_CHECKPOINT = re.compile(r"^checkpoint-(\d+)$")
_RESULTS = ("all_results.json", "train_results.json", "eval_results.json", "predict_results.json", "test_results.json")
_STATE_KEYS = frozenset({"log_history", "global_step"})
_LOG_MARKS = (b"***** Running training *****", b"transformers.train")
_OWN_PATHS = frozenset({"output_dir", "logging_dir", "hub_token", "push_to_hub_token", "local_rank"})
"""Arguments that say where a run lies, or who may upload it: no settings."""
_STATE_SETTINGS = ("num_train_epochs", "max_steps", "train_batch_size", "logging_steps", "eval_steps", "save_steps")
_NAMES = {"gen": "free_generation", "generate": "free_generation", "generation": "free_generation"}
MAX_ENTRIES = 1_000_000
"""Entries of ``log_history`` looked at."""


class HFTrainerReader:
    """Output folders of ``transformers.Trainer``."""

    name = "hf_trainer"
    title = "Hugging Face Trainer"
    version = 1

    def find(self, tree: Tree) -> Sequence[Source]:
        """One source an output folder. Checkpoints belong to the folder that holds them."""
        folders: dict[str, set[str]] = defaultdict(set)
        for path in tree.named("trainer_state.json"):
            head = tree.head(path, 4096)
            if b'"log_history"' not in head and b'"global_step"' not in head and head.strip():
                continue
            folder = path.rpartition("/")[0]
            last = folder.rpartition("/")[2]
            folders[folder.rpartition("/")[0] if _CHECKPOINT.match(last) else folder].add(path)
        for name in ("train_results.json", "all_results.json"):
            for path in tree.named(name):
                if b"train_runtime" in tree.head(path, 65_536):
                    folders[path.rpartition("/")[0]].add(path)
        for path in tree.match("*.log"):
            folder = path.rpartition("/")[0]
            if folder not in folders and not self._held(folder, folders) and _is_log(tree, path):
                folders[folder].add(path)
        return [
            Source(self.name, folder or ".", tuple(sorted(_files(tree, folder, found))), folder)
            for folder, found in sorted(folders.items(), key=lambda item: natural(item[0]))
        ]

    @staticmethod
    def _held(folder: str, folders: Iterable[str]) -> bool:
        """Whether an output folder lies below: a log above it tells nothing more."""
        start = folder + "/" if folder else ""
        return any(f.startswith(start) for f in folders)

    def read(self, tree: Tree, source: Source) -> Reading:
        """Read one output folder."""
        reading = Reading()
        run = Run(id=source.key, layout=self.name, directory=source.directory, files=source.files)
        told = _Told()
        folder = source.directory or ""
        states = [p for p in source.files if p.endswith("trainer_state.json")]
        # The folder's own state first, else that of the last checkpoint that can be read.
        states.sort(key=lambda p: -_step_of(p, folder))
        for path in states:
            state = read_mapping(tree, path, reading.problems)
            if state is not None:
                if not _STATE_KEYS & state.keys():
                    message = "The file holds no Trainer state."
                    reading.problems.append(Problem(path, message, "Copy it anew, or remove it.", kind="value"))
                    continue
                told.state = state
                told.from_checkpoint = path.rpartition("/")[0] != folder
                break
        results: dict[str, Any] = {}
        for path in source.files:
            name = path.rpartition("/")[2]
            if name in _RESULTS:
                found = read_mapping(tree, path, reading.problems)
                if found is not None:
                    results.update({k: v for k, v in found.items() if k not in results or name != "all_results.json"})
            elif name == "training_args.json":
                arguments = read_mapping(tree, path, reading.problems)
                if arguments is not None:
                    flat = flatten({k: v for k, v in arguments.items() if k not in _OWN_PATHS})
                    run.config = {**flat, **run.config}
                    told.arguments = True
            elif name == "config.json":
                model = read_mapping(tree, path, reading.problems)
                if model is not None:
                    run.config.update(flatten(model, "model"))
            elif name.endswith(".log"):
                text = read_text(tree, path, reading.problems)
                if text is not None:
                    told.logs.append(_read_log(text))
        told.results = results
        _fill(run, told, reading.problems, states[0] if states else source.files[0])
        if reading.problems and told.state is None and not results and not run.config and not told.logs:
            run.unreadable = True
        reading.problems = [replace(p, run=run.id) for p in reading.problems]
        reading.runs.append(run)
        return reading


# --- recognising -----------------------------------------------------------------------------------------------------


def _is_log(tree: Tree, path: str) -> bool:
    """Whether the Trainer's own logger wrote into this file (a Hydra job's log is that job's)."""
    folder = path.rpartition("/")[0]
    if tree.is_folder(f"{folder}/.hydra" if folder else ".hydra"):
        return False
    head = tree.head(path, 65_536)
    return all(mark in head for mark in _LOG_MARKS)


def _files(tree: Tree, folder: str, found: Iterable[str]) -> set[str]:
    """What decides the run: its JSON files, the last checkpoints' state, and the Trainer's log."""

    def at(name: str) -> str:
        return f"{folder}/{name}" if folder else name

    names = (*_RESULTS, "trainer_state.json", "training_args.json", "config.json")
    files = {at(n) for n in names if tree.exists(at(n))}
    files |= {p for p in found if p.rpartition("/")[0] == folder}
    checkpoints = sorted(
        (s for s in tree.subfolders(folder) if _CHECKPOINT.match(s)), key=lambda s: -int(s.partition("-")[2])
    )
    if at("trainer_state.json") not in files:
        files |= {at(f"{c}/trainer_state.json") for c in checkpoints if tree.exists(at(f"{c}/trainer_state.json"))}
    for name in ("config.json", "training_args.json"):
        if at(name) not in files:
            files |= set([at(f"{c}/{name}") for c in checkpoints if tree.exists(at(f"{c}/{name}"))][:1])
    files |= {at(n) for n in tree.names(folder) if n.endswith(".log") and _is_log(tree, at(n))}
    return files


def _step_of(path: str, folder: str) -> float:
    """The step of a checkpoint's file; infinity for the folder's own."""
    parent = path.rpartition("/")[0]
    found = _CHECKPOINT.match(parent.rpartition("/")[2])
    return float(found.group(1)) if found and parent != folder else float("inf")


# --- the log ---------------------------------------------------------------------------------------------------------

_CLOCKS = (
    (re.compile(r"^\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?)"), None),
    (re.compile(r"^\[?(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d)"), "%m/%d/%Y %H:%M:%S"),
)
_TRAINING = ("***** Running ", "Saving model checkpoint", "Model weights saved", "Batch size =", "Deleting older")
_RESUMING = re.compile(r"(?:global step|Continuing training from global step) (\d+)")


@dataclass(slots=True)
class _Log:
    """The clock of a Trainer's log: one session a ``Running training``, epoch seconds by the local clock."""

    sessions: list[Session] = field(default_factory=list)
    resumed_at: int | None = None
    completed: bool = False
    starts: int = 0


def _read_log(text: str) -> _Log:
    log = _Log()
    starts: list[int] = []  # records at which a session began
    times: list[float] = []
    setup = 0  # first record that may belong to the next process
    for line in text.split("\n"):
        time = _clock(line)
        if time is not None:
            times.append(time)
        if "***** Running training *****" in line:
            log.starts += 1
            starts.append(_first_of(times, setup))
            log.completed = False
        if any(mark in line for mark in _TRAINING):
            setup = len(times)
        if found := _RESUMING.search(line):
            log.resumed_at = int(found.group(1))
        if "Training completed." in line:
            log.completed = True
    if not times:
        return log
    starts = starts or [0]
    starts[0] = 0
    for i, first in enumerate(starts):
        end = starts[i + 1] if i + 1 < len(starts) else len(times)
        own = times[first:end]
        if own:
            log.sessions.append(Session(min(own), max(own)))
    return log


def _clock(line: str) -> float | None:
    """A record's time. Local time without an offset is taken as UTC."""
    for pattern, form in _CLOCKS:
        if found := pattern.match(line):
            if form is None:
                return parse_time(found.group(1).replace(",", "."))
            try:
                return datetime.strptime(found.group(1), form).replace(tzinfo=UTC).timestamp()
            except ValueError:
                return None
    return None


def _first_of(times: Sequence[float], setup: int) -> int:
    """The record at which a new process began: behind the longest gap since the last training record."""
    if setup >= len(times):
        return max(0, len(times) - 1)
    gaps = [(times[i] - times[i - 1], i) for i in range(max(1, setup), len(times))]
    return max(gaps, key=lambda g: (g[0], -g[1]))[1] if gaps else setup


# --- one run ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Told:
    """What the folder's files said."""

    state: dict[Any, Any] | None = None
    from_checkpoint: bool = False
    results: dict[str, Any] = field(default_factory=dict)
    arguments: bool = False
    logs: list[_Log] = field(default_factory=list)


def _entries(state: Mapping[Any, Any] | None) -> list[dict[str, Any]]:
    history = (state or {}).get("log_history")
    if not isinstance(history, list):
        return []
    return [e for e in history[:MAX_ENTRIES] if isinstance(e, dict)]


def _is_final(entry: Mapping[str, Any]) -> bool:
    """The entry that the Trainer logs when training ends (token counting puts ``train_runtime`` in the others too)."""
    return "train_runtime" in entry and ("train_loss" in entry or "total_flos" in entry)


def _fill(run: Run, told: _Told, problems: list[Problem], where: str) -> None:
    state = told.state or {}
    entries = _entries(told.state)
    if told.state is not None and not isinstance(state.get("log_history"), list):
        message = "`log_history` is no list; the evaluations' times were not read."
        problems.append(Problem(where, message, "Copy the file anew.", kind="value"))
    notes: list[str] = []
    if not told.arguments:
        for key in _STATE_SETTINGS:
            if isinstance(state.get(key), int | float):
                run.config.setdefault(key, state[key])
        if told.state is not None:
            notes.append(
                "training_args.json is missing (args.to_json_string() writes it), so most settings are unknown."
            )
    trial = state.get("trial_params")
    if isinstance(trial, dict):
        run.config.update(flatten(trial))

    final = max((i for i, e in enumerate(entries) if _is_final(e)), default=None)
    runtimes = [r for e in entries if (r := _seconds(e.get("train_runtime"))) is not None]
    from_results = _seconds(told.results.get("train_runtime"))
    finished = final is not None or from_results is not None
    runtime = _seconds(entries[final].get("train_runtime")) if final is not None else None
    runtime = runtime if runtime is not None else from_results

    starts = sum(log.starts for log in told.logs)
    during = entries[:final] if final is not None else entries
    inside = sum(s for e in during for _, s, part in _timed(e) if not part)
    restarted = sum(b < a for a, b in pairwise(runtimes))
    resumed = starts > 1 or restarted > 0 or (runtime is not None and inside > runtime * 1.02 + 0.05)

    run.sections = _sections(during)
    if finished:
        run.status = "completed"
        if runtime is not None and not resumed:
            run.duration = runtime
            run.sections.insert(0, Section("train_loop", 1, runtime))
            notes.append(
                "The wall is the Trainer's own train_runtime: imports, setup and what follows training lie outside."
            )
    else:
        notes.append("The Trainer recorded no end of training.")
        if told.from_checkpoint:
            notes.append("Read from the last checkpoint: what came after it is unknown.")
        if told.logs or told.state is not None:
            run.status = "killed"
        if runtimes and not resumed:
            run.duration = runtimes[-1]
    _clock_of(run, told, resumed, runtimes, notes)
    _after(run, told, entries[final + 1 :] if final is not None else [], entries)
    if resumed:
        covers = "the last session only" if runtime is not None else "no session as a whole"
        notes.append(f"The run was resumed; train_runtime covers {covers}, so the training loop is no section.")
    run.notes = tuple(notes)


def _clock_of(run: Run, told: _Told, resumed: bool, runtimes: Sequence[float], notes: list[str]) -> None:
    """Activity and sessions from the logs, or sessions' lengths from runtimes that start over."""
    sessions = sorted((s for log in told.logs for s in log.sessions), key=lambda s: s.started_at)
    if sessions:
        run.first_activity = min(s.started_at for s in sessions)
        run.last_activity = max(s.ended_at for s in sessions)
        notes.append("The Trainer's log has local time; it was taken as UTC.")
    if not resumed:
        return
    if len(sessions) > 1:
        run.sessions = sessions
    elif runtimes and any(b < a for a, b in pairwise(runtimes)):
        # Token counting: the runtime grows within a session and starts over in the next.
        ends = [a for a, b in zip(runtimes, [*runtimes[1:], -1.0], strict=True) if b < a]
        run.duration = sum(ends)
        notes.append(f"The wall is the sum of {len(ends)} sessions' train_runtime.")
    else:
        notes.append("The earlier sessions' time is not recorded.")


def _after(run: Run, told: _Told, later: Sequence[Mapping[str, Any]], entries: Sequence[Mapping[str, Any]]) -> None:
    """What the Trainer timed after training, outside of its wall."""
    after = sum(s for e in later for _, s, part in _timed(e) if not part)
    final = _seconds(told.results.get("eval_runtime"))
    keys = ("eval_runtime", "eval_samples_per_second", "eval_loss")
    known = [[e.get(k) for k in keys] for e in entries if "eval_runtime" in e]
    if final is not None and run.status == "completed" and [told.results.get(k) for k in keys] not in known:
        after += final
    if after > 0:
        run.outside["evaluate"] = after
    for key in ("predict_runtime", "test_runtime"):
        seconds = _seconds(told.results.get(key))
        if seconds:
            run.outside["predict"] = seconds


def _seconds(value: Any) -> float | None:
    number = finite(value)
    return number if number is not None and number >= 0 else None


def _timed(entry: Mapping[str, Any]) -> list[tuple[str, float, bool]]:
    """(name, seconds, whether it lies inside the evaluation loop) of what one log entry timed."""
    found: list[tuple[str, float, bool]] = []
    evaluated = "eval_runtime" in entry
    for key, value in entry.items():
        if not key.endswith("_runtime") or key == "train_runtime":
            continue
        seconds = _seconds(value)
        stem = key.removesuffix("_runtime")
        if seconds is None or not stem:
            continue
        if stem == "eval":
            found.append(("eval_loop", seconds, False))
        elif evaluated:
            # A metric of the evaluation itself: its time is part of eval_runtime.
            found.append(
                (f"eval_loop/{_NAMES.get(stem.removeprefix('eval_'), stem.removeprefix('eval_'))}", seconds, True)
            )
        elif stem.startswith("eval_"):
            found.append((f"eval_loop_{stem.removeprefix('eval_')}", seconds, False))
        else:
            found.append((_NAMES.get(stem, stem), seconds, False))
    return [(name.replace("//", "/"), seconds, part) for name, seconds, part in found]


def _sections(entries: Sequence[Mapping[str, Any]]) -> list[Section]:
    """The evaluations during training, by name."""
    sections: dict[str, Section] = {}
    for entry in entries:
        for name, seconds, _ in _timed(entry):
            path = f"train_loop/evaluate/{name}"
            section = sections.setdefault(path, Section(path, 0, 0.0))
            section.count += 1
            section.total_seconds += seconds
    return list(sections.values())
