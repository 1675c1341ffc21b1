"""What is remembered between builds, keyed by content. Standard library only, so that an unchanged build is cheap.

::

    <folder>/.gitignore, CACHEDIR.TAG
    <folder>/<generation>/stat.json           hashed path → (mtime, size, inode, digest): saves re-reading big files
    <folder>/<generation>/readings/<key>      what a reader made of one source
    <folder>/<generation>/notes/<key>         a finished note: its plain values, and the digests of its files
    <folder>/<generation>/files/<digest>      contents

A generation is one version of the product and of the stored form; another one is never read. Every entry carries its
own checksum: a damaged one counts as absent. Nothing here is needed: whatever goes wrong, the build goes on without.
No path is stored in the clear.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import stat as stats
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from mkdocs_sweepprof.readers.base import Reading
from mkdocs_sweepprof.readers.plain import FORM, Json, reading_from_json, reading_to_json

Payload: TypeAlias = dict[str, Any]
"""Name → bytes (kept as a file) or plain JSON values."""

RACY_SECONDS = 2.0
"""A file changed this recently may change again within the clock's resolution: its stat is not trusted (as in git)."""
KEEP_DAYS = 30
"""Entries that no build used for so long are removed."""
MAX_BYTES = 512 * 1024 * 1024
"""Size above which the entries unused for longest are removed, whatever their age (never those of this build)."""
TOUCH_SECONDS = 24 * 3600
"""An entry's time of last use is noted at most this often: an unchanged build writes nothing."""
SWEEP_SECONDS = 24 * 3600
"""Old entries are looked for at most this often, or when something was written."""
STALE_TEMP_SECONDS = 3600
"""Temporary files older than this were left by a process that was killed."""

_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This directory is made by mkdocs-sweepprof and may be removed at any time.\n"
)
_FORM = "1"
"""Raise it when the stored form changes."""

_GENERATION = re.compile("[0-9a-f]{12}")


def digest(content: bytes) -> str:
    """The name under which content is remembered: 32 hex digits."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def combine(*parts: Any) -> str:
    """One key from plain JSON values (lists, text, numbers), independent of the order of mappings."""
    return digest(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode())


class Store:
    """The store below ``folder``; with None it remembers nothing. ``version`` is the product's.

    Never raises for what happens to the folder: :attr:`trouble` then says why nothing is remembered.
    """

    def __init__(self, folder: Path | None, version: str) -> None:
        self.folder = folder
        self.trouble: str | None = None
        """Why nothing (more) is written, for one message; None while all is well."""
        self._generation = combine(version, _FORM, FORM)[:12]
        self._home = folder / self._generation if folder else None
        self._stats: dict[str, list[Any]] = {}
        self._fresh: dict[str, list[Any]] = {}
        """Stats of this build; the rest is dropped when it is saved."""
        self._used: set[Path] = set()
        self._wrote = False
        self._ready = False
        self._load_stats()

    # --- fingerprints ------------------------------------------------------------------------------------------------

    def fingerprint(self, path: Path, stat: os.stat_result | None = None) -> str:
        """The digest of a file's content: the same after a mere change of mtime, read again only when its stat changed.

        Raises:
            OSError: it cannot be read.
        """
        stat = stat or path.stat()
        key = combine(os.path.abspath(path))  # noqa: PTH100 - links are not to be resolved
        mark = [stat.st_mtime_ns, stat.st_size, stat.st_ino]
        known = self._fresh.get(key) or self._stats.get(key)
        if known and known[:3] == mark:
            self._fresh[key] = known
            return str(known[3])
        found = _digest_file(path)
        if time.time() - stat.st_mtime_ns / 1e9 > RACY_SECONDS and _mark(path) == mark:
            self._fresh[key] = [*mark, found]
        return found

    def _load_stats(self) -> None:
        if self._home is None:
            return
        raw = _unsealed(self._home / "stat.json")
        if isinstance(raw, dict) and all(isinstance(v, list) and len(v) == 4 for v in raw.values()):
            self._stats = raw

    # --- readings ----------------------------------------------------------------------------------------------------

    def get_reading(self, key: str) -> Reading | None:
        """A remembered reading, equal to what was put; None when there is none."""
        raw = self._get("readings", key)
        if raw is None:
            return None
        try:
            return reading_from_json(raw)
        except (TypeError, ValueError, KeyError, IndexError):
            return None

    def put_reading(self, key: str, reading: Reading) -> None:
        """Remember a reading. What is put here lies on disk as it is: mask secrets before."""
        self._put("readings", key, reading_to_json(reading))

    # --- notes -------------------------------------------------------------------------------------------------------

    def get_note(self, key: str) -> Payload | None:
        """A remembered note, equal to what was put, every file checked; None when any part is missing or damaged."""
        raw = self._get("notes", key)
        if not isinstance(raw, dict) or self._home is None:
            return None
        try:
            payload: Payload = dict(raw["values"])
            order: list[str] = list(raw["order"])
            for name, found in raw["files"].items():
                content = self._content(found)
                if content is None:
                    return None
                payload[name] = content
            return {name: payload[name] for name in order}
        except (TypeError, ValueError, KeyError, AttributeError):
            return None

    def put_note(self, key: str, payload: Mapping[str, bytes | Json]) -> None:
        """Remember a note: values that are bytes become files (see :meth:`path`), the rest must be plain JSON."""
        files: dict[str, str] = {}
        values: dict[str, Json] = {}
        for name, value in payload.items():
            if isinstance(value, bytes):
                files[name] = digest(value)
                if self.keep(value) is None:
                    return
            else:
                values[name] = value
        self._put("notes", key, {"values": values, "files": files, "order": list(payload)})

    def keep(self, content: bytes) -> Path | None:
        """Put content into the store; where it lies, or None when it cannot be remembered."""
        if self._home is None:
            return None
        path = self._file(digest(content))
        self._used.add(path)
        try:
            if path.stat().st_size == len(content) and digest(path.read_bytes()) == path.name:
                self._touch(path)
                return path
        except OSError:
            pass
        return path if self._write(path, content) else None

    def path(self, found: str) -> Path | None:
        """Where the content with this :func:`digest` lies, when it does."""
        if self._home is None:
            return None
        path = self._file(found)
        return path if path.is_file() else None

    def _file(self, found: str) -> Path:
        assert self._home is not None
        return self._home / "files" / found[:2] / found

    def _content(self, found: Any) -> bytes | None:
        if not (isinstance(found, str) and len(found) == 32 and found.isalnum()):
            return None
        path = self._file(found)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        if digest(content) != found:
            return None
        self._used.add(path)
        self._touch(path)
        return content

    # --- entries -----------------------------------------------------------------------------------------------------

    def _get(self, kind: str, key: str) -> Json | None:
        if self._home is None:
            return None
        path = self._home / kind / key[:2] / key
        raw = _unsealed(path)
        if raw is not None:
            self._used.add(path)
            self._touch(path)
        return raw

    def _put(self, kind: str, key: str, value: Json) -> None:
        if self._home is None:
            return
        path = self._home / kind / key[:2] / key
        try:
            body = _sealed(value)
        except (ValueError, TypeError, RecursionError):
            return  # cannot be written as JSON: made anew next time
        self._used.add(path)
        self._write(path, body)

    def _touch(self, path: Path) -> None:
        """Note that an entry was used, now and then."""
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > TOUCH_SECONDS:
                os.utime(path)

    # --- writing -----------------------------------------------------------------------------------------------------

    def _write(self, path: Path, content: bytes) -> bool:
        """Write whole or not at all. After the first failure nothing more is tried."""
        if self.trouble is not None:
            return False
        try:
            self._prepare()
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, content)
        except OSError as error:
            self.trouble = error.strerror or str(error)
            return False
        self._wrote = True
        return True

    def _prepare(self) -> None:
        if self._ready or self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _TAG)):
            if not (self.folder / name).is_file():
                write_atomic(self.folder / name, text.encode())
        self._ready = True

    def close(self) -> str | None:
        """Save the stats and remove what is old. Returns a message when something could not be remembered."""
        if self._home is not None:
            if self._fresh != self._stats and not (not self._fresh and not self._stats):
                self._write(self._home / "stat.json", _sealed(self._fresh))
                if self.trouble is None:
                    self._stats = dict(self._fresh)
            self._evict()
        if self.trouble is None:
            return None
        return (
            f"The store cannot be written ({self.trouble}): this build is not remembered, and the next one takes as "
            "long. Make room or mend its permissions, or name another folder with the option 'cache_dir'."
        )

    def _evict(self) -> None:
        """Remove old generations and entries that no build used for long, and keep the whole below the size bound."""
        assert self.folder is not None and self._home is not None
        if self.trouble is not None:
            return
        stamp = self._home / "swept"
        now = time.time()
        try:
            if not self._wrote and now - stamp.stat().st_mtime < SWEEP_SECONDS:
                return
        except OSError:
            if not self._home.is_dir():
                return
        with contextlib.suppress(OSError):
            for other in self.folder.iterdir():
                # Only what is surely ours: the folder may hold other things.
                if other == self._home or other.is_symlink() or not _GENERATION.fullmatch(other.name):
                    continue
                with contextlib.suppress(OSError):
                    if now - (other / "swept").stat().st_mtime > KEEP_DAYS * 86400:
                        shutil.rmtree(other, ignore_errors=True)
        total = 0
        idle: list[tuple[float, int, Path]] = []
        for folder, _, names in os.walk(self._home):
            for name in names:
                path = Path(folder, name)
                try:
                    found = path.stat()
                except OSError:
                    continue
                if name.endswith(_TEMP) and now - found.st_mtime > STALE_TEMP_SECONDS:
                    _remove(path)
                elif path.parent != self._home and stats.S_ISREG(found.st_mode) and not name.endswith(_TEMP):
                    total += found.st_size
                    if path not in self._used:
                        idle.append((found.st_mtime, found.st_size, path))
        for used_at, size, path in sorted(idle):
            # Another build may be using what this one did not: nothing younger than a day goes for its size alone.
            age = now - used_at
            if age > KEEP_DAYS * 86400 or (total > MAX_BYTES and age > TOUCH_SECONDS):
                _remove(path)
                total -= size
        with contextlib.suppress(OSError):
            write_atomic(stamp, b"")


# --- atomic files ----------------------------------------------------------------------------------------------------

_TEMP = ".part"


def write_atomic(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file so that it is there whole or not at all, whatever interrupts; its folder must exist.

    Raises:
        OSError: it could not be written; an older file is still as it was. It names ``path``, not the file beside it.
    """
    try:
        handle, temp = tempfile.mkstemp(prefix=".", suffix=_TEMP, dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(content)
            os.chmod(temp, mode)  # noqa: PTH101 - mkstemp gives a name
            os.replace(temp, path)  # noqa: PTH105
        except BaseException:
            _remove(Path(temp))
            raise
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _sealed(value: Json) -> bytes:
    """JSON after a line with its checksum. ValueError or TypeError when it cannot be JSON."""
    body = json.dumps(value, separators=(",", ":")).encode("ascii")
    return digest(body).encode() + b"\n" + body


def _unsealed(path: Path) -> Json | None:
    try:
        seal, _, body = path.read_bytes().partition(b"\n")
        return json.loads(body) if seal == digest(body).encode() else None
    except (OSError, ValueError, RecursionError):
        return None


def _digest_file(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _mark(path: Path) -> list[int] | None:
    """The stat after reading: a file that changed meanwhile is not remembered by the stat from before."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return [stat.st_mtime_ns, stat.st_size, stat.st_ino]
