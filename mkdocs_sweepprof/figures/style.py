"""What all figures of one note share: names, units, the order of levels, section colours. And printed numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING

from mkdocs_sweepprof.figures.text import clean, middle
from mkdocs_sweepprof.figures.theme import CATEGORIES, GREY, Colour
from mkdocs_sweepprof.levels import ordered

if TYPE_CHECKING:
    from mkdocs_sweepprof.analysis.results import Analysis, Profile

MAX_LEVELS = 24
"""Rows of a figure; more are cut, and the caption says how many."""
IN_HOURS_FROM = 0.1 * 3600
"""Median wall, seconds: below it a collection prints in minutes."""
IN_MINUTES_FROM = 60.0
SMALLEST_SHARE = 0.01
"""Sections with a smaller share are gathered as "other" in the composition."""
LONGEST_NAME = 40
"""Characters of a name within a sentence."""


@dataclass(frozen=True, slots=True)
class Unit:
    """How wall times are printed."""

    seconds: float
    sign: str
    name: str

    @classmethod
    def of(cls, median: float | None) -> Unit:
        """The unit for walls with this median, seconds."""
        if median is None or median >= IN_HOURS_FROM:
            return cls(3600.0, "h", "hours")
        if median >= IN_MINUTES_FROM:
            return cls(60.0, "m", "minutes")
        return cls(1.0, "s", "seconds")

    def text(self, seconds: float, places: int = 2) -> str:
        """``10.26h``."""
        return f"{seconds / self.seconds:.{places}f}{self.sign}"


@dataclass(frozen=True, slots=True)
class Style:
    """Shared by the figures of one note."""

    labels: Mapping[str, str]
    unit: Unit
    levels: tuple[str, ...] = ()
    """Group levels in the order of the rows, all of them. Empty without a group."""
    colours: Mapping[str, Colour] = field(default_factory=dict)
    """Outermost section → its colour; sections without one are :data:`~.theme.GREY`."""

    @classmethod
    def of(cls, analysis: Analysis, labels: Mapping[str, str]) -> Style:
        return cls(
            labels=labels,
            unit=Unit.of(analysis.runtime.median),
            levels=_levels(analysis),
            colours=_colours(analysis.profile),
        )

    def name(self, key: str) -> str:
        """What to print for a field, level or section: one clean line of any length."""
        return clean(self.labels.get(key, key))

    def short(self, key: str) -> str:
        """The name within a sentence."""
        return middle(self.name(key), LONGEST_NAME)

    def last(self, paths: Iterable[str]) -> dict[str, str]:
        """Sections by the last part of their path, where that tells them apart; a given label goes first."""
        return {path: clean(self.labels.get(path, name)) for path, name in short_names(paths).items()}

    def shown_levels(self, levels: Sequence[str] | None = None, limit: int = MAX_LEVELS) -> tuple[list[str], str]:
        """The levels that get a row, and what the caption adds when some do not."""
        levels = self.levels if levels is None else levels
        return list(levels[:limit]), more(len(levels) - limit)


def more(count: int, what: str = "level") -> str:
    """The caption's remark on what is not drawn."""
    return f" And {count} more {what}{'' if count == 1 else 's'}, not drawn." if count > 0 else ""


def row_order(levels: Sequence[str], means: Mapping[str, float]) -> list[str]:
    """Slowest first; but numbers by value, and an order that someone has given stays."""
    default = ordered(levels)
    by_number = all(_is_number(level) for level in levels)
    if by_number or list(levels) != default:
        return list(levels)
    return sorted(levels, key=lambda level: -means.get(level, 0.0))


def _is_number(level: str) -> bool:
    try:
        return isfinite(float(level))
    except ValueError:
        return False


def _levels(analysis: Analysis) -> tuple[str, ...]:
    stats = analysis.by.get(analysis.group, []) if analysis.group is not None else []
    return tuple(row_order([s.level for s in stats], {s.level: s.mean for s in stats}))


def _colours(profile: Profile | None) -> dict[str, Colour]:
    if profile is None:
        return {}
    return by_size(profile, profile.outermost)


def by_size(profile: Profile, paths: Iterable[str], limit: int | None = None) -> dict[str, Colour]:
    """Colours for the largest of these sections, in rank order; at most ``limit``."""
    shares = {s.path: s.share for s in profile.sections}
    large = [path for path in paths if shares.get(path, 0.0) >= SMALLEST_SHARE]
    large.sort(key=lambda path: -shares[path])
    return dict(zip(large, CATEGORIES[:limit], strict=False))


def colour_of(style: Style, path: str) -> Colour:
    return style.colours.get(path, GREY)


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Section path → its last part, or the whole path where two would be called the same."""
    paths = list(paths)
    last = {path: path.rpartition("/")[2] or path for path in paths}
    called = list(last.values())
    return {path: name if called.count(name) == 1 else path for path, name in last.items()}


def percent(fraction: float, places: int = 2) -> str:
    return f"{fraction:.{places}%}"


def seconds(value: float) -> str:
    """Per call, as the note prints it: none after the point from 10 s, else two; milliseconds below 0.01 s."""
    if round(value, 2) >= 10:
        return f"{value:.0f}s"
    return f"{value * 1000:.2f}ms" if 0 < value < 0.01 else f"{value:.2f}s"


def span(style: Style, known: Mapping[str, float], overall: float) -> str:
    """Per call, from the fastest level to the slowest; one value where there is no difference to print."""
    if not known:
        return seconds(overall)
    low, high = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
    if len(known) < 2 or seconds(known[low]) == seconds(known[high]):
        return seconds(known[high])
    return f"{seconds(known[low])} ({style.short(low)}) to {seconds(known[high])} ({style.short(high)})"


def plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
