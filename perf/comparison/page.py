"""One HTML page, complete in itself, of what perf/compare and perf/curves have measured: no script, no network."""

import importlib.util
import json
import os
import subprocess
import sys

from comparison import comparison_section, curves_section, environment
from comparison.markup import escape, tag

PLOTTER = "matplotlib"
NO_PLOTS = "the page needs the Python package matplotlib, which is not there and could not be installed"
SCRIPT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "page")

_LIGHT = ("--ink:#1c1c1c;--soft:#5a5a5a;--grid:#d9d9d9;--paper:#ffffff;--program-0:#0062a8;--program-1:#c8500a;"
          "--program-2:#0a7d57;--program-3:#a0458c;--program-4:#8a6a00;--program-5:#4b4b4b;--program-6:#b3232b;"
          "--program-7:#1b7f9c")
_DARK = ("--ink:#e6e6e6;--soft:#a6a6a6;--grid:#3a3d41;--paper:#15171a;--program-0:#5fb2f2;--program-1:#ff9a5c;"
         "--program-2:#4fcf9f;--program-3:#e69ad3;--program-4:#e0c04a;--program-5:#b8b8b8;--program-6:#ff8088;"
         "--program-7:#6fd0ea")
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
""" % (_LIGHT, _DARK)


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
