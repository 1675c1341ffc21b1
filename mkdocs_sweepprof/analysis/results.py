"""What an analysis of one collection found: plain values, no tables, no files, no text for people.

Seconds for durations, fractions (0 to 1) for shares. ``None`` means "not defined" or "not known", never zero.
Means over runs are over the *counted* runs (those not left out). Everything here survives :func:`dataclasses.asdict`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Reason = Literal["failed", "no_end", "not_started", "duplicate", "unreadable"]
WallSource = Literal["profile", "sessions", "events", "tracker", "activity", "sections"]
Role = Literal["evaluation", "training", "data", "setup", "output", "checkpoint", "other"]

SPANS = 0.99
"""An outermost section of this share of the wall is the run itself."""


@dataclass(slots=True)
class LevelStat:
    """Wall time of the counted runs at one level of a field (levels in display order)."""

    level: str
    n: int
    mean: float
    median: float
    min: float
    max: float
    total: float
    walls: list[float] = field(default_factory=list)
    """Each run's wall, ascending: the dots of the figure."""


@dataclass(slots=True)
class Factor:
    """A field that varies over the counted runs."""

    name: str
    levels: list[str]
    numeric: bool
    """All levels are numbers."""
    kind: Literal["categorical", "numeric", "seed", "id", "path", "time"]
    determined_by: str | None = None
    """The (finer) factor that fixes this one: shown under it."""
    thin: bool = False
    """Fewer than two runs a level on average: nearly every run has a value of its own."""


@dataclass(slots=True)
class Effect:
    """Strength of one field alone on wall time. None where it is not defined, with ``undefined`` saying why."""

    field: str
    levels: int
    eta_squared: float | None
    omega_squared: float | None
    undefined: Literal["", "one level", "only single-run levels", "all walls equal"] = ""
    determined_by: str | None = None


@dataclass(slots=True)
class Cells:
    """Mean wall by group level × factor level. ``mean[i][j]`` is None for an empty cell."""

    rows_field: str
    columns_field: str
    rows: list[str]
    columns: list[str]
    mean: list[list[float | None]]
    n: list[list[int]]
    slowest: list[tuple[str, str, float]]
    """(row, column, mean) of the slowest cells, slowest first, at most three."""


@dataclass(slots=True)
class LeftOut:
    """A run that is listed but in no mean."""

    run: str
    reason: Reason
    reached_seconds: float | None = None
    """How far it had come, where known."""
    detail: str = ""


@dataclass(slots=True)
class ClockConflict:
    """Two clocks of one run that disagree by more than 1 %."""

    run: str
    first: str
    first_seconds: float
    second: str
    second_seconds: float


@dataclass(slots=True)
class SessionStat:
    """A resumed run that is counted: active = wall."""

    run: str
    sessions: int
    active_seconds: float
    elapsed_seconds: float

    @property
    def gap_seconds(self) -> float:
        return self.elapsed_seconds - self.active_seconds


@dataclass(slots=True)
class Runtime:
    """Snapshot of wall time over the counted runs. All None when there is none."""

    count: int
    found: int
    mean: float | None
    median: float | None
    min: float | None
    max: float | None
    total: float


@dataclass(slots=True)
class SectionStat:
    """One section over the counted runs that have a profile; a run without this section counts 0 in shares."""

    path: str
    depth: int
    """Parts of the path below the nearest recorded ancestor chain: 0 = outermost in most runs that have it."""
    parent: str | None
    """Nearest recorded ancestor (in most runs), None for outermost."""
    role: Role
    runs: int
    share: float
    pooled_share: float
    self_share: float
    per_call: float | None
    """Mean over runs of seconds / count."""
    total_seconds: float
    counts: list[int]
    """Sorted distinct counts over runs."""
    by_group: dict[str, float]
    """Group level → mean over the level's runs of seconds / count."""
    by_group_share: dict[str, float]
    """Group level → mean share over the level's runs (absent counts 0)."""
    overlapping: bool = False
    """Its calls overlap (each other, or another section's) in most runs: shares are of the time that they cover."""
    summed: bool = True
    """Its time enters sums. False where calls overlap and what they cover is not known."""


@dataclass(slots=True)
class Separator:
    """Where the time goes that separates the slow group levels from the fast ones."""

    slow: list[str]
    fast: list[str]
    slow_wall: float
    fast_wall: float
    section: str | None
    """Section with the largest part of the difference; None: the time that no section covers."""
    part: float
    """Its part of the wall difference, fraction."""
    per_call: dict[str, float]
    """Level → seconds per call of that section, for the slow and fast levels."""
    unattributed_part: float
    others: dict[str, float]
    """Other sections of the same depth → their part of the difference."""
    within: str | None = None
    """The outermost section that spans the runs, whose parts are held against each other in its place."""


@dataclass(slots=True)
class DoubleCount:
    """The second guard: the recorded wall looks like a sum of nested rows."""

    all_rows_ratio: float
    """Σ of all rows / Σ wall over the collection (≈ 1)."""
    outermost_ratio: float
    """Σ of outermost rows / Σ wall."""
    mean_seconds: float
    """Mean wall if only outermost sections are added."""
    section: str
    """Largest outermost section."""
    section_share: float
    """Its mean share of the outermost sum."""


@dataclass(slots=True)
class Profile:
    """Where time goes, from sections."""

    runs: int
    """Counted runs with sections."""
    wall_seconds: float
    """The wall of those runs together: what shares and savings are parts of."""
    sections: list[SectionStat]
    """In tree order: outermost by falling share, children below their parent."""
    outermost: list[str]
    unattributed: float
    """1 − shares of the outermost; may be negative when sections exceed the wall."""
    unattributed_by_group: dict[str, float]
    roles: dict[Role, float]
    """Role → mean share (by self time, so that nothing is counted twice)."""
    dominant: str | None
    """Largest outermost section."""
    dominant_children: list[str]
    above_wall: list[tuple[str, float, float]]
    """(run, outermost seconds, wall seconds) of runs whose outermost sections exceed the wall."""
    double_count: DoubleCount | None
    separator: Separator | None
    overlapping: list[str]
    """Sections that are in no sum."""
    parallel: list[str] = field(default_factory=list)
    """Sections with overlapping calls that enter sums with the time they cover."""

    @property
    def spanning(self) -> str | None:
        """The outermost section that is the run itself: its parts say where the time goes. None: there is none."""
        if self.dominant is None or not self.dominant_children:
            return None
        share = next(s.share for s in self.sections if s.path == self.dominant)
        return self.dominant if share >= SPANS else None


@dataclass(slots=True)
class IntervalStat:
    """One interval over runs: by label (``from`` → ``to``) or by position.

    By position, ``start`` and ``end`` are the labels that most runs have there, or "" where none has a majority.
    """

    start: str
    end: str
    mean: float
    runs: int
    longest_in: int
    """Runs whose single longest interval this is."""
    position: int | None = None
    """Set when intervals are compared by position: 1-based."""
    kind: Literal["opening", "later", "tail"] = "later"

    @property
    def key(self) -> str:
        return f"{self.start} -> {self.end}" if self.position is None else f"#{self.position}"


@dataclass(slots=True)
class TailStat:
    level: str
    n: int
    mean: float
    share: float


@dataclass(slots=True)
class Intervals:
    """Where time goes, from the event log."""

    runs: int
    by: Literal["label", "position"]
    stats: list[IntervalStat]
    """In time order."""
    opening_mean: float | None
    """None unless most runs have an opening; so for what follows with the tail."""
    before_tail_mean: float | None
    """Mean time from run_start to the last epoch end, over the runs that have a tail."""
    before_tail_share: float | None
    tail_mean: float | None
    tail_max: float | None
    tail_share: float | None
    tail_by_group: list[TailStat]
    opening_runs: int = 0
    tail_runs: int = 0
    """Runs behind the means of the tail and of the time before it."""
    between_mean: float | None = None
    """Mean time between the opening and the tail; None unless the same runs have both."""
    slow_excess_in_tail: float | None = None
    """Part of the slow half's extra wall over the fast half that lies in the final tail."""


@dataclass(slots=True)
class CrossCheck:
    """Profile and event log of the same runs, held against each other."""

    runs: int
    event_wall_mean: float
    outermost_mean: float
    covered: float
    """Mean of outermost seconds / event wall."""
    wall_gap: float | None
    """Largest |profile wall − event wall| / event wall, where both exist."""


@dataclass(slots=True)
class KnobStat:
    """A setting or code path that someone can change, and at most what that saves if nothing else moves."""

    id: str
    label: str
    setting: str | None
    verb: str
    sections: list[str]
    """Governed sections that were found (all of them, nested ones included)."""
    topmost: list[str]
    keep: float
    share: float
    bound: float
    pooled_bound: float
    saved: float
    """Seconds over the collection."""
    leverage: Literal["high", "secondary", "negligible"]
    overlaps: list[str]
    """Ids of other knobs that govern some of the same time: do not add."""
    candidate: bool
    """Proposed from the largest sections, not configured."""
    counts: list[int]
    """Sorted distinct call counts of its topmost sections."""
    setting_value: str | None
    """The setting's value in this collection when it is the same in all runs."""
    role: Role = "other"
    note: str | None = None


@dataclass(slots=True)
class SettingChange:
    name: str
    other: str
    this: str
    knob: str | None
    """Id of the other note's knob that this setting is."""
    knob_label: str | None
    pooled_bound: float | None
    verdict: Literal["can explain", "cannot explain alone", "not a knob"]


@dataclass(slots=True)
class ComparisonStat:
    """This collection beside another: delta = this − other; ratio = other / this; saved = 1 − this / other."""

    other: str
    other_title: str
    this_mean: float
    other_mean: float
    delta: float
    ratio: float
    saved_share: float
    changes: list[SettingChange]
    caveats: list[Caveat]


@dataclass(slots=True)
class Caveat:
    """Why the two are not alike: ``kind`` with both sides as plain text."""

    kind: Literal["wall_source", "count", "levels", "factors", "double_count"]
    this: str
    other: str


@dataclass(slots=True)
class Comparable:
    """What another note needs to compare itself with this one; small, and kept between builds."""

    name: str
    title: str
    count: int
    mean: float | None
    wall_sources: dict[str, int]
    settings: dict[str, str]
    factors: dict[str, list[str]]
    knobs: list[tuple[str, str, str | None, float]]
    """(id, label, setting, pooled bound)."""
    double_count: bool
    excluded: list[str] = field(default_factory=list)
    """Globs of fields that the collection leaves aside."""
    hidden: list[str] = field(default_factory=list)
    """Fields of the runs that are neither factor nor setting (they vary, and are not among the chosen factors)."""


@dataclass(slots=True)
class Repeats:
    """How often each configuration was run, seeds and ids aside."""

    configurations: int
    min: int
    max: int
    fields: list[str]
    """The factors that make a configuration, those determined by another left out."""
    seeded: bool
    """A seed field varies."""


@dataclass(slots=True)
class RunRow:
    """A row of the runs table."""

    run: str
    levels: dict[str, str]
    wall_seconds: float | None
    wall_source: str | None
    status: str | None
    left_out: Reason | None
    reached_seconds: float | None
    sessions: int
    elapsed_seconds: float | None
    url: str | None = None
    started_at: float | None = None
    outside: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Analysis:
    """Everything that one note states."""

    name: str
    title: str
    runtime: Runtime
    rows: list[RunRow]
    left_out: list[LeftOut]
    wall_sources: dict[str, int]
    clock_conflicts: list[ClockConflict]
    sessions: list[SessionStat]
    pruned: int
    """Counted runs that a pruner or scheduler stopped early."""
    unknown_end: int
    """Counted runs whose layout records no status and no end."""
    without_config: int
    """Counted runs without a config: in totals, and in no comparison by field."""
    layouts: dict[str, int]
    group: str | None
    group_inferred: bool
    group_by_custom: bool
    """The group is what results in this layout are usually compared by, not what has the largest effect."""
    factors: list[Factor]
    settings: dict[str, str]
    """Fields that are the same in all counted runs, in config order."""
    shown_settings: list[str]
    by: dict[str, list[LevelStat]]
    """Factor → its levels' wall times."""
    effects: list[Effect]
    """Strongest first; undefined last."""
    cells: Cells | None
    repeats: Repeats
    profile: Profile | None
    intervals: Intervals | None
    cross_check: CrossCheck | None
    knobs: list[KnobStat]
    comparisons: list[ComparisonStat]
    outside: dict[str, float]
    """Kind → mean seconds outside the wall over the counted runs that record it."""
    reader_notes: list[str]
    mentions: list[str]
    missing: list[str]
    """Settings or fields named in collection.yml that no run has."""
    excluded_fields: list[str] = field(default_factory=list)
    """Globs of ``exclude.fields``."""
    hidden_fields: list[str] = field(default_factory=list)
    """Fields that are neither factor nor setting."""

    def comparable(self) -> Comparable:
        """The small record that other notes compare with."""
        return Comparable(
            name=self.name,
            title=self.title,
            count=self.runtime.count,
            mean=self.runtime.mean,
            wall_sources=dict(self.wall_sources),
            settings=dict(self.settings),
            factors={f.name: list(f.levels) for f in self.factors},
            knobs=[(k.id, k.label, k.setting, k.pooled_bound) for k in self.knobs],
            double_count=bool(self.profile and self.profile.double_count),
            excluded=list(self.excluded_fields),
            hidden=list(self.hidden_fields),
        )
