#!/usr/bin/env python3
"""axrun cache as scripts see it. Usage: cache_test.py AXRUN"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

AXRUN = sys.argv[1]


class Cache(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.cache = os.path.join(self.folder.name, "cache")

    def run_axrun(self, *arguments, **environment):
        return subprocess.run([AXRUN, "cache", *arguments], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "AXRUN_CACHE": "on", "AXRUN_CACHE_DIR": self.cache, **environment})

    def json(self, *arguments, code=0):
        run = self.run_axrun(*arguments, "--json")
        self.assertEqual(run.returncode, code, run.stderr)
        return json.loads(run.stdout)

    def test_an_empty_cache(self):
        for action in ("list", "verify"):
            record = self.json(action)
            self.assertEqual(record["schema_version"], 1)
            self.assertEqual(record["folders"][0]["entries"], 0)
            self.assertIn("is not there yet", self.run_axrun(action).stdout)
        self.assertEqual(self.json("prune")["removed"], 0)
        self.assertFalse(os.path.exists(self.cache))

    def test_sessions_leave_nothing_that_has_to_be_put_in_order(self):
        """The log of writes is part of the database when they are done, not what every process reads first."""
        environment = {**os.environ, "AXRUN_CACHE": "on", "AXRUN_CACHE_DIR": self.cache,
                       "AXRUN_OPTIMIZER_PRIORITY": "normal"}

        def axrun(*arguments):
            done = subprocess.run([AXRUN, *arguments], capture_output=True, text=True, timeout=120, env=environment)
            self.assertEqual(done.returncode, 0, done.stderr)

        axrun("--runs", "1")
        model = os.path.join(self.cache, "demonstration_1.onnx")
        for command in (["optimize", model, "--budget", "30"], [model, "--runs", "1"]):
            axrun(*command)
            for database in ("results.db", "machine.db"):
                self.assertGreater(os.path.getsize(os.path.join(self.cache, database)), 4096, command)
                self.assertFalse(os.path.exists(os.path.join(self.cache, database + "-wal")), command)

    def test_export_and_import(self):
        archive, other = os.path.join(self.folder.name, "archive"), os.path.join(self.folder.name, "other")
        self.assertEqual(self.json("export", archive)["entries"], 0)
        self.assertEqual(self.json("import", archive, "--cache-dir", other)["entries"], 0)
        self.assertEqual(self.json("import", os.path.join(self.folder.name, "nowhere"), code=1)["error"]["fault"], "user")
        self.assertEqual(self.run_axrun("import", AXRUN).returncode, 1)

    def test_a_damaged_cache(self):
        os.mkdir(self.cache, 0o700)
        with open(os.path.join(self.cache, "results.db"), "wb") as file:
            file.write(b"no database at all, but a long text" * 1000)
        record = self.json("verify", code=2)
        self.assertEqual(record["damaged"], 1)
        self.assertEqual(record["folders"][0]["damaged"][0]["reason"], "damaged")
        self.assertEqual(self.run_axrun("list").returncode, 0)
        self.json("prune")
        self.assertEqual(self.json("verify")["damaged"], 0)

    def test_a_cache_that_others_can_write_to(self):
        os.mkdir(self.cache)
        os.chmod(self.cache, 0o777)
        listed = self.json("list")["folders"][0]
        self.assertFalse(listed["usable"])
        self.assertIn("can be written to by others", listed["troubles"][0])
        self.assertEqual(self.run_axrun("prune").returncode, 1)

    def test_layers(self):
        run = self.run_axrun("list", "--json", AXRUN_CACHE_LAYERS="/nowhere:" + self.folder.name)
        folders = json.loads(run.stdout)["folders"]
        self.assertEqual([folder["layer"] for folder in folders], [False, True, True])

    def test_optimize_fills_it_and_goes_on(self):
        models = os.path.join(self.folder.name, "models")
        subprocess.run([AXRUN, "--cache-dir", models, "--runs", "1"], check=True, capture_output=True, timeout=60)
        model = next(os.path.join(models, name) for name in os.listdir(models) if name.endswith(".onnx"))
        environment = {**os.environ, "AXRUN_CACHE": "on", "AXRUN_CACHE_DIR": self.cache, "AXRUN_OPTIMIZE": "1",
                       "AXRUN_OPTIMIZER_PRIORITY": "normal"}

        def axrun(*arguments):
            run = subprocess.run([AXRUN, *arguments], capture_output=True, text=True, timeout=120, env=environment)
            return run.returncode, run.stdout, run.stderr

        reports = []
        for _ in range(2):
            code, out, err = axrun("optimize", model, "--budget", "60", "--threads", "1", "--json")
            self.assertEqual(code, 0, err)
            self.assertNotIn("\r", err)  # no line of progress where no terminal is
            reports.append(json.loads(out)["optimiser"])
        self.assertFalse(reports[0]["cache"]["found"])
        self.assertGreater(reports[0]["cache"]["bytes_written"], 0)
        self.assertTrue(reports[1]["cache"]["found"])
        self.assertTrue(reports[1]["cache"]["settled"])
        self.assertEqual(reports[1]["worker_starts"], 0)
        served = [kernel for kernel in reports[1]["kernels"] if kernel["code_bytes"]]
        self.assertTrue(served and all(kernel["from_cache"] for kernel in served))
        # What is said of kernels from a folder is said by that folder.
        here, there = "loops proved, code tested", "loops proved, code tested, as this cache says"
        self.assertIn(here, reports[0]["evidence"])
        self.assertNotIn(there, reports[0]["evidence"])
        self.assertNotIn(here, reports[1]["evidence"])
        self.assertIn(there, reports[1]["evidence"])
        self.assertEqual(reports[1]["load_time"]["prepared_bytes"][here], 0)
        code, out, err = axrun("explain", model, "--threads", "1", "--budget", "5")
        self.assertEqual(code, 0, err)
        self.assertIn(there, out)
        self.assertEqual(self.json("verify")["damaged"], 0)
        deep = self.json("verify", "--deep")["deep"]
        self.assertEqual(deep["worst"], "right", deep)
        self.assertGreater(deep["kernels"]["right"], 0)
        self.assertTrue(all(kernel["proof"].startswith("proved") for entry in deep["entries"] for kernel in entry["kernels"]))
        packed = self.json("verify", "--deep", "--model", model, "--threads", "1")["packed"]
        self.assertEqual(packed["different"], [])
        self.assertEqual(packed["not_checkable"], 0)
        # Without a cache there is nothing to fill.
        self.assertEqual(axrun("optimize", model, "--no-cache")[0], 1)
        os.chmod(self.cache, 0o777)
        code, _, err = axrun("optimize", model)
        self.assertEqual(code, 1)
        self.assertIn(self.cache, err)

    def demonstration(self):
        models = os.path.join(self.folder.name, "models")
        subprocess.run([AXRUN, "--cache-dir", models, "--runs", "1"], check=True, capture_output=True, timeout=60)
        return next(os.path.join(models, name) for name in os.listdir(models) if name.endswith(".onnx"))

    def run_model(self, model, *arguments, budget="0.2", unset=(), limit=None, **environment):
        """A run whose optimiser would like to keep something."""
        given = {**os.environ, "AXRUN_CACHE": "on", "AXRUN_OPTIMIZE": "1", "AXRUN_OPTIMIZER_PRIORITY": "normal", **environment}
        for name in ("AXRUN_CACHE_DIR", "XDG_CACHE_HOME", *unset):
            if name not in environment:
                given.pop(name, None)
        run = subprocess.run([AXRUN, model, "--budget", budget, "--runs", "1", "--threads", "1", "--log", "warn", *arguments],
                             capture_output=True, text=True, timeout=120, env=given, preexec_fn=limit)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run

    def test_a_cache_that_cannot_be_used_is_told(self):
        """In the report, and once in the log."""
        model = self.demonstration()
        writable, file, home = (os.path.join(self.folder.name, name) for name in ("writable", "file", "home"))
        os.mkdir(writable)
        os.chmod(writable, 0o777)
        open(file, "w").close()
        cases = [(dict(AXRUN_CACHE_DIR=writable), "can be written to by others"), (dict(AXRUN_CACHE_DIR=file), "is no folder"),
                 (dict(AXRUN_CACHE_DIR="/proc/nothing"), "cannot be made"), (dict(HOME="/nonexistent"), "HOME is no folder"),
                 (dict(unset=("HOME",)), "HOME is no folder")]
        if os.geteuid() == 0:
            foreign = os.path.join(self.folder.name, "foreign")
            os.mkdir(foreign, 0o700)
            os.chown(foreign, 12345, 12345)
            cases.append((dict(AXRUN_CACHE_DIR=foreign), "belongs to another user"))
        else:
            os.mkdir(home)
            os.chmod(home, 0o500)
            cases.append((dict(HOME=home), "cannot be made"))
        for environment, text in cases:
            with self.subTest(text):
                run = self.run_model(model, **environment)
                [note] = [line for line in run.stdout.splitlines() if "nothing is kept for later runs" in line]
                self.assertIn(text, note)
                [line] = [line for line in run.stderr.splitlines() if "event=cache_unusable" in line]
                self.assertIn("level=warn", line)
                self.assertIn(text, line)
        self.assertFalse(os.path.exists("/nonexistent"))
        # Nobody who has turned it off, or has one, hears of it.
        for arguments, environment in [((), dict(AXRUN_CACHE="off", HOME="/nonexistent")), (("--no-cache",), dict(HOME="/nonexistent")),
                                       ((), dict(AXRUN_CACHE_DIR=self.cache))]:
            run = self.run_model(model, *arguments, **environment)
            self.assertNotIn("later runs", run.stdout)
            self.assertNotIn("event=cache", run.stderr)

    def test_files_that_may_not_grow(self):
        """`ulimit -f` costs what would have been kept, not the process."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, 1 << 14))

        run = self.run_model(self.demonstration(), budget="20", limit=limit, AXRUN_CACHE_DIR=self.cache)
        self.assertRegex(run.stdout, r"not everything could be kept in \S+ for later runs: \d+ times (disk_full|failed)")
        self.assertEqual(run.stderr.count("event=cache_not_stored"), 1, run.stderr)

    def test_optimize_that_is_interrupted_keeps_what_it_has(self):
        self.interrupt_optimize(signal.SIGINT)

    def test_optimize_whose_terminal_is_closed_keeps_what_it_has(self):
        self.interrupt_optimize(signal.SIGHUP)

    def test_optimize_goes_on_where_hangups_are_ignored(self):
        """As nohup has it."""
        process = self.started_optimize(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        time.sleep(1.5)
        process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        self.assertIn(process.returncode, (0, 128 + signal.SIGTERM), err)

    def started_optimize(self, **popen):
        models = os.path.join(self.folder.name, "models")
        subprocess.run([AXRUN, "--cache-dir", models, "--runs", "1"], check=True, capture_output=True, timeout=60)
        model = next(os.path.join(models, name) for name in os.listdir(models) if name.endswith(".onnx"))
        self.environment = {**os.environ, "AXRUN_CACHE": "on", "AXRUN_CACHE_DIR": self.cache, "AXRUN_OPTIMIZE": "1",
                            "AXRUN_OPTIMIZER_PRIORITY": "normal"}
        self.command = [AXRUN, "optimize", model, "--budget", "100", "--threads", "1", "--dim", "batch=64"]
        return subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment, **popen)

    def interrupt_optimize(self, ending):
        process = self.started_optimize()
        time.sleep(1.5)
        process.send_signal(ending)
        out, err = process.communicate(timeout=60)
        # On a fast machine nothing was left to be done by then.
        self.assertIn(process.returncode, (0, 128 + ending), err)
        if process.returncode:
            self.assertIn("interrupted; what was found is kept", out)
        self.assertEqual(self.json("verify")["damaged"], 0)
        again = subprocess.run(self.command + ["--json", "--quiet"], capture_output=True, text=True, timeout=200,
                               env=self.environment)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertTrue(json.loads(again.stdout)["optimiser"]["cache"]["settled"] or
                        json.loads(again.stdout)["optimiser"]["tried"] > 0)

    def test_optimize_says_what_could_not_be_stored(self):
        models = os.path.join(self.folder.name, "models")
        subprocess.run([AXRUN, "--cache-dir", models, "--runs", "1"], check=True, capture_output=True, timeout=60)
        model = next(os.path.join(models, name) for name in os.listdir(models) if name.endswith(".onnx"))
        environment = {**os.environ, "AXRUN_CACHE": "on", "AXRUN_OPTIMIZE": "1", "AXRUN_OPTIMIZER_PRIORITY": "normal"}

        def without_room():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 10, 16 << 10))

        run = subprocess.run([AXRUN, "optimize", model, "--budget", "30", "--threads", "1", "--cache-dir", self.cache],
                             capture_output=True, text=True, timeout=120, env=environment, restore_signals=False,
                             preexec_fn=without_room)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("not everything could be stored", run.stderr)

    def test_mistakes(self):
        for arguments in ([], ["show"], ["list", "more"], ["export"], ["prune", "--days", "-1"], ["list", "--all"]):
            run = self.run_axrun(*arguments)
            self.assertEqual(run.returncode, 1, arguments)
            self.assertIn("axrun: error:", run.stderr)
        self.assertEqual(self.run_axrun("--help").returncode, 0)
        self.assertEqual(self.run_axrun("list", AXRUN_CACHE="off").returncode, 1)
        self.assertEqual(self.run_axrun("list", "--cache-dir", self.cache, AXRUN_CACHE="off").returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
