"""Every reader is fed every other layout's folders, and files that only look like its own: it must find nothing."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from trackers import MADE, PUBLIC

from mkdocs_sweepprof.readers import BUILTIN, readers
from mkdocs_sweepprof.readers.base import Reader
from mkdocs_sweepprof.readers.join import join
from mkdocs_sweepprof.readers.tree import Tree

OWN = {
    "hf_trainer": {"hf_trainer"},
    "hydra": {"hydra"},
    "lightning": {"lightning", "lightning_stages"},
    "mlflow": {"mlflow"},
    "mlperf": {"mlperf-v0.5", "mlperf-v0.6", "mlperf-v5.1"},
    "optuna": {"optuna"},
    "tensorboard": {"tensorboard"},
    "wandb": {"wandb"},
}
"""Reader → the layouts that are its own."""

TOGETHER = {
    ("hydra", "hydra-chris-santiago__vime"): "Hydra jobs; the folder is named after both tools that wrote it",
    ("wandb", "hydra-chris-santiago__vime"): "its Hydra jobs logged to W&B, into the job's folder",
    ("tensorboard", "lightning"): "TensorBoardLogger is one of the two loggers of the sweep",
    ("tensorboard", "lightning_stages"): "TensorBoardLogger is one of the two loggers of the sweep",
    ("tensorboard", "ray_tune"): "Ray Tune writes event files beside result.json by default",
}
"""(reader, layout) → why both are right."""


NAMES = sorted(name for name, target in BUILTIN.items() if find_spec(target.partition(":")[0]))


def reader(name: str) -> Reader:
    module, _, attribute = BUILTIN[name].partition(":")
    made = getattr(import_module(module), attribute)()
    assert isinstance(made, Reader)
    return made


def layouts() -> list[tuple[str, Path]]:
    """(layout, sweep folder) of all real data, made here and public."""
    found = []
    if MADE.is_dir():
        found += [(d.name, s) for d in sorted(MADE.iterdir()) if d.is_dir() for s in sorted(d.iterdir()) if s.is_dir()]
    if PUBLIC.is_dir():
        found += [(d.name, d) for d in sorted(PUBLIC.iterdir()) if d.is_dir()]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_other_layouts(name: str) -> None:
    folders = layouts()
    if not folders:
        pytest.skip(f"{MADE} and {PUBLIC} are not there")
    mine = reader(name)
    wrong: list[str] = []
    missed: list[str] = []
    met: set[tuple[str, str]] = set()
    for layout, folder in folders:
        found = mine.find(Tree(folder))
        if layout in OWN.get(name, ()):
            missed += [] if found else [f"{layout}/{folder.name}"]
        elif (name, layout) in TOGETHER:
            met |= {(name, layout)} if found else set()
        elif found:
            wrong.append(f"{layout}/{folder.name}: {found[0].key}")
    assert wrong == []
    assert missed == []
    assert met == {pair for pair in TOGETHER if pair[0] == name}, "a named co-occurrence is still there"


def test_all_real_sweeps_taken_together_lose_and_merge_nothing() -> None:
    """Every made sweep as one collection: each layout's runs are all there, only Lightning's event files are joined."""
    if not MADE.is_dir():
        pytest.skip(f"{MADE} is not there")
    tree = Tree(MADE)
    readings = [reader.read(tree, source) for reader in readers() for source in reader.find(tree)]
    runs, problems, _ = join(readings)
    found = Counter(run.layout for reading in readings for run in reading.runs if not run.children)
    expected = found.copy()
    expected["tensorboard"] -= found["lightning"]
    assert Counter(run.layout for run in runs) == expected
    assert not [p for p in problems if p.kind == "duplicate"]


# --- look-alikes ---------------------------------------------------------------------------------------------------


def text(name: str, content: str | bytes) -> Callable[[Path], None]:
    def make(root: Path) -> None:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    return make


def database(*statements: str) -> Callable[[Path], None]:
    def make(root: Path) -> None:
        connection = sqlite3.connect(root / "data.db")
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()

    return make


NUMBERS = "time,episode,reward\n1,2,3\n4,5,6\n"

LOOK_ALIKES: dict[str, Callable[[Path], None]] = {
    "a csv called progress.csv": text("a/progress.csv", NUMBERS),
    "a csv called metrics.csv": text("notes/metrics.csv", "country,gdp\nIS,1\n"),
    "a csv with names and states": text("people.csv", "Name,State,Zip\nAnn,Ohio,1\n"),
    "a csv without a line end": text("empty.csv", b""),
    "a binary csv": text("noise.csv", bytes(range(256)) * 8),
    "a conda recipe": text("recipe/meta.yaml", "package:\n  name: x\n  version: 1\nsource:\n  url: y\n"),
    "an experiment's meta.yaml without MLflow": text("meta.yaml", "experiment_id: 4\nauthor: me\n"),
    "a meta.yaml of a run of another tool": text("x/meta.yaml", "run_id: 17\nscore: 3\n"),
    "an empty meta.yaml": text("x/meta.yaml", ""),
    "an MLproject": text("MLproject", "name: x\nentry_points:\n  main:\n    command: python a.py\n"),
    "any sqlite database": database("CREATE TABLE visits (url TEXT)", "INSERT INTO visits VALUES ('x')"),
    "a database with runs and params": database("CREATE TABLE runs (id INT)", "CREATE TABLE params (id INT)"),
    "a database with studies and trials": database("CREATE TABLE studies (id INT)", "CREATE TABLE trials (id INT)"),
    "an empty database": text("empty.db", b""),
    "a text that is called a database": text("thumbs.db", "no database at all, only text that is long enough"),
    "a damaged database": text("cache.db", b"SQLite format 3\0" + b"\xff" * 5000),
    "a compressed nothing": text("old.db.gz", gzip.compress(b"")),
    "a broken gzip": text("old.db.gz", b"\x1f\x8b\x08\0broken"),
    "a text with three colons": text("page.txt", "::: note\nA fenced block.\n:::\n:::python\ncode\n"),
    "a log with three colons": text("train.log", "step 1 ::: loss 0.5\nstep 2 ::: loss 0.4\n"),
    "a log of anything": text("server.log", "2026-01-01 00:00:00,000 INFO started\n2026-01-01 00:00:01,000 INFO end\n"),
    "json lines": text("data.jsonl", '{"text": "a"}\n{"text": "b"}\n'),
    "json lines with an op_code": text("bus.log", '{"worker": 1, "op_code": 4}\n'),
    "a text called .wandb": text("notes.wandb", "W&B notes"),
    "a folder called wandb": text("wandb/__init__.py", "import os\n"),
    "a folder that is named like a run": text("backup/run-20260101_000000-full/data.bin", b"\0" * 64),
    "settings of wandb without a run": text("wandb/settings", "[default]\n"),
    "a config.yaml in a project": text("app/config.yaml", "debug: true\nport: 80\n"),
    "a model's config.json": text("model/config.json", json.dumps({"model_type": "bert", "architectures": ["B"]})),
    "a package's profile.json": text("app/profile.json", '{"name": "x", "theme": "dark"}'),
    "a browser's trace": text("trace.json", '{"traceEvents": [], "displayTimeUnit": "ms"}'),
    "a readme": text("README.md", "# Runs\n\n| run | wall |\n|---|---|\n"),
    "an unrelated hparams.yaml": text("hparams.yaml.txt", "lr: 1\n"),
    "checkpoints": text("checkpoints/epoch=1-step=10.ckpt", b"PK\3\4" + b"\0" * 100),
}


@pytest.mark.parametrize("what", sorted(LOOK_ALIKES))
@pytest.mark.parametrize("name", NAMES)
def test_look_alikes(name: str, what: str, tmp_path: Path) -> None:
    LOOK_ALIKES[what](tmp_path)
    before = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*"))
    assert [s.key for s in reader(name).find(Tree(tmp_path))] == []
    assert sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", NAMES)
def test_all_look_alikes_at_once(name: str, tmp_path: Path) -> None:
    for make in LOOK_ALIKES.values():
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        make(folder)
    assert [s.key for s in reader(name).find(Tree(tmp_path))] == []
