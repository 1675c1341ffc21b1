"""Facts and figures in hand-written pages."""

from __future__ import annotations

import json

import pytest

from mkdocs_sweepprof.quote import Shelf, expand
from mkdocs_sweepprof.site import Quotable

FACTS = {
    "runtime.mean": {"value": 36936.0, "unit": "s", "text": "10.26h", "n": 36, "source": "profile"},
    "intervals.run_start -> step_200.mean": {"value": 816.0, "unit": "s", "text": "13.6 min", "n": 36, "source": "log"},
}


def quotable(folder: str) -> Quotable:
    name = folder.rpartition("/")[2]
    return Quotable(
        name,
        folder,
        f"{folder}/profiling.md",
        f"{folder}/profiling",
        json.dumps(FACTS).encode(),
        (("composition", "Evaluation [takes] most.", "Shares."),),
    )


SHELF = Shelf([quotable("old/v2"), quotable("old/v3"), quotable("new/v3")])


def test_a_fact_becomes_its_printed_text():
    text, messages = expand("Mean <!-- sweepprof: fact v2 runtime.mean -->.", "old/v2/results.md", SHELF)
    assert 'value="36936.0"' in text
    assert text.endswith(">10.26h</data>.")
    assert not messages


def test_an_id_may_hold_spaces_and_an_arrow():
    text, messages = expand("<!-- sweepprof: fact v2 intervals.run_start -> step_200.mean -->", "index.md", SHELF)
    assert "13.6 min" in text
    assert not messages


def test_a_figure_is_linked_from_the_page_that_quotes_it():
    text, messages = expand("<!-- sweepprof: figure old/v3 composition -->", "papers/draft.md", SHELF)
    assert "../old/v3/profiling/figures/composition.svg#only-light" in text
    assert "../old/v3/profiling/figures/composition.dark.svg#only-dark" in text
    assert not messages


@pytest.mark.parametrize(
    ("quotation", "told"),
    [
        ("fact v2 runtime.maen", "'v2' has no fact 'runtime.maen'. Did you mean 'runtime.mean'?"),
        ("fact v1 runtime.mean", "no collection is called 'v1'. Did you mean 'v2'?"),
        ("fact v3 runtime.mean", "no collection is called 'v3'."),  # two have that name
        ("figure v2 compositon", "'v2' has no figure 'compositon'. Did you mean 'composition'?"),
        ("fact v2", "the fact's id is missing after 'v2'. Known: intervals.run_start -> step_200.mean, runtime.mean."),
        ("figure v2", "the figure's name is missing after 'v2'. Known: composition."),
        ("fact", "'sweepprof: fact' names no collection. Known: new/v3, old/v2, old/v3, v2."),
        ("", "this comment quotes nothing. Write 'sweepprof: fact', a collection and a fact's id."),
        ("chart v2 composition", "'sweepprof: chart' is unknown. Write 'sweepprof: fact' or 'sweepprof: figure'."),
    ],
)
def test_an_unknown_one_stays_and_warns_with_line_and_nearest(quotation, told):
    source = f"one\n\ntwo <!-- sweepprof: {quotation} -->\n"
    text, messages = expand(source, "results.md", SHELF)
    assert text == source
    assert [m.level for m in messages] == ["warning"]
    assert messages[0].text.startswith(f"results.md:3: {told}")


@pytest.mark.parametrize(
    "source",
    [
        "```md\n<!-- sweepprof: fact v2 runtime.mean -->\n```\n",
        "~~~~\n~~~\n<!-- sweepprof: fact v2 nothing -->\n~~~~\n",
        "Write `<!-- sweepprof: fact v2 runtime.mean -->` there.",
        "``a ` <!-- sweepprof: fact v2 runtime.mean -->``",
        "```\nnever closed\n<!-- sweepprof: fact v2 runtime.mean -->",
    ],
)
def test_code_is_left_as_it_is(source):
    assert expand(source, "guide.md", SHELF) == (source, [])


def test_code_before_and_after_does_not_hide_a_quotation():
    source = "```\nx\n```\n<!-- sweepprof: fact v2 runtime.mean -->\n`y` <!-- sweepprof: fact v2 runtime.mean -->\n"
    text, messages = expand(source, "a.md", SHELF)
    assert text.count("10.26h") == 2
    assert not messages


@pytest.mark.parametrize("empty", ["<!-- sweepprof: -->", "<!--sweepprof:-->", "<!-- sweepprof: fact -->"])
def test_an_empty_one_does_not_swallow_the_next(empty):
    text, messages = expand(f"{empty} and <!-- sweepprof: fact v2 runtime.mean -->", "a.md", SHELF)
    assert text.startswith(f"{empty} and <data") and text.endswith(">10.26h</data>")
    assert len(messages) == 1
