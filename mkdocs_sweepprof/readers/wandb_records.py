"""The binary ``run-<id>.wandb`` file: framing and the few protobuf messages that a profile needs.

The file is a LevelDB-style log: a 7-byte file header (``:W&B``, magic, version), then blocks of 32 KiB. A block
holds chunks (CRC-32, length, type, payload); a record is one ``full`` chunk or ``first``, ``middle`` … ``last``. Each
record is one protobuf message ``Record``. Field numbers below are those of ``wandb_internal.proto``, unchanged from
0.10 to 0.31. Neither the wandb nor the protobuf library is needed, and a damaged part costs only itself: reading goes
on at the next block.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

IDENT = b":W&B"
"""First bytes of every ``.wandb`` file."""
HEADER = 7
"""Bytes of the file header, and of each chunk header."""
BLOCK = 32 * 1024
MAX_RECORD = 64 * 1024 * 1024
"""Bytes of one record; longer ones are damage."""
MAX_DAMAGE = 20
"""Places of damage that are remembered, the rest is only counted."""

_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_TYPE_CRC = [zlib.crc32(bytes([kind])) for kind in range(5)]

# Record, and the messages in it (field numbers of wandb_internal.proto).
_HISTORY, _SUMMARY, _CONFIG, _RUN, _EXIT, _PREEMPTING = 2, 3, 5, 17, 18, 23
_KEY, _NESTED_KEY, _VALUE_JSON = 1, 2, 16
_WANTED = frozenset({b"_runtime", b"_timestamp", b"_step", b"epoch", b"trainer/global_step"})


class WireError(ValueError):
    """Bytes that are no protobuf message."""


@dataclass(slots=True)
class Row:
    """One history row: seconds since the run's start, epoch seconds, and counters, as far as they were logged."""

    runtime: float | None = None
    timestamp: float | None = None
    step: int | None = None
    epoch: float | None = None


@dataclass(slots=True)
class Log:
    """What one ``.wandb`` file holds."""

    run_id: str | None = None
    name: str | None = None
    project: str | None = None
    group: str | None = None
    sweep: str | None = None
    started_at: float | None = None
    resumed: bool = False
    starting_runtime: int | None = None
    config: dict[str, Any] = field(default_factory=dict)
    """Nested, values parsed from JSON; text that is not JSON stays text."""
    rows: list[Row] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    """Only the keys that start with ``_``."""
    exit_code: int | None = None
    exit_runtime: int | None = None
    """Whole seconds. None when there is no exit record."""
    ended: bool = False
    preempting: bool = False
    records: int = 0
    damage: list[str] = field(default_factory=list)
    """Where and what, one phrase each (``"a checksum does not match in block 3"``)."""
    damaged: int = 0
    cut: bool = False
    """The file ends in the middle of a record, as a killed process leaves it."""
    known: bool = True
    """False: the file header is not that of a ``.wandb`` file."""

    def hurt(self, what: str) -> None:
        self.damaged += 1
        if len(self.damage) < MAX_DAMAGE:
            self.damage.append(what)


def read_log(stream: BinaryIO) -> Log:
    """Read a ``.wandb`` file from its beginning. Never raises for bad content; OSError passes through."""
    log = Log()
    for payload in _records(stream, log):
        log.records += 1
        try:
            _record(payload, log)
        except (WireError, IndexError, UnicodeDecodeError, struct.error):
            log.hurt(f"record {log.records} is no readable message")
    return log


# --- framing -----------------------------------------------------------------------------------------------------


def _records(stream: BinaryIO, log: Log) -> Iterator[bytes]:
    """Whole records, in order."""
    parts: list[bytes] = []
    size = 0
    number = 0
    while block := stream.read(BLOCK):
        while len(block) < BLOCK and (more := stream.read(BLOCK - len(block))):
            block += more
        at = 0
        if number == 0:
            if block[:4] != IDENT:
                log.known = False
                return
            at = HEADER
        while at + HEADER <= len(block):
            crc, length, kind = struct.unpack_from("<IHB", block, at)
            if kind == 0 and length == 0:
                break  # padding to the end of the block
            payload = block[at + HEADER : at + HEADER + length]
            if kind > _LAST or kind == 0 or at + HEADER + length > BLOCK:
                log.hurt(f"a chunk header makes no sense in block {number + 1}")
                parts = []
                break
            if len(payload) < length:
                log.cut = True
                return
            if not _crc_holds(crc, kind, payload):
                log.hurt(f"a checksum does not match in block {number + 1}")
                parts = []
                break
            at += HEADER + length
            if kind in (_FULL, _FIRST):
                if parts:
                    log.hurt(f"a record was never finished before block {number + 1}")
                parts, size = [payload], length
            elif not parts:
                continue  # the rest of a record whose beginning was lost, which was said there
            else:
                parts.append(payload)
                size += length
            if size > MAX_RECORD:
                log.hurt(f"a record is larger than {MAX_RECORD} bytes in block {number + 1}")
                parts = []
            elif kind in (_FULL, _LAST):
                whole, parts = b"".join(parts), []
                yield whole
        else:
            if len(block) < BLOCK and at < len(block):
                log.cut = True
        number += 1
    if parts:
        log.cut = True


def _crc_holds(crc: int, kind: int, payload: bytes) -> bool:
    """Plain CRC-32 of type and payload; LevelDB's masked form is accepted as well."""
    actual = zlib.crc32(payload, _TYPE_CRC[kind])
    return crc in (actual, (((actual >> 15) | (actual << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


# --- protobuf ----------------------------------------------------------------------------------------------------


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise WireError("a varint is longer than 10 bytes")


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(field number, value) of one message; varints as unsigned int, all else as bytes.

    Raises:
        WireError: a length runs past the end, or a wire type does not exist.
        IndexError: the message ends in a varint.
    """
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == 0:
            number, at = _varint(data, at)
            yield tag >> 3, number
            continue
        if wire == 2:
            size, at = _varint(data, at)
        elif wire == 1:
            size = 8
        elif wire == 5:
            size = 4
        else:
            raise WireError(f"wire type {wire} does not exist")
        if at + size > end:
            raise WireError("a length runs past the end of its message")
        yield tag >> 3, data[at : at + size]
        at += size


def _signed(value: int | bytes) -> int | None:
    if not isinstance(value, int):
        return None
    return value - (1 << 64) if value >= 1 << 63 else value


def _text(value: int | bytes) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def _timestamp(data: int | bytes) -> float | None:
    if not isinstance(data, bytes):
        return None
    parts = dict(fields(data))
    seconds, nanos = _signed(parts.get(1, 0)), _signed(parts.get(2, 0))
    return None if seconds is None or nanos is None else seconds + nanos / 1e9


def _record(data: bytes, log: Log) -> None:
    for number, value in fields(data):
        handler = _HANDLERS.get(number)
        if handler is not None and isinstance(value, bytes):
            handler(value, log)


def _item(data: bytes) -> tuple[list[str], str]:
    """Key path and JSON text of a ConfigItem, SummaryItem or HistoryItem."""
    key = ""
    nested: list[str] = []
    text = ""
    for number, value in fields(data):
        if number == _KEY:
            key = _text(value)
        elif number == _NESTED_KEY:
            nested.append(_text(value))
        elif number == _VALUE_JSON:
            text = _text(value)
    return nested or [key], text


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _config(data: bytes, log: Log) -> None:
    for number, value in fields(data):
        if not isinstance(value, bytes) or number not in (1, 2):
            continue
        path, text = _item(value)
        into: dict[str, Any] = log.config
        for part in path[:-1]:
            inner = into.setdefault(part, {})
            if not isinstance(inner, dict):
                inner = into[part] = {}
            into = inner
        if number == 1:
            into[path[-1]] = _parsed(text)
        else:
            into.pop(path[-1], None)


def _run(data: bytes, log: Log) -> None:
    for number, value in fields(data):
        if number == 1:
            log.run_id = _text(value)
        elif number == 3:
            log.project = _text(value)
        elif number == 4 and isinstance(value, bytes):
            _config(value, log)
        elif number == 6:
            log.group = _text(value)
        elif number == 8:
            log.name = _text(value)
        elif number == 12:
            log.sweep = _text(value)
        elif number == 17:
            log.started_at = _timestamp(value)
        elif number == 18:
            log.resumed = bool(value)
        elif number == 20:
            log.starting_runtime = _signed(value)


def _history(data: bytes, log: Log) -> None:
    row = Row()
    step: int | None = None
    found = False
    for number, item in fields(data):
        if number == 2 and isinstance(item, bytes):
            step = _signed(dict(fields(item)).get(1, 0))
        if number != 1 or not isinstance(item, bytes) or len(item) < 4:
            continue
        # An item begins with its key (or nested key) and that key's length: most are none of ours.
        if item[1] < 128 and item[2 : 2 + item[1]] not in _WANTED and item[0] in (0x0A, 0x12):
            continue
        path, text = _item(item)
        value = _finite(text) if len(path) == 1 else None
        if value is None:
            continue
        key = path[0]
        if key == "_runtime":
            row.runtime = value
        elif key == "_timestamp":
            row.timestamp = value
        elif key == "epoch":
            row.epoch = value
        elif key == "trainer/global_step" or (key == "_step" and row.step is None):
            row.step = int(value)
        else:
            continue
        found = True
    if row.step is None:
        row.step = step
    if found:
        log.rows.append(row)


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e300 else None


def _summary(data: bytes, log: Log) -> None:
    for number, value in fields(data):
        if number == 1 and isinstance(value, bytes):
            path, text = _item(value)
            if path[0].startswith("_"):
                log.summary[".".join(path)] = _parsed(text)


def _exit(data: bytes, log: Log) -> None:
    parts = dict(fields(data))
    log.ended = True
    code = _signed(parts.get(1, 0))
    log.exit_code = code
    log.exit_runtime = _signed(parts[2]) if 2 in parts else None


def _preempting(data: bytes, log: Log) -> None:
    log.preempting = True


_HANDLERS: dict[int, Callable[[bytes, Log], None]] = {
    _HISTORY: _history,
    _SUMMARY: _summary,
    _CONFIG: _config,
    _RUN: _run,
    _EXIT: _exit,
    _PREEMPTING: _preempting,
}
