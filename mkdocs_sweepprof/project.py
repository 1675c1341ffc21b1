"""What the plugin and the command both decide from the options: paths, and which of them cannot be. Knows no MkDocs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from mkdocs_sweepprof.site import Message, Options

ROOTS = ("collections",)
PAGE_NAME = "profiling.md"
CACHE = ".cache/plugin/sweepprof"


class BadOption(ValueError):
    """An option that cannot work: its name, and a message that says what to do."""

    def __init__(self, option: str, message: str) -> None:
        super().__init__(f"option '{option}': {message}")
        self.option = option
        self.message = message


def check_page_name(name: str) -> str:
    """The name if it can be a page's file name.

    Raises:
        BadOption: it cannot.
    """
    if not name.endswith(".md") or "/" in name or "\\" in name or name.startswith(".") or not name.isprintable():
        raise BadOption("page_name", f"{name!r} is no name of a Markdown page. Write one like {PAGE_NAME!r}.")
    return name


def check_roots(roots: Sequence[str]) -> list[str]:
    """The roots, if there are any and none is empty.

    Raises:
        BadOption: otherwise.
    """
    if not roots or not all(root.strip() for root in roots):
        raise BadOption("roots", f"names no folder. Write one like {ROOTS[0]!r}, or leave the option out.")
    return list(roots)


def resolve(base: Path, path: str) -> Path:
    """A path as an option gives it, made absolute from the folder of ``mkdocs.yml``; links are left as they are."""
    return Path(os.path.normpath(base / Path(path).expanduser()))


def make_options(
    base: Path,
    *,
    roots: Sequence[str] = ROOTS,
    page_name: str = PAGE_NAME,
    cache_dir: str | None = CACHE,
    publish_fields: Sequence[str] = (),
    redact: Sequence[str] = (),
    templates: str | None = None,
) -> Options:
    """Options with absolute paths. ``cache_dir`` None: remember nothing.

    Raises:
        BadOption: a value that cannot work.
    """
    found = tuple(dict.fromkeys(resolve(base, root) for root in check_roots(roots)))
    overrides = resolve(base, templates) if templates else None
    if overrides is not None and not overrides.is_dir():
        raise BadOption("templates", f"{overrides} is no folder. Make it, or leave the option out.")
    return Options(
        roots=found,
        cache=resolve(base, cache_dir) if cache_dir else None,
        base=base,
        page_name=check_page_name(page_name),
        publish_fields=tuple(publish_fields),
        redact=tuple(redact),
        templates=overrides,
    )


def check_places(options: Options, docs: Path | None, site: Path | None) -> None:
    """Refuse folders that would destroy or feed on each other.

    Raises:
        BadOption: a root that a build empties or writes into, a root inside another, a store among hand-written files.
    """
    for root in options.roots:
        name = shown(root, options.base)
        if site is not None and (inside(root, site) or inside(site, root)):
            raise BadOption(
                "roots",
                f"'{name}' and the site folder '{shown(site, options.base)}' lie in each other: a build empties the "
                "site folder, and what it writes there would be read as runs. Name the folder that holds the "
                "collections and nothing else.",
            )
        for other in options.roots:
            if other != root and inside(root, other):
                raise BadOption(
                    "roots",
                    f"'{name}' lies inside '{shown(other, options.base)}', which is a root too. Name one of them.",
                )
    if options.cache is None:
        return
    name = shown(options.cache, options.base)
    if inside(options.base, options.cache):
        raise BadOption(
            "cache_dir", f"'{name}' holds mkdocs.yml. Name a folder that holds nothing else, like {CACHE!r}."
        )
    for what, place in (("the docs folder", docs), ("the site folder", site), *(("a root", r) for r in options.roots)):
        if place is None:
            continue
        inner = Path(os.path.relpath(options.cache, place)).parts
        # Hidden folders are neither published nor read.
        hidden = what != "the site folder" and any(part.startswith(".") and part != ".." for part in inner[:-1])
        if inside(place, options.cache) or (inside(options.cache, place) and not hidden):
            raise BadOption(
                "cache_dir",
                f"'{name}' and {what} '{shown(place, options.base)}' lie in each other. "
                f"Name a folder that holds nothing else, like {CACHE!r}.",
            )


def missing_roots(options: Options) -> list[Message]:
    """One warning for each root that is not there, or is a file."""
    out = []
    for root in options.roots:
        if root.is_dir():
            continue
        name = shown(root, options.base)
        what = "is a file, not a folder of collections" if root.exists() else "does not exist"
        remedy = (
            f"Make the folder and put a folder of runs into it ({name}/<collection>/), "
            "or name the right one with the option 'roots' of the plugin 'sweepprof'."
        )
        out.append(Message("warning", f"The root '{name}' {what}. {remedy}"))
    return out


def inside(path: Path, folder: Path) -> bool:
    """Whether ``path`` is ``folder`` or lies in it, links resolved."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def shown(path: Path, base: Path) -> str:
    """A path for a message: relative to ``base`` where it lies in it."""
    try:
        return path.relative_to(base).as_posix()
    except ValueError:
        return path.as_posix()
