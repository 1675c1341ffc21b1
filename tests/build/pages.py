"""Collections made for a test, built for real, and the pages that come out, taken apart by an HTML parser."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import yaml

from tests.build.support import Built, build_site, write
from tests.places import COLLECTIONS

SHOWN = "(shown)"
VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})
SILENT = frozenset({"script", "style", "svg", "head", "template", "noscript"})
INLINE = frozenset({"data", "code", "strong", "em", "a", "span", "sub", "sup", "b", "i", "small", "abbr", "button"})

MATERIAL: dict[str, Any] = {
    "theme": {"name": "material", "font": False, "features": ["navigation.instant", "search.suggest"]},
    "plugins": ["search", "sweepprof"],
    "markdown_extensions": [
        "abbr",
        "admonition",
        "attr_list",
        "def_list",
        "footnotes",
        "md_in_html",
        "nl2br",
        "pymdownx.arithmatex",
        "pymdownx.betterem",
        "pymdownx.caret",
        "pymdownx.critic",
        "pymdownx.details",
        "pymdownx.emoji",
        "pymdownx.inlinehilite",
        "pymdownx.keys",
        "pymdownx.magiclink",
        "pymdownx.mark",
        "pymdownx.progressbar",
        "pymdownx.smartsymbols",
        "pymdownx.snippets",
        "pymdownx.superfences",
        "pymdownx.tabbed",
        "pymdownx.tasklist",
        "pymdownx.tilde",
        {"toc": {"permalink": True}},
    ],
}
"""A rich site: every extension that could read a value as markup."""
BARE: dict[str, Any] = {"theme": "mkdocs", "plugins": ["sweepprof"]}
"""Nothing but the plugin."""


# --- making --------------------------------------------------------------------------------------------------------


def native(
    config: Mapping[str, Any] | None,
    wall: float | None = 3600.0,
    sections: Sequence[tuple[str, int, float]] = (),
    events: Sequence[Mapping[str, Any]] = (),
) -> dict[str, str]:
    """The files of one run folder in the native layout; parts that are None or empty are not written."""
    files: dict[str, str] = {}
    if config is not None:
        files["config.yaml"] = yaml.safe_dump(dict(config), allow_unicode=True, sort_keys=False)
    if wall is not None or sections:
        rows = [{"section": p, "count": n, "total_seconds": s} for p, n, s in sections]
        files["profile.json"] = json.dumps({"wall_seconds": wall, "sections": rows} if wall else {"sections": rows})
    if events:
        files["events.jsonl"] = "".join(json.dumps(e, ensure_ascii=False) + "\n" for e in events)
    return files


def usual(wall: float, evaluation: float = 0.5) -> list[tuple[str, int, float]]:
    """Sections that cover 95 % of a wall."""
    return [
        ("epoch/train", 20, wall * (0.9 - evaluation)),
        ("epoch/eval", 20, wall * evaluation),
        ("epoch/eval/generate", 20, wall * evaluation * 0.8),
        ("run/setup", 1, wall * 0.05),
    ]


def log(wall: float, checkpoints: int = 4, end: bool = True) -> list[dict[str, Any]]:
    """An event log that spans ``wall`` seconds, the last tenth of it after the epoch's end."""
    start = 1_770_000_000.0
    rows: list[dict[str, Any]] = [{"time": start, "event": "run_start"}]
    for i in range(1, checkpoints + 1):
        rows.append({"time": start + 0.9 * wall * i / (checkpoints + 1), "event": "checkpoint", "name": f"step_{i}00"})
    rows.append({"time": start + 0.9 * wall, "event": "checkpoint", "name": "epoch_end", "epoch": 0})
    if end:
        rows.append({"time": start + wall, "event": "run_end", "status": "completed"})
    return rows


def put(folder: Path, place: str, runs: Mapping[str, Mapping[str, str]], config: str | None = None) -> Path:
    """Write a collection: run folders below ``runs/``, and its ``collection.yml`` when given."""
    there = folder / "collections" / place
    for name, files in runs.items():
        write(there / "runs" / name, files)
    if config is not None:
        write(there, {"collection.yml": config})
    return there


def copy_published(folder: Path, change: Callable[[Path], None] | None = None) -> Path:
    """The two published collections in a site folder, each changed by ``change``. Returns their parent."""
    there = folder / "collections" / "from-entangled-v2"
    shutil.copytree(COLLECTIONS / "from-entangled-v2", there)
    for collection in sorted(there.iterdir()) if change else []:
        assert change
        change(collection)
    return there


def build(folder: Path, config: Mapping[str, Any] = BARE, *, strict: bool = False) -> Built:
    """Build the site in ``folder`` and give back what came out."""
    return build_site(folder, dict(config), strict=strict)


def facts(built: Built, place: str) -> dict[str, Any]:
    """``facts.json`` of a collection's note."""
    found: dict[str, Any] = json.loads((built.site / place / "profiling" / "facts.json").read_text("utf-8"))
    return found


def warnings(built: Built) -> list[str]:
    """Our own warnings of a build."""
    return [m for m in built.said(logging.WARNING) if m.startswith("sweepprof: ")]


# --- taking apart --------------------------------------------------------------------------------------------------


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Parsed(HTMLParser):
    """A page as a browser would see it: every element with its attributes and its text, and the visible text."""

    source: str = ""
    elements: list[Element] = field(default_factory=list)
    visible: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[Element] = []
        self.feed(self.source)
        self.close()
        for element in self.elements:
            element.text = squeeze(element.text)
        self.visible = squeeze(self.visible)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {k: v or "" for k, v in attrs})
        self.elements.append(element)
        if tag not in INLINE:
            self._add(" ")
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {k: v or "" for k, v in attrs}))

    def handle_endtag(self, tag: str) -> None:
        for i in range(len(self._open) - 1, -1, -1):
            if self._open[i].tag == tag:
                del self._open[i:]
                break
        if tag not in INLINE:
            self._add(" ")

    def handle_data(self, data: str) -> None:
        self._add(data)

    def _add(self, data: str) -> None:
        for element in self._open:
            element.text += data
        if not any(e.tag in SILENT for e in self._open):
            self.visible += data

    def all(self, tag: str) -> list[Element]:
        return [e for e in self.elements if e.tag == tag]

    def tags(self) -> set[str]:
        return {e.tag for e in self.elements}


def squeeze(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def content(page: str) -> str:
    """The part of a page that its Markdown became, whatever the theme."""
    for start, end in (
        (r'<article class="md-content__inner[^>]*>', "</article>"),
        (r'<div class="col-md-9" role="main">', "<footer"),
        (r'<div role="main"[^>]*>', "<footer"),
    ):
        found = re.search(start, page)
        if found:
            return page[found.end() : page.index(end, found.end())]
    raise AssertionError("no content in this page")


def note(built: Built, place: str) -> Parsed:
    """The content of a collection's note."""
    return Parsed(content(built.html(f"{place}/profiling/index.html")))


def notices(page: Parsed) -> str:
    """The text of the notices on a page."""
    return " ".join(e.text for e in page.elements if "sweepprof-notice" in e.attributes.get("class", ""))


CLUMSY = (
    (
        r"(?<![:.=\d])\b1 (runs|problems|levels|sections|calls|changes|sessions|factors|fields|sweeps)\b"
        r"(?! (of|found))",
        "plural after 1",
    ),
    (r"\b([A-Za-z]{2,}) \1\b", "doubled word"),
    (r"\s[,.;:](\s|$)", "space before punctuation"),
    (r"[,;:]\.|\.\.(?!\.)|,,|;;", "doubled punctuation"),
    (r"\(\s*\)|\(\s|\s\)", "empty or loose parentheses"),
    (r"\bNone of None\b|\bnan\b|\binf\b", "not a number"),
    (r"\b(is|are) (is|are)\b|\b(a|an|the) (a|an|the)\b", "two of a kind"),
    (r"-0\.00|−0\.00(?!\d)", "negative zero"),
)


def clumsy(sentences: Iterable[str]) -> list[str]:
    """What no editor would let pass, in each sentence or bullet."""
    found = []
    for sentence in sentences:
        for pattern, what in CLUMSY:
            hit = re.search(pattern, sentence)
            if hit:
                found.append(f"{what}: …{sentence[max(0, hit.start() - 40) : hit.end() + 40]}…")
    return found


def prose(page: Parsed) -> list[str]:
    """Paragraphs, bullets and captions."""
    return [e.text for e in page.elements if e.tag in ("p", "li", "caption", "figcaption") and e.text]
