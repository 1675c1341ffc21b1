"""Collections made in memory, analysed by the real analysis, and their notes: what the note tests share."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import markdown as markdown_package

from mkdocs_sweepprof import tables
from mkdocs_sweepprof.analysis import Analysis, Comparable, analyse
from mkdocs_sweepprof.figures.base import Drawing
from mkdocs_sweepprof.note import Context, Note, render
from mkdocs_sweepprof.readers.base import Event, Problem, Run, Section, Session
from mkdocs_sweepprof.readers.join import join
from mkdocs_sweepprof.readers.native import NativeReader
from mkdocs_sweepprof.readers.tree import Tree
from mkdocs_sweepprof.schema import CollectionConfig, parse
from tests.places import COLLECTIONS

V2 = "from-entangled-v2/continuous-v2"
V3 = "from-entangled-v2/continuous-v3-beta-schedule"
TOY = "toy-sequence-tasks"

BARE = ("toc", "tables", "fenced_code")
"""The Markdown extensions that MkDocs has on by default."""
RICH = (
    *BARE,
    "abbr",
    "admonition",
    "attr_list",
    "def_list",
    "footnotes",
    "md_in_html",
    "nl2br",
    "smarty",
    "wikilinks",
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
)
EXTENSION_CONFIGS = {
    "pymdownx.magiclink": {
        "repo_url_shorthand": True,
        "social_url_shorthand": True,
        "user": "someone",
        "repo": "something",
    }
}


def run(
    name: str,
    config: Mapping[str, Any] | None = None,
    wall: float | None = None,
    sections: Mapping[str, tuple[int, float]] | None = None,
    events: Sequence[tuple[float, str]] = (),
    **more: Any,
) -> Run:
    """A run as a reader would give it; ``sections``: path → (count, seconds)."""
    return Run(
        id=name,
        layout="native",
        config=dict(config or {}),
        profile_wall=wall,
        sections=[Section(path, n, seconds) for path, (n, seconds) in (sections or {}).items()],
        events=[Event(time, label) for time, label in events],
        **more,
    )


def analysis(
    runs: Sequence[Run],
    config: str = "",
    problems: Sequence[Problem] = (),
    others: Sequence[Comparable] = (),
    name: str = "case",
) -> Analysis:
    return analyse(tables.make(runs, problems), parse(config), name=name, others=others)


def context(**given: Any) -> Context:
    base: dict[str, Any] = {"folder": "lab/case", "page": "lab/case/profiling.md", "assets": "profiling"}
    return Context(**(base | given))


def note(found: Analysis, drawings: Sequence[Drawing] = (), **given: Any) -> Note:
    return render(found, drawings, context(**given), {"runs.csv": "run\n"})


@cache
def demo(folder: str, configured: bool = True) -> tuple[Analysis, Note]:
    """A collection of the repository and its note."""
    place = COLLECTIONS / folder
    config = parse((place / "collection.yml").read_text()) if configured else CollectionConfig()
    reader, tree = NativeReader(), Tree(place)
    runs, problems, mentions = join([reader.read(tree, source) for source in reader.find(tree)])
    made = tables.make(runs, problems, mentions=mentions)
    others = [demo(V2, configured)[0].comparable()] if folder == V3 else []
    found = analyse(made, config, name=place.name, others=others)
    written = note(
        found,
        folder=folder,
        page=f"{folder}/profiling.md",
        description=config.description,
        compare_links={"continuous-v2": "../continuous-v2/profiling.md"} if folder == V3 else {},
        commentary=dict(config.commentary),
        labels=dict(config.labels),
        knob_order_given=bool(config.knobs),
    )
    return found, written


def body(written: Note | str) -> str:
    """A note's Markdown without its front matter."""
    text = written if isinstance(written, str) else written.markdown
    assert text.startswith("---\n")
    return text.split("---\n", 2)[2]


def as_html(written: Note | str, extensions: Sequence[str] = BARE) -> str:
    configs = {k: v for k, v in EXTENSION_CONFIGS.items() if k in extensions}
    return str(markdown_package.markdown(body(written), extensions=list(extensions), extension_configs=configs))


def text_of(page: str) -> str:
    """What a reader sees, white space collapsed."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", re.sub(r"</(td|th|li|p|h\d)>", " ", page))).split())


def evenly(n: int, seconds: float = 3600.0) -> list[float]:
    """``n`` walls around ``seconds``, all different."""
    return [seconds * (1 + i / (10 * n)) for i in range(n)]


__all__ = [
    "BARE",
    "RICH",
    "Session",
    "analysis",
    "as_html",
    "body",
    "context",
    "demo",
    "evenly",
    "note",
    "run",
    "text_of",
]
