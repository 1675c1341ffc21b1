"""The finished page: the published figures, safe markup, plain HTML that needs no extension, and what is beside it."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mkdocs_sweepprof.figures.base import Drawing
from mkdocs_sweepprof.note import FIGURES
from mkdocs_sweepprof.note.escape import plain
from mkdocs_sweepprof.note.facts import MAX_RUNS
from mkdocs_sweepprof.note.overview import render_overview
from mkdocs_sweepprof.readers.base import Problem
from tests.unit.note_cases import (
    BARE,
    RICH,
    TOY,
    V2,
    V3,
    analysis,
    as_html,
    body,
    context,
    demo,
    evenly,
    note,
    render,
    run,
    text_of,
)

SHARED = Path(os.environ.get("SWEEPPROF_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
NOTES = {
    V2: SHARED / "published" / "continuous-v2-profiling.txt",
    V3: SHARED / "published" / "continuous-v3-beta-schedule-profile.txt",
}
_FIGURE = re.compile(
    r"-?\d+\.\d+h|-?\d+(?:\.\d+)?%|\d+(?:\.\d+)?s\b|\d+\.\d+x|\d+/\d+|\d+\.\d+ minutes|\w+=\w+(?:\.\w+)*|[≈=] ?\d\.\d\d"
    r"|\d+(?:\.\d+)? (?:to|or) \d+(?:\.\d+)?(?: minutes)?|: \d+$"
)

HOSTILE = [
    "<b>bold</b>",
    "{{ x }}",
    "{% raw %}",
    "| a | b |",
    "*",
    "**strong** _em_",
    "`code`",
    "[x](javascript:alert(1))",
    "![i](http://x/y.png)",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</data></td></table><h1>x</h1>",
    "# heading",
    "--8<-- 'x'",
    "https://evil.example/x",
    "a\n\n# b",
    "n" * 300,
    "\u202eevil",
    "",
]


@pytest.mark.parametrize("folder", NOTES)
def test_every_published_figure_stands_on_its_page(folder: str) -> None:
    if not NOTES[folder].is_file():
        pytest.skip(f"{NOTES[folder]} is not here (set SWEEPPROF_SHARED)")
    figures = []
    for line in NOTES[folder].read_text().splitlines():
        figures += [f.strip() for f in _FIGURE.findall(line)]
    assert len(set(figures)) >= 25
    page = text_of(as_html(demo(folder)[1]))
    missing = []
    for figure in dict.fromkeys(figures):
        wanted = figure.replace("-", "−") if figure.startswith("-") else figure.lstrip("≈=: ")
        if not re.search(rf"(?<![\w.]){re.escape(wanted)}(?![\d])", page):
            missing.append(figure)
    assert not missing, f"{len(set(figures)) - len(missing)} of {len(set(figures))}"


@pytest.mark.parametrize("folder", [V2, V3, TOY])
def test_no_digit_stands_outside_facts_names_and_settings(folder: str) -> None:
    page = as_html(demo(folder)[1])
    for part in ("h1", "a", "code", "data"):
        page = re.sub(rf"<{part}\b.*?</{part}>", "", page, flags=re.DOTALL)
    page = page.replace("from-entangled-v2", "")
    assert not re.findall(r".{30}[0-9].{30}", text_of(page))


@pytest.mark.parametrize("folder", [V2, V3, TOY])
def test_the_page_reads_the_same_with_any_extensions(folder: str) -> None:
    written = demo(folder)[1]
    bare, rich = as_html(written, BARE), as_html(written, RICH)
    assert text_of(bare).replace("'", "’") == text_of(rich).replace("'", "’")
    for page in (bare, rich):
        assert not re.search(r"!!!|\{ ?[.:#]|\*\*|(?<!\d)```|\[\w+\]\(", text_of(page))


@pytest.mark.parametrize("folder", [V2, V3, TOY])
def test_raw_blocks_hold_no_blank_line(folder: str) -> None:
    text = body(demo(folder)[1])
    depth = 0
    for line in text.splitlines():
        depth += len(re.findall(r"<(?:div|table|ul)\b", line)) - len(re.findall(r"</(?:div|table|ul)>", line))
        assert depth == 0 or line.strip()
    assert depth == 0
    assert "\n\n\n" not in text


@pytest.mark.parametrize("folder", [V2, V3, TOY])
def test_tags_are_balanced(folder: str) -> None:
    from html.parser import HTMLParser

    class Balance(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open_: list[str] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("img", "br", "hr"):
                self.open_.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.open_.pop() == tag

    parser = Balance()
    parser.feed(as_html(demo(folder)[1]))
    assert not parser.open_


def test_parts_and_their_order() -> None:
    heads = re.findall(r"^## (.*)$", demo(V3)[1].markdown, re.MULTILINE)
    assert heads == [
        "Runtime snapshot",
        "What runtime depends on",
        "Where time goes",
        "Comparison",
        "Limits",
        "Runs",
        "Sources",
    ]
    heads = re.findall(r"^## (.*)$", demo(V2)[1].markdown, re.MULTILINE)
    assert "Speed-ups" in heads and "Comparison" not in heads


def test_values_take_no_effect_on_the_page() -> None:
    runs = [
        run(
            f"{bad} r{i}{j}",
            {bad or "empty": f"{bad}{j}", "group": bad, f"n {bad}": j},
            1000.0 + 10 * i + j,
            {(bad.strip("/") or "e") + "/part": (3, 100.0), "train": (2, 300.0)},
        )
        for i, bad in enumerate(HOSTILE)
        for j in (0, 1)
    ]
    problems = tuple(Problem(bad or "f", bad, bad) for bad in HOSTILE)
    found = analysis(runs, "group: group")
    found.title = "<b>{{ x }}</b> *t*"
    found.reader_notes = [*HOSTILE]
    found.mentions = [*HOSTILE]
    written = note(
        found,
        [Drawing("composition", "<svg/>", "<svg/>", "alt ] [x](y) <b> {{ x }}", "caption *x* _y_ <b> {{ x }}")],
        problems=problems,
        excluded=tuple(HOSTILE),
        labels={"group": "<i>label</i> *x*", "train": "{{ y }}"},
        folder="<u>f</u>",
        date="<s>d</s>",
    )
    text = body(written)
    assert "{{" not in text and "{%" not in text
    harmless = {"a", "button", "caption", "code", "data", "div", "em", "h1", "h2", "h3", "img", "li", "p", "span"}
    harmless |= {"strong", "table", "tbody", "td", "th", "thead", "tr", "ul"}
    for extensions in (BARE, RICH):
        page = as_html(written, extensions)
        assert set(re.findall(r"<([a-zA-Z][\w-]*)", page)) <= harmless
        assert set(re.findall(r"<em>(.*?)</em>", page)) == {"in no section"}
        assert set(re.findall(r'href="([^"]*)"', page)) == {"profiling/facts.json", "profiling/runs.csv"}
        assert set(re.findall(r'src="([^"]*)"', page)) == {
            "profiling/figures/composition.svg#only-light",
            "profiling/figures/composition.dark.svg#only-dark",
        }
        assert not re.findall(r"<[^>]*\son\w+=[^>]*>", re.sub(r'"[^"]*"', '""', page))
        assert html.unescape(page).count("alt ] [x](y) <b> {{ x }}") == 2
        shown = text_of(page)
        for bad in (
            "<b>bold</b>",
            "{{ x }}",
            "| a | b |",
            "<script>alert(1)</script>",
            "</data></td></table><h1>x</h1>",
        ):
            assert bad in shown
        assert all(len(plain(name)) <= 120 for name in re.findall(r"<code.*?</code>", page))
        assert f'title="{"n" * 300}"' in page
    front = yaml.safe_load(written.markdown.split("---\n")[1])
    assert front == {"title": "&lt;b&gt;&#x7b;&#x7b; x &#x7d;&#x7d;&lt;/b&gt; *t*"}
    assert json.loads(written.downloads["facts.json"])


def test_runs_are_linked_only_to_web_addresses() -> None:
    runs = [run("a&b", {}, 10.0), run("c", {}, 20.0)]
    assert '<a href="https&#x3a;&#x2f;&#x2f;' in note(analysis(runs, "run_url: https://t.example/{run}")).markdown
    assert (
        "<a href="
        not in re.sub(r'<a href="#limits">', "", as_html(note(analysis(runs, "run_url: 'javascript:{run}'")))).split(
            "Sources"
        )[0]
    )


def test_the_runs_table_sorts_by_value() -> None:
    runs = [run(f"r{i}", {"lr": 10.0**-i, "task": "ab"[i % 2]}, 1000.0 * (i + 1)) for i in range(4)]
    runs.append(run("killed", {"lr": 1, "task": "a"}, events=[(0, "run_start"), (100, "step_1")]))
    page = as_html(note(analysis(runs)))
    table = re.search(r'<table class="sweepprof-data sweepprof-sortable">.*?</table>', page, re.DOTALL)
    assert table is not None
    heads = re.findall(r'<th scope="col" aria-sort="none"[^>]*><button type="button"', table[0])
    assert len(heads) == 5
    rows = re.findall(r"<tr>(<th scope=\"row\".*?)</tr>", table[0])
    walls = [re.findall(r'data-sort="([^"]*)"', row)[3] for row in rows]
    assert walls == ["4000.0", "3000.0", "2000.0", "1000.0", ""]
    assert "left out: no end" in text_of(rows[-1])
    assert {re.findall(r'data-sort="([^"]*)"', row)[2] for row in rows} >= {"1.0", "0.1", "0.001"}


def test_a_long_runs_table_is_cut_and_says_so() -> None:
    runs = [run(f"r{i:04}", {"task": "ab"[i % 2]}, wall) for i, wall in enumerate(evenly(MAX_RUNS + 20))]
    page = as_html(note(analysis(runs)))
    assert page.count('<th scope="row" data-sort=') == MAX_RUNS
    assert "The runs table shows the slowest runs only; runs.csv has them all." in text_of(page)
    assert f"r{MAX_RUNS + 19:04}" in page and "r0000" not in page


def test_figures_stand_in_their_parts_for_both_themes() -> None:
    drawings = [Drawing(name, "<svg/>", "<svg/>", f"finding of {name}", f"about {name}") for name in [*FIGURES, "new"]]
    found, _ = demo(V2)
    page = as_html(note(found, drawings))
    for name in [*FIGURES, "new"]:
        assert f'<img alt="finding of {name}" src="profiling/figures/{name}.svg#only-light"' in page
        assert f'<img alt="finding of {name}" src="profiling/figures/{name}.dark.svg#only-dark"' in page
        assert f'<span class="sweepprof-caption">about {name}</span>' in page
    assert page.index("runtime-by-group") < page.index("What runtime depends on</h2>") < page.index("factors.svg")
    assert page.index("Where time goes</h2>") < page.index("composition.svg") < page.index("Speed-ups</h2>")


def test_links_to_pages_are_markdown() -> None:
    written = note(analysis([run("a", {}, 10.0)]), design="design.md", results="../res (x).md", overview="../../o.md")
    assert "[Design](design.md) · [Results](../res%20%28x%29.md) · [All sweeps](../../o.md)" in written.markdown
    assert "[facts.json](profiling/facts.json), [runs.csv](profiling/runs.csv)" in written.markdown
    assert "[Design]" not in note(analysis([run("a", {}, 10.0)])).markdown
    assert "](../continuous-v2/profiling.md)" in demo(V3)[1].markdown


def test_the_authors_words_stand_where_they_belong() -> None:
    parts = ("verdict", "runtime", "where", "limits", "runs", "sources")
    written = note(
        demo(V3)[0], description="*Rebuilt* runs.", commentary={part: f"Remark on **{part}**." for part in parts}
    )
    page = as_html(written)
    assert "<p><em>Rebuilt</em> runs.</p>" in page
    places = [page.index(f"Remark on <strong>{part}</strong>") for part in parts]
    assert places == sorted(places)
    assert page.index("Where time goes</h2>") < places[2] < page.index("Comparison</h2>")
    knob = "knobs: [{id: k, setting: lr, verb: lower, sections: train, note: '*Careful*.'}]"
    page = as_html(note(analysis([run("a", {"lr": 1}, 10.0, {"train": (1, 9.0)})], knob)))
    assert "<p><em>Careful</em>.</p>" in page


def test_the_first_screen_comes_first() -> None:
    page = as_html(demo(V2)[1])
    order = ["<h1", "sweepprof-claim", "Try first", "Then:", "Skip:", "Trust:", "sweepprof-bar", "<h2"]
    places = [page.index(x) for x in order]
    assert places == sorted(places)
    widths = [float(w) for w in re.findall(r"<div class=\"sweepprof-fill-\w+\" style=\"width:([\d.]+)%", page)]
    assert sum(widths) == pytest.approx(100.0, abs=0.01)
    assert widths[0] == pytest.approx(44.064, abs=0.001)


def test_a_part_can_be_overridden_and_a_block_filled(tmp_path: Path) -> None:
    found = demo(V2)[0]
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "limits.md.j2").write_text("## My limits\n\n<p>{{ '<b>' }} {{ a.title ~ '<i>*' }}</p>\n")
    text = render(found, [], context(), {}, (str(tmp_path),)).markdown
    assert "## My limits" in text and "## Limits" not in text and "## Runs" in text
    assert "&lt;b&gt; from-entangled-v2 continuous-v2&#x3c;i&#x3e;&#x2a;" in text
    other = tmp_path / "blocks"
    other.mkdir()
    (other / "note.md.j2").write_text(
        '{% extends "sweepprof/note.md.j2" %}{% block runs %}{{ super() }}\n<p>Mine.</p>\n{% endblock %}'
    )
    text = render(found, [], context(), {}, (str(other),)).markdown
    assert "<p>Mine.</p>" in text and "sweepprof-sortable" in text and "&#x3c;table" not in text


def test_a_note_is_the_same_each_time() -> None:
    found = demo(V2)[0]
    assert note(found).markdown == note(found).markdown
    assert note(found).downloads == note(found).downloads


def test_the_summary_is_plain() -> None:
    summary = demo(V2)[1].summary
    assert json.loads(json.dumps(summary)) == summary
    assert summary["mean_seconds"] == pytest.approx(36936.0)
    assert (summary["mean"], summary["median"], summary["count"], summary["found"]) == ("10.26h", "7.47h", 36, 36)
    assert summary["verdict"].startswith("Evaluation is the largest measured cost (47.51%)")
    assert summary["first_action"].startswith("increase val_check_interval: at most 46.57%")


def test_the_overview_has_a_row_for_each() -> None:
    summaries = [
        demo(folder)[1].summary | {"link": f"../{folder}/profiling.md", "title": f"<b>{folder}</b> | x_y", "date": date}
        for folder, date in ((V2, "2026-05"), (V3, None))
    ]
    written = render_overview(summaries, Drawing("trend", "<svg/>", "<svg/>", "It fell.", "Means."))
    for extensions in (BARE, RICH):
        page = as_html(written, extensions)
        assert page.count("<tr>") == 3
        assert "<b>" not in page
        assert f'href="../{V2}/profiling.md"' in page
        shown = text_of(page)
        for text in ("36/36", "10.26h", "7.47h", "1.23h", "recorded wall", "event-log wall", "2026-05", "Try first"):
            assert text in shown
        assert '<img alt="It fell." src="overview/figures/trend.svg#only-light"' in page
    assert "2 collections, 72 runs counted." in text_of(as_html(written))


def test_an_overview_over_nothing_and_over_one() -> None:
    assert "No collection was found." in text_of(as_html(render_overview([], None)))
    summary = note(analysis([run("a", {}, 10.0)])).summary | {"link": "../a.md"}
    shown = text_of(as_html(render_overview([summary], None)))
    assert "1 collection, 1 run counted." in shown
    none = note(analysis([])).summary | {"link": "../a.md"}
    assert "0/0" in text_of(as_html(render_overview([none], None)))


def test_nothing_heavy_is_imported() -> None:
    code = "import sys, mkdocs_sweepprof.note.overview, mkdocs_sweepprof.note.wording; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # The analysis package brings pandas with it: what it found is what a note is made of.
    assert not {"matplotlib", "scipy", "pydantic", "mkdocs"} & set(done.stdout.split())


def test_the_script_and_style_need_nothing_else() -> None:
    assets = Path(__file__).resolve().parents[2] / "mkdocs_sweepprof" / "assets"
    script, style = (assets / "sweepprof.js").read_text(), (assets / "sweepprof.css").read_text()
    assert not re.search(r"https?://|@import|import\s|require\(", script + style)
    assert style.count("{") == style.count("}")
    page = demo(V2)[1].markdown
    used = set(re.findall(r"sweepprof-[a-z0-9-]+", " ".join(re.findall(r'class="([^"]*)"', page))))
    assert not {c for c in used if c not in style} - {"sweepprof-sortable"}
    assert plain("<b>x</b>") == "x"


def test_an_order_of_levels_that_is_given_orders_the_tables() -> None:
    sections = {"train": (10, 500.0)}
    runs = [
        run(f"{x}{i}", {"size": x}, w + i, sections)
        for x, w in (("big", 900), ("mid", 1500), ("small", 800))
        for i in (0, 1)
    ]

    def rows(config: str) -> list[list[str]]:
        page = as_html(note(analysis(runs, "group: size\n" + config)))
        bodies = re.findall(r"<caption>(?:Wall time|Time per call) by .*?</table>", page, re.DOTALL)
        return [re.findall(r'<th scope="row"><code>(\w+)', b) for b in bodies]

    assert rows("levels: {size: [small, mid, big]}") == [["small", "mid", "big"]] * 2
    assert rows("") == [["mid", "big", "small"]] * 2
    written = note(analysis(runs, "group: size\nlevels: {size: [small, mid, big]}"))
    assert "slowest first: mid 0.42h, big 0.25h, small" in text_of(as_html(written))
