"""Facts → sentences. The numbers choose the words: "most" needs a majority, ties are ties, plurals agree.

Nothing is computed here and no digit is written by hand: every number is a fact's mark, every name an encoded value.
Each method gives finished inline markup (:class:`Safe`), fit for a Markdown paragraph and for raw HTML alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from mkdocs_sweepprof.analysis.results import (
    Analysis,
    Caveat,
    ComparisonStat,
    Effect,
    Intervals,
    IntervalStat,
    KnobStat,
    LeftOut,
    LevelStat,
    Profile,
    SectionStat,
    SettingChange,
)
from mkdocs_sweepprof.levels import number, plumbing
from mkdocs_sweepprof.note.base import Context
from mkdocs_sweepprof.note.escape import Safe, code, esc, label, target, web_address
from mkdocs_sweepprof.note.facts import (
    CLOCK,
    HIGH,
    SECONDARY,
    UNATTRIBUTED,
    UNITS,
    WALL_SOURCES,
    Facts,
    bar_sections,
    exceeds_wall,
    later_intervals,
    shown_runs,
)
from mkdocs_sweepprof.note.format import capital, listing, plural, setting, word

S = Safe

EPOCH_END = "epoch_end"
MAJORITY = 0.50005
"""From here it is "most": it also prints as more than 50.00%, and a sum's last digit decides nothing."""
LEAST_PRINTED = 0.00005
"""A share below this prints as 0.00%."""
NOTICEABLE = 0.005
"""An effect below this prints as 0.00."""
STANDS_OUT = 1.25
"""The opening is worth a look when it is this many times the longest later interval."""
SMALL_DIFFERENCE = 0.10
"""Parts of a difference below this are "little"."""
LISTED = 5
"""Names in one sentence; beyond, "and n more"."""
LISTED_RUNS = 12
"""Runs named in one bullet."""
LISTED_PROBLEMS = 20
"""Problems that are seen at once; the further ones are folded away."""
MAX_PROBLEMS = 200
"""Problems on a page; beyond, their number."""

ROLES = {
    "evaluation": ("evaluation", "evaluation-bound"),
    "training": ("training", "training-bound"),
    "data": ("data loading", "data-bound"),
    "setup": ("setup", "setup-bound"),
    "output": ("output writing", "output-bound"),
    "checkpoint": ("checkpointing", "checkpoint-bound"),
}
REASONS = {
    "failed": "failed",
    "no_end": "without a recorded end (still running or killed)",
    "not_started": "not started (no time recorded)",
    "no_clock": "without any recorded time",
    "duplicate": ("a duplicate of another run", "duplicates of other runs"),
    "unreadable": "unreadable",
}
CLOCKS = {
    "profile": "the profile's wall time",
    "sessions": "the sum of its sessions",
    "events": "the event log",
    "tracker": "the tracker",
    "activity": "first to last activity",
    "sections": "the sum of its outermost sections",
}
SHORT_SOURCES = {
    "profile": "recorded wall",
    "sessions": "active time of resumed runs",
    "events": "event-log wall",
    "tracker": "tracker's own time",
    "activity": "first to last activity",
    "sections": "sum of sections, no clock",
}
COMPARED_SOURCES = {
    "profile": "wall time recorded in the profile",
    "sessions": "active time summed over sessions",
    "events": "event-log wall time",
    "tracker": "the tracker's start and end, or its own duration",
    "activity": "first to last activity",
    "sections": "the sum of outermost sections",
}
OUTSIDE = {"init": "initialisation", "queue": "waiting in the queue"}


class Wording:
    """The sentences of one note."""

    def __init__(self, analysis: Analysis, facts: Facts, context: Context) -> None:
        self.a = analysis
        self.f = facts
        self.c = context
        self.ref = facts.ref

    # --- names -----------------------------------------------------------------------------------------------------

    def name(self, text: str) -> Safe:
        """A field, level or section: its label when it has one, else inline code."""
        given = self.c.labels.get(text)
        return label(given, text) if given else code(text)

    def level(self, field: str, value: str) -> Safe:
        """A level by its name; one that says nothing alone (``0.01``, ``None``, ``true``) with its field."""
        if value in self.c.labels:
            return self.name(value)
        factor = next((x for x in self.a.factors if x.name == field), None)
        bare = value in ("None", "true", "false", "(not set)", "") or number(value) is not None
        return self.setting(field, value) if bare and factor is not None else self.name(value)

    def group_levels(self, values: Iterable[str]) -> Safe:
        return self.some([self.level(self.a.group or "", v) for v in values])

    def section_within(self, path: str, parent: str | None) -> Safe:
        """A section's name beside its parent's: what comes after it; the whole path is in the ``title``."""
        if path in self.c.labels or not parent or not path.startswith(parent + "/"):
            return self.name(path)
        return code(path.removeprefix(parent + "/"), stands_for=path)

    def names(self, items: Iterable[str], limit: int = LISTED) -> Safe:
        return self.some([self.name(x) for x in items], limit)

    def some(self, items: Sequence[Safe], limit: int = LISTED) -> Safe:
        """A list in words; beyond ``limit``, "and three more"."""
        if len(items) <= limit + 1:
            return listing(items)
        rest = len(items) - limit
        return S("{} and {} more").format(S(", ").join(items[:limit]), self.number(rest))

    def number(self, n: int) -> Safe:
        """A small count of things named beside it; a word, or digits as a fact."""
        return esc(word(n)) if not word(n).isdigit() else self.f.tally(n)

    def setting(self, key: str, value: str) -> Safe:
        """``key=value`` as inline code."""
        return code(setting(self.c.labels.get(key, key), value))

    @property
    def runs(self) -> int:
        return self.a.runtime.count

    @property
    def partial(self) -> bool:
        """Only some of the counted runs have a profile: shares and bounds are of those."""
        return bool(self.a.profile and 0 < self.a.profile.runs < self.runs)

    def profiled(self) -> Safe:
        """``the 12 of 21 runs that have a profile``."""
        return S("the {} of {} runs that {} a profile").format(
            self.ref("sections.runs"),
            self.ref("runtime.count"),
            plural(self.a.profile.runs if self.a.profile else 0, "has", "have"),
        )

    # --- first screen ----------------------------------------------------------------------------------------------

    def verdict(self) -> Safe:
        """One sentence: what bounds the sweep (or those of its runs that have a profile), or that it cannot be said."""
        if not self.runs:
            n = len(self.c.excluded)
            if not self.a.runtime.found and n:
                return S("No run is left: {} excluded by {}.").format(self._all_excluded(), code("collection.yml"))
            if not self.a.runtime.found:
                return S("No run was found in this collection.")
            return S("Nothing can be said yet: {} {} found, none of which can be counted.").format(
                self.ref("runtime.found"), plural(self.a.runtime.found, "run")
            )
        if self.a.profile and self._ranked(self.a.profile):
            return self._profile_verdict(self.a.profile)
        x = self.a.intervals
        if x and x.before_tail_share is not None and self._tail_shows:
            if x.before_tail_share > MAJORITY:
                return S(
                    "Most wall time (about {}) lies before the last epoch end; without a profile, what it is spent on "
                    "cannot be said."
                ).format(self.ref("intervals.before_tail.share.rounded"))
            return S(
                "The final tail, after the last epoch end, takes {} of wall time; without a profile, what it is spent "
                "on cannot be said."
            ).format(self.ref("tail.share"))
        return S("Cannot say what bounds {}: no section of {} was timed.").format(
            "this run" if self.runs == 1 else "these runs", "it" if self.runs == 1 else "them"
        )

    def _all_excluded(self) -> Safe:
        n = len(self.c.excluded)
        if n == 1:
            return S("the only run found is")
        return S("all {} runs found are").format(self.ref("runs.excluded"))

    def _ranked(self, p: Profile) -> list[tuple[str, str, float]]:
        """(words, fact id, share), largest first: the roles, and outermost sections that have none."""
        found = [(ROLES[r][0], f"role.{r}.share", v) for r, v in p.roles.items() if r in ROLES and v > 0]
        # Roles count each second once, so sections without one are held against them by their own time.
        loose = [s for s in p.sections if s.role not in ROLES and s.summed]
        found += [
            (s.path, f"section.{s.path}.{'share' if s.share == s.self_share else 'self_share'}", s.self_share)
            for s in loose
            if s.self_share > 0
        ]
        return sorted(found, key=lambda x: -x[2])

    def _role_words(self, entry: tuple[str, str, float]) -> Safe:
        return esc(entry[0]) if entry[1].startswith("role.") else self.name(entry[0])

    def _profile_verdict(self, p: Profile) -> Safe:
        if self.exceeds:
            return S("Cannot say what bounds {}: {} sections add up to {}.").format(
                self._these(p), plural(p.runs, "its", "their"), self._times_wall(plural(p.runs, "its", "their"))
            )
        ranked = self._ranked(p)
        top = ranked[0]
        words, share = self._role_words(top), self.ref(top[1])
        gap = p.unattributed
        missing = self.ref("sections.unattributed.share")
        these = self._these(p)
        ties = [x for x in ranked if self.f.text(x[1]) == self.f.text(top[1])]
        if gap >= top[2]:
            return S(
                "Cannot say what bounds {}: {} of wall time was not profiled; of the rest, {} is the largest ({})."
            ).format(these, missing, words, share)
        unknown = S("; {} of wall time was not profiled").format(missing) if gap > UNATTRIBUTED else S("")
        measured = "measured cost" if gap > UNATTRIBUTED else "cost"
        if len(ties) > 1:
            return self._among(S("{} tie as the largest {} ({} each){}.")).format(
                self._first(listing(self._role_words(x) for x in ties)), measured, share, unknown
            )
        if top[2] > MAJORITY:
            if top[1].startswith("role."):
                bound = ROLES[top[1].split(".")[1]][1]
                return S("{} {} {}: {} takes {} of wall time{}.").format(
                    capital(these), plural(p.runs, "is", "are"), bound, words, share, self._short_gap(gap)
                )
            return self._among(S("{} takes most of the wall time ({}){}.")).format(words, share, self._short_gap(gap))
        if gap > UNATTRIBUTED or len(ranked) == 1:
            return self._among(S("{} is the largest {} ({}){}.")).format(self._first(words), measured, share, unknown)
        second = ranked[1]
        return self._among(S("{} is the largest {} ({}), ahead of {} ({}).")).format(
            self._first(words), measured, share, self._role_words(second), self.ref(second[1])
        )

    def _these(self, p: Profile) -> Safe:
        return self.profiled() if self.partial else S("this run") if p.runs == 1 else S("these runs")

    @property
    def exceeds(self) -> bool:
        """The sections clearly exceed the wall: then no share says what bounds the runs, nor what can be saved."""
        return self.a.profile is not None and exceeds_wall(self.a.profile)

    def _times_wall(self, whose: str) -> Safe:
        """How much the sections add up to, of a wall that they exceed."""
        p = self.a.profile
        if p is not None and 1 - p.unattributed > UNITS:
            return S("{} times {} wall").format(self.ref("sections.covered.times"), whose)
        return S("{} of {} wall").format(self.ref("sections.covered.share"), whose)

    def no_bounds(self) -> Safe | None:
        """Why the page states no bounds, though there are changes to state them for."""
        if not self.exceeds:
            return None
        return S(
            "The sections add up to {}, so bounds on what a change could save are not meaningful and none is given."
        ).format(self._times_wall("the"))

    def _among(self, pattern: Safe) -> Safe:
        """The pattern of a sentence on shares, with the runs that they are of where these are not all."""
        return S("In {}, ").format(self.profiled()) + pattern if self.partial else pattern

    def _first(self, text: Safe) -> Safe:
        """What such a sentence begins with, when nothing is put before it."""
        return text if self.partial else capital(text)

    def _short_gap(self, gap: float) -> Safe:
        return (
            S("; {} was not profiled").format(self.ref("sections.unattributed.share")) if gap > UNATTRIBUTED else S("")
        )

    def actions(self) -> list[tuple[str, Safe]]:
        """What to try first, then, and what to skip: (lead-in, sentence)."""
        if not self.runs:
            return [("First", self._first_for_nothing())]
        p = self.a.profile
        if p is None or not p.sections:
            return self._actions_without_profile()
        if self.exceeds:
            units = 1 - p.unattributed > UNITS
            return [
                (
                    "Try first",
                    S("check units: both must be in seconds.")
                    if units
                    else S("see whether sections run in parallel; if not, the wall is too short."),
                )
            ]
        out: list[tuple[str, Safe]] = []
        ranked = sorted((k for k in self.a.knobs if k.sections), key=lambda k: -k.bound)
        high = [k for k in ranked if k.leverage == "high"]
        best = ranked[0].bound if ranked else 0.0
        if p.unattributed >= HIGH and p.unattributed > best:
            out.append(
                (
                    "Try first",
                    S("put sections around what is not profiled ({} of wall time){}.").format(
                        self.ref("sections.unattributed.share"),
                        ": it may hide more than any change below" if ranked else "",
                    ),
                )
            )
        for k in high[: 2 - len(out)]:
            out.append((("Then" if out else "Try first"), self._short_knob(k, high[0])))
        if not high:
            out.append(self._no_high(ranked, bool(out)))
        skip = self._skip()
        if skip:
            out.append(("Skip", skip))
        return out

    def _short_knob(self, k: KnobStat, first: KnobStat) -> Safe:
        text = S("{}: at most {} of a run").format(self.knob_action(k), self.ref(f"knob.{k.id}.bound"))
        if k is first:
            if self.runs > 1:
                text += S(", {} of {}").format(self.ref(f"knob.{k.id}.saved.brief"), self._whole(".brief"))
        elif first.id in k.overlaps:
            text += S(" (overlaps the first; do not add)")
        return text + S(".")

    def _whole(self, brief: str = "") -> Safe:
        """The total that savings are part of: that of the profiled runs, and so called where these are not all."""
        whose = S("the sweep’s {}")
        if self.partial:
            whose = (
                S("the profiled run’s {}")
                if self.a.profile and self.a.profile.runs == 1
                else S("the profiled runs’ {}")
            )
        return whose.format(self.ref(f"sections.total{brief}" if self.partial else f"runtime.total{brief}"))

    def _no_high(self, ranked: Sequence[KnobStat], after: bool) -> tuple[str, Safe]:
        if not ranked and self.a.knobs:
            return "Then" if after else "Try first", S(
                "mend the globs of the changes in {}: they govern no recorded section, so nothing bounds them."
            ).format(code("collection.yml"))
        if not ranked:
            return "Then" if after else "Try first", S(
                "name the sections that a setting governs in {}: nothing here can be changed yet."
            ).format(code("collection.yml"))
        best = ranked[0]
        if best.bound < LEAST_PRINTED:
            return "Otherwise" if after else "Little to gain", S(
                "no change that is named in {} would save any time that shows."
            ).format(code("collection.yml"))
        return "Otherwise" if after else "Little to gain", S(
            "no change reaches {} of a run; the largest is to {}: at most {}."
        ).format(self.ref("threshold.high"), self.knob_action(best), self.ref(f"knob.{best.id}.bound"))

    def _skip(self) -> Safe | None:
        """The smallest things, as a plain list: a label may hold an "and" of its own."""
        # Of calls that overlap, a small share is only what they cover alone: no reason to leave them be.
        parallel = {s.path for s in self.a.profile.sections if s.overlapping} if self.a.profile else set()
        low = sorted(
            (k for k in self.a.knobs if k.leverage == "negligible" and k.sections and not parallel & {*k.sections}),
            key=lambda k: -k.bound,
        )
        items = [S("{} ({})").format(self.knob_target(k), self.ref(f"knob.{k.id}.bound")) for k in low]
        if not items and self.a.profile is not None:
            stats = {s.path: s for s in self.a.profile.sections}
            small = [stats[x] for x in self.a.profile.outermost if stats[x].share < SECONDARY and x not in parallel]
            items = [S("{} ({})").format(self.name(s.path), self._share(s)) for s in small]
        return S(", ").join(items[:3]) + S(".") if items else None

    def _actions_without_profile(self) -> list[tuple[str, Safe]]:
        out = [
            (
                "Try first",
                S(
                    "time the sections of a run in the next sweep ({}), so that training and evaluation can be told "
                    "apart."
                ).format(code("profile.json")),
            )
        ]
        x = self.a.intervals
        if x is None or not x.stats:
            return out
        opening, later = next((s for s in x.stats if s.kind == "opening"), None), later_intervals(x)
        if (
            opening
            and x.opening_mean is not None
            and later
            and x.opening_mean > STANDS_OUT * max(s.mean for s in later)
        ):
            out.append(
                (
                    "Then",
                    S("look at the opening, {}: {} on average, against {} for each later interval.").format(
                        self.interval(opening), self.ref("intervals.opening.mean"), self.ref("intervals.later.range")
                    ),
                )
            )
        return out

    def _first_for_nothing(self) -> Safe:
        if self.c.excluded and not self.a.runtime.found:
            return S("narrow {} in {}.").format(code("exclude.runs"), code("collection.yml"))
        if self.c.problems:
            return S("mend what is listed below.")
        if self.a.left_out:
            return S("see below why each run is left out.")
        return S("put runs into the collection’s folder, each with its config and a profile or an event log.")

    def trust(self) -> Safe:
        """How far the numbers can be trusted, on one line."""
        a = self.a
        if not a.runtime.found:
            return S("there is nothing to judge yet.")
        parts = [S("{} {}").format(self.ref("runtime.count.of_found"), plural(a.runtime.found, "run"))]
        if self.runs:
            parts[0] += S(", {}").format(self._sources())
        if self.partial:
            parts.append(
                S("only {} of {} counted runs have a profile, and shares and bounds are of those").format(
                    self.ref("sections.runs"), self.ref("runtime.count")
                )
            )
        noise = self._noise()
        if noise:
            parts.append(noise)
        if a.profile and a.profile.double_count:
            parts.append(S('the recorded wall looks like a sum of nested rows (see <a href="#limits">limits</a>)'))
        if a.profile and a.profile.above_wall:
            n = len(a.profile.above_wall)
            parts.append(
                S("the sections of {} {} add up to more than the wall").format(
                    self.ref("sections.above_wall.runs"), plural(n, "run")
                )
            )
        if a.clock_conflicts:
            runs = len({c.run for c in a.clock_conflicts})
            parts.append(S("the clocks of {} {} disagree").format(self.number(runs), plural(runs, "run")))
        if self.c.problems:
            n = len(self.c.problems)
            parts.append(S("{} {} with the input").format(self.ref("problems.count"), plural(n, "problem")))
        return S("; ").join(parts) + S(".")

    def _sources(self) -> Safe:
        sources = self.a.wall_sources
        if len(sources) == 1:
            return esc(SHORT_SOURCES.get(next(iter(sources)), next(iter(sources))))
        return listing(
            S("{} in {}").format(SHORT_SOURCES.get(s, s), self.ref(f"wall_source.{s}.runs")) for s in sources
        )

    def _noise(self) -> Safe | None:
        r = self.a.repeats
        if self.runs < 2 or not r.configurations:
            return None
        if r.configurations == 1:
            return S("all runs share one configuration")
        named = S(" × ").join(self.name(x) for x in r.fields[:3]) if 0 < len(r.fields) <= 3 else None
        of = (
            S("{} cell").format(named)
            if named is not None and len(r.fields) > 1
            else S("{} level").format(named)
            if named is not None
            else S("configuration")
        )
        if r.max == 1:
            return S("one run per {}, so run-to-run noise is unknown").format(of)
        if r.min == r.max:
            return S("{} runs per {}{}").format(
                self.number_ref("repeats.min", r.min), of, S(", by seed") if r.seeded else ""
            )
        joined = "or" if r.max == r.min + 1 else "to"
        return S("{} {} {} runs per {}").format(
            self.number_ref("repeats.min", r.min), joined, self.number_ref("repeats.max", r.max), of
        )

    def number_ref(self, id_: str, n: int) -> Safe:
        """A small count as a word, a larger one as its fact."""
        text = word(n)
        return self.ref(id_) if text.isdigit() else esc(text)

    # --- knobs -----------------------------------------------------------------------------------------------------

    def knob_target(self, k: KnobStat) -> Safe:
        """What a knob turns: the setting's name, or its label."""
        if k.setting:
            return self.name(k.setting)
        return self.name(k.label) if k.candidate else label(k.label)

    def knob_action(self, k: KnobStat) -> Safe:
        """``increase `val_check_interval```, as the beginning of a sentence."""
        if k.candidate:
            return S("make {} cheaper or rarer").format(self.name(k.label))
        text = S("{} {}").format(k.verb, self.knob_target(k))
        if k.setting and k.label != k.setting:
            text += S(" ({})").format(label(k.label))
        return text

    def knob_title(self, k: KnobStat) -> Safe:
        return capital(self.knob_action(k))

    def knob_text(self, k: KnobStat) -> Safe:
        """What a knob governs, how often, and what bounds the saving."""
        base = f"knob.{k.id}"
        parts = [S("At most {} of a run").format(self.ref(f"{base}.bound"))]
        if self.runs > 1:
            pooled = S("{} of it, pooled") if self.partial else S("{} of all wall time, pooled")
            parts[0] += S(" on average; {} of {} ({})").format(
                self.ref(f"{base}.saved"), self._whole(), pooled.format(self.ref(f"{base}.pooled_bound"))
            )
        parts[0] += S(".")
        governs = S("It governs {}").format(self.names(k.topmost))
        if self.f.text(f"{base}.share") != self.f.text(f"{base}.bound"):
            governs += S(", {} of wall time").format(self.ref(f"{base}.share"))
        if k.keep and k.counts:
            once = len(k.counts) == 1 and k.counts[0] == 1
            calls = (
                S(", called once a run").format()
                if once
                else S(", called {} times a run").format(self.ref(f"{base}.calls"))
            )
            if k.keep >= max(k.counts):
                kept = S("one") if k.keep == 1 else self.ref(f"{base}.keep")
                governs += calls + S("; {} may stay, and it is already at most that many calls: nothing to save")
                governs = governs.format(kept)
            else:
                kept = S("one stays") if k.keep == 1 else S("{} stay").format(self.ref(f"{base}.keep"))
                governs += calls + S(", of which {}").format(kept)
        parts.append(governs + S("."))
        if k.setting and k.setting_value is not None:
            parts.append(S("Now {}.").format(self.setting(k.setting, k.setting_value)))
        overlapping = [o for o in self.a.knobs if o.id in k.overlaps]
        if overlapping:
            parts.append(S("Overlaps {}: do not add.").format(self.some([self.knob_target(o) for o in overlapping])))
        if k.candidate:
            parts.append(S("A candidate found by its size; nobody has said that it can be changed."))
        return S(" ").join(parts)

    def knobs(self, leverage: str) -> list[KnobStat]:
        """Knobs of one leverage: as configured or proposed when that order means something, else the largest first.

        Those that govern no recorded section, or whose bounds would mean nothing, have no place there.
        """
        found = [k for k in self.a.knobs if k.leverage == leverage and k.sections and not self.exceeds]
        ordered = self.c.knob_order_given or all(k.candidate for k in found)
        return found if ordered else sorted(found, key=lambda k: -k.bound)

    def unbounded(self) -> list[KnobStat]:
        """The knobs that no bound is given for."""
        return [k for k in self.a.knobs if not k.sections or self.exceeds]

    def ungoverned(self) -> Safe | None:
        """Which knobs govern nothing that was recorded."""
        found = [k for k in self.a.knobs if not k.sections]
        if not found:
            return None
        return S("{} {} no recorded section, so {} no bound: see the globs in {}.").format(
            self.some([self.knob_target(k) for k in found]),
            plural(len(found), "governs", "govern"),
            plural(len(found), "it has", "they have"),
            code("collection.yml"),
        )

    def leverage_title(self, leverage: str) -> str:
        return {"high": "High leverage", "secondary": "Secondary", "negligible": "Negligible"}[leverage]

    def leverage_lead(self, leverage: str) -> Safe:
        """What puts a change under this heading."""
        n = len(self.knobs(leverage))
        count = capital(S("{} {}").format(self.number(n), plural(n, "change")))
        could = "could save" if n == 1 else "could each save"
        if leverage == "high":
            return S("{} {} {} of a run or more at best.").format(count, could, self.ref("threshold.high"))
        if leverage == "secondary":
            return S("{} {} between {} and {} of a run at best.").format(
                count, could, self.ref("threshold.secondary"), self.ref("threshold.high")
            )
        return S("{} {} less than {} of a run even at best: not worth the work for speed.").format(
            count, could, self.ref("threshold.secondary")
        )

    @property
    def bounded(self) -> bool:
        """Whether the page states any bound."""
        return any(self.knobs(x) for x in ("high", "secondary", "negligible"))

    def speedups_end(self) -> list[Safe]:
        """What the bounds mean, and what they leave out; nothing where there are none."""
        if not self.bounded:
            return []
        text = S(
            "These are upper bounds from the shares measured here, not timings of changed runs: each says what a "
            "change "
            "could save at most if nothing else moves."
        )
        if self.partial:
            text += S(" They are over {}, and so are the totals.").format(self.profiled())
        if any(k.overlaps for k in self.a.knobs):
            text += S(" Bounds of changes that overlap must not be added.")
        p = self.a.profile
        if p and p.unattributed > UNATTRIBUTED:
            text += S(" What was not profiled ({} of wall time) lies outside every one of them.").format(
                self.ref("sections.unattributed.share")
            )
        return [text]

    # --- runtime snapshot ------------------------------------------------------------------------------------------

    def snapshot(self) -> list[Safe]:
        """The bullets of the runtime snapshot."""
        a, r = self.a, self.a.runtime
        out = [S("runs counted: {} of {} found").format(self.ref("runtime.count"), self.ref("runtime.found"))]
        if r.count == 1:
            out.append(S("wall time: {}").format(self.ref("runtime.mean")))
        elif r.count:
            out.append(S("mean wall time: {}").format(self.ref("runtime.mean")))
            out.append(S("median wall time: {}").format(self.ref("runtime.median")))
            out.append(S("range: {} to {}").format(self.ref("runtime.min"), self.ref("runtime.max")))
            out.append(S("all runs together: {}").format(self.ref("runtime.total")))
        if a.wall_sources:
            if len(a.wall_sources) == 1:
                source = next(iter(a.wall_sources))
                out.append(S("wall source: {}").format(WALL_SOURCES.get(source, source)))
            else:
                parts = [
                    S("{} ({} {})").format(WALL_SOURCES.get(s, s), self.ref(f"wall_source.{s}.runs"), plural(n, "run"))
                    for s, n in a.wall_sources.items()
                ]
                out.append(S("wall sources: {}").format(listing(parts)))
        shown = [self.setting(k, a.settings[k]) for k in a.shown_settings if k in a.settings]
        if shown:
            shared = S("shared ") if r.count > 1 else S("")
            out.append(S("{}{}: {}").format(shared, plural(len(shown), "setting"), S(", ").join(shown)))
        out += self._slow_fast()
        out += self._endings()
        return out

    def _ranked_levels(self) -> list[LevelStat]:
        return sorted(self.a.by.get(self.a.group or "", []), key=lambda s: -s.mean)

    def _level_mean(self, s: LevelStat) -> Safe:
        assert self.a.group is not None
        return S("{} {}").format(
            self.level(self.a.group, s.level), self.ref(f"runtime.by.{self.a.group}.{s.level}.mean")
        )

    def _slow_fast(self) -> list[Safe]:
        ranked = self._ranked_levels()
        if len(ranked) < 2 or self.a.group is None:
            return []
        by = S("by {}").format(self.name(self.a.group))
        shown = S(", ")
        if len(ranked) <= 3:
            return [S("means {}, slowest first: {}").format(by, shown.join(self._level_mean(s) for s in ranked))]
        slow = min(3, (len(ranked) + 1) // 2)
        fast = min(3, len(ranked) // 2)
        return [
            S("slowest means {}: {}").format(by, shown.join(self._level_mean(s) for s in ranked[:slow])),
            S("fastest means {}: {}").format(by, shown.join(self._level_mean(s) for s in ranked[: -fast - 1 : -1])),
        ]

    def _endings(self) -> list[Safe]:
        a, out = self.a, []
        if a.sessions:
            n = len(a.sessions)
            out.append(
                S(
                    "resumed: {} {} ran in more than one session; wall time is the active time, gaps are not in it"
                ).format(self.ref("sessions.count"), plural(n, "run"))
            )
        if a.pruned:
            out.append(
                S("stopped early by a pruner or scheduler, which is a normal end and counted: {} {}").format(
                    self.ref("runs.pruned"), plural(a.pruned, "run")
                )
            )
        for kind in a.outside:
            out.append(
                S("{}, outside the wall: {} on average").format(
                    OUTSIDE.get(kind, kind), self.ref(f"outside.{kind}.mean")
                )
            )
        if a.left_out:
            out.append(S("left out of every mean: {}").format(self._left_out_counts()))
        return out

    def _left_out_counts(self) -> Safe:
        return listing(S("{} {}").format(count, words) for count, words, _ in self._by_reason())

    def _by_reason(self) -> list[tuple[Safe, str, list[LeftOut]]]:
        """The left-out runs by what the page says of them: how many, why, which; most first."""
        groups: dict[str, list[LeftOut]] = {}
        for left in self.a.left_out:
            groups.setdefault(told_reason(left), []).append(left)
        counts = Counter(x.reason for x in self.a.left_out)
        out = []
        for reason, runs in sorted(groups.items(), key=lambda x: (-len(x[1]), x[0])):
            n = len(runs)
            whole = counts[runs[0].reason] == n
            count = self.ref(f"runs.left_out.{runs[0].reason}") if whole else self.f.tally(n)
            out.append((count, self._reason(reason, n), runs))
        return out

    def _reason(self, reason: str, n: int) -> str:
        words = REASONS.get(reason, reason)
        return words if isinstance(words, str) else words[0 if n == 1 else 1]

    def group_words(self) -> Safe | None:
        """How the note came by its group."""
        if self.a.group is None or not self.a.group_inferred:
            return None
        if self.a.group_by_custom:
            return S("Runs are compared by {}, as results in this layout are. {} can name another field.").format(
                self.name(self.a.group), code("collection.yml")
            )
        return S(
            "Runs are compared by {}: of the {} fields that sort runs into groups, it has the largest ω² on wall time. "
            "{} can name another."
        ).format(self.name(self.a.group), self._group_kind(), code("collection.yml"))

    def _group_kind(self) -> str:
        """Numeric fields are grouped by only where no other will do: then the choice was among those."""
        kinds = {f.name: f.kind for f in self.a.factors}
        return "numeric" if kinds.get(self.a.group or "") == "numeric" else "categorical"

    # --- what runtime depends on -----------------------------------------------------------------------------------

    def depends(self) -> list[Safe]:
        """Paragraphs on effects, levels, cells, the section that separates levels, and the tail."""
        parts = [self._effects(), self._levels_and_cells(), self.separator(), self._throughout()]
        return [x for x in parts if x]

    def _effects(self) -> Safe | None:
        known = [e for e in self._told_effects() if e.eta_squared is not None]
        thin = {f.name for f in self.a.factors if f.thin}
        # With hardly two runs a value, any field seems to account for most: such fields are told apart.
        defined = sorted((e for e in known if e.field not in thin), key=lambda e: -(e.eta_squared or 0.0))
        ends = [x for x in (self._thin([e for e in known if e.field in thin]), self._undefined()) if x]
        if not defined:
            return S(" ").join(ends) or None
        # A field that another determines has no effect of its own to name first.
        fields = {e.field for e in defined}
        found = [e for e in defined if e.determined_by not in fields] or defined
        top = found[0]
        ties = [e for e in found if self._eta_text(e) == self._eta_text(top)]
        if len(found) > 1 and all((e.eta_squared or 0) < NOTICEABLE for e in found):
            text = S("No field alone accounts for a noticeable part of the variation in wall time: η² is {} for {}.")
            text = text.format(self._eta(top), self.names(e.field for e in ties))
        elif len(ties) > 1:
            text = S("{} tie: each alone accounts for the same part of the variation in wall time (η² {}).").format(
                self.names(e.field for e in ties), self._eta(top)
            )
        elif (top.eta_squared or 0) > MAJORITY:
            text = S("{} alone accounts for most of the variation in wall time (η² {}).").format(
                self.name(top.field), self._eta(top)
            )
        elif len(found) == 1:
            text = S("{} accounts for less than half of the variation in wall time (η² {}).").format(
                self.name(top.field), self._eta(top)
            )
        else:
            text = S(
                "No field alone accounts for half of the variation in wall time; {} comes closest (η² {})."
            ).format(self.name(top.field), self._eta(top))
        told = {e.field for e in ties}
        text += self._fixed(top, defined, told, "It") if len(ties) == 1 else S("")
        rest = [e for e in found if e.field not in told]
        if rest:
            text += S(" Next is {} with {}.").format(self.name(rest[0].field), self._eta(rest[0]))
            told.add(rest[0].field)
            text += self._fixed(rest[0], defined, told, "It")
            more = self._alike([e for e in found if e.field not in told])
            if more:
                text += S(" The rest: {}.").format(self.some(more) if len(more) > LISTED else S("; ").join(more))
        chance = [e for e in found if e.omega_squared is not None and e.omega_squared <= 0]
        if chance:
            text += S(" Allowing for the number of levels (ω²), no effect beyond chance is seen for {}.").format(
                self.names(e.field for e in chance)
            )
        return S(" ").join([text, *ends])

    def _told_effects(self) -> list[Effect]:
        """The effects that prose speaks of: a config's plumbing (:func:`.plumbing`) only where nothing else is."""
        levels = {f.name: f.levels for f in self.a.factors}
        return [e for e in self.a.effects if not plumbing(e.field, levels.get(e.field, ()))] or self.a.effects

    def _thin(self, effects: Sequence[Effect]) -> Safe:
        """Fields with a value of nearly every run alone: what their effect is worth."""
        if not effects:
            return S("")
        ranked = sorted(effects, key=lambda e: -(e.eta_squared or 0.0))
        listed = self.some([S("{} ({})").format(self.name(e.field), self._eta(e)) for e in ranked])
        return S("{} {} fewer than two runs a value on average, so {} η² says little.").format(
            listed, plural(len(ranked), "has", "have"), plural(len(ranked), "its", "their")
        )

    def _alike(self, effects: Sequence[Effect]) -> list[Safe]:
        """Fields that print the same η² are named together."""
        by_text: dict[str, list[Effect]] = {}
        for e in effects:
            by_text.setdefault(self._eta_text(e), []).append(e)
        return [
            S("{} with {}{}").format(
                self.names(e.field for e in same), self._eta(same[0]), S(" each") if len(same) > 1 else ""
            )
            for same in by_text.values()
        ]

    def _fixed(self, e: Effect, found: Sequence[Effect], told: set[str], it: str) -> Safe:
        """The fields that ``e`` fixes: theirs is no separate effect. They count as told."""
        inner = [x for x in found if x.determined_by == e.field and x.field not in told]
        if not inner:
            return S("")
        told |= {x.field for x in inner}
        listed = self.some([S("{} ({})").format(self.name(x.field), self._eta(x)) for x in inner])
        return S(" {} also fixes {}, {} not separate from its own.").format(
            it, listed, plural(len(inner), "whose effect is", "whose effects are")
        )

    def _eta(self, e: Effect) -> Safe:
        return self.ref(f"effect.{e.field}.eta_squared")

    def _eta_text(self, e: Effect) -> str:
        return self.f.text(f"effect.{e.field}.eta_squared")

    def _undefined(self) -> Safe:
        why = {
            "only single-run levels": "every level has a single run",
            "one level": "only one level has counted runs",
            "all walls equal": "all wall times are equal",
        }
        out = []
        for reason, words in why.items():
            fields = [e.field for e in self.a.effects if e.undefined == reason]
            if fields:
                out.append(S("η² is not defined for {}: {}.").format(self.names(fields), words))
        return S(" ").join(out)

    def _levels_and_cells(self) -> Safe:
        out = []
        slowest = []
        for factor in self.a.factors:
            levels = self.a.by.get(factor.name, [])
            if factor.name == self.a.group or len(levels) < 2 or factor.thin:
                continue
            if (factor.determined_by and len(self.a.factors) > LISTED) or plumbing(factor.name, factor.levels):
                continue
            if f"runtime.by.{factor.name}.{levels[0].level}.mean" not in self.f:
                continue
            worst = max(levels, key=lambda s: s.mean)
            same = [s for s in levels if self._mean_text(factor.name, s) == self._mean_text(factor.name, worst)]
            if len(same) == len(levels):
                continue
            who = listing(code(setting(factor.name, s.level)) for s in same)
            mean = self.ref(f"runtime.by.{factor.name}.{worst.level}.mean")
            slowest.append(S("{} (tied, {})").format(who, mean) if len(same) > 1 else S("{} ({})").format(who, mean))
        if slowest:
            lead = (
                "The slowest level of the other factor is {}."
                if len(slowest) == 1
                else "The slowest levels of the other factors are {}."
            )
            if self.a.group is None:
                lead = "The slowest level of each factor: {}." if len(slowest) > 1 else "Its slowest level is {}."
            out.append(S(lead).format(self.some(slowest, 8)))
        cells = self.a.cells
        if cells and len(cells.slowest) > 1 and len(cells.rows) * len(cells.columns) > len(cells.slowest):
            named = [
                S("{} × {} ({})").format(
                    self.level(cells.rows_field, r),
                    self.level(cells.columns_field, c),
                    self.ref(f"cell.{r} x {c}.mean"),
                )
                for r, c, _ in cells.slowest
            ]
            text = S("The slowest cells of {} × {} are {}").format(
                self.name(cells.rows_field), self.name(cells.columns_field), listing(named)
            )
            top = [s.level for s in self._ranked_levels()[:2]]
            rows = [r for r in top if r in {x[0] for x in cells.slowest}]
            if {x[0] for x in cells.slowest} <= set(top) and len(self._ranked_levels()) > 3:
                text += S(": they cluster in {}").format(self.group_levels(rows))
            out.append(text + S("."))
        return S(" ").join(out)

    def _mean_text(self, field: str, s: LevelStat) -> str:
        return self.f.text(f"runtime.by.{field}.{s.level}.mean")

    def separator(self) -> Safe | None:
        """Which section's time separates the slow levels of the group from the fast ones."""
        p = self.a.profile
        x = p.separator if p else None
        if p is None or x is None or self.a.group is None:
            return None
        among = S("Among {}, the").format(self.profiled()) if self.partial else S("The")
        text = S("{} slow {} ({}; mean {}) and the fast {} ({}; mean {}) differ most in ").format(
            among,
            plural(len(x.slow), "level", "levels"),
            self.group_levels(x.slow),
            self.ref("separator.slow.mean"),
            plural(len(x.fast), "level", "levels"),
            self.group_levels(x.fast),
            self.ref("separator.fast.mean"),
        )
        uncovered = S("time that no section covers")
        if x.within is not None:
            uncovered = S("the time of {} that none of its parts covers").format(self.name(x.within))
        gap = S("{} ({} of the difference)").format(uncovered, self.ref("separator.unattributed.share"))
        if x.section is None or x.part < UNATTRIBUTED:
            return text + gap + S(".")
        section = S("{} ({} of the difference)").format(self.name(x.section), self.ref("separator.share"))
        text += (
            S("{}; of the sections, in {}.").format(gap, section) if x.unattributed_part > x.part else section + S(".")
        )
        slow, fast = (
            [S("{} for {}").format(self._call(x.section, v), self._group_level(v)) for v in levels if v in x.per_call]
            for levels in (x.slow, x.fast)
        )
        if slow and fast:
            text += S(" One call takes {}, against {}.").format(listing(slow), listing(fast))
        if x.others and all(abs(part) < SMALL_DIFFERENCE for part in x.others.values()):
            text += S(" Every other section adds less than {} of it").format(self.ref("threshold.high"))
            if SMALL_DIFFERENCE < x.unattributed_part <= x.part:
                text += S("; {} lies in {}").format(self.ref("separator.unattributed.share"), uncovered)
            text += S(".")
        return text

    def _group_level(self, value: str) -> Safe:
        return self.level(self.a.group or "", value)

    def _call(self, section: str, level: str) -> Safe:
        return self.ref(f"section.{section}.by.{level}.per_call")

    def _throughout(self) -> Safe | None:
        x = self.a.intervals
        if x is None or not self._tail_shows:
            return None
        out = []
        if x.slow_excess_in_tail is not None and "tail.slow_excess" in self.f:
            share = self.ref("tail.slow_excess")
            if x.slow_excess_in_tail > MAJORITY:
                text = S("Slow runs are slow at the end: {} of the slower half’s extra time lies in the final tail.")
                out.append(text.format(share))
            elif x.slow_excess_in_tail > 0:
                text = S(
                    "Slow runs are slow throughout, not only at the end: {} of the slower half’s extra time lies in "
                    "the "
                    "final tail, the rest before the last epoch end."
                )
                out.append(text.format(share))
            else:
                out.append(
                    S("Slow runs are slow before the last epoch end; their final tails are no longer than the others’.")
                )
        tails = sorted(x.tail_by_group, key=lambda t: -t.mean)
        ranked = [s.level for s in self._ranked_levels()]
        if len(tails) > 3 and ranked:
            texts = {t.level: self.f.text(f"tail.by.{t.level}.mean") for t in tails}
            if texts[tails[0].level] != texts[tails[1].level]:
                text = S("The longest tails are those of {} ({}, {} of its wall time) and {} ({}, {})").format(
                    *self._tail(tails[0].level), *self._tail(tails[1].level)
                )
                if {t.level for t in tails[:2]} == set(ranked[:2]):
                    text += S(", which are also the slowest overall")
                out.append(text + S("."))
            low = tails[-2:]
            text = S("The shortest are those of {} ({}) and {} ({})").format(
                self._group_level(low[1].level),
                self.ref(f"tail.by.{low[1].level}.mean"),
                self._group_level(low[0].level),
                self.ref(f"tail.by.{low[0].level}.mean"),
            )
            if {t.level for t in low} == set(ranked[-2:]):
                text += S(", the fastest overall")
            if len(set(texts.values())) > 1:
                out.append(text + S("."))
        return S(" ").join(out) if out else None

    def _tail(self, level: str) -> tuple[Safe, Safe, Safe]:
        return self._group_level(level), self.ref(f"tail.by.{level}.mean.hours"), self.ref(f"tail.by.{level}.share")

    # --- where time goes -------------------------------------------------------------------------------------------

    def sections(self) -> list[Safe]:
        """Paragraphs on the profile."""
        p = self.a.profile
        if p is None or p.dominant is None:
            return []
        stats = {s.path: s for s in p.sections}
        own = [stats[x] for x in p.outermost]
        own.sort(key=lambda s: -s.share)
        top = own[0]
        ties = [s for s in own if self._share_text(s) == self._share_text(top)]
        mean = S("Averaged over runs, ") if self.runs > 1 else S("In this run, ")
        if self.partial:
            mean = S("Averaged over {}, ").format(self.profiled())
        children = sorted((stats[c] for c in p.dominant_children), key=lambda s: -s.share)
        inside = children if top.path == p.spanning else []
        if len(ties) > 1:
            text = S("{}{} tie as the largest sections with {} of wall time each.").format(
                mean, self.names(s.path for s in ties), self._share(top)
            )
        elif inside:
            verb = "takes most of the wall time" if inside[0].share > MAJORITY else "is the largest part"
            text = S("{}{} spans the run; inside it, {} {} ({}).").format(
                mean, self.name(top.path), self.section_within(inside[0].path, top.path), verb, self._share(inside[0])
            )
            next_ = [s for s in inside[1:] if s.share >= SECONDARY]
            if next_:
                items = [S("{} {}").format(self.section_within(s.path, top.path), self._share(s)) for s in next_]
                text += S(" Then {} {}.").format(plural(len(next_), "comes", "come"), self.some(items, 8))
        else:
            verb = "takes most of the wall time" if top.share > MAJORITY else "is the largest section with"
            text = (
                S("{}{} {} ({}).").format(mean, self.name(top.path), verb, self._share(top))
                if top.share > MAJORITY
                else S("{}{} {} {} of wall time.").format(mean, self.name(top.path), verb, self._share(top))
            )
            if children and top.path == p.dominant and children[0].share > MAJORITY * top.share:
                text += S(" Most of that is {}, with {} alone.").format(
                    self.name(children[0].path), self._share(children[0])
                )
        rest = [s for s in own if s not in ties]
        named = [s for s in rest if s.share >= SECONDARY]
        if named:
            items = [S("{} {}").format(self.name(s.path), self._share(s)) for s in named]
            lead = S(" Outside it {} {}.") if inside else S(" Then {} {}.")
            text += lead.format(plural(len(named), "comes", "come"), self.some(items, 8))
        small = [s for s in rest if s.share < SECONDARY]
        if small:
            items = [S("{} {}").format(self.name(s.path), self._share(s)) for s in small]
            limit = self.ref("threshold.secondary")
            if len(small) == 1:
                text += S(" {} takes less than {} ({}).").format(self.name(small[0].path), limit, self._share(small[0]))
            else:
                text += S(" The {} take less than {} each: {}.").format(
                    "others" if named else "rest", limit, self.some(items, 4)
                )
        out = [text]
        if self.exceeds:
            out.insert(
                0,
                S(
                    "The sections add up to {}: what is given as a share here is a ratio to the wall, not a part of it."
                ).format(self._times_wall("the")),
            )
        if p.unattributed > UNATTRIBUTED:
            gap = S("{} of wall time lies in no section").format(self.ref("sections.unattributed.share"))
            bigger = p.unattributed >= top.share
            gap += (
                S(", more than in any section") if bigger and len(ties) == 1 and p.unattributed > top.share else S("")
            )
            gap += S(
                ": {} covers {}. What runs outside it is not known."
                if len(own) == 1
                else ": {} cover {}. What runs outside them is not known, and may belong to any of them."
            ).format(
                self.name(top.path) if len(own) == 1 else "the sections together", self.ref("sections.covered.share")
            )
            out.append(gap)
        out += self._subsections(p, stats)
        return out

    def _share(self, s: SectionStat) -> Safe:
        return self.ref(f"section.{s.path}.share")

    def _share_text(self, s: SectionStat) -> str:
        return self.f.text(f"section.{s.path}.share")

    def _subsections(self, p: Profile, stats: dict[str, SectionStat]) -> list[Safe]:
        children = sorted((stats[c] for c in p.dominant_children), key=lambda s: -s.share)
        if not children or p.dominant is None:
            return []
        parts = []
        for s in children[:LISTED]:
            id_ = f"section.{s.path}.per_call.range"
            name = self.section_within(s.path, s.parent)
            if id_ not in self.f:
                if f"section.{s.path}.per_call" in self.f:
                    parts.append(S("{} takes {}").format(name, self.ref(f"section.{s.path}.per_call")))
                continue
            low, high = min(s.by_group, key=lambda k: s.by_group[k]), max(s.by_group, key=lambda k: s.by_group[k])
            same = self.f.text(f"section.{s.path}.by.{low}.per_call") == self.f.text(
                f"section.{s.path}.by.{high}.per_call"
            )
            if same:
                parts.append(S("{} takes {} everywhere").format(name, self.ref(f"section.{s.path}.by.{low}.per_call")))
            elif not parts:
                parts.append(
                    S("{} takes from {} ({}) to {} ({})").format(
                        name,
                        self._call(s.path, low),
                        self._group_level(low),
                        self._call(s.path, high),
                        self._group_level(high),
                    )
                )
            else:
                digits = S(" single-digit seconds") if s.by_group[high] < 10 and s.by_group[low] >= 1 else None
                parts.append(
                    S("{} stays in{} ({} to {})").format(
                        name, digits, self._call(s.path, low), self._call(s.path, high)
                    )
                    if digits
                    else S("{} takes from {} to {}").format(name, self._call(s.path, low), self._call(s.path, high))
                )
        if not parts:
            return []
        group = (
            S(" (mean by {})").format(self.name(self.a.group))
            if self.a.group and any(s.by_group for s in children)
            else S("")
        )
        every = list(children[0].by_group_share)
        lead = S("Inside one call of {}{}, {}.").format(self.name(p.dominant), group, listing(parts))
        parent = stats[p.dominant]
        if len(every) > 1 and all(
            children[0].by_group_share[g] > MAJORITY * parent.by_group_share.get(g, 0.0) for g in every
        ):
            lead += S(" The first takes most of it at every level.") if len(parts) > 1 else S("")
        return [lead]

    def interval(self, s: IntervalStat) -> Safe:
        """An interval's name: ``run_start → step_200``; with its number where labels do not tell intervals apart."""
        name = S("{} → {}").format(self.name(s.start), self.name(s.end))
        if s.position is None:
            return name
        number = S("no. {}").format(self.f.tally(s.position))
        return S("{} ({})").format(number, name) if s.start else number

    def intervals(self) -> list[Safe]:
        """Paragraphs on the event log."""
        x = self.a.intervals
        if x is None:
            return []
        return [p for p in (self._split(x), self._longest(x)) if p]

    @property
    def _tail_shows(self) -> bool:
        """Whether the final tail prints as more than zero: a log may simply end with its last epoch."""
        return any(digit in self.f.text("tail.share") for digit in "123456789") if "tail.share" in self.f else False

    def _split(self, x: Intervals) -> Safe | None:
        if x.tail_mean is None or x.before_tail_share is None:
            if not x.stats:
                return None
            if any(EPOCH_END in (s.start, s.end) for s in x.stats):
                return S(
                    "Few logs mark both an epoch’s end and the run’s own after it, so the final tail is not known."
                )
            return S("The log marks no epoch end, so the time before it and the final tail cannot be told apart.")
        if not self._tail_shows:
            return None
        hours = self.f.unit == "h"
        mean = S("On average, ") if x.tail_runs > 1 else S("")
        if x.tail_runs < x.runs:
            mean = S("In the {} of {} runs that log both an epoch’s end and their own, ").format(
                self.ref("tail.runs"), self.ref("intervals.runs")
            )
        before = self.ref("intervals.before_tail.mean.hours" if hours else "intervals.before_tail.mean")
        tail = self.ref("tail.mean")
        if hours:
            tail = S("{} ({})").format(self.ref("tail.mean.hours"), tail)
        text = S("{}{} lie before the last epoch end and {} after it, in the final tail: {} of wall time.").format(
            mean, before, tail, self.ref("tail.share")
        )
        if x.before_tail_share > MAJORITY:
            text += S(
                " So the bulk of a run, about {}, is not spent on finishing up but in the stretches between markers "
                "before that."
            ).format(self.ref("intervals.before_tail.share.rounded"))
        elif x.before_tail_share < 1 - MAJORITY:
            text += S(" So most of a run is spent after its last epoch.")
        if x.tail_max is not None and x.runs > 1:
            text += S(" The longest tail takes {}.").format(self.ref("tail.max"))
        return text

    def _longest(self, x: Intervals) -> Safe | None:
        if not x.stats:
            return S("The runs’ markers differ too much to compare intervals one by one.")
        best = max(x.stats, key=lambda s: s.longest_in)
        ties = [s for s in x.stats if s.longest_in == best.longest_in]
        opening = S(" the opening,") if best.kind == "opening" else S("")
        base = f"intervals.{best.key}"
        if best.longest_in == 0 or len(x.stats) == 1:
            text = S("")
        elif x.runs == 1:
            text = S("The longest interval is{} {}, {}.").format(opening, self.interval(best), self.ref(f"{base}.mean"))
        elif len(ties) > 1:
            text = S("No one interval is the longest most often: {} tie with {} runs each.").format(
                self.some([self.interval(s) for s in ties]), self.ref(f"{base}.longest_in")
            )
        else:
            often = (
                "always"
                if best.longest_in == x.runs
                else "usually"
                if best.longest_in > MAJORITY * x.runs
                else "most often"
            )
            text = S("The longest interval of a run is {}{} {}: in {} runs, with {} on average.").format(
                often, opening, self.interval(best), self.ref(f"{base}.longest_in"), self.ref(f"{base}.mean")
            )
        later = later_intervals(x)
        if len(later) > 1:
            text += S(" The {} later intervals take {} each on average").format(
                self.ref("intervals.later.count"), self.ref("intervals.later.range")
            )
            if x.opening_mean is not None and len(later) * min(s.mean for s in later) > x.opening_mean:
                text += S("; together they outweigh the opening, as there are many of them")
            text += S(".")
        if self.a.profile is None:
            text += S(
                " A marker is a point in time: a checkpoint’s own cost is not seen, only the work between two markers, "
                "which the log cannot take apart."
            )
        return S(text.strip())

    def cross_check(self) -> Safe | None:
        """Profile and event log held against each other."""
        c = self.a.cross_check
        if c is None:
            return None
        who = S("{} runs have").format(self.ref("cross_check.runs")) if c.runs > 1 else S("One run has")
        text = S(
            "{} both a profile and an event log. The outermost sections cover {} of the time from {} to {} ({} of "
            "{}{})."
        ).format(
            who,
            self.ref("cross_check.covered"),
            code("run_start"),
            code("run_end"),
            self.ref("cross_check.outermost.mean"),
            self.ref("cross_check.event_wall.mean"),
            S(" on average") if c.runs > 1 else "",
        )
        if c.wall_gap is not None:
            if c.wall_gap <= CLOCK:
                text += S(
                    " The profile’s own wall and the event log’s differ by {} at most: the two clocks agree."
                ).format(self.ref("cross_check.wall_gap"))
            else:
                text += S(
                    " The profile’s own wall and the event log’s differ by up to {}: the two clocks do not agree."
                ).format(self.ref("cross_check.wall_gap"))
        return text

    # --- comparison ------------------------------------------------------------------------------------------------

    def other(self, c: ComparisonStat) -> Safe:
        """The other collection, linked to its note. Markdown: not for raw HTML."""
        link = self.c.compare_links.get(c.other)
        shown = label(c.other_title)
        return S("[{}]({})").format(shown, S(target(link))) if link else S("<strong>{}</strong>").format(shown)

    def comparison(self, c: ComparisonStat) -> list[Safe]:
        """Paragraphs on one other collection."""
        base = f"compare.{c.other}"
        mine, theirs = self._both_sources(c)
        text = S("This sweep’s mean wall time is {} ({}); that of {} is {} ({}).").format(
            self.ref("runtime.mean"), mine, self.other(c), self.ref(f"{base}.mean"), theirs
        )
        if self.f.text(f"{base}.this_mean") == self.f.text(f"{base}.mean"):
            text += S(" They print alike.")
        elif c.delta < 0:
            text += S(
                " The difference of the means is {}; the other takes {} as long, so {} of its mean is saved here."
            ).format(self.ref(f"{base}.delta"), self.ref(f"{base}.ratio"), self.ref(f"{base}.saved_share"))
        else:
            text += S(" The difference of the means is {}: runs take {} as long here.").format(
                self.ref(f"{base}.delta"), self.ref(f"{base}.slower")
            )
        out = [text]
        changed = self._changes(c)
        if changed:
            out.append(changed)
        return out

    def _both_sources(self, c: ComparisonStat) -> tuple[Safe, Safe]:
        for caveat in c.caveats:
            if caveat.kind == "wall_source":
                return self._compared(caveat.this), self._compared(caveat.other)
        mine = self._compared(",".join(self.a.wall_sources))
        return mine, mine

    def _compared(self, sources: str) -> Safe:
        return listing(COMPARED_SOURCES.get(s, s) for s in sources.split(",") if s)

    def _changes(self, c: ComparisonStat) -> Safe | None:
        knobs = [x for x in c.changes if x.knob is not None]
        changed = self.some([self._change(x) for x in c.changes])
        if not c.changes:
            return S("No shared setting changed between the two.")
        if c.delta >= 0:
            return S("Changed between the two: {}. No time was saved that {} could explain.").format(
                changed, plural(len(c.changes), "this", "these")
            )
        if not knobs:
            if len(c.changes) == 1:
                return S("One setting changed between the two: {}. The other note puts no bound on it.").format(changed)
            return S("Settings changed between the two: {}. The other note puts a bound on none of them.").format(
                changed
            )
        sentences = [self._explains(c, x) for x in knobs]
        rest = [x for x in c.changes if x.knob is None]
        if rest:
            also = self.some([self._change(x) for x in rest])
            sentences.append(S("Also changed, with no bound there: {}.").format(also))
        elif all(x.verdict == "cannot explain alone" for x in knobs):
            if c.caveats:
                sentences.append(
                    S(
                        "No other shared setting changed, so the rest of the gap has another cause; see what else "
                        "differs below."
                    )
                )
            else:
                sentences.append(
                    S("No other shared setting changed, so the rest of the gap has a cause that no config records.")
                )
        return S(" ").join(sentences)

    def _change(self, x: SettingChange) -> Safe:
        return S("{} ({} → {})").format(self.name(x.name), code(x.other), code(x.this))

    def _explains(self, c: ComparisonStat, x: SettingChange) -> Safe:
        base = f"compare.{c.other}"
        saved = self.ref(f"{base}.saved_share.rounded")
        bound = self.ref(f"{base}.{x.knob}.pooled_bound.rounded")
        if x.verdict == "cannot explain alone":
            return S(
                "{} changed (there {}, here {}), but it cannot explain a saving of {} alone: its bound in the other "
                "note, "
                "pooled over all wall time there, is {}."
            ).format(self.name(x.name), self.setting(x.name, x.other), self.setting(x.name, x.this), saved, bound)
        return S(
            "{} changed (there {}, here {}), and it can explain the saving of {}: its bound in the other note, "
            "pooled over "
            "all wall time there, is {}. That it does is not shown."
        ).format(self.name(x.name), self.setting(x.name, x.other), self.setting(x.name, x.this), saved, bound)

    def caveats(self, c: ComparisonStat) -> list[Safe]:
        """Why the two collections are not alike."""
        return [x for caveat in c.caveats if (x := self._caveat(c, caveat)) is not None]

    def _caveat(self, c: ComparisonStat, v: Caveat) -> Safe | None:
        if v.kind == "wall_source":
            return S("The wall times come from different sources: {} here, {} there.").format(
                self._compared(v.this), self._compared(v.other)
            )
        if v.kind == "count":
            return S("The means are over different numbers of runs: {} here, {} there.").format(
                self.ref("runtime.count"), self.ref(f"compare.{c.other}.count")
            )
        if v.kind == "levels":
            field, _, mine = v.this.partition(": ")
            theirs = v.other.partition(": ")[2]
            sides = [
                S("{} only {}").format(self._levels(levels), where)
                for levels, where in ((mine, "here"), (theirs, "there"))
                if levels
            ]
            return S("{} has other levels: {}.").format(self.name(field), S("; ").join(sides)) if sides else None
        if v.kind == "factors":
            sides = [
                S("{} only {}").format(self._levels(names), where)
                for names, where in ((v.this, "here"), (v.other, "there"))
                if names
            ]
            return S("Different fields vary: {}.").format(S("; ").join(sides)) if sides else None
        here, there = v.this == "true", v.other == "true"
        where = "of both" if here and there else "here" if here else "there"
        return (
            S("The recorded wall {} looks like a sum of nested rows, so the gap may be smaller than it seems.").format(
                where
            )
            if there and not here
            else S("The recorded wall {} looks like a sum of nested rows; the gap may be other than it seems.").format(
                where
            )
        )

    def _levels(self, text: str) -> Safe:
        return self.some([self.name(x) for x in text.split(", ") if x])

    # --- limits ----------------------------------------------------------------------------------------------------

    def limits(self) -> list[Safe]:
        """What is missing or doubtful, and what to record to get it."""
        a, out = self.a, []
        p, x = a.profile, a.intervals
        if self.runs and (p is None or not p.sections):
            within = S(" within each interval") if x else S("")
            out.append(
                S(
                    "There is no section profile, so this note cannot say whether training, evaluation or output "
                    "writing "
                    "dominates{}, and it has no bounds for speed-ups. To get them, time the sections of each run "
                    "({}) in the "
                    "next sweep."
                ).format(within, code("profile.json"))
            )
        if self.runs and x is None:
            out.append(
                S(
                    "There is no event log, so opening, intervals and final tail are not known. To get them, log {}, "
                    "checkpoints, epoch ends and {} with their times ({})."
                ).format(code("run_start"), code("run_end"), code("events.jsonl"))
            )
        if p:
            out += self._profile_limits(p)
        if x and x.runs < self.runs:
            out.append(
                S("Only {} of {} counted runs have an event log.").format(
                    self.ref("intervals.runs"), self.ref("runtime.count")
                )
            )
        out += self._wall_limits()
        r = a.repeats
        if self.runs > 1 and r.configurations > 1 and r.max == 1:
            out.append(
                S(
                    "Each configuration ran once, so run-to-run noise is unknown: a difference between two cells "
                    "may be "
                    "chance. Repeat some of them (with another seed, say)."
                )
            )
        if self.runs > 1 and not a.factors:
            out.append(
                S(
                    "No config field varies between the runs, so there is nothing that runtime could be seen to "
                    "depend on."
                )
            )
        elif self.runs > 1 and a.group is None:
            out.append(
                S(
                    "No field sorts the runs into groups of two or more, so nothing is compared by group. {} can "
                    "name one ({})."
                ).format(code("collection.yml"), code("group"))
            )
        elif self.runs == 1:
            out.append(S("There is one run, so nothing can be compared and no spread be given."))
        elif self.runs and a.group and p is None and x is None:
            pass
        if a.unknown_end:
            n = a.unknown_end
            out.append(
                S("{} {} neither a status nor an end, so whether {} complete is not known.").format(
                    self.ref("runs.unknown_end"),
                    plural(n, "run records", "runs record"),
                    plural(n, "it is", "they are"),
                )
            )
        if a.without_config:
            n = a.without_config
            out.append(
                S("{} counted {} no config: {} in totals and in no comparison by field.").format(
                    self.ref("runs.without_config"), plural(n, "run has", "runs have"), plural(n, "it is", "they are")
                )
            )
        if a.missing:
            out.append(
                S("Named in {}, but in no run’s config: {}.").format(code("collection.yml"), self.names(a.missing))
            )
        if self.c.excluded:
            out.append(
                S("Excluded by {}: {}.").format(
                    code("collection.yml"), self.some([code(z) for z in self.c.excluded], LISTED_RUNS)
                )
            )
        if len(a.rows) > len(shown_runs(a)):
            out.append(S("The runs table shows the slowest runs only; {} has them all.").format(code("runs.csv")))
        out += [self.sentence(n) for n in a.reader_notes]
        return out

    def sentence(self, text: str) -> Safe:
        """A sentence of a reader, which may name things from the input: numbers stay as they are, marked as given."""
        return S('<span class="sweepprof-given">{}</span>').format(text)

    def _profile_limits(self, p: Profile) -> list[Safe]:
        out = []
        if p.runs < self.runs:
            out.append(
                S("Only {} of {} counted runs have sections; every share and bound is over those.").format(
                    self.ref("sections.runs"), self.ref("runtime.count")
                )
            )
        if p.double_count:
            out.append(self.double_count(p))
        if p.unattributed > UNATTRIBUTED:
            out.append(
                S(
                    "{} of wall time lies in no section. To learn what it is, put sections around what runs outside "
                    "them now."
                ).format(self.ref("sections.unattributed.share"))
            )
        if p.above_wall:
            n = len(p.above_wall)
            named = [
                S("{} ({} in {})").format(code(run), self.ref(f"run.{run}.outermost"), self.ref(f"run.{run}.wall"))
                for run, _, _ in p.above_wall
            ]
            out.append(
                S(
                    "The outermost sections of {} {} add up to more than the wall: {}. Some may run in parallel, or "
                    "the wall is too short."
                ).format(self.ref("sections.above_wall.runs"), plural(n, "run"), self.some(named, LISTED_RUNS))
            )
        if p.overlapping:
            out.append(
                S("{} {} in parallel with other sections and {} in no sum.").format(
                    self.names(p.overlapping),
                    plural(len(p.overlapping), "runs", "run"),
                    plural(len(p.overlapping), "is", "are"),
                )
            )
        if p.parallel:
            out.append(
                S(
                    "Calls of {} overlap in time: the shares count the time in which at least one ran, the totals "
                    "add all calls."
                ).format(self.names(p.parallel))
            )
        return out

    def double_count(self, p: Profile) -> Safe:
        """The warning that the recorded wall may have been summed from nested rows."""
        assert p.double_count is not None
        return S(
            "<strong>The recorded wall may itself be a sum of nested rows.</strong> All rows together, nested ones "
            "included, "
            "come to {} of it, while the outermost sections, which hold the nested ones, come to only {}. If the "
            "wall was "
            "added up that way, the mean would be {} instead of {}, and {} would take {} of it. A wall from a clock "
            "({} and {}, or a timer around the run) settles it."
        ).format(
            self.ref("double_count.rows"),
            self.ref("double_count.outermost"),
            self.ref("double_count.mean"),
            self.ref("runtime.mean"),
            self.name(p.double_count.section),
            self.ref("double_count.share"),
            code("run_start"),
            code("run_end"),
        )

    def _wall_limits(self) -> list[Safe]:
        a, out = self.a, []
        if "sections" in a.wall_sources:
            n = a.wall_sources["sections"]
            out.append(
                S(
                    "The wall of {} {} the sum of outermost sections, which is no clock: time outside the sections "
                    "does not show."
                ).format(self.ref("wall_source.sections.runs"), plural(n, "run is", "runs is"))
            )
        if "activity" in a.wall_sources:
            n = a.wall_sources["activity"]
            out.append(
                S(
                    "The wall of {} {} from first to last activity, as no end is recorded; what came before and "
                    "after is not in it."
                ).format(self.ref("wall_source.activity.runs"), plural(n, "run goes", "runs goes"))
            )
        if len(a.wall_sources) > 1:
            out.append(S("Walls come from different sources, so means mix clocks."))
        if a.clock_conflicts:
            named = [
                S("{} ({}: {}, {}: {})").format(
                    code(c.run),
                    CLOCKS.get(c.first, c.first),
                    self.ref(f"run.{c.run}.clock.{c.first}"),
                    CLOCKS.get(c.second, c.second),
                    self.ref(f"run.{c.run}.clock.{c.second}"),
                )
                for c in a.clock_conflicts
            ]
            out.append(
                S("Two clocks of one run disagree by more than {}: {}. The first is used.").format(
                    self.ref("threshold.clock"), self.some(named, LISTED_RUNS)
                )
            )
        for s in a.sessions[:LISTED_RUNS]:
            out.append(
                S("{} was resumed: {} sessions, active {} of {} elapsed; gaps of {} are not in its wall.").format(
                    code(s.run),
                    self.ref(f"run.{s.run}.sessions"),
                    self.ref(f"run.{s.run}.wall"),
                    self.ref(f"run.{s.run}.elapsed"),
                    self.ref(f"run.{s.run}.gap"),
                )
            )
        if len(a.sessions) > LISTED_RUNS:
            out.append(S("Further resumed runs are in {}.").format(code("runs.csv")))
        return out

    def left_out(self) -> list[Safe]:
        """Left-out runs by reason, with the time reached where known."""
        out = []
        for count, words, runs in self._by_reason():
            named = []
            for left in runs:
                reached = f"run.{left.run}.reached"
                item = code(left.run)
                if left.reached_seconds is not None and reached in self.f:
                    item = S("{} (reached {})").format(item, self.ref(reached))
                named.append(item)
            out.append(S("{} {}: {}").format(count, words, self.some(named, LISTED_RUNS)))
        return out

    def left_out_lead(self) -> Safe:
        n = len(self.a.left_out)
        return S("{} of {} {} left out of every mean.").format(
            self.ref("runs.left_out"),
            self.ref("runtime.found"),
            plural(n, "run is", "runs are") if self.a.runtime.found == 1 else plural(n, "runs is", "runs are"),
        )

    def problems(self) -> list[Safe]:
        """What is wrong with the input, where, and the remedy; warnings first, as in the build's log."""
        return self._problems(0, LISTED_PROBLEMS)

    def further_problems(self) -> list[Safe]:
        """Those that the page shows when asked."""
        out = self._problems(LISTED_PROBLEMS, MAX_PROBLEMS)
        if len(self.c.problems) > MAX_PROBLEMS:
            rest = len(self.c.problems) - MAX_PROBLEMS
            out.append(S("… and {} more, not listed.").format(self.number(rest)))
        return out

    def further_problems_lead(self) -> Safe:
        n = len(self.c.problems) - LISTED_PROBLEMS
        return S("{} more {}").format(capital(self.number(n)), plural(n, "problem"))

    def _problems(self, start: int, end: int) -> list[Safe]:
        out = []
        for p in sorted(self.c.problems, key=lambda p: p.severity != "warning")[start:end]:
            where = f"{p.path}:{p.line}" if p.line else p.path
            out.append(
                S('{} <span class="sweepprof-given">{} {}</span>').format(
                    code(where, 120), _clip(p.message), _clip(p.remedy)
                )
            )
        return out

    def problems_lead(self) -> Safe:
        n = len(self.c.problems)
        text = S("{} {} with this collection’s files. ").format(self.ref("problems.count"), plural(n, "problem"))
        if all(p.severity == "info" for p in self.c.problems):
            return text + S("What was done about {} stands beside it.").format(plural(n, "it", "each"))
        return text + S("What cannot be read is left out; the rest is analysed.")

    # --- sources ---------------------------------------------------------------------------------------------------

    def sources(self) -> list[Safe]:
        """Where the numbers come from."""
        a, out = self.a, []
        out.append(S("Collection folder: {}.").format(code(self.c.folder, 160)))
        if a.layouts:
            out.append(
                S("Read as: {}.").format(
                    listing(
                        S("{} ({} {})").format(label(name), self.ref(f"layout.{name}.runs"), plural(n, "run"))
                        for name, n in a.layouts.items()
                    )
                )
            )
        out += [self.sentence(m) for m in a.mentions]
        return out

    def run_link(self, run: str, url: str | None) -> Safe:
        """A run's name, linked to its tracker where the collection says how."""
        address = web_address(url)
        shown = code(run)
        return S('<a href="{}" rel="noopener">{}</a>').format(address, shown) if address else shown

    # --- bar -------------------------------------------------------------------------------------------------------

    def bar_sections(self) -> tuple[list[SectionStat], list[SectionStat]]:
        assert self.a.profile is not None
        return bar_sections(self.a.profile)


def told_reason(left: LeftOut) -> str:
    """A left-out run's reason as the page tells it: a run may have finished and yet have recorded no time at all."""
    return "no_clock" if (left.reason, left.detail) == ("not_started", "no clock") else left.reason


def _clip(text: str, limit: int = 400) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
