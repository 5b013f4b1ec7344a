"""HTML from texts: everything that comes from outside passes `escape` here."""

from html import escape

TITLES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}
# As plots.SHAPES draws them; colours are the style sheet's.
_MARKS = "●◆■▲▼✚★✖"


def title(program):
    """A program's name for people."""
    return TITLES.get(program, program)


def tag(name, content, **attributes):
    """An element; `content` is HTML already. Attributes: `class_` is class, `aria_label` aria-label."""
    words = "".join(' %s="%s"' % (key.rstrip("_").replace("_", "-"), escape(str(value)))
                    for key, value in attributes.items())
    return "<%s%s>%s</%s>" % (name, words, content, name)


def paragraph(text):
    """Of plain text."""
    return tag("p", escape(text))


def items(texts):
    """A list of plain texts; nothing when there are none."""
    return tag("ul", "".join(tag("li", escape(text)) for text in texts)) if texts else ""


def table(rows, groups=None, texts=(0,)):
    """Rows of plain texts, the first a heading; `texts` are the columns that are no figures. `groups`: for each row
    after the heading, whether it begins a group; all do when it is not given."""
    head = tag("thead", _row("th", rows[0], texts))
    body = [_row("td", row, texts, groups is None or groups[index]) for index, row in enumerate(rows[1:])]
    return tag("div", tag("table", head + tag("tbody", "".join(body))), class_="wide")


def _row(kind, cells, texts, begins_group=False):
    cells = [tag(kind, escape(cell), **({"class_": "text"} if index in texts else {}))
             for index, cell in enumerate(cells)]
    return tag("tr", "".join(cells), **({"class_": "first"} if begins_group else {}))


def key(programs):
    """What the marks of a plot mean; programs: {name: number}."""
    return "".join('<span class="key"><span style="color:var(--program-%d)">%s</span> %s</span>' %
                   (number % len(_MARKS), _MARKS[number % len(_MARKS)], escape(title(name)))
                   for name, number in programs.items())


def plot(svg, caption, programs):
    """A figure; the caption is plain text and also what is read aloud in the picture's place."""
    return tag("figure", tag("figcaption", escape(caption) + "<br>" + key(programs)) +
               tag("div", svg, class_="wide plot", role="img", aria_label=caption))
