"""One collection beside another: what changed, what that can explain, and why the two are not alike."""

from __future__ import annotations

from mkdocs_sweepprof.analysis.results import Analysis, Caveat, Comparable, ComparisonStat, SettingChange
from mkdocs_sweepprof.levels import NOT_SET, matches


def compare(this: Analysis, other: Comparable) -> ComparisonStat | None:
    """delta = this − other; ratio = other / this; saved share = 1 − this / other. None when either has no mean.

    A changed setting that is a knob of the other note can explain the saving only within that knob's pooled bound.
    """
    mean = this.runtime.mean
    if mean is None or other.mean is None:
        return None
    saved = 1 - mean / other.mean
    by_setting = {setting: (id_, label, bound) for id_, label, setting, bound in other.knobs if setting}
    changes = []
    mine = this.comparable()
    for name in sorted(set(this.settings) | set(other.settings)):
        varies = name in other.factors or any(f.name == name for f in this.factors)
        before, now = other.settings.get(name, NOT_SET), this.settings.get(name, NOT_SET)
        if varies or before == now or _apart(name, mine) or _apart(name, other):
            continue
        knob = by_setting.get(name)
        changes.append(
            SettingChange(
                name=name,
                other=before,
                this=now,
                knob=knob[0] if knob else None,
                knob_label=knob[1] if knob else None,
                pooled_bound=knob[2] if knob else None,
                verdict="not a knob" if knob is None else "can explain" if saved <= knob[2] else "cannot explain alone",
            )
        )
    changes.sort(key=lambda c: (c.knob is None, -(c.pooled_bound or 0.0), c.name))
    return ComparisonStat(
        other=other.name,
        other_title=other.title,
        this_mean=mean,
        other_mean=other.mean,
        delta=mean - other.mean,
        ratio=other.mean / mean,
        saved_share=saved,
        changes=changes,
        caveats=_caveats(this, other),
    )


def _apart(name: str, side: Comparable) -> bool:
    """Whether a side has left the field aside: that it is in no list of its says nothing about its value."""
    return name in side.hidden or matches(name, side.excluded)


def _caveats(this: Analysis, other: Comparable) -> list[Caveat]:
    out = []
    mine, theirs = sorted(this.wall_sources), sorted(other.wall_sources)
    if mine != theirs:
        out.append(Caveat("wall_source", ",".join(mine), ",".join(theirs)))
    if this.runtime.count != other.count:
        out.append(Caveat("count", str(this.runtime.count), str(other.count)))
    mine_factors = {f.name: f.levels for f in this.factors}
    for name, levels in mine_factors.items():
        if name in other.factors and levels != other.factors[name]:
            extra = [x for x in levels if x not in other.factors[name]]
            gone = [x for x in other.factors[name] if x not in levels]
            out.append(Caveat("levels", f"{name}: {', '.join(extra)}", f"{name}: {', '.join(gone)}"))
    only_mine = [n for n in mine_factors if n not in other.factors and not _apart(n, other)]
    only_theirs = [n for n in other.factors if n not in mine_factors and not _apart(n, this.comparable())]
    if only_mine or only_theirs:
        out.append(Caveat("factors", ", ".join(only_mine), ", ".join(only_theirs)))
    double = bool(this.profile and this.profile.double_count)
    if double != other.double_count:
        out.append(Caveat("double_count", str(double).lower(), str(other.double_count).lower()))
    return out
