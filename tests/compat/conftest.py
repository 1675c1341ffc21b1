"""One store for all builds of a test session: each test builds a whole site, but the runs are analysed once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compat.support import notebook


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of remembered notes."""
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small notebook without ``mkdocs.yml``."""
    return notebook(tmp_path / "notebook")
