"""The demo notebook, built once per test session and shared by the build and the browser tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter

REPOSITORY = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Demo:
    """A strict build of this repository's own site, made from a copy."""

    source: Path
    site: Path
    address: str
    """Where it is to be served: instant navigation works only at the address that the site was built for."""
    log: str


def build(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """``mkdocs build`` of the site in ``folder``, as a user would call it. Output and errors are in ``stdout``."""
    environment = {**os.environ, "NO_COLOR": "1", "NO_MKDOCS_2_WARNING": "1", **environment}
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", *arguments],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=600,
    )


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo site. Built from a copy, so that a test leaves no cache in the checkout and finds none."""
    source = tmp_path_factory.mktemp("notebook")
    shutil.copy(REPOSITORY / "mkdocs.yml", source)
    for name in ("docs", "collections"):
        shutil.copytree(REPOSITORY / name, source / name)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/"
    result = build(source, "--strict", SITE_URL=address)
    assert result.returncode == 0, result.stdout
    return Demo(source, source / "site", address, result.stdout)


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print what tests measured (``record_property``): with xdist a test's own output does not reach the terminal."""
    reports = [r for outcome in ("passed", "failed") for r in terminalreporter.stats.get(outcome, [])]
    measured = [(key, value) for r in reports if r.when == "call" for key, value in r.user_properties]
    if measured:
        terminalreporter.section("measured")
        for key, value in sorted(measured, key=str):
            terminalreporter.line(f"{key}: {value}")
