"""A scheduler's accounting beside the runs: what ``sacct -P`` (or ``-p``) prints, saved as a text file.

It makes no runs of its own. Each job becomes a fragment that a run picks up by its job id, job name or working
folder: how long it waited in the queue, on how many nodes and GPUs it ran, and how the scheduler saw it end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from mkdocs_sweepprof.readers.base import Reading, Run, Session, Source, Status
from mkdocs_sweepprof.readers.complaints import Complaints
from mkdocs_sweepprof.readers.tree import Tree, decode
from mkdocs_sweepprof.readers.values import EARLIEST, parse_time

MAX_LOOKED_AT = 5_000
"""Files of one collection whose first line is looked at."""
MAX_JOBS = 200_000
"""Lines of one export; the rest is left aside, and said."""
HEAD = 4_096
MAX_TEXT = 200

_TEXT = re.compile(r"\.(txt|csv|psv|tsv|log|out)(\.gz)?$|(^|/)[^./]*sacct[^./]*$", re.IGNORECASE)
_NAMED = re.compile(r"sacct|slurm|jobs|accounting", re.IGNORECASE)
_SHALLOW = 2
"""Folders below the collection to which files of any name are looked at; deeper, the name must say what it is."""
_USEFUL = frozenset({"state", "start", "end", "submit", "elapsed", "elapsedraw", "alloctres", "reqtres", "nnodes"})

_STATUS: dict[str, Status] = {
    "COMPLETED": "completed",
    "FAILED": "failed",
    "OUT_OF_MEMORY": "failed",
    # The scheduler ended it: the trainer may not have recorded an end.
    **dict.fromkeys(
        ("CANCELLED", "TIMEOUT", "PREEMPTED", "NODE_FAIL", "BOOT_FAIL", "DEADLINE", "REVOKED", "REQUEUED"), "killed"
    ),
    **dict.fromkeys(("RUNNING", "SUSPENDED", "COMPLETING", "RESIZING", "STOPPED", "SIGNALING"), "running"),
    **dict.fromkeys(("PENDING", "CONFIGURING", "REQUEUE_HOLD", "SPECIAL_EXIT"), "not_started"),
}
_ELAPSED = re.compile(r"^(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?$")
_GPU = re.compile(r"^gres/gpu(?::([^=]+))?$")
_UNKNOWN = frozenset({"", "unknown", "none", "invalid", "n/a"})
_ZONED = re.compile(r"(Z|[+-]\d\d:?\d\d)$")
LOCAL_NOTE = "sacct prints local times without their offset; they were taken as UTC."


@dataclass(slots=True)
class _Record:
    """One line: a job, or one stay of a requeued job; ``step`` is the part after the dot."""

    line: int
    path: str
    job: str
    step: str
    cells: dict[str, str] = field(default_factory=dict)

    def get(self, *names: str) -> str:
        """The first of the cells that says something."""
        return next((c for n in names if (c := self.cells.get(n, "")).lower() not in _UNKNOWN), "")


class SacctReader:
    """Every export in a collection, read together (the same job may stand in several)."""

    name = "sacct"
    title = "sacct exports"
    version = 1

    def find(self, tree: Tree) -> Sequence[Source]:
        """One source for all files whose first line is a sacct header."""
        files = []
        looked = 0
        for path in tree.files:
            if not _TEXT.search(path) or (path.count("/") >= _SHALLOW and not _NAMED.search(path.rpartition("/")[2])):
                continue
            looked += 1
            if looked > MAX_LOOKED_AT:
                break
            if _header(decode(tree.head(path, HEAD)).lstrip("\n").split("\n", 1)[0]):
                files.append(path)
        return [Source(self.name, "sacct", tuple(files), None)] if files else []

    def read(self, tree: Tree, source: Source) -> Reading:
        """One fragment a job; steps are folded into it, stays of a requeued job are its sessions."""
        complaints = Complaints()
        jobs: dict[str, list[_Record]] = {}
        waiting = 0
        for path in source.files:
            try:
                text = tree.read_text(path)
            except OSError as error:
                complaints.cannot_read(path, error)
                continue
            for record in _records(path, text, complaints):
                if "[" in record.job:
                    waiting += 1  # the tasks of an array that have not begun share one line
                    continue
                jobs.setdefault(record.job, []).append(record)
        names: dict[str, int] = {}
        for records in jobs.values():
            for name in _names(records):
                names[name] = names.get(name, 0) + 1
        runs = [_job(job, records, names, complaints) for job, records in jobs.items()]
        mentions = []
        if waiting:
            lines = "lines" if waiting > 1 else "line"
            mentions.append(f"{waiting} {lines} of job arrays with tasks that have not begun")
        return Reading(runs, complaints.all(), mentions)


def _header(line: str) -> list[str]:
    """The column names, lower case; [] when the line is no header of sacct."""
    names = [c.strip().lower() for c in line.strip().split("|")]
    if len(names) < 3 or not {"jobid", "jobidraw"} & set(names) or not _USEFUL & set(names):
        return []
    return names


def _records(path: str, text: str, complaints: Complaints) -> list[_Record]:
    lines = text.replace("\0", "").split("\n")
    records: list[_Record] = []
    header: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if names := _header(line):
            header = names  # exports that were appended to each other may have other columns
            continue
        if not header:
            continue
        cells = line.split("|")
        # ``-p`` ends each line with the separator, the header's too.
        if len(cells) == len(header) + 1 and not cells[-1].strip():
            cells.pop()
        if len(cells) != len(header):
            cut = number == len(lines)
            complaints.add(
                path,
                "the last line is cut; it is left out."
                if cut
                else f"the line has {len(cells)} cells where the header has {len(header)}; it is left out.",
                "Export again" + (", without columns that may hold a '|'." if not cut else "."),
                line=number,
                severity="info" if cut else "warning",
            )
            continue
        row = {name: cell.strip() for name, cell in zip(header, cells, strict=True) if name}
        job, _, step = (row.get("jobid") or row.get("jobidraw") or "").partition(".")
        if not job[:1].isdigit():
            complaints.add(
                path,
                f"{job[:40]!r} is no job id; the line is left out.",
                "Export with sacct -P.",
                line=number,
            )
            continue
        if len(records) >= MAX_JOBS:
            complaints.add(
                path,
                f"more than {MAX_JOBS} lines; the rest is left out.",
                "Export the jobs of this sweep only.",
                line=number,
                kind="size",
            )
            break
        records.append(_Record(number, path, job[:MAX_TEXT], step[:MAX_TEXT], row))
    return records


def _names(records: list[_Record]) -> set[str]:
    """Names that a run may know the job by, if no other job has them: job name and last part of the working folder."""
    names = set()
    for record in records:
        if not record.step:
            names.add(record.get("jobname")[:MAX_TEXT])
            names.add(record.get("workdir").rstrip("/").rpartition("/")[2][:MAX_TEXT])
    return names - {""}


def _job(job: str, records: list[_Record], names: dict[str, int], complaints: Complaints) -> Run:
    """One job from its line(s) and its steps' lines."""
    own = [r for r in records if not r.step]
    steps = [r for r in records if r.step]
    run = Run(job, "sacct", files=tuple(dict.fromkeys(r.path for r in records)))
    raw = next((r.get("jobidraw").partition(".")[0] for r in own if r.get("jobidraw")), "")
    aliases = ([raw] if raw and raw != job else []) + sorted(n for n in _names(records) if names[n] == 1)
    run.aliases = tuple(aliases)
    run.resources["job_id"] = job
    local = _fill(run, own or steps, complaints, steps_only=not own)
    for record in steps + own:  # the job's own line last: its word counts
        _resources(run, record)
    if local:
        run.notes = (LOCAL_NOTE,)
    return run


def _fill(run: Run, records: list[_Record], complaints: Complaints, *, steps_only: bool) -> bool:
    """Clock, queue and status; whether a time had no offset."""
    local = False
    stays: list[tuple[float, float | None, _Record]] = []
    queue = 0.0
    waited = False
    seen: set[tuple[float | None, float | None]] = set()
    status: Status | None = None
    latest = float("-inf")
    for record in records:
        texts = {key: record.get(key) for key in ("submit", "start", "end")}
        submit, start, end = (_time(record, key, texts[key], complaints) for key in texts)
        local = local or any(t and not t.isdigit() and not _ZONED.search(t) for t in texts.values())
        if (start, end) in seen:
            continue  # the same stay in two exports
        seen.add((start, end))
        said = _status(record, complaints)
        if status is None or (start or 0.0) >= latest:
            status = said or status
            latest = start or latest
        if start is None:
            continue
        elapsed = _elapsed(record)
        if end is None and elapsed is not None and said not in ("running", "not_started"):
            end = start + elapsed
        elif end is not None and elapsed is not None and abs(abs(end - start - elapsed) - 3600) <= 2:
            end = start + elapsed  # local time changed by an hour in between
        if end is not None and end < start:
            complaints.add(
                record.path,
                f"job {run.id}: its end lies before its start; the end is not used.",
                "Export the columns ElapsedRaw and State too.",
                line=record.line,
                kind="time",
            )
            end = None
        stays.append((start, end, record))
        if submit is not None and start >= submit and not steps_only:
            queue += start - submit
            waited = True
    run.status = status
    if waited:
        run.outside["queue"] = queue
    if not stays:
        return local
    stays.sort(key=lambda s: s[0])
    ends = [e for _, e, _ in stays if e is not None]
    run.started_at = stays[0][0]
    run.ended_at = max(ends) if ends and status not in ("running", "not_started") else None
    if not steps_only and len(stays) > 1 and len(ends) == len(stays):
        run.sessions = [Session(s, e) for s, e, _ in stays if e is not None]
    if len(stays) == 1:
        run.duration = _elapsed(stays[0][2])
    return local


def _time(record: _Record, key: str, text: str, complaints: Complaints) -> float | None:
    if not text:
        return None
    time = parse_time(text)
    if time is None or time < EARLIEST:
        complaints.add(
            record.path,
            f"job {record.job}: {key} {text[:40]!r} is no time; it is not used.",
            "Export with SLURM_TIME_FORMAT unset, or '%s'.",
            line=record.line,
            kind="time",
        )
        return None
    return time


def _elapsed(record: _Record) -> float | None:
    """Seconds from ``ElapsedRaw`` or ``Elapsed`` ([days-][hours:]minutes:seconds)."""
    raw = record.get("elapsedraw")
    if raw.isdigit() and len(raw) < 12:
        return float(raw)
    match = _ELAPSED.match(record.get("elapsed"))
    if match is None:
        return None
    days, hours, minutes, seconds = (int(g or 0) for g in match.groups())
    return float(days * 86_400 + hours * 3_600 + minutes * 60 + seconds)


def _status(record: _Record, complaints: Complaints) -> Status | None:
    text = record.get("state")
    if not text:
        return None
    word = text.split()[0].rstrip("+").upper()  # "CANCELLED by 1000"; a narrow column ends in "+"
    status = _STATUS.get(word)
    if status is None and text.rstrip().endswith("+"):
        status = next((s for k, s in _STATUS.items() if k.startswith(word)), None)
    if status is None:
        complaints.add(
            record.path,
            f"job {record.job}: state {text[:40]!r} is not known; its outcome counts as not recorded.",
            "Nothing to do, unless it is a misspelling.",
            line=record.line,
            severity="info",
        )
    return status


def _resources(run: Run, record: _Record) -> None:
    """Nodes, CPUs and GPUs, as allocated; as requested where nothing was."""
    counts: dict[str, int] = {}
    kinds: dict[str, int] = {}
    for part in record.get("alloctres", "reqtres").split(","):
        name, _, number = part.strip().partition("=")
        if not number.isdigit() or len(number) > 9:
            continue
        gpu = _GPU.match(name)
        if gpu and gpu.group(1):
            kinds[gpu.group(1)] = int(number)
        elif gpu:
            counts["gpus"] = int(number)
        elif name in ("node", "cpu"):
            counts[f"{name}s"] = int(number)
    if kinds:
        # "gres/gpu:a100=4" comes with the sum beside it, or alone.
        counts.setdefault("gpus", sum(kinds.values()))
    for key, column in (("nodes", "nnodes"), ("nodes", "allocnodes"), ("cpus", "alloccpus"), ("cpus", "ncpus")):
        text = record.get(column)
        if key not in counts and text.isdigit() and len(text) < 9 and int(text) > 0:
            counts[key] = int(text)
    if "gpus" not in counts and (a_node := _old_gres(record.get("allocgres", "reqgres"))):
        counts["gpus"] = a_node * counts.get("nodes", 1)
    if record.step:
        # A step may use a part of the job; it fills in only what the job's line does not say.
        for key, count in counts.items():
            known = run.resources.get(key)
            run.resources[key] = max(count, known) if isinstance(known, int) else count
    else:
        run.resources.update(counts)
        if kinds:
            run.resources["gpu_type"] = ", ".join(sorted(kinds))
        if partition := record.get("partition"):
            run.resources["partition"] = partition[:MAX_TEXT]


def _old_gres(text: str) -> int:
    """GPUs a node from the column of older versions: ``gpu:4``, ``gpu:v100:4``, ``gres:gpu:4``."""
    total = 0
    for part in text.split(","):
        words = part.split("(")[0].split(":")
        if "gpu" in words and words[-1].isdigit() and len(words[-1]) < 6:
            total += int(words[-1])
    return total
