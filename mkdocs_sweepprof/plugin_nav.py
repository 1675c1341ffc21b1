"""The last word on a finished MkDocs navigation: where our notes stand when names or another plugin ordered it."""

from __future__ import annotations

import html
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page

from mkdocs_sweepprof import nav as navs
from mkdocs_sweepprof.site import OVERVIEW, Entry

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig


class Arrangement:
    """A finished navigation, in which notes are moved or added."""

    def __init__(self, nav: Navigation, files: Files) -> None:
        self.nav = nav
        self.files = files
        self.changed = False

    def settle(self, entries: list[Entry], *, explicit: bool, mode: str) -> None:
        """Put every note and the overview in its place.

        Args:
            entries: the notes of this build.
            explicit: the nav was written by hand or by another plugin: what it places stays there.
            mode: ``auto`` or ``append``.
        """
        overview = self._page(OVERVIEW)
        notes = [(e, p) for e in entries if (p := self._page(e.src_uri)) is not None]
        if not explicit and mode == "append":
            for page in [overview, *(p for _, p in notes)]:
                if page is not None and (spot := self._spot(page)) is not None:
                    self._take(spot)
        elif not explicit:
            for entry, page in notes:
                self._follow(entry, page)
            self._name_overview(overview)
        waiting: list[Any] = []
        for entry, page in notes:
            if self._spot(page) is None and not (mode == "auto" and self._follow(entry, page)):
                waiting.append(page)
        spot = self._spot(overview) if overview is not None else None
        if waiting and spot is not None and spot[2] is not None:
            siblings, index, parent = spot
            self._insert(siblings, index + 1, waiting, parent)
            waiting = []
        if overview is not None and spot is None:
            waiting.insert(0, overview)
        if waiting:
            section = Section(navs.SECTION, [])
            self._insert(section.children, 0, waiting, section)
            self._insert(self.nav.items, len(self.nav.items), [section], None)
        if not explicit:
            self._escape_folders(notes)
        if self.changed:
            self._relink()

    def _page(self, src_uri: str) -> Page | None:
        file = self.files.get_file_from_path(src_uri)  # of static-i18n's files: the one in this language
        return file.page if file is not None and _in_nav(file) else None

    def _spot(self, page: Any) -> tuple[list[Any], int, Any] | None:
        """(siblings, index, parent) of a page in the tree."""
        return next(((s, i, p) for s, i, p in self._walk(self.nav.items, None) if s[i] is page), None)

    def _walk(self, items: list[Any], parent: Any) -> Iterator[tuple[list[Any], int, Any]]:
        for index, item in enumerate(items):
            yield items, index, parent
            if item.children:
                yield from self._walk(item.children, item)

    def _follow(self, entry: Entry, page: Page) -> bool:
        """Put the note right after its results page (or design, where that stands later), where the nav has one."""
        anchors = [
            s for uri in (entry.results, entry.design) if uri and (p := self._page(uri)) and (s := self._spot(p))
        ]
        if not anchors:
            return False
        siblings, index, parent = anchors[0]
        index = max(i for s, i, _ in anchors if s is siblings)
        spot = self._spot(page)
        if spot is not None:
            if spot[0] is not siblings or spot[1] == index + 1:
                return True  # another folder's, or there already
            self._take(spot)
            index -= spot[1] < index
        self._insert(siblings, index + 1, [page], parent)
        return True

    def _name_overview(self, overview: Page | None) -> None:
        """MkDocs names a section by its folder; ours has a name."""
        spot = self._spot(overview) if overview is not None else None
        if spot is not None and isinstance(spot[2], Section) and len(spot[0]) == 1:
            spot[2].title = navs.SECTION

    @staticmethod
    def _escape_folders(notes: list[tuple[Entry, Page]]) -> None:
        """MkDocs names a section by its folder, which may be called anything, and themes print that as HTML."""
        for entry, page in notes:
            names = {navs.folder_title(part) for part in entry.folder.split("/")}
            section = page.parent
            while section is not None:
                if section.title in names:
                    section.title = html.escape(str(section.title), quote=False)
                section = section.parent

    def _take(self, spot: tuple[list[Any], int, Any]) -> None:
        """Remove an item, and the sections that this leaves empty."""
        siblings, index, parent = spot
        siblings.pop(index)
        self.changed = True
        if not siblings and parent is not None and (above := self._spot(parent)) is not None:
            self._take(above)

    def _insert(self, siblings: list[Any], index: int, items: list[Any], parent: Any) -> None:
        siblings[index:index] = items
        for item in items:
            item.parent = parent
        self.changed = True

    def _relink(self) -> None:
        """Previous and next in the order of the nav, as MkDocs sets them."""
        pages = [s[i] for s, i, _ in self._walk(self.nav.items, None) if isinstance(s[i], Page)]
        known = set(map(id, pages))
        self.nav.pages[:] = pages + [p for p in self.nav.pages if id(p) not in known]
        for before, page, after in zip([None, *pages[:-1]], pages, [*pages[1:], None], strict=True):
            page.previous_page, page.next_page = before, after


def _in_nav(file: File) -> bool:
    return bool(file.inclusion.value > InclusionLevel.NOT_IN_NAV.value)


def report_omitted(nav: Navigation, files: Files, config: MkDocsConfig) -> None:
    """What MkDocs says of pages outside the nav, in its words."""
    placed = set(map(id, nav.pages))
    omitted = [f.src_path for f in files.documentation_pages() if _in_nav(f) and id(f.page) not in placed]
    if omitted:
        logging.getLogger("mkdocs.structure.nav").log(
            config.validation.nav.omitted_files,
            'The following pages exist in the docs directory, but are not included in the "nav" configuration:\n  - '
            + "\n  - ".join(omitted),
        )
