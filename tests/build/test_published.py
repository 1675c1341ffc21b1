"""Both published notes, figure by figure: the facts unrounded, and the printed text on the built page.

The figures are listed here by hand, with the fact behind each where there is one. The prose they come from is not.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FACTS = Path(__file__).resolve().parents[1] / "data" / "published" / "facts"
Record = Callable[[str, object], None]
V2, V3 = "continuous-v2", "continuous-v3-beta-schedule"
EVAL = "epoch/eval_router_sampled"

pytestmark = pytest.mark.xdist_group("demo")


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure as published, and the fact that it states (None: a setting or a level, printed as it is)."""

    text: str
    fact: str | None = None

    def __str__(self) -> str:
        return f"{self.text} ({self.fact})" if self.fact else self.text


def tasks(unit: str, pattern: str, **values: str) -> list[Figure]:
    """One figure a task, by a fact id with ``{}`` for the task."""
    return [Figure(value + unit, pattern.format(task)) for task, value in values.items()]


PUBLISHED: dict[str, list[Figure]] = {
    V2: [
        # Snapshot
        Figure("36", "runtime.count"),
        Figure("10.26h", "runtime.mean"),
        Figure("7.47h", "runtime.median"),
        Figure("3.10h", "runtime.min"),
        Figure("36.11h", "runtime.max"),
        Figure("val_check_interval=0.02"),
        Figure("eval_generation_num_samples=None"),
        Figure("batch_size=128"),
        Figure("eval_batch_size=128"),
        Figure("micro_batch_size=auto"),
        *tasks(
            "h",
            "runtime.by.task_name.{}.mean",
            base_conversion="19.05",
            sorting_algorithms="17.19",
            multidigit_addition="9.31",
            list_summation="3.72",
            linear_equation_solving="4.27",
        ),
        # What runtime depends on
        Figure("0.64", "effect.task_name.eta_squared"),
        Figure("0.12", "effect.loss_setting.eta_squared"),
        Figure("0.10", "effect.beta.eta_squared"),
        Figure("0.00", "effect.beta_schedule.eta_squared"),
        Figure("0.00", "effect.token_weighted_reconstruction_weight.eta_squared"),
        Figure("beta0_const_pv0"),
        Figure("15.01h", "runtime.by.loss_setting.beta0_const_pv0.mean"),
        *tasks(
            "s",
            f"section.{EVAL}.by.{{}}.per_call",
            base_conversion="618",
            sorting_algorithms="582",
            list_summation="112",
            linear_equation_solving="128",
        ),
        Figure("32 or 51", f"section.{EVAL}.count.values"),
        # Where time goes
        Figure("44.06%", f"section.{EVAL}.share"),
        Figure("43.06%", f"section.{EVAL}/free_generation.share"),
        Figure("4.30%", "section.epoch/train.share"),
        Figure("3.45%", "section.epoch/eval_val_loss.share"),
        Figure("1.54%", "section.run/setup.share"),
        Figure("1.18%", "section.run/final_eval_router_sampled.share"),
        *tasks("s", f"section.{EVAL}/free_generation.by.{{}}.per_call", list_summation="108", base_conversion="609"),
        Figure("0.34s", f"section.{EVAL}/router_sampled_z_animation.per_call"),
        # Speed-ups
        Figure("47.51%", "knob.scheduled_eval.share"),
        Figure("46.57%", "knob.scheduled_eval.bound"),
        Figure("43.06%", "knob.free_generation.bound"),
        Figure("0.01%", "knob.checkpoint_and_writes.bound"),
        Figure("0.96%", "knob.posterior_mu.bound"),
        Figure("0.07%", "knob.animation.bound"),
        # What the published note does not say: the guard against double counting, and what was not profiled.
        Figure("45.46%", "sections.unattributed.share"),
        Figure("5.70h"),
        Figure("80.8%"),
    ],
    V3: [
        # Snapshot
        Figure("36", "runtime.count"),
        Figure("1.23h", "runtime.mean"),
        Figure("1.00h", "runtime.median"),
        Figure("0.50h", "runtime.min"),
        Figure("3.12h", "runtime.max"),
        *tasks(
            "h",
            "runtime.by.task_name.{}.mean",
            base_conversion="1.97",
            sorting_algorithms="1.57",
            multidigit_addition="1.28",
            linear_equation_solving="0.80",
            list_summation="0.80",
            grid_pathfinding="0.96",
        ),
        # Where time goes
        Figure("1.07h", "intervals.before_tail.mean"),
        Figure("0.16h", "tail.mean"),
        Figure("11.81%", "tail.share"),
        Figure("88%"),
        Figure("30/36"),
        Figure("13.6 minutes", "intervals.run_start -> step_200.mean"),
        Figure("6.8 to 7.8 minutes"),
        Figure("seven"),
        Figure("9.5 minutes", "tail.mean"),
        Figure("30.4 minutes", "tail.max"),
        # Tasks
        Figure("0.28h", "tail.by.base_conversion.mean"),
        Figure("14.64%", "tail.by.sorting_algorithms.share"),
        # Comparison
        Figure("10.26h"),
        Figure("-9.03h", "compare.continuous-v2.delta"),
        Figure("8.3x", "compare.continuous-v2.ratio"),
        Figure("eval_generation_num_samples=1000"),
        Figure("eval_generation_num_samples=None"),
    ],
}


def plain(markup: str) -> str:
    """The text of some HTML as a reader sees it, on one line, with a plain minus."""
    text = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", markup, flags=re.DOTALL)
    # Inline elements do not part words; all others do.
    text = re.sub(r"</?(data|code|strong|em|a|span|sub|sup|b|i|small|abbr)\b[^>]*>", "", text)
    text = html.unescape(re.sub(r"<[^>]+>", " ", text))
    return re.sub(r"\s+", " ", text).replace("\N{MINUS SIGN}", "-").strip()


@dataclass(frozen=True, slots=True)
class Page:
    """A built note: its article's text, the text of each marked fact, its ``facts.json``."""

    text: str
    marked: dict[str, set[str]]
    facts: dict[str, Any]


def read(site: Path, name: str) -> Page:
    folder = site / "from-entangled-v2" / name / "profiling"
    article = re.search(r"<article\b.*?</article>", (folder / "index.html").read_text("utf-8"), re.DOTALL)
    assert article, "the page has no article"
    marked: dict[str, set[str]] = {}
    for tag, text in re.findall(r"<data\b([^>]*)>(.*?)</data>", article[0], re.DOTALL):
        found = re.search(r'data-fact="([^"]*)"', tag)
        if found:
            marked.setdefault(html.unescape(found[1]), set()).add(plain(text))
    facts = json.loads((folder / "facts.json").read_text("utf-8"))
    return Page(plain(article[0]), marked, facts)


def stands(figure: str, text: str) -> bool:
    """Whether the figure stands in the text on its own, not as a part of a longer number or name."""
    # "Roughly 88%" in the published text; with decimals here.
    pattern = r"88(\.\d+)?%" if figure == "88%" else re.escape(figure)
    return re.search(rf"(?<![\w.=/-])(?:{pattern})(?![\w%]|[./]\d)", text) is not None or (
        figure.startswith("-") and f" {figure}" in text
    )


@pytest.mark.parametrize("name", [V2, V3])
def test_every_published_figure_stands_on_its_page(name: str, demo: Any, record_property: Record) -> None:
    page = read(demo.site, name)
    missing = [str(f) for f in PUBLISHED[name] if not stands(f.text, page.text)]
    total = len(PUBLISHED[name])
    record_property(f"{name}: published figures on the page", f"{total - len(missing)} of {total}")
    assert not missing


@pytest.mark.parametrize("name", [V2, V3])
def test_the_figures_are_the_text_of_their_facts(name: str, demo: Any) -> None:
    page = read(demo.site, name)
    wrong = []
    for figure in PUBLISHED[name]:
        if figure.fact is None:
            continue
        # A fact that is printed in a second unit as well has an id of its own for that: `tail.mean.hours`.
        texts = page.marked.get(figure.fact, set()) | page.marked.get(f"{figure.fact}.hours", set())
        if figure.text not in texts:
            wrong.append(f"{figure}: marked {sorted(texts) or 'nowhere'}")
    assert not wrong


@pytest.mark.parametrize("name", [V2, V3])
def test_facts_json_holds_every_fact_unrounded(name: str, demo: Any, record_property: Record) -> None:
    expected = json.loads((FACTS / f"{name}.json").read_text("utf-8"))
    facts = read(demo.site, name).facts
    wrong = []
    for fact, value in expected.items():
        found = facts.get(fact, {}).get("value")
        wanted, got = (value, found) if isinstance(value, list) else ([value], [found])
        same = (
            isinstance(got, list)
            and len(got) == len(wanted)
            and all(g is not None and math.isclose(w, g, rel_tol=1e-9) for w, g in zip(wanted, got, strict=True))
        )
        if not same:
            wrong.append(f"{fact}: {found!r}, not {value!r}")
    record_property(f"{name}: facts to 1e-9", f"{len(expected) - len(wrong)} of {len(expected)}")
    assert expected
    assert not wrong


@pytest.mark.parametrize("name", [V2, V3])
def test_every_fact_says_its_unit_text_runs_and_source(name: str, demo: Any) -> None:
    for fact, entry in read(demo.site, name).facts.items():
        assert set(entry) == {"value", "unit", "text", "n", "source"}, fact
        assert entry["unit"] and entry["source"], fact


@pytest.mark.parametrize("name", [V2, V3])
def test_every_marked_number_is_a_fact_with_its_value(name: str, demo: Any) -> None:
    folder = demo.site / "from-entangled-v2" / name / "profiling"
    page = (folder / "index.html").read_text("utf-8")
    facts = json.loads((folder / "facts.json").read_text("utf-8"))
    marks = re.findall(r"<data\b([^>]*)>", page)
    assert len(marks) > 30
    for tag in marks:
        fact = re.search(r'data-fact="([^"]*)"', tag)
        value = re.search(r'value="([^"]*)"', tag)
        assert fact and value, tag
        known = facts[html.unescape(fact[1])]["value"]
        if isinstance(known, int | float):
            assert math.isclose(float(value[1]), known, rel_tol=1e-9), tag


def test_the_comparison_weighs_the_changed_setting(demo: Any) -> None:
    """88 % was saved; the setting that changed is bounded by 44 %, so it cannot be all of it."""
    text = read(demo.site, V3).text
    at = text.index("cannot explain")
    sentence = text[max(0, at - 400) : at + 400]
    assert "eval_generation_num_samples" in sentence
    assert re.search(r"\b44(\.\d\d)?%", sentence)


def test_the_verdict_does_not_hide_the_unprofiled_time(demo: Any) -> None:
    text = read(demo.site, V2).text
    screen = text[: text.index("45.46%") + 200]
    assert "47.51%" in screen, "the largest measured cost is named beside the unprofiled time"
    assert not re.search(r"evaluation-bound(?! over| as far)", screen)


def test_the_page_says_that_its_runs_were_reconstructed(demo: Any) -> None:
    for name in (V2, V3):
        assert "reconstructed from the figures of a published profiling note" in read(demo.site, name).text


def test_the_search_for_figures_can_fail() -> None:
    assert stands("0.64", "η² 0.64, and")
    assert not stands("0.64", "η² 10.64")
    assert not stands("36", "30/36 or 36.11h")
    assert not stands("9.31h", "19.31h")
    assert stands("-9.03h", "shorter: -9.03h on the mean")
    assert stands("88%", "about 88.19% of wall")
    assert plain("<p>a <data value='1'>1.0</data>h&nbsp;&lt;b&gt;</p><p>c</p>") == "a 1.0h <b> c"
