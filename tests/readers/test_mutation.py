"""Random damage (seeded) to small inputs of the plain-text readers: whatever is in a file, nothing raises."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from mkdocs_sweepprof.readers.base import Reader
from mkdocs_sweepprof.readers.flat import TablesReader
from mkdocs_sweepprof.readers.mlperf import MLPerfReader
from mkdocs_sweepprof.readers.native import NativeReader
from mkdocs_sweepprof.readers.sacct import SacctReader
from mkdocs_sweepprof.readers.tree import Tree

EVENTS = "".join(
    f'{{"time": {t}, "event": "{e}"{more}}}\n'
    for t, e, more in [
        (1767225600, "run_start", ""),
        (1767225601, "section_start", ', "section": "epoch"'),
        (1767225700, "section_end", ', "section": "epoch"'),
        (1767225701, "checkpoint", ', "name": "epoch_end", "step": 3, "epoch": 0'),
        (1767225800, "run_end", ', "status": "completed"'),
    ]
)
MLPERF = "".join(
    f':::MLLOG {{"time_ms": {t}000, "key": "{k}", "value": {v}, "metadata": {{"status": "success"}}}}\n'
    for t, k, v in [
        (1767225500, "init_start", "null"),
        (1767225600, "init_stop", "null"),
        (1767225600, "run_start", "null"),
        (1767225601, "block_start", "null"),
        (1767225602, "seed", "3"),
        (1767225700, "block_stop", "null"),
        (1767225800, "run_stop", "null"),
    ]
)
INPUTS: dict[str, tuple[Reader, dict[str, str]]] = {
    "native": (
        NativeReader(),
        {
            "runs/a/config.yaml": "lr: 0.1\nmodel:\n  depth: [1, 2]\n  kind: !x y\n",
            "runs/a/profile.json": '{"wall_seconds": 9, "sections": [{"section": "a/b", "count": 2, '
            '"total_seconds": 3.5}]}',
            "runs/a/events.jsonl": EVENTS,
        },
    ),
    "tables": (
        TablesReader(),
        {
            "runs.csv": 'run,status,wall_seconds,lr\na,completed,5,0.1\nb,failed,6,"x"\n',
            "sections.csv": "run,section,count,total_seconds\na,x,1,2.5\nb,x,1,2\n",
            "events.jsonl": '{"run": "a", "time": 5, "event": "run_start"}\n'
            '{"run": "a", "time": 9, "event": "run_end"}\n',
        },
    ),
    "mlperf": (MLPerfReader(), {"results/s/bert/result_0.txt": MLPERF, "results/s/bert/result_1.txt": MLPERF}),
    "sacct": (
        SacctReader(),
        {
            "sacct.txt": "JobID|JobName|State|Submit|Start|End|Elapsed|AllocTRES\n"
            "1|a|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:10:00|2026-01-01T01:10:00|01:00:00|cpu=4,gres/gpu=2,node=1\n"
            "1.0|b|FAILED|2026-01-01T00:00:00|2026-01-01T00:10:00|2026-01-01T01:10:00|01:00:00|cpu=4,node=1\n"
        },
    ),
}
TOKENS = [
    b"NaN", b"-Infinity", b"1e999", b"99999999999999999999", b"-1", b"null", b"{}", b"[", b"]", b'"', b"\\", b"\0",
    b"\n", b"\r", b"\xff\xfe", b"\xef\xbb\xbf", b"\xe9", b",", b"|", b":::MLL 1 x: ", b"!!python/object:os.x",
    b"&a [*a]", b"{{ x }}", b"\xf0\x9f\x98\x80", b"true", b"0", b"\x1b[31m", b" " * 50,
]  # fmt: skip


def damage(raw: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(raw) + 1)
        how = chance.randrange(5)
        if how == 0:
            raw = raw[:at]
        elif how == 1:
            raw = raw[:at] + chance.choice(TOKENS) + raw[at:]
        elif how == 2:
            raw = raw[:at] + chance.choice(TOKENS) + raw[at + chance.randint(1, 12) :]
        elif how == 3:
            end = min(len(raw), at + chance.randint(1, 80))
            raw = raw[:end] + raw[at:end] + raw[end:]
        else:
            raw = raw[:at] + raw[at + chance.randint(1, 40) :]
    return raw


@pytest.mark.parametrize("name", sorted(INPUTS))
def test_nothing_raises_and_what_is_read_is_sane(tmp_path: Path, name: str) -> None:
    reader, files = INPUTS[name]
    chance = random.Random(f"damage {name}")
    read = 0
    for path in files:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    for _ in range(400):
        for path, text in files.items():
            raw = text.encode()
            (tmp_path / path).write_bytes(damage(raw, chance) if chance.random() < 0.7 else raw)
        tree = Tree(tmp_path)
        for source in reader.find(tree):
            reading = reader.read(tree, source)
            assert all(p.message and p.remedy and (p.line is None or p.line > 0) for p in reading.problems)
            for run in reading.runs:
                read += 1
                assert run.id
                for section in run.sections:
                    assert section.path
                    assert section.count > 0
                    assert 0 <= section.total_seconds < math.inf
                times = [e.time for e in run.events]
                assert times == sorted(times)
                assert all(math.isfinite(t) for t in times)
                assert run.profile_wall is None or 0 < run.profile_wall < math.inf
                assert all(math.isfinite(v) for v in run.outside.values())
                assert all(not isinstance(v, float) or math.isfinite(v) for v in run.config.values())
                assert all(s.ended_at >= s.started_at for s in run.sessions)
    assert read > 200
