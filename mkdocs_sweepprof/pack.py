"""From a scratch folder full of checkpoints to small tables that can be committed, with the same facts."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mkdocs_sweepprof import __version__
from mkdocs_sweepprof.check import find_collections
from mkdocs_sweepprof.collection import Collection
from mkdocs_sweepprof.harvest import read_all
from mkdocs_sweepprof.project import Refused, inside, readable_folder
from mkdocs_sweepprof.readers import readers
from mkdocs_sweepprof.readers.base import Problem, Reading, Run, Source
from mkdocs_sweepprof.readers.flat import PACK, PACKED_BY, RUN_COLUMNS, UNFINISHED, TablesReader
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


def pack(
    source: Path, target: Path, options: Options, progress: Progress | None = None, *, force: bool = False
) -> list[Packed]:
    """Pack the collection in ``source`` into ``target``; of several, each into its own folder below it.

    An interruption leaves what was there, or a ``pack.json`` that says that it is unfinished: nothing is then read from
    its tables, and packing again goes on.

    Args:
        source: a collection's folder, or a folder of collections.
        target: where the tables are written.
        options: roots and masking.
        progress: told of each packed collection.
        force: replace also what was packed from other runs.

    Raises:
        CannotPackError: no runs, or files stand in the way that pack did not make, or made from other runs.
        OSError: a file cannot be written.
    """
    known = readers()
    readable_folder(source, options.base)
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
    for collection, place in jobs:
        _check_place(place)
        if not force:
            _check_name(collection, place)
    by_name = {reader.name: reader for reader in known}
    redactor = Redactor(options.publish_fields, options.redact)
    out: list[Packed] = []
    for i, (collection, place) in enumerate(jobs):
        if progress:
            progress(i, len(jobs), collection.name)
        runs, problems, mentions = join(read_all(collection, by_name, redactor))
        # Once more over the joined runs, as a build does.
        masked = redactor.reading(Reading(runs, problems, mentions))
        out.append(_pack_one(collection, masked, place, {r.name: r.version for r in known}, force))
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
            if digest(path.read_bytes()) not in known.tables.get(path.name, ()):
                raise CannotPackError(
                    f"'{path}' was not written by pack, or was changed since. Pack into another folder, or remove it."
                )
    if (place / "runs").exists():
        raise CannotPackError(f"'{place}' holds raw runs ('runs/'). Pack into another folder.")
    if (place / PACK).exists() and not known.tables:
        raise CannotPackError(f"'{place / PACK}' was not written by pack. Pack into another folder, or remove it.")


def _check_name(collection: Collection, place: Path) -> None:
    """Refuse to replace what was packed from a folder of another name."""
    before = _read_pack(place).folder
    if before is not None and before != collection.name:
        raise CannotPackError(
            f"'{place}' holds the packed runs of '{before}', not of '{collection.name}'. "
            "Pack into another folder, or give --force to replace them."
        )


@dataclass(frozen=True, slots=True)
class _Known:
    """What an earlier pack wrote, finished or not."""

    tables: dict[str, list[str]] = field(default_factory=dict)
    """Table → the digests under which it is ours."""
    folder: str | None = None
    """Name of the folder that was packed."""
    runs: frozenset[str] = frozenset()


def _read_pack(place: Path) -> _Known:
    """What lies in a folder; nothing when no ``pack.json`` of ours does."""
    try:
        raw = json.loads((place / PACK).read_bytes())
        if raw["made_by"] != PACKED_BY:
            return _Known()
        tables = {str(k): [str(d) for d in ([v] if isinstance(v, str) else v)] for k, v in raw["tables"].items()}
        return _Known(tables, str(raw["source"]["folder"]), frozenset(raw["runs"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return _Known()


def _pack_one(collection: Collection, reading: Reading, place: Path, versions: dict[str, int], force: bool) -> Packed:
    tree = collection.tree
    read = sorted({f for s in collection.sources for f in s.files})
    runs = sorted(reading.runs, key=lambda r: r.id)
    tables = _tables(runs)
    before = sum(tree.size(f) for f in tree.files)
    old = _read_pack(place)
    if old.runs and old.runs.isdisjoint(r.id for r in runs) and not force:
        raise CannotPackError(
            f"'{place}' holds packed runs of which none is in '{collection.path}' ({min(old.runs)!r} and the like). "
            "Pack into another folder, or give --force to replace them."
        )
    with tempfile.TemporaryDirectory(prefix="sweepprof-") as aside:
        for name, content in tables.items():
            Path(aside, name).write_bytes(content)
        back = {r.id: r for r in _read_back(Path(aside), tables)}
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
    beside: dict[str, bytes] = {}
    config = collection.config
    if config and not any((place / n).exists() for n in ("collection.yml", "collection.yaml")):
        beside[config] = Redactor().text(tree.read_bytes(config).decode("utf-8", "replace")).encode()
    _write(place, tables, beside, f'{head},\n "runs": {{\n{each}\n}}}}\n'.encode(), old, collection.name)
    after = sum(p.stat().st_size for p in place.iterdir() if p.is_file())
    return Packed(collection.path, place, len(runs), len(read), before, after, list(reading.problems))


def _write(
    place: Path, tables: dict[str, bytes], beside: dict[str, bytes], pack: bytes, old: _Known, folder: str
) -> None:
    """Put tables and ``pack.json`` in place of older ones, and ``beside`` where nothing stood.

    While they change, ``pack.json`` says so, with the digests of both states: whatever interrupts, the files are known
    as ours, and as not whole. Of a folder that was not there, an interruption that can be caught leaves nothing.
    """
    now = {name: digest(content) for name, content in tables.items()}
    every = {**tables, PACK: pack}
    if not beside and all((place / n).is_file() and (place / n).read_bytes() == c for n, c in every.items()):
        return
    made = next((p for p in reversed((place, *place.parents)) if not p.exists()), None)
    place.mkdir(parents=True, exist_ok=True)
    both = {n: sorted({*old.tables.get(n, ()), *([now[n]] if n in now else [])}) for n in sorted({*old.tables, *now})}
    mark = {
        "made_by": PACKED_BY,
        UNFINISHED: "Packing was interrupted, and the tables are not whole. Run `sweepprof pack` again.",
        "version": __version__,
        "source": {"folder": folder},
        "tables": both,
        # Still those of the older pack: what may be replaced is asked of them.
        "runs": {name: {} for name in sorted(old.runs)},
    }
    try:
        write_atomic(place / PACK, (json.dumps(mark, indent=1) + "\n").encode())
        for name, content in (*tables.items(), *beside.items()):
            write_atomic(place / name, content)
        for name in old.tables:
            if name not in tables:
                (place / name).unlink(missing_ok=True)
        write_atomic(place / PACK, pack)
    except BaseException:
        if made is not None:
            for name in (*tables, *beside, PACK):
                with contextlib.suppress(OSError):
                    (place / name).unlink()
            with contextlib.suppress(OSError):
                folder_made = place
                folder_made.rmdir()
                while folder_made != made:
                    folder_made = folder_made.parent
                    folder_made.rmdir()
        raise


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
