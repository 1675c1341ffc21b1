"""What was read from where: the answer to “why does my note look like this?”, for people and for CI."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mkdocs_sweepprof.advice import archives, layouts
from mkdocs_sweepprof.collection import Collection, discover, marked, single
from mkdocs_sweepprof.harvest import read_all
from mkdocs_sweepprof.project import Refused, missing_roots, readable_folder, shown
from mkdocs_sweepprof.readers import faults, readers
from mkdocs_sweepprof.readers.base import Problem, Reader
from mkdocs_sweepprof.readers.tree import MAX_FILES, Tree
from mkdocs_sweepprof.redact import Redactor
from mkdocs_sweepprof.site import Options

MAX_UNREAD = 10
"""Unread files that are named one by one."""
SOME_FILES = 5
"""Files of an unrecognised folder that are named."""


@dataclass(slots=True)
class RunReport:
    """One run: whether it counts, and by which clock."""

    run: str
    layout: str | None
    counted: bool
    left_out: str | None
    detail: str
    wall_seconds: float | None
    wall_source: str | None
    problems: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    """One collection."""

    collection: str
    folder: str
    config: str | None
    layouts: dict[str, int] = field(default_factory=dict)
    """Reader → runs."""
    sources: dict[str, int] = field(default_factory=dict)
    """Reader → distinct files read."""
    shared: int = 0
    """Files that more than one reader read."""
    files: int = 0
    files_read: int = 0
    unread: list[str] = field(default_factory=list)
    runs: list[RunReport] = field(default_factory=list)
    group: str | None = None
    group_inferred: bool = False
    factors: list[str] = field(default_factory=list)
    problems: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    mentions: list[str] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)

    @property
    def warnings(self) -> int:
        return sum(1 for p in self.problems if p["severity"] == "warning")

    @property
    def counted(self) -> int:
        return sum(1 for r in self.runs if r.counted)

    def left_out(self) -> dict[str, int]:
        return dict(sorted(Counter(r.left_out for r in self.runs if r.left_out).items()))

    def as_json(self) -> dict[str, Any]:
        """Plain values; ``left_out`` and ``counted`` are counts."""
        return {**asdict(self), "counted": self.counted, "left_out": self.left_out(), "warnings": self.warnings}


@dataclass(frozen=True, slots=True)
class Unrecognised:
    """A folder in a root in which no reader recognised runs."""

    folder: str
    files: list[str]
    """Some of its files."""
    remedy: str


@dataclass(slots=True)
class Checked:
    """All reports, and what stands outside any collection."""

    reports: list[Report] = field(default_factory=list)
    unrecognised: list[Unrecognised] = field(default_factory=list)
    """Folders in which no reader recognised runs."""
    missing: list[str] = field(default_factory=list)
    """Named folders that hold no collection, roots that do not exist, and what in a root could not be entered or
    belongs to no collection: a message each."""
    faults: list[str] = field(default_factory=list)
    """Readers of other packages that cannot be used, or failed."""

    @property
    def warnings(self) -> int:
        return sum(r.warnings for r in self.reports) + len(self.missing) + len(self.faults)


Progress = Callable[[int, int, str], None]


def check(options: Options, paths: Sequence[Path] = (), progress: Progress | None = None) -> Checked:
    """Read and analyse collections, without store and without writing anything.

    Args:
        options: roots and masking.
        paths: collections, folders of collections, or folders inside one; default: all roots.
        progress: told of each finished collection.

    Raises:
        Refused: a path is no folder, cannot be read, or holds far more files than a sweep.
    """
    known = readers()
    out = Checked()
    for path in paths:
        readable_folder(path, options.base)
    if not paths:
        out.missing += [message.text for message in missing_roots(options)]
        for root in (r for r in options.roots if r.is_dir()):
            prefix = f"{shown(root, options.base)}/"
            out.missing += [p.text(prefix) for p in discover(root, known).problems]
    found: list[tuple[Collection, str]] = []
    for path in paths or [root for root in options.roots if root.is_dir()]:
        collections, ignored = find_collections(path, options.roots, known)
        for child in ignored:
            out.unrecognised.append(_unrecognised(child, options.base))
        if not collections and not ignored:
            files = Tree(path).files
            if files:
                out.unrecognised.append(_unrecognised(path, options.base))
            out.missing.append(
                f"'{shown(path, options.base)}' {'holds no runs' if files else 'is empty'}. "
                + (
                    f"Put a folder of runs into it ({shown(path, options.base)}/<collection>/)."
                    if any(path == root for root in options.roots)
                    else "Name the folder that holds the runs."
                )
            )
        for collection in collections:
            if all(collection.path != other.path for other, _ in found):
                found.append((collection, shown(collection.path, options.base)))
    redactor = Redactor(options.publish_fields, options.redact)
    by_name = {reader.name: reader for reader in known}
    for i, (collection, place) in enumerate(found):
        if progress:
            progress(i, len(found), place)
        out.reports.append(_report(collection, place, by_name, redactor))
    out.faults = faults()
    if progress:
        progress(len(found), len(found), "")
    return out


def lines(checked: Checked, verbose: bool = False) -> Iterator[str]:
    """The reports as text. ``verbose``: every run, not only those left out or with problems."""
    for report in checked.reports:
        yield from _lines(report, verbose)
        yield ""
    for one in checked.unrecognised:
        yield f"{one.folder}: no layout recognised. Seen: {', '.join(one.files) or 'no files'}."
        yield f"  {one.remedy}"
        yield ""
    yield from checked.missing
    yield from checked.faults
    total = sum(len(r.runs) for r in checked.reports)
    counted = sum(r.counted for r in checked.reports)
    yield (
        f"{_count(len(checked.reports), 'collection')}, {counted} of {_count(total, 'run')} counted, "
        f"{_count(checked.warnings, 'warning')}."
    )


def _lines(report: Report, verbose: bool) -> Iterator[str]:
    yield f"{report.folder}" + (f"  ({report.config})" if report.config else "")
    layouts = ", ".join(f"{n} {name}" for name, n in report.layouts.items()) or "none"
    yield f"  runs: {report.counted} of {len(report.runs)} counted; by layout: {layouts}"
    left = report.left_out()
    if left:
        yield "  left out: " + ", ".join(f"{n} {reason}" for reason, n in left.items())
    by_reader = [f"{n} by {name}" for name, n in report.sources.items()]
    if report.shared:
        by_reader.append(f"{report.shared} of them by more than one")
    if report.config and by_reader:
        by_reader.append(f"and {report.config}")
    yield f"  files: {report.files_read} of {report.files} read" + (f" ({', '.join(by_reader)})" if by_reader else "")
    if report.unread:
        shown_ = ", ".join(report.unread[:MAX_UNREAD])
        more = len(report.unread) - MAX_UNREAD
        yield f"  not read: {shown_}" + (f" and {more} more" if more > 0 else "")
    clocks = Counter(r.wall_source for r in report.runs if r.wall_source)
    if clocks:
        yield "  wall clock: " + ", ".join(f"{name} ({n})" for name, n in sorted(clocks.items()))
    if report.factors:
        yield f"  factors: {', '.join(report.factors)}"
    if report.group:
        yield f"  group: {report.group}" + (" (inferred)" if report.group_inferred else "")
    for name in report.excluded:
        yield f"  excluded: {name}"
    for text in (*report.mentions, *report.notes):
        yield f"  note: {text}"
    for run in report.runs:
        if run.left_out or verbose:
            wall = f"{run.wall_seconds:.1f} s by {run.wall_source}" if run.wall_seconds is not None else "no wall"
            state = f"left out, {run.left_out}" if run.left_out else wall
            yield f"  run {run.run}: {state}" + (f" ({run.detail})" if run.detail else "")
    for problem in report.problems:
        yield f"  {problem['severity'].upper()}: {problem['text']}"


def find_collections(path: Path, roots: Sequence[Path], known: Sequence[Reader]) -> tuple[list[Collection], list[Path]]:
    """The collections that a path means, and the folders in it that are none."""
    if path == path.parent:
        raise Refused(f"'{path}' is a whole file system. Name the folder that holds the runs.")
    if not path.is_dir():
        return [], []
    real = Path(os.path.realpath(path))
    for root in roots:
        real_root = Path(os.path.realpath(root))
        if root.is_dir() and real.is_relative_to(real_root):
            found = discover(root, known)
            ignored = [root / name for name in found.ignored]
            if real == real_root:
                return found.collections, ignored
            at = [(c, Path(os.path.realpath(c.path))) for c in found.collections]
            inside = [c for c, place in at if place.is_relative_to(real)]
            around = [c for c, place in at if real.is_relative_to(place)]
            # A folder inside a collection means the collection that it is part of.
            chosen = inside or sorted(around, key=lambda c: -len(c.folder))[:1]
            return chosen, [i for i in ignored if Path(os.path.realpath(i)).is_relative_to(real)]
    whole_tree = Tree(path)
    if whole_tree.cut:
        raise Refused(
            f"'{path}' is far more than a sweep (at most {MAX_FILES:,} files are listed). "
            "Name the folder that holds the runs."
        )
    found = discover(path, known)
    if not marked(whole_tree):
        # A tracker's folder that was named itself: as one collection, which it becomes when it is dropped into a root.
        whole = single(path, known)
        if whole.sources:
            return [whole], []
    return found.collections, [path / name for name in found.ignored]


def _unrecognised(folder: Path, base: Path) -> Unrecognised:
    files = Tree(folder).files
    some = [*files[:SOME_FILES], *(["…"] if len(files) > SOME_FILES else [])]
    remedy = archives(files) or f"Put one of these into it, as it was written: {layouts()}."
    return Unrecognised(shown(folder, base), some, remedy)


def _report(collection: Collection, place: str, known: dict[str, Reader], redactor: Redactor) -> Report:
    from mkdocs_sweepprof import pipeline

    done = pipeline.work(collection, read_all(collection, known, redactor), redactor.reading)
    read = {f for s in collection.sources for f in s.files}
    report = Report(collection.name, place, collection.config)
    by_reader: dict[str, set[str]] = {}
    for source in collection.sources:
        by_reader.setdefault(source.reader, set()).update(f for f in source.files if collection.tree.exists(f))
    report.sources = {name: len(files) for name, files in sorted(by_reader.items())}
    readings = Counter(f for files in by_reader.values() for f in files)
    report.shared = sum(1 for n in readings.values() if n > 1)
    report.files = len(collection.tree.files)
    report.files_read = len({*readings, *([collection.config] if collection.config else [])})
    report.unread = [f for f in collection.tree.files if f not in read and f != collection.config]
    runs = done.tables.runs
    report.layouts = {str(k): int(v) for k, v in runs["layout"].value_counts().sort_index().items()}
    by_run: dict[str, list[str]] = {}
    for problem in done.problems:
        if problem.run:
            by_run.setdefault(problem.run, []).append(problem.text())
    for row in runs.itertuples():
        wall = float(row.wall_seconds)  # type: ignore[arg-type]
        report.runs.append(
            RunReport(
                str(row.Index),
                _or_none(row.layout),
                _or_none(row.left_out) is None,
                _or_none(row.left_out),
                str(row.detail or ""),
                wall if wall == wall else None,
                _or_none(row.wall_source),
                by_run.get(str(row.Index), []),
            )
        )
    report.group = done.analysis.group
    report.group_inferred = done.analysis.group_inferred
    report.factors = [f.name for f in done.analysis.factors]
    report.notes = list(done.analysis.reader_notes)
    report.mentions = list(done.analysis.mentions)
    report.excluded = list(done.tables.excluded)
    order = sorted(done.problems, key=lambda p: (p.severity != "warning", p.path, p.line or 0, p.message))
    report.problems = [_plain(p, f"{place}/") for p in order]
    return report


def _or_none(value: Any) -> str | None:
    return str(value) if isinstance(value, str) and value else None


def _plain(problem: Problem, prefix: str) -> dict[str, Any]:
    return {**asdict(problem), "text": problem.text(prefix)}


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
