#!/usr/bin/env python3
"""The coverage table: `coverage.py AXRUN TABLE [--evidence FILE | --check]`.

Rows are the operators that `axrun operators --json` lists. What types they run with, and by which kernels, is what ONNX's
suites showed: FILE is what test_onnx_suite appended to AXRUN_SUITE_EVIDENCE in the tests of the fallback and of the generated
kernels, of Debian's suite and of the newest one. --check says whether the table has just the operators and opsets of AXRUN
(exit 1 where it has not): what was measured depends on the processor.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys

HEADER = """# Which operators run, and how

Written by `tests/onnx_suite/coverage.py`; a test compares its operators and opsets with `axrun operators`.

- **opsets**: from each of these versions on the definition is another one; the last holds up to the newest opset (28 of
  `ai.onnx`, 5 of `ai.onnx.ml`).
- **passed for**: element types of the first input (of an output where there is none) in those of ONNX's cases that passed,
  Debian's suite and the newest one together. `-`: the suites have no case; other tests do.
- **fallback**: `all` or the types for which a precompiled kernel answered; for the other ones the definition is interpreted.
  `runtime`: there is no kernel, but control flow or containers. `import`: ordinary nodes take its place when a file is read.
- **generated, proved**: the types for which a generated kernel was in force, its loops proved and its machine code tested, when
  the answer was compared (AVX2).

| operator | opsets | passed for | fallback | generated, proved |
| --- | --- | --- | --- | --- |
"""


REPLACED = {"ai.onnx.preview.training Gradient"}


def operators(axrun: str) -> list[dict]:
    return json.loads(subprocess.run([axrun, "operators", "--json"], check=True, capture_output=True, text=True).stdout)["operators"]


def name_of(row: dict) -> str:
    return row["name"] if row["domain"] == "ai.onnx" else row["domain"] + " " + row["name"]


def opsets_of(row: dict) -> str:
    return ", ".join(str(version) for version in row["since"])


def read_evidence(file: str):
    """Types by operator: passed, with precompiled kernels, with generated ones."""
    passed, precompiled, generated = (collections.defaultdict(set) for _ in range(3))
    nodes = []
    for line in pathlib.Path(file).read_text().splitlines():
        kind, *words = line.split("\t")
        if kind == "case":
            nodes = []
        elif kind == "node":
            domain, op, _, element = words
            nodes.append((op if domain in ("", "ai.onnx") else domain + " " + op, element))
            passed[nodes[-1][0]].add(element)
        else:
            ops, how = words
            for name, element in nodes:
                if name.split(" ")[-1] in ops.split("+") and how != "interpreted":
                    (precompiled if how == "precompiled" else generated)[name].add(element)
    return passed, precompiled, generated


def types(names: set) -> str:
    known = sorted(names - {"undefined"})
    return ", ".join(known) if known else "-"


def table(axrun: str, evidence: str) -> str:
    passed, precompiled, generated = read_evidence(evidence)
    text = HEADER
    for row in operators(axrun):
        name = name_of(row)
        fallback = "runtime" if row["run_by"] == "runtime" else types(precompiled[name])
        if name in REPLACED:
            fallback = "import"
        if passed[name] and fallback not in ("runtime", "import") and passed[name] <= precompiled[name]:
            fallback = "all"
        text += "| %s | %s | %s | %s | %s |\n" % (name, opsets_of(row), types(passed[name]), fallback, types(generated[name]))
    return text


def check(axrun: str, file: pathlib.Path) -> int:
    wanted = {(name_of(row), opsets_of(row)) for row in operators(axrun)}
    lines = [line.split(" | ") for line in file.read_text().splitlines() if line.startswith("| ")]
    written = {(words[0][2:], words[1]) for words in lines[2:]}
    for name, opsets in sorted(wanted - written):
        print("not in the table: %s from %s" % (name, opsets))
    for name, opsets in sorted(written - wanted):
        print("axrun does not have: %s from %s" % (name, opsets))
    return 0 if wanted == written else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("axrun")
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("--evidence")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.check:
        return check(arguments.axrun, arguments.table)
    if arguments.evidence is None:
        parser.error("--evidence is needed")
    arguments.table.write_text(table(arguments.axrun, arguments.evidence))
    return 0


if __name__ == "__main__":
    sys.exit(main())
