"""Where notes go in a nav, on plain data."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from mkdocs_sweepprof.nav import folder_title, fragment, page_title, paths, place, tree
from mkdocs_sweepprof.site import OVERVIEW, Entry


def entry(folder: str, *, design: bool = True, results: bool = True, title: str | None = None) -> Entry:
    return Entry(
        title or folder.rpartition("/")[2],
        f"{folder}/profiling.md",
        folder,
        f"{folder}/design.md" if design else None,
        f"{folder}/results.md" if results else None,
    )


V2 = entry("lab/v2")
V3 = entry("lab/v3")
SWEEPS_V2 = {"Sweeps": [OVERVIEW, {"Lab": [{"v2": "lab/v2/profiling.md"}]}]}


def test_right_after_results_in_a_nested_section() -> None:
    nav = [
        {"Home": "index.md"},
        {"Work": [{"V2": [{"Design": "lab/v2/design.md"}, {"Results": "lab/v2/results.md"}, "lab/v2/appendix.md"]}]},
    ]
    assert place(nav, [V2], overview=False) == [
        {"Home": "index.md"},
        {
            "Work": [
                {
                    "V2": [
                        {"Design": "lab/v2/design.md"},
                        {"Results": "lab/v2/results.md"},
                        {"Profiling": "lab/v2/profiling.md"},
                        "lab/v2/appendix.md",
                    ]
                }
            ]
        },
    ]


@pytest.mark.parametrize(
    ("nav", "index"),
    [
        (["lab/v2/design.md", "lab/v2/results.md", "x.md"], 2),
        (["lab/v2/results.md", "lab/v2/design.md", "x.md"], 2),
        (["lab/v2/results.md", "x.md"], 1),
        (["lab/v2/design.md", "x.md"], 1),
        (["./lab/v2/design.md", "x.md"], 1),
        (["/lab/v2/design.md", "x.md"], 1),
        (["x.md", {"Design": "lab/v2/design.md"}], 2),
        ([{"D": ["lab/v2/design.md"]}, "lab/v2/results.md"], 2),
    ],
)
def test_the_item_that_it_follows(nav: list[Any], index: int) -> None:
    out = place(nav, [V2], overview=False)
    assert out[index] == {"Profiling": "lab/v2/profiling.md"}
    assert out[:index] + out[index + 1 :] == nav


def test_only_a_design_page() -> None:
    out = place(["lab/v2/design.md", "x.md"], [entry("lab/v2", results=False)], overview=False)
    assert out == ["lab/v2/design.md", {"Profiling": "lab/v2/profiling.md"}, "x.md"]


def test_several_notes_in_one_list_get_their_own_titles() -> None:
    nav = [{"Work": ["lab/v2/design.md", "lab/v3/design.md"]}]
    assert place(nav, [V2, V3], overview=False) == [
        {
            "Work": [
                "lab/v2/design.md",
                {"v2": "lab/v2/profiling.md"},
                "lab/v3/design.md",
                {"v3": "lab/v3/profiling.md"},
            ]
        }
    ]


def test_the_overview_is_appended_when_every_note_has_its_place() -> None:
    out = place(["lab/v2/design.md"], [V2], overview=True)
    assert out[-1] == {"Sweeps": OVERVIEW}


def test_the_placeholder_takes_what_has_no_place() -> None:
    nav = ["index.md", {"All sweeps": "sweepprof/"}, "about.md"]
    assert place(nav, [entry("lab/v2", design=False, results=False)], overview=True) == [
        "index.md",
        {"All sweeps": SWEEPS_V2["Sweeps"]},
        "about.md",
    ]


@pytest.mark.parametrize("placeholder", ["sweepprof/", "sweepprof", "./sweepprof/", {"Sweeps": ["sweepprof/"]}])
def test_forms_of_the_placeholder(placeholder: Any) -> None:
    assert place(["index.md", placeholder], [V2], overview=True) == ["index.md", SWEEPS_V2]


def test_a_nested_placeholder() -> None:
    out = place([{"Work": ["a.md", {"Sweeps": "sweepprof/"}]}], [V2], overview=True)
    assert out == [{"Work": ["a.md", SWEEPS_V2]}]


def test_a_second_placeholder_goes() -> None:
    out = place([{"A": "sweepprof/"}, {"Work": ["a.md", {"B": "sweepprof/"}]}], [V2], overview=True)
    assert out == [{"A": SWEEPS_V2["Sweeps"]}, {"Work": ["a.md"]}]


def test_the_placeholder_with_the_overview_alone_is_a_page() -> None:
    out = place(["lab/v2/results.md", {"Sweeps": "sweepprof/"}], [V2], overview=True)
    assert out == ["lab/v2/results.md", {"Profiling": "lab/v2/profiling.md"}, {"Sweeps": OVERVIEW}]


def test_the_placeholder_goes_when_there_is_nothing() -> None:
    assert place(["index.md", {"Sweeps": "sweepprof/"}], [], overview=False) == ["index.md"]


def test_a_nav_that_names_neither_gets_one_section() -> None:
    assert place(["index.md"], [V2], overview=True) == ["index.md", SWEEPS_V2]


def test_append_does_not_go_beside_the_pages() -> None:
    assert place(["lab/v2/results.md", "x.md"], [V2], True, "append") == ["lab/v2/results.md", "x.md", SWEEPS_V2]


def test_none_adds_nothing_and_leaves_no_dead_link() -> None:
    assert place(["lab/v2/results.md", {"Sweeps": "sweepprof/"}], [V2], True, "none") == ["lab/v2/results.md"]


@pytest.mark.parametrize("mode", ["auto", "append"])
def test_what_the_author_named_stays_there(mode: Any) -> None:
    nav = [{"Timing": "lab/v2/profiling.md"}, "lab/v2/results.md", {"All": OVERVIEW}]
    assert place(nav, [V2], True, mode) == nav


def test_notes_come_after_an_overview_that_the_author_named() -> None:
    notes = SWEEPS_V2["Sweeps"][1:]
    assert place(["a.md", {"Lab": ["b.md", OVERVIEW, "c.md"]}], [V2], True) == [
        "a.md",
        {"Lab": ["b.md", OVERVIEW, *notes, "c.md"]},
    ]
    assert place([{"All": OVERVIEW}, "a.md"], [V2], True) == [{"All": [OVERVIEW, *notes]}, "a.md"]
    assert place([OVERVIEW], [V2], True, "append") == [{"Sweeps": [OVERVIEW, *notes]}]


def test_the_given_nav_is_left_as_it_was() -> None:
    nav = [{"Work": ["lab/v2/results.md", {"Sweeps": "sweepprof/"}]}]
    before = copy.deepcopy(nav)
    place(nav, [V2, V3], True)
    assert nav == before


def test_twice_is_once() -> None:
    nav = [{"Work": ["lab/v2/results.md"]}, {"Sweeps": "sweepprof/"}]
    once = place(nav, [V2, V3], True)
    assert place(once, [V2, V3], True) == once


def test_links_are_no_pages() -> None:
    nav = [{"Code": "https://example.com//sweepprof/"}]
    assert place(nav, [], False) == nav
    assert list(paths(nav)) == ["https://example.com//sweepprof/"]


def test_the_tree_nests_by_folder_in_order() -> None:
    entries = [entry("lab/b/x"), entry("lab/a"), entry("lab/b/y"), entry("solo", title="Solo")]
    assert tree(entries) == [
        {
            "Lab": [
                {"B": [{"x": "lab/b/x/profiling.md"}, {"y": "lab/b/y/profiling.md"}]},
                {"a": "lab/a/profiling.md"},
            ]
        },
        {"Solo": "solo/profiling.md"},
    ]


def test_titles_are_no_markup() -> None:
    assert tree([entry("a", title="<b>R&D</b>")]) == [{"&lt;b&gt;R&amp;D&lt;/b&gt;": "a/profiling.md"}]


def test_the_fragment_is_a_nav() -> None:
    assert fragment([V2], overview=True) == [SWEEPS_V2]
    assert yaml.safe_load(yaml.safe_dump(fragment([V2, V3], True))) == fragment([V2, V3], True)
    assert fragment([], overview=False) == []


def test_titles_of_folders_and_pages() -> None:
    assert folder_title("from-entangled-v2") == "From entangled v2"
    assert folder_title("LLM_runs") == "LLM runs"
    assert page_title("a/b/profiling.md") == "Profiling"
