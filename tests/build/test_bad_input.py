"""Bad input: a message with file, line and remedy, and a notice; strict fails, a plain build builds the rest."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from mkdocs.exceptions import Abort

from tests.build.pages import (
    BARE,
    Parsed,
    build,
    clumsy,
    content,
    facts,
    log,
    native,
    note,
    notices,
    prose,
    put,
    squeeze,
    usual,
    warnings,
)
from tests.build.support import Built, write

pytestmark = pytest.mark.xdist_group("bad-input")

RUN = "collections/sweep/runs/copy-1"


@dataclass(frozen=True)
class Case:
    """What to do to the site folder, and what the message must say."""

    spoil: Callable[[Path], None]
    where: str
    """Start of the message: file and line, relative to mkdocs.yml."""
    what: str
    remedy: str


def edit(path: str, old: str, new: str, count: int = 1) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        text = (folder / path).read_text()
        assert old in text, (path, old)
        (folder / path).write_text(text.replace(old, new, count))

    return spoil


def replace(path: str, text: str | bytes | None) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        if text is None:
            (folder / path).unlink()
        else:
            write(folder, {path: text})

    return spoil


def both(*steps: Callable[[Path], None]) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        for step in steps:
            step(folder)

    return spoil


CASES: dict[str, Case] = {
    "broken YAML config": Case(
        replace(f"{RUN}/config.yaml", "task: copy\nlr: [0.1\nseed: 1\n"),
        f"{RUN}/config.yaml:",
        "not valid YAML",
        "Correct the file",
    ),
    "broken JSON config": Case(
        both(replace(f"{RUN}/config.yaml", None), replace(f"{RUN}/config.json", '{"task": "copy",\n "lr": 0.1,\n}')),
        f"{RUN}/config.json:3: ",
        "not valid JSON",
        "Correct the file",
    ),
    "config is a list": Case(
        replace(f"{RUN}/config.yaml", "- a\n- b\n"), f"{RUN}/config.yaml:1: ", "must be a mapping", '"name: value"'
    ),
    "missing config": Case(replace(f"{RUN}/config.yaml", None), f"{RUN}: ", "no config file", "Write config.yaml"),
    "empty config": Case(
        replace(f"{RUN}/config.yaml", ""), f"{RUN}/config.yaml: ", "the config is empty", "Write the run's settings"
    ),
    "broken profile": Case(
        replace(f"{RUN}/profile.json", '{"wall_seconds": 3660,\n "sections": [\n  {"section": "a",}\n]}'),
        f"{RUN}/profile.json:3: ",
        "not valid JSON",
        "Write it again from the trainer",
    ),
    "empty profile": Case(
        replace(f"{RUN}/profile.json", ""), f"{RUN}/profile.json:1: ", "the profile is empty", "remove the file"
    ),
    "negative duration": Case(
        replace(
            f"{RUN}/profile.json",
            '{"wall_seconds": 3660,\n "sections": [\n  {"section": "epoch/train", "count": 20, "total_seconds": 1464},'
            '\n  {"section": "epoch/eval", "count": 20,\n   "total_seconds": -5.0}\n]}',
        ),
        f"{RUN}/profile.json:5: ",
        "section 'epoch/eval': total_seconds is -5.0",
        "Write seconds, a finite number that is not negative",
    ),
    "negative wall": Case(
        replace(f"{RUN}/profile.json", '{\n "wall_seconds": -3660,\n "sections": []}'),
        f"{RUN}/profile.json:2: ",
        "wall_seconds is -3660",
        "a positive number",
    ),
    "duration is not a number": Case(
        replace(
            f"{RUN}/profile.json",
            '{"wall_seconds": 3660, "sections": [\n{"section": "a", "count": 1, "total_seconds": NaN}]}',
        ),
        f"{RUN}/profile.json:2: ",
        "total_seconds is NaN",
        "finite",
    ),
    "infinite duration": Case(
        replace(
            f"{RUN}/profile.json",
            '{"wall_seconds": 3660, "sections": [\n{"section": "a", "count": 1, "total_seconds": Infinity}]}',
        ),
        f"{RUN}/profile.json:2: ",
        "total_seconds is Infinity",
        "finite",
    ),
    "infinite wall": Case(
        replace(
            f"{RUN}/profile.json",
            '{"wall_seconds": 1e999, "sections": [{"section": "a", "count": 1, "total_seconds": 5}]}',
        ),
        f"{RUN}/profile.json:1: ",
        "wall_seconds is Infinity",
        "a positive number",
    ),
    "count of zero": Case(
        replace(
            f"{RUN}/profile.json",
            '{"wall_seconds": 3660, "sections": [\n\n{"section": "a/b", "count": 0, "total_seconds": 5}]}',
        ),
        f"{RUN}/profile.json:3: ",
        "section 'a/b': count is 0",
        "a positive whole number",
    ),
    "event without time": Case(
        edit(f"{RUN}/events.jsonl", '"time": 1770000001', '"tyme": 1770000001'),
        f"{RUN}/events.jsonl:2: ",
        "event 'checkpoint': time is missing",
        "ISO-8601 text or epoch seconds",
    ),
    "time that is none": Case(
        edit(f"{RUN}/events.jsonl", '"time": 1770000001', '"time": "tomorrow", "x": 1'),
        f"{RUN}/events.jsonl:2: ",
        'time is "tomorrow"',
        "ISO-8601",
    ),
    "time going backwards": Case(
        edit(f"{RUN}/events.jsonl", '"time": 1770000002', '"time": 1769990002'),
        f"{RUN}/events.jsonl:3: ",
        "its time lies 9999.0 s before the row above it",
        "The clock was set back",
    ),
    "broken line in the log": Case(
        edit(f"{RUN}/events.jsonl", '{"time": 1770000002', '{"time": : 1770000002'),
        f"{RUN}/events.jsonl:3: ",
        "not valid JSON",
        "one JSON object a line",
    ),
    "bad collection.yml": Case(
        replace("collections/sweep/collection.yml", "title: A\ngroup: [task\n"),
        "collections/sweep/collection.yml:",
        "not valid YAML",
        "Mend the YAML. The defaults were used.",
    ),
    "unknown key": Case(
        replace("collections/sweep/collection.yml", "title: A\ngruop: task\n"),
        "collections/sweep/collection.yml:2: ",
        "unknown key 'gruop'",
        "Did you mean 'group'?",
    ),
    "unknown key of a knob": Case(
        replace(
            "collections/sweep/collection.yml",
            "knobs:\n  - id: e\n    label: eval\n    sections: epoch/eval\n    keeps: 1\n",
        ),
        "collections/sweep/collection.yml:5: ",
        "unknown key 'knobs.0.keeps'",
        "Did you mean 'keep'?",
    ),
    "wrong type in collection.yml": Case(
        replace(
            "collections/sweep/collection.yml",
            "title: A\nknobs:\n  - id: e\n    label: x\n    sections: a\n    keep: many\n",
        ),
        "collections/sweep/collection.yml:6: ",
        "knobs.0.keep",
        "reference of collection.yml",
    ),
    "compare_to names nothing": Case(
        replace("collections/sweep/collection.yml", "compare_to: othr\n"),
        "collections/sweep/collection.yml",
        "compare_to names 'othr'",
        "Did you mean 'other'?",
    ),
    "a key twice in collection.yml": Case(
        replace("collections/sweep/collection.yml", "title: A\ngroup: task\ntitle: B\n"),
        "collections/sweep/collection.yml:3: ",
        "'title' stands twice, in lines 1 and 3",
        "Keep one of the two",
    ),
    "a knob whose sections govern nothing": Case(
        replace("collections/sweep/collection.yml", "knobs:\n  - {id: e, setting: lr, sections: epoch/evla}\n"),
        "collections/sweep/collection.yml:2: ",
        "governs no recorded section",
        "Did you mean 'epoch/eval'?",
    ),
    "an unknown group": Case(
        replace("collections/sweep/collection.yml", "# remark\ngroup: tsk\n"),
        "collections/sweep/collection.yml:2: ",
        "no run has a field 'tsk'",
        "Did you mean 'task'?",
    ),
    "an unknown field in run_url": Case(
        replace("collections/sweep/collection.yml", "run_url: https://tracker.example/{rnu}\n"),
        "collections/sweep/collection.yml:1: ",
        "no run has a field 'rnu'",
        "Did you mean 'run'?",
    ),
}


def good(folder: Path, *places: str) -> None:
    """Collections (two when none is named), each with a profile and an event log a run."""
    for place in places or ("sweep", "other"):
        runs = {}
        for k, task in enumerate(("copy", "sort")):
            for seed in (1, 2):
                wall = 3600.0 * (k + 1) + 60 * seed
                events = log(wall)
                events[1]["time"], events[2]["time"] = 1770000001.0, 1770000002.0
                runs[f"{task}-{seed}"] = native({"task": task, "lr": 0.1, "seed": seed}, wall, usual(wall), events)
        put(folder, place, runs)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("good")
    good(folder)
    return build(folder, strict=True)


def spoil(folder: Path, name: str) -> str:
    """The case's collection in ``folder``, under a name of its own."""
    good(folder, "sweep")
    CASES[name].spoil(folder)
    place = f"case-{list(CASES).index(name):02d}"
    (folder / "collections/sweep").rename(folder / "collections" / place)
    return place


@dataclass(frozen=True)
class Spoiled:
    built: Built
    config: dict[str, Any]
    """Shares what is remembered: a strict build of one of the cases makes nothing anew."""


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> Spoiled:
    """Every case as a collection of one site, in a plain build: each must not cost the others anything."""
    folder = tmp_path_factory.mktemp("spoiled")
    good(folder, "other")
    for name in CASES:
        spoil(folder, name)
    config = {**BARE, "plugins": [{"sweepprof": {"cache_dir": str(folder / "cache")}}]}
    return Spoiled(build(folder, config), config)


@pytest.mark.parametrize("name", CASES)
def test_bad_input(name: str, spoiled: Spoiled, untouched: Built, tmp_path: Path) -> None:
    case, place = CASES[name], f"case-{list(CASES).index(name):02d}"
    built = spoiled.built
    said = [m.removeprefix("sweepprof: ") for m in warnings(built)]
    said = [m for m in said if m.startswith(f"collections/{place}")]
    # One fault, one message: file, line, what is wrong, and the remedy.
    assert len(said) == 1, said
    message = said[0]
    assert message.startswith(case.where.replace("/sweep", f"/{place}")), message
    assert re.match(r"[^:]+(:\d+)?: ", message), "file and line"
    assert case.what in message
    assert case.remedy in message[message.index(case.what) :], message
    # On the page it stands likewise, as a notice.
    page = note(built, place)
    notice = notices(page)
    assert "1 problem with this collection’s files" in notice
    line = re.match(r"[^:]+:(\d+): ", message)
    file = message.partition(": ")[0].removeprefix(f"collections/{place}/").partition(":")[0]
    assert (f"{file}:{line[1]}" if line else file) in notice, notice
    assert squeeze(case.what) in notice and squeeze(case.remedy) in notice
    assert "1 problem with the input" in page.visible
    assert not clumsy(prose(page))
    # Strict fails, and fails again when all is remembered.
    assert spoil(tmp_path, name) == place
    good(tmp_path, "other")
    for _ in range(2):
        with pytest.raises(Abort):
            build(tmp_path, spoiled.config, strict=True)


def test_the_rest_is_built_as_without_faults(spoiled: Spoiled, untouched: Built) -> None:
    built = spoiled.built
    assert facts(built, "other") == facts(untouched, "other")
    page = "other/profiling/index.html"
    assert content(built.html(page)) == content(untouched.html(page))
    overview = Parsed(content(built.html("sweepprof/index.html"))).visible
    assert all(f"case-{i:02d}" in overview for i in range(len(CASES)))
    assert f"{len(CASES) + 1} collections" in overview


def test_what_is_bad_costs_what_it_stands_in_and_no_more(untouched: Built, tmp_path: Path) -> None:
    good(tmp_path)
    CASES["count of zero"].spoil(tmp_path)
    found = facts(build(tmp_path), "sweep")
    assert found["runtime.count"]["value"] == 4, "the run keeps its wall"
    assert found["runtime.mean"]["value"] == facts(untouched, "sweep")["runtime.mean"]["value"]
    assert "section.a/b.share" not in found


def test_two_runs_with_one_id(tmp_path: Path) -> None:
    good(tmp_path)
    write(
        tmp_path / "collections/tables",
        {
            "runs.csv": "run,wall_seconds,task\na,3600,copy\nb,7200,copy\nc,7300,sort\na,9999,sort\nd,7400,sort\n",
            "sections.csv": "run,section,count,total_seconds\na,train,1,3000\nb,train,1,7000\nc,train,1,7000\n",
        },
    )
    built = build(tmp_path)
    said = [m.removeprefix("sweepprof: ") for m in warnings(built)]
    assert len(said) == 1 and said[0].startswith("collections/tables/runs.csv:5: "), said
    assert "run 'a' is there twice; the first row counts. Give each run a name of its own." in said[0]
    page, found = note(built, "tables"), facts(built, "tables")
    assert found["runtime.count"]["value"] == 4 and found["runtime.found"]["value"] == 5
    assert found["runs.left_out.duplicate"]["value"] == 1
    assert found["runtime.max"]["value"] == 7400, "the second is in no mean"
    assert "runs.csv:5" in notices(page) and "1 a duplicate of another run" in notices(page)
    with pytest.raises(Abort):
        build(tmp_path, strict=True)


def test_two_trackers_runs_with_one_id(tmp_path: Path) -> None:
    """One MLflow run, copied into a second experiment."""
    good(tmp_path)
    run_id = "0123456789abcdef0123456789abcdef"
    meta = (
        "artifact_uri: x\nend_time: 1770003600000\nentry_point_name: ''\nexperiment_id: '{e}'\n"
        f"lifecycle_stage: active\nrun_id: {run_id}\nrun_name: twin\nrun_uuid: {run_id}\nsource_name: ''\n"
        "source_type: 4\nsource_version: ''\nstart_time: 1770000000000\nstatus: 3\ntags: []\nuser_id: u\n"
    )
    about = "artifact_location: x\nexperiment_id: '{e}'\nlifecycle_stage: active\nname: e{e}\n"
    store = "collections/tracker/mlruns"
    for experiment in ("1", "2"):
        write(
            tmp_path / store / experiment,
            {
                "meta.yaml": about.replace("{e}", experiment),
                f"{run_id}/meta.yaml": meta.replace("{e}", experiment),
                f"{run_id}/params/lr": "0.1",
                f"{run_id}/metrics/loss": "1770000000000 0.5 0\n1770003000000 0.4 1\n",
            },
        )
    built = build(tmp_path)
    said = warnings(built)
    assert len(said) == 1 and "a second time" in said[0] and "collections/tracker/mlruns/2" in said[0], said
    assert "Remove one of the two" in said[0]
    found = facts(built, "tracker")
    assert found["runtime.count"]["value"] == 1 and found["runs.left_out.duplicate"]["value"] == 1
    assert "a second time" in notices(note(built, "tracker"))
    with pytest.raises(Abort):
        build(tmp_path, strict=True)


@pytest.mark.parametrize(
    ("files", "counted"),
    [
        ({"collection.yml": "title: Empty\n"}, 0),
        ({"collection.yml": "title: Empty\n", "notes.txt": "nothing here"}, 0),
        ({"runs/a/config.yaml": "{", "runs/a/profile.json": "{"}, 0),
        ({"runs/a/readme.txt": "no run"}, 0),
        ({"runs.csv": "name,wall\na,1\n", "sections.csv": "a,b\n1,2\n"}, 0),
    ],
    ids=["collection.yml only", "with a text file", "one broken run", "no run in runs/", "tables with other columns"],
)
def test_a_collection_with_nothing_readable(files: dict[str, str], counted: int, tmp_path: Path) -> None:
    good(tmp_path)
    write(tmp_path / "collections/empty", files)
    built = build(tmp_path)
    said = [m.removeprefix("sweepprof: ") for m in warnings(built)]
    assert said and all(m.startswith("collections/empty") for m in said), said
    page = note(built, "empty")
    assert notices(page)
    assert facts(built, "empty")["runtime.count"]["value"] == counted
    assert "collections/empty" in " ".join(said)
    assert not clumsy(prose(page)), page.visible
    assert "other" in built.html("sweepprof/index.html")
    if len(files) == 1 or "notes.txt" in files:
        assert "no readable run" in said[0] and "Put run folders below runs/" in said[0]
    with pytest.raises(Abort):
        build(tmp_path, strict=True)


def test_a_run_that_nothing_can_be_read_of_is_left_out_as_unreadable(tmp_path: Path) -> None:
    good(tmp_path)
    (tmp_path / RUN / "events.jsonl").unlink()
    (tmp_path / RUN / "profile.json").write_text("{")
    built = build(tmp_path)
    found, page = facts(built, "sweep"), note(built, "sweep")
    assert found["runs.left_out.unreadable"]["value"] == 1 and found["runtime.count"]["value"] == 3
    assert "1 unreadable: copy-1" in notices(page)
    assert len(warnings(built)) == 1


def test_many_faults_are_bounded_in_the_log_and_said_in_full_number(tmp_path: Path) -> None:
    good(tmp_path)
    for i in range(60):
        write(tmp_path / f"collections/sweep/runs/bad{i:02d}", {"config.yaml": "task: [", "profile.json": "{"})
    built = build(tmp_path)
    said = warnings(built)
    assert 10 < len(said) < 40
    assert any("more problems" in m for m in said)
    page = note(built, "sweep")
    assert "120 problems with this collection’s files" in notices(page)
    assert re.search(r"and \d+ more", notices(page))


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Root may read everything, so the refusal is played.
    good(tmp_path)
    from mkdocs_sweepprof.readers.tree import Tree

    real = Tree.read_bytes

    def refuse(self: Tree, path: str, *args: int) -> bytes:
        if path == "runs/copy-1/profile.json":
            raise PermissionError(13, "Permission denied")
        return real(self, path, *args)

    monkeypatch.setattr(Tree, "read_bytes", refuse)
    said = warnings(build(tmp_path))
    assert len(said) == 2, "one in each collection"
    assert f"{RUN}/profile.json: the file cannot be read (Permission denied)" in said[1]
    assert "Check its permissions" in said[1]


def test_the_command_line_fails_and_succeeds_without_a_traceback(tmp_path: Path) -> None:
    good(tmp_path)
    CASES["unknown key"].spoil(tmp_path)
    CASES["broken profile"].spoil(tmp_path)
    write(tmp_path, {"mkdocs.yml": "site_name: x\ntheme: mkdocs\nplugins: [sweepprof]\n", "docs/index.md": "# Home\n"})
    for arguments, code in (([], 0), (["--strict"], 1)):
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", *arguments],
            cwd=tmp_path,
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        assert "WARNING -  sweepprof: collections/sweep/collection.yml:2: unknown key 'gruop'." in done.stderr.replace(
            "  -", " -"
        )
        assert "profile.json:3: not valid JSON" in done.stderr
        if code:
            assert "Aborted with 2 warnings in strict mode" in done.stdout
    assert (tmp_path / "site/sweep/profiling/index.html").exists()


@pytest.mark.parametrize(
    "junk",
    [
        b"\x00\x01\x02\xff\xfe" * 100,
        b"\xff\xfe{\x00}\x00",
        b"[" * 20_000,
        b'{"sections": {"a": 1}, "wall_seconds": "ten"}',
        b'{"wall_seconds": 1e308, "sections": [{"section": "a", "count": 9e99, "total_seconds": 1e308}]}',
        b"null",
        b'"text"',
        '{"sections": [{"section": "\ud83d\ude00/\u202e", "count": 1, "total_seconds": 1}]}'.encode(
            "utf-8", "surrogatepass"
        ),
    ],
    ids=["binary", "utf-16", "deep", "types", "huge", "null", "text", "surrogates"],
)
def test_no_junk_breaks_a_build(junk: bytes, tmp_path: Path) -> None:
    good(tmp_path)
    for name in ("profile.json", "config.yaml", "events.jsonl"):
        (tmp_path / f"collections/sweep/runs/sort-1/{name}").write_bytes(junk)
    write(tmp_path / "collections/other", {"collection.yml": junk})
    built = build(tmp_path)
    assert warnings(built)
    assert not [r for r in built.records if r.levelno >= logging.ERROR]
    for place in ("sweep", "other"):
        assert facts(built, place)["runtime.count"]["value"] >= 3
        json.dumps(facts(built, place), allow_nan=False)
        assert not clumsy(prose(note(built, place)))


def said(built: Built) -> list[str]:
    return [m.removeprefix("sweepprof: ") for m in built.said(logging.INFO) if m.startswith("sweepprof: ")]


def test_what_is_only_worth_a_word_passes_strict_and_is_told(tmp_path: Path) -> None:
    good(tmp_path)
    sweep = tmp_path / "collections/sweep"
    write(
        sweep,
        {
            "collection.yml": "levels: {task: [sort, copi]}\n"
            "commentary:\n  verdict: Seen here.\n  comparison: Unseen.\n",
            "runs/UPPER/Config.yaml": "task: copy",
            "runs/UPPER/Profile.json": "{}",
            "runs/copy-2/config.yaml": "task: copy\nlr: 0.3\nlr: 0.1\nseed: 2\n",
        },
    )
    shutil.copytree(sweep / "runs/copy-1", sweep / "runs/again")
    (tmp_path / "collections/begun/runs").mkdir(parents=True)
    good(tmp_path, ".hidden")
    config = {**BARE, "plugins": [{"sweepprof": {"cache_dir": str(tmp_path / "cache")}}]}
    for _ in range(2):
        built = build(tmp_path, config, strict=True)
        told = said(built)
        for start, what in (
            ("collections/sweep/collection.yml:1", "no run has task=copi. Did you mean 'copy'?"),
            ("collections/sweep/collection.yml:4", "commentary.comparison is not shown"),
            ("collections/sweep/runs/UPPER", "Rename Config.yaml → config.yaml, Profile.json → profile.json."),
            ("collections/sweep/runs/copy-2/config.yaml:3", "'lr' stands twice (first in line 2); the last value"),
            ("collections/sweep/runs/copy-1", "is an exact copy of runs/again; it is counted twice"),
            ("collections/begun", "runs/ is empty"),
        ):
            assert any(m.startswith(f"{start}: ") and what in m for m in told), (start, told)
    page = note(built, "sweep")
    assert "Seen here." in page.visible and "commentary.comparison is not shown" in notices(page)
    assert not (built.site / ".hidden").exists() and "hidden" not in " ".join(told)
    # The folder is gone: what was remembered without it is made anew.
    shutil.rmtree(sweep / "runs/UPPER")
    assert not any("UPPER" in m for m in said(build(tmp_path, config, strict=True)))


def test_a_collection_that_compares_with_itself(tmp_path: Path) -> None:
    good(tmp_path)
    write(tmp_path / "collections/sweep", {"collection.yml": "title: A\ncompare_to:\n  - sweep\n"})
    (message,) = warnings(build(tmp_path))
    assert "collection.yml:3: compare_to names 'sweep', which is this collection itself." in message


def test_misnamed_files_are_named_and_so_is_the_folder(tmp_path: Path) -> None:
    good(tmp_path, "sweep")
    write(tmp_path / "collections/misnamed/runs/a", {"Config.yaml": "a: 1", "Profile.json": "{}"})
    told = said(build(tmp_path))
    assert any(m.startswith("collections/misnamed: no readable run") for m in told), told
    assert any(m.startswith("collections/misnamed/runs/a: ") and "Config.yaml → config.yaml" in m for m in told)


def test_links_to_folders_with_odd_names(tmp_path: Path) -> None:
    places = ["a%20b", "q?#x", "c d (e)", "f[g]_h_", "é+&=~"]
    good(tmp_path, *places)
    write(tmp_path / "collections/c d (e)", {"collection.yml": f"compare_to: {json.dumps(places[:2])}\n"})
    built = build(tmp_path, strict=True)
    for at in ("sweepprof", *(f"{place}/profiling" for place in places)):
        links = [e.attributes.get("href", "") for e in Parsed(content(built.html(f"{at}/index.html"))).all("a")]
        inside = [x for x in links if x and not x.startswith(("http", "#"))]
        assert inside
        for link in inside:
            there = built.site / at / unquote(urlsplit(link).path)
            assert there.is_file() or (there / "index.html").is_file(), link


def test_runs_that_are_all_excluded_are_not_missing(tmp_path: Path) -> None:
    good(tmp_path)
    write(tmp_path / "collections/sweep", {"collection.yml": 'exclude:\n  runs: ["*"]\n'})
    built = build(tmp_path)
    said = " ".join(warnings(built))
    assert "collection.yml:2: `exclude.runs` excludes" in said and "Put run folders below" not in said
    page = note(built, "sweep")
    assert "excluded by collection.yml" in page.visible and "No run was found" not in page.visible
