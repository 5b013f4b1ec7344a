"""The plots of the page, as SVG for the inside of an HTML file. Needs matplotlib.

Colours are left to the page's style sheet: it defines --ink, --grid, --paper and --program-K, so that one picture
serves light and dark. Widths are those of a narrow column; long plots grow downwards.
"""

import io
import math
import re

import matplotlib
from matplotlib import ticker
from matplotlib.figure import Figure

from comparison import palette

# Stand-ins that are replaced by the style sheet's variables in the finished SVG.
INK, GRID, PAPER = "#010101", "#020202", "#030303"
SHAPES = "oDs^vP*X"  # of programs, in their order; markup.py has the same as characters
WIDTH, ROW, MARGIN = 5.4, 0.19, 0.9  # inches: of a plot, for each model, for both axes
LABELS = 1.6  # inches of it for the names of models; longer ones widen the plot
PROGRAMS = len(SHAPES)

_STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "axrun", "text.parse_math": False, "font.size": 8.5, "font.family": "sans-serif",
    "axes.edgecolor": GRID, "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK, "ytick.color": INK,
    "xtick.labelcolor": INK, "ytick.labelcolor": INK, "grid.color": GRID, "grid.linewidth": 0.6,
    "axes.spines.top": False, "axes.spines.right": False, "axes.spines.left": False, "axes.spines.bottom": False,
    "xtick.major.size": 0, "ytick.major.size": 0, "xtick.minor.size": 0, "ytick.minor.size": 0,
}


def ratios(labels, series):
    """Dots with intervals around 1 on a logarithmic axis, one row for each label, from the top down.

    series: {number of the program: [ratio with median, low, high, verdict, or None] for each label}. What can't be told
    from 1 is hollow. The axis spans the medians: intervals may leave it.
    """
    with matplotlib.rc_context(_STYLE):
        figure, axes = _rows(labels)
        axes.axvline(1, color=INK, linewidth=0.8)
        for place, (number, values) in enumerate(series.items()):
            for row, ratio in enumerate(values):
                if ratio:
                    y = row + 0.3 * (place - (len(series) - 1) / 2)
                    told = ratio["verdict"] != "not distinguishable"
                    axes.plot([ratio["low"], ratio["high"]], [y, y], color=_colour(number), linewidth=0.9, alpha=0.6)
                    _dot(axes, ratio["median"], y, number, told)
        medians = [ratio["median"] for values in series.values() for ratio in values if ratio]
        _logarithmic(axes.xaxis, min(medians + [1 / 1.5]) / 1.15, max(medians + [1.5]) * 1.15)
        return _svg(figure)


def values(labels, series, line=None):
    """Dots on a logarithmic axis, one row for each label; series: {number of the program: [number or None]}; `line`
    marks a value."""
    with matplotlib.rc_context(_STYLE):
        figure, axes = _rows(labels)
        if line:
            axes.axvline(line, color=INK, linewidth=0.8)
        for number, numbers in series.items():
            for row, value in enumerate(numbers):
                if value:
                    _dot(axes, value, row, number)
        every = [value for numbers in series.values() for value in numbers if value] + ([line] if line else [])
        _logarithmic(axes.xaxis, min(every, default=1) / 1.2, max(every, default=1) * 1.2)
        return _svg(figure)


def curves(x_name, y_name, series):
    """Lines on two logarithmic axes; series: {number of the program: [(x, y)]}."""
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(WIDTH, 3.4))
        axes = figure.add_subplot()
        axes.grid(True)
        for number, points in series.items():
            axes.plot([x for x, _ in points], [y for _, y in points], color=_colour(number), linewidth=1.3)
            for x, y in points:
                _dot(axes, x, y, number)
        every = [point for points in series.values() for point in points] or [(1, 1)]
        xs, ys = sorted({x for x, _ in every}), [y for _, y in every]
        _logarithmic(axes.xaxis, xs[0] / 1.15, xs[-1] * 1.15)
        axes.xaxis.set_major_locator(ticker.FixedLocator(xs))
        _logarithmic(axes.yaxis, min(ys) / 1.3, max(ys) * 1.3)
        axes.set_xlabel(x_name)
        axes.set_ylabel(y_name)
        return _svg(figure)


def standalone(svg):
    """A plot as a file of its own, on which no page's style sheet works: with one of its own, for light and dark."""
    style = "<style>svg{%s}@media(prefers-color-scheme:dark){svg{%s}}</style>" % (palette.LIGHT, palette.DARK)
    end_of_tag = svg.index(">") + 1
    return svg[:end_of_tag] + style + svg[end_of_tag:]


def _colour(number):
    return "#04%02x04" % (number % PROGRAMS)


def _dot(axes, x, y, number, filled=True):
    axes.plot([x], [y], SHAPES[number % PROGRAMS], markersize=4, color=_colour(number), markeredgewidth=0.9,
              markerfacecolor=_colour(number) if filled else PAPER, clip_on=False, zorder=3)


def _rows(labels):
    height = ROW * len(labels) + MARGIN
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_axes([LABELS / WIDTH, 0.4 / height, 1 - LABELS / WIDTH, 1 - MARGIN / height])
    axes.grid(True)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(labeltop=len(labels) > 20)
    return figure, axes


def _logarithmic(axis, low, high):
    """Ticks at round numbers, written out."""
    axis.axes.set(**({"xscale": "log", "xlim": (low, high)} if axis.axis_name == "x"
                     else {"yscale": "log", "ylim": (low, high)}))
    decades = math.log10(high / low)
    steps = range(1, 10) if decades < 0.8 else (1, 2, 5) if decades < 4 else (1,)
    axis.set_major_locator(ticker.LogLocator(subs=steps, numticks=40))
    axis.set_minor_locator(ticker.NullLocator())
    axis.set_major_formatter(lambda x, _: "{:,.10g}".format(x))


def _svg(figure):
    target = io.StringIO()
    figure.savefig(target, format="svg", transparent=True, bbox_inches="tight", pad_inches=0.05,
                   metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = target.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # many plots share one page: names that nothing refers to
    for stand_in, name in ((INK, "ink"), (GRID, "grid"), (PAPER, "paper")):
        text = text.replace(stand_in, "var(--%s)" % name)
    return re.sub("#04([0-9a-f]{2})04", lambda match: "var(--program-%d)" % int(match[1], 16), text)
