"""Collecting problems while reading: a file that is wrong in every line gives a handful of messages and a count."""

from __future__ import annotations

from typing import Literal

from mkdocs_sweepprof.readers.base import Problem, ProblemKind

MAX_PER_FILE = 10
"""Messages of one kind about one file; the rest is counted in one more."""


class Complaints:
    """Problems of one reading, bounded per file and kind. ``run`` is put on every problem."""

    def __init__(self, run: str | None = None) -> None:
        self.run = run
        self._found: list[Problem] = []
        self._count: dict[tuple[str, str, str], int] = {}

    def add(
        self,
        path: str,
        message: str,
        remedy: str,
        *,
        line: int | None = None,
        kind: ProblemKind = "value",
        severity: Literal["warning", "info"] = "warning",
        run: str | None = None,
    ) -> None:
        """Note a problem; beyond :data:`MAX_PER_FILE` of a kind in a file it is only counted."""
        key = (path, kind, severity)
        self._count[key] = self._count.get(key, 0) + 1
        if self._count[key] <= MAX_PER_FILE:
            self._found.append(Problem(path, message, remedy, line, kind, severity, run or self.run))

    def cannot_read(self, path: str, error: OSError, run: str | None = None) -> None:
        """Note a file that cannot be opened or is too large."""
        why = error.strerror or str(error) or type(error).__name__
        self.add(
            path,
            f"the file cannot be read ({why}).",
            "Check its permissions and size, or remove it.",
            kind="unreadable",
            run=run,
        )

    def all(self) -> list[Problem]:
        """The problems, with one closing line for each kind of which there were too many."""
        more: list[Problem] = []
        for (path, kind, severity), count in self._count.items():
            if count > MAX_PER_FILE:
                alike = next(p for p in self._found if (p.path, p.kind, p.severity) == (path, kind, severity))
                more.append(
                    Problem(
                        path,
                        f"{count - MAX_PER_FILE} more problems like these.",
                        alike.remedy,
                        None,
                        alike.kind,
                        alike.severity,
                        self.run,
                    )
                )
        return self._found + more
