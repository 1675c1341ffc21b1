"""The three tables: formats, what each column may hold, and what is said about rows that cannot be used."""

from __future__ import annotations

import builtins
import datetime as dt
import gzip
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mkdocs_sweepprof.readers.base import Problem, Run
from mkdocs_sweepprof.readers.flat import TablesReader
from mkdocs_sweepprof.readers.native import NativeReader
from mkdocs_sweepprof.readers.tree import Tree

SHARED = Path(os.environ.get("SWEEPPROF_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))

RUNS = """run,status,started_at,ended_at,wall_seconds,lr,model.depth,task,flag,empty
a,completed,2026-01-01T00:00:00,2026-01-01T01:00:00,3600,0.1,2,copy,true,
b,failed,1767225600,,,1e-3,2,sort,false,x
"""
SECTIONS = """run,section,count,total_seconds
a,epoch,3,3000.5
a,epoch/eval,3.0,100
b,epoch,1,10
"""
EVENTS = """run,time,event,name,step,epoch,status
a,2026-01-01T00:00:00,run_start,,,,
a,2026-01-01T00:30:00,checkpoint,epoch_end,200,0,
a,2026-01-01T01:00:00,run_end,,,,completed
b,1767225600,run_start,,,,
"""


def read(root: Path) -> tuple[dict[str, Run], list[Problem]]:
    tree = Tree(root)
    sources = TablesReader().find(tree)
    assert len(sources) == 1
    reading = TablesReader().read(tree, sources[0])
    runs = {r.id: r for r in reading.runs}
    assert len(runs) == len(reading.runs)
    return runs, reading.problems


def write(root: Path, **tables: str) -> None:
    for name, text in tables.items():
        (root / name.replace("__", ".")).write_text(text, encoding="utf-8")


# --- what is read --------------------------------------------------------------------------------------------------


def test_all_three_tables(tmp_path: Path) -> None:
    write(tmp_path, runs__csv=RUNS, sections__csv=SECTIONS, events__csv=EVENTS)
    runs, problems = read(tmp_path)
    assert problems == []
    a, b = runs["a"], runs["b"]
    assert a.config == {"lr": 0.1, "model.depth": 2, "task": "copy", "flag": True}
    assert b.config == {"lr": 0.001, "model.depth": 2, "task": "sort", "flag": False, "empty": "x"}
    assert (a.status, b.status) == ("completed", "failed")
    assert (a.profile_wall, a.started_at, a.ended_at) == (3600.0, 1767225600.0, 1767229200.0)
    assert (b.profile_wall, b.started_at, b.ended_at) == (None, 1767225600.0, None)
    assert [(s.path, s.count, s.total_seconds) for s in a.sections] == [("epoch", 3, 3000.5), ("epoch/eval", 3, 100.0)]
    assert [(e.label, e.time - 1767225600, e.step, e.epoch) for e in a.events] == [
        ("run_start", 0, None, None),
        ("epoch_end", 1800, 200, 0),
        ("run_end", 3600, None, None),
    ]
    assert a.files == ("runs.csv", "sections.csv", "events.csv")


def as_jsonl(text: str) -> str:
    header, *rows = [line.split(",") for line in text.splitlines()]
    out = ""
    for cells in rows:
        row: dict[str, Any] = {}
        for key, cell in zip(header, cells, strict=True):
            try:
                row[key] = json.loads(cell)
            except ValueError:
                row[key] = cell
        out += json.dumps(row) + "\n"
    return out


def as_parquet(text: str, path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [json.loads(line) for line in as_jsonl(text).splitlines()]
    columns: dict[str, list[Any]] = {}
    for key in rows[0]:
        values = [None if row[key] == "" else row[key] for row in rows]
        mixed = len({type(v) for v in values if v is not None}) > 1
        columns[key] = [None if v is None else str(v) for v in values] if mixed else values
    parquet.write_table(pa.table(columns), path)


@pytest.mark.parametrize("form", ["jsonl", "parquet", "csv.gz", "semicolon", "tab", "BOM+CRLF", "UTF-16"])
def test_forms_give_the_same(tmp_path: Path, form: str) -> None:
    plain = tmp_path / "plain"
    other = tmp_path / "other"
    plain.mkdir()
    other.mkdir()
    tables = {"runs": RUNS, "sections": SECTIONS, "events": EVENTS}
    write(plain, **{f"{k}__csv": v for k, v in tables.items()})
    for name, text in tables.items():
        if form == "jsonl":
            (other / f"{name}.jsonl").write_text(as_jsonl(text))
        elif form == "parquet":
            as_parquet(text, other / f"{name}.parquet")
        elif form == "csv.gz":
            (other / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
        elif form == "semicolon":
            decimal = text.replace(",", ";").replace("0.1", "0,1").replace("3000.5", "3000,5")
            (other / f"{name}.csv").write_text(decimal)
        elif form == "tab":
            (other / f"{name}.csv").write_text(text.replace(",", "\t"))
        elif form == "UTF-16":
            (other / f"{name}.csv").write_bytes(text.encode("utf-16"))
        else:
            (other / f"{name}.csv").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    expected, _ = read(plain)
    got, problems = read(other)
    assert problems == []
    assert list(got) == list(expected)
    for name, run in expected.items():
        assert got[name].config == run.config
        assert got[name].sections == run.sections
        assert got[name].events == run.events
        assert [got[name].status, got[name].profile_wall] == [run.status, run.profile_wall]
        assert [got[name].started_at, got[name].ended_at] == [run.started_at, run.ended_at]


def test_parquet_times_and_missing_values(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    nanoseconds = pa.array([1767225600 * 10**9 + 1, None], pa.timestamp("ns", "UTC"))
    table = pa.table(
        {
            "run": [1, 2],
            "started_at": nanoseconds,
            "ended_at": [start + dt.timedelta(hours=1), None],
            "lr": [0.5, float("nan")],
            "__index_level_0__": [0, 1],
        }
    )
    parquet.write_table(table, tmp_path / "runs.parquet")
    runs, problems = read(tmp_path)
    assert problems == []
    assert list(runs) == ["1", "2"]
    assert (runs["1"].started_at, runs["1"].ended_at) == (1767225600.0, 1767229200.0)
    assert [r.config for r in runs.values()] == [{"lr": 0.5}, {}]


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_parquet(RUNS, tmp_path / "runs.parquet")
    write(tmp_path, sections__csv=SECTIONS)
    whole: Callable[..., Any] = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return whole(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    runs, problems = read(tmp_path)
    assert set(runs) == {"a", "b"}  # from the sections
    assert [(p.path, p.severity) for p in problems] == [("runs.parquet", "warning")]
    assert "pip install 'mkdocs-sweepprof[parquet]'" in problems[0].remedy


def test_broken_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    as_parquet(RUNS, tmp_path / "runs.parquet")
    raw = (tmp_path / "runs.parquet").read_bytes()
    (tmp_path / "runs.parquet").write_bytes(raw[:200] + bytes(100) + raw[300:])
    write(tmp_path, sections__csv=SECTIONS)
    runs, problems = read(tmp_path)
    assert [(p.path, p.kind) for p in problems] == [("runs.parquet", "unreadable")]
    assert set(runs) == {"a", "b"}
    (tmp_path / "runs.parquet").write_bytes(raw[:-40])
    runs, problems = read(tmp_path)
    assert [p.kind for p in problems] == ["unreadable"]
    assert set(runs) == {"a", "b"}


def test_nested_jsonl_is_flat(tmp_path: Path) -> None:
    write(tmp_path, runs__jsonl='{"run": "a", "model": {"depth": 2}, "layers": [1, 2], "x": NaN}\n')
    assert read(tmp_path)[0]["a"].config == {"model.depth": 2, "layers": "[1, 2]", "x": "nan"}


# --- what is recognised --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tables",
    [
        {"runs__csv": "id,name\n1,a\n"},
        {"events__csv": "time,event\n1,x\n"},
        {"events__jsonl": '{"time": 1, "event": "run_start"}\n'},
        {"sections__csv": "run,section,count\na,b,1\n"},
        {"runs__csv": ""},
        {"runs__parquet": "run"},
        {"runs__jsonl": "not json\n"},
    ],
)
def test_not_mine(tmp_path: Path, tables: dict[str, str]) -> None:
    write(tmp_path, **tables)
    assert list(TablesReader().find(Tree(tmp_path))) == []


def test_only_in_the_collection_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    write(tmp_path / "sub", runs__csv=RUNS)
    assert list(TablesReader().find(Tree(tmp_path))) == []


def test_no_other_layout_is_taken() -> None:
    folders = [p for p in (SHARED / "trackers").glob("*/*/*") if p.is_dir()]
    if not folders:
        pytest.skip(f"{SHARED / 'trackers'} is not there")
    for folder in folders:
        assert list(TablesReader().find(Tree(folder))) == [], folder


def test_an_event_table_is_not_a_native_run(tmp_path: Path) -> None:
    write(tmp_path, events__jsonl=as_jsonl(EVENTS), sections__csv=SECTIONS)
    assert list(NativeReader().find(Tree(tmp_path))) == []
    assert set(read(tmp_path)[0]) == {"a", "b"}


def test_a_table_with_wrong_columns_beside_a_right_one(tmp_path: Path) -> None:
    write(tmp_path, runs__csv=RUNS, sections__csv="run,name,calls,secs\na,b,1,2\n")
    runs, problems = read(tmp_path)
    assert runs["a"].sections == []
    assert [(p.path, p.line, p.severity) for p in problems] == [("sections.csv", 1, "warning")]
    assert "'count' or 'section' or 'total_seconds'" in problems[0].message


def test_two_forms_of_one_table(tmp_path: Path) -> None:
    write(tmp_path, runs__csv=RUNS, runs__jsonl='{"run": "z"}\n')
    runs, problems = read(tmp_path)
    assert set(runs) == {"a", "b"}
    assert [(p.path, p.severity) for p in problems] == [("runs.jsonl", "info")]


# --- rows that cannot be used --------------------------------------------------------------------------------------


def test_duplicate_run(tmp_path: Path) -> None:
    write(tmp_path, runs__csv="run,lr\na,1\nb,2\na,3\n")
    runs, problems = read(tmp_path)
    assert {k: r.config for k, r in runs.items()} == {"a": {"lr": 1}, "b": {"lr": 2}}
    assert [(p.kind, p.line, p.run, p.severity) for p in problems] == [("duplicate", 4, "a", "warning")]


def test_rows_of_unknown_runs(tmp_path: Path) -> None:
    more = "ghost,epoch,1,2\nghost,eval,1,2\n,epoch,1,2\n"
    write(tmp_path, runs__csv=RUNS, sections__csv=SECTIONS + more)
    runs, problems = read(tmp_path)
    assert set(runs) == {"a", "b"}
    assert [(p.line, p.message) for p in problems] == [
        (5, "2 rows of run 'ghost', which the runs table does not have; left out."),
        (7, "1 row that name no run; left out."),
    ]


def test_runs_from_sections_and_events_alone(tmp_path: Path) -> None:
    write(tmp_path, sections__csv=SECTIONS, events__csv=EVENTS)
    runs, problems = read(tmp_path)
    assert problems == []
    assert {k: (r.status, len(r.sections)) for k, r in runs.items()} == {"a": ("completed", 2), "b": ("running", 1)}


def test_bad_section_cells(tmp_path: Path) -> None:
    rows = "a,x,0,1\na,y,1.5,1\na,z,1,-1\na,w,one,1\na,,1,1\na,v,1,inf\na,u,1,\na,epoch,2,4\n"
    write(tmp_path, runs__csv=RUNS, sections__csv=SECTIONS + rows)
    runs, problems = read(tmp_path)
    assert [(s.path, s.count, s.total_seconds) for s in runs["a"].sections] == [
        ("epoch", 5, 3004.5),
        ("epoch/eval", 3, 100.0),
    ]
    assert [p.line for p in problems] == [5, 6, 7, 8, 9, 10, 11, 12]
    assert all(p.run == "a" and p.remedy for p in problems)


def test_bad_run_cells(tmp_path: Path) -> None:
    write(
        tmp_path,
        runs__csv="run,status,started_at,ended_at,wall_seconds\n"
        "a,purple,,,10\n"
        "b,,yesterday,,10\n"
        "c,,2026-01-02,2026-01-01,10\n"
        "d,,,,-3\n"
        "e,,,,nan\n"
        ",,,,5\n"
        "g,running,,,50\n",
    )
    runs, problems = read(tmp_path)
    assert list(runs) == ["a", "b", "c", "d", "e", "g"]
    assert [(p.line, p.severity) for p in problems] == [(2, "info"), *((n, "warning") for n in range(3, 8))]
    assert [runs[k].profile_wall for k in "abcde"] == [10, 10, 10, None, None]
    assert (runs["c"].started_at, runs["c"].ended_at) == (None, None)
    # The time that a living run has reached is no wall.
    assert (runs["g"].profile_wall, runs["g"].duration, runs["g"].status) == (None, 50, "running")


def test_csv_oddities(tmp_path: Path) -> None:
    text = (
        "\n"
        ",Run,lr,lr,note\n"
        '0,a,1,9,"two\nlines"\n'
        "1,b,2,9,x,surplus\n"
        "2,c,3\n"
        "\n"
        ",Run,lr,lr,note\n"
        '3,d,4,9,"say ""hi"""\n'
        "4,007,5,9,12345678901234567890\n"
        "5,e"
    )
    write(tmp_path, runs__csv=text)
    runs, problems = read(tmp_path)
    assert {k: r.config for k, r in runs.items()} == {
        "a": {"lr": 1, "note": "two\nlines"},
        "c": {"lr": 3},
        "d": {"lr": 4, "note": 'say "hi"'},
        "007": {"lr": 5, "note": "12345678901234567890"},
    }
    assert [(p.line, p.severity) for p in problems] == [(2, "warning"), (5, "warning"), (8, "info"), (11, "info")]


def test_an_open_quote_names_what_it_swallowed(tmp_path: Path) -> None:
    write(tmp_path, runs__csv='run,lr\na,1\nb,"2\nc,3\nd,4\n')
    runs, problems = read(tmp_path)
    assert set(runs) == {"a"}
    assert [(p.line, p.severity) for p in problems] == [(3, "warning")]
    assert "lines 3 to 5" in problems[0].message


def test_jsonl_half_last_line_and_rubbish(tmp_path: Path) -> None:
    write(tmp_path, runs__jsonl='{"run": "a"}\nrubbish\n[1]\n\n{"run": "b"}\n{"run": "c", "l')
    runs, problems = read(tmp_path)
    assert set(runs) == {"a", "b"}
    assert [(p.line, p.severity) for p in problems] == [(2, "warning"), (3, "warning"), (6, "info")]


def test_events_in_any_order_and_in_milliseconds(tmp_path: Path) -> None:
    rows = ["a,1767225660000,run_end,success", "a,1767225600000,run_start,", "a,never,x,"]
    write(tmp_path, events__csv="run,time,event,status\n" + "\n".join(rows) + "\n")
    runs, problems = read(tmp_path)
    assert [(e.event, e.time) for e in runs["a"].events] == [("run_start", 1767225600.0), ("run_end", 1767225660.0)]
    assert runs["a"].status == "completed"
    assert sorted((p.line or 0, p.severity) for p in problems) == [(2, "info"), (4, "warning")]


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, runs__csv=RUNS, sections__csv=SECTIONS)
    whole = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path.name == "runs.csv":
            raise PermissionError(13, "Permission denied", str(path))
        return whole(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    runs, problems = read(tmp_path)
    assert set(runs) == {"a", "b"}
    assert [(p.path, p.kind) for p in problems] == [("runs.csv", "unreadable")]
    assert "Permission denied" in problems[0].message


def test_ten_thousand_runs_are_read(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    rows = "".join(f"r{i},completed,{i + 1},{i % 7},0.{i % 9}\n" for i in range(10_000))
    sections = "".join(f"r{i},epoch/s{j},3,{j + 0.5}\n" for i in range(10_000) for j in range(5))
    write(tmp_path, runs__csv="run,status,wall_seconds,a,b\n" + rows)
    write(tmp_path, sections__csv="run,section,count,total_seconds\n" + sections)
    began = time.perf_counter()
    runs, problems = read(tmp_path)
    record_property("reading 10 000 runs from tables, s", round(time.perf_counter() - began, 2))
    assert len(runs) == 10_000
    assert sum(len(r.sections) for r in runs.values()) == 50_000
    assert problems == []
