"""Lightning's logs and profiler reports, against spans that the training process measured itself."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from trackers import by_id, made, read_all, texts

from mkdocs_sweepprof.readers.base import Run, Section
from mkdocs_sweepprof.readers.join import join
from mkdocs_sweepprof.readers.lightning import LightningReader
from mkdocs_sweepprof.readers.tensorboard import TensorBoardReader
from mkdocs_sweepprof.readers.tree import Tree

DATA = Path(__file__).resolve().parents[1] / "data" / "lightning"
STAGES = DATA.parent / "lightning_stages"
READER = LightningReader()
VALIDATION = "fit/epoch/validation/validation_step"


def seconds(run: Run) -> dict[str, float]:
    return {s.path: s.total_seconds for s in run.sections}


def counts(run: Run) -> dict[str, int]:
    return {s.path: s.count for s in run.sections}


def outermost(run: Run) -> list[Section]:
    """Recorded sections without a recorded ancestor, as the design sums them."""
    paths = {s.path for s in run.sections}
    return [
        s
        for s in run.sections
        if not s.overlapping
        and not any("/".join(s.path.split("/")[:i]) in paths for i in range(1, s.path.count("/") + 1))
    ]


def check_fit(run: Run, true: dict[str, tuple[int, float]]) -> float:
    """The equalities of the data's README, each to 0.02 s. Gives the largest difference."""
    got, calls = seconds(run), counts(run)
    sanity = true["run/fit/sanity_check/validation_step"]
    within = true["run/fit/epoch/eval/validation_step"]
    own, own_sanity = (true[f"run/fit/{p}/validation_step/free_generation"] for p in ("epoch/eval", "sanity_check"))
    pairs = [
        (got["fit/epoch"], true["run/fit/epoch"][1]),
        (got["fit/epoch/train_batch/optimizer_step/training_step"], true["run/fit/epoch/training_step"][1]),
        (got[VALIDATION], within[1] + sanity[1]),
        (got[f"{VALIDATION}/free_generation"], own[1] + own_sanity[1]),
        (got["fit/setup"], true["run/setup"][1]),
    ]
    assert calls["fit/epoch"] == true["run/fit/epoch"][0]
    assert calls["fit/epoch/train_batch/optimizer_step/training_step"] == true["run/fit/epoch/training_step"][0]
    assert calls[VALIDATION] == calls[f"{VALIDATION}/free_generation"] == within[0] + sanity[0]
    return max(abs(a - b) for a, b in pairs)


def plain(true: dict[str, Any]) -> dict[str, tuple[int, float]]:
    return {k: (v["count"], v["total_s"]) for k, v in true["sections"].items()}


def test_simple_profiler_is_true_to_the_spans(record_property: Any) -> None:
    folder, truth = made("lightning", "A")
    reading = read_all(READER, folder)
    runs = by_id(reading)
    assert len(runs) == len(truth["runs"]) == 12
    assert reading.problems == []
    worst = worst_wall = 0.0
    for true in truth["runs"]:
        run, spans = runs[true["run_dir"]], plain(true)
        worst = max(worst, check_fit(run, spans))
        assert run.profile_wall is not None
        worst_wall = max(worst_wall, abs(run.profile_wall - (spans["run"][1] - spans["run/imports"][1])))
        assert run.config == true["config"]
        assert run.status == "completed"
        assert 0.85 < sum(s.total_seconds for s in outermost(run)) / run.profile_wall <= 1.0
        assert not any(s.overlapping for s in run.sections)
    assert worst < 0.02
    assert worst_wall < 0.01
    record_property("lightning: largest |section - span| of 60, s", round(worst, 4))
    record_property("lightning: largest |Total - (run - imports)| of 12, s", round(worst_wall, 4))


def test_the_copied_run_gives_the_same_without_shared_data() -> None:
    true = json.loads((DATA / "truth_A.json").read_text(encoding="utf-8"))["sort/version_0"]
    run = by_id(read_all(READER, DATA / "A"))["sort/version_0"]
    assert check_fit(run, {k: tuple(v) for k, v in true["sections"].items()}) < 0.02
    assert run.config == true["config"]
    sums = sum(s.total_seconds for s in outermost(run))
    assert sums <= (run.profile_wall or 0.0)
    assert sum(s.total_seconds for s in run.sections) > 2 * sums, "summing all rows would double count"


def test_nested_sections_stay_inside_their_ancestors() -> None:
    """Children of a section sum to at most it, but for the sanity check, which the report cannot part off."""
    true = json.loads((DATA / "truth_A.json").read_text(encoding="utf-8"))["sort/version_0"]
    run = by_id(read_all(READER, DATA / "A"))["sort/version_0"]
    sanity = true["sections"]["run/fit/sanity_check"][1]
    got = seconds(run)
    for path, total in got.items():
        inner = [p for p in got if p.startswith(path + "/")]
        nearest = [p for p in inner if not any(p.startswith(q + "/") for q in inner)]
        room = sanity if path == "fit/epoch" else 1e-4
        assert sum(got[p] for p in nearest) <= total + room, path


def test_stages_of_one_profiler_are_told_apart(record_property: Any) -> None:
    """``validate`` and ``test`` reports hold the stages before them: their own part is the difference."""
    folder, truth = made("lightning_stages", "A")
    runs = by_id(read_all(READER, folder))
    assert len(runs) == len(truth["runs"]) == 4
    worst = 0.0
    for true in truth["runs"]:
        worst = max(worst, check_stages(runs[true["run_dir"]], plain(true)))
    assert worst < 0.02
    record_property("lightning stages: largest |section or wall - span| of 4 runs, s", round(worst, 4))


def check_stages(run: Run, true: dict[str, tuple[int, float]]) -> float:
    got, calls = seconds(run), counts(run)
    assert run.profile_wall is not None
    assert calls["validate/validation_step"] == true["run/validate_call/eval/validation_step"][0]
    assert calls["test/test_step"] == true["run/test_call/test_step"][0]
    assert calls["fit/epoch"] == true["run/fit/epoch"][0]
    assert not any(p.startswith(("validate/epoch", "test/epoch")) for p in got), "fit's rows are fit's"
    assert sum(s.total_seconds for s in outermost(run)) <= run.profile_wall
    pairs = [
        (got["validate/validation_step"], true["run/validate_call/eval/validation_step"][1]),
        (got["validate/setup"], true["run/validate_call/setup"][1]),
        (got["test/test_step"], true["run/test_call/test_step"][1]),
        (got["test/setup"], true["run/test_call/setup"][1]),
        (run.profile_wall, true["run"][1] - true["run/imports"][1]),
    ]
    return max(check_fit(run, true), *(abs(a - b) for a, b in pairs))


def test_the_copied_stages_give_the_same() -> None:
    ((name, true),) = json.loads((STAGES / "truth_A.json").read_text(encoding="utf-8")).items()
    run = by_id(read_all(READER, STAGES / "A"))[name]
    assert check_stages(run, {k: tuple(v) for k, v in true["sections"].items()}) < 0.02


@pytest.mark.parametrize(("again", "wall"), [(1, 13.0), (2, 10.0)])
def test_stages_of_separate_trainers_are_added(tmp_path: Path, again: int, wall: float) -> None:
    """``setup`` runs once a stage: a later report with one call is another profiler's, with two calls it goes on."""
    setup = "[LightningDataModule]Data.setup"
    step = "[Strategy]DDPStrategy.validation_step"
    validate = report([(step, 0.5, 2, 1.0), (setup, 0.4, 1, 0.4)], total=3.0, stage="VALIDATE")
    fit = [*LOOP, (setup, 0.45, again, 0.45 * again)]
    write(tmp_path, "version_0/hparams.yaml", "lr: 0.1\n")
    write(tmp_path, "version_0/fit-perf_logs.txt", report(fit))
    write(tmp_path, "version_0/validate-perf_logs.txt", validate)
    run = one(tmp_path)
    assert run.profile_wall == pytest.approx(wall)
    assert counts(run)["validate/validation_step"] == 2
    assert counts(run)[VALIDATION] == (4 if again == 1 else 2)


def test_advanced_profiler_gives_innermost_actions_only(record_property: Any) -> None:
    folder, truth = made("lightning", "A_adv")
    runs = by_id(read_all(READER, folder))
    assert len(runs) == len(truth["runs"]) == 6
    worst = 0.0
    for true in truth["runs"]:
        run, spans = runs[true["run_dir"]], plain(true)
        got = seconds(run)
        assert "fit/epoch" not in got, "an outer action's time is not true"
        assert VALIDATION not in got
        free = [f"run/fit/{p}/validation_step/free_generation" for p in ("epoch/eval", "sanity_check")]
        pairs = [
            (got["fit/epoch/train_batch/optimizer_step/training_step"], spans["run/fit/epoch/training_step"][1]),
            (got[f"{VALIDATION}/free_generation"], sum(spans[p][1] for p in free)),
            (got["fit/setup"], spans["run/setup"][1]),
        ]
        worst = max(worst, *(abs(a - b) / b for a, b in pairs))
        assert run.profile_wall is None
        assert any("AdvancedProfiler" in n for n in run.notes)
        assert outermost(run) == run.sections
        assert sum(got.values()) < spans["run"][1] - spans["run/imports"][1]
    assert worst < 0.06
    record_property("lightning advanced: largest relative difference of 18 innermost actions", round(worst, 3))


def test_killed_runs_have_no_profile_and_no_status() -> None:
    reading = read_all(READER, DATA / "A_hurt")
    runs = by_id(reading)
    for name in ("sort/version_0", "add/version_0"):
        assert (runs[name].status, runs[name].profile_wall, runs[name].sections) == (None, None, [])
        assert any("no profiler report" in n for n in runs[name].notes)
        assert runs[name].config["task"] == name.split("/")[0]
    assert reading.problems == []


def test_a_run_that_was_started_again_does_not_pass_its_last_profile_for_the_whole() -> None:
    fragments = [read_all(r, DATA / "A_hurt") for r in (READER, TensorBoardReader())]
    alone = by_id(fragments[0])["add/version_50"]
    assert alone.profile_wall is None
    assert any("last of 2 sessions" in n for n in alone.notes)
    runs = {r.id: r for r in join(fragments)[0]}
    assert len(runs) == 4
    again = runs["add/version_50"]
    assert len(again.sessions) == 2
    assert again.status == "completed"
    truth = json.loads((DATA / "truth_A_hurt.json").read_text(encoding="utf-8"))["add/version_50"]
    for session, true in zip(again.sessions, truth["sessions"], strict=True):
        assert true["started_at"] < session.started_at < session.ended_at < true["ended_at"]


def test_a_stepped_wall_clock_leaves_the_profile_true() -> None:
    truth = json.loads((DATA / "truth_A_hurt.json").read_text(encoding="utf-8"))["copy/version_60"]
    runs = {r.id: r for r in join([read_all(r, DATA / "A_hurt") for r in (READER, TensorBoardReader())])[0]}
    spans = {k: tuple(v) for k, v in truth["sections"].items()}
    run = runs["copy/version_60"]
    assert check_fit(run, spans) < 0.02
    assert abs((run.profile_wall or 0.0) - (spans["run"][1] - spans["run/imports"][1])) < 0.01


# --- made reports ----------------------------------------------------------------------------------------------------


def write(root: Path, name: str, content: str | bytes) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def report(rows: list[tuple[str, float, int, float]], total: float | None = 10.0, stage: str = "FIT") -> str:
    """A SimpleProfiler report; ``total=None`` is ``extended=False``."""
    bar = "-" * 90
    if total is None:
        lines = [f"|  {a:<30}\t|  {m:<15}\t|  {t:<15}\t|" for a, m, _, t in rows]
        head = "|  Action                        \t|  Mean duration (s)\t|  Total time (s) \t|"
        return "\n".join([f"{stage} Profiler Report", "", bar, head, bar, *lines, bar])
    lines = [f"|  {a:<30}\t|  {m:<15}\t|  {n:<15}\t|  {t:<15}\t|  {t / total:<15}\t|" for a, m, n, t in rows]
    head = "|  Action  \t|  Mean duration (s)\t|  Num calls      \t|  Total time (s) \t|  Percentage %   \t|"
    all_ = f"|  Total   \t|  -              \t|  9              \t|  {total:<15}\t|  100 %          \t|"
    return "\n".join([f"{stage} Profiler Report", "", bar, head, bar, all_, bar, *lines, bar])


LOOP = [
    ("run_training_epoch", 4.0, 2, 8.0),
    ("run_training_batch", 0.5, 10, 5.0),
    ("[LightningModule]Net.optimizer_step", 0.45, 10, 4.5),
    ("[Strategy]DDPStrategy.training_step", 0.2, 10, 2.0),
    ("[Strategy]DDPStrategy.backward", 0.2, 10, 2.0),
    ("[Strategy]DDPStrategy.validation_step", 0.5, 4, 2.0),
]


def one(root: Path) -> Run:
    (run,) = read_all(READER, root).runs
    return run


def test_without_extended_the_counts_are_total_by_mean_and_there_is_no_wall(tmp_path: Path) -> None:
    write(tmp_path, "version_0/hparams.yaml", "a: 1\n")
    write(tmp_path, "version_0/fit-perf_logs.txt", report(LOOP, total=None))
    run = one(tmp_path)
    assert (run.profile_wall, run.status) == (None, "completed")
    assert counts(run)["fit/epoch/train_batch/optimizer_step/training_step"] == 10
    assert any("extended=False" in n for n in run.notes)


def test_accumulated_batches_do_not_count_twice(tmp_path: Path) -> None:
    """With gradient accumulation the training step runs outside of the optimizer step too."""
    rows = [r if "optimizer_step" not in r[0] else (r[0], 0.45, 5, 2.5) for r in LOOP]
    write(tmp_path, "version_0/hparams.yaml", "a: 1\n")
    write(tmp_path, "version_0/fit-perf_logs.txt", report(rows))
    run = one(tmp_path)
    by_path = {s.path: s for s in run.sections}
    assert by_path["fit/epoch/train_batch/optimizer_step"].overlapping
    assert "fit/epoch/train_batch/training_step" in by_path
    assert not by_path["fit/epoch/train_batch/training_step"].overlapping


def test_callbacks_with_settings_in_their_names(tmp_path: Path) -> None:
    """Braces, commas, spaces and bars in an action's name; two callbacks of one class are added."""
    rows = [
        *LOOP,
        ("[Callback]ModelCheckpoint{'monitor': 'a|b', 'mode': 'min, max'}.on_train_epoch_end", 0.1, 2, 0.2),
        ("[Callback]ModelCheckpoint{'monitor': None}.on_train_epoch_end", 0.1, 2, 0.3),
        ("[LightningModule]Net.on_save_checkpoint", 0.1, 2, 0.1),
        ("save_checkpoint", 0.1, 2, 0.2),
    ]
    write(tmp_path, "version_0/hparams.yaml", "a: 1\n")
    write(tmp_path, "version_0/fit-perf_logs.txt", report(rows))
    by_path = {s.path: s for s in one(tmp_path).sections}
    both = by_path["fit/ModelCheckpoint.on_train_epoch_end"]
    assert (both.count, both.total_seconds) == (4, 0.5)
    assert by_path["fit/save_checkpoint"].overlapping, "inside a callback: shown, not added"
    assert by_path["fit/on_save_checkpoint"].overlapping


@pytest.mark.parametrize(
    ("own", "path", "overlapping"),
    [
        (("decode", 0.4, 4, 1.6), "fit/epoch/validation/validation_step/decode", False),
        (("beams", 0.05, 12, 0.6), "fit/epoch/validation/validation_step/beams", False),  # three a step
        (("augment", 0.1, 10, 1.0), "fit/epoch/train_batch/optimizer_step/training_step/augment", False),
        (("mystery", 1.0, 7, 7.0), "fit/mystery", True),  # fits nowhere
        (("long", 1.0, 4, 4.0), "fit/long", True),  # longer than the step with as many calls
    ],
)
def test_own_sections_lie_where_count_and_time_allow(
    tmp_path: Path, own: tuple[str, float, int, float], path: str, overlapping: bool
) -> None:
    write(tmp_path, "version_0/hparams.yaml", "a: 1\n")
    write(tmp_path, "version_0/fit-perf_logs.txt", report([*LOOP, own]))
    by_path = {s.path: s for s in one(tmp_path).sections}
    assert by_path[path].overlapping is overlapping


def test_reports_in_a_folder_of_their_own_join_by_name(tmp_path: Path) -> None:
    """``csv/<run>``, ``tb/<run>``, ``profiles/fit-<run>.txt`` are one run each."""
    for i, name in enumerate(("wide-3", "narrow-1")):
        write(tmp_path, f"csv/{name}/metrics.csv", "epoch,step,loss\n0,1,2.0\n")
        write(tmp_path, f"csv/{name}/hparams.yaml", f"width: {i}\n")
        write(tmp_path, f"profiles/fit-{name}.txt", report(LOOP, total=10.0 + i))
        board = next((DATA / "A" / "sort" / "version_0").glob("events*"))
        write(tmp_path, f"tb/{name}/{board.name}", board.read_bytes())
    fragments = [read_all(r, tmp_path) for r in (READER, TensorBoardReader())]
    assert [len(f.runs) for f in fragments] == [4, 2]
    runs, problems, _ = join(fragments)
    assert [(r.id, r.config["width"], r.profile_wall) for r in runs] == [
        ("csv/narrow-1", 1, 11.0),
        ("csv/wide-3", 0, 10.0),
    ]
    assert all(r.first_activity is not None and len(r.files) == 4 for r in runs)
    assert not problems


def test_reports_of_several_processes_count_once(tmp_path: Path) -> None:
    write(tmp_path, "version_0/hparams.yaml", "a: 1\n")
    for rank in (0, 1):
        write(tmp_path, f"version_0/fit-perf_logs-{rank}.txt", report(LOOP, total=10.0 + rank))
    run = one(tmp_path)
    assert run.profile_wall == 10.0
    assert any("2 processes" in n for n in run.notes)


def test_metrics_that_start_over_are_noticed(tmp_path: Path) -> None:
    head = "epoch,step,loss\n"
    write(tmp_path, "version_0/hparams.yaml", "a: 1\n")
    write(tmp_path, "version_0/metrics.csv", head + "0,10,1\n0,20,1\n" + head + "0,15,1\n0,20,1\n")
    assert any("starts over 1 time" in n for n in one(tmp_path).notes)
    write(tmp_path, "version_0/metrics.csv", head + "0,10,1\n0,20,1\n0,5,1\n")
    assert any("starts over 1 time" in n for n in one(tmp_path).notes)
    write(tmp_path, "version_0/metrics.csv", head + "0,10,1\n0,20,1\n0,19,1\n0,20,1")
    assert not any("starts over" in n for n in one(tmp_path).notes)


@pytest.mark.parametrize(
    "files",
    [
        {"runs/a/metrics.csv": "epoch,step,loss\n0,1,2\n", "runs/a/config.yaml": "x: 1\n"},
        {"a/metrics.csv": "step,time,loss\n1,2,3\n"},
        {"a/hparams.yaml": "lr: 1\n", "a/train.py": ""},
        {"a/report.txt": "Quarterly Profiler Report of sales\n"},
        {"a/fit-notes.txt": "The fit was good.\n"},
    ],
)
def test_look_alikes_are_not_mine(tmp_path: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        write(tmp_path, name, content)
    assert list(READER.find(Tree(tmp_path))) == []


REAL = DATA / "A" / "sort" / "version_0"
DAMAGE = {
    "empty": lambda raw: b"",
    "half": lambda raw: raw[: len(raw) // 2],
    "half last line": lambda raw: raw.rstrip(b"-\n \t|")[:-20],
    "bom": lambda raw: b"\xef\xbb\xbf" + raw,
    "utf-16": lambda raw: raw.decode().encode("utf-16"),
    "crlf": lambda raw: raw.replace(b"\n", b"\r\n"),
    "latin-1": lambda raw: raw.replace(b"Seq", b"S\xe9q").replace(b"task", b"t\xe2che"),
    "nan": lambda raw: raw.replace(b"0.51076", b"NaN").replace(b"2.043 ", b"nan   ").replace(b"0.003", b".nan"),
    "infinity": lambda raw: raw.replace(b"1.06 ", b"inf  ").replace(b"0.003", b".inf"),
    "twenty digits": lambda raw: raw.replace(b"76 ", b"12345678901234567890 ").replace(b"16", b"12345678901234567890"),
    "binary": lambda raw: bytes(range(256)) * 20,
    "tags": lambda raw: raw.replace(b"task: sort", b"task: !!python/object:os.system {}\nfn: !!python/name:os.system"),
    "twice": lambda raw: raw + b"\n" + raw,
}


@pytest.mark.parametrize("damage", sorted(DAMAGE))
@pytest.mark.parametrize("name", ["hparams.yaml", "metrics.csv", "fit-perf_logs.txt"])
def test_damage_costs_the_part_that_is_damaged(tmp_path: Path, name: str, damage: str) -> None:
    shutil.copytree(REAL, tmp_path / "hurt" / "version_0")
    shutil.copytree(REAL, tmp_path / "fine" / "version_0")
    target = tmp_path / "hurt" / "version_0" / name
    target.write_bytes(DAMAGE[damage](target.read_bytes()))
    reading = read_all(READER, tmp_path)
    runs = by_id(reading)
    fine, hurt = runs["fine/version_0"], runs["hurt/version_0"]
    assert fine.profile_wall == 3.1359
    assert not hurt.unreadable
    assert all(p.run == "hurt/version_0" and p.path.endswith(name) for p in reading.problems)
    texts(reading.problems)
    if name != "hparams.yaml":
        assert hurt.config == fine.config
    if name != "fit-perf_logs.txt" or damage in ("bom", "utf-16", "crlf", "twice"):
        assert hurt.profile_wall == fine.profile_wall
        assert seconds(hurt) == seconds(fine)
    if name == "fit-perf_logs.txt" and damage in ("half", "half last line"):
        assert hurt.profile_wall == 3.1359, "the total stands above the cut"
        assert len(hurt.sections) < len(fine.sections)
        assert "cut" in texts(reading.problems)
    if damage == "tags" and name == "hparams.yaml":
        assert "python" in str(hurt.config["fn"])


def test_no_permission_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(REAL, tmp_path / "version_0")
    tree = Tree(tmp_path)
    (source,) = READER.find(tree)

    def refuse(self: Tree, path: str, limit: int = 0) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Tree, "read_bytes", refuse)
    reading = READER.read(tree, source)
    assert reading.runs[0].unreadable
    assert texts(reading.problems).count("Permission denied") == 3
