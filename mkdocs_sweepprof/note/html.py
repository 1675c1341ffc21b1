"""The note's tables and composition bar, as raw HTML blocks: no blank line inside, so that Markdown leaves them alone.

Raw HTML needs no Markdown extension, and a class on a table needs no ``attr_list``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mkdocs_sweepprof.analysis.results import Analysis, ComparisonStat, Effect, LevelStat, Profile, SectionStat
from mkdocs_sweepprof.figures.theme import CATEGORIES, GREY
from mkdocs_sweepprof.levels import ordered
from mkdocs_sweepprof.note.escape import Safe, code, esc, plain
from mkdocs_sweepprof.note.facts import MAX_LEVELS, UNATTRIBUTED, Facts, shown_runs
from mkdocs_sweepprof.note.wording import SHORT_SOURCES, Wording, told_reason

S = Safe

MAX_ROWS = 60
"""Sections, levels or intervals in one table; all of them are in the downloads."""
MAX_OTHER_LEVELS = 12
"""A factor with more levels is not listed level by level beside the group."""
MAX_FACTOR_COLUMNS = 6
FILLS = ("blue", "vermillion", "green", "pink", "ochre")
REASONS = {
    "failed": "failed",
    "no_end": "no end",
    "not_started": "not started",
    "no_clock": "no time recorded",
    "duplicate": "duplicate",
    "unreadable": "unreadable",
}
NOTHING = S("–")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its markup, and what it sorts by when that is not its text (a number, or None for missing)."""

    html: Safe
    sort: float | str | None = None
    number: bool = False
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Head:
    """A column's heading."""

    html: Safe
    number: bool = False
    hint: str = ""


def table(
    heads: Sequence[Head], rows: Iterable[Sequence[Cell]], caption: Safe | None = None, sortable: bool = False
) -> Safe:
    """A table in its scrolling wrapper; the first cell of a row is its heading."""
    kind = "sweepprof-data sweepprof-sortable" if sortable else "sweepprof-data"
    region = f' aria-label="{esc(plain(caption))}"' if caption else ""
    out = [f'<div class="sweepprof-table" tabindex="0" role="region"{region}>', f'<table class="{kind}">']
    if caption:
        out.append(f"<caption>{caption}</caption>")
    out += ["<thead>", "<tr>"]
    for head in heads:
        align = ' class="sweepprof-num"' if head.number else ""
        hint = f' title="{esc(head.hint)}"' if head.hint else ""
        if sortable:
            out.append(
                f'<th scope="col" aria-sort="none"{align}{hint}><button type="button" class="sweepprof-sort">'
                f'{head.html}<span class="sweepprof-arrow" aria-hidden="true"></span></button></th>'
            )
        else:
            out.append(f'<th scope="col"{align}{hint}>{head.html}</th>')
    out += ["</tr>", "</thead>", "<tbody>"]
    for row in rows:
        out.append("<tr>" + "".join(_cell(c, i == 0, sortable) for i, c in enumerate(row)) + "</tr>")
    out += ["</tbody>", "</table>", "</div>"]
    return S("\n".join(out))


def _cell(cell: Cell, first: bool, sortable: bool) -> str:
    classes = ["sweepprof-num"] if cell.number else []
    if cell.depth:
        classes.append(f"sweepprof-depth-{min(cell.depth, 6)}")
    attributes = f' class="{" ".join(classes)}"' if classes else ""
    if sortable:
        value = (
            "" if cell.sort is None else repr(cell.sort) if isinstance(cell.sort, float | int) else str(esc(cell.sort))
        )
        attributes += f' data-sort="{value}"'
    return f'<th scope="row"{attributes}>{cell.html}</th>' if first else f"<td{attributes}>{cell.html}</td>"


class Tables:
    """The tables of one note. Each is None when there is nothing to show."""

    def __init__(self, analysis: Analysis, facts: Facts, words: Wording) -> None:
        self.a = analysis
        self.f = facts
        self.w = words
        self._told = {x.run: told_reason(x) for x in analysis.left_out}

    def _fact(self, id_: str) -> Cell:
        """A number's cell; a dash where it is not defined."""
        return Cell(self.f.ref(id_) if id_ in self.f else NOTHING, number=True)

    def _name(self, text: str, depth: int = 0) -> Cell:
        return Cell(self.w.name(text), depth=depth)

    @staticmethod
    def _ordered(stats: Sequence[LevelStat]) -> list[LevelStat]:
        """A group's levels as rows: slowest first, but an order that someone has given stays."""
        given = [s.level for s in stats]
        return list(stats) if given != ordered(given) else sorted(stats, key=lambda s: -s.mean)

    # --- runtime ---------------------------------------------------------------------------------------------------

    def levels(self) -> Safe | None:
        """Wall time by level of the group."""
        a = self.a
        stats = a.by.get(a.group or "", [])
        if a.group is None or len(stats) < 2 or len(stats) > MAX_LEVELS:
            return None
        heads = [Head(self.w.name(a.group)), *(Head(S(x), True) for x in ("runs", "mean", "median", "min", "max"))]
        rows = []
        for s in self._ordered(stats)[:MAX_ROWS]:
            base = f"runtime.by.{a.group}.{s.level}"
            rows.append(
                [self._name(s.level), *(self._fact(f"{base}.{x}") for x in ("count", "mean", "median", "min", "max"))]
            )
        return table(heads, rows, S("Wall time by {}").format(self.w.name(a.group)))

    def other_levels(self) -> Safe | None:
        """Mean wall time by level of the other factors."""
        rows = []
        for factor in sorted(self.a.factors, key=lambda f: f.determined_by is not None):
            stats = self.a.by.get(factor.name, [])
            if factor.name == self.a.group or not 2 <= len(stats) <= MAX_OTHER_LEVELS:
                continue
            # A value of nearly every run alone: its rows are the runs table again.
            if factor.thin:
                continue
            for s in stats:
                base = f"runtime.by.{factor.name}.{s.level}"
                rows.append(
                    [
                        self._name(factor.name),
                        Cell(code(s.level)),
                        self._fact(f"{base}.count"),
                        self._fact(f"{base}.mean"),
                        self._fact(f"{base}.max"),
                    ]
                )
        if not rows:
            return None
        heads = [
            Head(S("factor")),
            Head(S("level")),
            Head(S("runs"), True),
            Head(S("mean"), True),
            Head(S("max"), True),
        ]
        return table(heads, rows[:MAX_ROWS], S("Wall time by level of the other factors"))

    def effects(self) -> Safe | None:
        """Strength of each factor on wall time."""
        if not any(e.eta_squared is not None for e in self.a.effects):
            return None
        known = {e.field for e in self.a.effects}
        order: list[tuple[Effect, int]] = []
        stack = [(e, 0) for e in reversed(self.a.effects) if e.determined_by not in known]
        while stack:
            e, depth = stack.pop()
            order.append((e, depth))
            stack += [(x, depth + 1) for x in reversed(self.a.effects) if x.determined_by == e.field]
        rows = [
            [
                self._name(e.field, depth),
                self._fact(f"effect.{e.field}.levels"),
                self._fact(f"effect.{e.field}.eta_squared"),
                self._fact(f"effect.{e.field}.omega_squared"),
                Cell(
                    S("fixed by {}").format(self.w.name(e.determined_by))
                    if e.determined_by
                    else S(e.undefined)
                    if e.undefined
                    else NOTHING
                ),
            ]
            for e, depth in order[:MAX_ROWS]
        ]
        heads = [
            Head(S("field")),
            Head(S("levels"), True),
            Head(S("η²"), True, "part of the variation in wall time between the field's levels"),
            Head(S("ω²"), True, "the same, allowing for the number of levels; may be below zero"),
            Head(S("remark")),
        ]
        return table(heads, rows, S("Effect of each field alone on wall time"))

    # --- where time goes -------------------------------------------------------------------------------------------

    def sections(self) -> Safe | None:
        """The section tree."""
        p = self.a.profile
        if p is None or not p.sections:
            return None
        heads = [
            Head(S("section")),
            Head(S("role")),
            Head(S("share"), True, "mean over runs of seconds / wall"),
            Head(S("pooled"), True, "all seconds / all wall"),
            Head(S("self"), True, "share without the sections inside it"),
            Head(S("calls"), True, "per run"),
            Head(S("per call"), True, "seconds / count, mean over runs"),
            Head(S("total"), True),
        ]
        rows = []
        for s in p.sections[:MAX_ROWS]:
            base = f"section.{s.path}"
            name = self.w.section_within(s.path, s.parent)
            if s.overlapping:
                name += S(" (parallel)")
            rows.append(
                [
                    Cell(name, depth=s.depth),
                    Cell(NOTHING if s.role == "other" else S(s.role)),
                    *(
                        self._fact(f"{base}.{x}")
                        for x in ("share", "pooled_share", "self_share", "count.values", "per_call", "total")
                    ),
                ]
            )
        if p.unattributed > UNATTRIBUTED:
            rows.append(
                [
                    Cell(S("<em>in no section</em>")),
                    Cell(NOTHING),
                    self._fact("sections.unattributed.share"),
                    *[Cell(NOTHING, number=True)] * 5,
                ]
            )
        return table(heads, rows, S("Sections: share of wall time, calls and time per call"))

    def per_call(self) -> Safe | None:
        """Per-call time of the outermost sections, and of the largest one's parts, by level of the group."""
        p, a = self.a.profile, self.a
        if p is None or a.group is None:
            return None
        levels = [s.level for s in self._ordered(a.by.get(a.group, []))]
        if not 2 <= len(levels) <= MAX_ROWS:
            return None
        stats = {s.path: s for s in p.sections}
        paths = sorted(p.outermost, key=lambda x: -stats[x].share)[:6]
        if not paths:
            return None
        rows = [[self._name(v), *(self._fact(f"section.{x}.by.{v}.per_call") for x in paths)] for v in levels]
        heads = [Head(self.w.name(a.group)), *(Head(self.w.name(x), True) for x in paths)]
        return table(heads, rows, S("Time per call by {}").format(self.w.name(a.group)))

    def intervals(self) -> Safe | None:
        """Intervals in time order."""
        x = self.a.intervals
        if x is None or not x.stats:
            return None
        heads = [
            Head(S("interval")),
            Head(S("mean"), True),
            Head(S("longest in"), True, "runs whose longest interval this is"),
            Head(S("runs"), True),
        ]
        rows = []
        for s in x.stats[:MAX_ROWS]:
            base = f"intervals.{s.key}"
            name = self.w.interval(s)
            if s.kind != "later":
                name += S(" (opening)" if s.kind == "opening" else " (final tail)")
            rows.append(
                [Cell(name), self._fact(f"{base}.mean"), self._fact(f"{base}.longest_in"), self._fact(f"{base}.runs")]
            )
        return table(heads, rows, S("Time between consecutive markers"))

    def tails(self) -> Safe | None:
        """The final tail by level of the group."""
        x, a = self.a.intervals, self.a
        if x is None or a.group is None or len(x.tail_by_group) < 2:
            return None
        order = {s.level: i for i, s in enumerate(self._ordered(a.by.get(a.group, [])))}
        heads = [Head(self.w.name(a.group)), Head(S("mean wall"), True), Head(S("final tail"), True)]
        hours = self.f.unit == "h"
        # Log lines that end with the last epoch: a column of shares that all print as zero says nothing.
        printed = "".join(self.f.text(f"tail.by.{t.level}.share") for t in x.tail_by_group)
        if not any(digit in printed for digit in "123456789"):
            return None
        if hours:
            heads.append(Head(S("in hours"), True))
        heads.append(Head(S("share of wall"), True))
        rows = []
        for t in sorted(x.tail_by_group, key=lambda t: order.get(t.level, len(order)))[:MAX_ROWS]:
            cells = [
                self._name(t.level),
                self._fact(f"runtime.by.{a.group}.{t.level}.mean"),
                self._fact(f"tail.by.{t.level}.mean"),
            ]
            if hours:
                cells.append(self._fact(f"tail.by.{t.level}.mean.hours"))
            rows.append([*cells, self._fact(f"tail.by.{t.level}.share")])
        return table(heads, rows, S("Final tail by {}").format(self.w.name(a.group)))

    # --- speed-ups, comparison, runs -------------------------------------------------------------------------------

    def knobs(self) -> Safe | None:
        """All knobs, in the order of the page."""
        found = [k for level in ("high", "secondary", "negligible") for k in self.w.knobs(level)]
        if not found:
            return None
        heads = [
            Head(S("change")),
            Head(S("share now"), True),
            Head(S("at most saved"), True, "mean over runs"),
            Head(S("pooled"), True, "of all their wall time" if self.w.partial else "of all wall time"),
            Head(S("over the profiled runs") if self.w.partial else S("over the sweep"), True),
        ]
        rows = [
            [
                Cell(self.w.knob_target(k)),
                *(self._fact(f"knob.{k.id}.{x}") for x in ("share", "bound", "pooled_bound", "saved")),
            ]
            for k in found
        ]
        return table(heads, rows, S("Upper bounds of what each change can save"))

    def changes(self, c: ComparisonStat) -> Safe | None:
        """Settings that changed."""
        if not c.changes:
            return None
        words = {
            "can explain": "can explain the saving",
            "cannot explain alone": "cannot explain it alone",
            "not a knob": "no bound known",
        }
        if c.delta >= 0:
            words = dict.fromkeys(words, "nothing saved")
        heads = [
            Head(S("setting")),
            Head(S("there")),
            Head(S("here")),
            Head(S("bound there"), True),
            Head(S("as an explanation")),
        ]
        rows = [
            [
                self._name(x.name),
                Cell(code(x.other)),
                Cell(code(x.this)),
                self._fact(f"compare.{c.other}.{x.knob}.pooled_bound") if x.knob else Cell(NOTHING, number=True),
                Cell(S(words[x.verdict])),
            ]
            for x in c.changes[:MAX_ROWS]
        ]
        return table(heads, rows, S("Settings that changed"))

    def runs(self) -> Safe | None:
        """Every run, slowest first."""
        shown = shown_runs(self.a)
        if not shown:
            return None
        columns = [f.name for f in self.a.factors if f.kind not in ("id", "path", "time")]
        # A name that another factor fixes adds little beside it, so it is the first to go.
        fixed = {f.name for f in self.a.factors if f.determined_by}
        columns.sort(key=lambda x: (x != self.a.group, x in fixed))
        columns = columns[:MAX_FACTOR_COLUMNS]
        numeric = {f.name for f in self.a.factors if f.numeric}
        sources = len(self.a.wall_sources) > 1
        status = any(r.status or r.left_out for r in shown)
        sessions = any(r.sessions > 1 for r in shown)
        heads = [Head(S("run")), *(Head(self.w.name(x), x in numeric) for x in columns), Head(S("wall"), True)]
        heads += [Head(S("wall source"))] if sources else []
        heads += [Head(S("sessions"), True)] if sessions else []
        heads += [Head(S("status"))] if status else []
        rows = []
        for r in shown:
            cells = [Cell(self.w.run_link(r.run, r.url), r.run)]
            for x in columns:
                value = r.levels.get(x)
                number = _number(value) if x in numeric else value
                cells.append(Cell(NOTHING if value is None else code(value, 48), number, x in numeric))
            wall = f"run.{r.run}.wall"
            cells.append(
                Cell(
                    self.f.ref(wall) if r.wall_seconds is not None and wall in self.f else NOTHING, r.wall_seconds, True
                )
            )
            if sources:
                cells.append(Cell(esc(SHORT_SOURCES.get(r.wall_source or "", "–")), r.wall_source))
            if sessions:
                many = f"run.{r.run}.sessions"
                cells.append(Cell(self.f.ref(many) if many in self.f else S("one"), r.sessions, True))
            if status:
                cells.append(self._status(r.run, r.status, r.left_out))
            rows.append(cells)
        return table(heads, rows, S("Runs, slowest first"), sortable=True)

    def _status(self, run: str, status: str | None, left_out: str | None) -> Cell:
        if left_out is None:
            return Cell(esc(status) if status else NOTHING, status)
        told = self._told.get(run, left_out)
        text = S("left out: {}").format(REASONS.get(told, told))
        if f"run.{run}.reached" in self.f:
            text += S(" (reached {})").format(self.f.ref(f"run.{run}.reached"))
        return Cell(text, f"left out: {left_out}")

    # --- the composition bar ---------------------------------------------------------------------------------------

    def bar(self) -> Safe | None:
        """Where wall time goes, as one bar; it stands without our style sheet. None where shares are no parts."""
        if self.w.exceeds:
            return None
        parts = self._bar_sections() or self._bar_intervals()
        if not parts:
            return None
        whole = sum(max(0.0, size) for _, size, _, _ in parts)
        if whole <= 0:
            return None
        shape = "display:flex;width:100%;height:1rem;overflow:hidden;border-radius:3px"
        out = [f'<div class="sweepprof-bar" aria-hidden="true" style="{shape}">']
        for name, size, fact, (fill, style) in parts:
            width = max(0.0, size) / whole * 100
            title = esc(f"{plain(name)} {self.f.text(fact)}")
            out.append(f'<div class="sweepprof-fill-{fill}" style="width:{width:.3f}%;{style}" title="{title}"></div>')
        out += ["</div>", '<p class="sweepprof-legend">']
        for name, _, fact, (fill, style) in parts:
            out.append(
                f'<span class="sweepprof-key"><span class="sweepprof-swatch sweepprof-fill-{fill}" aria-hidden="true" '
                f'style="display:inline-block;width:.7em;height:.7em;{style}"></span> {name} {self.f.ref(fact)}</span>'
            )
        out.append("</p>")
        return S("\n".join(out))

    def _bar_sections(self) -> list[tuple[Safe, float, str, tuple[str, str]]]:
        p = self.a.profile
        if p is None or not p.outermost:
            return []
        own, rest = self.w.bar_sections()
        out = []
        for i, s in enumerate(own):
            out.append((self._part_name(s, p), s.share, f"section.{s.path}.share", _fill(i)))
        lumped = sum(s.share for s in rest)
        if rest and lumped > 0.00005:
            name = (
                self._part_name(rest[0], p)
                if len(rest) == 1
                else S("{} smaller sections").format(self.w.number(len(rest)))
            )
            out.append((name, lumped, "sections.rest.share", ("grey", f"background:{GREY.light}")))
        span = next((s for s in p.sections if s.path == p.spanning), None)
        if span is not None and span.self_share > 0.00005:
            name = S("rest of {}").format(self.w.name(span.path))
            out.append((name, span.self_share, f"section.{span.path}.self_share", _fill(len(own))))
        if p.unattributed > UNATTRIBUTED:
            out.append((S("not profiled"), p.unattributed, "sections.unattributed.share", ("gap", _HATCH)))
        return out

    def _part_name(self, s: SectionStat, p: Profile) -> Safe:
        """A section's name in the bar: within the section that spans the runs, where there is one."""
        return self.w.section_within(s.path, p.spanning)

    def _bar_intervals(self) -> list[tuple[Safe, float, str, tuple[str, str]]]:
        x = self.a.intervals
        if x is None or x.opening_mean is None or x.between_mean is None or x.tail_mean is None:
            return []
        return [
            (S("opening"), x.opening_mean, "intervals.opening.mean", _fill(0)),
            (S("later intervals"), x.between_mean, "intervals.between.mean", _fill(1)),
            (S("final tail"), x.tail_mean, "tail.mean", _fill(2)),
        ]


_HATCH = "background:repeating-linear-gradient(45deg,#868e98 0 2px,transparent 2px 7px)"


def _fill(i: int) -> tuple[str, str]:
    return (FILLS[i], f"background:{CATEGORIES[i].light}") if i < len(FILLS) else ("grey", f"background:{GREY.light}")


def _number(value: str | None) -> float | str | None:
    from mkdocs_sweepprof.levels import number

    if value is None:
        return None
    found = number(value)
    return found if found is not None else value
