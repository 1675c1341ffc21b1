"""The CSV that W&B's web page exports: one row a run, ``Name``, ``State``, ``Created``, ``Runtime``, then fields."""

from __future__ import annotations

import csv
import io
import re

from mkdocs_sweepprof.readers.base import Reading, Run, Scalar, Status
from mkdocs_sweepprof.readers.complaints import Complaints
from mkdocs_sweepprof.readers.tree import Tree
from mkdocs_sweepprof.readers.values import finite, guess, parse_time

MAX_RUNS = 100_000
"""Rows read of one export."""
HEAD = 16_384

_ABOUT = frozenset(
    {
        "agent", "commit", "created", "description", "end time", "github", "gpu count", "gpu type", "group", "host",
        "hostname", "id", "job type", "name", "notes", "os", "project", "python version", "run count", "runtime",
        "start time", "state", "sweep", "sweepname", "tags", "timestamp", "updated", "user", "username", "command",
        "relative time (process)", "relative time (wall)", "launch", "report", "cpu count",
    }
)  # fmt: skip
"""Columns about the run that are no settings (lower case)."""
_STATE: dict[str, Status] = {
    "finished": "completed",
    "failed": "failed",
    "crashed": "killed",  # W&B's word for a run that stopped sending heartbeats: no end was recorded
    "killed": "killed",
    "preempted": "killed",
    "preempting": "killed",
    "running": "running",
    "pending": "not_started",
}
_CLOCK = re.compile(r"(?:(\d+)\s*d)?\s*(?:(\d+)\s*h)?\s*(?:(\d+)\s*m)?\s*(?:(\d+(?:\.\d+)?)\s*s)?")


def is_export(tree: Tree, path: str) -> bool:
    """Whether the header is that of an export: ``Name`` and ``State``, and ``Runtime`` or ``Created``."""
    first = tree.head(path, HEAD).decode("utf-8-sig", errors="replace").replace("\0", "").split("\n", 1)[0]
    try:
        header = next(csv.reader([first.rstrip("\r")]), [])
    except csv.Error:
        return False
    names = {cell.strip() for cell in header}
    return {"Name", "State"} <= names and bool({"Runtime", "Created"} & names) and "run" not in names


def read_export(tree: Tree, path: str) -> Reading:
    """All runs of an export; a row that cannot be used is named with its line."""
    complaints = Complaints()
    reading = Reading()
    try:
        text = tree.read_text(path).replace("\0", "")
    except OSError as error:
        complaints.cannot_read(path, error)
        return Reading(problems=complaints.all())
    rows = csv.reader(io.StringIO(text))
    header: list[str] = []
    used: dict[str, int] = {}
    results: set[str] = set()
    try:
        for row in rows:
            if not header:
                header = [cell.strip() for cell in row]
                continue
            if not any(cell.strip() for cell in row):
                continue
            if len(reading.runs) >= MAX_RUNS:
                complaints.add(
                    path,
                    f"more than {MAX_RUNS} runs; the rest was not read.",
                    "Export one sweep a file.",
                    line=rows.line_num,
                    kind="size",
                )
                break
            if len(row) != len(header):
                complaints.add(
                    path,
                    f"the row has {len(row)} cells where the header has {len(header)}; it is left out.",
                    "Export the table again.",
                    line=rows.line_num,
                )
                continue
            run = _run(dict(zip(header, row, strict=True)), path, rows.line_num, complaints, results)
            used[run.id] = used.get(run.id, 0) + 1
            if used[run.id] > 1:
                run.notes = (*run.notes, f"{used[run.id]} rows of the export are called {run.id!r}.")
                run.id = f"{run.id} ({used[run.id]})"
            reading.runs.append(run)
    except csv.Error as error:
        complaints.add(
            path,
            f"no valid CSV from here on ({error}).",
            "Export the table again.",
            line=rows.line_num,
            kind="unreadable",
        )
    if results:
        shown = ", ".join(sorted(results)[:5]) + (", …" if len(results) > 5 else "")
        reading.mentions.append(f"{len(results)} columns of the W&B export are results, no settings ({shown}).")
    if reading.runs:
        note = "A W&B export does not tell settings from results; leave results out with `exclude` in collection.yml."
        for run in reading.runs:
            run.notes = (*run.notes, note)
    reading.problems = complaints.all()
    return reading


def _run(cells: dict[str, str], path: str, line: int, complaints: Complaints, results: set[str]) -> Run:
    about = {key.lower(): value.strip() for key, value in cells.items() if key.lower() in _ABOUT}
    name = about.get("name", "")
    run_id = about.get("id") or name or f"row {line}"
    run = Run(run_id, "wandb", files=(path,))
    if name and name != run_id:
        run.aliases = (name,)
    state = about.get("state", "").lower()
    run.status = _STATE.get(state)
    if state and run.status is None:
        complaints.add(
            path,
            f"state {state[:40]!r} is none that W&B knows; it is not used.",
            "Correct it (finished, failed, crashed, killed, running).",
            line=line,
            run=run_id,
        )
    created = about.get("start time") or about.get("created") or about.get("timestamp")
    if created and created != "-":
        run.started_at = parse_time(created)
        if run.started_at is None:
            complaints.add(
                path,
                f"{created[:40]!r} is no time; it is not used.",
                "Write ISO 8601, as the export does.",
                line=line,
                kind="time",
                run=run_id,
            )
    runtime = about.get("runtime")
    if runtime and runtime != "-":
        run.duration = _seconds(runtime)
        if run.duration is None:
            complaints.add(
                path,
                f"runtime {runtime[:40]!r} is no number of seconds; it is not used.",
                "Export the table again, with Runtime in seconds.",
                line=line,
                run=run_id,
            )
    if run.status in ("running", "killed", "not_started"):
        # The last sign of life, not an end.
        if run.duration is not None and run.started_at is not None:
            run.first_activity, run.last_activity = run.started_at, run.started_at + run.duration
        run.duration = None
    run.config = _settings(cells, results)
    return run


def _settings(cells: dict[str, str], results: set[str]) -> dict[str, Scalar]:
    config: dict[str, Scalar] = {}
    for key, value in cells.items():
        if not key or key.lower() in _ABOUT or key.startswith("_"):
            continue
        if "/" in key:
            # W&B nests settings with dots; a slash is how metrics are grouped (train/loss).
            results.add(key)
            continue
        text = value.strip()
        if text in ("", "-"):
            continue
        quoted = len(text) >= 2 and text[0] == text[-1] == '"'
        config[key.removesuffix(".value")] = text[1:-1] if quoted else guess(text)
    return config


def _seconds(text: str) -> float | None:
    number = finite(text)
    if number is None:
        match = _CLOCK.fullmatch(text.strip())
        if match is None or not any(match.groups()):
            return None
        days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
        number = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return number if number >= 0 else None
