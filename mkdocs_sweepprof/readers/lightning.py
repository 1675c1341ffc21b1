"""PyTorch Lightning: ``hparams.yaml``, ``metrics.csv`` and the reports of its profilers.

A SimpleProfiler report lists actions without their nesting, and its rows overlap: ``run_training_epoch`` holds the
training batches *and* the validation. The nesting is that of Lightning's own loops, so it is put back from the action
names here; a section that the user profiled is placed where count and time leave only one place, and is shown outside
of sums (``overlapping``) where they do not. Times are seconds.

``Total`` in a report is the time since the profiler was built (imports lie before it): the wall of the run. One
profiler that served ``fit``, ``validate`` and ``test`` goes on counting, so the later reports hold the earlier ones:
the last total counts, and each stage's sections are the difference to the stage before. Reports of separate trainers
are added.

The AdvancedProfiler (cProfile) switches an outer action off while an inner one runs, so only its innermost actions are
true, and it states no total.

``metrics.csv`` has no clock. Event files in the same folder are the TensorBoard reader's.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mkdocs_sweepprof.levels import natural
from mkdocs_sweepprof.readers.base import Problem, Reading, Run, Section, Source
from mkdocs_sweepprof.readers.text import read_mapping, read_text
from mkdocs_sweepprof.readers.tree import Tree
from mkdocs_sweepprof.readers.values import finite, flatten

MAX_ROWS = 5_000
"""Actions read of one report."""

_REPORT_NAME = re.compile(r"^(?:(fit|validate|test|predict|tune|lr_find)-)?(.*?)(?:-(\d+))?\.txt(?:\.gz)?$")
_REPORT_HEAD = re.compile(r"^\s*(?:([A-Z_ ]+?)\s+)?Profiler Report\s*$", re.MULTILINE)
_EVENT_FILE = re.compile(r"^events\.out\.tfevents\.\d+\.(.+\.\d+)\.\d+(?:\.v2)?$")
_VERSION = re.compile(r"^version_\d+$")
_DEFAULT_TAGS = frozenset({"", "perf_logs", "profile", "profiler", "profiler_report", "simple_profiler"})
_ONCE_A_STAGE = (".setup", ".teardown", ".configure_callbacks")
_STAGES = ("fit", "validate", "test", "predict")


class LightningReader:
    """Log folders of ``lightning`` and ``pytorch_lightning``."""

    name = "lightning"
    title = "PyTorch Lightning"
    version = 1

    def find(self, tree: Tree) -> Sequence[Source]:
        """One source a log folder; reports in a folder of their own, told apart by name, are one source a name."""
        reports: dict[str, list[str]] = defaultdict(list)
        for path in (*tree.match("*.txt"), *tree.match("*.txt.gz")):
            folder, _, name = path.rpartition("/")
            found = _REPORT_NAME.match(name)
            likely = found and (found.group(1) or re.search(r"prof|perf", name, re.IGNORECASE))
            if likely and _REPORT_HEAD.match(_head(tree, path)):
                reports[folder].append(path)
        folders: dict[str, set[str]] = defaultdict(set)
        for path in tree.named("hparams.yaml"):
            folder = path.rpartition("/")[0]
            if _is_log_folder(tree, folder, bool(reports.get(folder))):
                folders[folder].add(path)
        for path in tree.named("metrics.csv"):
            folder = path.rpartition("/")[0]
            logged = folder in folders or _VERSION.match(folder.rpartition("/")[2]) or reports.get(folder)
            if (logged or reports) and _csv_logger(tree, path) and not _is_other(tree, folder):
                folders[folder].add(path)

        sources: list[Source] = []
        for folder, paths in sorted(reports.items(), key=lambda item: natural(item[0])):
            tags = {_tag(p) for p in paths}
            if folder in folders or (len(tags) == 1 and (tags <= _DEFAULT_TAGS or folder.rpartition("/")[2] in tags)):
                folders[folder].update(paths)
                continue
            if _around(folder, folders) is not None and len(tags) == 1:
                folders[_around(folder, folders) or ""].update(paths)
                continue
            for tag in sorted(tags, key=natural):
                own = tuple(sorted(p for p in paths if _tag(p) == tag))
                sources.append(Source(self.name, f"{folder}/{tag}".strip("/"), own))
        for folder, members in folders.items():
            processes = _event_files(tree, folder) if len(_processes(tree, folder)) > 1 else []
            sources.append(Source(self.name, folder or ".", tuple(sorted([*members, *processes])), folder))
        return sorted(sources, key=lambda s: natural(s.key))

    def read(self, tree: Tree, source: Source) -> Reading:
        """Read one log folder, or the reports of one name."""
        reading = Reading()
        run = Run(id=source.key, layout=self.name, directory=source.directory, files=source.files)
        notes: list[str] = []
        used = False
        reports: list[_Report] = []
        for path in source.files:
            name = path.rpartition("/")[2]
            if name == "hparams.yaml":
                used |= _read_hparams(tree, path, run, reading.problems)
            elif name == "metrics.csv":
                used |= _read_metrics(tree, path, notes, reading.problems)
            elif name.endswith((".txt", ".txt.gz")):
                report = _read_report(tree, path, reading.problems)
                if report is not None:
                    reports.append(report)
        if source.directory is None:
            run.aliases = (source.key.rpartition("/")[2],)
        reports = _one_rank(reports, notes)
        if reports:
            used = True
            _use(run, reports, notes)
        sessions = len({_EVENT_FILE.findall(f.rpartition("/")[2])[0] for f in source.files if _event_name(f)})
        if sessions > 1 and reports:
            # Each session starts its own profiler and overwrites the report.
            run.profile_wall = None
            notes = [n for n in notes if not n.startswith("The wall is")]
            notes.append(f"The profile covers the last of {sessions} sessions only.")
        if not used and reading.problems:
            run.unreadable = True
        if used and not reports and source.directory is not None:
            notes.append("Lightning wrote no profiler report: none was asked for, or the run did not end normally.")
        run.notes = tuple(notes)
        reading.problems = [replace(p, run=run.id) for p in reading.problems]
        reading.runs.append(run)
        return reading


# --- recognising -----------------------------------------------------------------------------------------------------


def _head(tree: Tree, path: str) -> str:
    raw = tree.head(path, 200)
    text = raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", errors="replace")
    return text.lstrip().replace("\r", "").split("\n")[0]


def _is_log_folder(tree: Tree, folder: str, reports: bool) -> bool:
    """Whether ``hparams.yaml`` here is a Lightning logger's: event files, metrics, a report or its folder names."""
    names = tree.names(folder)
    last = folder.rpartition("/")[2]
    return (
        reports
        or "metrics.csv" in names
        or any(n.startswith("events.out.tfevents") for n in names)
        or bool(_VERSION.match(last))
        or "lightning_logs" in folder.split("/")
        or any(p.endswith(".ckpt") for p in tree.below(f"{folder}/checkpoints" if folder else "checkpoints"))
    )


def _is_other(tree: Tree, folder: str) -> bool:
    """Whether another layout keeps a ``metrics.csv`` of its own here."""
    names = set(tree.names(folder))
    return bool(names & {"events.jsonl", "profile.json", "params.json", "meta.yaml", "trainer_state.json"})


def _csv_logger(tree: Tree, path: str) -> bool:
    """Whether the first line is that of Lightning's CSVLogger; an empty file passes by its name."""
    head = tree.head(path, 8192).decode("utf-8-sig", errors="replace")
    columns = [c.strip() for c in head.replace("\r", "").split("\n")[0].split(",")]
    return not head or {"epoch", "step"} <= set(columns)


def _around(folder: str, folders: Iterable[str]) -> str | None:
    """The log folder around ``folder``."""
    known = set(folders)
    while folder:
        folder = folder.rpartition("/")[0]
        if folder in known:
            return folder
    return None


def _tag(path: str) -> str:
    """The user's name of a report: ``fit-perf_logs.txt`` → ``perf_logs``."""
    found = _REPORT_NAME.match(path.rpartition("/")[2])
    if not found:
        return ""
    tag, rank = found.group(2) or "", found.group(3)
    # "-0" after a default name is a process rank; "run-3" is a name.
    return tag if rank is None or tag in _DEFAULT_TAGS else f"{tag}-{rank}"


def _event_name(path: str) -> bool:
    return bool(_EVENT_FILE.match(path.rpartition("/")[2]))


def _event_files(tree: Tree, folder: str) -> list[str]:
    return [f"{folder}/{n}" if folder else n for n in tree.names(folder) if _EVENT_FILE.match(n)]


def _processes(tree: Tree, folder: str) -> set[str]:
    """The processes (host and id) that wrote event files here; more than one: the run was started again."""
    return {m.group(1) for n in tree.names(folder) if (m := _EVENT_FILE.match(n))}


# --- small files -----------------------------------------------------------------------------------------------------


def _read_hparams(tree: Tree, path: str, run: Run, problems: list[Problem]) -> bool:
    config = read_mapping(tree, path, problems)
    if config is None:
        return False
    run.config = flatten(config)
    return True


def _read_metrics(tree: Tree, path: str, notes: list[str], problems: list[Problem]) -> bool:
    """``metrics.csv`` has no clock; it only tells whether a session was appended."""
    text = read_text(tree, path, problems)
    if text is None:
        return False
    lines = text.split("\n")
    if not lines[0].strip():
        return False
    header = next(csv.reader([lines[0].lstrip("\ufeff")]), [])
    if "step" not in header:
        return True
    column, last, again = header.index("step"), None, 0
    for line in lines[1:]:
        if line == lines[0]:
            again, last = again + 1, None
            continue
        cells = line.split(",")
        step = finite(cells[column]) if column < len(cells) else None
        if step is None:
            continue
        if last is not None and step < last - 1:
            again += 1
        last = step
    if again:
        notes.append(f"metrics.csv starts over {again} {'time' if again == 1 else 'times'}: the run was started again.")
    return True


# --- reports ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Row:
    """One action: calls and total seconds. ``outer``: the AdvancedProfiler switched it off half way."""

    action: str
    count: int
    seconds: float
    outer: bool = False


@dataclass(slots=True)
class _Report:
    """One profiler report. ``total`` is None where the profiler states none."""

    path: str
    stage: str
    rows: list[_Row]
    total: float | None
    advanced: bool = False
    counted: bool = True
    rank: int | None = None


def _read_report(tree: Tree, path: str, problems: list[Problem]) -> _Report | None:
    text = read_text(tree, path, problems)
    if text is None:
        return None
    found = _REPORT_NAME.match(path.rpartition("/")[2])
    head = _REPORT_HEAD.search(text[:400])
    stage = (head.group(1) or "").strip().lower() if head else ""
    stage = stage or (found.group(1) if found else None) or "fit"
    rank = int(found.group(3)) if found and found.group(3) and found.group(2) in _DEFAULT_TAGS else None
    if "Profile stats for:" in text:
        if "Self CPU" in text or "CUDA total" in text:
            message = "A report of Lightning's PyTorchProfiler has no times of Lightning's own actions."
            problems.append(
                Problem(path, message, "Add its trace, or use the SimpleProfiler.", kind="value", severity="info")
            )
            return None
        rows = _advanced_rows(text)
        if rows:
            return _Report(path, stage, rows, None, advanced=True, rank=rank)
        _no_rows(path, problems)
        return None
    return _simple_report(path, stage, rank, text, problems)


def _no_rows(path: str, problems: list[Problem]) -> None:
    message = "The profiler report holds no row that can be read."
    problems.append(Problem(path, message, "Copy it anew, or remove it."))


def _simple_report(path: str, stage: str, rank: int | None, text: str, problems: list[Problem]) -> _Report | None:
    columns: list[str] = []
    rows: list[_Row] = []
    total: float | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.lstrip().startswith("|"):
            continue
        cells = [c.strip() for c in _cells(line)]
        if not columns:
            if cells and cells[0] == "Action":
                columns = cells
            continue
        if cells == columns:  # a second report below the first: the later one counts
            rows, total = [], None
            continue
        seconds = finite(cells[_column(columns, "Total time")]) if len(cells) == len(columns) else None
        if seconds is None or seconds < 0:
            message = "This row of the profiler report has no total time" + (
                " (the line is cut)." if len(cells) < len(columns) else "."
            )
            problems.append(
                Problem(path, message, "Remove the row, or copy the report anew.", line=number, kind="value")
            )
            continue
        action = cells[0]
        if action == "Total" and "Num calls" in "".join(columns):
            total = seconds
            continue
        calls = _calls(columns, cells, seconds)
        if calls is None:
            message = f"The action {action!r} has no number of calls."
            problems.append(
                Problem(path, message, "Remove the row, or copy the report anew.", line=number, kind="value")
            )
            continue
        if len(rows) < MAX_ROWS:
            rows.append(_Row(action, calls, seconds))
    if not rows and total is None:
        _no_rows(path, problems)
        return None
    return _Report(path, stage, rows, total, counted=any(c.startswith("Num calls") for c in columns), rank=rank)


def _cells(line: str) -> list[str]:
    """The cells of a row. An action's name may itself hold a bar, the numbers do not."""
    inner = line.strip()
    inner = inner[1:-1] if inner.endswith("|") and len(inner) > 1 else inner[1:]
    # Columns are parted by a tab and a bar.
    return inner.split("\t|") if "\t|" in inner else inner.split("|")


def _column(columns: Sequence[str], start: str) -> int:
    return next((i for i, c in enumerate(columns) if c.startswith(start)), len(columns) - 1)


def _calls(columns: Sequence[str], cells: Sequence[str], seconds: float) -> int | None:
    """The number of calls; without that column (``extended=False``) total / mean."""
    at = next((i for i, c in enumerate(columns) if c.startswith("Num calls")), None)
    if at is not None:
        calls = finite(cells[at])
        return int(calls) if calls is not None and calls >= 0 else None
    mean = finite(cells[_column(columns, "Mean duration")])
    if mean is None or mean < 0:
        return None
    return max(1, round(seconds / mean)) if mean > 0 else 1


_STATS = re.compile(r"^Profile stats for: (.*)$", re.MULTILINE)
_IN_SECONDS = re.compile(r"function calls.* in ([\d.]+) seconds")
_STOPS = re.compile(
    r"^\s*(\d+)(?:/\d+)?\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+\S*advanced\.py:\d+\(stop\)", re.MULTILINE
)


def _advanced_rows(text: str) -> list[_Row]:
    """Actions of an AdvancedProfiler report: time under cProfile, and calls by how often it was switched off."""
    rows = []
    starts = list(_STATS.finditer(text))
    for i, start in enumerate(starts[:MAX_ROWS]):
        part = text[start.end() : starts[i + 1].start() if i + 1 < len(starts) else len(text)]
        seconds = _IN_SECONDS.search(part)
        if seconds is None:
            continue
        stops = _STOPS.search(part)
        # An action that was still on when it ended has seen its own stop.
        count = int(stops.group(1)) if stops else 0
        rows.append(_Row(start.group(1).strip(), count, float(seconds.group(1)), outer=stops is None))
    if all(r.outer for r in rows):
        return []
    batches = {r.action.rpartition(".")[2]: r.count for r in rows if r.action.endswith("_batch_start")}
    for row in rows:
        if row.outer:
            stem = {"training_step": "train"}.get(row.action.rpartition(".")[2], row.action.rpartition(".")[2][:-5])
            row.count = batches.get(f"on_{stem}_batch_start", 0)
    return rows


def _one_rank(reports: list[_Report], notes: list[str]) -> list[_Report]:
    """Processes that trained side by side each write a report: one of them counts."""
    ranks = {r.rank for r in reports if r.rank is not None}
    if len(ranks) < 2:
        return reports
    kept = min(ranks)
    notes.append(f"{len(ranks)} processes wrote a profile each; that of process {kept} was used.")
    return [r for r in reports if r.rank in (None, kept)]


def _use(run: Run, reports: list[_Report], notes: list[str]) -> None:
    """Put the reports' sections and totals into the run."""
    reports = sorted(reports, key=lambda r: (_STAGES.index(r.stage) if r.stage in _STAGES else 9, r.stage, r.path))
    wall = 0.0
    complete = True
    sections: dict[str, Section] = {}
    for stage, rows, seconds, advanced in _stages(reports):
        if seconds is None:
            complete = False
        else:
            wall += seconds
        for section in _nest(stage, rows, advanced):
            sections.setdefault(section.path, section)
    run.sections = sorted(sections.values(), key=lambda s: natural(s.path))
    if complete:
        run.profile_wall = wall
        notes.append("The wall is the profiler's own total; the imports before the profiler was built are not in it.")
    run.status = "completed"  # a report is written only when its stage ends normally
    if any(r.advanced for r in reports):
        notes.append(
            "Lightning's AdvancedProfiler switches outer actions off while inner ones run: only innermost actions were "
            "used, those that took a millisecond or more, and profiling itself slows them."
        )
    if not all(r.counted for r in reports):
        notes.append("The profiler's report has no number of calls (extended=False): counts are total / mean.")
    if any(row.action.endswith(".on_sanity_check_start") for r in reports for row in r.rows):
        notes.append("Validation rows include the sanity check before the first epoch.")


def _stages(reports: list[_Report]) -> list[tuple[str, list[_Row], float | None, bool]]:
    """(stage, its rows, its seconds, advanced) of each report, less what the same profiler had counted before."""
    out: list[tuple[str, list[_Row], float | None, bool]] = []
    chains: list[_Report] = []  # the last report of each profiler
    for report in sorted(reports, key=_size):
        before = next((r for r in reversed(chains) if _continues(report, r)), None)
        if before is None:
            chains.append(report)
            out.append((report.stage, report.rows, report.total, report.advanced))
            continue
        chains[chains.index(before)] = report
        counted = {r.action: r for r in before.rows}
        rows = []
        for row in report.rows:
            old = counted.get(row.action)
            count = row.count - (old.count if old else 0)
            seconds = row.seconds - (old.seconds if old else 0.0)
            if count > 0:
                rows.append(_Row(row.action, count, max(0.0, seconds)))
        total = None if report.total is None or before.total is None else max(0.0, report.total - before.total)
        out.append((report.stage, rows, total, report.advanced))
    return out


def _size(report: _Report) -> tuple[int, float, int, str]:
    """An order in which a later report of the same profiler comes later."""
    calls = sum(r.count for r in report.rows)
    return calls, report.total or 0.0, _STAGES.index(report.stage) if report.stage in _STAGES else 9, report.path


def _continues(later: _Report, earlier: _Report) -> bool:
    """Whether one profiler wrote both: every action of the earlier report is in the later, not smaller."""
    if later.advanced != earlier.advanced or later.stage == earlier.stage or not earlier.rows:
        return False
    if (later.total is None) != (earlier.total is None) or (later.total or 0.0) < (earlier.total or 0.0):
        return False
    now = {r.action: r for r in later.rows}
    once: list[bool] = []
    untouched = 0
    for row in earlier.rows:
        found = now.get(row.action)
        # Five significant digits are printed.
        if found is None or found.count < row.count or found.seconds < row.seconds * (1 - 1e-4) - 1e-4:
            return False
        if row.action.endswith(_ONCE_A_STAGE):
            once.append(found.count > row.count)
        untouched += found.count == row.count and abs(found.seconds - row.seconds) <= 1e-4 * row.seconds
    # What is called once a stage was called again; where no such row is, the other stage's rows are untouched.
    return all(once) if once else untouched > 0


# --- nesting ---------------------------------------------------------------------------------------------------------

_ACTION = re.compile(r"^\[([^\]]+)\](.*)\.([A-Za-z_]\w*)$")
_LOOP_ACTION = re.compile(r"^\[([^\]]+)\]\.?([A-Za-z_]\w*)$")

# Where Lightning's loops call an action; "" is the stage itself. The parts are relative to it.
_EPOCH, _BATCH, _OPTIMIZER = "epoch", "epoch/train_batch", "epoch/train_batch/optimizer_step"
_BACKWARD, _TRANSFER = f"{_OPTIMIZER}/backward", "batch_to_device"
_FIT = {
    "run_training_epoch": _EPOCH,
    "run_training_batch": _BATCH,
    "train_dataloader_next": f"{_EPOCH}/train_dataloader_next",
    "get_train_batch": f"{_EPOCH}/train_dataloader_next",
    "fetch_next_train_batch": f"{_EPOCH}/train_dataloader_next",
    "optimizer_step": _OPTIMIZER,
    "training_step_and_backward": f"{_OPTIMIZER}/training_step_and_backward",
    "training_step": f"{_OPTIMIZER}/training_step",
    "optimizer_zero_grad": f"{_OPTIMIZER}/optimizer_zero_grad",
    "on_before_zero_grad": f"{_OPTIMIZER}/",
    "backward": _BACKWARD,
    "on_before_backward": f"{_BACKWARD}/",
    "on_after_backward": f"{_BACKWARD}/",
    "on_before_optimizer_step": f"{_OPTIMIZER}/",
    "configure_gradient_clipping": f"{_OPTIMIZER}/configure_gradient_clipping",
    "lr_scheduler_step": f"{_EPOCH}/lr_scheduler_step",
    "on_train_batch_start": f"{_EPOCH}/",
    "on_train_batch_end": f"{_EPOCH}/",
}
_HOOK_STEMS = {"validate": "validation", "validation": "validation", "test": "test", "predict": "predict"}
# Actions inside others in ways that the report does not tell: shown, never added.
_INSIDE_OTHERS = frozenset(
    {"save_checkpoint", "on_save_checkpoint", "on_load_checkpoint", "on_exception", "state_dict", "load_state_dict"}
)
_CALLED_BY_USER_CODE = ("training_step", "validation_step", "test_step", "predict_step")


@dataclass(slots=True)
class _Placed:
    """An action with its place. ``user`` marks code of the user's, in which own sections may lie."""

    row: _Row
    path: str
    user: bool = False
    overlapping: bool = False


def _nest(stage: str, rows: Sequence[_Row], advanced: bool) -> list[Section]:
    """The actions of one stage as nested sections. Rows that come to lie at one path (two callbacks of a class) are
    added: they run one after the other."""
    placed: list[_Placed] = []
    own: list[_Row] = []
    for row in rows:
        place = _place(stage, row)
        if place is None:
            own.append(row)
        else:
            placed.append(place)
    if advanced:
        # Outer times are not true, so only the calls can tell where an own section lies.
        sizes = [replace(row, seconds=0.0) for row in own]
        places = _place_own(stage, sizes, placed)
        seconds = {row.action: row.seconds for row in own}
        placed.extend(replace(p, row=replace(p.row, seconds=seconds[p.row.action])) for p in places)
    else:
        _settle_optimizer(stage, placed)
        placed.extend(_place_own(stage, own, placed))

    merged: dict[str, Section] = {}
    for p in placed:
        section = merged.get(p.path)
        if section is None:
            merged[p.path] = Section(p.path, p.row.count, p.row.seconds, p.overlapping)
        else:
            section.count += p.row.count
            section.total_seconds += p.row.seconds
            section.overlapping |= p.overlapping
    if advanced:
        untrue = {p.path for p in placed if p.row.outer}
        innermost = [s for s in merged.values() if not any(o.startswith(s.path + "/") for o in merged)]
        return [s for s in innermost if s.total_seconds > 0 and s.path not in untrue]
    return list(merged.values())


def _place(stage: str, row: _Row) -> _Placed | None:
    """Where Lightning calls an action; None for a section of the user's own."""
    action = row.action
    kind = owner = ""
    hook = action
    found = _ACTION.match(action) or None
    if found:
        kind, owner, hook = found.group(1), found.group(2), found.group(3)
    elif loop := _LOOP_ACTION.match(action):
        kind, hook = loop.group(1), loop.group(2)
    elif not _is_lightning(action):
        return None
    hook = re.sub(r"^optimizer_step(_with(out)?_closure)?(_\d+)?$", "optimizer_step", hook)
    name = _hook_name(kind, owner, hook)
    user = kind in ("LightningModule", "LightningDataModule", "Callback") or hook in _CALLED_BY_USER_CODE

    if hook in _INSIDE_OTHERS:
        return _Placed(row, f"{stage}/{name}", user, overlapping=True)
    if stage == "fit" and hook in _FIT:
        place = _FIT[hook]
        return _Placed(row, f"{stage}/{place}{name if place.endswith('/') else ''}", user)
    stem = _evaluation(hook, kind)
    if stem is not None:
        inside = f"{_EPOCH}/{stem}/" if stage == "fit" else ""
        return _Placed(row, f"{stage}/{inside}{name}", user)
    if hook == "batch_to_device" or hook.endswith("_batch_transfer") or hook == "transfer_batch_to_device":
        # Called for training and validation batches alike, always inside an epoch (or the sanity check).
        inside = f"{_EPOCH}/{_TRANSFER}" if stage == "fit" else _TRANSFER
        return _Placed(row, f"{stage}/{inside}" + ("" if hook == "batch_to_device" else f"/{name}"), user)
    if hook.startswith("on_sanity_check"):
        return _Placed(row, f"{stage}/sanity_check/{name}", user)
    if hook in _FIT:
        return _Placed(row, f"{stage}/{name}", user, overlapping=True)
    return _Placed(row, f"{stage}/{name}", user)


def _is_lightning(action: str) -> bool:
    """Actions that Lightning names without an owner."""
    return action in _FIT or action in _INSIDE_OTHERS or action.startswith("optimizer_step_with")


def _hook_name(kind: str, owner: str, hook: str) -> str:
    """``Spy.on_fit_start`` for a callback, ``on_fit_start`` for the module, ``Strategy.on_fit_start``. What a
    callback's name holds in braces (its settings) is left out."""
    owner = re.sub(r"[{(\[].*$", "", owner, flags=re.DOTALL).strip(". ").replace("/", "_")
    if kind == "Callback":
        return f"{owner}.{hook}" if owner else f"Callback.{hook}"
    if kind == "LightningModule" and hook in ("setup", "teardown", "prepare_data"):
        return f"LightningModule.{hook}"
    if kind == "Strategy" and (hook.startswith("on_") or hook in ("setup", "teardown")):
        return f"Strategy.{hook}"
    return hook


def _evaluation(hook: str, kind: str) -> str | None:
    """``validation``, ``test`` or ``predict`` for what their loops call."""
    if hook in ("val_next", "val_dataloader_next"):
        return "validation"
    found = re.match(r"^(?:on_)?(validation|test|predict)_(?:\w+)$", hook)
    if found and not hook.endswith("_dataloader"):
        return _HOOK_STEMS[found.group(1)]
    if re.match(r"^on_(validation|test|predict)_(start|end)$", hook):
        return hook.split("_")[1]
    if kind.endswith("EvaluationLoop") or kind == "_PredictionLoop":
        return {"test_next": "test", "predict_next": "predict"}.get(hook, "validation")
    return None


def _settle_optimizer(stage: str, placed: list[_Placed]) -> None:
    """``optimizer_step`` holds the closure (training step and backward) unless batches are accumulated or the user
    steps by hand; then the closure is larger than the step, and the step does not enter sums."""
    step = next((p for p in placed if p.path == f"{stage}/{_OPTIMIZER}"), None)
    prefix = f"{stage}/{_OPTIMIZER}/"
    inner = [p for p in placed if p.path.startswith(prefix) and "/" not in p.path[len(prefix) :]]
    training = [p for p in inner if p.path.endswith(("/training_step", "/backward", "/training_step_and_backward"))]
    if step is not None:
        fits = sum(p.row.seconds for p in training) <= step.row.seconds * 1.001 + 1e-4
        same = all(p.row.count == step.row.count for p in training)
        if fits and same:
            return
        step.overlapping = True
    batch = f"{stage}/{_BATCH}/"
    for p in placed:
        if p.path.startswith(prefix):
            p.path = batch + p.path[len(prefix) :]


def _place_own(stage: str, own: list[_Row], placed: list[_Placed]) -> list[_Placed]:
    """Sections that the user profiled, each in the only action that it fits into; else at the top, outside of sums."""
    out: list[_Placed] = []
    room = {p.path: p.row.seconds for p in placed}
    for row in sorted(own, key=lambda r: (-r.seconds, r.action)):
        name = re.sub(r"\s*/\s*", "/", row.action).strip("/ ") or "unnamed"
        parent = _parent(row, [p for p in placed if p.user and not p.overlapping])
        if parent is None:
            out.append(_Placed(row, f"{stage}/{name}", overlapping=True))
            continue
        fits = row.seconds <= room[parent.path] * 1.001 + 1e-4
        if fits:
            room[parent.path] -= row.seconds
        # Two own sections that do not fit side by side: one holds the other, and the report does not say which.
        out.append(_Placed(row, f"{parent.path}/{name}", overlapping=not fits))
    return out


def _parent(row: _Row, candidates: list[_Placed]) -> _Placed | None:
    """The one action of the user's code that can hold the section: as many calls (or a whole multiple in one of the
    steps), and at least its time."""
    fitting = [p for p in candidates if row.seconds <= p.row.seconds * 1.001 + 1e-4]
    equal = _innermost([p for p in fitting if p.row.count == row.count])
    steps = [p for p in equal if p.row.action.endswith(_CALLED_BY_USER_CODE)]
    for found in (equal, steps):
        if len(found) == 1:
            return found[0]
    if equal:
        return None
    multiple = [
        p
        for p in fitting
        if p.row.action.endswith(_CALLED_BY_USER_CODE) and p.row.count and row.count % p.row.count == 0
    ]
    return multiple[0] if len(multiple) == 1 else None


def _innermost(placed: list[_Placed]) -> list[_Placed]:
    return [p for p in placed if not any(o.path.startswith(p.path + "/") for o in placed)]
