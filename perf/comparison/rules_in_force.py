"""Which identities have changed plans: read from what `axrun explain` says of models."""

import json
import re
import subprocess

REWRITTEN = "rewritten"


def of_model(model, command, cache, budget, threads):
    """{model outcome windows rules {name: {equation equality safety}}}, or {model error} where axrun can't say."""
    answer = subprocess.run(
        [command, "explain", model.path, *(["--data", model.data] if model.data else []), "--cache-dir", cache, "--threads",
         str(threads), "--budget", "%g" % budget, "--json"], capture_output=True, text=True, check=False)
    try:
        said = json.loads(answer.stdout)
    except ValueError:
        said = {}
    if "optimiser" not in said:
        return {"model": model.name, "error": said.get("error") or answer.stderr.strip() or "exit %d" % answer.returncode}
    if said["optimiser"].get("state") == "stopped":
        return {"model": model.name, "error": said["optimiser"].get("reason") or "its optimiser has stopped"}
    return from_report(model.name, said["optimiser"].get("algebra") or {})


def from_report(name, algebra):
    windows = algebra.get("windows", []) if algebra.get("outcome") == REWRITTEN else []
    return {"model": name, "outcome": algebra.get("outcome", ""), "windows": len(windows),
            "rules": {rule["name"]: {key: rule[key] for key in ("equation", "equality", "safety")}
                      for window in windows for rule in window["rules"]}}


def form(equation):
    """The identity that a rule is an instance of: rules that differ in attributes, ranks and types have equal texts, numbers
    are left out, and either side may come first."""
    sides = re.sub(r"(?<![A-Za-z_])\d+(\.\d+)?(e[-+]?\d+)?", "N", equation).split(" = ")
    return " = ".join(sorted(sides))


def by_form(found):
    """{identity: {"rules": names, "models": names, "proved": whether all are, equality and safety}} of changed plans."""
    forms = {}
    for one in found:
        for name, rule in one.get("rules", {}).items():
            entry = forms.setdefault(form(rule["equation"]), {"rules": set(), "models": set(), "proved": True})
            entry["rules"].add(name)
            entry["models"].add(one["model"])
            entry["proved"] &= rule["equality"] == rule["safety"] == "proved"
    return forms


def rules_of(found):
    return sorted({name for one in found for name in one.get("rules", {})})


def independent_of_each_other(names, command, cache):
    """What `axrun rules --independent` says of these rules alone, in words; "" where there are none."""
    if not names:
        return ""
    answer = subprocess.run([command, "rules", "--cache-dir", cache, "--independent", "--json", "--among", *names],
                            capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        return "which of these follow from others is not known: %s" % (answer.stderr.strip() or answer.stdout.strip())
    said = json.loads(answer.stdout)
    return "%d of their %d forms follow from no others of these" % (said["independent"], said["forms"])


def line(one):
    if "error" in one:
        return "%-36s %s" % (one["model"], one["error"])
    if one["outcome"] != REWRITTEN:
        return "%-36s %s" % (one["model"], one["outcome"] or "as the model")
    return "%-36s rewritten: %d windows, %d rules" % (one["model"], one["windows"], len(one["rules"]))


def table(found):
    forms = by_form(found)
    lines = ["%-6s %3d rules  %s  (%s)" % ("proved" if entry["proved"] else "-", len(entry["rules"]), text,
                                          ", ".join(sorted(entry["models"]))) for text, entry in sorted(forms.items())]
    rewritten = sum(one.get("outcome") == REWRITTEN for one in found)
    return "\n".join(lines + ["%d of %d models have other plans, by %d rules of %d identities" %
                              (rewritten, len(found), len(rules_of(found)), len(forms))])


def write(found, path):
    forms = {text: {**entry, "rules": sorted(entry["rules"]), "models": sorted(entry["models"])}
             for text, entry in by_form(found).items()}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"kind": "rules in force", "schema": 1, "models": found, "identities": forms}, file, indent=1)
