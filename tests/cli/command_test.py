#!/usr/bin/env python3
"""The axrun command as scripts see it. Usage: command_test.py AXRUN MODEL, MODEL being the demonstration model: input
image f32 [batch, 3, 32, 32], output scores f32 [batch, 10].
"""

import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "python"))
import models  # noqa: E402

AXRUN, MODEL = sys.argv[1:3]
# Nothing is found in, or written to, the user's cache.
os.environ["AXRUN_CACHE"] = "off"


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def tensor_file(path, name, dims, values):
    """A TensorProto of floats: dims (1), data_type (2), name (8), raw_data (9)."""
    raw = struct.pack("<%df" % len(values), *values)
    message = b"".join(b"\x08" + varint(dim) for dim in dims) + b"\x10\x01"
    message += b"\x42" + varint(len(name)) + name.encode() + b"\x4a" + varint(len(raw)) + raw
    with open(path, "wb") as file:
        file.write(message)


class Result:
    def __init__(self, arguments, environment=None, timeout=120):
        done = subprocess.run([AXRUN] + arguments, capture_output=True, text=True, timeout=timeout,
                              env={**os.environ, **(environment or {})})
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.json = json.loads(self.out) if "--json" in arguments else None


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="axrun_command_test_")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def data_folder(self, scale=1.0, batch=2):
        """A test_data_set folder whose expected output is axrun's own, times scale."""
        data = self.path("data")
        os.makedirs(data, exist_ok=True)
        count = batch * 3 * 32 * 32
        tensor_file(os.path.join(data, "input_0.pb"), "image", [batch, 3, 32, 32], [k % 7 / 7 for k in range(count)])
        saved = self.path("saved")
        run = Result([MODEL, "--data", data, "--save", saved, "--runs", "1", "--json"])
        self.assertEqual(run.code, 0, run.err)
        with open(os.path.join(saved, "output_0.pb"), "rb") as file:
            content = file.read()
        scores = struct.unpack("<%df" % (batch * 10), content[-batch * 40:])
        tensor_file(os.path.join(data, "output_0.pb"), "scores", [batch, 10], [x * scale for x in scores])
        return data

    def expect_error(self, code, words, arguments, environment=None):
        run = Result(arguments, environment)
        self.assertEqual(run.code, code, run.err)
        for word in words:
            self.assertIn(word, run.err)
        self.assertIn("axrun: error: ", run.err)
        self.assertEqual(run.out, "")
        return run

    def test_runs_side_by_side(self):
        data = self.data_folder()
        run = Result([MODEL, "--data", data, "--mode", "throughput", "--streams", "3", "--runs", "40", "--json"])
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.json["runs"], 40)
        self.assertEqual((run.json["settings"]["mode"], run.json["settings"]["streams"], run.json["threads"]),
                         ("throughput", 3, 1))
        self.assertIsNone(run.json["settings"]["pinned_to"])
        self.assertGreater(run.json["runs_per_second"], 0)
        self.assertIn("side by side", run.err)
        pinned = Result([MODEL, "--mode", "throughput", "--pin", "--seconds", "0.1", "--json"])
        self.assertEqual(pinned.code, 0, pinned.err)
        usable = os.sched_getaffinity(0)
        places = pinned.json["settings"]["pinned_to"]
        self.assertEqual(len(places), pinned.json["settings"]["streams"])
        self.assertEqual(len(set(places)), len(places))
        self.assertLessEqual(set(places), usable)
        wrong = self.data_folder(scale=1.5)
        differs = Result([MODEL, "--data", wrong, "--mode", "throughput", "--runs", "4", "--json"])
        self.assertEqual(differs.code, 3, differs.err)

    def test_a_stream_that_fails_ends_all(self):
        run = Result([MODEL, "--mode", "throughput", "--shape", "image:1x4x32x32"])
        self.assertEqual(run.code, 1, run.err)
        self.assertIn("image", run.err)

    def test_a_good_model(self):
        run = Result([MODEL, "--runs", "3"])
        self.assertEqual(run.code, 0, run.err)
        for word in ["scores", "f32 [1, 10]", "seed 0", "load ", "memory"]:
            self.assertIn(word, run.out)
        self.assertEqual(run.err, "")

    def test_without_a_model(self):
        run = Result(["--cache-dir", self.path("cache"), "--runs", "1"])
        self.assertEqual(run.code, 0, run.err)
        self.assertIn("demonstration", run.out)
        self.assertEqual(len(os.listdir(self.path("cache"))), 1)
        environment = {"HOME": self.path("no home"), "XDG_CACHE_HOME": "", "AXRUN_CACHE_DIR": self.path("other")}
        self.assertEqual(Result(["--runs", "1"], environment).code, 0)
        self.assertEqual(len(os.listdir(self.path("other"))), 1)

    def test_json(self):
        run = Result([MODEL, "--runs", "20", "--warmup", "2", "--threads", "1", "--json"])
        self.assertEqual(run.code, 0, run.err)
        record = run.json
        for key in ["load_ms", "first_ms", "plan_ms", "peak_rss_bytes", "machine", "version", "schema_version", "tier",
                    "settings", "inputs"]:
            self.assertIn(key, record)
        latency = record["latency_ms"]
        order = [latency[key] for key in ["min", "p50", "p90", "p95", "p99", "max"]]
        self.assertEqual(order, sorted(order))
        self.assertGreater(order[0], 0)
        self.assertTrue(latency["min"] <= latency["mean"] <= latency["max"])
        self.assertEqual((record["runs"], record["threads"], record["exit_code"]), (20, 1, 0))
        self.assertEqual(record["outputs"], [{"name": "scores", "type": "f32", "shape": [1, 10],
                                              "max_abs_error": None, "ok": None}])
        self.assertGreater(len(record["kernels"]), 3)
        self.assertEqual(set(record["kernels"][0]), {"name", "op", "kernel", "shape", "proof"})
        self.assertIn("scores", run.err)
        self.assertEqual(Result([MODEL, "--runs", "1", "--json", "--quiet"]).err, "")

    def test_seconds(self):
        run = Result([MODEL, "--seconds", "0.2", "--json"])
        self.assertEqual(run.code, 0, run.err)
        self.assertGreater(run.json["runs"], 1)

    def test_expected_outputs(self):
        data = self.data_folder()
        good = Result([MODEL, "--data", data, "--runs", "2", "--json"])
        self.assertEqual(good.code, 0, good.err)
        self.assertIs(good.json["outputs"][0]["ok"], True)
        self.assertLess(good.json["outputs"][0]["max_abs_error"], 1e-5)

    def test_wrong_expected_outputs(self):
        data = self.data_folder(scale=1.01)
        bad = Result([MODEL, "--data", data, "--runs", "2", "--json"])
        self.assertEqual(bad.code, 3, bad.err)
        self.assertIs(bad.json["outputs"][0]["ok"], False)
        self.assertIn("scores", bad.err)
        self.assertIn("expected", bad.err.strip().splitlines()[-1])
        self.assertEqual(bad.json["exit_code"], 3)
        self.assertEqual(Result([MODEL, "--data", data, "--runs", "1", "--tolerance", "0.02"]).code, 0)

    def test_all_tiers_agree(self):
        data = self.data_folder(batch=1)
        for tier in ["reference", "fallback", "auto"]:
            run = Result([MODEL, "--data", data, "--runs", "1", "--tier", tier, "--json"])
            self.assertEqual(run.code, 0, run.err)
            self.assertIs(run.json["outputs"][0]["ok"], True)

    def test_values_on_the_command_line(self):
        run = Result([MODEL, "--input", "image:1x3x32x32xf32=0.5", "--expect", "scores:1x10xf32=0", "--runs", "1"])
        self.assertEqual(run.code, 3, run.err)
        run = Result([MODEL, "--input", "image:ones", "--dim", "batch=4", "--runs", "1", "--json"])
        self.assertEqual(run.json["outputs"][0]["shape"], [4, 10], run.err)
        run = Result([MODEL, "--shape", "image:3x3x32x32", "--runs", "1", "--json"])
        self.assertEqual(run.json["outputs"][0]["shape"], [3, 10], run.err)
        run = Result([MODEL, "--input", "image:2x3x32x32xf32=random", "--runs", "1", "--json"])
        self.assertEqual(run.json["outputs"][0]["shape"], [2, 10], run.err)

    def test_the_seed_decides(self):
        def scores(seed):
            saved = self.path("seed%d" % seed)
            self.assertEqual(Result([MODEL, "--seed", str(seed), "--save", saved, "--runs", "1"]).code, 0)
            with open(os.path.join(saved, "output_0.pb"), "rb") as file:
                return file.read()
        self.assertEqual(scores(1), scores(1))
        self.assertNotEqual(scores(1), scores(2))

    def test_profile_and_trace(self):
        trace = self.path("trace.json")
        run = Result([MODEL, "--runs", "5", "--profile", "--trace", trace])
        self.assertEqual(run.code, 0, run.err)
        self.assertIn("us per run", run.out)
        with open(trace) as file:
            events = json.load(file)["traceEvents"]
        self.assertGreater(len(events), 3)
        self.assertTrue(all(event["ph"] == "X" and event["dur"] >= 0 for event in events))
        profile = Result([MODEL, "--runs", "5", "--profile", "json", "--quiet"])
        kernels = json.loads(profile.out)["kernels"]
        self.assertEqual(len(kernels), len(events))
        self.assertAlmostEqual(sum(kernel["share"] for kernel in kernels), 1, places=6)
        both = Result([MODEL, "--runs", "5", "--profile", "--json"])
        self.assertIn("us_per_run", both.json["kernels"][0])
        self.assertEqual(Result([MODEL, "--runs", "2", "--profile", self.path("p.json")]).code, 0)
        with open(self.path("p.json")) as file:
            self.assertEqual(json.load(file)["runs"], 2)

    def test_budget(self):
        plain = Result([MODEL, "--runs", "3", "--json"])
        self.assertNotIn("optimiser", plain.json)
        self.assertEqual([kernel["proof"] for kernel in plain.json["kernels"]], [None] * len(plain.json["kernels"]))
        data = self.data_folder()
        environment = {"AXRUN_SWAP": "always", "AXRUN_OPTIMIZER_PRIORITY": "normal"}
        run = Result([MODEL, "--data", data, "--budget", "60", "--runs", "3", "--json", "--profile"], environment)
        self.assertEqual(run.code, 0, run.err)
        optimiser = run.json["optimiser"]
        self.assertEqual((optimiser["state"], optimiser["left"]), ("frozen", 0), optimiser)
        self.assertGreater(optimiser["swapped"], 0, optimiser)
        generated = [kernel for kernel in run.json["kernels"] if kernel["proof"]]
        self.assertEqual(len(generated), optimiser["swapped"])
        for kernel in generated:
            self.assertEqual(kernel["proof"], "loops proved, code tested")
        accepted = [kernel for kernel in optimiser["kernels"] if kernel["state"] == "accepted"]
        self.assertGreater(len(accepted), 0)
        self.assertEqual(sum(kernel["steps"] for kernel in optimiser["kernels"]), optimiser["steps"])
        self.assertAlmostEqual(sum(kernel["share"] for kernel in optimiser["kernels"]), 1, delta=1e-3)
        for kernel in accepted:
            self.assertTrue(kernel["proof"].startswith("proved: ") and kernel["gate"].startswith("tested: "), kernel)
        self.assertIn("in generated kernels", run.err)
        evidence = optimiser["evidence"]
        self.assertEqual(list(evidence), ["loops proved, code tested", "fallback"])
        self.assertAlmostEqual(sum(evidence.values()), 1, delta=1e-6)
        self.assertGreater(evidence["loops proved, code tested"], 0)
        self.assertNotIn(" of 60 s |", run.err, "the live line is for terminals")
        # What is said of the gain is what is said of the runs.
        self.assertEqual(optimiser["end_ms"], run.json["latency_ms"]["p50"])
        self.assertRegex(run.err, r"[0-9.]+ (us|ms) a run at the start, [0-9.]+ \1 now: [0-9.]+ x")

    def test_metrics(self):
        file = self.path("metrics.prom")
        run = Result([MODEL, "--runs", "5", "--metrics", file])
        self.assertEqual(run.code, 0, run.err)
        with open(file) as content:
            lines = content.read().splitlines()
        runs = [line for line in lines if line.startswith("axrun_runs_total") and 'result="ok"' in line]
        self.assertEqual(len(runs), 1)
        self.assertEqual(float(runs[0].rsplit(" ", 1)[1]), 6, "one to warm up")
        self.assertIn("# TYPE axrun_runs_total counter", lines)

    def test_explain(self):
        page = self.path("page.html")
        # It ends when nothing is left to be tried; beside other tests that may take a while.
        run = Result(["explain", MODEL, "--budget", "90", "--threads", "1", "--json", "--html", page],
                     {"AXRUN_OPTIMIZER_PRIORITY": "normal"}, timeout=300)
        self.assertEqual(run.code, 0, run.err)
        steps = run.json["steps"]
        self.assertGreater(len(steps), 0)
        self.assertAlmostEqual(sum(step["share"] for step in steps), 1, places=6)
        self.assertAlmostEqual(sum(step["us"] for step in steps), run.json["run_us"], places=3)
        generated = [step for step in steps if step["evidence"]]
        self.assertGreater(len(generated), 0, run.err)
        for step in generated:
            kernel = step["kernels"][0]
            self.assertIn("proved", kernel["proof"])
            self.assertIn("in force", [trial["end"] for trial in kernel["trials"]])
            self.assertGreater(step["work"]["bytes_stored"], 0)
            self.assertGreater(step["work"]["us"]["arithmetic"] + step["work"]["us"]["memory"], 0)
        for step in steps:
            for kernel in step["kernels"] + step["lost_joints"]:
                for trial in kernel["trials"]:
                    self.assertTrue(trial["reason"] or trial["us"] or trial["end"] in ("same code", "not tried"), trial)
        with open(page) as file:
            content = file.read()
        for outside in ["src=", "href=", "import(", "fetch("]:
            self.assertNotIn(outside, content)
        # Steps are known by the model's nodes whatever layouts were chosen; only conversions by themselves are not.
        node = next(step["node"] for step in steps if ":layout" not in step["node"])
        self.assertEqual(node, "stem")
        one = Result(["explain", MODEL, node, "--budget", "0"])
        self.assertEqual(one.code, 0, one.err)
        self.assertIn("'%s'" % node, one.out)
        self.expect_error(1, ["no step begins with a node 'nothing'"], ["explain", MODEL, "nothing", "--budget", "0"])
        self.expect_error(1, ["--runs"], ["explain", MODEL, "--runs", "3"])

    def test_steps_of_rewritten_graphs_are_known_by_the_models_nodes(self):
        run = Result(["explain", MODEL, "--budget", "60", "--threads", "1", "--json"],
                     {"AXRUN_SWAP": "algebra", "AXRUN_OPTIMIZER_PRIORITY": "normal"}, timeout=300)
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.json["optimiser"]["algebra"]["outcome"], "rewritten", run.err)
        names = [step["node"] for step in run.json["steps"]]
        self.assertEqual([name for name in names if "algebra" in name], [])
        for name in ["stem", "block_1"]:
            self.assertIn(name, names)

    def test_what_keeps_the_optimiser_from_working_is_said(self):
        off = Result([MODEL, "--budget", "60", "--runs", "1", "--json"], {"AXRUN_OPTIMIZE": "0"})
        self.assertEqual((off.code, off.json["optimiser"]["state"]), (0, "off"), off.err)
        self.assertIn("AXRUN_OPTIMIZE=0", off.err)
        alone = Result([MODEL, "--budget", "60", "--runs", "1", "--json"],
                       {"AXRUN_WORKER": "/nonexistent/worker", "AXRUN_OPTIMIZER_PRIORITY": "normal"})
        self.assertEqual((alone.code, alone.json["optimiser"]["swapped"]), (0, 0), alone.err)
        self.assertIn("/nonexistent/worker", alone.err)

    def test_the_live_line(self):
        """On a terminal, and nowhere else; without it the text is the same."""
        terminal, other_end = os.openpty()
        environment = {**os.environ, "AXRUN_WORKER": "/bin/sleep", "AXRUN_OPTIMIZER_PRIORITY": "normal"}
        process = subprocess.Popen([AXRUN, MODEL, "--budget", "2.5", "--runs", "1"], stderr=other_end,
                                   stdout=subprocess.DEVNULL, env=environment)
        self.assertEqual(process.wait(120), 0)
        os.close(other_end)
        shown = os.read(terminal, 1 << 16).decode()
        os.close(terminal)
        self.assertRegex(shown, r"[0-9] of 2 s \| [0-9.]+ (us|ms) a run at the start, [0-9.]+ \1 now: [0-9.]+ x \| 0/[0-9]+ swapped")

    def test_inspect(self):
        run = Result(["inspect", MODEL])
        self.assertEqual(run.code, 0, run.err)
        for word in ["image: f32 [batch, 3, 32, 32]", "scores: f32 [batch, 10]", "Conv", "opset"]:
            self.assertIn(word, run.out)
        record = Result(["inspect", MODEL, "--json"]).json
        self.assertEqual(record["operators"]["Conv"], 5)
        self.assertEqual(record["refused"], [])
        self.assertGreater(record["parameters"], 1000)

    def test_outputs_whose_shapes_only_a_run_can_tell(self):
        """Said is what the file declares of them."""
        path = self.path("reshape.onnx")
        with open(path, "wb") as file:
            file.write(models.model([models.node("Reshape", ["x", "sizes"], ["y"])],
                                    {"x": models.tensor_type(models.FLOAT, ("n",)), "sizes": models.tensor_type(models.INT64, (2,))},
                                    {"y": models.tensor_type(models.FLOAT, ("rows", 3))}))
        self.assertIn("y: f32 [rows, 3]", Result(["inspect", path]).out)
        [output] = Result(["inspect", path, "--json"]).json["outputs"]
        self.assertEqual((output["type"], output["shape"]), ("f32", "[rows, 3]"))

    def test_sizes_that_a_model_does_not_take(self):
        """Too long an input is no fault of the model's."""
        path = self.path("add.onnx")
        with open(path, "wb") as file:
            file.write(models.model([models.node("Add", ["x", "table"], ["y"])], {"x": models.tensor_type(models.FLOAT, ("length",))},
                                    {"y": models.tensor_type(models.FLOAT, ("length",))},
                                    [models.tensor(models.FLOAT, [16], bytes(64), "table")]))
        self.assertEqual(Result([path, "--runs", "1"]).code, 0)
        self.expect_error(1, ["takes no inputs with length = 17", "Add"], [path, "--input", "x:17xf32=0", "--runs", "1"])
        run = Result([path, "--input", "x:17xf32=0", "--runs", "1", "--json"])
        self.assertEqual((run.code, run.json["error"]["fault"], run.json["error"]["input"]), (1, "user", "x"))

    def test_knobs(self):
        environment = {"AXRUN_ISA": "sse2"}
        self.assertIn("AXRUN_ISA=sse2", Result(["knobs"], environment).out)
        knobs = {knob["name"]: knob for knob in Result(["knobs", "--json"], environment).json["knobs"]}
        self.assertEqual(knobs["AXRUN_ISA"]["value"], "sse2")
        self.assertIsNone(knobs["AXRUN_THREADS"]["value"])
        run = Result([MODEL, "--runs", "1", "--json"], {"AXRUN_ISA": "sse2", "AXRUN_THREADS": "1"})
        self.assertEqual((run.json["machine"]["isa"], run.json["threads"]), ("sse2", 1))
        self.expect_error(1, ["AXRUN_ISA", "sse9"], [MODEL], {"AXRUN_ISA": "sse9"})
        self.expect_error(1, ["AXRUN_VALIDATE", "yes"], [MODEL], {"AXRUN_VALIDATE": "yes"})
        self.assertIn("AXRUN_TREADS", Result([MODEL, "--runs", "1"], {"AXRUN_TREADS": "1"}).out)

    def test_target(self):
        text = Result(["target"])
        self.assertEqual((text.code, text.err), (0, ""))
        for word in ["processor", "sse2", "vectors", "cores", "cache 1", "not measured"]:
            self.assertIn(word, text.out)
        detected = Result(["target", "--json"]).json
        self.assertEqual((detected["schema_version"], detected["flops_per_second"]), (1, 0))
        calibrated = Result(["target", "--calibrate", "--json"]).json
        for record in [calibrated, *calibrated["caches"][:2]]:
            rates = [value for key, value in record.items() if key.endswith("_per_second")]
            self.assertTrue(rates and all(0 < rate < 1e15 for rate in rates), record)
        low = Result(["target", "--json"], {"AXRUN_ISA": "sse2"}).json
        self.assertEqual((low["vector_bytes"], low["features"], low["masks"]), (16, ["sse", "sse2"], False))
        self.assertIn("no such instruction", Result(["target", "--calibrate"], {"AXRUN_ISA": "sse2"}).out)

    def test_target_of_one_processor(self):
        code = "import os, sys; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); os.execv(sys.argv[1], sys.argv[1:])"
        done = subprocess.run([sys.executable, "-c", code, AXRUN, "target", "--json"], capture_output=True, text=True)
        self.assertEqual(json.loads(done.stdout)["cores"], 1, done.stderr)

    def test_target_from_a_file(self):
        path = self.path("target.json")

        def write(text):
            with open(path, "w", encoding="utf8") as file:
                file.write(text)
            return {"AXRUN_TARGET": path}

        calibrated = Result(["target", "--calibrate", "--json"])
        self.assertEqual(Result(["target", "--json"], write(calibrated.out)).json, calibrated.json)
        changed = Result(["target", "--json"], write('{"cores": 77, "name": "mine"}')).json
        self.assertEqual((changed["cores"], changed["name"]), (77, "mine"))
        self.assertEqual(changed["caches"], Result(["target", "--json"]).json["caches"])
        self.assertIn(path, Result(["target"], write('{"cores": 77}')).out)
        self.expect_error(1, [path, "cores", "many"], ["target"], write('{"cores": "many"}'))
        self.expect_error(1, [path, "JSON"], ["target"], write(calibrated.out[:-3]))
        self.expect_error(1, ["cannot be read"], ["target"], {"AXRUN_TARGET": self.path("none")})
        every = ["avx", "avx2", "avx512_bf16", "avx512_vnni", "avx512bw", "avx512dq", "avx512f", "avx512vl",
                 "avx_vnni", "f16c", "fma", "sse", "sse2"]
        if set(every) != set(calibrated.json["features"]):
            environment = write(json.dumps({"features": every}))
            self.expect_error(1, [path, "features", "cannot run here"], ["target"], environment)
        self.expect_error(1, ["--runs"], ["target", "--runs", "1"])

    def test_help_and_version(self):
        self.assertIn("Exit codes", Result(["--help"]).out)
        self.assertEqual(Result(["--help"]).code, 0)
        self.assertRegex(Result(["--version"]).out, r"^axrun \d+\.\d+\.\d+ \(")

    def test_help_and_version_as_commands(self):
        self.assertEqual(Result(["help"]).out, Result(["--help"]).out)
        self.assertEqual(Result(["help", "explain"]).out, Result(["--help"]).out)
        self.assertEqual(Result(["version"]).out, Result(["--version"]).out)

    def test_misspelt_words(self):
        """A mistake is named itself, not what comes after it, and what was meant is said."""
        self.expect_error(1, ["no command or file 'explan': did you mean 'explain'?"], ["explan", MODEL])
        self.expect_error(1, ["no command or file 'inspct': did you mean 'inspect'?"], ["inspct", MODEL])
        self.expect_error(1, ["no command or file 'optmize': did you mean 'optimize'?"], ["optmize"])
        self.expect_error(1, ["axrun has no option '--threds': did you mean '--threads'?"], [MODEL, "--threds", "2"])
        self.expect_error(1, ["axrun has no option '--thread': did you mean '--threads'?"], [MODEL, "--thread=2"])
        self.expect_error(1, ["axrun has no option '--nothing-like-it' ("], [MODEL, "--nothing-like-it"])
        self.expect_error(1, ["axrun cache prune has no option '--day': did you mean '--days'?"], ["cache", "prune", "--day", "3"])
        self.expect_error(1, ["axrun cache is followed by list, verify, prune, export, import; there is no 'lst': did you mean 'list'?"],
                          ["cache", "lst"])
        self.expect_error(1, ["axrun cache is followed by list, verify, prune, export, import ("], ["cache"])
        # A file may be called as it likes.
        shutil.copy(MODEL, self.path("explan"))
        self.assertEqual(Result([self.path("explan"), "--runs", "1"]).code, 0)

    def test_numbers_out_of_range(self):
        for option, value, text in [("--budget", "-1", "'-1' is no number of 0 or more"), ("--budget", "abc", "'abc' is no number"),
                                    ("--timeout", "0", "'0' is no number above 0"), ("--seconds", "-2", "'-2' is no number")]:
            run = self.expect_error(1, [option, text], [MODEL, option, value])
            self.assertLess(len(run.err), 200, run.err)

    def test_where_the_model_may_come_from(self):
        shutil.copy(MODEL, self.path("model.onnx"))
        self.assertEqual(Result([self.folder, "--runs", "1"]).code, 0)
        self.assertIn("image: f32 [batch, 3, 32, 32]", Result(["inspect", self.folder]).out)
        os.mkdir(self.path("empty"))
        self.expect_error(1, ["is a folder without a file model.onnx"], [self.path("empty")])
        temporary = self.path("temporary")
        os.mkdir(temporary)
        for name in ("-", "/dev/stdin"):
            with open(MODEL, "rb") as file:
                run = subprocess.run(["sh", "-c", 'cat | "$0" "$@"', AXRUN, name, "--runs", "1"], stdin=file, capture_output=True,
                                     text=True, timeout=120, env={**os.environ, "TMPDIR": temporary})
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(os.listdir(temporary), [])

    def test_files_that_are_taken_for_models(self):
        with open(MODEL, "rb") as file:
            content = file.read()
        path = self.path("model.onnx.gz")
        for data, text in [(gzip.compress(content), "compressed by gzip: gunzip"), (b"PK\x03\x04rest", "zip archive"),
                           (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
                           (b"\x1c\0\0\0TFL3rest", "TensorFlow Lite")]:
            with open(path, "wb") as file:
                file.write(data)
            self.expect_error(2, [path, text], [path])

    def test_more_threads_than_processors(self):
        run = Result([MODEL, "--runs", "1", "--threads", "1000"])
        self.assertEqual(run.code, 0, run.err)
        self.assertRegex(run.out, r"1000 threads share \d+ processors")
        self.assertNotIn("share", Result([MODEL, "--runs", "1", "--threads", "1"]).out)

    def test_unknown_variables(self):
        run = Result([MODEL, "--runs", "1", "--log", "warn"], {"AXRUN_OPTMIZE": "0"})
        self.assertIn("AXRUN_OPTMIZE is none that axrun reads (axrun knobs): did you mean 'AXRUN_OPTIMIZE'?", run.out)
        self.assertRegex(run.err, r"level=warn event=unknown_variable model=\S+ name=AXRUN_OPTMIZE meant=AXRUN_OPTIMIZE")

    def test_user_errors(self):
        self.expect_error(1, ["--thread"], [MODEL, "--thread", "1"])
        self.expect_error(1, ["missing.onnx"], ["missing.onnx"])
        self.expect_error(1, [self.folder], [self.folder])
        self.expect_error(1, ["missing"], [MODEL, "--data", "missing"])
        self.expect_error(1, ["has no value for input 'image'"], [MODEL, "--data", self.folder])
        self.expect_error(1, ["'image'"], [MODEL, "--input", "picture:ones"])
        self.expect_error(1, ["image"], [MODEL, "--input", "image:1x4x32x32xf32=0"])
        self.expect_error(1, ["image", "f64"], [MODEL, "--input", "image:1x3x32x32xf64=0"])
        self.expect_error(1, ["'scores'"], [MODEL, "--expect", "score:ones"])
        self.expect_error(1, ["height"], [MODEL, "--dim", "height=3"])
        self.expect_error(1, ["image"], [MODEL, "--shape", "image:1x3x32"])
        self.expect_error(1, ["missing.npy"], [MODEL, "--input", "image:@missing.npy"])

    def test_errors_as_json(self):
        run = Result(["missing.onnx", "--json"])
        self.assertEqual(run.code, 1)
        self.assertEqual((run.json["error"]["fault"], run.json["exit_code"]), ("user", 1))
        self.assertIn("missing.onnx", run.json["error"]["message"])
        self.assertNotIn("input", run.json["error"])
        self.assertEqual(Result(["--thread", "1", "--json"]).json["exit_code"], 1)
        wrong = Result([MODEL, "--input", "image:1x3x32x32xf64=0", "--json"])
        self.assertEqual((wrong.code, wrong.json["error"].get("input")), (1, "image"), wrong.out)

    def test_what_happens_is_told_where_it_is_asked_for(self):
        silent = Result([MODEL, "--runs", "1", "--quiet"])
        self.assertEqual((silent.code, silent.err), (0, ""))
        for arguments, environment in [(["--log", "info"], {}), ([], {"AXRUN_LOG": "info"})]:
            told = Result([MODEL, "--runs", "1", "--quiet"] + arguments, environment)
            self.assertEqual(told.code, 0, told.err)
            self.assertRegex(told.err, r"(?m)^\S+Z level=info event=model_loaded model=\S+ ms=[0-9.]+ nodes=\d+ threads=\d+ ")
            self.assertNotIn("level=debug", told.err)
        failed = Result(["/no/such.onnx", "--log", "error", "--quiet"])
        self.assertEqual(failed.code, 1)
        self.assertRegex(failed.err, r"level=error event=load_failed model=/no/such.onnx code=user error=")
        self.assertEqual(Result([MODEL, "--log", "loud"]).code, 1)
        self.assertEqual(Result([MODEL], {"AXRUN_LOG": "loud"}).code, 1)

    def test_damaged_models(self):
        with open(MODEL, "rb") as file:
            content = file.read()
        path = self.path("damaged.onnx")
        for damaged in [b"", b"no model", content[:len(content) // 2], content[:-1], b"\xff" * 1000]:
            with open(path, "wb") as file:
                file.write(damaged)
            self.expect_error(2, [path], [path])
        with open(path, "wb") as file:
            file.write(content.replace(b"MaxPool", b"MixPool"))
        self.expect_error(2, [path, "MixPool", "pool"], [path])
        refused = Result(["inspect", path, "--json"])
        self.assertEqual(refused.code, 0, refused.err)
        self.assertIn("MixPool", refused.json["refused"][0])

    def test_damaged_data(self):
        data = self.data_folder()
        with open(os.path.join(data, "output_0.pb"), "wb") as file:
            file.write(b"\xff\xff\xff")
        self.expect_error(1, ["output_0.pb"], [MODEL, "--data", data, "--runs", "1"])
        with open(os.path.join(data, "input_0.pb"), "wb") as file:
            file.write(b"\xff\xff\xff")
        self.expect_error(1, ["input_0.pb"], [MODEL, "--data", data, "--runs", "1"])

    def test_timeout(self):
        run = Result([MODEL, "--seconds", "60", "--timeout", "0.3"])
        self.assertEqual(run.code, 124, run.err)
        self.assertIn("not finished", run.err)
        for command in (["--seconds", "60"], ["explain", "--budget", "60"], ["optimize", "--budget", "60"]):
            late = Result(command + [MODEL, "--timeout", "0.3", "--json", "--cache-dir", self.path("late")])
            self.assertEqual(late.code, 124, late.err)
            self.assertEqual((late.json["error"]["fault"], late.json["exit_code"], late.json["schema_version"]), ("deadline", 124, 1))
            self.assertIn("not finished after 0.3 s", late.json["error"]["message"])

    def test_every_command_answers_with_an_object(self):
        for command in (["operators"], ["knobs"], ["target"], ["inspect", MODEL], ["rules"], ["cache", "list"], ["cache", "verify"]):
            answer = Result(command + ["--json"], {"AXRUN_CACHE": "", "AXRUN_CACHE_DIR": self.path("answers")})
            self.assertEqual(answer.code, 0, answer.err)
            self.assertGreaterEqual(answer.json["schema_version"], 1, command)
            self.assertRegex(answer.json["version"], r"^\d+\.\d+\.\d+$")
        operators = Result(["operators", "--json"]).json["operators"]
        self.assertIn({"domain": "ai.onnx", "name": "Abs", "run_by": "definition", "since": [1]}, operators)

    # Its reference takes a minute: so many images at once.
    SLOW = [MODEL, "--dim", "batch=4000", "--expect", "scores:4000x10xf32=0", "--runs", "1", "--warmup", "0", "--threads", "1"]

    def test_a_verdict_outlives_the_timeout(self):
        run = Result(self.SLOW + ["--timeout", "40", "--json"])
        self.assertEqual(run.code, 3, run.err)
        self.assertIs(run.json["outputs"][0]["ok"], False)
        self.assertEqual(run.json["exit_code"], 3)
        self.assertRegex(run.json["notes"][-1], "the first node that differs from the reference was not found|every node agrees")
        self.assertIn("DIFFERS", run.err)
        self.assertIn("outputs differ from the expected ones", run.err)
        self.assertNotIn("looking for", run.err, "the live line is for terminals")

    def test_a_verdict_is_told_before_its_reason_is_looked_for(self):
        command = subprocess.Popen([AXRUN] + self.SLOW, stdout=subprocess.PIPE, text=True, env=dict(os.environ, AXRUN_CACHE="off"))
        self.addCleanup(command.stdout.close)
        self.addCleanup(command.wait)
        self.addCleanup(command.kill)
        lines = iter(command.stdout.readline, "")
        self.assertTrue(any("DIFFERS" in line for line in lines))
        self.assertIsNone(command.poll(), "it looks for the first node that differs")
        self.assertTrue(any("timed:" in line for line in lines), "the whole report")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
