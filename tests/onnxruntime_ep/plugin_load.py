"""The plugin under load, and in traces."""

import concurrent.futures
import json
import os
import tempfile
import threading
import unittest

from plugin import NAME, PluginCase, import_onnxruntime, version_of
from plugin_models import inputs_of, perceptron

ort, onnx, np = import_onnxruntime()
VERSION = version_of(ort)


class Traces(PluginCase):
    @unittest.skipIf(VERSION < (1, 25), "this ONNX Runtime asks no provider for its events")
    def test_kernels_are_in_the_trace(self):
        made, _ = perceptron(3, (64, 128, 64))
        with tempfile.TemporaryDirectory() as folder:
            options = self.plugin.options()
            options.enable_profiling = True
            options.profile_file_prefix = os.path.join(folder, "trace")
            session = ort.InferenceSession(made, options, enable_fallback=0)
            for _ in range(3):
                session.run(None, {"x": inputs_of(1, (32, 64))})
            with open(session.end_profiling()) as file:
                events = json.load(file)
        parts = [e for e in events if e["name"].startswith(NAME) and e["name"].endswith("_kernel_time")]
        kernels = [e for e in events if "gemm" in e.get("args", {}).get("kernel", "")]
        self.assertEqual(len(parts), 3)
        self.assertEqual(len(kernels), 6, "two products in each of three runs")
        self.assertEqual({e["args"]["op_name"] for e in kernels}, {"MatMul", "MatMul+Relu"})
        for kernel in kernels:
            self.assertTrue(any(part["ts"] <= kernel["ts"] and kernel["ts"] + kernel["dur"] <= part["ts"] + part["dur"] + 2
                                for part in parts), (kernel, parts))

    def test_a_session_without_a_trace_has_none(self):
        session = self.plugin.session(perceptron()[0])
        session.run(None, {"x": inputs_of(1, (2, 16))})
        self.assertFalse(session.end_profiling())


class Load(PluginCase):
    def test_16_threads_on_one_session(self):
        made, expected = perceptron()
        for threads in (1, 2):
            session = self.plugin.session(made, threads=threads)
            wrong = []

            def work(seed):
                for k in range(200):
                    x = inputs_of(1000 * seed + k, (1 + (seed + k) % 5, 16))
                    if not np.allclose(session.run(None, {"x": x})[0], expected(x), rtol=1e-4, atol=1e-4):
                        wrong.append((seed, k))

            with concurrent.futures.ThreadPoolExecutor(16) as pool:
                list(pool.map(work, range(16)))
            self.assertEqual(wrong, [])

    def test_8_sessions_at_once(self):
        models = [perceptron(seed) for seed in range(8)]
        start = threading.Barrier(8)

        def work(k):
            made, expected = models[k]
            start.wait()
            for _ in range(5):
                session = self.plugin.session(made)
                x = inputs_of(k, (4, 16))
                np.testing.assert_allclose(session.run(None, {"x": x})[0], expected(x), rtol=1e-4, atol=1e-4)

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))

    def test_memory_is_flat_over_changing_shapes(self):
        session = self.plugin.session(perceptron()[0])
        runs = int(os.environ.get("AXRUN_TEST_SHAPE_RUNS", "4000"))

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        random = np.random.default_rng(7)
        for k in range(runs):
            session.run(None, {"x": np.zeros((int(random.integers(1, 400)), 16), "f4")})
            if k == runs // 4:
                before = resident()
        self.assertLess(resident() - before, 16 << 20)
