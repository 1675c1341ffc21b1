"""The reader interface: what a reader sees of a folder, and what it gives back.

A reader knows one on-disk layout. It *recognises* sources in a collection's tree (cheaply, standard library
only) and *reads* each into plain records. Everything later (joining, tables, analysis) works on these records,
so a new layout is one new module and one line of registration. Units are fixed here, once: seconds for
durations, Unix epoch seconds (UTC) for instants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from mkdocs_sweepprof.readers.tree import Tree

Scalar: TypeAlias = str | int | float | bool | None
"""A config value. Lists and other objects are kept as their JSON or YAML text."""

Status = Literal["completed", "failed", "running", "killed", "not_started", "pruned"]
"""How a run ended, as far as its layout can know. ``pruned`` (stopped early by a pruner or scheduler) is a normal
end; ``running`` and ``killed`` both mean that no end was recorded."""

ProblemKind = Literal["unreadable", "value", "config", "time", "duplicate", "clock", "link", "size"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong with the input, in the words of a message: where, what, and the remedy.

    ``severity`` follows the design's levels: ``warning`` fails a strict build, ``info`` does not.
    ``path`` is relative to the collection folder, ``line`` is 1-based.
    """

    path: str
    message: str
    remedy: str
    line: int | None = None
    kind: ProblemKind = "unreadable"
    severity: Literal["warning", "info"] = "warning"
    run: str | None = None

    def text(self, prefix: str = "") -> str:
        """One line: ``path:line: message Remedy``."""
        path = f"{prefix}{self.path}" if self.path not in ("", ".") else prefix.rstrip("/") or "."
        where = path + (f":{self.line}" if self.line else "")
        return f"{where}: {self.message} {self.remedy}".strip()


@dataclass(slots=True)
class Section:
    """A profiled part of a run. ``path`` parts are joined with ``/``; ``total_seconds`` includes nested sections.

    ``overlapping`` says that its calls run in parallel with other sections (or each other), so that its total is not
    part of a sum. ``covered_seconds`` is then the time in which at least one of its calls ran and none of a section
    beside it that counts already: that is what enters sums and shares. Without it the section is reported only.
    """

    path: str
    count: int
    total_seconds: float
    overlapping: bool = False
    covered_seconds: float | None = None


@dataclass(slots=True)
class Event:
    """A timestamped line of the event log. ``time`` is epoch seconds."""

    time: float
    event: str
    name: str | None = None
    step: int | None = None
    epoch: int | None = None
    status: str | None = None

    @property
    def label(self) -> str:
        """The marker's label: its name, else its event."""
        return self.name or self.event


@dataclass(slots=True)
class Session:
    """One uninterrupted stretch of a resumed run, epoch seconds. ``ended_at`` is the last sign of life."""

    started_at: float
    ended_at: float


@dataclass(slots=True)
class Run:
    """One training process, or what one layout knows of it (a fragment, until :mod:`.join` merges fragments).

    Wall clocks, in the order of the design: ``profile_wall`` (a profile's own ``wall_seconds``), ``run_start`` →
    ``run_end`` markers in ``events``, ``started_at``/``ended_at`` or ``duration`` of a tracker, and
    ``first_activity``/``last_activity`` for layouts that record no end. What a layout cannot know stays None.
    """

    id: str
    """Unique within its layout; a name that a person would know it by: folder path relative to the collection, or
    the tracker's run name/id."""
    layout: str
    """The reader's name."""
    directory: str | None = None
    """Folder relative to the collection ("" is the collection itself); None when the layout has no folder a run."""
    aliases: tuple[str, ...] = ()
    """Other names this run is known by (tracker run id, job id, run name): used to join fragments."""
    config: dict[str, Scalar] = field(default_factory=dict)
    """Flat: nested keys joined with dots."""
    compare_by: str | None = None
    """The config field that results in this layout are compared by, where it has such a custom (MLPerf: the
    benchmark): the group, when collection.yml names none."""
    status: Status | None = None
    profile_wall: float | None = None
    started_at: float | None = None
    ended_at: float | None = None
    duration: float | None = None
    first_activity: float | None = None
    last_activity: float | None = None
    sections: list[Section] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    """Markers in file order. Metric rows become events only where they mark progress (one per step/epoch)."""
    sessions: list[Session] = field(default_factory=list)
    """Filled when the layout can tell that the run was resumed (two or more), else empty."""
    outside: dict[str, float] = field(default_factory=dict)
    """Seconds outside the wall that belong to the story: ``init`` (MLPerf), ``queue`` (sacct)."""
    resources: dict[str, Scalar] = field(default_factory=dict)
    """Facts about the machine, not settings: ``nodes``, ``gpus``, ``job_id``."""
    files: tuple[str, ...] = ()
    """The files that this was read from, relative to the collection (provenance)."""
    notes: tuple[str, ...] = ()
    """What the layout could not tell or what was assumed, one sentence each; shown under *limits*."""
    unreadable: bool = False
    """The run exists but nothing usable could be read: it is left out as ``unreadable``."""
    children: bool = False
    """A parent that only holds its children: no run, never counted."""


@dataclass(frozen=True, slots=True)
class Source:
    """Something a reader recognised: the unit of caching. One source holds one run, or many (a database).

    ``files`` are all files whose content determines what :meth:`Reader.read` returns, relative to the collection.
    """

    reader: str
    key: str
    """Unique among the reader's sources in this tree; usually the run folder or file, relative."""
    files: tuple[str, ...]
    directory: str | None = None


@dataclass(slots=True)
class Reading:
    """What one source held."""

    runs: list[Run] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    mentions: list[str] = field(default_factory=list)
    """Things left aside on purpose, one sentence each ("2 deleted runs", "1 parent run")."""


@runtime_checkable
class Reader(Protocol):
    """One on-disk layout. Stateless; constructed without arguments.

    ``find`` must be cheap and must say "not mine" (an empty list) to every other layout's files: it may look at
    names and at the first bytes. It imports nothing outside the standard library. ``read`` never raises for bad
    input: it returns what could be read, and a :class:`Problem` for the rest.
    """

    name: str
    """Stable, lower case: ``"mlflow"``."""
    title: str
    """For people: ``"MLflow"``."""
    version: int
    """Raise it when ``read`` changes what it returns: remembered readings are then made anew."""

    def find(self, tree: Tree) -> Sequence[Source]: ...

    def read(self, tree: Tree, source: Source) -> Reading: ...
