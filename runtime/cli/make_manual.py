#!/usr/bin/env python3
"""Makes the manual page and the completion of bash of what `axrun --help` says. Usage: make_manual.py AXRUN FOLDER

FOLDER gets axrun.1 and axrun.bash-completion.
"""

import os
import re
import subprocess
import sys

COMPLETION = """# Completion of axrun for bash; made of axrun --help.
_axrun() {
  local word=${COMP_WORDS[COMP_CWORD]}
  case $word in
    -*) COMPREPLY=($(compgen -W "%(options)s" -- "$word")) ;;
    *)
      COMPREPLY=($(compgen -f -- "$word"))
      if [ "$COMP_CWORD" = 1 ]; then COMPREPLY+=($(compgen -W "%(commands)s" -- "$word")); fi ;;
  esac
}
complete -o filenames -F _axrun axrun
"""


def escaped(line):
    """A line of text for troff, as it is."""
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + line if line.startswith((".", "'")) else line


def manual(text, version):
    """Lines that begin at the left and are followed by indented ones are headings."""
    lines = text.rstrip().split("\n")
    page = ['.TH AXRUN 1 "" "axrun %s" "User Commands"' % version, ".SH NAME", "axrun \\- " + escaped(lines[0]).rstrip("."),
            ".SH SYNOPSIS", ".nf"]
    for line in lines[2:]:
        if line and not line.startswith(" "):
            page += [".fi", ".SH " + line.upper(), ".nf"]
        else:
            page.append(escaped(line))
    return "\n".join(page + [".fi", ".SH SEE ALSO", "axrun knobs lists the environment variables.", ""])


def completion(text):
    commands = set(re.findall(r"^  axrun ([a-z]+)(?![.\w])", text, re.M)) | {"help", "version"}
    return COMPLETION % {"options": " ".join(sorted(set(re.findall(r"--[a-z][a-z-]*", text)))),
                         "commands": " ".join(sorted(commands))}


def main():
    program, folder = sys.argv[1:]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AXRUN_")}

    def said(option):
        return subprocess.run([program, option], check=True, capture_output=True, text=True, env=environment).stdout

    text = said("--help")
    for name, content in (("axrun.1", manual(text, said("--version").split()[1])), ("axrun.bash-completion", completion(text))):
        with open(os.path.join(folder, name), "w", encoding="utf8") as file:
            file.write(content)


if __name__ == "__main__":
    main()
