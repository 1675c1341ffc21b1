"""MLPerf logs: the public submissions against their truth, the three forms of a line, and damage to real files."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mkdocs_sweepprof.readers.base import Problem, Run
from mkdocs_sweepprof.readers.mlperf import MLPerfReader
from mkdocs_sweepprof.readers.tree import Tree

SHARED = Path(os.environ.get("SWEEPPROF_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
PUBLIC = SHARED / "trackers" / "public"
STATUS = {"success": "completed", "abort": "failed"}


def read_all(root: Path) -> tuple[dict[str, Run], list[Problem]]:
    tree = Tree(root)
    reader = MLPerfReader()
    readings = [reader.read(tree, source) for source in reader.find(tree)]
    runs = {run.id: run for reading in readings for run in reading.runs}
    assert len(runs) == sum(len(reading.runs) for reading in readings)
    return runs, [p for reading in readings for p in reading.problems]


def public(name: str) -> Path:
    folder = PUBLIC / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    return folder


# --- the public submissions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "count"), [("mlperf-v5.1", 250), ("mlperf-v0.6", 185)])
def test_every_run_equals_its_truth(name: str, count: int, record_property: Callable[[str, object], None]) -> None:
    folder = public(name)
    truth: dict[str, Any] = json.loads((folder / "truth.json").read_text())
    began = time.perf_counter()
    runs, problems = read_all(folder)
    record_property(f"reading the {count} runs of {name}, s", round(time.perf_counter() - began, 2))
    assert problems == []
    assert len(runs) == len(truth) == count
    by_file = {run.files[0]: run for run in runs.values()}
    wrong = []
    for file, expected in truth.items():
        run = by_file[file]
        assert run.id == file.removesuffix(".txt")
        wrong += [(file, k) for k, v in expected["config"].items() if run.config.get(k) != v]
        if run.status != STATUS[expected["status"]]:
            wrong.append((file, "status"))
        assert run.started_at is not None
        assert run.ended_at is not None
        if abs(run.ended_at - run.started_at - expected["wall_s"]) > 0.0011:
            wrong.append((file, "wall"))
        if [run.events[0].event, run.events[-1].event] != ["run_start", "run_end"]:
            wrong.append((file, "events"))
        sections = {s.path.rpartition("/")[2]: (s.count, s.total_seconds) for s in run.sections}
        assert "init" not in sections
        sections["init"] = (1, run.outside["init"])
        for kind, span in expected["sections"].items():
            got = sections.get(kind, (0, 0.0))
            if got[0] != span["count"] or abs(got[1] - span["total_s"]) > 0.0011:
                wrong.append((file, kind, got, span))
    assert wrong == [], f"{count - len({w[0] for w in wrong})} of {count} runs are right"


def test_paths_and_overlaps() -> None:
    shapes: dict[str, set[tuple[tuple[str, bool], ...]]] = {}
    for name in ("mlperf-v5.1", "mlperf-v0.6"):
        for run in read_all(public(name))[0].values():
            shape = tuple(sorted((s.path, s.overlapping) for s in run.sections))
            shapes.setdefault(f"{name}/{run.config['submission_benchmark']}", set()).add(shape)
            # What is not flagged fits into the wall.
            outermost = [s for s in run.sections if "/" not in s.path and not s.overlapping]
            assert run.ended_at is not None
            assert run.started_at is not None
            assert sum(s.total_seconds for s in outermost) <= (run.ended_at - run.started_at) * 1.001
    nested = {(("epoch", False), ("epoch/block", False), ("epoch/eval", False))}
    assert shapes["mlperf-v5.1/llama31_8b"] == nested
    assert shapes["mlperf-v5.1/llama2_70b_lora"] == {(("block", False), ("eval", False))}
    assert shapes["mlperf-v5.1/dlrm_dcnv2"] == {(("epoch", False), ("epoch/eval", False))}
    assert shapes["mlperf-v5.1/retinanet"] == {(("epoch", False), ("eval", True))}
    assert shapes["mlperf-v0.6/gnmt"] == {(("block", True), ("block/eval", False))}
    assert shapes["mlperf-v0.6/resnet"] == {(("block", False),)}


def test_overlapping_blocks_are_paired_by_their_epoch() -> None:
    """Against an independent pairing of the raw lines, where stops name the epochs that starts name."""
    folder = public("mlperf-v0.6")
    runs, _ = read_all(folder)
    line = re.compile(r":::MLL ([\d.]+) (block_start|block_stop|run_stop): .*?(?:\"first_epoch_num\": ([\d.]+)|$)")
    checked = 0
    for run in runs.values():
        if run.config["submission_benchmark"] == "gnmt":
            continue
        begun: dict[float, float] = {}
        spans = []
        end = run.ended_at or 0.0
        for match in line.finditer((folder / run.files[0]).read_text()):
            if match[2] == "block_start":
                begun[float(match[3])] = float(match[1])
            elif match[2] == "block_stop":
                begin = begun.pop(float(match[3]))
                if begin < end:
                    stop = float(match[1])
                    spans.append(end - begin if stop > end + 0.01 else stop - begin)
        block = next(s for s in run.sections if s.path == "block")
        assert (block.count, block.total_seconds) == (len(spans), pytest.approx(sum(spans), abs=1e-3)), run.id
        checked += 1
    assert checked == 135


def test_the_oldest_form() -> None:
    """No truth for v0.5: walls, outcomes and evals against the raw lines."""
    folder = public("mlperf-v0.5")
    runs, problems = read_all(folder)
    assert problems == []
    assert len(runs) == 43
    outcomes: dict[str | None, int] = {}
    for run in runs.values():
        raw = (folder / run.files[0]).read_text()

        def stamps(key: str, raw: str = raw) -> list[float]:
            return [float(t) for t in re.findall(rf"^:::MLPv0\.5\.0 \w+ ([\d.]+) \(.*?\) {key}\b", raw, re.M)]

        assert run.started_at == stamps("run_start")[0]
        assert run.ended_at == stamps("run_stop")[0]
        evals = next(s for s in run.sections if s.path == "eval")
        assert evals.count == len(stamps("eval_start"))
        assert evals.total_seconds == pytest.approx(sum(stamps("eval_stop")) - sum(stamps("eval_start")), abs=1e-3)
        assert run.config["submission_benchmark"] == run.id.split("/")[-2]
        assert run.config["system"] == run.id.split("/")[-3]
        outcomes[run.status] = outcomes.get(run.status, 0) + 1
    assert outcomes == {"completed": 32, "failed": 6, None: 5}


def test_no_other_layout_is_taken() -> None:
    seen = 0
    for folder in sorted(p for p in (SHARED / "trackers").glob("made/*/*") if p.is_dir()):
        seen += 1
        assert list(MLPerfReader().find(Tree(folder))) == [], folder
    if not seen:
        pytest.skip(f"{SHARED / 'trackers'} is not there")


# --- the forms -----------------------------------------------------------------------------------------------------


def mllog(seconds: float, key: str, value: Any = None, rank: str = "", **metadata: Any) -> str:
    content = {
        "namespace": "",
        "time_ms": int(1.7e12 + seconds * 1000),
        "event_type": "POINT_IN_TIME",
        "key": key,
        "value": value,
        "metadata": {"file": "train.py", "lineno": 3, **metadata},
    }
    return f"{rank}:::MLLOG {json.dumps(content)}\n"


def a_run(at: float = 0.0, status: str = "success") -> str:
    return (
        mllog(at, "init_start")
        + mllog(at + 1, "submission_benchmark", "bert")
        + mllog(at + 2, "global_batch_size", 64)
        + "some other output\n"
        + mllog(at + 10, "init_stop")
        + mllog(at + 10, "run_start")
        + mllog(at + 11, "epoch_start", epoch_num=0)
        + mllog(at + 20, "eval_start")
        + mllog(at + 25, "eval_accuracy", 0.5)
        + mllog(at + 25, "eval_stop")
        + mllog(at + 30, "epoch_stop", epoch_num=0)
        + mllog(at + 31, "run_stop", status=status)
    )


def read_text(tmp_path: Path, text: str, name: str = "sys/bert/result_0.txt") -> tuple[list[Run], list[Problem]]:
    path = tmp_path / "results" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    runs, problems = read_all(tmp_path)
    return list(runs.values()), problems


def test_a_whole_run(tmp_path: Path) -> None:
    (run,), problems = read_text(tmp_path, a_run())
    assert problems == []
    assert run.id == "results/sys/bert/result_0"
    assert run.config == {
        "submission_benchmark": "bert",
        "global_batch_size": 64,
        "system": "sys",
    }
    assert run.outside == {"init": 10.0}
    assert [(s.path, s.count, s.total_seconds) for s in run.sections] == [("epoch", 1, 19.0), ("epoch/eval", 1, 5.0)]
    assert [e.event for e in run.events] == ["run_start", "eval_stop", "epoch_end", "run_end"]
    assert run.status == "completed"


@pytest.mark.parametrize(("status", "expected"), [("aborted", "failed"), ("abort", "failed"), ("odd", None)])
def test_status(tmp_path: Path, status: str, expected: str | None) -> None:
    (run,), problems = read_text(tmp_path, a_run(status=status))
    assert run.status == expected
    assert len(problems) == (expected is None)


def test_unfinished_and_not_begun(tmp_path: Path) -> None:
    whole = a_run().splitlines(keepends=True)
    read_text(tmp_path, "".join(whole[:-2]))
    read_text(tmp_path, "".join(whole[:4]), "sys/bert/result_1.txt")
    runs, problems = read_text(tmp_path, "", "sys/bert/result_2.txt")
    assert problems == []
    assert [r.status for r in runs] == ["running", "not_started", "not_started"]
    assert runs[0].last_activity == 1.7e9 + 25
    assert [(s.path, s.total_seconds) for s in runs[0].sections] == [("eval", 5.0)]
    assert any("epoch_start has no epoch_stop" in n for n in runs[0].notes)


def test_ranks_repeat_keys(tmp_path: Path) -> None:
    text = "".join(
        mllog(t + r / 10, key, value, f"{r}: ")
        for t, key, value in [
            (0, "init_start", None),
            (1, "seed", 7),
            (5, "init_stop", None),
            (6, "run_start", None),
            (7, "eval_start", None),
            (9, "eval_stop", None),
            (12, "run_stop", None),
        ]
        for r in range(4)
    )
    (run,), problems = read_text(tmp_path, text)
    assert problems == []
    assert run.started_at == 1.7e9 + 6
    assert run.ended_at == 1.7e9 + 12
    assert [(s.path, s.count, s.total_seconds) for s in run.sections] == [("eval", 1, 2.0)]
    assert run.config["seed"] == 7
    assert run.status is None  # run_stop says nothing


def test_a_second_attempt_in_one_file(tmp_path: Path) -> None:
    killed = "".join(a_run().splitlines(keepends=True)[:-2])
    runs, _ = read_text(tmp_path, killed + a_run(500))
    assert [(r.id.rpartition("/")[2], r.status) for r in runs] == [("result_0", "running"), ("result_0#2", "completed")]
    assert [r.outside["init"] for r in runs] == [10.0, 10.0]
    runs, _ = read_text(tmp_path, a_run() + a_run(500))
    assert [r.status for r in runs] == ["completed", "completed"]


def test_two_markers_in_one_line(tmp_path: Path) -> None:
    text = a_run().replace(
        "some other output\n", "0: noise " + mllog(3, "seed", 1).strip() + mllog(3, "opt_name", "lamb")
    )
    (run,), problems = read_text(tmp_path, text)
    assert problems == []
    assert (run.config["seed"], run.config["opt_name"]) == (1, "lamb")


def test_series_are_no_settings(tmp_path: Path) -> None:
    text = a_run().replace("some other output\n", "".join(mllog(3 + i / 10, "shape", [i, i]) for i in range(9)))
    text = text.replace("shape", "shape", 1) + mllog(40, "tracked_stats", {"throughput": 3})
    (run,), _ = read_text(tmp_path, text)
    assert "shape" not in run.config
    assert not any("throughput" in key for key in run.config)


# --- damage to real files ------------------------------------------------------------------------------------------


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """One log of each form; the path of the copy's folder."""
    for version, pattern in (
        ("v5.1", "GigaComputing/results/G894-AD1_pytorch/llama2_70b_lora/result_0.txt"),
        ("v0.6", "Google/results/tpu-v3-32/resnet/result_0.txt"),
        ("v0.5", "v0.5.0/nvidia/submission/results/dgx1_ngc18.11_mxnet/resnet/result_0.txt"),
    ):
        source = public(f"mlperf-{version}") / pattern
        target = tmp_path / version / "results" / source.parts[-3] / source.parts[-2] / source.name
        target.parent.mkdir(parents=True)
        shutil.copy(source, target)
    return tmp_path


def logs(root: Path) -> list[Path]:
    return sorted(p for p in root.rglob("result_0.txt*") if p.is_file())


def summary(root: Path) -> list[Any]:
    runs, _ = read_all(root)
    return [(r.id, r.status, r.started_at, r.ended_at, r.config, r.sections, r.outside) for r in runs.values()]


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: b"\xef\xbb\xbf" + raw,
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: raw.decode().encode("utf-16"),
        lambda raw: raw + "Jérôme's run\n".encode("latin-1"),
        lambda raw: raw + b"\0" * 4096,
        lambda raw: b"\x1b[32mnoise\x1b[0m\n" * 100 + raw,
    ],
    ids=["BOM", "CRLF", "UTF-16", "Latin-1", "NULs", "noise"],
)
def test_harmless_damage_changes_nothing(real: Path, change: Callable[[bytes], bytes]) -> None:
    plain = summary(real)
    assert len(plain) == 3
    for path in logs(real):
        path.write_bytes(change(path.read_bytes()))
    assert summary(real) == plain
    assert read_all(real)[1] == []


def test_gz(real: Path) -> None:
    plain = summary(real)
    for path in logs(real):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert summary(real) == plain


def test_header_repeated(real: Path) -> None:
    """The first lines (settings, init) written twice: the first of each counts."""
    plain = summary(real)
    for path in logs(real):
        lines = path.read_bytes().splitlines(keepends=True)
        start = next(i for i, line in enumerate(lines) if b"run_start" in line)
        path.write_bytes(b"".join(lines[:start] + lines))
    assert [s[:5] for s in summary(real)] == [s[:5] for s in plain]


def test_half_last_line(real: Path) -> None:
    for path in logs(real):
        raw = path.read_bytes()
        cut = raw.index(b"run_stop")
        path.write_bytes(raw[: cut - 3])
    runs, problems = read_all(real)
    assert [r.status for r in runs.values()] == ["running"] * 3
    assert {p.severity for p in problems} == {"info"}
    assert len(problems) == 3
    assert all(p.line for p in problems)


def test_cut_anywhere_never_raises(real: Path) -> None:
    for path in logs(real):
        whole = path.read_bytes()
        for cut in range(0, len(whole), len(whole) // 40):
            path.write_bytes(whole[:cut])
            runs, problems = read_all(real)
            assert len(runs) >= 2
            assert all(p.severity == "info" for p in problems)
        path.write_bytes(whole)


@pytest.mark.parametrize("bad", ["NaN", "Infinity", "-Infinity", "12345678901234567890", '"noon"', "null", "[]"])
def test_bad_clock_values(real: Path, bad: str) -> None:
    """A run_start whose time is no time: the run and its spans are there, and a message says what its wall is."""
    path = next(p for p in logs(real) if "v5.1" in p.as_posix())
    before = next(r for r in read_all(real)[0].values() if r.id.startswith("v5.1"))
    text = path.read_text()
    number, line = next((n, part) for n, part in enumerate(text.splitlines(), 1) if '"run_start"' in part)
    path.write_text(text.replace(line, re.sub(r'"time_ms": \d+', f'"time_ms": {bad}', line)))
    runs, problems = read_all(real)
    run = next(r for r in runs.values() if r.id.startswith("v5.1"))
    assert run.started_at is None
    assert run.status == "completed"
    assert run.sections == before.sections
    assert run.events == []
    assert run.first_activity == pytest.approx(before.started_at, abs=0.1)
    assert run.last_activity == before.ended_at
    assert problems
    assert {(p.kind, p.line) for p in problems} == {("time", number)}


def test_bad_time_of_the_stop(real: Path) -> None:
    path = next(p for p in logs(real) if "v5.1" in p.as_posix())
    before = next(r for r in read_all(real)[0].values() if r.id.startswith("v5.1"))
    line = next(part for part in path.read_text().splitlines() if '"run_stop"' in part)
    path.write_text(path.read_text().replace(line, re.sub(r'"time_ms": \d+', '"time_ms": null', line)))
    runs, problems = read_all(real)
    run = next(r for r in runs.values() if r.id.startswith("v5.1"))
    assert (run.status, run.ended_at) == ("completed", None)
    assert run.last_activity == pytest.approx(before.ended_at, abs=0.1)
    assert [p.kind for p in problems] == ["time"]


def test_clock_set_back(real: Path) -> None:
    path = next(p for p in logs(real) if "v5.1" in p.as_posix())
    text = path.read_text()
    line = next(part for part in text.splitlines() if '"run_stop"' in part)
    path.write_text(text.replace(line, re.sub(r'"time_ms": 17', '"time_ms": 16', line)))
    runs, problems = read_all(real)
    run = next(r for r in runs.values() if r.id.startswith("v5.1"))
    assert run.ended_at is None
    assert [(p.kind, p.line) for p in problems] == [("time", text.splitlines().index(line) + 1)]
    assert all(s.total_seconds >= 0 for s in run.sections)


def test_seconds_where_milliseconds_belong(real: Path) -> None:
    path = next(p for p in logs(real) if "v5.1" in p.as_posix())
    before = next(r for r in read_all(real)[0].values() if r.id.startswith("v5.1"))
    scaled = re.sub(r'"time_ms": (\d+)', lambda m: f'"time_ms": {int(m[1]) / 1000}', path.read_text())
    path.write_text(scaled)
    runs, problems = read_all(real)
    run = next(r for r in runs.values() if r.id.startswith("v5.1"))
    assert (run.started_at, run.ended_at) == (before.started_at, before.ended_at)
    assert [(p.kind, p.severity) for p in problems] == [("time", "info")]


def test_milliseconds_where_seconds_belong(real: Path) -> None:
    path = next(p for p in logs(real) if "v0.6" in p.as_posix())
    before = next(r for r in read_all(real)[0].values() if r.id.startswith("v0.6"))
    path.write_text(re.sub(r":::MLL (\d+\.\d+)", lambda m: f":::MLL {float(m[1]) * 1000:.3f}", path.read_text()))
    run = next(r for r in read_all(real)[0].values() if r.id.startswith("v0.6"))
    assert run.started_at == pytest.approx(before.started_at, abs=1e-3)
    assert run.ended_at == pytest.approx(before.ended_at, abs=1e-3)


def test_garbled_line_in_the_middle(real: Path) -> None:
    path = next(p for p in logs(real) if "v5.1" in p.as_posix())
    lines = path.read_text().splitlines()
    lines.insert(10, ':::MLLOG {"namespace": "", "time_ms": 17595')
    path.write_text("\n".join(lines) + "\n")
    runs, problems = read_all(real)
    assert [(p.severity, p.line) for p in problems] == [("warning", 11)]
    assert all(r.status != "running" for r in runs.values())


def test_no_permission(real: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    runs, problems = read_all(real)
    assert [r.unreadable for r in runs.values()] == [True] * 3
    assert len(problems) == 3
    assert all("Permission denied" in p.message for p in problems)
