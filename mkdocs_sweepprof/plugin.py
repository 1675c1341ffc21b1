"""The MkDocs plugin: options, events, and the way of pages, assets and nav entries into a site."""

from __future__ import annotations

import html
import logging
import os
import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import quote as percent_encode

from mkdocs.config import config_options as c
from mkdocs.config.base import Config, ValidationError
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin, CombinedEvent, event_priority, get_plugin_logger
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page

from mkdocs_sweepprof import nav as navs
from mkdocs_sweepprof import project, quote
from mkdocs_sweepprof.site import OVERVIEW, SCRIPT, STYLE, Entry, Message, Options, Site

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Environment
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.livereload import LiveReloadServer

    from mkdocs_sweepprof.watch import Watcher

log = get_plugin_logger("sweepprof")

RAW_SHOWN = 3
"""Files named in the warning about a collection inside the docs folder."""
HARMLESS = (
    ".md",
    ".markdown",
    ".mdown",
    ".mkdn",
    ".mkd",
    ".png",
    ".jpg",
    ".jpeg",
    ".gif",
    ".svg",
    ".webp",
    ".pdf",
    ".css",
)
"""Files inside a root inside the docs folder that may be published: pages and what they show."""


class _Texts(c.ListOfItems[str]):
    """A list of texts; one text is as good as a list of it."""

    def __init__(self, default: list[str]) -> None:
        super().__init__(c.Type(str), default=default)

    def run_validation(self, value: object) -> list[str]:
        return super().run_validation([value] if isinstance(value, str) else value)


class _Roots(_Texts):
    def run_validation(self, value: object) -> list[str]:
        try:
            return project.check_roots(super().run_validation(value))
        except project.BadOption as error:
            raise ValidationError(error.message) from None


class _PageName(c.Type[str]):
    def run_validation(self, value: object) -> str:
        try:
            return project.check_page_name(super().run_validation(value))
        except project.BadOption as error:
            raise ValidationError(error.message) from None


class SweepProfConfig(Config):  # type: ignore[no-untyped-call]
    """Options of the plugin. Paths are relative to ``mkdocs.yml``."""

    roots = _Roots(default=list(project.ROOTS))
    """Folders that hold collections, one or a list. They may lie anywhere, also outside the repository or behind a
    link; links *below* a root are not followed out of it."""

    page_name = _PageName(str, default=project.PAGE_NAME)
    """File name of each note's page, in the collection's place in the docs: `<path under the root>/profiling.md`."""

    nav = c.Choice(("auto", "append", "none"), default="auto")
    """Where notes go in an explicit `nav`. `auto`: right after the collection's design and results pages, else where
    a `- Sweeps: sweepprof/` stands, else into one section at the end. `append`: always into that section. `none`:
    notes are built but no entry is made. Without a `nav`, MkDocs' own order holds, with notes after results."""

    cache_dir = c.Type(str, default=project.CACHE)
    """Where finished notes are remembered between builds. The folder may be removed at any time."""

    watch = c.Type(bool, default=True)
    """Whether `mkdocs serve` rebuilds when a run or a collection changes."""

    publish_fields = _Texts(default=[])
    """Config fields to show although their names look like secrets, as globs (`model.use_*_token`)."""

    redact = _Texts(default=[])
    """Further config fields whose values are masked in pages, downloads and the store, as globs."""

    templates = c.Optional(c.Type(str))
    """A folder of note templates: a file in it stands in for ours of the same name."""


class SweepProfPlugin(BasePlugin[SweepProfConfig]):  # type: ignore[no-untyped-call]
    """Finds collections, and puts their profiling notes into the site."""

    def __init__(self) -> None:
        self._options: Options | None = None
        self._site = Site()
        self._entries: list[Entry] = []
        self._pages: set[str] = set()
        """Source paths of the pages that are ours in this build."""
        self._contents: dict[str, bytes | str] = {}
        self._said: set[str] = set()
        self._missing: set[str] = set()
        self._command: str | None = None
        self._watcher: Watcher | None = None
        self._nav: Navigation | None = None
        self._omitted: int | None = None
        """The level at which pages left out of the nav are reported, while that waits for ours to be put in."""

    # --- events ------------------------------------------------------------------------------------------------------

    def on_startup(self, *, command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:
        """Having this event makes MkDocs keep the plugin's object over the rebuilds of ``mkdocs serve``.

        It then keeps it over all configurations loaded in one process: nothing of one build may reach into the next.
        """
        self._command = command

    def on_config(self, config: MkDocsConfig) -> None:
        """Resolve the options and refuse what cannot work."""
        if not getattr(config.plugins.get("i18n"), "building", False):
            self._said = set()  # static-i18n builds once a language: what was said in the first holds for all
        base = Path(config.config_file_path).absolute().parent if config.config_file_path else Path.cwd()
        try:
            self._options = project.make_options(
                base,
                roots=self.config.roots,
                page_name=self.config.page_name,
                cache_dir=self.config.cache_dir,
                publish_fields=self.config.publish_fields,
                redact=self.config.redact,
                templates=self.config.templates,
            )
            project.check_places(self._options, Path(config.docs_dir), Path(config.site_dir))
        except project.BadOption as error:
            raise PluginError(f"sweepprof: {error}") from None

    def _on_files(self, files: Files, *, config: MkDocsConfig) -> None:
        """Build the notes and add them, in place: other plugins hold on to ``files``."""
        assert self._options is not None
        docs = frozenset(_written(files, config))
        if self.config.watch and self._command == "serve":
            self._watch().before_build(self._options.roots)
        self._site = build(self._options, docs)
        missing = project.missing_roots(self._options)
        # Said once while the site is served, until the root is there and goes again.
        self._tell([*(m for m in missing if m.text not in self._missing), *self._site.messages])
        self._missing = {m.text for m in missing} if self._command == "serve" else set()
        self._keep_raw_runs_out(files, config)
        self._add(files, config)
        self._add_to_nav(config)

    def _after_files(self, files: Files, *, config: MkDocsConfig) -> None:
        """Mend what plugins that came between did.

        static-i18n makes new files from paths in the docs folder: ours get their content back, in each language.
        """
        # literate-nav has made a nav by now.
        self._add_to_nav(config)
        checks = config.validation.nav
        if "awesome-nav" in config.plugins and self._entries and self.config.nav != "none":
            # It makes its nav after this, and what it leaves out is reported then; ours is put in only later.
            self._omitted, checks.omitted_files = checks.omitted_files, logging.DEBUG
        if not _has_i18n(config):
            return
        for file in files:
            content = self._contents.get(file.src_uri)
            if content is None:
                continue
            file.generated_by = "sweepprof"
            if isinstance(content, str):
                file.content_string = content
                continue
            file.content_bytes = content
            language = getattr(file, "locale_alternate_of", None)
            if file.src_uri in (STYLE, SCRIPT) or not language:
                continue
            # A page of another language shows its figures from its own folder.
            prefix = _prefix(files, self._pages)
            if prefix and not file.dest_uri.startswith(prefix):
                file.dest_uri = prefix + file.dest_uri
                file.abs_dest_path = os.path.normpath(Path(config.site_dir, file.dest_uri))
                file.url = percent_encode(file.dest_uri)

    on_files = CombinedEvent(event_priority(50)(_on_files), event_priority(-110)(_after_files))

    def on_nav(self, nav: Navigation, *, config: MkDocsConfig, files: Files) -> None:
        """Order what MkDocs sorted by name, and place what another plugin's nav does not know."""
        self._nav = nav
        if self.config.nav == "none":
            return
        _Shelf(nav, files).settle(self._entries, explicit=config.nav is not None, mode=self.config.nav)
        if self._omitted is not None:
            config.validation.nav.omitted_files, self._omitted = self._omitted, None
            _report_omitted(nav, files, config)

    def on_env(self, env: Environment, *, config: MkDocsConfig, files: Files) -> None:
        """Put back what static-i18n threw out of the nav: it keeps only what lies in a language's folder."""
        nav, self._nav = self._nav, None
        if nav is not None and _has_i18n(config) and self.config.nav != "none":
            _Shelf(nav, files).settle(self._entries, explicit=True, mode=self.config.nav)

    @event_priority(100)
    def on_page_markdown(self, markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str | None:
        """Our pages hold values from runs, and no macros; hand-written pages may quote facts and figures."""
        if page.file.src_uri in self._pages:
            page.meta["render_macros"] = False
            return None
        if quote.MARKER not in markdown:
            return None
        expanded, messages = quote.expand(markdown, page.file.src_uri, quote.Shelf(self._site.quotable))
        self._tell(messages)
        return expanded

    def on_serve(self, server: LiveReloadServer, *, config: MkDocsConfig, builder: Callable[..., Any]) -> None:
        """Rebuild when a collection changes: see :mod:`.watch`."""
        if not self.config.watch or self._options is None:
            return
        watcher = self._watch()
        if self._command != "serve":
            watcher.before_build(self._options.roots)
        server.watch(str(watcher.stamp))
        watcher.start()
        roots = ", ".join(f"'{project.shown(root, self._options.base)}'" for root in self._options.roots)
        log.info(f"Watching collections: {roots}")

    def on_shutdown(self) -> None:
        """End the watching."""
        if self._watcher is not None:
            self._watcher.stop()
        self._watcher = self._command = None

    # --- parts -------------------------------------------------------------------------------------------------------

    def _watch(self) -> Watcher:
        if self._watcher is None:
            from mkdocs_sweepprof.watch import Watcher

            self._watcher = Watcher()
        return self._watcher

    def _tell(self, messages: list[Message]) -> None:
        """Log each message once a build."""
        for message in messages:
            if message.text not in self._said:
                log.log(logging.WARNING if message.level == "warning" else logging.INFO, message.text)
            self._said.add(message.text)

    def _keep_raw_runs_out(self, files: Files, config: MkDocsConfig) -> None:
        """A root inside the docs folder: MkDocs would publish the raw runs, secrets and all."""
        assert self._options is not None
        docs = Path(config.docs_dir)
        for root in self._options.roots:
            if not project.inside(root, docs) or not root.is_dir():
                continue
            raw = [
                f
                for f in files
                if _included(f)
                and f.abs_src_path
                and f.generated_by is None
                and not f.src_uri.lower().endswith(HARMLESS)
                and project.inside(Path(f.abs_src_path), root)
            ]
            if not raw:
                continue
            for file in raw:
                file.inclusion = InclusionLevel.EXCLUDED
            name = project.shown(root, self._options.base)
            there = os.path.relpath(os.path.realpath(root), os.path.realpath(docs)).replace(os.sep, "/")
            pattern = "/**/runs/" if there == "." else f"/{there}/**/runs/"
            some = ", ".join(f.src_uri for f in raw[:RAW_SHOWN]) + (", …" if len(raw) > RAW_SHOWN else "")
            self._tell(
                [
                    Message(
                        "warning",
                        f"The root '{name}' lies inside the docs folder, where MkDocs publishes every file as it is: "
                        f"{len(raw)} raw {'file is' if len(raw) == 1 else 'files are'} kept out of the site ({some}). "
                        f"Move the root beside the docs folder, or name these files in 'exclude_docs' ('{pattern}').",
                    )
                ]
            )

    def _add(self, files: Files, config: MkDocsConfig) -> None:
        """Add pages and assets that collide with nothing; report those that do."""
        self._pages, self._contents = set(), {}
        taken = {f.dest_uri: f for f in files if _included(f)}
        written = _written(files, config)
        added: list[File] = []
        pages = {page.src_uri: page for page in self._site.pages}
        contents: list[tuple[str, str | bytes, Path | None]] = [
            *((p.src_uri, p.markdown, p.path) for p in self._site.pages),
            *((a.src_uri, a.content, a.path) for a in self._site.assets),
        ]
        for src_uri, content, path in contents:
            file = File.generated(config, src_uri, content=content)
            there = files.get_file_from_path(src_uri) if src_uri in files.src_uris else None
            rival = there or taken.get(file.dest_uri) or written.get(src_uri)
            if rival is not None:
                self._tell([_collision(src_uri, rival, ours=rival in added)])
                if there is None and src_uri in pages:
                    # Links to it must not break: excluded, it still stands for the URL that both have.
                    file.inclusion = InclusionLevel.EXCLUDED
                    files.append(file)
                continue
            if _has_i18n(config):
                file.abs_src_path = os.path.normpath(Path(config.docs_dir, src_uri))
            elif path is not None:
                file.abs_src_path = str(path)
            if src_uri in pages:
                file.edit_uri = self._edit_uri(pages[src_uri].edit, config)
                self._pages.add(src_uri)
                if self.config.nav == "none":
                    file.inclusion = InclusionLevel.NOT_IN_NAV
            self._contents[src_uri] = content
            taken[file.dest_uri] = file
            added.append(file)
            files.append(file)
        self._entries = [e for e in self._site.entries if e.src_uri in self._pages]
        _sort(files, self._entries)
        if files.get_file_from_path(STYLE) is not None and STYLE not in config.extra_css:
            config.extra_css.append(STYLE)
        if files.get_file_from_path(SCRIPT) is not None and SCRIPT not in map(str, config.extra_javascript):
            script = c.ExtraScriptValue(SCRIPT)
            script.defer = True
            config.extra_javascript.append(script)

    def _add_to_nav(self, config: MkDocsConfig) -> None:
        """Place notes in an explicit nav. Where there is none, none is made: MkDocs' own shall hold."""
        if config.nav is not None:
            mode = cast("navs.Mode", self.config.nav)
            config.nav = navs.place(config.nav, self._entries, OVERVIEW in self._pages, mode) or None

    def _edit_uri(self, target: Path | None, config: MkDocsConfig) -> str | None:
        """The path from the docs folder to what an edit link opens, or None where no link can be made."""
        if target is None or self._options is None:
            return None
        repository = _repository(self._options.base)
        if not project.inside(target, repository):
            return None
        docs = os.path.realpath(config.docs_dir)
        path = percent_encode(os.path.relpath(os.path.realpath(target), docs).replace(os.sep, "/"))
        if config.edit_uri_template:
            return path
        edit = config.edit_uri or ""
        if edit.startswith(("?", "#")):
            return None  # the path is in a query there: ".." would not be resolved
        if target.is_dir():
            parts = edit.strip("/").split("/")
            if "edit" in parts:
                # A folder cannot be edited but shown.
                parts[parts.index("edit")] = "tree"
                return posixpath.join("../" * len(parts), posixpath.normpath(posixpath.join("/".join(parts), path)))
        return path


def build(options: Options, docs: frozenset[str]) -> Site:
    """Build the site's notes. Its imports are needed in a build only."""
    from mkdocs_sweepprof.build import build_site
    from mkdocs_sweepprof.progress import bar

    with bar("Analysing") as progress:
        return build_site(options, docs, progress)


class _Shelf:
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


def _included(file: File) -> bool:
    return bool(file.inclusion.value > InclusionLevel.DRAFT.value)


def _in_nav(file: File) -> bool:
    return bool(file.inclusion.value > InclusionLevel.NOT_IN_NAV.value)


def _has_i18n(config: MkDocsConfig) -> bool:
    return "i18n" in config.plugins


def _written(files: Files, config: MkDocsConfig) -> dict[str, File]:
    """Hand-written pages by the source paths that links name them by.

    With static-i18n these are without the language (``design.md`` for ``en/design.md`` or ``design.en.md``).
    """
    found = {f.src_uri: f for f in files.documentation_pages() if f.generated_by != "sweepprof"}
    i18n = config.plugins.get("i18n")
    languages = getattr(i18n, "all_languages", ())
    for uri, file in list(found.items()):
        first, _, rest = uri.partition("/")
        stem, _, language = uri.removesuffix(".md").rpartition(".")
        if first in languages and rest:
            found.setdefault(rest, file)
        elif language in languages and stem:
            found.setdefault(f"{stem}.md", file)
    return found


def _report_omitted(nav: Navigation, files: Files, config: MkDocsConfig) -> None:
    """What MkDocs says of pages outside the nav, in its words."""
    placed = set(map(id, nav.pages))
    omitted = [f.src_path for f in files.documentation_pages() if _in_nav(f) and id(f.page) not in placed]
    if omitted:
        logging.getLogger("mkdocs.structure.nav").log(
            config.validation.nav.omitted_files,
            'The following pages exist in the docs directory, but are not included in the "nav" configuration:\n  - '
            + "\n  - ".join(omitted),
        )


def _prefix(files: Files, pages: set[str]) -> str:
    """The folder of a language that static-i18n put before our pages: ``"fr/"``, or none."""
    for uri in pages:
        file = files.src_uris.get(uri)
        if file is None:
            continue
        plain = File(uri, None, "", file.use_directory_urls).dest_uri
        if file.dest_uri != plain and file.dest_uri.endswith(plain):
            return file.dest_uri.removesuffix(plain)
    return ""


def _collision(src_uri: str, rival: File, *, ours: bool) -> Message:
    if ours:
        return Message(
            "warning",
            f"Two collections make '{src_uri}' ('{rival.src_uri}' has the same URL); the first is shown. "
            "Rename one of the folders.",
        )
    if rival.src_uri == src_uri:
        return Message("info", f"'{src_uri}' is hand-written and stands; the generated one is left out.")
    return Message(
        "info",
        f"'{rival.src_uri}' has the URL of the generated '{src_uri}' and stands; the generated one is left out. "
        "Rename one, or set another 'page_name', to have both.",
    )


def _sort(files: Files, entries: list[Entry]) -> None:
    """Bring each note behind its results or design page, in place: plugins that make a nav go by the order of files."""
    follow: dict[str, File] = {}
    for entry in entries:
        anchor = next((p for p in (entry.results, entry.design) if p and p in files.src_uris), None)
        if anchor is not None:
            follow[anchor] = files.src_uris[entry.src_uri]
    if not follow:
        return
    moved = set(map(id, follow.values()))
    order: list[File] = []
    for file in files:
        if id(file) not in moved:
            order.append(file)
            if (note := follow.get(file.src_uri)) is not None:
                order.append(note)
    for file in order:
        files.remove(file)
        files.append(file)


def _repository(base: Path) -> Path:
    """The repository that holds ``base``; ``base`` itself when there is none."""
    return next((folder for folder in (base, *base.parents) if (folder / ".git").exists()), base)
