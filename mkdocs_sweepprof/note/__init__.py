"""Results → facts → a finished page. Nothing is computed here: it picks, orders, words and prints.

What a build needs that only quotes from remembered notes (:mod:`.escape`, :mod:`.engine`) loads without the rest, and
so without the tables behind it: :mod:`.page` is loaded when a note is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs_sweepprof.note.base import Context, Fact, Note
    from mkdocs_sweepprof.note.page import FIGURES, render

__all__ = ["FIGURES", "Context", "Fact", "Note", "render"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from mkdocs_sweepprof.note import page

        return getattr(page, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
