"""Readers: one module per on-disk layout, all giving the same records. See :mod:`.base` for the interface.

A reader in another package registers itself under the entry-point group ``mkdocs_sweepprof.readers``. It cannot stop a
build: what is wrong with it becomes a message.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from mkdocs_sweepprof.readers.base import Reader, Source
from mkdocs_sweepprof.readers.guard import REMEDY, GuardedReader
from mkdocs_sweepprof.readers.tree import Tree

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "mkdocs_sweepprof.readers"
"""Entry-point group for readers of other packages."""

BUILTIN = {
    "native": "mkdocs_sweepprof.readers.native:NativeReader",
    "tables": "mkdocs_sweepprof.readers.flat:TablesReader",
    "packed": "mkdocs_sweepprof.readers.packed:PackedReader",
    "mlperf": "mkdocs_sweepprof.readers.mlperf:MLPerfReader",
    "mlflow": "mkdocs_sweepprof.readers.mlflow:MLflowReader",
    "wandb": "mkdocs_sweepprof.readers.wandb:WandbReader",
    "hydra": "mkdocs_sweepprof.readers.hydra:HydraReader",
    "optuna": "mkdocs_sweepprof.readers.optuna:OptunaReader",
    "hf_trainer": "mkdocs_sweepprof.readers.hf_trainer:HFTrainerReader",
    "tensorboard": "mkdocs_sweepprof.readers.tensorboard:TensorBoardReader",
    "lightning": "mkdocs_sweepprof.readers.lightning:LightningReader",
    "sacct": "mkdocs_sweepprof.readers.sacct:SacctReader",
}
"""The registration line of each built-in reader, loaded when first needed."""


_failed: list[str] = []


def _registered() -> list[EntryPoint]:
    """Entry points of other packages, by name.

    Reading those of every installed distribution costs more than all else in an unchanged build, and hardly anybody
    has one of ours: the files are searched for the group's name first.
    """
    if not any(_may_register(folder) for folder in dict.fromkeys(sys.path)):
        return []
    from importlib.metadata import entry_points

    return sorted(entry_points(group=GROUP), key=lambda p: (p.name, p.value))


def _may_register(folder: str) -> bool:
    try:
        with os.scandir(folder or ".") as entries:
            infos = [e.path for e in entries if e.name.endswith((".dist-info", ".egg-info", ".egg"))]
    except NotADirectoryError:
        return True  # a zip or an egg: only the full search can tell
    except OSError:
        return False
    for info in infos:
        if info.endswith(".egg"):
            return True
        try:
            with open(os.path.join(info, "entry_points.txt"), "rb") as file:  # noqa: PTH118 - many small files
                if GROUP.encode() in file.read():
                    return True
        except OSError:
            continue
    return False


@cache
def _load() -> tuple[tuple[Reader, ...], tuple[str, ...]]:
    """All readers, and a message for each of another package that cannot be used."""
    found: list[Reader] = []
    for target in BUILTIN.values():
        module, _, attribute = target.partition(":")
        made: Reader = getattr(import_module(module), attribute)()
        found.append(made)
    names = {reader.name: "this package" for reader in found}
    broken: list[str] = []
    for point in _registered():
        package = point.dist.name if point.dist else point.value.partition(":")[0].partition(".")[0]
        try:
            reader = GuardedReader(point.load()(), package)
            if reader.name in names:
                raise ValueError(f"a reader of that name comes with {names[reader.name]}")
        except Exception as error:
            why = f"{type(error).__name__}: {error}".strip(": ")[:200]
            broken.append(f"The reader '{point.name}' of the package '{package}' cannot be used ({why}). {REMEDY}")
            continue
        names[reader.name] = f"the package '{package}'"
        found.append(reader)
    return tuple(found), tuple(broken)


def readers() -> tuple[Reader, ...]:
    """All usable readers, built-in first, then those of other packages by name."""
    return _load()[0]


def find(reader: Reader, tree: Tree) -> Sequence[Source]:
    """What a reader recognises in a tree; nothing when it fails, which :func:`faults` then tells."""
    try:
        return reader.find(tree)
    except Exception as error:
        _failed.append(
            f"The {reader.name} reader failed to look through '{tree.root.name}' ({type(error).__name__}: {error}), so "
            "nothing is read with it there. This is a fault of the reader: please report it."
        )
        return []


def faults() -> list[str]:
    """Messages about readers of other packages: those that cannot be used, and those that failed since asked last."""
    found, broken = _load()
    said = [*broken, *_failed]
    _failed.clear()
    for reader in found:
        if isinstance(reader, GuardedReader):
            said += reader.faults
            reader.faults = []
    return said
