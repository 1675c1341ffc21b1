"""Watching collections while the site is served, for one rebuild a change.

MkDocs polls every watched folder twice a second and rebuilds at the first sign: dear for a root with many files, and
several rebuilds for one copied folder. Here a thread looks at names, sizes and times, waits until they rest, and then
touches one file, which is what MkDocs watches.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

from mkdocs_sweepprof.readers.tree import Tree

INTERVAL = 0.4
"""Seconds between two looks, at least."""
SHARE = 0.1
"""Share of one core that looking may cost: a root that takes 1 s to list is looked at every 10 s."""
LONGEST = 20.0
"""Seconds between two looks, at most."""
PATIENCE = 5.0
"""Seconds after which a change is reported although files still change (a run that is being written)."""
IGNORED = (".pt", ".pth", ".ckpt", ".safetensors", ".npy", ".npz", ".bin", ".onnx", ".h5", ".part", ".tmp", ".swp", "~")
"""Files that no reader reads, and that change often beside those it does."""

Snapshot: TypeAlias = dict[str, tuple[int, int, int]]


def snapshot(roots: Iterable[Path]) -> Snapshot:
    """Path → (mtime, size, inode) of every file below the roots that could matter. A missing root holds none."""
    found: Snapshot = {}
    for root in roots:
        tree = Tree(root)
        for name in tree.files:
            if not name.endswith(IGNORED):
                stat = tree.stat(name)
                found[f"{root}/{name}"] = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        for folder in tree.folders:
            found.setdefault(f"{root}/{folder}/", (0, 0, 0))
    return found


class Watcher:
    """Looks at roots and touches :attr:`stamp` once for each change."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="sweepprof_"))
        self.stamp = self._folder / "changed"
        self.stamp.write_text("0")
        self._lock = threading.Lock()
        self._roots: tuple[Path, ...] = ()
        self._seen: Snapshot = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.reports = 0
        """Changes reported so far."""

    def before_build(self, roots: Iterable[Path]) -> None:
        """Take what is there now as seen: the build that follows reads it. Changes from here on are reported."""
        with self._lock:
            self._roots = tuple(roots)
            self._seen = snapshot(self._roots)

    def start(self) -> None:
        """Look from now on, in a daemon thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="sweepprof-watch", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread and remove the stamp."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._thread = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self) -> None:
        pause = INTERVAL
        while not self._stop.wait(pause):
            with contextlib.suppress(OSError):
                pause = self._look()

    def _look(self) -> float:
        """One look; when something changed, wait until it rests and report it. Returns the next pause."""
        with self._lock:
            roots, seen = self._roots, self._seen
        began = time.monotonic()
        now = snapshot(roots)
        pause = min(LONGEST, max(INTERVAL, (time.monotonic() - began) / SHARE))
        if now == seen:
            return pause
        while time.monotonic() - began < PATIENCE and not self._stop.wait(pause):
            later = snapshot(roots)
            if later == now:
                break
            now = later
        with self._lock:
            # A build that began meanwhile has read it already.
            if self._seen is not seen or self._roots != roots or now == seen:
                return pause
            self._seen = now
            self.reports += 1
            self.stamp.write_text(str(self.reports))
        return pause
