"""One run from the fragments that several layouts left of it.

A trainer seldom writes one layout: a Hydra job holds a W&B folder and Lightning logs, loggers split a run over
sibling trees, the scheduler knows it by a job id. Each reader gives what its layout knows (a fragment);
:func:`join` decides which fragments are one run and merges them. It sees records only, never files, and its
result does not depend on the order of its input.

Fragments are one run when

1. they have the same folder and different layouts;
2. the folder of one lies inside the folder of another. A folder that holds *several* runs of one layout is no run
   itself: a Hydra job with ``version_0`` and ``version_1`` passes its config on to both;
3. they have the same name below sibling folders that hold different files (``csv/<run>``, ``tb/<run>``), for all
   names of the smaller folder;
4. they share a name (tracker id, run name, job id) that no other run of their layouts has.

Joining by name alone (3, 4) is refused when numbers in the configs differ or the clocks are apart.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from mkdocs_sweepprof.levels import natural
from mkdocs_sweepprof.readers.base import Problem, Reading, Run, Scalar, Section, Session, Status

PRIORITY = (
    "native",
    "tables",
    "hydra",
    "lightning",
    "mlflow",
    "wandb",
    "hf_trainer",
    "optuna",
    "",  # layouts of other packages
    "tensorboard",
    "mlperf",
    "sacct",
)
"""Whose word counts where two layouts say different things; first is strongest."""

LISTED = frozenset({"tables", "optuna", "sacct"})
"""Layouts whose folder is that of a list of runs, not of one run."""
RUN_LEVEL = frozenset({"native", "mlflow", "wandb", "hf_trainer"})
"""Layouts whose folder is one run, whatever lies inside (a Hydra job may launch several)."""
NAIVE_CLOCK = frozenset({"hydra", "optuna", "sacct"})
"""Layouts whose clock may be local time without an offset."""
FOLDER_NAMED = frozenset({"native", "tables", "hydra", "lightning", "tensorboard", "hf_trainer", "optuna", "mlperf"})
"""Layouts whose ids are unique in their folder or file only: equal ids elsewhere are different runs."""

MAX_SIBLINGS = 12
"""Sibling folders looked at for a run that is split over them; a logger makes few."""
CLOCK_SLACK = 300.0
"""Seconds that the clocks of two fragments of one run may lie apart."""
NAIVE_SLACK = 26 * 3_600.0
"""The same where one of the clocks has no known offset."""

_JOB_KEY = re.compile(r"(^|[._])(slurm|job_?id|jobid)", re.IGNORECASE)
_EVENT_FILE_PID = re.compile(r"events\.out\.tfevents\.\d+\..+\.(\d+)\.\d+")
_T = TypeVar("_T")
_CONFIG_FILES = frozenset({"hparams.yaml", "config.yaml", "config.json"})


@dataclass(slots=True)
class _Group:
    """Fragments of one run; ``outer`` are those of a job that holds it beside others."""

    members: list[Run]
    outer: list[Run] = field(default_factory=list)

    @property
    def layouts(self) -> set[str]:
        return {m.layout for m in self.members}

    @property
    def directory(self) -> str | None:
        """The outermost folder, None without one."""
        own = [m.directory for m in self.members if m.directory is not None and m.layout not in LISTED]
        return min(own, key=lambda d: (d.count("/") if d else -1, natural(d))) if own else None

    def absorb(self, other: _Group) -> None:
        self.members = sorted(self.members + other.members, key=_rank)
        self.outer = sorted(self.outer + other.outer, key=_rank)


def join(readings: Iterable[Reading]) -> tuple[list[Run], list[Problem], list[str]]:
    """Merge the fragments of all readings into runs.

    Returns:
        Runs, to be counted or left out, sorted by id; the readings' problems and those found here (a run found twice
        is *not* among the runs but a problem of kind ``duplicate`` with its id); mentions, one sentence each.

    The records passed in are not changed. Raises nothing for odd records.
    """
    fragments: list[Run] = []
    problems: list[Problem] = []
    mentions: list[str] = []
    for reading in readings:
        fragments.extend(reading.runs)
        problems.extend(reading.problems)
        mentions.extend(reading.mentions)

    fragments.sort(key=_rank)
    parents = [f for f in fragments if f.children]
    if parents:
        n = len(parents)
        mentions.append(f"{n} parent {'run' if n == 1 else 'runs'} that only {'holds' if n == 1 else 'hold'} children")
    jobs = [f for f in fragments if f.layout == "sacct" and not f.children]
    rest = [f for f in fragments if f.layout != "sacct" and not f.children]

    rest, found_twice = _without_duplicates(rest)
    problems.extend(found_twice)
    groups = _same_folder(rest)
    groups, said = _nested(groups)
    mentions.extend(said)
    groups = _siblings(groups)
    groups = _aliases(groups)
    mentions.extend(_add_jobs(groups, jobs))

    runs = _distinct_ids([_merge(g) for g in groups])
    runs.sort(key=lambda r: (natural(r.id), r.id))
    return runs, sorted(set(problems), key=_problem_key), sorted(set(mentions))


def _problem_key(problem: Problem) -> tuple[object, ...]:
    return (natural(problem.path), problem.path, problem.line or 0, problem.kind, problem.message, problem.run or "")


def _priority(layout: str) -> int:
    return PRIORITY.index(layout) if layout in PRIORITY else PRIORITY.index("")


class _Text:
    """A record's full text as the last resort of an order, made only when needed."""

    __slots__ = ("run",)

    def __init__(self, run: Run) -> None:
        self.run = run

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Text) and (self.run is other.run or repr(self.run) == repr(other.run))

    def __lt__(self, other: _Text) -> bool:
        return repr(self.run) < repr(other.run)

    __hash__ = None  # type: ignore[assignment]


def _rank(run: Run) -> tuple[object, ...]:
    """A total order: the strongest layout first, then by place; the full text settles ties."""
    directory = run.directory or ""
    place = (run.directory is None, directory.count("/"), natural(directory), natural(run.id), run.files, run.aliases)
    return (_priority(run.layout), run.layout, *place, _Text(run))


def _group_key(group: _Group) -> tuple[object, ...]:
    return _rank(group.members[0])


# --- duplicates ------------------------------------------------------------------------------------------------------


def _without_duplicates(fragments: list[Run]) -> tuple[list[Run], list[Problem]]:
    """A tracker's id stands for one run: a second record of it elsewhere is left out, and said."""
    kept: list[Run] = []
    problems: list[Problem] = []
    seen: dict[tuple[str, str, frozenset[str]], Run] = {}
    for run in fragments:
        key = (run.layout, run.id, frozenset(run.aliases))
        first = seen.setdefault(key, run) if run.layout not in FOLDER_NAMED else run
        if first is run:
            kept.append(run)
            continue
        problems.append(
            Problem(
                path=_place(run) or ".",
                message=f"The run {run.id!r} is here a second time; it was read from {_place(first) or '.'}.",
                remedy="Remove one of the two, or give one a new id.",
                kind="duplicate",
                run=run.id,
            )
        )
    return kept, problems


def _place(run: Run) -> str:
    return run.directory or (run.files[0] if run.files else "")


# --- which fragments are one run -------------------------------------------------------------------------------------


def _same_folder(fragments: list[Run]) -> list[_Group]:
    """One group a folder; where a layout has several runs in one folder (a database), these stay apart."""
    by_folder: dict[str, list[Run]] = defaultdict(list)
    groups: list[_Group] = []
    for run in fragments:
        if run.directory is None or run.layout in LISTED:
            groups.append(_Group([run]))
        else:
            by_folder[run.directory].append(run)
    for members in by_folder.values():
        layouts = [m.layout for m in members]
        once = [m for m in members if layouts.count(m.layout) == 1]
        if once:
            groups.append(_Group(once))
        groups.extend(_Group([m]) for m in members if layouts.count(m.layout) > 1)
    return sorted(groups, key=_group_key)


def _nested(groups: list[_Group]) -> tuple[list[_Group], list[str]]:
    """Fragments inside another's folder join it, unless it holds several runs of one layout."""
    at: dict[str, _Group] = {}
    crowded: set[str] = set()
    for group in groups:
        folder = group.directory
        if folder is None:
            continue
        if folder in at:
            crowded.add(folder)
        at[folder] = group
    for folder in crowded:  # several runs of one layout in one folder: the folder says nothing about any of them
        del at[folder]

    gone: set[int] = set()
    jobs = parents = 0
    inner: dict[str, list[_Group]] = defaultdict(list)
    by_depth = sorted(at, key=lambda d: (d.count("/") + bool(d), natural(d)), reverse=True)
    for folder in by_depth:
        outer = at[folder]
        inside = sorted(inner.pop(folder, []), key=_group_key)
        stay, dissolved = _settle(outer, inside) if inside else ([], None)
        absorbed = [g for g in inside if all(g is not s for s in stay)]
        for group in absorbed:
            gone.add(id(group))
        above = _above(folder, at)
        if dissolved is None:
            if above is not None:
                inner[above].append(outer)
        else:
            gone.add(id(outer))
            if dissolved == "job":
                jobs += 1
                for group in stay:
                    group.outer = sorted(group.outer + outer.members, key=_rank)
                _pass_on_failure(outer, stay)
            else:
                parents += 1
            if above is not None:
                inner[above].extend(stay)
    said = []
    if jobs:
        said.append(
            f"{jobs} {'job holds' if jobs == 1 else 'jobs hold'} several runs; these were counted, each with the job's "
            "config"
        )
    if parents:
        said.append(
            f"{parents} {'folder' if parents == 1 else 'folders'} of runs without a clock or profile of its own"
        )
    return sorted((g for g in groups if id(g) not in gone), key=_group_key), said


def _above(folder: str, at: dict[str, _Group]) -> str | None:
    """The nearest folder around ``folder`` that is a run's."""
    while folder:
        folder = folder.rpartition("/")[0]
        if folder in at:
            return folder
    return None


def _settle(outer: _Group, inside: list[_Group]) -> tuple[list[_Group], str | None]:
    """Merge into ``outer`` what belongs to it. Gives the groups that stay runs, and whether ``outer`` is none
    (``"job"``: it launched several; ``"parent"``: it only holds them)."""
    own = outer.layouts
    counts: dict[str, int] = defaultdict(int)
    for group in inside:
        for layout in group.layouts:
            counts[layout] += 1
    stay: list[_Group] = []
    several: list[_Group] = []
    alike: list[_Group] = []
    for group in inside:
        if group.layouts & own:
            alike.append(group)
        elif any(counts[layout] > 1 for layout in group.layouts):
            several.append(group)
        else:
            outer.absorb(group)

    for group in alike:
        if group.layouts == {"tensorboard"} and _overlap(outer, group):
            outer.absorb(group)
        else:
            stay.append(group)
    if len(stay) > 1 and not _has_evidence(outer) and not several:
        return stay, "parent"

    if several:
        boards = [g for g in several if g.layouts == {"tensorboard"}]
        others = [g for g in several if g.layouts != {"tensorboard"}]
        if outer.layouts & RUN_LEVEL:
            for group in several:
                outer.absorb(group)
        elif not others and _one_stretch(boards):
            for group in boards:
                outer.absorb(group)
        else:
            return stay + several, "job"
    return stay, None


def _pass_on_failure(outer: _Group, runs: list[_Group]) -> None:
    """A job that failed failed in the last of its runs."""
    if not runs or all(m.status != "failed" for m in outer.members):
        return
    last = max(runs, key=lambda g: (max((hi for _, _, hi in _intervals(g)), default=-1.0), _group_key(g)))
    if all(m.status is None for m in last.members):
        last.members = [replace(last.members[0], status="failed"), *last.members[1:]]


def _siblings(groups: list[_Group]) -> list[_Group]:
    """Runs that a logger split over sibling folders: the same names, different files."""
    with_folder = [g for g in groups if g.directory]
    folders = _without_version({g.directory or "": g for g in with_folder})
    levels: dict[tuple[str, ...], dict[str, dict[tuple[str, ...], _Group]]] = defaultdict(lambda: defaultdict(dict))
    for folder, group in folders.items():
        parts = tuple(folder.split("/"))
        for i in range(len(parts) - 1):
            levels[parts[:i]][parts[i]][parts[i + 1 :]] = group

    into: dict[int, _Group] = {}

    def final(group: _Group) -> _Group:
        while id(group) in into:
            group = into[id(group)]
        return group

    for prefix in sorted(levels, key=lambda p: (-len(p), p)):
        tops = levels[prefix]
        if not 2 <= len(tops) <= MAX_SIBLINGS:
            continue
        names = sorted(tops)
        for a, first in enumerate(names):
            for second in names[a + 1 :]:
                left, right = tops[first], tops[second]
                common = sorted(left.keys() & right.keys())
                if not common or len(common) != min(len(left), len(right)):
                    continue
                pairs = [(final(left[c]), final(right[c])) for c in common]
                if all(x is not y and _complementary(x, y) for x, y in pairs):
                    for x, y in pairs:
                        if final(x) is not final(y):
                            keep, drop = sorted((final(x), final(y)), key=_group_key)
                            keep.absorb(drop)
                            into[id(drop)] = keep
    return sorted((g for g in groups if id(g) not in into), key=_group_key)


def _without_version(folders: dict[str, _Group]) -> dict[str, _Group]:
    """Folder names without a last ``version_0`` where it is the only version: one logger adds it, another does not."""
    versions: dict[str, int] = defaultdict(int)
    for folder in folders:
        if re.search(r"/version_\d+$", folder):
            versions[folder.rpartition("/")[0]] += 1
    short: dict[str, _Group] = {}
    for folder, group in folders.items():
        parent, _, last = folder.rpartition("/")
        bare = last == "version_0" and versions[parent] == 1 and parent not in folders and "/" in parent
        short[parent if bare else folder] = group
    return short


def _aliases(groups: list[_Group]) -> list[_Group]:
    """Groups that share a name that is theirs alone."""
    into: dict[int, _Group] = {}

    def final(group: _Group) -> _Group:
        while id(group) in into:
            group = into[id(group)]
        return group

    merged = True
    while merged:  # a merged group has the names of both: look again (twice is usual)
        merged = False
        groups = sorted((g for g in groups if id(g) not in into), key=_group_key)
        holders: dict[str, list[_Group]] = defaultdict(list)
        for group in groups:
            for name in _names(group):
                holders[name].append(group)
        tails = _tails(groups, {n for n, held in holders.items() if any(g.directory is None for g in held)})
        for name in sorted(holders, key=lambda n: (-len(n), n)):
            held = list({id(g): g for g in map(final, holders[name] + tails.get(name, []))}.values())
            if not 2 <= len(held) <= len(PRIORITY):
                continue
            held.sort(key=_group_key)
            if all(_complementary(a, b) for i, a in enumerate(held) for b in held[i + 1 :]):
                for other in held[1:]:
                    held[0].absorb(other)
                    into[id(other)] = held[0]
                merged = True
    return groups


def _names(group: _Group) -> set[str]:
    return {n for m in group.members for n in (m.id, *m.aliases) if n}


def _tails(groups: list[_Group], wanted: set[str]) -> dict[str, list[_Group]]:
    """The groups whose folder ends in a wanted name, its parts joined with ``/``, ``-`` or ``_``."""
    found: dict[str, list[_Group]] = defaultdict(list)
    if not wanted:
        return found
    for group in groups:
        if not group.directory:
            continue
        # A run split over sibling folders is known by each of their names.
        names: set[str] = set()
        for member in group.members:
            parts = (member.directory or "").split("/")
            if len(parts) > 1 and re.fullmatch(r"version_\d+", parts[-1]):
                names.add(parts[-2])
            for i in range(len(parts)):
                names.update(mark.join(parts[i:]) for mark in "/-_")
        for name in names & wanted:
            found[name].append(group)
    return found


def _complementary(a: _Group, b: _Group) -> bool:
    """Whether two groups can be one run: no kind of file in both, no number that differs, clocks not apart."""
    if _kinds(a) & _kinds(b) or not _kinds(a) | _kinds(b):
        return False
    if (a.layouts & b.layouts) - FOLDER_NAMED:
        return False  # a tracker's own ids tell its runs apart, whatever they are called
    ours, theirs = _config(a), _config(b)
    for key in ours.keys() & theirs.keys():
        x, y = ours[key], theirs[key]
        if isinstance(x, int | float) and isinstance(y, int | float) and x != y and not (_nan(x) and _nan(y)):
            return False
    for layout, lo, hi in _intervals(a):
        for other, low, high in _intervals(b):
            slack = NAIVE_SLACK if {layout, other} & NAIVE_CLOCK else CLOCK_SLACK
            if max(lo, low) - min(hi, high) > slack:
                return False
    return True


def _nan(value: float) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _kinds(group: _Group) -> set[tuple[str, str]]:
    """The kinds of files, whatever the run's name: what a logger writes once a run. Config copies do not count."""
    kinds: set[tuple[str, str]] = set()
    for run in group.members:
        names = [f.rpartition("/")[2] for f in run.files]
        if not names:
            kinds.add((run.layout, ""))
        for name in names:
            if name in _CONFIG_FILES and run.layout == "lightning":
                continue
            kind = re.sub(r"\d+", "#", name)
            if name.startswith("events.out.tfevents"):
                kind = "events.out.tfevents"
            elif run.layout == "lightning" and name.endswith(".txt"):
                kind = "profile"
            elif run.layout in ("native", "tables"):
                kind = ""
            kinds.add((run.layout, kind))
    return kinds


def _config(group: _Group) -> dict[str, Scalar]:
    merged: dict[str, Scalar] = {}
    for run in group.members:
        for key, value in run.config.items():
            merged.setdefault(key, value)
    return merged


def _intervals(group: _Group) -> list[tuple[str, float, float]]:
    """(layout, first, last) in epoch seconds, of each fragment that has a clock."""
    found = []
    for run in group.members:
        times = [t for t in (run.started_at, run.ended_at, run.first_activity, run.last_activity) if t is not None]
        if not times and run.events:
            times = [e.time for e in run.events]
        if times:
            found.append((run.layout, min(times), max(times)))
    return found


def _overlap(a: _Group, b: _Group) -> bool:
    return any(
        lo <= high and low <= hi
        for layout, lo, hi in _intervals(a)
        for other, low, high in _intervals(b)
        if layout == other == "tensorboard"
    )


def _one_stretch(groups: Sequence[_Group]) -> bool:
    """Whether the groups' clocks overlap in one unbroken stretch (loggers side by side, not runs in turn)."""
    spans = sorted((lo, hi) for g in groups for _, lo, hi in _intervals(g))
    if not spans:
        return False
    end = spans[0][1]
    for lo, hi in spans[1:]:
        if lo > end:
            return False
        end = max(end, hi)
    return True


def _has_evidence(group: _Group) -> bool:
    clocked = any(m.duration is not None or m.profile_wall is not None for m in group.members)
    return clocked or any(m.sections or m.events for m in group.members) or bool(_intervals(group))


# --- the scheduler's jobs --------------------------------------------------------------------------------------------


def _add_jobs(groups: list[_Group], jobs: list[Run]) -> list[str]:
    """Give each run the scheduler's record of its job. Unmatched jobs are mentioned only."""
    if not jobs:
        return []
    by_job: dict[str, list[_Group]] = defaultdict(list)
    by_name: dict[str, list[_Group]] = defaultdict(list)
    for group in groups:
        for token in _job_ids(group):
            by_job[token].append(group)
        for name in _names(group):
            by_name[name].append(group)
    unmatched = 0
    taken: dict[int, int] = defaultdict(int)
    matches: list[tuple[Run, list[_Group]]] = []
    for job in jobs:
        tokens = [str(job.resources["job_id"])] if job.resources.get("job_id") is not None else []
        tokens += [job.id, *job.aliases]
        held = next((by_job[t] for t in tokens if by_job.get(t)), None)
        if held is None:
            held = next((by_name[t] for t in tokens if len(by_name.get(t, ())) == 1), [])
        if not held:
            unmatched += 1
        for group in held:
            taken[id(group)] += 1
        matches.append((job, held))
    for job, held in matches:
        shared = len(held) > 1
        for group in held:
            if shared:
                # The job's clock is not that of each of its runs; its machine is.
                note = "Several runs share one scheduler job, so its times were not used."
                part = Run(job.id, "sacct", resources=dict(job.resources), files=job.files, notes=(note,))
            elif taken[id(group)] > 1:
                note = "Several scheduler jobs carry this run's id, so their times were not used."
                part = Run(job.id, "sacct", resources=dict(job.resources), files=job.files, notes=(note,))
            else:
                part = job
            group.absorb(_Group([part]))
    if not unmatched:
        return []
    return [f"{unmatched} scheduler {'job matches' if unmatched == 1 else 'jobs match'} no run"]


def _job_ids(group: _Group) -> set[str]:
    found = _names(group)
    for run in group.members:
        values = [run.resources.get("job_id")]
        values += [v for k, v in run.config.items() if _JOB_KEY.search(k)]
        found.update(str(v) for v in values if v is not None and not isinstance(v, bool) and str(v))
    return found


# --- merging ---------------------------------------------------------------------------------------------------------


def _merge(group: _Group) -> Run:
    """One record from the group's fragments, strongest first."""
    members = sorted(group.members, key=_rank)
    first = members[0]
    config = _config(_Group(members))
    for outer in group.outer:
        for key, value in outer.config.items():
            config.setdefault(key, value)
    notes = list(dict.fromkeys(n for m in members for n in m.notes))
    sections, note = _sections(members)
    if note:
        notes.append(note)
    clock = _tracker_clock(members)
    first_activity, last_activity = _activity(members)
    names = dict.fromkeys(n for m in members for n in (m.id, *m.aliases) if n and n != first.id)
    directory = first.directory
    if directory is None or first.layout in LISTED:
        directory = group.directory if group.directory is not None else first.directory
    return Run(
        id=first.id,
        layout=first.layout,
        directory=directory,
        aliases=tuple(names),
        config=config,
        compare_by=next((m.compare_by for m in members if m.compare_by is not None), None),
        status=_status(members),
        profile_wall=next((m.profile_wall for m in members if m.profile_wall is not None), None),
        started_at=clock[0],
        ended_at=clock[1],
        duration=clock[2],
        first_activity=first_activity,
        last_activity=last_activity,
        sections=sections,
        events=list(_event_log(members).events),
        sessions=_sessions(members),
        outside=_union([m.outside for m in members]),
        resources=_union([m.resources for m in [*members, *group.outer]]),
        files=tuple(sorted({f for m in [*members, *group.outer] for f in m.files}, key=lambda f: (natural(f), f))),
        notes=tuple(notes),
        unreadable=all(m.unreadable for m in members),
    )


def _union(parts: Sequence[dict[str, _T]]) -> dict[str, _T]:
    merged: dict[str, _T] = {}
    for part in parts:
        for key, value in part.items():
            merged.setdefault(key, value)
    return merged


def _status(members: Sequence[Run]) -> Status | None:
    """Any failure is one; an end that a layout recorded beats one that another did not see."""
    said = {m.status for m in members}
    order: tuple[Status, ...] = ("failed", "pruned", "completed", "killed", "running")
    for status in order:
        if status in said:
            return status
    if "not_started" in said and not _has_evidence(_Group(list(members))):
        return "not_started"
    return None


def _tracker_clock(members: Sequence[Run]) -> tuple[float | None, float | None, float | None]:
    """(started_at, ended_at, duration), all from one fragment: two layouts' clocks are not mixed."""
    for whole in (True, False):
        for m in members:
            complete = (m.started_at is not None and m.ended_at is not None) or m.duration is not None
            if complete if whole else (m.started_at is not None or m.ended_at is not None):
                return m.started_at, m.ended_at, m.duration
    return None, None, None


def _activity(members: Sequence[Run]) -> tuple[float | None, float | None]:
    """First and last sign of life by the strongest layout that has both, over all its fragments."""
    layout = next((m.layout for m in members if m.first_activity is not None and m.last_activity is not None), None)
    firsts = [m.first_activity for m in members if m.layout == layout and m.first_activity is not None]
    lasts = [m.last_activity for m in members if m.layout == layout and m.last_activity is not None]
    return (min(firsts), max(lasts)) if firsts and lasts else (None, None)


def _event_log(members: Sequence[Run]) -> Run:
    """The fragment with the richest event log: one that marks start or end, else the longest."""

    def rich(item: tuple[int, Run]) -> tuple[bool, bool, int, int]:
        place, run = item
        marked = any(e.event in ("run_start", "run_end") for e in run.events)
        return marked, bool(run.events) and run.layout in ("native", "tables"), len(run.events), -place

    return max(enumerate(members), key=rich)[1]


def _sections(members: Sequence[Run]) -> tuple[list[Section], str | None]:
    """The union of the profiles. Two layouts record the same time in their own words, so those of the weaker layout
    do not enter sums; a path that both have is the stronger one's."""
    merged: dict[str, Section] = {}
    strongest: str | None = None
    aside: set[str] = set()
    for run in members:
        if not run.sections:
            continue
        strongest = strongest or run.layout
        weaker = run.layout != strongest
        for section in run.sections:
            if section.path in merged:
                continue
            # What a weaker layout covers, the stronger one's sections cover too.
            merged[section.path] = replace(section, overlapping=True, covered_seconds=None) if weaker else section
            if weaker:
                aside.add(run.layout)
    if not aside:
        return list(merged.values()), None
    others = " and ".join(sorted(aside))
    return list(merged.values()), (
        f"The sections of {others} cover the same time as those of {strongest}; they are shown and not added to them."
    )


def _sessions(members: Sequence[Run]) -> list[Session]:
    """The sessions that the strongest layout knows of; else event-file folders that follow each other in time."""
    for run in members:
        if run.sessions:
            return list(run.sessions)
    boards = [m for m in members if m.layout == "tensorboard"]
    spans = sorted((lo, hi) for m in boards for _, lo, hi in _intervals(_Group([m])))
    started, ended, duration = _tracker_clock(members)
    # A Trainer's own duration covers its last session only, so it does not speak against earlier ones.
    whole = (started is not None and ended is not None) or (
        duration is not None and all(m.layout != "hf_trainer" for m in members)
    )
    processes = {p for m in boards for f in m.files for p in _EVENT_FILE_PID.findall(f)}
    if len(spans) < 2 or whole or len(processes) < 2:
        return []
    stretches = [list(spans[0])]
    for lo, hi in spans[1:]:
        if lo > stretches[-1][1]:
            stretches.append([lo, hi])
        else:
            stretches[-1][1] = max(stretches[-1][1], hi)
    return [Session(lo, hi) for lo, hi in stretches] if len(stretches) > 1 else []


def _distinct_ids(runs: list[Run]) -> list[Run]:
    """Ids that several runs have become folder names, or carry their place."""
    runs = sorted(runs, key=_rank)
    counts: dict[str, int] = defaultdict(int)
    for run in runs:
        counts[run.id] += 1
    taken = {i for i, n in counts.items() if n == 1}
    renamed: list[Run] = []
    for run in runs:
        if counts[run.id] == 1:
            renamed.append(run)
            continue
        place = _place(run)
        tries = [place] if place and place.rpartition("/")[2] == run.id else []
        tries += [f"{run.id} ({place})"] if place else []
        tries += [f"{run.id} ({run.layout})"]
        name = next((t for t in tries if t not in taken), None)
        n = 2
        while name is None:
            candidate = f"{tries[0]} #{n}"
            name = None if candidate in taken else candidate
            n += 1
        taken.add(name)
        renamed.append(replace(run, id=name, aliases=tuple(dict.fromkeys((run.id, *run.aliases)))))
    return renamed
