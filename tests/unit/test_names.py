"""Names in ``collection.yml`` that fit nothing are said, with line and nearest; comparisons invent no change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mkdocs_sweepprof import names, tables
from mkdocs_sweepprof.analysis import Analysis, analyse, comparison
from mkdocs_sweepprof.readers.base import Run, Scalar, Section
from mkdocs_sweepprof.schema import CollectionConfig, Lines, parse


def runs(extra: Mapping[str, Scalar] | None = None, profile: bool = True) -> list[Run]:
    made = []
    for i, (task, seed) in enumerate([("copy", 1), ("copy", 2), ("sort", 1), ("sort", 2)]):
        run = Run(f"{task}-{seed}", "native", config={"task": task, "seed": seed, "lr": 0.1, **(extra or {})})
        run.profile_wall = 100.0 * (1 + i // 2) + seed
        if profile:
            run.sections = [Section("epoch/train", 20, 60.0), Section("epoch/eval", 20, 30.0)]
        made.append(run)
    return made


def analysis(config: CollectionConfig, found: list[Run]) -> Analysis:
    made = tables.make(found, exclude_runs=config.exclude.runs, exclude_fields=config.exclude.fields)
    return analyse(made, config, name="sweep")


def check(text: str, found: list[Run] | None = None) -> list[tuple[str, int | None, str]]:
    found = runs() if found is None else found
    config = parse(text)
    problems = names.check(config, Lines(text), "collection.yml", found, analysis(config, found))
    assert all(p.path == "collection.yml" and p.kind == "config" and p.remedy for p in problems)
    return [(p.severity, p.line, p.text().partition(": ")[2]) for p in problems]


@pytest.mark.parametrize(
    ("text", "severity", "line", "said", "near"),
    [
        (
            "title: x\ngroup: tsk\n",
            "warning",
            2,
            "group: no run has a field 'tsk'",
            "mean 'task'? The note compares by",
        ),
        ("group: lr\n", "info", 1, "group: 'lr' is the same in all counted runs", "compares by 'task' instead"),
        ("group: task\nfactors: [seed]\n", "info", 1, "group: 'task' is not among the `factors`", "Add it"),
        ("group: task\nexclude: {fields: task}\n", "info", 1, "is left aside by exclude.fields", "Remove it"),
        ("factors:\n  - task\n  - sede\n", "warning", 3, "factors: no run has a field 'sede'", "mean 'seed'?"),
        ("factors: [task, lr]\n", "info", 1, "factors: 'lr' is the same in all counted runs", "other values"),
        ("settings: [lrr]\n", "warning", 1, "settings: no run has a field 'lrr'", "mean 'lr'?"),
        ("settings: [task]\n", "info", 1, "settings: 'task' varies", "`factors`"),
        ("labels:\n  tsk: x\n", "info", 2, "labels: 'tsk' is no field, level or section", "mean 'task'?"),
        ("levels:\n  taks: [a]\n", "info", 2, "levels: no run has a field 'taks'", "mean 'task'?"),
        ("levels:\n  task:\n  - sort\n  - copi\n", "info", 4, "levels: no run has task=copi", "mean 'copy'?"),
        ("exclude:\n  runs: [copy-*, sotr-1]\n", "info", 2, "exclude.runs: 'sotr-1' fits no run", "mean 'sort-1'?"),
        ("exclude:\n  fields: sead\n", "info", 2, "exclude.fields: 'sead' fits no field", "mean 'seed'?"),
        ("roles:\n  data: epoch/trian\n", "info", 2, "roles.data: 'epoch/trian' fits no section", "'epoch/train'?"),
        ("run_url: https://x.y/{rnu}\n", "warning", 1, "run_url: no run has a field 'rnu'", "mean 'run'?"),
        ("run_url: https://x.y/{run\n", "warning", 1, "a brace without its partner", "`{run}`"),
        ("run_url: ftp://x.y/{run}\n", "warning", 1, "is no web address", "https://"),
        ("run_url: https://x.y/{seed}\nexclude: {fields: seed}\n", "warning", 1, "is left aside", "Remove it"),
        (
            "knobs:\n- id: a\n  setting: ler\n  sections: epoch/eval\n",
            "warning",
            3,
            "knob 'a': no run has a setting 'ler'",
            "mean 'lr'?",
        ),
        (
            "knobs:\n- id: a\n  label: x\n  sections: eval*\n",
            "warning",
            4,
            "knob 'a' governs no recorded section",
            "* stays within a path part",
        ),
        (
            "knobs:\n- id: a\n  label: x\n  sections:\n  - epoch/eval\n  - epoch/trian\n",
            "info",
            6,
            "knob 'a': 'epoch/trian' fits no section",
            "'epoch/train'?",
        ),
        (
            "knobs:\n- id: a\n  label: x\n  sections: epoch/eval\n  keep: 50\n",
            "info",
            5,
            "keep: 50 is more than the calls a run makes (20)",
            "still makes",
        ),
    ],
)
def test_what_fits_nothing_is_said(text: str, severity: str, line: int, said: str, near: str) -> None:
    ((got, at, message),) = check(text)
    assert (got, at) == (severity, line), message
    assert said in message and near in message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "group: task\nfactors: [task, seed]\nsettings: lr\n",
        "labels: {task: T, copy: C, epoch/eval: E, '0.1': small}\nlevels: {task: [sort, copy], lr: [0.1]}\n",
        "exclude: {runs: 'copy-*', fields: 's*'}\n",
        "roles: {data: epoch, evaluation: '**/eval'}\n",
        "run_url: https://x.y/{task}/{run}\n",
        "knobs: [{id: a, setting: lr, sections: '*/eval', keep: 20}]\n",
    ],
)
def test_what_fits_is_not_said(text: str) -> None:
    assert check(text) == []


def test_without_runs_or_sections_names_cannot_be_judged() -> None:
    assert check("group: x\nknobs: [{id: a, setting: b, sections: c}]\n", []) == []
    ((severity, line, message),) = check(
        "roles: {data: x}\nknobs: [{id: a, label: b, sections: c}]\n", runs(profile=False)
    )
    assert (severity, line) == ("info", 2) and "no run recorded sections" in message


def test_a_group_that_cannot_be_used_falls_back_to_what_would_be_chosen() -> None:
    for group in ("tsk", "lr"):
        result = analysis(parse(f"group: {group}\n"), runs())
        assert (result.group, result.group_inferred) == ("task", True)


def test_a_run_without_the_fields_value_has_no_link() -> None:
    found = runs()
    found[0].config["job"] = 7
    rows = analysis(parse("run_url: https://x.y/{job}\n"), found).rows
    assert [r.url for r in rows if r.url] == ["https://x.y/7"]


@pytest.mark.parametrize(
    ("this", "other"),
    [("", "exclude: {fields: 'ho*'}\n"), ("exclude: {fields: host}\n", ""), ("", "factors: [task]\n")],
)
def test_what_one_side_leaves_aside_is_no_change(this: str, other: str) -> None:
    mine, theirs = runs({"host": "a"}), runs({"host": "a"})
    if "factors" in other:
        for i, run in enumerate(theirs):
            run.config["host"] = f"h{i % 2}"
    found = comparison.compare(analysis(parse(this), mine), analysis(parse(other), theirs).comparable())
    assert found is not None and found.changes == []
    assert not any("host" in c.this + c.other for c in found.caveats)


def test_a_setting_that_one_side_really_lacks_is_a_change() -> None:
    found = comparison.compare(analysis(parse(""), runs({"host": "a"})), analysis(parse(""), runs()).comparable())
    assert found is not None
    assert [(c.name, c.other, c.this) for c in found.changes] == [("host", "(not set)", "a")]


def test_the_record_for_comparisons_is_plain() -> None:
    import json
    from dataclasses import asdict

    plain: dict[str, Any] = asdict(analysis(parse("exclude: {fields: lr}\nfactors: [task]\n"), runs()).comparable())
    assert json.loads(json.dumps(plain))["excluded"] == ["lr"] and plain["hidden"] == ["seed"]
