"""What the tests of the ONNX Runtime plugin share: registering it, sessions with it, the claims it logs."""

import os
import re
import sys
import tempfile
import unittest

NAME = "AxrunExecutionProvider"
SKIPPED = 77  # CTest's SKIP_RETURN_CODE


def import_onnxruntime():
    """The onnxruntime, onnx and numpy modules; ends the program as skipped where one is missing."""
    try:
        import numpy
        import onnx
        import onnxruntime
    except ImportError as error:
        print("skipped: %s" % error)
        sys.exit(SKIPPED)
    return onnxruntime, onnx, numpy


def version_of(onnxruntime):
    """(1, 27) for 1.27.0."""
    return tuple(int(x) for x in onnxruntime.__version__.split(".")[:2])


class Plugin:
    """The registered library, for the length of a with statement."""

    def __init__(self, library, name="axrun"):
        self.library = os.path.abspath(library)
        self.name = name
        self.onnxruntime = import_onnxruntime()[0]

    def __enter__(self):
        self.onnxruntime.register_execution_provider_library(self.name, self.library)
        return self

    def __exit__(self, *_):
        self.onnxruntime.unregister_execution_provider_library(self.name)

    def devices(self):
        return [d for d in self.onnxruntime.get_ep_devices() if d.ep_name == NAME]

    def options(self, threads=1, **given):
        """Session options with the plugin and its options (no cache, unless one is given)."""
        options = self.onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        mine = {"cache": "off", "threads": str(threads)}
        mine.update({key: str(value) for key, value in given.items()})
        options.add_provider_for_devices(self.devices(), mine)
        return options

    def session(self, model, threads=1, **given):
        """A session on a path or on bytes."""
        return self.onnxruntime.InferenceSession(model, self.options(threads, **given), enable_fallback=0)

    def session_and_log(self, model, threads=1, **given):
        """The same, and what it told ONNX Runtime's log."""
        options = self.options(threads, log_level="info", **given)
        options.log_severity_level = 1
        with tempfile.TemporaryFile() as log:
            sys.stderr.flush()
            before = os.dup(2)
            os.dup2(log.fileno(), 2)
            try:
                session = self.onnxruntime.InferenceSession(model, options, enable_fallback=0)
            finally:
                os.dup2(before, 2)
                os.close(before)
            log.seek(0)
            return session, log.read().decode(errors="replace")

    def session_and_claims(self, model, threads=1, **given):
        """The same, and [(claimed, of, parts)] for each graph that was asked about."""
        session, text = self.session_and_log(model, threads, **given)
        found = re.findall(r"axrun: (\d+) of (\d+) nodes claimed, in (\d+) parts", text)
        return session, [tuple(int(x) for x in row) for row in found]


class PluginCase(unittest.TestCase):
    """Tests with the plugin registered: `plugin`. The program says which file it is in: `library`."""

    library = None
    plugin = None

    @classmethod
    def setUpClass(cls):
        cls.plugin = Plugin(cls.library).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.plugin.__exit__()
