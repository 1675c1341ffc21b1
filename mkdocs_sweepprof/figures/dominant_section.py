"""What the largest section spends a call on: its sub-sections by group level, on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mkdocs_sweepprof.figures.base import Drawing
from mkdocs_sweepprof.figures.canvas import MARGIN, Canvas
from mkdocs_sweepprof.figures.parts import Column, bar_table
from mkdocs_sweepprof.figures.per_call import ALL_RUNS
from mkdocs_sweepprof.figures.style import LONGEST_NAME, Style, seconds, span
from mkdocs_sweepprof.figures.text import middle
from mkdocs_sweepprof.figures.theme import BLUE, GREY

if TYPE_CHECKING:
    from mkdocs_sweepprof.analysis.results import Analysis, SectionStat

MAX_CHILDREN = 4
SMALLEST_SELF = 0.005
"""Remaining self time, as a part of the section's call, from which it gets a column."""


def draw(analysis: Analysis, style: Style) -> Drawing | None:
    profile = analysis.profile
    if profile is None or profile.dominant is None or not profile.dominant_children:
        return None
    by_path = {s.path: s for s in profile.sections}
    parent = by_path.get(profile.dominant)
    children = [by_path[path] for path in profile.dominant_children if path in by_path]
    children = [c for c in children if c.per_call is not None]
    if parent is None or parent.per_call is None or not children:
        return None
    children.sort(key=lambda c: -c.share)
    shown = children[:MAX_CHILDREN]
    levels, cut = style.shown_levels()
    names = style.last(c.path for c in shown)
    columns = [Column(names[c.path], _row(c, levels), BLUE) for c in shown]
    remaining = _self(parent, children, levels)
    if remaining is not None:
        columns.append(Column("self", remaining, GREY))
    canvas = Canvas()
    rows = [ALL_RUNS, *(style.name(level) for level in levels)]
    bottom = bar_table(canvas, 0.0, rows, columns, seconds, shared_scale=True, emphasised=0 if levels else None)
    by = f" by {style.short(analysis.group)}" if analysis.group is not None and levels else ""
    caption = f"Mean seconds per call of the sub-sections of {style.short(parent.path)}{by}, all on one scale"
    caption += "; self is what no sub-section covers." if remaining is not None else "."
    if len(children) > len(shown):
        rest = len(children) - len(shown)
        caption += f" {rest} smaller sub-section{'s are' if rest > 1 else ' is'} not drawn."
    return canvas.drawing("dominant-section", bottom + MARGIN, _finding(parent, shown, levels, style), caption + cut)


def _row(section: SectionStat, levels: list[str]) -> list[float | None]:
    return [section.per_call, *(section.by_group.get(level) for level in levels)]


def _self(parent: SectionStat, children: list[SectionStat], levels: list[str]) -> list[float | None] | None:
    """The call less its sub-sections. Only where they are called as often: else their calls do not add up to it."""
    if any(child.counts != parent.counts for child in children):
        return None
    rest: list[float | None] = []
    large = False
    for number, whole in enumerate(_row(parent, levels)):
        if whole is None:
            rest.append(None)
            continue
        value = max(0.0, whole - sum(_row(child, levels)[number] or 0.0 for child in children))
        large = large or value >= SMALLEST_SELF * whole > 0
        rest.append(value)
    return rest if large else None


def _finding(parent: SectionStat, children: list[SectionStat], levels: list[str], style: Style) -> str:
    first = children[0]
    names = style.last(child.path for child in children)
    name = middle(names[first.path], LONGEST_NAME)
    pairs = [(a, b) for a, b in zip(_row(first, levels), _row(parent, levels), strict=True) if a is not None and b]
    most = bool(pairs) and first.counts == parent.counts and all(a > b / 2 for a, b in pairs)
    known = {level: first.by_group[level] for level in levels if level in first.by_group}
    everywhere = " at every level" if len(known) > 1 else ""
    out = (
        f"{name} takes most of a call of {style.short(parent.path)}{everywhere}"
        if most
        else f"The largest sub-section is {name}"
    )
    out += f": {span(style, known, first.per_call or 0.0)}."
    if len(children) > 1:
        second = children[1]
        highest = max(v for v in _row(second, levels) if v is not None)
        out += f" Next is {middle(names[second.path], LONGEST_NAME)}, at most {seconds(highest)}."
    return out
