"""The numbers choose the words: majorities, ties, plurals, and what may be claimed at all."""

from __future__ import annotations

import html
import re
from functools import cache

import pytest

from mkdocs_sweepprof import build, figures
from mkdocs_sweepprof.analysis.results import CrossCheck, Effect
from mkdocs_sweepprof.note import wording
from mkdocs_sweepprof.note.escape import plain
from mkdocs_sweepprof.note.facts import Facts
from mkdocs_sweepprof.note.wording import Wording
from mkdocs_sweepprof.readers.base import Problem, Run, Section
from tests.unit.note_cases import TOY, V2, V3, Session, analysis, as_html, context, demo, note, run, text_of

SECTIONS = {"train": (10, 500.0), "eval": (10, 300.0), "setup": (1, 150.0)}


def words(found: object, **given: object) -> Wording:
    from mkdocs_sweepprof.analysis.results import Analysis

    assert isinstance(found, Analysis)
    made = context(**given)
    return Wording(found, Facts(found, len(made.problems), len(made.excluded)), made)


def verdict(sections: dict[str, tuple[int, float]], wall: float = 1000.0, runs: int = 2) -> str:
    return plain(words(analysis([run(f"r{i}", {"lr": i}, wall, sections) for i in range(runs)])).verdict())


# --- the verdict ----------------------------------------------------------------------------------------------------


def test_a_majority_is_a_bound() -> None:
    text = verdict({"train": (1, 780.0), "eval": (1, 215.0)})
    assert text == "These runs are training-bound: training takes 78.00% of wall time."


def test_one_run_is_not_these_runs() -> None:
    assert verdict({"eval": (1, 999.0)}, runs=1).startswith("This run is evaluation-bound: evaluation takes 99.90%")


def test_the_largest_without_a_majority_is_only_the_largest() -> None:
    text = verdict({"train": (1, 450.0), "eval": (1, 400.0), "setup": (1, 145.0)})
    assert text == "Training is the largest cost (45.00%), ahead of evaluation (40.00%)."


def test_unprofiled_time_is_said() -> None:
    assert plain(words(demo(V2)[0]).verdict()) == (
        "Evaluation is the largest measured cost (47.51%); 45.46% of wall time was not profiled."
    )


def test_unprofiled_time_that_is_larger_forbids_a_verdict() -> None:
    text = verdict({"train": (1, 300.0), "eval": (1, 200.0)})
    assert text == (
        "Cannot say what bounds these runs: 50.00% of wall time was not profiled; of the rest, training is the largest "
        "(30.00%)."
    )


def test_a_tie_is_a_tie() -> None:
    assert verdict({"train": (1, 500.0), "eval": (1, 500.0)}) == (
        "Training and evaluation tie as the largest cost (50.00% each)."
    )


def test_a_section_without_a_role_competes() -> None:
    assert verdict({"wibble": (1, 600.0), "train": (1, 399.0)}) == "wibble takes most of the wall time (60.00%)."


def test_an_event_log_alone_bounds_nothing() -> None:
    assert plain(words(demo(V3)[0]).verdict()).startswith("Most wall time (about 88%) lies before the last epoch end")


def test_walls_alone_bound_nothing() -> None:
    assert plain(words(analysis([run("a", {}, 10.0)])).verdict()) == (
        "Cannot say what bounds this run: no section of it was timed."
    )


def test_nothing_counted() -> None:
    assert plain(words(analysis([])).verdict()) == "No run was found in this collection."
    left = analysis([run("a", {}, status="not_started")])
    assert plain(words(left).verdict()) == "Nothing can be said yet: 1 run found, none of which can be counted."


# --- what to try ----------------------------------------------------------------------------------------------------


def test_the_first_screen_of_continuous_v2() -> None:
    found = words(demo(V2)[0], knob_order_given=True)
    lines = [f"{lead}: {plain(text)}" for lead, text in found.actions()]
    assert lines[:2] == [
        "Try first: increase val_check_interval: at most 46.57% of a run, 176h of the sweep’s 369h.",
        "Then: reduce eval_generation_num_samples: at most 43.06% of a run (overlaps the first; do not add).",
    ]
    assert len(lines) == 3
    assert re.fullmatch(r"Skip: router-sampled-z animation \(0\.07%\), checkpoints[ a-z]* \(0\.01%\)\.", lines[2])
    trust = plain(found.trust())
    assert trust.startswith("36/36 runs, recorded wall; one run per task_name × loss_setting cell, so run-to-run noise")
    assert "looks like a sum of nested rows (see limits)" in trust


def test_what_is_not_profiled_comes_first_when_it_is_most() -> None:
    found = analysis([run(f"r{i}", {"lr": i}, 1000.0, {"eval": (10, 200.0)}) for i in range(2)])
    lead, text = words(found).actions()[0]
    assert lead == "Try first"
    assert plain(text).startswith("put sections around what is not profiled (80.00% of wall time)")


def test_a_profile_of_some_runs_speaks_of_those_only() -> None:
    runs = [
        run(f"p{i}", {"t": "ab"[i % 2]}, 4000.0 + 400 * (i % 2), {"eval": (10, 2500.0 + 400 * (i % 2))})
        for i in range(4)
    ]
    runs += [run(f"n{i}", {"t": "ab"[i % 2]}, 40000.0) for i in range(6)]
    found = words(analysis(runs, "group: t"))
    those = "the 4 of 10 runs that have a profile"
    assert plain(found.verdict()).startswith(f"The{those[3:]} are evaluation-bound: evaluation takes 64")
    assert plain(found.actions()[0][1]).endswith("of a run, 3.00h of the profiled runs’ 4.67h.")
    assert "only 4 of 10 counted runs have a profile, and shares and bounds are of those" in plain(found.trust())
    assert plain(found.sections()[0]).startswith(f"Averaged over {those}, eval takes most of the wall time")
    assert f"They are over {those}, and so are the totals." in plain(found.speedups_end()[0])
    assert "3.00h of the profiled runs’ 4.67h (64.29% of it, pooled)" in plain(found.knob_text(found.a.knobs[0]))
    assert plain(found.separator() or "").startswith(f"Among {those}, the slow level (b; mean 1.22h)")
    page = text_of(as_html(note(found.a)))
    assert "over the profiled runs" in page and "over the sweep" not in page and "of the sweep’s" not in page


def test_a_verdict_on_some_runs_names_them_whatever_it_says() -> None:
    def partly(sections: dict[str, tuple[int, float]]) -> str:
        runs = [run("p", {"lr": 1}, 1000.0, sections), run("n", {"lr": 2}, 1000.0), run("o", {"lr": 3}, 1000.0)]
        return plain(words(analysis(runs)).verdict())

    one = "the 1 of 3 runs that has a profile"
    assert partly({"train": (1, 780.0), "eval": (1, 215.0)}).startswith(f"The{one[3:]} is training-bound: training")
    assert partly({"train": (1, 300.0)}).startswith(f"Cannot say what bounds {one}: 70.00% of wall time")
    assert partly({"train": (1, 500.0), "eval": (1, 500.0)}) == (
        f"In {one}, training and evaluation tie as the largest cost (50.00% each)."
    )
    assert partly({"train": (1, 450.0), "eval": (1, 400.0), "setup": (1, 145.0)}) == (
        f"In {one}, training is the largest cost (45.00%), ahead of evaluation (40.00%)."
    )
    assert partly({"wibble": (1, 999.0)}) == f"In {one}, wibble takes most of the wall time (99.90%)."


def test_little_to_gain_is_said() -> None:
    found = analysis([run(f"r{i}", {"lr": i}, 1000.0, {"train": (10, 950.0), "eval": (1, 40.0)}) for i in range(2)])
    lead, text = words(found).actions()[0]
    assert lead == "Little to gain"
    assert plain(text) == "no change reaches 10% of a run; the largest is to make eval cheaper or rarer: at most 4.00%."


def test_one_run_has_no_sweep_to_save_in() -> None:
    found = words(analysis([run("a", {}, 1000.0, SECTIONS)]))
    assert plain(found.actions()[0][1]) == "make eval cheaper or rarer: at most 30.00% of a run."


def test_without_a_profile_the_first_thing_is_to_record_one() -> None:
    actions = words(demo(V3)[0]).actions()
    assert [lead for lead, _ in actions] == ["Try first", "Then"]
    assert "profile.json" in plain(actions[0][1])
    assert plain(actions[1][1]) == (
        "look at the opening, run_start → step_200: 13.6 minutes on average, against 6.8 to 7.8 minutes for each later "
        "interval."
    )


def test_candidates_are_called_so() -> None:
    found, _ = demo(V2, configured=False)
    shown = words(found)
    first = shown.knobs("high")[0]
    assert first.label == "epoch/eval_router_sampled"
    assert "A candidate found by its size" in plain(shown.knob_text(first))


# --- effects, levels, cells -----------------------------------------------------------------------------------------


def effects_text(*effects: tuple[str, float, float]) -> str:
    found = analysis([run("a", {}, 10.0), run("b", {}, 20.0)])
    found.effects = [Effect(name, 2, eta, omega) for name, eta, omega in effects]
    text = words(found)._effects()
    assert text is not None
    return plain(text)


def test_most_needs_a_majority() -> None:
    assert effects_text(("a", 0.64, 0.6)) == "a alone accounts for most of the variation in wall time (η² 0.64)."
    assert effects_text(("a", 0.4, 0.3)) == ("a accounts for less than half of the variation in wall time (η² 0.40).")
    assert effects_text(("a", 0.4, 0.3), ("b", 0.1, 0.05)) == (
        "No field alone accounts for half of the variation in wall time; a comes closest (η² 0.40). "
        "Next is b with 0.10."
    )


def test_effects_that_print_alike_tie() -> None:
    assert effects_text(("a", 0.3001, 0.2), ("b", 0.2999, 0.2), ("c", 0.1, 0.05)) == (
        "a and b tie: each alone accounts for the same part of the variation in wall time (η² 0.30). "
        "Next is c with 0.10."
    )


def test_many_small_effects_are_named_together() -> None:
    text = effects_text(*[("a", 0.6, 0.5), ("b", 0.1, 0.05)], *[(f"f{c}", 0.001, -0.01) for c in "cdefghijk"])
    assert "The rest: fc, fd, fe, ff, fg and four more with 0.00 each." in text
    assert "no effect beyond chance is seen for fc, fd, fe, ff, fg and four more." in text


def test_a_field_that_another_fixes_is_told_with_it() -> None:
    text = plain(words(demo(V2)[0]).depends()[0])
    assert "Next is loss_setting with 0.12. It also fixes beta (0.10)" in text
    assert "whose effects are not separate from its own" in text


def test_single_run_levels_have_no_effect_size() -> None:
    text = text_of(as_html(note(analysis([run("a", {"lr": 1}, 10.0), run("b", {"lr": 2}, 20.0)]))))
    assert "η² is not defined for lr: every level has a single run." in text


def test_a_level_that_is_a_number_is_named_with_its_field() -> None:
    runs = [run(f"r{i}", {"width": 64 * (1 + i % 2)}, 4000.0 + 1000 * (i % 2) + i) for i in range(6)]
    text = text_of(as_html(note(analysis(runs))))
    assert "means by width, slowest first: width=128 1.39h, width=64 1.11h" in text


def test_levels_that_all_tie_have_no_slowest() -> None:
    runs = [run(f"r{i}", {"a": "xy"[i % 2], "b": "uv"[i // 2 % 2]}, 3600.0 * (1 + i % 2)) for i in range(8)]
    text = text_of(as_html(note(analysis(runs))))
    assert "The slowest level of" not in text


def test_slow_and_fast_levels_by_how_many_there_are() -> None:
    def lists(k: int) -> list[str]:
        runs = [run(f"r{i}", {"task": f"t{'abcdefghij'[i % k]}"}, 3600.0 * (1 + i % k) + i) for i in range(2 * k)]
        return [plain(x) for x in words(analysis(runs, "group: task"))._slow_fast()]

    assert lists(2) == ["means by task, slowest first: tb 2.00h, ta 1.00h"]
    assert len(lists(3)) == 1
    slow, fast = lists(4)
    assert slow.count("h") - slow.count("th") and slow.count(", ") == 1 and fast.count(", ") == 1
    slow, fast = lists(5)
    assert (slow.count(", "), fast.count(", ")) == (2, 1)
    slow, fast = lists(9)
    assert (slow.count(", "), fast.count(", ")) == (2, 2)


def effects_of(*fields: tuple[str, float, int]) -> str:
    """``fields``: name, η², distinct levels of eight runs (five or more: thin)."""
    runs = [run(f"r{i}", {name: f"v{i % n}" for name, _, n in fields}, 100.0 + i) for i in range(8)]
    found = analysis(runs)
    kept = {f.name for f in found.factors}
    assert {f.name for f in found.factors if f.thin} == {name for name, _, n in fields if n > 4} & kept
    found.effects = [Effect(name, n, eta, eta - 0.1) for name, eta, n in fields]
    return plain(words(found)._effects() or "")


def test_strongest_and_next_are_so_whatever_order_effects_come_in() -> None:
    assert effects_of(("a", 0.34, 2), ("b", 0.48, 4), ("c", 0.4, 3)) == (
        "No field alone accounts for half of the variation in wall time; b comes closest (η² 0.48). "
        "Next is c with 0.40. The rest: a with 0.34."
    )


def test_a_field_with_hardly_two_runs_a_value_is_told_apart() -> None:
    text = effects_of(("a", 0.34, 2), ("data.n", 0.7, 5))
    assert text == (
        "a accounts for less than half of the variation in wall time (η² 0.34). "
        "data.n (0.70) has fewer than two runs a value on average, so its η² says little."
    )
    assert effects_of(("x", 0.6, 5), ("y", 0.7, 6)) == (
        "y (0.70) and x (0.60) have fewer than two runs a value on average, so their η² says little."
    )


def test_why_runs_are_compared_by_the_group() -> None:
    runs = [run(f"r{i}", {"task": "ab"[i // 4], "width": 64 * (1 + i % 2)}, 1000.0 * (1 + i % 2) + i) for i in range(8)]
    found = analysis(runs)
    omega = {e.field: e.omega_squared or 0.0 for e in found.effects}
    assert found.group == "task" and omega["width"] > omega["task"]
    assert "of the categorical fields that sort runs into groups" in plain(words(found).group_words() or "")
    found = analysis([run(f"r{i}", {"width": 64 * (1 + i % 2)}, 1000.0 * (1 + i % 2) + i) for i in range(8)])
    assert "of the numeric fields that sort runs into groups" in plain(words(found).group_words() or "")


def test_a_section_that_spans_the_run_gives_way_to_its_parts() -> None:
    def one(i: int) -> Run:
        slow = 400.0 * (i % 2)
        parts = {"loop": (1, 1000.0 + slow), "loop/step": (10, 600.0 + slow), "loop/eval": (5, 300.0)}
        return run(f"r{i}", {"t": "ab"[i % 2]}, 1000.0 + slow, parts)

    found = words(analysis([one(i) for i in range(6)], "group: t"))
    text = plain(found.sections()[0])
    assert text.startswith("Averaged over runs, loop spans the run; inside it, step takes most of the wall time (")
    assert "Then comes eval 25.71%." in text and "100.00%" not in text
    text = plain(found.separator() or "")
    assert "differ most in loop/step (100.00% of the difference)" in text
    assert "Every other section adds less than 10% of it." in text


def test_small_sections_are_told_in_a_sentence() -> None:
    def said(**small: float) -> str:
        sections = {"train": (1, 900.0)} | {name: (1, seconds) for name, seconds in small.items()}
        return plain(words(analysis([run("a", {}, 1000.0, sections)])).sections()[0])

    assert said(log=2.0).endswith("(90.00%). log takes less than 0.5% (0.20%).")
    assert said(log=2.0, save=1.0).endswith(" The rest take less than 0.5% each: log 0.20% and save 0.10%.")
    assert said(eval=50.0, log=2.0, save=1.0).endswith(
        " The others take less than 0.5% each: log 0.20% and save 0.10%."
    )


def test_overlapping_calls_are_never_skipped() -> None:
    def skipped(overlapping: bool) -> str:
        made = run("a", {}, 1000.0, {"train": (1, 990.0)})
        made.sections.append(Section("eval", 10, 1.0, overlapping, 1.0 if overlapping else None))
        made.sections.append(Section("log", 10, 2.0))
        return {lead: plain(text) for lead, text in words(analysis([made])).actions()}["Skip"]

    assert skipped(True) == "log (0.20%)."
    assert skipped(False) == "log (0.20%), eval (0.10%)."


def test_the_wiring_of_a_config_is_no_setting_to_show() -> None:
    config = {"model._target_": "lab.Net", "out": "${now:%Y}/x", "width": 64}
    found = analysis([run(f"r{i}", {**config, "lr": i % 2, "opt._target_": f"o{i % 2}"}, 1000.0 + i) for i in range(4)])
    shown = next(plain(x) for x in words(found).snapshot() if "shared setting" in x)
    assert shown == "shared setting: width=64"
    assert set(found.settings) == set(config)
    assert "_target_" not in " ".join(plain(x) for x in words(found).depends())
    chosen = analysis([run("r", config, 1000.0)], "settings: [model._target_]")
    assert any("model._target_=lab.Net" in plain(x) for x in words(chosen).snapshot())


# --- intervals ------------------------------------------------------------------------------------------------------


def test_the_published_sentences_about_intervals() -> None:
    text = " ".join(plain(x) for x in words(demo(V3)[0]).intervals())
    assert "1.07h lie before the last epoch end and 0.16h (9.5 minutes) after it, in the final tail: 11.81%" in text
    assert "about 88%" in text
    assert "usually the opening, run_start → step_200: in 30/36 runs, with 13.6 minutes on average" in text
    assert "The seven later intervals take 6.8 to 7.8 minutes each on average" in text
    assert "The longest tail takes 30.4 minutes." in text


def test_slow_at_the_end_or_throughout() -> None:
    def text(tails: list[float], blocks: list[float]) -> str:
        runs = [
            run(f"r{i}", {"t": "ab"[i % 2]}, events=[(0, "run_start"), (b, "epoch_end"), (b + t, "run_end")])
            for i, (b, t) in enumerate(zip(blocks, tails, strict=True))
        ]
        found = words(analysis(runs))._throughout()
        assert found is not None
        return plain(found)

    assert text([10, 110, 20, 120], [1000] * 4).startswith("Slow runs are slow at the end: 100.00%")
    assert text([10, 20, 11, 21], [1000, 1100, 1010, 1110]).startswith("Slow runs are slow throughout")
    assert text([20, 10, 21, 11], [1000, 1100, 1010, 1110]).startswith("Slow runs are slow before the last epoch end")


def test_the_clocks_agree_or_not() -> None:
    text = plain(words(demo(TOY)[0]).cross_check() or "")
    assert text.startswith("12 runs have both a profile and an event log. The outermost sections cover 99.90%")
    assert text.endswith("the two clocks agree.")
    found = analysis([run("a", {}, 10.0)])
    found.cross_check = CrossCheck(1, 100.0, 90.0, 0.9, 0.2)
    assert plain(words(found).cross_check() or "") == (
        "One run has both a profile and an event log. The outermost sections cover 90.00% of the time from run_start "
        "to run_end (90.00s of 100.00s). The profile’s own wall and the event log’s differ by up to 20.00%: the two "
        "clocks do not agree."
    )


# --- comparison -----------------------------------------------------------------------------------------------------


def test_the_published_comparison() -> None:
    found, _ = demo(V3)
    shown = words(found)
    text = " ".join(plain(x) for x in shown.comparison(found.comparisons[0]))
    assert "1.23h (event-log wall time)" in text
    assert "10.26h (wall time recorded in the profile)" in text
    assert "−9.03h" in text and "8.3x" in text
    assert (
        "cannot explain a saving of 88% alone: its bound in the other note, pooled over all wall time there, is 44%"
        in text
    )
    assert "eval_generation_num_samples=None" in text and "eval_generation_num_samples=1000" in text
    caveats = " ".join(plain(x) for x in shown.caveats(found.comparisons[0]))
    assert "event-log wall time here, wall time recorded in the profile there" in caveats
    assert "The recorded wall there looks like a sum of nested rows" in caveats


def compared(this: float, bound: float, changed: bool = True, knob: bool = True) -> str:
    config = "knobs: [{id: k, setting: n, verb: reduce, sections: eval}]\ntitle: Other\n" if knob else ""
    other = analysis(
        [run(f"r{i}", {"n": 1}, 10000.0, {"eval": (10, 10000.0 * bound)}) for i in range(2)], config, name="other"
    ).comparable()
    found = analysis([run(f"r{i}", {"n": 2 if changed else 1}, this) for i in range(2)], others=[other])
    return " ".join(plain(x) for x in words(found).comparison(found.comparisons[0]))


def test_a_change_within_its_bound_can_explain() -> None:
    assert "it can explain the saving of 40%" in compared(6000.0, 0.5)


def test_nothing_saved_is_nothing_to_explain() -> None:
    text = compared(20000.0, 0.5)
    assert "runs take 2.0x as long here" in text
    assert "No time was saved that this could explain." in text


def test_a_change_that_no_one_bounds() -> None:
    assert "One setting changed between the two: n (1 → 2). The other note puts no bound on it." in compared(
        6000.0, 0.5, knob=False
    )


def test_nothing_changed() -> None:
    assert "No shared setting changed between the two." in compared(6000.0, 0.5, changed=False)


def test_equal_means_are_said_to_be_equal() -> None:
    assert "They print alike." in compared(10000.0, 0.5)


# --- trust and limits -----------------------------------------------------------------------------------------------


def limits(found: object, **given: object) -> str:
    return " ".join(plain(x) for x in words(found, **given).limits())


def test_the_double_count_warning() -> None:
    text = limits(demo(V2)[0])
    assert "the mean would be 5.70h instead of 10.26h" in text
    assert "epoch/eval_router_sampled would take 80.8% of it" in text


def test_what_to_record_for_what_is_missing() -> None:
    assert "There is no section profile" in limits(demo(V3)[0]) and "profile.json" in limits(demo(V3)[0])
    assert "There is no event log" in limits(demo(V2)[0])
    assert "There is no" not in limits(demo(TOY)[0])


def test_repeats_by_their_number() -> None:
    def noise(*seeds: int) -> str:
        runs = [run(f"{t}{s}", {"task": t, "seed": s}, 1000.0 + s) for t in "ab" for s in seeds]
        return plain(words(analysis(runs)).trust())

    assert "one run per task level, so run-to-run noise is unknown" in noise(0)
    assert "three runs per task level, by seed" in noise(0, 1, 2)
    uneven = [run(f"r{i}", {"task": "aab"[i]}, 1000.0 + i) for i in range(3)]
    assert "one or two runs per task level" in plain(words(analysis(uneven)).trust())


def test_a_wall_that_is_no_clock_is_said() -> None:
    found = analysis([run(f"r{i}", {"lr": i}, None, SECTIONS) for i in range(2)])
    assert "sum of sections, no clock" in plain(words(found).trust())
    assert "The wall of 2 runs is the sum of outermost sections, which is no clock" in limits(found)


def test_a_resumed_run() -> None:
    found = analysis([run("a", {}, sessions=[Session(0, 5000), Session(9000, 16000)])])
    assert "a was resumed: 2 sessions, active 3.33h of 4.44h elapsed; gaps of 1.11h are not in its wall." in limits(
        found
    )
    assert "resumed: 1 run ran in more than one session" in text_of(as_html(note(found)))


def test_clocks_that_disagree() -> None:
    events = [(0.0, "run_start"), (4000.0, "run_end")]
    text = limits(analysis([run("a", {}, 5000.0, events=events)]))
    assert "Two clocks of one run disagree by more than 1%" in text
    assert "a (the profile’s wall time: 1.39h, the event log: 1.11h)" in text.replace("'", "’")


def test_left_out_runs_by_reason_with_the_time_reached() -> None:
    runs = [run("done", {"t": 1}, 5000.0)]
    runs += [run(f"k{i}", {"t": 1}, events=[(0.0, "run_start"), (1800.0 * (i + 1), "step_1")]) for i in range(2)]
    runs.append(run("f", {"t": 1}, status="failed", started_at=0.0, last_activity=360.0))
    page = text_of(as_html(note(analysis(runs))))
    assert "3 of 4 runs are left out of every mean." in page
    assert "2 without a recorded end (still running or killed): k0 (reached 0.50h) and k1 (reached 1.00h)" in page
    assert "1 failed: f" in page
    assert "1/4 runs" in page


def test_a_run_that_recorded_no_time_is_not_called_not_started() -> None:
    runs = [run("ok", {"t": 1}, 5000.0), run("silent", {"t": 1}, status="completed")]
    page = text_of(as_html(note(analysis(runs))))
    assert "1 without any recorded time: silent" in page and "left out: no time recorded" in page
    assert "not started" not in page
    runs.append(run("waiting", {"t": 1}, status="not_started"))
    page = text_of(as_html(note(analysis(runs))))
    assert "1 without any recorded time: silent" in page
    assert "1 not started (no time recorded): waiting" in page and "left out: not started" in page
    assert note(analysis(runs)).facts["runs.left_out.not_started"].value == 2


def test_an_end_that_no_tracker_vouches_for_is_said() -> None:
    made = [run(f"r{i}", {"t": i}, 1000.0, SECTIONS) for i in range(2)]
    assert "neither a status nor an end" not in limits(analysis(made))
    for one in made:
        one.layout = "lightning"
    assert "2 runs record neither a status nor an end" in limits(analysis(made))
    made[0].status = "completed"
    assert "1 run records neither a status nor an end" in limits(analysis(made))


def test_tails_that_print_as_zero_make_no_table() -> None:
    def table(tail: float) -> bool:
        events = [(0.0, "run_start"), (4000.0, "epoch_end"), (4000.0 + tail, "run_end")]
        runs = [run(f"r{i}", {"t": "ab"[i % 2]}, events=events) for i in range(4)]
        return "Final tail by" in text_of(as_html(note(analysis(runs, "group: t"))))

    assert table(60.0)
    assert not table(0.01)


def test_problems_that_were_mended_leave_nothing_out() -> None:
    mended = Problem("runs/a/events.jsonl", "the clock was set back.", "The order of lines is used.", severity="info")
    broken = Problem("runs/b/profile.json", "not valid JSON.", "Write it again.")
    found = analysis([run("a", {}, 5000.0)])
    lead = plain(words(found, problems=(mended,)).problems_lead())
    assert lead == "1 problem with this collection’s files. What was done about it stands beside it."
    lead = plain(words(found, problems=(mended, broken)).problems_lead())
    assert lead == "2 problems with this collection’s files. What cannot be read is left out; the rest is analysed."


def test_problems_are_listed_with_file_line_and_remedy() -> None:
    problem = Problem("runs/a/profile.json", "not valid JSON.", "Write it again.", line=3)
    page = text_of(as_html(note(analysis([run("b", {}, 5000.0)], problems=[problem]), problems=(problem,))))
    assert "1 problem with this collection’s files." in page
    assert "runs/a/profile.json:3 not valid JSON. Write it again." in page
    many = tuple(Problem(f"f{i}", "bad.", "Mend it.") for i in range(25))
    page = text_of(as_html(note(analysis([run("b", {}, 5000.0)]), problems=many)))
    assert "25 problems" in page and "Five more problems" in page and "f24 bad. Mend it." in page


# --- grammar, over many shapes --------------------------------------------------------------------------------------


@cache
def shapes() -> dict[str, object]:
    nine = [
        run(f"r{i}", {f"f{k}": (i >> k) & 1 for k in range(9)}, 1000.0 + 500 * (i & 1) + i, {"step": (10, 300.0)})
        for i in range(64)
    ]
    return {
        "v2": demo(V2)[0],
        "v2, nothing configured": demo(V2, configured=False)[0],
        "v3": demo(V3)[0],
        "v3, nothing configured": demo(V3, configured=False)[0],
        "toy": demo(TOY)[0],
        "none": analysis([]),
        "one": analysis([run("a", {"lr": 0.1}, 1000.0, SECTIONS)]),
        "two": analysis([run("a", {"lr": 0.1}, 1000.0, SECTIONS), run("b", {"lr": 0.1}, 1100.0, SECTIONS)]),
        "nine factors": analysis(nine),
        "one group": analysis([run(f"r{i}", {"task": "a"}, 1000.0 + i, SECTIONS) for i in range(4)], "group: task"),
        "None beside numbers": analysis([run(f"r{i}", {"k": [None, 1, 2][i % 3]}, 4000.0 + i) for i in range(9)]),
        "equal walls": analysis([run(f"r{i}", {"k": i % 2}, 4000.0) for i in range(4)]),
        "more sections than wall": analysis([run(f"r{i}", {"k": i % 2}, 400.0, SECTIONS) for i in range(4)]),
        "unbalanced": analysis([run(f"r{i}", {"t": "aaaaab"[i]}, 4000.0 + i, SECTIONS) for i in range(6)]),
        "five killed": analysis(
            [run(f"r{i}", {"t": "ab"[i % 2]}, 4000.0 + i, SECTIONS) for i in range(31)]
            + [run(f"k{i}", {"t": "a"}, events=[(0, "run_start"), (100, "step_1")]) for i in range(5)]
        ),
    }


@pytest.mark.parametrize("shape", shapes())
def test_grammar(shape: str) -> None:
    page = as_html(note(shapes()[shape]))  # type: ignore[arg-type]
    prose = text_of(re.sub(r"<table.*?</table>", " ", page, flags=re.DOTALL))
    assert not re.search(r"(?<![\d./])1 (runs|levels|changes|sections|sessions|problems|collections)\b", prose)
    assert not re.search(r"\b([2-9]|\d\d+) (run|level|change|section|session|problem)\b", prose)
    assert not re.search(r"\bone (runs|sections|changes|levels)\b", prose)
    assert not re.search(r" ,|,,| \.(?!\w)|\.\.(?!\.)|\(\)|\( | \)|: \.|  ", prose), prose
    if shape not in ("v2", "v3", "v2, nothing configured", "v3, nothing configured", "None beside numbers"):
        assert not re.search(r"\b(None|nan|inf)\b", prose)
    for cramped in re.finditer(r"[A-Za-z](<code>|<data)|(</code>|</data>)[A-Za-z]", page):
        raise AssertionError(page[max(0, cramped.start() - 60) : cramped.end() + 20])
    for paragraph in re.findall(r"<p>(.*?)</p>", page, flags=re.DOTALL):
        text = plain(paragraph)
        if text and not text.startswith(("Design", "Downloads")) and "<img" not in paragraph:
            assert text[-1] in ".:", text


# --- what a newcomer met --------------------------------------------------------------------------------------------


def test_sections_far_above_the_wall_bound_nothing() -> None:
    """Sections in milliseconds beside a wall in seconds."""
    runs = [run(f"r{i}", {"lr": i}, 10.0, {"train": (10, 5719.0), "eval": (10, 3488.0)}) for i in range(3)]
    found = words(analysis(runs, "knobs: [{id: k, label: less, sections: [eval], note: Mine.}]"))
    assert plain(found.verdict()) == (
        "Cannot say what bounds these runs: their sections add up to 921 times their wall."
    )
    assert [(lead, plain(text)) for lead, text in found.actions()] == [
        ("Try first", "check units: both must be in seconds.")
    ]
    page = text_of(as_html(note(found.a)))
    assert "bounds on what a change could save are not meaningful" in page and "Mine." in page
    assert "At most" not in page and "upper bounds" not in page and "sweepprof-bar" not in note(found.a).markdown


def test_sections_somewhat_above_the_wall_may_run_in_parallel() -> None:
    found = words(analysis([run("r", {}, 1000.0, {"train": (1, 900.0), "eval": (1, 300.0)})]))
    assert plain(found.verdict()) == "Cannot say what bounds this run: its sections add up to 120.00% of its wall."
    assert plain(found.actions()[0][1]).startswith("see whether sections run in parallel")
    # One odd run among many is said of that run, and forbids nothing.
    many = [run(f"r{i}", {"lr": i}, 1000.0, {"train": (1, 900.0 if i else 9000.0)}) for i in range(5)]
    assert plain(words(analysis(many)).verdict()).startswith("These runs are training-bound")
    close = [run(f"r{i}", {"lr": i}, 1000.0, {"train": (1, 1040.0)}) for i in range(2)]
    assert plain(words(analysis(close)).verdict()).startswith("These runs are training-bound")


def test_a_knob_that_governs_nothing_is_no_gain() -> None:
    runs = [run(f"r{i}", {"lr": i, "eval_every": 5}, 1000.0, {"train": (10, 950.0)}) for i in range(2)]
    found = words(analysis(runs, "knobs: [{id: k, setting: eval_every, sections: [nothing]}]"))
    said = " ".join(plain(text) for _, text in found.actions())
    assert "eval_every" not in said and "mend the globs" in said
    page = text_of(as_html(note(found.a)))
    assert page.count("eval_every governs no recorded section, so it has no bound") == 1
    assert "Negligible" not in page and "These are upper bounds" not in page
    both = "knobs: [{id: k, setting: eval_every, sections: [nothing]}, {id: m, label: less, sections: [train]}]"
    page = text_of(as_html(note(analysis(runs, both))))
    assert "less: at most 95.00% of a run" in page and page.count("eval_every governs no recorded section") == 1


def test_a_knob_that_keeps_every_call_saves_nothing() -> None:
    runs = [run(f"r{i}", {"lr": i}, 1000.0, {"eval": (20, 950.0)}) for i in range(2)]
    found = words(analysis(runs, "knobs: [{id: k, label: less, sections: [eval], keep: 50}]"))
    text = plain(found.knob_text(found.a.knobs[0]))
    assert "already at most that many calls: nothing to save." in text and "of which" not in text
    assert plain(found.actions()[0][1]) == "no change that is named in collection.yml would save any time that shows."


def test_runs_without_a_config_are_said() -> None:
    runs = [run("a", {"lr": 1}, 1000.0), run("b", {"lr": 2}, 1100.0), run("c", {}, 1200.0)]
    limits = " ".join(plain(x) for x in words(analysis(runs)).limits())
    assert "1 counted run has no config: it is in totals and in no comparison by field." in limits
    assert "no config" not in " ".join(plain(x) for x in words(analysis(runs[:2])).limits())


def test_many_problems_are_folded_and_at_last_counted() -> None:
    def listed(n: int) -> str:
        many = tuple(Problem(f"f{i}", "bad", "Mend it") for i in range(n))
        return as_html(note(analysis([run("b", {}, 5000.0)]), problems=many))

    page = listed(22)
    head, _, folded = page.partition("<details>")
    assert head.count("bad Mend it") == 20 and folded.partition("</details>")[0].count("bad Mend it") == 2
    assert "<summary>Two more problems</summary>" in folded
    page = listed(230)
    assert page.count("bad Mend it") == 200 and "… and 30 more, not listed." in text_of(page)
    assert "<details>" not in listed(20)


def test_the_page_says_when_every_run_is_excluded() -> None:
    found = words(analysis([]), excluded=("a", "b", "c"))
    assert plain(found.verdict()) == "No run is left: all 3 runs found are excluded by collection.yml."
    assert plain(found.actions()[0][1]) == "narrow exclude.runs in collection.yml."


def test_one_section_and_nothing_to_change_are_spoken_of_as_such() -> None:
    found = words(analysis([run("r", {}, 1000.0, {"train": (1, 300.0)})]))
    assert plain(found.actions()[0][1]) == "put sections around what is not profiled (70.00% of wall time)."
    gap = plain(found.sections()[1])
    assert gap.endswith("train covers 30.00%. What runs outside it is not known.")
    two = words(analysis([run("r", {}, 1000.0, {"train": (1, 300.0), "eval": (1, 200.0)})]))
    assert "may belong to any of them" in plain(two.sections()[1])
    assert "it may hide more than any change below" in plain(two.actions()[0][1])


def test_one_interval_is_not_the_longest() -> None:
    runs = [run(f"r{i}", {"lr": i}, None, events=[(0.0, "run_start"), (900.0 + i, "run_end")]) for i in range(3)]
    assert "longest" not in " ".join(plain(x) for x in words(analysis(runs)).intervals())
    assert not [d for d in figures.draw(analysis(runs)) if d.name == "intervals"]


def test_a_tail_of_nothing_is_left_out() -> None:
    events = [(0.0, "run_start"), (300.0, "epoch_end"), (900.0, "epoch_end"), (900.0, "run_end")]
    found = words(analysis([run(f"r{i}", {"lr": i}, None, events=events) for i in range(3)]))
    assert plain(found.verdict()) == "Cannot say what bounds these runs: no section of them was timed."
    assert "tail" not in " ".join(plain(x) for x in found.intervals())


def test_the_order_of_reasons_is_that_of_their_number_and_name() -> None:
    def told(*statuses: str) -> str:
        runs = [run(f"r{i}", {}, 10.0, status=s) for i, s in enumerate(statuses)]
        return " ".join(plain(x) for x in words(analysis([*runs, run("ok", {}, 10.0)])).snapshot())

    assert told("failed", "not_started").split("left out")[1] == told("not_started", "failed").split("left out")[1]


def test_the_log_and_the_page_agree_on_how_many_problems_are_listed() -> None:
    assert build.MAX_LISTED == wording.MAX_PROBLEMS and build.MAX_LOGGED == wording.LISTED_PROBLEMS


def test_a_section_that_spans_the_runs_is_taken_apart_in_the_bar() -> None:
    sections = {
        "train_loop": (1, 996.0),
        "train_loop/step": (10, 600.0),
        "train_loop/eval": (10, 300.0),
        "train_loop/log": (10, 4.0),
        "train_loop/save": (10, 5.0),
        "setup": (1, 2.0),
    }
    runs = [run(f"r{i}", {"task": "aabb"[i]}, 1000.0, sections) for i in range(4)]
    written = note(analysis(runs))
    bar = written.markdown.partition('<p class="sweepprof-legend">')[2].partition("</p>")[0]
    assert text_of(bar) == ("step 60.00% eval 30.00% three smaller sections 1.10% rest of train_loop 8.70%")
    assert re.findall(r'data-fact="([^"]*)"', html.unescape(bar)) == [
        "section.train_loop/step.share",
        "section.train_loop/eval.share",
        "sections.rest.share",
        "section.train_loop.self_share",
    ]
