"""The page over all collections: a row for each, and how mean runtime changed from sweep to sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mkdocs_sweepprof.figures.base import Drawing
from mkdocs_sweepprof.note import engine
from mkdocs_sweepprof.note.base import Note
from mkdocs_sweepprof.note.escape import Safe, esc, for_markdown, label, mark, target
from mkdocs_sweepprof.note.format import of, plural

S = Safe
TITLE = "Sweeps"
FIGURES = "overview"
"""Folder of the overview's figure, relative to its page."""


def render_overview(
    summaries: Sequence[Mapping[str, Any]], trend: Drawing | None, overrides: Sequence[str] = ()
) -> Note:
    """The overview.

    Args:
        summaries: each note's :attr:`Note.summary`, with ``link``: its page relative to the overview, in the order
            to show.
        trend: mean runtime across collections; its files are to lie at ``overview/figures/<name>.svg``.
        overrides: folders with templates that take the place of ours.
    """
    markdown = engine.render(
        "overview.md.j2",
        {
            "page_title": engine.front_title(TITLE),
            "summaries": summaries,
            "lead": _lead(summaries),
            "rows": _rows(summaries),
            "trend": engine.figure(trend, FIGURES) if trend else S(""),
            "link": engine.link,
        },
        overrides,
    )
    return Note(TITLE, markdown, {}, {}, {})


def _lead(summaries: Sequence[Mapping[str, Any]]) -> Safe:
    n = len(summaries)
    if not n:
        return S("No collection was found. Put one below a folder named in the plugin’s option <code>roots</code>.")
    runs = sum(int(s["count"]) for s in summaries)
    return S("{} {}, {} {} counted. Each title leads to its note.").format(
        mark("overview.collections", n, str(n)),
        plural(n, "collection"),
        mark("overview.runs", runs, str(runs)),
        plural(runs, "run"),
    )


def _rows(summaries: Sequence[Mapping[str, Any]]) -> Safe:
    """A Markdown table, as the links in it are MkDocs' to rewrite; the empty block before it is for the style sheet."""
    if not summaries:
        return S("")
    dated = any(s.get("date") for s in summaries)
    heads = ["Sweep", *(["Date"] if dated else []), "Runs", "Mean", "Median", "Wall source", "What it says"]
    right = {"Runs", "Mean", "Median"}
    lines = [
        '<div class="sweepprof-overview"></div>',
        "",
        "| " + " | ".join(heads) + " |",
        "| " + " | ".join("---:" if h in right else "---" for h in heads) + " |",
    ]
    for s in summaries:
        cells = [S("[{}]({})").format(label(str(s["title"])), S(target(str(s["link"]))))]
        if dated:
            cells.append(esc(s.get("date") or "–"))
        cells += [
            mark("runtime.count.of_found", s["count"], of(int(s["count"]), int(s["found"]))),
            _number("runtime.mean", s.get("mean_seconds"), s.get("mean")),
            _number("runtime.median", s.get("median_seconds"), s.get("median")),
            esc(s.get("wall_source") or "–"),
            S("<strong>{}</strong> {}: {}").format(
                s.get("verdict") or "–", s.get("first_lead") or "First", s.get("first_action") or "–"
            ),
        ]
        lines.append("| " + " | ".join(for_markdown(esc(cell)) for cell in cells) + " |")
    return S("\n".join(lines))


def _number(id_: str, value: Any, text: Any) -> Safe:
    return mark(id_, value, str(text)) if value is not None and text else S("–")
