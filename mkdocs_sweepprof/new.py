"""Starting a collection: a commented ``collection.yml`` from what the runs hold, and stubs of hand-written pages."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from mkdocs_sweepprof.analysis.results import Analysis, KnobStat
from mkdocs_sweepprof.check import find_collections
from mkdocs_sweepprof.collection import CONFIG_NAMES, Collection, single
from mkdocs_sweepprof.harvest import read_all
from mkdocs_sweepprof.nav import folder_title
from mkdocs_sweepprof.project import Project, Refused, inside, readable_folder, shown
from mkdocs_sweepprof.readers import readers
from mkdocs_sweepprof.redact import Redactor
from mkdocs_sweepprof.store import write_atomic

MAX_LEVELS = 8
"""Levels of a factor that its comment names."""
MAX_SECTIONS = 8
"""Recorded sections that the file lists."""
LEAST_SHARE = 0.005
"""Share of the wall time from which a section is listed."""


class CannotStartError(Refused):
    """Nothing was written; the message says why and what to do."""


@dataclass(slots=True)
class Started:
    """What was written, and what stood there already."""

    written: list[Path] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)


def start(path: Path, project: Project, pages: bool = False, schema: str | None = None) -> Started:
    """Write ``collection.yml`` into a data folder, and with ``pages`` stubs of its design and results pages.

    Args:
        path: the collection's folder.
        project: the site.
        pages: whether to write the stubs.
        schema: absolute path or URL of the JSON Schema, for the line that editors take it from.

    Raises:
        Refused: the folder cannot be read, has a ``collection.yml``, or holds collections and is none; or there is no
            schema. Nothing was written then.
        OSError: a file cannot be written.
    """
    readable_folder(path, project.options.base)
    editor = _editor(path, schema, project)
    config = next((path / name for name in CONFIG_NAMES if (path / name).exists()), None)
    if config is not None and not pages:
        raise CannotStartError(
            f"'{shown(config, project.options.base)}' exists and is left as it is. Remove it to have it written anew."
        )
    done = Started()
    collection = _collection(path, project)
    if config is None:
        _check_is_one(path, project)
    if config is not None:
        done.kept.append(config)
    else:
        text = editor + describe(collection, project)
        write_atomic(path / CONFIG_NAMES[0], text.encode())
        done.written.append(path / CONFIG_NAMES[0])
    place = _place(path, project)
    if place is None:
        roots = ", ".join(f"'{shown(r, project.options.base)}'" for r in project.options.roots)
        done.hints.append(f"'{path}' lies in no root ({roots}): move it there, or add its parent to 'roots'.")
    if pages:
        folder = project.docs / (place if place is not None else path.name)
        title = folder_title(path.resolve().name)
        for name, text in (("design.md", _design(title)), ("results.md", _results(title, project.options.page_name))):
            target = folder / name
            if target.exists() or target.is_symlink():
                done.kept.append(target)
                continue
            folder.mkdir(parents=True, exist_ok=True)
            write_atomic(target, text.encode())
            done.written.append(target)
    if not collection.sources:
        done.hints.append(f"No layout was recognised in '{path}': `sweepprof check {path}` says what was seen.")
    return done


def _editor(path: Path, schema: str | None, project: Project) -> str:
    """The first lines of the file, by which an editor knows its schema."""
    if schema is None:
        return (
            "# For completion in an editor: `sweepprof schema > collection.schema.json`, and as the first line here\n"
            "# `# yaml-language-server: $schema=<path from here to it>` (`sweepprof new --schema` writes that line).\n"
        )
    if "://" not in schema:
        if not Path(schema).is_file():
            name = shown(Path(schema), project.options.base)
            raise CannotStartError(f"'{name}' is no file. Write the schema first: `sweepprof schema > {name}`.")
        schema = os.path.relpath(os.path.realpath(schema), os.path.realpath(path)).replace(os.sep, "/")
    return f"# yaml-language-server: $schema={schema}\n"


def _check_is_one(path: Path, project: Project) -> None:
    """Refuse a root and a folder of collections: a ``collection.yml`` there would make one collection of them all."""
    options = project.options
    found, _ = find_collections(path, options.roots, readers())
    here = path.resolve()
    if any(c.path.resolve() == here for c in found):
        return
    below = [shown(c.path, options.base) for c in found if inside(c.path, path)]
    root = any(here == r.resolve() for r in options.roots)
    if not root and not below:
        return
    one = f"like '{below[0]}'" if below else f"like '{shown(path, options.base)}/my-sweep'"
    what = "is a root: it holds collections, and is none" if root else f"holds {len(below)} collections, and is none"
    raise CannotStartError(f"'{shown(path, options.base)}' {what}. Name the folder of one collection, {one}.")


def describe(collection: Collection, project: Project) -> str:
    """The text of a ``collection.yml``: what was found is filled in, what can be chosen stands there as a comment.

    A line that begins with ``#`` and no space, or more than one, is YAML: it becomes valid by taking the ``#`` away.
    """
    from mkdocs_sweepprof import pipeline

    redactor = Redactor(project.options.publish_fields, project.options.redact)
    by_name = {reader.name: reader for reader in readers()}
    done = pipeline.work(collection, read_all(collection, by_name, redactor), redactor.reading)
    return "\n".join(_lines(collection, done.analysis)) + "\n"


def _lines(collection: Collection, found: Analysis) -> list[str]:
    out = [
        "# One collection: every key is optional, and what is not given is inferred. Take the # off a #key to set it.",
        "# Reference: guide/collection-yml.md in the docs of mkdocs-sweepprof.",
        f"# {_found(found)}",
        "",
        f"title: {_quote(folder_title(collection.name))}",
        "#description: A sentence or two on what was swept and why.",
        "#date: 2026-01-31",
        "",
    ]
    out += _group(found)
    if found.factors:
        out += ["# Fields that vary, most of them found to be factors. List those that the sweep is about:"]
        out += [f"# - {_some([f.name])}: {_some([str(x) for x in f.levels])}" for f in found.factors]
        out += [f"#factors: {_flow([f.name for f in found.factors])}", ""]
    out += _settings(found)
    out += _knobs(found)
    out += [
        "# What sections are for, where names do not say it (evaluation, training, data, setup, output, checkpoint):",
        "#roles:",
        '#  evaluation: ["**/eval*", "**/eval*/**"]',
        "",
        "#exclude:",
        "#  runs: [debug-*]",
        "#  fields: [output_dir]",
        "#compare_to: [another-collection]",
        "#run_url: https://tracker.example/runs/{run}",
        "#commentary:",
        "#  speedups: What we will try first, and why.",
    ]
    return out


def _found(found: Analysis) -> str:
    layouts = ", ".join(f"{n} {name}" for name, n in sorted(found.layouts.items()))
    runtime = found.runtime
    if not runtime.found:
        return "No runs were found in this folder yet."
    runs = "run" if runtime.found == 1 else "runs"
    return f"Found {runtime.found} {runs} ({layouts or 'no layout'}), {runtime.count} of them complete."


def _group(found: Analysis) -> list[str]:
    if found.group is not None:
        kinds = {f.name: f.kind for f in found.factors}
        kind = "numeric" if kinds.get(found.group) == "numeric" else "categorical"
        largest = f"of the {kind} ones, that with the largest effect on wall time"
        why = largest if found.group_inferred else "as given"
        why = "as results in this layout are compared" if found.group_by_custom else why
        return [f"# The note compares by this factor ({why}).", f"group: {_quote(found.group)}", ""]
    return ["# The note compares by this factor; none was found that fits.", "#group: task", ""]


def _settings(found: Analysis) -> list[str]:
    names = found.shown_settings or list(found.settings)[:5]
    if not names:
        return []
    return ["# Settings that are the same in all runs, to name in the snapshot.", f"settings: {_flow(names)}", ""]


def _knobs(found: Analysis) -> list[str]:
    sections = [s.path for s in found.profile.sections] if found.profile is not None else []
    if not sections:
        return [
            "# No section profile was recorded, so nothing can be said of what a change would save.",
            "",
        ]
    out = [
        "# What can be changed to save time. These are the largest sections; keep those that somebody can change, name",
        "# the setting (or a label), and say with `keep` how many calls a run still makes after the change.",
        "#knobs:",
    ]
    for knob in found.knobs:
        out += _knob(knob)
    out += ["", "# Recorded sections, largest first:"]
    largest = sorted(found.profile.sections, key=lambda s: -s.share) if found.profile is not None else []
    listed = [s for s in largest if s.share >= LEAST_SHARE][:MAX_SECTIONS]
    out += [f"# {f'{100 * s.share:.2f}%':<7} {_some([s.path])}" for s in listed]
    if (more := len(largest) - len(listed)) > 0:
        out.append(f"# … and {more} smaller {'one' if more == 1 else 'ones'}; the note lists them all.")
    return [*out, ""]


def _knob(knob: KnobStat) -> list[str]:
    name = f"setting: {_quote(knob.setting)}" if knob.setting else f"label: {_quote(knob.label)}"
    calls = (
        f"{knob.counts[0]} to {knob.counts[-1]}" if len(knob.counts) > 1 else str(knob.counts[0] if knob.counts else 0)
    )
    return [
        f"#  - id: {_quote(_id(knob.id))}",
        f"#    {name}",
        "#    verb: reduce",
        f"#    sections: {_flow(knob.topmost or knob.sections)}",
        f"#    keep: 0  # calls a run makes now: {calls}; at most {100 * knob.bound:.2f}% of a run",
    ]


def _id(text: str) -> str:
    """An id as the schema wants it."""
    clean = "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "_" for c in text).strip("_.-")
    return clean or "knob"


def _quote(text: str) -> str:
    """A YAML scalar on one line: plain where that is safe."""
    import yaml

    plain = yaml.safe_dump(text, width=10**6, allow_unicode=True).removesuffix("\n").removesuffix("\n...")
    return plain if "\n" not in plain else json.dumps(text)


def _flow(items: list[str]) -> str:
    """A YAML list on one line."""
    return (
        "["
        + ", ".join(json.dumps(i) if any(c in i for c in ",[]{}#&*!|>'\"%@`:\n") else _quote(i) for i in items)
        + "]"
    )


def _some(items: list[str]) -> str:
    shown_ = [" ".join(item.split())[:120] for item in items[:MAX_LEVELS]]
    return ", ".join(shown_) + (f", … ({len(items)} levels)" if len(items) > MAX_LEVELS else "")


def _collection(path: Path, project: Project) -> Collection:
    """The folder as a collection: as it is found below its root, else all of it."""
    known = readers()
    found, _ = find_collections(path, project.options.roots, known)
    here = path.resolve()
    return next((c for c in found if c.path.resolve() == here), None) or single(path, known)


def _place(path: Path, project: Project) -> Path | None:
    """The folder's path under its root."""
    for root in project.options.roots:
        if inside(path, root):
            return path.resolve().relative_to(root.resolve())
    return None


def _design(title: str) -> str:
    return f"""# {title}: design

What was swept, and which question it answers.

## Question

## Factors and levels

## Settings held fixed

## What would change our mind
"""


def _results(title: str, note: str) -> str:
    return f"""# {title}: results

What came out, in two sentences. Where the time went is in the [profiling note]({note}).

## Findings

## Limits

## Next
"""
