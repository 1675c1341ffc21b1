"""The store: what comes back, what is never trusted, and what happens when the disk does not play along."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_sweepprof import store as module
from mkdocs_sweepprof.readers.base import Event, Problem, Reading, Run, Section, Session
from mkdocs_sweepprof.readers.plain import FIELDS, reading_from_json, reading_to_json
from mkdocs_sweepprof.store import Store, combine, digest

KEY = combine("reader", 1, [["a", "b"]])


def text() -> st.SearchStrategy[str]:
    """Any text, lone surrogates included: file names may hold them."""
    return st.text(st.characters(), max_size=12)


def floats() -> st.SearchStrategy[float]:
    return st.floats(allow_nan=False)


def scalars() -> st.SearchStrategy[Any]:
    return st.one_of(text(), st.integers(), floats(), st.booleans(), st.none())


def some(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def runs() -> st.SearchStrategy[Run]:
    return st.builds(
        Run,
        id=text(),
        layout=text(),
        directory=some(text()),
        aliases=st.lists(text(), max_size=3).map(tuple),
        config=st.dictionaries(text(), scalars(), max_size=6),
        status=st.sampled_from([None, "completed", "failed", "pruned"]),
        profile_wall=some(floats()),
        started_at=some(floats()),
        duration=some(floats()),
        sections=st.lists(st.builds(Section, text(), st.integers(), floats(), st.booleans()), max_size=4),
        events=st.lists(
            st.builds(Event, floats(), text(), some(text()), some(st.integers()), some(st.integers()), some(text())),
            max_size=4,
        ),
        sessions=st.lists(st.builds(Session, floats(), floats()), max_size=3),
        outside=st.dictionaries(text(), floats(), max_size=2),
        resources=st.dictionaries(text(), scalars(), max_size=2),
        files=st.lists(text(), max_size=3).map(tuple),
        notes=st.lists(text(), max_size=2).map(tuple),
        unreadable=st.booleans(),
        children=st.booleans(),
    )


def readings() -> st.SearchStrategy[Reading]:
    problems = st.builds(Problem, text(), text(), text(), some(st.integers()), run=some(text()))
    return st.builds(
        Reading, st.lists(runs(), max_size=3), st.lists(problems, max_size=2), st.lists(text(), max_size=2)
    )


def example() -> Reading:
    run = Run("a", "native", "a", ("x",), {"lr": 0.1, "n": 1, "flag": True, "none": None, "one": 1.0})
    run.sections = [Section("epoch/eval", 3, 0.1 + 0.2)]
    run.events = [Event(1.5, "run_start")]
    return Reading([run], [Problem("a/config.yaml", "bad.", "Mend it.", 3)], ["1 parent run"])


@settings(max_examples=150, deadline=None)
@given(readings())
def test_a_reading_comes_back_equal_to_the_last_bit(reading: Reading) -> None:
    back = reading_from_json(json.loads(json.dumps(reading_to_json(reading))))
    assert back == reading
    # 1, 1.0 and True are equal in Python but are different levels and different types.
    assert repr(back) == repr(reading)


def test_infinities_and_nan_come_back() -> None:
    run = Run("a", "x", config={"a": float("inf"), "b": float("nan"), "c": -0.0})
    back = reading_from_json(json.loads(json.dumps(reading_to_json(Reading([run])))))
    assert repr(back.runs[0].config) == repr(run.config)


def test_every_field_of_the_records_is_stored() -> None:
    # A field added to a record must not be forgotten: the stored form lists them all.
    assert set(FIELDS[Run]) == set(Run.__dataclass_fields__)
    assert set(FIELDS[Problem]) == set(Problem.__dataclass_fields__)


def test_a_reading_is_remembered_by_another_store(tmp_path: Path) -> None:
    first = Store(tmp_path / "c", "1")
    assert first.get_reading(KEY) is None
    first.put_reading(KEY, example())
    assert first.close() is None
    assert Store(tmp_path / "c", "1").get_reading(KEY) == example()


def test_another_version_reads_nothing(tmp_path: Path) -> None:
    first = Store(tmp_path, "1")
    first.put_reading(KEY, example())
    first.close()
    assert Store(tmp_path, "2").get_reading(KEY) is None
    assert Store(tmp_path, "1").get_reading(KEY) == example()


def test_what_cannot_be_json_is_not_remembered(tmp_path: Path) -> None:
    store = Store(tmp_path, "1")
    store.put_reading(KEY, Reading([Run("a", "x", config={"n": 10**5000})]))
    assert store.get_reading(KEY) is None
    assert store.close() is None


def test_a_note_comes_back_with_its_files(tmp_path: Path) -> None:
    payload = {"page": b"# Hello\n", "meta": {"title": "é", "n": 1.5}, "a/fig.svg": b"<svg/>", "empty": b""}
    first = Store(tmp_path, "1")
    first.put_note(KEY, payload)
    first.close()
    second = Store(tmp_path, "1")
    back = second.get_note(KEY)
    assert back == payload
    assert list(back or {}) == list(payload)
    where = second.path(digest(b"<svg/>"))
    assert where is not None and where.read_bytes() == b"<svg/>"
    assert second.path(digest(b"other")) is None


def _everything(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file() and p.name not in {".gitignore", "CACHEDIR.TAG", "swept"})


@pytest.mark.parametrize("damage", [b"", b"{}", b"null", b"[1,2", b"\x00\xff" * 40, "cut", "flip"])
def test_damage_counts_as_absent_and_is_mended(tmp_path: Path, damage: bytes | str) -> None:
    source = tmp_path / "source.txt"
    source.write_text("content")
    os.utime(source, (1e9, 1e9))
    store = Store(tmp_path / "c", "1")
    store.fingerprint(source)
    store.put_reading(KEY, example())
    store.put_note(KEY, {"page": b"text", "meta": 1})
    store.close()
    files = _everything(tmp_path / "c")
    assert len(files) == 4  # stat index, reading, note, its file
    for path in files:
        whole = path.read_bytes()
        if damage == "cut":
            path.write_bytes(whole[:-1])
        elif damage == "flip":
            path.write_bytes(whole[:-2] + bytes([whole[-2] ^ 1]) + whole[-1:])
        else:
            assert isinstance(damage, bytes)
            path.write_bytes(damage)
    again = Store(tmp_path / "c", "1")
    assert again.get_reading(KEY) is None
    assert again.get_note(KEY) is None
    assert again.fingerprint(source) == digest(b"content")
    again.put_reading(KEY, example())
    again.put_note(KEY, {"page": b"text", "meta": 1})
    assert again.close() is None
    third = Store(tmp_path / "c", "1")
    assert third.get_reading(KEY) == example()
    assert third.get_note(KEY) == {"page": b"text", "meta": 1}


def test_a_note_without_one_of_its_files_is_absent(tmp_path: Path) -> None:
    store = Store(tmp_path, "1")
    store.put_note(KEY, {"a": b"1", "b": b"2"})
    where = store.path(digest(b"2"))
    assert where is not None
    where.unlink()
    assert Store(tmp_path, "1").get_note(KEY) is None


def test_fingerprints_follow_content_not_mtime(tmp_path: Path) -> None:
    source = tmp_path / "profile.json"
    source.write_text("one")
    os.utime(source, (1e9, 1e9))
    store = Store(tmp_path / "c", "1")
    one = store.fingerprint(source)
    store.close()
    os.utime(source, (1.1e9, 1.1e9))
    assert Store(tmp_path / "c", "1").fingerprint(source) == one
    source.write_text("two")
    assert Store(tmp_path / "c", "1").fingerprint(source) != one


def test_an_unchanged_file_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "events.jsonl"
    source.write_text("x" * 1000)
    os.utime(source, (1e9, 1e9))
    store = Store(tmp_path / "c", "1")
    found = store.fingerprint(source, source.stat())
    store.close()

    def no_reading(path: Path) -> str:
        raise AssertionError(f"{path} was read")

    monkeypatch.setattr(module, "_digest_file", no_reading)
    assert Store(tmp_path / "c", "1").fingerprint(source, source.stat()) == found


def test_a_file_written_just_now_is_read_again(tmp_path: Path) -> None:
    # Same size, same mtime, same inode, other content: only possible within the clock's resolution.
    source = tmp_path / "events.jsonl"
    source.write_text("one")
    before = source.stat()
    store = Store(tmp_path / "c", "1")
    one = store.fingerprint(source)
    store.close()
    with open(source, "r+") as out:
        out.write("two")
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert Store(tmp_path / "c", "1").fingerprint(source) != one


def test_an_unchanged_build_writes_nothing(tmp_path: Path) -> None:
    source = tmp_path / "a.json"
    source.write_text("{}")
    os.utime(source, (1e9, 1e9))

    def build() -> None:
        store = Store(tmp_path / "c", "1")
        store.fingerprint(source)
        if store.get_reading(KEY) is None:
            store.put_reading(KEY, example())
        if store.get_note(KEY) is None:
            store.put_note(KEY, {"page": b"x"})
        store.close()

    build()
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "c").rglob("*")}
    build()
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "c").rglob("*")} == before


def test_no_path_lies_in_the_store(tmp_path: Path) -> None:
    source = tmp_path / "home-of-jane" / "a.json"
    source.parent.mkdir()
    source.write_text("{}")
    os.utime(source, (1e9, 1e9))
    store = Store(tmp_path / "c", "1")
    store.fingerprint(source)
    store.close()
    files = _everything(tmp_path / "c")
    assert files
    assert not any(b"jane" in p.read_bytes() for p in files)


def test_the_folder_keeps_itself_out_of_git_and_backups(tmp_path: Path) -> None:
    store = Store(tmp_path / "c", "1")
    store.put_reading(KEY, example())
    store.close()
    assert (tmp_path / "c" / ".gitignore").read_text() == "*\n"
    assert (tmp_path / "c" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_old_entries_go_and_used_ones_stay(tmp_path: Path) -> None:
    other = combine("other")
    store = Store(tmp_path, "1")
    store.put_reading(KEY, example())
    store.put_reading(other, example())
    store.put_note(other, {"page": b"old page"})
    store.close()
    old = time.time() - (module.KEEP_DAYS + 1) * 86400
    for path in _everything(tmp_path):
        os.utime(path, (old, old))
    again = Store(tmp_path, "1")
    assert again.get_reading(KEY) == example()
    again.put_reading(combine("new"), example())
    again.close()
    third = Store(tmp_path, "1")
    assert third.get_reading(KEY) == example()
    assert third.get_reading(other) is None
    assert third.get_note(other) is None
    assert third.path(digest(b"old page")) is None


def test_the_size_bound_takes_what_was_unused_for_longest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 5_000)
    store = Store(tmp_path, "1")
    for i in range(4):
        store.put_note(combine(i), {"page": bytes([65 + i]) * 2_000})
    store.close()
    for i in range(4):
        path = store.path(digest(bytes([65 + i]) * 2_000))
        assert path is not None
        age = time.time() - (10 - i) * 86400
        os.utime(path, (age, age))
    again = Store(tmp_path, "1")
    assert again.get_note(combine(0)) is not None  # oldest, but used now
    again.put_note(combine("new"), {"x": 1})
    again.close()
    left = [i for i in range(4) if again.path(digest(bytes([65 + i]) * 2_000))]
    assert left == [0, 3]


def test_other_versions_go_when_old_and_foreign_folders_never(tmp_path: Path) -> None:
    for version in ("1", "2"):
        store = Store(tmp_path, version)
        store.put_reading(KEY, example())
        store.close()
    precious = tmp_path / "precious"
    lookalike = tmp_path / "0123456789ab"
    for folder in (precious, lookalike):
        folder.mkdir()
        (folder / "file").write_text("keep me")
    old = time.time() - (module.KEEP_DAYS + 1) * 86400
    for path in tmp_path.rglob("*"):
        os.utime(path, (old, old))
    store = Store(tmp_path, "2")
    store.put_reading(combine("x"), example())
    store.close()
    assert (precious / "file").read_text() == "keep me"
    assert (lookalike / "file").read_text() == "keep me"
    assert Store(tmp_path, "1").get_reading(KEY) is None


def test_leftovers_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    store = Store(tmp_path, "1")
    store.put_reading(KEY, example())
    store.close()
    left = next(p for p in _everything(tmp_path)).parent / ".abc.part"
    left.write_bytes(b"half")
    fresh = left.with_name(".def.part")
    fresh.write_bytes(b"being written")
    os.utime(left, (1e9, 1e9))
    store = Store(tmp_path, "1")
    store.put_reading(combine("x"), example())
    store.close()
    assert not left.exists()
    assert fresh.exists()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_cannot_be_written_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(module, "write_atomic", fail)
    store = Store(tmp_path / "c", "1")
    store.put_reading(KEY, example())
    store.put_note(KEY, {"page": b"x"})
    assert store.keep(b"y") is None
    assert os.strerror(code) in (store.close() or "")
    assert not any(p.is_file() for p in tmp_path.rglob("*"))


def test_a_disk_that_fills_in_mid_file_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fdopen

    class Full:
        def __init__(self, stream: Any) -> None:
            self.stream = stream

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *_: object) -> None:
            self.stream.close()

        def write(self, content: bytes) -> None:
            self.stream.write(content[: len(content) // 2])
            self.stream.flush()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module.os, "fdopen", lambda *a, **k: Full(real(*a, **k)))
    store = Store(tmp_path / "c", "1")
    store.put_reading(KEY, example())
    assert os.strerror(errno.ENOSPC) in (store.close() or "")
    assert not any(p.is_file() for p in tmp_path.rglob("*"))


def test_ctrl_c_in_mid_file_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    store = Store(tmp_path / "c", "1")
    store.put_reading(KEY, example())
    monkeypatch.setattr(module.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.put_reading(combine("x"), example())
    monkeypatch.undo()
    assert not [p for p in tmp_path.rglob("*") if p.name.endswith(".part")]
    assert Store(tmp_path / "c", "1").get_reading(KEY) == example()


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("not a folder")
    store = Store(tmp_path / "c", "1")
    store.put_reading(KEY, example())
    assert store.get_reading(KEY) is None
    assert store.close()
    assert (tmp_path / "c").read_text() == "not a folder"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir(mode=0o555)
    store = Store(tmp_path / "c", "1")
    store.put_reading(KEY, example())
    assert store.close()


def test_a_read_only_store_still_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path, "1")
    store.put_reading(KEY, example())
    store.close()
    monkeypatch.setattr(module, "write_atomic", lambda *_: (_ for _ in ()).throw(OSError(errno.EROFS, "read-only")))
    again = Store(tmp_path, "1")
    assert again.get_reading(KEY) == example()
    assert again.close() is None  # nothing had to be written, so there is nothing to say


def test_no_folder_remembers_nothing(tmp_path: Path) -> None:
    source = tmp_path / "a"
    source.write_text("x")
    store = Store(None, "1")
    assert store.fingerprint(source) == digest(b"x")
    store.put_reading(KEY, example())
    store.put_note(KEY, {"page": b"x"})
    assert store.get_reading(KEY) is None
    assert store.get_note(KEY) is None
    assert store.keep(b"x") is None
    assert store.close() is None
    assert list(tmp_path.iterdir()) == [source]


def test_two_builds_at_once_do_no_harm(tmp_path: Path) -> None:
    keys = [combine(i) for i in range(30)]
    errors: list[BaseException] = []

    def build() -> None:
        try:
            for _ in range(3):
                store = Store(tmp_path, "1")
                for key in keys:
                    if store.get_reading(key) is None:
                        store.put_reading(key, example())
                    found = store.get_note(key)
                    assert found is None or found == {"page": key.encode()}
                    if found is None:
                        store.put_note(key, {"page": key.encode()})
                assert store.close() is None
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    store = Store(tmp_path, "1")
    assert all(store.get_reading(k) == example() and store.get_note(k) == {"page": k.encode()} for k in keys)
    assert not [p for p in tmp_path.rglob("*") if p.name.endswith(".part")]


def test_it_imports_the_standard_library_only() -> None:
    code = (
        "import sys, mkdocs_sweepprof.store, mkdocs_sweepprof.nav;"
        "print([m for m in ('pandas','numpy','scipy','matplotlib','pydantic','yaml','jinja2','mkdocs')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
