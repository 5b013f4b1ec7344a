"""axrun-serve and its clients, for the tests of it. Programs that import this are started with AXRUN_SERVE MODEL, MODEL being
the demonstration model: input image f32 [batch, 3, 32, 32], output scores f32 [batch, 10].
"""

import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

SERVE, MODEL = sys.argv[1:3]
os.environ["AXRUN_CACHE"] = "off"
COUNT = 3 * 32 * 32
INFER = "/v2/models/m/infer"


class Service:
    def __init__(self, *arguments):
        self.process = subprocess.Popen([SERVE, "m=" + MODEL, "--port", "0", "--threads", "1"] + list(arguments),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.port = self.port_after("listening on http://127.0.0.1:")
        if "--health-port" in arguments:
            self.health_port = self.port_after("health on http://127.0.0.1:")

    def port_after(self, text):
        line = self.process.stdout.readline()
        if not line.startswith(text):
            raise AssertionError(line + self.process.stderr.read())
        return int(line[len(text):])

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def end(self, by=signal.SIGTERM):
        self.process.send_signal(by)
        return self.process.wait(20)

    def resident_mib(self):
        with open("/proc/%d/status" % self.process.pid) as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) / 1024
        raise AssertionError("no VmRSS")

    def connect(self, first=b"", timeout=20):
        """A connection over which this has been sent."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        connection.sendall(first)
        return connection

    def probe(self, port=None, path="/v2/health/live"):
        """Seconds that the answer to a probe takes, on a connection of its own."""
        start = time.monotonic()
        with Client(port or self.port) as client:
            status, content, _ = client.ask("GET", path)
        if status != 200:
            raise AssertionError("%s: %d %s" % (path, status, content[:200]))
        return time.monotonic() - start


class Client:
    """One connection that is kept."""

    def __init__(self, port, timeout=60):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.connection.close()

    def ask(self, method, path, body=None, headers=None):
        self.connection.request(method, path, body, headers or {})
        answer = self.connection.getresponse()
        return answer.status, answer.read(), answer

    def json(self, method, path, body=None):
        status, content, _ = self.ask(method, path, None if body is None else json.dumps(body))
        return status, json.loads(content)


def request_of(variant, batch=1, **parameters):
    data = [((k + variant) % 7) / 7 for k in range(batch * COUNT)]
    request = {"inputs": [{"name": "image", "datatype": "FP32", "shape": [batch, 3, 32, 32], "data": data}]}
    if parameters:
        request["parameters"] = parameters
    return request


def infer(client, request):
    return client.json("POST", INFER, request)


def binary_request(variant):
    """The same as request_of(variant) with binary data, as generated clients send it."""
    data = struct.pack("<%df" % COUNT, *[((k + variant) % 7) / 7 for k in range(COUNT)])
    head = json.dumps({"inputs": [{"name": "image", "datatype": "FP32", "shape": [1, 3, 32, 32],
                                   "parameters": {"binary_data_size": len(data)}}],
                       "outputs": [{"name": "scores", "parameters": {"binary_data": True}}]}).encode()
    return head + data, {"Inference-Header-Content-Length": str(len(head)), "Content-Type": "application/octet-stream"}


def scores_of(content, answer):
    length = int(answer.getheader("Inference-Header-Content-Length"))
    return struct.unpack("<10f", content[length:])


def read_answer(connection):
    """Status and body of one answer with a Content-Length, and nothing of what follows it in the socket."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += read_exactly(connection, 1)
    lines = head.decode().split("\r\n")
    length = next(int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:"))
    return int(lines[0].split()[1]), read_exactly(connection, length)


def read_exactly(connection, length):
    content = b""
    while len(content) < length:
        piece = connection.recv(min(length - len(content), 1 << 16))
        if not piece:
            raise ConnectionError("the connection ends after %d of %d bytes" % (len(content), length))
        content += piece
    return content


def read_to_end(connection):
    """What still comes, until the server closes the connection."""
    content = b""
    while True:
        piece = connection.recv(1 << 16)
        if not piece:
            return content
        content += piece


def run_tests():
    # Without a warning for each of hundreds of sockets that a test leaves to its end.
    unittest.main(module="__main__", argv=sys.argv[:1] + sys.argv[3:], warnings="ignore")
