"""Seconds per call of the sections that are called again and again, by group level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mkdocs_sweepprof.figures.base import Drawing
from mkdocs_sweepprof.figures.canvas import MARGIN, Canvas
from mkdocs_sweepprof.figures.parts import Column, bar_table
from mkdocs_sweepprof.figures.style import Style, colour_of, seconds, span
from mkdocs_sweepprof.figures.text import LONGEST

if TYPE_CHECKING:
    from mkdocs_sweepprof.analysis.results import Analysis, SectionStat

MAX_SECTIONS = 5
ALL_RUNS = "all runs"


def draw(analysis: Analysis, style: Style) -> Drawing | None:
    profile = analysis.profile
    if profile is None:
        return None
    outermost = set(profile.outermost)
    repeated = [s for s in profile.sections if s.path in outermost and _repeated(s) and s.per_call is not None]
    if not repeated:
        return None
    repeated.sort(key=lambda s: -s.share)
    sections = repeated[:MAX_SECTIONS]
    levels, cut = style.shown_levels()
    names = style.last(s.path for s in sections)
    columns = [
        Column(
            names[s.path],
            [s.per_call, *(s.by_group.get(level) for level in levels)],
            colour_of(style, s.path),
        )
        for s in sections
    ]
    canvas = Canvas()
    rows = [ALL_RUNS, *(style.name(level) for level in levels)]
    bottom = bar_table(canvas, 0.0, rows, columns, seconds, shared_scale=not levels, emphasised=0 if levels else None)
    by = f" by {style.short(analysis.group)}" if analysis.group is not None and levels else ""
    caption = f"Mean seconds per call{by} of the outermost sections that most runs call more than once"
    caption += "; each column has its own scale." if len(sections) > 1 and levels else "."
    if len(repeated) > len(sections):
        rest = len(repeated) - len(sections)
        caption += f" {rest} smaller section{'s are' if rest > 1 else ' is'} not drawn."
    return canvas.drawing("per-call", bottom + MARGIN, _finding(sections, levels, style), caption + cut)


def _repeated(section: SectionStat) -> bool:
    """More than one call in most runs, as far as the distinct counts tell."""
    counts = section.counts
    return bool(counts) and counts[(len(counts) - 1) // 2] > 1


def _finding(sections: list[SectionStat], levels: list[str], style: Style) -> str:
    out = "Mean time per call"
    joint = ": "
    for section in sections:
        known = {level: section.by_group[level] for level in levels if level in section.by_group}
        part = f"{style.short(section.path)} {span(style, known, section.per_call or 0.0)}"
        if len(out) + len(joint) + len(part) >= LONGEST:
            break
        out += joint + part
        joint = "; "
    return out + "."
