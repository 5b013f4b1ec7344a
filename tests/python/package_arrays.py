"""numpy arrays as inputs and outputs: types, shapes, memory. Usage: package_arrays.py WHEEL ROOT MODEL"""

import gc
import sys
import unittest
import weakref

import numpy as np

import axrun
import models

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

# ONNX element type -> numpy's, of what it has itself.
PLAIN = {models.FLOAT: "float32", models.UINT8: "uint8", models.INT8: "int8", models.UINT16: "uint16", models.INT16: "int16",
         models.INT32: "int32", models.INT64: "int64", models.BOOL: "bool", models.FLOAT16: "float16", models.DOUBLE: "float64",
         models.UINT32: "uint32", models.UINT64: "uint64"}


def identity(element, dims=("n", "m")):
    kind = models.tensor_type(element, dims)
    return axrun.Session(models.one_operator("Identity", [kind], kind), optimize=False)


class Types(unittest.TestCase):
    def test_types_of_numpy(self):
        for element, name in PLAIN.items():
            with self.subTest(name), identity(element) as session:
                self.assertEqual((session.inputs[0].type, session.inputs[0].dtype), (name, np.dtype(name)))
                given = np.arange(-2, 4).astype(name).reshape(2, 3)
                got = session(given)
                self.assertEqual(got.dtype, given.dtype)
                np.testing.assert_array_equal(got, given)
                wrong = given.astype("complex64")
                with self.assertRaisesRegex(axrun.InvalidArgument, "'a' is %s, not complex64" % name):
                    session(wrong)
                other = given.astype("float32" if name != "float32" else "int32")
                with self.assertRaises(axrun.InvalidArgument):
                    session(other)

    def test_limits_of_integers(self):
        for name in ("int64", "uint64", "int8", "uint8"):
            element = next(key for key, value in PLAIN.items() if value == name)
            info = np.iinfo(name)
            given = np.array([[info.min, info.max]], name)
            np.testing.assert_array_equal(identity(element)(given), given)

    def test_bfloat16(self):
        session = identity(models.BFLOAT16)
        bits = np.array([[0x3F80, 0xC000, 0x7F80]], np.uint16)  # 1, -2, infinity
        got = session(bits)
        np.testing.assert_array_equal(got.view(np.uint16), bits)
        if ml_dtypes is None:
            self.assertEqual(got.dtype, np.uint16)
            with self.assertRaisesRegex(axrun.InvalidArgument, "ml_dtypes"):
                session([[1.0]])
        else:
            self.assertEqual(got.dtype, ml_dtypes.bfloat16)
            self.assertEqual(got.astype("float32").tolist(), [[1, -2, float("inf")]])
            self.assertEqual(session(got).tobytes(), bits.tobytes())
            self.assertEqual(session([[1.5]]).astype("float32").tolist(), [[1.5]])

    def test_eight_bit_floats(self):
        bits = np.array([[0x38, 0xB8]], np.uint8)
        got = identity(models.FLOAT8E4M3FN)(bits)
        np.testing.assert_array_equal(got.view(np.uint8), bits)
        if ml_dtypes is not None:
            self.assertEqual(got.astype("float32").tolist(), [[1, -1]])

    def test_four_bit_integers(self):
        signed = identity(models.INT4)
        given = np.array([[-8, 7, 0]], np.int8)
        got = signed(given)
        self.assertEqual(got.dtype, np.int8)
        np.testing.assert_array_equal(got, given)
        with self.assertRaisesRegex(axrun.InvalidArgument, "-8 to 7"):
            signed(np.array([[8]], np.int8))
        np.testing.assert_array_equal(identity(models.UINT4)(np.array([[15]], np.uint8)), [[15]])
        if ml_dtypes is not None:
            np.testing.assert_array_equal(signed(given.astype(ml_dtypes.int4)), given)

    def test_strings(self):
        session = identity(models.STRING, ("n",))
        texts = ["", "plain", "Grüße", "null\0inside", "\udcff"]
        got = session(texts)
        self.assertEqual((got.dtype, got.tolist()), (np.dtype(object), texts))
        self.assertEqual(session(np.array(["a", "bc"])).tolist(), ["a", "bc"])
        self.assertEqual(session(np.array([b"a", b"bc"])).tolist(), ["a", "bc"])
        self.assertEqual(session(np.array([], object)).tolist(), [])
        for wrong in (np.array([1.0]), [1], [None], np.array(["a", 1], object)):
            with self.assertRaisesRegex(axrun.InvalidArgument, "'a' is string"):
                session(wrong)

    def test_lists_and_numbers(self):
        self.assertEqual(identity(models.FLOAT)([[1, 2.5], [True, 4]]).tolist(), [[1, 2.5], [1, 4]])
        self.assertEqual(identity(models.INT32, ())(7).shape, ())
        self.assertEqual(identity(models.UINT8, ("n",))([0, 255]).tolist(), [0, 255])
        for wrong in ([256], [-1], [1.5], ["a"], [[1], [1, 2]]):
            with self.subTest(wrong), self.assertRaises(axrun.InvalidArgument):
                identity(models.UINT8, ("n",))(wrong)

    def test_sequences_and_optionals(self):
        tensor = models.tensor_type(models.FLOAT, ("n",))
        position = models.tensor_type(models.INT64, ())
        at = models.one_operator("SequenceAt", [models.sequence_type(models.FLOAT), position], tensor)
        parts = [np.array([1], "float32"), np.array([2, 3], "float32")]
        with axrun.Session(at) as session:
            self.assertEqual(session.inputs[0].kind, "sequence")
            self.assertEqual(session(parts, 1).tolist(), [2, 3])
            for wrong in (parts[0], [parts[0].astype("int32")], []):
                with self.assertRaises(axrun.InvalidArgument):
                    session(wrong, 1)
        construct = models.one_operator("SequenceConstruct", [tensor, models.tensor_type(models.FLOAT, ("m",))],
                                        models.sequence_type(models.FLOAT))
        with axrun.Session(construct) as session:
            self.assertEqual(session.outputs[0].kind, "sequence")
            self.assertEqual([part.tolist() for part in session(*parts)], [[1], [2, 3]])
        optional = models.optional_type(models.FLOAT, ("n",))
        has = models.one_operator("OptionalHasElement", [optional], models.tensor_type(models.BOOL, ()))
        with axrun.Session(has) as session:
            self.assertEqual((bool(session(None)), bool(session(parts[0]))), (False, True))

    def test_maps(self):
        tensor = models.tensor_type(models.FLOAT, ("n", 2))
        value = models.part(2, models.tensor_type(models.FLOAT, None))
        kind = models.part(4, models.part(1, models.part(5, models.number(1, models.STRING) + value)))
        zipmap = models.node("ZipMap", ["a"], ["y"], models.strings_attribute("classlabels_strings", ["no", "yes"]),
                             domain="ai.onnx.ml")
        with axrun.Session(models.model([zipmap], {"a": tensor}, {"y": kind})) as session:
            self.assertEqual(session([[0.25, 0.75], [1, 0]]), [{"no": 0.25, "yes": 0.75}, {"no": 1, "yes": 0}])


class OtherArrays(unittest.TestCase):
    """What is no ndarray, and none of numpy's older types."""

    def test_dlpack_alone(self):
        class Lent:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        given = np.arange(6, dtype="float32").reshape(2, 3)
        session = identity(models.FLOAT)
        np.testing.assert_array_equal(session(Lent(given)), given)
        with self.assertRaisesRegex(axrun.InvalidArgument, "'a' is float32, not float64"):
            session(Lent(given.astype("float64")))

    @unittest.skipUnless(hasattr(np.dtypes if hasattr(np, "dtypes") else np, "StringDType"), "numpy before 2 has no StringDType")
    def test_strings_of_any_size(self):
        given = np.array([["a", "bcd"], ["", "e" * 100]], np.dtypes.StringDType())
        np.testing.assert_array_equal(identity(models.STRING)(given), given.astype(object))


class Shapes(unittest.TestCase):
    def test_no_dimension_and_no_element(self):
        self.assertEqual(identity(models.FLOAT, ())(np.float32(3)).shape, ())
        for shape in ((0, 3), (2, 0)):
            got = identity(models.FLOAT)(np.empty(shape, "float32"))
            self.assertEqual((got.shape, got.dtype), (shape, np.dtype("float32")))

    def test_ports(self):
        kind = models.tensor_type(models.FLOAT, ("batch", 3, ""))
        unknown = models.tensor_type(models.FLOAT, None)
        with axrun.Session(models.one_operator("Identity", [kind], unknown)) as session:
            self.assertEqual(session.inputs[0].shape[:2], ("batch", 3))
            self.assertIn("batch", repr(session))
        with axrun.Session(models.one_operator("Identity", [kind], kind), dims={"batch": 2}) as session:
            self.assertEqual(session.inputs[0].shape[0], 2)
        with axrun.Session(models.one_operator("Identity", [kind], kind), shapes={"a": (2, 3, 5)}) as session:
            self.assertEqual(session.inputs[0].shape, (2, 3, 5))
            with self.assertRaisesRegex(axrun.InvalidArgument, "'a'"):
                session(np.zeros((2, 3, 4), "float32"))

    def test_arrays_that_are_not_contiguous(self):
        session = identity(models.FLOAT)
        given = np.arange(24, dtype="float32").reshape(4, 6)
        for view in (given.T, given[::2], given[:, ::-1], np.broadcast_to(given[:1], (5, 6)), given.astype(">f4")):
            np.testing.assert_array_equal(session(view), view)
        unaligned = np.frombuffer(b"x" + given.tobytes(), np.uint8)[1:].view("float32").reshape(4, 6)
        self.assertFalse(unaligned.flags.aligned)
        np.testing.assert_array_equal(session(unaligned), given)
        given.flags.writeable = False
        np.testing.assert_array_equal(session(given), given)


class Memory(unittest.TestCase):
    def test_results_are_of_their_own(self):
        """Nobody else sees what is written into them: not the input, nor a constant of the model, nor another run."""
        constant = models.tensor(models.FLOAT, [2], np.array([1, 2], "float32").tobytes(), "c")
        kind = models.tensor_type(models.FLOAT, (2,))
        model = models.model([models.node("Identity", ["a"], ["y"]), models.node("Identity", ["c"], ["z"])], {"a": kind},
                             {"y": kind, "z": kind}, [constant])
        with axrun.Session(model) as session:
            given = np.array([5, 6], "float32")
            first = session.run({"a": given})
            for name in ("y", "z"):
                self.assertTrue(first[name].flags.writeable)
                first[name][:] = -1
            second = session.run({"a": given})
            self.assertEqual(given.tolist(), [5, 6])
            self.assertEqual((second["y"].tolist(), second["z"].tolist()), ([5, 6], [1, 2]))
            self.assertEqual(first["y"].tolist(), [-1, -1])

    def test_results_outlive_the_session_and_inputs(self):
        session = identity(models.FLOAT, ("n",))
        given = np.arange(100000, dtype="float32")
        got = session(given)
        del session
        given[:] = 0
        del given
        gc.collect()
        self.assertEqual(got.sum(), np.arange(100000, dtype="float32").sum())

    def test_inputs_are_let_go(self):
        class Array(np.ndarray):
            pass
        session = identity(models.FLOAT, ("n",))
        given = np.arange(10, dtype="float32").view(Array)
        gone = weakref.ref(given)
        got = session(given)
        del given
        gc.collect()
        self.assertIsNone(gone())
        self.assertEqual(got.shape, (10,))

    def test_memory_stays_what_it_is(self):
        session = identity(models.FLOAT, ("n",))
        given = np.ones(1 << 18, "float32")  # 1 MiB

        def resident():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * 4096
        for _ in range(50):
            session(given)
        before = resident()
        for _ in range(500):
            session(given)
        self.assertLess(resident() - before, 100 << 20)

    def test_outputs_given(self):
        session = identity(models.FLOAT)
        given = np.arange(6, dtype="float32").reshape(2, 3)
        place = np.zeros((2, 3), "float32")
        got = session.run({"a": given}, out={"y": place})
        self.assertIs(got["y"], place)
        np.testing.assert_array_equal(place, given)
        for wrong in (np.zeros((3, 2), "float32"), np.zeros((2, 3), "int32"), np.zeros((2, 6), "float32")[:, ::2], [[0.0]]):
            with self.assertRaises(axrun.InvalidArgument):
                session.run({"a": given}, out={"y": wrong})
        with self.assertRaisesRegex(axrun.InvalidArgument, "no output 'z'"):
            session.run({"a": given}, out={"z": place})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
