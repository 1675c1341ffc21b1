"""What a note is made of and what it becomes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mkdocs_sweepprof.readers.base import Problem


@dataclass(frozen=True, slots=True)
class Fact:
    """One number (or list of numbers) that the note states."""

    id: str
    value: float | int | list[float] | list[int] | None
    unit: str
    """``s``, ``fraction``, ``count``, ``ratio``, ``calls``."""
    text: str
    """As printed: ``10.26h``."""
    n: int
    """Runs behind it."""
    source: str
    """Where it comes from, a few words: ``profile.json wall_seconds``, ``event log``."""


@dataclass(frozen=True, slots=True)
class Context:
    """What the note says beyond the analysis. Links are source paths relative to the note's page."""

    folder: str
    """The collection's path under its root."""
    page: str
    """Source path of the page."""
    assets: str
    """Folder of figures and downloads relative to the page's source: ``profiling``."""
    description: str | None = None
    date: str | None = None
    design: str | None = None
    """Link to the design page (``design.md``) when it exists."""
    results: str | None = None
    overview: str | None = None
    compare_links: dict[str, str] = field(default_factory=dict)
    """Other collection's folder name → link to its note."""
    commentary: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    knob_order_given: bool = False
    problems: tuple[Problem, ...] = ()
    """What was wrong with the input: a notice on the page."""
    excluded: tuple[str, ...] = ()
    """Runs excluded by collection.yml."""


@dataclass(slots=True)
class Note:
    """A finished note."""

    title: str
    markdown: str
    facts: dict[str, Fact]
    downloads: dict[str, str]
    """File name → text: facts.json, runs.csv, …"""
    summary: dict[str, Any]
    """Plain values for the overview's row (see :mod:`.overview`)."""
