"""Records as plain JSON values and back, every digit kept: what the store and packs are made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeAlias

from mkdocs_sweepprof.readers.base import Event, Problem, Reading, Run, Section, Session

Json: TypeAlias = Any
"""Plain JSON values."""

_RECORDS: tuple[type[Any], ...] = (Section, Event, Session, Problem, Run, Reading)
FIELDS = {record: tuple(f.name for f in dataclasses.fields(record)) for record in _RECORDS}
"""Record → its fields in the order in which they are written."""
FORM = [[record.__name__, *names] for record, names in FIELDS.items()]
"""Changes when a record does."""
_NESTED: dict[str, type[Any]] = {"sections": Section, "events": Event, "sessions": Session}
_TUPLES = frozenset({"aliases", "files", "notes"})


def reading_to_json(reading: Reading) -> Json:
    """A reading as lists of its records' fields in order."""
    runs = [[field_to_json(run, name) for name in FIELDS[Run]] for run in reading.runs]
    return [runs, [record_to_json(p) for p in reading.problems], list(reading.mentions)]


def reading_from_json(raw: Json) -> Reading:
    """The reading that :func:`reading_to_json` was given.

    Raises:
        TypeError, ValueError, KeyError, IndexError: ``raw`` has another form.
    """
    runs, problems, mentions = raw
    return Reading([_run(r) for r in runs], [Problem(*p) for p in problems], list(mentions))


def field_to_json(run: Run, name: str) -> Json:
    """One field of a run as plain values."""
    value = getattr(run, name)
    if name in _NESTED:
        return [record_to_json(record) for record in value]
    return list(value) if name in _TUPLES else value


def field_from_json(name: str, raw: Json) -> Any:
    """The value that :func:`field_to_json` was given.

    Raises:
        TypeError, ValueError: ``raw`` has another form.
    """
    if name in _NESTED:
        return [_NESTED[name](*fields) for fields in raw]
    return tuple(raw) if name in _TUPLES else raw


def record_to_json(record: Any) -> list[Json]:
    """A flat record as the list of its fields in order."""
    return [getattr(record, name) for name in FIELDS[type(record)]]


def _run(raw: Sequence[Json]) -> Run:
    values = dict(zip(FIELDS[Run], raw, strict=True))
    return Run(**{name: field_from_json(name, value) for name, value in values.items()})
