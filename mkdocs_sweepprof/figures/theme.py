"""Colours, in pairs: what the light drawing uses, and what takes its place in the dark one.

Each figure is drawn once, in the light colours; :func:`recolour` exchanges them. That works by exact replacement, so
every colour in a drawing must come from here and no two entries may share a light colour. Hues are near Okabe and
Ito's, moved in lightness until each stands out from its page (at least 3:1) and from its neighbours for readers with
a colour vision deficiency; ``tests/unit/test_figures.py`` holds both to numbers.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PAGE_LIGHT = "#ffffff"
PAGE_DARK = "#1e2129"
"""The backgrounds that drawings are made for. They are transparent; Material's slate is near the dark one."""


class Colour(NamedTuple):
    """A colour and its counterpart, ``#rrggbb``."""

    light: str
    dark: str


INK = Colour("#1f2328", "#e6e8eb")
MUTED = Colour("#57606a", "#a9b0bb")
RULE = Colour("#868e98", "#6f7886")
"""Axis lines, stems and hatching."""

BLUE = Colour("#0072b2", "#4aa8e0")
VERMILLION = Colour("#d55e00", "#e8743b")
GREEN = Colour("#00573f", "#7fe0bd")
PINK = Colour("#c879ad", "#f0b6d8")
OCHRE = Colour("#6e5200", "#f0d264")
GREY = Colour("#6b737d", "#8b94a1")

CATEGORIES = (BLUE, VERMILLION, GREEN, PINK, OCHRE)
"""For the largest sections, in rank order; :data:`GREY` is for all others."""

ON_FILL = {
    BLUE: Colour("#fffffe", "#13161a"),
    VERMILLION: Colour("#14171b", "#13161b"),
    GREEN: Colour("#fffffd", "#13161c"),
    PINK: Colour("#14171c", "#13161d"),
    OCHRE: Colour("#fffffc", "#13161e"),
    GREY: Colour("#fffffb", "#13161f"),
}
"""Text on a filled bar: at least 4.5:1 on its fill in both themes."""

HEAT = (
    Colour("#e8f1f9", "#26384a"),
    Colour("#c6dff0", "#234d72"),
    Colour("#9ac7e5", "#2a689c"),
    Colour("#62a8d4", "#4d94cc"),
    Colour("#2475ae", "#86bfe8"),
    Colour("#0a4a7d", "#cfe6f7"),
)
"""Sequential steps, small to large: away from the page in either theme."""

ON_HEAT = (
    Colour("#1f2324", "#f2f4f7"),
    Colour("#1f2325", "#f2f4f8"),
    Colour("#1f2326", "#f2f4f9"),
    Colour("#1f2327", "#14171d"),
    Colour("#fffffa", "#14171e"),
    Colour("#fffff9", "#14171f"),
)
"""Text in a heatmap cell, step by step."""

PALETTE: tuple[Colour, ...] = (
    INK,
    MUTED,
    RULE,
    *CATEGORIES,
    GREY,
    *ON_FILL.values(),
    *HEAT,
    *ON_HEAT,
)

_DARK = {colour.light: colour.dark for colour in PALETTE}
TAG = re.compile(r"<[^>]*>")
"""Colours are exchanged in tags only: text may say ``fill: #123456`` and mean it."""
_USED = re.compile(r"(?P<property>\b(?:fill|stroke)(?::\s*|=\"))(?P<colour>#[0-9a-fA-F]{3,8})\b")


def recolour(svg: str) -> str:
    """The dark drawing: every fill and stroke exchanged for its counterpart, in one pass.

    Raises ``KeyError`` for a colour that is not in the palette: that is a mistake in a figure, never in its input.
    """

    def exchanged(tag: re.Match[str]) -> str:
        return _USED.sub(lambda match: match["property"] + _DARK[match["colour"].lower()], tag[0])

    return TAG.sub(exchanged, svg)


def colours(svg: str) -> set[str]:
    """The fill and stroke colours that a drawing uses."""
    return {match["colour"].lower() for tag in TAG.findall(svg) for match in _USED.finditer(tag)}
