"""Sessions of a run whose tracker records one start and one end, told from the times of what it logged.

A run that was killed and resumed keeps its first start and gets a new end; what lies between was not all work. Two
kinds of evidence are accepted, and only together with a pause that stands out:

- a counter falls back (a step or epoch is logged again after a resume from a checkpoint);
- nothing was logged for a long time, far longer than any other pause, and then the same metrics went on.

A pause that is neither is counted as work, since a long evaluation looks the same from outside.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple

from mkdocs_sweepprof.readers.base import Session

RESTART_RATIO = 3.0
"""With a counter that falls back: the pause is at least this many times the median pause."""
SILENCE_SECONDS = 30 * 60.0
"""Without one: the pause is at least this long …"""
SILENCE_RATIO = 10.0
"""… and at least this many times the longest other pause …"""
SILENCE_HALF_RATIO = 4.0
"""… or this many times, when the pauses make up at least half of the elapsed time …"""
MAX_SILENCES = 3
"""… and there are at most this many: what happens again and again is a part of the work."""
BURST_SECONDS = 1.0
"""What is logged within this time after a pause was logged with it."""


class Stamp(NamedTuple):
    """One logged record: epoch seconds, name of the metric, its step, its value where that is a counter."""

    time: float
    key: str
    step: int | None = None
    counter: float | None = None


def infer(start: float | None, end: float | None, stamps: Sequence[Stamp]) -> tuple[list[Session], list[str]]:
    """(sessions, notes): two sessions or more, or none; what was inferred, or could not be decided, in words."""
    ordered = sorted(stamps, key=lambda s: s.time)
    times = sorted({s.time for s in ordered})
    if len(times) < 3 or (start is not None and times[0] < start - BURST_SECONDS):
        return [], []
    pauses = [b - a for a, b in pairwise(times)]
    restarts = _restarts(ordered, times, pauses)
    found = restarts or _silences(ordered, times, pauses, start, end)
    if not found:
        return [], _undecided(times, pauses)
    # A resumed session needs as long until its first record as the first one did.
    opening = times[0] - start if start is not None else 0.0
    sessions: list[Session] = []
    begin = times[0] if start is None else start
    for index in sorted(found):
        sessions.append(Session(begin, times[index]))
        begin = max(times[index], times[index + 1] - opening)
    sessions.append(Session(begin, times[-1] if end is None else max(end, times[-1])))
    why = "a counter that fell back after a pause" if restarts else "a pause far longer than any other"
    return sessions, [
        f"Its {len(sessions)} sessions were inferred from the times of its metrics ({why}); the tracker records one "
        "start and one end. A session is taken to end with its last record, and to need as long to its first record "
        "as the first session did."
    ]


def _median(pauses: Sequence[float]) -> float:
    """The upper of the middle values: close enough, and no import for every build."""
    return sorted(pauses)[len(pauses) // 2]


def _restarts(ordered: Sequence[Stamp], times: Sequence[float], pauses: Sequence[float]) -> set[int]:
    """Indices of pauses across which a step or a counter fell back."""
    usual = _median(pauses)
    last: dict[str, Stamp] = {}
    found: set[int] = set()
    for stamp in ordered:
        before = last.get(stamp.key)
        last[stamp.key] = stamp
        if before is None or before.time == stamp.time:
            continue
        fell = before.step is not None and stamp.step is not None and stamp.step < before.step
        if before.counter is not None and stamp.counter is not None:
            fell = fell or stamp.counter < before.counter
        if not fell:
            continue
        first, after = bisect_left(times, before.time), bisect_left(times, stamp.time)
        widest = max(range(first, after), key=lambda i: pauses[i])
        if pauses[widest] >= RESTART_RATIO * usual:
            found.add(widest)
    return found


def _silences(
    ordered: Sequence[Stamp], times: Sequence[float], pauses: Sequence[float], start: float | None, end: float | None
) -> set[int]:
    """Indices of the few pauses that are far longer than all others, and after which the same metrics went on."""
    ranked = sorted(range(len(pauses)), key=lambda i: -pauses[i])
    elapsed = (times[-1] if end is None else end) - (times[0] if start is None else start)
    opening = times[0] - start if start is not None else 0.0
    for count in range(min(MAX_SILENCES, (len(pauses) - 1) // 2 + 1), 0, -1):
        if count >= len(ranked):
            continue
        long, other = ranked[:count], max(pauses[ranked[count]], opening)
        shortest = pauses[long[-1]]
        if shortest < SILENCE_SECONDS:
            continue
        half = sum(pauses[i] for i in long) >= elapsed / 2
        if shortest >= (SILENCE_HALF_RATIO if half else SILENCE_RATIO) * other:
            return set(long) if _goes_on(ordered, times, long) else set()
    return set()


def _goes_on(ordered: Sequence[Stamp], times: Sequence[float], long: Sequence[int]) -> bool:
    """Whether everything that is logged right after the pauses was logged before them, and is logged elsewhere.

    A metric that only ever comes after a long silence is the result of the work done in it: an evaluation. One that
    is new after it belongs to another phase of the work.
    """
    resumed = [times[i + 1] for i in long]
    before: set[str] = set()
    elsewhere: set[str] = set()
    after: set[str] = set()
    for stamp in ordered:
        inside = any(t <= stamp.time <= t + BURST_SECONDS for t in resumed)
        (after if inside else elsewhere).add(stamp.key)
        if stamp.time < min(resumed):
            before.add(stamp.key)
    return after <= before and after <= elsewhere


def _undecided(times: Sequence[float], pauses: Sequence[float]) -> list[str]:
    """A note when one pause stands out but does not tell an interruption from work."""
    longest = max(range(len(pauses)), key=lambda i: pauses[i])
    if pauses[longest] < SILENCE_SECONDS or pauses[longest] < SILENCE_RATIO * _median(pauses):
        return []
    since = datetime.fromtimestamp(times[longest], UTC).strftime("%Y-%m-%d %H:%M")
    return [
        f"Nothing was logged for {pauses[longest] / 3600:.2f}h from {since} UTC; the time is counted as work, since an "
        "interruption cannot be told from it."
    ]
