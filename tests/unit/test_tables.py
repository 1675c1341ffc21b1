"""From records to tables and what is inferred from them: left-out runs, overlapping calls, groups and factors."""

from __future__ import annotations

import pytest

from mkdocs_sweepprof import tables
from mkdocs_sweepprof.analysis import analyse
from mkdocs_sweepprof.analysis.results import Analysis
from mkdocs_sweepprof.readers.base import Event, Run, Scalar, Section
from mkdocs_sweepprof.readers.native import sections_of
from mkdocs_sweepprof.schema import CollectionConfig

LOG = [Event(0.0, "run_start"), Event(40.0, "epoch_end"), Event(100.0, "run_end")]


def analysed(runs: list[Run], **config: object) -> Analysis:
    return analyse(tables.make(runs), CollectionConfig.model_validate(config), name="c")


def sweep(configs: list[dict[str, Scalar]], walls: list[float]) -> list[Run]:
    return [
        Run(f"r{i}", "x", config=dict(c), profile_wall=w) for i, (c, w) in enumerate(zip(configs, walls, strict=True))
    ]


def test_a_run_that_is_left_out_costs_the_others_nothing() -> None:
    """One text in a column makes pandas turn the None of all others into NaN."""
    runs = [Run(f"r{i}", "x", events=list(LOG)) for i in range(3)]
    runs.append(Run("bad", "x", events=list(LOG), status="failed"))
    made = tables.make(runs)
    assert set(made.intervals["run"]) == {"r0", "r1", "r2"}
    assert made.runs.loc["r0", "left_out"] is None
    assert made.runs.loc["r0", "status"] is None
    result = analysed(runs)
    assert result.intervals is not None and result.intervals.tail_mean == 60
    assert [r.status for r in result.rows if r.run != "bad"] == [None] * 3


def test_calls_that_overlap_count_with_the_time_they_cover() -> None:
    """Three blocks of 40 s, each begun 10 s before the last ended, in 100 s; an evaluation inside the first."""
    spans = [(0.0, 40.0, "block"), (30.0, 70.0, "block"), (60.0, 100.0, "block"), (10.0, 20.0, "block/eval")]
    block, inner = sections_of(spans)
    assert (block.overlapping, block.total_seconds, block.covered_seconds) == (True, 120.0, 100.0)
    assert (inner.overlapping, inner.covered_seconds) == (False, None)
    result = analysed([Run("a", "x", profile_wall=100.0, sections=[block, inner])])
    profile = result.profile
    assert profile is not None
    stats = {s.path: s for s in profile.sections}
    assert profile.outermost == ["block"]
    assert (profile.parallel, profile.overlapping) == (["block"], [])
    assert stats["block"].share == pytest.approx(1)
    assert stats["block"].self_share == pytest.approx(0.9)
    assert stats["block"].per_call == pytest.approx(40)
    assert profile.unattributed == pytest.approx(0)
    assert profile.above_wall == []


def test_of_sections_side_by_side_each_second_counts_once() -> None:
    """Loading runs beside training: it counts with what it adds to it."""
    spans = [(0.0, 50.0, "train"), (40.0, 60.0, "load"), (60.0, 90.0, "train")]
    made = {s.path: s for s in sections_of(spans)}
    assert (made["load"].overlapping, made["load"].covered_seconds) == (True, 10.0)
    result = analysed([Run("a", "x", profile_wall=100.0, sections=list(made.values()))])
    assert result.profile is not None
    assert result.profile.unattributed == pytest.approx(0.1)


def test_overlap_without_spans_stays_out_of_sums() -> None:
    runs = [Run("a", "x", profile_wall=10.0, sections=[Section("a", 1, 6.0), Section("b", 1, 5.0, overlapping=True)])]
    result = analysed(runs)
    assert result.profile is not None
    assert (result.profile.outermost, result.profile.overlapping) == (["a"], ["b"])
    assert result.profile.unattributed == pytest.approx(0.4)


def test_a_field_that_nearly_every_run_has_its_own_value_of_does_not_lead() -> None:
    """Twelve runs, eleven seeds: η² is near 1 whatever the seeds are."""
    configs: list[dict[str, Scalar]] = [{"seed": min(i, 10), "task": "ab"[i % 2]} for i in range(12)]
    walls = [100.0 + 20 * (i % 2) + i * 1.5 for i in range(12)]
    result = analysed(sweep(configs, walls))
    assert [e.field for e in result.effects] == ["task", "seed"]
    assert (result.effects[1].eta_squared or 0) > (result.effects[0].eta_squared or 0)
    assert result.group == "task"
    assert {f.name: f.thin for f in result.factors} == {"task": False, "seed": True}


def test_the_grid_has_a_factor_that_does_not_follow_the_group() -> None:
    configs: list[dict[str, Scalar]] = [
        {"task": t, "vocab": {"a": 10, "b": 20, "c": 30}[t], "layers": n} for t in "abc" for n in (1, 2)
    ] * 2
    walls = [100.0 * {"a": 1, "b": 2, "c": 4}[str(c["task"])] + 5 * int(str(c["layers"])) for c in configs]
    result = analysed(sweep(configs, walls))
    assert result.cells is not None
    assert (result.cells.rows_field, result.cells.columns_field) == ("task", "layers")
    assert {e.field: e.determined_by for e in result.effects} == {"task": None, "vocab": "task", "layers": None}


def test_nothing_stands_above_the_group() -> None:
    """The batch size differs within a benchmark and so determines it; the note still compares by benchmark."""
    configs: list[dict[str, Scalar]] = [{"batch": b, "bench": "x" if b < 3 else "y"} for b in (1, 2, 3, 4)] * 2
    result = analysed(sweep(configs, [10.0, 12, 30, 33, 11, 12, 31, 34]), group="bench")
    assert {e.field: e.determined_by for e in result.effects} == {"batch": None, "bench": None}
    assert result.cells is None, "each batch size belongs to one benchmark"


def test_a_layout_may_say_what_its_results_are_compared_by() -> None:
    configs: list[dict[str, Scalar]] = [{"bench": "xy"[i % 2], "machine": "abcd"[i % 4]} for i in range(8)]
    runs = sweep(configs, [10.0, 20, 14, 26, 10, 20, 14, 26])
    assert analysed(runs).group == "machine"
    for run in runs:
        run.compare_by = "bench"
    result = analysed(runs)
    assert (result.group, result.group_inferred, result.group_by_custom) == ("bench", True, True)
    chosen = analysed(runs, group="machine")
    assert (chosen.group, chosen.group_by_custom) == ("machine", False)
    runs[0].compare_by = "machine"
    assert analysed(runs).group == "machine", "two customs are none"


@pytest.mark.parametrize(
    ("values", "group"),
    [
        (("outputs/a/best.ckpt", "outputs/b/best.ckpt"), None),
        (("./a", "./b"), None),
        (("org/model", "org/model-1.5"), "start"),
        (("v1.0", "v2.0"), "start"),
    ],
)
def test_paths_are_no_groups(values: tuple[str, str], group: str | None) -> None:
    result = analysed(sweep([{"start": values[i % 2]} for i in range(4)], [1.0, 2.0, 1.1, 2.1]))
    assert result.group == group
