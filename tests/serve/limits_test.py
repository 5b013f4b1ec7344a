#!/usr/bin/env python3
"""Messages that are too large or come too slowly. Usage: limits_test.py AXRUN_SERVE MODEL; see service.py."""

import gzip
import json
import socket
import threading
import time
import unittest

from service import INFER, Client, Service, read_answer, read_to_end, request_of, run_tests

MIB = 1 << 20
CHUNKED = b"POST " + INFER.encode() + b" HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"


def body_of(length):
    return b"POST " + INFER.encode() + b" HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % length


def drip(connection, pieces, interval):
    """Sends until all is sent or the server has had enough."""
    try:
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(interval)
    except OSError:
        pass


class Sizes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service("--message-limit", "8")
        cls.addClassCleanup(cls.service.__exit__)

    def assert_memory_stays(self, send):
        send()  # once, for what the first request of a kind allocates
        before = self.service.resident_mib()
        most = before
        done = threading.Thread(target=send)
        done.start()
        while done.is_alive():
            most = max(most, self.service.resident_mib())
            time.sleep(0.005)
        done.join()
        print("memory %.0f MiB before, %.0f at most" % (before, most))
        # Of one message what is below the limit, twice while its buffer grows.
        self.assertLess(most - before, 24)

    def refused(self, connection, pieces):
        for piece in pieces:
            connection.sendall(piece)
        status, content = read_answer(connection)
        self.statuses.append((status, json.loads(content)["code"]))
        self.assertEqual(read_to_end(connection), b"")

    def refused_with(self, first, pieces):
        def send():
            with self.service.connect(first, timeout=120) as connection:
                self.refused(connection, pieces)
        self.statuses = []
        self.assert_memory_stays(send)
        self.assertEqual(self.statuses, [(413, "too_large")] * 2)

    def test_a_chunked_message(self):
        self.refused_with(CHUNKED, [b"%x\r\n" % MIB + b" " * MIB + b"\r\n"] * 300)

    def test_one_chunk_of_it(self):
        self.refused_with(CHUNKED + b"%x\r\n" % (300 * MIB), [b" " * MIB] * 300)

    def test_a_message_that_says_its_length(self):
        self.refused_with(body_of(300 * MIB), [b" " * MIB] * 300)

    def test_a_message_that_is_large_when_it_is_decompressed(self):
        packed = gzip.compress(b" " * (300 * MIB))
        self.assertLess(len(packed), MIB)

        def send():
            with Client(self.service.port) as client:
                status, content, _ = client.ask("POST", INFER, packed, {"Content-Encoding": "gzip"})
                self.statuses.append((status, json.loads(content)["code"]))
        self.statuses = []
        self.assert_memory_stays(send)
        self.assertEqual(self.statuses, [(413, "too_large")] * 2)

    def test_a_message_below_the_limit(self):
        body = json.dumps(request_of(0)).encode()
        body += b" " * (8 * MIB - len(body))
        with Client(self.service.port) as client:
            self.assertEqual(client.ask("POST", INFER, body)[0], 200)
            self.assertEqual(client.ask("POST", INFER, body + b" ")[0], 413)


class Buffers(unittest.TestCase):
    def test_all_messages_together_have_a_limit(self):
        with Service("--buffer-limit", "8") as service:
            held = []
            for _ in range(2):
                held.append(service.connect(body_of(5 * MIB) + b" " * (3 * MIB)))
            time.sleep(0.5)
            with service.connect(body_of(5 * MIB), timeout=20) as connection:
                drip(connection, [b" " * MIB] * 5, 0)
                status, content = read_answer(connection)
                self.assertEqual((status, json.loads(content)["code"]), (503, "busy"))
            service.probe()
            for connection in held:
                connection.close()
            time.sleep(0.5)
            with Client(service.port) as client:
                self.assertEqual(client.ask("POST", INFER, json.dumps(request_of(0)).encode() + b" " * (4 * MIB))[0], 200)


    def test_elements_count_as_what_they_take_in_memory(self):
        with Service("--buffer-limit", "48", "--no-optimizer") as service, Client(service.port) as client:
            few = request_of(0, batch=24)
            self.assertEqual(client.ask("POST", INFER, json.dumps(few))[0], 200)
            before = service.resident_mib()
            for many in (b"[" + b"1," * (4 << 20) + b"1]", b"[" * (4 << 20), b"[" + b"[]," * (1 << 20) + b"1]",
                         b"[" + b'{"":1},' * (1 << 20) + b"1]"):
                body = b'{"inputs": [{"name": "image", "data": %s}]}' % many
                status, content, _ = client.ask("POST", INFER, body)
                self.assertEqual((status, json.loads(content)["code"]), (413, "too_large"))
            self.assertLess(service.resident_mib() - before, 48)


class Times(unittest.TestCase):
    """Whoever is slow is told so or not, and has its connection closed; nobody else waits for it."""

    def setUp(self):
        self.service = Service("--header-timeout", "1", "--message-timeout", "2", "--idle-timeout", "1")
        self.addCleanup(self.service.__exit__)

    def assert_too_slow(self, first, pieces, interval, most_seconds):
        start = time.monotonic()
        connections = [self.service.connect(first) for _ in range(20)]
        senders = [threading.Thread(target=drip, args=(one, pieces, interval)) for one in connections]
        for sender in senders:
            sender.start()
        self.assertLess(self.service.probe(), 1)
        for connection in connections:
            status, content = read_answer(connection)
            self.assertEqual((status, json.loads(content)["code"]), (408, "too_slow"))
        self.assertLess(time.monotonic() - start, most_seconds)
        for connection in connections:
            connection.close()
        for sender in senders:
            sender.join()

    def test_a_header_that_drips(self):
        self.assert_too_slow(b"GET /v2 HTTP/1.1\r\n", [b"x%d: y\r\n" % k for k in range(100)], 0.1, 6)

    def test_a_body_that_drips(self):
        self.assert_too_slow(body_of(1000), [b"1"] * 100, 0.1, 8)

    def test_chunks_that_drip(self):
        self.assert_too_slow(CHUNKED, [b"1\r\n1\r\n"] * 100, 0.1, 8)

    def test_a_body_that_does_not_come(self):
        self.assert_too_slow(body_of(1000), [], 0, 8)

    def test_idle_connections_are_closed(self):
        start = time.monotonic()
        silent = self.service.connect()
        kept = Client(self.service.port)
        self.assertEqual(kept.ask("GET", "/v2")[0], 200)
        self.assertEqual(silent.recv(1), b"")
        self.assertEqual(kept.connection.sock.recv(1), b"")
        self.assertGreater(time.monotonic() - start, 0.9)
        self.assertLess(time.monotonic() - start, 5)

    def test_a_client_that_does_not_take_its_answers(self):
        with self.service.connect() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(0.5)
            ended = time.monotonic() + 20
            with self.assertRaises(ConnectionError):
                while time.monotonic() < ended:
                    try:
                        connection.send(b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n" * 100)
                    except TimeoutError:
                        self.assertLess(self.service.probe(), 1)


if __name__ == "__main__":
    run_tests()
