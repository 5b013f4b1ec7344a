"""Models that were compiled ahead with the plugin."""

import os
import tempfile

from plugin import NAME, PluginCase, import_onnxruntime
from plugin_models import info, inputs_of, model, perceptron

ort, onnx, np = import_onnxruntime()
from onnx import helper


class Contexts(PluginCase):
    def compiled(self, folder, made, embed, **more):
        """The path of the context model."""
        model_path, context = os.path.join(folder, "model.onnx"), os.path.join(folder, "compiled.onnx")
        with open(model_path, "wb") as file:
            file.write(made)
        options = self.plugin.options()
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
                session, claims = self.plugin.session_and_claims(context)
                self.assertEqual(claims[-1], (1, 1, 1))
                np.testing.assert_allclose(session.run(None, {"x": x})[0], expected(x), rtol=1e-3, atol=1e-3)

    def test_what_stays_with_onnxruntime_stays_there(self):
        made = model([helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Add", ["a", "eye"], ["s"]),
                      helper.make_node("SampleOp", ["s"], ["i"], domain="com.microsoft"),
                      helper.make_node("Mul", ["i", "a"], ["y"])],
                     [info("x", [2, 2])], [info("y", [2, 2])], [("eye", (5 * np.eye(2)).astype("f4"))],
                     (("", 18), ("com.microsoft", 1)))
        with tempfile.TemporaryDirectory() as folder:
            context = self.compiled(folder, made, False)
            operators = sorted(node.op_type for node in onnx.load(context).graph.node)
            self.assertEqual(operators, ["EPContext", "EPContext", "SampleOp"])
            session = self.plugin.session(context)
            x = inputs_of(1, (2, 2))
            np.testing.assert_allclose(session.run(None, {"x": x})[0],
                                       (np.abs(x) + 5 * np.eye(2)) * np.abs(x), rtol=1e-4, atol=1e-5)

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
                self.plugin.session(context)

            def forget(attribute):
                if attribute.name == "ep_cache_context":
                    attribute.s = b"something else"

            self.changed(context, forget)
            with self.assertRaisesRegex(Exception, "no context of this version"):
                self.plugin.session(context)

    def test_files_are_looked_for_beside_the_model_only(self):
        made, _ = perceptron()
        with tempfile.TemporaryDirectory() as folder:
            inner = os.path.join(folder, "inner")
            os.mkdir(inner)
            context = self.compiled(inner, made, False)
            name = [each for each in os.listdir(inner) if each.endswith(".bin")][0]
            os.rename(os.path.join(inner, name), os.path.join(folder, name))
            with self.assertRaisesRegex(Exception, name):
                self.plugin.session(context)
            for place in ("../" + name, os.path.join(folder, name), "x/../../" + name):

                def point(attribute):
                    if attribute.name == "ep_cache_context":
                        attribute.s = place.encode()

                self.changed(context, point)
                with self.assertRaisesRegex(Exception, "is not in the model's folder"):
                    self.plugin.session(context)

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
            self.assertIn(answer, str(ask(self.plugin.devices(), text)))
