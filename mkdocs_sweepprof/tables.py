"""The tidy tables of one collection, made from the readers' records.

Four frames, all units fixed: seconds (float64), fractions (float64), instants as epoch seconds (float64, UTC).

``runs``       index ``run``; ``layout``, ``status``, ``left_out`` (reason or None), ``detail``, ``wall_seconds``,
               ``wall_source``, ``started_at``, ``elapsed_seconds``, ``sessions``, ``reached_seconds``, and one column
               a clock: ``clock_profile``, ``clock_sessions``, ``clock_events``, ``clock_tracker``, ``clock_activity``,
               ``clock_sections``.
``fields``     index ``run``; one column a config field, levels as text (see :mod:`.levels`), in order of first use.
``sections``   ``run``, ``section``, ``count`` (int), ``total_seconds``, ``parent`` (nearest recorded ancestor or None),
               ``outermost``, ``overlapping``, ``covered_seconds`` (what enters sums: the total, for overlapping calls
               the time in which one of them ran; NaN where that is not known), ``self_seconds``, ``share``,
               ``self_share`` (of the covered seconds; of the total where these are not known).
``intervals``  ``run``, ``position`` (from 1), ``start``, ``end``, ``seconds``, ``tail`` (after the last epoch end),
               ``opening``.

Rows of runs that are left out stay in ``runs`` and ``sections``; ``counted`` names those in the means.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from mkdocs_sweepprof.levels import NOT_SET, level, matches, natural
from mkdocs_sweepprof.plausible import suspicions
from mkdocs_sweepprof.readers.base import Event, Problem, Run, Section
from mkdocs_sweepprof.readers.values import MAX_SECONDS

RUN_START = "run_start"
RUN_END = "run_end"
EPOCH_END = "epoch_end"
END_SLACK = 2.0
"""Seconds by which a tracker's end may lie before its own last record: some keep whole seconds."""
GAP_SLACK = 1e-3
"""An interruption with less work than this beside it is no interval."""
CLOCKS = ("profile", "sessions", "events", "tracker", "activity", "sections")
"""Wall sources in order of preference, but for ``sessions``: a resumed run's wall is the sum of its sessions."""


@dataclass(slots=True)
class Tables:
    """See the module's docstring for columns."""

    runs: pd.DataFrame
    fields: pd.DataFrame
    sections: pd.DataFrame
    intervals: pd.DataFrame
    outside: dict[str, dict[str, float]] = field(default_factory=dict)
    """Run → kind → seconds outside the wall."""
    notes: list[str] = field(default_factory=list)
    """What layouts could not tell, each sentence once."""
    problems: list[Problem] = field(default_factory=list)
    """Found while making the tables."""
    excluded: list[str] = field(default_factory=list)
    mentions: list[str] = field(default_factory=list)
    compare_by: str | None = None
    """The field that every run's layout compares by, when they agree on one."""

    @property
    def counted(self) -> pd.Index[Any]:
        return self.runs.index[self.runs["left_out"].isna()]


def make(
    runs: Sequence[Run],
    problems: Iterable[Problem] = (),
    *,
    exclude_runs: Sequence[str] = (),
    exclude_fields: Sequence[str] = (),
    mentions: Sequence[str] = (),
) -> Tables:
    """Tables from joined runs. The order of ``runs`` does not matter: rows are sorted by run id.

    ``exclude_*`` are globs. Problems of kind ``duplicate`` that name a run become rows left out as ``duplicate``.
    """
    excluded = sorted(r.id for r in runs if matches(r.id, exclude_runs))
    kept = sorted((r for r in runs if not matches(r.id, exclude_runs)), key=lambda r: (natural(r.id), r.id))
    found: list[Problem] = []
    run_rows = [_run_row(r, found) for r in kept]
    taken = {row["run"] for row in run_rows}
    for problem in problems:
        if problem.kind == "duplicate" and problem.run and not matches(problem.run, exclude_runs):
            name = problem.run
            if name in taken:
                name = f"{problem.run} (second, {problem.path})"
            while name in taken:
                name += "′"
            taken.add(name)
            run_rows.append(_blank_row(name, "duplicate", problem.path))
    frame = pd.DataFrame(run_rows, columns=list(_blank_row("", None, ""))).set_index("run")
    for column in ("wall_seconds", "started_at", "elapsed_seconds", "reached_seconds", *(f"clock_{c}" for c in CLOCKS)):
        frame[column] = frame[column].astype("float64")
    # pandas makes text columns of these as soon as one value is text, and NaN of their None.
    for column in ("layout", "status", "left_out", "detail", "wall_source"):
        frame[column] = pd.Series([row[column] for row in run_rows], index=frame.index, dtype=object)
    found += suspicions(kept, frame)
    notes = list(dict.fromkeys(note for r in kept for note in r.notes))
    return Tables(
        runs=frame,
        fields=_fields(kept, frame.index, exclude_fields),
        sections=_sections(kept, frame),
        intervals=_intervals(kept, frame),
        outside={r.id: dict(r.outside) for r in kept if r.outside},
        notes=notes,
        problems=found,
        excluded=excluded,
        mentions=list(dict.fromkeys(mentions)),
        compare_by=_compare_by(kept),
    )


def _compare_by(runs: Sequence[Run]) -> str | None:
    wanted = {r.compare_by for r in runs}
    return wanted.pop() if len(wanted) == 1 else None


# --- runs ----------------------------------------------------------------------------------------------------------


def _blank_row(run: str, left_out: str | None, detail: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "run": run,
        "layout": None,
        "status": None,
        "left_out": left_out,
        "detail": detail,
        "wall_seconds": np.nan,
        "wall_source": None,
        "started_at": np.nan,
        "elapsed_seconds": np.nan,
        "sessions": 1,
        "reached_seconds": np.nan,
    }
    row |= {f"clock_{c}": np.nan for c in CLOCKS}
    return row


def _run_row(run: Run, problems: list[Problem]) -> dict[str, Any]:
    row = _blank_row(run.id, None, "")
    row["layout"], row["status"] = run.layout, run.status
    row["sessions"] = max(1, len(run.sessions))
    clocks = _clocks(run, problems)
    for name, seconds in clocks.items():
        row[f"clock_{name}"] = seconds
    start, last = _span(run)
    row["started_at"] = np.nan if start is None else start
    if len(run.sessions) > 1:
        row["elapsed_seconds"] = run.sessions[-1].ended_at - run.sessions[0].started_at
    row["left_out"], row["detail"] = _left_out(run, clocks)
    if row["left_out"] is None:
        order = ("sessions", "profile", "events", "tracker", "activity", "sections")
        source = next(name for name in order if name in clocks)
        row["wall_seconds"], row["wall_source"] = clocks[source], source
    elif row["left_out"] in ("failed", "no_end"):
        reached = clocks.get("sessions") or clocks.get("profile")
        if reached is None and start is not None and last is not None and last > start:
            reached = last - start
        if reached is None:
            reached = clocks.get("events") or clocks.get("tracker") or clocks.get("activity")
        row["reached_seconds"] = np.nan if reached is None else reached
    return row


def _clocks(run: Run, problems: list[Problem]) -> dict[str, float]:
    """Every wall clock of a run that gives a positive time."""
    clocks: dict[str, float | None] = {"profile": run.profile_wall}
    if len(run.sessions) > 1:
        clocks["sessions"] = sum(s.ended_at - s.started_at for s in run.sessions)
    starts = [e.time for e in run.events if RUN_START in (e.event, e.name)]
    ends = [e.time for e in run.events if RUN_END in (e.event, e.name)]
    if starts and ends:
        clocks["events"] = ends[-1] - starts[0]
    if run.started_at is not None and run.ended_at is not None:
        clocks["tracker"] = run.ended_at - run.started_at
    elif run.duration is not None:
        clocks["tracker"] = run.duration
    if run.first_activity is not None and run.last_activity is not None:
        clocks["activity"] = run.last_activity - run.first_activity
    recorded = _paths(run.sections)
    outer = [_covered(s) for s in run.sections if nearest_ancestor(s.path, recorded) is None]
    known = [seconds for seconds in outer if seconds is not None]
    if known:
        clocks["sections"] = math.fsum(known)
    good: dict[str, float] = {}
    for name, seconds in clocks.items():
        if seconds is None:
            continue
        if not 0 <= seconds <= MAX_SECONDS:
            where = run.files[0] if run.files else run.id
            problems.append(
                Problem(
                    where,
                    f"run {run.id}: its {name} clock gives {seconds:g} s.",
                    "A run ends after it starts; mend or remove the times. Another clock is used where there is one.",
                    kind="clock",
                    run=run.id,
                )
            )
        elif seconds > 0:
            good[name] = float(seconds)
    return good


def _span(run: Run) -> tuple[float | None, float | None]:
    times = [e.time for e in run.events]
    times += [t for s in run.sessions for t in (s.started_at, s.ended_at)]
    extra = [t for t in (run.started_at, run.ended_at, run.first_activity, run.last_activity) if t is not None]
    both = times + extra
    return (min(both), max(both)) if both else (None, None)


def _left_out(run: Run, clocks: dict[str, float]) -> tuple[str | None, str]:
    if run.unreadable:
        return "unreadable", ""
    if run.status == "failed":
        return "failed", ""
    if run.status == "not_started":
        return "not_started", ""
    if run.status in ("running", "killed") and "profile" not in clocks:
        return "no_end", "killed" if run.status == "killed" else ""
    markers = {e.event for e in run.events} | {e.name for e in run.events if e.name}
    if RUN_START in markers and RUN_END not in markers and not ({"profile", "tracker"} & clocks.keys()):
        return "no_end", ""
    if not clocks:
        if run.events or run.sections or run.started_at is not None or run.first_activity is not None:
            return "no_end", "no clock"
        return "not_started", "no clock"
    return None, ""


# --- fields --------------------------------------------------------------------------------------------------------


def _fields(runs: Sequence[Run], index: pd.Index[Any], exclude: Sequence[str]) -> pd.DataFrame:
    names: dict[str, None] = {}
    # The fullest configs first, so that the order of fields does not hang on the runs' names.
    for run in sorted(runs, key=lambda r: (-len(r.config), tuple(r.config))):
        for name in run.config:
            if not matches(name, exclude):
                names.setdefault(name, None)
    by_run = {run.id: run.config for run in runs}
    data = {
        name: [level(by_run[r][name]) if r in by_run and name in by_run[r] else NOT_SET for r in index]
        for name in names
    }
    return pd.DataFrame(data, index=index, dtype=object)


# --- sections ------------------------------------------------------------------------------------------------------


def _paths(sections: Iterable[Section]) -> set[str]:
    return {s.path for s in sections}


def _covered(section: Section) -> float | None:
    """The seconds with which a section enters a sum; None: it enters none."""
    return section.covered_seconds if section.overlapping else section.total_seconds


def nearest_ancestor(path: str, recorded: set[str] | frozenset[str]) -> str | None:
    """The nearest proper ancestor of a section path that is recorded, or None."""
    while "/" in path:
        path = path.rpartition("/")[0]
        if path in recorded:
            return path
    return None


_SECTION_COLUMNS = (
    "run",
    "section",
    "count",
    "total_seconds",
    "parent",
    "outermost",
    "overlapping",
    "covered_seconds",
    "self_seconds",
    "share",
    "self_share",
)


def _sections(runs: Sequence[Run], frame: pd.DataFrame) -> pd.DataFrame:
    walls = frame["wall_seconds"]
    rows: list[tuple[Any, ...]] = []
    for run in runs:
        recorded = _paths(run.sections)
        below: dict[str, float] = {}
        parents: dict[str, str | None] = {}
        # In path order, so that sums do not depend on the order in which a recorder wrote its rows.
        ordered = sorted(run.sections, key=lambda s: s.path)
        for section in ordered:
            parent = parents[section.path] = nearest_ancestor(section.path, recorded)
            covered = _covered(section)
            if parent is not None and covered is not None:
                below[parent] = below.get(parent, 0.0) + covered
        wall = float(walls[run.id])
        for section in ordered:
            covered = _covered(section)
            seconds = section.total_seconds if covered is None else covered
            own = seconds - below.get(section.path, 0.0)
            rows.append(
                (
                    run.id,
                    section.path,
                    section.count,
                    section.total_seconds,
                    parents[section.path],
                    parents[section.path] is None and covered is not None,
                    section.overlapping,
                    np.nan if covered is None else covered,
                    own,
                    seconds / wall,
                    own / wall,
                )
            )
    out = pd.DataFrame(rows, columns=list(_SECTION_COLUMNS))
    return out.astype(
        {
            "count": "int64",
            "total_seconds": "float64",
            "covered_seconds": "float64",
            "self_seconds": "float64",
            "share": "float64",
            "self_share": "float64",
            "outermost": bool,
            "overlapping": bool,
        }
    )


# --- intervals -----------------------------------------------------------------------------------------------------


def _intervals(runs: Sequence[Run], frame: pd.DataFrame) -> pd.DataFrame:
    rows: list[tuple[Any, ...]] = []
    for run in runs:
        if pd.isna(frame["left_out"].get(run.id)):
            rows.extend(_run_intervals(run))
    columns = ["run", "position", "start", "end", "seconds", "tail", "opening"]
    out = pd.DataFrame(rows, columns=columns)
    return out.astype({"position": "int64", "seconds": "float64", "tail": bool, "opening": bool})


def markers(events: Iterable[Event]) -> list[Event]:
    """The events that mark a point of the run (spans of sections are not markers)."""
    return [e for e in events if e.event not in ("section_start", "section_end")]


def _with_ends(run: Run, points: list[Event]) -> list[Event]:
    """A tracker's own start and end as markers, where its log has none."""
    if not points:
        return points
    labels = {x for e in points for x in (e.event, e.name)}
    out = list(points)
    if run.started_at is not None and RUN_START not in labels and run.started_at <= points[0].time:
        out.insert(0, Event(run.started_at, RUN_START))
    if run.ended_at is not None and RUN_END not in labels and run.ended_at >= points[-1].time - END_SLACK:
        out.append(Event(max(run.ended_at, points[-1].time), RUN_END))
    return out


def _run_intervals(run: Run) -> list[tuple[Any, ...]]:
    points = _with_ends(run, markers(run.events))
    gaps = [(a.ended_at, b.started_at) for a, b in pairwise(run.sessions)]
    last_epoch = max((i for i, e in enumerate(points) if EPOCH_END in (e.event, e.name)), default=None)
    end = max((i for i, e in enumerate(points) if RUN_END in (e.event, e.name)), default=None)
    has_tail = last_epoch is not None and end is not None and end > last_epoch
    rows: list[tuple[Any, ...]] = []
    position = 0
    opened = False
    for i, (before, after) in enumerate(pairwise(points)):
        seconds = after.time - before.time
        across = [(a, b) for a, b in gaps if before.time <= a + 1e-6 and after.time >= b - 1e-6]
        # Across an interruption only the work on both sides of it counts, if any was logged.
        seconds -= sum(b - a for a, b in across)
        if seconds < 0 or (across and seconds < GAP_SLACK):
            continue
        position += 1
        opening = not opened and RUN_START in (before.event, before.name)
        opened = opened or opening
        tail = has_tail and last_epoch is not None and i >= last_epoch
        rows.append((run.id, position, before.label, after.label, seconds, tail, opening))
    return rows
