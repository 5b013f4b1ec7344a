#!/usr/bin/env python3
"""What the cache takes for the same generator. Usage: generator_id_test.py CMAKE ROOT LIST: LIST is the build's list of the
sources that name the generator.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

CMAKE, ROOT, LIST = sys.argv[1:4]
SCRIPT = os.path.join(ROOT, "cmake", "generator_id.cmake")
# Commands, servers and bindings: they decide nothing of a kernel.
OUTSIDE = ("runtime/cli/", "runtime/serve/", "runtime/python/", "runtime/onnxruntime_ep/", "runtime/metrics_text/")


class Tree:
    """A few sources, and the id of what they are."""

    def __init__(self, folder, sources):
        self.folder, self.output = folder, os.path.join(folder, "id.cpp")
        self.sources = {}
        for name, text in sources.items():
            self.write(name, text)

    def write(self, name, text):
        self.sources[name] = text
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def run(self, options="gcc 12, Release", names=None):
        listing = os.path.join(self.folder, "list.txt")
        with open(listing, "w", encoding="utf-8") as file:
            file.write("\n".join(names or self.sources) + "\n")
        return subprocess.run([CMAKE, "-DROOT=" + self.folder, "-DLIST=" + listing, "-DOPTIONS=" + options,
                               "-DOUTPUT=" + self.output, "-P", SCRIPT], capture_output=True, text=True, check=False)

    def id(self, *arguments, **options):
        done = self.run(*arguments, **options)
        assert done.returncode == 0, done.stderr
        with open(self.output, encoding="utf-8") as file:
            return re.search(r'generator_id = "([0-9a-f]{32})";', file.read()).group(1)


class GeneratorId(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Tree(folder.name, {"a.cpp": "int a;\n", "b.h": "int b;\n"})

    def test_it_is_the_sources(self):
        before = self.tree.id()
        self.assertEqual(self.tree.id(), before)
        self.assertEqual(self.tree.id(names=["b.h", "a.cpp"]), before, "the order of the list says nothing")
        self.tree.write("b.h", "int b; \n")
        self.assertNotEqual(self.tree.id(), before)
        self.tree.write("b.h", "int b;\n")
        self.assertEqual(self.tree.id(), before)

    def test_it_is_their_names_and_number(self):
        seen = {self.tree.id(), self.tree.id(names=["a.cpp"])}
        self.tree.write("c.cpp", "int a;\n")
        seen |= {self.tree.id(), self.tree.id(names=["b.h", "c.cpp"]), self.tree.id(names=["c.cpp"])}
        self.assertEqual(len(seen), 5)

    def test_it_is_the_compiler_and_its_options(self):
        self.assertNotEqual(self.tree.id("gcc 12, Release"), self.tree.id("gcc 13, Release"))

    def test_nothing_is_written_where_nothing_changes(self):
        self.tree.id()
        os.utime(self.tree.output, (1, 1))
        self.tree.id()
        self.assertEqual(os.stat(self.tree.output).st_mtime, 1)

    def test_a_missing_source_is_an_error(self):
        self.assertNotEqual(self.tree.run(names=["a.cpp", "none.cpp"]).returncode, 0)
        self.assertFalse(os.path.exists(self.tree.output))

    def test_the_build_lists_every_source(self):
        found = set()
        for top in ["ir", "onnx_import", "verify", "jit", "search", "runtime"]:
            for folder, _, names in os.walk(os.path.join(ROOT, top)):
                found |= {os.path.relpath(os.path.join(folder, name), ROOT) for name in names
                          if name.endswith((".c", ".cpp", ".h"))}
        with open(LIST, encoding="utf-8") as file:
            listed = file.read().split()
        self.assertEqual(len(set(listed)), len(listed))
        self.assertEqual(set(listed), {name for name in found if not name.startswith(OUTSIDE)})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
