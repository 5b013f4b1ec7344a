#!/usr/bin/env python3
"""How the service ends, and what its command line says. Usage: ending_test.py AXRUN_SERVE MODEL; see service.py."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from service import INFER, MODEL, SERVE, Client, Service, read_answer, read_to_end, request_of, run_tests


class Ending(unittest.TestCase):
    def test_each_signal_ends_it_in_order(self):
        for ending in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with Service("--log", "info") as service:
                body = json.dumps(request_of(0, batch=24)).encode()
                head = b"POST " + INFER.encode() + b" HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body)
                # One whose inference is under way, one that waits, some that have said nothing or not all.
                asking = [service.connect(head + body) for _ in range(2)]
                others = [service.connect(first) for first in (b"", b"GET /v2 HT", head, head + body[:1000])]
                time.sleep(0.05)
                start = time.monotonic()
                self.assertEqual(service.end(ending), 0, ending)
                self.assertLess(time.monotonic() - start, 5)
                self.assertIn("event=stopping signal=%d" % ending, service.process.stderr.read())
                for connection in asking:
                    self.assertIn(read_answer(connection)[0], (200, 503))
                self.assertEqual(read_to_end(others[0]), b"")
                for connection in others[1:]:
                    self.assertEqual(read_answer(connection)[0], 503)

    def test_hangups_that_are_ignored(self):
        """As nohup has it."""
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            with Service() as service:
                service.process.send_signal(signal.SIGHUP)
                time.sleep(0.3)
                service.probe()
                self.assertEqual(service.end(), 0)
        finally:
            signal.signal(signal.SIGHUP, before)

    def test_it_is_not_ready_when_it_ends(self):
        with Service("--health-port", "0") as service, Client(service.health_port) as client:
            self.assertEqual(client.json("GET", "/v2/health/ready"), (200, {"ready": True}))
            slow = service.connect(b"GET /v2 HT")  # is waited for
            time.sleep(0.1)
            service.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            self.assertEqual(client.json("GET", "/v2/health/ready"), (503, {"ready": False}))
            self.assertEqual(client.json("GET", "/v2/health/live"), (200, {"live": True}))
            slow.close()
            self.assertEqual(service.process.wait(20), 0)


class CommandLine(unittest.TestCase):
    def run_serve(self, *arguments):
        return subprocess.run([SERVE, *arguments], capture_output=True, text=True, timeout=60)

    def test_what_it_says_of_itself(self):
        version = self.run_serve("--version")
        self.assertEqual(version.returncode, 0)
        self.assertRegex(version.stdout, r"^axrun-serve \d+\.\d+\.\d+ ")
        text = self.run_serve("--help").stdout
        for option in ("--health-port", "--cache-dir", "--no-cache", "--queue", "--connections", "--message-limit",
                       "--buffer-limit", "--header-timeout", "--message-timeout", "--idle-timeout", "--timeout", "--version"):
            self.assertIn(option, text)

    def test_addresses_of_version_6(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError as error:
            self.skipTest("no IPv6: %s" % error)
        process = subprocess.Popen([SERVE, MODEL, "--host", "::1", "--port", "0", "--no-optimizer"], stdout=subprocess.PIPE,
                                   text=True)
        try:
            self.assertRegex(process.stdout.readline(), r"^listening on http://\[::1\]:\d+$")
        finally:
            process.kill()
            process.communicate()

    def test_addresses_that_cannot_be_had(self):
        for host, named in (("nowhere.invalid", "nowhere.invalid"), ("192.0.2.1", "192.0.2.1")):
            done = self.run_serve(MODEL, "--host", host, "--port", "0", "--no-optimizer")
            self.assertEqual(done.returncode, 1)
            self.assertIn("cannot listen on " + named, done.stderr)

    def test_the_cache(self):
        with tempfile.TemporaryDirectory() as folder:
            cache = os.path.join(folder, "cache")
            for arguments, used in ((["--no-cache"], False), (["--cache-dir", cache], True)):
                with Service(*arguments, "--log", "info") as service, Client(service.port) as client:
                    deadline = time.monotonic() + 60
                    while used and not os.path.exists(cache) and time.monotonic() < deadline:
                        client.ask("POST", INFER, json.dumps(request_of(0)))
                    self.assertEqual(service.end(), 0)
                    said = service.process.stderr.read()
                    self.assertIn("cache_dir=" + cache if used else "cache=none", said)
                self.assertEqual(os.path.exists(cache), used)


if __name__ == "__main__":
    run_tests()
