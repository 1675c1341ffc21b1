"""MLPerf Training result logs: ``:::MLPv0.5.0``, ``:::MLL`` and ``:::MLLOG`` lines among any other output.

``run_start`` → ``run_stop`` is the wall. Start/stop pairs are sections, nested where one kind of span contains
another; ``init`` lies before the run and is reported beside the wall, not in it. Points in time are the settings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from mkdocs_sweepprof.readers.base import Event, Reading, Run, Scalar, Source, Status
from mkdocs_sweepprof.readers.complaints import Complaints
from mkdocs_sweepprof.readers.native import no_nan, sections_of
from mkdocs_sweepprof.readers.tree import Tree
from mkdocs_sweepprof.readers.values import EARLIEST, LATEST, finite, flatten, parse_time

HEAD = 65_536
"""Bytes at either end of a file in which a marker is looked for."""
MAX_LOOKED_AT = 50_000
"""Text files of one collection that are looked into."""
MAX_ROWS = 500_000
"""MLPerf lines of one log; the rest is left aside, and said."""
ROUNDING = 0.002
"""Seconds by which a span may stick out of the one that contains it: the clocks print milliseconds."""
LATE = 0.01
"""Seconds after ``run_stop`` within which a stop still belongs to the run (it is logged line by line)."""
RESTART_GAP = 60.0
"""Seconds after which a second ``run_start`` without a ``run_stop`` before it is a new attempt, not another rank."""
MAX_LEVELS = 3
"""More values than this of one key in one run are a series or the model's structure, not a setting."""

_TEXT = re.compile(r"(^|/)[^/]+?(\.(txt|log|out|err))(\.gz)?$|(^|/)[^./]+$")
_RESULT = re.compile(r"(^|/)result_\d+\.txt(\.gz)?$")
_SUFFIX = re.compile(r"\.(txt|log|out|err)(\.gz)?$")
_MARKER = ":::ML"
_KIND = re.compile(r":::ML(LOG|L|Pv[\d.]+)[ \t]+")
_RANK = re.compile(r"(?:\[\d+,(\d+)\]<\w+>:|\[?(?:rank)?[ _]?(\d+)\]?\s*:)\s*$")
_MLL = re.compile(r"(\S+) ([\w.-]+):[ \t]*")
_MLP = re.compile(r"(\S+) (\d+(?:\.\d+)?) \(([^)]*)\) ([\w.-]+)[ \t]*(?::[ \t]*(.*))?$")
_LINE_END = re.compile(r"\n|$")

# What a run measured or did, as opposed to what it was set to.
_NOT_SETTINGS = re.compile(
    r"^(cache_clear|run_clear_caches|run_final|status|train_loop|train_epoch|train_checkpoint|tracked_stats"
    r"|weights_initialization|eval_result|eval_size_done|.*accuracy|.*throughput|train_loss|eval_loss|loss|power_.*)$"
)
_ALWAYS_FIRST = ("submission_", "opt_", "global_batch", "input_batch", "local_batch", "seed")
_NEW_ATTEMPT = frozenset({"init_start", "cache_clear", "submission_benchmark", "run_clear_caches"})
_STATUS: dict[str, Status] = {
    "success": "completed",
    "true": "completed",
    "abort": "failed",
    "aborted": "failed",
    "failed": "failed",
    "failure": "failed",
    "error": "failed",
    "false": "failed",
}


@dataclass(slots=True)
class Row:
    """One MLPerf line. ``time`` is epoch seconds, None where the line has none (written as 0.0)."""

    line: int
    key: str
    time: float | None
    value: Any
    metadata: dict[str, Any]
    rank: str | None
    benchmark: str | None = None


@dataclass(slots=True)
class _Attempt:
    """The rows of one run: a log may hold a killed run and its second attempt."""

    rows: list[Row] = field(default_factory=list)
    start: Row | None = None
    stop: Row | None = None


class MLPerfReader:
    """One log file a run."""

    name = "mlperf"
    title = "MLPerf logs"
    version = 2

    def find(self, tree: Tree) -> Sequence[Source]:
        """Text files with an MLPerf line near either end, and ``result_N.txt`` beside them that hold none (yet)."""
        found: list[str] = []
        bare: list[str] = []
        looked = 0
        for path in tree.files:
            if not _TEXT.search(path):
                continue
            looked += 1
            if looked > MAX_LOOKED_AT:
                break
            marker = _MARKER.encode()
            utf16 = _MARKER.encode("utf-16-le")
            head = tree.head(path, HEAD)
            if marker in head or utf16 in head or (len(head) == HEAD and marker in tree.tail(path, HEAD)):
                found.append(path)
            elif _RESULT.search(path):
                bare.append(path)
        folders: dict[str, int] = {}
        for path in found:
            folder = path.rpartition("/")[0]
            folders[folder] = folders.get(folder, 0) + 1
        for path in bare:
            folder = path.rpartition("/")[0]
            if folder in folders:
                folders[folder] += 1
                found.append(path)
        return [
            # A folder with one log is the run's own, which other layouts' files in it then belong to.
            Source(self.name, p, (p,), f if (f := p.rpartition("/")[0]) and folders[f] == 1 else None)
            for p in sorted(found)
        ]

    def read(self, tree: Tree, source: Source) -> Reading:
        """The run in a log (or runs, when it was appended to), with problems by line."""
        path = source.key
        identity = _SUFFIX.sub("", path)
        complaints = Complaints(identity)
        try:
            text = tree.read_text(path)
        except OSError as error:
            complaints.cannot_read(path, error)
            run = Run(identity, self.name, source.directory, files=source.files, unreadable=True)
            return Reading([run], complaints.all())
        rows = list(_rows(path, text, complaints))
        attempts = _attempts(rows)
        runs = []
        for number, attempt in enumerate(attempts, start=1):
            run = Run(identity if number == 1 else f"{identity}#{number}", self.name, files=source.files)
            if len(attempts) == 1:
                run.directory = source.directory
            _fill(run, path, attempt, complaints)
            runs.append(run)
        return Reading(runs, complaints.all())


# --- lines ---------------------------------------------------------------------------------------------------------


def _rows(path: str, text: str, complaints: Complaints) -> Iterator[Row]:
    """The MLPerf lines of a log, in file order; those that cannot be read become problems."""
    decoder = json.JSONDecoder()
    position = counted = 0
    line = 1
    found = 0
    seconds_said = False
    while (at := text.find(_MARKER, position)) >= 0:
        line += text.count("\n", counted, at)
        counted = at
        kind = _KIND.match(text, at)
        end = _end_of_line(text, at)
        # Two processes may write into one line: the next marker then ends this one.
        following = text.find(_MARKER, at + 1, end)
        position = following if following >= 0 else end
        if kind is None:
            if text.startswith((":::MLLOG", ":::MLL", ":::MLPv"), at):
                _cut(path, line, end == len(text), complaints)
            continue
        before = text[text.rfind("\n", 0, at) + 1 : at][-40:]
        rank = _RANK.search(before)
        body = text[kind.end() : position].strip("\0 \t")
        try:
            row = _parse(kind.group(1), body, decoder)
        except (ValueError, KeyError, TypeError, RecursionError):
            row = None
        if row is None:
            _cut(path, line, end == len(text), complaints)
            continue
        row.line = line
        row.rank = (rank.group(1) or rank.group(2)) if rank else None
        raw = row.time
        row.time = _seconds(raw, milliseconds=kind.group(1) == "LOG")
        if raw is not None and row.time is None and raw != 0:
            complaints.add(
                path,
                f"{row.key}: its time ({raw:g}) is no date; the line's time is not used.",
                "Check the clock of the machine that wrote it.",
                line=line,
                kind="time",
            )
        if not seconds_said and raw and row.time is not None and _unit_was_guessed(raw, row.time, kind.group(1)):
            seconds_said = True
            complaints.add(
                path,
                "times are not in the unit that the format has; they were recognised by their size.",
                "Write time_ms in milliseconds.",
                line=line,
                kind="time",
                severity="info",
            )
        found += 1
        if found > MAX_ROWS:
            complaints.add(
                path, f"more than {MAX_ROWS} MLPerf lines; the rest is left out.", "Log less.", line=line, kind="size"
            )
            return
        yield row


def _end_of_line(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _cut(path: str, line: int, last: bool, complaints: Complaints) -> None:
    if last:
        complaints.add(
            path,
            "the last line is cut; it is left out.",
            "Nothing to do when the run was killed there.",
            line=line,
            severity="info",
        )
    else:
        complaints.add(
            path,
            "the MLPerf line cannot be read; it is left out.",
            "Two processes may have written into it: log from one.",
            line=line,
        )


def _parse(kind: str, body: str, decoder: json.JSONDecoder) -> Row | None:
    """One line's body; ValueError, KeyError or TypeError when it is not of its kind. ``time`` is still raw."""
    if kind == "LOG":
        content, _ = decoder.raw_decode(body)
        if not isinstance(content["key"], str):
            return None
        time = finite(content.get("time_ms"))
        metadata = content.get("metadata")
        return Row(0, content["key"], time, content.get("value"), metadata if isinstance(metadata, dict) else {}, None)
    if kind == "L":
        match = _MLL.match(body)
        if match is None:
            return None
        content, _ = decoder.raw_decode(body, match.end())
        if not isinstance(content, dict):
            return None
        metadata = content.get("metadata")
        time = finite(match.group(1))
        if time is None:
            return None
        return Row(0, match.group(2), time, content.get("value"), metadata if isinstance(metadata, dict) else {}, None)
    match = _MLP.match(body)
    if match is None:
        return None
    value: Any = match.group(5)
    if value is not None:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = value.strip() or None
    metadata = value if isinstance(value, dict) else {}
    return Row(0, match.group(4), finite(match.group(2)), value, metadata, None, match.group(1))


def _seconds(raw: float | None, *, milliseconds: bool) -> float | None:
    """Epoch seconds; a clock that counts from a start of its own stays as it is."""
    if raw is None or raw <= 0:
        return None
    if not milliseconds:
        return parse_time(raw)
    if raw / 1e3 >= EARLIEST:
        return parse_time(raw / 1e3)
    # Seconds where milliseconds belong, when that gives a date; else a relative clock.
    return raw if EARLIEST <= raw < LATEST else raw / 1e3


def _unit_was_guessed(raw: float, seconds: float, kind: str) -> bool:
    return seconds != (raw / 1e3 if kind == "LOG" else raw)


# --- attempts ------------------------------------------------------------------------------------------------------


def _attempts(rows: list[Row]) -> list[_Attempt]:
    """Rows split where one run ended (or was killed) and another began in the same file."""
    cuts = [0]
    start: Row | None = None
    stopped = False
    fresh: int | None = None
    for index, row in enumerate(rows):
        if row.key in _NEW_ATTEMPT and start is not None and fresh is None:
            fresh = index
        if row.key == "run_stop":
            stopped = stopped or start is not None
            fresh = None
        elif row.key == "run_start":
            gap = (row.time or 0.0) - (start.time or 0.0) if start else 0.0
            if start is None:
                start, fresh = row, None
            elif row.rank == start.rank and (stopped or fresh is not None) and gap > (1.0 if stopped else RESTART_GAP):
                cuts.append(index if fresh is None else fresh)
                start, stopped, fresh = row, False, None
    attempts = []
    for begin, end in zip(cuts, [*cuts[1:], len(rows)], strict=True):
        attempt = _Attempt(rows[begin:end])
        attempt.start = next((r for r in attempt.rows if r.key == "run_start"), None)
        rank = attempt.start.rank if attempt.start else None
        stops = [r for r in attempt.rows if r.key == "run_stop"]
        attempt.stop = next((r for r in stops if r.rank == rank), stops[0] if stops else None)
        attempts.append(attempt)
    return attempts


def _fill(run: Run, path: str, attempt: _Attempt, complaints: Complaints) -> None:
    """Config, wall, status, sections and markers of one attempt."""
    notes: list[str] = []
    run.config = _config(path, attempt.rows)
    run.compare_by = "submission_benchmark"
    start = attempt.start.time if attempt.start else None
    stop = attempt.stop.time if attempt.stop else None
    if attempt.start is not None and start is None:
        # The run is real and so are its spans; only its clock's start is lost.
        complaints.add(
            path,
            "run_start has no usable time; the wall is taken from the first line after it to the last.",
            "Check the clock of the machine that wrote it.",
            line=attempt.start.line,
            kind="time",
        )
        after = [r.time for r in attempt.rows if r.line > attempt.start.line and r.time is not None]
        start = min(after, default=None)
    else:
        run.started_at = start
    if start is None:
        # Died while it initialised, or before its first line.
        run.status = "not_started"
        if attempt.rows and attempt.start is None:
            notes.append("The log has no run_start: the run ended before its clock began.")
        run.notes = tuple(notes)
        return
    spans, stops = _spans(path, attempt.rows, attempt.start, complaints, notes)
    if attempt.stop is None:
        run.status = "running"
    else:
        run.status = _status(attempt, complaints, path)
        if stop is None:
            complaints.add(
                path,
                "run_stop has no usable time; the wall is taken from the run's first line to its last.",
                "Check the clock of the machine that wrote it.",
                line=attempt.stop.line,
                kind="time",
            )
        elif stop < start:
            complaints.add(
                path,
                "run_stop lies before run_start; the wall is not known.",
                "The clock was set back while the run went on.",
                line=attempt.stop.line,
                kind="time",
            )
            stop = None
        else:
            run.ended_at = stop
    if run.started_at is None or run.ended_at is None:
        times = [r.time for r in attempt.rows if r.time is not None and r.time >= start]
        run.first_activity, run.last_activity = start, max(times if stop is None else [t for t in times if t <= stop])
    init = [(b, e) for b, e, kind in spans if kind == "init"]
    if init:
        run.outside["init"] = sum(e - b for b, e in init)
    inside = []
    late = 0
    for begin, end, kind in spans:
        if kind == "init":
            continue
        if begin < start - ROUNDING or (stop is not None and begin >= stop):
            late += 1
            continue
        inside.append((begin, stop if stop is not None and end > stop + LATE else end, kind))
    if late:
        notes.append("Spans outside run_start to run_stop are left out.")
    paths = _paths(inside)
    run.sections = sections_of([(b, e, paths[kind]) for b, e, kind in inside])
    run.events = _markers(attempt, inside, stops, start, stop) if run.started_at is not None else []
    run.notes = tuple(notes)


def _status(attempt: _Attempt, complaints: Complaints, path: str) -> Status | None:
    """What ``run_stop`` says, else a ``status`` line; None when neither says anything."""
    stop = attempt.stop
    if stop is None:
        return "running"
    said = stop.metadata.get("status", stop.metadata.get("success"))
    if said is None:
        said = next((r.value for r in attempt.rows if r.key == "status" and r.value is not None), None)
    if said is None:
        return None
    status = _STATUS.get(str(said).lower())
    if status is None:
        complaints.add(
            path,
            f"run_stop has the unknown status {str(said)[:40]!r}; the outcome counts as not recorded.",
            "The format knows success and aborted.",
            line=stop.line,
            severity="info",
        )
    return status


# --- config --------------------------------------------------------------------------------------------------------


def _config(path: str, rows: list[Row]) -> dict[str, Scalar]:
    """Points in time as settings, the first of each key; what only the path says, last."""
    first: dict[str, Any] = {}
    seen: dict[str, set[str]] = {}
    for row in rows:
        key = row.key
        if row.value is None or key.endswith(("_start", "_stop")) or _NOT_SETTINGS.match(key):
            continue
        value = row.value
        if row.benchmark and isinstance(value, dict) and "value" in value:
            if value.get("deferred"):
                continue  # a schedule's value at one step
            value = value["value"]
        first.setdefault(key, value)
        if len(values := seen.setdefault(key, set())) <= MAX_LEVELS:
            values.add(repr(value))
    kept = {
        key: value
        for key, value in first.items()
        if (len(seen[key]) <= MAX_LEVELS or key.startswith(_ALWAYS_FIRST)) and not str(value).startswith("DEFERRED:")
    }
    folders = path.split("/")[:-1]
    results = max((i for i, f in enumerate(folders) if f == "results"), default=None)
    system = folders[results + 1] if results is not None and len(folders) > results + 1 else None
    folder = folders[results + 2] if results is not None and len(folders) > results + 2 else None
    if "submission_benchmark" not in kept:
        named = next((r.benchmark for r in rows if r.benchmark), None) or folder
        if named is not None:
            kept["submission_benchmark"] = named
    if kept.get("benchmark") == kept.get("submission_benchmark"):
        kept.pop("benchmark", None)
    if system is not None and system != kept.get("submission_platform"):
        kept["system"] = system
    if results and "submission_org" not in kept:
        kept["submission"] = "/".join(folders[:results])
    return {key: no_nan(value) for key, value in flatten(kept).items()}


# --- spans ---------------------------------------------------------------------------------------------------------


def _spans(
    path: str, rows: list[Row], start: Row | None, complaints: Complaints, notes: list[str]
) -> tuple[list[tuple[float, float, str]], list[Row]]:
    """Start/stop pairs as (begin, end, kind), in order of their stops, and the rows that they came from.

    Starts that name their ``first_epoch_num`` may overlap and are paired by it; any other stop closes the latest
    start of its kind, which is how the ranks' repeated ``init_start`` and a start logged too early are meant.
    """
    rank = start.rank if start else None
    # A kind that the rank of run_start logs is taken from it alone; else from the first rank that logs it.
    owner: dict[str, str | None] = {}
    for row in rows:
        kind = row.key.rpartition("_")[0]
        if row.key.endswith(("_start", "_stop")) and (kind not in owner or row.rank == rank):
            owner[kind] = row.rank
    opened: dict[str, list[Row]] = {}
    spans: list[tuple[float, float, str]] = []
    stops: list[Row] = []
    by_order: set[str] = set()
    loose: set[str] = set()
    for row in rows:
        kind, _, edge = row.key.rpartition("_")
        if not kind or kind == "run" or edge not in ("start", "stop") or row.rank != owner[kind]:
            continue
        if row.time is None:
            continue
        waiting = opened.setdefault(kind, [])
        if edge == "start":
            if waiting and "first_epoch_num" not in row.metadata:
                waiting.clear()
            waiting.append(row)
            continue
        if not waiting:
            loose.add(kind)
            continue
        name = row.metadata.get("first_epoch_num")
        at = 0
        if len(waiting) > 1:
            match = [i for i, w in enumerate(waiting) if name is not None and w.metadata.get("first_epoch_num") == name]
            if match:
                at = match[0]
            else:
                by_order.add(kind)
        begin = waiting.pop(at)
        if begin.time is None or row.time < begin.time:
            complaints.add(
                path,
                f"{row.key} lies before its start (line {begin.line}); the span is left out.",
                "The clock was set back while the run went on.",
                line=row.line,
                kind="time",
            )
            continue
        spans.append((begin.time, row.time, kind))
        stops.append(row)
    for kind in sorted(by_order):
        notes.append(f"{kind}_stop names other epochs than {kind}_start: the spans are paired in order.")
    endless = sorted(k for k, w in opened.items() if w and not any(s[2] == k for s in spans) and k != "init")
    for kind in endless:
        notes.append(f"{kind}_start has no {kind}_stop in the log, so it gives no section.")
    return spans, stops


def _paths(spans: list[tuple[float, float, str]]) -> dict[str, str]:
    """Each kind's section path: below the smallest other kind whose spans contain all of its own."""
    by_kind: dict[str, list[tuple[float, float]]] = {}
    for begin, end, kind in spans:
        by_kind.setdefault(kind, []).append((begin, end))
    total = {kind: sum(e - b for b, e in pairs) for kind, pairs in by_kind.items()}
    parent: dict[str, str] = {}
    for kind, pairs in by_kind.items():
        around = [
            other
            for other, outer in by_kind.items()
            if other != kind and total[other] > total[kind] and _all_inside(pairs, outer)
        ]
        if around:
            parent[kind] = min(around, key=lambda k: (total[k], k))
    paths: dict[str, str] = {}
    for kind in by_kind:
        parts = [kind]
        while parts[0] in parent:  # totals grow upwards, so this ends
            parts.insert(0, parent[parts[0]])
        paths[kind] = "/".join(parts)
    return paths


def _all_inside(inner: list[tuple[float, float]], outer: list[tuple[float, float]]) -> bool:
    """Whether each inner span lies in one of the outer ones."""
    ordered = sorted(outer)
    first = 0
    for begin, end in sorted(inner):
        while first < len(ordered) and ordered[first][1] < begin:
            first += 1
        # Outer spans may overlap, so a later one may hold it too.
        for b, e in ordered[first:]:
            if b - ROUNDING <= begin and end <= e + ROUNDING:
                break
            if b > begin + ROUNDING:
                return False
        else:
            return False
    return True


# --- markers -------------------------------------------------------------------------------------------------------


def _markers(
    attempt: _Attempt, inside: list[tuple[float, float, str]], stops: list[Row], start: float, stop: float | None
) -> list[Event]:
    """``run_start``, the ends of spans (an epoch's is ``epoch_end``) and epoch points, ``run_end``; by time."""
    events: list[Event] = []
    ends = {(round(e, 6), kind) for _, e, kind in inside}
    for row in stops:
        kind = row.key.removesuffix("_stop")
        if row.time is None or (round(row.time, 6), kind) not in ends:
            continue
        name = "epoch_end" if kind == "epoch" else row.key
        number = finite(row.metadata.get("epoch_num", row.metadata.get("first_epoch_num")))
        time = row.time if stop is None else min(row.time, stop)
        events.append(Event(time, name, epoch=int(number) if number is not None and number.is_integer() else None))
    for row in attempt.rows:
        if (
            row.key == "train_epoch"
            and row.time is not None
            and row.time >= start
            and (stop is None or row.time < stop)
        ):
            number = finite(row.value)
            events.append(Event(row.time, "train_epoch", epoch=int(number) if number is not None else None))
    events.sort(key=lambda e: e.time)
    events.insert(0, Event(start, "run_start"))
    if stop is not None:
        events.append(Event(stop, "run_end"))
    return events
