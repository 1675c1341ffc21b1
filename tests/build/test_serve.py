"""``mkdocs serve`` as a user runs it: one rebuild for each change of the runs, and no loop."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.build.support import collection, write


class Server:
    """A running ``mkdocs serve``, and what it says."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-m", "mkdocs", "serve", "-a", f"127.0.0.1:{self.port}"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def count(self, words: str) -> int:
        return sum(words in line for line in self.lines)

    @property
    def builds(self) -> int:
        return self.count("Documentation built")

    def until(self, condition: Callable[[], bool], seconds: float = 60.0) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not condition():
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        return condition()

    def page(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{path}", timeout=10) as answer:
            return str(answer.read().decode())

    def stop(self) -> str:
        self.process.terminate()
        self.process.wait(timeout=20)
        self._reader.join(timeout=20)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return "\n".join(self.lines)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, Server]]:
    write(
        tmp_path,
        {
            "mkdocs.yml": "site_name: x\nplugins: [sweepprof]\n",
            "docs/index.md": "# Home\n",
            **collection("collections/one"),
            **collection("collections/two"),
        },
    )
    server = Server(tmp_path)
    try:
        assert server.until(lambda: server.count("Serving on") == 1), server.lines
        yield tmp_path, server
    finally:
        text = server.stop()
        assert "Traceback" not in text, text


def test_one_rebuild_for_each_change(
    served: tuple[Path, Server], record_property: Callable[[str, object], None]
) -> None:
    folder, server = served
    one = folder / "collections/one"
    assert server.builds == 1
    done: list[tuple[str, int]] = []

    def step(name: str, change: Callable[[], object], seen: Callable[[], bool]) -> None:
        before = server.builds
        change()
        assert server.until(lambda: server.builds > before), f"{name}: no rebuild\n" + "\n".join(server.lines)
        assert server.until(seen, 5), f"{name}: the page did not change"
        time.sleep(2.5)  # long enough for a second rebuild, were there one
        done.append((name, server.builds - before))

    def note() -> str:
        return server.page("one/profiling/")

    step("added", lambda: shutil.copytree(one / "runs/copy-0", one / "runs/copy-new"), lambda: "copy-new" in note())
    profile = one / "runs/copy-new/profile.json"
    step(
        "changed",
        lambda: profile.write_text(profile.read_text().replace("100.0", "200.0")),
        lambda: 'data-fact="runtime.max">200' in note() or "200" in note(),
    )
    step("half written", lambda: profile.write_text('{"wall_seconds": 1'), lambda: "profile.json" in note())
    step("removed", lambda: shutil.rmtree(one / "runs/copy-new"), lambda: "copy-new" not in note())
    step(
        "collection added",
        lambda: write(folder, collection("collections/three")),
        lambda: "three" in server.page("sweepprof/"),
    )
    step(
        "collection removed",
        lambda: shutil.rmtree(folder / "collections/three"),
        lambda: "three" not in server.page("sweepprof/"),
    )
    step("page", lambda: (folder / "docs/index.md").write_text("# Hello\n"), lambda: "Hello" in server.page(""))
    for name, builds in done:
        record_property(f"rebuilds after: {name}", builds)
    assert done == [(name, 1) for name, _ in done]


def test_a_root_that_is_made_while_serving(tmp_path: Path) -> None:
    write(tmp_path, {"mkdocs.yml": "site_name: x\nplugins: [sweepprof]\n", "docs/index.md": "# Home\n"})
    server = Server(tmp_path)
    try:
        assert server.until(lambda: server.count("Serving on") == 1), server.lines
        assert server.count("does not exist") == 1
        write(tmp_path, collection("collections/one"))
        assert server.until(lambda: server.builds == 2)
        assert "one/profiling/" in server.page("sweepprof/")
    finally:
        assert "Traceback" not in server.stop()
