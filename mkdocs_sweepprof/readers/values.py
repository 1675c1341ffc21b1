"""Turning text into plain values, the same way for every layout: YAML, JSON, times, flat configs.

Nothing here constructs objects from input: YAML tags are kept as text.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, date, datetime, tzinfo
from typing import Any

from mkdocs_sweepprof.readers.base import Scalar

MAX_DEPTH = 20
"""Nesting of a config beyond which the rest is kept as text."""
MAX_FIELDS = 5_000
"""Fields of one run's config; the rest is left aside."""
MAX_SECONDS = 1e10
"""Above this (three centuries) a number of seconds is no duration."""
MAX_VALUE = 2_000
"""Characters of one config value; longer text is cut with an ellipsis."""


class BadText(ValueError):
    """Text that does not parse: ``line`` (1-based, or None) and the parser's complaint."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


Repeated = tuple[str, int | None, int | None]
"""A key that stands twice in one mapping, and the lines of the first and of the second, where they are known."""

_loader: Any = None


def _yaml_loader() -> Any:
    """A safe loader (the C one where it is built) that keeps unknown tags as text and reads ``1e-3`` as a number."""
    global _loader
    if _loader is not None:
        return _loader
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        def __init__(self, text: str) -> None:
            super().__init__(text)
            self.repeated: list[Repeated] = []

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            # Before merge keys ("<<") are filled in: what those bring may be overridden.
            keys = [k for k, _ in node.value if isinstance(k, yaml.ScalarNode)]
            if len({k.value for k in keys}) < len(keys):
                first: dict[tuple[str, str], Any] = {}
                for k in keys:
                    before = first.setdefault((k.tag, k.value), k)
                    if before is not k:
                        self.repeated.append((k.value, before.start_mark.line + 1, k.start_mark.line + 1))
            return super().construct_mapping(node, deep)

    def keep_text(loader: Any, suffix: str, node: Any) -> Any:
        tag = node.tag
        if isinstance(node, yaml.ScalarNode):
            return f"{tag} {node.value}".strip() if node.value else tag
        if isinstance(node, yaml.SequenceNode):
            parts = loader.construct_sequence(node, deep=True)
            # How enum members and numpy scalars are dumped: the arguments say what the value was.
            return f"{tag} {_json_text(parts)}"
        return loader.construct_mapping(node, deep=True)

    Loader.add_multi_constructor("", keep_text)
    # Timestamps as written, not objects: a config value is text or a number.
    Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: node.value)
    Loader.add_constructor("tag:yaml.org,2002:binary", lambda loader, node: node.value)
    # YAML 1.1 wants a dot in a float; people write 1e-3 (the OmegaConf resolver does the same).
    Loader.add_implicit_resolver(
        "tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+$"), list("-+0123456789")
    )
    _loader = Loader
    return Loader


def load_yaml(text: str, repeated: list[Repeated] | None = None) -> Any:
    """Parse YAML without constructing objects. BadText with the line when it does not parse.

    ``repeated`` is filled with the keys that stand twice in a mapping; of those the last counts.
    """
    import yaml

    try:
        loader = _yaml_loader()(text)
        try:
            loaded = loader.get_single_data()
        finally:
            loader.dispose()
        if repeated is not None:
            repeated.extend(loader.repeated)
        return loaded
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error).split("\n")[0]
        raise BadText(f"not valid YAML ({what}).", mark.line + 1 if mark else None) from None
    except (RecursionError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise BadText(f"not valid YAML ({type(error).__name__}: {error}).") from None


def load_json(text: str, repeated: list[Repeated] | None = None) -> Any:
    """Parse JSON (NaN and Infinity allowed, as trainers write them). BadText with the line when it does not parse.

    ``repeated`` is filled with the keys that stand twice in an object; of those the last counts.
    """

    def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs) and repeated is not None:
            counts = Counter(key for key, _ in pairs)
            repeated.extend((key, *_lines_of(key, text)) for key, n in counts.items() if n > 1)
        return made

    try:
        return json.loads(text) if repeated is None else json.loads(text, object_pairs_hook=mapping)
    except json.JSONDecodeError as error:
        raise BadText(f"not valid JSON ({error.msg}, column {error.colno}).", error.lineno) from None
    except (RecursionError, ValueError) as error:
        raise BadText(f"not valid JSON ({error}).") from None


def _lines_of(key: str, text: str) -> tuple[int | None, int | None]:
    """The lines of a JSON key that stands twice; None where it stands elsewhere too, so that they are not known."""
    found = [m.start() for m in re.finditer(re.escape(json.dumps(key)) + r"\s*:", text)]
    if len(found) != 2:
        return None, None
    return text.count("\n", 0, found[0]) + 1, text.count("\n", 0, found[1]) + 1


def flatten(config: Any, prefix: str = "") -> dict[str, Scalar]:
    """Nested mappings to dotted keys. Lists become their JSON text; other objects their ``str``.

    A key that already holds a dot and one built from nesting are the same field. An empty mapping is dropped.
    """
    flat: dict[str, Scalar] = {}
    _flatten(config, prefix, flat, 0)
    return flat


def _flatten(value: Any, prefix: str, into: dict[str, Scalar], depth: int) -> None:
    if isinstance(value, Mapping) and depth < MAX_DEPTH:
        for key, inner in value.items():
            if len(into) >= MAX_FIELDS:
                return
            name = str(key)
            _flatten(inner, f"{prefix}.{name}" if prefix else name, into, depth + 1)
        return
    if prefix:
        into[prefix] = scalar(value)


def scalar(value: Any) -> Scalar:
    """One config value as text, number, boolean or None."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, str):
        text = value
    else:
        try:
            text = _json_text(value)
        except (ValueError, RecursionError):
            text = str(type(value).__name__)
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…"


def _json_text(value: Any) -> str:
    """JSON text, made only as far as it is kept: YAML aliases can make a few lines into a billion items."""
    text = ""
    for part in json.JSONEncoder(default=str, ensure_ascii=False).iterencode(value):
        text += part
        if len(text) > MAX_VALUE:
            break
    return text


_NUMBER = re.compile(r"^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$")


def guess(text: str) -> Scalar:
    """A value from a layout that stores only text (MLflow params, CSV cells): number, boolean, None or the text."""
    stripped = text.strip()
    if stripped in ("None", "null", "~"):
        return None
    if stripped in ("True", "true"):
        return True
    if stripped in ("False", "false"):
        return False
    if _NUMBER.match(stripped):
        # Leading zeros ("007") are labels, not numbers.
        digits = stripped.lstrip("+-")
        if len(digits) > 1 and digits[0] == "0" and digits.isdigit():
            return text
        if re.fullmatch(r"[-+]?\d+", stripped):
            return int(stripped) if len(digits) <= 18 else text
        return float(stripped)
    return scalar(text)


def finite(value: Any) -> float | None:
    """A finite float from a number or numeric text, else None (booleans are no numbers)."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


EARLIEST = datetime(1980, 1, 1, tzinfo=UTC).timestamp()
LATEST = datetime(2200, 1, 1, tzinfo=UTC).timestamp()


def parse_time(value: Any, zone: tzinfo | None = UTC) -> float | None:
    """Epoch seconds from ISO-8601 text or a number of epoch seconds, milli-, micro- or nanoseconds; else None.

    Naive text is taken to be in ``zone`` (None: the machine's local time). A number too large to be seconds is taken
    as the largest unit that gives a date between 1980 and 2200; small numbers (relative clocks) stay as they are.
    """
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, str):
        text = value.strip()
        number = finite(text) if _NUMBER.match(text) else None
        if number is not None:
            return parse_time(number)
        try:
            moment = datetime.fromisoformat(text.replace(" UTC", "+00:00"))
        except ValueError:
            return None
    else:
        number = finite(value)
        if number is None:
            return None
        for scale in (1.0, 1e3, 1e6, 1e9):
            if number / scale < LATEST:
                return number / scale if scale == 1.0 or number / scale >= EARLIEST else None
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone) if zone else moment.astimezone()
    try:
        return moment.timestamp()
    except (OverflowError, ValueError):
        return None
