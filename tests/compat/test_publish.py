"""Publishing: ``mkdocs gh-deploy`` into a bare repository, and the workflow for GitHub Pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.build.support import write
from tests.compat.support import Built, command, commit_all, configure, git
from tests.places import REPOSITORY

WORKFLOW = REPOSITORY / ".github/workflows/pages.yml"


def deploy(folder: Path) -> str:
    """Deploy and return the id of the published tree."""
    # MkDocs writes the time of the build into sitemap.xml and into the first page of its own themes.
    done = command(folder, "mkdocs", "gh-deploy", "--strict", SOURCE_DATE_EPOCH="1700000000")
    assert done.returncode == 0, done.stdout  # strict: not a word of warning from the build
    return git(folder.parent / "remote.git", "rev-parse", "gh-pages^{tree}").strip()


@pytest.fixture
def published(folder: Path) -> Path:
    """A notebook in a repository with a bare remote."""
    configure(folder, folder / ".cache/plugin/sweepprof", ["search", "sweepprof"])
    write(folder, {".gitignore": "site/\n.cache/\n"})
    commit_all(folder)
    git(folder.parent, "init", "--quiet", "--bare", "remote.git")
    git(folder, "remote", "add", "origin", str(folder.parent / "remote.git"))
    git(folder, "push", "--quiet", "origin", "main")
    return folder


def test_the_second_deployment_publishes_the_same_tree(published: Path) -> None:
    first = deploy(published)
    assert deploy(published) == first  # all remembered
    for path in sorted((published / ".cache").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    assert deploy(published) == first  # nothing remembered
    out = published.parent / "checkout"
    git(published.parent, "clone", "--quiet", "--branch", "gh-pages", "remote.git", str(out))
    Built(out).check()
    names = {p.relative_to(out).parts[0] for p in out.rglob("*") if ".git" not in p.relative_to(out).parts}
    assert ".nojekyll" in names and ".cache" not in names and "collections" not in names
    assert git(published, "status", "--porcelain") == ""  # a deployment leaves nothing in the working tree


def test_a_changed_run_changes_its_notes_only(published: Path) -> None:
    before = deploy(published)
    profile = published / "collections/lab/beta/runs/sort-1/profile.json"
    changed = profile.read_text().replace('"wall_seconds": 10801.0', '"wall_seconds": 12801.0')
    assert changed != profile.read_text()
    profile.write_text(changed)
    after = deploy(published)
    names = git(published.parent / "remote.git", "diff", "--name-only", before, after).split()
    assert "lab/beta/profiling/index.html" in names
    assert not [name for name in names if name.startswith(("lab/alpha/", "lab/beta/design", "lab/beta/results"))]


def workflow() -> dict[str, Any]:
    return dict(yaml.safe_load(WORKFLOW.read_text(encoding="utf-8")))


def test_the_workflow_has_no_more_rights_than_it_needs() -> None:
    plan = workflow()
    assert plan["permissions"] == {}
    assert plan["jobs"]["build"]["permissions"] == {"contents": "read"}
    assert plan["jobs"]["deploy"]["permissions"] == {"pages": "write", "id-token": "write"}
    assert plan["jobs"]["deploy"]["needs"] == "build"
    assert plan["concurrency"]["group"]
    # `on` is true in YAML 1.1; a workflow for forks' code with our rights would be pull_request_target.
    assert "pull_request_target" not in plan[True]
    for job in plan["jobs"].values():
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]), step["uses"]
            # Nothing that an outsider can name is pasted into a shell.
            assert "${{" not in step.get("run", "")


def test_the_workflow_builds_strictly_and_keeps_the_store() -> None:
    steps = workflow()["jobs"]["build"]["steps"]
    runs = [s["run"] for s in steps if "run" in s]
    assert "mkdocs build --strict" in runs
    cache = next(s for s in steps if s.get("uses", "").startswith("actions/cache@"))["with"]
    assert cache["path"] == ".cache/plugin/sweepprof"
    assert "hashFiles(" in cache["key"] and cache["key"].startswith(cache["restore-keys"])
    inputs = re.findall(r"'([^']+)'", cache["key"])
    assert inputs and all((REPOSITORY / pattern.removesuffix("/**")).exists() for pattern in inputs)
    upload = next(s for s in steps if s.get("uses", "").startswith("actions/upload-pages-artifact@"))
    assert upload["with"]["path"] == "site"
