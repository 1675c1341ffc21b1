"""Printing: a value in base units becomes the text of the note. Rounded once, from the value itself.

Real minus signs, no "-0.00", no "1 runs".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from mkdocs_sweepprof.note.escape import Safe, esc

Unit = Literal["h", "m", "s"]

SHORT_MEDIAN = 360.0
"""Seconds (0.1 h): a collection with a smaller median prints its walls in minutes or seconds."""
SECONDS_MEDIAN = 60.0
"""Seconds: below this median, seconds."""
WHOLE_FROM = 10.0
"""Seconds: a time per call is printed whole from here."""
MILLISECONDS_BELOW = 0.01
"""Seconds: two decimals would show next to nothing of a shorter call, so it is printed in milliseconds."""

_PER = {"h": 3600.0, "m": 60.0, "s": 1.0}
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def fixed(value: float, places: int) -> str:
    """``value`` with ``places`` decimals, a real minus sign, and never a negative zero."""
    text = f"{value:.{places}f}"
    if text.startswith("-"):
        text = text[1:] if float(text) == 0 else "−" + text[1:]
    return text


def unit_for(median: float | None) -> Unit:
    """The unit in which a collection prints its walls and other totals."""
    if median is None or median >= SHORT_MEDIAN:
        return "h"
    return "m" if median >= SECONDS_MEDIAN else "s"


def total(seconds: float, unit: Unit = "h") -> str:
    """A wall or another total: ``10.26h``."""
    return fixed(seconds / _PER[unit], 2) + unit


def brief_total(seconds: float, unit: Unit = "h") -> str:
    """A total for the first screen: whole from 10 (``176h``), else as :func:`total`."""
    value = seconds / _PER[unit]
    return fixed(value, 0) + unit if value >= 10 else total(seconds, unit)


def delta(seconds: float, unit: Unit = "h") -> str:
    """A signed difference: ``−9.03h``, ``+1.20h``."""
    text = total(seconds, unit)
    return text if seconds <= 0 or text.startswith("−") or float(text[:-1]) == 0 else "+" + text


def interval(seconds: float, unit: Unit = "h") -> str:
    """An interval or tail: ``13.6 minutes``; in a collection of short runs as seconds per call are."""
    return f"{fixed(seconds / 60, 1)} minutes" if unit == "h" else per_call(seconds)


def interval_range(low: float, high: float, unit: Unit = "h") -> str:
    """``6.8 to 7.8 minutes``; one value where both print alike."""
    first, second = interval(low, unit), interval(high, unit)
    if first == second:
        return first
    return f"{first.removesuffix(' minutes')} to {second}"


def per_call(seconds: float) -> str:
    """Seconds per call: ``618s``, ``8.66s``, ``2.40ms``."""
    if abs(seconds) < MILLISECONDS_BELOW:
        return f"{fixed(seconds * 1000, 2)}ms" if seconds else "0.00s"
    return fixed(seconds, 0 if abs(round(seconds, 2)) >= WHOLE_FROM else 2) + "s"


def percent(fraction: float, places: int = 2) -> str:
    """``44.06%``."""
    return fixed(fraction * 100, places) + "%"


def plain_number(value: float, places: int = 2) -> str:
    """η² and the like: ``0.64``."""
    return fixed(value, places)


def ratio(value: float) -> str:
    """``8.3x``."""
    return fixed(value, 1) + "x"


def times(value: float) -> str:
    """A number of calls: ``1``, ``2.5``."""
    return str(int(value)) if float(value).is_integer() else fixed(value, 2)


def setting(key: str, value: str) -> str:
    """``key=value``."""
    return f"{key}={value}"


def of(part: int, whole: int) -> str:
    """``30/36``."""
    return f"{part}/{whole}"


def counts(values: Sequence[int]) -> str:
    """Distinct counts: ``51``, ``32 or 51``, ``3 to 900``."""
    shown = sorted(set(values))
    if not shown:
        return "0"
    if len(shown) > 3:
        return f"{shown[0]} to {shown[-1]}"
    head = ", ".join(str(v) for v in shown[:-1])
    return f"{head} or {shown[-1]}" if head else str(shown[0])


def word(n: int) -> str:
    """A small count as a word: ``seven``; from ten as digits."""
    return _WORDS[n] if 0 <= n < len(_WORDS) else str(n)


def plural(n: float, one: str, many: str | None = None) -> str:
    """The noun (or verb) that agrees with ``n``."""
    return one if n == 1 else many if many is not None else one + "s"


def listing(items: Iterable[object], last: str = "and") -> Safe:
    """``a, b and c``, each encoded."""
    parts = [esc(x) for x in items]
    if len(parts) < 2:
        return parts[0] if parts else Safe("")
    return Safe(", ").join(parts[:-1]) + Safe(f" {last} ") + parts[-1]


def capital(text: Safe) -> Safe:
    """The sentence with its first letter raised; a sentence that starts with markup stays as it is."""
    return Safe(text[:1].upper() + text[1:]) if text[:1].isascii() and text[:1].islower() else text


def finite(value: float | None) -> bool:
    """Whether the value can be printed."""
    return value is not None and math.isfinite(value)
