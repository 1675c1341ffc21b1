"""What the tests of tracker readers share: where the data lies, reading a whole folder, and clocks."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mkdocs_sweepprof.readers.base import Problem, Reader, Reading, Run
from mkdocs_sweepprof.readers.tree import Tree

SHARED = Path(os.environ.get("SWEEPPROF_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
MADE = SHARED / "trackers" / "made"
PUBLIC = SHARED / "trackers" / "public"
DATA = Path(__file__).resolve().parents[1] / "data" / "trackers"


def made(layout: str, sweep: str) -> tuple[Path, dict[str, Any]]:
    """The folder of a real sweep, and what was measured beside it. Skips when it is not there."""
    folder = MADE / layout / sweep
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    truth: dict[str, Any] = json.loads((MADE / layout / f"truth_{sweep}.json").read_text(encoding="utf-8"))
    return folder, truth


def read_all(reader: Reader, root: Path) -> Reading:
    """Everything that the reader finds below ``root``, in one reading."""
    tree = Tree(root)
    whole = Reading()
    for source in reader.find(tree):
        assert source.reader == reader.name
        assert all(tree.exists(file) for file in source.files)
        reading = reader.read(tree, source)
        whole.runs += reading.runs
        whole.problems += reading.problems
        whole.mentions += reading.mentions
    return whole


def by_id(reading: Reading) -> dict[str, Run]:
    runs = {run.id: run for run in reading.runs}
    assert len(runs) == len(reading.runs), "ids are unique"
    return runs


def wall(run: Run) -> float:
    """Seconds by the design's order for trackers; AssertionError when no clock says."""
    if len(run.sessions) > 1:
        return sum(s.ended_at - s.started_at for s in run.sessions)
    if run.started_at is not None and run.ended_at is not None:
        return run.ended_at - run.started_at
    assert run.duration is not None, "the run has no end"
    return run.duration


def texts(problems: list[Problem]) -> str:
    """All messages; each has a remedy."""
    assert all(p.remedy for p in problems)
    return "\n".join(p.text() for p in problems)
