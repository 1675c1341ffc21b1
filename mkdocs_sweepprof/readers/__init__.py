"""Readers: one module per on-disk layout, all giving the same records. See :mod:`.base` for the interface.

A reader in another package registers itself under the entry-point group ``mkdocs_sweepprof.readers``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from mkdocs_sweepprof.readers.base import Reader

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


@cache
def readers() -> tuple[Reader, ...]:
    """All readers, built-in first, then those of other packages by name.

    Raises:
        TypeError: a registered object does not have the reader interface.
    """
    found: list[Reader] = []
    for name, target in BUILTIN.items():
        module, _, attribute = target.partition(":")
        found.append(_checked(name, getattr(import_module(module), attribute)()))
    for point in sorted(entry_points(group=GROUP), key=lambda p: p.name):
        if point.name not in BUILTIN:
            found.append(_checked(point.name, point.load()()))
    return tuple(found)


def _checked(name: str, reader: object) -> Reader:
    if not isinstance(reader, Reader):
        raise TypeError(f"reader {name!r} ({type(reader).__name__}) lacks name, title, version, find or read")
    return reader
