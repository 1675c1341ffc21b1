"""Which folder is a collection."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from mkdocs_sweepprof.collection import Found, discover, overlooked, single
from mkdocs_sweepprof.readers import readers
from mkdocs_sweepprof.readers.base import Problem
from tests.build.support import run, write

TABLES = {"runs.csv": "run,wall_seconds\na,5\n", "sections.csv": "run,section,count,total_seconds\na,x,1,2\n"}
CSV = "epoch,step,loss\n0,1,0.5\n"
LOG = json.dumps({"time": 1.0, "event": "run_start"}) + "\n"


def found(root: Path) -> Found:
    return discover(root, readers())


def folders(root: Path) -> list[str]:
    return [c.folder for c in found(root).collections]


def runs(folder: str, *names: str) -> dict[str, str]:
    return {f"{folder}/runs/{n}/{file}": text for n in names or ("a", "b") for file, text in run(1).items()}


def test_each_rule(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "marked/collection.yml": "",
            "deep/er/marked/collection.yaml": "title: x",
            **runs("with-runs"),
            **runs("deep/er/with-runs"),
            **{f"with-tables/{k}": v for k, v in TABLES.items()},
            **{f"deep/with-tables/{k}": v for k, v in TABLES.items()},
            # Nothing marks these: one is a direct child in which a reader recognises runs, the other lies deeper.
            "recognised/x/profile.json": run(1)["profile.json"],
            "recognised/x/config.yaml": "a: 1",
            "nothing/readme.md": "no runs here",
            "nothing/data.bin": b"\0\1",
            "loose.txt": "x",
        },
    )
    assert folders(tmp_path) == [
        "deep/er/marked",
        "deep/er/with-runs",
        "deep/with-tables",
        "marked",
        "recognised",
        "with-runs",
        "with-tables",
    ]
    assert found(tmp_path).ignored == ["nothing"]


def test_everything_below_a_direct_child_is_taken_together(tmp_path: Path) -> None:
    profile, config = run(1)["profile.json"], "a: 1"
    write(
        tmp_path,
        {
            f"sweep/{part}/{seed}/{name}": text
            for part in ("copy", "sort")
            for seed in ("0", "1")
            for name, text in (("profile.json", profile), ("config.yaml", config))
        },
    )
    (collection,) = found(tmp_path).collections
    assert collection.folder == "sweep" and len(collection.sources) == 4


def test_except_folders_that_are_collections_themselves(tmp_path: Path) -> None:
    profile = run(1)["profile.json"]
    write(
        tmp_path,
        {
            "sweep/mine/profile.json": profile,
            "sweep/mine/config.yaml": "a: 1",
            "sweep/other/collection.yml": "",
            "sweep/other/its/profile.json": profile,
            "sweep/other/its/config.yaml": "a: 1",
        },
    )
    outer, inner = found(tmp_path).collections
    assert (outer.folder, inner.folder) == ("sweep", "sweep/other")
    assert [s.directory for s in outer.sources] == ["mine"]
    assert [s.directory for s in inner.sources] == ["its"]


def test_inside_a_collection_only_an_explicit_mark_starts_another(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            **runs("outer", "a", "b"),
            # A run that holds a "runs" folder of its own is no collection …
            "outer/runs/a/runs/tb/events.out": "x",
            # … but one that says so is, and the outer does not count its runs.
            "outer/inner/collection.yml": "title: Inner",
            **runs("outer/inner", "c"),
        },
    )
    outer, inner = found(tmp_path).collections
    assert (outer.folder, inner.folder) == ("outer", "outer/inner")
    assert {s.directory for s in outer.sources} == {"runs/a", "runs/b"}
    assert {s.directory for s in inner.sources} == {"runs/c"}
    assert outer.tree.exclude == frozenset({"inner"})


def test_the_root_itself_may_be_a_collection(tmp_path: Path) -> None:
    root = tmp_path / "my-sweep"
    write(root, {"runs/a/" + k: v for k, v in run(1).items()})
    write(root, {"other/x.txt": "nothing"})
    (collection,) = found(root).collections
    assert (collection.folder, collection.name, len(collection.sources)) == ("", "my-sweep", 1)
    # What lies beside its runs is its own, no collection and nothing to report.
    assert found(root).ignored == []
    write(root, {"nested/collection.yml": "title: n"})
    assert folders(root) == ["", "nested"]


def test_an_empty_runs_folder_marks_nothing_and_is_said(tmp_path: Path) -> None:
    (tmp_path / "a" / "runs").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    assert found(tmp_path) == Found([], ["a"])


def test_a_folder_with_a_dot_is_no_collection(tmp_path: Path) -> None:
    write(tmp_path, {**runs(".hidden"), ".marked/collection.yml": "", "a/.b/collection.yml": "", **runs("a")})
    assert folders(tmp_path) == ["a"]
    assert found(tmp_path).ignored == []


def names_of(problems: list[Problem]) -> list[tuple[str, str, str]]:
    return [(p.path, p.remedy, p.severity) for p in problems]


def test_folders_below_runs_that_no_reader_reads_are_named_with_what_comes_near(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            **runs("s"),
            "s/runs/UPPER/Config.yaml": "a: 1",
            "s/runs/UPPER/Profile.json": "{}",
            "s/runs/x/conf.yaml": "a: 1",
            "s/runs/x/profile.jsn": "{}",
            "s/runs/y/deep/readme.txt": "",
        },
    )
    (tmp_path / "s/runs/begun").mkdir()
    (collection,) = found(tmp_path).collections
    assert names_of(overlooked(collection)) == [
        ("runs/UPPER", "Rename Config.yaml → config.yaml, Profile.json → profile.json.", "info"),
        ("runs/x", "Rename conf.yaml → config.yaml, profile.jsn → profile.json.", "info"),
        ("runs/y", "A run folder holds config.yaml with profile.json or events.jsonl.", "info"),
    ]
    many = {f"s/runs/z{i}/Profile.json": "{}" for i in range(40)}
    write(tmp_path, many)
    (collection,) = found(tmp_path).collections
    said = overlooked(collection)
    assert len(said) == 21 and said[-1].path == "runs" and said[-1].message.startswith("23 more folders")


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_lone_runs_table_with_a_run_column(tmp_path: Path, ending: str) -> None:
    text = {"csv": '\ufeff"run",lr\na,1\n', "jsonl": '{"run": "a", "lr": 1}\n'}[ending]
    write(tmp_path, {f"deep/mine/runs.{ending}": text, "deep/theirs/runs.csv": "name,state\nx,ok\n"})
    assert folders(tmp_path) == ["deep/mine"]


def test_links_inside_a_root_are_followed_and_links_out_of_it_are_not(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    write(root, runs("store/real"))
    write(outside, runs("secret"))
    (root / "linked").symlink_to(root / "store" / "real", target_is_directory=True)
    (root / "out").symlink_to(outside / "secret", target_is_directory=True)
    (root / "loop").symlink_to(root, target_is_directory=True)
    (root / "store" / "real" / "runs" / "c").symlink_to(outside / "secret" / "runs" / "a", target_is_directory=True)
    result = found(root)
    # A target that stands elsewhere in the same tree is listed there, once.
    assert [c.folder for c in result.collections] == ["store/real"]
    (collection,) = result.collections
    assert {s.directory for s in collection.sources} == {"runs/a", "runs/b"}
    assert [path for path, _ in collection.tree.skipped] == ["runs/c"]
    assert "leads out of the collections root" in collection.tree.skipped[0][1]


def test_a_root_that_is_a_link_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "scratch", runs("sweep"))
    (tmp_path / "collections").symlink_to(tmp_path / "scratch", target_is_directory=True)
    assert folders(tmp_path / "collections") == ["sweep"]


def test_order_is_by_path_and_names_are_kept(tmp_path: Path) -> None:
    for name in ("b 2", "a/ü", "B", "a/[x]"):
        write(tmp_path, runs(name))
    assert folders(tmp_path) == sorted(["b 2", "a/ü", "B", "a/[x]"])
    assert [c.name for c in found(tmp_path).collections] == ["B", "[x]", "ü", "b 2"]


def test_a_single_folder_is_one_collection_whatever_stands_in_it(tmp_path: Path) -> None:
    write(tmp_path, {**runs("x/y"), "x/collection.yml": ""})
    collection = single(tmp_path, readers())
    assert collection.folder == "" and collection.name == tmp_path.name
    assert collection.config is None and len(collection.sources) == 2


# --- what stands outside every collection ----------------------------------------------------------------------------


def test_a_database_directly_in_the_root_belongs_to_no_collection(tmp_path: Path) -> None:
    source = next(Path(__file__).parents[1].glob("data/**/*.db"), None)
    assert source is not None, "the tests' data holds an Optuna or MLflow database"
    shutil.copy(source, tmp_path / "study.db")
    found = discover(tmp_path, readers())
    assert not found.collections
    assert [(p.path, p.severity) for p in found.problems] == [("study.db", "warning")]
    assert "folder of its own" in found.problems[0].remedy


def test_a_link_that_leads_out_is_a_problem_of_the_root(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "collections", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    (root / "linked").symlink_to(elsewhere)
    (root / "gone").symlink_to(tmp_path / "nowhere")
    told = {p.path: p for p in discover(root, readers()).problems}
    assert set(told) == {"linked", "gone"}
    assert told["linked"].severity == "warning"
    assert "`roots`" in told["linked"].remedy


def test_an_unreadable_folder_in_the_root_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "study.bin").write_text("x")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    found = discover(tmp_path, readers())
    assert [(p.path, p.severity) for p in found.problems] == [("closed/study.bin", "warning")]
    assert "permission denied" in found.problems[0].message
