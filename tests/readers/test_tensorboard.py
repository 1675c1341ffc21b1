"""TensorBoard event files, against what the training process measured itself."""

from __future__ import annotations

import gzip
import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trackers import by_id, made, read_all, texts

from mkdocs_sweepprof.readers import tensorboard
from mkdocs_sweepprof.readers.base import Reading
from mkdocs_sweepprof.readers.tensorboard import TensorBoardReader
from mkdocs_sweepprof.readers.tree import Tree

DATA = Path(__file__).resolve().parents[1] / "data" / "tensorboard"
READER = TensorBoardReader()
HURT = json.loads((DATA / "truth_A_hurt.json").read_text(encoding="utf-8"))


def logged(run: Any) -> float:
    assert run.first_activity is not None
    assert run.last_activity is not None
    return float(run.last_activity - run.first_activity)


def test_first_to_last_event_is_the_logged_span(record_property: Any) -> None:
    """All twelve real runs: ``run/logged`` within 0.01 s, hyperparameters exactly."""
    folder, truth = made("tensorboard", "A")
    runs = by_id(read_all(READER, folder))
    assert len(runs) == len(truth["runs"]) == 12
    worst = 0.0
    for true in truth["runs"]:
        run = runs[true["run_dir"]]
        worst = max(worst, abs(logged(run) - true["sections"]["run/logged"]["total_s"]))
        assert run.config == true["config"]
        assert (run.status, run.duration, run.ended_at, run.profile_wall) == (None, None, None, None)
        assert [e.step for e in run.events] == list(range(5, 61, 5))
        assert run.sessions == []
    assert worst < 0.01
    record_property("tensorboard: largest |last - first event - run/logged| of 12 runs, s", round(worst, 4))


def test_the_copied_runs_give_the_same_without_shared_data() -> None:
    truth = json.loads((DATA / "truth_A.json").read_text(encoding="utf-8"))
    runs = by_id(read_all(READER, DATA / "A"))
    assert runs.keys() == truth.keys()
    for name, true in truth.items():
        assert abs(logged(runs[name]) - true["sections"]["run/logged"][1]) < 0.01
        assert runs[name].config == true["config"]


def test_a_killed_run_reaches_as_far_as_was_flushed() -> None:
    reading = read_all(READER, DATA / "A_hurt")
    runs = by_id(reading)
    assert [e.step for e in runs["killed"].events] == [5, 10, 15, 20, 25, 30]
    epochs = HURT["killed"]["sections"]["run/logged/epoch"][1]
    assert abs(logged(runs["killed"]) - epochs) < 0.01
    assert [e.step for e in runs["cut"].events] == [5, 10, 15, 20, 25, 30, 35, 40, 45]
    assert "ends inside a record" in " ".join(runs["cut"].notes)
    assert all(p.severity == "info" for p in reading.problems), "a cut tail is normal"


def test_a_resumed_run_has_two_sessions_and_its_steps_fall_back() -> None:
    run = by_id(read_all(READER, DATA / "A_hurt"))["resumed"]
    first, second = run.sessions
    true = HURT["resumed"]["sessions"]
    assert true[0]["started_at"] < first.started_at < first.ended_at <= true[0]["ended_at"]
    assert true[1]["started_at"] < second.started_at < second.ended_at <= true[1]["ended_at"]
    steps = [e.step for e in run.events]
    assert steps[:9] == [5, 10, 15, 20, 25, 30, 35, 40, 45]
    assert steps[9] == 25
    assert [e.time for e in run.events] == sorted(e.time for e in run.events)


def test_a_clock_that_was_set_back_an_hour_does_not_make_the_run_an_hour_long() -> None:
    reading = read_all(READER, DATA / "A_hurt")
    run = by_id(reading)["clock"]
    assert abs(logged(run) - HURT["clock"]["sections"]["run/logged"][1]) < 0.05
    assert [e.step for e in run.events] == list(range(5, 61, 5))
    assert ("clock", "info") in {(p.kind, p.severity) for p in reading.problems}
    assert "goes back by 3600 s" in texts(reading.problems)


# --- files made byte by byte -----------------------------------------------------------------------------------------


def field(number: int, value: bytes | int | float) -> bytes:
    if isinstance(value, float):
        return bytes([number << 3 | 1]) + struct.pack("<d", value)
    if isinstance(value, int):
        return bytes([number << 3]) + varint(value)
    return bytes([number << 3 | 2]) + varint(len(value)) + value


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def record(event: bytes) -> bytes:
    return struct.pack("<Q", len(event)) + b"crc1" + event + b"crc2"


def header(wall: float) -> bytes:
    return record(field(1, wall) + field(3, b"brain.Event:2"))


def scalar(wall: float, step: int, tag: str, value: float = 1.0) -> bytes:
    summary = field(1, field(1, tag.encode()) + bytes([2 << 3 | 5]) + struct.pack("<f", value))
    return record(field(1, wall) + (field(2, step) if step else b"") + field(5, summary))


def write(root: Path, name: str, content: bytes) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def one(root: Path) -> Any:
    (run,) = read_all(READER, root).runs
    return run


T = 1.7e9
NAME = "events.out.tfevents.1700000000.box.{pid}.{n}"


def test_a_header_alone_is_no_time(tmp_path: Path) -> None:
    write(tmp_path, f"r/{NAME.format(pid=1, n=0)}", header(T))
    run = one(tmp_path)
    assert (run.first_activity, run.last_activity, run.events, run.status) == (T, None, [], None)
    assert any("header only" in n for n in run.notes)


def test_an_empty_file_is_a_run_without_times(tmp_path: Path) -> None:
    write(tmp_path, f"r/{NAME.format(pid=1, n=0)}", b"")
    run = one(tmp_path)
    assert (run.first_activity, run.last_activity, run.unreadable) == (None, None, False)


def test_other_files_by_that_name_are_not_mine(tmp_path: Path) -> None:
    write(tmp_path, "r/events.out.tfevents.1.box", b"hello, this is a text of more than forty bytes, not records")
    write(tmp_path, "r/events.out.tfevents.notes.txt", header(T))
    write(tmp_path, "p/events.out.tfevents.1700000000.box.profile-empty", header(T))
    assert read_all(READER, tmp_path).runs == []


def test_keras_writers_side_by_side_are_one_run(tmp_path: Path) -> None:
    for n, role in enumerate(("train", "validation")):
        events = header(T + n) + b"".join(scalar(T + n + s, s, "epoch_loss") for s in range(3))
        write(tmp_path, f"fit/run1/{role}/events.out.tfevents.1700000000.box.9.{n}.v2", events)
    run = one(tmp_path)
    assert (run.id, run.first_activity, run.last_activity) == ("fit/run1", T, T + 3)
    assert run.sessions == []


def test_tasks_called_test_and_train_beside_others_are_runs(tmp_path: Path) -> None:
    for n, task in enumerate(("train", "copy", "sort")):
        write(tmp_path, f"{task}/{NAME.format(pid=n, n=0)}", header(T) + scalar(T + 1, 1, "loss"))
    assert sorted(by_id(read_all(READER, tmp_path))) == ["copy", "sort", "train"]


def test_add_scalars_and_add_hparams_belong_to_their_run(tmp_path: Path) -> None:
    write(tmp_path, f"r/{NAME.format(pid=7, n=0)}", header(T) + scalar(T + 1, 1, "loss") + scalar(T + 9, 9, "loss"))
    write(tmp_path, f"r/acc_val/{NAME.format(pid=7, n=1)}", header(T + 2) + scalar(T + 3, 4, "acc"))
    plugin = field(1, b"hparams") + field(2, field(3, field(1, field(1, b"lr") + field(2, field(2, 0.5)))))
    value = field(1, b"_hparams_/session_start_info") + field(9, field(1, plugin))
    write(
        tmp_path,
        f"r/1700000005.25/{NAME.format(pid=7, n=2)}",
        header(T + 5) + record(field(1, T + 5) + field(5, field(1, value))) + scalar(T + 6, 0, "final"),
    )
    write(tmp_path, f"r/other/{NAME.format(pid=8, n=0)}", header(T) + scalar(T + 1, 1, "loss"))
    runs = by_id(read_all(READER, tmp_path))
    assert sorted(runs) == ["r", "r/other"], "another process below is another run"
    assert runs["r"].config == {"lr": 0.5}
    assert [e.step for e in runs["r"].events] == [1, 4, 9]
    assert len(runs["r"].files) == 3


def test_a_session_of_the_hparams_plugin_tells_start_end_and_status(tmp_path: Path) -> None:
    def plugin(content: bytes) -> bytes:
        value = field(1, b"_hparams_/x") + field(9, field(1, field(1, b"hparams") + field(2, content)))
        return record(field(1, T + 1) + field(5, field(1, value)))

    start = plugin(field(3, field(1, field(1, b"opt") + field(2, field(3, b"adam"))) + field(5, T)))
    end = plugin(field(4, field(1, 2) + field(2, T + 50)))
    write(tmp_path, f"r/{NAME.format(pid=1, n=0)}", header(T) + start + end)
    run = one(tmp_path)
    assert (run.config, run.status, run.started_at, run.ended_at) == ({"opt": "adam"}, "failed", T, T + 50)


def test_an_epoch_scalar_marks_epoch_ends(tmp_path: Path) -> None:
    content = header(T)
    for step in range(12):
        content += scalar(T + step, step, "loss") + scalar(T + step, step, "epoch", step // 4)
    write(tmp_path, f"r/{NAME.format(pid=1, n=0)}", content)
    assert [(e.event, e.epoch, e.time - T) for e in one(tmp_path).events] == [("epoch_end", 0, 3), ("epoch_end", 1, 7)]


def test_nameless_writers_whose_steps_start_over_are_sessions(tmp_path: Path) -> None:
    write(tmp_path, "r/events.out.tfevents.1700000000.box", header(T) + scalar(T + 1, 1, "a") + scalar(T + 5, 5, "a"))
    write(tmp_path, "r/events.out.tfevents.1700000090.box", header(T + 90) + scalar(T + 95, 3, "a"))
    assert [(s.started_at - T, s.ended_at - T) for s in one(tmp_path).sessions] == [(0, 5), (90, 95)]
    write(tmp_path, "r/events.out.tfevents.1700000090.box", header(T + 90) + scalar(T + 95, 6, "a"))
    assert one(tmp_path).sessions == []


def test_long_logs_are_thinned_and_images_are_skipped(tmp_path: Path) -> None:
    image = record(field(1, T + 0.5) + field(2, 3) + field(5, field(1, field(1, b"img") + field(4, bytes(300_000)))))
    content = header(T) + image + b"".join(scalar(T + s, s, "loss") for s in range(1, 30_000))
    write(tmp_path, f"r/{NAME.format(pid=1, n=0)}", content)
    run = one(tmp_path)
    assert 10 < len(run.events) <= 2_000
    assert run.last_activity == T + 29_999


@pytest.mark.parametrize("cut", [0, 3, 40])
def test_large_files_are_streamed_with_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    image = record(field(1, T + 0.5) + field(2, 3) + field(5, field(1, field(1, b"img") + field(4, bytes(200_000)))))
    content = header(T) + image + b"".join(scalar(T + s, s, "loss") for s in range(1, 400))
    write(tmp_path, f"r/{NAME.format(pid=1, n=0)}", content[: len(content) - cut])
    whole = one(tmp_path)
    assert whole.last_activity == T + (399 if not cut else 398)
    monkeypatch.setattr(tensorboard, "WHOLE_BYTES", 0)
    assert one(tmp_path) == whole


def test_gzip_is_read(tmp_path: Path) -> None:
    raw = header(T) + scalar(T + 4, 1, "loss")
    write(tmp_path, f"r/{NAME.format(pid=1, n=0)}.gz", gzip.compress(raw))
    assert logged(one(tmp_path)) == 4.0


def test_too_many_records_are_left_aside_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensorboard, "MAX_RECORDS", 10)
    write(tmp_path, f"r/{NAME.format(pid=1, n=0)}", header(T) + b"".join(scalar(T + s, s, "l") for s in range(50)))
    reading = read_all(READER, tmp_path)
    assert [p.kind for p in reading.problems] == ["size"]
    assert logged(reading.runs[0]) == 8.0


def test_no_permission_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, f"r/{NAME.format(pid=1, n=0)}", header(T) + scalar(T + 4, 1, "loss"))
    tree = Tree(tmp_path)
    (source,) = READER.find(tree)

    def refuse(self: Tree, path: str, limit: int = 0) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Tree, "read_bytes", refuse)
    reading = READER.read(tree, source)
    assert reading.runs[0].unreadable
    assert "Permission denied" in texts(reading.problems)


def test_a_link_loop_is_no_second_run(tmp_path: Path) -> None:
    write(tmp_path, f"r/{NAME.format(pid=1, n=0)}", header(T) + scalar(T + 4, 1, "loss"))
    (tmp_path / "r" / "again").symlink_to(tmp_path, target_is_directory=True)
    assert one(tmp_path).id == "r"


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damage_never_raises(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """A real file, cut anywhere and with bytes changed anywhere: what is there is read, nothing is raised."""
    source = next((DATA / "A" / "copy" / "hidden=16,seed=0").glob("*.0"))
    raw = bytearray(source.read_bytes())
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, len(raw) - 1), st.integers(0, 255)), max_size=6)):
        raw[at] = byte
    raw = raw[: data.draw(st.integers(0, len(raw)))]
    root = tmp_path_factory.mktemp("damage")
    write(root, f"r/{source.name}", bytes(raw))
    reading: Reading = read_all(READER, root)
    assert len(reading.runs) <= 1
    for run in reading.runs:
        if run.last_activity is not None:
            assert run.last_activity >= (run.first_activity or 0.0)
    texts(reading.problems)
    shutil.rmtree(root)
