"""The notes as their reader meets them: looked at, clicked through; by address, and once more by instant navigation."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NOTES = {
    "v2": "from-entangled-v2/continuous-v2/",
    "v3": "from-entangled-v2/continuous-v3-beta-schedule/",
    "toy": "toy-sequence-tasks/",
}
FIRST_SCREEN = {
    "verdict": ".sweepprof-claim",
    "first action": ".sweepprof-verdict li",
    "last action": ".sweepprof-verdict li:last-child",
    "trust": ".sweepprof-trust",
    "bar": ".sweepprof-bar",
    "legend": ".sweepprof-legend",
}
TASKS = {"v2": "base_conversion", "v3": "sorting_algorithms", "toy": "parity"}

Make = Callable[..., Any]


def arrive(tab: Any, note: str, how: str, start: str = "sweepprof/") -> Any:
    """Come to a note by its address, or by a click on a link of another page."""
    path = f"{NOTES[note]}profiling/"
    if how == "address":
        return tab.open(path)
    tab.open(start)
    return tab.follow(path)


each_note = pytest.mark.parametrize("note", list(NOTES))
both_ways = pytest.mark.parametrize("how", ["address", "click"])


def bottom(page: Any, selector: str) -> float:
    """Lower edge of the first element that fits, in pixels from the top of the page."""
    box = page.locator(f"article {selector}").first.bounding_box()
    assert box, f"{selector} is not visible"
    assert box["width"] > 0 and box["height"] > 0
    return float(box["y"] + box["height"] + page.evaluate("window.scrollY"))


@each_note
@both_ways
def test_opens_without_errors(tab: Make, note: str, how: str) -> None:
    one = tab()
    page = arrive(one, note, how)
    assert page.locator("article h1").count() == 1
    assert page.locator("article data[data-fact]").count() > 20
    text = page.locator("article").inner_text()
    for literal in ("{{", "{%", "!!!", "{ .", "&lt;", "**", "](", "None of None"):
        assert literal not in text
    shown(page)
    one.rest()
    assert one.wrong == []


@each_note
@both_ways
def test_first_screen_needs_no_scroll(tab: Make, note: str, how: str) -> None:
    page = arrive(tab((1280, 800)), note, how)
    edges = {part: bottom(page, selector) for part, selector in FIRST_SCREEN.items()}
    assert max(edges.values()) <= 800, edges
    assert page.locator("article .sweepprof-claim").inner_text().strip().endswith(".")
    leads = page.locator("article .sweepprof-verdict li strong:first-child").all_inner_texts()
    if note != "v3":  # without a profile there is no section to act on
        assert leads[0] == "Try first:"
        assert leads[-1] == "Skip:"


@each_note
def test_first_screen_on_a_phone(tab: Make, note: str) -> None:
    page = arrive(tab((390, 844)), note, "address")
    assert bottom(page, ".sweepprof-claim") <= 844
    assert bottom(page, ".sweepprof-verdict li") <= 844


@each_note
@both_ways
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_overflows(tab: Make, note: str, how: str, width: int) -> None:
    page = arrive(tab((width, 844)), note, how)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # What is too wide scrolls in a box of its own.
    wide = page.evaluate(
        """() => [...document.querySelectorAll('article *')].filter(e => {
            const box = e.getBoundingClientRect();
            if (!box.width || box.right <= innerWidth + 1) return false;
            for (let p = e.parentElement; p; p = p.parentElement)
                if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(p).overflowX) && p.tagName != 'BODY')
                    return false;
            return true;
        }).map(e => e.outerHTML.slice(0, 120))"""
    )
    assert wide == []


def shown(page: Any) -> list[dict[str, Any]]:
    """The figures' images that are visible: source, natural width, alternative text."""
    images: list[dict[str, Any]] = page.evaluate(
        """async () => {
            const all = [...document.querySelectorAll('article img')].filter(i => i.getClientRects().length);
            all.forEach(i => { i.loading = 'eager'; });
            await Promise.all(all.map(i => i.decode().catch(() => null)));
            return all.map(i => ({src: i.currentSrc || i.src, width: i.naturalWidth, alt: i.alt}));
        }"""
    )
    return images


@each_note
@both_ways
def test_figures_load_and_say_what_they_show(tab: Make, note: str, how: str) -> None:
    page = arrive(tab(), note, how)
    images = shown(page)
    assert len(images) >= {"v2": 5, "v3": 2, "toy": 4}[note]
    for image in images:
        assert image["width"] > 0, image["src"]
        assert len(image["alt"]) > 30, image
    assert len({i["alt"] for i in images}) == len(images)
    captions = page.locator("article figure figcaption").all_inner_texts()
    assert len(captions) == page.locator("article figure").count()
    assert all(c.strip() for c in captions)


@each_note
@both_ways
def test_toggle_swaps_light_and_dark(tab: Make, note: str, how: str) -> None:
    page = arrive(tab(), note, how)
    light = [i["src"] for i in shown(page)]
    assert light
    page.locator("label[for^=__palette]:visible").first.click()
    page.wait_for_function("document.body.getAttribute('data-md-color-scheme') === 'slate'")
    after = shown(page)
    dark = [i["src"] for i in after]
    assert len(dark) == len(light)
    assert not set(dark) & set(light)
    assert all(i["width"] > 0 for i in after)
    page.locator("label[for^=__palette]:visible").first.click()
    page.wait_for_function("document.body.getAttribute('data-md-color-scheme') === 'default'")
    assert [i["src"] for i in shown(page)] == light


def test_dark_from_the_start(tab: Make) -> None:
    """A reader whose system is dark sees the dark figures at once."""
    light = {i["src"] for i in shown(arrive(tab(), "v2", "address"))}
    page = arrive(tab(scheme="dark"), "v2", "address")
    assert page.evaluate("document.body.getAttribute('data-md-color-scheme')") == "slate"
    assert not light & {i["src"] for i in shown(page)}


def column(page: Any, index: int) -> list[str]:
    """Sort values of a column of the runs table, top to bottom."""
    values: list[str] = page.evaluate(
        """index => [...document.querySelector('table.sweepprof-sortable').tBodies[0].rows].map(r => {
            const cell = r.cells[index];
            const data = cell.querySelector('data');
            return cell.dataset.sort ?? (data ? data.value : cell.textContent.trim());
        })""",
        index,
    )
    return values


@each_note
@both_ways
def test_runs_table_sorts(tab: Make, note: str, how: str) -> None:
    page = arrive(tab(), note, how)
    table = page.locator("table.sweepprof-sortable").first
    heads = table.locator("thead th")
    names = [h.strip().lower() for h in heads.all_inner_texts()]
    wall = next(i for i, name in enumerate(names) if "wall" in name)
    rows = table.locator("tbody tr").count()
    assert rows == {"v2": 36, "v3": 36, "toy": 12}[note]

    button = heads.nth(wall).locator("button")
    target = button if button.count() else heads.nth(wall)
    target.click()
    first = [float(v) for v in column(page, wall)]
    assert first in (sorted(first), sorted(first, reverse=True))
    assert heads.nth(wall).get_attribute("aria-sort") in ("ascending", "descending")
    target.click()
    second = [float(v) for v in column(page, wall)]
    assert second == first[::-1]

    # By keyboard, on another column; the sort is announced there and no longer here.
    button = heads.nth(0).locator("button")
    (button if button.count() else heads.nth(0)).focus()
    page.keyboard.press("Enter")
    runs = column(page, 0)
    assert len(runs) == rows
    assert heads.nth(0).get_attribute("aria-sort") == "ascending"
    assert heads.nth(wall).get_attribute("aria-sort") in (None, "none")
    page.keyboard.press("Enter")
    assert column(page, 0) == runs[::-1]


@each_note
@both_ways
def test_downloads_open_and_parse(tab: Make, note: str, how: str) -> None:
    page = arrive(tab(), note, how)
    links = {
        Path(href).name: href
        for href in page.eval_on_selector_all("article a[href]", "all => all.map(a => a.href)")
        if href.endswith((".csv", ".json"))
    }
    expected = {"facts.json", "runs.csv", "effects.csv"}
    expected |= {"sections.csv"} if note != "v3" else {"intervals.csv"}
    assert expected <= set(links)
    for name, href in links.items():
        response = page.request.get(href)
        assert response.ok, href
        text = response.text()
        if name.endswith(".json"):
            facts = json.loads(text)
            assert facts["runtime.count"]["value"] == {"v2": 36, "v3": 36, "toy": 12}[note]
        else:
            rows = list(csv.reader(io.StringIO(text)))
            assert len(rows) > 1
            assert len({len(row) for row in rows}) == 1
    # As a reader does it: a click saves the file or shows it.
    link = page.locator("article a[href$='runs.csv']").first
    with page.expect_download() as download:
        link.evaluate("a => { a.setAttribute('download', ''); a.click(); }")
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text("utf-8"))))
    assert len(rows) == {"v2": 36, "v3": 36, "toy": 12}[note]


@each_note
@both_ways
def test_nav_order_and_back_links(tab: Make, note: str, how: str) -> None:
    one = tab()
    page = arrive(one, note, how)
    base = one.address + NOTES[note]
    order = page.eval_on_selector_all(
        "nav.md-nav--primary a.md-nav__link[href]", "all => all.map(a => a.href.split('#')[0])"
    )
    order = [href for href in dict.fromkeys(order) if href.startswith(base)]
    assert order == [f"{base}design/", f"{base}results/", f"{base}profiling/"]
    links = page.eval_on_selector_all("article a[href]", "all => all.map(a => a.href)")
    assert f"{base}design/" in links
    assert f"{base}results/" in links
    page.locator("article").get_by_role("link", name="Results", exact=True).first.click()
    page.wait_for_function("!document.querySelector('.sweepprof-verdict')")
    assert page.url == f"{base}results/"


@each_note
@both_ways
def test_search_finds_a_task(tab: Make, note: str, how: str) -> None:
    one = tab()
    page = arrive(one, note, how)
    page.locator("input.md-search__input").focus()
    page.keyboard.type(TASKS[note])
    result = page.locator(f".md-search-result__link[href*='{NOTES[note]}profiling/']")
    result.first.wait_for(state="attached")
    assert result.count() >= 1


@each_note
def test_links_of_the_note_lead_somewhere(tab: Make, note: str) -> None:
    one = tab()
    page = arrive(one, note, "address")
    links = set(page.eval_on_selector_all("article a[href]", "all => all.map(a => a.href)"))
    for href in sorted(links):
        if href.startswith(one.address):
            target, _, anchor = href.partition("#")
            response = page.request.get(target)
            assert response.ok, href
            if anchor and target.endswith("/"):
                assert f'id="{anchor}"' in response.text(), href


def test_overview_has_a_row_for_each_sweep(tab: Make) -> None:
    one = tab()
    page = one.open("sweepprof/")
    links = page.eval_on_selector_all("article table a[href]", "all => all.map(a => a.href)")
    for path in NOTES.values():
        assert f"{one.address}{path}profiling/" in links
    images = shown(page)
    assert images
    assert all(i["width"] > 0 and len(i["alt"]) > 30 for i in images)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("path", ["", "guide/start/", "toy-sequence-tasks/results/", "sweepprof/"])
def test_other_pages_open_and_do_not_overflow(tab: Make, path: str) -> None:
    one = tab((390, 844))
    page = one.open(path)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert one.wrong == []
