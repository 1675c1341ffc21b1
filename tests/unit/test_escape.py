"""No value takes effect on a page, whatever Markdown extensions, template engines and themes it passes through."""

from __future__ import annotations

import html
import re

import jinja2
import markdown
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mkdocs_sweepprof.note.escape import (
    NAME_LENGTH,
    Safe,
    code,
    esc,
    for_markdown,
    label,
    plain,
    shorten,
    target,
    title_text,
    web_address,
)
from tests.unit.note_cases import BARE, EXTENSION_CONFIGS, RICH

SYNTAX = [
    "<b>bold</b>",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='x",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "{# x #}",
    "| a | b |",
    "*em* _em_ **strong** __strong__",
    "a_b_c _x_",
    "[x](javascript:alert(1))",
    "![i](http://x/y.png)",
    "[ref]",
    "[[wiki]]",
    "[^1]",
    "[TOC]",
    "`code`",
    "# heading",
    "- item",
    "1. item",
    "> quote",
    "    indented",
    "--8<-- 'x'",
    "https://evil.example/x",
    "www.evil.example",
    "me@evil.example",
    "@user",
    "#12",
    "user/repo#12",
    "&amp; &lt; &#x3c;",
    "$x^2$ \\(x\\)",
    ":smile:",
    "1/2 1st 22nd (c) --> ... 3/4 c/o",
    "==mark== ~~del~~ ^^ins^^ H~2~O x^2^",
    "++ctrl+alt++",
    "{++ins++} {--del--} {>>note<<}",
    '[=50% "x"]',
    "- [ ] task",
    '=== "tab"',
    "!!! note",
    "??? note",
    "/// note",
    "*[HTML]: x",
    "a: b\n: c",
    "a\nb\n\n# c",
    "\x02wzxhzdk:0\x03",
    "\u202eevil",
    "\\*",
    "---",
    "x\n===",
    "</code></data></td></table>",
]


def rendered(markup: str, extensions: tuple[str, ...]) -> str:
    configs = {k: v for k, v in EXTENSION_CONFIGS.items() if k in extensions}
    return markdown.markdown(markup, extensions=list(extensions), extension_configs=configs)


def seen(text: str) -> str:
    """A value as a reader should see it."""
    return plain(html.escape(shorten(text, 10**6)))


@pytest.mark.parametrize("extensions", [BARE, RICH], ids=["bare", "rich"])
@pytest.mark.parametrize("value", SYNTAX)
def test_syntax_is_text(value: str, extensions: tuple[str, ...]) -> None:
    for place in ("x {} x", "{}", "- {}", "x **{}** x", "# {}"):
        page = rendered(place.format(for_markdown(esc(value))), extensions)
        ours = rendered(place.format("word"), extensions)
        tags = re.findall(r"<[a-z/][^>]*>", page)
        assert [re.sub(r' id="[^"]*"', "", t) for t in tags] == [
            re.sub(r' id="[^"]*"', "", t) for t in re.findall(r"<[a-z/][^>]*>", ours)
        ], page
        assert plain(page) == plain(ours).replace("word", seen(value)).strip()


@settings(max_examples=80, deadline=None)
@given(st.text(min_size=1, max_size=60))
@example("a1st")
@example("0%}")
def test_any_text_is_text(value: str) -> None:
    for extensions in (BARE, RICH):
        page = rendered(f"x {for_markdown(esc(value))} x", extensions)
        assert re.findall(r"<[^>]*>", page) == ["<p>", "</p>"], page
        assert plain(page) == f"x {seen(value)} x".replace("  ", " ")


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=60))
def test_any_text_passes_through_jinja_and_attributes(value: str) -> None:
    encoded = esc(value)
    assert jinja2.Template(str(encoded)).render() == encoded
    assert not set(encoded) & set("<>\"'`{}|\\[]*")
    encoded.encode("utf-8")


def test_names_stay_readable_in_the_source() -> None:
    for name in (
        "base_conversion",
        "epoch/eval_router_sampled",
        "val_check_interval=0.02",
        "profile.json",
        "44.06%",
        "−9.03h",
        "30/36",
    ):
        assert esc(name) == name


def test_lone_surrogates_and_controls_do_not_reach_the_page() -> None:
    assert esc("a\ud800b") == "a\N{REPLACEMENT CHARACTER}b"
    assert esc("a\x00\x02b\r\nc") == "a b c"
    assert esc("a\u202eb") == "ab"
    assert esc(None) == ""


def test_formatting_encodes_what_is_not_ours() -> None:
    made = Safe("<p>{}</p>").format("<b>")
    assert made == "<p>&#x3c;b&#x3e;</p>"
    assert isinstance(made, Safe)
    assert Safe(", ").join(["*", Safe("<i>x</i>")]) == "&#x2a;, <i>x</i>"
    assert Safe("a ") + "{{" == "a &#x7b;&#x7b;"


def test_a_long_name_is_shortened_and_stands_whole_in_its_title() -> None:
    name = "start" + "x" * 290 + "finish"
    shown = plain(code(name))
    assert len(shown) == NAME_LENGTH
    assert shown.startswith("start") and shown.endswith("finish") and "…" in shown
    assert f'title="{name}"' in code(name)
    assert "title" not in code("short")
    assert plain(code("")) == '""'


def test_a_label_says_what_it_stands_for() -> None:
    assert label("Learning rate", "lr") == '<span title="lr">Learning rate</span>'
    assert label("lr") == "lr"


def test_only_web_addresses_are_links() -> None:
    assert web_address("javascript:alert(1)") is None
    assert web_address("https:///x") is None
    assert web_address(None) is None
    address = web_address('https://tracker.example/runs/a"b')
    assert address is not None
    assert html.unescape(address) == 'https://tracker.example/runs/a"b'
    assert '"' not in address


def test_link_targets_hold_no_markdown() -> None:
    assert target("../a b/(c)/x_y.md") == "../a%20b/%28c%29/x_y.md"
    assert target("a%20b/q?#x/n.md") == "a%2520b/q%3F%23x/n.md", "a name is no URL: its signs are its own"
    assert rendered(f"[x]({target('a (b)/[c]_d_.md')})", BARE) == '<p><a href="a%20%28b%29/%5Bc%5D_d_.md">x</a></p>'


def test_for_markdown_leaves_tags_and_targets_alone() -> None:
    assert for_markdown(Safe('<code title="a_b">a_b</code> [x_y](u_v.md)')) == (
        '<code title="a_b">a&#x5f;b</code> [x&#x5f;y](u_v.md)'
    )


def test_a_page_title_is_escaped_once() -> None:
    assert title_text("<b>{{ x }}</b> & y") == "&lt;b&gt;&#x7b;&#x7b; x &#x7d;&#x7d;&lt;/b&gt; &amp; y"
