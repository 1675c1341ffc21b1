"""The watcher: one report for each change, none for nothing."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mkdocs_sweepprof import watch as module
from mkdocs_sweepprof.watch import Watcher, snapshot


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INTERVAL", 0.05)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "collections"
    (folder / "a/runs/x").mkdir(parents=True)
    (folder / "a/runs/x/config.yaml").write_text("a: 1\n")
    return folder


@pytest.fixture
def watcher(root: Path) -> Iterator[Watcher]:
    made = Watcher()
    made.before_build([root])
    made.start()
    yield made
    made.stop()
    assert not made.stamp.exists()


def until(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return condition()


def settle(watcher: Watcher) -> int:
    time.sleep(0.6)
    return watcher.reports


def test_nothing_is_reported_for_nothing(watcher: Watcher) -> None:
    assert settle(watcher) == 0


@pytest.mark.parametrize("change", ["edit", "add", "remove", "remove all", "root goes"])
def test_each_change_is_reported_once(watcher: Watcher, root: Path, change: str) -> None:
    config = root / "a/runs/x/config.yaml"
    if change == "edit":
        config.write_text("a: 22\n")
    elif change == "add":
        shutil.copytree(root / "a/runs/x", root / "a/runs/y")
    elif change == "remove":
        config.unlink()
    elif change == "remove all":
        shutil.rmtree(root / "a")
    else:
        shutil.rmtree(root)
    assert until(lambda: watcher.reports == 1)
    assert settle(watcher) == 1
    assert watcher.stamp.read_text() == "1"


def test_a_folder_that_is_being_copied_is_one_change(watcher: Watcher, root: Path) -> None:
    for i in range(10):
        (root / f"a/runs/n{i}").mkdir()
        (root / f"a/runs/n{i}/config.yaml").write_text("a: 1\n")
        time.sleep(0.02)
    assert until(lambda: watcher.reports >= 1)
    assert settle(watcher) == 1


def test_a_run_that_is_written_all_the_time_is_reported_now_and_then(
    watcher: Watcher, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.4)
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        with open(root / "a/runs/x/events.jsonl", "a") as out:
            out.write("{}\n")
        time.sleep(0.01)
    assert 2 <= watcher.reports <= 8


def test_what_a_build_has_read_is_not_reported(watcher: Watcher, root: Path) -> None:
    (root / "a/runs/x/config.yaml").write_text("a: 333\n")
    watcher.before_build([root])
    assert settle(watcher) == 0


def test_a_root_that_comes_later_is_seen(tmp_path: Path) -> None:
    watcher = Watcher()
    watcher.before_build([tmp_path / "later"])
    watcher.start()
    try:
        (tmp_path / "later").mkdir()
        (tmp_path / "later/x.csv").write_text("run\n")
        assert until(lambda: watcher.reports == 1)
    finally:
        watcher.stop()


def test_checkpoints_are_not_looked_at(watcher: Watcher, root: Path) -> None:
    (root / "a/runs/x/last.ckpt").write_bytes(b"x" * 100)
    (root / "a/runs/x/model.safetensors").write_bytes(b"x" * 100)
    assert settle(watcher) == 0


def test_a_dear_root_is_looked_at_less_often(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watcher = Watcher()
    watcher.before_build([root])

    def slow(roots: object) -> module.Snapshot:
        time.sleep(0.1)
        return snapshot([root])

    monkeypatch.setattr(module, "snapshot", slow)
    assert 1.0 <= watcher._look() <= 3.0
    watcher.stop()
