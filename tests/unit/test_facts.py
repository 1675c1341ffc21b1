"""Facts: every id of the published figures, finite, printed as the page prints them."""

from __future__ import annotations

import html
import json
import math
import os
import re
from pathlib import Path

import pytest

from mkdocs_sweepprof.analysis.results import TailStat
from mkdocs_sweepprof.note.base import Note
from mkdocs_sweepprof.note.facts import MAX_RUNS, Facts, mark
from tests.unit.note_cases import TOY, V2, V3, analysis, as_html, demo, evenly, note, run

SHARED = Path(os.environ.get("SWEEPPROF_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
PUBLISHED = {
    V2: SHARED / "published" / "facts" / "continuous-v2.json",
    V3: SHARED / "published" / "facts" / "continuous-v3-beta-schedule.json",
}

_MARK = re.compile(r'<data value="([^"]*)" data-fact="([^"]*)">(.*?)</data>')


def facts_json(written: Note) -> dict[str, dict[str, object]]:
    return json.loads(written.downloads["facts.json"])  # type: ignore[no-any-return]


@pytest.mark.parametrize("folder", PUBLISHED)
def test_every_published_fact_to_a_billionth(folder: str) -> None:
    if not PUBLISHED[folder].is_file():
        pytest.skip(f"{PUBLISHED[folder]} is not here (set SWEEPPROF_SHARED)")
    wanted = json.loads(PUBLISHED[folder].read_text())
    found = facts_json(demo(folder)[1])
    missing = [id_ for id_ in wanted if id_ not in found]
    assert not missing
    for id_, value in wanted.items():
        assert found[id_]["value"] == pytest.approx(value, rel=1e-9, abs=1e-15), id_


@pytest.mark.parametrize("folder", [V2, V3, TOY])
def test_the_page_prints_its_facts(folder: str) -> None:
    written = demo(folder)[1]
    found = facts_json(written)
    marks = _MARK.findall(as_html(written))
    assert len(marks) > 100
    for value, id_, text in marks:
        fact = found[html.unescape(id_)]
        assert html.unescape(text) == fact["text"], id_
        values = fact["value"] if isinstance(fact["value"], list) else [fact["value"]]
        assert [float(v) for v in value.split()] == values, id_


@pytest.mark.parametrize("folder", [V2, V3, TOY])
def test_the_file_is_flat_sorted_and_finite(folder: str) -> None:
    text = demo(folder)[1].downloads["facts.json"]
    assert "NaN" not in text and "Infinity" not in text
    found = json.loads(text)
    assert list(found) == sorted(found)
    for fact in found.values():
        assert set(fact) == {"value", "unit", "text", "n", "source"}
        assert fact["unit"] in ("s", "fraction", "count", "ratio", "calls")
        assert isinstance(fact["n"], int)
        assert fact["text"] and fact["source"]
        for value in fact["value"] if isinstance(fact["value"], list) else [fact["value"]]:
            assert math.isfinite(value)


def test_what_is_not_defined_has_no_fact() -> None:
    one = note(analysis([run("a", {"lr": 0.1}, 1000.0)]))
    assert not [id_ for id_ in one.facts if id_.startswith(("effect.", "section.", "knob.", "intervals.", "tail."))]
    none = note(analysis([]))
    assert "runtime.mean" not in none.facts
    assert none.facts["runtime.count"].value == 0
    facts = Facts(analysis([run("a", {}, 10.0)]))
    facts.add("x", float("nan"), "s", "nan", 1, "nowhere")
    facts.add("y", None, "s", "–", 1, "nowhere")
    facts.add("z", [], "calls", "", 1, "nowhere")
    assert not {"x", "y", "z"} & set(facts.facts)


def test_counts_are_a_sorted_list() -> None:
    fact = demo(V2)[1].facts["section.epoch/eval_router_sampled.count.values"]
    assert (fact.value, fact.text, fact.unit) == ([32, 51], "32 or 51", "calls")
    assert mark(fact.id, fact.value, fact.text) == (
        '<data value="32 51" data-fact="section.epoch/eval_router_sampled.count.values">32 or 51</data>'
    )


def test_texts_of_the_published_kinds() -> None:
    v2, v3 = demo(V2)[1].facts, demo(V3)[1].facts
    assert v2["runtime.mean"].text == "10.26h"
    assert v2["effect.beta_schedule.eta_squared"].text == "0.00"
    assert v2["effect.loss_setting.omega_squared"].text == "−0.02"
    assert v2["double_count.mean"].text == "5.70h"
    assert v2["double_count.share"].text == "80.8%"
    assert v2["knob.scheduled_eval.saved"].text == "175.83h"
    assert v2["knob.scheduled_eval.saved.brief"].text == "176h"
    assert v3["intervals.run_start -> step_200.longest_in"].text == "30/36"
    assert v3["tail.mean"].text == "9.5 minutes"
    assert v3["tail.mean.hours"].text == "0.16h"
    assert v3["intervals.later.range"].text == "6.8 to 7.8 minutes"
    assert v3["compare.continuous-v2.delta"].text == "−9.03h"
    assert v3["compare.continuous-v2.ratio"].text == "8.3x"


def test_two_intervals_that_start_alike_have_their_own_facts() -> None:
    found, written = demo(V3)
    assert found.intervals is not None
    assert isinstance(found.intervals.tail_by_group[0], TailStat)
    ids = [i for i in written.facts if re.fullmatch(r"intervals\..* -> .*\.mean", i)]
    assert len(ids) == len(found.intervals.stats) == 9


def test_a_resumed_run_states_active_elapsed_and_gaps() -> None:
    from tests.unit.note_cases import Session

    found = analysis(
        [run("a", {"t": "x"}, sessions=[Session(0, 5000), Session(9000, 16000)]), run("b", {"t": "y"}, 12000.0)]
    )
    facts = note(found).facts
    assert facts["run.a.wall"].value == 12000.0
    assert facts["run.a.elapsed"].value == 16000.0
    assert facts["run.a.gap"].value == 4000.0
    assert facts["run.a.sessions"].value == 2


def test_a_large_collection_keeps_its_facts_small() -> None:
    runs = [run(f"r{i:05}", {"lr": i * 1e-5, "task": "ab"[i % 2]}, w) for i, w in enumerate(evenly(1200))]
    facts = note(analysis(runs)).facts
    assert sum(id_.startswith("run.") for id_ in facts) == MAX_RUNS
    assert not any(id_.startswith("runtime.by.lr.") for id_ in facts)
    assert facts["runtime.count"].value == 1200


def test_a_short_collection_beside_a_long_one_compares_in_hours() -> None:
    long = analysis([run("a", {"n": 1}, 36000.0), run("b", {"n": 1}, 36000.0)], name="long").comparable()
    short = note(analysis([run("a", {"n": 2}, 30.0), run("b", {"n": 2}, 30.0)], others=[long])).facts
    assert short["runtime.mean"].text == "30.00s"
    assert short["compare.long.mean"].text == "10.00h"
    assert short["compare.long.delta"].text == "−9.99h"
