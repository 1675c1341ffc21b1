"""sacct exports: clocks, queue, resources, steps, arrays, requeues; and joining to the runs they belong to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mkdocs_sweepprof.readers.base import Reading, Run
from mkdocs_sweepprof.readers.join import join
from mkdocs_sweepprof.readers.native import NativeReader
from mkdocs_sweepprof.readers.sacct import LOCAL_NOTE, SacctReader
from mkdocs_sweepprof.readers.tree import Tree

SHARED = Path(os.environ.get("SWEEPPROF_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
START = 1767225600.0  # 2026-01-01T00:00:00Z

EXPORT = """\
JobID|JobIDRaw|JobName|Partition|State|ExitCode|Submit|Start|End|Elapsed|ElapsedRaw|NNodes|AllocTRES
101|101|sweep-a|gpu|COMPLETED|0:0|2025-12-31T23:00:00|2026-01-01T00:00:00|2026-01-01T02:00:00|02:00:00|7200|2|billing=64,cpu=64,gres/gpu:a100=8,gres/gpu=8,mem=512G,node=2
101.batch|101.batch|batch||COMPLETED|0:0|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T02:00:00|02:00:00|7200|1|cpu=32,mem=256G,node=1
101.extern|101.extern|extern||COMPLETED|0:0|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T02:00:00|02:00:00|7200|2|billing=64,cpu=64,gres/gpu=8,mem=512G,node=2
101.0|101.0|python||COMPLETED|0:0|2026-01-01T00:01:00|2026-01-01T00:01:00|2026-01-01T01:59:00|01:58:00|7080|2|cpu=64,gres/gpu=8,mem=512G,node=2
102_0|103|array|gpu|FAILED|1:0|2026-01-01T00:00:00|2026-01-01T00:00:30|2026-01-01T00:10:30|00:10:00|600|1|cpu=8,gres/gpu=1,node=1
102_1|104|array|gpu|CANCELLED by 1000|0:15|2026-01-01T00:00:00|2026-01-01T00:00:30|2026-01-02T01:00:30|1-01:00:00|90000|1|cpu=8,gres/gpu=1,node=1
102_[2-9%2]|102|array|gpu|PENDING|0:0|2026-01-01T00:00:00|Unknown|Unknown|00:00:00|0|1|
105|105|later|gpu|PENDING|0:0|2026-01-01T00:00:00|Unknown|Unknown|00:00:00|0|1|
106|106|now|gpu|RUNNING|0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|Unknown|00:30:00|1800|1|cpu=8,node=1
107|107|slow|gpu|TIMEOUT|0:0|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T01:00:00|01:00:00|3600|1|cpu=8,node=1
"""  # noqa: E501 - as it is printed


def read(tmp_path: Path, text: str, name: str = "sacct.txt") -> Reading:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    tree = Tree(tmp_path)
    sources = SacctReader().find(tree)
    assert len(sources) == 1
    return SacctReader().read(tree, sources[0])


def by_id(reading: Reading) -> dict[str, Run]:
    return {r.id: r for r in reading.runs}


def test_an_export(tmp_path: Path) -> None:
    reading = read(tmp_path, EXPORT)
    assert reading.problems == []
    assert reading.mentions == ["1 line of job arrays with tasks that have not begun"]
    jobs = by_id(reading)
    assert list(jobs) == ["101", "102_0", "102_1", "105", "106", "107"]
    job = jobs["101"]
    assert (job.started_at, job.ended_at, job.duration) == (START, START + 7200, 7200)
    assert job.outside == {"queue": 3600.0}
    assert job.resources == {
        "job_id": "101",
        "nodes": 2,
        "cpus": 64,
        "gpus": 8,
        "gpu_type": "a100",
        "partition": "gpu",
    }
    assert job.aliases == ("sweep-a",)
    assert job.directory is None
    assert job.sessions == []
    assert job.notes == (LOCAL_NOTE,)
    statuses = {k: j.status for k, j in jobs.items()}
    assert statuses == {
        "101": "completed",
        "102_0": "failed",
        "102_1": "killed",
        "105": "not_started",
        "106": "running",
        "107": "killed",
    }
    # The array's tasks share a name, so it names neither.
    assert jobs["102_0"].aliases == ("103",)
    assert jobs["102_1"].duration == 90_000
    assert (jobs["106"].started_at, jobs["106"].ended_at, jobs["106"].duration) == (START + 3600, None, 1800)
    assert (jobs["105"].started_at, jobs["105"].outside) == (None, {})


def test_trailing_separators_and_epochs(tmp_path: Path) -> None:
    text = "JobID|State|Submit|Start|End|Elapsed|\n7|COMPLETED|1767225000|1767225600|1767225660|01:00|\n"
    reading = read(tmp_path, text, "jobs.csv")
    job = by_id(reading)["7"]
    assert reading.problems == []
    assert (job.started_at, job.ended_at, job.duration) == (START, START + 60, 60)
    assert job.outside == {"queue": 600}
    assert job.notes == ()


def test_requeued_job_has_sessions(tmp_path: Path) -> None:
    """``sacct -D`` prints each stay; the same stay in a second export is one."""
    header = "JobID|State|Submit|Start|End|ElapsedRaw\n"
    first = "9|PREEMPTED|2026-01-01T00:00:00|2026-01-01T00:10:00|2026-01-01T01:10:00|3600\n"
    second = "9|COMPLETED|2026-01-01T01:10:00|2026-01-01T05:00:00|2026-01-01T06:00:00|3600\n"
    (tmp_path / "sacct_old.txt").write_text(header + first)
    job = by_id(read(tmp_path, header + first + second))["9"]
    assert [(s.started_at - START, s.ended_at - START) for s in job.sessions] == [(600, 4200), (18000, 21600)]
    assert job.status == "completed"
    assert job.outside == {"queue": 600 + 13800}
    assert job.files == ("sacct.txt", "sacct_old.txt")


def test_steps_alone_make_the_job(tmp_path: Path) -> None:
    text = (
        "JobID|State|Start|End|AllocTRES\n"
        "8.0|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:10:00|cpu=4,gres/gpu=2,node=1\n"
        "8.1|FAILED|2026-01-01T00:10:00|2026-01-01T00:15:00|cpu=4,gres/gpu=4,node=2\n"
    )
    job = by_id(read(tmp_path, text))["8"]
    assert (job.started_at, job.ended_at, job.status) == (START, START + 900, "failed")
    assert (job.resources["gpus"], job.resources["nodes"]) == (4, 2)
    assert job.outside == {}


@pytest.mark.parametrize(
    ("cells", "gpus"),
    [
        ("gres/gpu:h100=4,gres/gpu:a100=2|", 6),
        ("cpu=4|gpu:v100:2", 4),
        ("cpu=4,gres/gpu=0|gpu:2", 0),
        ("|gres:gpu:3(S:0-1)", 6),
        ("cpu=4,gres/gpumem=8G|", None),
    ],
)
def test_gpus(tmp_path: Path, cells: str, gpus: int | None) -> None:
    job = by_id(read(tmp_path, f"JobID|State|NNodes|AllocTRES|AllocGRES\n5|COMPLETED|2|{cells}\n"))["5"]
    assert job.resources.get("gpus") == gpus
    assert job.resources["nodes"] == 2


def test_an_hour_that_the_clocks_changed(tmp_path: Path) -> None:
    text = "JobID|State|Start|End|ElapsedRaw\n5|COMPLETED|2026-10-25T01:30:00|2026-10-25T02:30:00|7200\n"
    job = by_id(read(tmp_path, text))["5"]
    assert job.started_at is not None
    assert job.ended_at == job.started_at + 7200


def test_damage(tmp_path: Path) -> None:
    text = (
        "JobID|JobName|State|Submit|Start|End\r\n"
        "1|a|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:01|2026-01-01T00:00:09\r\n"
        "2|a|b|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:01|2026-01-01T00:00:09\r\n"
        "JobID|JobName|State|Submit|Start|End\r\n"
        "x|a|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:01|2026-01-01T00:00:09\r\n"
        "3|c|COMPLETED|2026-01-01T00:00:00|yesterday|2026-01-01T00:00:09\r\n"
        "4|d|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:10|2026-01-01T00:00:09\r\n"
        "5|e|PURPLE|2026-01-01T00:00:00|2026-01-01T00:00:01|2026-01-01T00:00:09\r\n"
        "6|f|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:0"
    )
    reading = read(tmp_path, "\ufeff" + text)
    jobs = by_id(reading)
    assert list(jobs) == ["1", "3", "4", "5"]
    assert [(p.line, p.severity) for p in reading.problems] == [
        (3, "warning"),
        (5, "warning"),
        (9, "info"),
        (6, "warning"),
        (7, "warning"),
        (8, "info"),
    ]
    assert jobs["3"].started_at is None
    assert jobs["4"].ended_at is None
    assert jobs["5"].status is None


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    reading = read(tmp_path, EXPORT)
    assert reading.runs == []
    assert [p.kind for p in reading.problems] == ["unreadable"]


def test_not_mine(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("JobID State\n1 COMPLETED\n")
    (tmp_path / "b.csv").write_text("run|section|count|total_seconds\n")
    (tmp_path / "c.txt").write_text("JobID|a|b\n")
    deep = tmp_path / "x" / "y" / "z"
    deep.mkdir(parents=True)
    (deep / "notes.txt").write_text(EXPORT)
    assert list(SacctReader().find(Tree(tmp_path))) == []


def test_no_other_layout_is_taken() -> None:
    folders = [p for p in (SHARED / "trackers").glob("*/*/*") if p.is_dir()]
    if not folders:
        pytest.skip(f"{SHARED / 'trackers'} is not there")
    for folder in folders:
        assert list(SacctReader().find(Tree(folder))) == [], folder


def test_jobs_join_their_runs(tmp_path: Path) -> None:
    """By the job id in a config, by the raw id of an array task, by the job's name; the rest is mentioned."""
    for name, config in (("a", "slurm:\n  job_id: 101\n"), ("b", "slurm_job_id: 103\n"), ("now", "lr: 1\n")):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        (folder / "config.yaml").write_text(config)
        (folder / "profile.json").write_text(
            '{"wall_seconds": 50, "sections": [{"section": "a", "count": 1, "total_seconds": 1}]}'
        )
    reading = read(tmp_path, EXPORT)
    tree = Tree(tmp_path)
    native = NativeReader()
    runs, problems, mentions = join([*(native.read(tree, s) for s in native.find(tree)), reading])
    assert problems == []
    found = {r.id: r for r in runs}
    assert set(found) == {"a", "b", "now"}
    assert found["a"].outside == {"queue": 3600.0}
    assert (found["a"].resources["gpus"], found["a"].resources["nodes"]) == (8, 2)
    assert found["b"].outside == {"queue": 30.0}
    assert found["now"].resources["job_id"] == "106"
    assert any("3 scheduler jobs match no run" in m for m in mentions)
