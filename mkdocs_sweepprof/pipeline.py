"""The heavy half of a build: one collection from its sources to a finished note.

Imported only when something must be computed; :mod:`.build` decides that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mkdocs_sweepprof import downloads, figures, note, tables
from mkdocs_sweepprof.analysis import Analysis, Comparable, analyse, comparison
from mkdocs_sweepprof.collection import Collection
from mkdocs_sweepprof.figures.base import Drawing
from mkdocs_sweepprof.note.base import Context, Note
from mkdocs_sweepprof.readers.base import Problem, Reading
from mkdocs_sweepprof.readers.join import join
from mkdocs_sweepprof.redact import Redactor
from mkdocs_sweepprof.schema import BadConfig, CollectionConfig, parse


@dataclass(slots=True)
class Work:
    """One collection, analysed but not yet compared or written."""

    config: CollectionConfig
    tables: tables.Tables
    analysis: Analysis
    problems: list[Problem] = field(default_factory=list)


def load_config(collection: Collection) -> tuple[CollectionConfig, list[Problem]]:
    """``collection.yml`` as its model; a bad one gives problems and the defaults, so that the note still comes out."""
    if collection.config is None:
        return CollectionConfig(), []
    try:
        return parse(collection.tree.read_text(collection.config)), []
    except OSError as error:
        return CollectionConfig(), [
            Problem(
                collection.config,
                f"cannot be read ({error.strerror or error}).",
                "Check its permissions.",
                kind="config",
            )
        ]
    except BadConfig as error:
        return CollectionConfig(), [
            Problem(collection.config, message, f"{remedy} The defaults were used.", line, "config")
            for line, message, remedy in error.errors
        ]


def work(collection: Collection, readings: Iterable[Reading], redact: Callable[[Reading], Reading]) -> Work:
    """Join, tabulate and analyse one collection (comparisons come later, when the others are known)."""
    config, problems = load_config(collection)
    config = masked_texts(config)
    runs, joined, mentions = join(readings)
    # Once more over all runs: a name learned from one layout's files is masked in another's.
    masked = redact(Reading(runs, [*problems, *joined], mentions))
    made = tables.make(
        masked.runs,
        masked.problems,
        exclude_runs=config.exclude.runs,
        exclude_fields=config.exclude.fields,
        mentions=masked.mentions,
    )
    result = analyse(made, config, name=collection.name)
    problems = [*masked.problems, *made.problems, *_config_problems(collection, config, result)]
    if not len(made.runs) and not any(p.severity == "warning" for p in problems):
        problems.append(
            Problem(
                collection.config or ".",
                "no readable run in this collection.",
                "Put run folders below runs/, or drop a tracker's folder in as it is; `sweepprof check` says what was "
                "seen.",
            )
        )
    return Work(config, made, result, problems)


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


def _config_problems(collection: Collection, config: CollectionConfig, result: Analysis) -> list[Problem]:
    """What collection.yml asks for and the runs do not have."""
    found: list[Problem] = []
    where = collection.config or "collection.yml"
    for name in result.missing:
        found.append(
            Problem(
                where,
                f"names the field {name!r}, which no run has.",
                _near(name, result),
                kind="config",
                severity="info",
            )
        )
    if config.group and config.group not in result.missing and result.group is None and result.runtime.count:
        found.append(
            Problem(
                where,
                f"group {config.group!r} does not vary over the runs.",
                "Choose a field that varies, or remove the key.",
                kind="config",
                severity="info",
            )
        )
    if result.profile is not None:
        for knob in result.knobs:
            if not knob.candidate and not knob.sections:
                found.append(
                    Problem(
                        where,
                        f"knob {knob.id!r} governs no recorded section.",
                        "Check its `sections` globs: * stays within a path part, ** crosses.",
                        kind="config",
                        severity="info",
                    )
                )
    return found


def _near(name: str, result: Analysis) -> str:
    import difflib

    known = [*(f.name for f in result.factors), *result.settings]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"Did you mean {near[0]!r}?" if near else "Check the name."


def write(
    done: Work, others: Sequence[Comparable], context: Context, templates: Sequence[str] = ()
) -> tuple[Note, list[Drawing]]:
    """Compare, draw and write one note."""
    done.analysis.comparisons = [c for o in others if (c := comparison.compare(done.analysis, o)) is not None]
    drawings = figures.draw(done.analysis, done.config.labels) if done.analysis.runtime.count else []
    made = note.render(done.analysis, drawings, context, downloads.csvs(done.tables, done.analysis), templates)
    for drawing in drawings:
        made.downloads[f"figures/{drawing.name}.svg"] = drawing.svg
        made.downloads[f"figures/{drawing.name}.dark.svg"] = drawing.dark
    return made, drawings


def commentary(config: CollectionConfig) -> Mapping[str, str]:
    """The author's Markdown by part."""
    return {str(k): v for k, v in config.commentary.items()}
