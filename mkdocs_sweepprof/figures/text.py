"""Text in drawings: made safe, measured, wrapped and shortened, before anything is placed.

Names come from configs. They are data: any character may occur in them, at any length.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import Any

ELLIPSIS = "…"
LONGEST = 400
"""Characters of a name that are looked at: longer ones lose their middle before anything is measured."""
_BREAKS = re.compile(r"(?<=[\s_\-/.,:;=|+])(?=\S)")
_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@lru_cache(maxsize=4096)
def clean(text: str) -> str:
    """One line without control, format (such as text direction) or unassigned characters; never empty."""
    text = middle(" ".join(text.split()), LONGEST)
    return "".join("\ufffd" if unicodedata.category(c) in _UNSAFE else c for c in text) or "(empty)"


def middle(text: str, length: int) -> str:
    """At most ``length`` characters, the middle given up: both ends of a name tell it from its neighbours."""
    if len(text) <= length:
        return text
    head = (length - 1 + 1) // 2
    tail = max(0, length - 1 - head)
    return text[:head] + ELLIPSIS + (text[-tail:] if tail else "")


def clip(text: str, length: int = LONGEST) -> str:
    """A sentence for ``alt`` or a caption, cut at a word when it is too long."""
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > length // 2 else cut).rstrip(" ,;:") + ELLIPSIS


def font_path(bold: bool = False) -> Path:
    """The DejaVu Sans that comes with matplotlib: one outline everywhere, whatever fonts a machine has."""
    import matplotlib as mpl

    return Path(mpl.get_data_path(), "fonts", "ttf", "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf")


_UNIT = 100


@lru_cache(maxsize=2)
def _font(bold: bool) -> Any:
    from matplotlib.ft2font import FT2Font

    # A font object of our own: the size is set once and nobody else changes it.
    font = FT2Font(str(font_path(bold)))
    font.set_size(_UNIT, 72)
    return font


@lru_cache(maxsize=8192)
def _advance(character: str, bold: bool) -> float:
    """Width of a character, in em. A guess for those that the font lacks."""
    from matplotlib.ft2font import LoadFlags

    font = _font(bold)
    if font.get_char_index(ord(character)) == 0:
        if unicodedata.combining(character):
            return 0.0
        return 1.0 if unicodedata.east_asian_width(character) in "WF" else 0.7
    return float(font.load_char(ord(character), flags=LoadFlags.NO_HINTING).linearHoriAdvance) / 65536 / _UNIT


def drawable(text: str, bold: bool = False) -> bool:
    """Whether the bundled font has every character."""
    font = _font(bold)
    return all(font.get_char_index(ord(character)) for character in text)


def width(text: str, size: float, bold: bool = False) -> float:
    """Width of a line, in points."""
    return size * sum(_advance(character, bold) for character in text)


@lru_cache(maxsize=4096)
def fit(text: str, limit: float, size: float, lines: int = 1, bold: bool = False) -> tuple[str, ...]:
    """The text in at most ``lines`` lines of at most ``limit`` points: broken after separators where that is
    enough, else with an ellipsis in the middle."""
    text = clean(text)
    whole = _wrap(text, limit, size, lines, bold)
    if whole:
        return whole
    low, high = 1, len(text)
    best: tuple[str, ...] = (ELLIPSIS,)
    while low <= high:
        length = (low + high) // 2
        wrapped = _wrap(middle(text, length), limit, size, lines, bold)
        if wrapped:
            best, low = wrapped, length + 1
        else:
            high = length - 1
    return best


def _wrap(text: str, limit: float, size: float, lines: int, bold: bool) -> tuple[str, ...]:
    """Broken into lines that fit, or nothing."""
    if width(text, size, bold) <= limit:
        return (text,)
    if lines == 1:
        return ()
    out: list[str] = []
    line = ""
    for token in _BREAKS.split(text):
        if width((line + token).rstrip(), size, bold) <= limit:
            line += token
            continue
        if line:
            out.append(line.rstrip())
            line = ""
        rest = token
        # A token without a separator is broken where the line ends.
        while width(rest, size, bold) > limit:
            keep = 1
            while keep < len(rest) and width(rest[: keep + 1], size, bold) <= limit:
                keep += 1
            if len(out) >= lines:
                return ()
            out.append(rest[:keep])
            rest = rest[keep:]
            if not rest:
                break
        line = rest
    if line.strip():
        out.append(line.rstrip())
    return tuple(out) if len(out) <= lines and all(width(x, size, bold) <= limit for x in out) else ()
