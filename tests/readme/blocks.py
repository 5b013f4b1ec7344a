"""The code blocks of a README as one program for bash.

Blocks of `sh` are typed as they stand, one after the other into one shell; `python` blocks are given to its python3; `cpp` and `c`
blocks are saved under the name in their first comment. Other blocks are only shown. A word after the language is what the block
needs besides the build, such as `onnxruntime`.
"""

import re
import shlex
from dataclasses import dataclass

_FENCED = re.compile(r"^```(\w+) *(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE_NAME = re.compile(r"(?://|/\*) *(\S+)")
TYPED, SAVED, GIVEN = ("sh",), ("cpp", "c"), ("python",)


@dataclass
class Block:
    language: str
    needs: str
    text: str

    @property
    def of_python(self):
        """Whether it needs the package, and so numpy."""
        return self.language in GIVEN or "pip install" in self.text or self.needs != ""


def read(text):
    """The blocks of a page, in order."""
    return [Block(*found) for found in _FENCED.findall(text)]


def program(blocks):
    """One script that ends with the first command that fails. Raises ValueError for a block that says no file name."""
    lines = ["set -e -o pipefail"]
    for block in blocks:
        if block.language in TYPED:
            for line in block.text.splitlines():
                lines += ["printf '%%s\\n' %s" % shlex.quote("$ " + line), line]
        elif block.language in SAVED:
            name = _FILE_NAME.match(block.text)
            if not name:
                raise ValueError("a block of %s does not begin with its file's name: %s" % (block.language, block.text.splitlines()[0]))
            lines.append("printf '%%s' %s > %s" % (shlex.quote(block.text), shlex.quote(name[1])))
        elif block.language in GIVEN:
            lines.append("python3 -c %s" % shlex.quote(block.text))
    return "\n".join(lines) + "\n"
