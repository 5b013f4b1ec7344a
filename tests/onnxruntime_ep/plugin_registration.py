"""The plugin as a library: what it exports, the options it takes, how it comes and goes."""

import os
import subprocess
import sys
import tempfile

from plugin import PluginCase, import_onnxruntime
from plugin_models import inputs_of, perceptron

ort, onnx, np = import_onnxruntime()


class Registration(PluginCase):
    def test_the_processor_is_offered_once(self):
        devices = self.plugin.devices()
        self.assertEqual(len(devices), 1)
        self.assertEqual(devices[0].ep_vendor, "axrun")
        self.assertEqual(str(devices[0].device.type).split(".")[-1], "CPU")

    def test_only_two_symbols_are_exported(self):
        listing = subprocess.run(["nm", "-D", "--defined-only", self.library], capture_output=True, text=True, check=True).stdout
        self.assertEqual(sorted(line.split()[-1] for line in listing.splitlines()), ["CreateEpFactories", "ReleaseEpFactory"])

    def test_wrong_options_are_refused_in_words(self):
        made, _ = perceptron()
        with self.assertRaisesRegex(Exception, "there is no option 'speed'"):
            self.plugin.session(made, speed="high")
        with self.assertRaisesRegex(Exception, "'budget' cannot be 'x': it takes SECONDS"):
            self.plugin.session(made, budget="x")
        with self.assertRaisesRegex(Exception, "'optimizer_share' cannot be '0': it takes 0.01..1"):
            self.plugin.session(made, optimizer_share=0)

    def test_every_option_is_taken(self):
        made, expected = perceptron()
        x = inputs_of(1, (4, 16))
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o700)
            for given in ({"budget": 1}, {"cache": "on", "cache_dir": folder}, {"deterministic": "on"}, {"fp": "strict"},
                          {"log_level": "error"}, {"optimize": "off"}, {"optimizer_priority": "idle"},
                          {"optimizer_share": 0.5}, {"optimizer_threads": 1}, {"verify": "0.001"}):
                session = self.plugin.session(made, **given)
                for _ in range(3):
                    np.testing.assert_allclose(session.run(None, {"x": x})[0], expected(x), rtol=1e-4, atol=1e-4)

    def test_200_cycles_leave_neither_threads_nor_files(self):
        program = """
import os, sys, time
sys.path.insert(0, %r)
from plugin import Plugin
import onnxruntime as ort, numpy as np
library, made = sys.argv[1], open(sys.argv[2], "rb").read()
x = np.ones((4, 16), "f4")
def state():
    # A thread that was joined is listed for a moment longer.
    threads = []
    for _ in range(20):
        threads.append(len(os.listdir("/proc/self/task")))
        time.sleep(0.01)
    return min(threads), len(os.listdir("/proc/self/fd"))
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
            done = subprocess.run([sys.executable, "-c", program, self.library, file.name], capture_output=True, text=True,
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
            done = subprocess.run([sys.executable, "-c", program, self.library, file.name], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
