"""Hydra jobs, against what the jobs measured themselves."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trackers import PUBLIC, by_id, made, read_all, texts

from mkdocs_sweepprof.readers.base import Run
from mkdocs_sweepprof.readers.hydra import HydraReader
from mkdocs_sweepprof.readers.join import join
from mkdocs_sweepprof.readers.tree import Tree
from mkdocs_sweepprof.readers.values import flatten
from mkdocs_sweepprof.readers.wandb import WandbReader

DATA = Path(__file__).resolve().parents[1] / "data" / "hydra"
READER = HydraReader()
HURT = json.loads((DATA / "truth_A_hurt.json").read_text(encoding="utf-8"))


def times(run: Run) -> tuple[float, float]:
    assert run.first_activity is not None
    assert run.last_activity is not None
    return run.first_activity, run.last_activity


def test_jobs_of_a_multirun(record_property: Any) -> None:
    folder, truth = made("hydra", "A")
    reading = read_all(READER, folder)
    runs = by_id(reading)
    assert len(runs) == len(truth["runs"]) == 12, "the multirun folder is no run"
    worst = 0.0
    for true in truth["runs"]:
        run = runs[true["run_dir"]]
        first, last = times(run)
        worst = max(worst, abs(last - true["ended_at"]))
        # The first job's imports lie before its first record.
        assert -0.01 < first - true["started_at"] < (1.5 if true["run_dir"].endswith("/0") else 0.01)
        assert {k: v for k, v in run.config.items() if k != "model"} == flatten(true["config"])
        assert run.config["model"] == true["config"]["model"]["name"], "the choice of the config group"
        assert (run.status, run.ended_at, run.sessions) == (None, None, [])
    assert worst < 0.01
    assert reading.problems == []
    record_property("hydra: largest |last record - end| of 12 jobs, s", round(worst, 4))


def test_the_copied_jobs_give_the_same() -> None:
    ((name, true),) = (
        (k, v)
        for k, v in json.loads((DATA / "truth_A.json").read_text(encoding="utf-8")).items()
        if (DATA / "A" / k).is_dir()
    )
    run = by_id(read_all(READER, DATA / "A"))[name]
    assert abs(times(run)[1] - true["ended_at"]) < 0.01


def test_an_hour_that_falls_back_is_not_lost() -> None:
    reading = read_all(READER, DATA / "A_hurt")
    run = by_id(reading)["multirun/dst/x"]
    first, last = times(run)
    true = HURT["multirun/dst/x"]
    since_setup = true["wall_s"] - (first - true["started_at"]) % 3600
    assert abs((last - first) - since_setup) < 0.01
    assert [(p.kind, p.severity) for p in reading.problems] == [("clock", "info")]


def test_a_job_that_was_started_again_has_two_sessions() -> None:
    run = by_id(read_all(READER, DATA / "A_hurt"))["multirun/fixed/again"]
    for session, true in zip(run.sessions, HURT["multirun/fixed/again"]["sessions"], strict=True):
        assert true["started_at"] < session.started_at < session.ended_at <= true["ended_at"]
        assert true["ended_at"] - session.ended_at < 0.2


def test_a_killed_job_reaches_as_far_as_its_log() -> None:
    name = "multirun/2026-12-01/04-36-50/1"
    run = by_id(read_all(READER, DATA / "A_hurt"))[name]
    assert run.status is None, "a log that just stops may be that of a job that ended"
    assert 0 < HURT[name]["ended_at"] - times(run)[1] < 0.01


def test_public_jobs_hold_their_wandb_runs() -> None:
    """A public repository's jobs: sixteen, eight with a W&B folder inside, each one run."""
    folder = PUBLIC / "hydra-chris-santiago__vime"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    fragments = [read_all(r, folder) for r in (READER, WandbReader())]
    assert len(fragments[0].runs) == 16
    runs, problems, _ = join(fragments)
    assert len(runs) == 16
    tracked = [r for r in runs if any("wandb" in f for f in r.files)]
    assert len(tracked) == 8
    assert all(r.layout == "hydra" and (r.duration or r.started_at) for r in tracked)
    one = next(r for r in runs if r.id == "multirun/data.n_labeled=1000,data.n_workers=0")
    assert (one.config["data.n_labeled"], one.config["model"], one.config["trainer.max_epochs"]) == (
        1000,
        "learner",
        100,
    )
    assert not [p for p in problems if p.severity == "warning"]


# --- made jobs -------------------------------------------------------------------------------------------------------


def job(root: Path, log: str | bytes | None, folder: str = "outputs/2026-03-01/10-00-00", **files: str) -> None:
    base = root / folder
    (base / ".hydra").mkdir(parents=True, exist_ok=True)
    for name, content in {"config": "lr: 0.1\n", "overrides": "[]\n", **files}.items():
        (base / ".hydra" / f"{name}.yaml").write_text(content, encoding="utf-8")
    if log is not None:
        (base / "train.log").write_bytes(log.encode() if isinstance(log, str) else log)


def one(root: Path) -> Run:
    (run,) = read_all(READER, root).runs
    return run


def at(*when: int) -> float:
    return datetime(*when, tzinfo=UTC).timestamp()  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("[2026-03-01 10:00:01,500][m][INFO] - a", "[2026-03-01 10:00:11,750][m][INFO] - b", 10.25),
        ("[2026-03-01T10:00:01.5] INFO a", "[2026-03-01T10:00:11.75] INFO b", 10.25),
        ("2026/03/01 10:00:01 - INFO - a", "2026/03/01 10:00:11 - INFO - b", 10.0),
        ("INFO 03/01/2026 10:00:01: a", "INFO 03/01/2026 10:00:11: b", 10.0),
        ("[03-01 10:00:01,500] a", "[03-01 10:00:11,750] b", 10.25),
        ("[INFO][03/01 10:00:01] a", "[INFO][03/01 10:00:11] b", 10.0),
        ("Mar 01 10:00:01 host a", "Mar 01 10:00:11 host b", 10.0),
        ("[10:00:01,500][INFO] a", "[10:00:11,750][INFO] b", 10.25),
        ("10:00:01 | INFO | a", "10:00:11 | INFO | b", 10.0),
    ],
)
def test_formats_of_the_log(tmp_path: Path, first: str, last: str, expected: float) -> None:
    job(tmp_path, f"{first}\nsecond line of the message 2020-01-01 00:00:00\n  continued\n{last}\n")
    begin, end = times(one(tmp_path))
    assert end - begin == pytest.approx(expected)
    assert begin == pytest.approx(at(2026, 3, 1, 10, 0, 1), abs=0.6)


def test_a_year_that_turns_and_a_folder_of_the_evening_before(tmp_path: Path) -> None:
    job(tmp_path, "[12-31 23:59:50] a\n[01-01 00:00:20] b\n", "outputs/2025-12-31/23-59-40")
    assert times(one(tmp_path)) == (at(2025, 12, 31, 23, 59, 50), at(2026, 1, 1, 0, 0, 20))
    shutil.rmtree(tmp_path / "outputs")
    job(tmp_path, "[01-01 00:00:05] a\n[01-01 00:00:20] b\n", "outputs/2025-12-31/23-59-58")
    assert times(one(tmp_path)) == (at(2026, 1, 1, 0, 0, 5), at(2026, 1, 1, 0, 0, 20))
    shutil.rmtree(tmp_path / "outputs")
    job(tmp_path, "[00:00:05] a\n[00:00:20] b\n", "outputs/2025-12-31/23-59-58")
    assert times(one(tmp_path)) == (at(2026, 1, 1, 0, 0, 5), at(2026, 1, 1, 0, 0, 20))


def test_a_clock_without_any_date_gives_a_duration_only(tmp_path: Path) -> None:
    job(tmp_path, "[23:59:50] a\n[00:00:20] b\n", "jobs/a")
    run = one(tmp_path)
    assert (run.first_activity, run.last_activity, run.duration) == (None, None, 30.0)
    assert any("no date" in n for n in run.notes)


@pytest.mark.parametrize(
    ("tail", "status"),
    [
        (
            "[2026-03-01 10:00:02,000][m][ERROR] - died\nTraceback (most recent call last):\n  x\nValueError: y\n",
            "failed",
        ),
        ("[2026-03-01 10:00:02,000][m][CRITICAL] - died\n", "failed"),
        ("[2026-03-01 10:00:02,000] died\nTraceback (most recent call last):\nValueError: y\n", "failed"),
        ("[2026-03-01 10:00:02,000][m][ERROR] - hm\n[2026-03-01 10:00:03,000][m][INFO] - went on\n", None),
        ("[2026-03-01 10:00:02,000][m][INFO] - no ERROR here\n", None),
    ],
)
def test_a_last_error_is_a_failed_run(tmp_path: Path, tail: str, status: str | None) -> None:
    job(tmp_path, "[2026-03-01 10:00:00,000][m][INFO] - a\n" + tail)
    assert one(tmp_path).status == status


@pytest.mark.parametrize(
    ("log", "said"),
    [(None, "no log"), ("", "empty"), ("hello\n\nworld\n", "No line"), ("[INFO] a\n[INFO] b\n", "no time")],
)
def test_a_job_without_a_clock_is_a_run_all_the_same(tmp_path: Path, log: str | None, said: str) -> None:
    job(tmp_path, log)
    reading = read_all(READER, tmp_path)
    assert reading.runs[0].config == {"lr": 0.1}
    assert reading.runs[0].first_activity is None
    assert said in " ".join(reading.runs[0].notes)
    assert reading.problems == []


def test_small_disorder_is_no_clock_problem(tmp_path: Path) -> None:
    job(tmp_path, "[2026-03-01 10:00:05,900][m][INFO] - a\n[2026-03-01 10:00:05,400][m][INFO] - b\n")
    reading = read_all(READER, tmp_path)
    assert reading.problems == []
    first, last = times(reading.runs[0])
    assert last - first == pytest.approx(0.5)


def test_an_epoch_loop_with_the_same_words_is_no_restart(tmp_path: Path) -> None:
    lines = []
    for i in range(12):
        lines += [
            f"[2026-03-01 10:{i:02}:00,000][m][INFO] - epoch {i}",
            f"[2026-03-01 10:{i:02}:30,000][m][INFO] - loss {i}",
        ]
    job(tmp_path, "\n".join(lines))
    assert one(tmp_path).sessions == []


def test_overrides_and_choices_become_fields(tmp_path: Path) -> None:
    hydra = (
        "hydra:\n  job:\n    name: train\n    id: '4711_3'\n    num: 3\n  runtime:\n    choices:\n      model: big\n"
        "      opt@model.opt: adam\n      hydra/launcher: basic\n    output_dir: x\n  verbose: false\n"
    )
    overrides = "- +exp=abl1\n- lr=0.1\n- ++note='a b'\n- ~callbacks\n- hydra.verbose=true\n- db@src=mysql\n"
    job(tmp_path, None, hydra=hydra, overrides=overrides)
    run = one(tmp_path)
    assert run.config == {
        "lr": 0.1,
        "model": "big",
        "opt@model.opt": "adam",
        "exp": "abl1",
        "note": "a b",
        "db@src": "mysql",
    }
    assert run.resources == {"job_id": "4711_3"}


def test_the_jobs_own_log_is_read_where_there_are_several(tmp_path: Path) -> None:
    job(
        tmp_path,
        "[2026-03-01 10:00:00][m][INFO] - a\n[2026-03-01 10:00:09][m][INFO] - b\n",
        hydra="hydra:\n  job:\n    name: train\n",
    )
    (tmp_path / "outputs/2026-03-01/10-00-00/aaa.log").write_text("[2020-01-01 00:00:00] x\n", encoding="utf-8")
    first, last = times(one(tmp_path))
    assert last - first == 9.0


def test_another_output_subdir_is_recognised_and_look_alikes_are_not(tmp_path: Path) -> None:
    job(tmp_path, None, "a", hydra="hydra: {}\n")
    (tmp_path / "a" / ".hydra").rename(tmp_path / "a" / "conf_used")
    (tmp_path / "b" / "conf").mkdir(parents=True)
    (tmp_path / "b" / "conf" / "config.yaml").write_text("x: 1\n", encoding="utf-8")
    (tmp_path / "b" / "multirun.yaml").write_text("hydra: {}\n", encoding="utf-8")
    assert [r.id for r in read_all(READER, tmp_path).runs] == ["a"]


REAL = DATA / "A_hurt" / "multirun" / "fixed" / "again"
DAMAGE = {
    "empty": lambda raw: b"",
    "half": lambda raw: raw[: len(raw) // 2],
    "bom": lambda raw: b"\xef\xbb\xbf" + raw,
    "utf-16": lambda raw: raw.decode().encode("utf-16"),
    "crlf": lambda raw: raw.replace(b"\n", b"\r\n"),
    "latin-1": lambda raw: raw.replace(b"a", b"\xe9", 3),
    "nan": lambda raw: raw.replace(b"0.003", b".nan"),
    "twenty digits": lambda raw: raw.replace(b"seed: 4", b"seed: 12345678901234567890").replace(b"2026", b"9" * 20),
    "impossible": lambda raw: raw.replace(b"2026-12-01", b"2026-13-41"),
    "binary": lambda raw: bytes(range(256)) * 20,
    "tags": lambda raw: raw.replace(b"task: ", b"evil: !!python/object/apply:os.system ['true']\ntask: "),
    "tabs": lambda raw: raw.replace(b"  ", b"\t"),
    "a list": lambda raw: b"- 1\n- 2\n",
}


@pytest.mark.parametrize("damage", sorted(DAMAGE))
@pytest.mark.parametrize(
    "name", [".hydra/config.yaml", ".hydra/overrides.yaml", ".hydra/hydra.yaml", "s05_hydra_app.log"]
)
def test_damage_costs_the_part_that_is_damaged(tmp_path: Path, name: str, damage: str) -> None:
    for folder in ("fine", "hurt"):
        shutil.copytree(REAL, tmp_path / folder)
    target = tmp_path / "hurt" / name
    target.write_bytes(DAMAGE[damage](target.read_bytes()))
    reading = read_all(READER, tmp_path)
    runs = by_id(reading)
    fine, hurt = runs["fine"], runs["hurt"]
    assert len(fine.sessions) == 2
    assert not hurt.unreadable
    assert all(p.run == "hurt" and p.path == f"hurt/{name}" for p in reading.problems)
    texts(reading.problems)
    if name != "s05_hydra_app.log":
        assert hurt.sessions == fine.sessions
    else:
        assert hurt.config == fine.config
    if name == ".hydra/config.yaml" and damage in ("binary", "tabs", "a list"):
        assert reading.problems
        assert hurt.config["seed"] == 4, "the overrides say so"
    if damage in ("bom", "utf-16", "crlf"):
        assert (hurt.config, hurt.sessions) == (fine.config, fine.sessions)
    if damage == "tags" and name == ".hydra/config.yaml":
        assert "python" in str(hurt.config["evil"])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.text(alphabet="[]-:,. 0123456789INFOERR\tab", max_size=40)
        | st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2100, 1, 1)).map(
            lambda d: d.strftime("[%Y-%m-%d %H:%M:%S,123][m][INFO] - x")
        ),
        max_size=12,
    )
)
def test_any_log_is_read_without_raising(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    root = tmp_path_factory.mktemp("log")
    job(root, "\n".join(lines))
    reading = read_all(READER, root)
    (run,) = reading.runs
    if run.first_activity is not None:
        first, last = times(run)
        assert last >= first
    texts(reading.problems)
    shutil.rmtree(root)


def test_no_permission_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(REAL, tmp_path / "r")
    tree = Tree(tmp_path)
    (source,) = READER.find(tree)

    def refuse(self: Tree, path: str, limit: int = 0) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Tree, "read_bytes", refuse)
    reading = READER.read(tree, source)
    assert reading.runs[0].unreadable
    assert "Permission denied" in texts(reading.problems)
