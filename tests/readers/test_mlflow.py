"""MLflow: real stores against what was measured in the same processes, and damage to them."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from trackers import DATA, by_id, made, read_all, texts, wall

from mkdocs_sweepprof.readers.base import Reading, Run, Session
from mkdocs_sweepprof.readers.mlflow import MLflowReader
from mkdocs_sweepprof.readers.sessions import Stamp, infer
from mkdocs_sweepprof.readers.tree import Tree

READER = MLflowReader()
TOLERANCE = 0.05
HOUR = 3600.0
BORN = 1_796_100_000_000
KILLED = "85f318acd62f4d3bb0e490993bf17b35"
RESUMED = "a61cb9a47ebc43258926f252b563bcab"
CLOCK = "dc4a6f15c7ef4816913f46126baaf34f"


@pytest.mark.parametrize("sweep", ["A", "A_sqlite"])
def test_truth(sweep: str, record_property: Any) -> None:
    folder, truth = made("mlflow", sweep)
    reading = read_all(READER, folder)
    runs = by_id(reading)
    assert reading.problems == []
    assert set(runs) == {t["mlflow_run_id"] for t in truth["runs"]}
    worst = 0.0
    for t in truth["runs"]:
        run = runs[t["mlflow_run_id"]]
        assert run.children == t.get("is_parent", False)
        if run.children:
            continue
        assert run.config == t["config"]
        assert run.aliases == (t["id"],)
        status = {"finished": "completed", "failed": "failed"}.get(t["status"], "running")
        assert run.status == status
        if status == "completed":
            off = abs(wall(run) - t["sections"]["run/mlflow_run"]["total_s"])
            assert off <= TOLERANCE
            assert [e.epoch for e in run.events] == [0, 1, 2, 3]
            worst = max(worst, off)
        elif status == "running":
            assert run.ended_at is None
            assert run.last_activity == pytest.approx(t["ended_at"], abs=TOLERANCE)
        assert run.started_at == pytest.approx(t["notes"][0]["t"], abs=TOLERANCE)
    record_property(f"mlflow {sweep}: largest difference of a wall, s", round(worst, 4))


@pytest.mark.parametrize("where", ["shared", "copy"])
def test_killed_resumed_and_stepped_clock(where: str) -> None:
    if where == "shared":
        folder, truth = made("mlflow", "A_hurt")
        known = {t["id"]: t for t in truth["runs"]}
        runs = by_id(read_all(READER, folder))
        for name, run_id in (("killed", KILLED), ("resumed", RESUMED), ("clock", CLOCK)):
            assert runs[run_id].config == known[name]["config"]
    runs = by_id(read_all(READER, DATA / "mlflow"))
    assert set(runs) == {KILLED, RESUMED, CLOCK}

    killed = runs[KILLED]
    assert (killed.status, killed.ended_at) == ("running", None)
    # The first epoch, of three, was logged; nothing says more.
    assert killed.started_at is not None and killed.last_activity is not None
    assert 0 < killed.last_activity - killed.started_at < 3.6

    resumed = runs[RESUMED]
    assert resumed.status == "completed"
    first, second = resumed.sessions
    # The run's first session began at 265.163 and died by 267.931; the second began at 273.046 and ended at 275.943.
    assert first.started_at == pytest.approx(1796100265.163, abs=TOLERANCE)
    assert first.ended_at == pytest.approx(1796100267.931, abs=TOLERANCE)
    assert second.started_at == pytest.approx(1796100273.046, abs=TOLERANCE)
    assert second.ended_at == pytest.approx(1796100275.943, abs=TOLERANCE)
    assert "inferred" in " ".join(resumed.notes)

    clock = runs[CLOCK]
    assert (clock.status, clock.ended_at, clock.sessions) == ("completed", None, [])
    problems = read_all(READER, DATA / "mlflow").problems
    assert [(p.kind, p.severity, p.run) for p in problems] == [("clock", "info", CLOCK)]
    assert "3597.9 s before it starts" in problems[0].message


# --- sessions ------------------------------------------------------------------------------------------------------


def series(start: float, end: float, every: float, key: str = "loss", step: int = 0) -> list[Stamp]:
    found = []
    time = start
    while time <= end:
        found.append(Stamp(time, key, step))
        time, step = time + every, step + 1
    return found


def hours(sessions: list[Session]) -> tuple[float, float]:
    """(active, elapsed)."""
    active = sum(s.ended_at - s.started_at for s in sessions)
    return round(active / HOUR, 2), round((sessions[-1].ended_at - sessions[0].started_at) / HOUR, 2)


@pytest.mark.parametrize("every", [60.0, 600.0, 1800.0, 3600.0, 7200.0])
@pytest.mark.parametrize("opening", [0.0, 60.0])
@pytest.mark.parametrize("again", [False, True])
def test_two_hours_a_pause_and_two_hours(every: float, opening: float, again: bool) -> None:
    first = series(opening, 2 * HOUR, every)
    # Resumed from a checkpoint, steps are logged again; else they go on.
    step = 1 if again else len(first)
    second = series(12 * HOUR + opening, 14 * HOUR, every, step=step)
    sessions, notes = infer(0.0, 14 * HOUR, first + second)
    if len(first) + len(second) < 3:
        assert sessions == [], "two records tell nothing"
        return
    assert len(sessions) == 2
    assert sessions[1] == Session(12 * HOUR, 14 * HOUR)
    active, elapsed = hours(sessions)
    assert elapsed == 14.00
    # What came after the last record of the first session was not recorded.
    assert 4.00 - every / HOUR <= active <= 4.00
    if opening == 0.0:
        assert active == 4.00
    assert notes


def test_a_long_evaluation_is_no_gap() -> None:
    training = series(0.0, 2 * HOUR, 10.0)
    # Once, at the end: the metric of the evaluation comes alone.
    assert infer(0.0, 5 * HOUR, [*training, Stamp(5 * HOUR, "test/acc", 720)])[0] == []
    # After each epoch: the metric comes right after each silence and nowhere else.
    twice = [*training, Stamp(3 * HOUR, "val/acc", 720), *series(3 * HOUR + 10, 5 * HOUR, 10.0, step=721)]
    assert infer(0.0, 6 * HOUR, [*twice, Stamp(6 * HOUR, "val/acc", 1440)])[0] == []
    # Many silences are the rhythm of the run, not interruptions.
    rhythm = [s for i in range(6) for s in series(i * HOUR, i * HOUR + 600, 10.0, step=i * 61)]
    assert infer(0.0, 6 * HOUR, rhythm)[0] == []


def test_folds_are_no_sessions() -> None:
    """Steps that start again without a pause: cross-validation in one process."""
    folds = [s for i in range(4) for s in series(i * 100.0, i * 100.0 + 99, 1.0)]
    assert infer(0.0, 400.0, folds)[0] == []


def test_a_doubtful_pause_is_told_and_counted() -> None:
    training = [*series(0.0, 2 * HOUR, 10.0), *series(2.6 * HOUR, 4 * HOUR, 10.0, key="other")]
    sessions, notes = infer(0.0, 4 * HOUR, training)
    assert sessions == []
    assert "0.60h" in notes[0]


# --- stores made by hand -------------------------------------------------------------------------------------------


def experiment(root: Path, name: str = "1", title: str = "toy", stage: str = "active") -> Path:
    folder = root / "mlruns" / name
    folder.mkdir(parents=True)
    (folder / "meta.yaml").write_text(
        f"artifact_location: file:///x\nexperiment_id: '{name}'\nlifecycle_stage: {stage}\nname: {title}\n"
    )
    return folder


def store(
    folder: Path,
    number: int,
    parent: str | None = None,
    metrics: dict[str, str] | None = None,
    params: dict[str, str] | None = None,
    key: str = "run_id",
    **changes: Any,
) -> str:
    """One run as MLflow writes it; ``changes`` to its meta.yaml, None leaves a key out."""
    run_id = f"{number:032x}"
    meta = {
        "artifact_uri": "file:///x",
        "end_time": BORN + 7_200_000,
        "experiment_id": "'1'",
        "lifecycle_stage": "active",
        key: run_id,
        "run_name": f"run-{number}",
        "start_time": BORN,
        "status": 3,
        "user_id": "user",
    } | changes
    run = folder / run_id
    run.mkdir()
    (run / "meta.yaml").write_text("".join(f"{k}: {v}\n" for k, v in meta.items() if v is not None))
    for part, content in (("metrics", metrics or {}), ("params", {"lr": "0.1"} if params is None else params)):
        for name, text in content.items():
            path = run / part / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    if parent:
        (run / "tags").mkdir()
        (run / "tags" / "mlflow.parentRunId").write_text(parent)
    return run_id


def rows(*times: float, first: int = 0) -> str:
    """Metric lines at seconds after the start."""
    return "".join(f"{BORN + int(t * 1000)} 0.5 {first + i}\n" for i, t in enumerate(times))


def only(reading: Reading) -> Run:
    (run,) = [r for r in reading.runs if not r.children]
    return run


@pytest.mark.parametrize(
    ("written", "status"),
    [
        (1, "running"), (2, "not_started"), (3, "completed"), (4, "failed"), (5, "killed"),
        ("RUNNING", "running"), ("SCHEDULED", "not_started"), ("FINISHED", "completed"), ("FAILED", "failed"),
        ("KILLED", "killed"), ("finished", "completed"),
    ],
)  # fmt: skip
def test_status_in_numbers_and_words(tmp_path: Path, written: Any, status: str) -> None:
    store(experiment(tmp_path), 1, status=written)
    assert only(read_all(READER, tmp_path)).status == status


def test_unknown_status(tmp_path: Path) -> None:
    store(experiment(tmp_path), 1, status=17)
    reading = read_all(READER, tmp_path)
    assert only(reading).status is None
    assert "'17'" in texts(reading.problems)


def test_oldest_stores(tmp_path: Path) -> None:
    """``run_uuid``, seconds in metrics, no step."""
    folder = experiment(tmp_path)
    seconds = BORN // 1000
    store(folder, 1, key="run_uuid", metrics={"loss": f"{seconds} 0.5\n{seconds + 60} 0.4\n"}, run_name=None)
    run = only(read_all(READER, tmp_path))
    assert wall(run) == 7200.0
    assert run.last_activity == seconds + 60
    assert run.aliases == ()


def test_deleted_runs_and_registry_are_mentioned(tmp_path: Path) -> None:
    folder = experiment(tmp_path)
    kept = store(folder, 1)
    store(folder, 2, lifecycle_stage="deleted")
    store(folder, 3, lifecycle_stage="deleted")
    gone = experiment(tmp_path, "2", "old", stage="deleted")
    store(gone, 4)
    trash = experiment(tmp_path / "mlruns" / ".trash", "3", "older")
    store(trash, 5)
    version = tmp_path / "mlruns" / "models" / "best" / "version-1"
    version.mkdir(parents=True)
    (version / "meta.yaml").write_text(f"current_stage: None\nname: best\nrun_id: {kept}\nstatus: READY\nversion: 1\n")
    logged = folder / "models" / "m-0123"
    logged.mkdir(parents=True)
    (logged / "meta.yaml").write_text("experiment_id: '1'\nlifecycle_stage: active\nmodel_id: m-0123\nstatus: 2\n")
    reading = read_all(READER, tmp_path)
    assert [r.id for r in reading.runs] == [kept]
    told = "\n".join(reading.mentions)
    assert "2 deleted MLflow runs of toy" in told
    assert told.count("1 deleted MLflow run of") == 2
    assert told.count("model registry entry") == 2
    assert reading.problems == []


def test_parents(tmp_path: Path) -> None:
    folder = experiment(tmp_path)
    holder = store(folder, 1, metrics={"best": rows(100, 4000)})
    for i in (2, 3):
        start = BORN + (i - 2) * 3_600_000
        store(folder, i, parent=holder, start_time=start, end_time=start + 3_500_000)
    # This one trained for two hours itself, and let a short child evaluate.
    trainer = store(folder, 4, metrics={"loss": rows(*range(0, 7000, 100))})
    store(folder, 5, parent=trainer, end_time=BORN + 60_000)
    runs = by_id(read_all(READER, tmp_path))
    assert {i for i, r in runs.items() if r.children} == {holder}
    assert len(runs) == 5


def test_several_experiments_are_a_field(tmp_path: Path) -> None:
    for name, title in (("1", "small"), ("2", "large")):
        store(experiment(tmp_path, name, title), int(name))
    runs = by_id(read_all(READER, tmp_path))
    assert sorted(str(r.config["experiment"]) for r in runs.values()) == ["large", "small"]


def test_params_and_tags(tmp_path: Path) -> None:
    folder = experiment(tmp_path)
    params = {
        "lr": "1e-3", "layers": "4", "model/hidden": "16", "amp": "True", "note": "two\nlines", "none": "None",
        "big": "12345678901234567890", "nan": "nan", "tag": "!!python/object:os.system {}", "zero": "007", "empty": "",
    }  # fmt: skip
    store(folder, 1, params=params)
    config = only(read_all(READER, tmp_path)).config
    assert config == {
        "lr": 0.001, "layers": 4, "model.hidden": 16, "amp": True, "note": "two\nlines", "none": None,
        "big": "12345678901234567890", "nan": "nan", "tag": "!!python/object:os.system {}", "zero": "007", "empty": "",
    }  # fmt: skip
    assert type(config["layers"]) is int


def test_tags_stand_in_for_params(tmp_path: Path) -> None:
    run_id = store(experiment(tmp_path), 1, params={}, parent="f" * 32)
    (tmp_path / "mlruns/1" / run_id / "tags" / "task").write_text("sort")
    run = only(read_all(READER, tmp_path))
    assert run.config == {"task": "sort"}
    assert "tags" in run.notes[0]


def test_step_markers_are_few(tmp_path: Path) -> None:
    store(experiment(tmp_path), 1, metrics={"loss": rows(*range(0, 7000)), "system/cpu": rows(*range(0, 7000, 5))})
    run = only(read_all(READER, tmp_path))
    assert 20 <= len(run.events) <= 51
    assert [e.label for e in run.events[:3]] == ["step_0", "step_200", "step_400"]
    assert all(b.time > a.time for a, b in zip(run.events, run.events[1:], strict=False))


def test_resumed_in_a_store(tmp_path: Path) -> None:
    """2 h, 10 h of nothing, 2 h."""
    times = [*range(0, 7201, 600), *range(43_200, 50_401, 600)]
    store(experiment(tmp_path), 1, metrics={"loss": rows(*times)}, end_time=BORN + 50_400_000)
    run = only(read_all(READER, tmp_path))
    assert hours(run.sessions) == (4.00, 14.00)
    assert wall(run) == 4 * HOUR


def test_empty_run_folder(tmp_path: Path) -> None:
    folder = experiment(tmp_path)
    store(folder, 1)
    (folder / "0123456789abcdef0123456789abcdef").mkdir()
    runs = by_id(read_all(READER, tmp_path))
    assert runs["0123456789abcdef0123456789abcdef"].status == "not_started"


# --- damage --------------------------------------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(DATA / "mlflow", tmp_path / "sweep")
    return tmp_path / "sweep"


def resumed_folder(root: Path) -> Path:
    return root / "mlruns" / "502507175591234789" / RESUMED


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (b"", "the file is empty"),
        (b"\0" * 400, "the file is empty"),
        (b"run_id: [\n", "not valid YAML"),
        (b"just text\n", "holds no names and values"),
    ],
)
def test_meta_that_says_nothing(copy: Path, damage: bytes, what: str) -> None:
    (resumed_folder(copy) / "meta.yaml").write_bytes(damage)
    reading = read_all(READER, copy)
    run = by_id(reading)[RESUMED]
    assert run.unreadable
    assert run.config["task"] == "copy"
    assert what in texts(reading.problems)


def test_meta_is_missing(copy: Path) -> None:
    (resumed_folder(copy) / "meta.yaml").unlink()
    reading = read_all(READER, copy)
    assert by_id(reading)[RESUMED].unreadable
    assert "has no meta.yaml" in texts(reading.problems)


def test_every_cut_of_a_meta_file(copy: Path) -> None:
    """However much is left, no time is read that was not written."""
    path = resumed_folder(copy) / "meta.yaml"
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        reading = read_all(READER, copy)
        run = by_id(reading)[RESUMED]
        assert run.started_at in (None, 1796100265.15)
        assert run.ended_at in (None, 1796100275.938)
        assert any(p.path.endswith(f"{RESUMED}/meta.yaml") for p in reading.problems) or whole[:length].endswith(b"\n")


@pytest.mark.parametrize("form", ["bom", "crlf", "latin"])
def test_forms_of_text(copy: Path, form: str) -> None:
    path = resumed_folder(copy) / "meta.yaml"
    raw = path.read_bytes()
    if form == "bom":
        raw = b"\xef\xbb\xbf" + raw
    elif form == "crlf":
        raw = raw.replace(b"\n", b"\r\n")
    else:
        raw = raw.replace(b"run_name: resumed", b"run_name: r\xe9sum\xe9")
    path.write_bytes(raw)
    reading = read_all(READER, copy)
    run = by_id(reading)[RESUMED]
    assert run.aliases == ("résumé",) if form == "latin" else run.aliases == ("resumed",)
    assert len(run.sessions) == 2
    assert not [p for p in reading.problems if p.run != CLOCK]


@pytest.mark.parametrize("value", ["17961", "nan", "Infinity", "soon", "-5", "99999999999999999999", "[1]", "true"])
def test_times_that_are_none(copy: Path, value: str) -> None:
    path = resumed_folder(copy) / "meta.yaml"
    path.write_text(path.read_text().replace("1796100275938", value))
    reading = read_all(READER, copy)
    run = by_id(reading)[RESUMED]
    assert run.started_at == 1796100265.15
    assert "end_time is " in texts(reading.problems)


def test_seconds_where_milliseconds_are_expected(copy: Path) -> None:
    path = resumed_folder(copy) / "meta.yaml"
    path.write_text(path.read_text().replace("1796100275938", "1796100275").replace("1796100265150", "1796100265"))
    run = by_id(read_all(READER, copy))[RESUMED]
    assert (run.started_at, run.ended_at) == (1796100265.0, 1796100275.0)


def test_object_tags_are_text(copy: Path) -> None:
    path = resumed_folder(copy) / "meta.yaml"
    path.write_text(path.read_text().replace("run_name: resumed", "run_name: !!python/object/apply:os.getcwd []"))
    run = by_id(read_all(READER, copy))[RESUMED]
    assert "os.getcwd" in run.aliases[0]


def test_damaged_metric_lines(copy: Path) -> None:
    path = resumed_folder(copy) / "metrics" / "epoch"
    path.write_text(path.read_text() + "garbage\n1796100275.9 nan\n\n17961002")
    reading = read_all(READER, copy)
    run = by_id(reading)[RESUMED]
    assert len(run.events) == 6
    found = [p for p in reading.problems if p.path.endswith("metrics/epoch")]
    assert [p.line for p in found] == [7, 10]


def test_no_permission(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Tree.read_bytes

    def refuse(self: Tree, path: str, *rest: int) -> bytes:
        if path.endswith("params/lr") or path.endswith(f"{KILLED}/meta.yaml"):
            raise PermissionError(13, "Permission denied")
        return read(self, path, *rest)

    monkeypatch.setattr(Tree, "read_bytes", refuse)
    reading = read_all(READER, copy)
    runs = by_id(reading)
    assert runs[KILLED].unreadable
    assert "lr" not in runs[RESUMED].config
    assert texts(reading.problems).count("Permission denied") == 4


def test_link_loop(copy: Path) -> None:
    (resumed_folder(copy) / "loop").symlink_to(copy)
    assert len(read_all(READER, copy).runs) == 3


# --- SQLite --------------------------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A small store with the tables and columns of a real one."""
    path = tmp_path / "sweep" / "mlflow.db"
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name TEXT, lifecycle_stage TEXT);
        CREATE TABLE runs (run_uuid TEXT PRIMARY KEY, name TEXT, status TEXT, start_time BIGINT, end_time BIGINT,
          lifecycle_stage TEXT, experiment_id INTEGER);
        CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);
        CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT);
        CREATE TABLE metrics (key TEXT, value FLOAT, timestamp BIGINT, run_uuid TEXT, step BIGINT);
        INSERT INTO experiments VALUES (1, 'toy', 'active'), (2, 'old', 'deleted');
        """
    )
    for i in range(60):
        run = f"{i:032x}"
        stage = "deleted" if i % 20 == 19 else "active"
        connection.execute(
            "INSERT INTO runs VALUES (?, ?, 'FINISHED', ?, ?, ?, ?)",
            (run, f"r{i}", BORN, BORN + 60_000, stage, 2 if i == 0 else 1),
        )
        connection.execute("INSERT INTO params VALUES ('lr', ?, ?)", (str(i / 10), run))
        connection.executemany(
            "INSERT INTO metrics VALUES ('loss', 0.5, ?, ?, ?)", [(BORN + s * 1000, run, s) for s in range(50)]
        )
    connection.commit()
    connection.close()
    return path


def test_deleted_in_a_database(database: Path) -> None:
    reading = read_all(READER, database.parent)
    assert len(reading.runs) == 56
    assert reading.mentions == ["4 deleted MLflow runs left out."]
    assert reading.problems == []
    assert by_id(reading)[f"{7:032x}"].config == {"lr": 0.7}


def test_nothing_is_written_beside(database: Path) -> None:
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("UPDATE runs SET status = 'FAILED'")
    connection.commit()
    connection.close()
    before = {p.name: p.read_bytes() for p in database.parent.iterdir()}
    database.parent.chmod(0o555)
    try:
        reading = read_all(READER, database.parent)
    finally:
        database.parent.chmod(0o755)
    assert {p.name: p.read_bytes() for p in database.parent.iterdir()} == before
    assert {r.status for r in reading.runs} == {"failed"}


def test_changes_beside_a_database_are_read(database: Path, tmp_path: Path) -> None:
    """A process that still writes (or was killed) leaves its last changes in ``-wal``."""
    writer = sqlite3.connect(database)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("UPDATE runs SET status = 'KILLED'")
    writer.commit()
    live = tmp_path / "live"
    shutil.copytree(database.parent, live)
    writer.close()
    (live / "mlflow.db-shm").unlink(missing_ok=True)
    before = {p.name: p.read_bytes() for p in live.iterdir()}
    assert before["mlflow.db-wal"]
    reading = read_all(READER, live)
    assert {r.status for r in reading.runs} == {"killed"}
    assert {p.name: p.read_bytes() for p in live.iterdir()} == before


def test_compressed_database(database: Path) -> None:
    (database.parent / "mlflow.db.gz").write_bytes(gzip.compress(database.read_bytes()))
    database.unlink()
    assert len(read_all(READER, database.parent).runs) == 56


@pytest.mark.parametrize("share", [0.02, 0.2, 0.5, 0.9])
def test_cut_database(database: Path, share: float) -> None:
    raw = database.read_bytes()
    database.write_bytes(raw[: int(len(raw) * share)])
    reading = read_all(READER, database.parent)
    if share >= 0.2:
        assert "the database is damaged" in texts(reading.problems) or "cannot be opened" in texts(reading.problems)
    assert len(reading.runs) <= 60


def test_database_with_damaged_pages(database: Path) -> None:
    raw = bytearray(database.read_bytes())
    for page in range(8, len(raw) // 4096, 3):
        raw[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    database.write_bytes(raw)
    reading = read_all(READER, database.parent)
    assert reading.problems
    texts(reading.problems)


def test_real_database_cut_anywhere(tmp_path: Path) -> None:
    folder, _ = made("mlflow", "A_sqlite")
    raw = (folder / "mlflow.db").read_bytes()
    for share in (0.1, 0.3, 0.6, 0.95):
        target = tmp_path / f"{share}"
        target.mkdir()
        (target / "mlflow.db").write_bytes(raw[: int(len(raw) * share)])
        reading = read_all(READER, target)
        assert reading.problems, share
        texts(reading.problems)
