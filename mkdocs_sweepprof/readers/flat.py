"""Tables ``runs``, ``sections`` and ``events`` (``.csv``, ``.jsonl`` or ``.parquet``) in the collection folder: for
people who export their runs from anywhere.

``runs``: run, status?, started_at?, ended_at?, wall_seconds?, then one column a field. ``sections``: run, section,
count, total_seconds. ``events``: run, time, event, name?, step?, epoch?, status?. Times are ISO-8601 (UTC when naive)
or epoch seconds; durations are seconds.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from mkdocs_sweepprof.readers.base import Reading, Run, Section, Source, Status
from mkdocs_sweepprof.readers.complaints import Complaints
from mkdocs_sweepprof.readers.native import STATUS_WORDS, Log, Row, assemble, event_row, no_nan, section_row
from mkdocs_sweepprof.readers.tree import Tree, decode
from mkdocs_sweepprof.readers.values import LATEST, MAX_SECONDS, finite, flatten, guess, parse_time

TABLES: dict[str, frozenset[str]] = {
    "runs": frozenset({"run"}),
    "sections": frozenset({"run", "section", "count", "total_seconds"}),
    "events": frozenset({"run", "time", "event"}),
}
"""The tables and the columns that make them ours."""
ENDINGS = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet")
"""In order of preference, where one table is there twice."""
RUN_COLUMNS = frozenset({"run", "status", "started_at", "ended_at", "wall_seconds"})
"""Columns of ``runs`` that are not fields of the config."""
PACK = "pack.json"
"""Beside tables that ``sweepprof pack`` wrote."""
PACKED_BY = "mkdocs-sweepprof pack"
UNFINISHED = "unfinished"
"""Key of a ``pack.json`` that stands while the tables are being written, and after an interruption."""
MAX_ROWS = 1_000_000
"""Rows of one table; the rest is left aside, and said."""
MAX_ID = 300
"""Characters of a run's name."""
HEAD = 65_536

_ALIVE: dict[str, Status] = {"running": "running", "pending": "not_started", "not_started": "not_started"}
_DECIMAL_COMMA = re.compile(r"^[-+]?\d+,\d+([eE][-+]?\d+)?$")
_INDEX = re.compile(r"^(Unnamed: \d+|__index_level_\d+__)?$")


@dataclass(slots=True)
class _Table:
    """A table's rows as (line, row number, values); ``line`` is None where the format has no lines."""

    path: str
    rows: list[tuple[int | None, int, dict[str, Any]]] = field(default_factory=list)
    readable: bool = True

    def where(self, line: int | None, number: int) -> str:
        """Where a row is, for formats without lines."""
        return "" if line is not None else f"row {number}: "


class TablesReader:
    """Three tables in the collection folder; one source for all of them."""

    name = "tables"
    title = "tables"
    version = 1

    def find(self, tree: Tree) -> Sequence[Source]:
        """One source when at least one table has the columns that it must have; else none."""
        here = set(tree.names(""))
        if PACK in here and PACKED_BY.encode() in tree.head(PACK, 256):
            return []  # read by the packed reader, which restores more
        files: list[str] = []
        fits = False
        for table, needed in TABLES.items():
            for ending in ENDINGS:
                path = table + ending
                if path in here:
                    files.append(path)
                    fits = fits or needed <= _columns(tree, path)
        # A table with other columns beside one that fits is meant to be ours, and is reported when it is read.
        return [Source(self.name, "", tuple(files), None)] if fits else []

    def read(self, tree: Tree, source: Source) -> Reading:
        """All runs of the tables, in the order of the ``runs`` table."""
        complaints = Complaints()
        tables: dict[str, _Table] = {}
        for table, needed in TABLES.items():
            found = [f for e in ENDINGS for f in source.files if f == table + e]
            if not found:
                continue
            for other in found[1:]:
                complaints.add(
                    other,
                    f"not used, since {found[0]} is there too.",
                    "Keep one file a table.",
                    kind="duplicate",
                    severity="info",
                )
            tables[table] = _load(tree, found[0], needed, complaints)
        runs = _runs(tables.get("runs"), source.files, complaints)
        listed = "runs" in tables and tables["runs"].readable
        _add_sections(tables.get("sections"), runs, listed, source.files, complaints)
        logs = _add_events(tables.get("events"), runs, listed, source.files, complaints)
        for run in runs.values():
            log = logs.get(run.id)
            if log is not None and run.status is None:
                ended = run.profile_wall is not None or run.ended_at is not None or run.duration is not None
                run.status = log.status if log.ended else (None if ended else "running")
        return Reading(list(runs.values()), complaints.all())


# --- recognising ---------------------------------------------------------------------------------------------------


def _columns(tree: Tree, path: str) -> set[str]:
    """The column names that a table begins with (a Parquet file: those of ours that its footer names)."""
    if path.endswith(".parquet"):
        if tree.head(path, 4) != b"PAR1":
            return set()
        footer = tree.tail(path, HEAD)
        ours = {c for needed in TABLES.values() for c in needed}
        # Thrift writes a name as its length and its bytes.
        return {c for c in ours if bytes([len(c)]) + c.encode() in footer}
    text = decode(tree.head(path, HEAD)).lstrip("\n ")
    first = text.split("\n", 1)[0]
    if path.endswith((".jsonl", ".jsonl.gz")):
        try:
            row = json.loads(first)
        except (ValueError, RecursionError):
            return set()
        return set(row) if isinstance(row, dict) else set()
    try:
        return {_column(c) for c in next(csv.reader([first], delimiter=_delimiter(first)), [])}
    except csv.Error:
        return set()


def _delimiter(header: str) -> str:
    counts = {d: header.count(d) for d in (",", ";", "\t")}
    return max(counts, key=lambda d: counts[d])


def _column(name: str) -> str:
    """A column's name; ours are recognised whatever their case."""
    clean = name.strip()
    lower = clean.lower()
    known = RUN_COLUMNS.union(*TABLES.values())
    return lower if lower in known else clean


# --- loading -------------------------------------------------------------------------------------------------------


def _load(tree: Tree, path: str, needed: frozenset[str], complaints: Complaints) -> _Table:
    """A table's rows; not ``readable`` when it cannot be read or lacks a column that it must have."""
    table = _Table(path)
    try:
        if path.endswith(".parquet"):
            rows, columns = _parquet(tree, path, complaints)
        elif path.endswith((".jsonl", ".jsonl.gz")):
            rows, columns = _jsonl(path, tree.read_text(path), complaints)
        else:
            rows, columns = _csv(path, tree.read_text(path), complaints)
    except OSError as error:
        complaints.cannot_read(path, error)
        table.readable = False
        return table
    if columns is None:
        table.readable = False
        return table
    if missing := sorted(needed - columns):
        there = ", ".join(sorted(columns)[:10]) or "none"
        complaints.add(
            path,
            f"the table has no column {' or '.join(repr(m) for m in missing)} (it has {there}); it is not used.",
            f"Name its columns {', '.join(sorted(needed))}.",
            line=None if path.endswith(".parquet") else 1,
            kind="unreadable",
        )
        table.readable = False
        return table
    try:
        for line, number, row in rows:
            if len(table.rows) >= MAX_ROWS:
                complaints.add(
                    path,
                    f"more than {MAX_ROWS} rows; the rest is left out.",
                    "Split the sweep.",
                    line=line,
                    kind="size",
                )
                break
            table.rows.append((line, number, row))
    except _BrokenError as error:
        complaints.add(path, str(error), "Export the table again.", kind="unreadable")
        table.readable = False  # so that what it lost is not called unknown
    return table


class _BrokenError(Exception):
    """A table whose rest cannot be read."""


_Rows = Iterator[tuple[int | None, int, dict[str, Any]]]


def _csv(path: str, text: str, complaints: Complaints) -> tuple[_Rows, set[str] | None]:
    text = text.replace("\0", "")
    lead = len(text) - len(text.lstrip("\n"))
    first = text[lead:].split("\n", 1)[0]
    if not first.strip():
        complaints.add(path, "the table is empty.", "Write a header line and the rows.", kind="unreadable")
        return iter(()), None
    delimiter = _delimiter(first)
    # Strict, since an open quote would swallow every row below it without a word.
    reader = csv.reader(io.StringIO(text[lead:]), delimiter=delimiter, strict=True)
    try:
        header = [_column(c) for c in next(reader)]
    except csv.Error as error:
        message = f"the header is not readable as CSV ({error}); the table is not used."
        complaints.add(path, message, "Export the table again.", line=lead + 1, kind="unreadable")
        return iter(()), None
    seen: set[str] = set()
    use: list[str | None] = []
    for name in header:
        if _INDEX.match(name):
            use.append(None)  # the index that pandas writes
            continue
        if name in seen:
            complaints.add(
                path,
                f"column {name[:60]!r} is there twice; the first is used.",
                "Rename one of them.",
                line=lead + 1,
            )
            use.append(None)
            continue
        seen.add(name)
        use.append(name)
    whole = text.endswith("\n")
    last = text.count("\n", lead) + 1

    def rows() -> _Rows:
        number = 0
        while True:
            line = lead + reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                end = lead + reader.line_num
                what = f"lines {line} to {end} are" if end > line else "the line is"
                message = f"{what} not readable as CSV ({error}); left out."
                complaints.add(path, message, "Close its quotes, or export the table again.", line=line)
                continue
            if not any(c.strip() for c in cells):
                continue
            number += 1
            if [_column(c) for c in cells] == header:
                complaints.add(
                    path,
                    "the header line stands here again; it is left out.",
                    "Write it once, at the top.",
                    line=line,
                    severity="info",
                )
                continue
            if len(cells) > len(header) and any(c.strip() for c in cells[len(header) :]):
                complaints.add(
                    path,
                    f"the row has {len(cells)} cells where the header has {len(header)}; it is left out.",
                    "Quote cells that hold the separator.",
                    line=line,
                )
                continue
            if len(cells) < len(header) and not whole and reader.line_num == last:
                complaints.add(
                    path,
                    "the last line is cut; it is left out.",
                    "Export the table again.",
                    line=line,
                    severity="info",
                )
                continue
            row = {
                name: _cell(cell, delimiter)
                for name, cell in zip(use, cells, strict=False)
                if name is not None and cell.strip()
            }
            yield line, number, row

    return rows(), seen


def _cell(text: str, delimiter: str) -> str:
    text = text.strip()
    # Spreadsheets that separate with semicolons write decimal commas.
    return text.replace(",", ".") if delimiter == ";" and _DECIMAL_COMMA.match(text) else text


def _jsonl(path: str, text: str, complaints: Complaints) -> tuple[_Rows, set[str] | None]:
    lines = text.replace("\0", "").split("\n")
    parsed: list[tuple[int | None, int, dict[str, Any]]] = []
    columns: set[str] = set()
    for line, content in enumerate(lines, start=1):
        if not content.strip():
            continue
        try:
            row = json.loads(content)
        except (ValueError, RecursionError):
            cut = line == len(lines)
            complaints.add(
                path,
                "the last line is cut; it is left out." if cut else "the line is not valid JSON; it is left out.",
                "Export the table again." if cut else "Write one JSON object a line.",
                line=line,
                severity="info" if cut else "warning",
            )
            continue
        if not isinstance(row, dict):
            complaints.add(path, "the line is no JSON object; it is left out.", "Write one object a line.", line=line)
            continue
        row = {_column(str(k)): v for k, v in row.items() if v is not None and v != ""}
        columns.update(row)
        parsed.append((line, len(parsed) + 1, row))
    if not parsed:
        complaints.add(path, "the table is empty.", "Write one JSON object a line.", kind="unreadable")
        return iter(()), None
    return iter(parsed), columns


def _parquet(tree: Tree, path: str, complaints: Complaints) -> tuple[_Rows, set[str] | None]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        complaints.add(
            path,
            "reading Parquet needs pyarrow, which is not installed.",
            "Run: pip install 'mkdocs-sweepprof[parquet]', or export CSV.",
            kind="unreadable",
        )
        return iter(()), None
    try:
        file = parquet.ParquetFile(tree.path(path))
        names = [_column(n) for n in file.schema_arrow.names]

        def rows() -> _Rows:
            number = 0
            try:
                for batch in file.iter_batches(batch_size=10_000):
                    table = pa.Table.from_batches([batch])
                    for index, kind in enumerate(table.schema.types):
                        if pa.types.is_timestamp(kind) and kind.unit == "ns":
                            # Nanoseconds would come as pandas objects.
                            micro = table.column(index).cast(pa.timestamp("us", kind.tz), safe=False)
                            table = table.set_column(index, table.schema.names[index], micro)
                    for row in table.rename_columns(names).to_pylist():
                        number += 1
                        yield (
                            None,
                            number,
                            {
                                k: v
                                for k, v in row.items()
                                if v is not None and v != "" and not _INDEX.match(k) and not _missing(v)
                            },
                        )
            except (pa.ArrowException, OSError, ValueError) as error:
                raise _BrokenError(f"not readable from row {number + 1} ({str(error)[:120]}).") from None

        return rows(), set(names)
    except (pa.ArrowException, OSError, ValueError) as error:
        complaints.add(
            path,
            f"not a readable Parquet file ({str(error)[:120]}).",
            "Export the table again.",
            kind="unreadable",
        )
        return iter(()), None


def _missing(value: Any) -> bool:
    """NaN is how data frames write an empty cell."""
    return isinstance(value, float) and math.isnan(value)


# --- rows → records ------------------------------------------------------------------------------------------------


def _run_id(value: Any) -> str | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = "".join(c if c.isprintable() else " " for c in str(value)).strip().strip("/")
    return text[:MAX_ID] or None


def _plain(value: Any) -> Any:
    """A cell's text as the value that it says; others as they are."""
    return guess(value) if isinstance(value, str) else value


def _runs(table: _Table | None, files: tuple[str, ...], complaints: Complaints) -> dict[str, Run]:
    runs: dict[str, Run] = {}
    if table is None:
        return runs
    for line, number, row in table.rows:
        at = table.where(line, number)
        name = _run_id(row.get("run"))
        if name is None:
            complaints.add(table.path, f"{at}the row names no run; it is left out.", "Fill its 'run' cell.", line=line)
            continue
        if name in runs:
            complaints.add(
                table.path,
                f"{at}run {name!r} is there twice; the first row counts.",
                "Give each run a name of its own.",
                line=line,
                kind="duplicate",
                run=name,
            )
            continue
        run = runs[name] = Run(name, "tables", files=files)
        _clock(run, row, table.path, at, line, complaints)
        fields = {k: _plain(v) for k, v in row.items() if k not in RUN_COLUMNS}
        run.config = {k: no_nan(v) for k, v in flatten(fields).items()}
    return runs


def _clock(run: Run, row: dict[str, Any], path: str, at: str, line: int | None, complaints: Complaints) -> None:
    """Status, start, end and wall of a row of ``runs``."""
    word = row.get("status")
    if word is not None:
        clean = str(word).strip().lower().replace("-", "_").replace(" ", "_")
        run.status = _ALIVE.get(clean, STATUS_WORDS.get(clean))
        if run.status is None:
            complaints.add(
                path,
                f"{at}run {run.id!r}: status {str(word)[:40]!r} is not known; its outcome counts as not recorded.",
                "Write completed, failed, pruned, running or not_started.",
                line=line,
                severity="info",
                run=run.id,
            )
    times: dict[str, float | None] = {}
    for key in ("started_at", "ended_at"):
        value = row.get(key)
        times[key] = None if value is None else parse_time(value)
        if value is not None and times[key] is None:
            complaints.add(
                path,
                f"{at}run {run.id!r}: {key} {str(value)[:40]!r} is no time; it is not used.",
                "Write ISO-8601 text or epoch seconds.",
                line=line,
                kind="time",
                run=run.id,
            )
    run.started_at, run.ended_at = times["started_at"], times["ended_at"]
    if run.started_at is not None and run.ended_at is not None and run.ended_at < run.started_at:
        complaints.add(
            path,
            f"{at}run {run.id!r}: ended_at lies before started_at; neither is used.",
            "Check the two cells, and the time zones.",
            line=line,
            kind="time",
            run=run.id,
        )
        run.started_at = run.ended_at = None
    wall = _plain(row.get("wall_seconds"))
    if wall is None:
        return
    seconds = finite(wall) if not isinstance(wall, str) else None
    if seconds is None or not 0 < seconds <= MAX_SECONDS:
        complaints.add(
            path,
            f"{at}run {run.id!r}: wall_seconds is {str(wall)[:40]!r}; it is not used.",
            "Write seconds, a positive number.",
            line=line,
            run=run.id,
        )
    elif run.status in ("running", "not_started"):
        run.duration = seconds  # the time reached, not a run's wall
    else:
        run.profile_wall = seconds


def _find_run(
    value: Any, runs: dict[str, Run], listed: bool, files: tuple[str, ...], unknown: dict[str, int]
) -> Run | None:
    """The run that a row names; made when there is no ``runs`` table. Unknown names are counted."""
    name = _run_id(value)
    if name is not None and name not in runs and not listed:
        runs[name] = Run(name, "tables", files=files)
    if name is None or name not in runs:
        unknown[name or ""] = unknown.get(name or "", 0) + 1
        return None
    return runs[name]


def _say_unknown(path: str, unknown: dict[str, int], first: dict[str, int | None], complaints: Complaints) -> None:
    for name, count in unknown.items():
        rows = f"{count} row{'s' if count > 1 else ''}"
        if name:
            message = f"{rows} of run {name!r}, which the runs table does not have; left out."
        else:
            message = f"{rows} that name no run; left out."
        complaints.add(path, message, "Add the run to the runs table, or correct its name.", line=first[name])


def _add_sections(
    table: _Table | None, runs: dict[str, Run], listed: bool, files: tuple[str, ...], complaints: Complaints
) -> None:
    if table is None:
        return
    known: dict[tuple[str, str], Section] = {}
    unknown: dict[str, int] = {}
    first: dict[str, int | None] = {}
    for line, number, row in table.rows:
        at = table.where(line, number)
        run = _find_run(row.get("run"), runs, listed, files, unknown)
        if run is None:
            first.setdefault(_run_id(row.get("run")) or "", line)
            continue
        typed = {k: _plain(row.get(k)) for k in ("count", "total_seconds")}
        section, (_, message, remedy) = section_row({**typed, "section": _text(row.get("section"))})
        if section is None:
            complaints.add(table.path, f"{at}run {run.id!r}: {message}", remedy, line=line, run=run.id)
            continue
        same = known.get((run.id, section.path))
        if same is None:
            known[run.id, section.path] = section
            run.sections.append(section)
            continue
        complaints.add(
            table.path,
            f"{at}run {run.id!r}: section {section.path!r} stands more than once; its rows are added up.",
            "Write one row a section and run.",
            line=line,
            run=run.id,
        )
        same.count += section.count
        same.total_seconds += section.total_seconds
    _say_unknown(table.path, unknown, first, complaints)


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _add_events(
    table: _Table | None, runs: dict[str, Run], listed: bool, files: tuple[str, ...], complaints: Complaints
) -> dict[str, Log]:
    if table is None:
        return {}
    rows: dict[str, list[Row]] = {}
    unknown: dict[str, int] = {}
    first: dict[str, int | None] = {}
    scaled = False
    for line, number, cells in table.rows:
        at = table.where(line, number)
        run = _find_run(cells.get("run"), runs, listed, files, unknown)
        if run is None:
            first.setdefault(_run_id(cells.get("run")) or "", line)
            continue
        row, (message, remedy) = event_row({**cells, "event": _text(cells.get("event"))})
        if row is None:
            complaints.add(table.path, f"{at}run {run.id!r}: {message}", remedy, line=line, run=run.id)
            continue
        row.line, row.path = line if line is not None else number, table.path
        if not scaled and (finite(cells.get("time")) or 0.0) >= LATEST:
            scaled = True
            complaints.add(
                table.path,
                "times are not in seconds; they were recognised as epoch milli-, micro- or nanoseconds.",
                "Write epoch seconds or ISO-8601 times to be sure.",
                line=line,
                kind="time",
                severity="info",
            )
        rows.setdefault(run.id, []).append(row)
    logs: dict[str, Log] = {}
    for name, found in rows.items():
        run = runs[name]
        # A table has no order of its own.
        found.sort(key=lambda r: r.event.time)
        complaints.run = name
        log = logs[name] = assemble(found, complaints)
        complaints.run = None
        run.events, run.sessions = log.events, log.sessions
        run.first_activity, run.last_activity = log.first, log.last
        run.notes = tuple(log.notes)
        have = {s.path for s in run.sections}
        run.sections.extend(s for s in log.sections if s.path not in have)
    _say_unknown(table.path, unknown, first, complaints)
    return logs
