"""Where time goes, from the event log: the stretches between consecutive markers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pandas as pd

from mkdocs_sweepprof.analysis.results import CrossCheck, Intervals, IntervalStat, LevelStat, TailStat

MAX_SHOWN = 60
"""More distinct intervals than this are not compared one by one."""
LABELLED = 0.5
"""Labels are used when the intervals that most runs have cover more than this part of the logged time."""
SLOW_FAST_MIN_RUNS = 4
TIE = 0.002
"""Seconds by which two intervals may differ and be equally long: times are often kept in milliseconds."""


def intervals(
    table: pd.DataFrame, wall: pd.Series, group_levels: pd.Series | None, by_group: Sequence[LevelStat]
) -> Intervals | None:
    """Intervals of the counted runs; None when no counted run has two markers.

    Shares are of the run's wall. The tail is what comes after the last epoch end, up to ``run_end``.
    """
    rows = table[table["run"].isin(wall.index)]
    if rows.empty:
        return None
    runs = wall.index[wall.index.isin(rows["run"].unique())]
    walls = wall.loc[runs]
    stats, by = _stats(rows, len(runs))
    opening = _if_most(rows[rows["opening"]].groupby("run", sort=False)["seconds"].sum(), len(runs))
    tail = _if_most(rows[rows["tail"]].groupby("run", sort=False)["seconds"].sum(), len(runs))
    _name_kinds(stats, rows, by, has_opening=len(opening) > 0, has_tail=len(tail) > 0)
    before = rows[~rows["tail"]].groupby("run")["seconds"].sum().reindex(tail.index).fillna(0.0)
    same = len(opening) and set(opening.index) == set(tail.index)
    share = tail / walls.loc[tail.index]
    result = Intervals(
        runs=len(runs),
        by=by,
        stats=stats,
        opening_mean=_mean(opening),
        before_tail_mean=_mean(before),
        before_tail_share=_mean(before / walls.loc[tail.index]),
        tail_mean=_mean(tail),
        tail_max=float(tail.max()) if len(tail) else None,
        tail_share=_mean(share),
        tail_by_group=[],
        opening_runs=len(opening),
        tail_runs=len(tail),
        between_mean=_mean(before - opening.reindex(before.index)) if same else None,
        slow_excess_in_tail=_slow_excess(walls.loc[tail.index], tail),
    )
    if group_levels is not None and len(tail):
        for level in by_group:
            mine = tail.index[group_levels.loc[tail.index] == level.level]
            if len(mine):
                result.tail_by_group.append(
                    TailStat(level.level, len(mine), float(tail[mine].mean()), float(share[mine].mean()))
                )
    return result


def _stats(rows: pd.DataFrame, runs: int) -> tuple[list[IntervalStat], Literal["label", "position"]]:
    labels = pd.Series(list(zip(rows["start"], rows["end"], strict=True)), index=rows.index, dtype=object)
    keyed = rows.assign(label=labels)
    having = keyed.groupby("label")["run"].nunique()
    common = having[having * 2 > runs].index
    total = float(rows["seconds"].sum())
    cover = float(keyed[keyed["label"].isin(common)]["seconds"].sum()) / total if total > 0 else 0.0
    # A label that comes several times in a run (one an epoch) is averaged within the run first.
    once = (keyed.groupby(["run", "label"]).size() == 1).mean() > LABELLED
    if cover > LABELLED and once and len(having) <= MAX_SHOWN:
        means = keyed.groupby(["label", "run"], sort=False)["seconds"].mean().groupby(level=0).mean()
        place = keyed.groupby("label")["position"].mean()
        wins = _longest(keyed, "label")
        stats = [
            IntervalStat(str(a), str(b), float(means[(a, b)]), int(having[(a, b)]), int(wins.get((a, b), 0)))
            for a, b in sorted(having.index, key=lambda x: (place[x], x))
        ]
        return stats, "label"
    positions = keyed["position"].nunique()
    if positions > MAX_SHOWN:
        return [], "position"
    wins = _longest(keyed, "position")
    out = []
    for position, part in keyed.groupby("position"):
        counts = part["label"].value_counts()
        start, end = counts.index[0] if 2 * counts.iloc[0] > len(part) else ("", "")
        out.append(
            IntervalStat(
                str(start),
                str(end),
                float(part["seconds"].mean()),
                int(part["run"].nunique()),
                int(wins.get(position, 0)),
                int(str(position)),
            )
        )
    return out, "position"


def _if_most(seconds: pd.Series, runs: int) -> pd.Series:
    """What most runs have; a mean over a few would be printed beside means over all."""
    return seconds if 2 * len(seconds) > runs else seconds.iloc[:0]


def _name_kinds(stats: list[IntervalStat], rows: pd.DataFrame, by: str, *, has_opening: bool, has_tail: bool) -> None:
    """Say which intervals are the opening and the final tail, where most of their rows are."""
    if not stats:
        return
    keys = rows["position"] if by == "position" else list(zip(rows["start"], rows["end"], strict=True))
    parts = rows.assign(key=pd.Series(list(keys), index=rows.index, dtype=object)).groupby("key")[["opening", "tail"]]
    shares = parts.mean().to_dict("index")
    for stat in stats:
        found = shares[stat.position if by == "position" else (stat.start, stat.end)]
        if has_opening and found["opening"] > 0.5:
            stat.kind = "opening"
        elif has_tail and found["tail"] > 0.5:
            stat.kind = "tail"


def _longest(keyed: pd.DataFrame, by: str) -> pd.Series:
    """In how many runs each interval is the longest; a run in which two are equally long has none."""
    top = keyed[keyed["seconds"] >= keyed.groupby("run")["seconds"].transform("max") - TIE]
    top = top.drop_duplicates(["run", by])
    return top[~top["run"].duplicated(keep=False)][by].value_counts()


def _slow_excess(walls: pd.Series, tail: pd.Series) -> float | None:
    """Part of the slow half's extra wall, over the fast half, that lies in the tail."""
    if len(walls) < SLOW_FAST_MIN_RUNS:
        return None
    middle = walls.median()
    slow, fast = walls.index[walls > middle], walls.index[walls <= middle]
    if not len(slow) or not len(fast):
        return None
    extra = float(walls[slow].mean() - walls[fast].mean())
    return float(tail[slow].mean() - tail[fast].mean()) / extra if extra > 0 else None


def cross_check(runs: pd.DataFrame, counted: Sequence[str]) -> CrossCheck | None:
    """Profile and event log of the same runs, where both exist."""
    both = runs.loc[list(counted)]
    both = both[both["clock_events"].notna() & both["clock_sections"].notna()]
    if both.empty:
        return None
    recorded = both[both["clock_profile"].notna()]
    gap = (recorded["clock_profile"] - recorded["clock_events"]).abs() / recorded["clock_events"]
    return CrossCheck(
        runs=len(both),
        event_wall_mean=float(both["clock_events"].mean()),
        outermost_mean=float(both["clock_sections"].mean()),
        covered=float((both["clock_sections"] / both["clock_events"]).mean()),
        wall_gap=float(gap.max()) if len(gap) else None,
    )


def _mean(values: pd.Series) -> float | None:
    return float(values.mean()) if len(values) and values.notna().any() else None
