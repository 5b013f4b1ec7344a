"""What is in the wheel, and that it needs nothing else. Usage: package_wheel.py WHEEL ROOT MODEL"""

import base64
import email
import hashlib
import os
import re
import subprocess
import sys
import unittest
import zipfile

WHEEL, ROOT, MODEL = sys.argv[1:4]
FOLDER = os.path.join(os.path.dirname(os.path.realpath(__import__("axrun").__file__)), "lib")


class Wheel(unittest.TestCase):
    def test_every_file_is_recorded(self):
        with zipfile.ZipFile(WHEEL) as wheel:
            [record] = [name for name in wheel.namelist() if name.endswith("/RECORD")]
            lines = wheel.read(record).decode().splitlines()
            listed = {line.rsplit(",", 2)[0]: line.rsplit(",", 2)[1:] for line in lines}
            self.assertEqual(sorted(listed), sorted(wheel.namelist()))
            for name, (digest, size) in listed.items():
                if name == record:
                    continue
                content = wheel.read(name)
                self.assertEqual(len(content), int(size))
                want = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                self.assertEqual(digest, "sha256=" + want)

    def test_it_says_what_it_is(self):
        self.assertRegex(os.path.basename(WHEEL), r"^axrun-[0-9.]+-py3-none-manylinux_2_[0-9]+_[a-z0-9_]+\.whl$")
        with zipfile.ZipFile(WHEEL) as wheel:
            names = wheel.namelist()
        with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf8") as file:
            version = re.search(r"project\(axrun VERSION ([0-9.]+)", file.read())[1]
        self.assertEqual(__import__("axrun").__version__, version)
        self.assertIn("axrun-%s.dist-info/METADATA" % version, names)

    def test_it_holds_every_licence(self):
        with zipfile.ZipFile(WHEEL) as wheel:
            [metadata] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
            fields = email.message_from_bytes(wheel.read(metadata))
            folder = os.path.dirname(metadata) + "/licenses/"
            held = {name[len(folder):]: wheel.read(name) for name in wheel.namelist() if name.startswith(folder)}
        self.assertEqual(fields["License-Expression"], "Apache-2.0")
        self.assertEqual(sorted(fields.get_all("License-File")), sorted(held))
        for own in ("LICENSE", "NOTICE"):
            with open(os.path.join(ROOT, own), "rb") as file:
                self.assertEqual(held[own], file.read())
        for package in ("libtbb", "libz3", "zlib", "libsqlite3", "libasmjit", "libcli11", "libxxhash", "nlohmann-json3"):
            self.assertTrue(any(name.startswith(package) and name.endswith("/copyright") for name in held), (package, sorted(held)))
        for text in ("LGPL-2.1", "LGPL-3", "Apache-2.0"):  # what copyright files of Debian only refer to
            self.assertIn(b"Version", held["common-licenses/" + text].title())

    def test_the_notice_names_every_library(self):
        """Those that come along, and no others. The list is that of Debian 12."""
        with open(os.path.join(ROOT, "NOTICE"), encoding="utf8") as file:
            named = set(re.findall(r"^ +(lib\S+\.so)  ", file.read(), re.MULTILINE))
        carried = {re.sub(r"\.so\..*", ".so", name) for name in os.listdir(FOLDER) if ".so" in name}
        self.assertEqual(named, {name for name in carried if not name.startswith("libaxrun")})

    def test_everything_is_loaded_from_the_package_or_the_system(self):
        system = re.compile(r"(linux-vdso|ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s))\.so")
        loaded = 0
        for name in os.listdir(FOLDER):
            said = subprocess.run(["ldd", os.path.join(FOLDER, name)], capture_output=True, text=True, check=True).stdout
            for line in said.splitlines():
                library = line.split()[0]
                if "=>" not in line or system.match(os.path.basename(library)):
                    continue
                # What only system libraries need of each other is found as the loader finds it in a program.
                if name in ("axrun", "axrun-worker") or name.startswith("libaxrun"):
                    self.assertIn(FOLDER, os.path.realpath(line.split("=>")[1].split(" (")[0].strip()), (name, line))
                    loaded += 1
        self.assertGreater(loaded, 5)

    def test_the_command(self):
        program = os.path.join(os.path.dirname(sys.executable), "axrun")
        for command in ([program], [sys.executable, "-m", "axrun"]):
            run = subprocess.run(command + ["--version"], capture_output=True, text=True)
            self.assertEqual((run.returncode, "0." in run.stdout), (0, True), run.stderr)
        run = subprocess.run([program, MODEL, "--runs", "1", "--budget", "60", "--json", "--quiet"], capture_output=True, text=True,
                             env={**os.environ, "AXRUN_OPTIMIZER_PRIORITY": "normal"})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn('"worker_starts":1,', run.stdout)  # found beside the library
        self.assertEqual(subprocess.run([program, "--no-such-flag"], capture_output=True).returncode, 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
