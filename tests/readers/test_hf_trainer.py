"""Hugging Face Trainer folders, against what the training process measured itself."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
from trackers import by_id, made, read_all, texts

from mkdocs_sweepprof.readers.base import Run
from mkdocs_sweepprof.readers.hf_trainer import HFTrainerReader
from mkdocs_sweepprof.readers.tree import Tree

DATA = Path(__file__).resolve().parents[1] / "data" / "hf_trainer"
READER = HFTrainerReader()
HURT = json.loads((DATA / "truth_A_hurt.json").read_text(encoding="utf-8"))
LOOP = "run/train_call/train_loop"
EVALUATE = "train_loop/evaluate"


def sections(run: Run) -> dict[str, tuple[int, float]]:
    return {s.path: (s.count, s.total_seconds) for s in run.sections}


def check(run: Run, true: dict[str, tuple[int, float]]) -> float:
    """Loop, evaluations and own generation. Gives the loop's relative difference."""
    got = sections(run)
    loop = true[LOOP][1]
    assert run.duration == got["train_loop"][1]
    for name in ("eval_loop", "free_generation"):
        count, total = true[f"{LOOP}/epoch/evaluate/{name}"]
        assert got[f"{EVALUATE}/{name}"][0] == count
        # eval_runtime starts a moment after the span around it, and is rounded to 0.1 ms.
        assert abs(got[f"{EVALUATE}/{name}"][1] - total) < 0.0015 * count
    assert sum(t for p, (_, t) in got.items() if p != "train_loop") < got["train_loop"][1]
    return abs(got["train_loop"][1] - loop) / loop


def test_the_training_loop_and_its_evaluations(record_property: Any) -> None:
    folder, truth = made("hf_trainer", "A")
    reading = read_all(READER, folder)
    runs = by_id(reading)
    assert len(runs) == len(truth["runs"]) == 12
    assert reading.problems == []
    worst = 0.0
    for true in truth["runs"]:
        run = runs[true["run_dir"]]
        spans = {k: (v["count"], v["total_s"]) for k, v in true["sections"].items()}
        worst = max(worst, check(run, spans))
        assert run.status == "completed"
        config = true["config"]
        assert run.config["model.n_layer"] == config["n_layer"]
        assert run.config["model.n_embd"] == config["n_embd"]
        assert (run.config["learning_rate"], run.config["seed"]) == (config["lr"], config["seed"])
        assert run.config["per_device_train_batch_size"] == config["batch"]
        assert not {"output_dir", "logging_dir", "hub_token"} & run.config.keys()
        assert abs(run.outside["evaluate"] - spans["run/evaluate/eval_loop"][1]) < 0.0015
    assert worst < 0.004
    record_property("hf_trainer: largest relative difference of train_runtime over 12 runs", round(worst, 5))


def test_the_copied_run_gives_the_same() -> None:
    ((name, true),) = json.loads((DATA / "truth_A.json").read_text(encoding="utf-8")).items()
    run = by_id(read_all(READER, DATA / "A"))[name]
    assert check(run, {k: tuple(v) for k, v in true["sections"].items()}) < 0.004


def test_a_killed_run_is_read_from_its_last_checkpoint() -> None:
    reading = read_all(READER, DATA / "A_hurt")
    runs = by_id(reading)
    assert sorted(runs) == ["killed-early", "killed-mid", "resumed"], "a checkpoint is no run"
    mid = runs["killed-mid"]
    assert (mid.status, mid.duration) == ("killed", None)
    assert mid.config["model.n_layer"] == 3
    assert mid.config["num_train_epochs"] == 3, "from the state, since no arguments were written"
    assert any("last checkpoint" in n for n in mid.notes)
    early = runs["killed-early"]
    assert (early.status, early.sections, early.unreadable) == ("killed", [], False)
    for run in (mid, early):
        true = HURT[run.id]
        assert run.first_activity is not None
        assert run.last_activity is not None
        assert true["started_at"] < run.first_activity <= run.last_activity <= true["ended_at"]
    assert reading.problems == []


def test_a_resumed_run_does_not_pass_its_last_session_for_the_whole() -> None:
    run = by_id(read_all(READER, DATA / "A_hurt"))["resumed"]
    true = HURT["resumed"]
    assert (run.status, run.duration) == ("completed", None)
    for session, real in zip(run.sessions, true["sessions"], strict=True):
        assert real["started_at"] < session.started_at <= session.ended_at <= real["ended_at"]
    got = sections(run)
    assert "train_loop" not in got
    # Both sessions' evaluations up to the kill that reached the last state: one of the seven was repeated.
    assert got[f"{EVALUATE}/eval_loop"][0] == 6
    assert any("last session only" in n for n in run.notes)


# --- made folders ----------------------------------------------------------------------------------------------------


def write(root: Path, name: str, content: Any) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def state(*entries: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"global_step": 10, "max_steps": 10, "log_history": list(entries), **more}


def one(root: Path) -> Run:
    (run,) = read_all(READER, root).runs
    return run


FINAL = {"step": 10, "train_loss": 1.0, "total_flos": 1, "train_runtime": 50.0}


def test_with_token_counting_the_last_runtime_counts(tmp_path: Path) -> None:
    entries = [{"step": s, "loss": 1.0, "train_runtime": 5.0 * s, "num_input_tokens_seen": s} for s in range(1, 10)]
    write(tmp_path, "r/trainer_state.json", state(*entries, FINAL))
    run = one(tmp_path)
    assert (run.status, run.duration, sections(run)) == ("completed", 50.0, {"train_loop": (1, 50.0)})
    write(tmp_path, "r/trainer_state.json", state(*entries))
    run = one(tmp_path)
    assert (run.status, run.duration) == ("killed", 45.0)


def test_with_token_counting_a_resume_shows_and_the_sessions_are_added(tmp_path: Path) -> None:
    times = [10.0, 20.0, 30.0, 5.0, 15.0]
    entries = [{"step": i, "loss": 1.0, "train_runtime": t} for i, t in enumerate(times)]
    write(tmp_path, "r/trainer_state.json", state(*entries, {**FINAL, "train_runtime": 20.0}))
    run = one(tmp_path)
    assert run.duration == 50.0
    assert "train_loop" not in sections(run)
    assert any("sum of 2 sessions" in n for n in run.notes)


def test_evaluations_longer_than_the_loop_tell_a_resume(tmp_path: Path) -> None:
    entries = [{"step": s, "eval_loss": 1.0, "eval_runtime": 30.0} for s in range(4)]
    write(tmp_path, "r/trainer_state.json", state(*entries, FINAL))
    run = one(tmp_path)
    assert run.duration is None
    assert any("earlier sessions' time is not recorded" in n for n in run.notes)


def test_several_evaluation_sets_and_what_lies_inside_an_evaluation(tmp_path: Path) -> None:
    entries = [
        {"step": 5, "eval_loss": 1.0, "eval_runtime": 4.0, "eval_decode_runtime": 3.0},
        {"step": 5, "eval_hard_loss": 1.0, "eval_hard_runtime": 2.0},
        {"step": 5, "gen_runtime": 1.0},
        FINAL,
        {"step": 10, "eval_loss": 1.0, "eval_runtime": 6.0},
    ]
    write(tmp_path, "r/trainer_state.json", state(*entries))
    run = one(tmp_path)
    assert sections(run) == {
        "train_loop": (1, 50.0),
        f"{EVALUATE}/eval_loop": (1, 4.0),
        f"{EVALUATE}/eval_loop/decode": (1, 3.0),
        f"{EVALUATE}/eval_loop_hard": (1, 2.0),
        f"{EVALUATE}/free_generation": (1, 1.0),
    }
    assert run.outside == {"evaluate": 6.0}, "after training, outside of its wall"


def test_results_alone_are_a_run(tmp_path: Path) -> None:
    write(tmp_path, "r/train_results.json", {"train_runtime": 12.5, "train_loss": 1.0})
    write(tmp_path, "r/eval_results.json", {"eval_runtime": 2.5})
    run = one(tmp_path)
    assert (run.status, run.duration, run.outside) == ("completed", 12.5, {"evaluate": 2.5})


def test_trial_parameters_of_a_search_are_config(tmp_path: Path) -> None:
    write(tmp_path, "run-3/checkpoint-10/trainer_state.json", state(FINAL, trial_params={"learning_rate": 0.1}))
    run = one(tmp_path)
    assert (run.id, run.config["learning_rate"]) == ("run-3", 0.1)


def test_the_pickle_is_never_opened(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return Path.touch, (tmp_path / "exploded",)  # type: ignore[return-value]

    write(tmp_path, "r/trainer_state.json", state(FINAL))
    (tmp_path / "r" / "training_args.bin").write_bytes(pickle.dumps(Bomb()))
    assert one(tmp_path).duration == 50.0
    assert not (tmp_path / "exploded").exists()


def test_an_unreadable_last_checkpoint_falls_back_to_the_one_before(tmp_path: Path) -> None:
    write(tmp_path, "r/checkpoint-5/trainer_state.json", state({"step": 5, "eval_runtime": 2.0}))
    write(tmp_path, "r/checkpoint-10/trainer_state.json", '{"global_step": 10, "log_history": [{"st')
    reading = read_all(READER, tmp_path)
    (run,) = reading.runs
    assert sections(run) == {f"{EVALUATE}/eval_loop": (1, 2.0)}
    assert [p.path for p in reading.problems] == ["r/checkpoint-10/trainer_state.json"]


@pytest.mark.parametrize(
    "files",
    [
        {"a/trainer_state.json": {"trainer": "mine", "state": 3}},
        {"a/config.json": {"model_type": "gpt2"}},
        {"a/all_results.json": {"accuracy": 0.9}},
        {"a/train.log": "2026-01-01 00:00:00 training started\n"},
        {"a/job.log": "***** Running training *****\ntransformers.trainer\n", "a/.hydra/config.yaml": "x: 1\n"},
    ],
)
def test_look_alikes_are_not_mine(tmp_path: Path, files: dict[str, Any]) -> None:
    for name, content in files.items():
        write(tmp_path, name, content)
    assert list(READER.find(Tree(tmp_path))) == []


REAL = DATA / "A" / "sort" / "layers3" / "seed1"
DAMAGE = {
    "empty": lambda raw: b"",
    "half": lambda raw: raw[: len(raw) // 2],
    "bom": lambda raw: b"\xef\xbb\xbf" + raw,
    "crlf": lambda raw: raw.replace(b"\n", b"\r\n"),
    "latin-1": lambda raw: raw.replace(b"epoch", b"\xe9poch"),
    "nan": lambda raw: raw.replace(b"7.7031", b"NaN").replace(b"0.6501", b"NaN").replace(b"0.001", b"NaN"),
    "infinity": lambda raw: raw.replace(b"7.7031", b"Infinity").replace(b"0.6501", b"-Infinity"),
    "twenty digits": lambda raw: raw.replace(b"72", b"12345678901234567890"),
    "a list": lambda raw: b"[1, 2]",
    "binary": lambda raw: bytes(range(256)) * 20,
    "strings": lambda raw: raw.replace(b'"log_history": [', b'"log_history": ["x", null, 3, '),
}


@pytest.mark.parametrize("damage", sorted(DAMAGE))
@pytest.mark.parametrize("name", sorted(p.name for p in REAL.iterdir()))
def test_damage_costs_the_part_that_is_damaged(tmp_path: Path, name: str, damage: str) -> None:
    for folder in ("fine", "hurt"):
        shutil.copytree(REAL, tmp_path / folder)
    target = tmp_path / "hurt" / name
    target.write_bytes(DAMAGE[damage](target.read_bytes()))
    reading = read_all(READER, tmp_path)
    runs = by_id(reading)
    fine, hurt = runs["fine"], runs["hurt"]
    assert (fine.duration, fine.status) == (7.7031, "completed")
    assert not hurt.unreadable
    assert all(p.run == "hurt" and p.path == f"hurt/{name}" for p in reading.problems)
    texts(reading.problems)
    if damage in ("bom", "crlf", "strings"):
        assert (hurt.duration, hurt.sections, hurt.config) == (fine.duration, fine.sections, fine.config)
    if damage in ("half", "empty", "binary", "a list") and name.endswith(".json"):
        assert reading.problems
        assert hurt.duration == fine.duration, "train_results.json and trainer_state.json both hold it"


def test_no_permission_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(REAL, tmp_path / "r")
    tree = Tree(tmp_path)
    (source,) = READER.find(tree)

    def refuse(self: Tree, path: str, limit: int = 0) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Tree, "read_bytes", refuse)
    reading = READER.read(tree, source)
    assert reading.runs[0].unreadable
    assert "Permission denied" in texts(reading.problems)
