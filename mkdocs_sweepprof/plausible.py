"""Walls and sections that cannot both be right: most often two units in one file."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from mkdocs_sweepprof.readers.base import Problem, Run

FAR_ABOVE = 10.0
"""Sections that add up to this many times the wall are no parallel work: one of the two has another unit."""
FAR_FROM_MEDIAN = 200.0
"""A wall this many times the median is likely in another unit than the others."""
MIN_RUNS = 5


def suspicions(runs: Sequence[Run], frame: pd.DataFrame) -> list[Problem]:
    """Problems with the counted runs' numbers as a whole; nothing is changed or left out for them.

    Args:
        runs: the records, for the files to name.
        frame: the runs table.
    """
    files = {r.id: r.files[-1] if r.files else r.id for r in runs}
    counted = frame[frame["left_out"].isna()]
    found = []
    ratio = counted["clock_sections"] / counted["wall_seconds"]
    for run, times in ratio[(ratio > FAR_ABOVE) & (counted["wall_source"] != "sections")].items():
        found.append(
            Problem(
                files[str(run)],
                f"run {run}: its outermost sections add up to {times:.0f} times its wall.",
                "Give both in seconds: one of the two seems to be in another unit.",
                kind="value",
                run=str(run),
            )
        )
    walls = counted["wall_seconds"]
    if len(walls) >= MIN_RUNS:
        median = walls.median()
        for run, wall in walls[walls > FAR_FROM_MEDIAN * median].items():
            found.append(
                Problem(
                    files[str(run)],
                    f"run {run}: its wall is {wall / median:.0f} times the median of all runs.",
                    "Check its unit (seconds are expected); it weighs in every mean.",
                    kind="value",
                    severity="info",
                    run=str(run),
                )
            )
    return found
