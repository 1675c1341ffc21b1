"""Finding collections below the roots. Standard library only: this runs in every build."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mkdocs_sweepprof.readers import find
from mkdocs_sweepprof.readers.base import Problem, Reader, Source
from mkdocs_sweepprof.readers.native import CONFIGS, EVENTS, PROFILES
from mkdocs_sweepprof.readers.tree import Tree

CONFIG_NAMES = ("collection.yml", "collection.yaml")
TABLES = ("runs", "sections", "events")
TABLE_ENDINGS = (".csv", ".parquet", ".jsonl", ".csv.gz", ".jsonl.gz")
PACK = "pack.json"
RUN_FILES = (*CONFIGS, PROFILES[0], EVENTS[0])
"""What a run folder of ours holds."""
MAX_LOOKED_AT = 200
"""Files of an unrecognised folder whose permissions are looked at."""
MAX_OVERLOOKED = 20
"""Folders named in which nothing was recognised."""


@dataclass(slots=True)
class Collection:
    """One collection: a folder, what is in it, and which readers recognised what."""

    name: str
    """The folder's own name."""
    folder: str
    """Its path under the root, POSIX; "" for the root itself."""
    path: Path
    tree: Tree
    config: str | None
    """``collection.yml`` (or ``.yaml``), when there is one."""
    sources: list[Source] = field(default_factory=list)


@dataclass(slots=True)
class Found:
    """What a root holds."""

    collections: list[Collection] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    """Direct children with files, or with an empty ``runs/``, in which nothing was recognised."""
    problems: list[Problem] = field(default_factory=list)
    """What stands outside every collection and was not read; paths are relative to the root."""


def discover(root: Path, readers: Sequence[Reader]) -> Found:
    """The collections below a root, sorted by path.

    A folder is one when it has ``collection.yml``; or holds ``runs/`` or the tables; or is a direct child of the root
    in which a reader recognises runs. Inside a collection only an explicit ``collection.yml`` starts another.
    """
    whole = Tree(root)
    folders = marked(whole)
    found = Found()
    for folder in sorted(folders):
        found.collections.append(_collection(root, folder, folders, readers))
    for child in whole.subfolders(""):
        if child in folders or "" in folders or child.startswith("."):
            continue
        candidate = _collection(root, child, folders, readers)
        if candidate.sources:
            found.collections.append(candidate)
        elif candidate.tree.files or candidate.tree.is_folder("runs"):
            found.ignored.append(child)
    found.collections.sort(key=lambda c: c.folder)
    found.problems = [*_not_entered(whole, found), *_unreadable(root, found), *_loose(root, whole, folders, readers)]
    return found


def _not_entered(whole: Tree, found: Found) -> list[Problem]:
    """Links and folders outside every collection that could not be entered: a whole sweep may be missing."""
    inside = tuple(f"{c.folder}/" if c.folder else "" for c in found.collections)
    problems = []
    for path, why in whole.skipped:
        if inside and path.startswith(inside):
            continue  # its collection says so
        leads_out = "leads out" in why
        remedy = "Name its target in the option `roots`." if leads_out else "Nothing below it was read; check it."
        problems.append(Problem(path, f"{why}.", remedy, kind="link" if "link" in why else "unreadable"))
    return problems


def _unreadable(root: Path, found: Found) -> list[Problem]:
    """Files that nobody may read, in folders where nothing was recognised: what they hold is not known."""
    problems = []
    for child in found.ignored:
        files = Tree(root / child, boundary=root).files[:MAX_LOOKED_AT]
        closed = [f for f in files if not os.access(root / child / f, os.R_OK)]
        if closed:
            what = f"cannot be read (permission denied), nor can {len(closed) - 1} more there" if closed[1:] else ""
            problems.append(
                Problem(
                    f"{child}/{closed[0]}", f"{what or 'cannot be read (permission denied)'}.", "Check its permissions."
                )
            )
    return problems


def _loose(root: Path, whole: Tree, folders: set[str], readers: Sequence[Reader]) -> list[Problem]:
    """Files with runs directly in the root: they belong to no collection."""
    if "" in folders or not whole.names(""):
        return []
    top = Tree(root, exclude=whole.subfolders(""))
    return [
        Problem(
            source.files[0],
            f"holds {reader.title} runs, but stands directly in the root.",
            "Put it into a folder of its own, which is then a collection.",
        )
        for reader in readers
        for source in reader.find(top)
        if source.files
    ]


def overlooked(collection: Collection) -> list[Problem]:
    """Folders directly below ``runs/`` that hold files of which no reader reads any, with the names that come near.

    Only where run folders of ours may be meant: beside others, or where nothing else was recognised.
    """
    tree, sources = collection.tree, collection.sources
    if not tree.is_folder("runs") or (sources and not any(s.reader == "native" for s in sources)):
        return []
    read = {"/".join(f.split("/", 2)[:2]) for s in sources for f in (*s.files, s.directory or "")}
    found: list[Problem] = []
    unread = [folder for sub in tree.subfolders("runs") if (folder := f"runs/{sub}") not in read]
    unread = [folder for folder in unread if _holds_files(tree, folder)]
    for folder in unread:
        if len(found) == MAX_OVERLOOKED:
            rest = f"{len(unread) - MAX_OVERLOOKED} more folders hold files that no reader knows."
            found.append(Problem("runs", rest, "`sweepprof check` lists them.", severity="info"))
            break
        pairs = [
            f"{name} → {near[0]}"
            for name in tree.names(folder)
            if (near := difflib.get_close_matches(name.lower(), RUN_FILES, 1, 0.7))
        ]
        remedy = f"Rename {', '.join(pairs)}." if pairs else ""
        found.append(
            Problem(
                folder,
                "no run was recognised in this folder, so it is not counted.",
                remedy or f"A run folder holds {RUN_FILES[0]} with {RUN_FILES[3]} or {RUN_FILES[4]}.",
                kind="unreadable",
                severity="info",
            )
        )
    return found


def _holds_files(tree: Tree, folder: str) -> bool:
    return bool(tree.names(folder)) or any(_holds_files(tree, f"{folder}/{sub}") for sub in tree.subfolders(folder))


def single(path: Path, readers: Sequence[Reader]) -> Collection:
    """A folder taken as one collection, whatever stands in it."""
    return _collection(path, "", set(), readers)


def marked(tree: Tree) -> set[str]:
    """Folders that are collections by what stands in them."""
    found: set[str] = set()
    stack = [("", False)]
    while stack:
        folder, inside = stack.pop()
        explicit = any(name in tree.names(folder) for name in CONFIG_NAMES)
        if explicit or (not inside and _holds_runs(tree, folder)):
            found.add(folder)
            inside = True
        # A job folder of another tool may hold a "runs" folder of its own (TensorBoard's default name).
        job = ".hydra" in tree.subfolders(folder)
        # MkDocs leaves out what begins with a dot, so a note there could have no page.
        for child in (c for c in tree.subfolders(folder) if not c.startswith(".")):
            stack.append((f"{folder}/{child}" if folder else child, inside or job))
    return found


def _holds_runs(tree: Tree, folder: str) -> bool:
    if "runs" in tree.subfolders(folder):
        return bool(tree.below(f"{folder}/runs" if folder else "runs"))
    names = set(tree.names(folder))
    runs = [f"runs{end}" for end in TABLE_ENDINGS if f"runs{end}" in names]
    others = any(f"{table}{end}" in names for table in ("sections", "events") for end in TABLE_ENDINGS)
    return bool(runs) and (
        others or PACK in names or any(_has_run_column(tree, f"{folder}/{n}" if folder else n) for n in runs)
    )


def _has_run_column(tree: Tree, path: str) -> bool:
    """Whether a lone ``runs`` table is one of ours: other tools' lists of runs have no column of that name."""
    head = tree.head(path)
    if ".parquet" in path:
        return head.startswith(b"PAR1")
    line = head.decode("utf-8", "replace").lstrip("\ufeff").split("\n", 1)[0].lower()
    if ".jsonl" in path:
        return '"run":' in line.replace(" ", "")
    return "run" in (cell.strip(' "\r') for cell in re.split("[,;\t]", line))


def _collection(root: Path, folder: str, marked: set[str], readers: Sequence[Reader]) -> Collection:
    path = root / folder if folder else root
    prefix = f"{folder}/" if folder else ""
    inner = [m[len(prefix) :] for m in marked if m != folder and m.startswith(prefix)]
    tree = Tree(path, exclude=inner, boundary=root)
    config = next((name for name in CONFIG_NAMES if tree.exists(name)), None)
    sources = [source for reader in readers for source in find(reader, tree)]
    return Collection(path.resolve().name if not folder else path.name, folder, path, tree, config, sources)
