"""The same sweep, kept or written in another way, gives the same note."""

from __future__ import annotations

import html
import json
import os
import random
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.build.pages import build, clumsy, copy_published, facts, note, prose, warnings
from tests.build.support import Built

V2 = "from-entangled-v2/continuous-v2"
V3 = "from-entangled-v2/continuous-v3-beta-schedule"
EVAL = "epoch/eval_router_sampled"

pytestmark = pytest.mark.xdist_group("same-notes")


def each_run(collection: Path) -> list[Path]:
    return sorted((collection / "runs").iterdir())


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("base")
    copy_published(folder)
    return build(folder, strict=True)


def configs_as_json(collection: Path) -> None:
    for run in each_run(collection):
        config = yaml.safe_load((run / "config.yaml").read_text())
        (run / "config.json").write_text(json.dumps(config, indent=2))
        (run / "config.yaml").unlink()


def times(change: Callable[[datetime], Any]) -> Callable[[Path], None]:
    def apply(collection: Path) -> None:
        for path in sorted(collection.glob("runs/*/events.jsonl")):
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            for row in rows:
                row["time"] = change(datetime.fromisoformat(row["time"]))
            path.write_text("".join(json.dumps(r) + "\n" for r in rows))

    return apply


def rows_shuffled(collection: Path) -> None:
    """Sections, and the keys of every object, in another order; the log's order is time and stays."""
    dice = random.Random(7)
    for path in sorted(collection.glob("runs/*/profile.json")):
        profile = json.loads(path.read_text())
        dice.shuffle(profile["sections"])
        path.write_text(json.dumps(dict(reversed(profile.items()))))


SAME: dict[str, Callable[[Path], None]] = {
    "JSON configs": configs_as_json,
    "epoch seconds": times(lambda t: t.timestamp()),
    "epoch seconds as text": times(lambda t: f"{t.timestamp():.3f}"),
    "another offset": times(lambda t: t.astimezone(timezone(timedelta(hours=-9, minutes=-30))).isoformat()),
    "Z": times(lambda t: t.astimezone(UTC).isoformat().replace("+00:00", "Z")),
    "no offset": times(lambda t: t.astimezone(UTC).replace(tzinfo=None).isoformat(" ")),
    "other order of rows": rows_shuffled,
}


@pytest.mark.parametrize("way", SAME)
def test_the_same_notes(way: str, base: Built, tmp_path: Path) -> None:
    copy_published(tmp_path, SAME[way])
    assert_same(base, build(tmp_path, strict=True), {})


def test_the_same_notes_when_folders_list_their_files_in_another_order(
    base: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A file system lists in the order it likes, and so does os.walk over it.
    real = os.scandir

    class Backwards:
        def __init__(self, path: Any = ".") -> None:
            with real(path) as found:
                self.entries = sorted(found, key=lambda e: e.name, reverse=True)

        def __enter__(self) -> Backwards:
            return self

        def __exit__(self, *_: object) -> None:
            self.close()

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> Any:
            if not self.entries:
                raise StopIteration
            return self.entries.pop(0)

        def close(self) -> None:
            pass

    copy_published(tmp_path)
    monkeypatch.setattr(os, "scandir", Backwards)
    assert_same(base, build(tmp_path, strict=True), {})


def test_the_same_notes_when_run_folders_are_renamed(base: Built, tmp_path: Path) -> None:
    dice = random.Random(3)
    names: dict[str, dict[str, str]] = {}

    def rename(collection: Path) -> None:
        runs = each_run(collection)
        new = [f"{i:04x}" for i in dice.sample(range(0x1000, 0xFFFF), len(runs))]
        names[collection.name] = dict(zip((r.name for r in runs), new, strict=True))
        for run in runs:
            run.rename(run.with_name(names[collection.name][run.name]))

    copy_published(tmp_path, rename)
    assert_same(base, build(tmp_path, strict=True), names)


def assert_same(one: Built, two: Built, names: dict[str, dict[str, str]]) -> None:
    """Pages and facts of both notes are equal, but for the run names as mapped."""
    for place in (V2, V3):
        mapping = names.get(place.rpartition("/")[2], {})

        def renamed(text: str, mapping: dict[str, str] = mapping) -> str:
            if not mapping:
                return text
            return re.sub(
                "|".join(sorted(map(re.escape, mapping), key=len, reverse=True)), lambda m: mapping[m[0]], text
            )

        before = {renamed(k): v for k, v in facts(one, place).items()}
        assert len(before) > 200
        assert facts(two, place) == before
        page = f"{place}/profiling/index.html"
        # Names are encoded on a page.
        assert html.unescape(two.html(page)) == renamed(html.unescape(one.html(page)))


# --- what is taken away ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def without_walls(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("walls")

    def remove(collection: Path) -> None:
        for path in collection.glob("runs/*/profile.json"):
            profile = json.loads(path.read_text())
            del profile["wall_seconds"]
            path.write_text(json.dumps(profile))

    copy_published(folder, remove)
    return build(folder, strict=True)


def test_without_walls_the_outermost_sections_are_the_total(without_walls: Built) -> None:
    found = facts(without_walls, V2)
    share = found[f"section.{EVAL}.share"]
    assert round(share["value"], 3) == 0.808
    assert share["text"].startswith("80.8")
    assert found["runtime.mean"]["text"] == "5.70h"
    assert found["runtime.mean"]["source"] == "sum of the outermost sections"
    assert found["sections.unattributed.share"]["value"] == pytest.approx(0, abs=1e-12)
    page = note(without_walls, V2)
    assert "44.06%" not in page.visible and "10.26h" not in page.visible
    assert share["text"] in page.visible
    # A sum of sections is no clock: it cannot look like one that was summed wrongly, and the page says what it is.
    assert "double_count.rows" not in found
    assert "no clock" in page.visible
    assert not clumsy(prose(page))


def test_without_walls_the_events_beside_a_profile_give_the_total(tmp_path: Path) -> None:
    there = copy_published(tmp_path) / "continuous-v2"
    walls = {}
    for run in each_run(there):
        profile = json.loads((run / "profile.json").read_text())
        walls[run.name] = wall = profile.pop("wall_seconds")
        (run / "profile.json").write_text(json.dumps(profile))
        start = 1_770_000_000.0
        rows = [
            {"time": start, "event": "run_start"},
            {"time": start + wall, "event": "run_end", "status": "completed"},
        ]
        (run / "events.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    shutil.rmtree(there.parent / "continuous-v3-beta-schedule")
    found = facts(build(tmp_path, strict=True), V2)
    assert found["runtime.mean"]["source"] == "event log, run_start to run_end"
    assert found["runtime.mean"]["value"] == pytest.approx(sum(walls.values()) / 36, rel=1e-9)
    assert found[f"section.{EVAL}.share"]["text"] == "44.06%"


@pytest.fixture(scope="module")
def unconfigured(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("unconfigured")
    copy_published(folder, lambda collection: (collection / "collection.yml").unlink())
    return build(folder, strict=True)


def test_without_collection_yml_both_notes_come_out(unconfigured: Built, base: Built) -> None:
    for place in (V2, V3):
        page, found = note(unconfigured, place), facts(unconfigured, place)
        # The group is found: the note compares by it, and says so.
        assert "Runs are compared by task_name" in page.visible
        configured = facts(base, place)
        # What is measured does not depend on the configuration.
        same = [k for k in configured if re.match(r"(runtime|effect|section|intervals|tail)\.", k) and k in found]
        assert len(same) > 100
        assert {k: found[k] for k in same} == {k: configured[k] for k in same}
        assert not clumsy(prose(page))
        assert place.rpartition("/")[2] in page.all("h1")[0].text


def test_without_collection_yml_the_largest_sections_are_candidates_evaluation_first(unconfigured: Built) -> None:
    page, found = note(unconfigured, V2), facts(unconfigured, V2)
    knobs = [k.removeprefix("knob.").removesuffix(".bound") for k in found if re.match(r"knob\..*\.bound$", k)]
    assert "epoch.eval_router_sampled" in knobs and "epoch.eval_router_sampled.free_generation" in knobs
    table = next(e for e in page.all("table") if "at most saved" in e.text)
    order = [
        e.text
        for e in page.elements[page.elements.index(table) :]
        if e.tag == "th" and e.attributes.get("scope") == "row" and e.text in table.text
    ][: len(knobs)]
    assert order[:2] == [EVAL, f"{EVAL}/free_generation"]
    # Training is what the run is for: no candidate.
    assert not [k for k in knobs if "train" in k]
    evaluation = [i for i, name in enumerate(order) if "eval" in name]
    assert evaluation == list(range(len(evaluation))), order
    first = page.visible.index("Try first")
    assert EVAL in page.visible[first : first + 200]
    assert "A candidate found by its size" in page.visible


def test_the_default_build_warned_of_nothing(base: Built, unconfigured: Built, without_walls: Built) -> None:
    assert [warnings(b) for b in (base, unconfigured, without_walls)] == [[], [], []]
