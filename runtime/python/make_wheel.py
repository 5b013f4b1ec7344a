#!/usr/bin/env python3
"""Packs a build of axrun as a wheel, with nothing but the standard library.

    make_wheel.py --version 0.1.0 --folder OUT --package runtime/python/axrun --license LICENSE --license NOTICE FILE...

FILEs are what a build made: libraries under the names that they are loaded by, programs. They lie together in axrun/lib,
and look for libraries there ($ORIGIN). What they need of the system's libraries comes along, with its licence, but for
those that every system has (the C library, libstdc++). The wheel's tag says which systems these are: any Python 3, and a C
library at least as new as this machine's. The same files give the same wheel, to the bit.

Licences lie in dist-info/licenses: those given; the copyright file of the Debian package of each library, and of each package
given as --compiled-in (static and header-only libraries, which ldd does not show); the licence texts that these files refer to.
"""

import argparse
import base64
import glob
import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

# Of every system with Python wheels (PEP 600's manylinux): never packed.
SYSTEM = re.compile(r"(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|util|stdc\+\+|gcc_s))\.so(\..*)?")


def needed(path):
    """{name: path} of all shared libraries that the loader takes for a file, those of the system left out."""
    found = {}
    for line in subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout.splitlines():
        match = re.match(r"\s*(\S+) => (.+?)( \(0x[0-9a-f]+\))?$", line)
        if not match or SYSTEM.fullmatch(match[1]):
            continue
        if match[2] == "not found":
            sys.exit("make_wheel: %s needs %s, which is not there" % (path, match[1]))
        found[match[1]] = match[2]
    return found


def looks_beside_itself(path):
    """Whether the file finds libraries, and those that they need, in its own folder."""
    dynamic = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
    match = re.search(r"\(RPATH\).*\[(.*)\]", dynamic)
    return match is not None and match[1].split(":") == ["$ORIGIN"]  # an empty part would be the current folder


def copyright_of(package):
    """The copyright file of an installed Debian package; None where there is none."""
    text = os.path.join("/usr/share/doc", package, "copyright")
    return text if os.path.exists(text) else None


def package_of(library):
    """The Debian package that a library belongs to; None where that cannot be told."""
    path = os.path.realpath(library)
    # dpkg knows the names of the time before /lib became a link to /usr/lib.
    for path in (path, re.sub("^/usr/lib/", "/lib/", path)):
        try:
            said = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True)
        except FileNotFoundError:  # not Debian
            return None
        if said.returncode == 0:
            return said.stdout.split(":")[0]
    return None


def licence_files(given, packages):
    """{name below dist-info/licenses: path}: files given, copyright files of packages, texts that those refer to."""
    files = {os.path.basename(path): path for path in given}
    for package in packages:
        path = copyright_of(package)
        if not path:
            continue
        files[package + "/copyright"] = path
        with open(path, encoding="utf8", errors="replace") as file:
            for name in re.findall(r"/usr/share/common-licenses/([A-Za-z0-9.-]*[A-Za-z0-9])", file.read()):
                text = os.path.join("/usr/share/common-licenses", name)
                if os.path.exists(text):
                    files["common-licenses/" + name] = text
    return files


def metadata(version, licences, homepage, readme):
    """METADATA in version 2.4, whose licence fields are those of PEP 639."""
    lines = ["Metadata-Version: 2.4", "Name: axrun", "Version: " + version,
             "Summary: An ONNX runtime that optimises models while it runs them", "License-Expression: Apache-2.0"]
    lines += ["License-File: " + name for name in sorted(licences)]
    if homepage:
        lines += ["Project-URL: Homepage, " + homepage]
    lines += ["Requires-Python: >=3.9", "Requires-Dist: numpy>=1.21", "Provides-Extra: onnxruntime",
              "Requires-Dist: onnxruntime>=1.23; extra == 'onnxruntime'", "Provides-Extra: bfloat16",
              "Requires-Dist: ml_dtypes; extra == 'bfloat16'", "Description-Content-Type: text/markdown"]
    return "\n".join(lines) + "\n\n" + readme


def tag():
    libc = os.confstr("CS_GNU_LIBC_VERSION").split()[1]
    return "py3-none-manylinux_%s_%s" % (libc.replace(".", "_"), platform.machine())


class Wheel:
    """Entries are compressed, have one date, and are listed with their hashes."""

    def __init__(self, path, information):
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self._information = information
        self._record = []

    def add(self, name, content, program=False):
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.external_attr = (0o100755 if program else 0o100644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self._record.append("%s,sha256=%s,%d" % (name, digest, len(content)))

    def add_file(self, name, path, program=False):
        with open(path, "rb") as file:
            self.add(name, file.read(), program)

    def close(self):
        record = self._information + "/RECORD"
        self.add(record, "".join(line + "\n" for line in self._record + [record + ",,"]).encode())
        self._zip.close()


def make(version, folder, package, files, licences, compiled_in, homepage):
    """Returns the wheel's path. files: {name in axrun/lib: path}; licences: paths; compiled_in: Debian packages."""
    libraries = {}
    for path in files.values():
        if not looks_beside_itself(path):
            sys.exit("make_wheel: %s does not look for libraries in its own folder (RPATH $ORIGIN)" % path)
        libraries.update(needed(path))
    libraries = {name: path for name, path in libraries.items() if name not in files}

    os.makedirs(folder, exist_ok=True)
    target = os.path.join(folder, "axrun-%s-%s.whl" % (version, tag()))
    information = "axrun-%s.dist-info" % version
    wheel = Wheel(target + ".new", information)
    for source in sorted(glob.glob(os.path.join(package, "*.py")) + [os.path.join(package, "py.typed")]):
        wheel.add_file("axrun/" + os.path.basename(source), source)
    for name, path in sorted({**files, **libraries}.items()):
        if name in files:
            with tempfile.NamedTemporaryFile(dir=folder) as copy:  # without the symbols that only debuggers read
                subprocess.run(["strip", "--strip-unneeded", "-o", copy.name, path], check=True)
                wheel.add_file("axrun/lib/" + name, copy.name, program=True)
        else:
            wheel.add_file("axrun/lib/" + name, path)
    packages = {package_of(path) for path in libraries.values()} - {None}
    licences = licence_files(licences, sorted(packages | set(compiled_in)))
    for name, path in sorted(licences.items()):
        wheel.add_file("%s/licenses/%s" % (information, name), path)
    with open(os.path.join(package, os.pardir, "README.md"), encoding="utf8") as file:
        wheel.add(information + "/METADATA", metadata(version, licences, homepage, file.read()).encode())
    wheel.add(information + "/WHEEL", (
        "Wheel-Version: 1.0\nGenerator: axrun (%s)\nRoot-Is-Purelib: false\nTag: %s\n" % (version, tag())).encode())
    wheel.add(information + "/entry_points.txt", b"[console_scripts]\naxrun = axrun.__main__:main\n")
    wheel.close()
    for old in glob.glob(os.path.join(glob.escape(folder), "axrun-*.whl")):
        os.remove(old)
    os.replace(target + ".new", target)
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--version", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--package", required=True)
    parser.add_argument("--license", action="append", default=[], metavar="FILE", help="a licence of axrun's own")
    parser.add_argument("--compiled-in", action="append", default=[], metavar="PACKAGE",
                        help="a Debian package whose code is compiled into the files")
    parser.add_argument("--homepage", metavar="URL")
    parser.add_argument("files", nargs="+", metavar="NAME=FILE")
    given = parser.parse_args()
    files = dict(file.split("=", 1) for file in given.files)
    print(make(given.version, given.folder, given.package, files, given.license, given.compiled_in, given.homepage))


if __name__ == "__main__":
    main()
