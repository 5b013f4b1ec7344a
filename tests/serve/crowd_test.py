#!/usr/bin/env python3
"""Many clients at once: probes are always answered, nobody's connection is reset. Usage: crowd_test.py AXRUN_SERVE MODEL; see
service.py. PROBES=N asks for that many probes beside a crowd; their times are printed.
"""

import json
import multiprocessing
import os
import statistics
import threading
import time
import unittest

from service import INFER, Client, Service, read_answer, request_of, run_tests

PROBES = int(os.environ.get("PROBES", "100"))
# On an idle machine a probe takes about a millisecond: beyond this the server was waiting for something.
LONGEST_PROBE = 1.0


def keep_asking(port, connections, until, results):
    """A process of its own: a thread for each connection, each with one inference after another."""
    body = json.dumps(request_of(0)).encode()
    said = []

    def ask():
        with Client(port) as client:
            while time.time() < until:
                try:
                    said.append(client.ask("POST", INFER, body)[0])
                except (OSError, ValueError) as error:
                    said.append(repr(error))
    threads = [threading.Thread(target=ask) for _ in range(connections)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    results.put(said)


def ask_anew(port, times, results):
    """A connection for each request."""
    body = json.dumps(request_of(0, batch=8)).encode()
    said = []
    for _ in range(times):
        try:
            with Client(port) as client:
                status, content, answer = client.ask("POST", INFER, body)
                if status == 503 and (answer.getheader("Retry-After") is None or json.loads(content)["code"] != "busy"):
                    status = "503 without a word: %s" % content
                said.append(status)
        except OSError as error:
            said.append(repr(error))
    results.put(said)


def answers_of(processes, results):
    for one in processes:
        one.start()
    said = [answer for _ in processes for answer in results.get(timeout=300)]
    for one in processes:
        one.join()
    return {answer: said.count(answer) for answer in set(said)}


class Crowd(unittest.TestCase):
    def probe_times(self, service, port=None):
        times = []
        for k in range(PROBES):
            path = ("/v2/health/live", "/v2/health/ready", "/metrics")[k % 3]
            times.append(service.probe(port, path))
            time.sleep(0.01)
        times.sort()
        print("probes: median %.1f ms, p99 %.1f ms, longest %.1f ms" % (
            1e3 * statistics.median(times), 1e3 * times[int(0.99 * (len(times) - 1))], 1e3 * times[-1]))
        self.assertLess(times[-1], LONGEST_PROBE)

    def test_probes_beside_64_busy_and_200_idle_clients(self):
        with Service("--health-port", "0") as service:
            idle = [Client(service.port) for _ in range(100)]
            for client in idle:
                self.assertEqual(client.ask("GET", "/v2")[0], 200)
            idle += [service.connect() for _ in range(100)]
            results = multiprocessing.Queue()
            until = time.time() + 2 + PROBES * 0.05
            busy = [multiprocessing.Process(target=keep_asking, args=(service.port, 16, until, results)) for _ in range(4)]
            for one in busy:
                one.start()
            time.sleep(1)
            self.probe_times(service)
            self.probe_times(service, service.health_port)
            said = [answer for _ in busy for answer in results.get(timeout=120)]
            for one in busy:
                one.join()
            self.assertLessEqual(set(said), {200, 503})
            self.assertGreater(said.count(200), 0)
            for client in idle[:100]:
                self.assertEqual(client.ask("GET", "/v2")[0], 200)
            for connection in idle[100:]:
                connection.sendall(b"GET /v2 HTTP/1.1\r\nHost: h\r\n\r\n")
                self.assertEqual(read_answer(connection)[0], 200)

    def test_overload_is_told_and_resets_nothing(self):
        with Service("--queue", "2") as service:
            results = multiprocessing.Queue()
            said = answers_of([multiprocessing.Process(target=ask_anew, args=(service.port, 25, results)) for _ in range(40)],
                              results)
            print("answers:", said)
            self.assertLessEqual(set(said), {200, 503})
            self.assertGreater(said.get(200, 0), 0)
            self.assertGreater(said.get(503, 0), 0)
            service.probe()

    def test_the_queue_of_those_who_say_nothing_can_fill(self):
        with Service() as service:
            body = json.dumps(request_of(0, batch=64)).encode()
            head = b"POST " + INFER.encode() + b" HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body)
            connections = [service.connect(head + body, timeout=120) for _ in range(150)]
            statuses = [read_answer(connection)[0] for connection in connections]
            self.assertLessEqual(set(statuses), {200, 503})
            self.assertGreaterEqual(statuses.count(200), 65)


class FewConnections(unittest.TestCase):
    """As where more clients come than there may be connections."""

    def setUp(self):
        self.service = Service("--connections", "8", "--health-port", "0", "--message-timeout", "20")
        self.addCleanup(self.service.__exit__)

    def assert_served(self):
        with Client(self.service.port) as client:
            self.assertEqual(client.ask("POST", INFER, json.dumps(request_of(0)))[0], 200)

    def test_idle_ones_give_way(self):
        clients = [Client(self.service.port) for _ in range(50)]
        for client in clients:
            self.assertEqual(client.ask("GET", "/v2")[0], 200)
            time.sleep(0.02)
        time.sleep(0.2)
        self.assert_served()

    def test_so_do_those_whose_headers_do_not_end(self):
        dripping = []
        for _ in range(50):
            dripping.append(self.service.connect(b"GET /v2 HTTP/1.1\r\nx: y\r\n"))
            time.sleep(0.02)
        time.sleep(0.2)
        self.assert_served()
        self.service.probe()

    def test_beside_busy_ones_probes_are_answered_and_others_told(self):
        head = b"POST " + INFER.encode() + b" HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n{"
        bodies = [self.service.connect(head) for _ in range(8)]
        time.sleep(0.3)
        for path in ("/v2/health/live", "/v2/health/ready", "/metrics"):
            self.assertLess(self.service.probe(path=path), LONGEST_PROBE)
            self.assertLess(self.service.probe(self.service.health_port, path), LONGEST_PROBE)
        for _ in range(20):
            with Client(self.service.port) as client:
                status, content, answer = client.ask("POST", INFER, json.dumps(request_of(0, batch=8)))
                self.assertEqual((status, json.loads(content)["code"], answer.getheader("Retry-After")), (503, "busy", "1"))
        for connection in bodies:
            connection.close()
        time.sleep(0.3)
        self.assert_served()

    def test_the_port_for_health_has_nothing_else(self):
        with Client(self.service.health_port) as client:
            for path in ("/v2", "/v2/models/m", "/nothing"):
                self.assertEqual(client.ask("GET", path)[0], 404, path)
            self.assertEqual(client.ask("POST", INFER, json.dumps(request_of(0)))[0], 404)
            self.assertEqual(client.json("GET", "/v2/health/ready"), (200, {"ready": True}))


if __name__ == "__main__":
    run_tests()
