"""A build in which no run changed is light, also where hand-written pages quote from the notes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HEAVY = ("pandas", "numpy", "matplotlib", "scipy", "pydantic")

pytestmark = pytest.mark.xdist_group("demo")

SCRIPT = """
import json, sys
from mkdocs.__main__ import cli
cli(["build", "--strict", "--quiet", "--site-dir", sys.argv[1]], standalone_mode=False)
print(json.dumps(sorted(sys.modules)))
"""


def modules(folder: Path, site: Path) -> set[str]:
    """Every module that one build of the site in ``folder`` loaded."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(site)],
        cwd=folder,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "SITE_URL": "http://127.0.0.1:8000/"},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_an_unchanged_build_loads_nothing_heavy(demo: Any, tmp_path: Path) -> None:
    quoting = [p for p in (demo.source / "docs").rglob("results.md") if "<!-- sweepprof: fact" in p.read_text("utf-8")]
    assert quoting, "the demo quotes a fact; else this test would not see what quoting loads"
    loaded = modules(demo.source, tmp_path / "site")
    assert "mkdocs_sweepprof.build" in loaded
    assert [m for m in HEAVY if m in loaded] == []
    page = tmp_path / "site" / quoting[0].relative_to(demo.source / "docs").with_suffix("") / "index.html"
    assert 'data-fact="runtime.mean"' in page.read_text("utf-8")
