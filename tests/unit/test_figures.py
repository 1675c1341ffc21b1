"""Figures: what they show, that nothing collides or is clipped, colours, safety, and the same bytes everywhere."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_sweepprof import figures, tables
from mkdocs_sweepprof.analysis import Analysis, analyse
from mkdocs_sweepprof.figures import text, theme
from mkdocs_sweepprof.figures.base import Drawing
from mkdocs_sweepprof.figures.canvas import Canvas
from mkdocs_sweepprof.figures.style import Style, Unit, row_order, seconds, short_names
from mkdocs_sweepprof.readers.base import Event, Run, Scalar, Section
from mkdocs_sweepprof.readers.join import join
from mkdocs_sweepprof.readers.native import NativeReader
from mkdocs_sweepprof.readers.tree import Tree
from mkdocs_sweepprof.schema import CollectionConfig

REPOSITORY = Path(__file__).resolve().parents[2]
PUBLISHED = REPOSITORY / "collections" / "from-entangled-v2"
FACTS = REPOSITORY / "tests" / "data" / "published" / "facts"
SMALLEST_TEXT = 11.0
V2, V3 = "continuous-v2", "continuous-v3-beta-schedule"
HOSTILE = [
    "<b>bold</b>",
    "{{ x }}{% raw %}",
    "| a | b |",
    "*star* _under_",
    "$x^2$ \\alpha$",
    "<script>alert(1)</script>",
    'quote" fill: #123456; id="x"',
    "]]> & -->",
    "line\nbreak\ttab\x00\x1b",
    "\u202eright to left\u202c",
    "x" * 300,
    "模型 日本語 fill:#123456 1.23456",
]


# --- analyses to draw -----------------------------------------------------------------------------------------------


def analysis_of(runs: list[Run], **config: object) -> Analysis:
    return analyse(tables.make(runs), CollectionConfig.model_validate(config), name="made")


@pytest.fixture(scope="module")
def published() -> dict[str, Analysis]:
    out = {}
    for name in (V2, V3):
        tree = Tree(PUBLISHED / name)
        reader = NativeReader()
        runs, problems, mentions = join([reader.read(tree, source) for source in reader.find(tree)])
        out[name] = analyse(tables.make(runs, problems, mentions=mentions), CollectionConfig(), name=name)
        assert out[name].runtime.count == 36
    return out


def sections_of(wall: float) -> list[Section]:
    return [
        Section("train", 10, wall * 0.6),
        Section("train/forward", 10, wall * 0.35),
        Section("train/backward", 10, wall * 0.2),
        Section("eval", 2, wall * 0.3),
        Section("setup", 1, wall * 0.05),
    ]


def run(number: int, wall: float, config: dict[str, Scalar], sections: list[Section] | None = None) -> Run:
    return Run(
        id=f"run{number}",
        layout="native",
        config=config,
        status="completed",
        profile_wall=wall,
        sections=sections_of(wall) if sections is None else sections,
    )


def grid(
    levels: list[Scalar], repeats: int, wall: Callable[[int, int], float], name: str = "model", other: str = "other"
) -> list[Run]:
    """Levels × repeats, with a second factor of two levels."""
    pairs = itertools.product(range(len(levels)), range(repeats))
    return [run(n, wall(i, j), {name: levels[i], other: HOSTILE[j % 2]}) for n, (i, j) in enumerate(pairs)]


def logged(number: int, marks: list[float], names: list[str], config: dict[str, Scalar]) -> Run:
    events = [Event(0.0, "run_start")]
    events += [Event(t, "checkpoint", name=name) for t, name in zip(marks, names, strict=True)]
    events.append(Event(marks[-1] + 20.0, "run_end"))
    return Run(id=f"run{number}", layout="native", config=config, status="completed", events=events)


def long_log(number: int, checkpoints: int) -> Run:
    """Checkpoints, an epoch end, the end."""
    rng = random.Random(number)
    marks = list(itertools.accumulate(10 + rng.random() * 50 for _ in range(checkpoints + 1)))
    return logged(number, marks, [*(f"step_{i}" for i in range(checkpoints)), "epoch_end"], {"m": "ab"[number % 2]})


def edges() -> dict[str, Callable[[], Analysis]]:
    shuffled = random.Random(1)
    return {
        "one run": lambda: analysis_of([run(0, 200.0, {"lr": 0.1})]),
        "one level": lambda: analysis_of([run(i, 20.0 + 5 * i, {"lr": 0.1}) for i in range(3)]),
        "two runs": lambda: analysis_of([run(i, 100.0 + 50 * i, {"lr": 0.1 * i}) for i in range(2)]),
        "equal walls": lambda: analysis_of([run(i, 100.0, {"lr": i % 2}) for i in range(4)]),
        "no sections": lambda: analysis_of([run(i, 4000.0 + 900 * i, {"m": "ab"[i % 2]}, []) for i in range(4)]),
        "no factors": lambda: analysis_of([run(i, 4000.0 + 900 * i, {}) for i in range(4)]),
        "None level": lambda: analysis_of(grid([None, "a", True, 1.0], 3, lambda i, j: 50.0 + 20 * i + j)),
        "hostile names": lambda: analysis_of(
            grid([*HOSTILE], 4, lambda i, j: 100.0 + 40 * i + 7 * j, "m$_\\alpha$ <i>" + "y" * 200, "n模" * 40)
        ),
        "long names": lambda: analysis_of(
            grid([f"path/{'abc_' * 40}{i}" for i in range(12)], 3, lambda i, j: 9000.0 + 500 * i + 90 * j)
        ),
        "many levels": lambda: analysis_of(
            grid([f"level{i}" for i in range(40)], 3, lambda i, j: 100.0 + i * 5 + j), group="model"
        ),
        "many runs": lambda: analysis_of(grid(["a", "b"], 700, lambda i, j: 3600.0 * (1 + i + shuffled.random()))),
        "many sections": lambda: analysis_of(
            [
                run(i, 100.0, {"m": "ab"[i % 2]}, [Section(f"part{k}/{'z' * 60}{k}", 3, 1.0 + k) for k in range(11)])
                for i in range(4)
            ]
        ),
        "above wall": lambda: analysis_of(
            [
                run(i, 40.0 + i, {"m": "ab"[i % 2]}, [Section("a/" + "x" * 300, 3, 32.0), Section("b", 2, 16.0)])
                for i in range(4)
            ]
        ),
        "wide cells": lambda: analysis_of(
            [
                run(n, 3600.0 * (1 + g) + d * 60 + e, {"data": f"d{g}", "depth": d, "e": e})
                for n, (g, d, e) in enumerate(itertools.product(range(3), range(20), range(2)))
                if (g, d) != (1, 3)
            ],
            group="data",
        ),
        "long log": lambda: analysis_of([long_log(i, 50) for i in range(4)]),
        "longest log": lambda: analysis_of([long_log(i, 500) for i in range(4)]),
        "log by position": lambda: analysis_of(
            [logged(i, [5.0, 9.0, 30.0], [f"r{i}a", f"r{i}b", f"r{i}c"], {"m": "ab"[i % 2]}) for i in range(4)]
        ),
    }


# --- what was placed ------------------------------------------------------------------------------------------------


@dataclass
class Board:
    """Everything that one drawing placed."""

    width: float
    height: float = 0.0
    texts: list[tuple[str, float, float, float, float, float]] = field(default_factory=list)
    """Text, left, top, right, bottom, size."""
    bars: list[tuple[float, float, float, float, theme.Colour | None]] = field(default_factory=list)
    """x, y, width, height, colour (None: hatched)."""
    marks: list[list[tuple[float, float]]] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        return [entry[0] for entry in self.texts]


@pytest.fixture()
def boards(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Board]]:
    """Figure name → its board, of the figures drawn since."""
    found: dict[str, Board] = {}
    open_boards: dict[int, Board] = {}

    def board(canvas: Canvas) -> Board:
        return open_boards.setdefault(id(canvas), Board(canvas.width))

    originals = {name: getattr(Canvas, name) for name in ("text", "bar", "hatched", "marks", "drawing")}

    def placed(self: Canvas, x: float, y: float, words: str, **how: object) -> None:
        size = float(how.get("size", 12.5))  # type: ignore[arg-type]
        line = text.clean(words)
        long = text.width(line, size, bool(how.get("bold")))
        start = {"left": 0.0, "center": long / 2, "right": long}[str(how.get("anchor", "left"))]
        # From cap height to baseline: descenders may come near the line below.
        up, down = 0.73 * size, 0.0
        if how.get("up"):
            box = (x - up, y + start - long, x + down, y + start)
        else:
            box = (x - start, y - up, x - start + long, y + down)
        board(self).texts.append((line, *box, size))
        originals["text"](self, x, y, words, **how)

    def bar(self: Canvas, x: float, y: float, width: float, height: float, colour: theme.Colour) -> None:
        board(self).bars.append((x, y, width, height, colour))
        originals["bar"](self, x, y, width, height, colour)

    def hatched(self: Canvas, x: float, y: float, width: float, height: float, *a: object, **how: object) -> None:
        board(self).bars.append((x, y, width, height, None))
        originals["hatched"](self, x, y, width, height, *a, **how)

    def marks(self: Canvas, points: list[tuple[float, float]], *a: object, **how: object) -> None:
        board(self).marks.append(list(points))
        originals["marks"](self, points, *a, **how)

    def drawing(self: Canvas, name: str, height: float, alt: str, caption: str) -> Drawing:
        board(self).height = height
        found[name] = open_boards.pop(id(self))
        made = originals["drawing"](self, name, height, alt, caption)
        assert isinstance(made, Drawing)
        return made

    for name, patched in (("text", placed), ("bar", bar), ("hatched", hatched), ("marks", marks), ("drawing", drawing)):
        monkeypatch.setattr(Canvas, name, patched)
    yield found


def by_name(drawings: list[Drawing]) -> dict[str, Drawing]:
    return {drawing.name: drawing for drawing in drawings}


def check_layout(board: Board) -> None:
    for words, left, top, right, bottom, size in board.texts:
        assert size >= SMALLEST_TEXT, (words, size)
        assert left >= -0.5 and right <= board.width + 0.5, (words, left, right, board.width)
        assert top >= -0.5 and bottom <= board.height + 0.5, (words, top, bottom, board.height)
    for (a, al, at, ar, ab, _), (b, bl, bt, br, bb, _) in itertools.combinations(board.texts, 2):
        assert min(ar, br) - max(al, bl) <= 0.5 or min(ab, bb) - max(at, bt) <= 0.5, (a, b)
    for x, y, width, height, _ in board.bars:
        assert x >= 0 and x + width <= board.width + 0.01 and y >= 0 and y + height <= board.height + 0.01


# --- the published notes --------------------------------------------------------------------------------------------


def test_figures_and_their_order(published: dict[str, Analysis]) -> None:
    profiled = [d.name for d in figures.draw(published[V2])]
    assert profiled == ["factors", "runtime-by-group", "per-call", "composition", "dominant-section"]
    assert [d.name for d in figures.draw(published[V3])] == ["factors", "runtime-by-group", "intervals"]


def test_published_numbers_are_drawn(published: dict[str, Analysis], boards: dict[str, Board]) -> None:
    facts = json.loads((FACTS / f"{V2}.json").read_text(encoding="utf-8"))
    figures.draw(published[V2])
    tasks = [key.split(".")[3] for key in facts if key.startswith("runtime.by.task_name.")]
    assert len(tasks) == 6
    runtime = boards["runtime-by-group"].words
    for task in tasks:
        assert f"{facts[f'runtime.by.task_name.{task}.mean'] / 3600:.2f}h" in runtime
    assert {"mean 10.26h", "median 7.47h"} <= set(runtime)
    calls = [
        (figure, path)
        for figure, paths in {
            "per-call": ["epoch/train", "epoch/eval_val_loss", "epoch/eval_router_sampled", "epoch/checkpoint"],
            "dominant-section": [
                f"epoch/eval_router_sampled/{name}"
                for name in ("free_generation", "posterior_mu_diagnostics", "router_sampled_z_animation")
            ],
        }.items()
        for path in paths
    ]
    for figure, path in calls:
        for task in tasks:
            assert seconds(facts[f"section.{path}.by.{task}.per_call"]) in boards[figure].words
    composition = boards["composition"].words
    for path in ("run/setup", "epoch/train", "epoch/eval_val_loss", "epoch/eval_router_sampled"):
        assert f"{facts[f'section.{path}.share']:.2%}" in composition
    assert {"45.46%", "1.18%", "0.01%", "not profiled", "other sections"} <= set(composition)
    effects = boards["factors"].words
    for name in ("task_name", "loss_setting", "beta", "beta_schedule"):
        assert name in effects
        assert f"{facts[f'effect.{name}.eta_squared']:.2f}" in effects
    # The slowest runs of the heatmap, with as many places as fit.
    assert any(number in effects for number in ("36.11", "36.1"))


def test_published_intervals_are_drawn(published: dict[str, Analysis], boards: dict[str, Board]) -> None:
    facts = json.loads((FACTS / f"{V3}.json").read_text(encoding="utf-8"))
    made = by_name(figures.draw(published[V3]))["intervals"]
    words = boards["intervals"].words
    keys = [key for key in facts if key.startswith("intervals.") and " -> " in key and key.endswith(".mean")]
    assert len(keys) == 8
    for key in keys:
        start, end = key.removeprefix("intervals.").removesuffix(".mean").split(" -> ")
        assert f"{start} → {end}" in words
        assert any(word.startswith(f"{facts[key] / 60:.1f}m") for word in words)
    assert {"13.6m opening", "9.5m final tail", "30/36"} <= set(words)
    assert "run_start → step_200 is the longest interval in 30/36 runs, 13.6m on average" in made.alt
    lengths = [width for _, _, width, _, colour in boards["intervals"].bars if colour == theme.BLUE]
    assert len(lengths) == 7 and lengths == sorted(lengths, reverse=True)


def test_a_dot_for_each_run(published: dict[str, Analysis], boards: dict[str, Board]) -> None:
    figures.draw(published[V2])
    assert sum(len(points) for points in boards["runtime-by-group"].marks) == 36
    # Rows are slowest first, and so is the first row's dot the rightmost of all.
    rows = boards["runtime-by-group"].marks
    assert max(x for x, _ in rows[0]) == max(x for points in rows for x, _ in points)


def test_composition_bars_add_up(published: dict[str, Analysis], boards: dict[str, Board]) -> None:
    figures.draw(published[V2])
    board = boards["composition"]
    rows: dict[float, list[tuple[float, float, theme.Colour | None]]] = {}
    for x, y, width, height, colour in board.bars:
        if height > 14:
            rows.setdefault(y, []).append((x, width, colour))
    assert len(rows) == 7
    profile = published[V2].profile
    assert profile is not None
    ends = {round(max(x + width for x, width, _ in parts), 3) for parts in rows.values()}
    starts = {round(min(x for x, _, _ in parts), 3) for parts in rows.values()}
    assert len(ends) == len(starts) == 1
    whole = ends.pop() - starts.pop() + 1.0
    first = rows[min(rows)]
    blank = next(width for _, width, colour in first if colour is None)
    assert (blank + 1.0) / whole == pytest.approx(profile.unattributed, abs=1e-6)
    assert all(any(colour is None for _, _, colour in parts) for parts in rows.values())


def test_alternative_text_states_the_finding(published: dict[str, Analysis]) -> None:
    made = by_name(figures.draw(published[V2]))
    assert made["factors"].alt.startswith("task_name explains 64.00% of the variance of wall time (η² 0.64)")
    assert "base_conversion with beta0_const_pv0: 36.11h" in made["factors"].alt
    assert "3.72h (list_summation) to 19.05h (base_conversion)" in made["runtime-by-group"].alt
    assert made["composition"].alt.startswith("45.46% of wall time was not profiled; epoch/eval_router_sampled is")
    assert "112s (list_summation) to 618s (base_conversion)" in made["per-call"].alt
    assert made["dominant-section"].alt.startswith("free_generation takes most of a call of epoch/eval_router_sampled")
    for drawing in made.values():
        assert 20 < len(drawing.alt) <= 400 and 20 < len(drawing.caption) <= 400


def test_small_sections_are_gathered_and_the_largest_competes(boards: dict[str, Board]) -> None:
    parts = [("big", 60.0), ("mid", 30.0), ("tiny1", 0.5), ("tiny2", 0.4)]
    made = by_name(
        figures.draw(
            analysis_of(
                [run(i, 100.0, {"m": "ab"[i % 2]}, [Section(p, 1, s) for p, s in parts]) for i in range(4)], group="m"
            )
        )
    )
    words = boards["composition"].words
    assert "0.90%" in words and "tiny1" not in words
    assert made["composition"].alt.startswith("big is the largest recorded section with 60.00%")
    assert "9.10% was not profiled" in made["composition"].alt
    assert "Other: 2 smaller sections." in made["composition"].caption


def test_a_section_that_spans_the_runs_is_taken_apart(boards: dict[str, Board]) -> None:
    sections = [
        Section("train_loop", 1, 996.0),
        Section("train_loop/step", 10, 600.0),
        Section("train_loop/eval", 10, 300.0),
        Section("train_loop/log", 10, 4.0),
        Section("train_loop/save", 10, 3.0),
    ]
    found = analysis_of([run(i, 1000.0, {"task": "aabb"[i]}, sections) for i in range(4)], group="task")
    drawn = by_name(figures.draw(found))["composition"]
    board = boards["composition"]
    check_layout(board)
    assert {"step", "eval", "rest of train_loop", "other sections", "not profiled"} <= set(board.words)
    assert {"60.00%", "30.00%", "8.90%", "0.70%", "0.40%"} <= set(board.words) and "100%" not in board.words
    first = [b for b in board.bars if b[1] == board.bars[0][1]]
    assert [b[4] for b in first] == [*theme.CATEGORIES[:2], theme.GREY, theme.CATEGORIES[2], None]
    assert drawn.alt.startswith("train_loop spans the runs; inside it, train_loop/step is largest with 60.00%")
    assert drawn.caption.startswith(
        "Mean share of wall time by section inside train_loop, which spans the runs, over all runs and at each level of"
    )


def test_self_time_is_a_column(boards: dict[str, Board]) -> None:
    figures.draw(analysis_of([run(i, 100.0 + i, {"m": "ab"[i % 2]}) for i in range(4)], group="m"))
    words = boards["dominant-section"].words
    # Of 0.6 of the wall, 0.55 lie in the two children, over 10 calls.
    assert "self" in words and seconds(0.05 * 101.5 / 10) in words


# --- layout ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [V2, V3])
def test_nothing_collides_in_published(name: str, published: dict[str, Analysis], boards: dict[str, Board]) -> None:
    made = figures.draw(published[name])
    assert len(made) >= 3
    for board in boards.values():
        check_layout(board)


WALLS = ["runtime-by-group"]
SECTIONS = ["per-call", "composition", "dominant-section"]
EXPECTED = {
    "one run": SECTIONS,
    "one level": [*WALLS, *SECTIONS],
    "no factors": [*WALLS, *SECTIONS],
    "no sections": ["factors", *WALLS],
    "equal walls": [*WALLS, *SECTIONS],
    "hostile names": ["factors", *WALLS, *SECTIONS],
    "above wall": ["factors", *WALLS, "per-call", "composition"],
    "long log": ["factors", *WALLS, "intervals"],
    "longest log": ["factors", *WALLS, "intervals"],
}


@pytest.mark.parametrize("case", list(edges()))
def test_nothing_collides_at_the_edges(case: str, boards: dict[str, Board]) -> None:
    made = figures.draw(edges()[case]())
    assert made
    assert [d.name for d in made] == EXPECTED.get(case, [d.name for d in made])
    for drawing in made:
        check_layout(boards[drawing.name])
        check_svg(drawing)
        assert 10 < len(drawing.alt) <= 400 and 10 < len(drawing.caption) <= 400
        assert "nan" not in drawing.alt and "\n" not in drawing.alt + drawing.caption


def test_many_levels_are_cut_and_said(boards: dict[str, Board]) -> None:
    made = by_name(figures.draw(edges()["many levels"]()))
    for name in ("runtime-by-group", "composition", "per-call", "dominant-section"):
        assert "And 16 more levels, not drawn." in made[name].caption
        assert sum(word.startswith("level") for word in boards[name].words) == 24


def test_long_logs_keep_opening_and_tail(boards: dict[str, Board]) -> None:
    made = by_name(figures.draw(edges()["long log"]()))
    words = boards["intervals"].words
    assert len(boards["intervals"].bars) == 24
    assert any(word.endswith(" opening") for word in words) and any(word.endswith(" final tail") for word in words)
    assert "longest others of 52 are drawn" in made["intervals"].caption


def test_a_tie_has_no_winner() -> None:
    names, marks = ["s1", "s2", "epoch_end"], ([50.0, 90.0, 100.0], [30.0, 90.0, 110.0])
    made = by_name(figures.draw(analysis_of([logged(i, marks[i % 2], names, {"m": "ab"[i // 2]}) for i in range(4)])))
    # The opening is the longest in two runs, s1 -> s2 in the other two, and has the higher mean.
    assert made["intervals"].alt.startswith("s1 → s2 is the longest interval on average, 50s")


def test_longest_logs_show_their_stretches(boards: dict[str, Board]) -> None:
    made = by_name(figures.draw(edges()["longest log"]()))
    assert len(boards["intervals"].bars) == 3
    assert (
        "last epoch end → end 20.00s" in made["intervals"].alt or "last epoch end → end 0.3m" in made["intervals"].alt
    )
    assert "too many intervals" in made["intervals"].caption


def test_dots_are_merged_only_where_they_cover_each_other(boards: dict[str, Board]) -> None:
    made = by_name(figures.draw(edges()["many runs"]()))
    dots = sum(len(points) for points in boards["runtime-by-group"].marks)
    assert 200 < dots <= 1400
    assert ("merged" in made["runtime-by-group"].caption) == (dots < 1400)
    assert len(made["runtime-by-group"].svg) < 300_000


def test_empty_cells_are_hatched(boards: dict[str, Board]) -> None:
    made = by_name(figures.draw(edges()["wide cells"]()))["factors"]
    assert "hatched where there is no run" in made.caption
    assert sum(colour is None for *_, colour in boards["factors"].bars) == 1
    assert "And 4 more columns, not drawn." in made.caption


def test_sections_above_the_wall(boards: dict[str, Board]) -> None:
    made = by_name(figures.draw(edges()["above wall"]()))["composition"]
    assert "all recorded sections add up to 11" in made.alt
    assert "the recorded sections exceed the wall" in made.caption
    assert "100% of wall" in boards["composition"].words


def test_no_evidence_no_figure(published: dict[str, Analysis]) -> None:
    bare = replace(
        published[V2],
        runtime=replace(published[V2].runtime, count=0, mean=None, median=None, min=None, max=None, total=0.0),
        rows=[], group=None, by={}, effects=[], cells=None, profile=None, intervals=None,
    )  # fmt: skip
    assert figures.draw(bare) == []


def test_labels_are_printed_instead(published: dict[str, Analysis], boards: dict[str, Board]) -> None:
    labels = {"task_name": "Task", "base_conversion": "Base conv.", "epoch/eval_router_sampled": "Router eval"}
    made = by_name(figures.draw(published[V2], labels))
    for name in ("runtime-by-group", "composition", "per-call", "dominant-section", "factors"):
        assert "Base conv." in boards[name].words and "base_conversion" not in boards[name].words
    assert "Router eval" in boards["composition"].words and "Router eval" in boards["per-call"].words
    assert made["factors"].alt.startswith("Task explains")


def test_levels_slowest_first_unless_ordered() -> None:
    means = {"a": 1.0, "b": 3.0, "c": 2.0}
    assert row_order(["a", "b", "c"], means) == ["b", "c", "a"]
    assert row_order(["b", "a", "c"], means) == ["b", "a", "c"]
    assert row_order(["1", "2", "10"], {"1": 5.0, "2": 9.0, "10": 7.0}) == ["1", "2", "10"]


# --- numbers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("median", "printed"),
    [(None, "0.10h"), (360.0, "0.10h"), (359.9, "6.00m"), (60.0, "6.00m"), (59.9, "360.00s")],
)
def test_unit_follows_the_median(median: float | None, printed: str) -> None:
    assert Unit.of(median).text(360.0) == printed


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (618.0000003, "618s"),
        (10.0, "10s"),
        (8.8257, "8.83s"),
        (0.3366, "0.34s"),
        (0.001, "1.00ms"),
        (0.00122, "1.22ms"),
        (0.0, "0.00s"),
    ],
)
def test_seconds_per_call(value: float, printed: str) -> None:
    assert seconds(value) == printed


def test_sections_are_called_by_their_last_part_when_that_is_enough() -> None:
    assert short_names(["epoch/eval", "run/setup"]) == {"epoch/eval": "eval", "run/setup": "setup"}
    assert short_names(["a/x", "b/x", "c"]) == {"a/x": "a/x", "b/x": "b/x", "c": "c"}


# --- text -----------------------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=500), st.floats(30, 300), st.integers(1, 3))
def test_text_is_made_to_fit(words: str, limit: float, lines: int) -> None:
    out = text.fit(words, limit, 12.0, lines)
    assert 1 <= len(out) <= lines
    assert all(text.width(line, 12.0) <= limit for line in out)
    assert any(line.strip() for line in out)
    assert not any(ord(c) < 32 for line in out for c in line)


def test_names_lose_their_middle() -> None:
    assert text.middle("abcdefghij", 10) == "abcdefghij"
    assert text.middle("abcdefghij", 5) == "ab…ij"
    assert text.fit("linear_equation_solving", 110.0, 12.0, 2) == ("linear_equation_", "solving")
    whole = text.fit("x" * 300, 100.0, 12.0)
    assert len(whole) == 1 and "…" in whole[0] and whole[0].startswith("x") and whole[0].endswith("x")


def test_measured_width_is_the_drawn_width() -> None:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    for words in ("epoch/eval_router_sampled", "10.26h", "beta0.01_linear_pv1", "run_start → step_200"):
        for bold in (False, True):
            path = TextPath((0, 0), words, size=12.5, prop=FontProperties(fname=str(text.font_path(bold))))
            assert text.width(words, 12.5, bold) == pytest.approx(path.get_extents().x1, abs=2.0)


# --- colours --------------------------------------------------------------------------------------------------------


def _linear(colour: str) -> list[float]:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def contrast(one: str, two: str) -> float:
    """WCAG 2 contrast ratio."""
    weights = (0.2126, 0.7152, 0.0722)
    light, dark = sorted(
        (sum(w * c for w, c in zip(weights, _linear(x), strict=True)) for x in (one, two)), reverse=True
    )
    return (light + 0.05) / (dark + 0.05)


def _lab(rgb: list[float]) -> tuple[float, float, float]:
    r, g, b = rgb
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


# Machado, Oliveira and Fernandes 2009, full deficiency, on linear RGB.
VISION = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def _seen(colour: str, vision: str) -> tuple[float, float, float]:
    rgb = _linear(colour)
    seen = [min(1.0, max(0.0, sum(m * c for m, c in zip(row, rgb, strict=True)))) for row in VISION[vision]]
    return _lab(seen)


def test_palette_can_be_exchanged() -> None:
    light = [colour.light for colour in theme.PALETTE]
    assert len(set(light)) == len(light)
    for colour in theme.PALETTE:
        assert re.fullmatch(r"#[0-9a-f]{6}", colour.light) and re.fullmatch(r"#[0-9a-f]{6}", colour.dark)
        # Black is what a missing colour means in SVG: matplotlib leaves it out, and nothing could be exchanged.
        assert colour.light != "#000000"


@pytest.mark.parametrize("colour", [theme.INK, theme.MUTED, theme.RULE, *theme.CATEGORIES, theme.GREY])
def test_stands_out_from_the_page(colour: theme.Colour) -> None:
    least = 4.5 if colour in (theme.INK, theme.MUTED) else 3.0
    assert contrast(colour.light, theme.PAGE_LIGHT) >= least
    assert contrast(colour.dark, theme.PAGE_DARK) >= least


@pytest.mark.parametrize(
    ("words", "fill"),
    [*((words, fill) for fill, words in theme.ON_FILL.items()), *zip(theme.ON_HEAT, theme.HEAT, strict=True)],
)
def test_text_on_a_fill_is_readable(words: theme.Colour, fill: theme.Colour) -> None:
    assert contrast(words.light, fill.light) >= 4.5
    assert contrast(words.dark, fill.dark) >= 4.5


def test_fills_with_text_have_a_text_colour() -> None:
    assert {*theme.CATEGORIES, theme.GREY} == set(theme.ON_FILL)
    assert len(theme.HEAT) == len(theme.ON_HEAT)


@pytest.mark.parametrize("vision", list(VISION))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_categories_differ_for_every_reader(vision: str, scheme: str) -> None:
    fills = [getattr(colour, scheme) for colour in (*theme.CATEGORIES, theme.GREY)]
    for one, two in itertools.combinations(fills, 2):
        difference = sum((a - b) ** 2 for a, b in zip(_seen(one, vision), _seen(two, vision), strict=True)) ** 0.5
        assert difference >= 10, (one, two, difference)


@pytest.mark.parametrize("vision", list(VISION))
@pytest.mark.parametrize(("scheme", "sign"), [("light", -1), ("dark", 1)])
def test_heat_is_monotonic(vision: str, scheme: str, sign: int) -> None:
    lightness = [_seen(getattr(colour, scheme), vision)[0] * sign for colour in theme.HEAT]
    assert all(later - earlier >= 4 for earlier, later in itertools.pairwise(lightness))


def colourless(svg: str) -> str:
    return theme.TAG.sub(lambda tag: re.sub(r"#[0-9a-f]{6}", "", tag[0]), svg)


def check_svg(drawing: Drawing) -> None:
    """Well formed, small vocabulary, only palette colours, references that resolve within the drawing."""
    lights = {colour.light for colour in theme.PALETTE}
    darks = {colour.dark for colour in theme.PALETTE}
    pairs = {colour.light: colour.dark for colour in theme.PALETTE}
    assert theme.colours(drawing.svg) <= lights
    assert theme.colours(drawing.dark) == {pairs[colour] for colour in theme.colours(drawing.svg)} <= darks
    assert not theme.colours(drawing.dark) & (lights - darks)
    # But for colours it is the same drawing.
    assert colourless(drawing.svg) == colourless(drawing.dark)
    for svg in (drawing.svg, drawing.dark):
        root = ElementTree.fromstring(svg)
        box = [float(part) for part in root.attrib["viewBox"].split()]
        assert float(root.attrib["width"]) == pytest.approx(box[2] * 96 / 72, abs=0.6)
        assert float(root.attrib["height"]) == pytest.approx(box[3] * 96 / 72, abs=0.6)
        ids = set()
        for element in root.iter():
            tag = element.tag.removeprefix("{http://www.w3.org/2000/svg}")
            assert tag in {"svg", "g", "defs", "path", "use", "text", "pattern", "rect"}, tag
            for key, value in element.attrib.items():
                assert not key.lower().startswith("on"), key
                if key == "id":
                    assert value.startswith(drawing.name + "-") and value not in ids
                    ids.add(value)
        references = set(re.findall(r"(?:href=\"#|url\(#)([^\")]+)", svg))
        assert references <= ids
        assert svg.count("href=") == svg.count('xlink:href="#')
        assert "<!--" not in svg and "<style" not in svg


@pytest.mark.parametrize("name", [V2, V3])
def test_drawn_once_and_recoloured(name: str, published: dict[str, Analysis]) -> None:
    for drawing in figures.draw(published[name]):
        check_svg(drawing)
        assert drawing.svg != drawing.dark


def test_a_colour_outside_the_palette_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        theme.recolour('<svg><path style="fill: #abcdef"/></svg>')
    assert theme.recolour("<text>fill: #abcdef</text>") == "<text>fill: #abcdef</text>"


# --- names are data -------------------------------------------------------------------------------------------------


def test_mathtext_is_not_parsed() -> None:
    def glyphs(words: str) -> int:
        canvas = Canvas(200.0)
        canvas.text(5, 20, words)
        return canvas.drawing("x", 30.0, "alt", "caption").svg.count("<use ")

    assert glyphs("$x^2$") == glyphs("axbcd") == 5
    assert glyphs("$\\frac{") == 7


def test_text_that_the_font_lacks_is_left_to_the_reader() -> None:
    canvas = Canvas(300.0)
    canvas.text(5, 20, '模型 <script>alert(1)</script> fill: #123456 1.23456 id="a"')
    canvas.text(5, 40, "plain")
    drawing = canvas.drawing("x", 50.0, "alt", "caption")
    texts = [e for e in ElementTree.fromstring(drawing.dark).iter() if e.tag.endswith("}text")]
    assert [e.text for e in texts] == ['模型 <script>alert(1)</script> fill: #123456 1.23456 id="a"']
    check_svg(drawing)


# --- the same everywhere, and without side effects ------------------------------------------------------------------

_DRAW = """
import sys
from dataclasses import asdict
import tests.unit.test_figures as t
from mkdocs_sweepprof import figures
made = figures.draw(t.edges()["hostile names"]())
assert "matplotlib.pyplot" not in sys.modules
sys.stdout.buffer.write("".join(d.svg + d.dark + d.alt + d.caption for d in made).encode())
"""


def test_same_bytes_in_another_process(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text(
        "font.family: serif\nfont.size: 30\nsvg.fonttype: none\naxes.unicode_minus: False\n"
        "figure.autolayout: True\nhatch.linewidth: 9\npath.sketch: 5, 100, 2\nsavefig.bbox: tight\n"
        "figure.facecolor: red\nlines.linewidth: 7\ntext.color: red\n",
        encoding="utf-8",
    )
    here = "".join(d.svg + d.dark + d.alt + d.caption for d in figures.draw(edges()["hostile names"]())).encode()
    for seed, date in (("1", "0"), ("2", "1700000000")):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "SOURCE_DATE_EPOCH": date,
            "PYTHONPATH": str(REPOSITORY),
            "PYTHONIOENCODING": "utf-8",
        }
        there = subprocess.run(
            [sys.executable, "-W", "error::UserWarning", "-c", _DRAW],
            cwd=tmp_path, env=environment, capture_output=True, check=False, timeout=300,
        )  # fmt: skip
        assert there.returncode == 0, there.stderr.decode()
        assert there.stdout == here


def test_settings_of_others_are_left_alone(published: dict[str, Analysis]) -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    figures.draw(published[V2])
    assert dict(mpl.rcParams) == before


def test_importing_the_layer_imports_nothing_heavy() -> None:
    code = (
        "import sys, mkdocs_sweepprof.figures\n"
        "print([m for m in ('matplotlib', 'pandas', 'numpy', 'scipy') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize("name", [V2, V3])
def test_speed(name: str, published: dict[str, Analysis], record_property: Callable[[str, object], None]) -> None:
    figures.draw(published[name])
    best = min(_timed(published[name]) for _ in range(2))
    record_property(f"figures of {name}, processor seconds", round(best, 2))


def _timed(analysis: Analysis) -> float:
    """Processor time: other tests run beside this one."""
    start = time.process_time()
    figures.draw(analysis)
    return time.process_time() - start


# --- the overview ---------------------------------------------------------------------------------------------------


def test_trend(boards: dict[str, Board]) -> None:
    points = [
        ("Continuous v2", 36936.0, 36, "10.26h"),
        ("v3", 4428.6, 36, "73.81m"),
        ("<b>{{ x }}</b> $y$", 90.0, 1, "1.50m"),
        ("z" * 300, 5e4, 10_000, "13.89h"),
    ]
    drawing = figures.draw_trend(points)
    assert drawing is not None and drawing.name == "trend"
    check_svg(drawing)
    check_layout(boards["trend"])
    assert {"10.26h", "73.81m", "1.50m", "36 runs", "1 run", "10000 runs"} <= set(boards["trend"].words)
    assert "highest in zzz" in drawing.alt and "lowest in <b>{{ x }}</b> $y$, 1.50m over 1 run" in drawing.alt
    assert figures.draw_trend(points[:1]) is None and figures.draw_trend([]) is None


def test_each_figure_is_one_module_and_one_line() -> None:
    folder = Path(figures.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    shared = {"base", "canvas", "home", "parts", "style", "text", "theme", "trend"}
    assert modules - shared == set(figures.FIGURES)


def test_style_shares_section_colours(published: dict[str, Analysis]) -> None:
    style = Style.of(published[V2], {})
    assert style.colours["epoch/eval_router_sampled"] == theme.BLUE
    assert "epoch/checkpoint" not in style.colours
