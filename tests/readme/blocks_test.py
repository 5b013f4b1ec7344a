"""Tests of blocks.py, and that the README's blocks are of the kinds that are run.

Run: python3 tests/readme/blocks_test.py
"""

import os
import re
import subprocess
import tempfile
import unittest

import blocks
import run_readme

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = """Words.

```sh
x='a  b'   # kept
echo "$x" > said
```

```cpp
// main.cpp
int main() { return '\\''; }
```

```sh extra
false
```

```python
print("it's", open("said").read())
```

```text
not a command
```
"""


class Blocks(unittest.TestCase):
    def run_in(self, folder, page):
        return subprocess.run(["bash", "-c", blocks.program(page)], cwd=folder, stdout=subprocess.PIPE, text=True)

    def test_blocks_share_a_shell_and_are_done_in_order(self):
        page = blocks.read(PAGE)
        self.assertEqual([(block.language, block.needs) for block in page],
                         [("sh", ""), ("cpp", ""), ("sh", "extra"), ("python", ""), ("text", "")])
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_in(folder, [block for block in page if not block.needs])
            self.assertEqual(done.returncode, 0)
            self.assertIn("it's a  b", done.stdout)
            with open(os.path.join(folder, "main.cpp"), encoding="utf8") as file:
                self.assertEqual(file.read(), page[1].text)

    def test_a_command_that_fails_ends_it(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_in(folder, blocks.read(PAGE))
            self.assertNotEqual(done.returncode, 0)
            self.assertNotIn("it's", done.stdout)
            page = "```sh\nfalse | true\necho on\n```\n"
            self.assertNotIn("on\n", self.run_in(folder, blocks.read(page)).stdout.replace("$ echo on\n", ""))

    def test_files_have_names(self):
        with self.assertRaisesRegex(ValueError, "file's name"):
            blocks.program(blocks.read("```c\nint x;\n```\n"))

    def test_every_block_of_the_page_is_run(self):
        with open(os.path.join(ROOT, "README.md"), encoding="utf8") as file:
            text = file.read()
        page = blocks.read(text)
        self.assertGreater(len(page), 8)
        self.assertEqual(text.count("\n```"), 2 * len(page))
        for block in page:
            self.assertIn(block.language, blocks.TYPED + blocks.SAVED + blocks.GIVEN)
            self.assertIn(block.needs, ("", "onnxruntime"))
        outside = re.sub(r"(?ms)^```.*?^```$", "", text)
        self.assertEqual(re.findall(r"(?m)^    \S.*", outside), [])  # indented blocks would not be run


class Built(unittest.TestCase):
    """Whether there is something to build is seen although the first step of a build looks for new sources."""

    def test_it_is_seen(self):
        rules = """rule RERUN_CMAKE
  command = touch build.ninja
  generator = 1
rule look
  command = test -e looked || touch looked
  restat = 1
rule copy
  command = cp $in $out
build always: phony
build looked: look | always
build build.ninja: RERUN_CMAKE looked | source
  pool = console
build product: copy source
"""
        with tempfile.TemporaryDirectory() as folder:
            def write(name, text):
                with open(os.path.join(folder, name), "w", encoding="utf8") as file:
                    file.write(text)
            write("source", "1")
            write("build.ninja", rules)
            self.assertFalse(run_readme.is_built(folder, ["product"]))
            subprocess.run(["ninja", "-C", folder, "product"], check=True, stdout=subprocess.DEVNULL)
            self.assertTrue(run_readme.is_built(folder, ["product"]))
            write("source", "2")
            os.utime(os.path.join(folder, "source"), (2**31, 2**31))
            self.assertFalse(run_readme.is_built(folder, ["product"]))


if __name__ == "__main__":
    unittest.main()
