"""Themes, addresses, and the ways in which MkDocs is told what to build."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.build.support import write
from tests.compat.support import NOTES, Built, build, command, configure

NAV = [
    {"Home": "index.md"},
    *({name: [{"Design": f"{name}/design.md"}, {"Results": f"{name}/results.md"}]} for name in NOTES),
    {"Sweeps": "sweepprof/"},
]


@pytest.mark.parametrize("plugins", [["search", "sweepprof"], ["sweepprof", "search"], ["sweepprof"]], ids="+".join)
@pytest.mark.parametrize("theme", ["mkdocs", "readthedocs", "material"])
def test_themes(folder: Path, store: Path, theme: str, plugins: list[str]) -> None:
    look: dict[str, Any] = {"name": theme, **({"font": False} if theme == "material" else {})}
    configure(folder, store, plugins, theme=look, nav=NAV)
    built = build(folder)
    built.check()
    page = built.text("lab/alpha/profiling/index.html")
    # Nothing of an extension's syntax is left over, whatever the theme switches on.
    assert "!!!" not in page and "{ ." not in page and "{:" not in page


@pytest.mark.parametrize("theme", ["mkdocs", "material"])
def test_without_directory_urls(folder: Path, store: Path, theme: str) -> None:
    look: dict[str, Any] = {"name": theme, **({"font": False} if theme == "material" else {})}
    configure(folder, store, ["search", "sweepprof"], use_directory_urls=False, theme=look)
    built = build(folder)
    built.directory_urls = False
    built.check()
    assert (built.site / "lab/alpha/profiling.html").is_file()


def test_a_site_without_site_url_can_be_opened_from_disk(folder: Path, store: Path) -> None:
    configure(folder, store, ["search", "sweepprof"], site_url="", use_directory_urls=False)
    built = build(folder)
    built.directory_urls = False
    built.check()
    for name in NOTES:
        page = built.page(f"{name}/profiling.html")
        assert not [t for t in page.targets if t.startswith("/")]


def test_inherit(folder: Path, store: Path) -> None:
    configure(folder, store, ["search", "sweepprof"], nav=NAV)
    (folder / "mkdocs.yml").rename(folder / "base.yml")
    write(folder, {"mkdocs.yml": "INHERIT: base.yml\nsite_name: Inheritor\n"})
    built = build(folder)
    built.check()
    assert "Inheritor" in built.text("lab/alpha/profiling/index.html")


def test_from_another_folder(folder: Path, store: Path) -> None:
    configure(folder, store, ["search", "sweepprof"])
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    done = command(elsewhere, "mkdocs", "build", "--strict", "-f", "../notebook/mkdocs.yml")
    assert done.returncode == 0 and "WARNING" not in done.stdout, done.stdout
    Built(folder / "site").check()
    assert not list(elsewhere.iterdir())


def test_another_site_folder_and_configuration_beside_the_first(folder: Path, store: Path) -> None:
    configure(folder, store, ["search", "sweepprof"])
    (folder / "mkdocs.yml").rename(folder / "public.yml")
    out = folder.parent / "out"
    build(folder, "-f", "public.yml", "-d", str(out))
    Built(out).check()


def test_dirty(folder: Path, store: Path) -> None:
    configure(folder, store, ["search", "sweepprof"])
    build(folder).check()
    config = folder / "collections/lab/alpha/collection.yml"
    config.write_text("title: A new name\n")
    assert "A new name" in _dirty(folder).text("lab/alpha/profiling/index.html")
    config.unlink()
    assert "A new name" not in _dirty(folder).text("lab/alpha/profiling/index.html")


def _dirty(folder: Path) -> Built:
    """MkDocs warns of each dirty build, so that no dirty build is strict: that must be its only warning."""
    done = command(folder, "mkdocs", "build", "--dirty")
    assert done.returncode == 0, done.stdout
    warnings = [line for line in done.stdout.splitlines() if line.startswith("WARNING")]
    assert len(warnings) == 1 and "'dirty' build" in warnings[0], done.stdout
    built = Built(folder / "site")
    for name in NOTES:
        built.check_note(name)
    return built
