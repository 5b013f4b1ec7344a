#!/usr/bin/env python3
"""The plugin in ONNX Runtime, from Python. Usage: plugin_test.py PLUGIN [unittest's arguments]"""

import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from plugin import NAME, Plugin, import_onnxruntime

ort, onnx, np = import_onnxruntime()
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from plugin_models import info, inputs_of, model, perceptron

LIBRARY = os.path.abspath(sys.argv.pop(1))
VERSION = tuple(int(x) for x in ort.__version__.split(".")[:2])
plugin = None


def setUpModule():
    global plugin
    plugin = Plugin(LIBRARY).__enter__()


def tearDownModule():
    plugin.__exit__()


class Registration(unittest.TestCase):
    def test_the_processor_is_offered_once(self):
        devices = plugin.devices()
        self.assertEqual(len(devices), 1)
        self.assertEqual(devices[0].ep_vendor, "axrun")
        self.assertEqual(str(devices[0].device.type).split(".")[-1], "CPU")

    def test_only_two_symbols_are_exported(self):
        listing = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
        self.assertEqual(sorted(line.split()[-1] for line in listing.splitlines()), ["CreateEpFactories", "ReleaseEpFactory"])

    def test_wrong_options_are_refused_in_words(self):
        made, _ = perceptron()
        with self.assertRaisesRegex(Exception, "there is no option 'speed'"):
            plugin.session(made, speed="high")
        with self.assertRaisesRegex(Exception, "'budget' cannot be 'x': it takes SECONDS"):
            plugin.session(made, budget="x")
        with self.assertRaisesRegex(Exception, "'optimizer_share' cannot be '0': it takes 0.01..1"):
            plugin.session(made, optimizer_share=0)

    def test_every_option_is_taken(self):
        made, expected = perceptron()
        x = inputs_of(1, (4, 16))
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o700)
            for given in ({"budget": 1}, {"cache": "on", "cache_dir": folder}, {"deterministic": "on"}, {"fp": "strict"},
                          {"log_level": "error"}, {"optimize": "off"}, {"optimizer_priority": "idle"},
                          {"optimizer_share": 0.5}, {"optimizer_threads": 1}, {"verify": "0.001"}):
                session = plugin.session(made, **given)
                for _ in range(3):
                    np.testing.assert_allclose(session.run(None, {"x": x})[0], expected(x), rtol=1e-4, atol=1e-4)

    def test_200_cycles_leave_neither_threads_nor_files(self):
        program = """
import os, sys
sys.path.insert(0, %r)
from plugin import Plugin
import onnxruntime as ort, numpy as np
library, made = sys.argv[1], open(sys.argv[2], "rb").read()
x = np.ones((4, 16), "f4")
def state():
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
for k in range(200):
    with Plugin(library) as plugin:
        if k %% 4 == 0:
            session = plugin.session(made, threads=2 if k %% 8 else 1)
            for _ in range(3):
                session.run(None, {"x": x})
            del session
    if k == 40:
        first, memory = state(), resident()
print(first, state(), resident() - memory)
assert state() == first, (first, state())
assert resident() - memory < 8 << 20, resident() - memory
""" % os.path.dirname(os.path.abspath(__file__))
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(perceptron()[0])
            file.flush()
            done = subprocess.run([sys.executable, "-c", program, LIBRARY, file.name], capture_output=True, text=True,
                                  env=dict(os.environ, AXRUN_OPTIMIZER_PRIORITY="normal"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_process_may_end_in_the_middle(self):
        program = """
import sys
sys.path.insert(0, %r)
from plugin import Plugin
import numpy as np
plugin = Plugin(sys.argv[1]).__enter__()
session = plugin.session(open(sys.argv[2], "rb").read(), threads=2)
for _ in range(20):
    session.run(None, {"x": np.ones((4, 16), "f4")})
""" % os.path.dirname(os.path.abspath(__file__))
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(perceptron()[0])
            file.flush()
            done = subprocess.run([sys.executable, "-c", program, LIBRARY, file.name], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Models(unittest.TestCase):
    def claimed(self, made, **options):
        """A session and (claimed, of, parts) of the main graph."""
        session, claims = plugin.session_and_claims(made, **options)
        return session, claims[-1]

    def test_free_sizes_and_none(self):
        made, expected = perceptron()
        session, claims = self.claimed(made)
        self.assertEqual(claims[0], claims[1])
        self.assertEqual(claims[2], 1)
        for batch in (1, 7, 0, 64, 7):
            x = inputs_of(batch, (batch, 16))
            y = session.run(None, {"x": x})[0]
            self.assertEqual(y.shape, (batch, 8))
            np.testing.assert_allclose(y, expected(x), rtol=1e-4, atol=1e-4)

    def test_two_threads_give_the_same(self):
        made, expected = perceptron(2, (256, 512, 128))
        session = plugin.session(made, threads=2)
        x = inputs_of(3, (64, 256))
        np.testing.assert_allclose(session.run(None, {"x": x})[0], expected(x), rtol=1e-3, atol=1e-3)

    def test_element_types_cross(self):
        kinds = {T.FLOAT: "f4", T.DOUBLE: "f8", T.FLOAT16: "f2", T.INT8: "i1", T.INT16: "i2", T.INT32: "i4", T.INT64: "i8",
                 T.UINT8: "u1", T.UINT16: "u2", T.UINT32: "u4", T.UINT64: "u8", T.BOOL: "?"}
        for kind, name in kinds.items():
            made = model([helper.make_node("Concat", ["x", "x"], ["y"], axis=0)], [info("x", ["n"], kind)],
                         [info("y", ["m"], kind)])
            session, claims = self.claimed(made)
            self.assertEqual(claims, (1, 1, 1), name)
            x = (np.arange(5) % 2).astype(name)
            y = session.run(None, {"x": x})[0]
            self.assertEqual(y.dtype, x.dtype)
            np.testing.assert_array_equal(y, np.concatenate([x, x]))

    def test_strings_cross(self):
        made = model([helper.make_node("Concat", ["x", "c"], ["y"], axis=0)], [info("x", ["n"], T.STRING)],
                     [info("y", ["m"], T.STRING)], [("c", np.array(["constant", ""], object))])
        session, claims = self.claimed(made)
        self.assertEqual(claims[0], 1)
        y = session.run(None, {"x": np.array(["ä", "", "a longer string than fits into itself"], object)})[0]
        self.assertEqual(list(y), ["ä", "", "a longer string than fits into itself", "constant", ""])
        self.assertEqual(list(session.run(None, {"x": np.array([], object)})[0]), ["constant", ""])

    def test_sizes_that_only_the_run_can_tell(self):
        made = model([helper.make_node("NonZero", ["x"], ["y"])], [info("x", ["n"])], [info("y", [1, "m"], T.INT64)])
        session, claims = self.claimed(made)
        self.assertEqual(claims, (1, 1, 1))
        for x in ([0, 1, 0, 2], [0, 0], [], [3]):
            np.testing.assert_array_equal(session.run(None, {"x": np.array(x, "f4")})[0], [np.nonzero(x)[0]])

    def test_what_axrun_lacks_stays_with_onnxruntime(self):
        made = model([helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Add", ["a", "eye"], ["s"]),
                      helper.make_node("Inverse", ["s"], ["i"], domain="com.microsoft"),
                      helper.make_node("Mul", ["i", "a"], ["y"])],
                     [info("x", [2, 2])], [info("y", [2, 2])], [("eye", (5 * np.eye(2)).astype("f4"))],
                     (("", 18), ("com.microsoft", 1)))
        session, claims = self.claimed(made)
        self.assertEqual(claims, (3, 4, 2))
        x = inputs_of(1, (2, 2))
        np.testing.assert_allclose(session.run(None, {"x": x})[0],
                                   np.linalg.inv(np.abs(x) + 5 * np.eye(2)) * np.abs(x), rtol=1e-4, atol=1e-5)

    def test_a_dropout_that_may_train_stays(self):
        """Unless its result is the model's, ONNX Runtime drops it."""
        made = model([helper.make_node("Abs", ["x"], ["n"]), helper.make_node("Dropout", ["n", "half", "on"], ["y"])],
                     [info("x", [50]), info("on", [], T.BOOL)], [info("y", [50])], [("half", np.array(0.5, "f4"))])
        session, claims = self.claimed(made)
        self.assertEqual(claims, (1, 2, 1))
        x = inputs_of(1, (50,))
        y = session.run(None, {"x": x, "on": np.array(True)})[0]
        np.testing.assert_allclose(y[y != 0], 2 * np.abs(x[y != 0]), rtol=1e-5)

    def test_what_an_operator_cannot_do_here_stays(self):
        """The attribute is one that axrun's definition refuses."""
        made = model([helper.make_node("Neg", ["x"], ["n"]),
                      helper.make_node("RotaryEmbedding", ["n", "at", "cos", "sin"], ["r"], domain="com.microsoft", scale=2.0),
                      helper.make_node("Abs", ["r"], ["y"])],
                     [info("x", [1, 2, 4])], [info("y", [1, 2, 4])],
                     [("at", np.array([0], "i8")), ("cos", np.ones((8, 2), "f4")), ("sin", np.zeros((8, 2), "f4"))],
                     (("", 18), ("com.microsoft", 1)))
        session, claims = self.claimed(made)
        self.assertEqual(claims, (2, 3, 2))
        self.assertEqual(session.run(None, {"x": inputs_of(1, (1, 2, 4))})[0].shape, (1, 2, 4))

    def test_control_flow_is_taken_whole(self):
        then = helper.make_graph([helper.make_node("Mul", ["x", "two"], ["t"])], "then", [], [info("t", ["p"])])
        otherwise = helper.make_graph([helper.make_node("Sub", ["x", "k"], ["e"])], "else", [], [info("e", ["p"])],
                                      [numpy_helper.from_array(np.array(3, "f4"), "k")])
        body = helper.make_graph([helper.make_node("Add", ["state", "picked"], ["next"]),
                                  helper.make_node("Identity", ["go"], ["on"])], "body",
                                 [info("i", [], T.INT64), info("go", [], T.BOOL), info("state", ["p"])],
                                 [info("on", [], T.BOOL), info("next", ["p"])])
        made = model([helper.make_node("If", ["c"], ["picked"], then_branch=then, else_branch=otherwise),
                      helper.make_node("Loop", ["trips", "", "picked"], ["y"], body=body)],
                     [info("c", [], T.BOOL), info("x", ["n"])], [info("y", ["p"])],
                     [("two", np.array(2, "f4")), ("trips", np.array(3, "i8"))])
        session, claims = self.claimed(made)
        if VERSION >= (1, 27):
            self.assertEqual(claims, (2, 2, 1))
        x = inputs_of(1, (5,))
        np.testing.assert_allclose(session.run(None, {"c": np.array(True), "x": x})[0], 4 * (2 * x), rtol=1e-5)
        np.testing.assert_allclose(session.run(None, {"c": np.array(False), "x": x})[0], 4 * (x - 3), rtol=1e-5)

    def test_bodies_of_a_node_that_stays_are_looked_into(self):
        """The If stays, because its branch holds an operator that axrun lacks; the rest of the branch need not."""
        then = helper.make_graph([helper.make_node("Inverse", ["x"], ["i"], domain="com.microsoft"),
                                  helper.make_node("Add", ["i", "x"], ["t"])], "then", [], [info("t", [2, 2])])
        otherwise = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "else", [], [info("e", [2, 2])])
        made = model([helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=otherwise)],
                     [info("c", [], T.BOOL), info("x", [2, 2])], [info("y", [2, 2])], (), (("", 18), ("com.microsoft", 1)))
        session, claims = plugin.session_and_claims(made)
        if VERSION >= (1, 24):
            self.assertEqual(sorted(claims), [(0, 1, 0), (1, 1, 1), (1, 2, 1)])
        x = np.array([[2, 0], [0, 4]], "f4")
        np.testing.assert_allclose(session.run(None, {"c": np.array(True), "x": x})[0], np.linalg.inv(x) + x, rtol=1e-5)
        np.testing.assert_allclose(session.run(None, {"c": np.array(False), "x": x})[0], -x)

    def test_the_log_says_why_a_node_stays(self):
        out = helper.make_tensor_sequence_value_info("s", T.FLOAT, None)
        made = model([helper.make_node("Neg", ["x"], ["n"]), helper.make_node("SequenceConstruct", ["n"], ["s"], name="last"),
                      helper.make_node("Inverse", ["n"], ["i"], domain="com.microsoft", name="odd")],
                     [info("x", [2, 2])], [out, info("i", [2, 2])], (), (("", 18), ("com.microsoft", 1)))
        text = plugin.session_and_log(made)[1]
        self.assertRegex(text, "axrun: SequenceConstruct 'last' stays with ONNX Runtime: 's' .* is no tensor")
        self.assertRegex(text, "axrun: Inverse 'odd' stays with ONNX Runtime: axrun has no operator Inverse of com.microsoft 1")

    def test_sequences_stay_inside(self):
        made = model([helper.make_node("SequenceConstruct", ["x", "x"], ["s"]),
                      helper.make_node("SequenceAt", ["s", "one"], ["y"])], [info("x", ["n"])], [info("y", ["n"])],
                     [("one", np.array(1, "i8"))])
        session, _ = self.claimed(made)
        x = inputs_of(1, (3,))
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], x)
        out = helper.make_tensor_sequence_value_info("s", T.FLOAT, None)
        made = model([helper.make_node("Neg", ["x"], ["n"]), helper.make_node("SequenceConstruct", ["n", "x"], ["s"])],
                     [info("x", ["n"])], [out])
        session, claims = self.claimed(made)
        self.assertEqual(claims, (1, 2, 1))
        np.testing.assert_array_equal(session.run(None, {"x": x})[0][0], -x)

    def test_constants_in_a_file_of_their_own(self):
        weights = inputs_of(1, (64, 64))
        made = onnx.load_from_string(model([helper.make_node("MatMul", ["x", "w"], ["y"])], [info("x", ["n", 64])],
                                           [info("y", ["n", 64])], [("w", weights)]))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            onnx.save(made, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
            session, claims = self.claimed(path)
        self.assertEqual(claims, (1, 1, 1))
        x = inputs_of(2, (3, 64))
        np.testing.assert_allclose(session.run(None, {"x": x})[0], x @ weights, rtol=1e-3, atol=1e-4)

    def test_an_initializer_that_may_be_overridden_is_an_input(self):
        made = model([helper.make_node("Add", ["x", "b"], ["y"])], [info("x", [3]), info("b", [3])], [info("y", [3])],
                     [("b", np.array([1, 2, 3], "f4"))])
        session = plugin.session(made)
        x = np.zeros(3, "f4")
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], [1, 2, 3])
        np.testing.assert_array_equal(session.run(None, {"x": x, "b": np.array([5, 5, 5], "f4")})[0], [5, 5, 5])

    def test_quantised_models_are_taken_whole(self):
        scale, zero = ("scale", np.array(0.1, "f4")), ("zero", np.array(128, "u1"))
        weights = np.random.default_rng(1).integers(0, 255, (16, 8)).astype("u1")
        made = model([helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
                      helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
                      helper.make_node("DequantizeLinear", ["w", "scale", "zero"], ["f"]),
                      helper.make_node("MatMul", ["d", "f"], ["m"]),
                      helper.make_node("QuantizeLinear", ["m", "large", "zero"], ["p"]),
                      helper.make_node("DequantizeLinear", ["p", "large", "zero"], ["y"])],
                     [info("x", ["n", 16])], [info("y", ["n", 8])],
                     [scale, zero, ("w", weights), ("large", np.array(2, "f4"))])
        session, claims = self.claimed(made)
        self.assertEqual(claims[0], claims[1])
        x = inputs_of(1, (4, 16))
        d = (np.clip(np.rint(x / np.float32(0.1)) + 128, 0, 255) - 128) * 0.1
        exact = d @ ((weights.astype("f8") - 128) * 0.1)
        self.assertLessEqual(np.abs(session.run(None, {"x": x})[0] - np.clip(exact, -256, 254)).max(), 1.01)

    def test_errors_of_a_run_are_said_and_survived(self):
        made = model([helper.make_node("Gather", ["x", "i"], ["y"])], [info("x", ["n"]), info("i", ["m"], T.INT64)],
                     [info("y", ["m"])])
        session = plugin.session(made)
        x = np.arange(4, dtype="f4")
        with self.assertRaisesRegex(Exception, "axrun"):
            session.run(None, {"x": x, "i": np.array([9], "i8")})
        np.testing.assert_array_equal(session.run(None, {"x": x, "i": np.array([3, -1], "i8")})[0], [3, 3])

    def test_runs_are_compared_with_the_reference(self):
        made, expected = perceptron()
        session = plugin.session(made, verify="on")
        x = inputs_of(1, (3, 16))
        np.testing.assert_allclose(session.run(None, {"x": x})[0], expected(x), rtol=1e-4, atol=1e-4)
        # Sums in another order cannot be equal to twelve digits.
        strict = plugin.session(perceptron(2, (512, 512, 64))[0], verify="1e-12")
        with self.assertRaisesRegex(Exception, "verify: output 'y' differs from the reference"):
            strict.run(None, {"x": inputs_of(1, (3, 512))})


class Contexts(unittest.TestCase):
    """Models that were compiled ahead."""

    def compiled(self, folder, made, embed, **more):
        """The path of the context model."""
        model_path, context = os.path.join(folder, "model.onnx"), os.path.join(folder, "compiled.onnx")
        with open(model_path, "wb") as file:
            file.write(made)
        options = plugin.options()
        options.add_session_config_entry("ep.context_enable", "1")
        options.add_session_config_entry("ep.context_file_path", context)
        options.add_session_config_entry("ep.context_embed_mode", "1" if embed else "0")
        ort.InferenceSession(model_path, options, enable_fallback=0)
        return context

    def test_embedded_and_beside_the_model(self):
        made, expected = perceptron(5, (64, 128, 32))
        x = inputs_of(1, (4, 64))
        for embed in (True, False):
            with tempfile.TemporaryDirectory() as folder:
                context = self.compiled(folder, made, embed)
                os.remove(os.path.join(folder, "model.onnx"))
                nodes = onnx.load(context).graph.node
                self.assertEqual([node.op_type for node in nodes], ["EPContext"])
                self.assertEqual(sum(name.endswith(".bin") for name in os.listdir(folder)), 0 if embed else 1)
                session, claims = plugin.session_and_claims(context)
                self.assertEqual(claims[-1], (1, 1, 1))
                np.testing.assert_allclose(session.run(None, {"x": x})[0], expected(x), rtol=1e-3, atol=1e-3)

    def test_what_stays_with_onnxruntime_stays_there(self):
        made = model([helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Add", ["a", "eye"], ["s"]),
                      helper.make_node("Inverse", ["s"], ["i"], domain="com.microsoft"),
                      helper.make_node("Mul", ["i", "a"], ["y"])],
                     [info("x", [2, 2])], [info("y", [2, 2])], [("eye", (5 * np.eye(2)).astype("f4"))],
                     (("", 18), ("com.microsoft", 1)))
        with tempfile.TemporaryDirectory() as folder:
            context = self.compiled(folder, made, False)
            operators = sorted(node.op_type for node in onnx.load(context).graph.node)
            self.assertEqual(operators, ["EPContext", "EPContext", "Inverse"])
            session = plugin.session(context)
            x = inputs_of(1, (2, 2))
            np.testing.assert_allclose(session.run(None, {"x": x})[0],
                                       np.linalg.inv(np.abs(x) + 5 * np.eye(2)) * np.abs(x), rtol=1e-4, atol=1e-5)

    def changed(self, context, change):
        """The context model with the attributes of its node changed."""
        loaded = onnx.load(context)
        for attribute in loaded.graph.node[0].attribute:
            change(attribute)
        onnx.save(loaded, context)

    def test_damage_is_noticed(self):
        made, _ = perceptron()
        with tempfile.TemporaryDirectory() as folder:
            context = self.compiled(folder, made, True)

            def flip(attribute):
                if attribute.name == "ep_cache_context":
                    attribute.s = attribute.s[:-3] + bytes([attribute.s[-3] ^ 1]) + attribute.s[-2:]

            self.changed(context, flip)
            with self.assertRaisesRegex(Exception, "checksum"):
                plugin.session(context)

            def forget(attribute):
                if attribute.name == "ep_cache_context":
                    attribute.s = b"something else"

            self.changed(context, forget)
            with self.assertRaisesRegex(Exception, "no context of this version"):
                plugin.session(context)

    def test_files_are_looked_for_beside_the_model_only(self):
        made, _ = perceptron()
        with tempfile.TemporaryDirectory() as folder:
            inner = os.path.join(folder, "inner")
            os.mkdir(inner)
            context = self.compiled(inner, made, False)
            name = [each for each in os.listdir(inner) if each.endswith(".bin")][0]
            os.rename(os.path.join(inner, name), os.path.join(folder, name))
            with self.assertRaisesRegex(Exception, name):
                plugin.session(context)
            for place in ("../" + name, os.path.join(folder, name), "x/../../" + name):

                def point(attribute):
                    if attribute.name == "ep_cache_context":
                        attribute.s = place.encode()

                self.changed(context, point)
                with self.assertRaisesRegex(Exception, "is not in the model's folder"):
                    plugin.session(context)

    def test_the_runtime_is_told_what_fits(self):
        made, _ = perceptron()
        with tempfile.TemporaryDirectory() as folder:
            context = self.compiled(folder, made, True)
            loaded = onnx.load(context)
            entries = [each for each in loaded.metadata_props if each.key.startswith("ep_compatibility_info.")]
            self.assertEqual([(each.key, each.value) for each in entries],
                             [("ep_compatibility_info." + NAME, "axrun context 1")])
        from onnxruntime.capi import _pybind_state
        ask = getattr(_pybind_state, "get_model_compatibility_for_ep_devices", None)
        if ask is None:
            self.skipTest("this ONNX Runtime does not ask from Python")
        for text, answer in (("axrun context 1", "OPTIMAL"), ("axrun context 99", "UNSUPPORTED"), ("x", "NOT_APPLICABLE")):
            self.assertIn(answer, str(ask(plugin.devices(), text)))


class Traces(unittest.TestCase):
    @unittest.skipIf(VERSION < (1, 25), "this ONNX Runtime asks no provider for its events")
    def test_kernels_are_in_the_trace(self):
        made, _ = perceptron(3, (64, 128, 64))
        with tempfile.TemporaryDirectory() as folder:
            options = plugin.options()
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
        session = plugin.session(perceptron()[0])
        session.run(None, {"x": inputs_of(1, (2, 16))})
        self.assertFalse(session.end_profiling())


class Load(unittest.TestCase):
    def test_16_threads_on_one_session(self):
        made, expected = perceptron()
        for threads in (1, 2):
            session = plugin.session(made, threads=threads)
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
                session = plugin.session(made)
                x = inputs_of(k, (4, 16))
                np.testing.assert_allclose(session.run(None, {"x": x})[0], expected(x), rtol=1e-4, atol=1e-4)

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))

    def test_memory_is_flat_over_changing_shapes(self):
        session = plugin.session(perceptron()[0])
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
