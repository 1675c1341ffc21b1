"""Nothing from the input takes effect on a page: every value is encoded before it meets Markdown, HTML or Jinja.

A page passes through more hands than ours: other plugins' Jinja (mkdocs-macros), Markdown with whatever extensions
the author has on, then the browser. So a value is not escaped for one of them but encoded for all: every character
that any of them could read as syntax becomes a hexadecimal entity. (Hexadecimal, as ``#95`` could itself be read as an
issue number by an extension; ``#x5f`` cannot.) Left bare are letters, digits, single spaces, what is not ASCII, and
punctuation where it can only be that: a dot, comma, hyphen, underscore, slash or equals sign inside a word, and the
like.

Prose and tables are raw HTML blocks, which Markdown leaves alone. The few paragraphs that Markdown does read, as they
hold links to pages or pictures, go through :func:`for_markdown`, which encodes underscores too.
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
    out = []
    for i, char in enumerate(text):
        bare = char.isalnum() or char == " " or char > "\x7f" or _is_plain(text, i)
        # "1st" would be raised by pymdownx.smartsymbols.
        if bare and not (char in _ORDINAL_STARTS and _ORDINAL.match(text, i)):
            out.append(char)
        else:
            out.append(f"&#x{ord(char):x};")
    return "".join(out)


_ORDINAL = re.compile(r"(?<=[0-9])(?:st|nd|rd|th)\b", re.IGNORECASE)
_ORDINAL_STARTS = "snrtSNRT"
_SIGN = re.compile(r"\((?:c|r|p|tm)\)", re.IGNORECASE)


def _is_plain(text: str, i: int) -> bool:
    """Whether this ASCII punctuation stands where no reader of Markdown takes it for syntax."""
    char, before, after = text[i], text[i - 1 : i], text[i + 1 : i + 2]
    if char in "()":
        # A link's parenthesis follows a bracket, and no bracket gets through. "(c)" becomes a sign.
        return not _SIGN.match(text, i if char == "(" else max(0, text.rfind("(", 0, i)))
    if not before.isalnum():
        return char in ".," and before == ")" and after in ("", " ")
    if char == "%":
        return before.isdigit()
    if char in ".," and after in ("", " "):
        # "1." and "a." may begin a list, but only at the start of a line.
        return char == "," or " " in text[:i]
    if char not in ".,-_/=" or not after.isalnum():
        return False
    if char == ".":
        # Some extensions link what begins with "www.".
        return text[max(0, i - 3) : i].lower() != "www"
    if char == "/":
        # pymdownx.smartsymbols: "1/2" and "c/o".
        around = text[max(0, i - 2) : i + 3]
        return not re.search(r"(?<![0-9])[0-9]/[0-9](?![0-9])|c/o", around, re.IGNORECASE)
    return True


_OUTSIDE_TEXT = re.compile(r"(\]\([^)\s]*\)|<[^>]*>)")


def for_markdown(markup: Safe) -> Safe:
    """Markup of ours for a place where Markdown reads it: underscores encoded, but for tags and link targets."""
    parts = _OUTSIDE_TEXT.split(str(markup))
    return Safe("".join(x if i % 2 else x.replace("_", "&#x5f;") for i, x in enumerate(parts)))


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
    """A path as a Markdown link target: all that Markdown or a URL would read as syntax is percent-encoded."""
    from urllib.parse import quote

    return quote(path, safe="/")


def web_address(url: str | None) -> Safe | None:
    """An ``http(s)`` address for an ``href``, encoded; None for any other scheme."""
    if not url or not re.match(r"https?://[^\s/]", url, re.IGNORECASE):
        return None
    return Safe(_encode("".join(url.split())))


def mark(id_: str, value: object, text: str) -> Safe:
    """A fact's mark. A list's values are separated by spaces."""
    printed = " ".join(repr(v) for v in value) if isinstance(value, list | tuple) else repr(value)
    return Safe(f'<data value="{printed}" data-fact="{esc(id_)}">{esc(text)}</data>')
