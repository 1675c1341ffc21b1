"""The schema of ``collection.yml``: one pydantic model, from which the JSON Schema and the reference are made.

Imported only when a collection is analysed: a build in which nothing changed does not need it.
"""

from __future__ import annotations

import difflib
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from mkdocs_sweepprof.readers.values import BadText, load_yaml

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
    from mkdocs_sweepprof.levels import level

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
    description: str | None = Field(None, description="A sentence or two under the title, Markdown.")
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
        BadConfig: not YAML, an unknown key (with the nearest known one), or a value of the wrong kind.
    """
    try:
        loaded = load_yaml(text)
    except BadText as error:
        raise BadConfig([(error.line, error.message, "Mend the YAML.")]) from None
    if loaded is None:
        loaded = {}
    if not isinstance(loaded, dict):
        raise BadConfig([(1, "must be a mapping of keys.", "Write `title: …` and the like, one a line.")])
    try:
        return CollectionConfig.model_validate({str(k): v for k, v in loaded.items()})
    except ValidationError as error:
        raise BadConfig([_explain(e, text) for e in error.errors(include_url=False)]) from None


def _explain(error: Any, text: str) -> tuple[int | None, str, str]:
    location = [str(part) for part in error["loc"] if not str(part).startswith("function-")]
    where = ".".join(location) or "the file"
    line = _line_of(location, text)
    if error["type"] == "extra_forbidden":
        known = list(_fields_at(location[:-1]))
        near = difflib.get_close_matches(location[-1], known, n=1, cutoff=0.5)
        remedy = f"Did you mean {near[0]!r}?" if near else f"Known keys: {', '.join(known)}."
        return line, f"unknown key {where!r}.", remedy
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "literal_error" and location:
        message = f"{message}, not {location[-1]!r}" if location[-1] == "[key]" else message
    return line, f"{where}: {message[0].lower()}{message[1:]}.", "See the reference of collection.yml for its form."


def _fields_at(location: list[str]) -> list[str]:
    if location[:1] == ["knobs"]:
        return list(Knob.model_fields)
    if location[:1] == ["exclude"]:
        return list(Exclude.model_fields)
    return list(CollectionConfig.model_fields)


def _line_of(location: list[str], text: str) -> int | None:
    """The line (1-based) of a key path, from the YAML's own marks."""
    import yaml

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None
    line: int | None = None
    for part in location:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if str(key.value) == part:
                    line, node = key.start_mark.line + 1, value
                    break
            else:
                return line
        elif isinstance(node, yaml.SequenceNode) and part.isdigit() and int(part) < len(node.value):
            node = node.value[int(part)]
            line = node.start_mark.line + 1
        else:
            return line
    return line


def json_schema() -> dict[str, Any]:
    """JSON Schema of ``collection.yml``, for editors."""
    schema = CollectionConfig.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "mkdocs-sweepprof collection.yml"
    return schema
