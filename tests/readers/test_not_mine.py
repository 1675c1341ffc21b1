"""Each layout's files are no one else's: every reader here over every real folder, counted."""

from __future__ import annotations

from collections import Counter

import pytest
from trackers import MADE, PUBLIC, SHARED

from mkdocs_sweepprof.readers import readers
from mkdocs_sweepprof.readers.hf_trainer import HFTrainerReader
from mkdocs_sweepprof.readers.hydra import HydraReader
from mkdocs_sweepprof.readers.join import join
from mkdocs_sweepprof.readers.lightning import LightningReader
from mkdocs_sweepprof.readers.tensorboard import TensorBoardReader
from mkdocs_sweepprof.readers.tree import Tree

READERS = (HydraReader(), HFTrainerReader(), LightningReader(), TensorBoardReader())
MINE = {
    ("hydra", "hydra"): 16,
    ("hf_trainer", "hf_trainer"): 15,
    ("lightning", "lightning"): 22,
    ("lightning", "tensorboard"): 22,  # Lightning's own logger writes event files
    ("lightning_stages", "lightning"): 4,
    ("lightning_stages", "tensorboard"): 4,
    ("tensorboard", "tensorboard"): 17,
    ("ray_tune", "tensorboard"): 10,  # so does Ray's
    ("hydra-chris-santiago__vime", "hydra"): 16,
}


def test_every_folder_is_read_by_its_own_reader_only() -> None:
    if not MADE.is_dir():
        pytest.skip(f"{MADE} is not there")
    folders = [p for base in (MADE, PUBLIC) for p in sorted(base.iterdir()) if p.is_dir()]
    folders.append(SHARED / "published")
    found = {}
    for folder in folders:
        tree = Tree(folder)
        for reader in READERS:
            if sources := reader.find(tree):
                found[folder.name, reader.name] = len(sources)
    assert found == MINE


def test_all_real_sweeps_taken_together_lose_and_merge_nothing() -> None:
    """Every made sweep as one collection: each layout's runs are all there, only Lightning's event files are joined."""
    if not MADE.is_dir():
        pytest.skip(f"{MADE} is not there")
    tree = Tree(MADE)
    readings = [reader.read(tree, source) for reader in readers() for source in reader.find(tree)]
    runs, problems, _ = join(readings)
    found = Counter(run.layout for reading in readings for run in reading.runs if not run.children)
    expected = found.copy()
    expected["tensorboard"] -= found["lightning"]
    assert Counter(run.layout for run in runs) == expected
    assert not [p for p in problems if p.kind == "duplicate"]
