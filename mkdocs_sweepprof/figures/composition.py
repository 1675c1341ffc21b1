"""Where wall time goes: a bar over all runs and one a group level, cut by outermost section."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mkdocs_sweepprof.figures.base import Drawing
from mkdocs_sweepprof.figures.canvas import BODY, CAP_HEIGHT, MARGIN, SMALL, Canvas
from mkdocs_sweepprof.figures.parts import GAP, Rows
from mkdocs_sweepprof.figures.style import Style, by_size, percent
from mkdocs_sweepprof.figures.text import fit, width
from mkdocs_sweepprof.figures.theme import CATEGORIES, GREY, INK, MUTED, ON_FILL, Colour

if TYPE_CHECKING:
    from mkdocs_sweepprof.analysis.results import Analysis, Profile

UNATTRIBUTED = "not profiled"
OTHER = "other sections"
ALL_RUNS = "all runs"
ABOVE_WALL = 1.005
"""Sum of shares from which the recorded sections exceed the wall visibly."""
LEAST_PRINTED = 0.00005
"""A share that would print as 0.00%."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One colour of the bars. ``colour`` None: hatched."""

    name: str
    colour: Colour | None
    shares: list[float]
    """Over all runs, then by level."""


def draw(analysis: Analysis, style: Style) -> Drawing | None:
    profile = analysis.profile
    if profile is None or not profile.outermost:
        return None
    levels, cut = style.shown_levels()
    parts, gathered = _parts(profile, levels, style)
    if not any(part.shares[0] > 0 for part in parts):
        return None
    canvas = Canvas()
    rows = Rows.of([ALL_RUNS, *(style.name(level) for level in levels)], 158.0, 27.0)
    left = MARGIN + rows.width + GAP
    room = canvas.width - MARGIN - left
    whole = max(1.0, *(sum(part.shares[number] for part in parts) for number in range(len(levels) + 1)))
    # The bar over all runs comes first, and right below it what its colours mean.
    y = 0.0
    for number in range(len(levels) + 1):
        height = rows.height if number else 38.0
        rows.draw(canvas, number, y + height / 2)
        _bar(canvas, left, y + 3, room / whole, height - 6, [(p.colour, p.shares[number]) for p in parts])
        y += height
        if whole > ABOVE_WALL:
            # The mark at 100 % stays between the bars, off the numbers in them.
            x = left + room / whole
            for start in (y - height, y - 3):
                canvas.line((x, start), (x, start + 3), INK, 1.4)
        if number == 0:
            y = _key(canvas, parts, y + 6) + (10.0 if levels else 0.0)
    if whole > ABOVE_WALL:
        x = left + room / whole
        canvas.text(
            x,
            y + 5 + CAP_HEIGHT * SMALL,
            "100% of wall",
            size=SMALL,
            colour=MUTED,
            anchor="right" if x > left + room / 2 else "left",
        )
        y += 5 + SMALL
    by = (
        f", over all runs and at each level of {style.short(analysis.group)}"
        if analysis.group is not None and levels
        else ""
    )
    what = "outermost section"
    if profile.spanning is not None:
        what = f"section inside {style.short(profile.spanning)}, which spans the runs"
    caption = f"Mean share of wall time by {what}{by}. Hatched: time that no section covers."
    if gathered:
        caption += f" Other: {gathered} smaller section{'s' if gathered != 1 else ''}."
    if whole > ABOVE_WALL:
        caption += " Where a bar is longer than 100%, the recorded sections exceed the wall."
    return canvas.drawing("composition", y + MARGIN, _finding(profile, style), caption + cut)


def _parts(profile: Profile, levels: list[str], style: Style) -> tuple[list[_Part], int]:
    """Large sections by falling share, the others, what is not profiled; and how many the others are."""
    stats = {s.path: s for s in profile.sections}
    span = stats.get(profile.spanning or "")
    colours: Mapping[str, Colour] = style.colours
    names: dict[str, str] = {}
    paths = list(profile.outermost)
    if span is not None:
        # One bar of a single colour says nothing: the parts of the section that spans the runs take its place.
        paths = [*(path for path in paths if path != span.path), *profile.dominant_children]
        colours = by_size(profile, paths, len(CATEGORIES) - 1)
        names = style.last(paths)
    shown = [stats[path] for path in paths if path in stats]
    large = [stats[path] for path in colours if path in stats]
    small = [s for s in shown if s.path not in colours]
    if len(small) == 1:
        # One section needs no collective name.
        large, small = [*large, *small], []
    parts = [
        _Part(
            names.get(s.path, style.name(s.path)),
            colours.get(s.path, GREY),
            [s.share, *(s.by_group_share.get(v, 0.0) for v in levels)],
        )
        for s in large
    ]
    if small:
        shares = [sum(s.share for s in small), *(sum(s.by_group_share.get(v, 0.0) for s in small) for v in levels)]
        parts.append(_Part(OTHER, GREY, shares))
    if span is not None:
        inside = [stats[path] for path in profile.dominant_children]
        own = [
            span.self_share,
            *(span.by_group_share.get(v, 0.0) - sum(s.by_group_share.get(v, 0.0) for s in inside) for v in levels),
        ]
        if own[0] >= LEAST_PRINTED:
            parts.append(
                _Part(f"rest of {style.name(span.path)}", CATEGORIES[len(colours)], [max(0.0, x) for x in own])
            )
    rest = [profile.unattributed, *(profile.unattributed_by_group.get(v, 0.0) for v in levels)]
    if any(share > 0 for share in rest):
        parts.append(_Part(UNATTRIBUTED, None, [max(0.0, share) for share in rest]))
    return parts, len(small)


def _key(canvas: Canvas, parts: list[_Part], top: float) -> float:
    """Colours, shares over all runs and names; in two columns where names have the room. Returns the lower end."""
    number = width("00.00%", BODY)
    indent = 20 + number + 8
    half = (canvas.width - 2 * MARGIN - GAP * 2) / 2
    two = all(width(part.name, BODY) <= half - indent for part in parts)
    step, depth = (half + GAP * 2, (len(parts) + 1) // 2) if two else (canvas.width, len(parts))
    line = BODY * 1.5
    for index, part in enumerate(parts):
        x = MARGIN + (index // depth) * step
        y = top + (index % depth) * line
        if part.colour is None:
            canvas.hatched(x, y, 14, 12)
        else:
            canvas.bar(x, y, 14, 12, part.colour)
        base = y + 6 + CAP_HEIGHT * BODY / 2
        canvas.text(x + 20 + number, base, percent(part.shares[0]), anchor="right")
        room = (half if two else canvas.width - MARGIN - x) - indent
        canvas.text(x + indent, base, fit(part.name, room, BODY)[0])
    return top + depth * line


def _bar(
    canvas: Canvas, left: float, top: float, scale: float, height: float, parts: list[tuple[Colour | None, float]]
) -> None:
    x = left
    for colour, share in parts:
        long = share * scale
        if share <= 0:
            continue
        # A gap on the right keeps neighbours apart without relying on hue.
        ink = max(long - 1.0, min(long, 0.6))
        text = percent(share, 0)
        fits = width(text, SMALL) + (6 if colour is not None else 20) <= ink
        if colour is None:
            canvas.hatched(x, top, ink, height, gap=width(text, SMALL) + 8 if fits else 0.0)
            if fits:
                canvas.lines(x + ink / 2, top + height / 2, (text,), size=SMALL, anchor="center")
        else:
            canvas.bar(x, top, ink, height, colour)
            if fits:
                canvas.lines(
                    x + ink / 2, top + height / 2, (text,), size=SMALL, colour=ON_FILL[colour], anchor="center"
                )
        x += long


def _finding(profile: Profile, style: Style) -> str:
    stats = {s.path: s for s in profile.sections}
    span = profile.spanning
    among = profile.outermost if span is None else profile.dominant_children
    shares = sorted(((stats[p].share, p) for p in among if p in stats), key=lambda pair: -pair[0])
    share, path = shares[0]
    unknown = profile.unattributed
    first = f"{style.short(path)} is the largest recorded section with {percent(share)} of wall time"
    if span is not None:
        first = f"{style.short(span)} spans the runs; inside it, {style.short(path)} is largest with {percent(share)}"
    second = f"next is {style.short(shares[1][1])} with {percent(shares[1][0])}" if len(shares) > 1 else ""
    if unknown > share:
        parts = [f"{percent(unknown)} of wall time was not profiled", first, second]
    else:
        parts = [first, second, f"{percent(unknown)} was not profiled" if unknown >= LEAST_PRINTED else ""]
    if 1 - unknown > ABOVE_WALL:
        parts.append(f"all recorded sections add up to {percent(1 - unknown)} of it")
    return "; ".join(part for part in parts if part) + "."
