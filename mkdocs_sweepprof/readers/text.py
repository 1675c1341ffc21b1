"""Reading one small text file of a run, with the problem said instead of raised."""

from __future__ import annotations

from typing import Any

from mkdocs_sweepprof.readers.base import Problem
from mkdocs_sweepprof.readers.tree import TooLarge, Tree
from mkdocs_sweepprof.readers.values import BadText, load_json, load_yaml


def read_text(tree: Tree, path: str, problems: list[Problem]) -> str | None:
    """The file's text; None, and a problem added, when it cannot be read."""
    try:
        return tree.read_text(path)
    except TooLarge as error:
        problems.append(Problem(path, f"The file is {error}.", "Remove it, or make it smaller.", kind="size"))
    except OSError as error:
        what = error.strerror or str(error)
        problems.append(Problem(path, f"The file cannot be read ({what}).", "Check its permissions."))
    return None


def read_mapping(tree: Tree, path: str, problems: list[Problem]) -> dict[Any, Any] | None:
    """The mapping in a JSON (by its name) or YAML file; None, and a problem added, when there is none. An empty YAML
    file is an empty mapping."""
    text = read_text(tree, path, problems)
    if text is None:
        return None
    json = path.endswith((".json", ".json.gz"))
    try:
        value = load_json(text) if json else load_yaml(text)
    except BadText as error:
        remedy = "Correct it, or copy the file anew; the run's other files were used."
        problems.append(Problem(path, f"The file is {error.message}", remedy, line=error.line, kind="config"))
        return None
    if value is None and not json:
        return {}
    if not isinstance(value, dict):
        message = "The file holds no mapping of keys to values."
        problems.append(Problem(path, message, "Write one key and value an entry.", kind="config"))
        return None
    return value
