"""The architectures by name, with the size and work that their publications or libraries state."""

from dataclasses import dataclass, field

from .bert import bert
from .densenet import densenet
from .gpt2 import gpt2
from .llama import llama
from .lstm import lstm
from .mobilenet import mobilenet_v2
from .resnet import resnet
from .unet import unet
from .vgg import vgg
from .workloads import attention, narrow_vector, query_norm_attention, rms_norm_linear, rms_norm_mlp, swiglu


@dataclass(frozen=True)
class Architecture:
    function: object
    trainable: int  # parameters
    parameters: dict = field(default_factory=dict)  # where they differ from the function's own
    work: float = None  # 10^9 multiply-adds of a run, as torchvision states them


class WrongTopology(Exception):
    """A model is not what its name says."""


ARCHITECTURES = {
    "resnet50": Architecture(resnet, 25_557_032, work=4.089),
    "vgg16": Architecture(vgg, 138_357_544, work=15.47),
    "mobilenet_v2": Architecture(mobilenet_v2, 3_504_872, work=0.301),
    "densenet121": Architecture(densenet, 7_978_856, work=2.834),
    "unet": Architecture(unet, 7_763_041),
    "bert_base": Architecture(bert, 109_482_240),
    "gpt2_prefill": Architecture(gpt2, 124_439_808),
    "gpt2_decode": Architecture(gpt2, 124_439_808, {"sequence": 1, "past": 128}),
    # 2 * 2048 * 2048 + 2 * 2048 * 512 of the attention, 3 * 2048 * 5632 of the MLP, 2 * 2048 of the norms
    "llama_block": Architecture(llama, 45_092_864),
    "llama_block_decode": Architecture(llama, 45_092_864, {"sequence": 1, "past": 128}),
    # Two layers of 4 * 512 * (512 + 512) weights and 8 * 512 biases
    "lstm_2layer": Architecture(lstm, 4_202_496),
}

_LAYERS = {"rmsnorm_linear": (rms_norm_linear, 1, 1), "rmsnorm_mlp": (rms_norm_mlp, 2, 1), "swiglu": (swiglu, 2, 0)}
_LAYER_SIZES = ((8, 1024), (8, 2048), (8, 4096), (16, 1024), (16, 4096))
_ATTENTIONS = {"attention": (attention, 0), "qknorm_attention": (query_norm_attention, 1)}
_ATTENTION_SIZES = ((2, 8, 1, 1024, 128), (2, 8, 128, 1024, 128), (2, 32, 1, 1024, 128), (4, 8, 1, 1024, 128))

# Made where they are asked for by name; not among the standard architectures.
WORKLOADS = {
    **{"prism_%s_%dx%d" % (name, rows, size): Architecture(function, products * size * size + norms * size,
                                                           {"rows": rows, "size": size})
       for name, (function, products, norms) in _LAYERS.items() for rows, size in _LAYER_SIZES},
    **{"prism_%s_%s" % (name, "x".join(map(str, sizes))): Architecture(
        function, norms * sizes[-1], dict(zip(("batch", "heads", "queries", "keys", "size"), sizes)))
       for name, (function, norms) in _ATTENTIONS.items() for sizes in _ATTENTION_SIZES},
    # 12 * 8 * (768 + 3 * 768) of the adapters
    "gpt2_lora_prefill": Architecture(gpt2, 124_439_808 + 294_912, {"rank": 8}),
    # 64 * (2 * (2048 + 2048) + 2 * (2048 + 512) + 3 * (2048 + 5632)) of the adapters
    "llama_lora_block": Architecture(llama, 45_092_864 + 2_326_528, {"rank": 64}),
    "llama_lora_block_decode": Architecture(llama, 45_092_864 + 2_326_528, {"rank": 64, "sequence": 1, "past": 128}),
    # 768 * 2 weights and 2 biases of the classifier
    "bert_classifier": Architecture(bert, 109_482_240 + 1_538, {"classes": 2}),
    "gpt2_next_token": Architecture(gpt2, 124_439_808, {"next_only": True}),
    "bf16_vector": Architecture(narrow_vector, 2048 * 16384),
}
KNOWN = {**ARCHITECTURES, **WORKLOADS}

# Parameters of the functions that do not change what is trained.
RUN_SIZES = {"batch", "image", "sequence", "past"}


def build(name, **parameters):
    """The graph of an architecture or workload; parameters are its function's, such as batch=4 or sequence=Free("length", 128)."""
    architecture = ARCHITECTURES.get(name) or WORKLOADS[name]
    graph = architecture.function(**{**architecture.parameters, **parameters})
    graph.name = name
    if set(parameters) <= RUN_SIZES and graph.trainable != architecture.trainable:
        raise WrongTopology("%s: %d trainable parameters, published are %d" %
                            (name, graph.trainable, architecture.trainable))
    graph.work = None if parameters else architecture.work
    return graph
