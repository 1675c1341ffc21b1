"""The reference pages of the guide say what the code says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import yaml

from mkdocs_sweepprof.schema import CollectionConfig, parse

REPOSITORY = Path(__file__).resolve().parents[2]
GUIDE = REPOSITORY / "docs" / "guide"


def test_the_reference_is_what_the_script_writes() -> None:
    script = REPOSITORY / "scripts" / "write_reference.py"
    result = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_every_key_stands_in_the_reference() -> None:
    page = (GUIDE / "collection-yml.md").read_text("utf-8")
    assert [key for key in CollectionConfig.model_fields if f"| `{key}` |" not in page] == []


def test_the_schema_has_every_key() -> None:
    schema = json.loads((GUIDE / "collection.schema.json").read_text("utf-8"))
    assert set(schema["properties"]) == set(CollectionConfig.model_fields)


def test_the_demo_collections_fit_the_schema() -> None:
    files = sorted((REPOSITORY / "collections").rglob("collection.yml"))
    assert len(files) == 3
    for file in files:
        parse(file.read_text("utf-8"))


def test_the_examples_of_the_guide_fit_the_schema() -> None:
    """Every YAML example in the guide that has a key of collection.yml is a valid one."""
    tried = 0
    for page in sorted(GUIDE.glob("*.md")):
        for block in page.read_text("utf-8").split("```yaml\n")[1:]:
            text = block.partition("```")[0]
            loaded = yaml.safe_load(text)
            if isinstance(loaded, dict) and {"group", "knobs", "commentary"} & set(loaded):
                parse(text)
                tried += 1
    assert tried
