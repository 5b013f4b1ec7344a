// Kernels that are wrong in one way, for the numeric gate.
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <stdexcept>

#include "tests/checks/traps.h"
#include "tests/verify/gate_kernels.h"
#include "verify/numeric_gate.h"

namespace axrun::tests {
namespace {

using verify::Evidence;
using verify::GateCall;
using verify::GateCandidate;
using verify::GateOptions;
using verify::Verdict;
using verify::checks::Id;
using verify::test::GeluKernel;
using verify::test::MaskKernel;
using verify::test::ProductKernel;

GateOptions at(std::map<std::string, int64_t> sizes) {
  GateOptions options;
  options.seed = 7;
  options.sizes = {std::move(sizes)};
  return options;
}

Evidence tested(const std::string& text, const GateCandidate& candidate, const GateOptions& options) {
  const Evidence evidence = verify::test_numerically(ir::parse(text), candidate, options);
  std::fesetround(FE_TONEAREST);
  return evidence;
}

/// In a process of its own, which may end by a signal.
Evidence tested_apart(const std::string& text, const GateCandidate& candidate, const GateOptions& options) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    _exit(tested(text, candidate, options).accepted() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {Verdict::tested, "", 0};
  return {Verdict::refuted, WIFEXITED(status) && WEXITSTATUS(status) == 1 ? "refuted" : "the process ended",
          0};
}

Trap of_gelu(std::vector<Id> ids, const std::string& reason, const GateCandidate& candidate,
             bool apart = false) {
  return {std::move(ids), reason, [=] {
            return (apart ? tested_apart : tested)(verify::test::gelu_text, candidate, at({{"n", 37}}));
          }};
}

/// Gelu of an argument that has been changed.
Trap of_argument(std::vector<Id> ids, const std::string& reason, float (*changed)(float)) {
  GeluKernel kernel;
  kernel.function = [changed, right = kernel.function](float x) { return right(changed(x)); };
  return of_gelu(std::move(ids), reason, kernel);
}

/// Gelu, and something else.
GateCandidate and_then(std::function<void(const GateCall&, int64_t n)> more) {
  return [more](const GateCall& call) {
    std::fesetround(FE_TONEAREST);
    GeluKernel()(call);
    more(call, call.sizes.at("n"));
  };
}

float* result(const GateCall& call) { return static_cast<float*>(call.results[0]); }
volatile float* operand(const GateCall& call) {
  return const_cast<volatile float*>(static_cast<const volatile float*>(call.operands[0]));
}
volatile float sink;

/// A copy of a matrix, in which element k is that of `from(k)`, or is not written where that is negative; few
/// of its elements are compared.
template <typename Element>
Trap of_copy(std::vector<Id> ids, const std::string& reason, const std::string& type,
             int64_t (*from)(const GateCall& call, int64_t k)) {
  return {std::move(ids), reason, [=] {
            GateOptions options = at({{"m", 61}, {"n", 203}});
            options.samples = 64;
            const auto copy = [from](const GateCall& call) {
              std::fesetround(FE_TONEAREST);
              for (int64_t k = 0; k < call.sizes.at("m") * call.sizes.at("n"); ++k) {
                const int64_t other = from(call, k);
                if (other >= 0)
                  static_cast<Element*>(call.results[0])[k] =
                      static_cast<const Element*>(call.operands[0])[other];
              }
            };
            const std::string of = type + "[m, n]";
            return tested("program f(x: " + of + ") -> (y) { y: " + of + " = map (i: m, j: n) { x[i, j] } }",
                          copy, options);
          }};
}

std::vector<Trap> traps_of_calls() {
  return {
      of_gelu({"gate.throws"}, "threw",
              and_then([](const GateCall&, int64_t) { throw std::runtime_error("no"); })),
      of_copy<float>({"gate.environment"}, "rounding", "f32",
                     [](const GateCall&, int64_t k) {
                       std::fesetround(FE_DOWNWARD);
                       return k;
                     }),
      of_gelu({"gate.surroundings", "gate.guard_after"}, "refuted",
              and_then([](const GateCall& call, int64_t n) { result(call)[n] = 1; }), true),
      of_gelu({"gate.operands_only_read"}, "the process ended",
              and_then([](const GateCall& call, int64_t) { operand(call)[0] = 0; }), true),
      of_gelu({"gate.guard_after"}, "the process ended",
              and_then([](const GateCall& call, int64_t n) { sink = operand(call)[n]; }), true),
      of_gelu({"gate.guard_before"}, "the process ended",
              and_then([](const GateCall& call, int64_t) { sink = operand(call)[-1]; }), true),
  };
}

std::vector<Trap> traps_of_numbers() {
  GeluKernel coarse;
  coarse.function = [right = coarse.function](float x) { return right(x) * 1.0001f; };
  MaskKernel unsigned_zeros;
  unsigned_zeros.scale = [](float x) { return x == 0 ? 0.0f : x * 0.125f; };
  const auto masked = [=] {
    return tested(verify::test::mask_text, unsigned_zeros, at({{"n", 5}, {"c", 23}}));
  };
  const auto off_by_one = [] {
    return tested(
        "program f(x: i32[n]) -> (y) { y: i32[n] = map (i: n) { x[i] + 1:i32 } }",
        [](const GateCall& call) {
          for (int64_t i = 0; i < call.sizes.at("n"); ++i)
            static_cast<int32_t*>(call.results[0])[i] = static_cast<const int32_t*>(call.operands[0])[i] + 2;
        },
        at({{"n", 37}}));
  };
  return {
      {{"gate.exact"}, "must be", off_by_one},
      of_gelu({"gate.bound"}, "must be", coarse),
      {{"gate.zero_sign"}, "must be", masked},
      {{"gate.negative_zeros"}, "must be", masked},
      of_argument({"gate.nan"}, "must be nan", [](float x) { return x != x ? 0.0f : x; }),
      of_argument({"gate.nans"}, "must be nan", [](float x) { return x != x ? 0.0f : x; }),
      of_argument({"gate.infinities", "gate.largest"}, "infinity",
                  [](float x) { return std::isinf(x) ? std::copysign(3e38f, x) : x; }),
      of_argument({"gate.largest"}, "largest",
                  [](float x) { return std::fabs(x) > 1e38f && !std::isinf(x) ? x / 2 : x; }),
      of_argument({"gate.denormals"}, "must be", [](float x) { return std::fabs(x) < 0x1p-126f ? 0.0f : x; }),
      of_argument({"gate.magnitudes"}, "must be",
                  [](float x) { return std::fabs(x) > 1e2f && std::fabs(x) < 1e30f ? x * 1.5f : x; }),
  };
}

/// The product with bits of one operand's numbers rounded otherwise.
Evidence against_twin() {
  ProductKernel fused;
  fused.accumulate = [](float sum, float a, float b) { return std::fma(a, b, sum); };
  GateOptions options = at({{"m", 5}, {"n", 7}, {"k", 9}});
  options.exact = true;
  options.twin = ProductKernel();
  return tested(verify::test::product_text, fused, options);
}

Evidence with_a_pair() {
  ProductKernel wrong;
  wrong.skips_term = [](const ProductKernel::At& x) { return x.p == x.k - 1; };
  GateOptions options = at({{"m", 5}, {"n", 7}, {"k", 9}});
  options.exact_pair = GateOptions::Pair{ir::parse(verify::test::product_text), wrong};
  return tested(verify::test::product_text, ProductKernel(), options);
}

/// Products of which few elements are compared, so that it matters which.
Trap of_samples(std::vector<Id> ids, const std::string& reason, const ProductKernel& kernel) {
  return {std::move(ids), reason, [=] {
            GateOptions options = at({{"m", 61}, {"n", 203}, {"k", 3}});
            options.samples = 64;
            return tested(verify::test::product_text, kernel, options);
          }};
}

/// One element is left out, which is none of the samples.
int64_t all_but_one(const GateCall& call, int64_t k) { return k == 30 * call.sizes.at("n") + 101 ? -1 : k; }

std::vector<Trap> traps_of_samples() {
  ProductKernel unwritten, last_column, last_element;
  unwritten.skips_result = [](const ProductKernel::At& x) { return x.i == 30 && x.j == 101; };
  last_column.bias_column = [](const ProductKernel::At& x) { return x.j == x.n - 1 ? 0 : x.j; };
  last_element.bias_column = [](const ProductKernel::At& x) {
    return x.i == x.m - 1 && x.j == x.n - 1 ? 0 : x.j;
  };
  return {
      {{"gate.twin"}, "the twin's", against_twin},
      {{"gate.exact_pair"}, "must be", with_a_pair},
      of_samples({"gate.written"}, "was not written", unwritten),
      of_copy<int32_t>({"gate.written"}, "must be", "i32", all_but_one),
      of_copy<uint8_t>({"gate.written"}, "must be", "u8", all_but_one),
      of_copy<unsigned char>({"gate.written"}, "was not written", "bool", all_but_one),
      of_samples({"gate.last_columns", "gate.corners"}, "must be", last_column),
      of_samples({"gate.corners", "gate.last_columns"}, "must be", last_element),
      of_copy<int32_t>({"gate.no_period"}, "must be", "i32",
                       [](const GateCall& call, int64_t k) {
                         const int64_t n = call.sizes.at("n"), next = k + n;
                         return next < call.sizes.at("m") * n ? next : k;
                       }),
  };
}

}  // namespace

std::vector<Trap> gate_traps() {
  std::vector<Trap> all = traps_of_calls();
  for (auto* more : {traps_of_numbers, traps_of_samples}) {
    for (Trap& trap : more()) all.push_back(std::move(trap));
  }
  return all;
}

}  // namespace axrun::tests
