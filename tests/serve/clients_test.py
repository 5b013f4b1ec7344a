#!/usr/bin/env python3
"""axrun-serve as its clients see it, from other processes. Usage: clients_test.py AXRUN_SERVE MODEL; see service.py."""

import http.client
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
import unittest

from service import INFER, MODEL, SERVE, Client, Service, binary_request, infer, request_of, run_tests, scores_of


def close(a, b):
    return len(a) == len(b) and all(abs(x - y) <= 1e-4 * max(1, abs(y)) for x, y in zip(a, b))


def load_client(port, variants, rounds, failures):
    """Runs in a process of its own: every answer is compared with the first one of its input."""
    with Client(port) as client:
        failures.put(compare_answers(client, variants, rounds))


def compare_answers(client, variants, rounds):
    first = {}
    for k in range(rounds):
        variant = variants[k % len(variants)]
        body, headers = binary_request(variant)
        status, content, answer = client.ask("POST", INFER, body, headers)
        if status != 200:
            return "status %d: %s" % (status, content[:200])
        scores = scores_of(content, answer)
        if not close(scores, first.setdefault(variant, scores)):
            return "variant %d changed: %s, %s" % (variant, scores, first[variant])
    return ""


class ServeTest(unittest.TestCase):
    def test_what_it_says_of_itself_and_its_model(self):
        with Service() as service, Client(service.port) as client:
            self.assertEqual(client.json("GET", "/v2")[1]["name"], "axrun")
            for path, member in [("/v2/health/live", "live"), ("/v2/health/ready", "ready"), ("/v2/models/m/ready", "ready"),
                                 ("/v2/models/m/versions/1/ready", "ready")]:
                status, said = client.json("GET", path)
                self.assertEqual((status, said[member]), (200, True), path)
            status, model = client.json("GET", "/v2/models/m")
            self.assertEqual(model["inputs"], [{"name": "image", "datatype": "FP32", "shape": [-1, 3, 32, 32]}])
            self.assertEqual(model["outputs"], [{"name": "scores", "datatype": "FP32", "shape": [-1, 10]}])
            for path, named in [("/v2/models/other", "'other'"), ("/v2/models/m/versions/2", "'m' has version 1 only"),
                                ("/v2/nothing", "nothing of this name")]:
                status, said = client.json("GET", path)
                self.assertEqual(status, 404, path)
                self.assertIn(named, said["error"])
            self.assertEqual(service.end(), 0)

    def test_failures_have_codes(self):
        with Service() as service, Client(service.port) as client:
            wrong = request_of(0)
            wrong["inputs"][0]["shape"] = [1, 3, 32, 31]
            for method, path, body, status, code in [
                    ("POST", INFER, wrong, 400, "user"), ("GET", "/v2/models/other", None, 404, "not_found"),
                    ("GET", "/nothing", None, 404, "not_found"),
                    ("POST", INFER, request_of(0, timeout=1e-9), 504, "deadline")]:
                got, said = client.json(method, path, body)
                self.assertEqual((got, said["code"]), (status, code), said)
                self.assertTrue(said["error"])
                self.assertEqual(said.get("input"), "image" if body is wrong else None, said)

    def test_what_it_tells_on_stderr(self):
        for flags, environment, told in [([], {}, []), (["--log", "info"], {}, ["model_loaded", "listening", "stopping"]),
                                         ([], {"AXRUN_LOG": "error"}, []),
                                         (["--log", "debug"], {"AXRUN_LOG": "off"},
                                          ["model_loaded", "listening", "request", "request_failed", "stopping"])]:
            os.environ.update(environment)
            try:
                with Service(*flags) as service, Client(service.port) as client:
                    self.assertEqual(infer(client, request_of(1))[0], 200)
                    self.assertEqual(infer(client, {"inputs": []})[0], 400)
                    service.process.send_signal(signal.SIGTERM)
                    _, lines = service.process.communicate(timeout=20)
            finally:
                for name in environment:
                    del os.environ[name]
            events = [re.search(r"^\S+Z level=(\w+) event=(\w+)", line) for line in lines.splitlines()]
            self.assertTrue(all(events), lines)
            self.assertLessEqual(set(told), {event.group(2) for event in events}, lines)
            if not told:
                self.assertEqual(lines, "")
            if "--log" in flags:
                self.assertIn("model=" + MODEL, lines)
            if "request_failed" in told:
                self.assertRegex(lines, r"event=request_failed served=m status=400 code=user error=.*image")

    def test_inference(self):
        with Service() as service, Client(service.port) as client:
            status, one = infer(client, request_of(1))
            self.assertEqual(status, 200, one)
            self.assertEqual(one["outputs"][0]["shape"], [1, 10])
            status, two = infer(client, request_of(1, batch=2))
            self.assertEqual(two["outputs"][0]["shape"], [2, 10])
            self.assertTrue(close(two["outputs"][0]["data"][:10], one["outputs"][0]["data"]))
            body, headers = binary_request(1)
            status, content, answer = client.ask("POST", INFER, body, headers)
            self.assertEqual(status, 200, content)
            self.assertTrue(close(scores_of(content, answer), one["outputs"][0]["data"]))

    def test_mistakes_cost_nothing_but_their_answer(self):
        with Service("--timeout", "30") as service, Client(service.port) as client:
            for body, code in [(b"", 400), (b"{", 400), (b"[]", 400), (b"\xff\xfe", 400),
                               (json.dumps({"inputs": []}).encode(), 400),
                               (json.dumps(request_of(0, batch=0)).encode(), 200)]:
                status, content, _ = client.ask("POST", INFER, body)
                self.assertEqual(status, code, (body[:50], content))
                self.assertEqual("error" in json.loads(content), code != 200)
            wrong = request_of(0)
            wrong["inputs"][0]["shape"] = [1, 3, 32, 31]
            wrong["inputs"][0]["data"].pop()
            self.assertEqual(infer(client, wrong)[0], 400)
            status, said = infer(client, request_of(0, timeout=0.001))
            self.assertEqual(status, 504, said)
            self.assertEqual(infer(client, request_of(0))[0], 200)

    def test_a_full_queue_says_so(self):
        with Service("--queue", "0", "--concurrency", "1") as service:
            def many(results):
                large = json.dumps(request_of(0, batch=24))
                with Client(service.port) as client:
                    for _ in range(4):
                        results.put(client.ask("POST", INFER, large)[0])
            results = multiprocessing.Queue()
            clients = [multiprocessing.Process(target=many, args=(results,)) for _ in range(6)]
            for one in clients:
                one.start()
            seen = [results.get(timeout=120) for _ in range(24)]
            for one in clients:
                one.join()
            self.assertLessEqual(set(seen), {200, 503})
            self.assertIn(200, seen)

    def test_load_while_the_optimiser_works(self):
        clients, rounds = 3, int(os.environ.get("ROUNDS", "400"))
        with Service("--concurrency", "2") as service:
            failures = multiprocessing.Queue()
            processes = [multiprocessing.Process(target=load_client, args=(service.port, [k, k + 1], rounds, failures))
                         for k in range(clients)]
            for one in processes:
                one.start()
            said = [failures.get(timeout=300) for _ in processes]
            for one in processes:
                one.join()
            self.assertEqual(said, [""] * clients)
            with Client(service.port) as client:
                status, text, _ = client.ask("GET", "/metrics")
            self.assertEqual(status, 200)
            numbers = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
                       for line in text.decode().splitlines() if line and not line.startswith("#")}
            self.assertEqual(numbers['axrun_server_requests_total{model="m",result="ok"}'], clients * rounds)
            self.assertEqual(numbers['axrun_runs_total{model="m",result="ok"}'], clients * rounds)
            self.assertEqual(numbers['axrun_server_request_seconds_count{model="m"}'], clients * rounds)
            self.assertEqual(sum(value for name, value in numbers.items() if name.startswith("axrun_optimizer_state")), 1)
            self.assertEqual(service.end(), 0)

    def test_it_ends_under_load(self):
        with Service() as service:
            def endless(port):
                try:
                    while True:
                        with Client(port) as client:
                            infer(client, request_of(3))
                except (OSError, http.client.HTTPException, ValueError):
                    pass
            clients = [multiprocessing.Process(target=endless, args=(service.port,)) for _ in range(3)]
            for one in clients:
                one.start()
            time.sleep(0.5)
            self.assertEqual(service.end(), 0)
            for one in clients:
                one.join(30)
                self.assertEqual(one.exitcode, 0)

    def test_the_command_line(self):
        for arguments, code in [([], 1), (["nothing.onnx"], 1), ([MODEL, "--port", "x"], 1), ([MODEL, "--unknown"], 1),
                                (["a=" + MODEL, "a=" + MODEL], 1), ([sys.argv[0]], 2), (["--help"], 0)]:
            done = subprocess.run([SERVE] + arguments, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, code, (arguments, done.stderr))
        with Service() as service:
            done = subprocess.run([SERVE, MODEL, "--port", str(service.port)], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1, "the port is taken")
            self.assertIn(str(service.port), done.stderr)


if __name__ == "__main__":
    run_tests()
