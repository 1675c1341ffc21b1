"""The schema of ``collection.yml``: one pydantic model, from which the JSON Schema and the reference are made.

Imported only when a collection is analysed: a build in which nothing changed does not need it.
"""

from __future__ import annotations

import difflib
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from mkdocs_sweepprof.levels import level
from mkdocs_sweepprof.readers.values import BadText, Repeated, load_yaml

NAME = "collection.yml"
NAMES = (NAME, "collection.yaml")

RoleName = Literal["evaluation", "training", "data", "setup", "output", "checkpoint"]
PartName = Literal["verdict", "runtime", "depends", "where", "speedups", "comparison", "limits", "runs", "sources"]


def _one_or_many(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Globs = Annotated[list[str], BeforeValidator(_one_or_many)]
"""A glob or a list of globs; ``*`` stays within a path part, ``**`` crosses."""


def _text(value: Any) -> Any:
    """Levels are compared by their printed text, so a number or null in YAML is as good as its text."""
    return level(value) if value is None or isinstance(value, bool | int | float) else value


Level = Annotated[str, BeforeValidator(_text)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Knob(_Strict):
    """A setting or a code path that someone can change to save time."""

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", description="Name in fact ids: `knob.<id>.bound`.")
    setting: str | None = Field(None, description="The config field to change. Give this or `label`.")
    label: str | None = Field(None, description="What to call it when it is not one config field.")
    verb: str = Field(
        "change", max_length=200, description="What to do with it, as in “increase” or “evaluate less often with”."
    )
    sections: Globs = Field(min_length=1, description="Sections it governs, as globs.")
    keep: float = Field(0, ge=0, description="Calls a run still makes after the change (1: once, at the end).")
    note: str | None = Field(None, description="Your remark, Markdown, shown below the knob.")

    @model_validator(mode="after")
    def _named(self) -> Knob:
        if not (self.setting or self.label):
            raise ValueError("a knob needs a `setting` or a `label`")
        return self


class Exclude(_Strict):
    """Runs and fields to leave aside."""

    runs: Globs = Field(default_factory=list, description="Run ids, as globs. Listed on the page as excluded.")
    fields: Globs = Field(default_factory=list, description="Config fields, as globs. Neither factor nor setting.")


class CollectionConfig(_Strict):
    """One collection's choices. Every key is optional."""

    title: str | None = Field(None, description="Title of the note; default: the folder's name.")
    description: str | None = Field(None, description="A sentence or two under the verdict, Markdown.")
    date: Annotated[str | None, BeforeValidator(lambda v: v if v is None else str(v))] = Field(
        None, description="Date of the sweep, as it should be printed; orders the overview's trend."
    )
    group: str | None = Field(None, description="The factor that the note compares by.")
    factors: Annotated[list[str] | None, BeforeValidator(_one_or_many)] = Field(
        None, description="Fields to treat as factors, in this order; default: every field that varies."
    )
    settings: Annotated[list[str] | None, BeforeValidator(_one_or_many)] = Field(
        None,
        description="Shared settings to name in the snapshot; default: the first few that are the same in all runs.",
    )
    labels: dict[str, str] = Field(default_factory=dict, description="Field, level or section → text to print instead.")
    levels: dict[str, list[Level]] = Field(default_factory=dict, description="Field → its levels in the order to show.")
    exclude: Exclude = Field(default_factory=Exclude, description="Runs and fields to leave aside.")
    run_url: str | None = Field(
        None,
        description="Link template, as in `https://tracker.example/runs/{run}`; `{field}` for a config field.",
    )
    design: str | None = Field(
        None, description="The design page, relative to the docs folder; default: `design.md` in the note's place."
    )
    results: str | None = Field(None, description="The results page; default: `results.md` in the note's place.")
    compare_to: Annotated[list[str], BeforeValidator(_one_or_many)] = Field(
        default_factory=list, description="Other collections (folder name or path under the root) to compare with."
    )
    knobs: list[Knob] = Field(
        default_factory=list, description="What can be changed to save time; default: the largest sections."
    )
    roles: dict[RoleName, Globs] = Field(
        default_factory=dict, description="Role → sections, as globs; a role given here replaces that role's default."
    )
    commentary: dict[PartName, str] = Field(
        default_factory=dict, description="Part of the note → your Markdown, put at its end."
    )

    @model_validator(mode="after")
    def _distinct(self) -> CollectionConfig:
        seen: set[str] = set()
        for knob in self.knobs:
            if knob.id in seen:
                raise ValueError(f"two knobs have the id {knob.id!r}")
            seen.add(knob.id)
        return self


class BadConfig(ValueError):
    """``collection.yml`` is wrong: a list of (line or None, message, remedy)."""

    def __init__(self, errors: list[tuple[int | None, str, str]]) -> None:
        super().__init__("; ".join(f"{m} {r}" for _, m, r in errors))
        self.errors = errors


def parse(text: str) -> CollectionConfig:
    """The text of a ``collection.yml`` as its model.

    Raises:
        BadConfig: not YAML, a key that stands twice, an unknown key (with the nearest known one), or a value of the
            wrong kind.
    """
    twice: list[Repeated] = []
    try:
        loaded = load_yaml(text, twice)
    except BadText as error:
        raise BadConfig([(error.line, error.message, "Mend the YAML.")]) from None
    if loaded is None:
        loaded = {}
    if not isinstance(loaded, dict):
        raise BadConfig([(1, "must be a mapping of keys.", "Write `title: …` and the like, one a line.")])
    found = [
        (second, f"{key!r} stands twice, in lines {first} and {second}.", "Keep one of the two.")
        for key, first, second in twice
    ]
    try:
        config = CollectionConfig.model_validate({str(k): v for k, v in loaded.items()})
    except ValidationError as error:
        lines = Lines(text)
        raise BadConfig(found + [_explain(e, lines) for e in error.errors(include_url=False)]) from None
    if found:
        raise BadConfig(found)
    return config


EXAMPLES = {
    "labels": "labels: {task_name: task}",
    "levels": "levels: {size: [small, large]}",
    "exclude": 'exclude: {runs: ["debug-*"], fields: [hostname]}',
    "exclude.runs": 'exclude: {runs: ["debug-*"]}',
    "exclude.fields": "exclude: {fields: [hostname]}",
    "compare_to": "compare_to: an-earlier-sweep",
    "factors": "factors: [task, size]",
    "settings": "settings: [batch_size]",
    "knobs": "knobs: [{id: eval, setting: eval_every, sections: epoch/eval, keep: 1}]",
    "knobs.id": "id: eval_interval",
    "knobs.setting": "setting: eval_every",
    "knobs.sections": 'sections: "epoch/eval_*"',
    "knobs.keep": "keep: 1",
    "knobs.verb": "verb: increase",
    "knobs.note": "note: Tried once.",
    "roles": 'roles: {evaluation: "epoch/eval_*"}',
    "commentary": "commentary: {runtime: The machine was shared.}",
}
"""Key path (indices left out) → how it is written."""

_WORDS = {
    "string_type": "must be text",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "string_pattern_mismatch": "must be letters, digits, dots, hyphens and underscores, a letter or digit first",
}


def _explain(error: Any, lines: Lines) -> tuple[int | None, str, str]:
    key = error["loc"][-1:] == ("[key]",)
    location = [str(part) for part in error["loc"] if part != "[key]" and not str(part).startswith("function-")]
    where = ".".join(location) or "the file"
    line = lines.of(*location)
    if error["type"] == "extra_forbidden" or (key and error["type"] == "literal_error"):
        known = _keys_at(location[:-1])
        near = difflib.get_close_matches(location[-1], known, n=1, cutoff=0.5)
        remedy = f"Did you mean {near[0]!r}?" if near else f"Known keys: {', '.join(known)}."
        return line, f"unknown key {where!r}.", remedy
    names = [part for part in location if not part.isdigit()]
    example = next((EXAMPLES[x] for n in range(len(names), 0, -1) if (x := ".".join(names[:n])) in EXAMPLES), None)
    remedy = f"Write it as in `{example}`." if example else f"Write it as in `{where}: some text`."
    remedy += " The reference of collection.yml has all forms."
    if error["type"] == "missing":
        return line, f"{where} is missing.", remedy
    return line, f"{where}: {_wrong(error)}.", remedy


def _wrong(error: Any) -> str:
    """What is wrong with a value, in plain words, and what it is."""
    kind, limits, value = error["type"], error.get("ctx", {}), error["input"]
    if kind in _WORDS:
        return f"{_WORDS[kind]}, not {_shown(value)}"
    if kind == "greater_than_equal":
        return f"must be at least {limits['ge']:g}, not {_shown(value)}"
    if kind == "too_short":
        return "must not be empty"
    if kind == "string_too_long":
        return f"is longer than {limits['max_length']} characters"
    text = str(error["msg"]).removeprefix("Value error, ")
    return f"{text[:1].lower()}{text[1:]}"


def _shown(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = repr(value) if isinstance(value, str) else level(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _keys_at(location: list[str]) -> list[str]:
    if location[:1] == ["knobs"]:
        return list(Knob.model_fields)
    if location[:1] == ["exclude"]:
        return list(Exclude.model_fields)
    if location[:1] == ["roles"]:
        return list(get_args(RoleName))
    if location[:1] == ["commentary"]:
        return list(get_args(PartName))
    return list(CollectionConfig.model_fields)


class Lines:
    """Where the keys and items of a YAML text stand."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _root(self) -> Any:
        import yaml

        try:
            return yaml.compose(self._text, Loader=yaml.SafeLoader)
        except (yaml.YAMLError, RecursionError):
            return None

    def of(self, *path: str, item: str | None = None) -> int | None:
        """The line (1-based) of a key path (indices of lists as text), or of as much of it as is there.

        ``item``: where the path leads to a list that holds this text, the line of that.
        """
        import yaml

        node, line = self._root, None
        for part in path:
            if isinstance(node, yaml.MappingNode):
                here = [(k, v) for k, v in node.value if isinstance(k, yaml.ScalarNode) and k.value == part]
                if not here:
                    return line
                line, node = here[-1][0].start_mark.line + 1, here[-1][1]
            elif isinstance(node, yaml.SequenceNode) and part.isdigit() and int(part) < len(node.value):
                node = node.value[int(part)]
                line = node.start_mark.line + 1
            else:
                return line
        if item is not None and isinstance(node, yaml.SequenceNode):
            lines = [n.start_mark.line + 1 for n in node.value if isinstance(n, yaml.ScalarNode) and n.value == item]
            return lines[0] if lines else line
        return line


def json_schema() -> dict[str, Any]:
    """JSON Schema of ``collection.yml``, for editors."""
    schema = CollectionConfig.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "mkdocs-sweepprof collection.yml"
    return schema
