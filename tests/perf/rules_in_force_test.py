"""Tests of the list of identities that have changed plans, on made-up reports.

Run: python3 tests/perf/rules_in_force_test.py
"""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "perf"))

from comparison import rules_in_force  # noqa: E402


def rule(name, equation, safety="proved"):
    return {"name": name, "equation": equation, "equality": "proved", "safety": safety, "direction": "left to right"}


def report(*rules, outcome="rewritten"):
    return {"outcome": outcome, "windows": [{"rules": list(rules)}]}


class RulesInForce(unittest.TestCase):
    def test_numbers_and_directions_are_no_identities_of_their_own(self):
        self.assertEqual(rules_in_force.form("Conv(Div(a, 6), b) = Conv(a, Div(b, 6))"),
                         rules_in_force.form("Conv(a, Div(b, 1.5e-05)) = Conv(Div(a, 1.5e-05), b)"))
        self.assertNotEqual(rules_in_force.form("Mul(a, 1) = a"), rules_in_force.form("Add(a, 0) = a"))

    def test_digits_of_names_stay(self):
        self.assertIn("Conv2", rules_in_force.form("Conv2(a, 3) = a"))

    def test_plans_that_were_not_changed_do_not_count(self):
        found = [rules_in_force.from_report("m", report(rule("x", "f(a) = g(a)"), outcome="as the model: not faster"))]
        self.assertEqual(rules_in_force.by_form(found), {})

    def test_rules_of_one_identity_are_counted_together(self):
        found = [rules_in_force.from_report("m", report(rule("x", "f(a, 1) = g(a)"), rule("z", "h(a) = a"))),
                 rules_in_force.from_report("n", report(rule("y", "g(a) = f(a, 2)"))), {"model": "o", "error": "no"}]
        forms = rules_in_force.by_form(found)
        self.assertEqual(forms["f(a, N) = g(a)"], {"rules": {"x", "y"}, "models": {"m", "n"}, "proved": True})
        self.assertIn("2 of 3 models have other plans, by 3 rules of 2 identities", rules_in_force.table(found))

    def test_no_rules_are_asked_about_where_there_are_none(self):
        self.assertEqual(rules_in_force.rules_of([{"model": "o", "error": "no"}]), [])
        self.assertEqual(rules_in_force.independent_of_each_other([], "/no/such/program", "/no/such/folder"), "")

    def test_an_identity_is_proved_where_all_of_its_rules_are(self):
        found = [rules_in_force.from_report("m", report(rule("x", "f(a) = g(a)"), rule("y", "f(a) = g(a)", "unknown")))]
        self.assertFalse(rules_in_force.by_form(found)["f(a) = g(a)"]["proved"])


if __name__ == "__main__":
    unittest.main()
