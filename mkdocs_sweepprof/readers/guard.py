"""Readers of other packages, kept from doing harm: what they raise or return wrongly costs a message, not a build."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from mkdocs_sweepprof.readers.base import Problem, Reader, Reading, Run, Source
from mkdocs_sweepprof.readers.plain import reading_from_json, reading_to_json
from mkdocs_sweepprof.readers.tree import Tree

REMEDY = "Update that package, or remove it, and report the fault to its authors."
_SCALARS = (str, int, float, bool, type(None))


class GuardedReader:
    """A reader of another package, with the same interface; see :class:`.base.Reader`."""

    def __init__(self, reader: Reader, package: str) -> None:
        """``package`` is the distribution that registered it.

        Raises:
            TypeError: it does not have the reader interface.
        """
        if not isinstance(reader, Reader):
            raise TypeError("it lacks name, title, version, find or read")
        for name, kind in (("name", str), ("title", str), ("version", int)):
            if not isinstance(getattr(reader, name), kind) or not getattr(reader, name):
                raise TypeError(f"its {name} is {getattr(reader, name)!r}")
        self.name, self.title, self.version = reader.name, reader.title, reader.version
        self.package = package
        self.faults: list[str] = []
        """What went wrong in ``find``, once a kind."""
        self._reader = reader

    def find(self, tree: Tree) -> Sequence[Source]:
        """Its sources; none when it fails, and then :attr:`faults` says why."""
        try:
            found = list(self._reader.find(tree))
            for source in found:
                self._check_source(source, tree)
        except Exception as error:
            message = (
                f"The {self.name} reader of the package '{self.package}' failed to look through a folder "
                f"({_said(error)}), so nothing is read with it there. {REMEDY}"
            )
            if message not in self.faults:
                self.faults.append(message)
            return []
        return found

    def _check_source(self, source: object, tree: Tree) -> None:
        if not isinstance(source, Source):
            raise TypeError(f"find gave {type(source).__name__}, not a Source")
        if source.reader != self.name:
            raise ValueError(f"a source names the reader {source.reader!r}")
        lost = [f for f in source.files if not tree.exists(f)]
        if lost:
            raise ValueError(f"a source names {lost[0]!r}, which is no file of the folder")

    def read(self, tree: Tree, source: Source) -> Reading:
        """What it read, checked; else nothing and a problem that says so."""
        try:
            reading = self._reader.read(tree, source)
            if not isinstance(reading, Reading):
                raise TypeError(f"read gave {type(reading).__name__}, not a Reading")
            for run in reading.runs:
                _check_run(run)
            # Through JSON once, as the store will: what does not survive that is found here.
            return reading_from_json(json.loads(json.dumps(reading_to_json(reading))))
        except Exception as error:
            message = f"the {self.name} reader of the package '{self.package}' failed ({_said(error)})."
            return Reading([], [Problem(source.key or ".", message, REMEDY)])


def _said(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}".strip(": ")
    return text if len(text) <= 200 else text[:199] + "…"


def _check_run(run: object) -> None:
    """TypeError or ValueError when a run is not what the interface says."""
    if not isinstance(run, Run):
        raise TypeError(f"read gave {type(run).__name__}, not a Run")
    if not isinstance(run.id, str) or not run.id:
        raise ValueError(f"a run has the id {run.id!r}")
    for key, value in run.config.items():
        if not isinstance(key, str) or not isinstance(value, _SCALARS):
            raise TypeError(f"run {run.id!r}: the config field {key!r} is {type(value).__name__}")
    times = [run.profile_wall, run.started_at, run.ended_at, run.duration, run.first_activity, run.last_activity]
    times += [t for s in run.sessions for t in (s.started_at, s.ended_at)]
    times += [e.time for e in run.events]
    for section in run.sections:
        if not isinstance(section.path, str) or not section.path or int(section.count) != section.count:
            raise ValueError(f"run {run.id!r}: the section {section.path!r} has no path or count")
        times += [section.total_seconds, section.covered_seconds]
    for time in times:
        if time is not None and not math.isfinite(time):
            raise ValueError(f"run {run.id!r}: a time is {time!r}")
