"""Fragments of one run become one run, whatever the order in which they were read."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_sweepprof.levels import natural
from mkdocs_sweepprof.readers.base import Event, Problem, Reading, Run, Section, Session
from mkdocs_sweepprof.readers.join import join


def run(layout: str, directory: str | None, name: str | None = None, **fields: object) -> Run:
    made = Run(name if name is not None else directory or layout, layout, directory)
    for key, value in fields.items():
        setattr(made, key, value)
    return made


def board(directory: str, first: float, last: float, pid: int = 1) -> Run:
    files = (f"{directory}/events.out.tfevents.{int(first)}.box.{pid}.0",)
    return run("tensorboard", directory, first_activity=first, last_activity=last, files=files)


def joined(*fragments: Run) -> list[Run]:
    return join([Reading(runs=[f]) for f in fragments])[0]


def test_two_layouts_in_one_folder_are_one_run() -> None:
    (one,) = joined(
        board("a/v0", 10.0, 20.0),
        run("lightning", "a/v0", config={"lr": 0.1}, profile_wall=11.0, files=("a/v0/hparams.yaml",)),
    )
    assert (one.id, one.layout, one.config, one.profile_wall) == ("a/v0", "lightning", {"lr": 0.1}, 11.0)
    assert (one.first_activity, one.last_activity) == (10.0, 20.0)
    assert len(one.files) == 2


def test_a_hydra_job_that_holds_a_wandb_folder_and_lightning_logs_is_one_run() -> None:
    runs = joined(
        run("hydra", "multirun/0", config={"lr": 0.1, "seed": 1}),
        run("wandb", "multirun/0/wandb/run-x", "x", status="completed", duration=5.0, config={"seed": 2}),
        run("lightning", "multirun/0/lightning_logs/version_0", profile_wall=4.0),
        board("multirun/0/lightning_logs/version_0", 1.0, 3.0),
    )
    assert [(r.id, r.layout, r.status, r.duration, r.profile_wall) for r in runs] == [
        ("multirun/0", "hydra", "completed", 5.0, 4.0)
    ]
    assert runs[0].config == {"lr": 0.1, "seed": 1}


def test_a_job_with_several_runs_of_one_layout_passes_its_config_on() -> None:
    runs, _, mentions = join(
        [
            Reading(
                runs=[
                    run("hydra", "job", config={"lr": 0.1, "fold": None}, status="failed"),
                    run("lightning", "job/logs/version_0", config={"fold": 0}),
                    run("lightning", "job/logs/version_1", config={"fold": 1}),
                    board("job/logs/version_0", 1.0, 5.0),
                    board("job/logs/version_1", 6.0, 9.0),
                ]
            )
        ]
    )
    assert [(r.id, r.config) for r in runs] == [
        ("job/logs/version_0", {"fold": 0, "lr": 0.1}),
        ("job/logs/version_1", {"fold": 1, "lr": 0.1}),
    ]
    assert [r.status for r in runs] == [None, "failed"], "the job failed in its last run"
    assert any("several runs" in m for m in mentions)


def test_loggers_side_by_side_in_a_job_are_no_runs() -> None:
    (one,) = joined(run("hydra", "job"), board("job/tb/train", 1.0, 9.0), board("job/tb/validation", 2.0, 8.0))
    assert (one.id, one.first_activity, one.last_activity) == ("job", 1.0, 9.0)


def test_event_folders_of_a_resumed_trainer_are_sessions() -> None:
    (one,) = joined(
        run("hf_trainer", "out", status="completed", duration=4.0),
        board("out/runs/Dec01_a", 1.0, 5.0, pid=7),
        board("out/runs/Dec01_b", 20.0, 24.0, pid=9),
    )
    assert one.sessions == [Session(1.0, 5.0), Session(20.0, 24.0)]


def test_jobs_of_a_multirun_stay_apart_and_a_folder_of_runs_is_none() -> None:
    runs, _, mentions = join(
        [Reading(runs=[run("hydra", "m"), run("hydra", "m/0", status="completed"), run("hydra", "m/1")])]
    )
    assert [r.id for r in runs] == ["m/0", "m/1"]
    assert mentions == ["1 folder of runs without a clock or profile of its own"]


def test_an_outer_run_with_evidence_is_kept_beside_its_inner_ones() -> None:
    assert [r.id for r in joined(board("a", 1, 2), board("a/x", 3, 4), board("a/y", 5, 6))] == ["a", "a/x", "a/y"]


def test_sibling_trees_are_one_run() -> None:
    fragments = []
    for i, name in enumerate(["r1", "r2", "r10"]):
        config = {"lr": i / 10}
        fragments += [
            run(
                "lightning", f"csv/{name}", config=config, files=(f"csv/{name}/hparams.yaml", f"csv/{name}/metrics.csv")
            ),
            run("lightning", f"tb/{name}", config=dict(config), files=(f"tb/{name}/hparams.yaml",)),
            board(f"tb/{name}", 100.0 * i, 100.0 * i + 9),
            run(
                "lightning",
                None,
                f"profiles/{name}",
                aliases=(name,),
                profile_wall=10.0 + i,
                sections=[Section("fit", 1, 9.0)],
                files=(f"profiles/fit-{name}.txt",),
            ),
        ]
    runs = joined(*fragments)
    assert [r.id for r in runs] == ["csv/r1", "csv/r2", "csv/r10"], "natural order"
    assert [r.profile_wall for r in runs] == [10.0, 11.0, 12.0]
    assert [r.first_activity for r in runs] == [0.0, 100.0, 200.0]
    assert all(len(r.files) == 5 for r in runs)


def test_sibling_trees_with_a_version_folder_in_one() -> None:
    fragments = [
        f
        for n in ("a", "b")
        for f in (
            run("lightning", f"csv/{n}/version_0", files=(f"csv/{n}/version_0/metrics.csv",)),
            board(f"tb/{n}", 1.0, 2.0),
        )
    ]
    assert [r.id for r in joined(*fragments)] == ["csv/a/version_0", "csv/b/version_0"]


def test_repeats_are_not_sibling_trees() -> None:
    """Two experiments with the same names, the same files and the same configs are different runs."""
    fragments = [
        f
        for top in ("first", "second")
        for f in (run("lightning", f"{top}/v0", files=(f"{top}/v0/metrics.csv",)), board(f"{top}/v0", 1.0, 2.0))
    ]
    assert [r.id for r in joined(*fragments)] == ["first/v0", "second/v0"]


def test_siblings_with_other_numbers_or_other_times_stay_apart() -> None:
    csv = run("lightning", "csv/a", config={"seed": 1}, files=("csv/a/metrics.csv",))
    tb = board("tb/a", 1e9, 1e9 + 5)
    assert len(joined(csv, replace(tb, config={"seed": 1}))) == 1
    assert len(joined(csv, replace(tb, config={"seed": 2}))) == 2
    assert len(joined(replace(csv, first_activity=2e9, last_activity=2e9), tb)) == 2


def test_a_name_joins_only_when_it_is_unambiguous() -> None:
    tracked = run("wandb", "wandb/run-1-abc", "abc", aliases=("base",), status="completed", duration=9.0)
    (one,) = joined(run("native", "runs/base", "base", config={"k": 1}), tracked)
    assert (one.id, one.status, one.duration, one.aliases) == ("base", "completed", 9.0, ("abc",))
    twice = joined(run("native", "x/base", "base"), run("native", "y/base", "base"), tracked)
    assert len(twice) == 3


def test_two_runs_of_one_tracker_with_one_name_stay_two() -> None:
    """The same sweep tracked twice, into files and into a database: the names agree, the tracker's ids do not."""
    files = run("mlflow", "mlruns/1/aa", "aa", aliases=("base",), files=("mlruns/1/aa/meta.yaml",))
    assert len(joined(files, run("mlflow", None, "bb", aliases=("base",), files=("mlflow.db",)))) == 2


def test_sections_of_two_profiles_are_never_added() -> None:
    (one,) = joined(
        run("native", "r", sections=[Section("epoch", 2, 8.0), Section("fit/x", 1, 1.0)]),
        run("lightning", "r", sections=[Section("fit/x", 1, 2.0), Section("fit", 1, 9.0)]),
    )
    assert [(s.path, s.total_seconds, s.overlapping) for s in one.sections] == [
        ("epoch", 8.0, False),
        ("fit/x", 1.0, False),
        ("fit", 9.0, True),
    ]
    assert any("not added" in n for n in one.notes)


def test_status_and_clock() -> None:
    (one,) = joined(
        run("hydra", "r", status="failed", first_activity=5.0, last_activity=9.0),
        run("mlflow", "r", status="completed", started_at=1.0, ended_at=8.0),
        run("wandb", "r", status="running", started_at=2.0),
    )
    assert (one.status, one.started_at, one.ended_at, one.first_activity) == ("failed", 1.0, 8.0, 5.0)
    (two,) = joined(run("mlflow", "r", status="running", started_at=1.0), run("wandb", "r", status="completed"))
    assert two.status == "completed"
    (three,) = joined(
        run("tensorboard", "r", status="not_started"), run("lightning", "r", profile_wall=3.0, sections=[])
    )
    assert three.status is None
    (four,) = joined(
        run("tensorboard", "r", status="not_started"), run("lightning", "r", sections=[Section("f", 1, 1)])
    )
    assert four.status is None


def test_the_richest_event_log_wins() -> None:
    marked = [Event(1, "run_start"), Event(2, "run_end")]
    (one,) = joined(
        run("native", "r", events=marked), run("tensorboard", "r", events=[Event(i, "step", step=i) for i in range(9)])
    )
    assert one.events == marked


def test_a_tracker_id_found_twice_is_a_duplicate() -> None:
    a = run("mlflow", "mlruns/1/abc", "abc", aliases=("fox",), duration=1.0)
    b = run("mlflow", "copy/1/abc", "abc", aliases=("fox",), duration=2.0)
    runs, problems, _ = join([Reading(runs=[a, b])])
    assert [r.directory for r in runs] == ["copy/1/abc"]
    assert [(p.kind, p.run, p.path) for p in problems] == [("duplicate", "abc", "mlruns/1/abc")]


def test_equal_names_of_different_runs_get_their_folder() -> None:
    runs, problems, _ = join([Reading(runs=[run("native", "a/r", "r"), run("native", "b/r", "r")])])
    assert [r.id for r in runs] == ["a/r", "b/r"]
    assert not problems
    runs = joined(run("wandb", "w/1", "base", aliases=("x1",)), run("wandb", "w/2", "base", aliases=("x2",)))
    assert [r.id for r in runs] == ["base (w/1)", "base (w/2)"]


def test_scheduler_jobs_join_by_job_id_and_the_rest_is_mentioned() -> None:
    def job(n: int) -> Run:
        return run(
            "sacct", None, str(n), resources={"job_id": n, "nodes": 2}, started_at=5.0, ended_at=9.0, duration=4.0
        )

    runs, _, mentions = join(
        [
            Reading(
                runs=[
                    run("hydra", "a", config={"slurm.job_id": 11}),
                    run("wandb", "b", aliases=("12",)),
                    run("native", "c", resources={"job_id": "13"}, started_at=1.0, ended_at=2.0),
                    *map(job, (11, 12, 13, 99, 100)),
                ]
            )
        ]
    )
    assert [(r.id, r.duration, r.ended_at, r.resources.get("nodes")) for r in runs] == [
        ("a", 4.0, 9.0, 2),
        ("b", 4.0, 9.0, 2),
        ("c", None, 2.0, 2),
    ]
    assert mentions == ["2 scheduler jobs match no run"]


def test_runs_that_share_a_job_do_not_get_its_clock() -> None:
    runs = joined(
        run("hydra", "a", resources={"job_id": 1}),
        run("hydra", "b", resources={"job_id": 1}),
        run("sacct", None, "1", duration=50.0, outside={"queue": 3.0}, resources={"nodes": 4}),
    )
    assert [(r.id, r.duration, r.outside, r.resources["nodes"]) for r in runs] == [
        ("a", None, {}, 4),
        ("b", None, {}, 4),
    ]


def test_parents_are_mentioned_only() -> None:
    runs, _, mentions = join([Reading(runs=[run("mlflow", "m/p", children=True), run("mlflow", "m/c")])])
    assert [r.id for r in runs] == ["m/c"]
    assert mentions == ["1 parent run that only holds children"]


def test_runs_of_a_database_stay_apart() -> None:
    trials = [run("optuna", "", f"s/{i}", files=("study.db",)) for i in range(12)]
    assert [r.id for r in joined(*trials)] == [f"s/{i}" for i in range(12)]
    table = [run("tables", "", f"r{i}", files=("runs.csv",)) for i in range(3)]
    both = joined(*table, *[run("native", f"runs/r{i}", f"r{i}", status="completed") for i in range(3)])
    assert [(r.id, r.status) for r in both] == [("r0", "completed"), ("r1", "completed"), ("r2", "completed")]


def test_unreadable_only_when_no_layout_could_read_it() -> None:
    assert not joined(run("native", "r", unreadable=True), board("r", 1, 2))[0].unreadable
    assert joined(run("native", "r", unreadable=True))[0].unreadable


def test_ten_thousand_fragments_join(record_property: Callable[[str, object], None]) -> None:
    fragments = [f for i in range(5_000) for f in (run("hydra", f"m/{i}", f"m/{i}"), board(f"m/{i}/tb", i, i + 1.0))]
    begin = time.perf_counter()
    runs = joined(*fragments)
    record_property("joining 10 000 fragments, s", round(time.perf_counter() - begin, 2))
    assert len(runs) == 5_000


def test_natural_order() -> None:
    assert sorted(["r10", "r9", "r1", "a"], key=natural) == ["a", "r1", "r9", "r10"]


NAMES = st.sampled_from(
    ["", "a", "b", "a/b", "a/c", "b/c", "csv/x", "tb/x", "csv/y", "tb/y", "a/version_0", "a/version_1"]
)
LAYOUTS = st.sampled_from(["native", "hydra", "lightning", "wandb", "tensorboard", "sacct", "tables", "other"])
SMALL = st.integers(0, 3)
FRAGMENTS = st.builds(
    lambda layout, folder, name, alias, lr, clock, status, kids, file: Run(
        id=name or folder or "r",
        layout=layout,
        directory=folder,
        aliases=alias,
        config={} if lr is None else {"lr": lr},
        status=status,
        first_activity=None if clock is None else float(clock),
        last_activity=None if clock is None else float(clock + 1),
        children=kids,
        files=file,
    ),
    LAYOUTS,
    st.none() | NAMES,
    st.sampled_from(["", "x", "y", "1"]),
    st.sampled_from([(), ("x",), ("1",), ("x", "y")]),
    st.none() | SMALL,
    st.none() | st.integers(0, 40_000),
    st.sampled_from([None, "completed", "failed", "running", "not_started"]),
    st.booleans(),
    st.sampled_from([(), ("f.txt",), ("a/metrics.csv",)]),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(FRAGMENTS, max_size=9), st.randoms(use_true_random=False))
def test_order_does_not_matter_and_nothing_is_changed(fragments: list[Run], random: object) -> None:
    before = copy.deepcopy(fragments)
    problem = Problem("p", "m", "r")
    first = join([Reading(runs=fragments, problems=[problem], mentions=["said"])])
    assert fragments == before
    shuffled = list(fragments)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    second = join([Reading(mentions=["said"]), *(Reading(runs=[f]) for f in shuffled), Reading(problems=[problem])])
    assert first == second
    runs, problems, _ = first
    ids = [r.id for r in runs]
    assert len(set(ids)) == len(ids)
    assert ids == sorted(ids, key=lambda i: (natural(i), i))
    assert problem in problems
    left_out = sum(p.kind == "duplicate" for p in problems)
    real = [f for f in fragments if not f.children and f.layout != "sacct"]
    assert len(runs) + left_out <= len(real)
    assert bool(runs) == bool(real), "joining never loses the last run"
