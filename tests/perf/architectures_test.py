"""Tests of the standard architectures: parameter counts, the float64 evaluation, the checks, the files, the command.

Run: python3 tests/perf/architectures_test.py
What needs numpy and onnx runs in build/venv's Python when that is there, and is skipped otherwise.
"""

import glob
import importlib.util
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
COMMAND = os.path.join(ROOT, "perf", "make_architectures")
sys.path.insert(0, os.path.join(ROOT, "perf"))

from architectures import catalogue, make  # noqa: E402
from architectures.catalogue import ARCHITECTURES, KNOWN, WORKLOADS, build  # noqa: E402
from architectures.graph import Free, sample  # noqa: E402

HAVE_PACKAGES = all(importlib.util.find_spec(name) for name in ("numpy", "onnx"))
if HAVE_PACKAGES:
    import numpy
    import onnx
    import onnx.reference
    from architectures import check, fill, operators, write
    from architectures.evaluate import evaluate, multiply_adds

needs_packages = unittest.skipUnless(HAVE_PACKAGES, "needs the Python packages numpy and onnx")

# Sizes at which every architecture takes milliseconds.
BATCH, LENGTH = Free("batch", 2), Free("length", 6)
TINY = {
    "resnet50": dict(batch=BATCH, image=32, blocks=(1, 2), width=4, classes=3),
    "vgg16": dict(batch=2, image=56, convolutions=(1, 2), width=2, hidden=5, classes=3),
    "mobilenet_v2": dict(image=32, classes=3),
    "densenet121": dict(image=32, layers=(2, 1), growth=4, classes=3),
    "unet": dict(batch=2, image=16, width=2, depth=2),
    "bert_base": dict(batch=BATCH, sequence=Free("length", 32), layers=2, hidden=24, heads=3, vocabulary=50),
    "gpt2_prefill": dict(batch=BATCH, sequence=LENGTH, layers=2, hidden=24, heads=3, vocabulary=50),
    "gpt2_decode": dict(batch=2, past=Free("past", 5), layers=2, hidden=24, heads=3, vocabulary=50),
    "llama_block": dict(batch=2, sequence=LENGTH, layers=2, hidden=32, heads=4, key_heads=2, mlp=40),
    "llama_block_decode": dict(past=5, hidden=32, heads=4, key_heads=2, mlp=40),
    "lstm_2layer": dict(batch=2, sequence=LENGTH, inputs=5, hidden=7),
    "prism_rmsnorm_linear_8x1024": dict(rows=2, size=6),
    "prism_rmsnorm_mlp_8x1024": dict(rows=2, size=6),
    "prism_swiglu_8x1024": dict(rows=2, size=6),
    "prism_attention_2x8x1x1024x128": dict(heads=3, queries=4, keys=9, size=5),
    "prism_qknorm_attention_2x8x1x1024x128": dict(heads=3, queries=4, keys=9, size=5),
    "gpt2_lora_prefill": dict(batch=BATCH, sequence=LENGTH, layers=2, hidden=24, heads=3, vocabulary=50, rank=2),
    "llama_lora_block": dict(batch=2, sequence=LENGTH, layers=2, hidden=32, heads=4, key_heads=2, mlp=40, rank=3),
    "llama_lora_block_decode": dict(past=5, hidden=32, heads=4, key_heads=2, mlp=40, rank=3),
    "bert_classifier": dict(batch=BATCH, sequence=Free("length", 32), layers=2, hidden=24, heads=3, vocabulary=50, classes=3),
    "gpt2_next_token": dict(batch=BATCH, sequence=LENGTH, layers=2, hidden=24, heads=3, vocabulary=50),
    "bf16_vector": dict(inputs=12, outputs=7),
}


class Topologies(unittest.TestCase):
    def test_catalogue_has_the_published_parameter_counts(self):
        for name, architecture in KNOWN.items():
            with self.subTest(name):
                self.assertEqual(build(name).trainable, architecture.trainable)

    def test_larger_siblings_have_their_published_parameter_counts_too(self):
        for function, parameters, published in (
                (catalogue.resnet, dict(blocks=(3, 4, 23, 3)), 44_549_160),
                (catalogue.resnet, dict(blocks=(3, 8, 36, 3)), 60_192_808),
                (catalogue.vgg, dict(convolutions=(2, 2, 4, 4, 4)), 143_667_240),
                (catalogue.densenet, dict(layers=(6, 12, 32, 32)), 14_149_480),
                (catalogue.densenet, dict(layers=(6, 12, 48, 32)), 20_013_928),
                (catalogue.bert, dict(layers=24, hidden=1024, heads=16), 335_141_888),
                (catalogue.gpt2, dict(layers=24, hidden=1024, heads=16), 354_823_168),
                (catalogue.gpt2, dict(layers=48, hidden=1600, heads=25), 1_557_611_200)):
            with self.subTest(str((function.__name__, parameters))):
                self.assertEqual(function(**parameters).trainable, published)

    def test_a_count_that_differs_from_the_published_one_is_refused(self):
        saved = ARCHITECTURES["lstm_2layer"]
        ARCHITECTURES["lstm_2layer"] = catalogue.Architecture(saved.function, saved.trainable + 1)
        self.addCleanup(ARCHITECTURES.__setitem__, "lstm_2layer", saved)
        with self.assertRaisesRegex(catalogue.WrongTopology, "4202496 trainable parameters, published are 4202497"):
            build("lstm_2layer", batch=3)
        build("lstm_2layer", layers=3)

    def test_node_and_value_names_are_unique_and_made_before_they_are_used(self):
        for name in KNOWN:
            with self.subTest(name):
                graph = build(name)
                made = [port.name for port in graph.inputs] + list(graph.initializers) + [""]
                for node in graph.nodes:
                    self.assertLessEqual(set(node.inputs), set(made), node.name)
                    made += node.outputs
                self.assertEqual(len(made), len(set(made)))
                self.assertEqual(len(graph.nodes), len({node.name for node in graph.nodes}))
                self.assertLessEqual({port.name for port in graph.outputs}, set(made))

    def test_sizes_that_do_not_fit_are_refused(self):
        for name, parameters in (("vgg16", dict(image=100)), ("unet", dict(image=100)), ("bert_base", dict(heads=7)),
                                 ("bert_base", dict(sequence=Free("length", 513))), ("gpt2_decode", dict(past=1024)),
                                 ("llama_block", dict(key_heads=5))):
            with self.subTest(name), self.assertRaises(ValueError):
                build(name, **parameters)


@needs_packages
class Evaluation(unittest.TestCase):
    """The oracle against plain formulas, against ONNX's own evaluator, and against what models must fulfil."""

    def values(self, *shape):
        return numpy.random.default_rng(math.prod(shape)).standard_normal(shape)

    def test_convolution(self):
        for group, inputs in ((1, 3), (4, 4)):
            x, weight, bias = self.values(2, inputs, 7, 6), self.values(4, inputs // group, 3, 3), self.values(4)
            found = operators.convolution(
                dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], dilations=[1, 1], group=group), x, weight,
                bias)
            self.assertEqual(found.shape, (2, 4, 4, 3))
            for n, o, row, column in numpy.ndindex(found.shape):
                total = bias[o]
                for c, i, j in itertools.product(range(inputs // group), range(3), range(3)):
                    y, z = 2 * row + i - 1, 2 * column + j - 1
                    if 0 <= y < 7 and 0 <= z < 6:
                        total += weight[o, c, i, j] * x[n, c if group == 1 else o, y, z]
                self.assertAlmostEqual(found[n, o, row, column], total, places=12)

    def test_transposed_convolution(self):
        x, weight, bias = self.values(2, 3, 2, 3), self.values(3, 4, 2, 2), self.values(4)
        found = operators.transposed_convolution(
            dict(kernel_shape=[2, 2], strides=[2, 2], pads=[0] * 4, group=1), x, weight, bias)
        for n, o, row, column in numpy.ndindex(2, 4, 4, 6):
            total = bias[o] + sum(x[n, c, row // 2, column // 2] * weight[c, o, row % 2, column % 2] for c in range(3))
            self.assertAlmostEqual(found[n, o, row, column], total, places=12)

    def test_pooling(self):
        x = self.values(1, 2, 5, 5) - 10  # below zero, so that padding with zeros would be seen
        largest = operators.max_pool(dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), x)
        mean = operators.average_pool(dict(kernel_shape=[2, 2], strides=[2, 2]), x)
        for c, row, column in numpy.ndindex(2, 3, 3):
            self.assertEqual(largest[0, c, row, column],
                             x[0, c, max(2 * row - 1, 0):2 * row + 2, max(2 * column - 1, 0):2 * column + 2].max())
        for c, row, column in numpy.ndindex(2, 2, 2):
            self.assertAlmostEqual(mean[0, c, row, column],
                                   x[0, c, 2 * row:2 * row + 2, 2 * column:2 * column + 2].sum() / 4, places=12)

    def test_functions(self):
        for x in (-30.0, -1.5, 0.0, 0.25, 800.0):
            self.assertAlmostEqual(float(operators.sigmoid({}, numpy.array([x]))[0]),
                                   1 / (1 + math.exp(-x)) if x > -700 else 0.0, places=15)
            self.assertEqual(operators.erf({}, numpy.array([x]))[0], math.erf(x))
        shares = operators.softmax(dict(axis=-1), numpy.array([[0.0, math.log(3)], [1000.0, -1000.0]]))
        numpy.testing.assert_allclose(shares, [[0.25, 0.75], [1, 0]], rtol=1e-14)

    def test_every_architecture_agrees_with_onnx_own_evaluator_and_passes_its_checker(self):
        """The written file against the graph: a mistake in writing and one in evaluating would both be seen."""
        for name, parameters in TINY.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                graph = build(name, **parameters)
                weights, inputs = fill.weights_of(graph), fill.inputs_of(graph)
                expected = evaluate(graph, weights, inputs)
                path = os.path.join(folder, "model.onnx")
                write.write_model(graph, weights, path)
                onnx.checker.check_model(path, full_check=True)
                found = onnx.reference.ReferenceEvaluator(path).run(None, inputs)
                for port, values in zip(graph.outputs, found):
                    want = expected[port.name]
                    self.assertEqual(want.shape, tuple(map(sample, port.shape)), port.name)
                    numpy.testing.assert_allclose(values, want, atol=2e-5 * numpy.abs(want).max(), rtol=0)

    def test_steps_with_a_cache_give_what_one_run_over_all_tokens_gives(self):
        for name, first in (("gpt2_decode", "input_ids"), ("llama_block_decode", "hidden_states")):
            with self.subTest(name):
                sizes = {**TINY[name], "batch": 2, "layers": 2}
                graphs = [build(name, **{**sizes, "sequence": sequence, "past": past})
                          for sequence, past in ((6, 0), (5, 0), (1, 5))]
                weights = fill.weights_of(graphs[0])
                inputs = fill.inputs_of(graphs[0])
                whole = evaluate(graphs[0], weights, inputs)
                begin = evaluate(graphs[1], fill.weights_of(graphs[1]), {key: x[:, :5] for key, x in inputs.items()})
                step = {key: x[:, 5:] for key, x in inputs.items()}
                step.update({key.replace("present", "past"): x for key, x in begin.items() if "present" in key})
                last = evaluate(graphs[2], fill.weights_of(graphs[2]), step)
                for key, values in last.items():
                    numpy.testing.assert_allclose(values, whole[key] if "present" in key else whole[key][:, 5:],
                                                  rtol=1e-9, atol=1e-9, err_msg=key)

    def test_padding_does_not_reach_other_tokens(self):
        graph = build("bert_base", **TINY["bert_base"])
        weights, inputs = fill.weights_of(graph), fill.inputs_of(graph)
        self.assertEqual(inputs["attention_mask"][:, -3:].tolist(), [[1, 0, 0]] * 2)
        before = evaluate(graph, weights, inputs)["last_hidden_state"]
        inputs["input_ids"][:, -2:] = (inputs["input_ids"][:, -2:] + 1) % 50
        after = evaluate(graph, weights, inputs)["last_hidden_state"]
        numpy.testing.assert_array_equal(after[:, :-2], before[:, :-2])
        self.assertTrue((after[:, -2:] != before[:, -2:]).any())

    def test_steps_with_a_cache_are_placed_behind_it(self):
        for name in ("gpt2_decode", "llama_block_decode"):
            self.assertEqual(fill.inputs_of(build(name, past=7))["position_ids"].tolist(), [[7]])

    def test_images_shrink_where_they_should(self):
        for name, sizes, sides in (("resnet50", dict(blocks=(1, 1, 1, 1), width=2), [64, 32, 16, 8, 4]),
                                   ("densenet121", dict(layers=(1, 1, 1, 1), growth=2), [64, 32, 16, 8, 4]),
                                   ("mobilenet_v2", dict(), [64, 32, 16, 8, 4]),
                                   ("vgg16", dict(image=224, width=2, hidden=2), [224, 112, 56, 28, 14])):
            with self.subTest(name):
                found = []
                graph = build(name, **{"image": 128, **sizes})
                evaluate(graph, fill.weights_of(graph), fill.inputs_of(graph), lambda node, arrays, results:
                         found.append(results[0].shape[-1] if node.operator == "Conv" else 0))
                found = [side for side, _ in itertools.groupby(filter(None, found))]
                self.assertEqual(found, sides)

    def test_head_shares_the_embedding(self):
        weights = fill.weights_of(build("gpt2_prefill", **TINY["gpt2_prefill"]))
        numpy.testing.assert_array_equal(weights["lm_head.weight"].T, weights["transformer.wte.weight"])

    def test_multiply_adds(self):
        work = []
        graph = build("unet", batch=2, image=8, channels=3, width=2, depth=1)
        evaluate(graph, fill.weights_of(graph), fill.inputs_of(graph),
                 lambda node, arrays, results: work.append(multiply_adds(node, arrays, results)))
        encoder, bottleneck = 64 * 9 * (3 * 2 + 2 * 2), 16 * 9 * (2 * 4 + 4 * 4)
        decoder = 64 * (4 * 2) + 64 * 9 * (4 * 2 + 2 * 2) + 64 * 2
        self.assertEqual(sum(work), 2 * (encoder + bottleneck + decoder))


@needs_packages
class Checks(unittest.TestCase):
    SIZES = dict(image=32, blocks=(1, 1), width=16, classes=100)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "model")
        self.graph = build("resnet50", **self.SIZES)

    def spoil(self, name, change):
        """Changes what an initializer is filled with."""
        item = self.graph.initializers[name]
        before = item.fill
        item.fill = lambda generator, shape: change(before(generator, shape))

    def refused(self, reason):
        with self.assertRaisesRegex(check.CheckFailure, reason):
            make.make(self.graph, self.folder)
        self.assertFalse(os.path.exists(self.folder))

    def test_sound_activations_pass(self):
        figures = make.make(self.graph, self.folder, "stamp")
        self.assertGreaterEqual(figures["deviation"][0], 0.1)
        self.assertLessEqual(figures["sparsity"][1], 0.8)
        self.assertEqual(make.figures_if_current(self.folder, "stamp"), figures)
        self.assertIsNone(make.figures_if_current(self.folder, "other"))

    def test_a_folder_with_something_else_is_left_alone(self):
        os.makedirs(self.folder)
        with open(os.path.join(self.folder, "mine"), "w"):
            pass
        with self.assertRaises(OSError):
            make.make(self.graph, self.folder)
        self.assertEqual(os.listdir(self.folder), ["mine"])

    def test_wrong_work_is_refused(self):
        self.graph.work = 0.01
        with self.assertRaisesRegex(catalogue.WrongTopology, "resnet50: 0.0.* multiply-adds, published are 0.01"):
            make.make(self.graph, self.folder)
        self.assertFalse(os.path.exists(self.folder))

    def test_weights_too_large_or_too_small_are_found_where_it_happens(self):
        self.spoil("layer2.0.conv2.weight", lambda values: values * 100)
        self.refused(r"/layer2.0/conv2/Conv_output_0: standard deviation \d+(\.\d+)? is not within 0.1 to 10")
        self.graph = build("resnet50", **self.SIZES)
        self.spoil("conv1.weight", lambda values: values / 100)
        self.spoil("conv1.bias", lambda values: values / 100)
        self.refused("/conv1/Conv_output_0: standard deviation 0.0")

    def test_dead_and_ever_active_relus_are_found(self):
        for shift in (-3, 3):
            self.graph = build("resnet50", **self.SIZES)
            self.spoil("layer1.0.conv1.bias", lambda values: values + shift)
            self.refused("/layer1.0/conv1/Relu_output_0: share of zeros")

    def test_denormal_weights_are_found(self):
        def one_denormal(values):
            values[0, 0] = 1e-40
            return values
        self.spoil("fc.weight", one_denormal)
        self.refused("fc.weight: 1 elements are denormal")

    def test_what_f32_can_not_hold_is_found(self):
        check.check_representable("x", numpy.array([0.0, -1.5, 1.2e-38, 3.4e38]))
        for value, reason in ((math.nan, "1 elements are not finite"), (math.inf, "not finite"),
                              (-1e39, "does not fit"), (-1e-39, "1 elements are denormal")):
            with self.assertRaisesRegex(check.CheckFailure, "x: .*" + reason):
                check.check_representable("x", numpy.array([0.0, value, 2.0]))


@needs_packages
class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def command(self, *flags):
        command = [sys.executable, COMMAND, "--output", self.folder, *flags]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertNotIn("Traceback", done.stderr)
        return done

    LSTM = ("--only", "lstm_2layer", "--set", "hidden=64", "--set", "inputs=64", "--set", "sequence=4")

    def test_data_set_is_in_order_and_open_sizes_have_names(self):
        done = self.command(*self.LSTM, "--set", "batch=free")
        self.assertEqual(done.returncode, 0, done.stderr)
        model = onnx.load(os.path.join(self.folder, "lstm_2layer", "model.onnx"))
        self.assertEqual([(opset.domain, opset.version) for opset in model.opset_import], [("", 17)])
        self.assertEqual([dim.dim_param or dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim],
                         [4, "batch", 64])
        for kind, ports in (("input", model.graph.input), ("output", model.graph.output)):
            for index, port in enumerate(ports):
                tensor = onnx.TensorProto()
                path = os.path.join(self.folder, "lstm_2layer", "test_data_set_0", "%s_%d.pb" % (kind, index))
                with open(path, "rb") as file:
                    tensor.ParseFromString(file.read())
                self.assertEqual((tensor.name, tensor.data_type), (port.name, onnx.TensorProto.FLOAT))

    def test_only_what_is_out_of_date_is_made(self):
        self.assertNotIn("up to date", self.command(*self.LSTM).stdout)
        self.assertIn("up to date", self.command(*self.LSTM).stdout)
        self.assertNotIn("up to date", self.command(*self.LSTM, "--again").stdout)
        self.assertNotIn("up to date", self.command(*self.LSTM, "--set", "layers=3").stdout)

    def test_unchecked_models_have_inputs_only(self):
        done = self.command(*self.LSTM, "--unchecked", "--name", "other")
        self.assertEqual(done.returncode, 0, done.stderr)
        files = glob.glob(os.path.join(self.folder, "other", "test_data_set_0", "*"))
        self.assertEqual(sorted(map(os.path.basename, files)), ["input_0.pb", "input_1.pb", "input_2.pb"])
        with open(os.path.join(self.folder, "other", make.RECORD)) as file:
            self.assertNotIn("multiply_adds", json.load(file)["figures"])

    def test_a_failed_check_is_exit_70(self):
        done = self.command(*self.LSTM, "--set", "hidden=1", "--set", "sequence=1")
        self.assertEqual(done.returncode, 70)
        self.assertRegex(done.stderr, "lstm_2layer: .*: standard deviation 0 is not within")


class Command(unittest.TestCase):
    def test_workloads_are_no_standard_architectures_and_are_found_by_pattern(self):
        self.assertFalse(set(WORKLOADS) & set(ARCHITECTURES))
        self.assertEqual(len(WORKLOADS), 3 * 5 + 2 * 4 + 6)
        command = [sys.executable, COMMAND, "--only", "prism_swiglu_*", "--name", "x"]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--name needs --only with one model", done.stderr)

    def test_mistakes_are_exit_1_and_told(self):
        for flags, reason in ((["--only", "alexnet"], "no architecture alexnet"),
                              (["--only", "unet", "--set", "layers=3"], "unet has no parameter layers"),
                              (["--only", "unet", "--set", "batch=two"], "not a whole number"),
                              (["--only", "unet", "--set", "batch=0"], "too small"),
                              (["--only", "unet", "--set", "batch=1,2"], "one number"),
                              (["--only", "unet", "--set", "image=100"], "not a multiple of 16"),
                              (["--only", "gpt2_prefill", "--set", "past=free"], "no input of that size"),
                              (["--name", "x"], "--name needs --only"), (["--fast"], "--fast")):
            with self.subTest(str(flags)):
                done = subprocess.run([sys.executable, COMMAND, *flags], capture_output=True, text=True)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(reason, done.stderr)
                self.assertNotIn("Traceback", done.stderr)


def use_environment():
    """Runs the tests in build/venv's Python when this one lacks packages that it has."""
    python = os.path.join(ROOT, "build", "venv", "bin", "python")
    if HAVE_PACKAGES or "AXRUN_TEST_VENV" in os.environ or not os.access(python, os.X_OK):
        return
    os.environ["AXRUN_TEST_VENV"] = "1"  # ends the loop if that one lacks them too
    os.execv(python, [python, os.path.abspath(__file__), *sys.argv[1:]])


if __name__ == "__main__":
    use_environment()
    unittest.main()
