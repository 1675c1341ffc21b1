"""Pure functions from tables to results. No files, no Markdown, no text for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

import pandas as pd

from mkdocs_sweepprof.analysis import comparison, effects, intervals, knobs, sections
from mkdocs_sweepprof.analysis.results import (
    Analysis,
    ClockConflict,
    Comparable,
    LeftOut,
    RunRow,
    Runtime,
    SessionStat,
)
from mkdocs_sweepprof.levels import NOT_SET, plumbing
from mkdocs_sweepprof.tables import Tables

if TYPE_CHECKING:
    from mkdocs_sweepprof.schema import CollectionConfig

__all__ = ["Analysis", "Comparable", "analyse"]

CLOCK_TOLERANCE = 0.01
"""Two clocks of one run that differ by more than this part are reported."""
MAX_SHOWN_SETTINGS = 8
_CLOCKS = ("profile", "sessions", "events", "tracker")
"""Clocks that measure the whole run. Activity is a lower bound, and the section sum is no clock."""


def analyse(
    tables: Tables,
    config: CollectionConfig,
    *,
    name: str,
    others: Sequence[Comparable] = (),
) -> Analysis:
    """Analyse one collection.

    Args:
        tables: the collection's tables (see :mod:`mkdocs_sweepprof.tables`).
        config: its choices; a ``CollectionConfig()`` infers everything.
        name: the collection's folder name.
        others: the collections to compare with.
    """
    rows = tables.runs.loc[tables.counted]
    counted = _in_order(rows["wall_seconds"], tables.fields)
    wall = rows["wall_seconds"].loc[counted]
    fields = tables.fields.loc[counted] if len(tables.fields.columns) else pd.DataFrame(index=counted)
    # A run without a config has no level: it counts in totals, and in no comparison by field.
    fields = fields.loc[(fields != NOT_SET).any(axis=1)] if len(fields.columns) else fields
    known = wall.loc[fields.index]
    section_rows = _of_runs(tables.sections, counted)
    factors, settings = effects.factors_and_settings(fields, config.levels, config.factors)
    found = effects.effects(known, fields, factors)
    by_name = {f.name: f for f in factors}
    # A group that no run has, or that does not vary, is as good as none: the messages say so.
    group = config.group if config.group in by_name else None
    inferred = group is None
    custom = False
    if group is None:
        custom = effects.can_group(tables.compare_by, factors, fields)
        group = tables.compare_by if custom else effects.infer_group(factors, found, fields)
    missing = _missing(config, tables.fields)
    if group is not None and group not in by_name:
        group, inferred = None, False
    if group is not None:
        effects.put_first(group, factors, found, fields)
    by = {f.name: effects.level_stats(known, fields[f.name], f.levels) for f in factors}
    group_levels = fields[group].reindex(wall.index) if group else None
    by_group = by[group] if group else []
    cross = effects.cross_factor(factors, found, group, fields) if group else None
    prof = sections.profile(
        section_rows, wall, rows["wall_source"], group_levels, by_group, {str(k): v for k, v in config.roles.items()}
    )
    if prof is not None:
        place = {str(run): i for i, run in enumerate(tables.runs.index)}
        prof.above_wall.sort(key=lambda x: place[x[0]])
    result = Analysis(
        name=name,
        title=config.title or name,
        runtime=_runtime(wall, len(tables.runs)),
        rows=_rows(tables, config.run_url, [f.name for f in factors]),
        left_out=_left_out(tables),
        wall_sources=_most_first(rows["wall_source"]),
        clock_conflicts=_conflicts(rows),
        sessions=[
            SessionStat(str(r.Index), int(r.sessions), float(r.wall_seconds), float(r.elapsed_seconds))  # type: ignore[arg-type]
            for r in rows[rows["sessions"] > 1].itertuples()
        ],
        pruned=int((rows["status"] == "pruned").sum()),
        without_config=len(wall) - len(fields) if len(tables.fields.columns) else 0,
        unknown_end=int(_unknown_end(rows).sum()),
        layouts=_most_first(tables.runs["layout"].dropna()),
        group=group,
        group_inferred=inferred and group is not None,
        group_by_custom=custom,
        factors=factors,
        settings=settings,
        shown_settings=_shown_settings(config.settings, settings),
        by=by,
        effects=found,
        cells=effects.cells(known, fields, by_name[group], cross) if group and cross else None,
        repeats=effects.repeats(fields, factors),
        profile=prof,
        intervals=intervals.intervals(_of_runs(tables.intervals, counted), wall, group_levels, by_group),
        cross_check=intervals.cross_check(tables.runs, list(counted)),
        knobs=[],
        comparisons=[],
        outside=_outside(tables, counted),
        reader_notes=list(tables.notes),
        mentions=list(tables.mentions),
        missing=missing,
        excluded_fields=list(config.exclude.fields),
        hidden_fields=[str(n) for n in tables.fields.columns if n not in by_name and n not in settings],
    )
    if prof is not None:
        specs = [
            knobs.KnobSpec(k.id, k.setting, k.label, k.verb, tuple(k.sections), k.keep, k.note) for k in config.knobs
        ] or knobs.candidates(prof)
        result.knobs = [knobs.knob(s, section_rows, wall, settings, prof) for s in specs]
        knobs.mark_overlaps(result.knobs)
    result.comparisons = [c for o in others if (c := comparison.compare(result, o)) is not None]
    return result


def _in_order(wall: pd.Series, fields: pd.DataFrame) -> pd.Index:
    """The runs by wall, then by their levels: a sum's last digit hangs on its order, and no number of a note shall
    hang on what the runs are called."""
    seconds = wall.tolist()
    tied = [i for i, again in enumerate(wall.duplicated(keep=False)) if again]
    ties = dict(zip(tied, fields.loc[wall.index[tied]].itertuples(index=False, name=None), strict=True))
    order = sorted(range(len(seconds)), key=lambda i: (seconds[i], ties.get(i, ())))
    return wall.index[order]


def _of_runs(table: pd.DataFrame, runs: pd.Index) -> pd.DataFrame:
    """The rows of these runs, in the order of the runs and within a run as they stand."""
    place = table["run"].map({run: i for i, run in enumerate(runs)})
    return table[place.notna()].iloc[place.dropna().to_numpy().argsort(kind="stable")]


def _unknown_end(rows: pd.DataFrame) -> pd.Series:
    """Runs that neither a status nor an end vouches for. Of our own layouts, a recorded wall is an end; a tracker's
    profiler writes its report when training breaks off, too."""
    silent = rows["status"].isna() & rows["clock_events"].isna() & rows["clock_tracker"].isna()
    report = (rows["wall_source"] == "profile") & ~rows["layout"].isin(["native", "tables"])
    return silent & (rows["wall_source"].isin(["activity", "sections"]) | report)


def _most_first(values: pd.Series) -> dict[str, int]:
    return dict(sorted(((str(k), int(n)) for k, n in Counter(values).items()), key=lambda x: (-x[1], x[0])))


def _runtime(wall: pd.Series, found: int) -> Runtime:
    if wall.empty:
        return Runtime(0, found, None, None, None, None, 0.0)
    return Runtime(
        len(wall),
        found,
        float(wall.mean()),
        float(wall.median()),
        float(wall.min()),
        float(wall.max()),
        float(wall.sum()),
    )


def _left_out(tables: Tables) -> list[LeftOut]:
    rows = tables.runs[tables.runs["left_out"].notna()]
    return [
        LeftOut(
            str(run), r["left_out"], None if pd.isna(r["reached_seconds"]) else float(r["reached_seconds"]), r["detail"]
        )
        for run, r in rows.iterrows()
    ]


def _rows(tables: Tables, url: str | None, factors: Sequence[str]) -> list[RunRow]:
    out = []
    columns = [f for f in factors if f in tables.fields.columns]
    levels = tables.fields[columns].to_dict("index") if columns else {}
    configs = tables.fields.to_dict("index") if url else {}
    for run, r in tables.runs.to_dict("index").items():
        out.append(
            RunRow(
                run=str(run),
                levels={str(k): str(v) for k, v in levels.get(run, {}).items()},
                wall_seconds=_opt(r["wall_seconds"]),
                wall_source=r["wall_source"],
                status=r["status"],
                left_out=r["left_out"] if isinstance(r["left_out"], str) else None,  # type: ignore[arg-type]
                reached_seconds=_opt(r["reached_seconds"]),
                sessions=int(r["sessions"]),
                elapsed_seconds=_opt(r["elapsed_seconds"]),
                url=_url(url, str(run), configs.get(run, {})) if url else None,
                started_at=_opt(r["started_at"]),
                outside=tables.outside.get(str(run), {}),
            )
        )
    return out


def _url(template: str, run: str, config: Mapping[object, object]) -> str | None:
    """The run's link: ``{run}`` and ``{field}`` filled in, percent-encoded. None unless it is http(s) and complete."""
    out = template.replace("{run}", quote(run, safe=""))
    for name, value in config.items():
        if value != NOT_SET:
            out = out.replace("{" + str(name) + "}", quote(str(value), safe=""))
    return out if out.startswith(("https://", "http://")) and "{" not in out else None


def _conflicts(rows: pd.DataFrame) -> list[ClockConflict]:
    out = []
    for run, r in rows[[f"clock_{c}" for c in _CLOCKS] + ["sessions"]].to_dict("index").items():
        clocks = [(c, float(r[f"clock_{c}"])) for c in _CLOCKS if r[f"clock_{c}"] == r[f"clock_{c}"]]
        # A resumed run's other clocks span its gaps: that is no disagreement.
        if int(r["sessions"]) > 1:
            clocks = [c for c in clocks if c[0] in ("profile", "sessions")]
        for i, (first, a) in enumerate(clocks):
            for second, b in clocks[i + 1 :]:
                if abs(a - b) > CLOCK_TOLERANCE * max(a, b):
                    out.append(ClockConflict(str(run), first, a, second, b))
    return out


def _outside(tables: Tables, counted: pd.Index) -> dict[str, float]:
    """Mean seconds outside the wall, a kind, over the counted runs that record it."""
    values: dict[str, list[float]] = {}
    for run in counted:
        for kind, seconds in tables.outside.get(str(run), {}).items():
            values.setdefault(kind, []).append(seconds)
    return {kind: sum(v) / len(v) for kind, v in sorted(values.items())}


def _shown_settings(chosen: Sequence[str] | None, settings: Mapping[str, str]) -> list[str]:
    if chosen is not None:
        return [s for s in chosen if s in settings]
    said = [s for s in settings if not plumbing(s, [settings[s]])]
    return [s for s in said if effects.kind(s, [settings[s]], 1) in ("categorical", "numeric")][:MAX_SHOWN_SETTINGS]


def _missing(config: CollectionConfig, fields: pd.DataFrame) -> list[str]:
    known = set(fields.columns)
    named = [config.group] if config.group else []
    named += [*(config.factors or []), *(config.settings or [])]
    return [n for n in dict.fromkeys(named) if n not in known]


def _opt(value: float) -> float | None:
    return None if pd.isna(value) else float(value)
