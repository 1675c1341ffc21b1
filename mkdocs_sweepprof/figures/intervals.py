"""How long the intervals between markers take, in the order in which they come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mkdocs_sweepprof.figures.base import Drawing
from mkdocs_sweepprof.figures.canvas import BODY, CAP_HEIGHT, MARGIN, SMALL, Canvas
from mkdocs_sweepprof.figures.parts import GAP, Rows
from mkdocs_sweepprof.figures.style import IN_HOURS_FROM, MAX_LEVELS, Style, seconds
from mkdocs_sweepprof.figures.text import width
from mkdocs_sweepprof.figures.theme import BLUE, MUTED, OCHRE, VERMILLION, Colour

if TYPE_CHECKING:
    from mkdocs_sweepprof.analysis.results import Analysis, Intervals

_KINDS = {"opening": " opening", "tail": " final tail", "": ""}
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    mean: float
    longest_in: int | None
    """None: not known."""
    colour: Colour
    kind: str
    """``opening``, ``tail`` or empty."""
    position: int | None = None
    """Set when intervals are compared by position."""

    @property
    def told(self) -> str:
        """The name within a sentence."""
        if self.position is None:
            return self.name
        return (
            f"the {ORDINALS[self.position - 1]} interval"
            if self.position <= len(ORDINALS)
            else (f"interval {self.position}")
        )


def draw(analysis: Analysis, style: Style) -> Drawing | None:
    intervals = analysis.intervals
    if intervals is None:
        return None
    rows = _rows(intervals, style) if intervals.stats else _stretches(intervals)
    # A single bar has nothing to be held against.
    if len(rows) < 2:
        return None
    shown = rows
    if len(rows) > MAX_LEVELS:
        ranked = sorted(range(len(rows)), key=lambda i: (rows[i].kind == "", -rows[i].mean))[:MAX_LEVELS]
        shown = [rows[i] for i in sorted(ranked)]
    text, name = _unit(max(row.mean for row in shown), analysis.runtime.median)
    canvas = Canvas()
    labels = Rows.of([row.name for row in shown], 164.0, 26.0)
    left = MARGIN + labels.width + GAP
    counts = [_count(row, intervals) for row in shown]
    side = max((width(count, SMALL) for count in counts), default=0.0)
    values = [text(row.mean) + _KINDS[row.kind] for row in shown]
    numbers = max(width(value, BODY) for value in values)
    room = canvas.width - MARGIN - left - numbers - GAP - (side + GAP * 1.5 if side else 0.0)
    highest = max(row.mean for row in shown) or 1.0
    y = 0.0
    if side:
        canvas.text(canvas.width - MARGIN, SMALL, "longest in", size=SMALL, colour=MUTED, anchor="right")
        y = SMALL * 1.5
    top = y
    for number, row in enumerate(shown):
        middle = y + labels.height / 2
        labels.draw(canvas, number, middle)
        long = row.mean / highest * room
        if row.mean > 0:
            canvas.bar(left, middle - 8, long, 16, row.colour)
        canvas.text(left + long + 6, middle + CAP_HEIGHT * BODY / 2, values[number])
        if counts[number]:
            canvas.text(
                canvas.width - MARGIN,
                middle + CAP_HEIGHT * SMALL / 2,
                counts[number],
                size=SMALL,
                colour=MUTED,
                anchor="right",
            )
        y += labels.height
    canvas.line((left, top + 1), (left, y - 1))
    if not intervals.stats:
        caption = f"Mean duration, {name}, of the stretches of a run; it has too many intervals to draw each."
        return canvas.drawing("intervals", y + MARGIN, _stretch_finding(rows, text), caption)
    caption = f"Mean duration of the intervals between markers, {name}, in time order"
    if intervals.by == "position":
        caption += " (by position: their labels differ between runs)"
    caption += "."
    if side:
        caption += " Right: in how many runs it is the longest."
    if len(rows) > len(shown):
        caption += f" The opening, the tail and the longest others of {len(rows)} are drawn."
    return canvas.drawing("intervals", y + MARGIN, _finding(rows, intervals, text), caption)


def _rows(intervals: Intervals, style: Style) -> list[_Row]:
    rows = []
    for stat in intervals.stats:
        opening, tail = stat.kind == "opening", stat.kind == "tail"
        name = f"{style.name(stat.start)} → {style.name(stat.end)}"
        if stat.position is not None:
            name = f"{stat.position}. interval"
        kind = "opening" if opening else "tail" if tail else ""
        colour = VERMILLION if opening else OCHRE if tail else BLUE
        rows.append(_Row(name, stat.mean, stat.longest_in, colour, kind, stat.position))
    if intervals.tail_mean is not None and not any(row.kind == "tail" for row in rows):
        rows.append(_Row("final tail", intervals.tail_mean, None, OCHRE, "tail"))
    return rows


def _stretches(intervals: Intervals) -> list[_Row]:
    """What can be told of a log that has too many intervals: its beginning, the time up to the last epoch end, its
    end. Nothing, when that would be a single bar."""
    known = (
        ("first interval", intervals.opening_mean, VERMILLION, "opening"),
        ("start → last epoch end", intervals.before_tail_mean, BLUE, ""),
        ("last epoch end → end", intervals.tail_mean, OCHRE, "tail"),
    )
    rows = [_Row(name, mean, None, colour, kind) for name, mean, colour, kind in known if mean is not None]
    return rows if len(rows) > 1 else []


def _stretch_finding(rows: list[_Row], text: Callable[[float], str]) -> str:
    return "Mean durations: " + ", ".join(f"{row.name} {text(row.mean)}" for row in rows) + "."


def _count(row: _Row, intervals: Intervals) -> str:
    return f"{row.longest_in}/{intervals.runs}" if row.longest_in else ""


def _unit(highest: float, median: float | None) -> tuple[Callable[[float], str], str]:
    if highest >= 60 and (median is None or median >= IN_HOURS_FROM):
        return (lambda value: f"{value / 60:.1f}m"), "minutes"
    return seconds, "seconds"


def _finding(rows: list[_Row], intervals: Intervals, text: Callable[[float], str]) -> str:
    most = max((row.longest_in or 0 for row in rows), default=0)
    winners = [row for row in rows if row.longest_in == most > 0]
    kind = "" if any(row.position for row in rows) else " interval"
    if len(winners) == 1:
        first = winners[0]
        out = f"{first.told} is the longest{kind} in {most}/{intervals.runs} runs"
        out += f", {text(first.mean)} on average"
    else:
        # A tie has no winner: the mean decides what is named.
        first = max(rows, key=lambda row: row.mean)
        out = f"{first.told} is the longest{kind} on average, {text(first.mean)}"
    others = [row.mean for row in rows if row.kind == "" and row is not first]
    if others:
        low, high = text(min(others)), text(max(others))
        out += f"; the others take {low}" + (f" to {high}" if low != high else "")
    tail = next((row for row in rows if row.kind == "tail"), None)
    if tail is not None and tail is not first:
        out += f"; the final tail takes {text(tail.mean)}"
    return out[:1].upper() + out[1:] + "." if not kind else out + "."
