"""Factors, their effect on wall time, and the group that a note compares by."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pandas as pd

from mkdocs_sweepprof.analysis.results import Cells, Effect, Factor, LevelStat, Repeats
from mkdocs_sweepprof.levels import number, ordered

MIN_GROUP_LEVELS = 2
MAX_GROUP_LEVELS = 20
SLOWEST_CELLS = 3

_SEED = re.compile(r"(^|[._-])((random|global|torch|numpy|np|model|data)_?)?seed$", re.IGNORECASE)
_ID = re.compile(r"(^|[._-])(id|uuid|guid|hash|sha|job_?id|run_?id|run_?name)$", re.IGNORECASE)
_PATH = re.compile(
    r"(^|[._-])(path|dir|directory|folder|file|filename|root|output_?dir|log_?dir|ckpt|checkpoint)$", re.IGNORECASE
)
_FILE = re.compile(r"^\S+/[^/]*\.[A-Za-z]\w{0,9}$")
"""A relative path that ends in a file name: ``outputs/best.ckpt``, but not ``org/model`` or ``org/model-1.5``."""
_TIME = re.compile(r"(^|[._-])(time|date|timestamp|datetime|started|created)(_?at)?$", re.IGNORECASE)


def kind(name: str, levels: Sequence[str], runs: int) -> str:
    """What a field's values are: ``seed``, ``id``, ``path``, ``time``, ``numeric`` or ``categorical``."""
    values = [x for x in levels if x not in ("None", "(not set)")]
    if _SEED.search(name):
        return "seed"
    if _ID.search(name):
        return "id"
    if _TIME.search(name) or (values and all(_is_time(x) for x in values)):
        return "time"
    if values and (_PATH.search(name) or all(_is_path(x) for x in values)):
        return "path"
    if values and all(number(x) is not None for x in values):
        return "numeric"
    if runs > 2 and len(levels) == runs:
        return "id"
    return "categorical"


def _is_path(text: str) -> bool:
    return text.startswith(("/", "~/", "./", "../")) or bool(re.match(r"^[A-Za-z]:\\", text) or _FILE.match(text))


def _is_time(text: str) -> bool:
    if not re.match(r"^\d{4}-\d\d-\d\d", text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def factors_and_settings(
    fields: pd.DataFrame, level_order: Mapping[str, Sequence[str]], chosen: Sequence[str] | None = None
) -> tuple[list[Factor], dict[str, str]]:
    """Fields that vary, and fields that are the same in all runs.

    ``fields``: runs × fields of level text. ``chosen`` limits the factors, in that order (a chosen field that does
    not vary stays a setting).
    """
    factors: list[Factor] = []
    settings: dict[str, str] = {}
    for name in fields.columns:
        levels = ordered(fields[name].unique(), level_order.get(str(name), ()))
        if len(levels) > 1:
            numeric = all(number(x) is not None for x in levels)
            what = kind(str(name), levels, len(fields))
            factors.append(Factor(str(name), levels, numeric, what, None, thin(len(levels), len(fields))))  # type: ignore[arg-type]
        elif levels:
            settings[str(name)] = levels[0]
    if chosen is not None:
        by_name = {f.name: f for f in factors}
        factors = [by_name[n] for n in chosen if n in by_name]
    _mark_determined(factors, fields)
    return factors, settings


def _mark_determined(factors: list[Factor], fields: pd.DataFrame) -> None:
    """Say which factor fixes which: a determinant has more levels, and at least two runs in most of them."""
    codes = {f.name: pd.factorize(fields[f.name])[0] for f in factors}
    useful = {}
    for f in factors:
        sizes = fields[f.name].value_counts()
        useful[f.name] = f.kind not in ("id", "time", "path") and (sizes >= 2).sum() * 2 > len(sizes)
    for i, inner in enumerate(factors):
        best: Factor | None = None
        for j, outer in enumerate(factors):
            if outer is inner or not useful[outer.name]:
                continue
            finer = len(outer.levels) > len(inner.levels) or (len(outer.levels) == len(inner.levels) and j < i)
            if not finer or (best is not None and len(outer.levels) >= len(best.levels)):
                continue
            pairs = set(zip(codes[outer.name].tolist(), codes[inner.name].tolist(), strict=True))
            if len(pairs) == len(outer.levels):
                best = outer
        inner.determined_by = best.name if best else None


def effect(wall: pd.Series, levels: pd.Series, field: str = "") -> Effect:
    """η² and ω² of one field alone on wall time (one-way analysis of variance).

    η² = SSB / SST; ω² = (SSB − df_B·MSW) / (SST + MSW), not clipped (Olejnik & Algina 2003, Psychological Methods
    8(4)). Not defined with one level, with only single-run levels, or when all walls are equal.

    Args:
        wall: seconds, one a run, shape (n,).
        levels: level text, same index.
        field: the field's name, kept in the result.
    """
    groups = wall.groupby(levels.to_numpy())
    sizes = groups.size()
    k, n = len(sizes), len(wall)
    if k < 2:
        return Effect(field, k, None, None, "one level")
    if n == k:
        return Effect(field, k, None, None, "only single-run levels")
    mean = wall.mean()
    total = float(((wall - mean) ** 2).sum())
    if total <= 0:
        return Effect(field, k, None, None, "all walls equal")
    between = float((sizes * (groups.mean() - mean) ** 2).sum())
    df_between = k - 1
    within = max(0.0, total - between) / (n - k)
    return Effect(field, k, between / total, (between - df_between * within) / (total + within))


def effects(wall: pd.Series, fields: pd.DataFrame, factors: Sequence[Factor]) -> list[Effect]:
    """Each factor's effect, strongest first; undefined ones last, in their own order.

    A field with fewer than two runs a level on average accounts for most of the variation whatever it is (a seed that
    differs in nearly every run): such fields come after those that repeat.
    """
    found = []
    for factor in factors:
        one = effect(wall, fields[factor.name], factor.name)
        one.determined_by = factor.determined_by
        found.append(one)
    return sorted(found, key=lambda e: (e.eta_squared is None, thin(e.levels, len(wall)), -(e.eta_squared or 0.0)))


def thin(levels: int, runs: int) -> bool:
    """Whether a field's levels have fewer than two runs on average."""
    return 2 * levels > runs


def can_group(name: str | None, factors: Sequence[Factor], fields: pd.DataFrame) -> bool:
    """Whether a field is a factor whose levels can be compared: 2 to 20, most with two runs or more."""
    factor = next((f for f in factors if f.name == name), None)
    if factor is None or not MIN_GROUP_LEVELS <= len(factor.levels) <= MAX_GROUP_LEVELS:
        return False
    sizes = fields[factor.name].value_counts()
    return bool((sizes >= 2).sum() * 2 > len(sizes))


def put_first(group: str, factors: Sequence[Factor], found: Sequence[Effect], fields: pd.DataFrame) -> None:
    """Show nothing above the group: what it is compared by is no detail of another field.

    A finer field that determines it stands beside it, and a field that sorts the runs alike stands under it.
    """
    for factor in factors:
        if factor.name == group:
            factor.determined_by = None
        elif determines(fields, group, factor.name) and determines(fields, factor.name, group):
            factor.determined_by = group
    above = {f.name: f.determined_by for f in factors}
    for one in found:
        one.determined_by = above[one.field]


def determines(fields: pd.DataFrame, outer: str, inner: str) -> bool:
    """Whether each level of ``outer`` has one level of ``inner`` only."""
    pairs = set(zip(fields[outer].tolist(), fields[inner].tolist(), strict=True))
    return len(pairs) == len({a for a, _ in pairs})


def infer_group(factors: Sequence[Factor], found: Sequence[Effect], fields: pd.DataFrame) -> str | None:
    """The categorical factor with the highest ω²: 2 to 20 levels, two runs or more in most, no id, path, time, seed.

    A numeric factor is taken only when no other qualifies.
    """
    omega = {e.field: e.omega_squared for e in found}
    for wanted in ("categorical", "numeric"):
        best: tuple[float, str] | None = None
        for factor in factors:
            value = omega.get(factor.name)
            if factor.kind != wanted or not can_group(factor.name, factors, fields):
                continue
            if value is not None and (best is None or value > best[0]):
                best = (value, factor.name)
        if best:
            return best[1]
    return None


def level_stats(wall: pd.Series, levels: pd.Series, order: Sequence[str]) -> list[LevelStat]:
    """Wall time at each level, in ``order``."""
    at: dict[str, list[float]] = {}
    for name, seconds in zip(levels.tolist(), wall.tolist(), strict=True):
        at.setdefault(name, []).append(seconds)
    out = []
    for name in order:
        if name in at:
            walls = sorted(at[name])
            total = math.fsum(walls)
            out.append(
                LevelStat(
                    name, len(walls), total / len(walls), statistics.median(walls), walls[0], walls[-1], total, walls
                )
            )
    return out


def cells(wall: pd.Series, fields: pd.DataFrame, group: Factor, other: Factor) -> Cells:
    """Mean wall by group level × level of another factor."""
    frame = pd.DataFrame({"r": fields[group.name], "c": fields[other.name], "w": wall})
    grouped = frame.groupby(["r", "c"], sort=False)["w"]
    means: dict[Any, float] = grouped.mean().to_dict()
    sizes: dict[Any, int] = grouped.size().to_dict()
    mean = [[_opt(means.get((r, c))) for c in other.levels] for r in group.levels]
    n = [[int(sizes.get((r, c), 0)) for c in other.levels] for r in group.levels]
    slowest = sorted(((str(r), str(c), float(w)) for (r, c), w in means.items()), key=lambda x: (-x[2], x[0], x[1]))
    return Cells(group.name, other.name, group.levels, other.levels, mean, n, slowest[:SLOWEST_CELLS])


def cross_factor(factors: Sequence[Factor], found: Sequence[Effect], group: str, fields: pd.DataFrame) -> Factor | None:
    """The factor for the heatmap's columns: the strongest one that no other determines and that has few levels.

    Not one that the group determines, nor one that determines the group: one of the two axes would say it all.
    """
    by_name = {f.name: f for f in factors}
    for one in found:
        factor = by_name[one.field]
        if (
            factor.name != group
            and factor.determined_by is None
            and factor.kind in ("categorical", "numeric")
            and len(factor.levels) <= MAX_GROUP_LEVELS
            and not determines(fields, group, factor.name)
            and not determines(fields, factor.name, group)
        ):
            return factor
    seeds = [
        f
        for f in factors
        if f.kind == "seed"
        and f.name != group
        and len(f.levels) <= MAX_GROUP_LEVELS
        and not f.thin
        and not determines(fields, f.name, group)
    ]
    return seeds[0] if seeds else None


def repeats(fields: pd.DataFrame, factors: Sequence[Factor]) -> Repeats:
    """How many runs share a configuration, seeds and ids aside."""
    making = [f.name for f in factors if f.kind in ("categorical", "numeric") and f.determined_by is None]
    seeded = any(f.kind == "seed" for f in factors)
    if fields.empty and not len(fields):
        return Repeats(0, 0, 0, making, seeded)
    if not making:
        return Repeats(1, len(fields), len(fields), making, seeded)
    sizes = fields.groupby(making, sort=False).size()
    return Repeats(len(sizes), int(sizes.min()), int(sizes.max()), making, seeded)


def _opt(value: float | None) -> float | None:
    return None if value is None or value != value else float(value)
