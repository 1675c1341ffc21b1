"""Export: what is written, what is left alone, what is removed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from mkdocs_sweepprof import export as module
from mkdocs_sweepprof.export import MANIFEST, NAV, BadTarget, check_target, export, hand_written
from mkdocs_sweepprof.project import read_project
from mkdocs_sweepprof.site import OVERVIEW, SCRIPT, STYLE, Asset, Entry, Page, Site

NOTE = "lab/v2/profiling.md"
FIGURE = "lab/v2/profiling/figures/bar.svg"


def site(text: str = "# v2\n", *, figure: bytes | None = b"<svg/>") -> Site:
    out = Site(
        pages=[Page(NOTE, text, "v2", None), Page(OVERVIEW, "# Overview\n", "Overview", None)],
        assets=[Asset(STYLE, b"x"), Asset(SCRIPT, b"y")],
        entries=[Entry("v2", NOTE, "lab/v2", None, None)],
    )
    if figure is not None:
        out.assets.append(Asset(FIGURE, figure))
    return out


def tree(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_everything_is_written_and_listed(tmp_path: Path) -> None:
    out = tmp_path / "docs"
    done = export(site(), out)
    files = tree(out)
    assert set(files) == {NOTE, OVERVIEW, STYLE, SCRIPT, FIGURE, NAV, MANIFEST}
    assert files[NOTE] == b"# v2\n" and files[FIGURE] == b"<svg/>"
    assert set(json.loads(files[MANIFEST])["files"]) == set(files) - {MANIFEST}
    assert yaml.safe_load(files[NAV]) == [{"Sweeps": [OVERVIEW, {"Lab": [{"v2": NOTE}]}]}]
    assert sorted(done.written) == sorted(set(files) - {MANIFEST}) and not done.kept


def test_only_changed_files_are_written_again(tmp_path: Path) -> None:
    export(site(), tmp_path)
    for path in tmp_path.rglob("*"):
        os.utime(path, (1e9, 1e9))
    assert export(site(), tmp_path).written == []
    assert {p.stat().st_mtime for p in tmp_path.rglob("*") if p.is_file()} == {1e9}  # the manifest neither
    done = export(site("# changed\n"), tmp_path)
    assert done.written == [NOTE]
    assert {p.name for p in tmp_path.rglob("*") if p.is_file() and p.stat().st_mtime != 1e9} == {
        "profiling.md",
        MANIFEST,
    }


def test_stale_files_and_empty_folders_go(tmp_path: Path) -> None:
    export(site(), tmp_path)
    (tmp_path / "lab/own.md").write_text("mine")
    done = export(Site(pages=[Page(OVERVIEW, "# Overview\n", "Overview", None)]), tmp_path)
    assert set(tree(tmp_path)) == {OVERVIEW, NAV, MANIFEST, "lab/own.md"}
    assert FIGURE in done.removed and not (tmp_path / "lab/v2").exists()


def test_files_made_by_others_are_never_touched(tmp_path: Path) -> None:
    (tmp_path / "lab/v2").mkdir(parents=True)
    (tmp_path / NOTE).write_text("by hand")
    (tmp_path / "index.md").write_text("home")
    done = export(site(), tmp_path)
    assert (tmp_path / NOTE).read_text() == "by hand"
    assert [name for name, _ in done.kept] == [NOTE]
    export(Site(), tmp_path)
    assert set(tree(tmp_path)) == {NOTE, "index.md", NAV, MANIFEST}


def test_the_same_content_by_another_hand_is_not_adopted(tmp_path: Path) -> None:
    (tmp_path / "lab/v2").mkdir(parents=True)
    (tmp_path / NOTE).write_text("# v2\n")
    assert export(site(), tmp_path).kept == []
    export(Site(), tmp_path)
    assert (tmp_path / NOTE).read_text() == "# v2\n"


def test_what_was_edited_since_is_kept(tmp_path: Path) -> None:
    export(site(), tmp_path)
    (tmp_path / NOTE).write_text("# v2, with my remarks\n")
    (tmp_path / FIGURE).write_text("mine")
    done = export(site("# new\n", figure=None), tmp_path)
    assert (tmp_path / NOTE).read_text() == "# v2, with my remarks\n"
    assert (tmp_path / FIGURE).read_text() == "mine"
    assert [name for name, _ in done.kept] == [NOTE, FIGURE]
    # Removed by hand, it is written again.
    (tmp_path / NOTE).unlink()
    assert NOTE in export(site("# new\n"), tmp_path).written


def test_a_page_with_the_same_url_wins(tmp_path: Path) -> None:
    export(site(), tmp_path)
    rival = tmp_path / "lab/v2/profiling/index.md"
    rival.write_text("by hand")
    done = export(site(), tmp_path)
    assert rival.read_text() == "by hand"
    assert not (tmp_path / NOTE).exists()
    assert [name for name, _ in done.kept] == [NOTE]


def test_no_write_through_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("precious")
    out = tmp_path / "out"
    out.mkdir()
    (out / "lab").symlink_to(outside)
    (out / "sweepprof").mkdir()
    (out / OVERVIEW).symlink_to(outside / "f")
    done = export(site(), out)
    assert tree(outside) == {"f": b"precious"}
    assert {NOTE, FIGURE, OVERVIEW} <= {name for name, _ in done.kept}


def test_no_path_leads_out(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = export(Site(assets=[Asset("../evil", b"x"), Asset("/tmp/evil-sweepprof", b"x"), Asset(MANIFEST, b"x")]), out)
    assert len(done.kept) == 3
    assert set(tree(tmp_path)) == {f"out/{NAV}", f"out/{MANIFEST}"}


def test_nothing_is_written_into_a_root(tmp_path: Path) -> None:
    done = export(site(), tmp_path, roots=(tmp_path / "lab",))
    assert not (tmp_path / "lab").exists()
    assert {name for name, _ in done.kept} == {NOTE, FIGURE}


@pytest.mark.parametrize("manifest", ["", "{}", "[]", '{"made_by": "mkdocs-sweepprof", "files": 3}', "\x00"])
def test_a_broken_manifest_makes_all_files_foreign(tmp_path: Path, manifest: str) -> None:
    export(site(), tmp_path)
    (tmp_path / MANIFEST).write_text(manifest)
    done = export(site("# new\n"), tmp_path)
    assert (tmp_path / NOTE).read_text() == "# v2\n"
    assert [name for name, _ in done.kept] == [NOTE]


@pytest.mark.parametrize("after", range(7))
def test_an_interrupted_export_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    export(site(), tmp_path)
    real = module.write_atomic
    count = 0

    def interrupted(path: Path, content: bytes) -> None:
        nonlocal count
        if count == after:
            raise KeyboardInterrupt
        count += 1
        real(path, content)

    new = site("# new\n", figure=b"<svg>new</svg>")
    new.assets.append(Asset("lab/v2/profiling/facts.json", b"{}"))
    monkeypatch.setattr(module, "write_atomic", interrupted)
    if after < 5:  # the list, three files, the list
        with pytest.raises(KeyboardInterrupt):
            export(new, tmp_path)
    monkeypatch.undo()
    assert not [p for p in tmp_path.rglob("*") if p.name.endswith(".part")]
    done = export(new, tmp_path)
    assert done.kept == []
    files = tree(tmp_path)
    assert files[NOTE] == b"# new\n" and files[FIGURE] == b"<svg>new</svg>"
    assert export(new, tmp_path).written == []


def test_hand_written_pages_are_those_that_are_not_exported(tmp_path: Path) -> None:
    project = read_project(None, tmp_path)
    docs = tmp_path / "docs"
    export(site(), docs)
    (docs / "lab/v2/design.md").write_text("# D")
    (docs / ".hidden").mkdir()
    (docs / ".hidden/x.md").write_text("")
    assert hand_written(project, docs) == {"lab/v2/design.md"}
    (docs / NOTE).write_text("edited")
    assert hand_written(project, docs) == {"lab/v2/design.md", NOTE}
    out = tmp_path / "out"
    out.mkdir()
    (out / "other.md").write_text("# O")
    assert "other.md" in hand_written(project, out)


@pytest.mark.parametrize(
    "target", ["collections", "collections/lab", "site/x", ".", ".cache", ".cache/plugin/sweepprof/x"]
)
def test_targets_that_would_harm_are_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "collections/lab").mkdir(parents=True)
    (tmp_path / "mkdocs.yml").write_text("plugins: [sweepprof]\n")
    project = read_project(None, tmp_path)
    with pytest.raises(BadTarget, match="docs"):
        check_target(Path(os.path.normpath(tmp_path / target)), project)


def test_a_large_unchanged_export_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    big = Site(assets=[Asset(f"a/{i}.svg", b"x" * 10_000) for i in range(500)])
    export(big, tmp_path)
    monkeypatch.setattr(module, "write_atomic", lambda *_: pytest.fail("written again"))
    start = time.perf_counter()
    done = export(big, tmp_path)
    record_property("an unchanged export of 500 files, s", round(time.perf_counter() - start, 3))
    assert len(done.unchanged) == 501 and done.written == done.removed == []
