"""A bounded, safe view of a collection's folder: names once, content on demand.

Links are followed only while they stay inside the collection's root, each real folder is visited once (no loops),
and reading never raises for odd bytes: byte-order marks, CRLF, Latin-1 and gzip are handled here so that no reader
has to.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

MAX_FILES = 200_000
"""Files listed in one collection; more are left aside, and said."""
MAX_TEXT_BYTES = 256 * 1024 * 1024
"""Largest text that is read whole, after decompression."""
SKIPPED_FOLDERS = frozenset({".git", "__pycache__", ".ipynb_checkpoints", ".venv", "venv", "node_modules", ".cache"})


class TooLarge(OSError):
    """A file above :data:`MAX_TEXT_BYTES`."""


class Tree:
    """The files below ``root``, relative POSIX paths, sorted.

    ``exclude`` are folders (relative) that are collections of their own. ``boundary`` is the folder that links may
    not lead out of (the collections root); default ``root``.
    """

    def __init__(self, root: Path, exclude: Iterable[str] = (), boundary: Path | None = None) -> None:
        self.root = Path(root)
        self.exclude = frozenset(exclude)
        self.boundary = Path(os.path.realpath(boundary or root))
        self.skipped: list[tuple[str, str]] = []
        """(path, why) of what was not entered: links out of the root, unreadable folders, too many files."""
        self.cut = False
        """Whether there are more than :data:`MAX_FILES` files, so that not all are listed."""
        self._files: dict[str, os.stat_result] = {}
        self._folders: dict[str, list[str]] = {"": []}
        self._children: dict[str, list[str]] = {}
        self._walk()
        self.files: tuple[str, ...] = tuple(sorted(self._files))
        self._names: dict[str, list[str]] = {}
        for path in self.files:
            self._names.setdefault(path.rpartition("/")[2], []).append(path)

    def _walk(self) -> None:
        home = os.path.realpath(self.root)
        seen = {_identity(self.root)} if self.root.is_dir() else set()
        stack = [""]
        while stack:
            folder = stack.pop()
            try:
                with os.scandir(self.root / folder) as it:
                    entries = sorted(it, key=lambda e: e.name)
            except OSError as error:
                self.skipped.append((folder or ".", f"the folder cannot be read ({error.strerror})"))
                continue
            here = self._folders.setdefault(folder, [])
            subs: list[str] = []
            for entry in entries:
                rel = f"{folder}/{entry.name}" if folder else entry.name
                try:
                    real = os.path.realpath(entry.path) if entry.is_symlink() else None
                    if real is not None and not _inside(real, self.boundary):
                        if not os.path.exists(real):  # noqa: PTH110 - a text, resolved already
                            self.skipped.append((rel, "a link whose target does not exist"))
                            continue
                        self.skipped.append((rel, "a link that leads out of the collections root is not followed"))
                        continue
                    if entry.is_dir():
                        if entry.name in SKIPPED_FOLDERS or rel in self.exclude:
                            continue
                        if real is not None and (_inside(real, Path(home)) or _inside(home, Path(real))):
                            # The target stands elsewhere in this same tree (it is listed there), or holds the tree.
                            continue
                        identity = _identity(entry)
                        if identity in seen:
                            continue
                        seen.add(identity)
                        subs.append(rel)
                    elif entry.is_file():
                        if len(self._files) >= MAX_FILES:
                            self.cut = True
                            self.skipped.append((rel, f"more than {MAX_FILES} files; the rest was not listed"))
                            return
                        here.append(entry.name)
                        self._files[rel] = entry.stat()
                    elif entry.is_symlink():
                        self.skipped.append((rel, "a link whose target does not exist"))
                except OSError as error:
                    self.skipped.append((rel, f"cannot be looked at ({error.strerror})"))
            self._children[folder] = [s.rpartition("/")[2] for s in subs]
            stack.extend(reversed(subs))

    # --- names -------------------------------------------------------------------------------------------------

    @property
    def folders(self) -> tuple[str, ...]:
        """All folders, relative, sorted; "" is the collection itself."""
        return tuple(sorted(self._folders))

    def names(self, folder: str) -> tuple[str, ...]:
        """File names directly in ``folder``."""
        return tuple(self._folders.get(folder, ()))

    def subfolders(self, folder: str) -> tuple[str, ...]:
        """Folder names directly in ``folder``."""
        return tuple(self._children.get(folder, ()))

    def named(self, name: str) -> tuple[str, ...]:
        """Every file called ``name``, at any depth."""
        return tuple(self._names.get(name, ()))

    def match(self, pattern: str) -> tuple[str, ...]:
        """Every file whose *name* matches the shell pattern."""
        return tuple(p for n, paths in sorted(self._names.items()) if fnmatchcase(n, pattern) for p in paths)

    def below(self, folder: str) -> tuple[str, ...]:
        """Every file in ``folder`` or deeper."""
        return self.files if not folder else tuple(p for p in self.files if p.startswith(folder + "/"))

    def exists(self, path: str) -> bool:
        return path in self._files

    def is_folder(self, path: str) -> bool:
        return path in self._folders

    def size(self, path: str) -> int:
        return self._files[path].st_size

    def stat(self, path: str) -> os.stat_result:
        return self._files[path]

    def path(self, path: str) -> Path:
        """The real path, for libraries that need one (sqlite). Open read-only."""
        return self.root / path

    # --- content -----------------------------------------------------------------------------------------------

    def read_bytes(self, path: str, limit: int = MAX_TEXT_BYTES) -> bytes:
        """The content, decompressed when the name ends in ``.gz``.

        A cut gzip stream gives what could be decompressed. OSError when it cannot be read, TooLarge above limit.
        """
        target = self.root / path
        if not path.endswith(".gz"):
            if target.stat().st_size > limit:
                raise TooLarge(f"larger than {limit} bytes")
            return target.read_bytes()
        chunks: list[bytes] = []
        total = 0
        try:
            with gzip.open(target, "rb") as stream:
                while chunk := stream.read(1 << 20):
                    total += len(chunk)
                    if total > limit:
                        raise TooLarge(f"larger than {limit} bytes when decompressed")
                    chunks.append(chunk)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            if not chunks:
                raise OSError(f"{path} is not a readable gzip file") from None
        return b"".join(chunks)

    def head(self, path: str, size: int = 4096) -> bytes:
        """The first bytes, decompressed; b"" when unreadable. For recognising."""
        try:
            if path.endswith(".gz"):
                with gzip.open(self.root / path, "rb") as stream:
                    return stream.read(size)
            with open(self.root / path, "rb") as raw:
                return raw.read(size)
        except (OSError, EOFError, zlib.error):
            return b""

    def tail(self, path: str, size: int = 4096) -> bytes:
        """The last bytes of a plain file; b"" when unreadable."""
        try:
            with open(self.root / path, "rb") as raw:
                raw.seek(max(0, os.fstat(raw.fileno()).st_size - size))
                return raw.read(size)
        except OSError:
            return b""

    def read_text(self, path: str) -> str:
        """The content as text: UTF-8 (BOM dropped), UTF-16 by its BOM, else Latin-1; line ends become ``\\n``.

        OSError when it cannot be read.
        """
        return decode(self.read_bytes(path))

    def lines(self, path: str) -> Iterator[tuple[int, str]]:
        """(line number from 1, line without its end). OSError when it cannot be read."""
        yield from enumerate(self.read_text(path).split("\n"), start=1)


def decode(raw: bytes) -> str:
    """Bytes to text, never failing; see :meth:`Tree.read_text`."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = raw.decode("utf-16", errors="replace")
    else:
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = raw.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _identity(folder: Path | os.DirEntry[str]) -> tuple[int, int]:
    """What makes two paths one folder, links followed; far cheaper than resolving them."""
    stat = folder.stat()
    return stat.st_dev, stat.st_ino


def _inside(path: str, folder: Path) -> bool:
    return path == str(folder) or path.startswith(str(folder).rstrip(os.sep) + os.sep)
