"""Progress markers from logged metrics, the same way for every tracker that keeps a time with each metric.

A metric that is logged hundreds of times is no list of hundreds of markers: where an epoch counter is logged, the
last record of each epoch is its end; else a few steps, evenly spread, mark the progress.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from mkdocs_sweepprof.readers.base import Event

MAX_EPOCH_MARKERS = 2_000
"""Epoch ends of one run; a run with more of them gets step markers."""
MAX_STEP_MARKERS = 50
"""Steps that mark the progress of a run without epochs."""


class Point(NamedTuple):
    """One logged record: epoch seconds, and the counters as far as they were logged with it."""

    time: float
    step: int | None = None
    epoch: float | None = None


def markers(points: Sequence[Point], *, ended: bool) -> list[Event]:
    """Epoch ends, else up to :data:`MAX_STEP_MARKERS` steps, in time order.

    ``ended`` says that the run ended by itself: the last epoch of another may have been under way.
    """
    ordered = sorted(points, key=lambda p: p.time)
    events = _epoch_ends([p for p in ordered if p.epoch is not None], ended)
    return events if events is not None else _steps([p for p in ordered if p.step is not None])


def _epoch_ends(points: Sequence[Point], ended: bool) -> list[Event] | None:
    blocks: list[tuple[int, Point, int]] = []  # (epoch, its last point, number of points)
    for point in points:
        epoch = point.epoch
        if epoch is None or not math.isfinite(epoch):
            continue
        if epoch != int(epoch):
            return None  # epochs as a fraction (0.53) tell progress, not ends
        if blocks and blocks[-1][0] == int(epoch):
            blocks[-1] = (int(epoch), point, blocks[-1][2] + 1)
        else:
            blocks.append((int(epoch), point, 1))
    if not blocks or len(blocks) > MAX_EPOCH_MARKERS:
        return None
    # A counter logged once an epoch is logged when the epoch is over.
    once = all(count == 1 for _, _, count in blocks)
    events = []
    for index, (epoch, point, _) in enumerate(blocks):
        last = index == len(blocks) - 1
        over = ended if last else blocks[index + 1][0] > epoch
        if once or over:
            events.append(Event(point.time, "epoch_end", step=point.step, epoch=epoch))
    return events


def _steps(points: Sequence[Point]) -> list[Event]:
    grouped: list[Point] = []
    for point in points:
        if grouped and grouped[-1].step == point.step:
            grouped[-1] = point
        else:
            grouped.append(point)
    if not grouped:
        return []
    steps = [p.step for p in grouped if p.step is not None]
    stride = _stride(max(steps) - min(steps)) if len(grouped) > MAX_STEP_MARKERS else 0
    events: list[Event] = []
    due: int | None = None
    for point in grouped:
        step = point.step or 0
        if stride and due is not None and due - stride <= step < due:
            continue
        due = (step // stride + 1) * stride if stride else None
        events.append(Event(point.time, "metrics", name=f"step_{step}", step=step))
        if len(events) >= 2 * MAX_STEP_MARKERS:
            break  # a step counter that falls back over and over
    return events


def _stride(span: int) -> int:
    """The smallest 1, 2 or 5 × 10ᵏ that leaves at most :data:`MAX_STEP_MARKERS` steps."""
    stride = 1
    while True:
        for factor in (1, 2, 5):
            if span <= stride * factor * (MAX_STEP_MARKERS - 2):
                return stride * factor
        stride *= 10
