"""The light half of a build: what is there, what is remembered, what must be made anew.

:func:`build_site` is the one entry for both consumers. It imports pandas, matplotlib and pydantic only through
:mod:`.pipeline`, and that only when a collection changed.
"""

from __future__ import annotations

import difflib
import json
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mkdocs_sweepprof import __version__
from mkdocs_sweepprof.advice import archives, layouts
from mkdocs_sweepprof.collection import Collection, discover, overlooked
from mkdocs_sweepprof.harvest import read_source, tree_problems
from mkdocs_sweepprof.readers import faults, readers
from mkdocs_sweepprof.readers.base import Problem, Reader, Reading, Source
from mkdocs_sweepprof.readers.tree import Tree
from mkdocs_sweepprof.site import OVERVIEW, SCRIPT, STYLE, Asset, Entry, Message, Options, Page, Quotable, Site
from mkdocs_sweepprof.store import Store, digest

if TYPE_CHECKING:
    from mkdocs_sweepprof.analysis.results import Comparable
    from mkdocs_sweepprof.pipeline import Work
    from mkdocs_sweepprof.redact import Redactor

Progress = Callable[[int, int, str], None]
"""Called with (done, total, what) as collections are finished."""

_FILE = "file:"
"""Prefix of a remembered page's files among its values."""

MAX_LOGGED = 20
"""Problems of one collection that are logged one by one; the page has more of them."""
MAX_LISTED = 200
"""Problems that a note lists (:data:`.note.wording.MAX_PROBLEMS`), which is not imported for a number."""


def build_site(options: Options, docs: frozenset[str] = frozenset(), progress: Progress | None = None) -> Site:
    """Find, read, analyse and write everything that is not remembered.

    Args:
        options: where to look and what to mask.
        docs: source paths of the hand-written pages.
        progress: told of each finished collection.

    Never raises for bad input: what is wrong is in the site's messages, and on the pages.
    """
    store = Store(options.cache, __version__)
    notice = None
    try:
        site = _Build(options, docs, store, progress).run()
    finally:
        notice = store.close()
    if notice:
        site.messages.append(Message("info", notice))
    return site


@dataclass(slots=True)
class _Meta:
    """What others need to know of a collection, remembered apart from its note."""

    title: str
    compare_to: list[str]
    design: str | None
    results: str | None
    comparable: dict[str, Any]


@dataclass
class _Job:
    """One collection on its way through a build."""

    collection: Collection
    place: str
    """Its folder for people, relative to the base."""
    content: str
    """Key of everything that its analysis depends on."""
    meta: _Meta | None = None
    done: Work | None = None
    problems: list[Problem] = field(default_factory=list)

    @cached_property
    def name(self) -> str:
        return self.collection.folder or self.collection.name


class _Build:
    def __init__(self, options: Options, docs: frozenset[str], store: Store, progress: Progress | None) -> None:
        self.options = options
        self.docs = docs
        self.store = store
        self.progress = progress or (lambda done, total, what: None)
        self.readers: dict[str, Reader] = {}
        self.site = Site()
        self._codes: dict[str, str] = {}

    def run(self) -> Site:
        jobs = self._jobs()
        for job in jobs:
            self._meta(job)
        notes = []
        for i, job in enumerate(jobs):
            self.progress(i, len(jobs), job.name)
            notes.append(self._note(job, jobs))
        self.progress(len(jobs), len(jobs), "")
        if jobs:
            self._overview(jobs, notes)
            for uri, name in ((STYLE, "sweepprof.css"), (SCRIPT, "sweepprof.js")):
                self.site.assets.append(Asset(uri, (files("mkdocs_sweepprof") / "assets" / name).read_bytes()))
        return self.site

    # --- what is there -----------------------------------------------------------------------------------------

    def _jobs(self) -> list[_Job]:
        known = readers()
        self.readers = {r.name: r for r in known}
        taken: dict[str, str] = {}
        jobs = []
        for root in self.options.roots:
            if not root.is_dir():
                continue
            self.site.watched.append(root)
            found = discover(root, known)
            for problem in found.problems:
                self._say(problem.severity, problem.text(f"{self._place(root)}/"))
            for child in found.ignored:
                if (root / child / "runs").is_dir() and not any((root / child / "runs").iterdir()):
                    self._say("info", f"{self._place(root / child)}: runs/ is empty, so there is no note of it yet.")
                    continue
                remedy = archives(Tree(root / child).files) or (
                    f"Layouts that are read: {layouts()}. `sweepprof check` says what was seen."
                )
                self._say("info", f"{self._place(root / child)}: no layout recognised. {remedy}")
            for collection in found.collections:
                place = self._place(collection.path)
                if collection.folder in taken:
                    self._say(
                        "warning",
                        f"{place}: the collection {collection.folder or collection.name!r} also stands in "
                        f"{taken[collection.folder]}, and both would be one page. Rename one folder; "
                        "this one is left aside.",
                    )
                    continue
                taken[collection.folder] = place
                jobs.append(_Job(collection, place, self._content_key(collection)))
        for fault in faults():
            self._say("warning", fault)
        return sorted(jobs, key=lambda j: j.collection.folder)

    def _content_key(self, collection: Collection) -> str:
        """Everything the analysis depends on: configuration, file contents, masking, versions."""
        tree = collection.tree
        parts: list[Any] = [
            self._code("**/*.py"),
            collection.folder,
            collection.name,
            self._digest(collection, collection.config) if collection.config else None,
            sorted((s.key, self._source_key(collection, s)) for s in collection.sources),
            sorted(tree.skipped),
            [p.text() for p in overlooked(collection)],
            self.options.publish_fields,
            self.options.redact,
        ]
        return _hash(parts)

    def _source_key(self, collection: Collection, source: Source) -> str:
        reader = self.readers[source.reader]
        digests = [(f, self._digest(collection, f)) for f in source.files]
        return _hash(
            [
                self._code("readers/*.py"),
                reader.name,
                reader.version,
                source.key,
                source.directory,
                digests,
                self.options.publish_fields,
                self.options.redact,
            ]
        )

    def _code(self, pattern: str) -> str:
        """Key of our own files: what an older version, or an edited checkout, remembered is made anew."""
        if pattern not in self._codes:
            home = Path(__file__).parent
            found = [(p.relative_to(home).as_posix(), self.store.fingerprint(p)) for p in sorted(home.glob(pattern))]
            self._codes[pattern] = _hash(found)
        return self._codes[pattern]

    def _digest(self, collection: Collection, path: str) -> str:
        try:
            return self.store.fingerprint(collection.tree.path(path), collection.tree.stat(path))
        except (OSError, KeyError):
            return "unreadable"

    @cached_property
    def _redactor(self) -> Redactor:
        from mkdocs_sweepprof.redact import Redactor

        return Redactor(self.options.publish_fields, self.options.redact)

    # --- analysis ----------------------------------------------------------------------------------------------

    def _meta(self, job: _Job) -> _Meta:
        """What is known of a collection without its note; analyses it when that is not remembered."""
        if job.meta is None:
            stored = self.store.get_note(f"meta-{job.content}")
            try:
                job.meta = _Meta(**stored) if stored is not None else None
            except TypeError:
                job.meta = None
        if job.meta is None:
            done = self._work(job)
            config = done.config
            job.meta = _Meta(
                done.analysis.title,
                list(config.compare_to),
                config.design,
                config.results,
                asdict(done.analysis.comparable()),
            )
            self.store.put_note(f"meta-{job.content}", asdict(job.meta))
        return job.meta

    def _work(self, job: _Job) -> Work:
        if job.done is None:
            from mkdocs_sweepprof import pipeline
            from mkdocs_sweepprof.fonts import settle

            settle(self.options.cache)
            self.site.analysed += 1
            job.done = pipeline.work(job.collection, self._readings(job.collection), self._redactor.reading)
        return job.done

    def _readings(self, collection: Collection) -> list[Reading]:
        """Each source's reading, remembered by content: one changed run costs one run."""
        out = []
        for source in collection.sources:
            key = self._source_key(collection, source)
            reading = self.store.get_reading(key)
            if reading is None:
                reading = self._redactor.reading(read_source(self.readers[source.reader], collection, source))
                self.store.put_reading(key, reading)
            out.append(reading)
        problems = tree_problems(collection.tree)
        return [*out, Reading([], problems)] if problems else out

    # --- the note ----------------------------------------------------------------------------------------------

    def _note(self, job: _Job, jobs: Sequence[_Job]) -> dict[str, Any]:
        """One note, remembered or made; adds its page, assets, entry and messages to the site."""
        meta = self._meta(job)
        problems: list[Problem] = []
        others = self._others(job, jobs, problems)
        page = posixpath.join(job.collection.folder, self.options.page_name)
        assets = posixpath.join(job.collection.folder, self.options.page_name.removesuffix(".md"))
        design = self._hand_written(job, "design", meta.design, problems)
        results = self._hand_written(job, "results", meta.results, problems)
        compare_links = {
            o.collection.name: self._link(page, posixpath.join(o.collection.folder, self.options.page_name))
            for o in others
        }
        comparables = [self._meta(o).comparable for o in others]
        key = "note-" + _hash(
            [
                self._code("**/*.j2"),
                job.content,
                page,
                design,
                results,
                compare_links,
                comparables,
                [asdict(p) for p in problems],
                self._templates_key,
            ]
        )
        made: dict[str, Any] | None = self.store.get_note(key)
        if made is None:
            made = self._write(job, others, page, design, results, compare_links, problems)
            self.store.put_note(key, made)
        self.site.pages.append(
            Page(page, made["markdown"], made["title"], job.collection.path / (job.collection.config or ""))
        )
        self._add_files(made, assets)
        self.site.entries.append(Entry(made["title"], page, job.collection.folder, design, results))
        self.site.quotable.append(
            Quotable(
                job.collection.name,
                job.collection.folder,
                page,
                assets,
                made[_FILE + "facts.json"],
                tuple((name, alt, caption) for name, alt, caption in made["figures"]),
            )
        )
        for level, text in made["messages"]:
            self._say(level, text)
        summary: dict[str, Any] = made["summary"]
        return summary | {"page": page, "folder": job.collection.folder, "title": made["title"]}

    def _write(
        self,
        job: _Job,
        others: Sequence[_Job],
        page: str,
        design: str | None,
        results: str | None,
        compare_links: dict[str, str],
        problems: Sequence[Problem],
    ) -> dict[str, Any]:
        from mkdocs_sweepprof import pipeline
        from mkdocs_sweepprof.note.base import Context

        done = self._work(job)
        every = [*done.problems, *problems]
        context = Context(
            folder=job.collection.folder,
            page=page,
            assets=posixpath.basename(self.options.page_name).removesuffix(".md"),
            description=done.config.description,
            date=done.config.date,
            design=self._link(page, design) if design else None,
            results=self._link(page, results) if results else None,
            overview=self._link(page, OVERVIEW),
            compare_links=compare_links,
            commentary=dict(pipeline.commentary(done.config)),
            labels=dict(done.config.labels),
            knob_order_given=bool(done.config.knobs),
            problems=tuple(every),
            excluded=tuple(done.tables.excluded),
        )
        made, drawings, more = pipeline.write(
            done, [_comparable(self._meta(o).comparable) for o in others], context, self._templates
        )
        return {
            "title": made.title,
            "markdown": made.markdown,
            "messages": [list(m) for m in _messages(job, done, [*every, *more])],
            "summary": made.summary,
            "figures": [[d.name, d.alt, d.caption] for d in drawings],
            **{_FILE + name: text.encode() for name, text in made.downloads.items()},
        }

    def _others(self, job: _Job, jobs: Sequence[_Job], problems: list[Problem]) -> list[_Job]:
        """The collections that this one compares with, by path under the root or by folder name."""
        found = []
        rest = [j for j in jobs if j is not job]
        for wanted in self._meta(job).compare_to:
            hits = [j for j in rest if j.collection.folder == wanted.strip("/")] or [
                j for j in rest if j.collection.name == wanted
            ]
            # Of several with one name the nearest relative is meant.
            parent = posixpath.dirname(job.collection.folder)
            hits.sort(key=lambda j: (posixpath.dirname(j.collection.folder) != parent, j.collection.folder))
            if hits:
                found.append(hits[0])
                continue
            where = job.collection.config or "collection.yml"
            if wanted.strip("/") in (job.collection.folder, job.collection.name):
                message, remedy = f"compare_to names {wanted!r}, which is this collection itself.", "Name another one."
                problems.append(Problem(where, message, remedy, _line(job.collection, "compare_to", wanted), "config"))
                continue
            near = difflib.get_close_matches(
                wanted, [n for j in rest for n in (j.collection.name, j.collection.folder)], 1, 0.4
            )
            problems.append(
                Problem(
                    where,
                    f"compare_to names {wanted!r}, which is no collection.",
                    f"Did you mean {near[0]!r}?" if near else "Name a collection's folder, or its path under the root.",
                    _line(job.collection, "compare_to", wanted),
                    "config",
                )
            )
        return found

    def _hand_written(self, job: _Job, what: str, named: str | None, problems: list[Problem]) -> str | None:
        """The source path of the design or results page, when the docs have it."""
        if named is None:
            path = posixpath.join(job.collection.folder, f"{what}.md")
            return path if path in self.docs else None
        path = posixpath.normpath(named.lstrip("/"))
        if path in self.docs:
            return path
        beside = posixpath.normpath(posixpath.join(job.collection.folder, named))
        if beside in self.docs:
            return beside
        if self.docs:
            near = difflib.get_close_matches(path, self.docs, 1, 0.5)
            problems.append(
                Problem(
                    job.collection.config or "collection.yml",
                    f"{what}: {named!r} is not among the docs pages.",
                    f"Did you mean {near[0]!r}?" if near else "Give its path below the docs folder.",
                    _line(job.collection, what, named),
                    "config",
                )
            )
        return None

    @staticmethod
    def _link(page: str, target: str) -> str:
        return posixpath.relpath(target, posixpath.dirname(page) or ".")

    # --- the overview ------------------------------------------------------------------------------------------

    def _overview(self, jobs: Sequence[_Job], summaries: Sequence[dict[str, Any]]) -> None:
        key = "overview-" + _hash([self._code("**/*.py"), self._code("**/*.j2"), list(summaries), self._templates_key])
        made: dict[str, Any] | None = self.store.get_note(key)
        if made is None:
            from mkdocs_sweepprof import figures
            from mkdocs_sweepprof.fonts import settle
            from mkdocs_sweepprof.note.overview import render_overview

            settle(self.options.cache)
            rows = [s | {"link": self._link(OVERVIEW, s["page"])} for s in summaries]
            # As the table prints them: a note chooses its unit by its median, which is not known here.
            points = [
                (s["title"], s["mean_seconds"], s["count"], s["mean"])
                for s in rows
                if s.get("mean_seconds") is not None and s.get("mean")
            ]
            trend = figures.draw_trend(points) if len(points) > 1 else None
            note = render_overview(rows, trend, self._templates)
            downloads = dict(note.downloads)
            if trend is not None:
                downloads[f"figures/{trend.name}.svg"] = trend.svg
                downloads[f"figures/{trend.name}.dark.svg"] = trend.dark
            made = {
                "title": note.title,
                "markdown": note.markdown,
                **{_FILE + name: text.encode() for name, text in downloads.items()},
            }
            self.store.put_note(key, made)
        self.site.pages.append(Page(OVERVIEW, made["markdown"], made["title"], None))
        self._add_files(made, posixpath.join(posixpath.dirname(OVERVIEW), "overview"))

    def _add_files(self, made: dict[str, Any], folder: str) -> None:
        """Figures and downloads of a page as assets below ``folder``."""
        for name, content in made.items():
            if name.startswith(_FILE):
                uri = posixpath.join(folder, name.removeprefix(_FILE))
                self.site.assets.append(Asset(uri, content, self.store.path(digest(content))))

    # --- helpers -----------------------------------------------------------------------------------------------

    @cached_property
    def _templates(self) -> tuple[str, ...]:
        return (str(self.options.templates),) if self.options.templates else ()

    @cached_property
    def _templates_key(self) -> list[tuple[str, str]]:
        """Names and contents of the user's own templates."""
        found: list[tuple[str, str]] = []
        folder = self.options.templates
        if folder is None:
            return found
        for path in sorted(folder.rglob("*.j2")):
            found.append((path.relative_to(folder).as_posix(), digest(path.read_bytes())))
        return found

    def _place(self, path: Path) -> str:
        try:
            return path.relative_to(self.options.base).as_posix()
        except ValueError:
            return path.as_posix()

    def _say(self, level: Literal["info", "warning"], text: str) -> None:
        self.site.messages.append(Message(level, text))


def _messages(job: _Job, done: Work, problems: Iterable[Problem]) -> list[tuple[str, str]]:
    """Log lines of one note: every problem up to a bound, then what was left out."""
    prefix = f"{job.place}/"
    every = sorted(problems, key=lambda p: (p.severity != "warning", p.path, p.line or 0, p.message))
    out: list[tuple[str, str]] = [(p.severity, p.text(prefix)) for p in every[:MAX_LOGGED]]
    if len(every) > MAX_LOGGED:
        rest = every[MAX_LOGGED:]
        level = "warning" if any(p.severity == "warning" for p in rest) else "info"
        more = f"{len(rest)} more problem" + ("s" if len(rest) > 1 else "")
        out.append((level, f"{job.place}: and {more}; the note lists them, up to {MAX_LISTED} in all."))
    reasons = Counter(x.reason for x in done.analysis.left_out)
    quiet = {r: n for r, n in reasons.items() if r in ("failed", "no_end", "not_started")}
    if quiet:
        listed = ", ".join(f"{n} {r}" for r, n in sorted(quiet.items()))
        out.append(
            (
                "info",
                f"{job.place}: {sum(quiet.values())} of {done.analysis.runtime.found} runs left out of the means "
                f"({listed}).",
            )
        )
    return out


def _line(collection: Collection, key: str, value: str) -> int | None:
    """The line of a value in ``collection.yml``, found by its text: this half of a build parses no YAML."""
    try:
        lines = collection.tree.read_text(collection.config).splitlines() if collection.config else []
    except OSError:
        return None
    start = next((i for i, line in enumerate(lines) if line.startswith(f"{key}:")), None)
    if start is None:
        return None
    return next((i + 1 for i in range(start, len(lines)) if value in lines[i]), start + 1)


def _comparable(plain: dict[str, Any]) -> Comparable:
    from mkdocs_sweepprof.analysis.results import Comparable

    return Comparable(**{**plain, "knobs": [tuple(k) for k in plain["knobs"]]})


def _hash(value: Any) -> str:
    return digest(json.dumps(value, sort_keys=True, default=str).encode())
