"""Reading mkdocs.yml without MkDocs, and refusing folders that would harm each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from mkdocs_sweepprof.project import BadOption, BadProject, read_project


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_without_mkdocs_yml_the_defaults_hold(tmp_path: Path) -> None:
    project = read_project(None, tmp_path)
    assert project.config is None and project.site is None
    assert project.options.roots == (tmp_path / "collections",)
    assert project.docs == tmp_path / "docs"


def test_tags_of_other_plugins_do_no_harm_and_env_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEPS", "data/sweeps")
    write(
        tmp_path / "mkdocs.yml",
        """
site_name: !ENV [NOWHERE_SET, "x"]
docs_dir: !ENV [NOWHERE_SET, pages]
hooks: !relative $config_dir
plugins:
  - search
  - sweepprof:
      roots: !ENV SWEEPS
      redact: [a, "b*"]
markdown_extensions:
  - pymdownx.emoji:
      emoji_index: !!python/name:material.extensions.emoji.twemoji
      format: !!python/object/apply:os.system ["touch pwned"]
""",
    )
    project = read_project(None, tmp_path)
    assert project.options.roots == (tmp_path / "data/sweeps",)
    assert project.options.redact == ("a", "b*")
    assert project.docs == tmp_path / "pages"
    assert not (tmp_path / "pwned").exists() and not Path("pwned").exists()


def test_inherited_values_are_merged_as_mkdocs_does(tmp_path: Path) -> None:
    write(tmp_path / "base.yml", "docs_dir: d\nplugins:\n  sweepprof: {roots: a, page_name: p.md}\n  search: {}\n")
    write(tmp_path / "sub/mkdocs.yml", "INHERIT: ../base.yml\nplugins:\n  sweepprof: {roots: b}\n")
    project = read_project(Path("sub/mkdocs.yml"), tmp_path)
    assert project.options.roots == (tmp_path / "sub/b",)
    assert project.options.page_name == "p.md"
    assert project.docs == tmp_path / "sub/d"


def test_roots_of_the_command_line_are_relative_to_the_caller(tmp_path: Path) -> None:
    write(tmp_path / "site/mkdocs.yml", "plugins: [sweepprof]\n")
    project = read_project(Path("site/mkdocs.yml"), tmp_path, ["runs"])
    assert project.options.roots == (tmp_path / "runs",)
    assert project.options.base == tmp_path / "site"


def test_an_unknown_option_is_named_with_the_nearest(tmp_path: Path) -> None:
    write(tmp_path / "mkdocs.yml", "plugins:\n  - sweepprof: {root: x}\n")
    (warning,) = read_project(None, tmp_path).warnings
    assert "'root'" in warning and "'roots'" in warning


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [1\n", "mkdocs.yml:2: not valid YAML"),
        ("- a\n", "must be a mapping"),
        ("INHERIT: nowhere.yml\n", "nowhere.yml, which does not exist"),
        ("INHERIT: mkdocs.yml\n", "circle"),
        ("plugins:\n  - sweepprof: [1]\n", "must be a mapping"),
    ],
)
def test_a_bad_file_is_told(tmp_path: Path, text: str, words: str) -> None:
    write(tmp_path / "mkdocs.yml", text)
    with pytest.raises(BadProject, match=words):
        read_project(None, tmp_path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadProject, match="does not exist"):
        read_project(Path("other.yml"), tmp_path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("roots: 3", "roots"),
        ("roots: []", "roots"),
        ("page_name: x", "page_name"),
        ("cache_dir: 3", "cache_dir"),
        ("cache_dir: docs/c", "cache_dir"),
        ("roots: site/x", "empties the site folder"),
        ("templates: nowhere", "templates"),
    ],
)
def test_bad_options(tmp_path: Path, options: str, words: str) -> None:
    write(tmp_path / "mkdocs.yml", f"plugins:\n  - sweepprof:\n      {options}\n")
    with pytest.raises(BadOption, match=words):
        read_project(None, tmp_path)


def test_a_linked_root_in_the_site_folder_is_found_out(tmp_path: Path) -> None:
    write(tmp_path / "site/data/x", "")
    (tmp_path / "collections").symlink_to(tmp_path / "site/data")
    write(tmp_path / "mkdocs.yml", "plugins: [sweepprof]\n")
    with pytest.raises(BadOption, match="empties"):
        read_project(None, tmp_path)
