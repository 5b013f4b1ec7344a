#include "runtime/cli/help.h"

namespace axrun::cli {

const char* const help_text = R"(Runs ONNX models.

  axrun MODEL [options]           run it: inputs are made up where none are given, outputs and times printed
  axrun [options]                 the same with a small demonstration model
                                  MODEL is a file, a folder with a model.onnx, or - for standard input
  axrun cache list|verify|prune|export FILE|import FILE [--json]
                                  what is kept between processes: see below
  axrun rules [NAME] [--cache-dir DIR] [--json]
                                  identities of tensor expressions that the cache has: which are proved, and where
                                  each was found; with a NAME it is proved again, and its proof printed
  axrun rules --discover MODEL... look for more in these models
  axrun rules --independent       prove all again, and list those that follow from no others, up to names, ranks,
                                  types, attributes, numbers and orders, each with a place where it may be applied;
                                  with --among NAME... only of these
  axrun rules --compare DIR       prove all again, and those of the cache in DIR: whether they agree (3 if not)
  axrun optimize MODEL [options]  fill the cache ahead of time (--budget S; 60): later runs start from what was
                                  found; run again, it goes on from there
  axrun explain MODEL [NODE ...] [options]
                                  optimise it (--budget S; 10) and say of its kernels, or of these nodes', which
                                  were tried, what they were expected to take and took, why each lost, and how far
                                  from the machine's limit the one in force is; --html FILE writes a page
  axrun reproduce FOLDER [--json] ask again what a kernel was asked that was wrong: one folder in the cache's folder
                                  'reproducers' for each (AXRUN_REPRODUCERS)
  axrun inspect MODEL [--json]    inputs, outputs, operators and parameters of a model
  axrun knobs [--json]            environment variables
  axrun operators [--json]        the operators that models may have
  axrun help, axrun version       as --help and --version
  axrun target [--calibrate] [--json]
                                  the hardware that kernels are written for; --calibrate measures it first. The
                                  JSON is what AXRUN_TARGET takes

Values
  --data DIR             an ONNX test_data_set folder: feed its input_K.pb, compare with its output_K.pb
  --input NAME:SPEC      the value of an input; may be repeated
  --expect NAME:SPEC     what an output is to be; may be repeated
  --shape NAME:1x3x..    the shape of an input; may be repeated
  --dim NAME=N           a size that the model names; may be repeated
  --seed N               seed of made-up values (0)
  --save DIR             write the outputs of the last run as DIR/output_K.pb
  --tolerance REL        an element may differ by REL times the largest magnitude of its output, at least by
                         REL/100 (1e-4). From 0.05 on the model counts as quantised: no more than 0.5% of the
                         elements beyond half of that, and up to 5% of the integers may differ

  SPEC, for inputs and expected outputs alike:
    @x.npy  @x.npz:KEY  @x.pb     a file that knows its type and shape
    2x3xf32=@x.bin                raw little-endian elements
    2xf32=1,2  i64=5  2x3xf32=0   elements in order; one alone fills the tensor; without sizes a scalar
    zeros  ones  random           of the shape that the model declares, or with a type: 2x3xf32=zeros

Runs
  --runs N               timed runs (as many as fit into a second, at most 1000)
  --seconds S            time runs for S seconds instead
  --warmup N             runs before the timed ones (1; 0 in the reference tier)
  --mode NAME            latency: one run at a time, on all threads; throughput: as many runs side by side as
                         there are processors, of one thread each (latency)
  --threads N            threads of one run (AXRUN_THREADS, else every processor this process may use)
  --streams N            runs side by side in throughput mode (processors divided by --threads)
  --pin                  bind every stream to a processor of its own, one of each core first (axrun target)
  --tier NAME            reference: exact and slow; fallback: precompiled kernels; auto: the best there is (auto)
  --budget S             after the first answer the optimiser may work for S seconds, while runs go on; then it is
                         stopped and the timed runs begin (0: no optimiser)
  --fp CLASS             what generated kernels may do to floats. strict: only what gives the bits of the precompiled
                         ones; reassoc: sums in another order, each result within the bound of its own rounding
                         errors (reassoc); bilinear: convolutions of 3x3 by Winograd's algorithms as well, where that
                         is faster: within a bound next to the largest values around a result, not its own
  --deterministic        --fp strict
  --cache-dir DIR        folder for what is kept between processes (AXRUN_CACHE_DIR, else ~/.cache/axrun)
  --no-cache             keep nothing between processes
  --operators LIB        a shared library with operators of your own (runtime/axrun_operators.h); may be repeated
  --timeout S            give up after S seconds; where an output differs, after at most 30 the search for the
                         first node that differs from the reference ends anyway

Cache (axrun cache; --cache-dir DIR for another one)
  list                   what is in it, by kind, version and machine
  verify                 look at every checksum; --deep also prove, compile and test every kernel once more, and
                         pack the weights of --model FILE (may be repeated; --threads as it was run) again
  prune                  remove what is damaged or was left unfinished; --days N what was not used for N days,
                         --limit MIB what was used longest ago until so much is left, --all everything
  export FILE            write what holds on every machine
  import FILE            take over such a file, entry by entry: the rest is derived again where it is used

Output
  --json                 one JSON object on stdout; text for people goes to stderr
  --profile [HOW]        time of every step. HOW: text (default), json, or a file (FILE.json; --profile=FILE for
                         other names)
  --trace FILE           the last run's steps in Chrome's trace format
  --metrics FILE         counts of runs, of the optimiser and of memory, in Prometheus' text format
  --quiet                no text for people but errors
  --log LEVEL            what happens, a line each on stderr: off (default), error, warn, info, debug
  --version  --help

Examples
  axrun model.onnx --data test_data_set_0
  axrun model.onnx --input ids:1x4xi64=1,2,3,4 --expect scores:@scores.npy
  axrun model.onnx --shape image:1x3x480x640 --seconds 5 --threads 1 --json
  axrun model.onnx --profile --trace trace.json

Exit codes
  0    ok
  1    command line, missing file, bad inputs
  2    the model is damaged, invalid or not supported; something in the cache is damaged (axrun cache verify)
  3    an output differs from the expected one
  4    a proof was refuted
  5    a proof came to nothing
  70   internal error
  124  not finished after --timeout, with no output known to differ by then
  130  axrun optimize: interrupted (128 and the signal); what was found until then is kept
)";

}  // namespace axrun::cli
