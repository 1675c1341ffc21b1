"""From a scratch folder full of checkpoints to small tables that can be committed, with the same facts."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mkdocs_sweepprof import __version__
from mkdocs_sweepprof.check import find_collections
from mkdocs_sweepprof.collection import Collection
from mkdocs_sweepprof.harvest import read_all
from mkdocs_sweepprof.project import Refused, inside
from mkdocs_sweepprof.readers import readers
from mkdocs_sweepprof.readers.base import Problem, Reading, Run, Source
from mkdocs_sweepprof.readers.flat import PACK, PACKED_BY, RUN_COLUMNS, TablesReader
from mkdocs_sweepprof.readers.join import join
from mkdocs_sweepprof.readers.packed import lost
from mkdocs_sweepprof.readers.plain import record_to_json
from mkdocs_sweepprof.readers.tree import Tree
from mkdocs_sweepprof.redact import Redactor
from mkdocs_sweepprof.site import Options
from mkdocs_sweepprof.store import digest, write_atomic

GZIP_FROM = 300_000
"""Bytes above which a table is compressed."""
MAX_FILES_LISTED = 50
"""Files of one run that its provenance names; more are counted."""
_SECTIONS = ("run", "section", "count", "total_seconds")
_EVENTS = ("run", "time", "event", "name", "step", "epoch", "status")

Progress = Callable[[int, int, str], None]


class CannotPackError(Refused):
    """Nothing was packed; the message says why and what to do."""


@dataclass(slots=True)
class Packed:
    """One packed collection."""

    source: Path
    target: Path
    runs: int
    files: int
    """Raw files read."""
    bytes_before: int
    """Size of everything in the source folder."""
    bytes_after: int
    problems: list[Problem] = field(default_factory=list)
    unchanged: bool = False


def pack(source: Path, target: Path, options: Options, progress: Progress | None = None) -> list[Packed]:
    """Pack the collection in ``source`` into ``target``; of several, each into its own folder below it.

    Raises:
        CannotPackError: no runs, or files stand in the way that pack did not make. Nothing was written then.
        OSError: a file cannot be written.
    """
    known = readers()
    if not source.is_dir():
        raise CannotPackError(f"'{source}' is no folder. Name the folder that holds the runs.")
    if inside(target, source) or inside(source, target):
        raise CannotPackError(f"'{source}' and '{target}' lie in each other. Pack into another folder.")
    found, _ = find_collections(source, options.roots, known)
    if not found:
        raise CannotPackError(f"'{source}' holds no runs that a reader recognises. `sweepprof check` says what it saw.")
    outer = next((c for c in found if not inside(c.path, source)), None)
    if outer is not None:
        raise CannotPackError(f"'{source}' is a part of the collection '{outer.path}'. Pack that folder.")
    whole = len(found) == 1 and found[0].path.resolve() == source.resolve()
    jobs = [(c, target if whole else target / c.path.relative_to(source)) for c in found]
    for _, place in jobs:
        _check_place(place)
    by_name = {reader.name: reader for reader in known}
    redactor = Redactor(options.publish_fields, options.redact)
    out: list[Packed] = []
    for i, (collection, place) in enumerate(jobs):
        if progress:
            progress(i, len(jobs), collection.name)
        runs, problems, mentions = join(read_all(collection, by_name, redactor))
        # Once more over all runs: a name learned from one layout's files is masked in another's.
        masked = redactor.reading(Reading(runs, problems, mentions))
        out.append(_pack_one(collection, masked, place, {r.name: r.version for r in known}))
    if progress:
        progress(len(jobs), len(jobs), "")
    return out


def _check_place(place: Path) -> None:
    """Refuse a folder whose tables were not packed, or were changed since."""
    if place.exists() and not place.is_dir():
        raise CannotPackError(f"'{place}' is a file. Name a folder.")
    known = _read_pack(place)
    for table in ("runs", "sections", "events"):
        for path in sorted(place.glob(f"{table}.*")):
            if known.get(path.name) != digest(path.read_bytes()):
                raise CannotPackError(
                    f"'{path}' was not written by pack, or was changed since. Pack into another folder, or remove it."
                )
    if (place / "runs").exists():
        raise CannotPackError(f"'{place}' holds raw runs ('runs/'). Pack into another folder.")
    if (place / PACK).exists() and not known:
        raise CannotPackError(f"'{place / PACK}' was not written by pack. Pack into another folder, or remove it.")


def _read_pack(place: Path) -> dict[str, str]:
    """Table → digest, as an earlier pack wrote it."""
    try:
        raw = json.loads((place / PACK).read_bytes())
        return dict(raw["tables"]) if raw["made_by"] == PACKED_BY else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _pack_one(collection: Collection, reading: Reading, place: Path, versions: dict[str, int]) -> Packed:
    tree = collection.tree
    read = sorted({f for s in collection.sources for f in s.files})
    runs = sorted(reading.runs, key=lambda r: r.id)
    tables = _tables(runs)
    before = sum(tree.size(f) for f in tree.files)
    old = _read_pack(place)
    place.mkdir(parents=True, exist_ok=True)
    for name, content in tables.items():
        write_atomic(place / name, content)
    for name in old:
        if name not in tables:
            (place / name).unlink(missing_ok=True)
    back = {r.id: r for r in _read_back(place, tables)}
    missing = [r.id for r in runs if r.id not in back]
    if missing:
        raise CannotPackError(f"the names of {len(missing)} runs cannot be written to a table ({missing[0]!r}).")
    body = {
        "made_by": PACKED_BY,
        "version": __version__,
        "note": "Where these tables come from, and what tables cannot say. Made by `sweepprof pack`.",
        "source": {
            "folder": collection.name,
            "files_read": len(read),
            "bytes_read": sum(tree.size(f) for f in read if tree.exists(f)),
            "digest": digest("\n".join(f"{f} {_content(tree, f)}" for f in read).encode()),
            "readers": {name: versions[name] for name in sorted({s.reader for s in collection.sources})},
        },
        "tables": {name: digest(content) for name, content in tables.items()},
        "problems": [record_to_json(p) for p in reading.problems],
        "mentions": list(reading.mentions),
    }
    # One run a line: a change of one run is a change of one line.
    each = ",\n".join(f"{json.dumps(r.id)}: {json.dumps(_provenance(r, back[r.id]))}" for r in runs)
    head = json.dumps(body, indent=1).removesuffix("\n}")
    write_atomic(place / PACK, f'{head},\n "runs": {{\n{each}\n}}}}\n'.encode())
    config = collection.config
    if config and not any((place / n).exists() for n in ("collection.yml", "collection.yaml")):
        text = tree.read_bytes(config).decode("utf-8", "replace")
        write_atomic(place / config, Redactor().text(text).encode())
    after = sum(p.stat().st_size for p in place.iterdir() if p.is_file())
    return Packed(collection.path, place, len(runs), len(read), before, after, list(reading.problems))


def _tables(runs: Sequence[Run]) -> dict[str, bytes]:
    """File name → content of the tables that have rows."""
    lines = []
    for run in runs:
        row: dict[str, Any] = {"run": run.id, "status": run.status}
        row |= {"started_at": run.started_at, "ended_at": run.ended_at, "wall_seconds": run.profile_wall}
        row = {k: v for k, v in row.items() if v is not None}
        row |= {k: v for k, v in run.config.items() if k.strip().lower() not in RUN_COLUMNS}
        lines.append(json.dumps(row, separators=(", ", ": ")))
    out = {"runs.jsonl": "".join(f"{line}\n" for line in lines).encode()}
    sections = [(r.id, s.path, s.count, s.total_seconds) for r in runs for s in r.sections]
    events = [(r.id, e.time, e.event, e.name, e.step, e.epoch, e.status) for r in runs for e in r.events]
    for name, header, rows in (("sections.csv", _SECTIONS, sections), ("events.csv", _EVENTS, events)):
        if rows:
            out[name] = _csv(header, rows)
    for name in list(out):
        if len(out[name]) > GZIP_FROM:
            out[f"{name}.gz"] = gzip.compress(out.pop(name), mtime=0)
    return out


def _csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return stream.getvalue().encode("utf-8", "replace")


def _read_back(place: Path, tables: dict[str, bytes]) -> list[Run]:
    return TablesReader().read(Tree(place), Source("tables", "", tuple(tables), None)).runs


def _provenance(run: Run, back: Run) -> dict[str, Any]:
    out: dict[str, Any] = {"files": list(run.files[:MAX_FILES_LISTED])}
    if len(run.files) > MAX_FILES_LISTED:
        out["more_files"] = len(run.files) - MAX_FILES_LISTED
    if extra := lost(run, back):
        out["extra"] = extra
    return out


def _content(tree: Tree, path: str) -> str:
    try:
        return digest(tree.path(path).read_bytes())
    except OSError:
        return "unreadable"
