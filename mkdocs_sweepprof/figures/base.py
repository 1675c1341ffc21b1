"""What a figure is: one drawing in the light theme, recoloured for dark; alternative text and caption."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure. ``svg`` is the light drawing, ``dark`` the same drawing with its colours exchanged."""

    name: str
    """File stem: ``composition``."""
    svg: str
    dark: str
    alt: str
    """States the finding, plain text."""
    caption: str
    """Says what is drawn, plain text."""
