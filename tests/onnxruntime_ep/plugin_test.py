#!/usr/bin/env python3
"""The plugin in ONNX Runtime, from Python. Usage: plugin_test.py PLUGIN [unittest's arguments]

The tests are those of the modules beside this one.
"""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from plugin import PluginCase
from plugin_claims import Models
from plugin_contexts import Contexts
from plugin_load import Load, Traces
from plugin_registration import Registration

__all__ = ["Contexts", "Load", "Models", "Registration", "Traces"]

if __name__ == "__main__":
    PluginCase.library = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
