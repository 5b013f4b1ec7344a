"""axrun.Session as programs use it. Usage: package_sessions.py WHEEL ROOT MODEL, the demonstration model: input image f32
[batch, 3, 32, 32], output scores f32 [batch, 10].
"""

import contextlib
import copy
import errno
import gc
import logging
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

import axrun
import models

MODEL = sys.argv[3]


def image(batch=1, seed=0):
    return np.random.default_rng(seed).standard_normal((batch, 3, 32, 32)).astype("float32")


def endless(**options):
    """A model that counts up to its input."""
    scalar = models.tensor_type(models.INT64, ())
    condition = models.tensor_type(models.BOOL, ())
    body = models.graph([models.node("Identity", ["go"], ["goes"]), models.node("Add", ["sum", "one"], ["next"])],
                        {"k": scalar, "go": condition, "sum": scalar}, {"goes": condition, "next": scalar})
    loop = models.node("Loop", ["a", "", "zero"], ["y"], models.part(1, "body") + models.part(6, body) + models.number(20, 5))
    constants = [models.tensor(models.INT64, [], np.int64(k).tobytes(), name) for k, name in enumerate(("zero", "one"))]
    return axrun.Session(models.model([loop], {"a": scalar}, {"y": scalar}, constants), optimize=False, **options)


class OwnOperators(unittest.TestCase):
    def test_told_by_a_text(self):
        vector = models.tensor_type(models.FLOAT, ("n",))
        model = models.model([models.node("Neg", ["a"], ["b"]), models.node("Third", ["b"], ["y"], domain="com.example")],
                             {"a": vector}, {"y": vector})
        operators = axrun.Operators().add("com.example", "Third", """
            program Third(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { x[i] / 3:f32 } }""")
        with axrun.Session(model, operators=operators) as session:
            np.testing.assert_array_equal(session(np.float32([3, -6])), [-1, 2])
        with self.assertRaisesRegex(axrun.Unsupported, "Third .*com.example 1.*: unknown domain"):
            axrun.Session(model)

    def test_mistakes(self):
        operators = axrun.Operators()
        with self.assertRaisesRegex(axrun.InvalidArgument, "operator 'Odd' of domain 'com.example'"):
            operators.add("com.example", "Odd", "no program")
        with self.assertRaisesRegex(axrun.InvalidArgument, "axrun has one of its own"):
            operators.add("", "Relu", "program P(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { x[i] } }")
        with self.assertRaisesRegex(axrun.InvalidArgument, "text is bytes, not a string"):
            operators.add("com.example", "Odd", b"")
        with self.assertRaisesRegex(axrun.InvalidArgument, "/nowhere/it.so"):
            operators.load("/nowhere/it.so")


class Runs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.session = axrun.Session(MODEL, optimize=False)

    def test_what_the_model_has(self):
        [port], [scores] = self.session.inputs, self.session.outputs
        self.assertEqual((port.name, port.kind, port.type, port.dtype, port.shape),
                         ("image", "tensor", "float32", np.dtype("float32"), ("batch", 3, 32, 32)))
        self.assertEqual((scores.name, scores.shape), ("scores", ("batch", 10)))

    def test_ways_to_run(self):
        given = image(2)
        scores = self.session.run({"image": given})["scores"]
        self.assertEqual((scores.shape, scores.dtype), ((2, 10), np.dtype("float32")))
        np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-5)
        for again in (self.session(given), self.session(image=given), *self.session.run(None, {"image": given}),
                      *self.session.run(["scores", "scores"], {"image": given})):
            np.testing.assert_array_equal(again, scores)

    def test_the_reference_agrees(self):
        with axrun.Session(MODEL, tier="reference") as reference:
            np.testing.assert_allclose(self.session(image()), reference(image()), atol=1e-5)

    def test_bytes(self):
        with open(MODEL, "rb") as file:
            content = file.read()
        for model in (content, bytearray(content), memoryview(content)):
            np.testing.assert_array_equal(axrun.Session(model, optimize=False)(image()), self.session(image()))

    def test_what_goes_wrong(self):
        cases = [
            (axrun.InvalidArgument, 1, "no such file", lambda: axrun.Session("no such file.onnx")),
            (axrun.ModelError, 2, "", lambda: axrun.Session(b"garbage")),
            (axrun.Unsupported, 3, "NoSuchOperator", lambda: axrun.Session(
                models.one_operator("NoSuchOperator", [models.tensor_type(1, ())], models.tensor_type(1, ())))),
            (axrun.InvalidArgument, 1, "tier", lambda: axrun.Session(MODEL, tier="best")),
            (axrun.InvalidArgument, 1, "threads", lambda: axrun.Session(MODEL, threads=-1)),
            (axrun.InvalidArgument, 1, "budget", lambda: axrun.Session(MODEL, budget=-1)),
            (axrun.InvalidArgument, 1, "share", lambda: axrun.Session(MODEL, optimizer_share=0)),
            (axrun.InvalidArgument, 1, "priority", lambda: axrun.Session(MODEL, optimizer_priority="high")),
            (axrun.InvalidArgument, 1, "nothing", lambda: axrun.Session(MODEL, dims={"nothing": 1})),
            (axrun.InvalidArgument, 1, "'picture'.*'image' is missing", lambda: self.session.run({"picture": image()})),
            (axrun.InvalidArgument, 1, "'image'", lambda: self.session(image()[0])),
            (axrun.InvalidArgument, 1, "'image' is float32, not float64", lambda: self.session(image().astype("float64"))),
            (axrun.InvalidArgument, 1, "has 1 inputs, 2", lambda: self.session(image(), image())),
            (axrun.InvalidArgument, 1, "twice", lambda: self.session(image(), image=image())),
            (axrun.InvalidArgument, 1, "no output 'score'", lambda: self.session.run(["score"], {"image": image()})),
            (axrun.InvalidArgument, 1, "timeout", lambda: self.session.run({"image": image()}, timeout=0)),
        ]
        for kind, code, text, action in cases:
            with self.subTest(text):
                with self.assertRaisesRegex(kind, text) as caught:
                    action()
                self.assertIsInstance(caught.exception, axrun.Error)
                self.assertEqual(caught.exception.code, code)
        self.assertTrue(issubclass(axrun.InvalidArgument, ValueError))

    def test_what_is_meant(self):
        cases = [("image", "", "", lambda: self.session(image()[0])),
                 ("image", "", "", lambda: self.session(image().astype("float64"))),
                 ("", "", "", lambda: axrun.Session("no such file.onnx")),
                 ("", None, "NoSuchOperator", lambda: axrun.Session(
                     models.one_operator("NoSuchOperator", [models.tensor_type(1, ())], models.tensor_type(1, ()))))]
        for place, node, op, action in cases:
            with self.assertRaises(axrun.Error) as caught:
                action()
            error = caught.exception
            self.assertEqual((error.input, error.op), (place, op), error)
            self.assertEqual(bool(error.node), node is None, error)

    def test_threads(self):
        want = {seed: self.session(image(seed=seed)) for seed in range(4)}
        failures = []

        def work(seed):
            try:
                for _ in range(30):
                    np.testing.assert_allclose(self.session(image(seed=seed)), want[seed], rtol=1e-5, atol=1e-7)
            except Exception as error:  # told in the main thread
                failures.append(error)
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_closed(self):
        with axrun.Session(MODEL) as session:
            got = session(image())
            session.close()
            for action in (lambda: session(image()), session.progress, session.freeze, session.metrics, session.wait):
                with self.assertRaisesRegex(axrun.InvalidArgument, "closed"):
                    action()
        del session
        gc.collect()
        self.assertEqual(got.shape, (1, 10))


class Ends(unittest.TestCase):
    def test_the_model_counts(self):
        self.assertEqual(int(endless()(1000)), 1000)

    def test_timeout(self):
        session = endless()
        with self.assertRaises(axrun.DeadlineExceeded) as caught:
            session.run({"a": 1 << 40}, timeout=0.05)
        self.assertIsInstance(caught.exception, TimeoutError)
        self.assertEqual(int(session.run({"a": 10}, timeout=60)["y"]), 10)

    def test_cancellation(self):
        session, cancellation, ends = endless(), axrun.Cancellation(), []

        def work():
            try:
                session.run({"a": 1 << 40}, cancellation=cancellation)
            except axrun.Error as error:
                ends.append(type(error))
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        # The interpreter runs on while the model does.
        while len(cancellation._requests) < 3:
            time.sleep(0.001)
        cancellation.cancel()
        for thread in threads:
            thread.join()
        self.assertEqual(ends, [axrun.Cancelled] * 3)
        with self.assertRaises(axrun.Cancelled):
            session.run({"a": 1}, cancellation=cancellation)
        self.assertEqual(int(session(3)), 3)


class Optimiser(unittest.TestCase):
    def test_off(self):
        for options in ({"optimize": False}, {"budget": 0}, {"tier": "fallback"}):
            with axrun.Session(MODEL, **options) as session:
                self.assertEqual(session.progress().state, "off")
                self.assertTrue(session.wait(0))

    def test_optimize(self):
        seen = []
        with axrun.Session(MODEL, threads=1, cache=False) as session:
            before = session(image())
            progress = session.optimize({"image": image()}, 20, seen.append)
            self.assertIn(progress.state, ("frozen", "stopped"))
            self.assertGreater(progress.tried, 0)
            self.assertGreater(len(seen), 0)
            self.assertTrue(session.wait(0))
            after = session(image())
            np.testing.assert_allclose(after, before, atol=1e-5)
            np.testing.assert_array_equal(session(image()), after)

    def test_explain(self):
        with axrun.Session(MODEL, threads=1, cache=False) as session:
            session.optimize({"image": image()}, 120)
            explanation = session.explain({"image": image()}, runs=5)
            self.assertEqual((explanation.runs, explanation.threads), (5, 1))
            self.assertAlmostEqual(sum(step.share for step in explanation.steps), 1, places=6)
            self.assertAlmostEqual(sum(step.us for step in explanation.steps), explanation.run_us, places=3)
            kernels = [kernel for step in explanation.steps for kernel in step.kernels]
            self.assertTrue(all(isinstance(kernel, axrun.Kernel) and kernel.ops and kernel.state for kernel in kernels))
            trials = [trial for kernel in kernels for trial in kernel.trials]
            self.assertGreater(len(trials), 0)
            self.assertTrue(all(isinstance(trial, axrun.Trial) and trial.end for trial in trials))
            self.assertIn("in force", {trial.end for trial in trials})
            self.assertEqual({kernel.state for kernel in kernels} - {"waiting", "refused", "slower", "accepted"}, set())
            self.assertEqual(explanation.optimiser["state"], session.progress().state)
            self.assertEqual(len(str(explanation).splitlines()), 1 + len(explanation.steps))
            self.assertEqual(explanation.json["schema_version"], 1)
            for wrong in ({}, {"image": image()[0]}):
                with self.assertRaisesRegex(axrun.InvalidArgument, "'image'"):
                    session.explain(wrong, runs=1)
            with self.assertRaisesRegex(axrun.InvalidArgument, "at least one run"):
                session.explain({"image": image()}, runs=0)
            self.assertGreater(session.explain({"image": image()}).runs, 1)

    def test_deterministic(self):
        with axrun.Session(MODEL, threads=1, cache=False, deterministic=True) as session:
            before = session(image())
            session.optimize({"image": image()}, 20)
            np.testing.assert_array_equal(session(image()), before)

    def test_numeric_classes(self):
        with axrun.Session(MODEL, threads=1, cache=False) as session:
            expected = session(image())
        for name in "strict", "reassoc", "bilinear":
            with axrun.Session(MODEL, threads=1, cache=False, fp=name) as session:
                session.optimize({"image": image()}, 20)
                np.testing.assert_allclose(session(image()), expected, atol=1e-4 * np.abs(expected).max())
        with self.assertRaises(axrun.InvalidArgument):
            axrun.Session(MODEL, fp="fast")
        with self.assertRaises(axrun.InvalidArgument):
            axrun.Session(MODEL, fp="bilinear", deterministic=True)

    def test_budget(self):
        with axrun.Session(MODEL, budget=1e-6, cache=False) as session:
            for _ in range(3):
                session(image())
                time.sleep(0.001)
            self.assertEqual(session.progress().state, "frozen")

    def test_wait_ends_in_time(self):
        with axrun.Session(MODEL, cache=False) as session:
            for _ in range(3):
                session(image())
            self.assertIn(session.wait(0.01), (True, False))

    def test_cache(self):
        with tempfile.TemporaryDirectory() as folder:
            found = []
            for _ in range(2):
                with axrun.Session(MODEL, cache=folder, threads=1) as session:
                    found.append(session.optimize({"image": image()}, 120))
                del session
                gc.collect()  # what was found is kept when the session ends
            self.assertNotEqual(os.listdir(folder), [])
            self.assertGreater(found[0].tried, 0)
            self.assertLess(found[1].tried, found[0].tried)

    def test_metrics(self):
        with axrun.Session(MODEL, optimize=False) as session:
            for _ in range(3):
                session(image())
            runs = [metric for metric in session.metrics() if metric.name == "axrun_runs_total"]
            self.assertEqual(sum(metric.value for metric in runs), 3)
            self.assertTrue(all(metric.counter and metric.help and metric.labels for metric in runs))


class Logs(unittest.TestCase):
    def setUp(self):
        self.addCleanup(axrun.log_to, None)

    def test_what_happens(self):
        with self.assertLogs("of_the_test", logging.DEBUG) as caught:
            axrun.log_to("of_the_test", logging.DEBUG)
            with axrun.Session(MODEL, threads=1, cache=False) as session:
                session.optimize({"image": image()}, 20)
            del session
            gc.collect()
        told = [(record.levelno, record.getMessage()) for record in caught.records]
        self.assertTrue(any(level == logging.INFO and line.startswith("event=model_loaded ") for level, line in told), told)
        self.assertTrue(any(level == logging.DEBUG for level, _ in told), told)

    def test_levels(self):
        logger = logging.getLogger("of_levels")
        with self.assertLogs(logger, logging.DEBUG) as caught:
            axrun.log_to(logger)
            axrun.Session(MODEL, optimize=False)
            told = len(caught.records)
            self.assertGreater(told, 0)
            self.assertEqual({record.levelno for record in caught.records} - {logging.INFO, logging.WARNING}, set())
            axrun.log_to(logger, logging.ERROR)
            axrun.Session(MODEL, optimize=False)
            axrun.log_to(None)
            axrun.Session(MODEL, optimize=False)
            self.assertEqual(len(caught.records), told)
        with self.assertRaisesRegex(axrun.InvalidArgument, "no level"):
            axrun.log_to(logger, logging.CRITICAL)

    def test_a_handler_that_fails(self):
        class Failing(logging.Logger):
            def log(self, *_, **__):
                raise OSError("no disk")
        axrun.log_to(Failing("failing"), logging.DEBUG)
        self.assertEqual(axrun.Session(MODEL, optimize=False)(image()).shape, (1, 10))


class Processes(unittest.TestCase):
    """The interpreter ends in order, whatever is still there."""

    def ends_well(self, program):
        run = subprocess.run([sys.executable, "-c", program, MODEL], capture_output=True, text=True, timeout=300)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    start = ("import sys, axrun, numpy as np, threading\n"
             "session = axrun.Session(sys.argv[1], cache=False)\n"
             "image = np.ones((1, 3, 32, 32), 'float32')\n"
             "results = [session(image) for _ in range(5)]\n")

    def test_a_session_that_is_never_closed(self):
        self.ends_well(self.start)

    def test_a_session_in_a_cycle(self):
        self.ends_well(self.start + "class Holder: pass\nholder = Holder()\nholder.me, holder.session = holder, session\n")

    def test_a_session_that_a_builtin_module_holds(self):
        self.ends_well(self.start + "sys.kept = session, results\n")

    def test_a_thread_that_runs_on(self):
        self.ends_well(self.start + "def work():\n    while True: session(image)\n"
                       "threading.Thread(target=work, daemon=True).start()\n")

    def test_logs_until_the_end(self):
        self.ends_well("import logging, axrun\nlogger = logging.getLogger('quiet')\nlogger.addHandler(logging.NullHandler())\n"
                       "logger.setLevel(logging.DEBUG)\naxrun.log_to(logger, logging.DEBUG)\n" + self.start +
                       "def work():\n    while True: session(image)\n"
                       "threading.Thread(target=work, daemon=True).start()\n")

    def test_a_fork(self):
        printed = self.ends_well(self.start + "import os, warnings\nwarnings.simplefilter('ignore')\nchild = os.fork()\n"
                                 "same = np.allclose(session(image), results[0], atol=1e-5)\n"
                                 "if child == 0: os._exit(0 if same else 1)\n"
                                 "print(os.waitpid(child, 0)[1])\n")
        self.assertEqual(printed.strip(), "0")


@contextlib.contextmanager
def interrupted(after=0.3, signal_number=signal.SIGINT):
    """What it encloses gets a signal, as by Ctrl-C."""
    timer = threading.Timer(after, os.kill, (os.getpid(), signal_number))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


class Interrupts(unittest.TestCase):
    """Ctrl-C is answered while the library runs a model, which may take minutes."""

    def expect_interrupt(self, action):
        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt), interrupted():
            action()
        self.assertLess(time.monotonic() - start, 2)

    def test_a_run(self):
        with endless() as session:
            for _ in range(2):  # each has a question of its own
                self.expect_interrupt(lambda: session.run({"a": np.int64(1 << 60)}))
            self.assertEqual(session(np.int64(5)), 5)

    def test_a_run_of_the_reference(self):
        with endless(tier="reference") as session:
            self.expect_interrupt(lambda: session(np.int64(1 << 60)))

    def test_an_explanation(self):
        with axrun.Session(MODEL, optimize=False) as session:
            self.expect_interrupt(lambda: session.explain({"image": image()}, runs=1 << 30))

    def test_handlers_run_and_what_they_raise_is_raised(self):
        class Own(Exception):
            pass

        seen = []

        def handle(number, _):
            seen.append(number)
            if number == signal.SIGUSR2:
                raise Own()

        for number in (signal.SIGUSR1, signal.SIGUSR2):
            self.addCleanup(signal.signal, number, signal.signal(number, handle))
        with endless() as session:
            with self.assertRaises(Own), interrupted(), interrupted(0.6, signal.SIGUSR2), interrupted(0.1, signal.SIGUSR1):
                try:
                    session(np.int64(1 << 60))
                except KeyboardInterrupt:
                    self.assertEqual(seen, [signal.SIGUSR1])
                    session(np.int64(1 << 60))
        self.assertEqual(seen, [signal.SIGUSR1, signal.SIGUSR2])

    def test_other_threads_go_on(self):
        ends = []

        def run(cancellation):
            try:
                session(np.int64(1 << 60)) if cancellation is None else session.run(
                    {"a": np.int64(1 << 60)}, cancellation=cancellation)
            except axrun.Error as error:
                ends.append(type(error))

        with endless() as session:
            cancellation = axrun.Cancellation()
            thread = threading.Thread(target=run, args=(cancellation,))
            thread.start()
            self.expect_interrupt(lambda: session(np.int64(1 << 60)))
            self.assertEqual(ends, [])
            cancellation.cancel()
            thread.join(10)
            self.assertEqual(ends, [axrun.Cancelled])


class Mistakes(unittest.TestCase):
    """What is told of arguments of the wrong kind names them."""

    @classmethod
    def setUpClass(cls):
        cls.session = axrun.Session(MODEL, optimize=False)

    def test_arguments(self):
        cases = [("threads is '2', not an integer", lambda: axrun.Session(MODEL, threads="2")),
                 ("memory_limit is 1.5, not an integer", lambda: axrun.Session(MODEL, memory_limit=1.5)),
                 ("budget is 'long', not a number", lambda: axrun.Session(MODEL, budget="long")),
                 ("size 'batch' is 'one', not an integer", lambda: axrun.Session(MODEL, dims={"batch": "one"})),
                 ("a path or a file's bytes, not int", lambda: axrun.Session(5)),
                 (r"a list: \['scores'\]", lambda: self.session.run("scores", {"image": image()})),
                 ("as {name: value}, not as list", lambda: self.session.run([image()])),
                 ("as {name: value}, not as ndarray", lambda: self.session.run(image())),
                 ("timeout is '5', not a number", lambda: self.session.run({"image": image()}, timeout="5"))]
        for text, action in cases:
            with self.subTest(text), self.assertRaisesRegex(axrun.InvalidArgument, text):
                action()

    def test_a_missing_file(self):
        with self.assertRaises(FileNotFoundError) as caught:
            axrun.Session("no such file.onnx")
        error = caught.exception
        self.assertIsInstance(error, axrun.InvalidArgument)
        self.assertIn("no such file.onnx", str(error))
        self.assertEqual((error.filename, error.errno, error.code), ("no such file.onnx", errno.ENOENT, 1))
        with self.assertRaises(axrun.InvalidArgument) as caught:
            axrun.Session(os.path.dirname(os.path.abspath(MODEL)))
        self.assertNotIsInstance(caught.exception, FileNotFoundError)

    def test_copies(self):
        for action in (copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, "neither be copied nor pickled"):
                action(self.session)

    def test_numbers_out_of_range(self):
        vector = models.tensor_type(models.FLOAT, ("n",))
        with axrun.Session(models.one_operator("Neg", [vector], vector), optimize=False) as session:
            [name] = [port.name for port in session.inputs]
            np.testing.assert_array_equal(session([0.1, float("inf")]), np.float32([-0.1, -np.inf]))
            for value in (1e300, -1e39, 1 << 200, (1 << 24) + 1):
                with self.assertRaisesRegex(axrun.InvalidArgument, "'%s' is float32: a value given does not fit|'%s'" % (name, name)):
                    session([value])


class Declared(unittest.TestCase):
    """Types and shapes of outputs that only the file knows before a run."""

    def test_a_shape_that_the_run_tells(self):
        model = models.model([models.node("Reshape", ["x", "sizes"], ["y"])],
                             {"x": models.tensor_type(models.FLOAT, ("n",)), "sizes": models.tensor_type(models.INT64, (2,))},
                             {"y": models.tensor_type(models.FLOAT, ("rows", 3))})
        with axrun.Session(model, optimize=False) as session:
            [y] = session.outputs
            self.assertEqual((y.type, y.dtype, y.shape), ("float32", np.dtype("float32"), ("rows", 3)))
            self.assertIn("(y: float32 ['rows', 3])", repr(session))
            out = np.empty((2, 3), np.float32)
            session.run({"x": np.arange(6, dtype=np.float32), "sizes": np.int64([2, 3])}, out={"y": out})
            np.testing.assert_array_equal(out, [[0, 1, 2], [3, 4, 5]])


class CacheFolders(unittest.TestCase):
    def test_a_folder_that_cannot_be_used(self):
        with tempfile.NamedTemporaryFile() as file:
            with self.assertWarnsRegex(RuntimeWarning, "nothing is kept between processes: %s" % file.name) as caught:
                session = axrun.Session(MODEL, cache=file.name)
            self.assertEqual(caught.filename, __file__)
            self.assertIn(file.name, session.cache.trouble)
            self.assertFalse(session.cache.writable)

    def test_a_folder_that_can(self):
        with tempfile.TemporaryDirectory() as folder:
            with axrun.Session(MODEL, cache=folder) as session:
                self.assertEqual(session.cache, axrun.Cache(folder, "", False, True))
        self.assertEqual(axrun.Session(MODEL, cache=False).cache.trouble, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
