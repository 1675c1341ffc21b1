"""Collections that are not as tidy as the published ones, and values that look like markup."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.build.pages import (
    BARE,
    MATERIAL,
    Parsed,
    build,
    clumsy,
    content,
    facts,
    log,
    native,
    note,
    notices,
    prose,
    put,
    squeeze,
    usual,
    warnings,
)
from tests.build.support import Built

pytestmark = pytest.mark.xdist_group("edge-cases")

Runs = dict[str, dict[str, str]]


# --- shapes of a sweep -----------------------------------------------------------------------------------------------


def one_run() -> Runs:
    return {"only": native({"task": "copy", "lr": 0.1}, 7200, usual(7200))}


def two_runs() -> Runs:
    return {f"r{i}": native({"task": t}, 3600 * (i + 1), usual(3600 * (i + 1))) for i, t in enumerate(("copy", "sort"))}


def one_group() -> Runs:
    """Every run has the same task; only the seed and one number vary."""
    return {
        f"r{i}": native({"task": "copy", "lr": (0.1, 0.2)[i % 2], "seed": i}, 3600 + 60 * i, usual(3600 + 60 * i))
        for i in range(6)
    }


def no_factor() -> Runs:
    return {f"r{i}": native({"task": "copy", "lr": 0.1}, 3600 + 60 * i, usual(3600 + 60 * i)) for i in range(5)}


def by_seed() -> Runs:
    return {
        f"{t}-{s}": native({"task": t, "seed": s}, 3600 * (k + 1) + 60 * s, usual(3600 * (k + 1) + 60 * s))
        for k, t in enumerate(("copy", "sort", "parity"))
        for s in range(4)
    }


def unbalanced() -> Runs:
    """Nine runs of one task, two of another, one of a third; not every run has every section or field."""
    out: Runs = {}
    for i in range(9):
        out[f"copy{i}"] = native({"task": "copy", "lr": 0.1 * (i % 3), "seed": i}, 3000 + 50 * i, usual(3000 + 50 * i))
    for i in range(2):
        out[f"sort{i}"] = native({"task": "sort", "lr": 0.1, "depth": 4}, 9000 + i, usual(9000 + i)[:2])
    out["parity"] = native({"task": "parity"}, 20000, usual(20000))
    return out


def mixed_values() -> Runs:
    """One field holds numbers, None, text and a boolean; 1 and 1.0 are one level."""
    values: list[Any] = [None, None, 1, 1.0, 10, 10, "all", "all", True, True]
    return {
        f"r{i}": native({"samples": v, "task": ("copy", "sort")[i // 5]}, 3600 + 500 * i, usual(3600 + 500 * i))
        for i, v in enumerate(values)
    }


def events_only() -> Runs:
    return {
        f"{t}-{s}": native({"task": t, "seed": s}, None, (), log(3600.0 * (k + 1) + 100 * s))
        for k, t in enumerate(("copy", "sort"))
        for s in range(3)
    }


def configs_only() -> Runs:
    return {f"r{i}": native({"task": ("copy", "sort")[i % 2]}, None) for i in range(4)}


SHAPES: dict[str, Callable[[], Runs]] = {
    f.__name__: f
    for f in (
        one_run,
        two_runs,
        one_group,
        no_factor,
        by_seed,
        unbalanced,
        mixed_values,
        events_only,
        configs_only,
    )
}


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("shapes")
    for name, make in SHAPES.items():
        put(folder, name, make())
    return build(folder, strict=True)


@pytest.mark.parametrize("shape", SHAPES)
def test_prose_stays_grammatical(shape: str, shapes: Built) -> None:
    page = note(shapes, shape)
    assert page.all("h1")[0].text == shape
    sentences = prose(page)
    assert len(sentences) > 5
    assert not clumsy(sentences)
    for sentence in sentences:
        assert not re.search(r"\bNone\b|\{\}|<[a-z/]|\bSafe\(", sentence) or shape == "mixed_values", sentence


def test_no_warning_for_any_shape(shapes: Built) -> None:
    assert warnings(shapes) == []


def test_exactly_half_is_not_most(shapes: Built) -> None:
    """Evaluation takes half of every run here; the sums of its parts lie a hair above or below that."""
    for shape in ("one_run", "one_group", "by_seed", "unbalanced"):
        text = note(shapes, shape).visible
        assert "Evaluation is the largest measured cost (50.00%)" in text and "evaluation-bound" not in text, shape


def test_equally_long_intervals_have_no_longest(shapes: Built) -> None:
    found = facts(shapes, "events_only")
    longest = [v["value"] for k, v in found.items() if k.endswith(".longest_in")]
    assert len(longest) == 6 and set(longest) == {0}
    assert "The longest interval" not in note(shapes, "events_only").visible


def test_one_run_is_not_called_a_sweep_of_runs(shapes: Built) -> None:
    page = note(shapes, "one_run")
    assert "These runs" not in page.visible and "There is one run" in page.visible
    found = facts(shapes, "one_run")
    assert found["runtime.count"]["value"] == 1
    # One run has no spread and nothing to compare.
    assert not [k for k in found if k.startswith("effect.")]
    assert "slowest" not in page.visible.split("Runs")[0].lower()
    assert "What runtime depends on" not in [e.text for e in page.all("h2")]


def test_one_group_is_no_group(shapes: Built) -> None:
    found = facts(shapes, "one_group")
    assert "task" not in {k.split(".")[1] for k in found if k.startswith("effect.")}
    page = note(shapes, "one_group")
    assert "task=copy" in page.visible, "what is the same in all runs is a shared setting"


def test_no_factor_is_said(shapes: Built) -> None:
    page = note(shapes, "no_factor")
    assert "No config field varies" in page.visible
    assert not [k for k in facts(shapes, "no_factor") if k.startswith("effect.")]
    assert "all runs share one configuration" in page.visible


def test_repeats_by_seed_are_stated_and_the_seed_is_no_group(shapes: Built) -> None:
    page = note(shapes, "by_seed")
    assert "four runs per task level, by seed" in page.visible
    assert "noise is unknown" not in page.visible
    assert "Runs are compared by task" in page.visible


def test_an_unbalanced_collection_counts_what_is_there(shapes: Built) -> None:
    found, page = facts(shapes, "unbalanced"), note(shapes, "unbalanced")
    assert found["runtime.by.task.copy.count"]["value"] == 9
    assert found["runtime.by.task.parity.count"]["value"] == 1
    assert found["runtime.by.task.parity.mean"]["value"] == pytest.approx(20000)
    # Absent sections count as nothing in a share, and are not in a per-call mean.
    runs = unbalanced()
    walls = {k: json.loads(v["profile.json"])["wall_seconds"] for k, v in runs.items()}
    rows = {k: {s["section"]: s for s in json.loads(v["profile.json"])["sections"]} for k, v in runs.items()}
    path = "run/setup"
    share = sum(r[path]["total_seconds"] / walls[k] for k, r in rows.items() if path in r) / 12
    assert found[f"section.{path}.share"]["value"] == pytest.approx(share, rel=1e-9)
    calls = [r[path]["total_seconds"] / r[path]["count"] for r in rows.values() if path in r]
    assert found[f"section.{path}.per_call"]["value"] == pytest.approx(sum(calls) / len(calls), rel=1e-9)
    assert found[f"section.{path}.runs"]["value"] == 10
    # A field that some runs lack has a level that says so, unlike None.
    assert found["runtime.by.lr.(not set).mean"]["value"] == pytest.approx(20000)
    assert "(not set)" in page.visible


def test_none_beside_numbers_is_a_level_like_any_other(shapes: Built) -> None:
    found, page = facts(shapes, "mixed_values"), note(shapes, "mixed_values")
    levels = {k.split(".")[3] for k in found if re.fullmatch(r"runtime\.by\.samples\.[^.]+\.mean", k)}
    assert levels == {"None", "1", "10", "all", "true"}
    assert found["runtime.by.samples.1.count"]["value"] == 2, "1 and 1.0 are one level"
    assert found["runtime.by.samples.None.mean"]["value"] == pytest.approx(3850)
    assert "samples=None" in page.visible or "None" in page.visible


def test_runs_without_any_clock_are_said_to_be_not_started(shapes: Built) -> None:
    found, page = facts(shapes, "configs_only"), note(shapes, "configs_only")
    assert found["runtime.count"]["value"] == 0 and "runtime.mean" not in found
    assert found["runs.left_out.not_started"]["value"] == 4
    assert "none of which can be counted" in page.visible
    assert "4 not started" in notices(page)


# --- killed runs -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """36 runs, five of which stop in the middle of their log."""
    folder = tmp_path_factory.mktemp("killed")
    runs: Runs = {}
    for k, task in enumerate(("copy", "sort", "parity", "add", "rev", "sum")):
        for j in range(6):
            i = 6 * k + j
            wall = 3600.0 * (k + 1) + 60 * j
            end = i % 8 != 3  # 3, 11, 19, 27, 35
            runs[f"{task}-{j}"] = native({"task": task, "loss": f"l{j}"}, None, (), log(wall, end=end))
    put(folder, "sweep", runs)
    return build(folder, strict=True)


def test_killed_runs_pass_strict_and_are_left_out_of_the_means(killed: Built) -> None:
    found = facts(killed, "sweep")
    assert found["runtime.count"]["value"] == 31
    assert found["runtime.found"]["value"] == 36
    assert found["runs.left_out.no_end"]["value"] == 5
    walls = [3600.0 * (i // 6 + 1) + 60 * (i % 6) for i in range(36) if i % 8 != 3]
    assert found["runtime.mean"]["value"] == pytest.approx(sum(walls) / 31, rel=1e-12)
    # The time reached is known, and no mean has it.
    assert found["run.copy-3.reached"]["value"] == pytest.approx(0.9 * 3780, rel=1e-9)


def test_killed_runs_are_in_a_notice_in_the_table_and_in_the_log(killed: Built) -> None:
    page = note(killed, "sweep")
    notice = notices(page)
    assert "5 of 36 runs are left out of every mean" in notice
    for name in ("copy-3", "sort-5", "add-1", "rev-3", "sum-5"):
        assert name in notice
    assert "31/36" in page.visible
    table = next(e for e in page.all("table") if "sweepprof-sortable" in e.attributes["class"])
    assert table.text.count("no end") == 5
    said = [r for r in killed.records if "left out" in r.getMessage()]
    assert len(said) == 1 and said[0].levelno == logging.INFO
    assert "collections/sweep" in said[0].getMessage() and "5 no_end" in said[0].getMessage()
    assert not clumsy(prose(page))


# --- values that look like markup ------------------------------------------------------------------------------------

NASTY = [
    "<b>bold</b>",
    "{{ x }}",
    "{% raw %}{{ config }}",
    "| a |",
    "*",
    "**strong** and _em_",
    "`code`",
    "``` x",
    "</script><script>alert(1)</script>",
    "[x](javascript:1)",
    "![i](x.png)",
    "$x$ and \\(y\\)",
    ":smile:",
    "&amp; &lt;i&gt;",
    "line one\n\n# line two\n\n- item",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' onclick='x",
    "--- a ==mark== ^^ins^^ ~~del~~",
    "[^1] [ref][1] https://example.org/a_b",
    "<!-- comment",
    "++ctrl+x++ {--del--} (c) 1/2 -->",
    '[=50% "half"]',
    "\\*escaped\\* \\",
    "n" * 300,
    "café ☃ \u202eright-to-left",
]
"""Each is a task name: two runs each."""


def as_text(value: str) -> str:
    """A value as a page may show it: one line, without direction marks."""
    return squeeze(value.replace("\u202e", ""))


def nasty_collection(folder: Path) -> None:
    """Every name that a page can show holds every kind of markup."""
    for i, value in enumerate(NASTY):
        for j in range(2):
            section = re.sub(r"\s*\n\s*", " ", value).replace("/", "∕")
            wall = 3600.0 + 100 * i + 10 * j
            config = {"task": value, "shared": "<i>{{ y }}</i> *z* `|`", f"key {i} {value[:40]}": value, "seed": j}
            name = re.sub(r"[/\x00\n]", "_", value)[:120] + f"~{i}~{j}"
            rows = [
                {"section": "epoch/train", "count": 10, "total_seconds": wall * 0.5},
                {"section": f"epoch/{section}", "count": 3, "total_seconds": wall * 0.2},
                {"section": f"epoch/{section}/<b>{{{{ in }}}}*", "count": 3, "total_seconds": wall * 0.1},
                {"section": "run/<script>alert(2)</script>|`*_x_*`", "count": 2, "total_seconds": wall * 0.1},
            ]
            events = [
                {"time": 1.77e9, "event": "run_start"},
                {"time": 1.77e9 + wall * 0.4, "event": "checkpoint", "name": "<b>{{ e }}</b>|*`"},
                {"time": 1.77e9 + wall * 0.9, "event": "checkpoint", "name": "epoch_end"},
                {"time": 1.77e9 + wall, "event": "run_end", "status": "completed"},
            ]
            there = folder / "collections" / PLACE / "runs" / name
            there.mkdir(parents=True)
            (there / "config.json").write_text(json.dumps(config))
            (there / "profile.json").write_text(json.dumps({"wall_seconds": wall, "sections": rows}))
            (there / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
    (folder / "collections" / PLACE / "collection.yml").write_text(
        yaml.safe_dump(
            {
                "title": TITLE,
                "group": "task",
                "settings": ["shared"],
                "labels": {"seed": "<u>label</u> {{ l }} | *", "epoch/train": "`tr` **ain** <s>"},
                "knobs": [
                    {
                        "id": "one",
                        "setting": "shared",
                        "verb": "<b>turn</b> {{ v }} *down* |",
                        "sections": "run/**",
                    },
                    {"id": "two", "label": "</p><script>{{ k }}</script> | `*`", "sections": "epoch/train"},
                ],
            }
        )
    )
    # Beside it one with nothing but its name, and one that the first is not.
    put(folder, "plain <b>{{ n }}*", {f"r{i}": native({"task": "a"}, 60.0 + i, usual(60.0)) for i in range(2)})


PLACE = "lab <b> {{ x }} & $y$/sweep *a* `b` <i> {% if %}"
TITLE = "T <b>itle</b> {{ t }} | *x* `y` & $z$ </title><script>alert(3)</script>"

CONFIGS = {"material": MATERIAL, "mkdocs": {**BARE, "plugins": ["search", "sweepprof"]}}


@pytest.fixture(scope="module", params=CONFIGS)
def nasty(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("nasty")
    nasty_collection(folder)
    return build(folder, CONFIGS[request.param], strict=True)


def page_of(built: Built, ending: str) -> str:
    found = [p for p in built.files() if p.endswith(ending)]
    assert len(found) == 1, found
    return built.html(found[0])


def nasty_page(built: Built) -> str:
    return page_of(built, "{% if %}/profiling/index.html")


OUR_TAGS = frozenset(
    [
        "h1",
        "h2",
        "h3",
        "p",
        "div",
        "ul",
        "ol",
        "li",
        "strong",
        "em",
        "a",
        "span",
        "code",
        "data",
        "img",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "button",
        "nav",
        "header",
        "article",
        "section",
        "figure",
        "figcaption",
        "hr",
        "svg",
        "path",
    ]
)


def test_no_markup_gets_through(nasty: Built) -> None:
    page = Parsed(content(nasty_page(nasty)))
    assert page.tags() <= OUR_TAGS, page.tags() - OUR_TAGS
    for element in page.elements:
        handlers = [a for a in element.attributes if a.startswith("on")]
        assert not handlers, element
        for name in ("href", "src"):
            assert "javascript:" not in element.attributes.get(name, "").lower(), element
    images = [e.attributes["src"] for e in page.all("img")]
    assert images and all("figures/" in s for s in images)
    links = [e for e in page.all("a") if not e.attributes.get("href", "").startswith(("#", "../", "profiling/", "./"))]
    assert not [e for e in links if "example.org" in e.attributes.get("href", "")]
    # No ordinary page element inside a name.
    for element in page.all("code"):
        assert not element.attributes.keys() - {"title"}


def test_text_equals_the_raw_value(nasty: Built) -> None:
    page = Parsed(content(nasty_page(nasty)))
    shown = {e.text for e in page.elements if e.tag in ("code", "span", "th", "td")}
    titles = {squeeze(e.attributes["title"]) for e in page.elements if "title" in e.attributes}
    for value in NASTY:
        text = as_text(value)
        if len(text) <= 72:
            assert text in shown, text
        else:
            assert text in titles, text
            assert any(s.startswith("nnn") and "…" in s for s in shown)
    assert "shared=<i>{{ y }}</i> *z* `|`" in shown
    assert any("<b>{{ e }}</b>|*`" in s for s in shown), "event names"
    assert "run/<script>alert(2)</script>|`*_x_*`" in shown, "section paths"
    assert page.all("h1")[0].text.rstrip("¶") == TITLE
    assert "<b>turn</b> {{ v }} *down* |" in page.visible and "</p><script>{{ k }}</script> | `*`" in page.visible
    assert "`tr` **ain** <s>" in page.visible and "<u>label</u> {{ l }} | *" in page.visible


def test_run_folders_are_shown_as_they_are_named(nasty: Built) -> None:
    page = Parsed(content(nasty_page(nasty)))
    table = next(e for e in page.all("table") if "sweepprof-sortable" in e.attributes.get("class", ""))
    rows = [
        e.text
        for e in page.elements[page.elements.index(table) :]
        if e.tag == "th" and "row" in e.attributes.get("scope", "")
    ]
    titles = {squeeze(e.attributes["title"]) for e in page.elements if "title" in e.attributes}
    for i, value in enumerate(NASTY):
        name = squeeze((re.sub(r"[/\x00\n]", "_", value)[:120] + f"~{i}~1").replace("\u202e", ""))
        assert name in rows or name in titles, name


def test_the_overview_title_nav_and_search_hold_names_as_text(nasty: Built) -> None:
    overview = nasty.html("sweepprof/index.html")
    page = Parsed(content(overview))
    assert page.tags() <= OUR_TAGS
    assert any(e.text == TITLE or squeeze(e.attributes.get("title", "")) == TITLE for e in page.elements)
    for html in (overview, nasty_page(nasty), nasty.html("index.html")):
        whole = Parsed(html)
        # The mkdocs theme has an <i> of its own, empty.
        assert not [e for e in whole.elements if e.tag in {"b", "i", "u", "s", "iframe", "object"} and e.text]
        assert not [e for e in whole.all("script") if "alert(" in e.text]
        assert "alert(3)" not in "".join(e.text for e in whole.all("script"))
    titles = {e.text for e in Parsed(nasty_page(nasty)).all("title")}
    assert any(t.startswith(TITLE) for t in titles), titles
    index = json.loads((nasty.site / "search/search_index.json").read_text())
    mine = [d for d in index["docs"] if "profiling" in d["location"]]
    assert mine
    if nasty.config.theme.name == "material":
        # Material shows titles and texts of the index as HTML; the script of MkDocs' own search encodes them.
        for doc in index["docs"]:
            for part in (doc["title"], doc["text"]):
                assert not Parsed(part).tags() - OUR_TAGS, part[:200]
    else:
        assert any(NASTY[0] in d["text"] and NASTY[1] in d["text"] for d in mine)


def test_nav_names_the_note_as_its_title(nasty: Built) -> None:
    def titles(items: Any) -> list[str]:
        out = []
        for item in items:
            out.append(str(item.title))
            out += titles(item.children or [])
        return out

    nav = titles(nasty.config["_nav"].items)
    # Themes print nav titles raw: they are escaped, once.
    assert not [t for t in nav if "<" in t], nav
    links = [e.text for e in Parsed(nasty.html("index.html")).all("a")]
    assert any(t == TITLE for t in links), [t for t in links if "itle" in t]
    assert not [t for t in links if "&lt;" in t or "&amp;" in t]


def test_facts_keep_names_as_they_are(nasty: Built) -> None:
    path = next(p for p in nasty.files() if p.endswith("{% if %}/profiling/facts.json"))
    found = json.loads((nasty.site / path).read_text("utf-8"))
    page = Parsed(content(nasty_page(nasty)))
    assert found["runtime.count"]["value"] == 2 * len(NASTY)
    for value in NASTY:
        key = f"runtime.by.task.{' '.join(value.split())}.mean"
        assert key in found, key
    marks = page.all("data")
    assert len(marks) > 100
    for mark in marks:
        assert mark.attributes["data-fact"].replace("\u202e", "") in {k.replace("\u202e", "") for k in found}, mark
    for name in ("runs.csv", "sections.csv", "intervals.csv", "effects.csv"):
        assert path.replace("facts.json", name) in nasty.files()


# --- sizes ----------------------------------------------------------------------------------------------------------


def factors(n: int, runs: int) -> Runs:
    return {
        f"r{i}": native(
            {"lr": 0.1, **{f"f{k}": f"v{(i >> (k % 5)) % 2}" for k in range(n)}},
            3600 + 37 * (i * 7919 % 100),
            usual(3600 + 37 * (i * 7919 % 100)),
        )
        for i in range(runs)
    }


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("sizes")
    for n in (0, 1, 9):
        for runs in (1, 2, 36):
            put(folder, f"{n}-factors-{runs}-runs", factors(n, runs))
    return build(folder, strict=True)


@pytest.mark.parametrize("n", [0, 1, 9])
@pytest.mark.parametrize("runs", [1, 2, 36])
def test_prose_for_few_and_many(n: int, runs: int, sizes: Built) -> None:
    place = f"{n}-factors-{runs}-runs"
    page, found = note(sizes, place), facts(sizes, place)
    assert found["runtime.count"]["value"] == runs
    assert not clumsy(prose(page))
    expected = 0 if runs == 1 else min(n, 5 if runs == 36 else 1) and n
    if runs == 36:
        assert found["factors.count"]["value"] == expected


def test_the_overview_of_many(sizes: Built) -> None:
    page = Parsed(content(sizes.html("sweepprof/index.html")))
    assert not clumsy(prose(page))
    assert "9 sweeps" in page.visible or "9 collections" in page.visible


def test_ten_thousand_runs(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """As tables, so that the test spends its time on the product and not on making folders."""
    n = 10_000
    there = tmp_path / "collections" / "large"
    there.mkdir(parents=True)
    runs, sections = ["run,wall_seconds,task,lr,seed"], ["run,section,count,total_seconds"]
    for i in range(n):
        wall = 1000.0 + (i * 7919) % 5000
        runs.append(f"run{i},{wall},t{i % 12},{0.1 * (i % 7):.1f},{i}")
        sections += [
            f"run{i},epoch/train,10,{wall * 0.5}",
            f"run{i},epoch/eval,5,{wall * 0.3}",
            f"run{i},run/setup,1,9",
        ]
    (there / "runs.csv").write_text("\n".join(runs) + "\n")
    (there / "sections.csv").write_text("\n".join(sections) + "\n")
    start = time.perf_counter()
    built = build(tmp_path, strict=True)
    first = time.perf_counter() - start
    start = time.perf_counter()
    build(tmp_path, strict=True)
    record_property("build of 10 000 runs (cold, then unchanged), s", f"{first:.1f}, {time.perf_counter() - start:.1f}")
    page, found = note(built, "large"), facts(built, "large")
    assert found["runtime.count"]["value"] == n
    assert "10000/10000" in page.visible
    assert "No field alone accounts for a noticeable part of the variation in wall time" in page.visible
    assert not clumsy(prose(page))
    assert len(built.html("large/profiling/index.html")) < 2_000_000, "a page that a browser can show"
