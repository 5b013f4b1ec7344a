#!/usr/bin/env python3
"""What one machine has found, taken to another one. Usage: portable_test.py AXRUN MODEL, MODEL being the demonstration
model. The other machine is this one, described otherwise.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

AXRUN, MODEL = sys.argv[1:3]
HERE = {**os.environ, "AXRUN_CACHE": "on", "AXRUN_OPTIMIZE": "1", "AXRUN_OPTIMIZER_PRIORITY": "normal"}


def axrun(*arguments, environment=None, code=0):
    run = subprocess.run([AXRUN, *arguments], capture_output=True, text=True, timeout=300,
                         env={**HERE, **(environment or {})})
    assert run.returncode == code, (arguments, run.returncode, run.stderr)
    return run.stdout


class Portable(unittest.TestCase):
    """One machine has optimised the model, and what it knows has been exported."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.expected = cls.path("expected")
        axrun(MODEL, "--tier", "reference", "--runs", "1", "--warmup", "0", "--dim", "batch=8", "--no-cache", "--quiet",
              "--save", cls.expected)
        cls.first = cls.optimise(cls.path("first"))
        cls.archive = cls.path("archive")
        cls.exported = json.loads(axrun("cache", "export", cls.archive, "--cache-dir", cls.path("first"), "--json"))

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def optimise(cls, cache, **environment):
        """The record of a model that is optimised until nothing is left, and then gives the stored output."""
        out = axrun(MODEL, "--dim", "batch=8", "--budget", "120", "--threads", "1", "--runs", "3", "--json", "--quiet",
                    "--cache-dir", cache, "--expect", "scores:@" + os.path.join(cls.expected, "output_0.pb"),
                    environment=environment)
        return json.loads(out)["optimiser"]

    def imported(self, name):
        cache = self.path(name)
        axrun("cache", "import", self.archive, "--cache-dir", cache)
        return cache

    def groups(self, cache):
        return json.loads(axrun("cache", "list", "--cache-dir", cache, "--json"))["folders"][0]["groups"]

    def check_elsewhere(self, cache, **environment):
        record = self.optimise(cache, **environment)
        self.assertFalse(record["cache"]["found"])
        self.assertNotEqual(record["cache"]["experience"], "")
        made = [kernel for kernel in record["kernels"] if kernel["code_bytes"]]
        self.assertTrue(made)
        for kernel in made:
            self.assertFalse(kernel["from_cache"], kernel)
            self.assertTrue(kernel["proof"].startswith("proved"), kernel)
            self.assertTrue(kernel["gate"].startswith("tested"), kernel)
        self.assertGreaterEqual(record["worker_starts"], 1)
        return record

    def test_the_archive_holds_no_machine_code(self):
        self.assertEqual(self.first["cache"]["experience"], "")
        self.assertTrue([kernel for kernel in self.first["kernels"] if kernel["code_bytes"]])
        self.assertGreater(self.exported["entries"], 0)
        parts = {group["kind"] for group in self.groups(self.path("first"))}
        self.assertIn("code", parts)
        cache = self.imported("only")
        portable = {group["kind"] for group in self.groups(cache)}
        self.assertIn("plans", portable)
        self.assertFalse(portable & {"code", "measurements"}, portable)
        self.assertFalse(os.path.exists(os.path.join(cache, "machine.db")))

    def test_another_instruction_set(self):
        cache = self.imported("avx2")
        record = self.check_elsewhere(cache, AXRUN_ISA="avx2")
        self.assertNotIn("at most avx2", record["cache"]["experience"])
        # Its own session there starts from what was made there, and says that it was.
        again = self.optimise(cache, AXRUN_ISA="avx2")
        self.assertTrue(again["cache"]["found"])

    def test_another_description(self):
        description = json.loads(axrun("target", "--json"))
        description["caches"][0]["bytes"] //= 2
        description["caches"][1]["bytes"] //= 4
        description["name"] = "another processor"
        file = self.path("target.json")
        with open(file, "w") as out:
            json.dump(description, out)
        cache = self.imported("described")
        self.check_elsewhere(cache, AXRUN_TARGET=file)
        # Both machines' code lies side by side, each for itself.
        both = self.path("first")
        self.optimise(both, AXRUN_TARGET=file)
        machines = {group["machine"] for group in self.groups(both) if group["kind"] == "code"}
        self.assertEqual(len(machines), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
