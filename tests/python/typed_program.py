"""A program as type checkers see it: what they infer on a line is what its comment says (package_types.py). Never run."""

from typing import TYPE_CHECKING

import numpy as np

import axrun

if TYPE_CHECKING:
    image = np.zeros((1, 3, 32, 32), np.float32)
    session = axrun.Session("model.onnx", threads=1, tier="auto", shapes={"image": [1, 3, 32, 32]}, budget=2.5, cache=False)
    reveal_type(session)  # axrun.session.Session
    reveal_type(session.inputs)  # tuple[axrun.session.Port, ...]
    port = session.outputs[0]
    reveal_type(port.shape)  # tuple[int | str | None, ...] | None
    reveal_type(port.dtype)  # numpy.dtype[Any] | None
    outputs = session.run({"image": image})
    reveal_type(outputs)  # dict[str, numpy.ndarray[Any, numpy.dtype[Any]] | Any]
    reveal_type(session.run(["scores"], {"image": image}))  # list[numpy.ndarray[Any, numpy.dtype[Any]] | Any]
    reveal_type(session.run(None, {"image": [[0.5]]}, timeout=5))  # list[numpy.ndarray[Any, numpy.dtype[Any]] | Any]
    reveal_type(session(image))  # numpy.ndarray[Any, numpy.dtype[Any]] | Any
    outputs["scores"].argmax(axis=1)
    reveal_type(session.optimize({"image": image}, budget=2, on_progress=print))  # axrun.reports.Progress
    explanation = session.explain({"image": image})
    reveal_type([trial.us for step in explanation.steps for kernel in step.kernels for trial in kernel.trials])  # list[float | None]
    reveal_type({metric.name: metric.value for metric in session.metrics()})  # dict[str, float]
    reveal_type(session.cache.folder)  # str
    with axrun.Session(b"bytes", operators=axrun.Operators().add("com.example", "Swish", "program ...")) as other:
        reveal_type(other)  # axrun.session.Session
    reveal_type(axrun.library_path())  # str
    reveal_type(axrun.__version__)  # str
    try:
        session(image)
    except axrun.Error as error:
        reveal_type(error.code)  # int

    session.run({"image": image}, timeuot=5)  # error
    session.run("scores", image)  # error
    axrun.Session("model.onnx", tier="best")  # error
    axrun.Session("model.onnx", threads="2")  # error
    axrun.Session(5)  # error
