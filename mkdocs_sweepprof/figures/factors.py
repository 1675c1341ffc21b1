"""Left: how much of the variance of wall time each factor explains. Right: mean wall by group × factor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mkdocs_sweepprof.figures.base import Drawing
from mkdocs_sweepprof.figures.canvas import BODY, CAP_HEIGHT, MARGIN, SMALL, TITLE, Canvas
from mkdocs_sweepprof.figures.parts import Rows
from mkdocs_sweepprof.figures.style import MAX_LEVELS, Style, more
from mkdocs_sweepprof.figures.text import fit, width
from mkdocs_sweepprof.figures.theme import BLUE, GREY, HEAT, INK, MUTED, ON_HEAT, VERMILLION

if TYPE_CHECKING:
    from mkdocs_sweepprof.analysis.results import Analysis, Cells, Effect

MAX_EFFECTS = 10
MAX_COLUMNS = 16
BESIDE = 7
"""Columns up to which the panels stand side by side; a wider heatmap goes below."""
WIDE = 540.0
EFFECTS_WIDTH = 178.0
PANEL_GAP = 20.0
INDENT = 12.0
HEAD = TITLE + SMALL * 1.4 + 12
GAP = 7.0


def draw(analysis: Analysis, style: Style) -> Drawing | None:
    effects = _nested([e for e in analysis.effects if e.eta_squared is not None])
    cells = analysis.cells
    if cells is not None and not any(value is not None for row in cells.mean for value in row):
        cells = None
    if not effects and cells is None:
        return None
    shown = effects[:MAX_EFFECTS]
    caption = ""
    beside = bool(shown) and cells is not None and len(cells.columns) <= BESIDE
    canvas = Canvas(WIDE if cells is not None else WIDE * 0.75)
    bottom = 0.0
    where = ("Left: ", "Right: ") if beside else ("Above: ", "Below: ") if shown and cells is not None else ("", "")
    if shown:
        bottom = _effects(canvas, shown, style, EFFECTS_WIDTH if beside else canvas.width - 2 * MARGIN)
        caption += f"{where[0]}share of the variance of wall time that each field alone explains (bar η², diamond ω²)."
        if any(depth for _, depth in shown):
            caption += " Indented: determined by the field above."
        caption += more(len(effects) - MAX_EFFECTS, "field")
    if cells is not None:
        left, top = (MARGIN + EFFECTS_WIDTH + PANEL_GAP, 0.0) if beside else (MARGIN, bottom + (22.0 if shown else 0.0))
        heat = _Heat.of(cells, style)
        bottom = max(bottom, _heatmap(canvas, heat, style, left, top))
        caption += (
            f" {where[1]}mean wall time by {style.short(cells.rows_field)} and {style.short(cells.columns_field)}"
        )
        caption += ", hatched where there is no run." if heat.empty else "."
        caption += more(len(cells.rows) - len(heat.rows)) + more(len(cells.columns) - len(heat.columns), "column")
    caption = caption.strip()
    caption = caption[:1].upper() + caption[1:]
    return canvas.drawing("factors", bottom + MARGIN, _finding(effects, cells, style), caption)


def _finding(effects: list[tuple[Effect, int]], cells: Cells | None, style: Style) -> str:
    parts = []
    free = [e for e, depth in effects if depth == 0 and e.eta_squared is not None]
    if free:
        first = free[0]
        parts.append(
            f"{style.short(first.field)} explains {_part(first)} of the variance of wall time"
            f" (η² {first.eta_squared:.2f})"
            + (f", {style.short(free[1].field)} {_part(free[1])}" if len(free) > 1 else "")
            + "."
        )
    if cells is not None and cells.slowest:
        row, column, mean = cells.slowest[0]
        parts.append(
            f"The slowest cell is {style.short(row)} with {style.short(column)}: {style.unit.text(mean)} on average."
        )
    return " ".join(parts)


def _part(effect: Effect) -> str:
    return f"{effect.eta_squared or 0.0:.2%}"


def _nested(effects: list[Effect]) -> list[tuple[Effect, int]]:
    """Strongest first, each followed by the fields that it determines, with their depth."""
    names = {e.field for e in effects}
    out: list[tuple[Effect, int]] = []
    placed: set[str] = set()

    def place(effect: Effect, depth: int) -> None:
        if effect.field in placed:
            return
        placed.add(effect.field)
        out.append((effect, depth))
        for other in effects:
            if other.determined_by == effect.field:
                place(other, depth + 1)

    for effect in effects:
        if effect.determined_by not in names:
            place(effect, 0)
    # Two fields that determine each other would be nobody's child: shown all the same.
    for effect in effects:
        place(effect, 0)
    return out


def _effects(canvas: Canvas, effects: list[tuple[Effect, int]], style: Style, room: float) -> float:
    canvas.text(MARGIN, TITLE, "Variance explained", size=TITLE, bold=True)
    _key(canvas, TITLE + SMALL * 1.4)
    values = [e.eta_squared or 0.0 for e, _ in effects]
    omegas = [e.omega_squared for e, _ in effects if e.omega_squared is not None]
    lowest = min(0.0, *omegas) if omegas else 0.0
    highest = max(0.05, *values, *omegas)
    number = width("0.00", BODY) + 8

    def place(value: float) -> float:
        return MARGIN + (value - lowest) / (highest - lowest) * (room - number - 4) + 4

    y = HEAD
    marks: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    for (effect, depth), eta in zip(effects, values, strict=True):
        indent = INDENT * min(depth, 3)
        colour = GREY if depth else BLUE
        names = fit(style.name(effect.field), room - indent, BODY, 2)
        for part in names:
            y += BODY * 1.16
            canvas.text(MARGIN + indent, y - 2, part, colour=MUTED if depth else INK)
        y += 4
        if eta > 0:
            canvas.bar(place(0.0), y, place(eta) - place(0.0), 10.0, colour)
        canvas.line((place(0.0), y - 2), (place(0.0), y + 12))
        end = place(eta)
        if effect.omega_squared is not None:
            marks[depth > 0].append((place(effect.omega_squared), y + 5.0))
            end = max(end, place(effect.omega_squared) + 4)
        canvas.text(end + 6, y + 5 + CAP_HEIGHT * BODY / 2, f"{eta:.2f}", colour=MUTED if depth else INK)
        y += 10 + 9
    for points in marks.values():
        if points:
            canvas.marks(points, VERMILLION, 6.0, "diamond")
    return y


def _key(canvas: Canvas, y: float) -> None:
    canvas.bar(MARGIN, y - 9, 14, 9, BLUE)
    canvas.text(MARGIN + 19, y, "η²", size=SMALL, colour=MUTED)
    x = MARGIN + 19 + width("η²", SMALL) + 16
    canvas.marks([(x, y - 4.5)], VERMILLION, 6.0, "diamond")
    canvas.text(x + 8, y, "ω²", size=SMALL, colour=MUTED)


@dataclass(frozen=True, slots=True)
class _Heat:
    """The cells that are drawn."""

    cells: Cells
    rows: list[str]
    columns: list[str]

    @classmethod
    def of(cls, cells: Cells, style: Style) -> _Heat:
        """Rows in the order of the other figures; columns as they are."""
        known = [level for level in style.levels if level in cells.rows]
        rows = [*known, *(row for row in cells.rows if row not in known)]
        return cls(cells, rows[:MAX_LEVELS], cells.columns[:MAX_COLUMNS])

    def value(self, row: str, column: str) -> float | None:
        return self.cells.mean[self.cells.rows.index(row)][self.cells.columns.index(column)]

    @property
    def values(self) -> list[float]:
        values = (self.value(row, column) for row in self.rows for column in self.columns)
        return [value for value in values if value is not None]

    @property
    def empty(self) -> bool:
        return len(self.values) < len(self.rows) * len(self.columns)


def _heatmap(canvas: Canvas, heat: _Heat, style: Style, left: float, top: float) -> float:
    canvas.text(left, top + TITLE, f"Mean wall time, {style.unit.name}", size=TITLE, bold=True)
    under = f"{style.name(heat.cells.rows_field)} × {style.name(heat.cells.columns_field)}"
    canvas.text(
        left, top + TITLE + SMALL * 1.4, fit(under, canvas.width - MARGIN - left, SMALL)[0], size=SMALL, colour=MUTED
    )
    beside = left > MARGIN
    rows = Rows.of([style.name(row) for row in heat.rows], 104.0 if beside else 150.0, 30.0)
    rows_left = left + rows.width + GAP
    cell = min(64.0, (canvas.width - MARGIN - rows_left) / len(heat.columns))
    height = min(max(rows.height, cell * 0.8), 40.0)
    y = top + HEAD
    step = _steps(heat.values)
    write, size = _writer(heat, style, cell)
    for number, row in enumerate(heat.rows):
        canvas.lines(left + rows.width, y + height / 2, rows.names[number], anchor="right")
        for index, column in enumerate(heat.columns):
            x = rows_left + index * cell
            value = heat.value(row, column)
            if value is None:
                canvas.hatched(x + 0.75, y + 0.75, cell - 1.5, height - 1.5)
                continue
            canvas.bar(x + 0.75, y + 0.75, cell - 1.5, height - 1.5, HEAT[step(value)])
            if write is not None:
                canvas.lines(
                    x + cell / 2,
                    y + height / 2,
                    (write(value),),
                    size=size,
                    colour=ON_HEAT[step(value)],
                    anchor="center",
                )
        y += height
    return y + _column_names(canvas, [style.name(c) for c in heat.columns], rows_left, cell, y + 6) + 6


def _column_names(canvas: Canvas, names: list[str], left: float, cell: float, top: float) -> float:
    """Names below their columns: across where all fit, else read upwards. Returns the height."""
    if all(width(name, SMALL) <= cell - 4 for name in names):
        for index, name in enumerate(names):
            canvas.text(left + (index + 0.5) * cell, top + CAP_HEIGHT * SMALL, name, size=SMALL, anchor="center")
        return SMALL
    lines = 2 if cell >= 2.6 * SMALL else 1
    longest = 0.0
    for index, name in enumerate(names):
        parts = fit(name, 132.0, SMALL, lines)
        for number, part in enumerate(parts):
            offset = (number - (len(parts) - 1) / 2) * SMALL * 1.3
            x = left + (index + 0.5) * cell + offset + CAP_HEIGHT * SMALL / 2
            canvas.text(x, top, part, size=SMALL, anchor="right", up=True)
            longest = max(longest, width(part, SMALL))
    return longest


def _steps(values: list[float]) -> Callable[[float], int]:
    low, high = min(values), max(values)

    def step(value: float) -> int:
        if high <= low:
            return 1
        return min(len(HEAT) - 1, int((value - low) / (high - low) * len(HEAT)))

    return step


def _writer(heat: _Heat, style: Style, cell: float) -> tuple[Callable[[float], str] | None, float]:
    """How cell values are printed: as many places as the narrowest cell has room for, and the size."""
    for places in (2, 1, 0):
        for size in (BODY, SMALL):
            if all(width(_number(v, style, places), size) <= cell - 5 for v in heat.values):
                return (lambda value, p=places: _number(value, style, p)), size
    return None, SMALL


def _number(value: float, style: Style, places: int) -> str:
    return f"{value / style.unit.seconds:.{places}f}"
