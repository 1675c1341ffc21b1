"""Record a small real sweep: recurrent networks on toy sequence tasks, with numpy on the CPU.

    python scripts/record_small_sweep.py collections/toy-sequence-tasks

3 tasks x 2 hidden sizes x 2 seeds = 12 runs of a few seconds. Each run leaves ``runs/<run>/`` with its config, a
profile (spans by ``time.perf_counter``, nested where the code is nested), an event log (wall clock, UTC) and its
metrics. The two clocks are read on their own, so a note made from these runs can hold one against the other on
numbers that nobody typed. Nothing is smoothed or repeated: what the machine did is what is written.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

# One BLAS thread: a run's time should not depend on what else the machine does with its other cores.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
import yaml  # noqa: E402

Array = np.ndarray[Any, np.dtype[Any]]

TASKS = ("copy", "parity", "sort")
HIDDEN_SIZES = (48, 96)
SEEDS = (0, 1)

SYMBOLS = 8
"""Tokens 0 to 7 are symbols; one more separates the input from the answer."""
SEPARATOR = SYMBOLS
INPUT_LENGTH = {"copy": 8, "parity": 12, "sort": 8}
ANSWER_LENGTH = {"copy": 8, "parity": 1, "sort": 8}

SHARED = {
    "epochs": 2,
    "steps_per_epoch": 300,
    "eval_every": 75,
    "eval_loss_num_samples": 512,
    "eval_generation_num_samples": 4096,
    "batch_size": 64,
    "learning_rate": 0.002,
    "optimizer": "adam",
}


class Recorder:
    """Spans (perf_counter) and events (wall clock) of one run."""

    def __init__(self, log: Path) -> None:
        self._log = log.open("w", encoding="utf-8")
        self._open: list[str] = []
        self.sections: dict[str, list[float]] = {}
        self.started = time.perf_counter()
        self.event("run_start")

    @contextmanager
    def span(self, part: str) -> Iterator[None]:
        """Time the block as a section; inside another span its path continues that one's."""
        path = f"{self._open[-1]}/{part}" if self._open else part
        self.sections.setdefault(path, [])
        self._open.append(path)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.sections[path].append(time.perf_counter() - start)
            self._open.pop()

    def event(self, event: str, **more: str | int) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._log.write(json.dumps({"time": now, "event": event, **more}) + "\n")
        self._log.flush()

    def close(self) -> float:
        """End the run; its wall time in seconds."""
        wall = time.perf_counter() - self.started
        self.event("run_end", status="completed")
        self._log.close()
        return wall


def examples(task: str, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Inputs (count, input length) and answers (count, answer length), both token ids."""
    inputs = rng.integers(0, 2 if task == "parity" else SYMBOLS, size=(count, INPUT_LENGTH[task]))
    if task == "copy":
        return inputs, inputs.copy()
    if task == "sort":
        return inputs, np.sort(inputs, axis=1)
    return inputs, inputs.sum(axis=1, keepdims=True) % 2


class Network:
    """An Elman network that reads input, separator and its answer so far, and predicts the next answer token."""

    def __init__(self, hidden: int, rng: np.random.Generator) -> None:
        tokens = SYMBOLS + 1
        recurrent, _ = np.linalg.qr(rng.normal(size=(hidden, hidden)))
        self.weights: dict[str, Array] = {
            "embed": rng.normal(scale=0.5, size=(tokens, hidden)),
            "recurrent": recurrent,
            "bias": np.zeros(hidden),
            "out": rng.normal(scale=hidden**-0.5, size=(hidden, SYMBOLS)),
            "out_bias": np.zeros(SYMBOLS),
        }
        self._mean = {k: np.zeros_like(v) for k, v in self.weights.items()}
        self._square = {k: np.zeros_like(v) for k, v in self.weights.items()}
        self._steps = 0

    def _step(self, state: Array, token: Array) -> Array:
        w = self.weights
        return np.tanh(w["embed"][token] + state @ w["recurrent"] + w["bias"])

    def loss(self, inputs: Array, answers: Array, *, learn: float | None = None) -> float:
        """Mean cross-entropy of the answer tokens (nats); with a learning rate also one Adam step."""
        w = self.weights
        count, length = answers.shape
        separator = np.full((count, 1), SEPARATOR)
        tokens = np.concatenate([inputs, separator, answers[:, :-1]], axis=1)
        first = tokens.shape[1] - length
        states = [np.zeros((count, w["bias"].size))]
        for t in range(tokens.shape[1]):
            states.append(self._step(states[-1], tokens[:, t]))
        total = 0.0
        wrongs = []
        for t in range(length):
            scores = states[first + t + 1] @ w["out"] + w["out_bias"]
            scores -= scores.max(axis=1, keepdims=True)
            chances = np.exp(scores)
            chances /= chances.sum(axis=1, keepdims=True)
            total -= float(np.log(chances[np.arange(count), answers[:, t]] + 1e-12).mean())
            chances[np.arange(count), answers[:, t]] -= 1.0
            wrongs.append(chances / (count * length))
        if learn is not None:
            self._learn(tokens, states, wrongs, first, learn)
        return total / length

    def _learn(self, tokens: Array, states: list[Array], wrongs: list[Array], first: int, rate: float) -> None:
        """Backpropagation through time, then Adam."""
        w = self.weights
        grads = {k: np.zeros_like(v) for k, v in w.items()}
        back = np.zeros_like(states[0])
        for t in reversed(range(tokens.shape[1])):
            if t >= first:
                wrong = wrongs[t - first]
                grads["out"] += states[t + 1].T @ wrong
                grads["out_bias"] += wrong.sum(axis=0)
                back = back + wrong @ w["out"].T
            inner = back * (1.0 - states[t + 1] ** 2)
            np.add.at(grads["embed"], tokens[:, t], inner)
            grads["recurrent"] += states[t].T @ inner
            grads["bias"] += inner.sum(axis=0)
            back = inner @ w["recurrent"].T
        norm = float(np.sqrt(sum(float((g**2).sum()) for g in grads.values())))
        clip = min(1.0, 1.0 / (norm + 1e-12))
        self._steps += 1
        for key, value in w.items():
            grad = grads[key] * clip
            self._mean[key] = 0.9 * self._mean[key] + 0.1 * grad
            self._square[key] = 0.999 * self._square[key] + 0.001 * grad**2
            mean = self._mean[key] / (1 - 0.9**self._steps)
            square = self._square[key] / (1 - 0.999**self._steps)
            self.weights[key] = value - rate * mean / (np.sqrt(square) + 1e-8)

    def generate(self, inputs: Array, length: int) -> Array:
        """Answers token by token, each from the network's own answer so far."""
        w = self.weights
        state = np.zeros((len(inputs), w["bias"].size))
        for t in range(inputs.shape[1]):
            state = self._step(state, inputs[:, t])
        token = np.full(len(inputs), SEPARATOR)
        answer = np.empty((len(inputs), length), dtype=int)
        for t in range(length):
            state = self._step(state, token)
            token = (state @ w["out"] + w["out_bias"]).argmax(axis=1)
            answer[:, t] = token
        return answer


def exact_matches(network: Network, task: str, inputs: Array, answers: Array, batch: int) -> float:
    """Share of answers that are right in every token."""
    right = 0
    for start in range(0, len(inputs), batch):
        part = slice(start, start + batch)
        right += int((network.generate(inputs[part], ANSWER_LENGTH[task]) == answers[part]).all(axis=1).sum())
    return right / len(inputs)


def train(folder: Path, config: dict[str, Any], scratch: Path) -> tuple[float, float]:
    """One run, from config to files. Returns (wall seconds, final exact match)."""
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    task, batch = str(config["task"]), int(config["batch_size"])
    recorder = Recorder(folder / "events.jsonl")
    with recorder.span("run/setup"):
        rng = np.random.default_rng([int(config["seed"]), TASKS.index(task)])
        data = examples(task, int(config["steps_per_epoch"]) * batch, rng)
        held_out = examples(task, int(config["eval_generation_num_samples"]), rng)
        final = examples(task, 2 * int(config["eval_generation_num_samples"]), rng)
        network = Network(int(config["hidden_size"]), rng)
    few = int(config["eval_loss_num_samples"])
    history: list[dict[str, float]] = []
    steps, every = int(config["steps_per_epoch"]), int(config["eval_every"])
    for epoch in range(int(config["epochs"])):
        order = rng.permutation(len(data[0]))
        for window in range(0, steps, every):
            with recorder.span("epoch/train"):
                for step in range(window, window + every):
                    chosen = order[step * batch : (step + 1) * batch]
                    network.loss(data[0][chosen], data[1][chosen], learn=float(config["learning_rate"]))
            with recorder.span("epoch/eval"):
                with recorder.span("loss"):
                    loss = network.loss(held_out[0][:few], held_out[1][:few])
                with recorder.span("generation"):
                    match = exact_matches(network, task, *held_out, batch)
            done = epoch * steps + window + every
            history.append({"step": done, "loss": round(loss, 5), "exact_match": round(match, 5)})
            with recorder.span("epoch/checkpoint"):
                np.savez(scratch / "checkpoint.npz", **network.weights)
            if window + every < steps:
                recorder.event("checkpoint", name=f"step_{done}", step=done)
        recorder.event("epoch_end", step=(epoch + 1) * steps, epoch=epoch)
    with recorder.span("run/final_eval"), recorder.span("generation"):
        match = exact_matches(network, task, *final, batch)
    with recorder.span("run/write_outputs"):
        np.savez(scratch / "model.npz", **network.weights)
        metrics = {"final_exact_match": round(match, 5), "history": history}
        (folder / "metrics.json").write_text(json.dumps(metrics, indent=1) + "\n", encoding="utf-8")
    wall = recorder.close()
    sections = [
        {"section": path, "count": len(times), "total_seconds": round(sum(times), 6)}
        for path, times in recorder.sections.items()
    ]
    profile = {"wall_seconds": round(wall, 6), "sections": sections}
    (folder / "profile.json").write_text(json.dumps(profile, indent=1) + "\n", encoding="utf-8")
    return wall, match


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path, help="folder to write to; its runs/ must not exist yet")
    runs = parser.parse_args().collection / "runs"
    if runs.exists():
        print(f"{runs} exists; move it away first: recorded runs are not overwritten.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        for task, hidden, seed in product(TASKS, HIDDEN_SIZES, SEEDS):
            config = {"task": task, "hidden_size": hidden, "seed": seed, **SHARED}
            name = f"{task}-h{hidden}-s{seed}"
            wall, match = train(runs / name, config, Path(scratch))
            print(f"{name:<16} {wall:6.2f} s   exact match {match:.3f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
