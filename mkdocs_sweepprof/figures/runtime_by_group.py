"""Wall time by group level: a dot a run, a tick at each level's mean, lines at the overall mean and median."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mkdocs_sweepprof.figures.base import Drawing
from mkdocs_sweepprof.figures.canvas import CAP_HEIGHT, MARGIN, SMALL, Canvas
from mkdocs_sweepprof.figures.parts import GAP, Rows, axis
from mkdocs_sweepprof.figures.style import Style, plural
from mkdocs_sweepprof.figures.text import width
from mkdocs_sweepprof.figures.theme import BLUE, INK, MUTED, RULE, VERMILLION

if TYPE_CHECKING:
    from mkdocs_sweepprof.analysis.results import Analysis

DOT = 6.5
WHOLE_MARGIN = 24.0
"""Room for the last axis value where no column of means gives it."""
SMALL_DOT = 3.4
MANY = 40
"""Runs of one level from which dots are small."""
LANES = 5
LANES_DENSE = 7
"""Dots of one level above and below each other where they would overlap; further ones at the same place merge."""


def draw(analysis: Analysis, style: Style) -> Drawing | None:
    walls, means = _walls(analysis)
    runtime = analysis.runtime
    if runtime.count < 2 or runtime.mean is None or runtime.median is None or not walls:
        return None
    order = list(style.levels) if analysis.group is not None and style.levels else list(walls)
    levels, cut = style.shown_levels(order)
    whole = analysis.group is None or not style.levels
    canvas = Canvas()
    rows = Rows.of(["all runs" if whole else style.name(level) for level in levels], 158.0, 30.0)
    left = MARGIN + rows.width + GAP + 4
    texts = [style.unit.text(means[level]) for level in levels]
    numbers = 0.0 if whole else max(width(text, SMALL) for text in texts)
    right = canvas.width - MARGIN - (WHOLE_MARGIN if whole else numbers + GAP * 1.5)
    dense = max(len(walls[level]) for level in levels) > MANY
    highest = max((max(walls[level]) for level in levels if walls[level]), default=0.0)
    highest = max(highest, runtime.mean, runtime.median) or 1.0

    def place(seconds: float) -> float:
        return left + seconds / highest * (right - left)

    y = _reference_names(canvas, style, place, runtime.mean, runtime.median)
    top = y
    y += 4
    middles = [y + (number + 0.5) * rows.height for number in range(len(levels))]
    bottom = y + len(levels) * rows.height + 2
    canvas.line((place(runtime.median), top), (place(runtime.median), bottom), MUTED, 1.2, dash=True)
    canvas.line((place(runtime.mean), top), (place(runtime.mean), bottom), VERMILLION, 1.2)
    merged = 0
    for number, (level, middle) in enumerate(zip(levels, middles, strict=True)):
        rows.draw(canvas, number, middle)
        dots, lost = _spread([place(wall) for wall in walls[level]], middle, rows.height, dense)
        merged += lost
        if not whole:
            canvas.line((place(0.0), middle), (place(means[level]), middle), RULE, 0.8)
        canvas.marks(dots, BLUE, SMALL_DOT if dense else DOT, "disc" if dense else "ring")
        if whole:
            continue
        canvas.line((place(means[level]), middle - 9), (place(means[level]), middle + 9), INK, 2.4)
        canvas.text(canvas.width - MARGIN, middle + CAP_HEIGHT * SMALL / 2, texts[number], size=SMALL, anchor="right")
    if not whole:
        canvas.text(canvas.width - MARGIN, top - 3, "mean", size=SMALL, colour=MUTED, anchor="right")
    end = axis(canvas, bottom, highest / style.unit.seconds, lambda v: place(v * style.unit.seconds), style.unit.sign)
    count = plural(runtime.count, "run")
    if whole:
        alt = f"Over {count}"
        caption = f"Wall time of {count}, a dot each"
    else:
        field = style.short(analysis.group or "")
        slow, fast = max(order, key=means.__getitem__), min(order, key=means.__getitem__)
        spread = (
            f"Mean wall time by {field} runs from {style.unit.text(means[fast])} ({style.short(fast)}) "
            f"to {style.unit.text(means[slow])} ({style.short(slow)}); "
            if slow != fast
            else f"{field} has one level, {style.short(slow)}; "
        )
        alt = f"{spread}over {count}"
        caption = f"Wall time by {field}, a dot for each run, an upright tick at the level’s mean"
    alt += f" the mean is {style.unit.text(runtime.mean)} and the median {style.unit.text(runtime.median)}."
    caption += "; lines at the overall mean and (dashed) median." + cut
    if merged:
        caption += " Dots that would cover each other are merged."
    return canvas.drawing("runtime-by-group", end + MARGIN, alt, caption)


def _walls(analysis: Analysis) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Level → its runs' walls, and its mean; one nameless level without a group."""
    stats = analysis.by.get(analysis.group, []) if analysis.group is not None else []
    if stats:
        return {s.level: s.walls for s in stats}, {s.level: s.mean for s in stats}
    walls = sorted(r.wall_seconds for r in analysis.rows if r.left_out is None and r.wall_seconds is not None)
    return {"": walls}, {"": analysis.runtime.mean or 0.0}


def _reference_names(
    canvas: Canvas, style: Style, place: Callable[[float], float], mean: float, median: float
) -> float:
    """Names of the two lines, turned away from each other. Returns where the lines begin."""
    texts = {mean: (f"mean {style.unit.text(mean)}", VERMILLION), median: (f"median {style.unit.text(median)}", MUTED)}
    if style.unit.text(mean) == style.unit.text(median):
        texts = {mean: (f"mean and median {style.unit.text(mean)}", VERMILLION)}
    limit = canvas.width - MARGIN - width("mean", SMALL) - GAP
    lines = 1
    for value, (text, colour) in texts.items():
        long = width(text, SMALL)
        lower = len(texts) > 1 and value == min(texts)
        if lower and place(value) - 3 - long >= MARGIN:
            canvas.text(place(value) - 3, SMALL, text, size=SMALL, colour=colour, anchor="right")
        elif place(value) + 3 + long <= limit and not lower:
            canvas.text(place(value) + 3, SMALL, text, size=SMALL, colour=colour)
        else:
            # No room beside the other name: a line of its own.
            lines = len(texts)
            x = min(max(place(value) - long / 2, MARGIN), limit - long)
            canvas.text(x, SMALL if lines == 1 else SMALL * 2.25, text, size=SMALL, colour=colour)
    return SMALL * (1.3 if lines == 1 else 2.55)


def _spread(xs: list[float], middle: float, height: float, dense: bool) -> tuple[list[tuple[float, float]], int]:
    """Dots at their place, moved up or down while they would overlap. Also how many were merged into others."""
    dot, count = (SMALL_DOT, LANES_DENSE) if dense else (DOT, LANES)
    step = min(dot * 0.95, (height - dot) / (count - 1))
    lanes = [step * ((number + 1) // 2) * (1 if number % 2 == 0 else -1) for number in range(count)]
    last = [-1e9] * count
    dots = []
    lost = 0
    for x in sorted(xs):
        free = next((number for number, end in enumerate(last) if x - end >= dot * 0.8), None)
        if free is None:
            # All lanes are taken. Runs that nearly share a place are one dot; others may overlap a little.
            free = min(range(count), key=last.__getitem__)
            if x - last[free] < dot * 0.4:
                lost += 1
                continue
        last[free] = x
        dots.append((x, middle + lanes[free]))
    return dots, lost
