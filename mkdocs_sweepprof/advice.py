"""What to do about a folder in which no layout was recognised."""

from __future__ import annotations

from collections.abc import Iterable

from mkdocs_sweepprof.readers import readers

ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".7z", ".rar")
MAX_NAMED = 3
"""Archives that are named; more are counted."""


def layouts() -> str:
    """The titles of all readers, for a sentence."""
    return ", ".join(reader.title for reader in readers())


def archives(files: Iterable[str]) -> str | None:
    """The archives among the files, with what to do about them; None when there are none."""
    found = [name for name in files if name.lower().endswith(ARCHIVES)]
    if not found:
        return None
    more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
    archive = "an archive" if len(found) == 1 else "archives"
    return f"It holds {archive} ({', '.join(found[:MAX_NAMED])}{more}), which no reader opens: unpack it first."
