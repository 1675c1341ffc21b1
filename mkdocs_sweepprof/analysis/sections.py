"""Where time goes, from profiled sections. Nested sections are never added to their ancestors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd

from mkdocs_sweepprof.analysis.results import DoubleCount, LevelStat, Profile, Role, SectionStat, Separator
from mkdocs_sweepprof.analysis.roles import role as role_of
from mkdocs_sweepprof.levels import matches

DOUBLE_COUNT_TOLERANCE = 0.10
"""All rows add up to the wall within this: a sign that the wall was summed from them."""
DOUBLE_COUNT_EACH = 0.20
"""…in most runs also within this, each by itself…"""
DOUBLE_COUNT_COVER = 0.75
"""…while the outermost sections cover less than this."""
ABOVE_WALL_TOLERANCE = 1e-3
"""Outermost sections above the wall by less than this share are rounding."""
SEPARATOR_DIFFERENCE = 0.05
"""Slow and fast levels that differ by less than this part of the slow one's wall are not held against each other."""
SEPARATOR_LEVELS = 2
"""Slow and fast levels that are held against each other (fewer with few levels)."""
SPANS = 0.99
"""An outermost section of this share is the run itself: what matters are its parts."""
MOST = 0.5
"""A section is what more than this part of its runs say that it is."""


def profile(
    sections: pd.DataFrame,
    wall: pd.Series,
    wall_source: pd.Series,
    group_levels: pd.Series | None,
    by_group: Sequence[LevelStat],
    roles: Mapping[str, Sequence[str]],
) -> Profile | None:
    """Sections of the counted runs. None when no counted run has any.

    Args:
        sections: the sections table.
        wall: seconds of the counted runs, index run.
        wall_source: each counted run's wall source.
        group_levels: each counted run's group level, or None without a group.
        by_group: wall statistics of the group's levels, in display order.
        roles: role → globs, for the roles that collection.yml names.
    """
    rows = sections[sections["run"].isin(wall.index)]
    if rows.empty:
        return None
    runs = wall.index[wall.index.isin(rows["run"].unique())]
    walls = wall.loc[runs]
    levels = group_levels.loc[runs] if group_levels is not None else None
    order = [s.level for s in by_group]

    stats = {
        str(path): _stat(str(path), part, walls, levels, order, roles)
        for path, part in rows.groupby("section", sort=False)
    }
    for stat in stats.values():
        stat.depth = _depth(stat, stats)
    tree = _tree_order(stats)
    outer_rows = rows[rows["outermost"]]
    outer_seconds = outer_rows.groupby("run")["covered_seconds"].sum().reindex(runs, fill_value=0.0)
    covered = outer_seconds / walls
    outermost = [s.path for s in tree if s.parent is None and s.summed]
    dominant = max(outermost, key=lambda p: stats[p].share) if outermost else None
    children = [s.path for s in tree if s.parent == dominant and s.summed] if dominant else []
    unattributed_by_group = (
        {name: 1 - float(covered[levels == name].mean()) for name in order if (levels == name).any()}
        if levels is not None
        else {}
    )
    result = Profile(
        runs=len(runs),
        wall_seconds=float(walls.sum()),
        sections=tree,
        outermost=outermost,
        unattributed=1 - float(covered.mean()),
        unattributed_by_group=unattributed_by_group,
        roles=_role_shares(tree),
        dominant=dominant,
        dominant_children=children,
        above_wall=[
            (str(r), float(outer_seconds[r]), float(walls[r]))
            for r in runs
            if covered[r] > 1 + ABOVE_WALL_TOLERANCE and wall_source[r] != "sections"
        ],
        double_count=_double_count(rows, walls, wall_source.loc[runs], outer_seconds, stats, outermost),
        separator=None,
        overlapping=[s.path for s in tree if not s.summed],
        parallel=[s.path for s in tree if s.overlapping and s.summed],
    )
    if levels is not None:
        result.separator = _separator(rows, walls, levels, by_group, result, stats)
    return result


def _stat(
    path: str,
    part: pd.DataFrame,
    walls: pd.Series,
    levels: pd.Series | None,
    order: Sequence[str],
    roles: Mapping[str, Sequence[str]],
) -> SectionStat:
    n = len(walls)
    per_run = part.set_index("run")
    seconds = per_run["total_seconds"].groupby(level=0, sort=False).sum()
    covered = per_run["covered_seconds"].fillna(per_run["total_seconds"])
    shares = per_run["share"].groupby(level=0, sort=False).sum()
    called = per_run[per_run["count"] > 0]
    per_call = (called["total_seconds"] / called["count"]).groupby(level=0, sort=False).mean()
    parents = Counter(p if isinstance(p, str) else None for p in part["parent"])
    by_group: dict[str, float] = {}
    by_share: dict[str, float] = {}
    if levels is not None:
        for name in order:
            members = levels.index[levels == name]
            if not len(members):
                continue
            by_share[name] = float(shares.reindex(members, fill_value=0.0).mean())
            here = per_call[per_call.index.isin(members)]
            if len(here):
                by_group[name] = float(here.mean())
    return SectionStat(
        path=path,
        depth=0,
        parent=max(parents, key=lambda p: (parents[p], p is not None)),
        role=role_of(path, roles),
        runs=len(seconds),
        share=float(shares.sum() / n),
        pooled_share=float(covered.sum() / walls.sum()),
        self_share=float(per_run["self_share"].sum() / n),
        per_call=float(per_call.mean()) if len(per_call) else None,
        total_seconds=float(seconds.sum()),
        counts=sorted({int(c) for c in part["count"]}),
        by_group=by_group,
        by_group_share=by_share,
        overlapping=bool(part["overlapping"].mean() > MOST),
        summed=bool(part["covered_seconds"].notna().mean() > MOST),
    )


def _depth(stat: SectionStat, stats: Mapping[str, SectionStat]) -> int:
    depth, parent = 0, stat.parent
    while parent is not None and parent in stats:
        depth += 1
        parent = stats[parent].parent
    return depth


def _tree_order(stats: Mapping[str, SectionStat]) -> list[SectionStat]:
    """Outermost by falling share, each followed by its descendants likewise."""
    below: dict[str | None, list[SectionStat]] = {}
    for stat in stats.values():
        below.setdefault(stat.parent if stat.parent in stats else None, []).append(stat)
    out: list[SectionStat] = []
    stack = sorted(below.get(None, []), key=lambda s: (s.share, s.path))
    while stack:
        stat = stack.pop()
        out.append(stat)
        stack.extend(sorted(below.get(stat.path, []), key=lambda s: (s.share, s.path)))
    return out


def _role_shares(tree: Sequence[SectionStat]) -> dict[Role, float]:
    """Shares by role from self time, largest first: each second counts for the role of its innermost section."""
    shares: dict[Role, float] = {}
    for stat in tree:
        if stat.summed:
            shares[stat.role] = shares.get(stat.role, 0.0) + stat.self_share
    return dict(sorted(shares.items(), key=lambda x: -x[1]))


def _double_count(
    rows: pd.DataFrame,
    walls: pd.Series,
    source: pd.Series,
    outer_seconds: pd.Series,
    stats: Mapping[str, SectionStat],
    outermost: Sequence[str],
) -> DoubleCount | None:
    recorded = walls[source == "profile"]
    if recorded.empty or not outermost:
        return None
    total = float(recorded.sum())
    mine = rows[rows["run"].isin(recorded.index)]
    all_rows = float(mine["total_seconds"].sum()) / total
    outer = float(outer_seconds.loc[recorded.index].sum()) / total
    if abs(all_rows - 1) > DOUBLE_COUNT_TOLERANCE or outer >= DOUBLE_COUNT_COVER:
        return None
    # One run with a wrong wall can make the sums agree by chance: most runs must agree by themselves.
    each = mine.groupby("run")["total_seconds"].sum().reindex(recorded.index, fill_value=0.0) / recorded
    if 2 * int(((each - 1).abs() <= DOUBLE_COUNT_EACH).sum()) <= len(recorded):
        return None
    sums = outer_seconds[outer_seconds > 0]
    largest = max(outermost, key=lambda p: stats[p].total_seconds)
    seconds = rows[(rows["section"] == largest) & rows["outermost"]].groupby("run")["covered_seconds"].sum()
    share = float((seconds.reindex(sums.index, fill_value=0.0) / sums).mean())
    return DoubleCount(all_rows, outer, float(sums.mean()), largest, share)


def _separator(
    rows: pd.DataFrame,
    walls: pd.Series,
    levels: pd.Series,
    by_group: Sequence[LevelStat],
    profile: Profile,
    stats: Mapping[str, SectionStat],
) -> Separator | None:
    ranked = sorted(by_group, key=lambda s: s.mean)
    take = min(SEPARATOR_LEVELS, len(ranked) // 2)
    if take == 0:
        return None
    fast, slow = [s.level for s in ranked[:take]], [s.level for s in reversed(ranked[-take:])]
    is_slow, is_fast = levels.isin(slow), levels.isin(fast)
    if not is_slow.any() or not is_fast.any():
        return None
    slow_wall, fast_wall = float(walls[is_slow].mean()), float(walls[is_fast].mean())
    difference = slow_wall - fast_wall
    if difference < SEPARATOR_DIFFERENCE * slow_wall:
        return None
    # A section that spans the run would "separate" everything and say nothing: its parts are looked at.
    within = profile.dominant if profile.dominant_children else None
    if within is not None and stats[within].share < SPANS:
        within = None
    mine = rows[rows["section"].isin(profile.dominant_children)] if within else rows[rows["outermost"]]
    table = mine.pivot_table(index="run", columns="section", values="covered_seconds", aggfunc="sum")
    table = table.reindex(walls.index).fillna(0.0)
    parts = {
        str(path): float(table.loc[is_slow, path].mean() - table.loc[is_fast, path].mean()) / difference
        for path in table.columns
    }
    missing = 1 - sum(parts.values())
    section = max(parts, key=lambda p: parts[p]) if parts else None
    per_call: dict[str, float] = {}
    if section is not None:
        found = stats[section].by_group
        per_call = {name: found[name] for name in (*slow, *fast) if name in found}
    return Separator(
        slow=slow,
        fast=fast,
        slow_wall=slow_wall,
        fast_wall=fast_wall,
        section=section,
        part=parts[section] if section else 0.0,
        per_call=per_call,
        unattributed_part=missing,
        others={p: v for p, v in sorted(parts.items(), key=lambda x: -x[1]) if p != section},
        within=within,
    )


def governed(paths: Sequence[str], globs: Sequence[str]) -> list[str]:
    """The section paths that fit one of the globs, in their order."""
    return [p for p in paths if matches(p, globs)]
