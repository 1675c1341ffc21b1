"""Analysis → facts: every number that a note states, under its id, with its unit and its printed text.

The ids of the design come first: ``runtime.*``, ``effect.*``, ``section.*``, ``sections.*``, ``knob.*``,
``intervals.*``, ``tail.*``, ``compare.*``, ``runs.left_out.*``. Further ids that this module adds:

``runtime.found|total``, ``runtime.count.of_found`` (``36/36``), ``runtime.total.brief``
``runtime.by.<field>.<level>.count|median|min|max``, ``effect.<field>.levels``, ``factors.count``
``cell.<row> x <column>.mean``            the slowest cells
``repeats.min|max|configurations``
``section.<path>.total|runs``, ``sections.covered.share``, ``sections.rest.share`` (what the composition bar lumps),
``sections.runs``, ``sections.total`` (wall of the runs that have sections; and ``.brief``), ``role.<role>.share``
``section.<path>.by.<level>.share``, ``sections.unattributed.by.<level>.share``
``section.<path>.per_call.range``         over the group's levels
``separator.slow|fast.mean``, ``separator.share``, ``separator.unattributed.share``, ``separator.<path>.share``
``double_count.rows|outermost|mean|share``
``knob.<id>.keep|calls``, ``knob.<id>.saved.brief``
``intervals.later.count|range``, ``intervals.between.mean``, ``intervals.runs``,
``intervals.before_tail.share`` (and ``.rounded``),
``tail.slow_excess``, and ``<id>.hours`` for tails that are also printed in hours
``cross_check.*``, ``compare.<name>.mean``, ``compare.<name>.saved_share.rounded``,
``compare.<name>.<knob>.pooled_bound`` (and ``.rounded``)
``run.<id>.wall|reached|elapsed|gap|sessions|clock.<name>``, ``sessions.count``, ``outside.<kind>.mean``
``runs.pruned|left_out|excluded|without_config``
``wall_source.<name>.runs``, ``layout.<name>.runs``, ``problems.count``
``threshold.high|secondary|unattributed|clock``, ``tally.<n>`` (things on the page that are counted from ten up)

A value that is not defined has no fact. Nothing is computed here that says something about the runs: what is added up
is what the page lumps together when it draws.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable

from mkdocs_sweepprof.analysis.results import Analysis, ComparisonStat, Intervals, KnobStat, Profile, SectionStat
from mkdocs_sweepprof.note import format as fmt
from mkdocs_sweepprof.note.base import Fact
from mkdocs_sweepprof.note.escape import Safe, mark

HIGH = 0.10
"""Bound from which a knob has high leverage (as the analysis has it)."""
SECONDARY = 0.005
"""Bound from which a knob has secondary leverage."""
UNATTRIBUTED = 0.01
"""Unattributed share that is stated."""
CLOCK = 0.01
"""Difference of two clocks that is reported."""
EXCEEDS = 1.05
"""Sections that add up to this much of the wall on average bound nothing: no share of it is one."""
UNITS = 10.0
"""From this many times the wall it is a matter of units, not of sections that run in parallel."""
BAR_SEGMENT = 0.01
"""Smallest share that gets its own segment in the composition bar."""
BAR_SEGMENTS = 5
"""Sections with a segment of their own, at most."""
MAX_LEVELS = 200
"""Levels of one factor that have facts: a random search has a level a run."""
MAX_RUNS = 500
"""Runs in the page's table."""

WALL_SOURCES = {
    "profile": "wall time recorded in the profile",
    "sessions": "active time summed over sessions",
    "events": "event log, run_start to run_end",
    "tracker": "the tracker's start and end, or its own duration",
    "activity": "first to last activity",
    "sections": "sum of the outermost sections",
}
"""Wall source → what a note calls it."""

_Number = float | int | list[float] | list[int]


class Facts:
    """The facts of one note, and their marks for the page."""

    def __init__(self, analysis: Analysis, problems: int = 0, excluded: int = 0) -> None:
        self.analysis = analysis
        self.unit = fmt.unit_for(analysis.runtime.median)
        self.facts: dict[str, Fact] = {}
        names = [WALL_SOURCES.get(s, s) for s in analysis.wall_sources]
        self.wall_source = "; ".join(names) or "no wall time"
        self._thresholds()
        self._runtime()
        self._factors()
        if analysis.profile:
            self._profile(analysis.profile)
        for knob in analysis.knobs:
            self._knob(knob)
        if analysis.intervals:
            self._intervals(analysis.intervals)
        self._cross_check()
        for comparison in analysis.comparisons:
            self._comparison(comparison)
        self._runs()
        self._count("problems.count", problems, 0, "messages")
        self._count("runs.excluded", excluded, 0, "collection.yml")

    # --- use -------------------------------------------------------------------------------------------------------

    def __contains__(self, id_: str) -> bool:
        return id_ in self.facts

    def text(self, id_: str) -> str:
        """The printed text of a fact."""
        return self.facts[id_].text

    def ref(self, id_: str) -> Safe:
        """The fact as it stands on a page: ``<data value="36936.0" data-fact="runtime.mean">10.26h</data>``."""
        fact = self.facts[id_]
        return mark(fact.id, fact.value, fact.text)

    def tally(self, n: int) -> Safe:
        """A count of things that the page lists or leaves unnamed, as a fact of its own."""
        self._count(f"tally.{n}", n, 0, "things on the page")
        return self.ref(f"tally.{n}")

    def as_json(self) -> str:
        """``facts.json``: flat, sorted by id."""
        flat = {
            f.id: {"value": f.value, "unit": f.unit, "text": f.text, "n": f.n, "source": f.source}
            for f in sorted(self.facts.values(), key=lambda f: f.id)
        }
        text = json.dumps(flat, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        # A lone surrogate in a level's name must not keep the file from being written.
        return text.encode("utf-8", "replace").decode("utf-8")

    # --- making ----------------------------------------------------------------------------------------------------

    def add(self, id_: str, value: _Number | None, unit: str, text: str, n: int, source: str) -> None:
        """One fact; a value that is None or not finite makes none. The first of an id stands."""
        values = value if isinstance(value, list) else [value]
        if not values or not all(fmt.finite(v) for v in values):
            return
        self.facts.setdefault(id_, Fact(_one_line(id_), value, unit, text, n, source))

    def _total(self, id_: str, seconds: float | None, n: int, source: str, unit: fmt.Unit | None = None) -> None:
        if fmt.finite(seconds):
            assert seconds is not None
            self.add(id_, seconds, "s", fmt.total(seconds, unit or self.unit), n, source)

    def _share(self, id_: str, value: float | None, n: int, source: str, places: int = 2) -> None:
        if fmt.finite(value):
            assert value is not None
            self.add(id_, value, "fraction", fmt.percent(value, places), n, source)

    def _per_call(self, id_: str, value: float | None, n: int, source: str) -> None:
        if fmt.finite(value):
            assert value is not None
            self.add(id_, value, "s", fmt.per_call(value), n, source)

    def _count(self, id_: str, value: int, n: int, source: str, unit: str = "count") -> None:
        self.add(id_, value, unit, str(value), n, source)

    def _plain(self, id_: str, value: float | None, n: int, source: str) -> None:
        if fmt.finite(value):
            assert value is not None
            self.add(id_, value, "fraction", fmt.plain_number(value), n, source)

    def _interval(self, id_: str, value: float | None, n: int, source: str, hours: bool = False) -> None:
        if fmt.finite(value):
            assert value is not None
            self.add(id_, value, "s", fmt.interval(value, self.unit), n, source)
            if hours:
                self._total(f"{id_}.hours", value, n, source)

    def _thresholds(self) -> None:
        for name, value, places in (
            ("high", HIGH, 0),
            ("secondary", SECONDARY, 1),
            ("unattributed", UNATTRIBUTED, 0),
            ("clock", CLOCK, 0),
        ):
            self._share(f"threshold.{name}", value, 0, "threshold of mkdocs-sweepprof", places)

    def _runtime(self) -> None:
        r, source = self.analysis.runtime, self.wall_source
        self._count("runtime.count", r.count, r.count, "runs counted")
        self._count("runtime.found", r.found, r.found, "runs found")
        self.add("runtime.count.of_found", r.count, "count", fmt.of(r.count, r.found), r.found, "runs counted of found")
        for name in ("mean", "median", "min", "max"):
            self._total(f"runtime.{name}", getattr(r, name), r.count, source)
        if r.count:
            self._total("runtime.total", r.total, r.count, source)
            self.add("runtime.total.brief", r.total, "s", fmt.brief_total(r.total, self.unit), r.count, source)
        for name, runs in self.analysis.wall_sources.items():
            self._count(f"wall_source.{name}.runs", runs, r.count, "runs counted")
        for name, runs in self.analysis.layouts.items():
            self._count(f"layout.{name}.runs", runs, r.found, "runs found")
        self._count("runs.pruned", self.analysis.pruned, r.count, "run status")
        self._count("runs.without_config", self.analysis.without_config, r.count, "config")
        self._count("runs.unknown_end", self.analysis.unknown_end, r.count, "run status")
        self._count("runs.left_out", len(self.analysis.left_out), r.found, "run status")
        for reason, runs in Counter(x.reason for x in self.analysis.left_out).items():
            self._count(f"runs.left_out.{reason}", runs, r.found, "run status")

    def _factors(self) -> None:
        a, n = self.analysis, self.analysis.runtime.count
        self._count("factors.count", len(a.factors), n, "config")
        for name, levels in a.by.items():
            if len(levels) > MAX_LEVELS:
                continue
            for s in levels:
                base = f"runtime.by.{name}.{s.level}"
                for what in ("mean", "median", "min", "max"):
                    self._total(f"{base}.{what}", getattr(s, what), s.n, self.wall_source)
                self._count(f"{base}.count", s.n, s.n, "runs counted")
        for e in a.effects:
            self._plain(f"effect.{e.field}.eta_squared", e.eta_squared, n, self.wall_source)
            self._plain(f"effect.{e.field}.omega_squared", e.omega_squared, n, self.wall_source)
            self._count(f"effect.{e.field}.levels", e.levels, n, "config")
        if a.cells:
            size = {(r, c): a.cells.n[i][j] for i, r in enumerate(a.cells.rows) for j, c in enumerate(a.cells.columns)}
            for row, column, mean in a.cells.slowest:
                self._total(f"cell.{row} x {column}.mean", mean, size.get((row, column), 1), self.wall_source)
        for name in ("min", "max", "configurations"):
            self._count(f"repeats.{name}", getattr(a.repeats, name), n, "config")

    def _profile(self, p: Profile) -> None:
        source = "section profile"
        self._count("sections.runs", p.runs, p.runs, source)
        self._total("sections.total", p.wall_seconds, p.runs, self.wall_source)
        brief = fmt.brief_total(p.wall_seconds, self.unit)
        self.add("sections.total.brief", p.wall_seconds, "s", brief, p.runs, self.wall_source)
        self._share("sections.unattributed.share", p.unattributed, p.runs, source)
        self._share("sections.covered.share", 1 - p.unattributed, p.runs, source)
        if exceeds_wall(p):
            times = 1 - p.unattributed
            self.add("sections.covered.times", times, "ratio", fmt.fixed(times, 0), p.runs, source)
        for level, value in p.unattributed_by_group.items():
            self._share(f"sections.unattributed.by.{level}.share", value, p.runs, source)
        for role, value in p.roles.items():
            self._share(f"role.{role}.share", value, p.runs, source)
        for s in p.sections:
            self._section(s, source)
        lumped = bar_sections(p)[1]
        if lumped:
            self._share("sections.rest.share", sum(s.share for s in lumped), p.runs, source)
        if p.double_count:
            d = p.double_count
            self._share("double_count.rows", d.all_rows_ratio, p.runs, source)
            self._share("double_count.outermost", d.outermost_ratio, p.runs, source)
            self._total("double_count.mean", d.mean_seconds, p.runs, "outermost sections alone")
            self._share("double_count.share", d.section_share, p.runs, "outermost sections alone", 1)
        if p.separator:
            x = p.separator
            self._total("separator.slow.mean", x.slow_wall, p.runs, self.wall_source)
            self._total("separator.fast.mean", x.fast_wall, p.runs, self.wall_source)
            self._share("separator.share", x.part, p.runs, source)
            self._share("separator.unattributed.share", x.unattributed_part, p.runs, source)
            for path, part in x.others.items():
                self._share(f"separator.{path}.share", part, p.runs, source)
        self._count("sections.above_wall.runs", len(p.above_wall), p.runs, source)
        for run, outer, wall in p.above_wall:
            self._total(f"run.{run}.outermost", outer, 1, source)
            self._total(f"run.{run}.wall", wall, 1, self.wall_source)

    def _section(self, s: SectionStat, source: str) -> None:
        base = f"section.{s.path}"
        self._share(f"{base}.share", s.share, s.runs, source)
        self._share(f"{base}.pooled_share", s.pooled_share, s.runs, source)
        # Rounding in the profile can leave a parent a hair below its parts.
        self._share(f"{base}.self_share", s.self_share, s.runs, source)
        self._per_call(f"{base}.per_call", s.per_call, s.runs, source)
        self._total(f"{base}.total", s.total_seconds, s.runs, source)
        self._count(f"{base}.runs", s.runs, s.runs, source)
        if s.counts:
            self.add(f"{base}.count.values", sorted(s.counts), "calls", fmt.counts(s.counts), s.runs, source)
        for level, value in s.by_group.items():
            self._per_call(f"{base}.by.{level}.per_call", value, s.runs, source)
        for level, value in s.by_group_share.items():
            self._share(f"{base}.by.{level}.share", value, s.runs, source)
        if len(s.by_group) > 1:
            low, high = min(s.by_group.values()), max(s.by_group.values())
            first, second = fmt.per_call(low), fmt.per_call(high)
            text = first if first == second else f"{first} to {second}"
            self.add(f"{base}.per_call.range", [low, high], "s", text, s.runs, source)

    def _knob(self, k: KnobStat) -> None:
        n = self.analysis.profile.runs if self.analysis.profile else 0
        base, source = f"knob.{k.id}", "section profile"
        self._share(f"{base}.share", k.share, n, source)
        self._share(f"{base}.bound", k.bound, n, source)
        self._share(f"{base}.pooled_bound", k.pooled_bound, n, source)
        self._total(f"{base}.saved", k.saved, n, source)
        self.add(f"{base}.saved.brief", k.saved, "s", fmt.brief_total(k.saved, self.unit), n, source)
        self.add(f"{base}.keep", k.keep, "calls", fmt.times(k.keep), n, "collection.yml")
        if k.counts:
            self.add(f"{base}.calls", sorted(k.counts), "calls", fmt.counts(k.counts), n, source)

    def _intervals(self, x: Intervals) -> None:
        source = "event log"
        self._count("intervals.runs", x.runs, x.runs, source)
        for s in x.stats:
            base = f"intervals.{s.key}"
            self._interval(f"{base}.mean", s.mean, s.runs, source)
            self.add(f"{base}.longest_in", s.longest_in, "count", fmt.of(s.longest_in, x.runs), x.runs, source)
            self._count(f"{base}.runs", s.runs, s.runs, source)
        self._interval("intervals.opening.mean", x.opening_mean, x.opening_runs, source)
        self._interval("intervals.before_tail.mean", x.before_tail_mean, x.tail_runs, source, hours=True)
        self._share("intervals.before_tail.share", x.before_tail_share, x.tail_runs, source)
        self._share("intervals.before_tail.share.rounded", x.before_tail_share, x.tail_runs, source, 0)
        self._interval("intervals.between.mean", x.between_mean, x.tail_runs, source)
        self._count("tail.runs", x.tail_runs, x.runs, source)
        later = later_intervals(x)
        if later:
            low, high = min(s.mean for s in later), max(s.mean for s in later)
            text = fmt.interval_range(low, high, self.unit)
            self.add("intervals.later.range", [low, high], "s", text, x.runs, source)
            self.add("intervals.later.count", len(later), "count", fmt.word(len(later)), x.runs, source)
        self._interval("tail.mean", x.tail_mean, x.tail_runs, source, hours=True)
        self._interval("tail.max", x.tail_max, x.tail_runs, source)
        self._share("tail.share", x.tail_share, x.tail_runs, source)
        for t in x.tail_by_group:
            self._interval(f"tail.by.{t.level}.mean", t.mean, t.n, source, hours=True)
            self._share(f"tail.by.{t.level}.share", t.share, t.n, source)
        self._share("tail.slow_excess", x.slow_excess_in_tail, x.tail_runs, source)

    def _cross_check(self) -> None:
        c = self.analysis.cross_check
        if not c:
            return
        source = "section profile and event log"
        self._count("cross_check.runs", c.runs, c.runs, source)
        self._total("cross_check.event_wall.mean", c.event_wall_mean, c.runs, "event log")
        self._total("cross_check.outermost.mean", c.outermost_mean, c.runs, "section profile")
        self._share("cross_check.covered", c.covered, c.runs, source)
        self._share("cross_check.wall_gap", c.wall_gap, c.runs, source)

    def _comparison(self, c: ComparisonStat) -> None:
        base, n = f"compare.{c.other}", self.analysis.runtime.count
        source = "both notes' mean wall"
        # Both means in the unit of the slower collection: one that ran for seconds beside one that ran for hours.
        unit = fmt.unit_for(max(c.this_mean, c.other_mean))
        self._total(f"{base}.mean", c.other_mean, n, "the other note", unit)
        self._total(f"{base}.this_mean", c.this_mean, n, self.wall_source, unit)
        self.add(f"{base}.delta", c.delta, "s", fmt.delta(c.delta, unit), n, source)
        self.add(f"{base}.ratio", c.ratio, "ratio", fmt.ratio(c.ratio), n, source)
        self._share(f"{base}.saved_share", c.saved_share, n, source)
        self._share(f"{base}.saved_share.rounded", c.saved_share, n, source, 0)
        for caveat in c.caveats:
            if caveat.kind == "count" and caveat.other.isdigit():
                self._count(f"{base}.count", int(caveat.other), int(caveat.other), "the other note")
        if c.ratio and math.isfinite(c.ratio):
            self.add(f"{base}.slower", 1 / c.ratio, "ratio", fmt.ratio(1 / c.ratio), n, source)
        for change in c.changes:
            if change.knob is not None:
                self._share(f"{base}.{change.knob}.pooled_bound", change.pooled_bound, n, "the other note's knob")
                self._share(
                    f"{base}.{change.knob}.pooled_bound.rounded", change.pooled_bound, n, "the other note's knob", 0
                )

    def _runs(self) -> None:
        a = self.analysis
        for row in shown_runs(a):
            self._total(f"run.{row.run}.wall", row.wall_seconds, 1, WALL_SOURCES.get(row.wall_source or "", ""))
            self._total(f"run.{row.run}.reached", row.reached_seconds, 1, "last sign of life")
            if row.sessions > 1:
                self._count(f"run.{row.run}.sessions", row.sessions, 1, "sessions")
                self._total(f"run.{row.run}.elapsed", row.elapsed_seconds, 1, "sessions")
        for left in a.left_out:
            self._total(f"run.{left.run}.reached", left.reached_seconds, 1, "last sign of life")
        self._count("sessions.count", len(a.sessions), a.runtime.count, "sessions")
        for s in a.sessions:
            self._count(f"run.{s.run}.sessions", s.sessions, 1, "sessions")
            self._total(f"run.{s.run}.wall", s.active_seconds, 1, "sessions")
            self._total(f"run.{s.run}.elapsed", s.elapsed_seconds, 1, "sessions")
            self._total(f"run.{s.run}.gap", s.gap_seconds, 1, "sessions")
        self._count("clock_conflicts.count", len(a.clock_conflicts), a.runtime.count, "clocks")
        for c in a.clock_conflicts:
            self._total(f"run.{c.run}.clock.{c.first}", c.first_seconds, 1, WALL_SOURCES.get(c.first, c.first))
            self._total(f"run.{c.run}.clock.{c.second}", c.second_seconds, 1, WALL_SOURCES.get(c.second, c.second))
        for kind, seconds in a.outside.items():
            self._total(f"outside.{kind}.mean", seconds, a.runtime.count, f"{kind}, outside the wall")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def bar_sections(p: Profile) -> tuple[list[SectionStat], list[SectionStat]]:
    """Sections with a segment of their own in the composition bar, and those lumped together.

    They are the outermost ones; in place of one that spans the runs, the sections inside it.
    """
    stats = {s.path: s for s in p.sections}
    span = p.spanning
    paths = p.outermost if span is None else [*(x for x in p.outermost if x != span), *p.dominant_children]
    outer = sorted((stats[path] for path in paths), key=lambda s: -s.share)
    # The rest of a section that spans the runs takes a colour as well.
    own = [s for s in outer if s.share >= BAR_SEGMENT][: BAR_SEGMENTS - (span is not None)]
    names = {s.path for s in own}
    return own, [s for s in outer if s.path not in names]


def exceeds_wall(p: Profile) -> bool:
    """Whether the outermost sections clearly exceed the wall, on average and in most of the profiled runs."""
    return 1 - p.unattributed > EXCEEDS and len(p.above_wall) > p.runs / 2


def later_intervals(x: Intervals) -> list:  # type: ignore[type-arg]
    """The intervals that are neither the opening nor the final tail."""
    return [s for s in x.stats if s.kind == "later"]


def shown_runs(a: Analysis) -> list:  # type: ignore[type-arg]
    """The runs of the page's table: slowest first, those without a wall last, at most :data:`MAX_RUNS`."""
    rows = sorted(
        a.rows, key=lambda r: (r.wall_seconds is None, -(r.wall_seconds or 0.0), tuple(r.levels.values()), r.run)
    )
    return rows[:MAX_RUNS]


def same_text(texts: Iterable[str]) -> bool:
    """Whether all print alike."""
    return len(set(texts)) <= 1
