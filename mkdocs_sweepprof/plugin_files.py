"""Our pages and assets among the files of an MkDocs site."""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote as percent_encode

from mkdocs.config import config_options as c
from mkdocs.structure.files import File, Files, InclusionLevel

from mkdocs_sweepprof import project
from mkdocs_sweepprof.export import MANIFEST, NAV, exported
from mkdocs_sweepprof.site import SCRIPT, STYLE, Entry, Message, Options, Site

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

RAW_SHOWN = 3
"""Files named in the warning about a collection inside the docs folder."""
HARMLESS = (
    ".md",
    ".markdown",
    ".mdown",
    ".mkdn",
    ".mkd",
    ".png",
    ".jpg",
    ".jpeg",
    ".gif",
    ".svg",
    ".webp",
    ".pdf",
    ".css",
)
"""Files inside a root inside the docs folder that may be published: pages and what they show."""


@dataclass(slots=True)
class Added:
    """What of a site was added."""

    pages: set[str] = field(default_factory=set)
    """Source paths of the pages that are ours in this build."""
    contents: dict[str, str | bytes] = field(default_factory=dict)
    """Source path → content, pages and assets."""
    entries: list[Entry] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)


def add(files: Files, config: MkDocsConfig, site: Site, options: Options, *, in_nav: bool) -> Added:
    """Add a site's pages and assets, in place: other plugins hold on to ``files``.

    What collides with a hand-written page, by source or by URL, is left out and reported. What `sweepprof export` wrote
    into the docs folder is not hand-written: the fresh files stand in for it, in the site only.
    """
    result = Added()
    old = _exported(files, config)
    if any(src != NAV for src in old):
        result.messages.append(_was_exported(len(old), config, options))
    for src in (*(p.src_uri for p in site.pages), *(a.src_uri for a in site.assets)):
        if src in old:
            files.remove(old[src])
    taken = {f.dest_uri: f for f in files if _included(f)}
    hand_written = written(files, config)
    added: list[File] = []
    pages = {page.src_uri: page for page in site.pages}
    contents: list[tuple[str, str | bytes, Path | None]] = [
        *((p.src_uri, p.markdown, p.path) for p in site.pages),
        *((a.src_uri, a.content, a.path) for a in site.assets),
    ]
    for src_uri, content, path in contents:
        file = File.generated(config, src_uri, content=content)
        there = files.get_file_from_path(src_uri) if src_uri in files.src_uris else None
        rival = there or taken.get(file.dest_uri) or hand_written.get(src_uri)
        if rival is not None:
            result.messages.append(_collision(src_uri, rival, ours=rival in added))
            if there is None and src_uri in pages:
                # Links to it must not break: excluded, it still stands for the URL that both have.
                file.inclusion = InclusionLevel.EXCLUDED
                files.append(file)
            continue
        if has_i18n(config):
            file.abs_src_path = os.path.normpath(Path(config.docs_dir, src_uri))
        elif path is not None:
            file.abs_src_path = str(path)
        if src_uri in pages:
            file.edit_uri = edit_uri(pages[src_uri].edit, config, options)
            result.pages.add(src_uri)
            if not in_nav:
                file.inclusion = InclusionLevel.NOT_IN_NAV
        result.contents[src_uri] = content
        taken[file.dest_uri] = file
        added.append(file)
        files.append(file)
    result.entries = [e for e in site.entries if e.src_uri in result.pages]
    _sort(files, result.entries)
    if files.get_file_from_path(STYLE) is not None and STYLE not in config.extra_css:
        config.extra_css.append(STYLE)
    if files.get_file_from_path(SCRIPT) is not None and SCRIPT not in map(str, config.extra_javascript):
        script = c.ExtraScriptValue(SCRIPT)
        script.defer = True
        config.extra_javascript.append(script)
    return result


def _collision(src_uri: str, rival: File, *, ours: bool) -> Message:
    if ours:
        return Message(
            "warning",
            f"Two collections make '{src_uri}' ('{rival.src_uri}' has the same URL); the first is shown. "
            "Rename one of the folders.",
        )
    if rival.src_uri == src_uri:
        return Message("info", f"'{src_uri}' is hand-written and stands; the generated one is left out.")
    return Message(
        "info",
        f"'{rival.src_uri}' has the URL of the generated '{src_uri}' and stands; the generated one is left out. "
        "Rename one, or set another 'page_name', to have both.",
    )


def _exported(files: Files, config: MkDocsConfig) -> dict[str, File]:
    """The files that an export wrote into the docs folder and nobody changed since, by source path."""
    names = exported(Path(config.docs_dir))
    return {f.src_uri: f for f in files if f.src_uri in names and f.generated_by is None} if names else {}


def _was_exported(count: int, config: MkDocsConfig, options: Options) -> Message:
    docs = project.shown(Path(config.docs_dir), options.base)
    return Message(
        "warning",
        f"The docs folder '{docs}' holds {count} {'file' if count == 1 else 'files'} that `sweepprof export` wrote; "
        "where the plugin makes them too, its own are shown. Remove the exported files (listed in "
        f"'{docs}/{MANIFEST}'), or take the plugin 'sweepprof' out of the site.",
    )


def _sort(files: Files, entries: list[Entry]) -> None:
    """Bring each note behind its results or design page, in place: plugins that make a nav go by the order of files."""
    follow: dict[str, File] = {}
    for entry in entries:
        anchor = next((p for p in (entry.results, entry.design) if p and p in files.src_uris), None)
        if anchor is not None:
            follow[anchor] = files.src_uris[entry.src_uri]
    if not follow:
        return
    moved = set(map(id, follow.values()))
    order: list[File] = []
    for file in files:
        if id(file) not in moved:
            order.append(file)
            if (note := follow.get(file.src_uri)) is not None:
                order.append(note)
    for file in order:
        files.remove(file)
        files.append(file)


def edit_uri(target: Path | None, config: MkDocsConfig, options: Options) -> str | None:
    """The path from the docs folder to what an edit link opens, or None where no link can be made."""
    if target is None:
        return None
    repository = _repository(options.base)
    if not project.inside(target, repository):
        return None
    docs = os.path.realpath(config.docs_dir)
    path = percent_encode(os.path.relpath(os.path.realpath(target), docs).replace(os.sep, "/"))
    if config.edit_uri_template:
        return path
    edit = config.edit_uri or ""
    if edit.startswith(("?", "#")):
        return None  # the path is in a query there: ".." would not be resolved
    if target.is_dir():
        parts = edit.strip("/").split("/")
        if "edit" in parts:
            # A folder cannot be edited but shown.
            parts[parts.index("edit")] = "tree"
            return posixpath.join("../" * len(parts), posixpath.normpath(posixpath.join("/".join(parts), path)))
    return path


def _repository(base: Path) -> Path:
    """The repository that holds ``base``; ``base`` itself when there is none."""
    return next((folder for folder in (base, *base.parents) if (folder / ".git").exists()), base)


def keep_raw_runs_out(files: Files, config: MkDocsConfig, options: Options) -> list[Message]:
    """A root inside the docs folder: MkDocs would publish the raw runs, secrets and all."""
    messages: list[Message] = []
    docs = Path(config.docs_dir)
    for root in options.roots:
        if not project.inside(root, docs) or not root.is_dir():
            continue
        raw = [
            f
            for f in files
            if _included(f)
            and f.abs_src_path
            and f.generated_by is None
            and not f.src_uri.lower().endswith(HARMLESS)
            and project.inside(Path(f.abs_src_path), root)
        ]
        if not raw:
            continue
        for file in raw:
            file.inclusion = InclusionLevel.EXCLUDED
        name = project.shown(root, options.base)
        there = os.path.relpath(os.path.realpath(root), os.path.realpath(docs)).replace(os.sep, "/")
        pattern = "/**/runs/" if there == "." else f"/{there}/**/runs/"
        some = ", ".join(f.src_uri for f in raw[:RAW_SHOWN]) + (", …" if len(raw) > RAW_SHOWN else "")
        messages.append(
            Message(
                "warning",
                f"The root '{name}' lies inside the docs folder, where MkDocs publishes every file as it is: "
                f"{len(raw)} raw {'file is' if len(raw) == 1 else 'files are'} kept out of the site ({some}). "
                f"Move the root beside the docs folder, or name these files in 'exclude_docs' ('{pattern}').",
            )
        )
    return messages


def _included(file: File) -> bool:
    return bool(file.inclusion.value > InclusionLevel.DRAFT.value)


# --- static-i18n ---


def has_i18n(config: MkDocsConfig) -> bool:
    return "i18n" in config.plugins


def written(files: Files, config: MkDocsConfig) -> dict[str, File]:
    """Hand-written pages by the source paths that links name them by; those that an export made are none.

    With static-i18n these are without the language (``design.md`` for ``en/design.md`` or ``design.en.md``).
    """
    old = _exported(files, config)
    found = {
        f.src_uri: f for f in files.documentation_pages() if f.generated_by != "sweepprof" and f.src_uri not in old
    }
    i18n = config.plugins.get("i18n")
    languages = getattr(i18n, "all_languages", ())
    for uri, file in list(found.items()):
        first, _, rest = uri.partition("/")
        stem, _, language = uri.removesuffix(".md").rpartition(".")
        if first in languages and rest:
            found.setdefault(rest, file)
        elif language in languages and stem:
            found.setdefault(f"{stem}.md", file)
    return found


def restore_translations(files: Files, config: MkDocsConfig, added: Added) -> None:
    """Give our files their content back: static-i18n makes new ones from paths in the docs folder, in each language."""
    if not has_i18n(config):
        return
    for file in files:
        content = added.contents.get(file.src_uri)
        if content is None:
            continue
        file.generated_by = "sweepprof"
        if isinstance(content, str):
            file.content_string = content
            continue
        file.content_bytes = content
        language = getattr(file, "locale_alternate_of", None)
        if file.src_uri in (STYLE, SCRIPT) or not language:
            continue
        # A page of another language shows its figures from its own folder.
        prefix = _prefix(files, added.pages)
        if prefix and not file.dest_uri.startswith(prefix):
            file.dest_uri = prefix + file.dest_uri
            file.abs_dest_path = os.path.normpath(Path(config.site_dir, file.dest_uri))
            file.url = percent_encode(file.dest_uri)


def _prefix(files: Files, pages: set[str]) -> str:
    """The folder of a language that static-i18n put before our pages: ``"fr/"``, or none."""
    for uri in pages:
        file = files.src_uris.get(uri)
        if file is None:
            continue
        plain = File(uri, None, "", file.use_directory_urls).dest_uri
        if file.dest_uri != plain and file.dest_uri.endswith(plain):
            return file.dest_uri.removesuffix(plain)
    return ""
