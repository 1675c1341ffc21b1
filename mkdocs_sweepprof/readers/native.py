"""The native layout: a folder a run, with ``config.yaml`` (or ``.yml``, ``.json``) and ``profile.json`` and/or
``events.jsonl``. It is what the documentation tells people to write, so it is also checked most strictly: every row
that cannot be used is named by file and line.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from mkdocs_sweepprof.readers.base import Event, Reading, Run, Scalar, Section, Session, Source, Status
from mkdocs_sweepprof.readers.complaints import Complaints
from mkdocs_sweepprof.readers.tree import Tree
from mkdocs_sweepprof.readers.values import (
    LATEST,
    MAX_SECONDS,
    BadText,
    Repeated,
    finite,
    flatten,
    load_json,
    load_yaml,
    parse_time,
)

CONFIGS = ("config.yaml", "config.yml", "config.json")
PROFILES = ("profile.json", "profile.json.gz")
EVENTS = ("events.jsonl", "events.jsonl.gz")

HEAD = 65_536
"""Bytes looked at to recognise a profile or an event log."""
MAX_SECTIONS = 20_000
"""Section rows of one run; the rest is left aside, and said."""
MAX_EVENTS = 500_000
"""Event rows of one run; the rest is left aside, and said."""
MAX_COUNT = 2**53
"""Above this a count is no count of calls."""
MAX_NAME = 500
"""Characters of a section path or a marker's name."""
JITTER = 1.0
"""Seconds that a clock may go back between two rows without being reported (NTP slewing, threads)."""
ROUNDING = 0.002
"""Seconds by which two spans may overlap because their times were rounded to milliseconds."""
OVERLAP_SHARE = 0.01
"""A section is flagged as overlapping when more than this share of its time lies in another's spans."""
MAX_ACTIVE = 64
"""Spans open at one moment that are compared with each other."""

# What another tool's profile.json or config.json looks like.
_FOREIGN_PROFILE = re.compile(rb'"(traceEvents|root_frame|\$schema|deviceProperties)"')
_FOREIGN_CONFIG = re.compile(
    rb'"(architectures|model_type|transformers_version|_class_name)"\s*:|^_wandb\s*:|^wandb_version\s*:', re.M
)
_SECTIONS = re.compile(rb'"sections"\s*:')
_QUIET = (".md", ".err", ".out", ".log", ".sh", ".sbatch", ".slurm")
"""What may lie beside a lone config without making the folder another layout's."""

_START = "run_start"
_RESUMES = frozenset({"resume", "resumed", "run_resume", "run_resumed"})
_END = "run_end"
_SPAN_START = "section_start"
_SPAN_END = "section_end"

STATUS_WORDS: dict[str, Status] = {
    **dict.fromkeys(("completed", "complete", "success", "succeeded", "finished", "done", "ok"), "completed"),
    **dict.fromkeys(("failed", "fail", "failure", "error", "crashed", "aborted", "exception", "oom"), "failed"),
    # Ended, and not by itself: the run did not do its work.
    **dict.fromkeys(("killed", "cancelled", "canceled", "interrupted", "timeout", "preempted"), "failed"),
    **dict.fromkeys(("pruned", "early_stopped", "stopped_early", "early_stop"), "pruned"),
}


class NativeReader:
    """``runs/<run id>/`` with a config and a profile, an event log, or both."""

    name = "native"
    title = "run folders"
    version = 1

    def find(self, tree: Tree) -> Sequence[Source]:
        """Folders with a profile or an event log of ours at any depth, and lone configs directly below ``runs/``."""
        folders: set[str] = set()
        for name in PROFILES:
            folders.update(f for f in map(_folder, tree.named(name)) if _is_profile(tree, _join(f, name), f))
        for name in EVENTS:
            folders.update(f for f in map(_folder, tree.named(name)) if _is_events(tree, _join(f, name), f))
        if tree.is_folder("runs"):
            for sub in tree.subfolders("runs"):
                folder = f"runs/{sub}"
                if folder not in folders and _is_lone_config(tree, folder):
                    folders.add(folder)
            if any(_below_runs(f) for f in folders):
                # Beside runs of ours, an empty folder is one that was never begun.
                folders.update(f for f in map("runs/{}".format, tree.subfolders("runs")) if _is_empty(tree, f))
        sources = []
        for folder in sorted(folders):
            here = set(tree.names(folder))
            files = tuple(_join(folder, n) for n in (*CONFIGS, *PROFILES, *EVENTS) if n in here)
            sources.append(Source(self.name, folder, files, folder))
        return sources

    def read(self, tree: Tree, source: Source) -> Reading:
        """One run; problems name file and line."""
        folder = source.key
        identity = folder.removeprefix("runs/") or tree.root.name or "run"
        complaints = Complaints(identity)
        run = Run(identity, self.name, folder, files=source.files)
        last = identity.rpartition("/")[2]
        if last != identity:
            run.aliases = (last,)
        profile_file = next((f for f in source.files if f.endswith(PROFILES)), None)
        events_file = next((f for f in source.files if f.endswith(EVENTS)), None)

        if not source.files:
            run.status = "not_started"
            return Reading([run])
        run.config = _read_config(tree, folder, source.files, complaints)
        profile = read_profile(tree, profile_file, complaints) if profile_file else None
        log = read_events(tree, events_file, complaints) if events_file else None

        if profile:
            run.sections = profile.sections
            run.profile_wall = profile.wall
        if log:
            run.events = log.events
            run.sessions = log.sessions
            run.first_activity, run.last_activity = log.first, log.last
            run.notes = tuple(log.notes)
            known = {s.path for s in run.sections}
            # A profile's own totals are measured by the trainer; spans fill in what it does not have.
            run.sections.extend(s for s in log.sections if s.path not in known)
        run.status, run.unreadable = _outcome(run, profile, log)
        return Reading([run], complaints.all())


# --- recognising ---------------------------------------------------------------------------------------------------


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _below_runs(folder: str) -> bool:
    """Directly below the collection's own ``runs/``: ours even when the content is damaged."""
    return folder.startswith("runs/") and "/" not in folder[5:]


def _is_profile(tree: Tree, path: str, folder: str) -> bool:
    head = tree.head(path, HEAD)
    if _FOREIGN_PROFILE.search(head):
        return False
    return _below_runs(folder) or bool(_SECTIONS.search(head.replace(b"\0", b"")))


def _is_events(tree: Tree, path: str, folder: str) -> bool:
    head = tree.head(path, HEAD)
    first = head.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").split(b"\n", 1)[0].split(b"\r", 1)[0]
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        # A cut or damaged first line says nothing; the place does.
        return _below_runs(folder)
    if not isinstance(row, dict):
        return _below_runs(folder)
    if "run" in row and not folder:
        return False  # the table of events in the collection folder
    return ("time" in row and "event" in row) or (_below_runs(folder) and ("time" in row or "event" in row))


def _is_empty(tree: Tree, folder: str) -> bool:
    """Whether nothing stands in the folder; one that cannot be looked into is not empty."""
    inside = tree.names(folder) or tree.subfolders(folder)
    return not inside and all(path != folder for path, _ in tree.skipped)


def _is_lone_config(tree: Tree, folder: str) -> bool:
    """Whether the folder holds a config and nothing that another layout could have left."""
    if tree.subfolders(folder):
        return False
    names = tree.names(folder)
    configs = [n for n in names if n in CONFIGS]
    if not configs or any(n not in CONFIGS and not n.endswith(_QUIET) for n in names):
        return False
    if any(_FOREIGN_CONFIG.search(tree.head(_join(folder, n))) for n in configs):
        return False
    return not any(b":::ML" in tree.head(_join(folder, n), HEAD) for n in names if n.endswith((".log", ".out")))


# --- config --------------------------------------------------------------------------------------------------------


def _read_config(tree: Tree, folder: str, files: Sequence[str], complaints: Complaints) -> dict[str, Scalar]:
    """The first config file, flat; {} with a problem when there is none or it cannot be read."""
    found = [f for f in files if f.endswith(CONFIGS)]
    if not found:
        complaints.add(
            folder or ".",
            "the run has no config file, so its settings are unknown.",
            "Write config.yaml (or config.json) into the run folder.",
            kind="config",
        )
        return {}
    path = found[0]
    if len(found) > 1:
        complaints.add(
            found[1],
            f"not used, since {path.rpartition('/')[2]} is there too.",
            "Keep one config file a run.",
            kind="config",
            severity="info",
        )
    try:
        text = tree.read_text(path)
    except OSError as error:
        complaints.cannot_read(path, error)
        return {}
    return parse_config(path, text, complaints)


def parse_config(path: str, text: str, complaints: Complaints) -> dict[str, Scalar]:
    """A config's text (JSON by its name, else YAML) as flat fields; {} with a problem when it is no mapping."""
    remedy = "Correct the file, or write it again from the trainer."
    twice: list[Repeated] = []
    try:
        content = load_json(text, twice) if path.endswith(".json") and text.strip() else load_yaml(text, twice)
    except BadText as error:
        complaints.add(path, error.message, remedy, line=error.line, kind="config")
        return {}
    for key, first, second in twice:
        complaints.add(
            path,
            f"{key!r} stands twice"
            + (f" (first in line {first})" if first and first != second else "")
            + "; the last value counts.",
            "Keep one of the two.",
            line=second,
            kind="config",
            severity="info",
        )
    if content is None:
        complaints.add(path, "the config is empty.", "Write the run's settings into it.", kind="config")
        return {}
    if not isinstance(content, dict):
        complaints.add(
            path,
            f"a config must be a mapping of names to values, not a {_kind(content)}.",
            'Write "name: value" lines.',
            line=1,
            kind="config",
        )
        return {}
    # NaN equals nothing, itself neither, so as a number it could be no level: kept as text.
    return {key: no_nan(value) for key, value in flatten(content).items()}


def no_nan(value: Scalar) -> Scalar:
    """A config value, as text where it is NaN or infinite."""
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return "list"
    if isinstance(value, str):
        return "text"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "mapping"


# --- profile -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Profile:
    """What ``profile.json`` gave. ``damaged``: something in it could not be used."""

    wall: float | None = None
    sections: list[Section] = field(default_factory=list)
    damaged: bool = False


def read_profile(tree: Tree, path: str, complaints: Complaints) -> Profile:
    """The profile at ``path``; rows that cannot be used are left out, each with its line."""
    profile = Profile()
    try:
        text = tree.read_text(path)
        content = load_json(text)
    except OSError as error:
        complaints.cannot_read(path, error)
        return Profile(damaged=True)
    except BadText as error:
        what = "the profile is empty." if not text.strip("\0 \n\t") else error.message
        complaints.add(
            path, what, "Write it again from the trainer, or remove the file.", line=error.line, kind="unreadable"
        )
        return Profile(damaged=True)
    if not isinstance(content, dict):
        complaints.add(
            path,
            f"a profile must be a JSON object, not a {_kind(content)}.",
            'Write {"wall_seconds": …, "sections": […]}.',
            line=1,
        )
        return Profile(damaged=True)
    where = _Lines(text)

    wall = content.get("wall_seconds")
    if wall is not None:
        number = finite(wall) if not isinstance(wall, str) else None
        if number is None or not 0 < number <= MAX_SECONDS:
            complaints.add(
                path,
                f"wall_seconds is {_show(wall)}; it is not used.",
                "Write the run's duration in seconds, a positive number, or leave the key out.",
                line=where.key("wall_seconds"),
            )
            profile.damaged = True
        else:
            profile.wall = number

    rows = content.get("sections", [])
    if not isinstance(rows, list):
        complaints.add(
            path,
            f"sections must be a list, not a {_kind(rows)}.",
            'Write [{"section": "a/b", "count": 1, "total_seconds": 1.5}, …].',
            line=where.key("sections"),
        )
        profile.damaged = True
        return profile
    if len(rows) > MAX_SECTIONS:
        complaints.add(
            path,
            f"{len(rows)} sections; only the first {MAX_SECTIONS} are used.",
            "Profile fewer, coarser sections.",
            kind="size",
        )
        rows = rows[:MAX_SECTIONS]
    sections: dict[str, Section] = {}
    for index, row in enumerate(rows):
        section, wrong = section_row(row)
        if section is None:
            key, message, remedy = wrong
            complaints.add(path, message, remedy, line=where.entry(index, key))
            profile.damaged = True
            continue
        same = sections.get(section.path)
        if same is None:
            sections[section.path] = section
            continue
        complaints.add(
            path,
            f"section {section.path!r} stands more than once; its rows are added up.",
            "Write one row a section.",
            line=where.entry(index, "section"),
        )
        same.count += section.count
        same.total_seconds += section.total_seconds
    profile.sections = list(sections.values())
    return profile


def section_row(row: Any) -> tuple[Section | None, tuple[str, str, str]]:
    """A section from a mapping, or None and what is wrong: (key, message, remedy)."""
    fine = ("", "", "")
    if not isinstance(row, dict):
        remedy = 'Write {"section": "a/b", "count": 1, "total_seconds": 1.5}.'
        return None, ("", f"a section row must be a JSON object, not a {_kind(row)}; the row is left out.", remedy)
    path = section_path(row.get("section"))
    if path is None:
        message = f"section is {_show(row.get('section'))}; the row is left out."
        return None, ("section", message, "Write the section's path as text, such as epoch/train.")
    count = row.get("count")
    if isinstance(count, float) and count.is_integer():
        count = int(count)
    if isinstance(count, bool) or not isinstance(count, int) or not 0 < count <= MAX_COUNT:
        message = f"section {path!r}: count is {_show(count)}; the row is left out."
        return None, ("count", message, "Write how often the section ran, a positive whole number.")
    seconds = row.get("total_seconds")
    number = finite(seconds) if not isinstance(seconds, str) else None
    if number is None or not 0 <= number <= MAX_SECONDS:
        message = f"section {path!r}: total_seconds is {_show(seconds)}; the row is left out."
        return None, ("total_seconds", message, "Write seconds, a finite number that is not negative.")
    return Section(path, count, number), fine


def section_path(value: Any) -> str | None:
    """A section's path without empty parts and control characters; None when there is none."""
    if not isinstance(value, str):
        return None
    text = "".join(c if c.isprintable() else " " for c in value)
    path = "/".join(part.strip() for part in text.split("/") if part.strip())
    return path[:MAX_NAME] or None


def _show(value: Any) -> str:
    """A value as it stands in a message: short, and on one line."""
    if value is None:
        return "missing"
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= 60 else text[:59] + "…"


_PART = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.S)


class _Lines:
    """Where things stand in a profile's JSON text; scanned only once something is wrong."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._scanned = False
        self._keys: dict[str, int] = {}
        self._entries: list[int] = []

    def _scan(self) -> None:
        if self._scanned:
            return
        self._scanned = True
        depth = 0
        before = key = ""
        in_sections = False
        for match in _PART.finditer(self.text):
            part = match.group()
            if in_sections and depth == 2 and before in ("[", ",") and part not in ("]", ","):
                self._entries.append(match.start())
            if part in ("{", "["):
                depth += 1
                in_sections = in_sections or (depth == 2 and part == "[" and key == "sections")
            elif part in ("}", "]"):
                depth -= 1
                in_sections = in_sections and depth >= 2
            elif depth == 1 and part[0] == '"' and before in ("{", ","):
                key = part[1:-1]
                self._keys[key] = match.start()
            before = part

    def _line(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def key(self, name: str) -> int | None:
        """The line of a key of the outermost object."""
        self._scan()
        offset = self._keys.get(name)
        return None if offset is None else self._line(offset)

    def entry(self, index: int, key: str = "") -> int | None:
        """The line of ``key`` in the sections' entry ``index``; of the entry when it does not have the key."""
        self._scan()
        if index >= len(self._entries):
            return None
        start = self._entries[index]
        end = self._entries[index + 1] if index + 1 < len(self._entries) else len(self.text)
        inside = re.compile(rf'"{re.escape(key)}"\s*:').search(self.text, start, end) if key else None
        return self._line(inside.start() if inside else start)


# --- events --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Row:
    """One usable row of an event log, before rows with a clock that went back are taken out."""

    line: int
    event: Event
    section: str | None = None
    path: str = ""


@dataclass(slots=True)
class Log:
    """What an event log gave. ``status`` is that of the last ``run_end``, when nothing resumed after it."""

    events: list[Event] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    first: float | None = None
    last: float | None = None
    ended: bool = False
    status: Status | None = None
    empty: bool = False
    damaged: bool = False


def read_events(tree: Tree, path: str, complaints: Complaints) -> Log:
    """The event log at ``path``: markers in file order, spans as sections, sessions of a resumed run."""
    try:
        text = tree.read_text(path)
    except OSError as error:
        complaints.cannot_read(path, error)
        return Log(damaged=True)
    rows: list[Row] = []
    scale_seen = False
    damaged = False
    nothing = True
    for number, line, is_last in _numbered(text):
        nothing = False
        content, message, severity = _parse_line(line, is_last)
        if message:
            remedy = (
                "Nothing to do when the run was killed there."
                if severity == "info"
                else "Write one JSON object a line."
            )
            complaints.add(path, message, remedy, line=number, severity="info" if severity == "info" else "warning")
        if content is None:
            damaged = damaged or severity != "info"
            continue
        row, wrong = event_row(content)
        if row is None:
            complaints.add(path, *wrong, line=number)
            damaged = True
            continue
        row.line = number
        row.path = path
        raw = content.get("time")
        if not scale_seen and not isinstance(raw, str) and (finite(raw) or 0.0) >= LATEST:
            scale_seen = True
            complaints.add(
                path,
                "times are not in seconds; they were recognised as epoch milli-, micro- or nanoseconds.",
                "Write epoch seconds or ISO-8601 times to be sure.",
                line=number,
                kind="time",
                severity="info",
            )
        rows.append(row)
        if len(rows) >= MAX_EVENTS:
            complaints.add(
                path,
                f"more than {MAX_EVENTS} events; the rest is left out.",
                "Log fewer events: epoch ends and checkpoints are enough.",
                line=number,
                kind="size",
            )
            break
    log = assemble(rows, complaints)
    log.empty = nothing
    log.damaged = log.damaged or damaged
    return log


def _numbered(text: str) -> Iterator[tuple[int, str, bool]]:
    """(line number, stripped line, whether it is the file's last and has no line end), blank lines left out."""
    lines = text.split("\n")
    final = len(lines)
    for number, line in enumerate(lines, start=1):
        # A machine that lost power leaves NULs where the last block was.
        stripped = line.replace("\0", "").strip()
        if stripped:
            yield number, stripped, number == final


def _parse_line(line: str, is_last: bool) -> tuple[dict[str, Any] | None, str, str]:
    """A row, what to say about it, and how loudly."""
    try:
        content = json.loads(line)
    except RecursionError:
        return None, "the line is nested too deeply; it is left out.", "warning"
    except ValueError:
        # Where a killed writer left half a line, the resumed one goes on behind it.
        start = line.rfind('{"', 1)
        if start > 0:
            try:
                rest = json.loads(line[start:])
            except (ValueError, RecursionError):
                rest = None
            if isinstance(rest, dict) and "event" in rest:
                return rest, "half a line stands before this event; only the event is used.", "info"
        if is_last:
            return None, "the last line is cut; it is left out.", "info"
        return None, "the line is not valid JSON; it is left out.", "warning"
    if not isinstance(content, dict):
        return None, f"an event must be a JSON object, not a {_kind(content)}; the line is left out.", "warning"
    return content, "", ""


def event_row(content: dict[str, Any]) -> tuple[Row | None, tuple[str, str]]:
    """A row from a mapping, or None and (message, remedy)."""
    kind = content.get("event")
    if not isinstance(kind, str) or not kind.strip():
        return None, (f"event is {_show(kind)}; the row is left out.", "Write the event's name as text.")
    kind = _label(kind)
    time = parse_time(content.get("time"))
    if time is None:
        message = f"event {kind!r}: time is {_show(content.get('time'))}; the row is left out."
        return None, (message, "Write ISO-8601 text or epoch seconds.")
    section = None
    if kind in (_SPAN_START, _SPAN_END):
        section = section_path(content.get("section"))
        if section is None:
            message = f"event {kind!r}: section is {_show(content.get('section'))}; the row is left out."
            return None, (message, "Write the section's full path, such as epoch/train.")
    name = content.get("name")
    status = content.get("status")
    return Row(
        0,
        Event(
            time,
            kind,
            None if name is None or name == "" else _label(str(name)),
            _whole(content.get("step")),
            _whole(content.get("epoch")),
            None if status is None else _label(str(status)),
        ),
        section,
    ), ("", "")


def _label(text: str) -> str:
    clean = "".join(c if c.isprintable() else " " for c in text).strip()
    return clean[:MAX_NAME]


def _whole(value: Any) -> int | None:
    number = finite(value)
    return int(number) if number is not None and number.is_integer() and abs(number) <= MAX_COUNT else None


def assemble(rows: list[Row], complaints: Complaints) -> Log:
    """Rows in file order → markers, sections from spans, sessions, status."""
    log = Log()
    rows_all = rows
    rows = _forward(_once(rows, complaints), complaints)
    if not rows:
        return log
    times = [row.event.time for row in rows]
    log.first, log.last = times[0], times[-1]
    if log.last < 366 * 86_400:
        log.notes.append("The event log has a relative clock, so the date of the run is not known.")

    spans: list[tuple[float, float, str]] = []
    open_spans: dict[str, list[tuple[float, int]]] = {}
    sessions: list[Session] = []
    last_kind = ""
    ended = False
    alive = times[0]
    for index, row in enumerate(rows):
        event = row.event
        if event.event == _START or event.event in _RESUMES:
            if last_kind in (_START, *_RESUMES) and event.time - times[index - 1] <= JITTER:
                complaints.add(
                    row.path,
                    f"{event.event!r} stands twice; the second is left out.",
                    "Let only one process of a run write its log.",
                    line=row.line,
                    kind="duplicate",
                    severity="info",
                )
                continue
            if sessions:
                sessions[-1].ended_at = alive
            elif index and event.event in _RESUMES:
                sessions.append(Session(times[0], alive))
            sessions.append(Session(event.time, event.time))
            _close_open(open_spans, complaints, row.path, killed=True)
            ended = False
        last_kind = event.event
        # What follows a run_end (an upload, say) is no part of the session.
        alive = alive if ended else event.time
        if row.section is not None:
            stack = open_spans.setdefault(row.section, [])
            if event.event == _SPAN_START:
                stack.append((event.time, row.line))
            elif stack:
                spans.append((stack.pop()[0], event.time, row.section))
            else:
                complaints.add(
                    row.path,
                    f"section {row.section!r} ends here without a start; the row is left out.",
                    "Write a section_start before each section_end.",
                    line=row.line,
                )
            continue
        if event.event == _END:
            ended = True
        log.events.append(event)
    if sessions:
        sessions[-1].ended_at = alive
        # Activity outside the sessions (queued before, uploaded after) is not the run's.
        log.first, log.last = sessions[0].started_at, alive
    log.sessions = sessions if len(sessions) > 1 else []
    log.ended = ended
    log.sections = sections_of(spans)

    # The end counts as said even when its clock went back.
    end = next((r for r in reversed(rows_all) if r.event.event in (_END, _START) or r.event.event in _RESUMES), None)
    if end is not None and end.event.event == _END:
        log.ended = True
        word = end.event.status
        if word is None:
            log.status = "completed"
        else:
            log.status = STATUS_WORDS.get(word.lower().replace("-", "_").replace(" ", "_"))
            if log.status is None:
                complaints.add(
                    end.path,
                    f"status {word!r} is not known; the run counts as one whose outcome is not recorded.",
                    "Write completed, failed or pruned.",
                    line=end.line,
                    severity="info",
                )
    _close_open(open_spans, complaints, rows[-1].path, killed=not log.ended or log.status == "failed")
    return log


def _close_open(
    open_spans: dict[str, list[tuple[float, int]]], complaints: Complaints, path: str, *, killed: bool
) -> None:
    """Spans that never ended: expected where a run was killed, else a fault of the writer."""
    for section, stack in open_spans.items():
        for _, line in stack:
            complaints.add(
                path,
                f"section {section!r} starts here and does not end; the span is left out.",
                "Nothing to do when the run was killed there." if killed else "Write a section_end for it.",
                line=line,
                severity="info" if killed else "warning",
            )
    open_spans.clear()


def _once(rows: list[Row], complaints: Complaints) -> list[Row]:
    """The rows without exact copies of earlier ones (a log appended to itself, every rank writing the same line)."""
    seen: set[tuple[object, ...]] = set()
    kept: list[Row] = []
    for row in rows:
        e = row.event
        same = (e.time, e.event, e.name, e.step, e.epoch, e.status)
        if row.section is None and same in seen:
            complaints.add(
                row.path,
                f"event {e.label!r} stands twice with the same time; the copy is left out.",
                "Let only one process of a run write its log, and write it once.",
                line=row.line,
                kind="duplicate",
                severity="info",
            )
            continue
        seen.add(same)
        kept.append(row)
    return kept


def _forward(rows: list[Row], complaints: Complaints) -> list[Row]:
    """The rows without those that go back in time: as few as possible are taken out, so that one wild clock reading
    does not cost all that follow. Jitter is smoothed (a row never lies before the one before it)."""
    for a, b in pairwise(rows):
        if a.event.time - JITTER <= b.event.time < a.event.time:
            b.event.time = a.event.time
    latest = -math.inf
    kept = [r for r in rows if r.event.time >= latest and (latest := r.event.time) is not None]
    if len(kept) < len(rows):
        longest = _longest_forward(rows)
        # Equally few: then the row that went back goes, not the one before it.
        kept = longest if len(longest) > len(kept) else kept
        keep = {row.line for row in kept}
        for before, row in zip([None, *rows], rows, strict=False):
            if row.line in keep:
                continue
            back = before.event.time - row.event.time if before else 0.0
            how = f"{back:.1f} s before the row above it" if back > JITTER else "out of order with the rows below it"
            complaints.add(
                row.path,
                f"event {row.event.label!r}: its time lies {how}; the row is left out of durations.",
                "The clock was set back, or two processes wrote the log.",
                line=row.line,
                kind="time",
            )
    return kept


def _longest_forward(rows: list[Row]) -> list[Row]:
    """The longest subsequence whose times do not fall (patience sorting, n log n)."""
    tails: list[float] = []
    at: list[int] = []
    previous: list[int] = []
    for index, row in enumerate(rows):
        place = bisect_right(tails, row.event.time)
        previous.append(at[place - 1] if place else -1)
        if place == len(tails):
            tails.append(row.event.time)
            at.append(index)
        else:
            tails[place] = row.event.time
            at[place] = index
    chain: list[Row] = []
    index = at[-1] if at else -1
    while index >= 0:
        chain.append(rows[index])
        index = previous[index]
    return chain[::-1]


def sections_of(spans: list[tuple[float, float, str]]) -> list[Section]:
    """(start, end, path) spans → sections by first start.

    Of two sections that overlap and are not ancestor and descendant, the smaller is flagged ``overlapping``, so that
    the sum of the others counts no second twice; a section whose own spans overlap is flagged too. What the flagged
    ones cover beyond the others is worked out from the spans (``covered_seconds``).
    """
    sections: dict[str, Section] = {}
    shared: dict[tuple[str, str], float] = {}
    active: list[tuple[float, float, str]] = []
    for span in sorted(spans, key=lambda s: (s[0], -s[1], s[2])):
        start, end, path = span
        section = sections.setdefault(path, Section(path, 0, 0.0))
        section.count += 1
        section.total_seconds += end - start
        active = [s for s in active if s[1] > start + ROUNDING][-MAX_ACTIVE:]
        for _, other_end, other in active:
            if other != path and (path.startswith(other + "/") or other.startswith(path + "/")):
                continue
            common = min(end, other_end) - start
            if common > ROUNDING:
                pair = (path, other) if path < other else (other, path)
                shared[pair] = shared.get(pair, 0.0) + common
        active.append(span)
    for (path, other), seconds in sorted(
        shared.items(), key=lambda item: (item[0][0] != item[0][1], -item[1], item[0])
    ):
        one, two = sections[path], sections[other]
        smaller = one if one.total_seconds < two.total_seconds else two
        if not one.overlapping and not two.overlapping and seconds > OVERLAP_SHARE * smaller.total_seconds:
            smaller.overlapping = True
    if any(s.overlapping for s in sections.values()):
        _cover(sections, spans)
    return list(sections.values())


def _cover(sections: dict[str, Section], spans: list[tuple[float, float, str]]) -> None:
    """Give the flagged sections the time that they cover and no sibling before them does, the largest first."""
    merged: dict[str, list[tuple[float, float]]] = {}
    for start, end, path in sorted(spans):
        mine = merged.setdefault(path, [])
        if mine and start <= mine[-1][1]:
            mine[-1] = (mine[-1][0], max(mine[-1][1], end))
        else:
            mine.append((start, end))
    beside: dict[str | None, list[str]] = {}
    for path in sections:
        above = path.rpartition("/")[0]
        while above and above not in sections:
            above = above.rpartition("/")[0]
        beside.setdefault(above or None, []).append(path)
    for paths in beside.values():
        paths.sort(key=lambda p: (sections[p].overlapping, -_length(merged[p]), p))
        taken: list[tuple[float, float]] = []
        for path in paths:
            union = _union(taken, merged[path])
            if sections[path].overlapping:
                sections[path].covered_seconds = max(0.0, _length(union) - _length(taken))
            taken = union


def _length(stretches: list[tuple[float, float]]) -> float:
    return math.fsum(end - start for start, end in stretches)


def _union(one: list[tuple[float, float]], two: list[tuple[float, float]]) -> list[tuple[float, float]]:
    out: list[tuple[float, float]] = []
    for start, end in sorted([*one, *two]):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out


# --- outcome -------------------------------------------------------------------------------------------------------


def _outcome(run: Run, profile: Profile | None, log: Log | None) -> tuple[Status | None, bool]:
    """(status, unreadable) of a run from what its files gave."""
    measured = bool(run.sections) or run.profile_wall is not None
    if log is not None and log.first is not None:
        if log.ended:
            return log.status, False
        # A log without an end: only a wall that the profile recorded says that the run got there.
        return (None if run.profile_wall is not None else "running"), False
    if measured:
        return None, False
    broken = (profile is not None and profile.damaged) or (log is not None and log.damaged)
    if broken:
        return None, True
    if log is not None and not log.empty:
        return "running", False  # killed within its first line
    return "not_started", False
