#include "verify/ulp_bounds.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "ir/lane/evaluate.h"
#include "ir/lane/grammar.h"
#include "verify/checks.h"

namespace axrun::verify {
namespace {

using ir::lane::Evaluator;
using ir::lane::Program;

constexpr double beyond_largest = 0x1p128;

/// Infinity as the power of two that follows the largest float.
double bounded(double value) { return std::clamp(value, -beyond_largest, beyond_largest); }

/// The distance of neighbouring floats at this magnitude; what lies beyond the largest float counts to its
/// binade.
double unit_at(double magnitude) {
  const auto field = static_cast<int>(std::bit_cast<uint64_t>(magnitude) >> 52);
  const int exponent = std::clamp(field - 1023, -126, 127) - 23;
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

double error_in_ulp(const MathReference& reference, double x, double exact, float result) {
  double magnitude = std::fabs(exact);
  if (reference.scale != nullptr) magnitude = std::max(magnitude, reference.scale(x));
  return std::fabs(bounded(result) - bounded(exact)) / unit_at(magnitude);
}

bool special_value_is_right(float x, double exact, float result) {
  if (std::isnan(exact) != std::isnan(result)) return !checks::on("ulp.nan");
  if (std::isnan(exact)) return true;
  if (std::signbit(result) != std::signbit(exact) && checks::on("ulp.sign")) return false;
  const bool special = (x == 0.0F || std::isinf(x)) && checks::on("ulp.special");
  return !special || result == static_cast<float>(exact);
}

/// Gathers the report of one thread. Keeps the largest errors, for MPFR to decide among.
class Gatherer {
 public:
  Gatherer(const Program& program, const MathReference& reference)
      : evaluator_(program), reference_(reference) {}

  void add(std::span<const uint32_t> inputs) {
    results_.resize(inputs.size());
    evaluator_.run(inputs, results_);
    for (size_t k = 0; k < inputs.size(); ++k) add(inputs[k], std::bit_cast<float>(results_[k]));
  }

  void merge(const Gatherer& other) {
    report_.inputs += other.report_.inputs;
    report_.finite += other.report_.finite;
    report_.special_wrong += other.report_.special_wrong;
    if (other.report_.first_wrong) note_wrong(*other.report_.first_wrong);
    sum_ += other.sum_;
    for (const Candidate& candidate : other.largest_) offer(candidate);
  }

  UlpReport finish() const {
    UlpReport report = report_;
    if (report.finite != 0) report.mean_ulp = sum_ / static_cast<double>(report.finite);
    bool first = true;
    for (const Candidate& candidate : largest_) {
      if (candidate.ulp < 0) continue;
      const double ulp = decide(candidate);
      if (first || ulp > report.most_ulp) {
        report.most_ulp = ulp;
        report.worst = candidate.input;
      }
      first = false;
    }
    return report;
  }

 private:
  struct Candidate {
    double ulp = -1;
    uint32_t input = 0;
    float result = 0;
  };

  void add(uint32_t bits, float result) {
    const float x = std::bit_cast<float>(bits);
    const double exact = reference_.value(x);
    ++report_.inputs;
    if (!special_value_is_right(x, exact, result)) note_special(bits);
    if (std::isnan(exact) || !std::isfinite(x)) return;
    ++report_.finite;
    const double ulp = std::isnan(result) ? std::numeric_limits<double>::infinity()
                                          : error_in_ulp(reference_, x, exact, result);
    sum_ += ulp;
    if (ulp > largest_.back().ulp && checks::on("ulp.error")) offer({ulp, bits, result});
  }

  void note_special(uint32_t bits) {
    ++report_.special_wrong;
    note_wrong(bits);
  }
  void note_wrong(uint32_t bits) { report_.first_wrong = std::min(bits, report_.first_wrong.value_or(bits)); }

  /// Sorted, largest first; equal errors by input, so that the order of threads does not matter.
  void offer(const Candidate& candidate) {
    auto before = [](const Candidate& a, const Candidate& b) {
      return a.ulp > b.ulp || (a.ulp == b.ulp && a.input < b.input);
    };
    if (!before(candidate, largest_.back())) return;
    const auto place = std::upper_bound(largest_.begin(), largest_.end(), candidate, before);
    std::move_backward(place, largest_.end() - 1, largest_.end());
    *place = candidate;
  }

  double decide(const Candidate& candidate) const {
    const double x = std::bit_cast<float>(candidate.input);
    const double exact = reference_.value(x);
    if (!std::isfinite(exact) || exact == 0 || std::isnan(candidate.result)) return candidate.ulp;
    return error_in_ulp(reference_, x, reference_.precise(x), candidate.result);
  }

  Evaluator evaluator_;
  const MathReference& reference_;
  std::vector<uint32_t> results_;
  UlpReport report_;
  double sum_ = 0;
  std::array<Candidate, 16> largest_;
};

/// How many inputs a thread takes at once.
constexpr uint64_t chunk = 1U << 16U;

}  // namespace

UlpReport measure_ulp(const Program& program, const MathReference& reference, uint32_t stride, int threads) {
  stride = std::max(stride, 1U);
  const uint64_t count = ((uint64_t{1} << 32U) + stride - 1) / stride;
  std::atomic<uint64_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  Gatherer total(program, reference);
  auto work = [&] {
    try {
      Gatherer own(program, reference);
      std::vector<uint32_t> inputs;
      for (uint64_t begin = next.fetch_add(chunk); begin < count; begin = next.fetch_add(chunk)) {
        inputs.resize(std::min(chunk, count - begin));
        for (size_t k = 0; k < inputs.size(); ++k) {
          inputs[k] = static_cast<uint32_t>((begin + k) * stride);
        }
        own.add(inputs);
      }
      const std::lock_guard lock(mutex);
      total.merge(own);
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (int k = 1; k < threads; ++k) helpers.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  return total.finish();
}

UlpReport measure_ulp(const Program& program, const MathReference& reference,
                      std::span<const uint32_t> inputs) {
  Gatherer gatherer(program, reference);
  gatherer.add(inputs);
  return gatherer.finish();
}

std::vector<uint32_t> special_neighbourhoods(const Program& program, uint32_t radius) {
  constexpr uint32_t sign = 0x80000000U;
  std::vector<uint32_t> centres = {0, 0x00800000U, 0x7f7fffffU, 0x7f800000U, 0x3f800000U};
  for (const auto& instruction : program.instructions) {
    if (instruction.opcode == ir::lane::Opcode::constant) centres.push_back(instruction.literal & ~sign);
  }
  std::vector<uint32_t> found;
  for (const uint32_t centre : centres) {
    const uint32_t first = centre - std::min(centre, radius);
    const uint32_t last = centre + std::min(~sign - centre, radius);
    for (uint32_t magnitude = first; magnitude <= last; ++magnitude) {
      found.push_back(magnitude);
      found.push_back(magnitude | sign);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace axrun::verify
