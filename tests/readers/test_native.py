"""The native layout: the published collections, the rules of the design, and damage to real files."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from mkdocs_sweepprof.readers.base import Problem, Reading, Run
from mkdocs_sweepprof.readers.native import NativeReader
from mkdocs_sweepprof.readers.tree import Tree

SHARED = Path(os.environ.get("SWEEPPROF_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
PUBLISHED = SHARED / "published"
HOUR = 3600.0


def write(folder: Path, **files: Any) -> Path:
    """Files by name with ``__`` for the dot: text, bytes, rows (jsonl) or an object (json)."""
    folder.mkdir(parents=True, exist_ok=True)
    for key, content in files.items():
        path = folder / key.replace("__", ".")
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        elif path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
        else:
            path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return folder


def read_all(root: Path) -> list[Reading]:
    tree = Tree(root)
    reader = NativeReader()
    return [reader.read(tree, source) for source in reader.find(tree)]


def read_one(root: Path) -> tuple[Run, list[Problem]]:
    readings = read_all(root)
    assert len(readings) == 1
    assert len(readings[0].runs) == 1
    return readings[0].runs[0], readings[0].problems


def run_of(tmp_path: Path, config: str = "lr: 0.1\n", **files: Any) -> tuple[Run, list[Problem]]:
    write(tmp_path / "runs" / "a", config__yaml=config, **files)
    return read_one(tmp_path)


def span(start: float, end: float, section: str) -> list[dict[str, Any]]:
    return [
        {"time": start, "event": "section_start", "section": section},
        {"time": end, "event": "section_end", "section": section},
    ]


def log(*rows: tuple[float, str], **last: Any) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [{"time": t, "event": e} for t, e in rows]
    made[-1].update(last)
    return made


# --- the published collections -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["continuous-v2", "continuous-v3-beta-schedule"])
def test_published_walls(name: str) -> None:
    folder = PUBLISHED / "from-entangled-v2" / name
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    readings = read_all(folder)
    facts = json.loads((PUBLISHED / "facts" / f"{name}.json").read_text())
    assert len(readings) == facts["runtime.count"] == 36
    assert [p for r in readings for p in r.problems] == []
    walls = []
    for reading in readings:
        run = reading.runs[0]
        assert run.config["task_name"]
        assert not run.sessions
        if run.events:
            assert run.status == "completed"
            walls.append(run.events[-1].time - run.events[0].time)
            assert [run.events[0].event, run.events[-1].event] == ["run_start", "run_end"]
        else:
            assert run.status is None
            assert run.profile_wall is not None
            walls.append(run.profile_wall)
            assert len(run.sections) > 5
    assert sum(walls) / 36 == pytest.approx(facts["runtime.mean"], abs=1e-6)
    assert [min(walls), max(walls)] == pytest.approx([facts["runtime.min"], facts["runtime.max"]], abs=1e-6)


def test_no_other_layout_is_taken() -> None:
    made = SHARED / "trackers"
    if not made.is_dir():
        pytest.skip(f"{made} is not there")
    seen = 0
    for folder in sorted(p for p in (*made.glob("made/*/*"), *made.glob("public/*")) if p.is_dir()):
        seen += 1
        assert list(NativeReader().find(Tree(folder))) == [], folder
    assert seen > 20


# --- recognising ---------------------------------------------------------------------------------------------------


def test_ids_leave_out_runs_and_keep_nesting(tmp_path: Path) -> None:
    profile = {"sections": [{"section": "a", "count": 1, "total_seconds": 1.0}]}
    write(tmp_path / "runs" / "x", config__json={"a": 1}, profile__json=profile)
    write(tmp_path / "runs" / "g" / "y", config__yml="a: 2\n", profile__json=profile)
    write(tmp_path / "elsewhere" / "z", config__yaml="a: 3\n", events__jsonl=log((0, "run_start")))
    runs = {r.runs[0].id: r.runs[0] for r in read_all(tmp_path)}
    assert set(runs) == {"x", "g/y", "elsewhere/z"}
    assert runs["g/y"].directory == "runs/g/y"
    assert runs["g/y"].aliases == ("y",)
    assert [runs[k].config["a"] for k in ("x", "g/y", "elsewhere/z")] == [1, 2, 3]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"config__yaml": "a: 1\n"}, True),
        ({"config__yaml": "a: 1\n", "job__out": "srun: started\n"}, True),
        ({"config__json": '{"architectures": ["GPT2"], "model_type": "gpt2"}'}, False),
        ({"config__json": '{"a": 1}', "trainer_state__json": "{}"}, False),
        ({"config__yaml": "wandb_version: 1\n"}, False),
        ({"config__yaml": "a: 1\n", "train__log": ":::MLL 1.0 run_start: {}\n"}, False),
        ({"profile__json": '{"traceEvents": []}'}, False),
        ({"profile__json": "{"}, True),
        ({"events__jsonl": '{"type": "metric", "value": 3}\n'}, False),
    ],
)
def test_recognised_below_runs(tmp_path: Path, files: dict[str, str], found: bool) -> None:
    write(tmp_path / "runs" / "a", **files)
    assert len(NativeReader().find(Tree(tmp_path))) == int(found)


def test_not_recognised_elsewhere(tmp_path: Path) -> None:
    write(tmp_path / "a", config__yaml="a: 1\n")
    write(tmp_path / "b", profile__json='{"wall": 3}')
    write(tmp_path / "c", events__jsonl='{"value": 3}\n')
    write(tmp_path, events__jsonl='{"run": "a", "time": 1, "event": "run_start"}\n')
    assert list(NativeReader().find(Tree(tmp_path))) == []


def test_lone_config_is_not_started(tmp_path: Path) -> None:
    run, problems = run_of(tmp_path)
    assert (run.status, run.unreadable, run.config, problems) == ("not_started", False, {"lr": 0.1}, [])


# --- config --------------------------------------------------------------------------------------------------------

PROFILE = {"wall_seconds": 9.0, "sections": [{"section": "a", "count": 2, "total_seconds": 8.0}]}


def test_missing_config_keeps_the_run(tmp_path: Path) -> None:
    write(tmp_path / "runs" / "a", profile__json=PROFILE)
    run, problems = read_one(tmp_path)
    assert run.profile_wall == 9.0
    assert [(p.kind, p.severity, p.path) for p in problems] == [("config", "warning", "runs/a")]


def test_broken_config_names_its_line_and_keeps_the_run(tmp_path: Path) -> None:
    run, problems = run_of(tmp_path, "a: 1\nb: [1, 2\nc: 3\n", profile__json=PROFILE)
    assert run.profile_wall == 9.0
    assert run.config == {}
    assert [(p.path, p.line, p.kind) for p in problems] == [("runs/a/config.yaml", 3, "config")]


def test_config_must_be_a_mapping(tmp_path: Path) -> None:
    run, problems = run_of(tmp_path, "- a\n- b\n", profile__json=PROFILE)
    assert run.config == {}
    assert "mapping" in problems[0].message
    assert "list" in problems[0].message


def test_yaml_is_preferred_over_json(tmp_path: Path) -> None:
    run, problems = run_of(tmp_path, "a: 1\n", config__json={"a": 2}, profile__json=PROFILE)
    assert run.config == {"a": 1}
    assert [(p.path, p.severity) for p in problems] == [("runs/a/config.json", "info")]


def test_config_values(tmp_path: Path) -> None:
    text = """
model: {depth: 2, name: !mine.Enum big}
cls: !!python/object/apply:os.system ["touch /nowhere/owned"]
nan: .nan
inf: -.inf
lr: 1e-3
big: 12345678901234567890
tuple: !!python/tuple [1, 2]
"""
    run, problems = run_of(tmp_path, text, profile__json=PROFILE)
    assert problems == []
    config = run.config
    assert (config["model.depth"], config["lr"], config["big"]) == (2, 0.001, 12345678901234567890)
    assert (config["nan"], config["inf"]) == ("nan", "-inf")
    assert isinstance(config["cls"], str)
    assert "os.system" in config["cls"]
    assert str(config["model.name"]).endswith("big")
    assert str(config["tuple"]).endswith("[1, 2]")


def test_yaml_bomb_is_bounded(tmp_path: Path) -> None:
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    for i in range(1, 12):
        text += f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n"
    run, _ = run_of(tmp_path, text, profile__json=PROFILE)
    assert all(len(str(v)) <= 2_000 for v in run.config.values())
    assert len(run.config) == 12


# --- profile -------------------------------------------------------------------------------------------------------


def test_bad_section_rows_cost_the_row_and_name_the_line(tmp_path: Path) -> None:
    text = """{
 "wall_seconds": 100.0,
 "sections": [
  {"section": "fine", "count": 3, "total_seconds": 1.5},
  {"section": "zero", "count": 0, "total_seconds": 1.5},
  {
   "section": "half",
   "count": 2.5,
   "total_seconds": 1.5
  },
  {"section": "negative", "count": -1, "total_seconds": 1.5},
  {
   "section": "back", "count": 1,
   "total_seconds": -3
  },
  {"section": "nan", "count": 1, "total_seconds": NaN},
  {"section": "text", "count": "4", "total_seconds": 1.0}, 17,
  {"count": 1, "total_seconds": 1.0},
  {"section": "inf", "count": 1, "total_seconds": Infinity},
  {"section": "true", "count": true, "total_seconds": 1.0},
  {"section": "whole", "count": 4.0, "total_seconds": 2}
 ]
}
"""
    run, problems = run_of(tmp_path, profile__json=text)
    assert [(s.path, s.count, s.total_seconds) for s in run.sections] == [("fine", 3, 1.5), ("whole", 4, 2.0)]
    assert run.profile_wall == 100.0
    named = {p.line: p.message for p in problems}
    assert sorted(named) == [5, 8, 11, 14, 16, 17, 18, 19, 20]
    assert len(problems) == 10  # line 17 holds two
    assert "'zero'" in named[5]
    assert "count is 0" in named[5]
    assert "'back'" in named[14]
    assert "total_seconds is -3" in named[14]
    assert all(p.severity == "warning" and p.remedy and p.path == "runs/a/profile.json" for p in problems)
    assert all(p.run == "a" for p in problems)


def test_lines_are_right_with_tricky_text(tmp_path: Path) -> None:
    text = '{"note": "\\"sections\\": [ {",\n "sections":\n [{"section": "a, b {c}", "count": 0, "total_seconds": 1},\n'
    text += ' {"section": "d\\"]", "extra": [1, {"x": 2}, 3], "count": 0, "total_seconds": 1}], "wall_seconds":\n -1}'
    _, problems = run_of(tmp_path, profile__json=text)
    assert sorted((p.line, p.message.split(":")[0]) for p in problems) == [
        (3, "section 'a, b {c}'"),
        (4, "section 'd\"]'"),
        (4, "wall_seconds is -1; it is not used."),
    ]


def test_duplicate_sections_are_added_up(tmp_path: Path) -> None:
    rows = [{"section": s, "count": 2, "total_seconds": 3.0} for s in ("a", "/a/", "b")]
    run, problems = run_of(tmp_path, profile__json={"sections": rows})
    assert [(s.path, s.count, s.total_seconds) for s in run.sections] == [("a", 4, 6.0), ("b", 2, 3.0)]
    assert len(problems) == 1
    assert problems[0].severity == "warning"
    assert problems[0].line == 9


@pytest.mark.parametrize("wall", ["-5", "0", "NaN", "Infinity", '"12"', "true", "1" + "0" * 400])
def test_bad_wall_is_ignored(tmp_path: Path, wall: str) -> None:
    text = f'{{"wall_seconds": {wall},\n"sections": [{{"section": "a", "count": 1, "total_seconds": 1}}]}}'
    run, problems = run_of(tmp_path, profile__json=text)
    assert run.profile_wall is None
    assert not run.unreadable
    assert [p.line for p in problems] == [1]


def test_broken_profile_with_nothing_else_is_unreadable(tmp_path: Path) -> None:
    run, problems = run_of(tmp_path, profile__json='{"wall_seconds": 3,\n "sections": [')
    assert run.unreadable
    assert run.config == {"lr": 0.1}
    assert [(p.kind, p.line) for p in problems] == [("unreadable", 2)]


def test_broken_profile_with_events_costs_the_profile(tmp_path: Path) -> None:
    run, problems = run_of(tmp_path, profile__json="{", events__jsonl=log((0, "run_start"), (5, "run_end")))
    assert not run.unreadable
    assert run.status == "completed"
    assert len(problems) == 1


def test_many_bad_rows_are_counted_not_listed(tmp_path: Path) -> None:
    rows = [{"section": f"s{i}", "count": 0, "total_seconds": 1} for i in range(500)]
    _, problems = run_of(tmp_path, profile__json={"sections": rows})
    assert len(problems) == 11
    assert problems[-1].message == "490 more problems like these."


# --- events --------------------------------------------------------------------------------------------------------


def test_time_forms(tmp_path: Path) -> None:
    rows = [
        {"time": "2026-04-12T09:00:00", "event": "run_start"},
        {"time": "2026-04-12T11:00:00+02:00", "event": "a"},
        {"time": "2026-04-12T09:00:01Z", "event": "b"},
        {"time": "2026-04-12 09:00:02.5", "event": "c"},
        {"time": 1775984403, "event": "run_end"},
    ]
    run, problems = run_of(tmp_path, events__jsonl=rows)
    assert problems == []
    assert [e.time - 1775984400 for e in run.events] == [0, 0, 1, 2.5, 3]


def test_milliseconds_are_recognised_and_said(tmp_path: Path) -> None:
    rows = log((1775984400000, "run_start"), (1775984460500, "run_end"))
    run, problems = run_of(tmp_path, events__jsonl=rows)
    assert run.events[-1].time - run.events[0].time == 60.5
    assert [(p.severity, p.kind, p.line) for p in problems] == [("info", "time", 1)]


def test_unusable_rows(tmp_path: Path) -> None:
    text = (
        '{"time": 0, "event": "run_start"}\n'
        '{"event": "no time"}\n'
        "\n"
        '{"time": "yesterday", "event": "x"}\n'
        "not json\n"
        "[1]\n"
        '{"time": 5}\n'
        '{"time": 99999999999999999999, "event": "huge"}\n'
        '{"time": 5, "event": "section_end", "section": "never/started"}\n'
        '{"time": 9, "event": "run_end", "status": "success"}\n'
    )
    run, problems = run_of(tmp_path, events__jsonl=text)
    assert [e.event for e in run.events] == ["run_start", "run_end"]
    assert sorted(p.line or 0 for p in problems) == [2, 4, 5, 6, 7, 8, 9]
    assert {p.severity for p in problems} == {"warning"}
    assert run.status == "completed"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("completed", "completed"),
        ("success", "completed"),
        ("OK", "completed"),
        ("Crashed", "failed"),
        ("exception", "failed"),
        ("early-stopped", "pruned"),
        ("pruned", "pruned"),
        ("cancelled", "failed"),
        (None, "completed"),
    ],
)
def test_status_words(tmp_path: Path, status: str | None, expected: str) -> None:
    rows = log((0, "run_start"), (9, "run_end"), **({"status": status} if status else {}))
    run, problems = run_of(tmp_path, events__jsonl=rows)
    assert (run.status, problems) == (expected, [])


def test_unknown_status_is_not_invented(tmp_path: Path) -> None:
    run, problems = run_of(tmp_path, events__jsonl=log((0, "run_start"), (9, "run_end"), status="purple"))
    assert run.status is None
    assert [(p.severity, p.line) for p in problems] == [("info", 2)]


def test_no_end(tmp_path: Path) -> None:
    run, _ = run_of(tmp_path, events__jsonl=log((0, "run_start"), (50, "checkpoint")))
    assert (run.status, run.first_activity, run.last_activity) == ("running", 0, 50)


def test_no_end_but_recorded_wall(tmp_path: Path) -> None:
    run, _ = run_of(tmp_path, events__jsonl=log((0, "run_start"), (50, "checkpoint")), profile__json=PROFILE)
    assert run.status is None


def test_empty_log(tmp_path: Path) -> None:
    run, _ = run_of(tmp_path, events__jsonl="")
    assert run.status == "not_started"
    assert not run.unreadable


def test_resumed_run_has_sessions(tmp_path: Path) -> None:
    rows = log(
        (0, "run_start"),
        (HOUR, "checkpoint"),
        (2 * HOUR, "checkpoint"),
        (12 * HOUR, "run_start"),
        (13 * HOUR, "checkpoint"),
        (14 * HOUR, "run_end"),
    )
    run, problems = run_of(tmp_path, events__jsonl=rows)
    assert problems == []
    assert [(s.started_at, s.ended_at) for s in run.sessions] == [(0, 2 * HOUR), (12 * HOUR, 14 * HOUR)]
    assert sum(s.ended_at - s.started_at for s in run.sessions) == 4 * HOUR
    assert run.status == "completed"
    assert len(run.events) == 6


def test_resume_without_a_start_and_unfinished_again(tmp_path: Path) -> None:
    rows = log((0, "checkpoint"), (5, "run_end"), (7, "upload"), (100, "resume"), (110, "checkpoint"))
    run, _ = run_of(tmp_path, events__jsonl=rows)
    assert [(s.started_at, s.ended_at) for s in run.sessions] == [(0, 5), (100, 110)]
    assert run.status == "running"


def test_a_start_written_twice_is_one_session(tmp_path: Path) -> None:
    run, problems = run_of(tmp_path, events__jsonl=log((0, "run_start"), (0.2, "run_start"), (9, "run_end")))
    assert run.sessions == []
    assert len(run.events) == 2
    assert [(p.severity, p.kind) for p in problems] == [("info", "duplicate")]


def test_events_before_the_start_are_no_session(tmp_path: Path) -> None:
    run, _ = run_of(tmp_path, events__jsonl=log((0, "queued"), (500, "run_start"), (600, "run_end")))
    assert run.sessions == []


def test_one_row_that_goes_back(tmp_path: Path) -> None:
    rows = log((0, "run_start"), (100, "a"), (40, "b"), (200, "c"), (199.5, "d"), (300, "run_end"))
    run, problems = run_of(tmp_path, events__jsonl=rows)
    times = [("run_start", 0), ("a", 100), ("c", 200), ("d", 200), ("run_end", 300)]
    assert [(e.event, e.time) for e in run.events] == times
    assert [(p.kind, p.severity, p.line) for p in problems] == [("time", "warning", 3)]
    assert "60.0 s before" in problems[0].message


def test_one_wild_reading_does_not_cost_the_rest(tmp_path: Path) -> None:
    rows = log((0, "run_start"), (10, "a"), (9_999_999, "wild"), (20, "b"), (30, "c"), (40, "run_end"))
    run, problems = run_of(tmp_path, events__jsonl=rows)
    assert [e.event for e in run.events] == ["run_start", "a", "b", "c", "run_end"]
    assert [(p.line, p.kind) for p in problems] == [(3, "time")]


def test_jitter_is_smoothed_without_a_word(tmp_path: Path) -> None:
    run, problems = run_of(tmp_path, events__jsonl=log((0, "run_start"), (5, "a"), (4.9, "b"), (9, "run_end")))
    assert problems == []
    assert [e.time for e in run.events] == [0, 5, 5, 9]


# --- spans ---------------------------------------------------------------------------------------------------------


def test_spans_become_sections(tmp_path: Path) -> None:
    rows = [
        {"time": 0, "event": "run_start"},
        {"time": 1, "event": "section_start", "section": "epoch"},
        *span(2, 4, "epoch/eval"),
        *span(5, 8, "epoch/eval"),
        {"time": 9, "event": "section_end", "section": "epoch"},
        {"time": 10, "event": "run_end"},
    ]
    run, problems = run_of(tmp_path, events__jsonl=rows)
    assert problems == []
    assert [(s.path, s.count, s.total_seconds, s.overlapping) for s in run.sections] == [
        ("epoch", 1, 8, False),
        ("epoch/eval", 2, 5, False),
    ]
    assert [e.event for e in run.events] == ["run_start", "run_end"]


def test_of_overlapping_siblings_the_smaller_is_flagged(tmp_path: Path) -> None:
    starts = [(0, "section_start", "load"), (4, "section_start", "train"), (6, "section_end", "load")]
    ends = [(19, "section_end", "train"), (20, "section_start", "save"), (21, "section_end", "save")]
    rows = [{"time": t, "event": e, "section": s} for t, e, s in starts + ends]
    run, _ = run_of(tmp_path, events__jsonl=rows)
    assert {s.path: s.overlapping for s in run.sections} == {"load": True, "train": False, "save": False}


def test_a_contained_stranger_is_flagged(tmp_path: Path) -> None:
    rows = [
        {"time": 0, "event": "section_start", "section": "train"},
        *span(2, 4, "checkpoint"),
        {"time": 9, "event": "section_end", "section": "train"},
    ]
    run, _ = run_of(tmp_path, events__jsonl=rows)
    assert {s.path: s.overlapping for s in run.sections} == {"train": False, "checkpoint": True}


def test_a_moment_of_overlap_is_not_flagged(tmp_path: Path) -> None:
    run, _ = run_of(tmp_path, events__jsonl=[*span(0, 100.5, "a"), *span(100, 200, "b")])
    assert not any(s.overlapping for s in run.sections)


def test_same_path_overlap(tmp_path: Path) -> None:
    times = [(0, "section_start"), (1, "section_start"), (3, "section_end"), (4, "section_end")]
    run, problems = run_of(tmp_path, events__jsonl=[{"time": t, "event": e, "section": "a"} for t, e in times])
    assert problems == []
    assert [(s.count, s.total_seconds, s.overlapping) for s in run.sections] == [(2, 6, True)]


def test_rounded_neighbours_do_not_overlap(tmp_path: Path) -> None:
    run, _ = run_of(tmp_path, events__jsonl=[*span(0, 5.001, "a"), *span(5.0, 9, "b")])
    assert not any(s.overlapping for s in run.sections)


def test_unmatched_start(tmp_path: Path) -> None:
    opened = [{"time": 0, "event": "run_start"}, {"time": 1, "event": "section_start", "section": "a"}]
    run, problems = run_of(tmp_path, events__jsonl=opened)
    assert run.status == "running"
    assert [(p.severity, p.line) for p in problems] == [("info", 2)]
    run, problems = run_of(tmp_path, events__jsonl=[*opened, {"time": 9, "event": "run_end"}])
    assert run.status == "completed"
    assert [(p.severity, p.line) for p in problems] == [("warning", 2)]


def test_profile_wins_over_spans(tmp_path: Path) -> None:
    run, _ = run_of(tmp_path, profile__json=PROFILE, events__jsonl=[*span(0, 5, "a"), *span(5, 9, "b")])
    assert [(s.path, s.total_seconds) for s in run.sections] == [("a", 8.0), ("b", 4.0)]


# --- damage to real files ------------------------------------------------------------------------------------------


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """One run of each published collection, copied."""
    for name, collection in (("p", "continuous-v2"), ("e", "continuous-v3-beta-schedule")):
        runs = PUBLISHED / "from-entangled-v2" / collection / "runs"
        if not runs.is_dir():
            pytest.skip(f"{runs} is not there")
        shutil.copytree(sorted(runs.iterdir())[0], tmp_path / "runs" / name)
    return tmp_path


def both(root: Path) -> tuple[Run, Run, list[Problem]]:
    readings = {r.runs[0].id: r for r in read_all(root)}
    return readings["e"].runs[0], readings["p"].runs[0], readings["e"].problems + readings["p"].problems


def rewrite(path: Path, change: Any) -> None:
    path.write_bytes(change(path.read_bytes()))


def test_half_last_line(real: Path) -> None:
    rewrite(real / "runs/e/events.jsonl", lambda raw: raw.rstrip()[:-20])
    event_run, _, problems = both(real)
    assert event_run.status == "running"
    assert [(p.severity, p.path) for p in problems] == [("info", "runs/e/events.jsonl")]
    assert problems[0].line == len(event_run.events) + 1


def test_cut_anywhere_never_raises(real: Path) -> None:
    for path in ("runs/e/events.jsonl", "runs/p/profile.json", "runs/p/config.yaml"):
        whole = (real / path).read_bytes()
        for cut in range(0, len(whole), max(1, len(whole) // 60)):
            (real / path).write_bytes(whole[:cut])
            event_run, profile_run, _ = both(real)
            assert event_run.events or event_run.status in ("not_started", "running") or event_run.unreadable
            assert profile_run.sections or profile_run.unreadable
        (real / path).write_bytes(whole)


def test_same_values_in_other_encodings(real: Path) -> None:
    plain = both(real)
    changes = {
        "BOM": lambda raw: b"\xef\xbb\xbf" + raw,
        "CRLF": lambda raw: raw.replace(b"\n", b"\r\n"),
        "UTF-16": lambda raw: raw.decode().encode("utf-16"),
        "NULs": lambda raw: raw + b"\0" * 512,
    }
    files = [p for p in real.rglob("*") if p.is_file()]
    kept = {p: p.read_bytes() for p in files}
    for what, change in changes.items():
        for path in files:
            if what == "NULs" and path.name != "events.jsonl":
                continue
            path.write_bytes(change(kept[path]))
        now = both(real)
        assert [now[0].events, now[1].sections] == [plain[0].events, plain[1].sections], what
        assert [now[0].config, now[1].config] == [plain[0].config, plain[1].config], what
        assert now[2] == [], what


def test_latin1_config(real: Path) -> None:
    rewrite(real / "runs/p/config.yaml", lambda raw: raw + "author: Jérôme\n".encode("latin-1"))
    _, run, problems = both(real)
    assert run.config["author"] == "Jérôme"
    assert problems == []


def test_gz(real: Path) -> None:
    plain = both(real)
    for path in (real / "runs/e/events.jsonl", real / "runs/p/profile.json"):
        raw = path.read_bytes()
        path.unlink()
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(raw))
    now = both(real)
    assert (now[0].events, now[1].sections, now[2]) == (plain[0].events, plain[1].sections, [])


def test_no_permission(real: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path.name in ("profile.json", "config.yaml"):
            raise PermissionError(13, "Permission denied", str(path))
        return whole(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    event_run, profile_run, problems = both(real)
    assert profile_run.unreadable
    assert event_run.status == "completed"
    assert sorted(p.path for p in problems) == ["runs/e/config.yaml", "runs/p/config.yaml", "runs/p/profile.json"]
    assert all("Permission denied" in p.message and "permissions" in p.remedy for p in problems)


def test_clock_set_back_by_an_hour(real: Path) -> None:
    path = real / "runs/e/events.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[3]["time"] = "2026-04-12T07:38:53.155+00:00"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    run, _, problems = both(real)
    assert len(run.events) == len(rows) - 1
    assert [(p.kind, p.line, p.severity) for p in problems] == [("time", 4, "warning")]


def test_file_written_twice(real: Path) -> None:
    """The same log appended to itself: every row of the second copy is left out, and named."""
    path = real / "runs/e/events.jsonl"
    count = len(path.read_text().splitlines())
    rewrite(path, lambda raw: raw + raw)
    run, _, problems = both(real)
    assert run.status == "completed"
    assert run.sessions == []
    assert len(run.events) == count
    assert {p.kind for p in problems} == {"duplicate"}
    assert [p.line for p in problems][:2] == [count + 1, count + 2]
