"""Models that run in ONNX Runtime with the plugin, and which of their nodes it claims."""

import os
import tempfile
import unittest

from plugin import PluginCase, import_onnxruntime, version_of
from plugin_models import info, inputs_of, model, perceptron

ort, onnx, np = import_onnxruntime()
from onnx import TensorProto as T
from onnx import helper, numpy_helper

VERSION = version_of(ort)


class Models(PluginCase):
    def claimed(self, made, **options):
        """A session and (claimed, of, parts) of the main graph."""
        session, claims = self.plugin.session_and_claims(made, **options)
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
        session = self.plugin.session(made, threads=2)
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

    @unittest.skipIf(VERSION < (1, 31) or not hasattr(T, "INT2"), "2-bit types are newer than this ONNX Runtime")
    def test_types_of_two_bits(self):
        """ONNX Runtime numbers them otherwise than ONNX does."""
        made = model([helper.make_node("Cast", ["x"], ["y"], to=T.UINT2)], [info("x", ["n"])], [info("y", ["n"], T.UINT2)],
                     opsets=(("", 25),), ir_version=13)
        self.assertEqual(self.claimed(made)[1], (0, 1, 0))
        for kind, packed, values in ((T.INT2, 0b10011100, [0, -1, 1, -2]), (T.UINT2, 0b10011100, [0, 3, 1, 2])):
            graph = helper.make_graph([helper.make_node("DequantizeLinear", ["w", "scale"], ["d"]),
                                       helper.make_node("Add", ["x", "d"], ["y"])], "graph", [info("x", [4])], [info("y", [4])],
                                      [helper.make_tensor("w", kind, [4], bytes([packed]), raw=True),
                                       numpy_helper.from_array(np.array(0.5, "f4"), "scale")])
            made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13).SerializeToString()
            session, claims = self.claimed(made)
            self.assertEqual(claims, (2, 2, 1))
            x = inputs_of(1, (4,))
            np.testing.assert_allclose(session.run(None, {"x": x})[0], x + 0.5 * np.array(values, "f4"), rtol=1e-6)

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
        """SampleOp is ONNX Runtime's example of an operator: an echo."""
        made = model([helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Add", ["a", "eye"], ["s"]),
                      helper.make_node("SampleOp", ["s"], ["i"], domain="com.microsoft"),
                      helper.make_node("Mul", ["i", "a"], ["y"])],
                     [info("x", [2, 2])], [info("y", [2, 2])], [("eye", (5 * np.eye(2)).astype("f4"))],
                     (("", 18), ("com.microsoft", 1)))
        session, claims = self.claimed(made)
        self.assertEqual(claims, (3, 4, 2))
        x = inputs_of(1, (2, 2))
        np.testing.assert_allclose(session.run(None, {"x": x})[0],
                                   (np.abs(x) + 5 * np.eye(2)) * np.abs(x), rtol=1e-4, atol=1e-5)

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

    def test_a_loops_body_gets_what_it_declares(self):
        """One element of one dimension as iteration number, and [0, 1] of no trip, as from ONNX Runtime itself."""
        body = helper.make_graph([helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Neg", ["i"], ["number"]),
                                  helper.make_node("Mul", ["state", "state"], ["next"])], "body",
                                 [info("i", [1], T.INT64), info("go", [1], T.BOOL), info("state", ["p"])],
                                 [info("on", [1], T.BOOL), info("next", ["p"]), info("number", [1], T.INT64)])
        made = model([helper.make_node("Loop", ["trips", "", "x"], ["y", "numbers"], body=body)],
                     [info("trips", [], T.INT64), info("x", ["n"])], [info("y", ["p"]), info("numbers", ["t", 1], T.INT64)])
        session, claims = self.claimed(made)
        if VERSION >= (1, 27):
            self.assertEqual(claims, (1, 1, 1))
        for trips in (0, 1, 3):
            numbers = session.run(["numbers"], {"trips": np.array(trips), "x": inputs_of(1, (2,))})[0]
            np.testing.assert_array_equal(numbers, -np.arange(trips).reshape(trips, 1))
            self.assertEqual((numbers.shape, numbers.dtype), ((trips, 1), np.int64))

    def test_bodies_of_a_node_that_stays_are_looked_into(self):
        """The If stays, because its branch holds an operator that axrun lacks; the rest of the branch need not."""
        then = helper.make_graph([helper.make_node("SampleOp", ["x"], ["i"], domain="com.microsoft"),
                                  helper.make_node("Add", ["i", "x"], ["t"])], "then", [], [info("t", [2, 2])])
        otherwise = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "else", [], [info("e", [2, 2])])
        made = model([helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=otherwise)],
                     [info("c", [], T.BOOL), info("x", [2, 2])], [info("y", [2, 2])], (), (("", 18), ("com.microsoft", 1)))
        session, claims = self.plugin.session_and_claims(made)
        if VERSION >= (1, 24):
            self.assertEqual(sorted(claims), [(0, 1, 0), (1, 1, 1), (1, 2, 1)])
        x = np.array([[2, 0], [0, 4]], "f4")
        np.testing.assert_allclose(session.run(None, {"c": np.array(True), "x": x})[0], x + x, rtol=1e-5)
        np.testing.assert_allclose(session.run(None, {"c": np.array(False), "x": x})[0], -x)

    def test_the_log_says_why_a_node_stays(self):
        out = helper.make_tensor_sequence_value_info("s", T.FLOAT, None)
        made = model([helper.make_node("Neg", ["x"], ["n"]), helper.make_node("SequenceConstruct", ["n"], ["s"], name="last"),
                      helper.make_node("SampleOp", ["n"], ["i"], domain="com.microsoft", name="odd")],
                     [info("x", [2, 2])], [out, info("i", [2, 2])], (), (("", 18), ("com.microsoft", 1)))
        text = self.plugin.session_and_log(made)[1]
        self.assertRegex(text, "axrun: SequenceConstruct 'last' stays with ONNX Runtime: 's' .* is no tensor")
        self.assertRegex(text, "axrun: SampleOp 'odd' stays with ONNX Runtime: axrun has no operator SampleOp of com.microsoft 1")

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
        session = self.plugin.session(made)
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
        session = self.plugin.session(made)
        x = np.arange(4, dtype="f4")
        with self.assertRaisesRegex(Exception, "axrun"):
            session.run(None, {"x": x, "i": np.array([9], "i8")})
        np.testing.assert_array_equal(session.run(None, {"x": x, "i": np.array([3, -1], "i8")})[0], [3, 3])

    def test_runs_are_compared_with_the_reference(self):
        made, expected = perceptron()
        session = self.plugin.session(made, verify="on")
        x = inputs_of(1, (3, 16))
        np.testing.assert_allclose(session.run(None, {"x": x})[0], expected(x), rtol=1e-4, atol=1e-4)
        # Sums in another order cannot be equal to twelve digits.
        strict = self.plugin.session(perceptron(2, (512, 512, 64))[0], verify="1e-12")
        with self.assertRaisesRegex(Exception, "verify: output 'y' differs from the reference"):
            strict.run(None, {"x": inputs_of(1, (3, 512))})
