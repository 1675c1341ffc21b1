"""The templates: how a page is put together, and how a reader's own templates take part.

Safe by default: whatever a template prints is encoded unless it is markup that this package made (:class:`Safe`), so
a forgotten filter cannot let a value through. Our own templates are also reachable as ``sweepprof/<name>``, so that an
override can say ``{% extends "sweepprof/note.md.j2" %}`` and fill one block.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from jinja2 import BaseLoader, ChoiceLoader, Environment, FileSystemLoader, PackageLoader, PrefixLoader, StrictUndefined

from mkdocs_sweepprof.figures.base import Drawing
from mkdocs_sweepprof.note.escape import Safe, code, esc, for_markdown, label, target, title_text

S = Safe


def finalize(value: Any) -> Any:
    """What a template prints: markup of ours as it is, nothing for None, anything else encoded."""
    return value if hasattr(value, "__html__") else esc(value)


@lru_cache(maxsize=8)
def environment(overrides: tuple[str, ...] = ()) -> Environment:
    """The template environment; ``overrides`` are folders that are looked in first."""
    ours = PackageLoader("mkdocs_sweepprof.note", "templates")
    parts: BaseLoader = ours
    if overrides:
        # A part of the same path replaces ours, wherever it is included from.
        parts = ChoiceLoader([*(_Parts(folder) for folder in overrides), ours])
    found = Environment(
        loader=ChoiceLoader([*(FileSystemLoader(f) for f in overrides), PrefixLoader({"sweepprof": parts}), ours]),
        autoescape=True,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    found.filters["name"] = lambda text: label(str(text))
    found.filters["md"] = lambda markup: for_markdown(esc(markup))
    found.filters["code"] = lambda text: code(str(text))
    return found


class _Parts(FileSystemLoader):
    """A user's folder as it stands in for our parts: only what lies below ``parts/``, so that extending is no loop."""

    def get_source(self, environment: Environment, template: str) -> Any:
        from jinja2 import TemplateNotFound

        if not template.startswith("parts/"):
            raise TemplateNotFound(template)
        return super().get_source(environment, template)


def render(template: str, values: Mapping[str, Any], overrides: Sequence[str] = ()) -> str:
    """A template as a page's Markdown, its blank lines put in order."""
    text = environment(tuple(overrides)).get_template(template).render(**values)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in text.split("\n"))).strip("\n") + "\n"


def front_title(title: str) -> Safe:
    """The title as a JSON string, which is YAML too."""
    return S(json.dumps(title_text(title), ensure_ascii=False))


def link(text: str, path: str) -> Safe:
    """A Markdown link, which MkDocs rewrites and checks."""
    return S("[{}]({})").format(for_markdown(esc(text)), S(target(path)))


def figure(drawing: Drawing, folder: str) -> Safe:
    """A drawing for both themes, with its caption, as one Markdown paragraph."""
    base = S(target(f"{folder}/figures/{drawing.name}"))
    alt, caption = for_markdown(esc(drawing.alt)), for_markdown(esc(drawing.caption))
    return S('![{}]({}.svg#only-light) ![{}]({}.dark.svg#only-dark)<span class="sweepprof-caption">{}</span>').format(
        alt, base, alt, base, caption
    )


def trusted(text: str | None) -> Safe:
    """The author's own Markdown, as it is; it starts and ends its own block."""
    return S("\n\n" + text.strip() + "\n\n") if text and text.strip() else S("")
