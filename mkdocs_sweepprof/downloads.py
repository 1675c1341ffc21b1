"""The tables beside a note, as CSV: UTF-8, comma, one header line, seconds and fractions unrounded."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from mkdocs_sweepprof.analysis.results import Analysis
from mkdocs_sweepprof.tables import Tables


def csvs(tables: Tables, analysis: Analysis) -> dict[str, str]:
    """File name → text of ``runs.csv``, ``sections.csv``, ``intervals.csv`` and ``effects.csv`` (those with rows)."""
    out = {"runs.csv": _runs(tables)}
    if len(tables.sections):
        # Two columns that say nothing new where no section's calls overlap.
        only = () if tables.sections["overlapping"].any() else ("overlapping", "covered_seconds")
        columns = [c for c in tables.sections.columns if c not in only]
        out["sections.csv"] = _frame(tables.sections[columns])
    if len(tables.intervals):
        out["intervals.csv"] = _frame(tables.intervals)
    if analysis.effects:
        header = ["field", "levels", "eta_squared", "omega_squared", "undefined", "determined_by"]
        out["effects.csv"] = _text(
            header,
            (
                [e.field, e.levels, e.eta_squared, e.omega_squared, e.undefined, e.determined_by]
                for e in analysis.effects
            ),
        )
    return out


def _runs(tables: Tables) -> str:
    kept = [
        "status",
        "left_out",
        "wall_seconds",
        "wall_source",
        "started_at",
        "sessions",
        "elapsed_seconds",
        "reached_seconds",
    ]
    frame = tables.runs[kept].copy()
    for kind in sorted({k for kinds in tables.outside.values() for k in kinds}):
        frame[f"outside_{kind}_seconds"] = [tables.outside.get(str(r), {}).get(kind) for r in frame.index]
    taken = set(frame.columns)
    fields = tables.fields.rename(columns={c: f"config.{c}" for c in tables.fields.columns if c in taken or c == "run"})
    return _frame(pd.concat([frame, fields], axis=1).reset_index())


def _frame(frame: pd.DataFrame) -> str:
    return _text([str(c) for c in frame.columns], frame.itertuples(index=False, name=None))


def _text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([_cell(v) for v in row])
    return stream.getvalue()


def _cell(value: Any) -> Any:
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(float(value)) if isinstance(value, float) else value
