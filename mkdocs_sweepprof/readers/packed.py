"""What ``sweepprof pack`` wrote: the three tables, and ``pack.json`` with what tables cannot say.

The tables are read as anybody's are. ``pack.json`` then restores what is lost on that way (a value that is None, text
that looks like a number, sessions, the layout that a run came from), so that packed and raw runs give the same facts.
A table that was changed since it was packed counts as it stands, and is not restored.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mkdocs_sweepprof.readers.base import Problem, Reading, Run, Source
from mkdocs_sweepprof.readers.complaints import Complaints
from mkdocs_sweepprof.readers.flat import ENDINGS, PACK, PACKED_BY, TABLES, UNFINISHED, TablesReader
from mkdocs_sweepprof.readers.plain import FIELDS, field_from_json, field_to_json
from mkdocs_sweepprof.readers.tree import Tree

KEPT = ("id", "files", "directory", "aliases", "children")
"""Fields of a run that a pack does not restore: names and files are the pack's own."""


class PackedReader:
    """One packed collection; one source."""

    name = "packed"
    title = "sweepprof pack"
    version = 1

    def find(self, tree: Tree) -> Sequence[Source]:
        """One source when ``pack.json`` says that it is ours."""
        if PACK not in tree.names("") or PACKED_BY.encode() not in tree.head(PACK, 256):
            return []
        here = set(tree.names(""))
        tables = [table + end for table in TABLES for end in ENDINGS if table + end in here]
        found = bool(tables) or UNFINISHED.encode() in tree.head(PACK, 256)
        return [Source(self.name, "", (PACK, *tables), None)] if found else []

    def read(self, tree: Tree, source: Source) -> Reading:
        """The runs as they were before packing."""
        complaints = Complaints()
        tables = tuple(f for f in source.files if f != PACK)
        reading = Reading()
        if tables:
            reading = TablesReader().read(tree, Source("tables", "", tables, None))
        try:
            pack = json.loads(tree.read_bytes(PACK))
            if UNFINISHED in pack:
                # Tables of two states give wrong facts, which is worse than none.
                complaints.add(
                    PACK,
                    "packing was interrupted: the tables here are not whole, and none is read.",
                    "Run `sweepprof pack` again from the raw runs.",
                    kind="unreadable",
                )
                return Reading([], complaints.all())
            changed = [name for name, found in pack["tables"].items() if not _same(tree, name, found)]
            changed += [name for name in tables if name not in pack["tables"]]
            if changed:
                complaints.add(
                    PACK,
                    f"{', '.join(sorted(changed))} changed since it was packed: the tables count as they stand.",
                    "Pack again from the raw runs, or remove pack.json.",
                    severity="info",
                )
            else:
                extras = pack["runs"]
                reading.runs = [restored(run, extras.get(run.id, {}).get("extra", {})) for run in reading.runs]
                # What was wrong with the raw files was told when they were packed: no reason to fail now.
                old = [replace(Problem(*p), severity="info") for p in pack["problems"]]
                reading = Reading(reading.runs, [*old, *reading.problems], [str(m) for m in pack["mentions"]])
        except OSError as error:
            complaints.cannot_read(PACK, error)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            complaints.add(
                PACK,
                f"is damaged ({type(error).__name__}): the tables count as they stand.",
                "Pack again from the raw runs, or remove the file.",
                kind="unreadable",
            )
        reading.problems.extend(complaints.all())
        return reading


def lost(run: Run, back: Run) -> dict[str, Any]:
    """What reading back from the tables does not give, by field, as plain values."""
    out: dict[str, Any] = {}
    for name in FIELDS[Run]:
        if name in KEPT:
            continue
        before, after = field_to_json(run, name), field_to_json(back, name)
        # By text: 1, 1.0 and true are equal in Python, and the order of fields counts.
        if json.dumps(before) != json.dumps(after):
            out[name] = before
    return out


def restored(run: Run, extra: dict[str, Any]) -> Run:
    """The run with what :func:`lost` noted.

    Raises:
        TypeError, ValueError: ``extra`` has another form.
    """
    return replace(run, **{name: field_from_json(name, value) for name, value in extra.items() if name not in KEPT})


def _same(tree: Tree, name: str, found: str) -> bool:
    from mkdocs_sweepprof.store import digest

    return tree.exists(name) and digest(tree.path(name).read_bytes()) == found
