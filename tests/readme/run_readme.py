#!/usr/bin/env python3
"""Does what README.md shows, in the order shown, in a clone.

    run_readme.py BUILD        in a copy of this tree that shares its build folder: nothing has to be built
    run_readme.py --fresh      in a clone of HEAD with nothing built, from the packages on: many minutes; scripts/fresh_clone

The home folder is empty at the start. pip gets numpy and onnxruntime from a folder that is filled here, from the index that pip is
set up for (--fresh: from that index itself). Where numpy cannot be had, the blocks of Python are left out and the exit code is 77
(CTest: skipped); without onnxruntime only its blocks are. The one thing that is not as typed is the port.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

import blocks

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED = 77
PORT = "8000"  # in README.md


def copy_tree(target):
    """The files of the working tree that git knows or would add, with their times."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    for name in filter(None, listed.split("\0")):
        source, path = os.path.join(ROOT, name), os.path.join(target, name)
        if os.path.lexists(source):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy2(source, path, follow_symlinks=False)


def is_built(build, targets=("axrun_cli", "product")):
    """Whether building what the page builds would do nothing: a test does not compile.

    Asked of build.ninja without the rule that makes build.ninja: a dry run takes looking for new sources for a change, and ends there.
    """
    with open(os.path.join(build, "build.ninja"), encoding="utf-8") as file:
        rules = re.sub(r"^build [^\n]*: RERUN_CMAKE\b.*?(?=^\S|\Z)", "", file.read(), flags=re.MULTILINE | re.DOTALL)
    with tempfile.NamedTemporaryFile("w", dir=build, suffix=".ninja", encoding="utf-8") as file:
        file.write(rules)
        file.flush()
        said = subprocess.run(["ninja", "-C", build, "-f", os.path.basename(file.name), "-n", *targets], stdout=subprocess.PIPE, text=True)
    return said.returncode == 0 and "no work to do" in said.stdout


def wheels(folder, scratch):
    """Fills a folder with what pip is to find; returns what could be had of (numpy, onnxruntime)."""
    os.makedirs(folder, exist_ok=True)
    python = os.path.join(scratch, "venv", "bin", "python")
    subprocess.run(["python3", "-m", "venv", os.path.join(scratch, "venv")], check=True)
    had = []
    for package in ("numpy", "onnxruntime"):
        pip = [python, "-m", "pip", "--disable-pip-version-check"]
        # The folder first: it is full after the first time.
        for source in (["--no-index"], []):
            command = [*pip, "download", "-q", *source, "--find-links", folder, "--only-binary", ":all:", "-d", folder, package]
            try:
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240)
            except subprocess.TimeoutExpired:
                continue
            if done.returncode == 0:
                had.append(package)
                break
    return had


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return str(bound.getsockname()[1])


def run(script, folder, environment):
    """Runs it to its end, and ends what it has left running. Returns the exit code and what was said."""
    started = subprocess.Popen(["bash", "-c", script], cwd=folder, env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, start_new_session=True)
    said = []

    def read():
        for line in started.stdout:
            print(line, end="", flush=True)
            said.append(line)
    reader = threading.Thread(target=read)
    reader.start()
    code = started.wait()
    # A server that a failed command has left behind holds the pipe.
    try:
        os.killpg(started.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    reader.join()
    return code, "".join(said)


def main():
    fresh = sys.argv[1:] == ["--fresh"]
    if not fresh and len(sys.argv) != 2:
        sys.exit(__doc__)
    build = None if fresh else os.path.abspath(sys.argv[1])
    if build and not is_built(build):
        print("skipped: not everything is built that README.md builds")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="axrun_readme_") as scratch:
        clone, home = os.path.join(scratch, "axrun"), os.path.join(scratch, "home")
        os.makedirs(home)
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("AXRUN_", "XDG_")) and name not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
        environment["HOME"] = home
        if fresh:
            subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, clone], check=True)
            had = ["numpy", "onnxruntime"]
        else:
            copy_tree(clone)
            os.makedirs(os.path.join(clone, "build"))
            os.symlink(build, os.path.join(clone, "build", "release"))
            folder = os.path.join(build, "tests", "readme_wheels")
            had = wheels(folder, scratch)
            environment.update(PIP_NO_INDEX="1", PIP_FIND_LINKS=folder)
        with open(os.path.join(clone, "README.md"), encoding="utf8") as file:
            page = blocks.read(file.read())
        chosen = [block for block in page
                  if not (block.of_python and "numpy" not in had) and not (block.needs and block.needs not in had)]
        code, said = run(blocks.program(chosen).replace(PORT, free_port()), clone, environment)
    if code != 0:
        print("README.md: a command failed, with exit code %d" % code)
        return 1
    if '"scores"' not in said:
        print("README.md: the server did not answer with scores")
        return 1
    if "numpy" not in had:
        print("skipped: numpy cannot be had, so that the blocks of Python did not run; the others did")
        return SKIPPED
    left_out = len(page) - len(chosen)
    print("README.md: %d blocks done%s" % (len(chosen), ", %d left out without onnxruntime" % left_out if left_out else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
