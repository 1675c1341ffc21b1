"""What a build costs in which no run changed: this site with the plugin, beside the same site with the notes as files.

    python bench/unchanged_build.py [--rounds 9] [--limit]

Both sites are built in one run, turn by turn, each in a process of its own: once with the notes remembered from a build
before, once with pages, figures and downloads lying in the docs folder and no plugin. Printed are the medians, their
difference and ratio. ``--limit`` fails above what the project allows itself: 10 % or 0.1 s, whichever is larger.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from mkdocs_sweepprof import nav, project
from mkdocs_sweepprof.build import build_site
from mkdocs_sweepprof.site import SCRIPT, STYLE

REPOSITORY = Path(__file__).resolve().parents[1]


class _Loader(yaml.SafeLoader):
    """mkdocs.yml without what is not plain YAML (``!ENV``): those values do not matter here."""


_Loader.add_multi_constructor("!", lambda loader, suffix, node: None)


def copy(folder: Path) -> None:
    folder.mkdir()
    shutil.copy(REPOSITORY / "mkdocs.yml", folder)
    for name in ("docs", "collections"):
        shutil.copytree(REPOSITORY / name, folder / name)


def as_files(folder: Path) -> None:
    """Turn a copy of the site into one with the notes as hand-written files, and without the plugin."""
    docs = folder / "docs"
    sources = frozenset(p.relative_to(docs).as_posix() for p in docs.rglob("*.md"))
    site = build_site(project.make_options(folder, cache_dir=None), sources)
    for uri, content in [
        *((p.src_uri, p.markdown) for p in site.pages),
        *((a.src_uri, a.content) for a in site.assets),
    ]:
        path = docs / uri
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    config = yaml.load((folder / "mkdocs.yml").read_text("utf-8"), _Loader)
    config["plugins"] = [p for p in config["plugins"] if p != "sweepprof"]
    config["nav"] = nav.place(config["nav"], site.entries, overview=True)
    config["extra_css"], config["extra_javascript"] = [STYLE], [SCRIPT]
    config["site_url"] = "http://127.0.0.1:8000/"
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    shutil.rmtree(folder / "collections")


def build(folder: Path) -> tuple[float, float]:
    """One strict build in a fresh process: seconds of wall time and of processor time."""
    # With compiled modules on disk, as every installation has them: a machine may be told not to write any.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["NO_MKDOCS_2_WARNING"] = "1"
    before, began = os.times(), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"],
        cwd=folder,
        env=environment,
        check=True,
        stderr=subprocess.DEVNULL,
    )
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - began, used


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--limit", action="store_true", help="exit 1 when the overhead is above the limit")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        plugin, files = Path(scratch, "plugin"), Path(scratch, "files")
        copy(plugin)
        copy(files)
        as_files(files)
        first, _ = build(plugin)
        build(files)
        print(f"first build, nothing remembered: {first:.2f} s")
        with_plugin, without = [], []
        for turn in range(arguments.rounds):
            # The order changes, so that neither is always the one behind a warm disk.
            for folder, times in [(plugin, with_plugin), (files, without)][:: 1 if turn % 2 else -1]:
                times.append(build(folder))
    overhead = allowed = 0.0
    # Processor time hardly depends on what else the machine does; wall time is what a person waits for.
    for which, name in enumerate(("wall", "processor")):
        mine, plain = [t[which] for t in with_plugin], [t[which] for t in without]
        a, b = statistics.median(mine), statistics.median(plain)
        print(f"{name} time, median of {arguments.rounds} (least to most):")
        print(f"  unchanged, with the plugin  {a:.2f} s  ({min(mine):.2f} to {max(mine):.2f})")
        print(f"  the same pages as files     {b:.2f} s  ({min(plain):.2f} to {max(plain):.2f})")
        print(f"  overhead {a - b:+.3f} s, {a / b - 1:+.1%}; allowed {max(0.1 * b, 0.1):.3f} s")
        if which == 0:
            overhead, allowed = a - b, max(0.1 * b, 0.1)
    return 1 if arguments.limit and overhead > allowed else 0


if __name__ == "__main__":
    sys.exit(main())
