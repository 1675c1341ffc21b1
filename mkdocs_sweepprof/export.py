"""Writing a site's notes as plain files, for builders that run no MkDocs plugins.

What was written is listed, with digests, in a manifest in the folder: only changed files are written again, only files
that are still as they were written are replaced or removed, and all others are left alone.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs_sweepprof import __version__, nav
from mkdocs_sweepprof.project import Project, Refused, inside, shown
from mkdocs_sweepprof.site import OVERVIEW, SCRIPT, STYLE, Site
from mkdocs_sweepprof.store import digest, write_atomic

MANIFEST = ".sweepprof-export.json"
"""Lists what export wrote into a folder."""
NAV = "nav.yml"
MARKDOWN = (".md", ".markdown", ".mdown", ".mkdn", ".mkd")


class BadTarget(Refused):
    """A folder that must not be exported into; the message says which to name instead."""


@dataclass(slots=True)
class Exported:
    """What an export did, by path relative to the folder."""

    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    kept: list[tuple[str, str]] = field(default_factory=list)
    """(path, why) of files that were not ours to write or remove."""


def check_target(out: Path, project: Project) -> None:
    """Refuse a folder in which an export would harm.

    Raises:
        BadTarget: it is (in) a root, the site folder or the store, or holds mkdocs.yml.
    """
    options = project.options
    name = shown(out, options.base)
    docs = shown(project.docs, options.base)
    remedy = f"Export into the docs folder ('{docs}') or into one of its own."
    nearest = next((p for p in (out, *out.parents) if p.exists()), out)
    if not nearest.is_dir():
        raise BadTarget(f"'{shown(nearest, options.base)}' is a file. {remedy}")
    for root in options.roots:
        if inside(out, root):
            raise BadTarget(f"'{name}' lies in the root '{shown(root, options.base)}', where runs are read. {remedy}")
    if project.site is not None and inside(out, project.site):
        raise BadTarget(f"'{name}' lies in the site folder, which a build empties. {remedy}")
    if options.cache is not None and (inside(out, options.cache) or inside(options.cache, out)):
        raise BadTarget(f"'{name}' and the store '{shown(options.cache, options.base)}' lie in each other. {remedy}")
    if project.config is not None and inside(project.config.parent, out):
        raise BadTarget(f"'{name}' holds mkdocs.yml. {remedy}")


def hand_written(project: Project, out: Path) -> frozenset[str]:
    """Source paths of the Markdown pages in the docs folder and in ``out``, without those that an export made."""
    found: set[str] = set()
    for folder in {os.path.realpath(project.docs): project.docs, os.path.realpath(out): out}.values():
        ours = exported(folder)
        found.update(name for name in _walk(folder) if name.lower().endswith(MARKDOWN) and name not in ours)
    return frozenset(found)


def exported(folder: Path) -> frozenset[str]:
    """Paths of the files in a folder that an export wrote there, and that are still as it wrote them.

    One that was changed since is its writer's: it counts as hand-written.
    """
    return frozenset(name for name, known in _read_manifest(folder).items() if _state(folder, name) in known)


def export(site: Site, out: Path, roots: tuple[Path, ...] = ()) -> Exported:
    """Write the site's pages, assets and nav fragment below ``out``.

    Raises:
        OSError: the folder cannot be written; files are whole or as they were, and the next export goes on from there.
    """
    done = Exported()
    manifest = _read_manifest(out)
    wanted: dict[str, bytes] = {}
    for name, content in _contents(site):
        if _safe(name) is None:
            done.kept.append((name, "leads out of the folder"))
        elif name in wanted:
            done.kept.append((name, "two collections make it; the first was written"))
        elif any(inside(out / name, root) for root in roots):
            done.kept.append((name, "lies in a root, where runs are read"))
        else:
            wanted[name] = content
    found = {name: digest(content) for name, content in wanted.items()}
    mine: dict[str, list[str]] = {}
    todo: list[str] = []
    for name, now in found.items():
        state = _state(out, name)
        if rival := _rival(out, name, manifest, found):
            done.kept.append((name, f"'{rival}' has its URL and was written by hand"))
        elif state is None or state in manifest.get(name, ()) or (state == now and name in manifest):
            mine[name] = [now]
            if state == now:
                done.unchanged.append(name)
            else:
                todo.append(name)
        elif state == now:
            done.unchanged.append(name)  # the same, but not made by us: never ours to replace or remove
        else:
            done.kept.append((name, "was written or changed by hand"))
    stale = [name for name in manifest if name not in mine]
    # An interrupted export must know its own files the next time: the list comes first, with both states.
    plan = {name: sorted({*manifest.get(name, ()), *mine.get(name, ())}) for name in (*manifest, *mine)}
    if todo or stale:
        out.mkdir(parents=True, exist_ok=True)
        _write_manifest(out, plan)
    for name in todo:
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, wanted[name])
        done.written.append(name)
    for name in stale:
        state = _state(out, name) if _safe(name) else None
        if state is None:
            continue
        if state in manifest[name]:
            (out / name).unlink()
            _remove_empty(out, (out / name).parent)
            done.removed.append(name)
        elif name not in found:
            done.kept.append((name, "is not needed any more, but was changed by hand"))
    if todo or stale:
        _write_manifest(out, mine)
    for names in (done.written, done.unchanged, done.removed):
        names.sort()
    done.kept.sort()
    return done


def nav_fragment(site: Site) -> str:
    """The text of ``nav.yml``: the section of notes, to be put into a ``nav``."""
    import yaml

    pages = {page.src_uri for page in site.pages}
    fragment = nav.fragment(site.entries, OVERVIEW in pages)
    text = yaml.safe_dump(fragment, sort_keys=False, allow_unicode=True, width=1000) if fragment else "[]\n"
    assets = {asset.src_uri for asset in site.assets}
    extra = [f"# extra_css: [{STYLE}]\n"] if STYLE in assets else []
    extra += [f"# extra_javascript: [{SCRIPT}]\n"] if SCRIPT in assets else []
    return "# Made by sweepprof export: put this under 'nav:' in mkdocs.yml, and beside it\n" + "".join(extra) + text


def _contents(site: Site) -> Iterator[tuple[str, bytes]]:
    for page in site.pages:
        yield page.src_uri, page.markdown.encode("utf-8", "replace")
    for asset in site.assets:
        yield asset.src_uri, asset.content
    yield NAV, nav_fragment(site).encode()


def _safe(name: str) -> str | None:
    """A relative path that stays below its folder, else None."""
    parts = PurePosixPath(name).parts
    return name if parts and not name.startswith("/") and ".." not in parts and name != MANIFEST else None


def _state(out: Path, name: str) -> str | None:
    """The digest of what lies at a path; None when nothing does; ``other`` for what is no plain file of this folder."""
    path = out / name
    if path.is_symlink() or not inside(path.parent, out):
        return "other"
    try:
        return digest(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError:
        return "other"


def _rival(out: Path, name: str, manifest: dict[str, list[str]], wanted: dict[str, str]) -> str | None:
    """A hand-written page that would be built to the same URL as ours."""
    if not name.endswith(".md"):
        return None
    stem = name.removesuffix(".md")
    folder, _, last = stem.rpartition("/")
    if last == "index":
        others = [f"{folder}/README.md".lstrip("/"), f"{folder}.md" if folder else ""]
    else:
        others = [f"{stem}/index.md", f"{stem}/README.md", f"{stem}.html"]
    return next((o for o in others if o and o not in manifest and o not in wanted and (out / o).is_file()), None)


def _walk(folder: Path) -> Iterator[str]:
    for here, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                yield Path(here, name).relative_to(folder).as_posix()


def _read_manifest(out: Path) -> dict[str, list[str]]:
    """Path → the digests under which we know it. Empty when there is no manifest or it is not ours."""
    try:
        raw: Any = json.loads((out / MANIFEST).read_bytes())
        files = raw["files"]
        return {str(k): [str(d) for d in v] for k, v in files.items()} if raw["made_by"] == "mkdocs-sweepprof" else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _write_manifest(out: Path, files: dict[str, list[str]]) -> None:
    body = {
        "made_by": "mkdocs-sweepprof",
        "version": __version__,
        "note": "Files that sweepprof export wrote here, with digests. Remove this file and they are yours.",
        "files": dict(sorted(files.items())),
    }
    write_atomic(out / MANIFEST, (json.dumps(body, indent=1) + "\n").encode())


def _remove_empty(out: Path, folder: Path) -> None:
    """Remove folders that a removed file leaves empty."""
    with contextlib.suppress(OSError):
        while folder != out and folder.is_relative_to(out):
            folder.rmdir()
            folder = folder.parent
