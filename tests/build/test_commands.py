"""The command line on real folders: export, check, new, pack."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

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
    assert result.exit_code == (0 if path == "docs" else 1)
    assert path in result.output


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


def test_pack_of_several_collections(project: Path) -> None:
    write(project, collection("collections/lab/v2"))
    assert sweepprof("pack", "collections/lab", "packed").exit_code == 0
    assert (project / "packed/v1/runs.jsonl").exists() and (project / "packed/v2/runs.jsonl").exists()
