#!/usr/bin/env python3
"""HTTP as old, unusual and careless clients speak it. Usage: http_test.py AXRUN_SERVE MODEL; see service.py."""

import gzip
import http.client
import json
import time
import unittest
import zlib

from service import INFER, Client, Service, binary_request, read_answer, read_to_end, request_of, run_tests

LIVE = b"GET /v2/health/live HTTP/1.1\r\nHost: h\r\n\r\n"


def message(body, *fields, version="1.1", path=INFER):
    lines = ["POST %s HTTP/%s" % (path, version), "Host: h", "Content-Length: %d" % len(body), *fields]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Http(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service("--no-optimizer")  # answers are compared to the last bit
        cls.addClassCleanup(cls.service.__exit__)
        cls.body = json.dumps(request_of(1)).encode()
        with Client(cls.service.port) as client:
            cls.scores = json.loads(client.ask("POST", INFER, cls.body)[1])["outputs"]

    def outputs(self, content):
        return json.loads(content)["outputs"]

    def test_pipelined_requests_are_answered_in_order(self):
        with self.service.connect(message(self.body, path="/v2/models/none/infer") + message(self.body) + LIVE) as connection:
            self.assertEqual(read_answer(connection)[0], 404)
            status, content = read_answer(connection)
            self.assertEqual((status, self.outputs(content)), (200, self.scores))
            self.assertEqual(json.loads(read_answer(connection)[1]), {"live": True})

    def test_a_request_that_comes_while_another_is_answered(self):
        large = json.dumps(request_of(1, batch=24)).encode()
        with self.service.connect(message(large)) as connection:
            for _ in range(20):
                time.sleep(0.005)
                connection.sendall(LIVE)
            self.assertEqual(read_answer(connection)[0], 200)
            for _ in range(20):
                self.assertEqual(json.loads(read_answer(connection)[1]), {"live": True})

    def test_impossible_lengths_are_refused_at_once(self):
        for length, status in [("-5", 400), ("five", 400), ("5, 6", 400), ("9" * 40, 400), ("999999999999", 413)]:
            start = time.monotonic()
            with self.service.connect(("POST %s HTTP/1.1\r\nContent-Length: %s\r\n\r\n" % (INFER, length)).encode()) as connection:
                got, content = read_answer(connection)
                self.assertEqual(got, status, (length, content))
                self.assertTrue(json.loads(content)["error"])
                self.assertEqual(read_to_end(connection), b"")
            self.assertLess(time.monotonic() - start, 2, length)

    def test_what_is_no_http_is_refused(self):
        for first, status in [(b"hello\r\n\r\n", 400), (b"GET /v2 HTTP/3.0\r\n\r\n", 400), (b"GET\r\n\r\n", 400),
                              (b"GET /v2 HTTP/1.1\r\nbad header\r\n\r\n", 400), (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
                              (b"GET /v2 HTTP/1.1\r\nx: " + b"y" * 100000 + b"\r\n\r\n", 431),
                              (b"POST " + INFER.encode() + b" HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400)]:
            with self.service.connect(first) as connection:
                self.assertEqual(read_answer(connection)[0], status, first[:40])
        self.service.probe()

    def test_other_methods_are_told_which_to_use(self):
        with Client(self.service.port) as client:
            for method, path, allow in [("GET", INFER, "POST"), ("PUT", INFER, "POST"), ("DELETE", "/v2", "GET, HEAD"),
                                        ("POST", "/v2/health/live", "GET, HEAD"), ("POST", "/v2/models/m", "GET, HEAD")]:
                status, content, answer = client.ask(method, path, b"{}" if method == "POST" else None)
                self.assertEqual((status, answer.getheader("Allow")), (405, allow), (method, path))
                self.assertEqual(json.loads(content)["code"], "wrong_method")
            self.assertIn("POST it", json.loads(client.ask("GET", INFER)[1])["error"])
            status, content, answer = client.ask("HEAD", "/v2/health/live")
            self.assertEqual((status, content, answer.getheader("Content-Length")), (200, b"", "13"))

    def test_versions_of_models(self):
        with Client(self.service.port) as client:
            status, content, _ = client.ask("POST", "/v2/models/m/versions/2/infer", self.body)
            self.assertEqual(status, 404)
            self.assertIn("model 'm' has version 1 only, no version '2'", json.loads(content)["error"])
            self.assertEqual(client.ask("POST", "/v2/models/m/versions/1/infer", self.body)[0], 200)

    def test_paths_as_proxies_and_browsers_write_them(self):
        with Client(self.service.port) as client:
            for path in ["/v2/models/%6d", "/v2/models/m?x=1", "http://elsewhere:1/v2/models/m"]:
                self.assertEqual(client.json("GET", path)[1].get("name"), "m", path)

    def test_http_1_0(self):
        for fields, kept in [((), False), (("Connection: keep-alive",), True)]:
            with self.service.connect(message(self.body, *fields, version="1.0")) as connection:
                status, content = read_answer(connection)
                self.assertEqual((status, self.outputs(content)), (200, self.scores))
                if kept:
                    connection.sendall(LIVE)
                    self.assertEqual(read_answer(connection)[0], 200)
                else:
                    self.assertEqual(read_to_end(connection), b"")

    def test_a_client_that_waits_before_it_sends(self):
        whole = message(self.body, "Expect: 100-continue")
        with self.service.connect(whole[:-len(self.body)]) as connection:
            self.assertEqual(connection.recv(1000), b"HTTP/1.1 100 Continue\r\n\r\n")
            connection.sendall(self.body)
            self.assertEqual(read_answer(connection)[0], 200)
        # One that would be refused need not send anything.
        head = "POST /v2/models/none/infer HTTP/1.1\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n"
        with self.service.connect(head.encode()) as connection:
            self.assertEqual(read_answer(connection)[0], 404)

    def test_chunked_messages(self):
        with Client(self.service.port) as client:
            client.connection.request("POST", INFER, iter([self.body[:100], self.body[100:]]), encode_chunked=True,
                                      headers={"Transfer-Encoding": "chunked"})
            answer = client.connection.getresponse()
            self.assertEqual((answer.status, self.outputs(answer.read())), (200, self.scores))

    def test_compressed_messages(self):
        with Client(self.service.port) as client:
            for coding, packed in [("gzip", gzip.compress(self.body)), ("deflate", zlib.compress(self.body)),
                                   ("gzip", gzip.compress(self.body[:50]) + gzip.compress(self.body[50:]))]:
                status, content, _ = client.ask("POST", INFER, packed, {"Content-Encoding": coding})
                self.assertEqual((status, self.outputs(content)), (200, self.scores), coding)
            whole = gzip.compress(self.body)
            for packed in [b"", b"no gzip", whole[:-20], whole + b"rest"]:
                status, content, _ = client.ask("POST", INFER, packed, {"Content-Encoding": "gzip"})
                self.assertEqual(status, 400, content)
            self.assertEqual(client.ask("POST", INFER, self.body, {"Content-Encoding": "br"})[0], 415)

    def test_compressed_answers(self):
        body = json.dumps(request_of(1, batch=40)).encode()
        with Client(self.service.port) as client:
            plain = self.outputs(client.ask("POST", INFER, body)[1])
            for accept, coding, unpack in [("gzip, deflate", "gzip", gzip.decompress), ("deflate", "deflate", zlib.decompress),
                                           ("GZIP;q=0.5", "gzip", gzip.decompress), ("gzip;q=0, br", None, bytes),
                                           ("identity", None, bytes)]:
                status, content, answer = client.ask("POST", INFER, body, {"Accept-Encoding": accept})
                self.assertEqual((status, answer.getheader("Content-Encoding")), (200, coding), accept)
                self.assertEqual(self.outputs(unpack(content)), plain, accept)
            # Binary data stays as it is.
            body, headers = binary_request(1)
            _, _, answer = client.ask("POST", INFER, body, {**headers, "Accept-Encoding": "gzip"})
            self.assertIsNone(answer.getheader("Content-Encoding"))

    def test_clients_that_leave(self):
        whole = message(self.body)
        for first in [b"", b"GE", whole[:100], whole[:-1], whole]:
            self.service.connect(first).close()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=20)
            connection.request("GET", "/v2")
        finally:
            connection.close()
        self.service.probe()


if __name__ == "__main__":
    run_tests()
