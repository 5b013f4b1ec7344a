#!/usr/bin/env python3
"""Runs the cases of the installed `onnx` package through axrun: `newest_suite.py test_onnx_suite [FOLDER]`.

The package computes its node tests when asked and keeps some models as files; both are written below FOLDER (a
temporary one by default) as test_onnx_suite reads them. Exit 77, skipped, where there is no `onnx`.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import warnings

SKIPPED = 77
SHARDS = 3


def message_of(value, kind: str, name: str) -> bytes:
    """The protobuf bytes of one input or output; `kind` is the field of its declared type."""
    import onnx
    from onnx import numpy_helper
    if hasattr(value, "SerializeToString"):
        return value.SerializeToString()
    if kind == "optional_type":
        message = numpy_helper.from_optional(value, name)
    elif kind == "sequence_type":
        message = numpy_helper.from_list(value, name)
    elif kind == "map_type":
        message = numpy_helper.from_dict(value, name)
    else:
        message = numpy_helper.from_array(value, name)
    assert isinstance(message, (onnx.TensorProto, onnx.SequenceProto, onnx.OptionalProto, onnx.MapProto))
    return message.SerializeToString()


def write_case(case, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    (folder / "tolerance").write_text(f"{case.rtol} {case.atol}\n")
    for number, values in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for prefix, ports, column in (("input", case.model.graph.input, values[0]),
                                      ("output", case.model.graph.output, values[1])):
            for k, (port, value) in enumerate(zip(ports, column)):
                kind = port.type.WhichOneof("value")
                (data / f"{prefix}_{k}.pb").write_bytes(message_of(value, kind, port.name))


def write_suite(folder: pathlib.Path) -> int:
    """Writes every case and returns their number."""
    from onnx.backend.test import loader
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy, about the cases' own infinities
        cases = loader.load_node_model_tests()
    for case in cases:
        write_case(case, folder / "node" / case.name)
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        for case in loader.load_model_tests(kind=kind):
            shutil.copytree(case.model_dir, folder / kind / case.name)
            (folder / kind / case.name / "tolerance").write_text(f"{case.rtol} {case.atol}\n")
    return sum(1 for _ in folder.rglob("model.onnx"))


def main(arguments: list[str]) -> int:
    if not 1 <= len(arguments) <= 2:
        print(__doc__, file=sys.stderr)
        return 1
    try:
        import onnx
    except ImportError:
        print("the onnx package is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments[1] if len(arguments) == 2 else temporary) / f"onnx-{onnx.__version__}"
        if not folder.exists():
            count = write_suite(folder)
            print(f"onnx {onnx.__version__}: {count} cases", flush=True)
        environment = {**os.environ, "AXRUN_SUITE": str(folder)}
        # Whoever waits for an optimiser leaves a processor idle.
        shards = [subprocess.Popen([arguments[0]], env={**environment, "GTEST_TOTAL_SHARDS": str(SHARDS), "GTEST_SHARD_INDEX": str(k)})
                  for k in range(SHARDS)]
        return max(abs(shard.wait()) for shard in shards)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
