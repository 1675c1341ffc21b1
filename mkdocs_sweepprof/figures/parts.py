"""What several figures are put together from: the column of row names, the axis, the table of bars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor, log10

from mkdocs_sweepprof.figures.canvas import BODY, CAP_HEIGHT, MARGIN, SMALL, Canvas
from mkdocs_sweepprof.figures.text import fit, width
from mkdocs_sweepprof.figures.theme import INK, MUTED, Colour

GAP = 8.0


@dataclass(frozen=True, slots=True)
class Rows:
    """Row names, wrapped, with the room that they need."""

    names: list[tuple[str, ...]]
    width: float
    height: float
    """Of one row."""

    @classmethod
    def of(cls, names: Sequence[str], limit: float, least: float = 24.0) -> Rows:
        """Names in at most ``limit`` points, on two lines where one does not do; rows at least ``least`` high."""
        wrapped = [fit(name, limit, BODY, 2) for name in names]
        return cls(
            names=wrapped,
            width=max((width(line, BODY) for lines in wrapped for line in lines), default=0.0),
            height=max(least, 34.0) if any(len(lines) > 1 for lines in wrapped) else least,
        )

    def draw(self, canvas: Canvas, number: int, middle: float, colour: Colour = INK) -> None:
        """The name of a row, right-aligned in its column."""
        canvas.lines(MARGIN + self.width, middle, self.names[number], colour=colour, anchor="right")


def ticks(highest: float, count: int = 4) -> list[float]:
    """Round values from 0 to at most ``highest``, about ``count`` steps."""
    if not highest > 0:
        return [0.0]
    raw = highest / count
    power = 10.0 ** floor(log10(raw))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw * 0.9999)
    return [number * step for number in range(int(highest / step * 1.0001) + 1)]


def axis(canvas: Canvas, y: float, highest: float, place: Callable[[float], float], unit: str, count: int = 4) -> float:
    """A base line at ``y`` with round values (in units) below it. Returns where it ends, downwards."""
    values = ticks(highest, count)
    canvas.line((place(0.0), y), (place(highest), y))
    for value in values:
        canvas.line((place(value), y), (place(value), y + 4))
        canvas.text(
            place(value), y + 6 + CAP_HEIGHT * SMALL, f"{value:g}{unit}", size=SMALL, colour=MUTED, anchor="center"
        )
    return y + 6 + CAP_HEIGHT * SMALL + 4


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table of bars."""

    title: str
    values: list[float | None]
    """One a row; None is drawn as a dash."""
    colour: Colour


def bar_table(
    canvas: Canvas,
    top: float,
    names: Sequence[str],
    columns: Sequence[Column],
    text: Callable[[float], str],
    *,
    shared_scale: bool,
    emphasised: int | None = None,
) -> float:
    """Rows × columns, in each cell the value above a bar. Returns the lower end.

    Values of different columns may lie orders of magnitude apart: each column has a scale of its own, unless
    ``shared_scale`` asks for bars that can be compared across columns. ``emphasised`` is a row that is set off.
    """
    rows = Rows.of(names, min(canvas.width * 0.34, 150.0), least=32.0)
    left = MARGIN + rows.width + GAP * 1.75
    # With few columns, bars need not run across the whole drawing.
    step = min((canvas.width - MARGIN - left) / len(columns), 190.0)
    room = step - GAP * 1.25
    heads = [fit(column.title, room, SMALL, 3) for column in columns]
    line = SMALL * 1.16
    head = max(len(lines) for lines in heads) * line
    for number, lines in enumerate(heads):
        for index, part in enumerate(lines):
            y = top + head - (len(lines) - 1 - index) * line - 0.25 * SMALL
            canvas.text(left + number * step, y, part, size=SMALL, colour=MUTED)
    y = top + head + 5
    canvas.line((left, y), (left + len(columns) * step - GAP * 1.25, y))
    y += 4
    everything = [value for column in columns for value in column.values if value is not None]
    for row in range(len(names)):
        middle = y + rows.height / 2
        rows.draw(canvas, row, middle, MUTED if row == emphasised else INK)
        for number, column in enumerate(columns):
            x = left + number * step
            value = column.values[row]
            if value is None:
                canvas.text(x, middle + 2, "–", colour=MUTED)
                continue
            own = [v for v in column.values if v is not None]
            highest = max(everything if shared_scale else own)
            canvas.text(x, middle + 1.5, text(value), size=SMALL)
            length = max(0.0, value) / highest * room if highest > 0 else 0.0
            if value > 0:
                canvas.bar(x, middle + 5.5, length, 6.0, column.colour)
        y += rows.height
        if row == emphasised:
            canvas.line((MARGIN, y + 3), (left + len(columns) * step - GAP * 1.25, y + 3), width=0.6)
            y += 6
    return y
