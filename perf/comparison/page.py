"""One HTML page, complete in itself, of what perf/compare and perf/curves have measured: no script, no network."""

import importlib.util
import json
import os
import subprocess
import sys

from comparison import comparison_section, curves_section, environment, palette
from comparison.markup import escape, tag

PLOTTER = "matplotlib"
NO_PLOTS = "the page needs the Python package matplotlib, which is not there and could not be installed"
SCRIPT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "page")

STYLE = """
:root{color-scheme:light dark;%s}
@media(prefers-color-scheme:dark){:root{%s}}
body{margin:0 auto;max-width:72rem;padding:1rem;background:var(--paper);color:var(--ink);
     font:1rem/1.5 system-ui,sans-serif}
h1{font-size:1.5rem}h2{font-size:1.25rem;margin-top:2.5rem}h3{font-size:1rem;margin-top:2rem}
figure{margin:1.5rem 0}figcaption{color:var(--soft);max-width:46rem;margin-bottom:.5rem}
.key{color:var(--ink);margin-right:1rem;white-space:nowrap}
.wide{overflow-x:auto}.plot svg{display:block;width:100%%;min-width:26rem;max-width:42rem;height:auto}
table{border-collapse:collapse;font-size:.8rem;font-variant-numeric:tabular-nums}
th,td{padding:.15rem .5rem;text-align:right;white-space:nowrap}
th.text,td.text{text-align:left}
th{color:var(--soft);font-weight:600;border-bottom:1px solid var(--ink)}
tr.first td{border-top:1px solid var(--grid)}
li,p{max-width:46rem;overflow-wrap:anywhere}
""" % (palette.LIGHT, palette.DARK)


def render(documents, plots):
    """The page's text. documents: what the commands' --json holds; plots: the module of that name, or a stand-in.
    Raises ValueError for a document of another kind."""
    title = "axrun, measured"
    body = [tag("h1", title)]
    for document in documents:
        if "rows" in document:
            body += comparison_section.section(document, plots)
        elif "curves" in document:
            body += curves_section.section(document, plots)
        else:
            raise ValueError("it is neither of perf/compare nor of perf/curves")
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
    return "<!DOCTYPE html>\n%s\n" % tag("html", tag("head", head + tag("title", escape(title)) + tag("style", STYLE)) +
                                         tag("body", "\n".join(body)), lang="en")


def interpreter():
    """A Python that has matplotlib: this one, or build/venv's, which is completed if need be; else None."""
    if importlib.util.find_spec(PLOTTER):
        return sys.executable
    there = environment.prepare(packages=(PLOTTER,))
    return there.python if not there.missing else None


def write(document, path):
    """Makes the page of what was just measured in a Python that can plot; says so on stderr when it can't. Returns
    whether it was made."""
    command = [interpreter() or sys.executable, SCRIPT, "-", "--html", path]
    return subprocess.run(command, input=json.dumps(document), text=True, check=False).returncode == 0
