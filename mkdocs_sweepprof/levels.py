"""Levels of a field, their order, and globs over section paths: how names are compared."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from mkdocs_sweepprof.readers.base import Scalar

NOT_SET = "(not set)"
"""The level of a run whose config lacks the field."""


def level(value: Scalar) -> str:
    """A value's level: numbers as their shortest repr (1 and 1.0 are one level), ``None``, ``true``, text as it is."""
    if value is None:
        return "None"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, float):
        if value != value:
            return "nan"
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def number(text: str) -> float | None:
    """The number a level stands for, else None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value == value else None


def ordered(levels: Iterable[str], first: Iterable[str] = ()) -> list[str]:
    """Levels in display order: ``first`` as given, then numbers by value, then text by name."""
    rest = set(levels)
    head = [x for x in first if x in rest]
    rest -= set(head)

    def key(text: str) -> tuple[int, float, str]:
        value = number(text)
        return (0, value, text) if value is not None else (1, 0.0, text)

    return head + sorted(rest, key=key)


@lru_cache(maxsize=65_536)
def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key by which ``run10`` follows ``run9``."""
    return tuple(
        (0, int(part[:18]), part) if part.isascii() and part.isdigit() else (1, 0, part)
        for part in re.split(r"([0-9]+)", text)
        if part
    )


@lru_cache(maxsize=1024)
def _glob(pattern: str) -> re.Pattern[str]:
    out = []
    i = 0
    while i < len(pattern):
        if pattern.startswith("**/", i):
            out.append("(?:.*/)?")
            i += 3
        elif pattern.startswith("**", i):
            out.append(".*")
            i += 2
        elif pattern[i] == "*":
            out.append("[^/]*")
            i += 1
        elif pattern[i] == "?":
            out.append("[^/]")
            i += 1
        else:
            out.append(re.escape(pattern[i]))
            i += 1
    return re.compile("".join(out) + r"\Z", re.DOTALL)


def matches(path: str, globs: Iterable[str]) -> bool:
    """Whether a path fits one of the globs: ``*`` stays within a part, ``**`` crosses parts."""
    return any(_glob(g).match(path) for g in globs)


def plumbing(field: str, levels: Iterable[str]) -> bool:
    """Whether a field only wires a config together: Hydra's ``_target_`` and the like, and ``${…}`` references."""
    last = field.rpartition(".")[2]
    return (len(last) > 2 and last[0] == last[-1] == "_") or any("${" in x for x in levels)
