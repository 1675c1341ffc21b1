"""SQLite databases of trackers, opened so that nothing is ever written beside them."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfile
from typing import Any
from urllib.parse import quote

from mkdocs_sweepprof.readers.complaints import Complaints
from mkdocs_sweepprof.readers.tree import Tree

MAGIC = b"SQLite format 3\0"
SUFFIXES = (".db", ".sqlite", ".sqlite3", ".db3", ".db.gz", ".sqlite.gz", ".sqlite3.gz")
MAX_BYTES = 4 * 1024**3
"""Largest database that is opened."""
MAX_COPY = 1024**3
"""Largest database that is copied because changes lie beside it, not yet in it."""
MAX_GZIP = 256 * 1024**2
"""Largest compressed database, after decompression; it is held in memory."""
SCHEMA_BYTES = 1 << 20
"""Bytes searched for table names when the schema itself cannot be read."""


def candidates(tree: Tree) -> list[str]:
    """Files that a tracker may have named its database, by name only."""
    return [path for path in tree.files if path.lower().endswith(SUFFIXES)]


def is_sqlite(tree: Tree, path: str) -> bool:
    return tree.head(path, 16) == MAGIC


def beside(tree: Tree, path: str) -> tuple[str, ...]:
    """The write-ahead log or rollback journal of a database, when it holds something."""
    return tuple(p for p in (f"{path}-wal", f"{path}-journal") if tree.exists(p) and tree.size(p) > 0)


def has_tables(tree: Tree, path: str, wanted: frozenset[str], marks: tuple[bytes, ...], names: tuple[str, ...]) -> bool:
    """Whether the database holds all of these tables.

    For one that is so damaged that its schema cannot be read: whether one of ``marks`` (texts that only this tool
    writes) stands in its first bytes, or one of ``names`` in its file name.
    """
    try:
        with opened(tree, path) as connection:
            found = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            return wanted <= found
    except (sqlite3.Error, OSError, UnicodeError, ValueError):
        head = tree.head(path, SCHEMA_BYTES)
        name = path.rpartition("/")[2].lower()
        return any(mark in head for mark in marks) or any(part in name for part in names)


@contextmanager
def opened(tree: Tree, path: str) -> Iterator[sqlite3.Connection]:
    """A read-only connection.

    The database is opened as immutable, so that SQLite makes no ``-wal``, ``-shm`` or ``-journal`` file. Where
    changes lie beside it (a process was killed, or still writes), a copy is opened instead.

    Raises:
        sqlite3.Error: it is no database, or damaged.
        OSError: it cannot be read, or is too large.
    """
    real = tree.path(path)
    if path.endswith(".gz"):
        content = tree.read_bytes(path, MAX_GZIP)
        # Bytes 18 and 19 set to 2 ask for a write-ahead log, which a database in memory cannot have.
        content = content[:18] + b"\1\1" + content[20:]
        connection = sqlite3.connect(":memory:")
        try:
            connection.deserialize(content)
            yield _lenient(connection)
        finally:
            connection.close()
        return
    size = tree.size(path)
    if size > MAX_BYTES:
        raise OSError(f"larger than {MAX_BYTES} bytes")
    changes = beside(tree, path)
    if not changes:
        with open(real, "rb"):
            pass  # a missing permission is told by the system, in its words
        connection = sqlite3.connect(f"file:{quote(str(real.resolve()))}?mode=ro&immutable=1", uri=True)
        try:
            yield _lenient(connection)
        finally:
            connection.close()
        return
    if size > MAX_COPY:
        raise OSError(f"larger than {MAX_COPY} bytes with changes beside it; close the program that writes it")
    with tempfile.TemporaryDirectory(prefix="sweepprof-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / "copy.db"
        copyfile(real, copy)
        for change in changes:
            copyfile(tree.path(change), Path(folder) / f"copy.db{change[len(path) :]}")
        connection = sqlite3.connect(copy)
        try:
            yield _lenient(connection)
        finally:
            connection.close()


def _lenient(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.text_factory = lambda raw: raw.decode("utf-8", errors="replace")
    return connection


def rows(
    connection: sqlite3.Connection, query: str, path: str, complaints: Complaints, limit: int
) -> Iterator[tuple[Any, ...]]:
    """Rows of a query, as many as can be read; damage and a size above ``limit`` are complained about, once each."""
    count = 0
    try:
        for row in connection.execute(query):
            if count >= limit:
                complaints.add(
                    path,
                    f"more than {limit} rows in one table; the rest was not read.",
                    "Split the database, or export the runs of this sweep alone.",
                    kind="size",
                )
                return
            count += 1
            yield row
    except (sqlite3.Error, UnicodeError, OverflowError) as error:
        complaints.add(
            path,
            f"the database is damaged or of an unknown form ({error}); {count} rows of this part could be read.",
            "Copy it again, or recover it with `sqlite3 <file> .recover`.",
            kind="unreadable",
        )


def columns(connection: sqlite3.Connection, table: str) -> set[str]:
    """Column names of a table; empty when it does not exist or cannot be read."""
    try:
        return {row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')}
    except sqlite3.Error:
        return set()
