"""The command line on real folders: export, check, new, pack."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from mkdocs_sweepprof import pack as packing
from mkdocs_sweepprof.cli import main
from mkdocs_sweepprof.readers.flat import PACKED_BY
from mkdocs_sweepprof.schema import parse
from tests.build.support import build_site, collection, write

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("SWEEPPROF_SHARED", REPOSITORY.parent / "shared"))
TOKEN = "hf_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(
        tmp_path,
        {
            "mkdocs.yml": "site_name: x\nplugins: [sweepprof]\n",
            "docs/index.md": "# Home\n",
            "docs/lab/v1/design.md": "# Design\n",
            **collection("collections/lab/v1"),
        },
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sweepprof(*arguments: str) -> Result:
    result = CliRunner().invoke(main, list(arguments), catch_exceptions=True)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def tree(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# --- export -----------------------------------------------------------------------------------------


def test_export_writes_what_the_plugin_puts_into_the_site(project: Path) -> None:
    built = build_site(project, {"site_name": "x"}, strict=True)
    result = sweepprof("export", "--out", "out", "--strict")
    assert result.exit_code == 0, result.output
    out = tree(project / "out")
    assets = {n: c for n, c in out.items() if not n.endswith((".md", ".yml")) and not n.startswith(".")}
    assert {n for n in assets if n.endswith("facts.json")} == {"lab/v1/profiling/facts.json"}
    assert {n: (built.site / n).read_bytes() for n in assets} == assets
    page = next(f for f in built.config["_files"] if f.src_uri == "lab/v1/profiling.md")
    assert out["lab/v1/profiling.md"].decode() == page.content_string
    assert "nav.yml" in out and "](design.md)" in page.content_string


def test_a_site_from_exported_files_is_the_same(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    with_plugin = tree(build_site(project, {"site_name": "x"}, strict=True).site)
    assert sweepprof("export", "--out", "docs").exit_code == 0
    fragment = yaml.safe_load((project / "docs/nav.yml").read_text())
    assert "lab/v1/profiling.md" in json.dumps(fragment)
    # Built without us, as another builder would: the same notes, at the same places.
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    (project / "plain.yml").write_text("site_name: x\nplugins: []\nsite_dir: plain\n")
    build(load_config(str(project / "plain.yml"), strict=True))
    plain = tree(project / "plain")
    body = re.compile(rb'<div class="col-md-9" role="main">(.*?)<footer', re.DOTALL)
    for name in ("lab/v1/profiling/index.html", "sweepprof/index.html"):
        found = body.search(plain[name])
        assert found and found[1] == body.search(with_plugin[name])[1]  # type: ignore[index]
    figures = {n for n in with_plugin if n.endswith(".svg") and "profiling" in n}
    assert figures and all(plain[n] == with_plugin[n] for n in figures)


def test_a_site_with_the_plugin_shows_fresh_notes_over_exported_ones(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exported files in the docs are not hand-written: said once, replaced in the site, and never touched."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert sweepprof("export", "--out", "docs").exit_code == 0
    write(project, collection("collections/lab/v1", tasks=("reverse",)))
    before = tree(project / "docs")
    built = build_site(project, {"site_name": "x"})
    (said,) = built.said()
    assert "'docs'" in said and "`sweepprof export` wrote" in said and "docs/.sweepprof-export.json" in said
    assert "hand-written" not in " ".join(built.said(logging.INFO))
    assert "reverse" in built.html("lab/v1/profiling/index.html")
    facts = json.loads((built.site / "lab/v1/profiling/facts.json").read_bytes())
    assert json.dumps(facts).count("reverse") and tree(project / "docs") == before
    fresh = tree(built.site)
    # The same site as without the export, but for its manifest's neighbour nav.yml.
    for name in before:
        if name not in ("index.md", "lab/v1/design.md"):
            (project / "docs" / name).unlink()
    clean = build_site(project)
    assert not clean.said()
    plain = tree(clean.site)
    assert set(fresh) - set(plain) == {"nav.yml"}
    assert {n for n in plain if fresh[n] != plain[n] and not n.startswith("sitemap")} == set()


def test_an_exported_page_that_was_edited_is_hand_written(project: Path) -> None:
    assert sweepprof("export", "--out", "docs").exit_code == 0
    page = project / "docs/lab/v1/profiling.md"
    page.write_text(page.read_text() + "\nMy remark.\n")
    built = build_site(project, {"site_name": "x"})
    assert "'lab/v1/profiling.md' is hand-written and stands" in " ".join(built.said(logging.INFO))
    assert "My remark." in built.html("lab/v1/profiling/index.html")


def test_export_again_changes_nothing_and_follows_the_runs(project: Path) -> None:
    sweepprof("export", "--out", "docs")
    before = {p: p.stat().st_mtime_ns for p in (project / "docs").rglob("*") if p.is_file()}
    assert "0 written" in sweepprof("export", "--out", "docs").output
    assert {p: p.stat().st_mtime_ns for p in (project / "docs").rglob("*") if p.is_file()} == before
    shutil.rmtree(project / "collections/lab/v1/runs/copy-0")
    assert "0 written" not in sweepprof("export", "--out", "docs").output
    shutil.rmtree(project / "collections/lab")
    sweepprof("export", "--out", "docs")
    left = set(tree(project / "docs"))
    assert {"index.md", "lab/v1/design.md"} <= left
    assert not [n for n in left if "profiling" in n]


def test_export_without_mkdocs_yml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, collection("data/v1"))
    monkeypatch.chdir(tmp_path)
    result = sweepprof("export", "--root", "data", "--out", "pages")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "pages/v1/profiling.md").exists()


@pytest.mark.parametrize("out", ["collections", "collections/x", ".", "site"])
def test_export_refuses_folders_that_it_would_harm(project: Path, out: str) -> None:
    before = tree(project)
    result = sweepprof("export", "--out", out)
    assert result.exit_code == 2 and "Export into the docs folder" in result.output
    assert tree(project) == before


def test_export_tells_of_a_missing_root(project: Path) -> None:
    result = sweepprof("export", "--root", "nowhere", "--out", "out", "--strict")
    assert result.exit_code == 1 and "nowhere" in result.output


def test_export_into_a_folder_that_cannot_be_made(project: Path) -> None:
    (project / "file").write_text("")
    result = sweepprof("export", "--out", "file/x")
    assert result.exit_code == 2 and "'file' is a file" in result.output


# --- check ------------------------------------------------------------------------------------------


def test_check_says_what_was_read(project: Path) -> None:
    result = sweepprof("check")
    assert result.exit_code == 0
    assert "collections/lab/v1" in result.output
    assert "runs: 4 of 4 counted; by layout: 4 native" in result.output
    assert "files: 8 of 8 read (8 by native)" in result.output
    assert "1 collection, 4 of 4 runs counted, 0 warnings." in result.output


def test_check_names_file_line_and_remedy_and_fails(project: Path) -> None:
    bad = project / "collections/lab/v1/runs/copy-0/profile.json"
    bad.write_text('{\n "sections": [\n')
    log = project / "collections/lab/v1/runs/copy-1"
    (log / "profile.json").unlink()
    (log / "events.jsonl").write_text('{"time": 1000, "event": "run_start"}\n{"time": 1060, "event": "epoch_end"}\n')
    result = sweepprof("check")
    assert result.exit_code == 1
    assert re.search(r"WARNING: collections/lab/v1/runs/copy-0/profile\.json:\d+: .+", result.output)
    assert "run copy-1: left out, no_end" in result.output
    body = json.loads(sweepprof("check", "--json").output)
    assert body["warnings"] == 1
    (report,) = body["collections"]
    runs = {r["run"]: r for r in report["runs"]}
    assert runs["copy-1"]["left_out"] == "no_end" and runs["copy-0"]["problems"]
    assert report["left_out"]["no_end"] == 1 and report["counted"] == 2
    assert report["problems"][0]["line"] is not None and report["problems"][0]["remedy"]


def test_check_of_one_folder(project: Path) -> None:
    write(project, collection("collections/lab/v2"))
    assert "2 collections" in sweepprof("check").output
    for path in ("collections/lab/v1", "collections/lab/v1/runs/copy-0"):
        result = sweepprof("check", path)
        assert "1 collection, 4 of 4" in result.output and "lab/v1" in result.output
    assert "2 collections" in sweepprof("check", "collections/lab").output


def test_check_outside_of_any_root(project: Path) -> None:
    write(project, collection("scratch/a"))
    assert "1 collection, 4 of 4" in sweepprof("check", "scratch/a").output
    assert "1 collection, 4 of 4" in sweepprof("check", "scratch").output


@pytest.mark.parametrize("path", ["nowhere", "mkdocs.yml", "docs"])
def test_check_of_nothing(project: Path, path: str) -> None:
    result = sweepprof("check", path)
    assert result.exit_code == (0 if path == "docs" else 2)
    assert path in result.output


@pytest.mark.parametrize("command", ["check", "new", "pack"])
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nowhere", "Error: 'nowhere' does not exist. Name the folder that holds the runs."),
        (
            "runs/study.db",
            "Error: 'runs/study.db' is a file, and runs are read from folders. Name the folder that it lies",
        ),
        ("runs/locked", "Error: 'runs/locked' cannot be read (Permission denied). Check its permissions"),
    ],
)
def test_a_path_that_is_no_readable_folder(
    project: Path, monkeypatch: pytest.MonkeyPatch, command: str, path: str, words: str
) -> None:
    write(project, {"runs/study.db": "x", "runs/locked/x": "x"})
    real = os.scandir

    def scandir(where: str | Path = ".") -> object:
        if str(where).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(where))
        return real(where)

    # Root may read everything, so that the permissions alone would not do for a test.
    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(os, "access", lambda where, mode, **_: not str(where).endswith("locked"))
    result = sweepprof(command, path, *(["packed"] if command == "pack" else []))
    assert result.exit_code == 2 and words in result.output, result.output
    assert "Usage:" not in result.output


def test_check_of_a_root_that_is_not_there(project: Path) -> None:
    result = sweepprof("check", "--root", "nowhere")
    assert result.exit_code == 2 and "'nowhere' does not exist. Name the folder" in result.output
    (project / "mkdocs.yml").write_text("plugins: [sweepprof: {roots: [sweeps]}]\n")
    result = sweepprof("check")
    assert result.exit_code == 1 and "The root 'sweeps' does not exist. Make the folder" in result.output
    (project / "sweeps").mkdir()
    result = sweepprof("check")
    assert result.exit_code == 1 and "'sweeps' is empty. Put a folder of runs into it" in result.output


def test_check_of_a_whole_file_system_ends_at_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mkdocs_sweepprof.check.discover", lambda *_: pytest.fail("looked through"))
    result = sweepprof("check", "/")
    assert result.exit_code == 2 and "whole file system. Name the folder that holds the runs" in result.output


def test_check_of_far_too_many_files_ends_early(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, {f"home/a{i}/x": "" for i in range(12)})
    monkeypatch.setattr("mkdocs_sweepprof.readers.tree.MAX_FILES", 10)
    monkeypatch.setattr("mkdocs_sweepprof.check.discover", lambda *_: pytest.fail("looked through"))
    for arguments in (["check", "home"], ["pack", "home", "packed"], ["new", "home"]):
        result = sweepprof(*arguments)
        assert result.exit_code == 2 and "far more than a sweep" in result.output


def test_check_counts_distinct_files(project: Path) -> None:
    """Sources that share files (one database of many runs) count each file once, and the numbers add up."""
    source = next((REPOSITORY / "tests/data/trackers").glob("mlflow*"), None) or SHARED / "trackers/made/mlflow"
    if not source.is_dir():
        pytest.skip("no mlflow in tests/data/trackers or ../shared/trackers/made")
    shutil.copytree(source, project / "collections/mlflow", symlinks=True)
    (project / "collections/lab/v1/collection.yml").write_text("title: Mine\n")
    body = json.loads(sweepprof("check", "--json").output)
    for report in body["collections"]:
        known = sum(report["sources"].values()) - report["shared"] + bool(report["config"])
        assert known == report["files_read"] and known + len(report["unread"]) == report["files"]
    assert "files: 9 of 9 read (8 by native, and collection.yml)" in sweepprof("check", "collections/lab").output


def test_an_unrecognised_folder_is_told_what_is_read(project: Path) -> None:
    write(project, {"collections/odd/a.txt": "x", "collections/packed/sweep.tar.gz": "x", "scratch/b.zip": "x"})
    output = sweepprof("check").output
    assert "collections/odd: no layout recognised. Seen: a.txt.\n  Put one of these into it" in output
    for title in ("run folders", "tables", "MLflow", "Weights & Biases", "Hydra", "Optuna", "TensorBoard"):
        assert title in output
    assert "It holds an archive (sweep.tar.gz), which no reader opens: unpack it first." in output
    assert "sweepprof new" not in output
    result = sweepprof("check", "scratch")
    assert result.exit_code == 1 and "(b.zip), which no reader opens: unpack it first" in result.output
    said = build_site(project, {"site_name": "x"}).said(logging.INFO)
    assert any("collections/odd: no layout recognised. Layouts that are read: run folders" in text for text in said)
    assert any("collections/packed: no layout recognised. It holds an archive" in text for text in said)


def test_links_are_told_apart(project: Path) -> None:
    (project / "elsewhere").mkdir()
    there = project / "collections/lab/v1"
    (there / "gone").symlink_to(project / "never")
    (there / "away").symlink_to(project / "elsewhere")
    output = sweepprof("check").output
    assert "v1/gone: a link whose target does not exist" in output
    assert "v1/away: a link that leads out of the collections root is not followed" in output


@pytest.mark.parametrize("arguments", [["check"], ["check", "--json"], ["schema"], ["new", "collections/lab/v1"]])
def test_output_that_cannot_be_written_gives_no_traceback(project: Path, arguments: list[str]) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    command = [sys.executable, "-m", "mkdocs_sweepprof.cli", *arguments]
    with full.open("wb") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert done.stderr == "Error: The output cannot be written: No space left on device.\n"


@pytest.mark.parametrize("both", [False, True])
def test_a_reader_that_has_seen_enough_is_no_error(project: Path, both: bool) -> None:
    """As with ``sweepprof check | head -1``, also with ``2>&1``: the pipe is closed before anything is written."""
    (project / "mkdocs.yml").write_text("plugins: [sweepprof: {nonsense: 1}]\n")
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "mkdocs_sweepprof.cli", "check"]
    errors = writing if both else subprocess.PIPE
    done = subprocess.run(command, stdout=writing, stderr=errors, text=True, check=False, timeout=120)
    os.close(writing)
    assert done.returncode == 1
    assert both or [line for line in done.stderr.splitlines() if "no option 'nonsense'" not in line] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["-f", "nowhere.yml"], "does not exist"), (["--nonsense"], "No such option"), (["--root", ""], "roots")],
)
def test_wrong_usage_is_2(project: Path, arguments: list[str], words: str) -> None:
    result = sweepprof("check", *arguments)
    assert result.exit_code == 2 and words in result.output


def test_check_writes_nothing(project: Path) -> None:
    before = tree(project)
    sweepprof("check")
    assert tree(project) == before


# --- new --------------------------------------------------------------------------------------------


def uncommented(text: str) -> str:
    return re.sub(r"^#(?=\S|  )", "", text, flags=re.MULTILINE)


def test_new_writes_a_collection_yml_that_fits_the_runs(project: Path) -> None:
    result = sweepprof("new", "collections/lab/v1", "--pages")
    assert result.exit_code == 0, result.output
    text = (project / "collections/lab/v1/collection.yml").read_text()
    config = parse(text)
    assert config.group == "task" and config.title == "V1" and config.settings == ["lr"] and not config.knobs
    whole = parse(uncommented(text))
    assert [k.sections for k in whole.knobs] == [["eval"]]
    assert sorted(whole.factors or []) == ["seed", "task"] and whole.roles and whole.compare_to
    assert "30.00%  eval" in text
    # design.md was there; results.md was not.
    assert (project / "docs/lab/v1/design.md").read_text() == "# Design\n"
    assert "(profiling.md)" in (project / "docs/lab/v1/results.md").read_text()
    assert sweepprof("check").exit_code == 0
    build_site(project, {"site_name": "x"}, strict=True)


def test_new_never_overwrites(project: Path) -> None:
    (project / "collections/lab/v1/collection.yml").write_text("title: mine\n")
    before = tree(project)
    result = sweepprof("new", "collections/lab/v1")
    assert result.exit_code == 2 and "exists" in result.output
    assert tree(project) == before


@pytest.mark.parametrize("name", ["a\n#b: [", "x: y", "- *a", "'", '"', "true", "1", "{{ x }}", "ü, [z]"])
def test_new_with_names_that_are_no_plain_yaml(project: Path, name: str) -> None:
    folder = project / "collections/odd"
    for i, value in enumerate(("p", "q", name, name)):
        write(
            folder / f"runs/r{i}",
            {
                "config.json": json.dumps({name: value, "same": name}),
                "profile.json": json.dumps(
                    {"wall_seconds": 100 + i, "sections": [{"section": name, "count": 1, "total_seconds": 50}]}
                ),
            },
        )
    assert sweepprof("new", "collections/odd").exit_code == 0
    text = (folder / "collection.yml").read_text()
    parse(text)
    whole = parse(uncommented(text))
    assert whole.factors and len(whole.factors) == 1
    assert all(isinstance(s, str) for k in whole.knobs for s in k.sections)


def test_new_for_an_empty_folder(project: Path) -> None:
    (project / "scratch").mkdir()
    result = sweepprof("new", "scratch")
    assert result.exit_code == 0 and "no root" in result.output and "No layout" in result.output
    parse((project / "scratch/collection.yml").read_text())
    assert sweepprof("new", "nowhere").exit_code == 2


@pytest.mark.parametrize("extra", [[], ["--pages"]])
@pytest.mark.parametrize("path", ["collections", "collections/lab"])
def test_new_refuses_a_folder_of_collections(project: Path, path: str, extra: list[str]) -> None:
    before = tree(project)
    result = sweepprof("new", path, *extra)
    assert result.exit_code == 2 and "Name the folder of one collection, like 'collections/lab/v1'." in result.output
    assert tree(project) == before


def test_new_refuses_an_empty_root(project: Path) -> None:
    (project / "empty").mkdir()
    result = sweepprof("new", "--root", "empty", "empty")
    assert result.exit_code == 2 and "'empty' is a root" in result.output and "'empty/my-sweep'" in result.output


def test_new_lists_the_sections_that_matter(project: Path) -> None:
    sections = [{"section": f"s{i:02}", "count": 1, "total_seconds": 0.009} for i in range(20)]
    sections += [{"section": f"big{i}", "count": 1, "total_seconds": 9} for i in range(10)]
    for i in range(2):
        profile = json.dumps({"wall_seconds": 100, "sections": sections if i else sections[:24]})
        write(project / f"collections/many/runs/r{i}", {"config.json": f'{{"a": {i}}}', "profile.json": profile})
    assert sweepprof("new", "collections/many").exit_code == 0
    text = (project / "collections/many/collection.yml").read_text()
    listed = re.findall(r"^# (\d+\.\d+)% +(\S+)$", text, re.MULTILINE)
    assert len(listed) == 8 and all(float(share) >= 0.5 and name.startswith("big") for share, name in listed)
    assert "# … and 22 smaller ones; the note lists them all." in text


def test_new_names_the_schema_for_editors(project: Path) -> None:
    printed = sweepprof("schema")
    assert printed.exit_code == 0
    assert printed.output == (REPOSITORY / "docs/guide/collection.schema.json").read_text("utf-8")
    result = sweepprof("new", "collections/lab/v1", "--schema", "collection.schema.json")
    assert result.exit_code == 2 and "`sweepprof schema > collection.schema.json`" in result.output
    (project / "collection.schema.json").write_text(printed.output)
    target = project / "collections/lab/v1/collection.yml"
    for schema, line in (
        ("collection.schema.json", "# yaml-language-server: $schema=../../../collection.schema.json"),
        ("https://example.org/x.json", "# yaml-language-server: $schema=https://example.org/x.json"),
    ):
        assert sweepprof("new", "collections/lab/v1", "--schema", schema).exit_code == 0
        assert target.read_text().splitlines()[0] == line
        parse(target.read_text())
        target.unlink()
    assert sweepprof("new", "collections/lab/v1").exit_code == 0
    assert "`sweepprof schema > collection.schema.json`" in target.read_text().splitlines()[0]


# --- pack -------------------------------------------------------------------------------------------


def facts(root: Path) -> dict[str, object]:
    """Every fact of every collection below a root, by export."""
    out = root.parent / f"{root.name}-exported"
    result = sweepprof("export", "--root", str(root), "--out", str(out), "--quiet")
    assert result.exit_code == 0, result.output
    return {p.relative_to(out).as_posix(): json.loads(p.read_bytes()) for p in sorted(out.rglob("facts.json"))}


PACKABLE = ["continuous-v2", "continuous-v3-beta-schedule", "toy-sequence-tasks"]
TRACKERS = [
    "hf_trainer",
    "hydra",
    "lightning",
    "lightning_stages",
    "mlflow",
    "optuna",
    "ray_tune",
    "tensorboard",
    "wandb",
]


@pytest.mark.parametrize("name", [*PACKABLE, *TRACKERS])
def test_packed_and_raw_give_the_same_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if name in PACKABLE:
        source = next((REPOSITORY / "collections").rglob(name))
    else:
        source = SHARED / "trackers" / "made" / name
        if not source.is_dir():
            pytest.skip(f"no {source.name} in ../shared/trackers/made")
    monkeypatch.chdir(tmp_path)
    raw = tmp_path / "raw"
    shutil.copytree(source, raw / name, symlinks=True)
    result = sweepprof("pack", str(raw / name), f"packed/{name}")
    assert result.exit_code == 0, result.output
    before, after = facts(raw), facts(tmp_path / "packed")
    assert before and all(len(f) > 20 for f in before.values())  # type: ignore[arg-type]
    assert after == before
    size = sum(p.stat().st_size for p in (tmp_path / "packed").rglob("*") if p.is_file())
    assert size < 1_000_000
    # Packed again from the same runs, byte for byte the same.
    first = tree(tmp_path / "packed")
    assert sweepprof("pack", str(raw / name), f"packed/{name}").exit_code == 0
    assert tree(tmp_path / "packed") == first


def test_a_pack_holds_no_secret(project: Path) -> None:
    run = project / "collections/lab/v1/runs/copy-0"
    config = yaml.safe_load((run / "config.yaml").read_text())
    config |= {"hub_token": TOKEN, "use_cls_token": True, "data": "/home/jane/data", "url": "https://u:pw9@x.org/a"}
    (run / "config.yaml").write_text(yaml.safe_dump(config))
    assert sweepprof("pack", "collections/lab/v1", "packed").exit_code == 0
    every = b"".join(tree(project / "packed").values())
    assert b"use_cls_token" in every
    for secret in (TOKEN.encode(), b"jane", b"pw9"):
        assert secret not in every


def test_a_part_of_a_collection_is_not_packed(project: Path) -> None:
    done = sweepprof("pack", "collections/lab/v1/runs", "packed")
    assert done.exit_code == 2 and "is a part of the collection" in done.output
    assert not (project / "packed").exists()


def test_a_pack_is_read_by_people(project: Path) -> None:
    assert sweepprof("pack", "collections/lab/v1", "packed").exit_code == 0
    rows = [json.loads(line) for line in (project / "packed/runs.jsonl").read_text().splitlines()]
    assert [r["run"] for r in rows] == ["copy-0", "copy-1", "sort-0", "sort-1"]
    assert rows[0]["task"] == "copy" and rows[0]["wall_seconds"] == 100.0
    assert (project / "packed/sections.csv").read_text().startswith("run,section,count,total_seconds\ncopy-0,train,10,")
    about = json.loads((project / "packed/pack.json").read_text())
    assert about["source"]["folder"] == "v1" and about["source"]["files_read"] == 8
    assert "runs/copy-0/config.yaml" in about["runs"]["copy-0"]["files"]
    assert str(project) not in (project / "packed/pack.json").read_text()


def test_a_changed_table_counts_as_it_stands(project: Path) -> None:
    assert sweepprof("pack", "collections/lab/v1", "collections/packed").exit_code == 0
    table = project / "collections/packed/sections.csv"
    table.write_text("\n".join(line for line in table.read_text().splitlines() if "copy-0" not in line) + "\n")
    result = sweepprof("check", "collections/packed")
    assert result.exit_code == 0 and "changed since it was packed" in result.output
    before = tree(project)
    result = sweepprof("pack", "collections/lab/v1", "collections/packed")
    assert result.exit_code == 2 and "changed since" in result.output
    assert tree(project) == before


@pytest.mark.parametrize("damage", ["", f'{{"made_by": "{PACKED_BY}"}}', f'{{"made_by": "{PACKED_BY}", "tables": 3}}'])
def test_a_damaged_pack_json_costs_its_extras_only(project: Path, damage: str) -> None:
    assert sweepprof("pack", "collections/lab/v1", "collections/packed").exit_code == 0
    (project / "collections/packed/pack.json").write_text(damage)
    result = sweepprof("check", "collections/packed")
    assert "4 of 4 counted" in result.output
    assert result.exit_code == (1 if damage else 0)


def test_pack_refuses_what_it_would_overwrite(project: Path) -> None:
    write(project, {"mine/runs.csv": "run\na\n"})
    for target, words in (("mine", "not written by pack"), ("collections/lab/v1/packed", "lie in each other")):
        result = sweepprof("pack", "collections/lab/v1", target)
        assert result.exit_code == 2 and words in result.output
    assert sweepprof("pack", "docs", "packed").exit_code == 2
    assert (project / "mine/runs.csv").read_text() == "run\na\n"
    assert not (project / "packed").exists()


WRITES = 5
"""Of a first pack of the project: pack.json as unfinished, two tables, collection.yml, pack.json."""


@pytest.mark.parametrize("before", ["nothing", "a pack"])
@pytest.mark.parametrize("after", range(WRITES + 1))
def test_an_interrupted_pack_is_never_taken_for_a_whole_one(
    project: Path, monkeypatch: pytest.MonkeyPatch, after: int, before: str
) -> None:
    source = project / "collections/lab/v1"
    (source / "collection.yml").write_text("title: Mine\n")
    if before == "a pack":
        assert sweepprof("pack", str(source), "runs/packed").exit_code == 0
        shutil.rmtree(source / "runs/copy-1")
        (project / "runs/packed/collection.yml").unlink()
    old = tree(project / "runs") if before == "a pack" else {}
    real, count = packing.write_atomic, 0

    def interrupted(path: Path, content: bytes) -> None:
        nonlocal count
        if count == after:
            raise KeyboardInterrupt
        count += 1
        real(path, content)

    monkeypatch.setattr(packing, "write_atomic", interrupted)
    result = sweepprof("pack", str(source), "runs/packed")
    monkeypatch.undo()
    monkeypatch.chdir(project)
    assert result.exit_code == (0 if after == WRITES else 1) and count == after
    if before == "nothing" and after < WRITES:
        assert not (project / "runs").exists()
    elif after == 0:
        assert tree(project / "runs") == old
    elif after < WRITES:
        checked = sweepprof("check", "--root", "runs")
        assert checked.exit_code == 1
        assert "pack.json: packing was interrupted" in checked.output and "`sweepprof pack` again" in checked.output
        assert "0 of 0 runs counted" in checked.output
    assert sweepprof("pack", str(source), "runs/packed").exit_code == 0
    again = sweepprof("check", "--root", "runs")
    n = 4 if before == "nothing" else 3
    assert again.exit_code == 0 and f"{n} of {n} runs counted" in again.output
    assert sorted(tree(project / "runs")) == [
        f"packed/{name}" for name in ("collection.yml", "pack.json", "runs.jsonl", "sections.csv")
    ]


def test_a_killed_first_pack_is_known_as_unfinished(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any chance to tidy up: nothing but the mark stands."""
    (project / "runs/packed").mkdir(parents=True)
    real = packing.write_atomic

    def killed(path: Path, content: bytes) -> None:
        if path.name != "pack.json":
            raise KeyboardInterrupt
        real(path, content)

    monkeypatch.setattr(packing, "write_atomic", killed)
    assert sweepprof("pack", "collections/lab/v1", "runs/packed").exit_code == 1
    monkeypatch.undo()
    monkeypatch.chdir(project)
    assert sorted(tree(project / "runs")) == ["packed/pack.json"]
    assert "packing was interrupted" in sweepprof("check", "--root", "runs").output
    assert sweepprof("pack", "collections/lab/v1", "runs/packed").exit_code == 0
    assert "4 of 4 runs counted" in sweepprof("check", "--root", "runs").output


def test_pack_replaces_another_sweep_only_when_forced(project: Path) -> None:
    write(project, {**collection("collections/lab/v2"), **collection("elsewhere/v1", tasks=("reverse",))})
    assert sweepprof("pack", "collections/lab/v1", "packed").exit_code == 0
    before = tree(project / "packed")
    for source, words in (("collections/lab/v2", "the packed runs of 'v1'"), ("elsewhere/v1", "of which none is in")):
        result = sweepprof("pack", source, "packed")
        assert result.exit_code == 2 and words in result.output and "--force" in result.output
        assert tree(project / "packed") == before
    assert sweepprof("pack", "elsewhere/v1", "packed", "--force").exit_code == 0
    assert "reverse-0" in (project / "packed/runs.jsonl").read_text()
    write(project, collection("elsewhere/v1", tasks=("reverse", "sort")))
    assert sweepprof("pack", "elsewhere/v1", "packed").exit_code == 0
    # Files that pack did not make are not replaced by force either.
    (project / "packed/runs.jsonl").write_text("{}")
    assert "not written by pack" in sweepprof("pack", "elsewhere/v1", "packed", "--force").output


def test_pack_into_what_cannot_be_written_names_the_target(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**where: object) -> tuple[int, str]:
        raise PermissionError(13, "Permission denied", f"{where['dir']}/.x.part")

    monkeypatch.setattr("mkdocs_sweepprof.store.tempfile.mkstemp", refused)
    result = sweepprof("pack", "collections/lab/v1", "packed")
    assert result.exit_code == 1
    assert f"{project / 'packed/pack.json'}: Permission denied. Check the permissions" in result.output
    assert ".part" not in result.output and not (project / "packed").exists()


def test_pack_of_several_collections(project: Path) -> None:
    write(project, collection("collections/lab/v2"))
    assert sweepprof("pack", "collections/lab", "packed").exit_code == 0
    assert (project / "packed/v1/runs.jsonl").exists() and (project / "packed/v2/runs.jsonl").exists()
