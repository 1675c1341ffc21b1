"""Other plugins, in both orders, each in a real strict build; docs/guide/neighbours.md is the table of these."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.build.support import write
from tests.compat.support import NOTES, Built, build, command, commit_all, configure, git, needs, orders

EVERY = [f"{name}/{page}/index.html" for name in NOTES for page in ("design", "results", "profiling")]
"""The pages of both collections in the order in which a nav should have them."""


def both(*others: Any) -> Any:
    """A test with our plugin last, and first."""
    return pytest.mark.parametrize("plugins", orders(*others), ids=["after", "before"])


# --- plugins that make the nav ------------------------------------------------------------------------------------


@both("literate-nav")
def test_literate_nav_without_a_summary(folder: Path, store: Path, plugins: list[Any]) -> None:
    needs("mkdocs-literate-nav")
    configure(folder, store, plugins)
    build(folder).check(order=["index.html", *EVERY, "sweepprof/index.html"])


@pytest.mark.parametrize(
    "summary",
    [
        # All pages by name: the notes join them.
        "* [Home](index.md)\n"
        + "".join(f"* {n}\n    * [D](lab/{n}/design.md)\n    * [R](lab/{n}/results.md)\n" for n in ("alpha", "beta")),
        # Folders, which the plugin fills.
        "* [Home](index.md)\n* [Lab](lab/)\n",
        # Wildcards.
        "* [Home](index.md)\n* Alpha\n    * lab/alpha/*.md\n* Beta\n    * lab/beta/*.md\n",
        # The notes by name, where the author wants them.
        "* [Home](index.md)\n"
        + "".join(
            f"* {n}\n" + "".join(f"    * [{p}](lab/{n}/{p}.md)\n" for p in ("design", "results", "profiling"))
            for n in ("alpha", "beta")
        )
        + "* [Sweeps](sweepprof/index.md)\n",
    ],
    ids=["pages", "folders", "wildcards", "notes"],
)
@both("literate-nav")
def test_literate_nav_with_a_root_summary(folder: Path, store: Path, plugins: list[Any], summary: str) -> None:
    needs("mkdocs-literate-nav")
    write(folder, {"docs/SUMMARY.md": summary})
    configure(folder, store, plugins, exclude_docs="SUMMARY.md\n")
    build(folder).check(order=["index.html", *EVERY])


@pytest.mark.parametrize(
    "navs",
    [
        {},
        {"docs/lab/.nav.yml": "title: Laboratory\n"},
        {"docs/.nav.yml": "nav:\n  - index.md\n  - lab\n"},
        {"docs/lab/alpha/.nav.yml": "nav: [design.md, results.md]\n"},
        {"docs/lab/alpha/.nav.yml": "nav:\n  - Plan: design.md\n  - Findings: results.md\n  - Time: profiling.md\n"},
        {"docs/lab/alpha/.nav.yml": 'nav: [design.md, results.md, "*"]\n'},
    ],
    ids=["none", "title", "root", "pages", "note", "rest"],
)
@both("awesome-nav")
def test_awesome_nav(folder: Path, store: Path, plugins: list[Any], navs: dict[str, str]) -> None:
    needs("mkdocs-awesome-nav")
    write(folder, navs)
    configure(folder, store, plugins)
    built = build(folder)
    built.check(order=["index.html", *EVERY])
    if "Laboratory" in str(navs):
        assert "Laboratory" in built.text("index.html")


def test_awesome_nav_still_reports_hand_written_pages_that_it_leaves_out(folder: Path, store: Path) -> None:
    needs("mkdocs-awesome-nav")
    write(folder, {"docs/.nav.yml": "nav: [index.md]\n"})
    configure(folder, store, ["search", "awesome-nav", "sweepprof"])
    done = command(folder, "mkdocs", "build", "--strict")
    assert done.returncode == 1
    assert "lab/alpha/design.md" in done.stdout and "profiling.md" not in done.stdout


@both("section-index")
def test_section_index(folder: Path, store: Path, plugins: list[Any]) -> None:
    needs("mkdocs-section-index")
    write(folder, {f"docs/{name}/index.md": f"# About {name}\n" for name in NOTES})
    configure(folder, store, plugins, theme={"name": "material", "font": False})
    built = build(folder)
    built.check(order=["index.html", *[p for n in NOTES for p in (f"{n}/index.html", *_pages(n))]])
    assert "About lab/alpha" in built.text("lab/alpha/index.html")


@both("section-index", "literate-nav")
def test_section_index_and_literate_nav(folder: Path, store: Path, plugins: list[Any]) -> None:
    needs("mkdocs-section-index")
    needs("mkdocs-literate-nav")
    write(folder, {f"docs/{name}/index.md": f"# About {name}\n" for name in NOTES})
    write(folder, {"docs/SUMMARY.md": "* [Home](index.md)\n* [Alpha](lab/alpha/)\n* [Beta](lab/beta/)\n"})
    theme = {"name": "material", "font": False}
    configure(folder, store, plugins, theme=theme, exclude_docs="SUMMARY.md\n")
    build(folder).check(order=["index.html", *[p for n in NOTES for p in (f"{n}/index.html", *_pages(n))]])


def _pages(name: str) -> list[str]:
    return [p for p in EVERY if p.startswith(f"{name}/")]


# --- plugins that change pages ------------------------------------------------------------------------------------


@both("glightbox")
def test_glightbox(folder: Path, store: Path, plugins: list[Any]) -> None:
    needs("mkdocs-glightbox")
    configure(folder, store, plugins, theme={"name": "material", "font": False})
    built = build(folder)
    built.check()
    page = built.text("lab/alpha/profiling/index.html")
    assert 'class="glightbox"' in page  # it found the figures


@both({"minify": {"minify_html": True, "minify_js": True, "minify_css": True}})
def test_minify(folder: Path, store: Path, plugins: list[Any]) -> None:
    needs("mkdocs-minify-plugin")
    configure(folder, store, plugins)
    built = build(folder)
    built.check()
    plain = configure(folder, store, ["search", "sweepprof"], site_dir="plain")
    assert plain.exists()
    build(folder)
    there, here = (f / "lab/alpha/profiling/index.html" for f in (folder / "plain", folder / "site"))
    assert here.stat().st_size < there.stat().st_size  # it did its work


@pytest.mark.parametrize(
    "dates", [{}, {"strict": True}, {"enable_creation_date": True, "fallback_to_build_date": True}]
)
@both("git-revision-date-localized")
def test_git_revision_date(folder: Path, store: Path, plugins: list[Any], dates: dict[str, Any]) -> None:
    needs("mkdocs-git-revision-date-localized-plugin")
    name = "git-revision-date-localized"
    configure(
        folder, store, [{name: dates} if p == name else p for p in plugins], theme={"name": "material", "font": False}
    )
    commit_all(folder)
    built = build(folder)
    built.check()
    assert "git-revision-date-localized-plugin" in built.text("lab/alpha/design/index.html")


@both("tags")
def test_tags(folder: Path, store: Path, plugins: list[Any]) -> None:
    needs("mkdocs-material")
    write(
        folder,
        {
            "docs/tags.md": "# Tags\n\n<!-- material/tags -->\n",
            "docs/lab/alpha/design.md": "---\ntags: [transformers]\n---\n# Design of lab/alpha\n",
        },
    )
    configure(folder, store, plugins, theme={"name": "material", "font": False})
    built = build(folder)
    built.check()
    assert "lab/alpha/design/" in " ".join(built.page("tags/index.html").links)


@pytest.mark.parametrize("options", [{}, {"on_undefined": "strict", "on_error_fail": True}])
@both("macros")
def test_macros(folder: Path, store: Path, plugins: list[Any], options: dict[str, Any]) -> None:
    needs("mkdocs-macros-plugin")
    write(folder, {"docs/lab/alpha/design.md": "# Design of lab/alpha\n\nAnswer: {{ 6 * 7 }}, {{ lab }}.\n"})
    configure(folder, store, [{"macros": options} if p == "macros" else p for p in plugins], extra={"lab": "Zürich"})
    built = build(folder)
    built.check()  # which looks for the config value {{ … }} on our pages
    assert "Answer: 42, Zürich." in built.text("lab/alpha/design/index.html")


@both({"exclude-search": {"exclude": ["lab/alpha/profiling.md"]}})
def test_exclude_search(folder: Path, store: Path, plugins: list[Any]) -> None:
    needs("mkdocs-exclude-search")
    configure(folder, store, plugins)
    built = build(folder)
    built.check()
    found = {d["location"].partition("#")[0] for d in json.loads(built.text("search/search_index.json"))["docs"]}
    assert "lab/alpha/profiling/" not in found
    assert {"lab/beta/profiling/", "lab/alpha/design/"} <= found


# --- two languages ------------------------------------------------------------------------------------------------

LANGUAGES = [
    {"locale": "en", "name": "English", "default": True, "build": True},
    {"locale": "fr", "name": "Français", "build": True},
]


@pytest.mark.parametrize(
    ("structure", "nav", "theme"),
    [
        ("suffix", False, "material"),
        ("suffix", True, "mkdocs"),
        ("folder", False, "material"),
        ("folder", True, "mkdocs"),
    ],
)
@both("i18n")
def test_static_i18n(folder: Path, store: Path, plugins: list[Any], structure: str, nav: bool, theme: str) -> None:
    needs("mkdocs-static-i18n")
    docs = folder / "docs"
    hand = [p.relative_to(docs) for p in sorted(docs.rglob("*.md"))]
    for path in hand:
        french = (docs / path).read_text().replace("Design", "Plan").replace("Results", "Résultats")
        if structure == "suffix":
            (docs / path).with_suffix(".fr.md").write_text(french)
        else:
            write(docs, {f"fr/{path}": french, f"en/{path}": (docs / path).read_text()})
    if structure == "folder":
        for path in hand:
            (docs / path).unlink()
        shutil.rmtree(docs / "lab")
    config: dict[str, Any] = {"theme": {"name": theme, **({"font": False} if theme == "material" else {})}}
    if nav:
        config["nav"] = [
            {"Home": "index.md"},
            *({n: [{"D": f"{n}/design.md"}, {"R": f"{n}/results.md"}]} for n in NOTES),
            {"Sweeps": "sweepprof/"},
        ]
    i18n = {"i18n": {"docs_structure": structure, "languages": LANGUAGES}}
    configure(folder, store, [i18n if p == "i18n" else p for p in plugins], **config)
    built = build(folder)
    built.check(order=["index.html", *EVERY])
    for name in NOTES:
        built.check_note(name, prefix="fr/")
    french = [p for p in built.nav("fr/index.html") if p.startswith("fr/")]
    assert [p for p in french if p in {f"fr/{e}" for e in EVERY}] == [f"fr/{e}" for e in EVERY]
    assert "Résultats" in built.text("fr/lab/alpha/results/index.html")


# --- versions of a site -------------------------------------------------------------------------------------------


@both({"mike": {"version_selector": True}})
def test_mike(folder: Path, store: Path, plugins: list[Any]) -> None:
    needs("mike")
    configure(folder, store, plugins, theme={"name": "material", "font": False}, strict=True)
    write(folder, {".gitignore": "site/\n"})
    commit_all(folder)
    for version in (["1.0"], ["2.0", "latest"]):
        done = command(folder, "mike", "deploy", "--update-aliases", *version)
        assert done.returncode == 0, done.stdout
        assert "WARNING" not in done.stdout, done.stdout
    assert [v["version"] for v in json.loads(git(folder, "show", "gh-pages:versions.json"))] == ["2.0", "1.0"]
    out = folder.parent / "published"
    git(folder, "worktree", "add", "--quiet", str(out), "gh-pages")
    for version in ("1.0", "2.0"):
        built = Built(out / version, base=f"/notebook/{version}/")
        built.check(order=["index.html", *EVERY])


# --- all at once --------------------------------------------------------------------------------------------------


@both(
    "section-index",
    "awesome-nav",
    "macros",
    "tags",
    "glightbox",
    "git-revision-date-localized",
    {"minify": {"minify_html": True}},
)
def test_many_together(folder: Path, store: Path, plugins: list[Any]) -> None:
    for name in ("section-index", "awesome-nav", "macros-plugin", "glightbox", "minify-plugin"):
        needs(f"mkdocs-{name}")
    needs("mkdocs-git-revision-date-localized-plugin")
    configure(folder, store, plugins, theme={"name": "material", "font": False})
    commit_all(folder)
    build(folder).check(order=["index.html", *EVERY])
