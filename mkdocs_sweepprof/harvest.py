"""Reading a collection's sources: what every consumer does with what the readers recognised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mkdocs_sweepprof.collection import Collection
from mkdocs_sweepprof.readers.base import Problem, Reader, Reading, Source
from mkdocs_sweepprof.readers.tree import Tree

if TYPE_CHECKING:
    from mkdocs_sweepprof.redact import Redactor


def read_source(reader: Reader, collection: Collection, source: Source) -> Reading:
    """Read one source; a reader that fails costs its source, never the build."""
    try:
        reading = reader.read(collection.tree, source)
        if not isinstance(reading, Reading):
            raise TypeError(f"read() gave {type(reading).__name__}, not Reading")
    except Exception as error:
        return Reading(
            [],
            [
                Problem(
                    source.key or ".",
                    f"the {reader.name} reader failed ({type(error).__name__}: {error}).",
                    "This is a fault of the reader: please report it with the file.",
                )
            ],
        )
    return reading


def tree_problems(tree: Tree) -> list[Problem]:
    """What the tree could not enter: a link is said, an unreadable folder is a warning."""
    found = []
    for path, why in tree.skipped:
        linked = "link" in why
        found.append(
            Problem(
                path,
                f"{why}.",
                "Nothing below it was read.",
                kind="link" if linked else "unreadable",
                severity="info" if linked else "warning",
            )
        )
    return found


def read_all(collection: Collection, known: Mapping[str, Reader], redactor: Redactor) -> list[Reading]:
    """Every source of a collection, masked; what the tree could not enter as problems."""
    out = [redactor.reading(read_source(known[s.reader], collection, s)) for s in collection.sources]
    if problems := tree_problems(collection.tree):
        out.append(Reading([], problems))
    return out
