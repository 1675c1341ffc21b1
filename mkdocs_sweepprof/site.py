"""What a site gets from us, as plain data: pages, assets, nav entries and messages. Knows no MkDocs.

Two thin consumers put it somewhere: the MkDocs plugin and ``sweepprof export``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

OVERVIEW = "sweepprof/index.md"
"""Source path of the overview page; ``sweepprof/`` is also the nav placeholder."""
STYLE = "assets/sweepprof/sweepprof.css"
SCRIPT = "assets/sweepprof/sweepprof.js"


@dataclass(frozen=True, slots=True)
class Options:
    """What a consumer decides. All paths absolute."""

    roots: tuple[Path, ...]
    cache: Path | None
    """Store folder; None: remember nothing."""
    base: Path
    """The folder of ``mkdocs.yml``: messages name paths relative to it."""
    page_name: str = "profiling.md"
    publish_fields: tuple[str, ...] = ()
    """Fields that are shown although they look like secrets, as globs."""
    redact: tuple[str, ...] = ()
    """Further fields to mask, as globs."""
    templates: Path | None = None
    """Folder of note templates that stand in for ours, by name."""


@dataclass(frozen=True, slots=True)
class Message:
    """One line for the log. Strict builds fail on ``warning``."""

    level: Literal["info", "warning"]
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page, by its source path below the docs folder."""

    src_uri: str
    markdown: str
    title: str
    edit: Path | None
    """What an edit link should open: ``collection.yml``, or the collection's folder; None for the overview."""
    path: Path | None = None
    """Where its text lies in the store, when it does."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A file beside the pages. ``path`` is where its bytes lie in the store, when they do."""

    src_uri: str
    content: bytes
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A note's place in the nav: right after its design and results pages, where they exist."""

    title: str
    src_uri: str
    folder: str
    """The collection's path under its root: ``from-entangled-v2/continuous-v2``."""
    design: str | None
    results: str | None
    """Source paths of hand-written pages that exist in the docs."""


@dataclass(frozen=True, slots=True)
class Quotable:
    """What hand-written pages can quote of one note."""

    name: str
    folder: str
    page: str
    """Source path of the note's page."""
    assets: str
    """Source folder of its figures."""
    facts: bytes
    """``facts.json``."""
    figures: tuple[tuple[str, str, str], ...]
    """(name, alternative text, caption)."""


@dataclass(slots=True)
class Site:
    """Everything to be put into a site."""

    pages: list[Page] = field(default_factory=list)
    assets: list[Asset] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    quotable: list[Quotable] = field(default_factory=list)
    watched: list[Path] = field(default_factory=list)
    """Folders whose change should rebuild the site (roots that exist, resolved)."""
    analysed: int = 0
    """Collections analysed in this build (the others came from the store)."""
