"""A collection's results as a finished page, with its facts and downloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mkdocs_sweepprof.analysis.results import Analysis
from mkdocs_sweepprof.figures.base import Drawing
from mkdocs_sweepprof.note import engine
from mkdocs_sweepprof.note.base import Context, Fact, Note
from mkdocs_sweepprof.note.escape import Safe, plain
from mkdocs_sweepprof.note.facts import Facts
from mkdocs_sweepprof.note.html import Tables
from mkdocs_sweepprof.note.wording import SHORT_SOURCES, Wording

__all__ = ["FIGURES", "Context", "Fact", "Note", "render"]

FIGURES = {
    "runtime-by-group": "runtime",
    "factors": "depends",
    "per-call": "depends",
    "composition": "sections",
    "dominant-section": "sections",
    "intervals": "intervals",
}
"""Drawing → the part of the note where it stands; any other stands at the end of *where time goes*."""

FACTS = "facts.json"


def render(
    analysis: Analysis,
    drawings: Sequence[Drawing],
    context: Context,
    tables_csv: Mapping[str, str],
    overrides: Sequence[str] = (),
) -> Note:
    """One collection's note.

    Args:
        analysis: what was found.
        drawings: its figures; their files are to lie at ``<context.assets>/figures/<name>.svg`` and ``.dark.svg``.
        context: what the note says beyond the analysis.
        tables_csv: file name → text of the tables offered as downloads.
        overrides: folders with templates that take the place of ours.
    """
    facts = Facts(analysis, len(context.problems), len(context.excluded))
    words = Wording(analysis, facts, context)
    tables = Tables(analysis, facts, words)
    names = sorted({*tables_csv, FACTS})

    def place(drawing: Drawing) -> str:
        # Without groups, the time of a call says nothing of what runtime depends on.
        alone = drawing.name == "per-call" and analysis.group is None
        return "sections" if alone else FIGURES.get(drawing.name, "where")

    def figures(part: str) -> Safe:
        mine = [d for d in drawings if place(d) == part]
        return Safe("\n\n").join(engine.figure(d, context.assets) for d in mine)

    markdown = engine.render(
        "note.md.j2",
        {
            "a": analysis,
            "c": context,
            "w": words,
            "t": tables,
            "page_title": engine.front_title(analysis.title),
            "figures": figures,
            "has_figures": lambda part: any(place(d) == part for d in drawings),
            "link": engine.link,
            "trusted": engine.trusted,
            "commentary": lambda part: engine.trusted(context.commentary.get(part)),
            "downloads": Safe(", ").join(engine.link(name, f"{context.assets}/{name}") for name in names),
            "dot": Safe(" · "),
        },
        overrides,
    )
    summary = _summary(analysis, facts, words, context)
    # Last, as wording may count things of its own.
    downloads = {**tables_csv, FACTS: facts.as_json()}
    return Note(analysis.title, markdown, facts.facts, downloads, summary)


def _summary(a: Analysis, facts: Facts, words: Wording, context: Context) -> dict[str, Any]:
    """The overview's row: plain values, no markup."""
    actions = words.actions()

    def text(id_: str) -> str | None:
        return facts.text(id_) if id_ in facts else None

    return {
        "name": a.name,
        "title": a.title,
        "date": context.date,
        "page": context.page,
        "folder": context.folder,
        "count": a.runtime.count,
        "found": a.runtime.found,
        "mean_seconds": a.runtime.mean,
        "median_seconds": a.runtime.median,
        "mean": text("runtime.mean"),
        "median": text("runtime.median"),
        "total_seconds": a.runtime.total,
        "total": text("runtime.total"),
        "wall_source": ", ".join(SHORT_SOURCES.get(s, s) for s in a.wall_sources),
        "verdict": plain(words.verdict()),
        "first_lead": actions[0][0] if actions else "",
        "first_action": plain(actions[0][1]) if actions else "",
        "problems": len(context.problems),
        "left_out": len(a.left_out),
    }
