"""Every program in perf/ tells how to use it.

Run: python3 tests/perf/help_test.py
"""

import os
import subprocess
import sys
import unittest

PERF = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "perf"))


def python_programs():
    for name in sorted(os.listdir(PERF)):
        path = os.path.join(PERF, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            with open(path, "rb") as file:
                if b"python" in file.readline():
                    yield path


class Help(unittest.TestCase):
    def test_every_program_has_some(self):
        programs = list(python_programs())
        self.assertIn(os.path.join(PERF, "compare"), programs)
        for program in programs:
            with self.subTest(os.path.basename(program)):
                run = subprocess.run([sys.executable, program, "--help"], capture_output=True, text=True, timeout=60)
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertIn("usage: " + os.path.basename(program), run.stdout)


if __name__ == "__main__":
    unittest.main()
