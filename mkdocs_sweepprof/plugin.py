"""The MkDocs plugin: options and events. What they do with files and nav is in ``plugin_files`` and ``plugin_nav``."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from mkdocs.config import config_options as c
from mkdocs.config.base import Config, ValidationError
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin, CombinedEvent, event_priority, get_plugin_logger
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

from mkdocs_sweepprof import nav as navs
from mkdocs_sweepprof import project, quote
from mkdocs_sweepprof.plugin_files import Added, add, has_i18n, keep_raw_runs_out, restore_translations, written
from mkdocs_sweepprof.plugin_nav import Arrangement, report_omitted
from mkdocs_sweepprof.site import OVERVIEW, Message, Options, Site

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Environment
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.livereload import LiveReloadServer

    from mkdocs_sweepprof.watch import Watcher

log = get_plugin_logger("sweepprof")


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
        self._added = Added()
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
        docs = frozenset(written(files, config))
        if self.config.watch and self._command == "serve":
            self._watch().before_build(self._options.roots)
        self._site = build(self._options, docs)
        missing = project.missing_roots(self._options)
        # Said once while the site is served, until the root is there and goes again.
        self._tell([*(m for m in missing if m.text not in self._missing), *self._site.messages])
        self._missing = {m.text for m in missing} if self._command == "serve" else set()
        self._tell(keep_raw_runs_out(files, config, self._options))
        self._added = add(files, config, self._site, self._options, in_nav=self.config.nav != "none")
        self._tell(self._added.messages)
        self._add_to_nav(config)

    def _after_files(self, files: Files, *, config: MkDocsConfig) -> None:
        """Mend what plugins that came between did.

        static-i18n makes new files from paths in the docs folder: ours get their content back, in each language.
        """
        # literate-nav has made a nav by now.
        self._add_to_nav(config)
        checks = config.validation.nav
        if "awesome-nav" in config.plugins and self._added.entries and self.config.nav != "none":
            # It makes its nav after this, and what it leaves out is reported then; ours is put in only later.
            self._omitted, checks.omitted_files = checks.omitted_files, logging.DEBUG
        restore_translations(files, config, self._added)

    on_files = CombinedEvent(event_priority(50)(_on_files), event_priority(-110)(_after_files))

    def on_nav(self, nav: Navigation, *, config: MkDocsConfig, files: Files) -> None:
        """Order what MkDocs sorted by name, and place what another plugin's nav does not know."""
        self._nav = nav
        if self.config.nav == "none":
            return
        Arrangement(nav, files).settle(self._added.entries, explicit=config.nav is not None, mode=self.config.nav)
        if self._omitted is not None:
            config.validation.nav.omitted_files, self._omitted = self._omitted, None
            report_omitted(nav, files, config)

    def on_env(self, env: Environment, *, config: MkDocsConfig, files: Files) -> None:
        """Put back what static-i18n threw out of the nav: it keeps only what lies in a language's folder."""
        nav, self._nav = self._nav, None
        if nav is not None and has_i18n(config) and self.config.nav != "none":
            Arrangement(nav, files).settle(self._added.entries, explicit=True, mode=self.config.nav)

    @event_priority(100)
    def on_page_markdown(self, markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str | None:
        """Our pages hold values from runs, and no macros; hand-written pages may quote facts and figures."""
        if page.file.src_uri in self._added.pages:
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

    def _add_to_nav(self, config: MkDocsConfig) -> None:
        """Place notes in an explicit nav. Where there is none, none is made: MkDocs' own shall hold."""
        if config.nav is not None:
            mode = cast("navs.Mode", self.config.nav)
            config.nav = navs.place(config.nav, self._added.entries, OVERVIEW in self._added.pages, mode) or None


def build(options: Options, docs: frozenset[str]) -> Site:
    """Build the site's notes. Its imports are needed in a build only."""
    from mkdocs_sweepprof.build import build_site
    from mkdocs_sweepprof.progress import bar

    with bar("Analysing") as progress:
        return build_site(options, docs, progress)
