"""Building a site from a dictionary of files, in this process, and looking at what comes out."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from mkdocs.commands.build import build as mkdocs_build
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig

from mkdocs_sweepprof.site import OVERVIEW, SCRIPT, STYLE, Asset, Entry, Options, Page, Site

Files = Mapping[str, str | bytes]


def write(folder: Path, files: Files) -> Path:
    """Write files below ``folder``; returns it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def run(seed: int, seconds: float = 100.0, **config: Any) -> dict[str, str]:
    """The files of one run folder, without the folder."""
    return {
        "config.yaml": yaml.safe_dump({"seed": seed, "lr": 0.1, **config}),
        "profile.json": json.dumps(
            {
                "wall_seconds": seconds,
                "sections": [
                    {"section": "train", "count": 10, "total_seconds": seconds * 0.6},
                    {"section": "eval", "count": 5, "total_seconds": seconds * 0.3},
                ],
            }
        ),
    }


def collection(folder: str, tasks: tuple[str, ...] = ("copy", "sort"), seeds: int = 2) -> dict[str, str]:
    """A small collection in the native layout, by path."""
    out: dict[str, str] = {}
    for i, task in enumerate(tasks):
        for seed in range(seeds):
            for name, text in run(seed, 100.0 + 50 * i + seed, task=task).items():
                out[f"{folder}/runs/{task}-{seed}/{name}"] = text
    return out


class Nav(HTMLParser):
    """Links of the ``mkdocs`` theme's nav, in order, as (text, href)."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self._href: str | None = None
        start = page.index('<div id="navbar-collapse"')
        self.feed(page[start : page.index("</header>", start) if "</header>" in page else page.index("</ul>", start)])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self._href = dict(attrs).get("href")

    def handle_data(self, data: str) -> None:
        if self._href and data.strip():
            self.links.append((data.strip(), self._href))
            self._href = None


@dataclass
class Built:
    """What a build left."""

    folder: Path
    config: MkDocsConfig
    records: list[logging.LogRecord] = field(default_factory=list)

    @property
    def site(self) -> Path:
        return Path(self.config.site_dir)

    def html(self, path: str) -> str:
        return (self.site / path).read_text(encoding="utf-8")

    def files(self) -> set[str]:
        return {p.relative_to(self.site).as_posix() for p in self.site.rglob("*") if p.is_file()}

    def said(self, level: int = logging.WARNING) -> list[str]:
        """Messages of at least this level, ours and MkDocs' own."""
        return [r.getMessage() for r in self.records if r.levelno >= level]

    def order(self) -> list[str]:
        """Source paths of the pages in the order of the nav, by the previous and next links."""
        pages: list[str] = []
        captured: Any = self.config["_nav"]
        for page in captured.pages:
            pages.append(page.file.src_uri)
        return pages

    def outline(self) -> list[Any]:
        """The nav as nested lists: source paths, and {section title: [...]}."""

        def plain(items: Any) -> list[Any]:
            return [
                {i.title: plain(i.children)}
                if i.children is not None and not hasattr(i, "file")
                else i.file.src_uri
                if hasattr(i, "file")
                else i.url
                for i in items
            ]

        return plain(self.config["_nav"].items)


class Recorder(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


Builder = Callable[..., Built]


def build_site(
    folder: Path, config: dict[str, Any] | None = None, *, strict: bool = False, dirty: bool = False
) -> Built:
    """Build the site in ``folder``; with ``config`` its mkdocs.yml is written first."""
    if config is not None or not (folder / "mkdocs.yml").exists():
        full = {"site_name": "Notebook", "plugins": ["sweepprof"], **(config or {})}
        (folder / "mkdocs.yml").write_text(yaml.safe_dump(full, sort_keys=False))
    (folder / "docs").mkdir(exist_ok=True)
    if not (folder / "docs" / "index.md").exists():
        write(folder, {"docs/index.md": "# Home\n"})
    recorder = Recorder()
    logger = logging.getLogger("mkdocs")
    level = logger.level
    logger.addHandler(recorder)
    logger.setLevel(logging.INFO)
    try:
        loaded = load_config(str(folder / "mkdocs.yml"), strict=strict)
        plugin = loaded.plugins["sweepprof"]
        real = plugin.on_nav

        def keep(nav: Any, **kwargs: Any) -> Any:
            real(nav, **kwargs)
            loaded.data["_nav"], loaded.data["_files"] = nav, kwargs["files"]
            return nav

        for index, method in enumerate(loaded.plugins.events["nav"]):
            if getattr(method, "__self__", None) is plugin:
                loaded.plugins.events["nav"][index] = keep
                loaded.plugins._event_origins[keep] = "sweepprof"
        mkdocs_build(loaded, dirty=dirty)
    finally:
        logger.removeHandler(recorder)
        logger.setLevel(level)
    return Built(folder, loaded, recorder.records)


FIGURE = b'<svg xmlns="http://www.w3.org/2000/svg"/>'


@dataclass
class Fake:
    """A stand-in for the core: what the plugin gets is given, what it asked is kept."""

    site: Site
    asked: list[tuple[Options, frozenset[str]]] = field(default_factory=list)

    def __call__(self, options: Options, docs: frozenset[str]) -> Site:
        self.asked.append((options, docs))
        entries = [
            Entry(
                e.title,
                e.src_uri,
                e.folder,
                *(p if p in docs else None for p in (f"{e.folder}/design.md", f"{e.folder}/results.md")),
            )
            for e in self.site.entries
        ]
        return Site(self.site.pages, self.site.assets, entries, self.site.messages, self.site.watched)


def fake_site(*folders: str, edit: Path | None = None) -> Site:
    """A site of small notes, one a folder, with an overview, a figure each and our style and script."""
    site = Site(assets=[Asset(STYLE, b".sweepprof {}"), Asset(SCRIPT, b"// sweepprof")])
    for folder in folders:
        name = folder.rpartition("/")[2]
        src = f"{folder}/profiling.md"
        text = f"# {name} profiling\n\n![bar](profiling/figures/bar.svg)\n\nvalue-of-{name} {{{{ x }}}}\n"
        site.pages.append(Page(src, text, name, edit))
        site.entries.append(Entry(name, src, folder, None, None))
        site.assets.append(Asset(f"{folder}/profiling/figures/bar.svg", FIGURE))
        site.assets.append(Asset(f"{folder}/profiling/facts.json", b"{}"))
    links = "\n".join(f"- [{f}](../{f}/profiling.md)" for f in folders)
    site.pages.append(Page(OVERVIEW, f"# Sweep overview\n\n{links}\n", "Sweep overview", None))
    return site


def use(monkeypatch: pytest.MonkeyPatch, site: Site) -> Fake:
    """Let the plugin get this site from the core."""
    fake = Fake(site)
    monkeypatch.setattr("mkdocs_sweepprof.plugin.build", fake)
    return fake
