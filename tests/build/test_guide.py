"""What the guide shows works as shown."""

from __future__ import annotations

import json
from pathlib import Path

from mkdocs_sweepprof.readers.base import Reader
from mkdocs_sweepprof.readers.native import NativeReader
from mkdocs_sweepprof.readers.tree import Tree

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide"


def blocks(page: str, language: str) -> list[str]:
    return [part.partition("```")[0] for part in (GUIDE / page).read_text("utf-8").split(f"```{language}\n")[1:]]


def test_the_reader_of_the_guide_reads(tmp_path: Path) -> None:
    (code,) = blocks("extending.md", "python")
    names: dict[str, type] = {}
    exec(compile(code, "extending.md", "exec"), names)
    reader = names["TimingsReader"]()
    assert isinstance(reader, Reader)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "timings.txt").write_text("epoch/train 3 12.5\nbroken\n", encoding="utf-8")
    tree = Tree(tmp_path)
    (source,) = reader.find(tree)
    reading = reader.read(tree, source)
    assert [(s.path, s.count, s.total_seconds) for s in reading.runs[0].sections] == [("epoch/train", 3, 12.5)]
    assert [p.line for p in reading.problems] == [2]


def test_the_files_of_the_start_page_are_a_run(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "lr0.1-seed0"
    run.mkdir(parents=True)
    profile = blocks("start.md", "json")[0]
    events = blocks("start.md", "json")[1]
    config = next(b for b in blocks("start.md", "yaml") if b.startswith("task:"))
    (run / "config.yaml").write_text(config, encoding="utf-8")
    (run / "profile.json").write_text(profile, encoding="utf-8")
    (run / "events.jsonl").write_text(events, encoding="utf-8")
    reader, tree = NativeReader(), Tree(tmp_path)
    (source,) = reader.find(tree)
    reading = reader.read(tree, source)
    assert reading.problems == []
    (one,) = reading.runs
    assert (one.profile_wall, one.status, len(one.sections), len(one.events)) == (93.1, "completed", 4, 4)
    assert one.events[-1].time - one.events[0].time == 93.0
    assert json.loads(profile)["wall_seconds"] == 93.1


def test_every_page_of_the_guide_is_in_the_navigation() -> None:
    nav = (GUIDE.parents[1] / "mkdocs.yml").read_text("utf-8")
    assert [p.name for p in GUIDE.glob("*.md") if f"guide/{p.name}" not in nav] == []
