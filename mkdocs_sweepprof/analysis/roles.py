"""What a section is for, by its name or by collection.yml."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mkdocs_sweepprof.analysis.results import Role
from mkdocs_sweepprof.levels import matches

# Checked in this order on each part of a path, innermost first: "eval_dataloader" is evaluation, "save_outputs" output.
_BY_NAME: tuple[tuple[Role, re.Pattern[str]], ...] = (
    ("checkpoint", re.compile(r"^(checkpoint|ckpt)")),
    ("evaluation", re.compile(r"^(eval|valid|val$|test|infer|sanity)")),
    ("output", re.compile(r"^(output|write|writ|export|upload|plot|report|log$|logging|logger|save)")),
    ("data", re.compile(r"^(data|load|fetch|preprocess|tokeniz|collate|augment)")),
    ("training", re.compile(r"^(train|forward|backward|optim|block$|fwd|bwd)")),
    ("setup", re.compile(r"^(setup|init|compil|warm|import|build|prepar|configur)")),
)


def role(path: str, chosen: Mapping[str, Sequence[str]]) -> Role:
    """The role of a section path; ``chosen`` (role → globs) replaces the default of the roles it names.

    A section without a role of its own has its nearest ancestor's.
    """
    prefix = path
    while prefix:
        for name, globs in chosen.items():
            if matches(prefix, globs):
                return name  # type: ignore[return-value]
        words = [
            w
            for w in re.split(r"[^a-z0-9]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", prefix.rpartition("/")[2]).lower())
            if w
        ]
        for name, pattern in _BY_NAME:
            if name not in chosen and any(pattern.match(w) for w in words):
                return name
        prefix = prefix.rpartition("/")[0]
    return "other"
