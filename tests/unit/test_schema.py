"""``collection.yml``: what it accepts, and what it says of what it does not."""

from __future__ import annotations

import json

import pytest

from mkdocs_sweepprof.readers.values import load_yaml
from mkdocs_sweepprof.schema import BadConfig, CollectionConfig, Lines, json_schema, parse
from tests.places import COLLECTIONS


def errors(text: str) -> list[tuple[int | None, str, str]]:
    with pytest.raises(BadConfig) as caught:
        parse(text)
    return caught.value.errors


@pytest.mark.parametrize("text", ["", "\n", "# nothing but a remark\n", "---\n", "null\n"])
def test_everything_is_optional(text: str) -> None:
    assert parse(text) == CollectionConfig()


def test_all_keys_together() -> None:
    config = parse(
        """
title: A sweep
description: Two *sentences*.
date: 2026-04-12
group: task
factors: [task, lr]
settings: batch_size
labels: {task: the task}
levels: {lr: [0.1, 1, null, true]}
exclude: {runs: "debug-*", fields: [a, "b.*"]}
run_url: https://tracker.example/runs/{run}
design: lab/design.md
results: lab/results.md
compare_to: before
knobs:
  - {id: one, setting: val_interval, sections: "epoch/eval_*", keep: 1, verb: increase, note: Mine.}
roles: {evaluation: "epoch/eval_**"}
commentary: {limits: Said.}
"""
    )
    assert config.date == "2026-04-12", "dates stay as they are written"
    assert config.settings == ["batch_size"] and config.compare_to == ["before"], "one is as good as a list of one"
    assert config.exclude.runs == ["debug-*"] and config.exclude.fields == ["a", "b.*"]
    # Levels are compared by their printed text.
    assert config.levels == {"lr": ["0.1", "1", "None", "true"]}
    assert config.knobs[0].sections == ["epoch/eval_*"] and config.knobs[0].keep == 1
    assert config.roles == {"evaluation": ["epoch/eval_**"]}


@pytest.mark.parametrize(
    ("text", "line", "key", "near"),
    [
        ("titel: x\n", 1, "titel", "title"),
        ("title: x\n\n# remark\ngrup: y\n", 4, "grup", "group"),
        ("exclude:\n  run: [a]\n", 2, "exclude.run", "runs"),
        (
            "knobs:\n  - id: a\n    label: b\n    sections: c\n  - id: d\n    lable: e\n    sections: f\n",
            6,
            "knobs.1.lable",
            "label",
        ),
        ("{title: x, compareto: y}\n", 1, "compareto", "compare_to"),
        ("roles:\n  data: a\n  evalution: b\n", 3, "roles.evalution", "evaluation"),
        ("commentary:\n  limts: b\n", 2, "commentary.limts", "limits"),
    ],
)
def test_an_unknown_key_names_the_nearest_and_its_line(text: str, line: int, key: str, near: str) -> None:
    found = [e for e in errors(text) if "unknown key" in e[1]]
    assert found == [(line, f"unknown key {key!r}.", f"Did you mean {near!r}?")]


def test_an_unknown_key_that_is_near_nothing_lists_those_there_are() -> None:
    ((line, message, remedy),) = errors("title: x\nzzzzzz: 1\n")
    assert (line, message) == (2, "unknown key 'zzzzzz'.")
    assert remedy.startswith("Known keys: title, description, ") and "compare_to" in remedy


def test_a_key_that_is_no_text_is_an_unknown_key() -> None:
    assert "unknown key '3'" in errors("3: x\n")[0][1]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("title: [a, b]\n", 1, "title: "),
        ("title: x\nlabels: [a]\n", 2, "labels: "),
        ("knobs: none\n", 1, "knobs: "),
        ("knobs:\n  - id: a\n    label: b\n    sections: c\n    keep: -1\n", 5, "knobs.0.keep: "),
        ("knobs:\n  - id: a\n    label: b\n    sections: c\n    keep: lots\n", 5, "knobs.0.keep: "),
        ("knobs:\n  - id: 'a b'\n    label: b\n    sections: c\n", 2, "knobs.0.id: "),
        ("knobs:\n  - id: a\n    label: b\n    sections: []\n", 4, "knobs.0.sections: "),
        ("roles:\n  evaluation: a\n  cooking: b\n", 3, "cooking"),
        ("commentary:\n  end: x\n", 2, "end"),
        ("exclude: [a]\n", 1, "exclude: "),
        ("group: 3\n", 1, "group: "),
    ],
)
def test_wrong_types_name_key_and_line(text: str, line: int, words: str) -> None:
    found = errors(text)
    assert found[0][0] == line, found
    assert words in found[0][1] and found[0][1].endswith(".")
    assert found[0][2], "and a remedy"


def test_a_knob_needs_a_setting_or_a_label_and_an_id_of_its_own() -> None:
    assert "a knob needs a `setting` or a `label`" in errors("knobs:\n  - id: a\n    sections: c\n")[0][1]
    twice = "knobs:\n" + "  - {id: a, label: b, sections: c}\n" * 2
    assert "two knobs have the id 'a'" in errors(twice)[0][1]


def test_every_fault_is_told_at_once() -> None:
    found = errors("titel: x\ngroup: [a]\nknobs: 1\n")
    assert sorted(e[0] or 0 for e in found) == [1, 2, 3]


@pytest.mark.parametrize("text", ["- a\n- b\n", "just text\n", "3\n"])
def test_no_mapping(text: str) -> None:
    ((line, message, _),) = errors(text)
    assert line == 1 and "must be a mapping" in message


@pytest.mark.parametrize(
    ("text", "line"), [("title: 'x\n", None), ("a: b: c\n", 1), ("title: x\n\tgroup: y\n", 2), ("a: &x [*y]\n", 1)]
)
def test_broken_yaml_names_the_line(text: str, line: int | None) -> None:
    ((found, message, remedy),) = errors(text)
    assert "not valid YAML" in message and remedy == "Mend the YAML."
    assert line is None or found == line


def test_no_object_is_made_of_yaml_tags(tmp_path: object) -> None:
    config = parse("title: !!python/object/apply:os.getcwd []\n")
    assert "os.getcwd" in str(config.title)
    bomb = "a: &a [x,x,x,x,x,x,x,x]\n" + "".join(
        f"{b}: &{b} [*{a},*{a},*{a},*{a},*{a},*{a},*{a},*{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert errors(bomb), "and a bomb of aliases is only a list of unknown keys"


def test_the_json_schema_fits_what_is_in_the_repository() -> None:
    schema = json_schema()
    assert set(schema["properties"]) == set(CollectionConfig.model_fields)
    assert schema["additionalProperties"] is False
    json.dumps(schema)
    for path in COLLECTIONS.rglob("collection.yml"):
        assert parse(path.read_text("utf-8")).title


@pytest.mark.parametrize(
    ("text", "said", "example"),
    [
        ("exclude: [a]\n", "exclude: must be a mapping, not a list.", "`exclude: {runs:"),
        ("labels: x\n", "labels: must be a mapping, not 'x'.", "`labels: {"),
        ("knobs: [{id: a b, label: x, sections: y}]\n", "not 'a b'.", "`id: eval_interval`"),
        ("knobs: [{id: a, label: x, sections: y, keep: -1}]\n", "keep: must be at least 0, not -1.", "`keep: 1`"),
        ("knobs: [{id: a, label: x, sections: y, keep: lots}]\n", "keep: must be a number, not 'lots'.", "`keep: 1`"),
        ("knobs: [{id: a, label: x}]\n", "knobs.0.sections is missing.", "`sections: "),
        ("knobs: [{id: a, label: x, sections: []}]\n", "knobs.0.sections: must not be empty.", "`sections: "),
        ("knobs: [3]\n", "knobs.0: must be a mapping, not 3.", "`knobs: [{id: "),
        ("title: {a: b}\n", "title: must be text, not a mapping.", "`title: some text`"),
        ("commentary: {runtime: false}\n", "commentary.runtime: must be text, not false.", "`commentary: {"),
    ],
)
def test_a_wrong_value_is_told_in_plain_words_with_an_example(text: str, said: str, example: str) -> None:
    ((_, message, remedy),) = errors(text)
    assert message.endswith(said) and example in remedy
    assert "pydantic" not in message and "instance" not in message


def test_a_key_that_stands_twice_names_both_lines() -> None:
    found = errors("title: a\ngroup: b\ntitle: c\nroles:\n  data: x\n  data: y\n")
    assert [(line, message) for line, message, _ in found] == [
        (3, "'title' stands twice, in lines 1 and 3."),
        (6, "'data' stands twice, in lines 5 and 6."),
    ]


def test_a_merged_key_may_be_overridden() -> None:
    assert parse("labels: &a {x: y}\nlevels: {}\nroles: {}\n").labels == {"x": "y"}
    assert load_yaml("a: &a {x: 1}\nb:\n  <<: *a\n  x: 2\n", twice := []) == {"a": {"x": 1}, "b": {"x": 2}}
    assert not twice


def test_lines_of_keys_and_items() -> None:
    lines = Lines("a: 1\nb:\n  - x\n  - y\nc: {d: z}\nb2: y\n")
    assert lines.of("b") == 2 and lines.of("b", item="y") == 4 and lines.of("b", item="no") == 2
    assert lines.of("c", "d") == 5 and lines.of("c", "e") == 5 and lines.of("nothing") is None
    assert Lines("a: [").of("a") is None
