"""W&B: real run folders against what was measured in the same processes, and damage to them."""

from __future__ import annotations

import gzip
import io
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trackers import DATA, PUBLIC, by_id, made, read_all, texts, wall

from mkdocs_sweepprof.readers.base import Run
from mkdocs_sweepprof.readers.tree import Tree
from mkdocs_sweepprof.readers.values import flatten
from mkdocs_sweepprof.readers.wandb import WandbReader
from mkdocs_sweepprof.readers.wandb_records import BLOCK, read_log
from tests.wandb_files import exited, framed, item, logged, message, run_folder, started

READER = WandbReader()
FINISHED = "offline-run-20261201_043629-gbazm2vi"
OLD = "offline-run-20261201_044600-gsaadjy3"


def true_end(t: dict[str, Any]) -> float:
    """Epoch seconds at which the truth's ``wandb_run`` span ended, just before ``wandb.finish()``."""
    return float(t["ended_at"] - t["sections"]["run/wandb_finish"]["total_s"])


@pytest.mark.parametrize("sweep", ["A", "A_old"])
def test_truth(sweep: str, record_property: Any) -> None:
    folder, truth = made("wandb", sweep)
    reading = read_all(READER, folder)
    assert reading.problems == []
    runs = {r.directory: r for r in reading.runs}
    assert set(runs) == {t["run_dir"] for t in truth["runs"]}
    worst = 0.0
    for t in truth["runs"]:
        run = runs[t["run_dir"]]
        assert run.id == t["notes"][0]["wandb_id"]
        assert run.aliases == (t["id"],)
        assert run.config == flatten(t["config"])
        assert run.status == ("completed" if t["status"] == "finished" else "failed")
        assert run.duration is not None and run.started_at is not None
        assert wall(run) == pytest.approx(run.duration, abs=1e-5)
        if run.status == "failed":
            assert [e.epoch for e in run.events] == [0]
            continue
        # `_runtime` counts from wandb.init(), the truth's span from its return: they end together.
        off = abs(run.started_at + run.duration - true_end(t))
        assert off <= 0.0115
        assert run.duration > t["sections"]["run/wandb_run"]["total_s"]
        worst = max(worst, off)
        assert [e.label for e in run.events] == ["epoch_end"] * 4
        assert run.events[-1].time == pytest.approx(true_end(t), abs=0.01)
    record_property(f"wandb {sweep}: largest difference of an end, s", round(worst, 4))


@pytest.mark.parametrize("sweep", ["A_hurt", "A_old_hurt"])
def test_killed_and_resumed(sweep: str) -> None:
    folder, truth = made("wandb", sweep)
    reading = read_all(READER, folder)
    known = {t["id"]: t for t in truth["runs"]}
    runs = {r.directory: r for r in reading.runs}
    assert len(runs) == 3

    # 7 bytes, or none: its settings stand in the debug log, its start too.
    killed = runs[known["killed"]["run_dir"]]
    assert (killed.status, killed.ended_at, killed.duration) == ("killed", None, None)
    assert killed.config == flatten(known["killed"]["config"])
    assert killed.started_at == pytest.approx(known["killed"]["notes"][0]["t"], abs=0.6)

    long = runs[known["killed-long"]["run_dir"]]
    assert (long.status, long.ended_at) == ("killed", None)
    assert long.config == flatten(known["killed-long"]["config"])
    assert long.last_activity is not None and long.started_at is not None
    # It died in its fourth epoch; the last half second was never written.
    assert known["killed-long"]["ended_at"] - 0.6 < long.last_activity < known["killed-long"]["ended_at"]
    assert [e.epoch for e in long.events] == [0, 1]
    assert [(p.severity, p.kind) for p in reading.problems] == [("info", "unreadable")]

    resumed = runs[known["resumed"]["run_dir"][1]]
    assert (resumed.status, resumed.id, resumed.aliases) == ("completed", "abcd1234", ("resumed",))
    assert resumed.config == flatten(known["resumed"]["config"])
    first, second = resumed.sessions
    began, ended = known["resumed"]["sessions"]
    assert began["started_at"] < first.started_at <= first.ended_at < second.started_at
    assert second.ended_at == pytest.approx(true_end(known["resumed"]), abs=0.01)
    assert ended["started_at"] < second.started_at < ended["ended_at"]
    assert "1 of its 2 sessions was killed" in resumed.notes[0]


def test_inside_hydra_jobs() -> None:
    folder = PUBLIC / "hydra-chris-santiago__vime"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    reading = read_all(READER, folder)
    runs = by_id(reading)
    assert reading.problems == []
    assert len(runs) == 8
    run = runs["gwrblhjq"]
    assert wall(run) == pytest.approx(963.594584941864, abs=1e-6)
    assert run.started_at == 1685416214.340154
    assert run.config["beta"] == 0.5 and run.config["classifier"] is None
    assert not any(key.startswith("_wandb") or key.endswith("desc") for key in run.config)
    # The exit code is not kept in these files, so success is not invented.
    assert {r.status for r in runs.values()} == {None}
    assert all("exit code" in r.notes[0] for r in runs.values())


# --- run folders made from real ones -------------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A finished run, an old one, and one that was killed and resumed."""
    shutil.copytree(DATA / "wandb", tmp_path / "sweep")
    return tmp_path / "sweep"


def log_of(root: Path, folder: str = FINISHED) -> Path:
    return next((root / "wandb" / folder).glob("*.wandb"))


_RAW = log_of(DATA / "wandb").read_bytes()


def test_copies_read_without_the_shared_data(copy: Path) -> None:
    runs = by_id(read_all(READER, copy))
    assert {i: r.status for i, r in runs.items()} == dict.fromkeys(("gbazm2vi", "gsaadjy3", "abcd1234"), "completed")
    assert wall(runs["gbazm2vi"]) == pytest.approx(3.286102, abs=1e-5)
    assert wall(runs["gsaadjy3"]) == pytest.approx(3.133140, abs=1e-5)
    assert len(runs["abcd1234"].sessions) == 2


@pytest.mark.parametrize("form", ["copy", "link", "text", "copy elsewhere", "copy without log"])
def test_latest_run_is_not_counted_twice(copy: Path, form: str) -> None:
    latest = copy / "wandb" / "latest-run"
    latest.unlink()
    target = copy / "wandb" / FINISHED
    if form == "copy":
        shutil.copytree(target, latest)
    elif form == "link":
        latest.symlink_to(FINISHED)
    elif form == "text":
        latest.write_text(FINISHED)
    elif form == "copy without log":
        shutil.copytree(copy / "wandb" / OLD, latest)
        next(latest.glob("*.wandb")).unlink()
    else:
        shutil.copytree(target, copy / "backup" / "wandb" / FINISHED)
    reading = read_all(READER, copy)
    runs = by_id(reading)
    assert len(runs) == 3
    assert runs["gbazm2vi"].sessions == []
    assert len(reading.mentions) == (1 if form in ("copy", "copy elsewhere") else 0)


def test_the_fuller_of_two_copies_counts(copy: Path) -> None:
    shutil.copytree(copy / "wandb" / FINISHED, copy / "a" / "wandb" / FINISHED)
    path = next((copy / "a" / "wandb" / FINISHED).glob("*.wandb"))
    path.write_bytes(path.read_bytes()[:6000])
    run = by_id(read_all(READER, copy))["gbazm2vi"]
    assert (run.status, run.directory) == ("completed", f"wandb/{FINISHED}")


def test_a_linked_run_folder_outside_is_read(copy: Path, tmp_path: Path) -> None:
    shutil.move(copy / "wandb" / FINISHED, tmp_path / "elsewhere")
    (copy / "wandb" / FINISHED).symlink_to(tmp_path / "elsewhere")
    (copy / "wandb" / "latest-run").unlink()
    (copy / "wandb" / "latest-run").symlink_to(tmp_path / "elsewhere")
    tree = Tree(copy, boundary=tmp_path)
    found = [r for s in READER.find(tree) for r in READER.read(tree, s).runs]
    assert sorted(r.id for r in found) == ["abcd1234", "gbazm2vi", "gsaadjy3"]


def test_empty_run_folder(copy: Path) -> None:
    (copy / "wandb" / "offline-run-20261201_050000-zzzz0000").mkdir()
    run = by_id(read_all(READER, copy))["zzzz0000"]
    assert (run.status, run.config, run.directory) == (
        "not_started",
        {},
        "wandb/offline-run-20261201_050000-zzzz0000",
    )


T = 1_700_000_000.0
HOUR = 3600.0


def only(root: Path) -> Run:
    (run,) = read_all(READER, root).runs
    return run


def test_nothing_logged_at_the_end(tmp_path: Path) -> None:
    run_folder(tmp_path, "aa", 1, [started("aa", T), logged(10.5, T + 10.5), exited(0, 75)])
    run = only(tmp_path)
    assert (run.duration, run.status) == (75.0, "completed")
    assert "whole seconds" in run.notes[-1]


def test_nothing_logged_at_all(tmp_path: Path) -> None:
    run_folder(tmp_path, "aa", 1, [started("aa", T), exited(1, 75)])
    run = only(tmp_path)
    assert (wall(run), run.status, run.events) == (75.0, "failed", [])


@pytest.mark.parametrize("online", [False, True])
def test_two_hours_a_pause_and_two_hours(tmp_path: Path, online: bool) -> None:
    """Online, the second session's ``_runtime`` goes on from the first; offline it starts anew."""
    run_folder(tmp_path, "aa", 1, [started("aa", T), *(logged(i * 60.0, T + i * 60) for i in range(121))])
    begin, before = T + 12 * HOUR, 2 * HOUR if online else 0.0
    rows = [logged(before + i * 60.0, begin + i * 60) for i in range(121)]
    run_folder(tmp_path, "aa", 2, [started("aa", begin), *rows, exited(0, int(before + 2 * HOUR))])
    run = only(tmp_path)
    assert wall(run) == pytest.approx(4 * HOUR)
    assert run.sessions[-1].ended_at - run.sessions[0].started_at == pytest.approx(14 * HOUR)
    assert (run.status, len(run.sessions)) == ("completed", 2)


def test_only_the_second_folder_of_a_resumed_run(tmp_path: Path) -> None:
    rows = [logged(2 * HOUR + i * 60.0, T + i * 60) for i in range(121)]
    run_folder(tmp_path, "aa", 2, [started("aa", T), *rows, exited(0, int(4 * HOUR))])
    run = only(tmp_path)
    assert wall(run) == 4 * HOUR
    assert run.ended_at is None
    assert "resumed" in run.notes[0]


def test_one_id_in_two_projects_is_two_runs(tmp_path: Path) -> None:
    for day, project in ((1, "p"), (2, "q")):
        run_folder(tmp_path, "aa", day, [started("aa", T + day, project), logged(1.0, T + day + 1), exited(0, 1)])
    runs = by_id(read_all(READER, tmp_path))
    assert sorted(runs) == ["p/aa", "q/aa"]
    assert all(not r.sessions for r in runs.values())


def test_config_updates(tmp_path: Path) -> None:
    changes = message((5, message((1, item("lr", "0.2")), (1, item("late", '{"a": [1, 2]}')), (2, item("gone", "")))))
    run_folder(tmp_path, "aa", 1, [started("aa", T, lr="0.1", gone="1", text='"x"', bad="{", big="1" * 20), changes])
    assert only(tmp_path).config == {
        "lr": 0.2,
        "text": "x",
        "bad": "{",
        "big": 11111111111111111111,
        "late.a": "[1, 2]",
    }


def test_records_over_block_ends(tmp_path: Path) -> None:
    big = message((13, b"x" * 100_000))
    rows = [logged(i / 10, T + i / 10, i, note='"' + "y" * 3000 + '"') for i in range(200)]
    folder = run_folder(tmp_path, "aa", 1, [started("aa", T), big, *rows, exited(0, 19)])
    with next(folder.glob("*.wandb")).open("rb") as stream:
        log = read_log(stream)
    assert (len(log.rows), log.damaged, log.cut, log.records) == (200, 0, False, 203)


def test_damage_in_the_middle_costs_its_block(tmp_path: Path) -> None:
    rows = [logged(i / 10, T + i / 10, i, note='"' + "y" * 300 + '"') for i in range(1000)]
    folder = run_folder(tmp_path, "aa", 1, [started("aa", T, lr="0.1"), *rows, exited(0, 99)])
    path = next(folder.glob("*.wandb"))
    raw = bytearray(path.read_bytes())
    raw[3 * BLOCK + 100 : 3 * BLOCK + 120] = b"\xff" * 20
    path.write_bytes(raw)
    with path.open("rb") as stream:
        log = read_log(stream)
    assert 850 < len(log.rows) < 1000
    assert log.damaged == 1
    reading = read_all(READER, tmp_path)
    assert reading.runs[0].status == "completed" and reading.runs[0].duration == 99.9
    assert "in block 4" in texts(reading.problems)
    assert [p.severity for p in reading.problems] == ["warning"]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_damage_raises(data: st.DataObject) -> None:
    raw = bytearray(_RAW)
    for _ in range(data.draw(st.integers(1, 8))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    log = read_log(io.BytesIO(bytes(raw[: data.draw(st.integers(0, len(raw)))])))
    assert log.records <= 85


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_no_message_raises(content: bytes) -> None:
    """Whatever a whole record holds; checksums do not protect against a writer of another kind."""
    for number in (2, 3, 5, 17, 18):
        read_log(io.BytesIO(framed([content, message((number, content))])))


@pytest.mark.parametrize("length", [0, 3, 7, 10, 200, 3000, 6000, 9000])
def test_cut(copy: Path, length: int) -> None:
    path = log_of(copy)
    path.write_bytes(path.read_bytes()[:length])
    reading = read_all(READER, copy)
    run = by_id(reading)["gbazm2vi"]
    assert run.status == "killed" or run.unreadable
    assert run.ended_at is None and run.duration is None
    if length == 3:
        assert "does not begin as" in texts(reading.problems)
    elif length in (0, 7):
        assert reading.problems == []
    else:
        assert [p.severity for p in reading.problems] == ["info"]


def test_compressed(copy: Path) -> None:
    path = log_of(copy)
    (path.parent / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert wall(by_id(read_all(READER, copy))["gbazm2vi"]) == pytest.approx(3.286102, abs=1e-5)


# --- folders with text files only ----------------------------------------------------------------------------------

CONFIG = """\
wandb_version: 1

_wandb:
  desc: null
  value:
    start_time: 1700000000.5
lr:
  desc: null
  value: 0.001
model:
  value:
    hidden: 16
"""
SUMMARY = '{"loss": NaN, "_timestamp": 1700000100.75, "_runtime": 100.25, "_step": 9, "_wandb": {"runtime": 100}}'
METADATA = (
    '{"startedAt": "2023-11-14T22:13:20.400000", "heartbeatAt": "2023-11-14T22:14:00", "gpu": "A100", "gpu_count": 4}'
)


def text_folder(root: Path, place: str = "files", **content: str | bytes) -> Path:
    folder = root / "wandb" / "run-20231114_221320-bb" / place
    folder.mkdir(parents=True)
    names = {"config": "config.yaml", "summary": "wandb-summary.json", "metadata": "wandb-metadata.json"}
    for key, default in (("config", CONFIG), ("summary", SUMMARY), ("metadata", METADATA)):
        raw = content.get(key, default)
        (folder / names[key]).write_bytes(raw.encode() if isinstance(raw, str) else raw)
    return folder


@pytest.mark.parametrize("place", ["files", ""])
def test_text_files(tmp_path: Path, place: str) -> None:
    text_folder(tmp_path, place)
    run = only(tmp_path)
    assert run.config == {"lr": 0.001, "model.hidden": 16}
    assert (run.started_at, run.duration, run.status) == (1700000000.5, 100.25, None)
    assert run.resources == {"gpu": "A100", "gpus": 4}


@pytest.mark.parametrize("form", ["bom", "crlf", "latin"])
def test_forms_of_text(tmp_path: Path, form: str) -> None:
    raw = CONFIG.encode()
    if form == "bom":
        raw = b"\xef\xbb\xbf" + raw
    elif form == "crlf":
        raw = raw.replace(b"\n", b"\r\n")
    else:
        raw += b"name:\n  value: caf\xe9\n"
    text_folder(tmp_path, config=raw)
    config = only(tmp_path).config
    assert config["lr"] == 0.001
    assert form != "latin" or config["name"] == "café"


@pytest.mark.parametrize(
    ("which", "content", "what"),
    [
        ("config", "", "the file is empty"),
        ("config", CONFIG + "x: [", "not valid YAML"),
        ("config", "- 1\n", "holds no names and values"),
        ("summary", "", "the file is empty"),
        ("summary", SUMMARY[:40], "not valid JSON"),
        ("metadata", "[]", "holds no names and values"),
        ("metadata", METADATA.replace("2023-11-14T22:13:20.400000", "yesterday"), "which is no time"),
    ],
)
def test_damaged_text(tmp_path: Path, which: str, content: str, what: str) -> None:
    text_folder(tmp_path, **{which: content})
    reading = read_all(READER, tmp_path)
    (run,) = reading.runs
    assert what in texts(reading.problems)
    if which == "config":
        assert run.duration == 100.25
    else:
        assert run.config["lr"] == 0.001
        assert not run.unreadable


def test_object_tags_are_text(tmp_path: Path) -> None:
    text_folder(tmp_path, config=CONFIG + "evil:\n  value: !!python/object/apply:os.getcwd []\n")
    assert "os.getcwd" in str(only(tmp_path).config["evil"])


def test_no_permission(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = log_of(copy)

    def refuse(tree: Tree, name: str) -> Any:
        if name.endswith(path.name):
            raise PermissionError(13, "Permission denied")
        return (tree.root / name).open("rb")

    monkeypatch.setattr("mkdocs_sweepprof.readers.wandb._stream", refuse)
    reading = read_all(READER, copy)
    assert by_id(reading)["gbazm2vi"].unreadable
    assert "Permission denied" in texts(reading.problems)
    assert len(reading.runs) == 3


# --- the CSV that the web page exports -----------------------------------------------------------------------------

EXPORT = """\
"Name","State","Notes","User","Tags","Created","Runtime","Sweep","batch_size","lr","model.type","train/loss","_step"
"wise-dawn-1","finished","-","user","","2024-02-01T12:00:00.000Z","3600","","64","0.001","gru","0.123","99"
"wise-dawn-2","crashed","","user","","2024-02-01T13:00:00.000Z","1800","","64","0.01","gru","NaN","50"
"wise-dawn-3","failed","","user","","2024-02-01T14:00:00.000Z","12","","32","0.01","lstm","",""
"wise-dawn-4","running","","user","","2024-02-01T15:00:00.000Z","60","","32","0.001","lstm","Infinity","1"
"wise-dawn-4","killed","","user","","2024-02-01T16:00:00.000Z","1h 2m 3s","","32","0.001","lstm","","1"
"""


def test_export(tmp_path: Path) -> None:
    (tmp_path / "wandb_export_2024-02-02T09_00_00.000+01_00.csv").write_text(EXPORT)
    reading = read_all(READER, tmp_path)
    runs = by_id(reading)
    assert {i: r.status for i, r in runs.items()} == {
        "wise-dawn-1": "completed",
        "wise-dawn-2": "killed",
        "wise-dawn-3": "failed",
        "wise-dawn-4": "running",
        "wise-dawn-4 (2)": "killed",
    }
    first = runs["wise-dawn-1"]
    assert (first.duration, first.started_at) == (3600.0, 1706788800.0)
    assert first.config == {"batch_size": 64, "lr": 0.001, "model.type": "gru"}
    killed = runs["wise-dawn-4 (2)"]
    assert killed.duration is None and killed.started_at is not None
    assert killed.last_activity == killed.started_at + 3723
    assert "train/loss" in reading.mentions[0]
    assert reading.problems == []


@pytest.mark.parametrize("form", ["bom", "crlf", "latin", "gz"])
def test_forms_of_an_export(tmp_path: Path, form: str) -> None:
    raw = EXPORT.encode()
    name = "export.csv"
    if form == "bom":
        raw = b"\xef\xbb\xbf" + raw
    elif form == "crlf":
        raw = raw.replace(b"\n", b"\r\n")
    elif form == "latin":
        raw = raw.replace(b"gru", b"gr\xfc")
    else:
        name, raw = "export.csv.gz", gzip.compress(raw)
    (tmp_path / name).write_bytes(raw)
    assert len(read_all(READER, tmp_path).runs) == 5


def test_damaged_export(tmp_path: Path) -> None:
    lines = EXPORT.splitlines()
    lines[2] = lines[2].replace("1800", "soon")
    lines[3] = lines[3].replace("failed", "exploded").replace("2024-02-01T14", "2024-13-41T99")
    lines[5] = lines[5][:60]
    (tmp_path / "export.csv").write_text("\n".join(lines))
    reading = read_all(READER, tmp_path)
    assert len(reading.runs) == 4
    assert {p.line for p in reading.problems} == {3, 4, 6}
    assert {"'soon'", "'exploded'"} <= {w for p in reading.problems for w in p.message.split()}


def test_reads_without_the_library() -> None:
    code = (
        "import sys, mkdocs_sweepprof.readers.wandb; "
        "sys.exit(any(m.partition('.')[0] in ('wandb', 'google', 'pandas', 'numpy') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[2]).returncode == 0
