"""axrun.State as programs use it. Usage: package_states.py WHEEL ROOT MODEL"""

import copy
import sys
import unittest

import numpy as np

import axrun
import models


class States(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.session = axrun.Session(models.decoder(), optimize=False)

    def new(self, count, seed):
        return np.random.default_rng(seed).standard_normal((1, 2, count, 3)).astype("float32")

    def test_grow_as_when_they_are_fed_back(self):
        state, past = self.session.new_state({"present": "past"}, 16), np.zeros((1, 2, 0, 3), np.float32)
        self.assertEqual((state.length, state.capacity, state.get("past")), (0, 16, None))
        for k, count in enumerate((4, 1, 1, 3)):
            wanted = self.session.run({"x": self.new(count, k), "past": past})
            got = self.session.run({"x": self.new(count, k)}, state=state)
            self.assertEqual(list(got), ["y"])
            np.testing.assert_array_equal(got["y"], wanted["y"])
            past = wanted["present"]
            np.testing.assert_array_equal(state.get("past"), past)
        y = np.zeros((1, 2, 1, 3), np.float32)
        fork = state.fork()
        self.session.run({"x": self.new(1, 9)}, state=fork, out={"y": y})
        fork = state.fork()
        [a] = self.session.run(["y"], {"x": self.new(1, 9)}, state=state)
        [b] = self.session.run(["y"], {"x": self.new(1, 9)}, state=fork)
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, y)
        state.reset()
        self.assertEqual((state.length, fork.length), (0, 10))
        state.set("past", past)
        np.testing.assert_array_equal(self.session.run({"x": self.new(1, 9)}, state=state)["y"], a)

    def test_mistakes(self):
        with self.assertRaisesRegex(axrun.InvalidArgument, "no output 'presents'"):
            self.session.new_state({"presents": "past"}, 4)
        with self.assertRaisesRegex(axrun.InvalidArgument, "capacity is 1.5"):
            self.session.new_state({"present": "past"}, 1.5)
        state = self.session.new_state({"present": "past"}, 4)
        with self.assertRaisesRegex(axrun.InvalidArgument, "the buffer given is"):
            self.session.run({"x": self.new(1, 1)}, state=state, out={"y": np.zeros((1, 2, 1, 4), np.float32)})
        with self.assertRaisesRegex(axrun.InvalidArgument, "'present' is kept by the state"):
            self.session.run({"x": self.new(1, 1)}, state=state, out={"present": np.zeros((1, 2, 1, 3), np.float32)})
        self.assertEqual(state.length, 0)
        with self.assertRaisesRegex(axrun.InvalidArgument, "capacity of 4: there is no room for 5"):
            self.session.run({"x": self.new(5, 1)}, state=state)
        self.assertEqual(state.length, 0)
        with self.assertRaisesRegex(axrun.InvalidArgument, "input 'past' is kept by the state"):
            self.session.run({"x": self.new(1, 1), "past": self.new(1, 1)}, state=state)
        with self.assertRaisesRegex(axrun.InvalidArgument, "output 'present' is kept by the state"):
            self.session.run(["present"], {"x": self.new(1, 1)}, state=state)
        with self.assertRaisesRegex(axrun.InvalidArgument, "no input 'x'"):
            state.set("x", self.new(1, 1))
        with self.assertRaises(TypeError):
            copy.deepcopy(state)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
