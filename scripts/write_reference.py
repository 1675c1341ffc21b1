"""Write the reference of ``collection.yml`` from its schema: the guide's page and the published JSON Schema.

python scripts/write_reference.py            # write both
python scripts/write_reference.py --check    # exit 1 where they are not up to date (a test calls this)
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from pathlib import Path
from typing import Any

import click

from mkdocs_sweepprof import cli, plugin
from mkdocs_sweepprof.schema import json_schema

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "guide" / "collection-yml.md"
SCHEMA = DOCS / "guide" / "collection.schema.json"
OPTIONS = DOCS / "guide" / "options.md"
COMMANDS = DOCS / "guide" / "command-line.md"

HEAD = """\
<!-- Written by scripts/write_reference.py from mkdocs_sweepprof/schema.py: change it there. -->

# Reference of collection.yml

`collection.yml` stands in a collection's folder (`collection.yaml` is read as well). Every key is optional. What each
is good for is in [Writing a collection](collections.md); here are all of them, from the schema that the plugin checks
with.

An unknown key or a value of the wrong kind is a warning that names the file and line, and the nearest known key; the
note is then built with the defaults. Where a list is wanted, one value alone is as good as a list of one.

## In your editor

The [JSON Schema](collection.schema.json) of the file gives completion and checks while you type. Editors with the YAML
language server take it from the first line:

```yaml
# yaml-language-server: $schema=../../collection.schema.json
```

That is a path relative to the file, or an address. `sweepprof` prints the schema that it checks with, and `new` puts
the line into a file that it begins:

```console
$ sweepprof schema > collection.schema.json
$ sweepprof new collections/my-sweep --schema collection.schema.json
```
"""


OPTIONS_HEAD = """\
<!-- Written by scripts/write_reference.py from mkdocs_sweepprof/plugin.py: change it there. -->

# Options of the plugin

All are optional, and stand below the plugin's name in `mkdocs.yml`:

```yaml
plugins:
  - search
  - sweepprof:
      roots: [collections, ../scratch/sweeps]
      redact: [dataset.*_url]
```

An option that cannot work (a value of the wrong kind, a root that holds the site itself) ends the build with a message
that says what to do. An unknown name is a warning of MkDocs: a plain build goes on without it, `--strict` fails. Paths
are relative to `mkdocs.yml`.
"""


COMMANDS_HEAD = """\
<!-- Written by scripts/write_reference.py from mkdocs_sweepprof/cli.py: change it there. -->

# The command line

`sweepprof` does what belongs beside a build. It reads the plugin's options from `./mkdocs.yml`, or from the file that
`-f` names; without one it works with the defaults.

| you want to | call |
|---|---|
| know what is read from a folder, and what is wrong | `sweepprof check collections/my-sweep` |
| begin a `collection.yml` from what the runs hold | `sweepprof new collections/my-sweep` |
| have an editor check it | `sweepprof schema > collection.schema.json` |
| bring a sweep from scratch storage into the repository | `sweepprof pack /scratch/me/sweep7 collections/sweep7` |
| have the notes as plain Markdown, for another site builder | `sweepprof export --out docs` |

No command overwrites a file that it did not make, and none leaves half a file behind when it is interrupted. A pack
that was interrupted says so in its `pack.json`: nothing is read from it until `sweepprof pack` was called again. Bad
input gives a message, never a traceback; the exit status is then 1, or 2 where the call itself has to be changed.

Export into the docs folder, or run the plugin, but not both: a build with the plugin makes the notes anew, and warns of
exported files that lie beside them.
"""


def kind(spec: dict[str, Any], definitions: dict[str, Any]) -> str:
    """What a value may be, in words."""
    if "$ref" in spec:
        return kind(definitions[spec["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in spec:
        return " or ".join(dict.fromkeys(kind(s, definitions) for s in spec["anyOf"] if s.get("type") != "null"))
    if "enum" in spec:
        return "one of " + ", ".join(f"`{v}`" for v in spec["enum"])
    if spec.get("type") == "array":
        item = spec.get("items", {})
        if "$ref" in item:
            return "list of mappings, below"
        return f"list of {plural(kind(item, definitions))}"
    if spec.get("type") == "object":
        if "properties" in spec:
            return "mapping, below"
        values = spec.get("additionalProperties") or {}
        inner = kind(values, definitions) if isinstance(values, dict) and values else "anything"
        names = spec.get("propertyNames", {})
        keys = kind(names, definitions) if "enum" in names or "$ref" in names else "name"
        return f"mapping of {keys} to {inner}"
    return {"string": "text", "number": "number", "integer": "whole number", "boolean": "true or false"}.get(
        spec.get("type", ""), "anything"
    )


def plural(word: str) -> str:
    return {"text": "texts", "number": "numbers", "mapping": "mappings"}.get(word, word)


def default(spec: dict[str, Any]) -> str:
    value = spec.get("default")
    return f" Default: `{value}`." if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def table(model: dict[str, Any], definitions: dict[str, Any]) -> str:
    rows = ["| key | value | meaning |", "|---|---|---|"]
    required = set(model.get("required", ()))
    for name, spec in model["properties"].items():
        inner = definitions.get(spec.get("$ref", "").rpartition("/")[2], {})
        text = (spec.get("description", inner.get("description", "")) + default(spec)).strip().replace("|", "\\|")
        must = " **Required.**" if name in required else ""
        rows.append(f"| `{name}` | {kind(spec, definitions)} | {text}{must} |")
    return "\n".join(rows) + "\n"


def page() -> str:
    schema = json_schema()
    definitions = schema.get("$defs", {})
    parts = [HEAD, "## Keys\n", table(schema, definitions)]
    for name, key in (("Knob", "knobs"), ("Exclude", "exclude")):
        model = definitions[name]
        parts += [f"## {key}\n", model.get("description", "").strip() + "\n", table(model, definitions)]
    return "\n".join(parts)


def schema() -> str:
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def options() -> str:
    """One part for each option, from the text below it in the code."""
    (config,) = [
        n for n in ast.walk(ast.parse(inspect.getsource(plugin.SweepProfConfig))) if isinstance(n, ast.ClassDef)
    ]
    defaults = {name: option.default for name, option in plugin.SweepProfConfig._schema}
    parts = [OPTIONS_HEAD]
    for statement, text in zip(config.body, config.body[1:], strict=False):
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        assert isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant), "each option has a text below it"
        name = statement.targets[0].id
        value = defaults[name]
        shown = "none" if value is None or value == [] else f"`{json.dumps(value)}`"
        parts.append(f"## {name}\n\nDefault: {shown}.\n\n{inspect.cleandoc(str(text.value.value))}\n")
    return "\n".join(parts)


def commands() -> str:
    """One part for each command, with its own help text."""
    parts = [COMMANDS_HEAD]
    for name in sorted(cli.main.commands):
        command = cli.main.commands[name]
        context = click.Context(
            command, info_name=f"sweepprof {name}", help_option_names=["-h", "--help"], terminal_width=88
        )
        text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
        parts.append(f"## {name}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    stale = []
    made = ((PAGE, page()), (SCHEMA, schema()), (OPTIONS, options()), (COMMANDS, commands()))
    for path, text in made:
        if path.exists() and path.read_text("utf-8") == text:
            continue
        if "--check" in arguments:
            stale.append(path)
        else:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path}")
    for path in stale:
        print(f"{path} is not up to date: run scripts/write_reference.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
