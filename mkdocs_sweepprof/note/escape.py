"""Nothing from the input takes effect on a page: every value is encoded before it meets Markdown, HTML or Jinja.

A page passes through more hands than ours: other plugins' Jinja (mkdocs-macros), Markdown with whatever extensions
the author has on, then the browser. So a value is not escaped for one of them but encoded for all: every character
that any of them could read as syntax becomes a hexadecimal entity. (Hexadecimal, as ``#95`` could itself be read as an
issue number by an extension; ``#x5f`` cannot.) What is left bare are letters, digits, single spaces, and the dot, comma
and hyphen inside words and numbers.
"""

from __future__ import annotations

import html
import re
import unicodedata
from functools import lru_cache
from typing import Any

from markupsafe import Markup

NAME_LENGTH = 72
"""Characters of a name that are shown; the rest is in the ``title`` attribute."""
TITLE_LENGTH = 2_000
"""Characters of a ``title`` attribute."""

_ORDINAL = re.compile(r"(?<=[0-9])(?=(?:st|nd|rd|th)\b)", re.IGNORECASE)


class Safe(Markup):
    """Text that is already fit for the page. Joining or formatting it with other text encodes that text."""

    __slots__ = ()

    @classmethod
    def escape(cls, s: Any, /) -> Safe:
        """``s`` as it is when it is markup of ours, else encoded."""
        if isinstance(s, Safe):
            return s
        if hasattr(s, "__html__"):
            return cls(s.__html__())
        return esc(s)


def esc(value: object) -> Safe:
    """A value as text that no Markdown, HTML or template reader can take for anything but text.

    Runs of white space and control characters become one space; direction marks and lone surrogates go.
    """
    if isinstance(value, Safe):
        return value
    return Safe(_encode("" if value is None else str(value)))


@lru_cache(maxsize=8192)
def _encode(text: str) -> str:
    text = _plain(text)
    if text.isascii() and text.isalpha():
        return text
    text = _ORDINAL.sub("\0", text)
    out = []
    last = len(text) - 1
    break_ordinal = False
    for i, char in enumerate(text):
        if char == "\0":
            break_ordinal = True
        elif break_ordinal:
            # "1st" would be raised by pymdownx.smartsymbols.
            out.append(f"&#x{ord(char):x};")
            break_ordinal = False
        elif (
            char == " "
            or _is_word(char)
            or (char in ",-" and 0 < i < last and text[i - 1].isalnum() and text[i + 1].isalnum())
            or (char == "." and 0 < i < last and text[i - 1].isdigit() and text[i + 1].isdigit())
        ):
            out.append(char)
        else:
            out.append(f"&#x{ord(char):x};")
    return "".join(out)


def _is_word(char: str) -> bool:
    return char.isalnum() if char.isascii() else unicodedata.category(char)[0] in "LMN"


def _plain(text: str) -> str:
    """One line: controls and line breaks to spaces, invisible format characters and surrogates away."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(_visible(c) for c in text)
    return " ".join(text.split())


def _visible(char: str) -> str:
    category = unicodedata.category(char)
    if category == "Cs":
        return "\N{REPLACEMENT CHARACTER}"
    if category == "Cf":
        return ""
    return " " if category in ("Cc", "Zl", "Zp", "Zs") else char


def shorten(text: str, limit: int = NAME_LENGTH) -> str:
    """At most ``limit`` characters: the middle gives way, as names often differ at their ends."""
    text = _plain(text)
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - tail - 1].rstrip()}…{text[-tail:].lstrip()}"


def _title(full: str, shown: str) -> str:
    full = _plain(full)
    return f' title="{_encode(full[:TITLE_LENGTH])}"' if full != shown else ""


@lru_cache(maxsize=8192)
def code(value: str, limit: int = NAME_LENGTH, stands_for: str = "") -> Safe:
    """A name or setting as inline code; a long one is shortened and stands whole in its ``title``."""
    shown = shorten(value, limit)
    return Safe(f"<code{_title(stands_for or value, shown)}>{_encode(shown) or '&#x22;&#x22;'}</code>")


@lru_cache(maxsize=8192)
def label(text: str, stands_for: str = "", limit: int = NAME_LENGTH) -> Safe:
    """Plain text, shortened; what it stands for is in its ``title``."""
    shown = shorten(text, limit)
    title = _title(stands_for or text, shown)
    return Safe(f"<span{title}>{_encode(shown)}</span>" if title else _encode(shown))


def plain(markup: str) -> str:
    """What a reader sees of our inline markup: tags gone, entities resolved."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", markup)).split())


def title_text(text: str) -> str:
    """A page title for the front matter. Themes print it raw, so it is HTML-escaped; search and nav show it too."""
    escaped = html.escape(_plain(text))
    return escaped.replace("{", "&#x7b;").replace("}", "&#x7d;")


def target(path: str) -> str:
    """A path as a Markdown link target: what Markdown would read as syntax is percent-encoded."""
    from urllib.parse import quote

    return quote(path, safe="/.-~#?=&%" if "%" in path else "/.-~#?=&")


def web_address(url: str | None) -> Safe | None:
    """An ``http(s)`` address for an ``href``, encoded; None for any other scheme."""
    if not url or not re.match(r"https?://[^\s/]", url, re.IGNORECASE):
        return None
    return Safe(_encode("".join(url.split())))
