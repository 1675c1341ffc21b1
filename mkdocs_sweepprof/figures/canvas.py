"""A drawing board in points, x to the right and y down, that becomes an SVG through matplotlib.

Figures place everything themselves: with measured text nothing can be clipped or overlap by accident, and there is
no layout engine whose result depends on the machine. Shapes are remembered and drawn at the end, so that a figure's
height may follow from its content, and so that matplotlib is imported, and its settings changed, in one place only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal

from mkdocs_sweepprof.figures.base import Drawing
from mkdocs_sweepprof.figures.text import clean, clip, drawable, font_path
from mkdocs_sweepprof.figures.theme import BLUE, INK, RULE, TAG, Colour, recolour

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 504.0
"""Points. Narrow on purpose: a phone shows the whole drawing at about half size, and text must survive that."""
BODY = 12.5
SMALL = 12.0
TITLE = 13.0
CAP_HEIGHT = 0.73
"""Height of capitals and figures of DejaVu Sans, in em."""
MARGIN = 2.0

_NO_LAYOUT: Any = "none"
_HATCH = "/////"
Anchor = Literal["left", "center", "right"]

_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "path",
    "svg.hashsalt": "sweepprof",
    "svg.image_inline": True,
    "svg.id": None,
    "text.usetex": False,
    "text.parse_math": False,
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "axes.unicode_minus": True,
    "hatch.linewidth": 1.0,
    "path.simplify": False,
    "path.sketch": None,
    "path.effects": [],
    "path.snap": False,
    "lines.antialiased": True,
    "patch.antialiased": True,
    "lines.scale_dashes": False,
}
"""What could change a drawing's bytes, pinned for its duration: a user's own matplotlibrc must not show here."""


class Canvas:
    """Shapes in drawing order."""

    def __init__(self, width: float = WIDTH) -> None:
        self.width = width
        self._shapes: list[Callable[[Figure, Any], None]] = []

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = BODY,
        colour: Colour = INK,
        anchor: Anchor = "left",
        bold: bool = False,
        up: bool = False,
    ) -> None:
        """One line, ``y`` at its baseline. ``up``: read upwards, ``x`` at the baseline and ``y`` at the anchor."""
        line = clean(text)
        own_font = drawable(line, bold)

        def add(figure: Figure, to: Any) -> None:
            from matplotlib.font_manager import FontProperties

            properties = FontProperties(fname=font_path(bold), size=size)
            figure.add_artist(
                _text_class(own_font)(
                    x,
                    y,
                    line,
                    transform=to,
                    fontproperties=properties,
                    color=colour.light,
                    ha=anchor,
                    va="baseline",
                    rotation=90 if up else 0,
                    rotation_mode="anchor",
                    parse_math=False,
                    usetex=False,
                )
            )

        self._shapes.append(add)

    def lines(
        self,
        x: float,
        y: float,
        lines: Sequence[str],
        *,
        size: float = BODY,
        colour: Colour = INK,
        anchor: Anchor = "left",
        bold: bool = False,
    ) -> None:
        """Lines centred on ``y``."""
        step = size * 1.16
        first = y + CAP_HEIGHT * size / 2 - step * (len(lines) - 1) / 2
        for number, line in enumerate(lines):
            self.text(x, first + number * step, line, size=size, colour=colour, anchor=anchor, bold=bold)

    def bar(self, x: float, y: float, width: float, height: float, colour: Colour) -> None:
        """A filled rectangle; a value that is not zero leaves at least a hair of ink."""
        self._rectangle(x, y, max(width, 0.75), height, facecolor=colour.light, edgecolor="none", linewidth=0)

    def hatched(self, x: float, y: float, width: float, height: float, colour: Colour = RULE, gap: float = 0.0) -> None:
        """An outlined rectangle with diagonal lines: what is not there, or not known.

        ``gap`` points in the middle stay free of lines, for text: with no page colour to paint over them, lines
        behind text would have to be read through.
        """
        pen = min(0.75, width / 2, height / 2)
        inner = (x + pen / 2, y + pen / 2, max(width - pen, 0.01), height - pen)
        outline: dict[str, Any] = {"facecolor": "none", "edgecolor": colour.light, "linewidth": pen}
        if gap <= 0:
            self._rectangle(*inner, **outline, hatch=_HATCH)
            return
        side = (inner[2] - gap) / 2
        for start in (inner[0], inner[0] + side + gap):
            self._rectangle(
                start, inner[1], side, inner[3], facecolor="none", edgecolor=colour.light, linewidth=0, hatch=_HATCH
            )
        self._rectangle(*inner, **outline)

    def _rectangle(self, x: float, y: float, width: float, height: float, **how: Any) -> None:
        def add(figure: Figure, to: Any) -> None:
            from matplotlib.patches import Rectangle

            figure.add_artist(Rectangle((x, y), width, height, transform=to, **how))

        self._shapes.append(add)

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        colour: Colour = RULE,
        width: float = 1.0,
        dash: bool = False,
    ) -> None:
        def add(figure: Figure, to: Any) -> None:
            from matplotlib.lines import Line2D

            figure.add_artist(
                Line2D(
                    [start[0], end[0]],
                    [start[1], end[1]],
                    transform=to,
                    color=colour.light,
                    linewidth=width,
                    linestyle=(0, (4.0, 2.5)) if dash else "-",
                    solid_capstyle="butt",
                    dash_capstyle="butt",
                )
            )

        self._shapes.append(add)

    def marks(
        self,
        points: Sequence[tuple[float, float]],
        colour: Colour = BLUE,
        size: float = 6.0,
        shape: Literal["ring", "disc", "diamond"] = "ring",
    ) -> None:
        """Marks of one kind. Rings show how many lie on top of each other where discs would merge."""

        def add(figure: Figure, to: Any) -> None:
            from matplotlib.lines import Line2D

            figure.add_artist(
                Line2D(
                    [x for x, _ in points],
                    [y for _, y in points],
                    transform=to,
                    linestyle="none",
                    marker="D" if shape == "diamond" else "o",
                    markersize=size,
                    markerfacecolor="none" if shape == "ring" else colour.light,
                    markeredgecolor=colour.light,
                    markeredgewidth=1.2 if shape == "ring" else 0.0,
                )
            )

        self._shapes.append(add)

    def drawing(self, name: str, height: float, alt: str, caption: str) -> Drawing:
        """The finished figure, ``height`` points high."""
        svg = self._svg(name, height)
        return Drawing(name=name, svg=svg, dark=recolour(svg), alt=clip(alt), caption=clip(caption))

    def _svg(self, name: str, height: float) -> str:
        with _settings():
            from matplotlib.backends.backend_svg import FigureCanvasSVG
            from matplotlib.figure import Figure
            from matplotlib.transforms import Affine2D

            # layout="none": whatever a matplotlibrc asks for, things stay where they were put.
            figure = Figure(figsize=(self.width / 72, height / 72), dpi=72, layout=_NO_LAYOUT)
            figure.patch.set_visible(False)
            to = Affine2D().scale(1 / self.width, -1 / height).translate(0, 1) + figure.transFigure
            for add in self._shapes:
                add(figure, to)
            out = StringIO()
            nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
            canvas: Any = FigureCanvasSVG(figure)
            canvas.print_svg(out, metadata=nothing)
        return _tidy(out.getvalue(), name, self.width, height)


@contextmanager
def _settings() -> Iterator[None]:
    """Matplotlib's settings as the drawings need them, and afterwards as they were."""
    import warnings

    import matplotlib as mpl

    # Not every release knows every setting.
    known: Any = {key: value for key, value in _SETTINGS.items() if key in mpl.rcParams}
    with warnings.catch_warnings():
        # Text that the bundled font cannot draw is left to the reader's own fonts (see `_text_class`).
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        warnings.filterwarnings("ignore", message=r"Matplotlib currently does not support")
        warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"matplotlib(\..*)?")
        with mpl.rc_context(known):
            yield


def _text_class(own_font: bool) -> Any:
    """Text as outlines; text that the bundled font lacks characters for as real text, for the reader's fonts."""
    import matplotlib as mpl
    from matplotlib.text import Text

    if own_font:
        return Text

    class Borrowed(Text):
        def draw(self, renderer: Any) -> None:
            with mpl.rc_context({"svg.fonttype": "none"}):
                super().draw(renderer)

    return Borrowed


_HEAD = re.compile(r"\A.*?<svg\b[^>]*>", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_STYLE = re.compile(r"<defs>\s*<style\b.*?</style>\s*</defs>", re.DOTALL)
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_REFERENCE = re.compile(r"((?:xlink:href=\"#|url\(#))([^\")]+)")
_ID = re.compile(r"\s+id=\"([^\"]*)\"")
_SPACE = re.compile(r">\s+<")
_PLACES = re.compile(r"\b(?:d|x|y|width|height)=\"[^\"]*\"|\btranslate\([^)]*\)")
_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def _tidy(svg: str, name: str, width: float, height: float) -> str:
    """Smaller, and the same in every release: no prolog, comments or style sheet, ids counted from 1 with the
    figure's name before them (several drawings may share a page), sizes in CSS pixels."""
    body = _METADATA.sub("", _STYLE.sub("", _COMMENT.sub("", _HEAD.sub("", svg, count=1))))
    used: dict[str, str] = {}
    for tag in TAG.findall(body):
        for match in _REFERENCE.finditer(tag):
            used.setdefault(match[2], f"{name}-{len(used) + 1}")

    def shorter(tag: re.Match[str]) -> str:
        out = _ID.sub(lambda match: f' id="{used[match[1]]}"' if match[1] in used else "", tag[0])
        out = _REFERENCE.sub(lambda match: match[1] + used[match[2]], out)
        # Not scales: glyphs are drawn large and scaled down, where the third decimal counts.
        out = _PLACES.sub(lambda match: _NUMBER.sub(_hundredths, match[0]), out)
        return re.sub(r"\s+", " ", out)

    body = _SPACE.sub("><", TAG.sub(shorter, body)).strip()
    pixels = 96 / 72
    head = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" version="1.1" '
        f'width="{width * pixels:.0f}" height="{height * pixels:.0f}" viewBox="0 0 {width:g} {height:g}" '
        'stroke-linejoin="round" stroke-linecap="butt">'
    )
    return head + body + "\n"


def _hundredths(match: re.Match[str]) -> str:
    text = f"{float(match[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
