#!/usr/bin/env python3
"""Checks who includes whom. Folders are the architecture: each may include only those that the table allows, and
libraries are seen by few folders only. Usage: include_directions.py ROOT; exit 1 and one line for each violation.
"""

import os
import re
import sys

# Folder -> folders of ours that it may include, besides itself.
MAY_INCLUDE = {
    "ir": set(),
    "onnx_import": {"ir"},
    "verify": {"ir"},
    "jit": {"ir"},
    "search": {"ir", "verify", "jit"},
    "runtime": {"ir", "onnx_import", "verify", "jit", "search"},
    "tests": {"ir", "onnx_import", "verify", "jit", "search", "runtime", "perf"},
    "perf": {"ir", "onnx_import", "verify", "jit", "search", "runtime"},
}

# Headers of a library -> path prefixes that may include them; tests may include any.
LIBRARIES = [
    ("Z3", r"z3[^/]*\.h", ["verify/"]),
    ("MPFR", r"(mpfr|gmp)[^/]*\.h", ["verify/"]),
    ("Zydis", r"(Zydis|Zycore)/.*", ["verify/"]),
    ("asmjit", r"asmjit/.*", ["jit/"]),
    ("hwloc", r"hwloc.*", ["jit/"]),
    ("CUDA", r"(cuda|nvrtc)[^/]*\.h", ["jit/"]),
    ("ONNX and protobuf", r"(onnx|google/protobuf)/.*", ["onnx_import/"]),
    ("ONNX Runtime", r"onnxruntime.*", []),
    ("oneTBB", r"(oneapi/)?tbb/.*", ["runtime/parallel.cpp", "runtime/optimizer/background.cpp",
                                     "perf/kernels/onednn_interface.h"]),
    ("CLI11", r"CLI/.*", ["runtime/cli/", "runtime/serve/command_line.cpp"]),
    ("SQLite, zstd and xxHash", r"(sqlite3|zstd[^/]*|xxh[^/]*)\.h", ["runtime/cache/"]),
    ("RE2 and utf8proc", r"re2/.*|utf8proc\.h", ["ir/ops/regex.cpp", "ir/unicode.cpp"]),
    ("JSON", r"nlohmann/.*",
     ["runtime/cli/", "runtime/serve/", "runtime/optimizer/worker_protocol.cpp", "jit/target_file.cpp"]),
    ("Boost: Asio and Beast", r"boost/.*", ["runtime/serve/", "perf/service_load/"]),
    ("Prometheus", r"prometheus/.*", ["runtime/metrics_text/", "runtime/serve/"]),
    ("oneDNN and OpenBLAS", r"(oneapi/dnnl/)?dnnl.*|cblas.*|openblas.*", ["perf/kernels/"]),
    ("instruction sets", r"[a-z]*mmintrin\.h|immintrin\.h|arm_neon\.h",
     ["jit/", "ir/isa/", "runtime/kernels/"]),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def violations_in(path, lines):
    """Lines of text about one file; `path` is relative to the root."""
    folder = path.split("/")[0]
    found = []
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, header = match.groups()
        place = "%s:%d" % (path, number)
        if quote == '"':
            target = header.split("/")[0]
            if target not in MAY_INCLUDE or "/" not in header or ".." in header.split("/"):
                found.append("%s includes \"%s\": headers of ours are named from the root" % (place, header))
            elif target != folder and target not in MAY_INCLUDE[folder]:
                found.append("%s includes \"%s\": %s may include %s" % (
                    place, header, folder, " ".join(sorted(MAY_INCLUDE[folder])) or "nothing of ours"))
        for library, pattern, places in LIBRARIES:
            if folder != "tests" and re.fullmatch(pattern, header) and not path.startswith(tuple(places)):
                found.append("%s includes <%s>: %s belongs to %s" % (place, header, library, " ".join(places)))
    return found


def sources(root):
    for folder in sorted(MAY_INCLUDE):
        for where, folders, files in os.walk(os.path.join(root, folder)):
            folders.sort()
            for name in sorted(files):
                if name.endswith((".h", ".cpp", ".c")):
                    yield os.path.relpath(os.path.join(where, name), root)


def check(root):
    found = []
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf8") as file:
            found += violations_in(path, file)
    return found


if __name__ == "__main__":
    FOUND = check(sys.argv[1])
    print("\n".join(FOUND) if FOUND else "%d files, every include allowed" % len(list(sources(sys.argv[1]))))
    sys.exit(1 if FOUND else 0)
