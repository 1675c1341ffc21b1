"""Mean runtime across collections, for the overview."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from mkdocs_sweepprof.figures.base import Drawing
from mkdocs_sweepprof.figures.canvas import BODY, CAP_HEIGHT, MARGIN, SMALL, Canvas
from mkdocs_sweepprof.figures.parts import GAP, Rows
from mkdocs_sweepprof.figures.style import MAX_LEVELS, more, plural
from mkdocs_sweepprof.figures.text import clean, middle, width
from mkdocs_sweepprof.figures.theme import BLUE, MUTED

SHORT = 40


def draw(points: Sequence[tuple[str, float, int, str]]) -> Drawing | None:
    """(title, mean seconds, runs, the mean as printed) in the order to show. None for fewer than two."""
    points = [(clean(title), mean, count, clean(text)) for title, mean, count, text in points if isfinite(mean)]
    if len(points) < 2:
        return None
    shown = points[:MAX_LEVELS]
    canvas = Canvas()
    rows = Rows.of([title for title, _, _, _ in shown], 190.0, 28.0)
    left = MARGIN + rows.width + GAP
    counts = [plural(count, "run") for _, _, count, _ in shown]
    side = max(width(text, SMALL) for text in counts)
    numbers = max(width(text, BODY) for _, _, _, text in shown)
    room = canvas.width - MARGIN - left - numbers - side - GAP * 3
    highest = max(mean for _, mean, _, _ in shown) or 1.0
    y = 0.0
    for number, (_, mean, _, text) in enumerate(shown):
        at = y + rows.height / 2
        rows.draw(canvas, number, at)
        long = mean / highest * room
        if mean > 0:
            canvas.bar(left, at - 8, long, 16, BLUE)
        canvas.text(left + long + 6, at + CAP_HEIGHT * BODY / 2, text)
        canvas.text(
            canvas.width - MARGIN, at + CAP_HEIGHT * SMALL / 2, counts[number], size=SMALL, colour=MUTED, anchor="right"
        )
        y += rows.height
    canvas.line((left, 1), (left, y - 1))
    slow, fast = max(points, key=lambda p: p[1]), min(points, key=lambda p: p[1])
    alt = (
        f"Mean runtime is highest in {middle(slow[0], SHORT)}, {slow[3]} over {plural(slow[2], 'run')}, "
        f"and lowest in {middle(fast[0], SHORT)}, {fast[3]} over {plural(fast[2], 'run')}."
    )
    caption = f"Mean runtime of {len(points)} collections." + more(len(points) - len(shown), "collection")
    return canvas.drawing("trend", y + MARGIN, alt, caption)
