#!/usr/bin/env python3
"""axrun rules as scripts see it. Usage: rules_test.py AXRUN MODEL"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

AXRUN, MODEL = sys.argv[1:3]


class Rules(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.cache = os.path.join(self.folder.name, "cache")

    def run_axrun(self, *arguments, **environment):
        return subprocess.run([AXRUN, *arguments], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "AXRUN_CACHE": "on", "AXRUN_CACHE_DIR": self.cache, **environment})

    def json(self, *arguments, code=0):
        run = self.run_axrun("rules", *arguments, "--json")
        self.assertEqual(run.returncode, code, run.stderr)
        return json.loads(run.stdout)

    def test_an_empty_store(self):
        record = self.json()
        self.assertEqual((record["schema_version"], record["count"], record["rules"]), (1, 0, []))
        self.assertIn("0 rules", self.run_axrun("rules").stdout)

    def test_what_is_discovered_is_kept_and_proved_again(self):
        found = self.json("--discover", MODEL)
        self.assertGreater(found["count"], 0)
        self.assertEqual(found["searched"], [{"model": MODEL, "found": found["count"]}])
        # Nothing is found twice, and another cache has the same.
        self.assertEqual(self.json("--discover", MODEL)["searched"][0]["found"], 0)
        other = self.json("--discover", MODEL, "--cache-dir", os.path.join(self.folder.name, "other"))
        names = [rule["name"] for rule in found["rules"]]
        self.assertEqual(names, [rule["name"] for rule in other["rules"]])
        proved = next(rule for rule in found["rules"] if rule["standing"].startswith("proved"))
        again = self.json(proved["name"])["rule"]
        self.assertEqual(again["equality"]["verdict"], "proved")
        self.assertEqual(again["equation"], proved["equation"])
        self.assertTrue(again["statement"])
        text = self.run_axrun("rules", proved["name"])
        self.assertEqual(text.returncode, 0)
        self.assertIn("equal: proved", text.stdout)
        self.assertIn("for all", text.stdout)
        listed = self.run_axrun("rules").stdout
        self.assertTrue(all(name in listed for name in names))
        # It is one of the portable parts of the cache.
        self.assertEqual(self.run_axrun("cache", "verify").returncode, 0)
        archive, third = os.path.join(self.folder.name, "archive"), os.path.join(self.folder.name, "third")
        self.assertEqual(self.run_axrun("cache", "export", archive).returncode, 0)
        self.assertEqual(self.run_axrun("cache", "import", archive, "--cache-dir", third).returncode, 0)
        self.assertEqual(names, [rule["name"] for rule in self.json("--cache-dir", third)["rules"]])

    def test_reductions_by_parts_are_proved_again_rule_by_rule(self):
        # The model ends with a softmax.
        split = next(split for split in self.json("--discover", MODEL)["splits"] if split["of"] == "Softmax(a)")
        again = self.json(split["name"])["split"]
        self.assertEqual({**split, "standing": "proved", "proofs": again["proofs"]}, again)
        named = [rule["name"] for component in split["state"] for rule in component.values()]
        named += [split["finish"]["name"]] if "finish" in split else []
        self.assertEqual([proof["name"] for proof in again["proofs"]], list(dict.fromkeys(named)))
        for proof in again["proofs"]:
            self.assertEqual((proof["equality"]["verdict"], proof["safety"]["verdict"]), ("proved", "proved"), proof)
            self.assertTrue(proof["statement"])
        run = self.run_axrun("rules", split["name"])
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout.count("equal: proved"), len(again["proofs"]))
        self.assertIn("init", run.stdout)
        self.assertIn("combine", run.stdout)
        # Nobody who proves, nothing said.
        self.assertEqual(self.run_axrun("rules", split["name"], AXRUN_WORKER="/bin/true").returncode, 70)

    def test_independent_identities_and_other_stores(self):
        found = self.json("--discover", MODEL)
        independent = self.json("--independent")
        self.assertLessEqual(independent["independent"], independent["forms"])
        self.assertLessEqual(independent["forms"], independent["usable"])
        self.assertEqual(independent["usable"], found["usable"])
        self.assertGreater(independent["independent"], 0)
        self.assertEqual(len(independent["identities"]), independent["independent"])
        places = [one["place"] for one in independent["identities"] if one["fires"]]
        self.assertEqual(len(places), independent["with_place"])
        self.assertTrue(places)
        self.assertTrue(all(place.startswith(MODEL + " at ") for place in places), places)
        # Of a single rule nothing follows from others; of all by name the same as of all.
        first = independent["identities"][0]["rule"]
        among = self.json("--independent", "--among", first)
        self.assertEqual((among["usable"], among["forms"], among["independent"]), (1, 1, 1))
        self.assertEqual(self.json("--independent", "--among", *(rule["name"] for rule in found["rules"])), independent)
        other = os.path.join(self.folder.name, "other")
        self.json("--discover", MODEL, "--cache-dir", other)
        compared = self.json("--compare", other)
        self.assertEqual((compared["first"], compared["second"], compared["both"]), (found["count"],) * 3)
        self.assertEqual((compared["differing"], compared["new"]), ([], 0))

    def test_mistakes(self):
        self.assertEqual(self.json("no-such-rule", code=1)["error"]["fault"], "user")
        self.assertEqual(self.json("--discover", "/nowhere.onnx", code=1)["error"]["fault"], "user")
        self.assertEqual(self.run_axrun("rules", "--no-such-option").returncode, 1)
        self.assertEqual(self.run_axrun("rules", AXRUN_CACHE="off").returncode, 1)
        self.assertEqual(self.json("--compare", "/nowhere", code=1)["error"]["fault"], "user")
        self.assertEqual(self.run_axrun("rules", "some-rule", "--independent").returncode, 1)
        self.assertEqual(self.run_axrun("rules", "--among", "some-rule").returncode, 1)
        self.assertEqual(self.json("--independent", "--among", "some-rule", code=1)["error"]["fault"], "user")
        self.assertEqual(self.run_axrun("rules", "--discover", AXRUN).returncode, 2)
        # One of several models that cannot be used is named, and keeps nothing from the others.
        self.assertEqual(self.json()["count"], 0)
        several = self.json("--discover", AXRUN, MODEL, code=2)["error"]["message"]
        self.assertTrue(several.startswith(AXRUN + ": "), several)
        self.assertIn("1 of 2 models", several)
        self.assertGreater(self.json()["count"], 0)
        self.cache = os.path.join(self.folder.name, "empty")
        # Without the helper process nothing is proved, and nothing kept.
        self.assertEqual(self.run_axrun("rules", "--discover", MODEL, AXRUN_WORKER="/bin/true").returncode, 70)
        self.assertEqual(self.json()["count"], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
