"""What can be changed to save time, and at most how much: upper bounds, never promises."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from mkdocs_sweepprof.analysis.results import KnobStat, Profile, Role
from mkdocs_sweepprof.levels import matches

HIGH = 0.10
"""Bound from which a knob has high leverage."""
SECONDARY = 0.005
"""…and secondary leverage; below it is negligible."""
MAX_CANDIDATES = 6


@dataclass(frozen=True, slots=True)
class KnobSpec:
    """A knob as configured; see :class:`mkdocs_sweepprof.schema.Knob`."""

    id: str
    setting: str | None
    label: str | None
    verb: str
    sections: tuple[str, ...]
    keep: float = 0
    note: str | None = None
    candidate: bool = False


def knob(
    spec: KnobSpec, sections: pd.DataFrame, wall: pd.Series, settings: Mapping[str, str], profile: Profile
) -> KnobStat:
    """The upper bound of one knob over the counted runs that have sections.

    bound = mean over runs of Σ over its topmost governed sections of share × max(0, 1 − keep / count); pooled: the
    same seconds over all wall. A governed section below another governed one is not added.
    """
    rows = sections[sections["run"].isin(wall.index)]
    profiled = wall.loc[wall.index.isin(rows["run"].unique())]
    found = [s.path for s in profile.sections if matches(s.path, spec.sections)]
    mine = rows[rows["section"].isin(found)]
    top = _topmost(mine)
    part = (1 - spec.keep / top["count"]).clip(lower=0.0) if len(top) else pd.Series(dtype=float)
    # Of calls that overlap, only the time that they cover can be saved.
    covered = top["covered_seconds"].fillna(top["total_seconds"])
    seconds = covered.groupby(top["run"]).sum().reindex(profiled.index, fill_value=0.0)
    saved = (covered * part).groupby(top["run"]).sum().reindex(profiled.index, fill_value=0.0)
    bound = float((saved / profiled).mean())
    roles = [s.role for s in profile.sections if s.path in set(top["section"])]
    return KnobStat(
        id=spec.id,
        label=spec.label or spec.setting or spec.id,
        setting=spec.setting,
        verb=spec.verb,
        sections=found,
        topmost=[p for p in found if p in set(top["section"])],
        keep=spec.keep,
        share=float((seconds / profiled).mean()),
        bound=bound,
        pooled_bound=float(saved.sum() / profiled.sum()),
        saved=float(saved.sum()),
        leverage="high" if bound >= HIGH else "secondary" if bound >= SECONDARY else "negligible",
        overlaps=[],
        candidate=spec.candidate,
        counts=sorted({int(c) for c in top["count"]}),
        setting_value=settings.get(spec.setting) if spec.setting else None,
        role=roles[0] if roles and len(set(roles)) == 1 else "other",
        note=spec.note,
    )


def _topmost(rows: pd.DataFrame) -> pd.DataFrame:
    """Governed rows none of whose ancestors (in that run) is governed as well."""
    keep = []
    governed = rows.groupby("run")["section"].agg(set).to_dict() if len(rows) else {}
    for run, path in zip(rows["run"], rows["section"], strict=True):
        mine, up, covered = governed[run], path, False
        while "/" in up:
            up = up.rpartition("/")[0]
            if up in mine:
                covered = True
                break
        keep.append(not covered)
    return rows[pd.Series(keep, index=rows.index, dtype=bool)]


def mark_overlaps(knobs: Sequence[KnobStat]) -> None:
    """Knobs that govern some of the same time (one's section is, or lies below, another's) must not be added."""
    for one in knobs:
        one.overlaps = [
            other.id
            for other in knobs
            if other is not one and any(_touch(a, b) for a in one.topmost for b in other.topmost)
        ]


def _touch(a: str, b: str) -> bool:
    return a == b or a.startswith(b + "/") or b.startswith(a + "/")


def candidates(profile: Profile) -> list[KnobSpec]:
    """The largest sections as knobs when none is configured, evaluation first.

    Training itself is no candidate (it is what the run is for), nor is a section that only wraps one of its children.
    """
    shares = {s.path: s for s in profile.sections if s.summed}
    chosen: list[tuple[bool, float, str]] = []
    for stat in shares.values():
        holds_training = stat.role == "training" or any(
            c.role == "training" for c in shares.values() if c.path.startswith(stat.path + "/")
        )
        if holds_training or stat.share < SECONDARY:
            continue
        chosen.append((stat.role != "evaluation", -stat.share, stat.path))
    specs = []
    for _, _, path in sorted(chosen)[:MAX_CANDIDATES]:
        specs.append(KnobSpec(_slug(path), None, path, "make cheaper or rarer", (path,), 0, None, True))
    return specs


def _slug(path: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", ".", path).strip(".-") or "section"


def dominant_role(profile: Profile) -> tuple[Role | None, float]:
    """The role with the largest share, and that share; (None, unattributed) when unattributed time is larger."""
    top = max(((r, s) for r, s in profile.roles.items() if r != "other"), key=lambda x: x[1], default=None)
    if top is None or profile.unattributed > top[1]:
        return None, profile.unattributed
    return top
