#include "runtime/optimizer/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "ir/error.h"
#include "ir/view.h"
#include "runtime/optimizer/closeness.h"
#include "runtime/optimizer/step_expression.h"
#include "runtime/random.h"

namespace axrun::runtime {
namespace {

/// Rounding differs between two right kernels by far less, a wrong one is off by far more.
constexpr double tolerance = 1e-3;
/// Of the results of comparisons and of rounding to few bits, which side of a threshold they fall on may
/// differ.
constexpr double flipped_share = 0.01;

/// How far apart two results of 16 bits may be which are rounded from nearly the same number: a unit in the
/// last place of the larger one, relative to it. Other types have so many digits that this is far below the
/// tolerance.
double last_place(ir::ElementType type) {
  if (type == ir::ElementType::bf16) return 0x1p-7;
  return type == ir::ElementType::f16 ? 0x1p-10 : 0;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

std::string difference_of(const ir::Tensor& present, const ir::Tensor& candidate, size_t output,
                          bool quantized) {
  const bool real = ir::is_float(present.type()), single = present.type() == ir::ElementType::f32;
  double scale = 0;
  if (single) scale = static_cast<double>(largest_finite(present.as<float>(), present.size()));
  for (int64_t i = 0; real && !single && i < present.size(); ++i) {
    const double value = std::fabs(present.get_real(i));
    if (std::isfinite(value)) scale = std::max(scale, value);
  }
  const double most = tolerance * std::max(scale, 1e-6), place = last_place(present.type());
  const auto suspicious = [&](int64_t begin) {
    return single ? first_apart(present.as<float>(), candidate.as<float>(), begin, present.size(), most)
                  : begin;
  };
  int64_t flipped = 0;
  for (int64_t i = suspicious(0); i < present.size(); i = suspicious(i + 1)) {
    if (!real) {
      if (present.get_int(i) == candidate.get_int(i)) continue;
      // Integers of more bits may be indices or counts.
      const bool a_step = quantized && ir::size_of(present.type()) <= 2 &&
                          std::abs(present.get_int(i) - candidate.get_int(i)) == 1;
      const bool allowed = present.type() == ir::ElementType::boolean || a_step;
      if (allowed && static_cast<double>(++flipped) <= flipped_share * static_cast<double>(present.size()))
        continue;
      return fmt::format("output {} element {} is {}, with the present kernel {}", output, i,
                         candidate.get_int(i), present.get_int(i));
    }
    const double want = present.get_real(i);
    const double got = candidate.get_real(i);
    const bool finite = std::isfinite(want) && std::isfinite(got);
    const double rounding = finite ? place * std::max(std::fabs(want), std::fabs(got)) : 0;
    if (same(want, got) || std::fabs(want - got) <= std::max(most, rounding)) continue;
    return fmt::format("output {} element {} is {}, with the present kernel {}", output, i, got, want);
  }
  return "";
}

namespace {

std::string bit_difference_of(const ir::Tensor& present, const ir::Tensor& candidate, size_t output, bool) {
  if (present.bytes() == 0 || std::memcmp(present.data(), candidate.data(), present.bytes()) == 0) return "";
  const size_t element = ir::size_of(present.type());
  for (int64_t i = 0; i < present.size(); ++i) {
    const size_t at = static_cast<size_t>(i) * element;
    const auto* want = static_cast<const char*>(present.data()) + at;
    const auto* got = static_cast<const char*>(candidate.data()) + at;
    if (std::memcmp(want, got, element) == 0) continue;
    if (ir::is_float(present.type()) && std::isnan(present.get_real(i)) && std::isnan(candidate.get_real(i)))
      continue;
    return fmt::format("output {} element {} is {}, with the present kernel {}", output, i,
                       candidate.get_real(i), present.get_real(i));
  }
  return "";
}

/// Zeros where the plan has its values: on huge pages, as far as its arena lies there.
ir::Tensor like_in_arena(const Plan& plan, ir::ElementType type, const ir::Shape& shape) {
  constexpr size_t little = size_t{64} << 10, large = AlignedBuffer::large_bytes;
  const size_t bytes = static_cast<size_t>(ir::element_count(shape)) * ir::size_of(type);
  if (plan.arena_bytes() < large || bytes < little) return ir::Tensor::allocate(type, shape);
  const auto buffer = std::make_shared<AlignedBuffer>((bytes + large - 1) / large * large);
  return ir::Tensor::borrow(type, shape, buffer->data(), buffer);
}

}  // namespace

KernelComparison::KernelComparison(const Plan& plan, const std::vector<StepKernel>& present,
                                   const StepKernel& candidate, const IntegersRead& integers,
                                   ThreadPool& pool)
    : pool_(pool) {
  const Step& whole = *candidate.step;
  Places given;
  for (const ir::ValueId id : whole.work->inputs) {
    if (id == ir::absent || given.count(id) != 0) continue;
    const ir::ValueFact& fact = plan.fact(id);
    reads_reals_ |= ir::is_float(fact.type);
    if (fact.constant.defined()) {
      given[id] = fact.constant.data();
      continue;
    }
    const ir::Shape shape = *ir::constant_dims(*fact.dims);
    const auto known = integers.find({&plan, id});
    if (known != integers.end() && known->second.type() == fact.type && known->second.shape() == shape) {
      read_.push_back(known->second);
      given[id] = read_.back().data();
      continue;
    }
    operands_.push_back(like_in_arena(plan, fact.type, shape));
    given[id] = operands_.back().data();
  }
  for (const ir::ValueId id : whole.work->outputs) {
    if (id != ir::absent) compared_.push_back(id);
  }
  Places places = given;
  candidate_.push_back(prepare(plan, candidate, places, candidate_results_));
  if (present.size() == 1) {
    present_.push_back(prepare(plan, present[0], given, present_results_));
  } else {
    const ir::Inference facts = facts_of(plan);
    size_t done = 0;
    for (const int n : whole.work->nodes) {
      const auto has = [n](const StepKernel& one) {
        return std::binary_search(one.step->work->nodes.begin(), one.step->work->nodes.end(), n);
      };
      if (done < present.size() && present[done].step->work->nodes.back() == n)
        present_.push_back(prepare(plan, present[done++], given, present_results_));
      if (std::any_of(present.begin(), present.end(), has)) continue;
      const ir::Node& view = plan.graph().nodes[static_cast<size_t>(n)];
      const auto program = facts.define(view);
      const int operand = program ? ir::viewed_operand(*program) : -1;
      AXRUN_ASSERT(operand >= 0);
      given[view.outputs[0]] = given.at(view.inputs[static_cast<size_t>(operand)]);
    }
    AXRUN_ASSERT(done == present.size());
  }
  fill(1, false);
}

KernelComparison::Call KernelComparison::prepare(const Plan& plan, const StepKernel& one, Places& places,
                                                 Results& results) const {
  Call call{one.kernel, {}, {}, AlignedBuffer(one.kernel->scratch_bytes()), nullptr};
  call.scratch_at = call.scratch.data();
  for (const ir::ValueId id : one.step->work->inputs) {
    call.inputs.push_back(id == ir::absent ? nullptr : places.at(id));
  }
  for (const ir::ValueId id : one.step->work->outputs) {
    if (id == ir::absent) {
      call.outputs.push_back(nullptr);
      continue;
    }
    const ir::ValueFact& fact = plan.fact(id);
    ir::Tensor& result = results[id] = like_in_arena(plan, fact.type, *ir::constant_dims(*fact.dims));
    call.outputs.push_back(result.data());
    places[id] = result.data();
  }
  return call;
}

void KernelComparison::fill(uint64_t seed, bool special) {
  Random random(seed);
  for (ir::Tensor& tensor : operands_) {
    // Integers may be indices: 0 and 1 are in bounds nearly everywhere, 0 wherever there is anything.
    const bool index = !ir::is_float(tensor.type()) && tensor.type() != ir::ElementType::boolean;
    // Large ones repeat a sample: of a prime number, so that rows differ.
    constexpr int64_t sample = 65521;
    for (int64_t i = 0; i < std::min(sample, tensor.size()); ++i) {
      if (!ir::is_float(tensor.type())) {
        tensor.set_int(i, index ? 0 : static_cast<int64_t>(random.next() & 1));
        continue;
      }
      // Magnitudes of ordinary activations, up to 16.
      double value = std::ldexp(2 * random.uniform() - 1, static_cast<int>((seed - 1) % 5));
      if (special) {
        const uint64_t kind = random.next() % 64;
        constexpr double values[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, NAN, 1e-40};
        if (kind < std::size(values)) {
          value = values[kind];
        } else if (kind < 32) {
          value = std::ldexp(value, static_cast<int>(random.next() % 80) - 40);
        }
      }
      tensor.set_real(i, value);
    }
    const size_t bytes = static_cast<size_t>(sample) * ir::size_of(tensor.type());
    auto* data = static_cast<char*>(tensor.data());
    for (size_t at = bytes; at < tensor.bytes(); at += bytes)
      std::memcpy(data + at, data, std::min(bytes, tensor.bytes() - at));
  }
}

void KernelComparison::run(std::vector<Call>& calls, ThreadPool& pool) {
  for (Call& call : calls) {
    call.kernel->run({call.inputs.data(), call.outputs.data(), call.scratch_at, pool});
  }
}

std::string KernelComparison::compare(std::string (*difference)(const ir::Tensor&, const ir::Tensor&, size_t,
                                                                bool)) const {
  for (size_t k = 0; k < compared_.size(); ++k) {
    std::string found =
        difference(present_results_.at(compared_[k]), candidate_results_.at(compared_[k]), k, reads_reals_);
    if (!found.empty()) return found;
  }
  return "";
}

std::string KernelComparison::difference() {
  run(present_, pool_);
  run(candidate_, pool_);
  return compare(difference_of);
}

std::string KernelComparison::bit_difference() {
  // Kernels that round differently may agree on nearly all values: small results are compared many times.
  constexpr int64_t enough_elements = 1 << 17, fewest_trials = 8, most_trials = 512;
  int64_t elements = 1;
  for (const auto& [id, result] : present_results_) elements = std::max(elements, result.size());
  const auto trials =
      static_cast<uint64_t>(std::clamp(enough_elements / elements, fewest_trials, most_trials));
  std::string found;
  for (uint64_t trial = 0; trial < trials && found.empty(); ++trial) {
    fill(trial + 2, trial % 2 == 1);
    run(present_, pool_);
    run(candidate_, pool_);
    found = compare(bit_difference_of);
  }
  fill(1, false);
  return found;
}

void KernelComparison::share_memory() {
  Call& candidate = candidate_[0];
  size_t most = candidate.kernel->scratch_bytes();
  for (const Call& call : present_) most = std::max(most, call.kernel->scratch_bytes());
  candidate.scratch = AlignedBuffer(most);
  candidate.scratch_at = candidate.scratch.data();
  for (Call& call : present_) {
    call.scratch_at = candidate.scratch_at;
    call.scratch = AlignedBuffer(0);
  }
  for (void*& output : candidate.outputs) {
    for (const ir::ValueId id : compared_) {
      if (output == candidate_results_.at(id).data()) output = present_results_.at(id).data();
    }
  }
}

Ratio KernelComparison::times(Background& background, const StopSignal& stop, int threads) {
  share_memory();
  RoundOptions options;
  options.own_time = pool_.threads() == 1;
  options.warm = true;  // both have computed what was compared
  const auto timed = [&](std::vector<Call>& calls) {
    return [&] {
      const Background::Piece piece(background);
      run(calls, pool_);
    };
  };
  const auto spread = [&](std::vector<Call>& calls) {
    return [&](ThreadPool& pool) {
      const Background::Piece piece(background);
      run(calls, pool);
    };
  };
  if (pool_.threads() == 1)
    options.factor = threads_factor(spread(present_), spread(candidate_), threads, stop);
  return paired_rounds(timed(present_), timed(candidate_), stop, options);
}

}  // namespace axrun::runtime
