"""Sites built by the real command beside other plugins, and what must hold of the notes in each of them."""

from __future__ import annotations

import html
import json
import os
import posixpath
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from tests.build.support import write

CI = os.environ.get("CI", "").lower() in ("true", "1")
QUIET = {
    "NO_COLOR": "1",
    # Campaigns of the builders against each other, not about this site.
    "NO_MKDOCS_2_WARNING": "1",
    "DISABLE_MKDOCS_2_WARNING": "true",
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@example.org",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}
NOTES = ("lab/alpha", "lab/beta")
"""The two collections of :func:`notebook`, each with hand-written design and results pages."""
TRICKY = "{{ task_of('run') }} {% if x %}"
"""A config value that a macro engine would trip over."""


def needs(distribution: str) -> str:
    """The version of an installed neighbour. Skips where it is missing; in CI that is a failure."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        reason = f"{distribution} is not installed: pip install -e '.[compat-test]'"
        if CI:
            pytest.fail(reason)
        pytest.skip(reason)


def notebook(folder: Path) -> Path:
    """Write a small notebook: two collections, with design and results pages and links to the notes."""
    files: dict[str, str] = {"docs/index.md": "# Home\n\nAll sweeps: [overview](sweepprof/index.md)\n"}
    for number, name in enumerate(NOTES):
        for t, task in enumerate(("copy", "sort")):
            for seed in (0, 1):
                run = f"collections/{name}/runs/{task}-{seed}"
                wall = 3600.0 * (1 + number + t) + seed
                config = {"task": task, "seed": seed, "lr": 0.1, "template": TRICKY}
                files[f"{run}/config.yaml"] = yaml.safe_dump(config)
                files[f"{run}/profile.json"] = json.dumps(
                    {
                        "wall_seconds": wall,
                        "sections": [
                            {"section": "epoch/train", "count": 10, "total_seconds": wall * 0.6},
                            {"section": "epoch/eval", "count": 5, "total_seconds": wall * 0.3},
                            {"section": "epoch/eval/generation", "count": 5, "total_seconds": wall * 0.2},
                        ],
                    }
                )
        files[f"docs/{name}/design.md"] = f"# Design of {name}\n\nWhat was planned.\n"
        files[f"docs/{name}/results.md"] = (
            f"# Results of {name}\n\nTime: [note](profiling.md), [facts](profiling/facts.json).\n"
        )
    files["collections/lab/beta/collection.yml"] = "compare_to: [alpha]\n"
    return write(folder, files)


def configure(folder: Path, store: Path, plugins: Sequence[Any], **config: Any) -> Path:
    """Write ``mkdocs.yml`` with ``plugins``, among which ``"sweepprof"`` is ours; returns the file."""
    ours = {"sweepprof": {"cache_dir": str(store)}}
    full = {
        "site_name": "Notebook",
        "site_url": "https://example.org/notebook/",
        "plugins": [ours if p == "sweepprof" else p for p in plugins],
        "validation": {
            "omitted_files": "warn",
            "absolute_links": "warn",
            "unrecognized_links": "warn",
            "anchors": "warn",
        },
        **config,
    }
    path = folder / "mkdocs.yml"
    path.write_text(yaml.safe_dump(full, sort_keys=False))
    return path


def orders(*others: Any) -> list[list[Any]]:
    """Our plugin after the others, and before them. ``search`` stands first, as people write it."""
    return [["search", *others, "sweepprof"], ["search", "sweepprof", *others]]


def command(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in ``folder`` (``mkdocs``: that of this Python); output and errors both in ``stdout``."""
    return subprocess.run(
        [script(arguments[0]), *arguments[1:]],
        cwd=folder,
        # mike calls a builder by its name.
        env={**os.environ, **QUIET, "PATH": f"{script('.')}{os.pathsep}{os.environ['PATH']}", **environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=300,
    )


def script(name: str) -> str:
    """The path of a command that lies beside this Python."""
    return str(Path(sys.executable).parent / name)


def git(folder: Path, *arguments: str) -> str:
    """Run git and return what it printed."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env={**os.environ, **QUIET}, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def commit_all(folder: Path) -> None:
    """Make ``folder`` a repository with everything in one commit."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--message=notebook")


def build(folder: Path, *arguments: str, builder: str = "mkdocs", **environment: str) -> Built:
    """Build strictly. Fails when a word of warning was said."""
    done = command(folder, builder, "build", "--strict", *arguments, **environment)
    assert done.returncode == 0, done.stdout
    for word in ("WARNING", "Traceback", "ERROR"):
        assert word not in done.stdout, done.stdout
    return Built(folder / "site", done.stdout)


class _Page(HTMLParser):
    """What a test needs of a page: links, ids, facts, images, the nav."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: list[str] = []
        self.images: list[str] = []
        self.facts: list[tuple[str, str]] = []
        self.links: list[str] = []
        self._fact: list[str] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {k: v or "" for k, v in attrs}
        self.ids |= {values[k] for k in ("id", "name") if k in values}
        for key in ("href", "src", "data-src"):
            if key in values and tag != "base":
                self.targets.append(values[key])
        if tag == "img":
            self.images.append(values["src"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "data" and "data-fact" in values:
            self._fact = [values["data-fact"], ""]

    def handle_endtag(self, tag: str) -> None:
        if tag == "data" and self._fact:
            self.facts.append((self._fact[0], self._fact[1]))
            self._fact = None

    def handle_data(self, data: str) -> None:
        if self._fact:
            self._fact[1] += data


@dataclass
class Built:
    """A finished site."""

    site: Path
    log: str = ""
    directory_urls: bool = True
    base: str = "/notebook/"
    _pages: dict[str, _Page] = field(default_factory=dict)

    def file(self, page: str) -> str:
        """The file of a page that has this source path, without ``.md``."""
        return f"{page}/index.html" if self.directory_urls else f"{page}.html"

    def text(self, path: str) -> str:
        return (self.site / path).read_text(encoding="utf-8")

    def page(self, path: str) -> _Page:
        if path not in self._pages:
            self._pages[path] = _Page(self.text(path))
        return self._pages[path]

    def resolve(self, page: str, target: str) -> tuple[str, str] | None:
        """The file, and fragment, that a link on a page means; None when it leads out of the site."""
        url = urlsplit(target)
        if url.netloc == "example.org":
            url = url._replace(scheme="", netloc="")
        if url.scheme or url.netloc:
            return None
        path = unquote(url.path)
        if path.startswith("/"):
            assert path.startswith(self.base) or path + "/" == self.base, f"{page}: {target} leaves the site"
            path = path.removeprefix(self.base).lstrip("/")
        elif path:
            path = posixpath.join(posixpath.dirname(page), path)
        else:
            return page, url.fragment
        found = posixpath.normpath(path) if path else "."
        if path.endswith("/") or (self.site / found).is_dir():
            found = posixpath.normpath(posixpath.join(found, "index.html"))
        return found, url.fragment

    def check_links(self, pages: Iterable[str] | None = None) -> int:
        """Every link of every page leads to a file of the site, and to an id on it. Returns how many were followed."""
        followed = 0
        names = pages or [p.relative_to(self.site).as_posix() for p in sorted(self.site.rglob("*.html"))]
        for name in names:
            if posixpath.basename(name) == "404.html":
                continue
            for target in self.page(name).targets:
                hit = self.resolve(name, target)
                if hit is None:
                    continue
                path, fragment = hit
                assert (self.site / path).is_file(), f"{name}: {target} leads to {path}, which is not there"
                # Scripts of themes use fragments that are no ids: theirs begin with a double underscore, or are empty.
                if fragment and path.endswith(".html") and not fragment.startswith("__"):
                    assert fragment in self.page(path).ids, f"{name}: no #{fragment} on {path}"
                followed += 1
        return followed

    def nav(self, page: str = "index.html") -> list[str]:
        """Files of the pages that a page links, each once, in the order of its links: the nav stands first."""
        seen: dict[str, None] = {}
        for link in self.page(page).links:
            hit = self.resolve(page, link)
            if hit is not None and hit[0].endswith(".html"):
                seen.setdefault(hit[0])
        return list(seen)

    def check_note(self, name: str, *, prefix: str = "", runs: int = 4) -> None:
        """A note is finished: at its URL, with its numbers, figures and downloads."""
        where = self.file(f"{prefix}{name}/profiling")
        page = self.page(where)
        folder = f"{prefix}{name}/profiling"
        facts = json.loads(self.text(f"{folder}/facts.json"))
        assert facts["runtime.count"]["value"] == runs
        shown = dict(page.facts)
        assert len(shown) > 10
        for fact, text in page.facts:
            assert text.strip() == facts[fact]["text"], fact
        for csv in ("runs.csv", "sections.csv", "effects.csv"):
            header = self.text(f"{folder}/{csv}").splitlines()[0]
            assert "," in header, csv
        links = [hit[0] for link in page.links if (hit := self.resolve(where, link))]
        for download in ("facts.json", "runs.csv", "sections.csv"):
            assert f"{folder}/{download}" in links, download
        figures = [hit[0] for image in page.images if (hit := self.resolve(where, image)) and "/figures/" in hit[0]]
        assert len(figures) >= 3, page.images
        for figure in figures:
            assert "<svg" in self.text(figure), figure
        raw = self.text(where)
        assert TRICKY in html.unescape(raw), "a config value was taken for a macro"
        for asset in ("assets/sweepprof/sweepprof.css", "assets/sweepprof/sweepprof.js"):
            assert asset in {hit[0] for hit in (self.resolve(where, t) for t in page.targets) if hit}

    def check(self, *, order: Sequence[str] | None = None) -> None:
        """Everything that holds of :func:`notebook` whatever the neighbours are."""
        for name in NOTES:
            self.check_note(name)
        assert self.check_links() > 50
        nav = self.nav()
        for name in NOTES:
            places = [nav.index(self.file(f"{name}/{page}")) for page in ("design", "results", "profiling")]
            assert places == list(range(places[0], places[0] + 3)), nav
        overview = self.file("sweepprof") if self.directory_urls else "sweepprof/index.html"
        assert overview in nav
        if order is not None:
            assert [p for p in nav if p in set(order)] == list(order)
