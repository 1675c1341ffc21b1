"""The plugin in real builds: options, places, nav, collisions, edit links. What it puts in is given (see ``Fake``)."""

from __future__ import annotations

import io
import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from mkdocs.commands.build import build as mkdocs_build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

from mkdocs_sweepprof.site import OVERVIEW, SCRIPT, STYLE, Asset, Entry, Message, Page
from tests.build.support import FIGURE, build_site, collection, fake_site, use, write

V2 = "lab/v2"
BESIDE = {f"docs/{V2}/design.md": "# Design\n", f"docs/{V2}/results.md": "# Results\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "collections").mkdir()
    return tmp_path


def plugin(**options: Any) -> dict[str, Any]:
    return {"plugins": [{"sweepprof": options}]}


# --- places ---------------------------------------------------------------------------------------


def test_pages_and_assets_are_in_the_site_and_nowhere_else(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, fake_site(V2))
    write(folder, BESIDE)
    before = {p for p in folder.rglob("*") if p.is_file()}
    built = build_site(folder, strict=True)
    assert "value-of-v2" in built.html("lab/v2/profiling/index.html")
    assert (built.site / "lab/v2/profiling/figures/bar.svg").read_bytes() == FIGURE
    assert (built.site / "lab/v2/profiling/facts.json").read_bytes() == b"{}"
    assert "Sweep overview" in built.html("sweepprof/index.html")
    after = {p for p in folder.rglob("*") if p.is_file() and built.site not in p.parents}
    assert after - before == {folder / "mkdocs.yml", folder / "docs/index.md"}


def test_style_and_script_are_linked_once_on_every_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, fake_site(V2))
    built = build_site(folder, {"extra_css": ["own.css"], "extra_javascript": ["own.js"]})
    for page, up in (("index.html", ""), ("lab/v2/profiling/index.html", "../../../")):
        text = built.html(page)
        assert text.count(f'href="{up}{STYLE}"') == 1
        assert text.count(f'src="{up}{SCRIPT}"') == 1
        assert re.search(rf'<script src="{up}{SCRIPT}"[^>]*defer', text)
        assert f"{up}own.css" in text
    assert STYLE in built.files() and SCRIPT in built.files()


def test_the_core_is_told_what_is_hand_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = use(monkeypatch, fake_site(V2))
    write(folder, {**BESIDE, "docs/secret/design.md": "# No\n", "docs/a.txt": "x"})
    build_site(folder, {"exclude_docs": "/secret/\n"})
    _, docs = fake.asked[0]
    assert docs == {"index.md", "lab/v2/design.md", "lab/v2/results.md"}


def test_one_configuration_built_twice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # static-i18n builds every language in one process, with one configuration.
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    fake = use(monkeypatch, fake_site(V2))
    write(folder, {**BESIDE, "mkdocs.yml": "site_name: x\nplugins: [sweepprof]\n", "docs/index.md": "# Home\n"})
    config = load_config(str(folder / "mkdocs.yml"))
    mkdocs_build(config)
    first = {p: p.read_bytes() for p in Path(config.site_dir).rglob("*") if p.is_file() and p.suffix != ".gz"}
    mkdocs_build(config)
    assert {p: p.read_bytes() for p in Path(config.site_dir).rglob("*") if p.is_file() and p.suffix != ".gz"} == first
    assert fake.asked[0] == fake.asked[1]


def test_without_directory_urls(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, fake_site(V2))
    built = build_site(folder, {"use_directory_urls": False}, strict=True)
    assert 'src="profiling/figures/bar.svg"' in built.html("lab/v2/profiling.html")
    assert (built.site / "lab/v2/profiling/figures/bar.svg").exists()


def test_a_dirty_build_is_up_to_date(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = fake_site(V2)
    stored = write(folder / "store", {"page": "# old\n", "svg": FIGURE})
    os.utime(stored / "page", (1e9, 1e9))  # remembered long ago, shown again after the site was built from another
    os.utime(stored / "svg", (1e9, 1e9))
    use(monkeypatch, site)
    build_site(folder)
    site.pages[0] = Page("lab/v2/profiling.md", "# reverted note\n", "v2", None, stored / "page")
    site.assets[-1] = Asset("lab/v2/profiling/facts.json", b"[1]", stored / "svg")
    built = build_site(folder, dirty=True)
    assert "reverted note" in built.html("lab/v2/profiling/index.html")
    assert (built.site / "lab/v2/profiling/facts.json").read_bytes() == b"[1]"


# --- nav ------------------------------------------------------------------------------------------


def test_without_a_nav_none_is_made_and_the_note_follows_results(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, fake_site(V2, "lab/v3"))
    write(folder, {**BESIDE, f"docs/{V2}/zebra.md": "# Z\n"})
    built = build_site(folder, strict=True)
    assert built.config.nav is None
    assert built.outline() == [
        "index.md",
        {
            "Lab": [
                {"V2": ["lab/v2/design.md", "lab/v2/results.md", "lab/v2/profiling.md", "lab/v2/zebra.md"]},
                {"V3": ["lab/v3/profiling.md"]},
            ]
        },
        {"Sweeps": [OVERVIEW]},
    ]
    assert built.order() == [
        "index.md",
        "lab/v2/design.md",
        "lab/v2/results.md",
        "lab/v2/profiling.md",
        "lab/v2/zebra.md",
        "lab/v3/profiling.md",
        OVERVIEW,
    ]
    # Previous and next follow the order that is shown.
    text = built.html("lab/v2/profiling/index.html")
    assert re.search(r'rel="prev" href="\.\./results/"', text)
    assert re.search(r'rel="next" href="\.\./zebra/"', text)


def test_explicit_nav_beside_design_and_results(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, fake_site(V2, "lab/v3"))
    write(folder, BESIDE)
    nav = ["index.md", {"V2": [{"D": "lab/v2/design.md"}, {"R": "lab/v2/results.md"}]}, {"All": "sweepprof/"}]
    built = build_site(folder, {"nav": nav, "validation": {"omitted_files": "warn"}}, strict=True)
    assert built.outline() == [
        "index.md",
        {"V2": ["lab/v2/design.md", "lab/v2/results.md", "lab/v2/profiling.md"]},
        {"All": [OVERVIEW, {"Lab": ["lab/v3/profiling.md"]}]},
    ]
    assert ">Profiling<" in built.html("index.html").replace("\n", "").replace("  ", "")


def test_explicit_nav_without_any_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, fake_site(V2))
    built = build_site(folder, {"nav": ["index.md"], "validation": {"omitted_files": "warn"}}, strict=True)
    assert built.outline() == ["index.md", {"Sweeps": [OVERVIEW, {"Lab": ["lab/v2/profiling.md"]}]}]


def test_append_with_and_without_a_nav(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, fake_site(V2))
    write(folder, BESIDE)
    nav = ["lab/v2/design.md", "lab/v2/results.md"]
    built = build_site(folder, {"nav": nav, **plugin(nav="append")})
    assert built.outline() == [*nav, {"Sweeps": [OVERVIEW, {"Lab": ["lab/v2/profiling.md"]}]}]
    built = build_site(folder, plugin(nav="append"), strict=True)
    assert built.config.nav is None
    assert built.outline() == [
        "index.md",
        {"Lab": [{"V2": ["lab/v2/design.md", "lab/v2/results.md"]}]},
        {"Sweeps": [OVERVIEW, "lab/v2/profiling.md"]},
    ]


@pytest.mark.parametrize("nav", [None, ["index.md", {"Sweeps": "sweepprof/"}]])
def test_none_builds_but_makes_no_entry(folder: Path, monkeypatch: pytest.MonkeyPatch, nav: Any) -> None:
    use(monkeypatch, fake_site(V2))
    config = {"nav": nav} if nav else {}
    built = build_site(folder, {**config, **plugin(nav="none"), "validation": {"omitted_files": "warn"}}, strict=True)
    assert built.outline() == ["index.md"]
    assert "value-of-v2" in built.html("lab/v2/profiling/index.html")


def test_a_placeholder_without_collections_is_no_dead_link(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = fake_site()
    site.pages.clear()
    use(monkeypatch, site)
    built = build_site(folder, {"nav": ["index.md", {"Sweeps": "sweepprof/"}]}, strict=True)
    assert built.outline() == ["index.md"]


# --- collisions -----------------------------------------------------------------------------------


def test_a_hand_written_page_wins_and_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, fake_site(V2))
    write(folder, {f"docs/{V2}/profiling.md": "# By hand\n", f"docs/{V2}/results.md": "# R\n"})
    built = build_site(folder, strict=True)
    assert "By hand" in built.html("lab/v2/profiling/index.html")
    said = [m for m in built.said(logging.INFO) if "lab/v2/profiling.md" in m]
    assert len(said) == 1 and "hand-written" in said[0]


@pytest.mark.parametrize(
    ("rival", "urls"), [("profiling/index.md", True), ("profiling/README.md", True), ("profiling.html", False)]
)
def test_a_page_with_the_same_url_wins_and_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch, rival: str, urls: bool
) -> None:
    use(monkeypatch, fake_site(V2))
    write(folder, {f"docs/{V2}/{rival}": "# By hand\n"})
    built = build_site(folder, {"use_directory_urls": urls}, strict=True)
    page = "lab/v2/profiling/index.html" if urls else "lab/v2/profiling.html"
    assert "By hand" in built.html(page) and "value-of-v2" not in built.html(page)
    said = [m for m in built.said(logging.INFO) if rival in m and "page_name" in m]
    assert len(said) == 1
    # The overview's link still leads there.
    assert "lab/v2/profiling" in built.html("sweepprof/index.html")


def test_a_hand_written_asset_wins_and_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, fake_site(V2))
    write(folder, {f"docs/{V2}/profiling/facts.json": '{"mine": 1}', f"docs/{STYLE}": ".mine {}"})
    built = build_site(folder, strict=True)
    assert (built.site / "lab/v2/profiling/facts.json").read_text() == '{"mine": 1}'
    assert (built.site / STYLE).read_text() == ".mine {}"
    assert len([m for m in built.said(logging.INFO) if "hand-written" in m]) == 2


def test_two_of_ours_at_one_url_is_a_warning(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = fake_site(V2)
    site.pages.append(Page("lab/v2/profiling/index.md", "# Other\n", "other", None))
    site.entries.append(Entry("other", "lab/v2/profiling/index.md", "lab/v2/profiling", None, None))
    use(monkeypatch, site)
    built = build_site(folder)
    assert any("same URL" in m for m in built.said())
    assert "value-of-v2" in built.html("lab/v2/profiling/index.html")


# --- folders --------------------------------------------------------------------------------------


def test_a_missing_root_is_said_once_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, fake_site())
    built = build_site(tmp_path, plugin(roots=["sweeps"]))
    said = [m for m in built.said() if "'sweeps'" in m]
    assert len(said) == 1 and "does not exist" in said[0] and "roots" in said[0]
    with pytest.raises(Abort):
        build_site(tmp_path, plugin(roots=["sweeps"]), strict=True)


def test_a_root_that_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, fake_site())
    write(tmp_path, {"sweeps": "x"})
    assert any("is a file" in m for m in build_site(tmp_path, plugin(roots="sweeps")).said())


def test_raw_runs_inside_docs_stay_out_of_the_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, fake_site(V2))
    raw = {f"docs/sweeps/{V2}/runs/a/{name}": "token" for name in ("config.yaml", "profile.json", "events.jsonl")}
    write(tmp_path, {**raw, f"docs/sweeps/{V2}/design.md": "# D\n\n![](x.png)\n", f"docs/sweeps/{V2}/x.png": "png"})
    built = build_site(tmp_path, plugin(roots="docs/sweeps"))
    said = [m for m in built.said() if "inside the docs folder" in m]
    assert len(said) == 1 and "3 raw files" in said[0] and "exclude_docs" in said[0]
    assert not [f for f in built.files() if "runs" in f]
    assert {f"sweeps/{V2}/design/index.html", f"sweeps/{V2}/x.png"} <= built.files()
    # With the remedy that the message names, strict passes.
    pattern = re.search(r"'(/sweeps/[^']+)'", said[0])
    assert pattern
    build_site(tmp_path, {**plugin(roots="docs/sweeps"), "exclude_docs": pattern[1] + "\n"}, strict=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"roots": "site"}, "empties the site folder"),
        ({"roots": "site/collections"}, "empties the site folder"),
        ({"roots": "."}, "empties the site folder"),
        ({"roots": ["collections", "collections/lab"]}, "lies inside"),
        ({"cache_dir": "."}, "cache_dir"),
        ({"cache_dir": "docs/cache"}, "cache_dir"),
        ({"cache_dir": "collections"}, "cache_dir"),
        ({"cache_dir": "site/cache"}, "cache_dir"),
        ({"templates": "nowhere"}, "templates"),
    ],
)
def test_folders_that_would_destroy_each_other_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], words: str
) -> None:
    fake = use(monkeypatch, fake_site(V2))
    precious = write(folder, {"site/collections/a/runs/x/config.yaml": "a: 1", "docs/index.md": "# H\n"})
    (folder / "mkdocs.yml").write_text(yaml.safe_dump({"site_name": "x", **plugin(**options)}))
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert words in done.stderr and "Traceback" not in done.stderr
    assert (precious / "site/collections/a/runs/x/config.yaml").exists()  # the site folder was not emptied
    assert not fake.asked


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"roots": []}, "names no folder"),
        ({"roots": [1]}, "roots"),
        ({"roots": {"a": 1}}, "list"),
        ({"page_name": "note"}, "page_name"),
        ({"page_name": "a/b.md"}, "page_name"),
        ({"page_name": 3}, "page_name"),
        ({"nav": "inline"}, "auto"),
        ({"watch": "yes please"}, "watch"),
        ({"redact": 3}, "redact"),
        ({"templates": 3}, "templates"),
    ],
)
def test_bad_options_are_configuration_errors(
    folder: Path, caplog: pytest.LogCaptureFixture, options: dict[str, Any], words: str
) -> None:
    write(folder, {"mkdocs.yml": yaml.safe_dump({"site_name": "x", **plugin(**options)}), "docs/index.md": "# H\n"})
    with pytest.raises(Abort, match="configuration error"):
        load_config(str(folder / "mkdocs.yml"))
    assert words in caplog.text


def test_options_reach_the_core_as_absolute_paths(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = use(monkeypatch, fake_site())
    (folder / "templates").mkdir()
    elsewhere = folder.parent / f"{folder.name}-elsewhere"
    elsewhere.mkdir()
    build_site(
        folder,
        plugin(
            roots=["collections", f"../{elsewhere.name}", str(folder / "collections")],
            publish_fields="a_*",
            redact=["b"],
            templates="templates",
            page_name="timing.md",
        ),
    )
    options, _ = fake.asked[0]
    assert options.roots == (folder / "collections", elsewhere)
    assert options.cache == folder / ".cache/plugin/sweepprof"
    assert (options.base, options.page_name) == (folder, "timing.md")
    assert (options.publish_fields, options.redact) == (("a_*",), ("b",))
    assert options.templates == folder / "templates"


@pytest.mark.parametrize("way", ["file", "relative", "inherit", "stdin"])
def test_paths_are_relative_to_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    fake = use(monkeypatch, fake_site())
    home = write(
        tmp_path / "project",
        {
            "mkdocs.yml": "site_name: x\nplugins: [sweepprof]\n",
            "docs/index.md": "# H\n",
            "sub/docs/index.md": "# H\n",
            "sub/mkdocs.yml": "INHERIT: ../mkdocs.yml\n",
        },
    )
    (home / "collections").mkdir()
    (home / "sub/collections").mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(home if way == "stdin" else elsewhere)
    where: Any = {
        "file": str(home / "mkdocs.yml"),
        "relative": "../project/mkdocs.yml",
        "inherit": str(home / "sub/mkdocs.yml"),
        "stdin": io.BytesIO((home / "mkdocs.yml").read_bytes()),
    }[way]
    mkdocs_build(load_config(where))
    base = home / "sub" if way == "inherit" else home
    assert fake.asked[0][0].roots == (base / "collections",)
    assert fake.asked[0][0].cache == base / ".cache/plugin/sweepprof"


# --- messages -------------------------------------------------------------------------------------


def test_levels_of_messages(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = fake_site(V2)
    site.messages.append(Message("info", "five runs left out"))
    use(monkeypatch, site)
    built = build_site(folder, strict=True)
    assert "sweepprof: five runs left out" in built.said(logging.INFO)
    assert built.said() == []
    site.messages.append(Message("warning", "a/config.yaml:3: bad."))
    built = build_site(folder)
    assert built.said() == ["sweepprof: a/config.yaml:3: bad."]
    with pytest.raises(Abort):
        build_site(folder, strict=True)


# --- edit links -----------------------------------------------------------------------------------

GITHUB = "https://github.com/lab/notebook"


@pytest.mark.parametrize(
    ("config", "target", "href"),
    [
        ({}, "file", f"{GITHUB}/edit/master/collections/{V2}/collection.yml"),
        ({}, "folder", f"{GITHUB}/tree/master/collections/{V2}"),
        ({"edit_uri": "blob/main/docs/"}, "folder", f"{GITHUB}/blob/main/collections/{V2}"),
        ({"edit_uri": "edit/main/docs/"}, "folder", f"{GITHUB}/tree/main/collections/{V2}"),
        ({"edit_uri_template": "edit/main/docs/{path}"}, "file", f"{GITHUB}/edit/main/collections/{V2}/collection.yml"),
        ({"edit_uri": "?path=docs/"}, "file", None),
        ({"edit_uri": ""}, "file", None),
        ({}, "outside", None),
    ],
)
def test_edit_links_open_the_collection(
    folder: Path, monkeypatch: pytest.MonkeyPatch, config: dict[str, Any], target: str, href: str | None
) -> None:
    there = folder / "collections" / V2
    write(there, {"collection.yml": "title: x\n"})
    edit = {"file": there / "collection.yml", "folder": there, "outside": folder.parent / "other"}[target]
    use(monkeypatch, fake_site(V2, edit=edit))
    built = build_site(folder, {"repo_url": GITHUB, **config})
    page = next(f.page for f in built.config["_files"] if f.src_uri == "lab/v2/profiling.md")
    assert page.edit_url == href


# --- the real core ----------------------------------------------------------------------------------


def test_an_unchanged_build_imports_nothing_heavy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, {**collection("collections/lab/v2"), **BESIDE})
    write(folder, {"mkdocs.yml": "site_name: x\nplugins: [sweepprof]\n", "docs/index.md": "# Home\n"})
    code = (
        "import sys; from mkdocs.config import load_config; from mkdocs.commands.build import build;"
        "build(load_config('mkdocs.yml', strict=True));"
        "print([m for m in ('pandas', 'numpy', 'scipy', 'matplotlib', 'pydantic') if m in sys.modules])"
    )
    first, second = (
        subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert "pandas" in first
    assert second.strip() == "[]"


def test_a_store_that_cannot_be_written_costs_a_message(folder: Path) -> None:
    write(folder, {**collection("collections/lab/v2"), "cache": "a file where the store should be"})
    built = build_site(folder, plugin(cache_dir="cache/sweepprof"), strict=True)
    assert len([m for m in built.said(logging.INFO) if "cannot be written" in m]) == 1
    assert "runtime.mean" in built.html("lab/v2/profiling/index.html")
    assert (folder / "cache").read_text() == "a file where the store should be"


def test_a_broken_store_is_made_anew(folder: Path) -> None:
    write(folder, collection("collections/lab/v2"))
    first = build_site(folder, {}, strict=True).html("lab/v2/profiling/index.html")
    for path in (folder / ".cache").rglob("*"):
        if path.is_file():
            path.write_bytes(b"broken" + path.read_bytes()[:-1])
    built = build_site(folder, {}, strict=True)
    body = re.compile(r"<h1.*</h2>", re.DOTALL)
    found, again = body.search(first), body.search(built.html("lab/v2/profiling/index.html"))
    assert found and again and found[0] == again[0]
    assert built.said(logging.WARNING) == []
