"""What the plugin and the command both decide from the options: paths, and which of them cannot be. Knows no MkDocs."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mkdocs_sweepprof.site import Message, Options

ROOTS = ("collections",)
PAGE_NAME = "profiling.md"
CACHE = ".cache/plugin/sweepprof"


class Refused(ValueError):
    """Something that cannot be done as asked; the message says why and what to do. Nothing was written."""


class BadOption(Refused):
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


def readable_folder(path: Path, base: Path) -> None:
    """Refuse what is no folder of runs that can be looked into.

    Raises:
        Refused: it is not there, is a file, or cannot be read; the message says what to name instead.
    """
    name = shown(path, base)
    try:
        with os.scandir(path):
            return
    except FileNotFoundError:
        raise Refused(f"'{name}' does not exist. Name the folder that holds the runs.") from None
    except NotADirectoryError:
        parent = shown(path.parent, base)
        where = f"the folder that it lies in ('{parent}')" if path.is_file() else "the folder that holds the runs"
        raise Refused(f"'{name}' is a file, and runs are read from folders. Name {where}.") from None
    except OSError as error:
        raise Refused(
            f"'{name}' cannot be read ({error.strerror or error}). Check its permissions, or name another folder."
        ) from None


def inside(path: Path, folder: Path) -> bool:
    """Whether ``path`` is ``folder`` or lies in it, links resolved."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def shown(path: Path, base: Path) -> str:
    """A path for a message: relative to ``base`` where it lies in it."""
    try:
        return path.relative_to(base).as_posix()
    except ValueError:
        return path.as_posix()


# --- mkdocs.yml without MkDocs ---------------------------------------------------------------------------------------

CONFIG_NAMES = ("mkdocs.yml", "mkdocs.yaml")
MAX_INHERIT = 20
"""Files that may follow each other by INHERIT."""
_LISTS = ("roots", "publish_fields", "redact")
_TEXTS = ("page_name", "cache_dir", "templates", "nav")


class BadProject(Refused):
    """``mkdocs.yml`` cannot be used; the message names the file and what to do."""


@dataclass(frozen=True, slots=True)
class Project:
    """What the command knows of a site."""

    config: Path | None
    """``mkdocs.yml``; None when there is none."""
    docs: Path
    site: Path | None
    options: Options
    warnings: tuple[str, ...] = ()


def read_project(config: Path | None, cwd: Path, roots: Sequence[str] = ()) -> Project:
    """The site that ``mkdocs.yml`` describes, without loading MkDocs or its plugins.

    Args:
        config: the file; None: ``mkdocs.yml`` in ``cwd`` when it is there, else the defaults.
        cwd: the working directory.
        roots: used instead of the option ``roots``, relative to ``cwd``.

    Raises:
        BadProject: the file is missing or does not parse.
        BadOption: one of the plugin's options cannot work.
    """
    if config is None:
        config = next((cwd / name for name in CONFIG_NAMES if (cwd / name).is_file()), None)
    else:
        config = Path(os.path.normpath(cwd / config))
        if not config.is_file():
            what = "is a folder" if config.is_dir() else "does not exist"
            raise BadProject(f"{config} {what}. Name the site's mkdocs.yml with -f.")
    values = _inherited(config) if config is not None else {}
    base = config.parent if config is not None else cwd
    given, warnings = _plugin_options(values, config)
    if roots:
        given["roots"] = [str(resolve(cwd, root)) for root in check_roots(roots)]
    given.pop("nav", None)
    options = make_options(base, **given)
    docs = resolve(base, _text(values, "docs_dir", "docs"))
    site = resolve(base, _text(values, "site_dir", "site")) if config is not None else None
    check_places(options, docs, site)
    return Project(config, docs, site, options, tuple(warnings))


def _text(values: Mapping[str, Any], key: str, default: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) and value else default


def _plugin_options(values: Mapping[str, Any], config: Path | None) -> tuple[dict[str, Any], list[str]]:
    """The options of the plugin ``sweepprof`` among the ``plugins``, each of the right kind."""
    plugins = values.get("plugins")
    entries: list[tuple[Any, Any]] = []
    if isinstance(plugins, Mapping):
        entries = list(plugins.items())
    elif isinstance(plugins, list):
        for item in plugins:
            entries.extend(item.items() if isinstance(item, Mapping) else [(item, None)])
    raw = next((options for name, options in entries if name == "sweepprof"), None)
    if raw is None:
        return {}, []
    if not isinstance(raw, Mapping):
        raise BadProject(
            f"{config}: the options of the plugin 'sweepprof' must be a mapping, like 'roots: collections'."
        )
    given: dict[str, Any] = {}
    warnings: list[str] = []
    for name, value in raw.items():
        if name in _LISTS:
            texts = [value] if isinstance(value, str) else value
            if not isinstance(texts, list) or not all(isinstance(t, str) for t in texts):
                raise BadOption(name, f"must be a list of texts, not {value!r}.")
            given[name] = texts
        elif name in _TEXTS:
            if not isinstance(value, str) and not (value is None and name == "templates"):
                raise BadOption(name, f"must be a text, not {value!r}.")
            given[name] = value
        elif name not in ("watch", "enabled"):
            near = difflib.get_close_matches(str(name), (*_LISTS, *_TEXTS, "watch"), 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            warnings.append(f"{config}: the plugin 'sweepprof' has no option {name!r}.{hint}")
    return given, warnings


def _inherited(config: Path) -> dict[str, Any]:
    """The file's values over those it inherits, as MkDocs merges them: mappings by key, all else replaced."""
    chain: list[dict[str, Any]] = []
    path: Path | None = config
    while path is not None:
        if len(chain) >= MAX_INHERIT:
            raise BadProject(f"{config}: INHERIT goes round in a circle, or too deep. Shorten the chain.")
        values = _read_yaml(path)
        chain.append(values)
        parent = values.pop("INHERIT", None)
        if parent is None:
            break
        inherited = Path(os.path.normpath(path.parent / str(parent)))
        if not inherited.is_file():
            raise BadProject(f"{path}: INHERIT names {parent}, which does not exist. Mend the path.")
        path = inherited
    merged: dict[str, Any] = {}
    for values in reversed(chain):
        merged = _merge(merged, values)
    return merged


def _merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    out = dict(below)
    for key, value in above.items():
        old = out.get(key)
        out[key] = _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return out


def _read_yaml(path: Path) -> dict[str, Any]:
    """One file. Its tags are data here: ``!ENV`` is looked up as MkDocs does, the others (Python names) become None."""
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    def environment(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return _plain(os.environ.get(node.value))
        if not isinstance(node, yaml.SequenceNode):
            return None
        *names, default = loader.construct_sequence(node, deep=True)
        if not names:
            names, default = [default], None
        return next((_plain(os.environ[str(n)]) for n in names if str(n) in os.environ), default)

    Loader.add_constructor("!ENV", environment)
    Loader.add_multi_constructor("", lambda loader, suffix, node: None)
    try:
        loaded = yaml.load(path.read_text(encoding="utf-8-sig"), Loader=Loader)  # noqa: S506 - a SafeLoader
    except OSError as error:
        raise BadProject(f"{path} cannot be read ({error.strerror or error}). Check its permissions.") from None
    except UnicodeDecodeError:
        raise BadProject(f"{path} is not UTF-8 text. Save it as UTF-8.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else f"{path}"
        raise BadProject(f"{where}: not valid YAML ({getattr(error, 'problem', None) or error}). Mend it.") from None
    except (RecursionError, ValueError, TypeError) as error:
        raise BadProject(f"{path}: not valid YAML ({error}). Mend it.") from None
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise BadProject(f"{path}: must be a mapping of keys, like 'site_name: Notebook'.")
    return {str(key): value for key, value in loaded.items()}


def _plain(text: str | None) -> Any:
    """An environment variable's value, read as YAML, as MkDocs does."""
    import yaml

    try:
        return yaml.safe_load(text) if text is not None else None
    except yaml.YAMLError:
        return text
