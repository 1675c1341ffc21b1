"""A writer of .wandb files, to make what no process here left."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

BLOCK = 32_768


def varint(number: int) -> bytes:
    out = bytearray()
    while True:
        byte, number = number & 0x7F, number >> 7
        out.append(byte | (0x80 if number else 0))
        if not number:
            return bytes(out)


def message(*fields: tuple[int, int | bytes | str]) -> bytes:
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            raw = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(raw)) + raw
    return out


def item(key: str, text: str) -> bytes:
    return message((1, key), (16, text))


def framed(records: list[bytes]) -> bytes:
    out = bytearray(b":W&B\xe1\xbe\x00")
    for record in records:
        first = True
        while True:
            room = BLOCK - len(out) % BLOCK
            if room < 7:
                out += b"\0" * room
                continue
            part, record = record[: room - 7], record[room - 7 :]
            kind = {(True, True): 1, (True, False): 2, (False, False): 3, (False, True): 4}[first, not record]
            out += struct.pack("<IHB", zlib.crc32(bytes([kind]) + part), len(part), kind) + part
            first = False
            if not record:
                break
    return bytes(out)


def started(run_id: str, at: float, project: str = "p", **config: str) -> bytes:
    updates = message(*((1, item(k, v)) for k, v in config.items()))
    stamp = message((1, int(at)), (2, int(at % 1 * 1e9)))
    return message((17, message((1, run_id), (3, project), (4, updates), (8, "named"), (17, stamp))))


def logged(runtime: float, at: float, step: int = 0, **more: str) -> bytes:
    items = {"_runtime": f"{runtime}", "_timestamp": f"{at}", "_step": f"{step}"} | more
    return message((2, message(*((1, item(k, v)) for k, v in items.items()))))


def exited(code: int, runtime: int) -> bytes:
    return message((18, message((1, code), (2, runtime))))


def run_folder(root: Path, run_id: str, day: int, records: list[bytes]) -> Path:
    folder = root / "wandb" / f"run-202601{day:02d}_000000-{run_id}"
    folder.mkdir(parents=True)
    (folder / f"run-{run_id}.wandb").write_bytes(framed(records))
    return folder
