"""Analysis results → SVG drawings. Nothing is computed here, and nothing heavy is imported until a figure is drawn.

A figure is one module with ``draw(analysis, style) -> Drawing | None`` (None: the evidence is missing) and one line
in :data:`FIGURES`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from mkdocs_sweepprof.figures.base import Drawing

if TYPE_CHECKING:
    from mkdocs_sweepprof.analysis.results import Analysis

FIGURES = (
    "factors",
    "runtime_by_group",
    "per_call",
    "composition",
    "dominant_section",
    "intervals",
)
"""Modules of this package, in the reading order of the note."""

NO_LABELS: Mapping[str, str] = MappingProxyType({})


def draw(analysis: Analysis, labels: Mapping[str, str] = NO_LABELS) -> list[Drawing]:
    """Every figure that this analysis has the evidence for, in reading order.

    ``labels`` maps a field, level or section to the text that is printed instead.
    """
    from mkdocs_sweepprof.figures.style import Style

    style = Style.of(analysis, labels)
    drawings: list[Drawing | None] = [import_module(f"{__name__}.{module}").draw(analysis, style) for module in FIGURES]
    return [drawing for drawing in drawings if drawing is not None]


def draw_trend(points: Sequence[tuple[str, float, int, str]]) -> Drawing | None:
    """Mean runtime across collections: (title, mean seconds, runs, the mean as its note prints it).

    In the order to show. None for fewer than two.
    """
    from mkdocs_sweepprof.figures.trend import draw as draw_points

    return draw_points(points)


__all__ = ["FIGURES", "Drawing", "draw", "draw_trend"]
