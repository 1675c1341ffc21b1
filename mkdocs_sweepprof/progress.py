"""A progress bar for long work, at a terminal only."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

PATIENCE = 1.0
"""Seconds after which work counts as long: quick work shows no bar."""

Progress = Callable[[int, int, str], None]
"""Called with (done, total, what comes next)."""


@contextmanager
def bar(label: str) -> Iterator[Progress | None]:
    """What to call as work proceeds; None when nobody looks."""
    if not sys.stderr.isatty():
        yield None
        return
    made: list[Any] = []
    began = time.monotonic()

    def progress(done: int, total: int, what: str) -> None:
        if not made:
            if time.monotonic() - began < PATIENCE or done >= total:
                return
            made.append(
                click.progressbar(
                    length=total, label=label, file=sys.stderr, item_show_func=lambda item: str(item) if item else ""
                )
            )
            made[0].__enter__()
        made[0].update(done - made[0].pos, what)

    try:
        yield progress
    finally:
        for shown in made:
            shown.__exit__(None, None, None)
