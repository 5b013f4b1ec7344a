#!/usr/bin/env python3
"""The shape of the source tree, of libaxrun and of the worker program. Usage: structure_test.py ROOT LIBAXRUN WORKER TEST_CHECKS"""

import os
import re
import subprocess
import sys
import unittest

import include_directions

ROOT, LIBRARY, WORKER, TEST_CHECKS = sys.argv[1:5]


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf8") as file:
        return file.read()


class IncludeDirections(unittest.TestCase):
    def test_the_tree(self):
        self.assertGreater(len(list(include_directions.sources(ROOT))), 100)
        self.assertEqual(include_directions.check(ROOT), [])

    def test_the_checker_finds_what_is_forbidden(self):
        forbidden = [
            ("ir/a.h", '#include "runtime/session.h"'),
            ("ir/a.h", '#include "onnx_import/import.h"'),
            ("onnx_import/a.cpp", '#include "runtime/value.h"'),
            ("verify/a.cpp", '#include "jit/a.h"'),
            ("jit/a.cpp", '#  include "verify/a.h"'),
            ("search/a.cpp", '#include "onnx_import/import.h"'),
            ("runtime/a.cpp", '#include "tests/runtime/models.h"'),
            ("runtime/a.cpp", '#include "perf/host/host.h"'),
            ("runtime/a.cpp", '#include "value.h"'),
            ("runtime/a.cpp", '#include "../ir/dim.h"'),
            ("search/a.cpp", "#include <z3++.h>"),
            ("jit/a.cpp", "#include <Zydis/Zydis.h>"),
            ("verify/a.cpp", "#include <asmjit/x86.h>"),
            ("search/a.cpp", "#include <hwloc.h>"),
            ("jit/detect.cpp", "#include <nlohmann/json.hpp>"),
            ("runtime/a.cpp", "#include <cuda.h>"),
            ("ir/a.cpp", "#include <onnx/onnx_pb.h>"),
            ("runtime/a.cpp", "#include <google/protobuf/message.h>"),
            ("runtime/session.cpp", "#include <oneapi/tbb/parallel_for.h>"),
            ("runtime/plan/a.cpp", "#include <immintrin.h>"),
        ]
        for path, line in forbidden:
            self.assertEqual(len(include_directions.violations_in(path, [line])), 1, (path, line))

    def test_the_checker_lets_pass_what_is_allowed(self):
        allowed = [
            ("runtime/a.cpp", '#include "ir/dim.h"'),
            ("search/a.cpp", '#include "verify/a.h"'),
            ("verify/a.cpp", "#include <z3++.h>"),
            ("jit/a.cpp", "#include <asmjit/x86.h>"),
            ("tests/onnx_import/a.cpp", "#include <onnx/onnx_pb.h>"),
            ("runtime/parallel.cpp", "#include <oneapi/tbb/parallel_for.h>"),
            ("ir/a.cpp", "#include <vector>"),
            ("ir/a.cpp", "// #include is a word here"),
        ]
        for path, line in allowed:
            self.assertEqual(include_directions.violations_in(path, [line]), [], (path, line))


class Tree(unittest.TestCase):
    def test_the_environment_is_read_in_one_place(self):
        """Every AXRUN_ variable goes through the table in runtime/knobs.cpp."""
        readers = [path for path in include_directions.sources(ROOT)
                   if not path.startswith(("tests/", "perf/")) and re.search(r'getenv\(\s*"AXRUN', read(path))]
        self.assertEqual(readers, [])

    def test_every_folder_says_what_it_is(self):
        for folder in include_directions.MAY_INCLUDE:
            self.assertGreater(len(read(folder, "README.md")), 200, folder)

    def test_names_of_this_machine_stay_out(self):
        listed = subprocess.run(["git", "-C", ROOT, "grep", "-nIE", r"(^|[^A-Za-z0-9_.-])/(home|work|root)/[a-z]"],
                                capture_output=True, text=True)
        self.assertEqual(listed.stdout, "")


class Library(unittest.TestCase):
    def symbols(self, flags):
        listed = subprocess.run(["nm", "-DC"] + flags + [LIBRARY], capture_output=True, text=True, check=True)
        return [line.split(maxsplit=2)[1:] for line in listed.stdout.replace("@@AXRUN_0", "").splitlines()]

    def test_it_exports_the_c_interface(self):
        names = {name for _, name in self.symbols(["--defined-only"])}
        headers = read("runtime", "axrun_c.h") + read("runtime", "axrun_operators.h")
        declared = set(re.findall(r"AXRUN_API [^;(]*?(axrun_\w+)\(", headers))
        self.assertGreater(len(declared), 20)
        self.assertEqual(declared - names, set())
        self.assertTrue(any("axrun::runtime::Session::run" in name for name in names))

    def test_it_exports_nothing_else_of_ours(self):
        """Only what is marked AXRUN_API, under a version."""
        public = re.compile(r"axrun_\w+$|(typeinfo( name)?|vtable) for |axrun::Error|axrun::(throw_internal|error_place)\b|axrun::ir::"
                            r"(Tensor|Dim|Graph|[a-z_0-9]+)\b|axrun::runtime::(RunState|Session|RuntimeValue|make_inputs|narrowed"
                            r"|take|slice|concatenate|stack|name_of|set_log|logs?|log_line|log_level_of|code_of|fault_of)\b"
                            r"|axrun::ir::operator")
        everything = [name for kind, name in self.symbols(["--defined-only"]) if kind != "A"]
        self.assertEqual([name for name in everything if not re.match(r"axrun_|((typeinfo|vtable)( name)? for )?axrun::", name)], [])
        strong = [name for kind, name in self.symbols(["--defined-only"]) if kind in "TDBR"]
        self.assertEqual([name for name in strong if not public.match(name)], [])
        private = ("axrun::runtime::Plan::", "axrun::runtime::ThreadPool", "axrun::onnx_import", "axrun::ir::Builder",
                   "axrun::ir::define_node", "axrun::ir::simplify", "axrun::runtime::sse2", "axrun::runtime::avx2")
        self.assertEqual([name for name in strong if name.startswith(private)], [])

    def test_nothing_that_threads_use_ends_before_they_do(self):
        """Static variables with destructors: see ir/lasting.h. Programs, and what <iostream> brings, may have them."""
        build = os.path.join(os.path.dirname(LIBRARY), "..")
        objects = []
        for folder in ("ir", "jit", "onnx_import", "runtime", "search", "verify"):
            for where, _, names in os.walk(os.path.join(build, folder)):
                if not re.search(r"/(axrun_serve|axrun_server|axrun_command|axrun_cli)\.dir", where):
                    objects += [os.path.join(where, name) for name in names if name.endswith(".cpp.o")]
        self.assertGreater(len(objects), 100)
        listed = subprocess.run(["nm", "-A"] + objects, capture_output=True, text=True, check=True).stdout
        at_exit, with_streams = ({line.split(":")[0] for line in listed.splitlines() if name in line}
                                 for name in (" U __cxa_atexit", " _ZStL8__ioinit"))
        self.assertEqual(sorted(os.path.relpath(path, build) for path in at_exit - with_streams), [])


class Checks(unittest.TestCase):
    """No check of verify/ can be taken out of what ships (verify/checks.h): neither the switch nor the checks' names are there."""

    @staticmethod
    def traces(path):
        symbols = subprocess.run(["nm", "-C", path], capture_output=True, text=True, check=True).stdout
        with open(path, "rb") as file:
            content = file.read()
        ids = re.findall(r'^    \{"([a-z_]+\.[a-z_]+)",', read("verify", "checks.h"), re.M)
        assert len(ids) > 80, ids
        return (len(re.findall(r"axrun::verify::", symbols)), len(re.findall(r"axrun::verify::checks::", symbols)),
                sum(id.encode() in content for id in ids), len(ids))

    def test_none_can_be_taken_out_of_what_ships(self):
        for path in (LIBRARY, WORKER):
            of_verify, of_switch, named, _ = self.traces(path)
            self.assertGreater(of_verify, 0, path)
            self.assertEqual((of_switch, named), (0, 0), path)

    def test_a_build_with_the_switch_would_be_seen(self):
        _, of_switch, named, ids = self.traces(TEST_CHECKS)
        self.assertGreater(of_switch, 0)
        self.assertGreater(named, ids / 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
