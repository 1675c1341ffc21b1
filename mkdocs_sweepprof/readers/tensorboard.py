"""TensorBoard event files: TFRecord framing and protocol buffers, read by hand.

What the layout knows: the wall time of each logged record, steps, and hyperparameters when the ``hparams`` plugin
wrote them. It knows no end and no status: a run's time is that from its first to its last event, and begins when the
writer opens (imports and setup lie before it).

A folder with event files is a run. Writers that a run opens for itself below its folder (``add_hparams``,
``add_scalars``, ``train`` and ``validation`` of Keras) belong to it.
"""

from __future__ import annotations

import io
import re
import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import BinaryIO

from mkdocs_sweepprof.levels import natural
from mkdocs_sweepprof.readers.base import Problem, Reading, Run, Scalar, Session, Source, Status
from mkdocs_sweepprof.readers.progress import Point, markers
from mkdocs_sweepprof.readers.tree import TooLarge, Tree
from mkdocs_sweepprof.readers.values import EARLIEST, LATEST, finite, scalar

MAX_RECORDS = 3_000_000
"""Records read of one run's files; what follows is left aside, and said."""
MAX_RECORD_BYTES = 1 << 31
"""A longer record is taken for damage."""
READ_BYTES = 1 << 16
"""Of a record with an image or a graph only the beginning is read."""
WHOLE_BYTES = 64 * 1024 * 1024
"""A larger file is not read into memory."""
BACKWARD_SLACK = 1.0
"""Seconds that a clock may go back (writers' queues, small corrections) without it being said."""

_NAME = re.compile(r"^events\.out\.tfevents\.(\d+)(?:\.(.+?))?(?:\.gz)?$")
_PROCESS = re.compile(r"^(.*)\.(\d+)\.(\d+)(?:\.v2)?$")
_TIMESTAMP_FOLDER = re.compile(r"^\d{9,}(\.\d+)?$")
_ROLES = frozenset(
    {"train", "training", "val", "valid", "validation", "eval", "evaluation", "test", "eval_train", "train_eval"}
)
_HEADER = b"brain.Event:"
_LENGTH = struct.Struct("<Q")
_WALL = struct.Struct("<d")


class TensorBoardReader:
    """Folders with ``events.out.tfevents.*`` files."""

    name = "tensorboard"
    title = "TensorBoard"
    version = 1

    def find(self, tree: Tree) -> Sequence[Source]:
        """One source a run folder, with the event files of the folders below that belong to it."""
        folders: dict[str, list[str]] = defaultdict(list)
        for path in tree.match("events.out.tfevents.*"):
            name = path.rpartition("/")[2]
            if _NAME.match(name) and not name.endswith(".profile-empty"):
                folders[path.rpartition("/")[0]].append(path)
        for folder in [f for f, paths in folders.items() if not any(_looks_right(tree, p) for p in paths)]:
            del folders[folder]
        home = _homes(tree, folders)
        runs: dict[str, list[str]] = defaultdict(list)
        for folder, paths in folders.items():
            runs[home[folder]].extend(paths)
        return [
            Source(self.name, folder or ".", tuple(sorted(paths)), folder)
            for folder, paths in sorted(runs.items(), key=lambda item: natural(item[0]))
        ]

    def read(self, tree: Tree, source: Source) -> Reading:
        """Read one run folder's event files."""
        reading = Reading()
        logs = []
        budget = MAX_RECORDS
        for path in source.files:
            log = _read_file(tree, path, budget, reading.problems)
            if log is not None:
                budget -= log.records
                logs.append(log)
        folder = source.directory or ""
        run = Run(id=folder or ".", layout=self.name, directory=folder, files=source.files)
        if logs:
            _fill(run, folder, logs, reading.problems)
        else:
            run.unreadable = True
        reading.problems = [replace(p, run=run.id) for p in reading.problems]
        reading.runs.append(run)
        return reading


# --- recognising -----------------------------------------------------------------------------------------------------


def _looks_right(tree: Tree, path: str) -> bool:
    """Whether the first record is an event file's header; empty and unreadable files pass by their name."""
    head = tree.head(path, 64)
    return len(head) < 40 or _HEADER in head


def _process(path: str) -> tuple[str, str] | None:
    """(host, process id) from a file's name, None when it has none."""
    found = _NAME.match(path.rpartition("/")[2])
    rest = _PROCESS.match(found.group(2) or "") if found else None
    return (rest.group(1), rest.group(2)) if rest else None


def _homes(tree: Tree, folders: dict[str, list[str]]) -> dict[str, str]:
    """The run folder of each folder with event files."""
    below: dict[str, list[str]] = defaultdict(list)
    for folder in folders:
        if folder:
            below[folder.rpartition("/")[0]].append(folder)
    home = {folder: folder for folder in folders}
    for parent, subs in below.items():
        roles = [s for s in subs if s.rpartition("/")[2].lower() in _ROLES]
        if parent in folders:
            for sub in subs:
                if sub in roles or _own_writer(tree, folders, parent, sub):
                    home[sub] = parent
        elif len(roles) == len(subs) > 1 or (len(subs) == len(roles) == 1 and parent and _is_train(subs[0])):
            # Keras: logs/train and logs/validation are one fit.
            for sub in subs:
                home[sub] = parent
    for folder in folders:
        seen = {folder}
        while home.get(home[folder], home[folder]) != home[folder] and home[folder] not in seen:
            seen.add(home[folder])
            home[folder] = home[home[folder]]
    return home


def _is_train(folder: str) -> bool:
    return folder.rpartition("/")[2].lower() in ("train", "training")


def _own_writer(tree: Tree, folders: dict[str, list[str]], parent: str, sub: str) -> bool:
    """Whether the folder holds what ``add_hparams`` or ``add_scalars`` of the parent's process wrote."""
    ours = {_process(p) for p in folders[parent]} - {None}
    theirs = {_process(p) for p in folders[sub]}
    name = sub.rpartition("/")[2]
    if _TIMESTAMP_FOLDER.match(name):
        return not ours or None in theirs or theirs <= ours
    if not ours or not theirs <= ours:
        return False
    for path in folders[sub]:
        head = tree.head(path, READ_BYTES)
        for content in _records(io.BytesIO(head), len(head)):
            for tag, plugin in _tags(content):
                if plugin == "hparams" or (tag and name.startswith(tag.replace("/", "_") + "_")):
                    return True
            if _tags(content):
                break
    return False


# --- the file format -------------------------------------------------------------------------------------------------


class _Cut(Exception):
    """The file ends inside a record, or a length makes no sense."""


def _records(stream: BinaryIO, size: int) -> Iterator[bytes]:
    """The records of a TFRecord file, each to at most :data:`READ_BYTES`. A cut tail ends them."""
    position = 0
    while position + 12 <= size:
        header = stream.read(12)
        if len(header) < 12:
            return
        length: int = struct.unpack_from("<Q", header)[0]
        end = position + 16 + length
        if length > MAX_RECORD_BYTES or end > size:
            raise _Cut(position)
        if length <= READ_BYTES:
            content = stream.read(length + 4)
            if len(content) < length + 4:
                raise _Cut(position)
            yield content[:length]
        else:
            yield stream.read(READ_BYTES)
            stream.seek(end)
        position = end
    if position < size:
        raise _Cut(position)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, next position). IndexError at the end, ValueError when longer than 10 bytes."""
    value = data[at]
    if value < 0x80:
        return value, at + 1
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("varint")


def _fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """(number, wire type, value) of a message; what cannot be parsed ends it. Cut bytes fields are given as far as
    they go."""
    at = 0
    try:
        while at < len(data):
            key, at = _varint(data, at)
            number, wire = key >> 3, key & 7
            if wire == 0:
                value, at = _varint(data, at)
                yield number, wire, value
            elif wire == 1:
                yield number, wire, data[at : at + 8]
                at += 8
            elif wire == 2:
                length, at = _varint(data, at)
                yield number, wire, data[at : at + length]
                at += length
            elif wire == 5:
                yield number, wire, data[at : at + 4]
                at += 4
            else:
                return
    except (IndexError, ValueError):
        return


def _double(value: int | bytes) -> float | None:
    return finite(struct.unpack("<d", value)[0]) if isinstance(value, bytes) and len(value) == 8 else None


def _text(value: int | bytes) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else ""


def _tags(event: bytes) -> list[tuple[str, str]]:
    """(tag, plugin name) of each value in an event's summary."""
    found = []
    for number, _, summary in _fields(event):
        if number != 5 or not isinstance(summary, bytes):
            continue
        for kind, _, value in _fields(summary):
            if kind == 1 and isinstance(value, bytes):
                tag = plugin = ""
                for n, _, v in _fields(value):
                    if n == 1:
                        tag = _text(v)
                    elif n == 9 and isinstance(v, bytes):
                        plugin = _plugin(v)[0]
                found.append((tag, plugin))
    return found


def _plugin(metadata: bytes) -> tuple[str, bytes]:
    """(plugin name, its content) of a summary's metadata."""
    name, content = "", b""
    for number, _, value in _fields(metadata):
        if number == 1 and isinstance(value, bytes):
            for n, _, v in _fields(value):
                if n == 1:
                    name = _text(v)
                elif n == 2 and isinstance(v, bytes):
                    content = v
    return name, content


def _plain(value: bytes) -> object:
    """A ``google.protobuf.Value`` as a plain value."""
    for number, _, inner in _fields(value):
        if number == 1:
            return None
        if number == 2 and isinstance(inner, bytes) and len(inner) == 8:
            real: float = struct.unpack("<d", inner)[0]
            # The plugin stores every number as a double: 48 and 48.0 cannot be told apart.
            return int(real) if real.is_integer() and abs(real) < 1e15 else real
        if number == 3:
            return _text(inner)
        if number == 4:
            return bool(inner)
        if number == 6 and isinstance(inner, bytes):
            return [_plain(v) for n, _, v in _fields(inner) if n == 1 and isinstance(v, bytes)]
    return None


def _epoch(event: bytes) -> float | None:
    """The value of a scalar called ``epoch`` (as Lightning logs it), None when the event is something else."""
    for number, _, summary in _fields(event):
        if number != 5 or not isinstance(summary, bytes):
            continue
        for kind, _, value in _fields(summary):
            if kind != 1 or not isinstance(value, bytes):
                continue
            entry = {n: (w, v) for n, w, v in _fields(value)}
            tag = _text(entry.get(1, (2, b""))[1])
            wire, plain = entry.get(2, (0, b""))
            if tag == "epoch" and wire == 5 and isinstance(plain, bytes) and len(plain) == 4:
                return finite(struct.unpack("<f", plain)[0])
    return None


@dataclass(slots=True)
class _Log:
    """What one event file holds. ``times`` (epoch seconds) and ``steps`` go record by record; a step is None for
    records that mark no progress."""

    path: str
    times: list[float] = field(default_factory=list)
    steps: list[int | None] = field(default_factory=list)
    epochs: dict[int, float] = field(default_factory=dict)
    """Record number → value of an ``epoch`` scalar."""
    records: int = 0
    hparams: dict[str, Scalar] = field(default_factory=dict)
    session_start: float | None = None
    session_end: float | None = None
    outcome: int | None = None
    cut: bool = False

    @property
    def number(self) -> int:
        """The writer's number within its process."""
        found = _NAME.match(self.path.rpartition("/")[2])
        rest = _PROCESS.match(found.group(2) or "") if found else None
        return int(rest.group(3)) if rest else 0


def _read_file(tree: Tree, path: str, budget: int, problems: list[Problem]) -> _Log | None:
    """Read one event file; None when nothing of it could be read."""
    log = _Log(path)
    try:
        if path.endswith(".gz") or tree.path(path).stat().st_size <= WHOLE_BYTES:
            _scan_whole(tree.read_bytes(path), log, budget)
        else:
            with tree.path(path).open("rb") as stream:
                size = stream.seek(0, io.SEEK_END)
                stream.seek(0)
                _scan(stream, size, log, budget)
    except TooLarge as error:
        problems.append(Problem(path, f"The event file is {error}.", "Split it, or keep it uncompressed.", kind="size"))
        return None
    except OSError as error:
        what = error.strerror or str(error)
        problems.append(Problem(path, f"The event file cannot be read ({what}).", "Check the file's permissions."))
        return None
    if log.records >= budget:
        message = f"More than {MAX_RECORDS} records; those after them were not read."
        problems.append(Problem(path, message, "Log less often, or leave the file out.", kind="size"))
    if not log.times and log.cut:
        message = "No record of the event file could be read."
        problems.append(Problem(path, message, "Copy it anew from where it was written, or remove it."))
        return None
    return log


def _scan(stream: BinaryIO, size: int, log: _Log, budget: int) -> None:
    records = _records(stream, size)
    try:
        for content in records:
            log.records += 1
            _event(content, log, 0, len(content))
            if log.records >= budget:
                return
    except _Cut:
        log.cut = True


def _scan_whole(data: bytes, log: _Log, budget: int) -> None:
    """The same from memory, several times faster: one pass, no copies."""
    position, size = 0, len(data)
    while position + 12 <= size:
        length: int = _LENGTH.unpack_from(data, position)[0]
        start = position + 12
        position = start + length + 4
        if length > MAX_RECORD_BYTES or position > size:
            log.cut = True
            return
        log.records += 1
        _event(data, log, start, start + length)
        if log.records >= budget:
            return
    log.cut = position < size


def _event(data: bytes, log: _Log, start: int, stop: int) -> None:
    """Take wall time, step, epoch and hyperparameters from the event in ``data[start:stop]``."""
    if stop - start < 9 or data[start] != 0x09:
        return
    wall: float = _WALL.unpack_from(data, start + 1)[0]
    if not EARLIEST < wall < LATEST:
        return
    at, step = start + 9, 0
    if at < stop and data[at] == 0x10:
        try:
            step, at = _varint(data, at + 1)
        except (IndexError, ValueError):
            return
        if step >= 1 << 63:
            step -= 1 << 64
    # Only summaries mark progress: the header, graphs and metadata are written at step 0.
    progress = at < stop and data[at] == 0x2A
    if progress:
        near = min(stop, at + READ_BYTES)
        if data.find(b"hparams", at, near) >= 0:
            progress = not _hparams(data[start:stop], log)
        elif data.find(b"epoch", at, near) >= 0:
            epoch = _epoch(data[start:stop])
            if epoch is not None:
                log.epochs[len(log.times)] = epoch
    log.times.append(wall)
    log.steps.append(step if progress else None)


def _hparams(event: bytes, log: _Log) -> bool:
    """Take the hparams plugin's session; False when the event is something else."""
    found = False
    for number, _, summary in _fields(event):
        if number != 5 or not isinstance(summary, bytes):
            continue
        for kind, _, value in _fields(summary):
            if kind != 1 or not isinstance(value, bytes):
                continue
            for n, _, metadata in _fields(value):
                if n == 9 and isinstance(metadata, bytes):
                    plugin, data = _plugin(metadata)
                    if plugin == "hparams":
                        found = True
                        _session(data, log)
    return found


def _session(data: bytes, log: _Log) -> None:
    for number, _, value in _fields(data):
        if not isinstance(value, bytes):
            continue
        if number == 3:
            for n, _, v in _fields(value):
                if n == 1 and isinstance(v, bytes):
                    entry = {k: x for k, _, x in _fields(v)}
                    plain = entry.get(2)
                    log.hparams[_text(entry.get(1, b""))] = scalar(_plain(plain)) if isinstance(plain, bytes) else None
                elif n == 5:
                    log.session_start = _double(v) or None
        elif number == 4:
            for n, _, v in _fields(value):
                if n == 1 and isinstance(v, int):
                    log.outcome = v
                elif n == 2:
                    log.session_end = _double(v) or None


# --- one run ---------------------------------------------------------------------------------------------------------


def _fill(run: Run, folder: str, logs: list[_Log], problems: list[Problem]) -> None:
    """Put what the files hold into the run."""
    logs = [log for log in logs if log.times] or logs
    for log in logs:
        for key, value in log.hparams.items():
            if key:
                run.config.setdefault(key, value)
        if log.session_start and log.session_end:
            # Keras' callback writes both; torch's add_hparams writes neither time.
            run.started_at, run.ended_at = log.session_start, log.session_end
            outcomes: dict[int, Status] = {1: "completed", 2: "failed"}
            run.status = outcomes.get(log.outcome or 0)
    notes = ["TensorBoard records no end and no status: the time is that from the first to the last event."]
    if any(log.cut for log in logs):
        notes.append("An event file ends inside a record: its writer did not close it.")
    back = _turn_forward(logs)
    if back:
        notes.append(
            f"The clock was set back by {back:.0f} s during the run; the times after it were moved on by that."
        )
        where = next(log.path for log in logs if log.times)
        remedy = "Check the times of this run; no change is needed when they look right."
        message = f"The wall clock goes back by {back:.0f} s inside the event log."
        problems.append(Problem(where, message, remedy, kind="clock", severity="info"))

    times = [t for log in logs for t in log.times]
    if times:
        run.first_activity = min(times)
    if any(step is not None for log in logs for step in log.steps) or len(times) > 1:
        run.last_activity = max(times)
    else:
        notes.append("The event file holds its header only: nothing was logged, or nothing reached the disk.")
    if run.status is not None:
        notes[0] = "TensorBoard's hparams plugin recorded this run's start, end and status."
    run.notes = tuple(notes)

    stretches = _processes(logs)
    spans = [(min(t for log in s for t in log.times), max(t for log in s for t in log.times)) for s in stretches]
    if len(spans) > 1 and all(a[1] <= b[0] for a, b in pairwise(spans)):
        run.sessions = [Session(a, b) for a, b in spans]
    run.events = markers(_points(stretches), ended=run.status == "completed")


def _turn_forward(logs: list[_Log]) -> float:
    """Undo a clock that was set back while the run went on. Gives the seconds it was set back by, 0.0 for none."""
    total = 0.0
    turned: dict[tuple[str, str] | None, tuple[float, float]] = {}
    for log in sorted(logs, key=lambda g: (g.path.rpartition("/")[0], g.number)):
        offset, last = 0.0, None
        first = log.times[0] if log.times else 0.0
        for i, wall in enumerate(log.times):
            now = wall + offset
            if last is not None and now < last - BACKWARD_SLACK:
                offset += last - now
                now = last
            log.times[i] = now
            last = max(now, last) if last is not None else now
        if offset:
            total = max(total, offset)
            turned[_process(log.path)] = (first, offset)
    for log in logs:
        # A writer that the same process opened after its clock was set back.
        first, offset = turned.get(_process(log.path), (0.0, 0.0))
        if offset and log.times and log.times[0] < first - BACKWARD_SLACK:
            log.times = [t + offset for t in log.times]
    return total


def _processes(logs: list[_Log]) -> list[list[_Log]]:
    """The files of each process, by time. Files that name no process follow each other where their steps start over."""
    groups: dict[object, list[_Log]] = defaultdict(list)
    for log in logs:
        if log.times:
            key = _process(log.path)
            groups[key if key is not None else log.path].append(log)
    ordered = sorted(groups.values(), key=lambda g: (min(t for x in g for t in x.times), g[0].path))
    merged: list[list[_Log]] = []
    for group in ordered:
        steps = [s for x in group for s in x.steps if s is not None]
        if merged and all(_process(x.path) is None for x in group) and not _starts_over(merged[-1], steps):
            merged[-1].extend(group)
        else:
            merged.append(list(group))
    return merged


def _starts_over(before: list[_Log], steps: list[int]) -> bool:
    """Whether a nameless writer's steps fall back behind those already written: a new session."""
    reached = [s for x in before for s in x.steps if s is not None]
    return bool(steps and reached and min(steps) <= max(reached) and min(steps) < max(reached))


def _points(stretches: list[list[_Log]]) -> list[Point]:
    """What marks progress: steps, and epochs where an ``epoch`` scalar is logged."""
    points: list[Point] = []
    for stretch in stretches:
        for log in stretch:
            own = {s for s in log.steps if s is not None}
            if log.hparams and own <= {0}:
                continue  # add_hparams repeats the final metrics at step 0
            last = len(log.times) - 1
            for i, (wall, step) in enumerate(zip(log.times, log.steps, strict=True)):
                # Of the records of one step the last counts, and those with an epoch.
                if step is not None and (i in log.epochs or i == last or log.steps[i + 1] != step):
                    points.append(Point(wall, step, log.epochs.get(i)))
    return points
