"""Live numbers and figures in hand-written pages.

    The mean is <!-- sweepprof: fact continuous-v2 runtime.mean --> now.

    <!-- sweepprof: figure continuous-v2 composition -->

A comment, so that a page reads well where nothing fills it in. The collection is its folder's name, or its path under
the root where two have one name. Comments inside code are left as they are.
"""

from __future__ import annotations

import difflib
import json
import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mkdocs_sweepprof.site import Message, Quotable

_COMMENT = re.compile(r"<!--\s*sweepprof:(?P<body>(?:(?!-->).)*)-->", re.DOTALL)
_FENCE = re.compile(r"^\s{0,3}(?P<mark>`{3,}|~{3,})")
_INLINE_CODE = re.compile(r"(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)", re.DOTALL)
MARKER = "sweepprof:"
"""A page without this text holds no quotation."""


@dataclass
class Shelf:
    """The notes of a site, to be quoted from."""

    notes: Sequence[Quotable]

    @cached_property
    def names(self) -> dict[str, Quotable]:
        """Paths under the root, and folder names that only one collection has."""
        names: dict[str, Quotable] = {}
        for note in self.notes:
            if sum(n.name == note.name for n in self.notes) == 1:
                names[note.name] = note
        names |= {note.folder: note for note in self.notes if note.folder}
        return names

    @cached_property
    def facts(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Page → its facts, read when first asked for."""
        return {note.page: json.loads(note.facts) for note in self.notes}


def expand(markdown: str, page: str, shelf: Shelf) -> tuple[str, list[Message]]:
    """Fill in a page's quotations.

    Args:
        markdown: the page's text.
        page: its source path, from which figures are linked.
        shelf: what can be quoted.

    Returns:
        The text, and a warning for each quotation that names nothing known, with the nearest name. Such a comment
        stays as it is.
    """
    if MARKER not in markdown:
        return markdown, []
    messages: list[Message] = []

    def fill(match: re.Match[str], line: int) -> str:
        what, _, rest = " ".join(match["body"].split()).partition(" ")
        made = _one(what, rest, page, shelf)
        if isinstance(made, Message):
            messages.append(Message(made.level, f"{page}:{line}: {made.text}"))
            return match[0]
        return made

    return _outside_code(markdown, fill), messages


def _outside_code(markdown: str, fill: Callable[[re.Match[str], int], str]) -> str:
    """Apply ``fill`` to the comments that stand in no code."""
    spans = _code(markdown)

    def replace(match: re.Match[str]) -> str:
        if any(a <= match.start() < b for a, b in spans):
            return match[0]
        return fill(match, markdown.count("\n", 0, match.start()) + 1)

    return _COMMENT.sub(replace, markdown)


def _code(markdown: str) -> list[tuple[int, int]]:
    """Where fenced and inline code stands."""
    spans: list[tuple[int, int]] = []
    at, opened, mark = 0, 0, ""
    for line in markdown.splitlines(keepends=True):
        found = _FENCE.match(line)
        if found and not mark:
            opened, mark = at, found["mark"]
        elif found and mark and found["mark"].startswith(mark) and not line.strip().strip(mark[0]):
            spans.append((opened, at + len(line)))
            mark = ""
        at += len(line)
    if mark:
        spans.append((opened, at))
    fenced = list(spans)
    spans += [m.span() for m in _INLINE_CODE.finditer(markdown) if not any(a <= m.start() < b for a, b in fenced)]
    return spans


def _one(what: str, rest: str, page: str, shelf: Shelf) -> str | Message:
    if not what:
        return Message(
            "warning",
            "this comment quotes nothing. Write 'sweepprof: fact', a collection and a fact's id.",
        )
    if what not in ("fact", "figure"):
        return Message("warning", f"'sweepprof: {what}' is unknown. Write 'sweepprof: fact' or 'sweepprof: figure'.")
    names = sorted(shelf.names, key=len, reverse=True)
    name = next((n for n in names if rest == n or rest.startswith(n + " ")), None)
    if not rest:
        return Message("warning", f"'sweepprof: {what}' names no collection. {_nearest('', names)}")
    if name is None:
        asked = rest.partition(" ")[0]
        return Message("warning", f"no collection is called '{asked}'. {_nearest(asked, names)}")
    note, wanted = shelf.names[name], rest[len(name) :].strip()
    if not wanted:
        missing = "fact's id" if what == "fact" else "figure's name"
        known = shelf.facts[note.page] if what == "fact" else [f[0] for f in note.figures]
        return Message("warning", f"the {missing} is missing after '{name}'. {_nearest('', known)}")
    if what == "fact":
        facts = shelf.facts[note.page]
        if wanted not in facts:
            return Message("warning", f"'{name}' has no fact '{wanted}'. {_nearest(wanted, facts)}")
        from mkdocs_sweepprof.note.escape import mark

        return str(mark(wanted, facts[wanted]["value"], facts[wanted]["text"]))
    figure = next((f for f in note.figures if f[0] == wanted), None)
    if figure is None:
        return Message(
            "warning", f"'{name}' has no figure '{wanted}'. {_nearest(wanted, [f[0] for f in note.figures])}"
        )
    from mkdocs_sweepprof.figures.base import Drawing
    from mkdocs_sweepprof.note import engine

    folder = posixpath.relpath(note.assets, posixpath.dirname(page) or ".")
    return str(engine.figure(Drawing(figure[0], "", "", figure[1], figure[2]), folder))


def _nearest(asked: str, known: Any) -> str:
    near = difflib.get_close_matches(asked, list(known), n=1, cutoff=0.3) if asked else []
    if near:
        return f"Did you mean '{near[0]}'?"
    return f"Known: {', '.join(sorted(known)[:10])}." if known else "There is none."
