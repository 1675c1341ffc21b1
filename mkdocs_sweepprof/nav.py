"""Where notes go in a nav. Plain data in, plain data out; knows no MkDocs.

A nav is what ``mkdocs.yml`` holds: a list whose items are a source path, or a mapping of one title to a source path or
to a list of items.
"""

from __future__ import annotations

import html
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

from mkdocs_sweepprof.site import OVERVIEW, Entry

Nav: TypeAlias = list[Any]
Mode = Literal["auto", "append", "none"]

SECTION = "Sweeps"
"""Title of the section that is made when the nav names none."""
PLACEHOLDER = "sweepprof"
"""``- Sweeps: sweepprof/`` in a nav stands for the overview and the notes that have no other place."""


def place(nav: Nav, entries: Sequence[Entry], overview: bool, mode: Mode = "auto") -> Nav:
    """A new nav with the notes in it; ``nav`` itself is left as it was.

    Args:
        nav: the nav as written by hand.
        entries: the notes, in the order of the site.
        overview: whether there is an overview page.
        mode: ``auto`` puts a note right after its design and results pages, else where the placeholder stands, else
            into one section at the end; ``append`` leaves out the first of these; ``none`` adds nothing (and takes
            the placeholder away, which would be a dead link).

    A note that the nav already names stays where its author put it; where it names the overview, notes without another
    place come after it.
    """
    out: Nav = _copy(nav)
    if mode == "none":
        _replace_placeholder(out, [])
        return out
    named = set(paths(out))
    waiting = [e for e in entries if e.src_uri not in named]
    if mode == "auto":
        waiting = _beside(out, waiting)
    if waiting and OVERVIEW in named and _after_overview(out, tree(waiting)):
        waiting = []
    front = [OVERVIEW] if overview and OVERVIEW not in named else []
    section = [*front, *tree(waiting)]
    if not _replace_placeholder(out, section) and section:
        # An overview alone is a page, not a section of one.
        out.append({SECTION: section[0] if section == front else section})
    return out


def fragment(entries: Sequence[Entry], overview: bool) -> Nav:
    """The section that would be appended to a nav that says nothing: what ``export`` writes as ``nav.yml``."""
    return place([], entries, overview, "append")


def paths(nav: Any) -> Iterator[str]:
    """Every source path (and link) that a nav names, in order."""
    if isinstance(nav, str):
        yield _normal(nav)
    elif isinstance(nav, dict):
        for value in nav.values():
            yield from paths(value)
    elif isinstance(nav, list):
        for item in nav:
            yield from paths(item)


def tree(entries: Iterable[Entry]) -> Nav:
    """Notes nested by their folders: ``{"From entangled v2": [{"Continuous v2": "…/profiling.md"}]}``.

    Notes and folders keep the order in which they come.
    """
    top: Nav = []
    lists: dict[str, Nav] = {"": top}
    for entry in entries:
        here = ""
        for part in entry.folder.split("/")[:-1]:
            parent, here = here, f"{here}/{part}" if here else part
            if here not in lists:
                lists[here] = []
                lists[parent].append({_escaped(folder_title(part)): lists[here]})
        lists[here].append({_escaped(entry.title): entry.src_uri})
    return top


def folder_title(name: str) -> str:
    """A folder's name as a section title, as MkDocs itself makes it."""
    title = name.replace("-", " ").replace("_", " ")
    return title.capitalize() if title.lower() == title else title


def page_title(src_uri: str) -> str:
    """``profiling.md`` → ``Profiling``: what stands beside “Design” and “Results”."""
    return folder_title(posixpath.splitext(posixpath.basename(src_uri))[0])


def _beside(nav: Nav, entries: Sequence[Entry]) -> list[Entry]:
    """Put notes right after their design and results pages, in place. Those that found no place come back."""
    waiting: list[Entry] = []
    inserted: list[tuple[Nav, dict[str, str], Entry]] = []
    for entry in entries:
        spot = _spot(nav, entry)
        if spot is None:
            waiting.append(entry)
            continue
        siblings, index = spot
        item = {page_title(entry.src_uri): entry.src_uri}
        siblings.insert(index + 1, item)
        inserted.append((siblings, item, entry))
    for siblings, item, entry in inserted:
        # Several notes in one list cannot all be called "Profiling".
        if sum(1 for other, _, _ in inserted if other is siblings) > 1:
            item.clear()
            item[_escaped(entry.title)] = entry.src_uri
    return waiting


def _escaped(title: str) -> str:
    """Themes print nav titles as HTML."""
    return html.escape(title, quote=False)


def _spot(nav: Nav, entry: Entry) -> tuple[Nav, int] | None:
    """The list and index of the item that the note follows: the later of results and design where one list has both."""
    found = {p: _find(nav, p) for p in (entry.results, entry.design) if p}
    results = found.get(entry.results or "")
    design = found.get(entry.design or "")
    if results and design and results[0] is design[0]:
        return results[0], max(results[1], design[1])
    return results or design


def _find(nav: Any, src_uri: str) -> tuple[Nav, int] | None:
    """The first list and index whose item is this page."""
    if isinstance(nav, dict):
        return next((hit for value in nav.values() if (hit := _find(value, src_uri))), None)
    if not isinstance(nav, list):
        return None
    for index, item in enumerate(nav):
        direct = [item] if isinstance(item, str) else list(item.values()) if isinstance(item, dict) else []
        if any(isinstance(value, str) and _normal(value) == src_uri for value in direct):
            return nav, index
        if hit := _find(item, src_uri):
            return hit
    return None


def _replace_placeholder(nav: Any, section: Nav) -> bool:
    """Put ``section`` where the placeholder stands, in place; further placeholders are taken away."""
    done = False
    if isinstance(nav, dict):
        for value in nav.values():
            done |= _replace_placeholder(value, [] if done else section)
        return done
    if not isinstance(nav, list):
        return False
    keep: Nav = []
    for item in nav:
        title = _placeholder_title(item)
        if title is None:
            done |= _replace_placeholder(item, [] if done else section)
            keep.append(item)
        else:
            if section and not done:
                keep.append({title: section[0] if section == [OVERVIEW] else section})
            done = True
    nav[:] = keep
    return done


def _after_overview(nav: Nav, notes: Nav) -> bool:
    """Put notes behind an overview that the author named, in place: in its list, or in a section made of it."""
    spot = _find(nav, OVERVIEW)
    if spot is None:
        return False
    siblings, index = spot
    item = siblings[index]
    if siblings is not nav:
        siblings[index + 1 : index + 1] = notes
    elif isinstance(item, dict):
        siblings[index] = {title: [OVERVIEW, *notes] for title in item}
    else:
        siblings[index] = {SECTION: [OVERVIEW, *notes]}
    return True


def _placeholder_title(item: Any) -> str | None:
    """The title under which a placeholder stands; None when the item is none."""
    if isinstance(item, str):
        return SECTION if _is_placeholder(item) else None
    if isinstance(item, dict) and len(item) == 1:
        title, value = next(iter(item.items()))
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
            value = value[0]
        if isinstance(value, str) and _is_placeholder(value):
            return str(title)
    return None


def _is_placeholder(value: str) -> bool:
    return _normal(value) == PLACEHOLDER


def _normal(path: str) -> str:
    """A nav path as a source path: ``./a//b.md`` and ``/a/b.md`` are ``a/b.md``."""
    return posixpath.normpath(path.strip()).lstrip("/") if "://" not in path else path


def _copy(nav: Any) -> Any:
    if isinstance(nav, dict):
        return {key: _copy(value) for key, value in nav.items()}
    return [_copy(item) for item in nav] if isinstance(nav, list) else nav
