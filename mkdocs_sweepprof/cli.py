"""The command ``sweepprof``: options and output. What each command does is in the module of its name."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click

from mkdocs_sweepprof import __version__, project
from mkdocs_sweepprof.progress import bar
from mkdocs_sweepprof.site import Message

F = TypeVar("F", bound=Callable[..., Any])
FOLDER = click.Path(path_type=Path, readable=False)
"""Whether it can be read is said by the command, with what to do."""


class Usage(click.ClickException):
    """Something that the caller can put right: printed without a traceback, exit status 2."""

    exit_code = 2


def site_options(command: F) -> F:
    """``-f`` and ``--root``."""
    command = click.option(
        "-f",
        "--config-file",
        type=FOLDER,
        help="The site's mkdocs.yml.  [default: ./mkdocs.yml when it is there]",
    )(command)
    return click.option(
        "--root", "roots", multiple=True, help="A folder of collections, instead of the option 'roots'. Repeatable."
    )(command)


class Commands(click.Group):
    """The commands; output that cannot be written ends them without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except OSError as error:
            # What is still buffered would be tried, and complained of, once more as Python ends.
            for stream in (sys.stdout, sys.stderr) if isinstance(error, BrokenPipeError) else (sys.stdout,):
                with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
                    os.dup2(nowhere.fileno(), stream.fileno())
            if isinstance(error, BrokenPipeError):
                ctx.exit(1)  # whoever reads has seen enough: `sweepprof check | head`
            raise click.ClickException(f"The output cannot be written: {error.strerror or error}.") from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sweepprof")
def main() -> None:
    """Profiling notes for machine-learning sweeps, from the runs themselves."""


@main.command()
@site_options
@click.option("--out", required=True, type=FOLDER, help="The folder to write into; mostly the docs folder.")
@click.option("--strict", is_flag=True, help="Exit with 1 when there was a warning.")
@click.option("-q", "--quiet", is_flag=True, help="Say only what went wrong.")
def export(config_file: Path | None, roots: Sequence[str], out: Path, strict: bool, quiet: bool) -> None:
    """Write the notes as plain files, for builders that run no MkDocs plugins.

    The same pages, figures and downloads that the plugin puts into a site, and nav.yml, a fragment for the nav.
    Only changed files are written; files that export did not make are never touched; those that are not needed any
    more are removed.
    """
    from mkdocs_sweepprof import export as exporting
    from mkdocs_sweepprof.build import build_site

    with told():
        site_of = project.read_project(config_file, Path.cwd(), roots)
        target = project.resolve(Path.cwd(), str(out))
        exporting.check_target(target, site_of)
        docs = exporting.hand_written(site_of, target)
        with bar("Analysing") as progress:
            site = build_site(site_of.options, docs, progress)
        messages = [
            *(Message("warning", text) for text in site_of.warnings),
            *project.missing_roots(site_of.options),
            *site.messages,
        ]
        for message in messages:
            if not quiet or message.level == "warning":
                say(message.level, message.text)
        done = exporting.export(site, target, site_of.options.roots)
    for name, why in done.kept:
        say("info", f"{name}: {why}; it stands, and the exported one is left out.")
    if not quiet:
        click.echo(
            f"{target}: {len(done.written)} written, {len(done.unchanged)} unchanged, {len(done.removed)} removed"
            + (f", {len(done.kept)} left alone" if done.kept else "")
        )
    if strict and any(m.level == "warning" for m in messages):
        sys.exit(1)


@main.command()
@site_options
@click.argument("paths", nargs=-1, type=FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("-v", "--verbose", is_flag=True, help="Print every run.")
def check(config_file: Path | None, roots: Sequence[str], paths: Sequence[Path], as_json: bool, verbose: bool) -> None:
    """Say what is read from where, and what is wrong.

    PATHS are collections, or folders of collections; default: all roots. Writes nothing.
    Exit status: 0 all is well, 1 there were warnings, 2 wrong usage, as a path that does not exist.
    """
    from mkdocs_sweepprof import check as checking

    with told():
        site_of = project.read_project(config_file, Path.cwd(), roots)
        for text in site_of.warnings:
            say("warning", text)
        for root in roots:
            project.readable_folder(project.resolve(Path.cwd(), root), Path.cwd())
        with bar("Checking") as progress:
            done = checking.check(site_of.options, [project.resolve(Path.cwd(), str(p)) for p in paths], progress)
    if as_json:
        body = {
            "version": __version__,
            "warnings": done.warnings + len(site_of.warnings),
            "collections": [r.as_json() for r in done.reports],
            "unrecognised": [asdict(one) for one in done.unrecognised],
            "missing": done.missing,
            "faults": done.faults,
        }
        click.echo(json.dumps(body, indent=2))
    else:
        for line in checking.lines(done, verbose):
            click.echo(line)
    sys.exit(1 if done.warnings or site_of.warnings else 0)


@main.command()
@site_options
@click.argument("path", type=FOLDER)
@click.option("--pages", is_flag=True, help="Also write stubs of design.md and results.md into the docs.")
@click.option("--schema", metavar="FILE|URL", help="The JSON Schema that editors shall check the file with.")
def new(config_file: Path | None, roots: Sequence[str], path: Path, pages: bool, schema: str | None) -> None:
    """Write a commented collection.yml into the data folder PATH.

    Group, settings and candidate knobs are taken from the runs. Nothing that exists is overwritten.
    """
    from mkdocs_sweepprof import new as starting

    with told():
        site_of = project.read_project(config_file, Path.cwd(), roots)
        if schema is not None and "://" not in schema:
            schema = str(project.resolve(Path.cwd(), schema))
        done = starting.start(project.resolve(Path.cwd(), str(path)), site_of, pages, schema)
    for target in done.written:
        click.echo(f"written: {project.shown(target, Path.cwd())}")
    for target in done.kept:
        click.echo(f"exists, left as it is: {project.shown(target, Path.cwd())}")
    for hint in done.hints:
        say("info", hint)


@main.command()
def schema() -> None:
    """Print the JSON Schema of collection.yml, for editors.

    `sweepprof new --schema FILE` puts the line into a new collection.yml by which editors find it.
    """
    from mkdocs_sweepprof.schema import json_schema

    click.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))


@main.command()
@site_options
@click.argument("source", type=FOLDER)
@click.argument("dest", type=FOLDER)
@click.option("--force", is_flag=True, help="Replace also what was packed from other runs.")
def pack(config_file: Path | None, roots: Sequence[str], source: Path, dest: Path, force: bool) -> None:
    """Pack the raw runs in SOURCE into small tables in DEST, ready to commit.

    The tables give the same facts as the raw runs. Secrets are masked. Beside the tables lies pack.json, which says
    where they come from. Packing again replaces an older pack of the same runs. What is interrupted is marked in
    pack.json, and packing again goes on.
    """
    from mkdocs_sweepprof import pack as packing

    here = Path.cwd()
    with told():
        site_of = project.read_project(config_file, here, roots)
        for text in site_of.warnings:
            say("warning", text)
        with bar("Packing") as progress:
            done = packing.pack(
                project.resolve(here, str(source)),
                project.resolve(here, str(dest)),
                site_of.options,
                progress,
                force=force,
            )
    for one in done:
        for problem in one.problems:
            say(problem.severity, problem.text(f"{project.shown(one.source, here)}/"))
        click.echo(
            f"{project.shown(one.target, here)}: {one.runs} run{'' if one.runs == 1 else 's'} from {one.files} files, "
            f"{one.bytes_before:,} bytes packed to {one.bytes_after:,}"
        )


def say(level: str, text: str) -> None:
    """One message, to stderr."""
    click.echo(f"{level.upper()}: {text}", err=True)


@contextmanager
def told() -> Iterator[None]:
    """Errors that have a remedy, as messages."""
    try:
        yield
    except project.Refused as error:
        raise Usage(str(error)) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise click.ClickException(
            f"{where}{error.strerror or error}. Check the permissions and the room on the disk."
        ) from None


if __name__ == "__main__":
    main()
