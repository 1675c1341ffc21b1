"""Hydra jobs: ``.hydra/config.yaml``, ``overrides.yaml``, ``hydra.yaml`` and the job's log.

The config is that of the job; the choices of config groups (``model=small``) are fields too. Times are those of the
log's records: first and last sign of life, since Hydra records no end. The clock is local time without an offset and is
taken as UTC. Formats without a year get it from the folder's date; formats without any date give a duration only. A
last record at level ERROR is a failed run. Jobs of a multirun are runs, the multirun folder is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from mkdocs_sweepprof.levels import natural
from mkdocs_sweepprof.readers.base import Problem, Reading, Run, Scalar, Session, Source
from mkdocs_sweepprof.readers.text import read_mapping, read_text
from mkdocs_sweepprof.readers.tree import Tree
from mkdocs_sweepprof.readers.values import BadText, flatten, guess, load_yaml

BACKWARD_SLACK = 1.0
"""Seconds that records may be out of order (several writers) without the clock being doubted."""
PAUSE_RATIO = 3.0
"""A pause before a repeated beginning is at least this many times the median pause: the job was started again."""
PAUSE_SECONDS = 0.5
"""… and at least this long."""
MAX_SESSIONS = 50
"""More repetitions of the log's beginning are the log's own habit."""
MAX_PREFIX = 160
"""Characters in which a record's time and level stand."""


class HydraReader:
    """Job folders: those that hold ``.hydra`` (or another ``hydra.output_subdir``)."""

    name = "hydra"
    title = "Hydra"
    version = 1

    def find(self, tree: Tree) -> Sequence[Source]:
        """One source a job folder."""
        sources: list[Source] = []
        subs = {
            p.rpartition("/")[0] for name in ("overrides.yaml", "hydra.yaml", "config.yaml") for p in tree.named(name)
        }
        for sub in sorted(subs, key=natural):
            names = set(tree.names(sub))
            last = sub.rpartition("/")[2]
            if last == ".hydra":
                mine = bool(names & {"config.yaml", "overrides.yaml", "hydra.yaml"})
            else:  # hydra.output_subdir
                mine = bool(sub) and {"config.yaml", "overrides.yaml", "hydra.yaml"} <= names
            if not mine:
                continue
            folder = sub.rpartition("/")[0]
            files = [f"{sub}/{n}" for n in ("config.yaml", "hydra.yaml", "overrides.yaml") if n in names]
            logs = [f"{folder}/{n}" if folder else n for n in tree.names(folder) if n.endswith((".log", ".log.gz"))]
            sources.append(Source(self.name, folder or ".", tuple(sorted([*files, *logs])), folder))
        return sources

    def read(self, tree: Tree, source: Source) -> Reading:
        """Read one job."""
        reading = Reading()
        run = Run(id=source.key, layout=self.name, directory=source.directory, files=source.files)
        notes: list[str] = []
        at = {p.rpartition("/")[2]: p for p in source.files}
        about = _about(tree, at.get("hydra.yaml"), reading.problems)
        config = read_mapping(tree, at["config.yaml"], reading.problems) if "config.yaml" in at else None
        if config is not None:
            run.config = flatten(config)
        overrides = _overrides(tree, at.get("overrides.yaml"), reading.problems)
        for key, value in {**about.choices, **overrides}.items():
            run.config.setdefault(key, value)
        if config is None and "config.yaml" not in at:
            notes.append("The job's config.yaml is missing; only its overrides are known.")
        if about.job_id:
            run.resources["job_id"] = about.job_id

        log = _log_of(source, about)
        text = read_text(tree, log, reading.problems) if log else None
        if log is None:
            notes.append("The job left no log, so Hydra knows no times.")
        elif text is not None:
            _read_log(text, log, source.key, run, notes, reading.problems)
        run.unreadable = bool(reading.problems) and config is None and not overrides and text is None
        run.notes = tuple(notes)
        reading.problems = [replace(p, run=run.id) for p in reading.problems]
        reading.runs.append(run)
        return reading


# --- config ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _About:
    """What ``hydra.yaml`` says of the job."""

    name: str | None = None
    job_id: str | None = None
    choices: dict[str, Scalar] = field(default_factory=dict)


def _about(tree: Tree, path: str | None, problems: list[Problem]) -> _About:
    """Job name, id and group choices. Three values of a file of 150 lines: found by their lines, not by parsing."""
    about = _About()
    text = read_text(tree, path, problems) if path else None
    if text is None:
        return about
    section = ""
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        key, _, value = line.strip().partition(":")
        value = _bare(value)
        if indent == 2:
            section = key
        elif indent == 4 and section == "runtime":
            section = "choices" if key == "choices" else "runtime"
        elif indent == 4 and section == "choices":
            section = "runtime"
        elif indent == 4 and section == "job" and key == "name":
            about.name = value or None
        elif indent == 4 and section == "job" and key == "id" and re.fullmatch(r"\d{3,}([_.]\d+)?", value):
            about.job_id = value  # a scheduler's; the basic launcher counts 0, 1, 2
        elif indent == 6 and section == "choices":
            group, _, package = key.partition("@")
            if not group.startswith("hydra/") and group != "hydra" and value not in ("", "null"):
                about.choices[f"{group}@{package}" if package else group] = guess(value)
    return about


def _bare(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def _overrides(tree: Tree, path: str | None, problems: list[Problem]) -> dict[str, Scalar]:
    """``key=value`` overrides as fields. Those that the config holds already are the config's."""
    text = read_text(tree, path, problems) if path else None
    if text is None or not text.strip():
        return {}
    try:
        listed = load_yaml(text)
    except BadText as error:
        remedy = "Correct it, or copy the file anew; the job's config was used."
        problems.append(Problem(path or "", f"The file is {error.message}", remedy, line=error.line, kind="config"))
        return {}
    if not isinstance(listed, list):
        message = "The file holds no list of overrides."
        problems.append(Problem(path or "", message, "Write one `- key=value` a line.", kind="config"))
        return {}
    found: dict[str, Scalar] = {}
    for item in listed:
        if not isinstance(item, str):
            continue
        key, equals, value = item.partition("=")
        key = key.strip().lstrip("+")
        if not equals or not key or key.startswith(("~", "hydra.", "hydra/")):
            continue
        found[key] = guess(_bare(value))
    return found


# --- the log ---------------------------------------------------------------------------------------------------------

_ISO = re.compile(r"(\d{4})[-/](\d\d?)[-/](\d\d?)[ T](\d\d?):(\d\d):(\d\d)(?:[.,](\d{1,6}))?")
_DAY_FIRST = re.compile(r"(\d\d)[-/](\d\d)[-/](\d{4})[ T,]+(\d\d?):(\d\d):(\d\d)(?:[.,](\d{1,6}))?")
_NO_YEAR = re.compile(r"(?<![\d-])(\d\d)[-/](\d\d)[ T,]+(\d\d?):(\d\d):(\d\d)(?:[.,](\d{1,6}))?")
_MONTH_NAME = re.compile(
    r"(?:(\d{1,2}) )?(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?(?: (\d{1,2}))?(?:,? (\d{4}))?[ ,]+"
    r"(\d\d?):(\d\d):(\d\d)(?:[.,](\d{1,6}))?"
)
_TIME_ONLY = re.compile(r"(?<![\d:.])(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?(?![\d:])")
_LEVEL = re.compile(r"(?<![A-Za-z])(DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)(?![A-Za-z])")
_FOLDER_DATE = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)")
_FOLDER_TIME = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d[/_T ](\d\d)-(\d\d)-(\d\d)(?!\d)")
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"


def _log_of(source: Source, about: _About) -> str | None:
    """The job's own log: ``<job name>.log``, else the only one, else the first by name."""
    logs = [p for p in source.files if p.endswith((".log", ".log.gz"))]
    named = [p for p in logs if about.name and p.rpartition("/")[2].removesuffix(".gz") == f"{about.name}.log"]
    return next(iter(named or logs), None)


@dataclass(frozen=True, slots=True)
class _Record:
    """One record: its time (None without a date or clock), level, and its text behind the time."""

    time: datetime | None
    level: str | None
    text: str
    line: int
    dated: bool
    yeared: bool


def _moment(year: int, month: int, day: int, clock: Sequence[str | None]) -> datetime | None:
    hour, minute, second, fraction = clock
    try:
        micro = int((fraction or "0").ljust(6, "0"))
        return datetime(year, month, day, int(hour or 0), int(minute or 0), int(second or 0), micro, tzinfo=UTC)
    except ValueError:
        return None


def _record(line: str, number: int) -> _Record | None:
    """A record from the first line of it, None for a continuation line."""
    prefix = line[:MAX_PREFIX]
    level = _LEVEL.search(prefix)
    name = level.group(1) if level else None
    time: datetime | None = None
    dated = yeared = True
    end = 0
    if found := _ISO.search(prefix):
        time = _moment(int(found[1]), int(found[2]), int(found[3]), found.groups()[3:])
    elif found := _DAY_FIRST.search(prefix):
        month, day = int(found[1]), int(found[2])
        time = _moment(int(found[3]), *((day, month) if month > 12 else (month, day)), found.groups()[3:])
    elif found := _NO_YEAR.search(prefix):
        month, day = int(found[1]), int(found[2])
        yeared = False
        time = _moment(2000, *((day, month) if month > 12 else (month, day)), found.groups()[2:])
    elif (found := _MONTH_NAME.search(prefix)) and (found[1] or found[3]):
        month = _MONTHS.index(found[2]) // 3 + 1
        yeared = found[4] is not None
        time = _moment(int(found[4] or 2000), month, int(found[1] or found[3] or 1), found.groups()[4:])
    elif found := _TIME_ONLY.search(prefix):
        dated = yeared = False
        time = _moment(2000, 1, 1, found.groups())
    # A time in the middle of a message is no record's: it stands at the start, behind brackets or a level at most.
    if found and time is not None and re.fullmatch(r"[\W_]*(?:\w+[\W_]+){0,3}?", prefix[: found.start()]) is not None:
        end = found.end()
        return _Record(time, name, line[end:], number, dated, yeared)
    if level and re.fullmatch(r"[\W_]*(?:[\w.]+[\W_]+){0,2}?", prefix[: level.start()]):
        return _Record(None, name, line[level.end() :], number, False, False)
    return None


def _records(text: str) -> Iterator[_Record]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line[:1] in ("", " ", "\t"):
            continue
        record = _record(line, number)
        if record is not None:
            yield record


def _read_log(text: str, path: str, key: str, run: Run, notes: list[str], problems: list[Problem]) -> None:
    """Take times, sessions and a failure from the job's log."""
    records = list(_records(text))
    if not records:
        notes.append(
            "The job's log is empty."
            if not text.strip()
            else "No line of the job's log has a time or level that can be read."
        )
        return
    last_words = "\n".join(text.split("\n")[records[-1].line :])
    crashed = records[-1].level is None and "Traceback (most recent call last)" in last_words
    if crashed or records[-1].level in ("ERROR", "CRITICAL", "FATAL"):
        run.status = "failed"
    timed = [r for r in records if r.time is not None]
    if not timed:
        notes.append("The job's log format has no time.")
        return
    known, times = _times(timed, key, notes)
    back = _turn_forward(times)
    if back:
        what = f"The clock of the job's log goes back by {abs(back):.0f} s"
        notes.append(f"{what}; the times after that were moved on (an hour at the end of summer time).")
        remedy = "Log in UTC, or check this run's time."
        problems.append(Problem(path, f"{what}.", remedy, kind="clock", severity="info"))
    first, last = min(times), max(times)
    if known:
        run.first_activity, run.last_activity = first, last
        notes.append("The job's log has local time without an offset; it was taken as UTC.")
    elif last > first:
        run.duration = last - first
        notes.append("The job's log has no date, so only its duration is known.")
    run.sessions = _sessions(timed, times)
    if len(run.sessions) > 1 and not known:
        run.duration = sum(s.ended_at - s.started_at for s in run.sessions)
        run.sessions = []
    if run.status is None:
        notes.append("Hydra records no end: the time is that from the first to the last record of its log.")


def _times(timed: Sequence[_Record], key: str, notes: list[str]) -> tuple[bool, list[float]]:
    """Epoch seconds of the records, and whether their date is known (from the log or the folder's name)."""
    day = _FOLDER_DATE.search(key)
    folder: datetime | None = None
    if day:
        clock = _FOLDER_TIME.search(key)
        folder = _moment(int(day[1]), int(day[2]), int(day[3]), [*(clock.groups() if clock else ("12", "0", "0")), "0"])
    first = timed[0]
    if first.yeared:
        return True, [r.time.timestamp() for r in timed if r.time is not None]
    times: list[float] = []
    moment: datetime | None = None
    shift = timedelta(0)
    for record in timed:
        if record.time is None:
            continue
        time = record.time
        if first.dated:  # month and day: only the year is missing, and it may turn
            if folder is not None and moment is None:
                time = min(
                    (t for y in (-1, 0, 1) if (t := _in_year(time, folder.year + y)) is not None),
                    key=lambda t: abs((t - folder).total_seconds()),
                    default=time,
                )
                shift = time - record.time
            else:
                time = record.time + shift
                if moment is not None and time < moment - timedelta(days=180):
                    shift += timedelta(days=366 if _leap(moment.year) else 365)
                    time = record.time + shift
        elif moment is None and folder is not None:
            time = datetime.combine(folder.date(), time.time(), tzinfo=UTC)
            # A job that starts just after midnight lies in the folder of the evening before.
            time += timedelta(days=round((folder - time) / timedelta(days=1)) if _FOLDER_TIME.search(key) else 0)
            shift = time - record.time
        else:
            time = record.time + shift
            if moment is not None and time < moment - timedelta(hours=12):
                shift += timedelta(days=1)
                time = record.time + shift
        moment = time
        times.append(time.timestamp())
    if folder is not None:
        missing = "year" if first.dated else "date"
        notes.append(f"The job's log has no {missing}; it was taken from the folder's name.")
    return folder is not None, times


def _in_year(time: datetime, year: int) -> datetime | None:
    try:
        return time.replace(year=year)
    except ValueError:
        return None


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _turn_forward(times: list[float]) -> float:
    """Undo a clock that was set back, in place. Gives the largest step back in seconds, 0.0 for none. A step of about
    whole hours is local time falling back; another is a correction, across which no time is counted."""
    offset = largest = 0.0
    last = times[0]
    for i, time in enumerate(times):
        now = time + offset
        if now < last - BACKWARD_SLACK:
            step = last - now
            largest = max(largest, step)
            hours = -(-step // 3600)
            turned = hours * 3600 if hours * 3600 - step <= 1800 else step
            offset += turned
            now += turned
        times[i] = now
        last = max(last, now)
    return largest


def _sessions(timed: Sequence[_Record], times: Sequence[float]) -> list[Session]:
    """A job that was started again in its folder appends to its log: the log's beginning is repeated, after a pause
    that stands out."""
    if len(timed) < 4:
        return []
    opening = [_message(timed[0].text), _message(timed[1].text)]
    from statistics import median  # not before a log is read

    usual = median(max(0.0, b - a) for a, b in pairwise(times))
    starts = [0]
    for i in range(2, len(timed)):
        if _message(timed[i].text) != opening[0]:
            continue
        following = _message(timed[i + 1].text) if i + 1 < len(timed) else opening[1]
        pause = times[i] - times[i - 1]
        if following == opening[1] and pause >= max(PAUSE_SECONDS, PAUSE_RATIO * usual):
            starts.append(i)
    if not 2 <= len(starts) <= MAX_SESSIONS:
        return []
    ends = [*starts[1:], len(times)]
    return [Session(min(times[a:b]), max(times[a:b])) for a, b in zip(starts, ends, strict=True)]


def _message(text: str) -> str:
    """A record's text without what changes from start to start: process ids, addresses, times."""
    return re.sub(r"\d+", "#", text.strip())
