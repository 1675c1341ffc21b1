"""Other builders: ProperDocs runs the plugin unchanged; Zensical runs no plugins and gets exported pages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.compat.support import NOTES, Built, build, command, configure, needs


def facts_shown(built: Built, name: str) -> list[tuple[str, str]]:
    """The facts on a note's page, in order: the note itself, whatever builder wrapped it."""
    return built.page(f"{name}/profiling/index.html").facts


@pytest.mark.parametrize("theme", ["mkdocs", "material"])
def test_properdocs_runs_the_plugin_unchanged(folder: Path, store: Path, theme: str, record_property: Any) -> None:
    version = needs("properdocs")
    record_property("ProperDocs", f"{version}, theme {theme}")
    if theme == "mkdocs":
        needs("properdocs-theme-mkdocs")
    look: dict[str, Any] = {"name": theme, **({"font": False} if theme == "material" else {})}
    configure(folder, store, ["search", "sweepprof"], theme=look)
    build(folder, "-d", str(folder / "by-mkdocs"))
    built = build(folder, "-f", "mkdocs.yml", builder="properdocs")
    built.check()
    before = Built(folder / "by-mkdocs")
    for name in NOTES:
        assert facts_shown(built, name) == facts_shown(before, name)
        for file in sorted((before.site / name / "profiling").rglob("*")):
            if file.is_file() and file.suffix != ".html":
                assert (built.site / file.relative_to(before.site)).read_bytes() == file.read_bytes()


def test_zensical_builds_the_exported_notes(folder: Path, store: Path, record_property: Any) -> None:
    version = needs("zensical")
    record_property("Zensical", version)
    theme = {"name": "material", "font": False}
    nav: list[Any] = [
        {"Home": "index.md"},
        *({name: [f"{name}/design.md", f"{name}/results.md", f"{name}/profiling.md"]} for name in NOTES),
        {"Sweeps": "sweepprof/index.md"},
    ]
    configure(folder, store, ["search", "sweepprof"], theme=theme, nav=nav)
    before = build(folder, "-d", str(folder / "by-mkdocs"))
    before = Built(folder / "by-mkdocs")
    done = command(folder, "sweepprof", "export", "--strict", "--out", "docs")
    assert done.returncode == 0, done.stdout
    # What the fragment says is to be put into the configuration.
    fragment = (folder / "docs/nav.yml").read_text()
    extra = yaml.safe_load("\n".join(re.findall(r"^# (extra_\w+: .*)$", fragment, re.MULTILINE)))
    assert set(extra) == {"extra_css", "extra_javascript"}
    config = yaml.safe_load((folder / "mkdocs.yml").read_text())
    # Zensical reads mkdocs.yml and runs none of its plugins; ours is left in, as in a notebook that moves.
    config |= extra
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(config, sort_keys=False))
    done = command(folder, "zensical", "build", "--clean", "--strict")
    assert done.returncode == 0, done.stdout
    built = Built(folder / "site", done.stdout)
    for name in NOTES:
        built.check_note(name)
        assert facts_shown(built, name) == facts_shown(before, name)
        for file in sorted((before.site / name / "profiling").rglob("*")):
            if file.is_file() and file.suffix != ".html":
                assert (built.site / file.relative_to(before.site)).read_bytes() == file.read_bytes()
    pages = [f"{n}/{p}/index.html" for n in NOTES for p in ("design", "results", "profiling")]
    order = [p for p in built.nav() if p in pages]
    assert order == pages
    assert built.check_links(["index.html", "sweepprof/index.html", *pages]) > 50
    facts = json.loads(built.text("lab/alpha/profiling/facts.json"))
    assert facts["runtime.count"]["value"] == 4
