#!/usr/bin/env python3
"""decode_host: what it refuses, and, where ONNX Runtime and a model that is fed back are there, that both answer alike."""

import importlib.util
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

HOST = os.environ["DECODE_HOST"]
MODEL = pathlib.Path(__file__).resolve().parents[2].parent / "shared" / "models" / "tiny_random_gpt2_fp32_past_kv" / "model.onnx"


def onnxruntime_library():
    """Found without importing it; None where it is not installed."""
    found = importlib.util.find_spec("onnxruntime")
    folders = list(found.submodule_search_locations) if found else []
    libraries = [path for folder in folders for path in pathlib.Path(folder, "capi").glob("libonnxruntime.so*")]
    return str(libraries[0]) if libraries else os.environ.get("ORT_LIBRARY")


def run(*arguments):
    return subprocess.run([HOST, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False)


class DecodeHost(unittest.TestCase):
    def test_a_model_that_is_missing_or_broken(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run(pathlib.Path(folder, "none.onnx")).returncode, 1)
            broken = pathlib.Path(folder, "broken.onnx")
            broken.write_bytes(b"\x00 no model")
            ended = run(broken)
        self.assertEqual(ended.returncode, 2, ended.stderr)
        self.assertIn("not an ONNX model", ended.stderr)

    def test_numbers_that_make_no_pass(self):
        for option in ("--tokens", "--passes"):
            ended = run("model.onnx", option, "0")
            self.assertEqual(ended.returncode, 1)
            self.assertIn("--tokens must be more than 11, --passes at least 1", ended.stderr)

    def test_both_engines_answer_alike(self):
        library = onnxruntime_library()
        if library is None or not MODEL.exists():
            self.skipTest("there is no onnxruntime, or no model")
        for state in (0, 1):
            ended = run(MODEL, "--library", library, "--tokens", "24", "--passes", "2", "--state", state)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            told = json.loads(ended.stdout)
            self.assertEqual(told["state"], state)
            self.assertEqual([set(one) for one in told["passes"]],
                             2 * [{"axrun_us", "again_us", "onnxruntime_us", "ratio", "ratio_10", "ratio_90", "axrun_early_us",
                                   "axrun_late_us", "onnxruntime_early_us", "onnxruntime_late_us", "differs"}])
            for one in told["passes"]:
                self.assertLess(one["differs"], 1e-4)


if __name__ == "__main__":
    unittest.main()
