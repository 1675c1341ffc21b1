"""Weights & Biases: run folders as they lie on the machine that trained (online or offline, old or new), and the CSV
that the web page exports.

A run folder is ``wandb/[offline-]run-<date>_<time>-<id>/``. Its ``run-<id>.wandb`` holds everything (see
:mod:`.wandb_records`); older and online folders have ``files/config.yaml``, ``wandb-metadata.json`` and
``wandb-summary.json`` beside it, or instead. A second folder with the same id is a session of the same run, or a copy.
"""

from __future__ import annotations

import ast
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO

from mkdocs_sweepprof.readers.base import Event, Reading, Run, Scalar, Session, Source
from mkdocs_sweepprof.readers.complaints import Complaints
from mkdocs_sweepprof.readers.progress import Point, markers
from mkdocs_sweepprof.readers.tree import Tree
from mkdocs_sweepprof.readers.values import EARLIEST, BadText, finite, flatten, load_json, load_yaml, parse_time
from mkdocs_sweepprof.readers.wandb_export import is_export, read_export
from mkdocs_sweepprof.readers.wandb_records import IDENT, Log, Row, read_log

MAX_LOG_BYTES = 2 * 1024**3
"""Largest ``.wandb`` file that is read; it is read block by block."""
MAX_DEBUG_BYTES = 64 * 1024
"""Bytes of a debug log that are looked at, at its beginning and at its end."""
SAME_START = 0.001
"""Seconds; two folders of one run that start within this are copies."""
RUNTIME_SLACK = 1.0
"""Seconds by which ``_runtime`` may exceed the time since the session's start before it is seen to count an earlier
session as well."""
QUARTER_HOUR = 900
"""Time zones differ by whole quarters of an hour."""

_FOLDER = re.compile(r"(?:offline-|dry)?run-(\d{8}_\d{6})-(.+)")
_LOG = re.compile(r"run-(.+)\.wandb(?:\.gz)?")
_METADATA, _SUMMARY, _CONFIG = "wandb-metadata.json", "wandb-summary.json", "config.yaml"
_KEPT = (_METADATA, _SUMMARY, _CONFIG)
_OWN = re.compile(rb'"(?:startedAt|heartbeatAt|_runtime|_timestamp|_step|_wandb)"\s*:')
_OWN_CONFIG = re.compile(rb"^(?:\xef\xbb\xbf)?(?:_wandb|wandb_version)\s*:", re.M)
_LOCAL = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3}) ")


@dataclass(slots=True)
class Folder:
    """What one run folder holds. Times are epoch seconds, ``duration`` seconds."""

    path: str
    run_id: str
    log: Log | None = None
    name: str | None = None
    project: str | None = None
    config: dict[str, Scalar] = field(default_factory=dict)
    start: float | None = None
    last: float | None = None
    """The last sign of life."""
    duration: float | None = None
    whole_seconds: bool = False
    """``duration`` is the exit record's, cut to whole seconds."""
    offset: float = 0.0
    """Seconds of earlier sessions that ``duration`` counts as well."""
    ended: bool = False
    exit_code: int | None = None
    gpu: str | None = None
    gpus: int | None = None
    rows: list[Row] = field(default_factory=list)
    files: tuple[str, ...] = ()
    config_from: str | None = None
    damaged: bool = False
    """The ``.wandb`` file is there, and nothing of it could be read."""

    @property
    def end(self) -> float | None:
        """Of this session: its recorded end, else the last sign of life."""
        if self.start is not None and self.duration is not None:
            return self.start + max(0.0, self.duration - self.offset)
        return self.last

    @property
    def weight(self) -> tuple[bool, int, int]:
        """How much it tells, to choose among copies."""
        return self.ended, len(self.rows), len(self.files)


class WandbReader:
    """W&B run folders and CSV exports. A run's id is W&B's run id; its name is an alias."""

    name = "wandb"
    title = "Weights & Biases"
    version = 1

    def find(self, tree: Tree) -> Sequence[Source]:
        """One source a run id (all its folders), one an exported CSV."""
        folders: dict[str, list[str]] = {}
        for folder in tree.folders:
            run_id = _recognise(tree, folder)
            if run_id is not None:
                folders.setdefault(run_id, []).append(folder)
        sources = []
        for run_id in sorted(folders):
            found = sorted(folders[run_id], key=lambda f: (f.rpartition("/")[2].removeprefix("offline-"), f))
            files = tuple(file for folder in found for file in _files(tree, folder))
            sources.append(Source(self.name, found[0] or run_id, files, found[-1]))
        for path in (*tree.match("*.csv"), *tree.match("*.csv.gz")):
            if is_export(tree, path):
                sources.append(Source(self.name, path, (path,)))
        return sources

    def read(self, tree: Tree, source: Source) -> Reading:
        """One run (two, when two projects used the same id), or all runs of an export."""
        if source.directory is None:
            return read_export(tree, source.files[0])
        return _read_run(tree, source)


# --- recognising ---------------------------------------------------------------------------------------------------


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _recognise(tree: Tree, folder: str) -> str | None:
    """The run id when ``folder`` is a run folder, else None."""
    names = tree.names(folder)
    if not names and not tree.subfolders(folder) and not _FOLDER.fullmatch(folder.rpartition("/")[2]):
        return None
    parent, _, last = folder.rpartition("/")
    match = _FOLDER.fullmatch(last)
    for name in names:
        log = _LOG.fullmatch(name)
        if log and (match or tree.head(_join(folder, name), 4) == IDENT or tree.size(_join(folder, name)) == 0):
            return log.group(1)
    if match is None and (last != "latest-run" or any(_FOLDER.fullmatch(s) for s in tree.subfolders(parent))):
        return None  # a copy of latest-run is told by its .wandb file; without one, by the folder that it copies
    in_wandb = parent.rpartition("/")[2] in ("wandb", ".wandb")
    if match and in_wandb:
        return match.group(2)
    for place in (_join(folder, "files"), folder):
        for name in _KEPT:
            path = _join(place, name)
            if tree.exists(path) and (_OWN_CONFIG if name == _CONFIG else _OWN).search(tree.head(path, 65_536)):
                return match.group(2) if match else "latest-run"
    return None


def _files(tree: Tree, folder: str) -> list[str]:
    """Every file of a run folder that is read."""
    files = [_join(folder, n) for n in tree.names(folder) if _LOG.fullmatch(n)]
    for place in (_join(folder, "files"), folder):
        files += [p for p in (_join(place, n) for n in _KEPT) if tree.exists(p)]
    files += [p for p in (_join(folder, f"logs/{n}") for n in ("debug.log", "debug-internal.log")) if tree.exists(p)]
    return files


# --- one folder ----------------------------------------------------------------------------------------------------


def _read_folder(tree: Tree, path: str, run_id: str, complaints: Complaints) -> Folder:
    folder = Folder(path, run_id, files=tuple(_files(tree, path)))
    for file in folder.files:
        name = file.rpartition("/")[2]
        if _LOG.fullmatch(name):
            _use_log(tree, file, folder, complaints)
    for file in folder.files:
        name = file.rpartition("/")[2]
        if name == _METADATA:
            _use_metadata(_mapping(tree, file, complaints), file, folder, complaints)
        elif name == _SUMMARY:
            _use_summary(_mapping(tree, file, complaints), folder)
        elif name == _CONFIG and not folder.config:
            _use_config(_mapping(tree, file, complaints), folder)
    debug, internal = _join(path, "logs/debug.log"), _join(path, "logs/debug-internal.log")
    if not folder.config and tree.exists(debug):
        folder.config = _config_from_debug(tree, debug)
        folder.config_from = "debug.log" if folder.config else None
    if not folder.rows and not folder.ended and tree.exists(internal):
        _use_internal(tree, internal, folder)
    _settle(folder)
    return folder


def _use_log(tree: Tree, path: str, folder: Folder, complaints: Complaints) -> None:
    if tree.size(path) == 0:
        return
    try:
        with _stream(tree, path) as stream:
            log = read_log(stream)
    except OSError as error:
        folder.damaged = True
        complaints.cannot_read(path, error)
        return
    if not log.known:
        folder.damaged = True
        complaints.add(
            path,
            "the file does not begin as a .wandb file does.",
            "Copy the run folder again from the machine that trained.",
            kind="unreadable",
        )
        return
    if log.damaged:
        folder.damaged = not log.records
        complaints.add(
            path,
            f"{log.damaged} {'part is' if log.damaged == 1 else 'parts are'} damaged ({'; '.join(log.damage[:3])}); "
            f"{log.records} records could be read.",
            "Copy the run folder again from the machine that trained.",
            kind="unreadable",
        )
    if log.cut:
        complaints.add(
            path,
            f"the file ends in the middle of a record, as a killed run leaves it; {log.records} records could be read.",
            "Nothing needs to be done if the run was killed; else copy the folder again.",
            kind="unreadable",
            severity="info",
        )
    folder.log = log
    folder.name, folder.project, folder.rows = log.name, log.project, log.rows
    folder.start = log.started_at
    folder.ended, folder.exit_code = log.ended, log.exit_code
    folder.config = flatten({k: v for k, v in log.config.items() if k != "_wandb"})


def _stream(tree: Tree, path: str) -> BinaryIO:
    if path.endswith(".gz"):
        return io.BytesIO(tree.read_bytes(path))
    if tree.size(path) > MAX_LOG_BYTES:
        raise OSError(f"larger than {MAX_LOG_BYTES} bytes")
    return open(tree.path(path), "rb")


def _mapping(tree: Tree, path: str, complaints: Complaints) -> dict[str, Any]:
    """A JSON or YAML file's mapping; {} with a problem when it cannot be read."""
    remedy = "Copy the run folder again from the machine that trained, or remove the file."
    try:
        text = tree.read_text(path)
        if not text.strip("\0 \n\t"):
            raise BadText("the file is empty.")
        content = load_json(text) if path.endswith(".json") else load_yaml(text)
    except OSError as error:
        complaints.cannot_read(path, error)
        return {}
    except BadText as error:
        complaints.add(path, error.message, remedy, line=error.line, kind="unreadable")
        return {}
    if not isinstance(content, dict):
        complaints.add(path, "the file holds no names and values.", remedy, line=1, kind="unreadable")
        return {}
    return content


def _use_metadata(content: dict[str, Any], path: str, folder: Folder, complaints: Complaints) -> None:
    for key in ("startedAt", "heartbeatAt"):
        value = content.get(key)
        if value is None:
            continue
        time = parse_time(value)
        if time is None or time < EARLIEST:
            complaints.add(
                path,
                f"{key} is {str(value)[:40]!r}, which is no time; it is not used.",
                "Correct it (ISO 8601, UTC), or remove the file.",
                kind="time",
            )
        elif key == "startedAt":
            folder.start = folder.start if folder.start is not None else time
        else:
            folder.last = time
    code = content.get("exitcode")
    if isinstance(code, int) and not folder.ended:
        # Only W&B before 0.10 wrote the end into this file.
        folder.ended, folder.exit_code = True, code
    gpu, count = content.get("gpu"), content.get("gpu_count")
    folder.gpu = gpu if isinstance(gpu, str) else None
    folder.gpus = count if isinstance(count, int) and not isinstance(count, bool) else None


def _use_summary(content: dict[str, Any], folder: Folder) -> None:
    """The last row's clock, and the exit's; only where the ``.wandb`` file does not have them."""
    if not folder.rows:
        runtime, timestamp = finite(content.get("_runtime")), finite(content.get("_timestamp"))
        if runtime is not None or timestamp is not None:
            step, epoch = finite(content.get("_step")), finite(content.get("epoch"))
            folder.rows = [Row(runtime, timestamp, None if step is None else int(step), epoch)]
    if folder.log is None or not folder.log.records:
        own = content.get("_wandb")
        runtime = finite(own.get("runtime")) if isinstance(own, dict) else None
        if runtime is not None:
            # Written when the run ends, without its exit code.
            folder.ended = True
            folder.duration, folder.whole_seconds = runtime, True


def _use_config(content: dict[str, Any], folder: Folder) -> None:
    settings: dict[str, Any] = {}
    own = content.get("_wandb")
    for key, entry in content.items():
        if key in ("_wandb", "wandb_version"):
            continue
        settings[key] = entry["value"] if isinstance(entry, dict) and "value" in entry else entry
    folder.config = flatten(settings)
    value = own.get("value") if isinstance(own, dict) else None
    start = finite(value.get("start_time")) if isinstance(value, dict) else None
    if start is not None and start >= EARLIEST:
        folder.start = start


def _config_from_debug(tree: Tree, path: str) -> dict[str, Scalar]:
    """The ``config: {…}`` line, which W&B writes before anything else."""
    for line in tree.head(path, MAX_DEBUG_BYTES).decode("utf-8", errors="replace").splitlines():
        if not line.startswith("config: {"):
            continue
        try:
            content = ast.literal_eval(line[len("config: ") :])
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return {}
        if isinstance(content, dict):
            return flatten({k: v for k, v in content.items() if k != "_wandb"})
    return {}


def _use_internal(tree: Tree, path: str, folder: Folder) -> None:
    """First and last time of W&B's own log: all that a run killed early leaves of its clock."""
    head = tree.head(path, MAX_DEBUG_BYTES).decode("utf-8", errors="replace").splitlines()
    tail = tree.tail(path, MAX_DEBUG_BYTES).decode("utf-8", errors="replace").splitlines()
    first = next((t for t in map(_log_time, head) if t is not None), None)
    last = next((t for t in map(_log_time, reversed(tail)) if t is not None), None)
    if first is None or last is None:
        return
    (began, zoned), (ended, _) = first, last
    if not zoned:
        # Local time without a zone: the zone follows from the start, which is known in UTC.
        if folder.start is None:
            return
        shift = round((began - folder.start) / QUARTER_HOUR) * QUARTER_HOUR
        began, ended = began - shift, ended - shift
    folder.start = began if folder.start is None else folder.start
    folder.last = max(folder.last or ended, ended)


def _log_time(line: str) -> tuple[float, bool] | None:
    """(epoch seconds, whether the zone is known) of a line of ``debug-internal.log``."""
    local = _LOCAL.match(line)
    if local:
        time = parse_time(f"{local.group(1)}.{local.group(2)}")
        return None if time is None else (time, False)
    if line.startswith("{"):
        try:
            text = json.loads(line).get("time")
            moment = datetime.fromisoformat(text)
        except (ValueError, TypeError, AttributeError, RecursionError):
            return None
        time = parse_time(moment)
        return None if time is None else (time, moment.tzinfo is not None)
    return None


def _settle(folder: Folder) -> None:
    """Start, duration and last sign of life from the rows and the exit record."""
    timed = [r for r in folder.rows if r.runtime is not None and r.runtime >= 0]
    stamped = [r.timestamp for r in folder.rows if r.timestamp is not None and r.timestamp >= EARLIEST]
    if timed:
        first, last = timed[0], timed[-1]
        runtime = max(r.runtime or 0.0 for r in timed)
        if folder.start is None and last.timestamp is not None and last.runtime is not None:
            folder.start = last.timestamp - last.runtime
        if folder.start is not None and first.timestamp is not None and first.runtime is not None:
            ahead = first.runtime - (first.timestamp - folder.start)
            folder.offset = ahead if ahead > RUNTIME_SLACK else 0.0
        exit_runtime = folder.log.exit_runtime if folder.log else folder.duration
        if folder.ended and exit_runtime is not None and exit_runtime > runtime:
            folder.duration, folder.whole_seconds = float(exit_runtime), True
        elif folder.ended:
            folder.duration, folder.whole_seconds = runtime, False
        reached = max(stamped) if stamped else (folder.start or 0.0) + runtime - folder.offset
        folder.last = reached if folder.start is not None or stamped else None
    elif folder.log is not None and folder.log.exit_runtime is not None:
        folder.duration, folder.whole_seconds = float(folder.log.exit_runtime), True
    if stamped and not timed:
        folder.last = max(stamped)


# --- one run -------------------------------------------------------------------------------------------------------


def _read_run(tree: Tree, source: Source) -> Reading:
    places = _places(source)
    run_id = next((i for i in (_recognise(tree, place) for place in places) if i), "run")
    complaints = Complaints(run_id)
    folders = [_read_folder(tree, place, run_id, complaints) for place in places]
    by_project: dict[str | None, list[Folder]] = {}
    projects = {f.project for f in folders if f.project}
    for folder in folders:
        # A folder that lost its project belongs to the only one there is.
        project = folder.project or (next(iter(projects)) if len(projects) == 1 else None)
        by_project.setdefault(project, []).append(folder)
    reading = Reading()
    for project, sessions in by_project.items():
        kept = _without_copies(sessions, reading)
        run = _join_sessions(kept, complaints)
        if len(by_project) > 1:
            run.id = f"{project}/{run.id}" if project else run.id
            run.config.setdefault("project", project)
        reading.runs.append(run)
    reading.problems = complaints.all()
    return reading


def _places(source: Source) -> list[str]:
    """The folders of a source, in order of their sessions; an empty folder has no files, but is the key."""
    places: list[str] = []
    for file in source.files:
        folder, _, name = file.rpartition("/")
        if folder.rpartition("/")[2] in ("files", "logs") and not _LOG.fullmatch(name):
            folder = folder.rpartition("/")[0]
        if folder not in places:
            places.append(folder)
    for known in (source.key, source.directory):
        if known is not None and known not in places and _FOLDER.fullmatch(known.rpartition("/")[2]):
            places.append(known)
    return places


def _without_copies(folders: list[Folder], reading: Reading) -> list[Folder]:
    kept: list[Folder] = []
    for folder in folders:
        same = next((k for k in kept if _is_copy(k, folder)), None)
        if same is None:
            kept.append(folder)
            continue
        if folder.weight > same.weight:
            kept[kept.index(same)] = folder
        more, less = (folder, same) if folder in kept else (same, folder)
        reading.mentions.append(f"{less.path or 'a folder'} is a copy of {more.path}; counted once.")
    return kept


def _is_copy(one: Folder, other: Folder) -> bool:
    """Whether two folders of one run id are the same session: the same start, or the same name and both unread."""
    if one.start is not None and other.start is not None:
        return abs(one.start - other.start) <= SAME_START
    names = {one.path.rpartition("/")[2], other.path.rpartition("/")[2]}
    return len(names) == 1 or "latest-run" in names


def _join_sessions(folders: list[Folder], complaints: Complaints) -> Run:
    folders = sorted(folders, key=lambda f: (f.start is None, f.start or 0.0, f.path.rpartition("/")[2]))
    last = folders[-1]
    read = [f for f in folders if f.log is not None and f.log.records]
    if read and last not in read and last.start is None:
        last = read[-1]
    run = Run(last.run_id, "wandb", last.path)
    run.files = tuple(file for folder in folders for file in folder.files)
    name = next((f.name for f in reversed(folders) if f.name), None)
    if name and name != run.id:
        run.aliases = (name,)
    for folder in folders:
        if folder.config_from is None or not run.config:
            run.config.update(folder.config)
    notes: list[str] = []
    if folders[-1].config_from and not any(f.config and not f.config_from for f in folders):
        notes.append(f"Its settings were read from {folders[-1].config_from}.")
    _use_status(run, last, folders, notes)
    _use_clock(run, last, folders, notes)
    run.events = _markers(folders, run.status == "completed")
    if last.gpu:
        run.resources["gpu"] = last.gpu
    if last.gpus is not None:
        run.resources["gpus"] = last.gpus
    run.notes = tuple(notes)
    return run


def _use_status(run: Run, last: Folder, folders: Sequence[Folder], notes: list[str]) -> None:
    if last.exit_code is not None and last.ended:
        run.status = "completed" if last.exit_code == 0 else "failed"
    elif last.ended:
        notes.append("It ended, but its exit code was not kept, so success is not known.")
    elif not any(folder.files for folder in folders):
        run.status = "not_started"
        notes.append("The run folder is empty.")
    elif last.damaged and not last.rows:
        run.unreadable = True
    elif not any(_LOG.fullmatch(f.rpartition("/")[2]) for f in last.files):
        # Text files alone: without an end in its summary the run may have ended all the same.
        notes.append("Its folder holds no record of its end.")
    else:
        run.status = "killed"
        if last.log is not None and last.log.preempting:
            notes.append("It was preempted.")


def _use_clock(run: Run, last: Folder, folders: Sequence[Folder], notes: list[str]) -> None:
    known = [f for f in folders if f.start is not None]
    run.first_activity = known[0].start if known else None
    reached = [t for t in (f.end for f in folders) if t is not None]
    run.last_activity = max(reached) if reached else None
    run.started_at = run.first_activity
    if len(folders) > 1:
        run.sessions = [Session(f.start, max(f.start, f.end or f.start)) for f in known if f.start is not None]
        lost = len(folders) - len([f for f in folders if f.rows or f.ended])
        if lost:
            verb = "was" if lost == 1 else "were"
            notes.append(f"{lost} of its {len(folders)} sessions {verb} killed before W&B wrote how long it ran.")
        if len(run.sessions) < 2:
            run.sessions = []
        if last.ended:
            run.ended_at = last.end
        return
    if not last.ended:
        return
    run.duration = last.duration
    if last.offset:
        # The folder of a resumed session, alone: its clock counts what came before, its start does not.
        notes.append(
            f"It was resumed: W&B's runtime counts {last.offset:.0f} s of earlier sessions, whose folders are not here."
        )
    else:
        run.ended_at = last.end if last.duration is not None else None
    if last.whole_seconds:
        notes.append("Nothing was logged at its end; the runtime is W&B's exit record, in whole seconds.")


def _markers(folders: Sequence[Folder], completed: bool) -> list[Event]:
    events: list[Event] = []
    for folder in folders:
        if len(folder.rows) < 2 and folder.log is None:
            continue  # a summary is one row, not a series
        points = []
        for row in folder.rows:
            time = row.timestamp
            if time is None and folder.start is not None and row.runtime is not None:
                time = folder.start + row.runtime - folder.offset
            if time is not None and time >= EARLIEST:
                points.append(Point(time, row.step, row.epoch))
        events += markers(points, ended=completed and folder is folders[-1])
    return events
