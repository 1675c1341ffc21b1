"""What a build leaves: the same bytes every time, nothing outside its folders, and no markup for people to see."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.build.pages import BARE, Parsed, build, content, copy_published, log, native, put, usual
from tests.build.support import Built, write
from tests.places import REPOSITORY

pytestmark = pytest.mark.xdist_group("hygiene")


def collections(folder: Path) -> None:
    """The published ones, one with something wrong, one with a run that was killed, one with nothing in it."""
    copy_published(folder)
    runs = {
        f"r{i}": native({"task": "ab"[i % 2], "seed": i}, 60.0 + i, usual(60.0 + i), log(60.0 + i)) for i in range(5)
    }
    runs["killed"] = native({"task": "a", "seed": 9}, None, (), log(50.0, end=False))
    runs["broken"] = {"config.yaml": "a: [", "profile.json": "{"}
    put(folder, "lab/small", runs, "title: Small\ncompare_to: continuous-v2\ncommentary:\n  limits: Said by *hand*.\n")
    put(folder, "nothing", {}, "title: Nothing\n")
    write(folder, {"docs/lab/small/design.md": "# Design\n", "docs/lab/small/results.md": "# Results\n"})


def digests(folder: Path) -> dict[str, str]:
    return {
        p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def command(folder: Path, site: Path, *arguments: str, **environment: str) -> dict[str, str]:
    """Build with the command in a process of its own; digests of what came out."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-d", str(site), *arguments],
        cwd=folder,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1770000000", "NO_MKDOCS_2_WARNING": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return digests(site)


def test_builds_are_byte_identical(tmp_path: Path) -> None:
    """Cold and warm, another hash seed, another time zone and locale, another place on disk."""
    home = tmp_path / "a"
    collections(home)
    write(
        home,
        {
            "mkdocs.yml": yaml.safe_dump({"site_name": "x", "plugins": ["search", "sweepprof"]}),
            "docs/index.md": "# H\n",
        },
    )
    elsewhere = tmp_path / "some" / "other place"
    shutil.copytree(home, elsewhere)
    first = command(home, tmp_path / "one", PYTHONHASHSEED="1")
    assert "from-entangled-v2/continuous-v2/profiling/facts.json" in first and len(first) > 60
    ways = {
        "warm": command(home, tmp_path / "two", PYTHONHASHSEED="2"),
        "cold, elsewhere": command(elsewhere, tmp_path / "three", PYTHONHASHSEED="3", TZ="Asia/Kathmandu", LC_ALL="C"),
    }
    for way, found in ways.items():
        different = [k for k in first.keys() | found.keys() if first.get(k) != found.get(k)]
        assert not different, f"{way}: {different}"


def state(folder: Path, leave: tuple[str, ...]) -> dict[str, tuple[int, int]]:
    """Every file and folder with its size and time, but for those below ``leave``."""
    out = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder).as_posix()
        if not relative.startswith(leave):
            stat = path.lstat()
            out[relative] = (0 if path.is_dir() else stat.st_size, stat.st_mtime_ns)
    return out


@pytest.mark.parametrize("cache", [None, "kept/here"])
def test_nothing_is_written_outside_the_site_and_the_cache(cache: str | None, tmp_path: Path) -> None:
    home = tmp_path / "home"
    runs = {f"r{i}": native({"task": "ab"[i % 2]}, 60.0 + i, usual(60.0), log(60.0)) for i in range(4)}
    put(home, "lab/small", {**runs, "bad": {"config.yaml": "[", "profile.json": "{"}}, "title: Small\n")
    options: dict[str, Any] = {} if cache is None else {"cache_dir": cache}
    config = {"site_name": "x", "theme": "mkdocs", "plugins": ["search", {"sweepprof": options}]}
    write(home, {"mkdocs.yml": yaml.safe_dump(config), "docs/index.md": "# H\n", "docs/lab/small/design.md": "# D\n"})
    (tmp_path / "user").mkdir()
    leave = ("home/site", "home/" + (cache or ".cache/plugin/sweepprof").split("/")[0])
    # Making the cache and the site folder touches their parent, and nothing else.
    before = {k: v for k, v in state(tmp_path, leave).items() if k != "home"}
    places = {
        "HOME": str(tmp_path / "user"),
        "XDG_CACHE_HOME": str(tmp_path / "user"),
        "TMPDIR": str(tmp_path / "user"),
    }
    environment = {k: v for k, v in os.environ.items() if k not in ("MPLCONFIGDIR", "XDG_CONFIG_HOME")}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build"],
            cwd=home,
            env={**environment, **places, "PYTHONDONTWRITEBYTECODE": "1", "NO_MKDOCS_2_WARNING": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert {k: v for k, v in state(tmp_path, leave).items() if k != "home"} == before
    assert (home / "site/lab/small/profiling/index.html").exists()
    made = sorted(p.name for p in home.iterdir())
    assert made == sorted({"mkdocs.yml", "docs", "collections", "site", (cache or ".cache").split("/")[0]})
    assert [p.name for p in (home / (".cache/plugin" if cache is None else "kept")).iterdir()] == [
        "sweepprof" if cache is None else "here"
    ]


def test_our_own_site_passes_strict_without_a_warning(demo: Any) -> None:
    assert "WARNING" not in demo.log and "ERROR" not in demo.log
    assert (demo.site / "sweepprof/index.html").exists()


# --- literal markup --------------------------------------------------------------------------------------------------

LITERAL = (
    r"\*\*",
    r"\{ ?[.:#%{]",
    r"!!!|\?\?\?",
    r"<data|<span|<code|</|<p>",
    r"\|\s*:?---",
    r"&(lt|gt|amp|nbsp|#x?[0-9a-f]+);",
    r"\]\(",
    r"!\[",
    r"(^|\s)#{1,6} \w",
    r"```",
    r":[a-z]+-[a-z-]+:",
    r"\[\[|\]\]",
    r"\bdata-fact\b|sweepprof-\w+|only-light|only-dark",
)


class Visible(HTMLParser):
    """Text nodes outside code, script and style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._hidden = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("script", "style", "code", "pre")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style", "code", "pre")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.texts.append(data)


@pytest.fixture(scope="module", params=["mkdocs", "readthedocs"])
def bare(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp(request.param)
    collections(folder)
    return build(folder, {**BARE, "theme": request.param})


def generated(built: Built) -> Iterator[tuple[str, str]]:
    pages = [f for f in sorted(built.files()) if f.endswith("profiling/index.html") or f == "sweepprof/index.html"]
    assert len(pages) == 5
    for name in pages:
        yield name, built.html(name)


def test_a_bare_site_shows_no_literal_markup(bare: Built) -> None:
    for name, page in generated(bare):
        for text in Visible(page).texts:
            for pattern in LITERAL:
                assert not re.search(pattern, text), f"{name}: {pattern}: {text!r}"


def test_a_bare_site_renders_what_our_markdown_means(bare: Built) -> None:
    for name, page in generated(bare):
        parsed = Parsed(content(page))
        if "nothing" not in name:
            assert parsed.all("table") and all(e.text for e in parsed.all("th")), name
        assert parsed.all("h1")
        for picture in parsed.all("img"):
            assert len(picture.attributes["alt"]) > 20, "alt text states the finding"
            target = (bare.site / name).parent / picture.attributes["src"].partition("#")[0]
            assert target.is_file(), f"{name}: {target}"
        for link in parsed.all("a"):
            href = link.attributes.get("href", "")
            if href and not href.startswith(("#", "http")):
                there = (bare.site / name).parent / href.partition("#")[0]
                assert (there / "index.html").is_file() or there.is_file(), f"{name}: {href}"
        ids = [e.attributes["id"] for e in parsed.elements if "id" in e.attributes]
        assert len(ids) == len(set(ids)), f"{name}: an id stands twice"
        for link in parsed.all("a"):
            href = link.attributes.get("href", "")
            if href.startswith("#") and len(href) > 1:
                assert href[1:] in ids, f"{name}: {href}"


def test_paragraphs_and_blocks_are_nested_as_html_allows(bare: Built) -> None:
    """A block inside a paragraph would close it: browsers would show another page than we wrote."""
    for name, page in generated(bare):
        assert not re.search(r"<p>\s*<(div|table|ul|h[1-6]|p)\b", content(page)), name
        assert not re.search(r"<p>\s*</p>", content(page)), name
        checker = _Nesting()
        checker.feed(content(page))
        assert not checker.wrong, f"{name}: {checker.wrong[:3]}"
        assert not checker.open, f"{name}: {checker.open}"


class _Nesting(HTMLParser):
    VOID = ("br", "hr", "img", "input", "meta", "link")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if not self.open and tag == "div":
            return  # the theme's own, around the content
        if not self.open or self.open[-1] != tag:
            self.wrong.append(f"</{tag}> at {self.getpos()} inside {self.open[-3:]}")
        elif tag not in self.VOID:
            self.open.pop()


def test_the_repository_names_no_machine() -> None:
    """What is tracked builds anywhere: no absolute path of the machine that it was written on."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("no git here: a source archive")
    home = str(REPOSITORY.parent)
    for name in listed.stdout.split("\0"):
        path = REPOSITORY / name
        if name and path.is_file() and path.stat().st_size < 1_000_000:
            text = path.read_bytes().decode("utf-8", "ignore")
            assert f"{home}/" not in text, name
