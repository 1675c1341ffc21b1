"""What ``collection.yml`` names, held against what the runs have: a typo must not change a note in silence.

What is certainly meant otherwise (a knob without a section, a field that no run has) is a warning; what may be meant
for runs to come (a level, a glob, a label) is said only.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from mkdocs_sweepprof.analysis import Analysis
from mkdocs_sweepprof.levels import NOT_SET, level, matches
from mkdocs_sweepprof.readers.base import Problem, Run
from mkdocs_sweepprof.schema import CollectionConfig, Lines

MAX_TRIED = 2_000
"""Known names that a wrong one is compared with."""

Severity = Literal["warning", "info"]


def check(config: CollectionConfig, lines: Lines, where: str, runs: Sequence[Run], result: Analysis) -> list[Problem]:
    """Problems with the names in a ``collection.yml``, in the order of its keys; none when there is no run.

    Args:
        config: the file's choices.
        lines: where its keys stand.
        where: its path, relative to the collection.
        runs: every run that was read, those excluded too.
        result: the analysis that was made with ``config``.
    """
    return _Check(config, lines, where, runs, result).all() if runs else []


class _Check:
    def __init__(
        self, config: CollectionConfig, lines: Lines, where: str, runs: Sequence[Run], result: Analysis
    ) -> None:
        self.config = config
        self.lines = lines
        self.where = where
        self.result = result
        self.levels: dict[str, set[str]] = {}
        for run in runs:
            for name, value in run.config.items():
                self.levels.setdefault(name, set()).add(level(value))
        self.runs = [run.id for run in runs]
        self.markers = {event.label for run in runs for event in run.events}
        self.sections = dict.fromkeys(s.path for run in runs for s in run.sections)
        self.found: list[Problem] = []

    def all(self) -> list[Problem]:
        self._group()
        self._fields()
        self._labels_and_levels()
        self._globs()
        self._run_url()
        self._knobs()
        return self.found

    def _say(self, message: str, remedy: str, line: int | None, severity: Severity = "info") -> None:
        self.found.append(Problem(self.where, message, remedy, line, "config", severity))

    def _left_aside(self, name: str) -> bool:
        return matches(name, self.config.exclude.fields)

    def _group(self) -> None:
        name = self.config.group
        if not name or not self.result.runtime.count:
            return
        line = self.lines.of("group")
        used = self.result.group
        instead = f"The note compares by {used!r} instead." if used else "The note compares by nothing instead."
        if name not in self.levels:
            self._say(
                f"group: no run has a field {name!r}.", f"{nearest(name, self.levels)} {instead}", line, "warning"
            )
        elif used == name:
            return
        elif self._left_aside(name):
            self._say(f"group: {name!r} is left aside by exclude.fields.", f"Remove it from one. {instead}", line)
        elif name in self.result.settings:
            self._say(
                f"group: {name!r} is the same in all counted runs.", f"Choose a field that varies. {instead}", line
            )
        else:
            self._say(f"group: {name!r} is not among the `factors`.", f"Add it to them. {instead}", line)

    def _fields(self) -> None:
        factors = {f.name for f in self.result.factors}
        for key in ("factors", "settings"):
            for name in dict.fromkeys(getattr(self.config, key) or ()):
                line = self.lines.of(key, item=name)
                if name not in self.levels:
                    self._say(f"{key}: no run has a field {name!r}.", nearest(name, self.levels), line, "warning")
                elif self._left_aside(name):
                    self._say(f"{key}: {name!r} is left aside by exclude.fields.", "Remove it from one.", line)
                elif not self.result.runtime.count:
                    continue
                elif key == "factors" and name not in factors:
                    self._say(
                        f"factors: {name!r} is the same in all counted runs, so it is shown as a setting.",
                        "Nothing to do when runs with other values are to come.",
                        line,
                    )
                elif key == "settings" and name not in self.result.settings:
                    self._say(
                        f"settings: {name!r} varies over the counted runs, so it is no shared setting.",
                        "Remove it, or name it under `factors`.",
                        line,
                    )

    def _labels_and_levels(self) -> None:
        values = set().union(*self.levels.values()) if self.levels else set()
        every = {*self.levels, *values, *self.sections, *self.markers, NOT_SET}
        for name in self.config.labels:
            if name not in every:
                self._say(
                    f"labels: {name!r} is no field, level or section of these runs.",
                    nearest(name, [*self.levels, *self.sections, *sorted(values)]),
                    self.lines.of("labels", name),
                )
        for name, wanted in self.config.levels.items():
            if name not in self.levels:
                line = self.lines.of("levels", name)
                self._say(f"levels: no run has a field {name!r}.", nearest(name, self.levels), line)
                continue
            for value in dict.fromkeys(wanted):
                if value not in self.levels[name] and value != NOT_SET:
                    self._say(
                        f"levels: no run has {name}={value}.",
                        nearest(value, sorted(self.levels[name])),
                        self.lines.of("levels", name, item=value),
                    )

    def _globs(self) -> None:
        exclude = self.config.exclude
        for key, globs, known, what in (
            ("runs", exclude.runs, self.runs, "run"),
            ("fields", exclude.fields, list(self.levels), "field"),
        ):
            for glob in dict.fromkeys(globs):
                if not any(matches(name, [glob]) for name in known):
                    line = self.lines.of("exclude", key, item=glob)
                    self._say(f"exclude.{key}: {glob!r} fits no {what}.", nearest(glob, known), line)
        if not self.sections:
            return
        # A role given to a path holds for all below it, so paths that only hold others count.
        holders = {path[:i] for path in self.sections for i, char in enumerate(path) if char == "/"}
        for role, globs in self.config.roles.items():
            for glob in dict.fromkeys(globs):
                if not any(matches(path, [glob]) for path in (*self.sections, *holders)):
                    line = self.lines.of("roles", role, item=glob)
                    self._say(f"roles.{role}: {glob!r} fits no section.", nearest(glob, self.sections), line)

    def _run_url(self) -> None:
        template = self.config.run_url
        if not template:
            return
        line = self.lines.of("run_url")
        if not template.startswith(("https://", "http://")):
            self._say(
                f"run_url: {template!r} is no web address, so runs have no links.",
                "Write it as in `https://tracker.example/runs/{run}`.",
                line,
                "warning",
            )
            return
        rest = re.sub(r"\{[^{}]*\}", "", template)
        if "{" in rest or "}" in rest:
            self._say(
                f"run_url: {template!r} has a brace without its partner, so runs have no links.",
                "Write `{run}` or `{field}`.",
                line,
                "warning",
            )
            return
        for name in dict.fromkeys(re.findall(r"\{([^{}]*)\}", template)):
            if name == "run":
                continue
            if name not in self.levels:
                self._say(
                    f"run_url: no run has a field {name!r}, so runs have no links.",
                    nearest(name, ["run", *self.levels]),
                    line,
                    "warning",
                )
            elif self._left_aside(name):
                self._say(
                    f"run_url: {name!r} is left aside by exclude.fields, so runs have no links.",
                    "Remove it from there.",
                    line,
                    "warning",
                )

    def _knobs(self) -> None:
        knobs = self.config.knobs
        for i, knob in enumerate(knobs):
            if knob.setting and knob.setting not in self.levels:
                self._say(
                    f"knob {knob.id!r}: no run has a setting {knob.setting!r}.",
                    nearest(knob.setting, self.levels),
                    self.lines.of("knobs", str(i), "setting"),
                    "warning",
                )
        if knobs and not self.sections:
            self._say(
                "knobs: no run recorded sections, so no knob can be weighed.",
                "Record a section profile, or remove them.",
                self.lines.of("knobs"),
            )
            return
        shown = {k.id: k for k in self.result.knobs if not k.candidate}
        for i, knob in enumerate(knobs):
            fits = {g: any(matches(path, [g]) for path in self.sections) for g in dict.fromkeys(knob.sections)}
            hint = "" if not any("*" in g for g in fits) else " * stays within a path part, ** crosses."
            if not any(fits.values()):
                self._say(
                    f"knob {knob.id!r} governs no recorded section.",
                    nearest(knob.sections[0], self.sections) + hint,
                    self.lines.of("knobs", str(i), "sections"),
                    "warning",
                )
                continue
            for glob in (g for g, fit in fits.items() if not fit):
                line = self.lines.of("knobs", str(i), "sections", item=glob)
                self._say(f"knob {knob.id!r}: {glob!r} fits no section.", nearest(glob, self.sections) + hint, line)
            stat = shown.get(knob.id)
            if stat is None or not stat.sections:
                self._say(
                    f"knob {knob.id!r} governs only sections of runs that are not counted.",
                    "Nothing to do when they are to be counted later.",
                    self.lines.of("knobs", str(i), "sections"),
                )
            elif stat.counts and knob.keep > max(stat.counts):
                most = "at most " if len(stat.counts) > 1 else ""
                self._say(
                    f"knob {knob.id!r}: keep: {knob.keep:g} is more than the calls a run makes "
                    f"({most}{max(stat.counts)}), so it saves nothing.",
                    "Write the calls that a run still makes after the change.",
                    self.lines.of("knobs", str(i), "keep"),
                )


def nearest(name: str, known: Iterable[str]) -> str:
    """The nearest known name as a remedy; some of them when none is near."""
    names = list(dict.fromkeys(known))
    near = difflib.get_close_matches(name.replace("*", ""), names[:MAX_TRIED], n=1, cutoff=0.6)
    if near:
        return f"Did you mean {near[0]!r}?"
    if not names:
        return "There is none."
    more = f" and {len(names) - 5} more" if len(names) > 6 else ""
    return f"There is: {', '.join(names[: 5 if more else 6])}{more}."


WHY_UNSEEN: Mapping[str, str] = {
    "depends": "nothing varies that runtime could depend on",
    "where": "no counted run recorded sections or events",
    "speedups": "no counted run recorded sections",
    "comparison": "there is no collection that it could be compared with",
    "limits": "there is nothing to say there",
    "runs": "there is no run",
}
"""Part of the note → why it is left out, when it is."""


def unseen(config: CollectionConfig, lines: Lines, where: str, markdown: str) -> list[Problem]:
    """What the author wrote for a part that the page does not have."""
    found = []
    for part, text in config.commentary.items():
        first = next((line.rstrip() for line in text.splitlines() if line.strip()), "").strip()
        if first and first not in markdown:
            found.append(
                Problem(
                    where,
                    f"commentary.{part} is not shown: the note has no such part, as "
                    f"{WHY_UNSEEN.get(part, 'its template leaves it out')}.",
                    "Put it under another part, such as `verdict`.",
                    lines.of("commentary", part),
                    "config",
                    "info",
                )
            )
    return found
