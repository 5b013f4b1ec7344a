"""The models to measure: folders with MODEL/model.onnx and, where there is one, MODEL/test_data_set_N."""

import fnmatch
import glob
import os
import subprocess
import sys
from dataclasses import dataclass

from architectures.catalogue import WORKLOADS as KNOWN_WORKLOADS
from comparison import environment

ROOT = os.path.dirname(environment.DEFAULT_FOLDER)  # build/
SHARED = os.path.join(os.path.dirname(os.path.dirname(ROOT)), "shared", "models")
ARCHITECTURES = os.path.join(ROOT, "models")
WORKLOADS = os.path.join(ROOT, "workloads")


@dataclass
class Model:
    """One model and its first data set."""
    name: str
    path: str
    data: str  # folder, or None: programs then make up the same inputs

    @property
    def arguments(self):
        """As host programs take them."""
        return [self.path] + (["--data", self.data] if self.data else [])

    def read(self):
        """Reads all its files, so that no program pays for the disk."""
        for place in filter(None, [os.path.dirname(self.path), self.data]):
            for entry in os.scandir(place):
                if entry.is_file():
                    with open(entry.path, "rb") as file:
                        while file.read(1 << 24):
                            pass


def default_folders(only, make_architectures):
    """The folders measured when none is named. The standard architectures are made first when they are missing, unless
    all models named in `only` are elsewhere. Workloads (architectures/workloads.py) that `only` names are made when they
    are missing; they are measured when named, not otherwise."""
    maker = os.path.join(os.path.dirname(ROOT), "perf", "make_architectures")
    workloads = [name for pattern in only or [] for name in fnmatch.filter(KNOWN_WORKLOADS, pattern)]
    missing = [name for name in workloads if not os.path.exists(os.path.join(WORKLOADS, name, "model.onnx"))]
    if missing:
        flags = [flag for name in missing for flag in ("--only", name)]
        if subprocess.run([sys.executable, maker, "--output", WORKLOADS, *flags], stdout=sys.stderr,
                          check=False).returncode:
            print("the workloads could not all be made: the others are measured", file=sys.stderr)
    elsewhere = only and all(os.path.exists(os.path.join(SHARED, name, "model.onnx")) or
                             fnmatch.filter(KNOWN_WORKLOADS, name) for name in only)
    made = glob.glob(os.path.join(glob.escape(ARCHITECTURES), "*", "model.onnx"))
    if make_architectures and not elsewhere and not made:
        print("making the standard architectures in build/models", file=sys.stderr)
        if subprocess.run([sys.executable, maker], stdout=sys.stderr, check=False).returncode:
            print("they could not all be made: the others are measured", file=sys.stderr)
    folders = (SHARED, ARCHITECTURES, *([WORKLOADS] if workloads else []))
    return [folder for folder in folders if os.path.isdir(folder)]


def find(folders, only):
    """The models of all folders by name, or those that a name or pattern in `only` is of; raises ValueError when there
    is none of one of these."""
    found = {}
    for folder in folders:
        try:
            names = sorted(os.listdir(folder))
        except OSError as error:
            raise ValueError("can't read %s: %s" % (folder, error.strerror)) from error
        for name in names:
            path = os.path.join(folder, name, "model.onnx")
            if os.path.exists(path):
                if name in found:
                    raise ValueError("two models are called %s" % name)
                found[name] = Model(name, path, _first_data_set(os.path.join(folder, name)))
    unknown = sorted(pattern for pattern in only or [] if not fnmatch.filter(found, pattern))
    if unknown or not found:
        raise ValueError("no model %sin %s" % ("".join(name + " " for name in unknown),
                                               ", ".join(folders) or "any folder"))
    return [model for name, model in found.items()
            if not only or any(fnmatch.fnmatch(name, pattern) for pattern in only)]


def named(words, folders):
    """The models that these words name: a file, wherever it is, or a model of the folders; ValueError as from `find`."""
    files = {word: _at(word) for word in words if os.sep in word or word.endswith(".onnx")}
    names = [word for word in words if word not in files]
    found = {model.name: model for model in find(folders, names)} if names else {}
    return [model for word in dict.fromkeys(words)
            for model in ([files[word]] if word in files else [found[name] for name in fnmatch.filter(found, word)])]


def _at(path):
    """The model in this file, or in this folder."""
    file = os.path.join(path, "model.onnx") if os.path.isdir(path) else path
    if not os.path.isfile(file):
        raise ValueError("there is no model %s" % path)
    folder, name = os.path.split(os.path.abspath(file))
    return Model(os.path.basename(folder) if name == "model.onnx" else name, file, _first_data_set(folder))


def _first_data_set(folder):
    sets = sorted(entry for entry in os.listdir(folder) if entry.startswith("test_data_set_"))
    return os.path.join(folder, sets[0]) if sets else None
