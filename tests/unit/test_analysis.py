"""Every number against an independent computation: the published facts, pingouin, statsmodels, plain loops."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mkdocs_sweepprof import tables
from mkdocs_sweepprof.analysis import analyse
from mkdocs_sweepprof.analysis.effects import effect, infer_group
from mkdocs_sweepprof.analysis.results import Analysis
from mkdocs_sweepprof.readers.base import Event, Problem, Run, Section, Session
from mkdocs_sweepprof.readers.native import NativeReader
from mkdocs_sweepprof.readers.tree import Tree
from mkdocs_sweepprof.schema import CollectionConfig, parse
from tests.places import COLLECTIONS

V2 = COLLECTIONS / "from-entangled-v2" / "continuous-v2"
V3 = COLLECTIONS / "from-entangled-v2" / "continuous-v3-beta-schedule"


NO_SHRINK = (Phase.explicit, Phase.reuse, Phase.generate)
"""A shuffled order says no more when it is smaller."""


def load(folder):
    tree, reader = Tree(folder), NativeReader()
    return [run for source in reader.find(tree) for run in reader.read(tree, source).runs]


def study(runs, config=None, name="sweep", problems=()) -> Analysis:
    return analyse(tables.make(runs, problems), config or CollectionConfig(), name=name)


def run(id_, wall=100.0, sections=(), **fields) -> Run:
    return Run(id_, "native", profile_wall=wall, config=fields, sections=[Section(*s) for s in sections])


# --- effects against other people's code ---------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # pingouin and statsmodels lag behind pandas' deprecations
@pytest.mark.parametrize("field", ["task_name", "loss_setting", "beta", "beta_schedule"])
@pytest.mark.parametrize("folder", [V2, V3], ids=["v2", "v3"])
def test_effects_agree_with_pingouin_and_statsmodels(folder, field):
    import pingouin
    import statsmodels.api as sm
    from statsmodels.formula.api import ols

    made = tables.make(load(folder))
    frame = pd.DataFrame({"wall": made.runs["wall_seconds"], "level": made.fields[field]})
    mine = effect(frame["wall"], frame["level"], field)
    theirs = pingouin.anova(frame, dv="wall", between="level", detailed=True)
    assert mine.eta_squared == pytest.approx(float(theirs["np2"].iloc[0]), abs=1e-9)
    table = sm.stats.anova_lm(ols("wall ~ C(level)", data=frame).fit(), typ=1)
    between, within = table["sum_sq"].iloc[0], table["sum_sq"].iloc[1]
    df, msw = table["df"].iloc[0], table["mean_sq"].iloc[1]
    assert mine.eta_squared == pytest.approx(between / (between + within), rel=1e-9)
    assert mine.omega_squared == pytest.approx((between - df * msw) / (between + within + msw), rel=1e-9)


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.floats(1, 1e6, allow_nan=False)), min_size=3, max_size=40),
    st.randoms(),
)
def test_effects_are_bounded_and_do_not_depend_on_order(rows, rng):
    def measure(data):
        frame = pd.DataFrame(data, columns=["level", "wall"])
        return effect(frame["wall"], frame["level"])

    one = measure(rows)
    shuffled = list(rows)
    rng.shuffle(shuffled)
    two = measure(shuffled)
    if one.eta_squared is None:
        assert two.eta_squared is None
        assert one.undefined
        return
    assert -1e-9 <= one.eta_squared <= 1 + 1e-9
    assert one.omega_squared <= one.eta_squared + 1e-9
    assert two.eta_squared == pytest.approx(one.eta_squared, abs=1e-6)


def test_effects_say_why_they_are_not_defined():
    wall = pd.Series([1.0, 2.0, 3.0])
    assert effect(wall, pd.Series(["a", "a", "a"])).undefined == "one level"
    assert effect(wall, pd.Series(["a", "b", "c"])).undefined == "only single-run levels"
    assert effect(pd.Series([2.0, 2.0, 2.0]), pd.Series(["a", "b", "b"])).undefined == "all walls equal"


# --- sections: a plain loop --------------------------------------------------------------------------------------


def test_shares_agree_with_a_plain_loop():
    runs = load(V2)
    found = {s.path: s for s in study(runs).profile.sections}
    for path, stat in found.items():
        shares, pooled, calls = [], 0.0, []
        for r in runs:
            seconds = sum(s.total_seconds for s in r.sections if s.path == path)
            shares.append(seconds / r.profile_wall)
            pooled += seconds
            calls += [s.total_seconds / s.count for s in r.sections if s.path == path]
        assert stat.share == pytest.approx(math.fsum(shares) / len(runs), rel=1e-12)
        assert stat.pooled_share == pytest.approx(pooled / sum(r.profile_wall for r in runs), rel=1e-12)
        assert stat.per_call == pytest.approx(sum(calls) / len(calls), rel=1e-12)


def test_both_guards_stand_on_the_published_collection():
    double = study(load(V2)).profile.double_count
    assert f"{double.mean_seconds / 3600:.2f}" == "5.70"
    assert f"{double.section_share:.1%}" == "80.8%"
    assert double.section == "epoch/eval_router_sampled"


def test_without_walls_totals_come_from_the_outermost_sections():
    runs = [replace(r, profile_wall=None) for r in load(V2)]
    result = study(runs)
    share = {s.path: s.share for s in result.profile.sections}["epoch/eval_router_sampled"]
    assert f"{share:.1%}" == "80.8%"
    assert result.wall_sources == {"sections": 36}
    assert f"{result.runtime.mean / 3600:.2f}" == "5.70"
    assert result.profile.unattributed == pytest.approx(0, abs=1e-12)


def test_without_walls_events_beside_the_profile_give_the_wall():
    runs = [
        replace(
            r,
            profile_wall=None,
            events=[Event(1000.0, "run_start"), Event(1000.0 + r.profile_wall, "run_end", status="completed")],
        )
        for r in load(V2)
    ]
    result = study(runs)
    assert result.wall_sources == {"events": 36}
    assert f"{result.runtime.mean / 3600:.2f}" == "10.26"


def test_outermost_sections_above_the_wall_are_reported():
    result = study([run("a", 10.0, [("x", 1, 8.0), ("y", 1, 5.0)]), run("b", 10.0, [("x", 1, 8.0)])])
    assert result.profile.above_wall == [("a", 13.0, 10.0)]


@st.composite
def trees(draw):
    """A run whose sections nest: children never exceed their parent."""
    rows = []

    def grow(path, budget, depth):
        rows.append((path, draw(st.integers(1, 9)), budget))
        left = budget
        for child in draw(st.lists(st.sampled_from("abc"), unique=True, max_size=3)) if depth < 3 else []:
            part = left * draw(st.floats(0.05, 0.9))
            left -= part
            grow(f"{path}/{child}", part, depth + 1)

    for top in draw(st.lists(st.sampled_from("pqr"), unique=True, min_size=1, max_size=3)):
        grow(top, draw(st.floats(1, 30)), 0)
    # A recorder need not have every level: drop some, so that ancestors are missing.
    kept = [r for r in rows if draw(st.integers(0, 4))] or rows[:1]
    return kept


@settings(max_examples=40, deadline=None)
@given(st.lists(trees(), min_size=1, max_size=4))
def test_nested_sections_are_never_counted_twice(profiles):
    runs = [run(f"r{i}", 100.0, rows) for i, rows in enumerate(profiles)]
    result = study(runs).profile
    # Self shares add up to what is attributed, whatever nests in what.
    assert math.fsum(s.self_share for s in result.sections) == pytest.approx(1 - result.unattributed, abs=1e-9)
    assert math.fsum(result.roles.values()) == pytest.approx(1 - result.unattributed, abs=1e-9)
    assert -1e-9 <= result.unattributed <= 1 + 1e-9


@settings(max_examples=10, deadline=None, phases=NO_SHRINK)
@given(st.randoms(use_true_random=False))
def test_the_order_of_runs_and_rows_never_matters(rng):
    runs = load(V2)[:12]
    before = study(runs)
    shuffled = [replace(r, sections=rng.sample(r.sections, len(r.sections))) for r in rng.sample(runs, len(runs))]
    after = study(shuffled)
    assert after == before


# --- knobs -------------------------------------------------------------------------------------------------------


def test_a_bound_agrees_with_a_plain_loop():
    config = parse("knobs: [{id: k, label: cadence, sections: ['e/*', 'e/v/**'], keep: 1}]")
    runs = [
        run("a", 100.0, [("e", 3, 60.0), ("e/v", 3, 30.0), ("e/v/gen", 3, 20.0)]),
        run("b", 50.0, [("e", 1, 20.0), ("e/v", 1, 10.0), ("e/v/gen", 1, 9.0)]),
        run("c", 50.0, [("e", 5, 20.0), ("e/v/gen", 5, 9.0)]),
    ]
    knob = study(runs, config).knobs[0]
    # c has no e/v row, so its topmost governed section is e/v/gen.
    saved = [30.0 * (1 - 1 / 3), 0.0, 9.0 * (1 - 1 / 5)]
    assert knob.saved == pytest.approx(sum(saved))
    assert knob.bound == pytest.approx((saved[0] / 100 + saved[1] / 50 + saved[2] / 50) / 3)
    assert knob.pooled_bound == pytest.approx(sum(saved) / 200)
    assert knob.share == pytest.approx((30 / 100 + 10 / 50 + 9 / 50) / 3)


@settings(max_examples=40, deadline=None)
@given(trees(), st.floats(0, 10), st.lists(st.sampled_from(["**", "p", "p/**", "q/*", "**/a"]), min_size=1, max_size=3))
def test_a_bound_never_exceeds_what_is_attributed(rows, keep, globs):
    config = CollectionConfig.model_validate({"knobs": [{"id": "k", "label": "k", "sections": globs, "keep": keep}]})
    result = study([run("a", 100.0, rows)], config)
    knob = result.knobs[0]
    assert 0 <= knob.bound <= knob.share + 1e-12
    assert knob.share <= 1 - result.profile.unattributed + 1e-9


def test_candidates_put_evaluation_first_and_overlaps_are_marked():
    knobs = study(load(V2)).knobs
    assert knobs[0].sections == ["epoch/eval_router_sampled"]
    assert all(k.candidate for k in knobs)
    assert knobs[1].id in knobs[0].overlaps
    assert not any("train" in s for k in knobs for s in k.sections)


# --- walls, sessions, left out -----------------------------------------------------------------------------------


def events(*times, end=True):
    out = [Event(times[0], "run_start")] + [Event(t, "checkpoint", f"step_{i}") for i, t in enumerate(times[1:-1])]
    return [*out, Event(times[-1], "run_end" if end else "checkpoint")]


def test_a_resumed_run_counts_its_active_time():
    h = 3600.0
    resumed = Run(
        "r",
        "native",
        events=[
            Event(0.0, "run_start"),
            Event(2 * h, "checkpoint", "step_1"),
            Event(12 * h, "run_start"),
            Event(14 * h, "run_end"),
        ],
        sessions=[Session(0.0, 2 * h), Session(12 * h, 14 * h)],
    )
    result = study([resumed])
    assert result.runtime.mean == 4 * h
    one = result.sessions[0]
    assert (one.sessions, one.active_seconds, one.elapsed_seconds, one.gap_seconds) == (2, 4 * h, 14 * h, 10 * h)
    # The gap is no interval.
    assert max(s.mean for s in result.intervals.stats) == 2 * h


def test_the_first_clock_that_exists_is_the_wall_and_two_that_disagree_are_reported():
    r = Run("r", "native", profile_wall=90.0, events=events(0.0, 50.0, 100.0), started_at=0.0, ended_at=100.5)
    result = study([r])
    assert result.runtime.mean == 90.0
    assert [(c.first, c.second) for c in result.clock_conflicts] == [("profile", "events"), ("profile", "tracker")]


def test_left_out_runs_are_in_no_mean_and_say_how_far_they_came():
    runs = [
        run("ok", 100.0),
        Run("killed", "native", status="running", events=events(0.0, 30.0, 70.0, end=False)),
        Run("bad", "native", status="failed", events=events(0.0, 10.0)),
        Run("never", "native", status="not_started"),
        Run("junk", "native", unreadable=True),
    ]
    twice = Problem("runs/ok2", "the id ok is used twice.", "Rename one.", kind="duplicate", run="ok")
    result = study(runs, problems=[twice])
    assert result.runtime.count == 1
    assert result.runtime.mean == 100.0
    assert {x.reason for x in result.left_out} == {"no_end", "failed", "not_started", "unreadable", "duplicate"}
    assert next(x for x in result.left_out if x.run == "killed").reached_seconds == 70.0


def test_a_log_without_an_end_counts_when_the_profile_recorded_a_wall():
    r = Run("r", "native", status="running", profile_wall=50.0, events=events(0.0, 30.0, end=False))
    assert study([r]).runtime.count == 1


# --- fields --------------------------------------------------------------------------------------------------------


def test_levels_go_by_value_not_by_spelling():
    runs = [run("a", 1.0, lr=1), run("b", 2.0, lr=1.0), run("c", 3.0, lr=None), run("d", 4.0, other=2)]
    factor = next(f for f in study(runs).factors if f.name == "lr")
    assert factor.levels == ["1", "(not set)", "None"]


def test_a_field_that_another_determines_is_marked():
    by_name = {f.name: f for f in study(load(V2)).factors}
    assert by_name["beta"].determined_by == "loss_setting"
    assert by_name["loss_setting"].determined_by is None
    assert by_name["task_name"].determined_by is None


def test_the_group_is_no_seed_id_path_or_time():
    runs = [
        run(
            f"r{i}",
            10.0 + 5 * (i % 3) + i / 100,
            seed=i % 3,
            run_id=f"x{i % 3}",
            out_dir=f"/data/{i % 3}",
            started=f"2026-01-0{i % 3 + 1}T00:00:00",
            task="ab"[i % 2],
            width=[16, 32, 64][i % 3],
        )
        for i in range(12)
    ]
    assert study(runs).group == "task"
    no_words = [replace(r, config={k: v for k, v in r.config.items() if k != "task"}) for r in runs]
    assert study(no_words).group == "width"
    nothing = [replace(r, config={"seed": i}) for i, r in enumerate(runs)]
    assert study(nothing).group is None
    assert infer_group([], [], pd.DataFrame()) is None


@pytest.mark.parametrize("runs", [[], [run("only", 5.0)], [run("a", 5.0, x=1), run("b", 5.0, x=2)]])
def test_few_runs_are_no_trouble(runs):
    result = study(runs)
    assert result.runtime.count == len(runs)
    json.dumps(result.comparable().settings)


def test_comparison_is_this_minus_other():
    config = parse(
        "knobs: [{id: g, setting: eval_generation_num_samples, sections: epoch/eval_router_sampled/free_generation}]"
    )
    other = study(load(V2), config, "continuous-v2")
    this = analyse(tables.make(load(V3)), CollectionConfig(), name="v3", others=[other.comparable()])
    found = this.comparisons[0]
    assert found.delta == pytest.approx(this.runtime.mean - other.runtime.mean)
    assert f"{found.delta / 3600:.2f}" == "-9.03"
    assert f"{found.ratio:.1f}" == "8.3"
    change = found.changes[0]
    assert (change.name, change.other, change.this) == ("eval_generation_num_samples", "None", "1000")
    assert change.verdict == "cannot explain alone"
    assert {c.kind for c in found.caveats} >= {"wall_source", "levels", "double_count"}


def test_renamed_runs_and_shifted_clocks_change_nothing():
    rng = random.Random(1)
    runs = load(V3)
    shifted = [
        replace(r, id=f"z{rng.random()}", events=[replace(e, time=e.time + 86_400.0) for e in r.events]) for r in runs
    ]
    one, two = study(runs), study(shifted)
    assert two.runtime.mean == pytest.approx(one.runtime.mean, rel=1e-9)
    for a, b in zip(one.intervals.stats, two.intervals.stats, strict=True):
        assert b.mean == pytest.approx(a.mean, rel=1e-6)


# --- intervals: what most runs have ----------------------------------------------------------------------------------


def log(id_, *rows, **more) -> Run:
    return Run(id_, "native", events=[Event(t, "epoch_end" if n == "epoch_end" else n) for t, n in rows], **more)


def test_a_tail_that_few_runs_have_is_not_printed_beside_means_over_all():
    long = log("long", (0.0, "run_start"), (5.0, "a"), (80.0, "epoch_end"), (90.0, "run_end"))
    short = [log(f"s{i}", (0.0, "run_start"), (5.0, "a"), (10.0, "run_end")) for i in range(4)]
    found = study([long, *short]).intervals
    assert found.tail_mean is None
    assert found.before_tail_mean is None
    assert found.between_mean is None
    assert {s.kind for s in found.stats} == {"opening", "later"}
    most = study([replace(long, id=f"l{i}") for i in range(3)] + short[:2]).intervals
    assert (most.tail_mean, most.tail_runs, most.before_tail_mean) == (10.0, 3, 80.0)
    # Not the same runs have an opening and a tail: the three parts of the bar would not add up.
    assert most.between_mean is None


def test_the_parts_of_a_run_add_up_to_its_wall():
    found = study(load(V3))
    x = found.intervals
    assert x.opening_mean + x.between_mean + x.tail_mean == pytest.approx(found.runtime.mean, rel=1e-9)


def test_work_beside_an_interruption_is_an_interval_of_its_own_length():
    resumed = Run(
        "r",
        "mlflow",
        started_at=0.0,
        ended_at=1000.0,
        events=[Event(10.0, "epoch_end"), Event(960.0, "epoch_end")],
        sessions=[Session(0.0, 30.0), Session(930.0, 1000.0)],
    )
    found = study([resumed])
    assert found.runtime.mean == 100.0
    # 20 s after the first record and 30 s before the second; the 900 s between are no work.
    assert [s.mean for s in found.intervals.stats if s.start == s.end == "epoch_end"] == [50.0]
    assert found.intervals.before_tail_mean + found.intervals.tail_mean == pytest.approx(100.0)


def test_a_tracker_that_keeps_whole_seconds_still_has_an_end():
    run_ = Run("r", "wandb", started_at=0.0, ended_at=9.0, events=[Event(4.0, "epoch_end"), Event(9.4, "epoch_end")])
    assert study([run_]).intervals.tail_mean == 0.0


# --- what a tired student gets wrong ---------------------------------------------------------------------------------


def test_sections_in_another_unit_than_the_wall_are_a_problem():
    runs = [run(f"r{i}", 10.0, [("epoch/train", 2, 9_000.0)]) for i in range(3)]
    problems = tables.make(runs).problems
    assert [p.severity for p in problems] == ["warning"] * 3
    assert "add up to 900 times its wall" in problems[0].message
    assert "another unit" in problems[0].remedy


def test_a_wall_in_another_unit_than_all_others_is_said():
    runs = [run(f"r{i}", 10.0 + i) for i in range(9)] + [run("odd", 14_000.0)]
    found = tables.make(runs).problems
    assert [(p.run, p.severity) for p in found] == [("odd", "info")]


def test_one_wrong_wall_does_not_look_like_a_sum_of_nested_rows():
    rows = [("e", 1, 90.0), ("e/v", 1, 60.0), ("e/v/g", 1, 50.0)]
    runs = [run(f"r{i}", 100.0, rows) for i in range(11)] + [run("odd", 1300.0, rows)]
    assert study(runs).profile.double_count is None
    assert study([run(f"r{i}", 200.0, rows) for i in range(12)]).profile.double_count is not None


def test_a_run_without_a_config_is_no_level():
    runs = [run(f"{t}{i}", w + i, [("e", 1, 5.0)], task=t) for t, w in (("a", 10.0), ("b", 50.0)) for i in range(3)]
    with_all = study(runs)
    bare = study([*runs, run("bare", 500.0, [("e", 1, 5.0)])])
    assert bare.runtime.count == 7
    assert bare.without_config == 1
    assert [s.level for s in bare.by["task"]] == ["a", "b"]
    assert bare.effects == with_all.effects
    assert bare.profile.sections[0].by_group == with_all.profile.sections[0].by_group


def test_an_interval_without_a_common_label_has_none():
    x = study([log(n, (0.0, "run_start"), (60.0, n), (61.0, "run_end")) for n in "abc"])
    assert [(s.start, s.end, s.position) for s in x.intervals.stats] == [("", "", 1), ("", "", 2)]


def test_levels_that_hardly_differ_are_not_held_against_each_other():
    runs = [run(f"{t}{i}", 100.0 + i + (t == "b"), [("e", 1, 50.0 - i)], task=t) for t in "ab" for i in range(3)]
    assert study(runs, parse("group: task")).profile.separator is None
