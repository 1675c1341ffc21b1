"""Optuna: real studies against what was measured in the same processes, and damage to them."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from trackers import DATA, by_id, made, read_all, texts, wall

from mkdocs_sweepprof.readers.optuna import OptunaReader
from mkdocs_sweepprof.readers.tree import Tree

READER = OptunaReader()
TOLERANCE = 0.35
STATUS = {"complete": "completed", "fail": "failed", "pruned": "pruned", "killed": "running"}


@pytest.mark.parametrize("sweep", ["A", "A_journal", "A_v4", "A_hurt"])
def test_truth(sweep: str, record_property: Any) -> None:
    folder, truth = made("optuna", sweep)
    reading = read_all(READER, folder)
    runs = by_id(reading)
    assert set(runs) == {t["id"] for t in truth["runs"]}
    several = len({i.partition("/")[0] for i in runs}) > 1
    worst = 0.0
    for t in truth["runs"]:
        run = runs[t["id"]]
        study = {"study": t["id"].partition("/")[0]} if several else {}
        assert run.config == t["config"] | study
        assert {k: type(v) for k, v in run.config.items() if k != "study"} == {
            k: type(v) for k, v in t["config"].items()
        }
        assert run.status == STATUS[t["status"]]
        assert run.events == []
        assert run.started_at is not None
        # 4.x stored New York's local time without its zone: five hours off, and said.
        shift = -5 * 3600 if sweep == "A_v4" else 0
        assert run.started_at == pytest.approx(t["started_at"] + shift, abs=0.1)
        assert any("without its zone" in n for n in run.notes) == (sweep == "A_v4")
        if run.status == "running":
            assert run.ended_at is None
            continue
        off = wall(run) - t["wall_s"]
        # The first trial of a new process writes the study's tables as well.
        assert 0 <= off <= TOLERANCE + (0.05 if sweep == "A_hurt" else 0)
        worst = max(worst, off)
    record_property(f"optuna {sweep}: largest difference of a wall, s", round(worst, 4))
    if sweep == "A_hurt":
        assert [(p.path, p.severity) for p in reading.problems] == [("empty.db", "info")]
    else:
        assert reading.problems == []


# --- journals ------------------------------------------------------------------------------------------------------

CHOICE = json.dumps({"name": "CategoricalDistribution", "attributes": {"choices": ["adam", None, 3, True, [1, 2]]}})
INT = json.dumps({"name": "IntDistribution", "attributes": {"low": 1, "high": 9, "log": False, "step": 1}})
OLD_INT = json.dumps({"name": "IntUniformDistribution", "attributes": {"low": 1, "high": 9}})


def journal(*entries: dict[str, Any]) -> str:
    return "".join(json.dumps({"op_code": e.pop("op"), "worker_id": "w", **e}) + "\n" for e in entries)


def study(name: str) -> dict[str, Any]:
    return {"op": 0, "study_name": name, "directions": [1]}


def trial(study_id: int, minute: int = 0, **more: Any) -> dict[str, Any]:
    return {"op": 4, "study_id": study_id, "datetime_start": f"2026-01-01T00:{minute:02d}:00+00:00", **more}


def param(trial_id: int, name: str, value: Any, distribution: str) -> dict[str, Any]:
    return {
        "op": 5,
        "trial_id": trial_id,
        "param_name": name,
        "param_value_internal": value,
        "distribution": distribution,
    }


def state(trial_id: int, number: int, minute: int | None = None) -> dict[str, Any]:
    done = {} if minute is None else {"datetime_complete": f"2026-01-01T00:{minute:02d}:00+00:00"}
    return {"op": 6, "trial_id": trial_id, "state": number, "values": None, **done}


def write(root: Path, text: str | bytes, name: str = "journal.log") -> Path:
    root.mkdir(exist_ok=True)
    path = root / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_journal_replay(tmp_path: Path) -> None:
    text = journal(
        study("one"), study("two"), study("one"), trial(0), trial(1), trial(0, 1),
        state(2, 3, 2), trial(7), param(0, "opt", 1, CHOICE), param(1, "opt", 4, CHOICE), state(0, 1, 9),
        state(0, 3, 1),
        state(1, 2, 5), {"op": 99}, param(0, "late", 1, INT), {"op": 4, "study_id": 0, "state": 4}, state(77, 1, 1),
        {"op": 4, "study_id": 0, "state": 4},
        {"op": 6, "trial_id": 4, "state": 0, "datetime_start": "2026-01-01T01:00:00+00:00"},
    )  # fmt: skip
    write(tmp_path, text)
    reading = read_all(READER, tmp_path)
    runs = by_id(reading)
    assert {i: r.status for i, r in runs.items()} == {
        "one/0": "completed", "one/1": "failed", "one/2": "not_started", "one/3": "running", "two/0": "pruned",
    }  # fmt: skip
    assert wall(runs["one/0"]) == 540.0
    assert runs["one/0"].config == {"opt": None, "study": "one"}
    assert runs["two/0"].config == {"opt": "[1, 2]", "study": "two"}
    assert reading.problems == []


def test_deleted_study(tmp_path: Path) -> None:
    write(tmp_path, journal(study("a"), trial(0), {"op": 1, "study_id": 0}, study("a"), trial(1), state(1, 1, 3)))
    reading = read_all(READER, tmp_path)
    assert [r.id for r in reading.runs] == ["a/0"]
    assert reading.runs[0].status == "completed"
    assert reading.mentions == ["1 deleted study with 1 trials left out."]


def test_added_trials(tmp_path: Path) -> None:
    """``study.add_trial`` writes a whole trial in one entry."""
    added = trial(
        0, state=1, datetime_complete="2026-01-01T00:30:00+00:00", params={"n": 4.0}, distributions={"n": OLD_INT}
    )
    write(tmp_path, journal(study("a"), added))
    (run,) = read_all(READER, tmp_path).runs
    assert (wall(run), run.config) == (1800.0, {"n": 4})


def test_old_journal_is_local_time(tmp_path: Path) -> None:
    text = journal(study("a"), {"op": 4, "study_id": 0, "datetime_start": "2026-01-01T00:00:00.5"})
    write(tmp_path, text)
    (run,) = read_all(READER, tmp_path).runs
    assert "without its zone" in run.notes[0]


def test_two_journals_of_one_name(tmp_path: Path) -> None:
    for seed in ("s1", "s2"):
        write(tmp_path / seed, journal(study("a"), trial(0), state(0, 1, 1)))
    runs = by_id(read_all(READER, tmp_path))
    assert sorted(runs) == ["s1/a/0", "s2/a/0"]
    assert runs["s1/a/0"].aliases == ("a/0",)


@pytest.fixture
def text() -> str:
    return (DATA / "optuna" / "optuna_journal.log").read_text()


def test_half_a_last_line(tmp_path: Path, text: str) -> None:
    write(tmp_path, text[:-40])
    reading = read_all(READER, tmp_path)
    assert len(reading.runs) == 10
    (problem,) = reading.problems
    assert (problem.severity, problem.line) == ("info", text.count("\n"))
    last = by_id(reading)["toy-seq-2/3"]
    assert (last.status, last.ended_at) == ("running", None)


def test_a_lost_trial_does_not_shift_the_others(tmp_path: Path, text: str) -> None:
    lines = text.split("\n")
    where = [i for i, line in enumerate(lines) if '"op_code":4' in line]
    lines[where[3]] = lines[where[3]][:-30] + "\x00\x00garbage"
    lines[40] = "{nonsense"
    write(tmp_path, "\n".join(lines))
    reading = read_all(READER, tmp_path)
    runs = by_id(reading)
    whole = {r.id: r for r in read_all(READER, DATA / "optuna").runs}
    assert len(runs) == 10
    for name, run in runs.items():
        if name == "toy-seq/3":
            assert run.unreadable
        elif "study" in whole[name].config and run.config == whole[name].config:
            assert run.started_at is not None
    assert sum(run.config == whole[name].config for name, run in runs.items()) >= 9
    assert {where[3] + 1, 41} == {p.line for p in reading.problems}
    assert {p.severity for p in reading.problems} == {"warning"}
    texts(reading.problems)


@pytest.mark.parametrize("form", ["bom", "crlf", "gz", "latin"])
def test_forms_of_a_journal(tmp_path: Path, text: str, form: str) -> None:
    raw, name = text.encode(), "journal.log"
    if form == "bom":
        raw = b"\xef\xbb\xbf" + raw
    elif form == "crlf":
        raw = raw.replace(b"\n", b"\r\n")
    elif form == "gz":
        raw, name = gzip.compress(raw), "journal.log.gz"
    else:
        raw = raw.replace(b'\\"copy\\"', b'\\"cop\xe9\\"')
    write(tmp_path, raw, name)
    reading = read_all(READER, tmp_path)
    assert len(reading.runs) == 10
    assert reading.problems == []
    assert form != "latin" or any(r.config["task"] == "copé" for r in reading.runs)


@pytest.mark.parametrize("value", ["soon", "", None, 17, [1], "NaN", 12345678901234567890])
def test_times_that_are_none(tmp_path: Path, value: Any) -> None:
    write(tmp_path, journal(study("a"), trial(0, datetime_complete=value) | {"state": 1}))
    reading = read_all(READER, tmp_path)
    (run,) = reading.runs
    assert run.ended_at is None
    assert bool(reading.problems) == (value not in ("", None))


def test_clock_that_went_back(tmp_path: Path) -> None:
    write(tmp_path, journal(study("a"), trial(0, 30), state(0, 1, 10)))
    reading = read_all(READER, tmp_path)
    assert reading.runs[0].ended_at is None
    assert [(p.kind, p.severity) for p in reading.problems] == [("clock", "info")]
    assert "1200.0 s before" in reading.problems[0].message


@pytest.mark.parametrize("value", [5, -1, None, "x", float("nan")])
def test_choices_that_do_not_exist(tmp_path: Path, value: Any) -> None:
    write(tmp_path, journal(study("a"), trial(0), param(0, "opt", value, CHOICE), param(0, "n", value, "{broken")))
    (run,) = read_all(READER, tmp_path).runs
    assert run.config["opt"] == f"choice {value}"


def test_no_permission(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, text)

    def refuse(*_: Any) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Tree, "read_bytes", refuse)
    reading = read_all(READER, tmp_path)
    assert reading.runs == []
    assert "Permission denied" in texts(reading.problems)


# --- databases -----------------------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Path:
    folder = tmp_path / "sweep"
    folder.mkdir()
    shutil.copy(DATA / "optuna" / "study.db", folder)
    return folder / "study.db"


def change(database: Path, *statements: str) -> None:
    connection = sqlite3.connect(database)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_database_without_the_shared_data(database: Path) -> None:
    before = database.read_bytes()
    runs = by_id(read_all(READER, database.parent))
    assert len(runs) == 10
    assert runs["toy-seq/4"].status == "pruned"
    assert database.read_bytes() == before
    assert [p.name for p in database.parent.iterdir()] == ["study.db"]


def test_waiting_running_and_heartbeats(database: Path) -> None:
    change(
        database,
        "UPDATE trials SET state = 'WAITING', datetime_start = NULL, datetime_complete = NULL WHERE trial_id = 1",
        "UPDATE trials SET state = 'RUNNING', datetime_complete = NULL WHERE trial_id = 2",
        "UPDATE trials SET state = 'LOST' WHERE trial_id = 3",
        "INSERT INTO trial_heartbeats (trial_id, heartbeat) VALUES (2, '2026-12-01 01:00:00')",
    )
    reading = read_all(READER, database.parent)
    runs = by_id(reading)
    assert (runs["toy-seq/0"].status, runs["toy-seq/0"].started_at) == ("not_started", None)
    running = runs["toy-seq/1"]
    assert running.status == "running"
    assert running.last_activity == 1796086800.0
    assert runs["toy-seq/2"].status is None
    assert "'LOST'" in texts(reading.problems)


def test_one_study_is_no_field(database: Path) -> None:
    change(database, "DELETE FROM trials WHERE study_id = 2")
    assert all("study" not in r.config for r in read_all(READER, database.parent).runs)


def test_version_five_is_utc(database: Path) -> None:
    change(database, "UPDATE version_info SET library_version = '5.0.0'")
    assert all(not r.notes for r in read_all(READER, database.parent).runs)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6, 0.95])
def test_cut_database(database: Path, share: float) -> None:
    raw = database.read_bytes()
    database.write_bytes(raw[: int(len(raw) * share)])
    reading = read_all(READER, database.parent)
    assert reading.problems
    texts(reading.problems)


@pytest.mark.parametrize("page", range(1, 28, 3))
def test_damaged_page(database: Path, page: int) -> None:
    raw = bytearray(database.read_bytes())
    raw[page * 4096 : page * 4096 + 200] = b"\xff" * 200
    database.write_bytes(raw)
    reading = read_all(READER, database.parent)
    # Either the page holds nothing that is read here, or the damage is told.
    assert reading.problems or len(reading.runs) == 10
    texts(reading.problems)


def test_no_permission_for_a_database(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree(database.parent)
    (source,) = READER.find(tree)
    monkeypatch.setattr(
        "builtins.open", lambda *a, **k: (_ for _ in ()).throw(PermissionError(13, "Permission denied"))
    )
    reading = READER.read(tree, source)
    monkeypatch.undo()
    assert "Permission denied" in texts(reading.problems)
