"""The heavy half of a build: one collection from its sources to a finished note.

Imported only when something must be computed; :mod:`.build` decides that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mkdocs_sweepprof import downloads, figures, names, note, tables
from mkdocs_sweepprof.analysis import Analysis, Comparable, analyse, comparison
from mkdocs_sweepprof.collection import Collection, overlooked
from mkdocs_sweepprof.figures.base import Drawing
from mkdocs_sweepprof.levels import level
from mkdocs_sweepprof.note.base import Context, Note
from mkdocs_sweepprof.readers.base import Problem, Reading, Run
from mkdocs_sweepprof.readers.join import join
from mkdocs_sweepprof.redact import Redactor
from mkdocs_sweepprof.schema import BadConfig, CollectionConfig, Lines, parse


@dataclass(slots=True)
class Work:
    """One collection, analysed but not yet compared or written."""

    config: CollectionConfig
    tables: tables.Tables
    analysis: Analysis
    problems: list[Problem] = field(default_factory=list)
    lines: Lines = field(default_factory=lambda: Lines(""))
    """Where the keys of ``collection.yml`` stand."""
    where: str = "collection.yml"
    """That file's name."""


def load_config(collection: Collection) -> tuple[CollectionConfig, Lines, list[Problem]]:
    """``collection.yml`` as its model, and where its keys stand; a bad one gives problems and the defaults, so that
    the note still comes out."""
    if collection.config is None:
        return CollectionConfig(), Lines(""), []
    try:
        text = collection.tree.read_text(collection.config)
        return parse(text), Lines(text), []
    except OSError as error:
        why, remedy = f"cannot be read ({error.strerror or error}).", "Check its permissions."
        return CollectionConfig(), Lines(""), [Problem(collection.config, why, remedy, kind="config")]
    except BadConfig as error:
        return (
            CollectionConfig(),
            Lines(""),
            [
                Problem(collection.config, message, f"{remedy} The defaults were used.", line, "config")
                for line, message, remedy in error.errors
            ],
        )


def work(collection: Collection, readings: Iterable[Reading], redact: Callable[[Reading], Reading]) -> Work:
    """Join, tabulate and analyse one collection (comparisons come later, when the others are known)."""
    config, lines, problems = load_config(collection)
    config = masked_texts(config)
    runs, joined, mentions = join(readings)
    # Once more over the joined runs. Each source was masked by itself before it was remembered: what only one of them
    # tells (a host's name) is not masked in another.
    masked = redact(Reading(runs, [*problems, *joined], mentions))
    made = tables.make(
        masked.runs,
        masked.problems,
        exclude_runs=config.exclude.runs,
        exclude_fields=config.exclude.fields,
        mentions=masked.mentions,
    )
    result = analyse(made, config, name=collection.name)
    where = collection.config or "collection.yml"
    problems = [
        *masked.problems,
        *made.problems,
        *names.check(config, lines, where, masked.runs, result),
        *_copies(collection, masked.runs, made),
        *overlooked(collection),
    ]
    if not len(made.runs) and made.excluded:
        n = len(made.excluded)
        problems.append(
            Problem(
                where,
                f"`exclude.runs` excludes {'the only run' if n == 1 else f'all {n} runs'} of this collection.",
                "Narrow its globs.",
                lines.of("exclude", "runs"),
                kind="config",
            )
        )
    elif not len(made.runs) and not any(p.severity == "warning" for p in problems):
        problems.append(
            Problem(
                collection.config or ".",
                "no readable run in this collection.",
                "Put run folders below runs/, or drop a tracker's folder in as it is; `sweepprof check` says what was "
                "seen.",
            )
        )
    return Work(config, made, result, problems, lines, where)


def masked_texts(config: CollectionConfig) -> CollectionConfig:
    """The author's own texts with what looks like a secret masked; names and globs are left as they are."""
    redactor = Redactor()

    def mask(text: str | None) -> str | None:
        return redactor.text(text) if text else text

    return config.model_copy(
        update={
            "title": mask(config.title),
            "description": mask(config.description),
            "date": mask(config.date),
            "run_url": redactor.link(config.run_url) if config.run_url else None,
            "labels": {name: redactor.text(text) for name, text in config.labels.items()},
            "commentary": {part: redactor.text(text) for part, text in config.commentary.items()},
            "knobs": [
                k.model_copy(update={"label": mask(k.label), "verb": mask(k.verb), "note": mask(k.note)})
                for k in config.knobs
            ],
        }
    )


def _copies(collection: Collection, runs: Sequence[Run], made: tables.Tables) -> list[Problem]:
    """Counted runs that say exactly what another says: a folder that was copied counts twice."""
    counted = set(made.counted)
    seen: dict[Any, Run] = {}
    found = []
    for run in runs:
        if run.layout != "native" or run.id not in counted or not (run.sections or run.events):
            continue
        key = (
            tuple(sorted((k, level(v)) for k, v in run.config.items())),
            run.profile_wall,
            tuple((s.path, s.count, s.total_seconds) for s in run.sections),
            tuple((e.time, e.label) for e in run.events),
        )
        first = seen.setdefault(key, run)
        if first is not run:
            found.append(
                Problem(
                    run.directory or ".",
                    f"is an exact copy of {first.directory or first.id}; it is counted twice.",
                    "Remove one of the two, or leave it aside with exclude.runs.",
                    kind="duplicate",
                    severity="info",
                )
            )
    return found


def write(
    done: Work, others: Sequence[Comparable], context: Context, templates: Sequence[str] = ()
) -> tuple[Note, list[Drawing], list[Problem]]:
    """Compare, draw and write one note. The problems are those that only the finished page shows."""
    done.analysis.comparisons = [c for o in others if (c := comparison.compare(done.analysis, o)) is not None]
    drawings = figures.draw(done.analysis, done.config.labels) if done.analysis.runtime.count else []
    csvs = downloads.csvs(done.tables, done.analysis)
    made = note.render(done.analysis, drawings, context, csvs, templates)
    more = names.unseen(done.config, done.lines, done.where, made.markdown)
    if more:
        context = replace(context, problems=(*context.problems, *more))
        made = note.render(done.analysis, drawings, context, csvs, templates)
    for drawing in drawings:
        made.downloads[f"figures/{drawing.name}.svg"] = drawing.svg
        made.downloads[f"figures/{drawing.name}.dark.svg"] = drawing.dark
    return made, drawings, more


def commentary(config: CollectionConfig) -> Mapping[str, str]:
    """The author's Markdown by part."""
    return {str(k): v for k, v in config.commentary.items()}
