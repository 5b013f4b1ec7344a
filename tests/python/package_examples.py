"""The examples of the READMEs run as they stand. Usage: package_examples.py WHEEL ROOT MODEL"""

import os
import pathlib
import re
import shutil
import sys
import tempfile
import types
import unittest
from unittest import mock

import axrun
import models

ROOT, MODEL = sys.argv[2:4]

try:
    import onnxruntime
except ImportError:
    onnxruntime = None
HAS_PLUGIN = os.path.exists(os.path.join(os.path.dirname(axrun.__file__), "lib", "libaxrun_onnxruntime.so"))


def examples(path):
    """(words after "python", program) of the fenced blocks of Python in a page."""
    with open(os.path.join(ROOT, path), encoding="utf8") as file:
        return re.findall(r"^```python(.*?)\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)


class Examples(unittest.TestCase):
    def run_page(self, path):
        found = examples(path)
        self.assertGreater(len(found), 0)
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(MODEL, os.path.join(folder, "model.onnx"))
            with open(os.path.join(folder, "decoder.onnx"), "wb") as file:
                file.write(models.decoder())
            before = os.getcwd()
            os.chdir(folder)
            self.addCleanup(os.chdir, before)
            for words, program in found:
                if "onnxruntime" in words and not (onnxruntime and HAS_PLUGIN):
                    compile(program, path, "exec")
                    continue
                with mock.patch("builtins.print"):
                    exec(compile(program, path, "exec"), {})
            os.chdir(before)

    def test_the_first_page(self):
        self.run_page("README.md")

    def test_the_page_of_the_package(self):
        self.run_page("runtime/python/README.md")


class Plugin(unittest.TestCase):
    def test_without_onnxruntime(self):
        with mock.patch.dict(sys.modules, {"onnxruntime": None}):
            for action in (axrun.register, axrun.unregister, axrun.session_options):
                with self.assertRaisesRegex(axrun.Unsupported, "onnxruntime is not installed"):
                    action()

    def test_with_one_that_is_too_old(self):
        old = types.SimpleNamespace(__version__="1.22.1")
        with mock.patch.dict(sys.modules, {"onnxruntime": old}):
            with self.assertRaisesRegex(axrun.Unsupported, "1.22.1 is too old.*1.23"):
                axrun.register()

    def test_without_the_library(self):
        with mock.patch("axrun.onnxruntime_plugin.FOLDER", "/nowhere"):
            with self.assertRaisesRegex(axrun.Unsupported, "/nowhere/libaxrun_onnxruntime.so is missing"):
                axrun.library_path()

    def test_what_onnxruntime_is_told(self):
        """Registered once, and devices and options handed on; with a stand-in for ONNX Runtime."""
        device = types.SimpleNamespace(ep_name=axrun.EP_NAME)
        calls, devices = [], [types.SimpleNamespace(ep_name="CPUExecutionProvider")]

        class SessionOptions:
            def add_provider_for_devices(self, given, options):
                calls.append((given, options))

        def register(name, path):
            calls.append((name, path))
            devices.append(device)

        def unregister(name):
            calls.append(name)
            devices.remove(device)
        stand_in = types.SimpleNamespace(
            __version__="1.23.0", SessionOptions=SessionOptions, get_ep_devices=lambda: list(devices),
            register_execution_provider_library=register, unregister_execution_provider_library=unregister)
        with mock.patch.dict(sys.modules, {"onnxruntime": stand_in}), \
                mock.patch("axrun.onnxruntime_plugin.library_path", lambda: "/somewhere/it.so"):
            self.assertEqual(axrun.register(), [device])
            self.assertEqual(axrun.register(), [device])
            self.assertIsInstance(axrun.session_options(budget=3, deterministic=True), SessionOptions)
            axrun.unregister()
            axrun.unregister()
        self.assertEqual(calls, [(axrun.EP_NAME, "/somewhere/it.so"), ([device], {"budget": "3", "deterministic": "on"}),
                                 axrun.EP_NAME])

    @unittest.skipUnless(onnxruntime and HAS_PLUGIN, "needs onnxruntime and the plugin")
    def test_in_onnxruntime(self):
        import numpy as np
        devices = axrun.register()
        self.assertEqual([device.ep_name for device in devices], [axrun.EP_NAME] * len(devices))
        self.assertGreater(len(devices), 0)
        self.assertEqual(axrun.register()[0].ep_name, axrun.EP_NAME)
        session = onnxruntime.InferenceSession(MODEL, axrun.session_options())
        self.assertIn(axrun.EP_NAME, session.get_providers())
        image = np.ones((1, 3, 32, 32), "float32")
        [scores] = session.run(None, {"image": image})
        np.testing.assert_allclose(scores, axrun.Session(MODEL, optimize=False)(image), atol=1e-5)
        del session
        with tempfile.TemporaryDirectory() as folder:
            options = axrun.session_options(onnxruntime.SessionOptions(), threads=1, budget=1.5, cache_dir=pathlib.Path(folder),
                                            deterministic=True, optimize=False)
            [again] = onnxruntime.InferenceSession(MODEL, options).run(None, {"image": image})
        np.testing.assert_allclose(again, scores, atol=1e-5)
        with self.assertRaisesRegex(Exception, "no_such_option"):
            onnxruntime.InferenceSession(MODEL, axrun.session_options(no_such_option=1), enable_fallback=False)
        axrun.unregister()
        self.assertNotIn(axrun.EP_NAME, [device.ep_name for device in onnxruntime.get_ep_devices()])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
