"""What axrun's fallback kernels are to reach against ONNX Runtime."""

from comparison.programs import AGAIN, ONNX_RUNTIME, SUBJECT

GATE_FAILED = 6  # exit code

GEOMETRIC_MEAN_LIMIT = 2.0
MODEL_RATIO_LIMIT = 4.0
MODEL_FLOOR_US = 20.0  # a run this short passes whatever the ratio
START_RATIO_LIMIT = 1.0
PEAK_RSS_RATIO_LIMIT = 1.3


def over_limit(row):
    """Whether axrun is slower on one model than both limits of a single model allow."""
    ratios = row["ratios"].get(ONNX_RUNTIME)
    return bool(ratios and ratios["time"]["median"] > MODEL_RATIO_LIMIT
                and row["programs"][SUBJECT]["p50_us"] > MODEL_FLOOR_US)


def failures(summary):
    """Sentences on every limit that is missed; nothing measured against ONNX Runtime is a failure too."""
    found = ["%(model)s, %(threads)d threads: over the limit of a single model" % item
             for item in summary["over_limit"]]
    refused = {(item["model"], item["program"]) for item in summary["cannot_run"]}
    found += ["%(model)s, threads %(threads)s: axrun can't run it: %(reason)s" % item for item in summary["cannot_run"]
              if item["program"] == SUBJECT and (item["model"], ONNX_RUNTIME) not in refused]
    found += ["%(model)s: %(program)s is %(remark)s" % item for item in summary["wrong"]
              if item["program"] in (SUBJECT, AGAIN)]
    measured = False
    for threads, peers in summary["by_threads"].items():
        means = peers.get(ONNX_RUNTIME)
        measured = measured or means is not None
        for key, limit in (("time_ratio", GEOMETRIC_MEAN_LIMIT), ("start_ratio", START_RATIO_LIMIT),
                           ("peak_rss_ratio_max", PEAK_RSS_RATIO_LIMIT)):
            if means and means[key] > limit:
                found.append("%s threads: %s is %.3f, limit %.3f" % (threads, key, means[key], limit))
    return found if measured else found + ["no model was measured with both axrun and ONNX Runtime"]
