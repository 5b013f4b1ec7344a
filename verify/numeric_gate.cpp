#include "verify/numeric_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>

#include "ir/element_access.h"
#include "verify/checks.h"
#include "verify/error_bound.h"
#include "verify/gate_host.h"
#include "verify/gate_inputs.h"
#include "verify/gate_memory.h"
#include "verify/gate_trials.h"
#include "verify/guarded_memory.h"

namespace axrun::verify {
namespace {

using ir::ElementType;
using ir::Tensor;

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Ends the gate.
struct Refusal {
  std::string text;
};

std::string sizes_text(const std::map<std::string, int64_t>& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  return text.empty() ? "no sizes" : text;
}

std::string element_text(const ir::TensorDecl& tensor, const ir::Shape& shape, int64_t position) {
  std::string index;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t stride = ir::row_major_strides(shape)[d];
    index += fmt::format("{}{}", d == 0 ? "" : ", ", position / stride % shape[d]);
  }
  return fmt::format("{}[{}]", tensor.name, index);
}

/// As a share: as few steps of scans as there may be.
constexpr int few_steps = 1 << 20;

std::map<std::string, ir::Dim> as_dims(const std::map<std::string, int64_t>& sizes) {
  std::map<std::string, ir::Dim> dims;
  for (const auto& [name, value] : sizes) dims.emplace(name, ir::Dim(value));
  return dims;
}

ir::Shape shape_of(const ir::TensorDecl& declared, const std::map<std::string, ir::Dim>& dims) {
  ir::Shape shape;
  for (const ir::Dim& dim : declared.dims) {
    const auto extent = dim.substitute(dims).constant();
    if (!extent || *extent < 0) throw NoBound{"the size " + dim.to_string() + " is not known"};
    shape.push_back(*extent);
  }
  return shape;
}

size_t bytes_of(ElementType type, const ir::Shape& shape) {
  return static_cast<size_t>(ir::element_count(shape)) * ir::size_of(type);
}

/// One size assignment: its memory, and trials in it.
class Bench {
 public:
  Bench(const ir::Program& program, const GateCandidate& candidate, const GateOptions& options,
        const std::map<std::string, int64_t>& sizes, uint64_t seed, GateReport& report)
      : program_(program),
        candidate_(candidate),
        options_(options),
        sizes_(sizes),
        seed_(seed),
        report_(report),
        plans_(plan_operands(program, sizes)),
        special_share_(0.5 / static_cast<double>(longest_reduction(program, sizes))) {
    for (const OperandPlan& plan : plans_)
      operands_.emplace_back(bytes_of(plan.type, plan.shape), size_of(plan.type));
    const std::map<std::string, ir::Dim> dims = as_dims(sizes);
    for (ir::TensorId id : program.outputs) {
      const ir::TensorDecl& declared = program.tensors[static_cast<size_t>(id)];
      ir::Shape shape = shape_of(declared, dims);
      if (declared.type == ElementType::string)
        throw NoBound{"the output " + declared.name + " is not of numbers"};
      results_.emplace_back(bytes_of(declared.type, shape), size_of(declared.type));
      samples_.push_back(sample_positions(shape, 2 * options.samples, seed));
      shapes_.push_back(std::move(shape));
      zero_signs_.push_back(sign_of_zero_is_certain(program, zero_signs_.size()));
    }
  }

  /// Integers so large that every intermediate is exact. False where there are no such.
  bool choose_magnitude() {
    for (int magnitude : {8, 3, 1, 0}) {
      magnitude_ = magnitude;
      fill_operands({});
      ErrorBound bound(program_, sizes_, tensors());
      bound.follow_share_of_steps(few_steps);
      if (all_exact(bound)) return true;
    }
    magnitude_ = inexact_magnitude;
    return false;
  }
  void keep_inexact() { magnitude_ = inexact_magnitude; }

  void run(const GateTrial& trial) {
    const int number = trial.number;
    trial_ = number;
    where_ = fmt::format("{}; trial {} ({}), seed {}", sizes_text(sizes_), number,
                         name_of(trial.distribution), options_.seed);
    fill_operands(trial);
    if (options_.exact) return compare_with_twin();
    // The bound comes first: operands that lead out of bounds are not given to the candidate.
    const auto start = Clock::now();
    ErrorBound bound(program_, sizes_, tensors());
    bound.follow_share_of_steps(trial.share, trial.share == 1 ? 0 : options_.work);
    std::vector<std::vector<int64_t>> positions;
    std::vector<std::vector<Interval>> intervals;
    for (size_t k = 0; k < results_.size(); ++k) {
      positions.push_back(sample(k, trial, trial.part_of(options_.samples)));
      intervals.push_back(judge(bound, k, positions.back(), trial));
    }
    report_.bound_seconds += seconds_since(start);
    call(candidate_);
    for (size_t k = 0; k < results_.size(); ++k) {
      check_written(k);
      const Tensor result = Tensor::borrow(type(k), shapes_[k], results_[k].data());
      for (size_t s = 0; s < intervals[k].size(); ++s) check(k, result, positions[k][s], intervals[k][s]);
      check_perhaps_unwritten(k, trial, result, bound);
    }
  }

 private:
  static constexpr int inexact_magnitude = 4;
  static size_t size_of(ElementType type) { return ir::size_of(type); }

  std::vector<Tensor> tensors() const {
    std::vector<Tensor> tensors;
    size_t next = 0;
    for (ir::TensorId id : program_.operands) {
      if (id == ir::none) {
        tensors.emplace_back();
        continue;
      }
      tensors.push_back(Tensor::borrow(plans_[next].type, plans_[next].shape, operands_[next].data()));
      ++next;
    }
    return tensors;
  }

  void fill_operands(const GateTrial& trial) {
    const int number = trial.number;
    const auto placement = [&](size_t array) {
      const auto asked = static_cast<Placement>((static_cast<size_t>(trial.placement()) + array) % 3);
      if (asked == Placement::ends_at_guard && !checks::on("gate.guard_after"))
        return Placement::off_by_one_element;
      if (asked == Placement::begins_at_guard && !checks::on("gate.guard_before"))
        return Placement::off_by_one_element;
      return asked;
    };
    for (size_t k = 0; k < operands_.size(); ++k) {
      operands_[k].place(placement(k));
      FillOptions fill_options;
      fill_options.distribution = trial.distribution;
      fill_options.magnitude = magnitude_;
      fill_options.seed = seed_ + 1000003 * static_cast<uint64_t>(number) + k;
      fill_options.special_share = special_share_;
      // Processors are slow with denormals: large operands have few.
      constexpr size_t large = 1 << 18;
      if (trial.distribution == Distribution::denormals)
        fill_options.special_share = operands_[k].bytes() < large ? 1 : 0.01;
      // Of two trials with denormals one operand has them in the first, all others in the second: a sum is as
      // small only where everything that is added is.
      const bool first = static_cast<size_t>(number / 2) % operands_.size() == k;
      fill_options.singled_out = number % 2 == 0 || operands_.size() == 1 ? first : !first;
      fill(operands_[k].data(), plans_[k], fill_options);
      operands_[k].forbid_writes();
      report_.inputs_hash = hash_of(operands_[k].data(), operands_[k].bytes(), report_.inputs_hash);
    }
    for (size_t k = 0; k < results_.size(); ++k) {
      results_[k].place(placement(operands_.size() + k));
      clear(k);
    }
  }

  void clear(size_t k) {
    mark_unwritten(results_[k].data(), results_[k].bytes(), type(k) == ElementType::f32, trial_);
  }

  ElementType type(size_t k) const { return decl(k).type; }
  const ir::TensorDecl& decl(size_t k) const {
    return program_.tensors[static_cast<size_t>(program_.outputs[k])];
  }

  /// The corners and borders, and others from trial to trial. Those that come first, where there is time for
  /// few, are of either kind and differ from trial to trial, too.
  std::vector<int64_t> sample(size_t k, const GateTrial& trial, int64_t count) {
    const std::vector<int64_t>& all = samples_[k];
    const auto asked = static_cast<size_t>(std::max({count, int64_t{64}, trial.least_samples()}));
    const size_t wanted = std::min(all.size(), asked);
    const size_t corners = std::min(all.size(), size_t{64});
    const size_t others = all.size() - corners;
    const auto first = static_cast<size_t>(trial.first_corner());
    std::vector<int64_t> chosen;
    const auto other = [&](size_t s) {
      chosen.push_back(all[corners + (s + static_cast<size_t>(trial.number) * wanted) % others]);
    };
    const size_t mixed = trial.share * trial.thinned > 1 ? std::min(corners, others) : 0;
    for (size_t s = 0; s < corners; ++s) {
      chosen.push_back(all[(first + s) % corners]);
      if (s < mixed) other(s);
    }
    for (size_t s = mixed; chosen.size() < wanted; ++s) other(s);
    chosen.resize(wanted);
    return chosen;
  }

  bool all_exact(ErrorBound& bound) {
    const bool scans = std::any_of(program_.stages.begin(), program_.stages.end(),
                                   [](const ir::Stage& stage) { return stage.step != nullptr; });
    for (size_t k = 0; k < results_.size(); ++k) {
      GateTrial some;
      some.share = 4;
      std::vector<int64_t> positions = sample(k, some, 16);
      positions.resize(std::min(positions.size(), size_t{16}));
      for (const Interval& interval : bound.at(k, positions)) {
        // What later steps of a scan give may be anything.
        if (!interval.is_certain() && !(scans && interval.is_anything())) return false;
      }
    }
    return true;
  }

  /// Bounds of as many of the positions as the work allows.
  std::vector<Interval> judge(ErrorBound& bound, size_t output, const std::vector<int64_t>& positions,
                              const GateTrial& trial) {
    const int64_t most_work = trial.part_of(options_.work);
    const int64_t before = bound.work();
    std::vector<Interval> intervals;
    for (size_t first = 0; first < positions.size();) {
      if (first > 0 && bound.work() - before > most_work) break;
      const size_t block = first == 0 ? static_cast<size_t>(trial.least_samples()) : 64;
      const size_t count = std::min(block, positions.size() - first);
      const auto more = bound.at(output, {positions.data() + first, count});
      intervals.insert(intervals.end(), more.begin(), more.end());
      first += count;
    }
    return intervals;
  }

  void call(const GateCandidate& candidate) {
    GateCall given;
    given.sizes = sizes_;
    for (const GuardedArray& operand : operands_) given.operands.push_back(operand.data());
    for (const GuardedArray& result : results_) given.results.push_back(result.data());
    const auto start = Clock::now();
    try {
      candidate(given);
    } catch (const std::exception& error) {
      if (checks::on("gate.throws"))
        throw Refusal{fmt::format("the candidate threw: {}; {}", error.what(), where_)};
    }
    report_.candidate_seconds += seconds_since(start);
    ++report_.calls;
    if (!environment_intact() && checks::on("gate.environment"))
      throw Refusal{"the candidate leaves rounding or denormals in another mode; " + where_};
    for (size_t k = 0; k < results_.size(); ++k) {
      if (!results_[k].surroundings_intact() && checks::on("gate.surroundings"))
        throw Refusal{fmt::format("bytes around {} were written; {}", decl(k).name, where_)};
    }
  }

  void check_written(size_t k) {
    if (type(k) != ElementType::f32) return;
    const int64_t element = first_unwritten(results_[k].data(), results_[k].bytes());
    if (element < 0 || !checks::on("gate.written")) return;
    throw Refusal{fmt::format("{} was not written; {}", element_text(decl(k), shapes_[k], element), where_)};
  }

  /// Of types in which every pattern of bits is a number: what looks unwritten must be right.
  void check_perhaps_unwritten(size_t k, const GateTrial& trial, const Tensor& result, ErrorBound& bound) {
    if (type(k) == ElementType::f32 || !checks::on("gate.written")) return;
    constexpr size_t most = 8;
    const std::vector<int64_t> positions =
        perhaps_unwritten(results_[k].data(), results_[k].bytes(), size_of(type(k)), trial.number, most);
    if (positions.empty()) return;
    if (type(k) == ElementType::boolean)
      throw Refusal{
          fmt::format("{} was not written; {}", element_text(decl(k), shapes_[k], positions[0]), where_)};
    const std::vector<Interval> intervals = bound.at(k, positions);
    for (size_t s = 0; s < positions.size(); ++s) check(k, result, positions[s], intervals[s]);
  }

  void check(size_t k, const Tensor& result, int64_t position, const Interval& bound) {
    ++report_.elements;
    const double got = result.get_real(position);
    bool right = true;
    if (bound.is_nan()) {
      ++report_.exact_elements;
      right = std::isnan(got) || !checks::on("gate.nan");
    } else if (bound.is_anything()) {
      ++report_.unconstrained;
    } else if (bound.is_certain()) {
      ++report_.exact_elements;
      right = got == bound.value || !checks::on("gate.exact");
      const bool zero = got == 0 && zero_signs_[k] && ir::is_float(type(k)) && checks::on("gate.zero_sign");
      if (zero) right &= std::signbit(got) == std::signbit(bound.value);
    } else {
      // What f64 lost in the computation of the bound; far less than f32 may lose.
      auto slack = [](double x) { return std::isinf(x) ? 0 : 0x1p-46 * std::fabs(x); };
      const bool within = got >= bound.low - slack(bound.low) && got <= bound.high + slack(bound.high);
      right = within || !checks::on("gate.bound");
      const double room = got > bound.value ? bound.high - bound.value : bound.value - bound.low;
      // A single rounding is always as large as its bound: no news.
      const double rounding =
          1.01 * unit_roundoff(type(k)) * std::fabs(bound.value) + least_positive(type(k));
      if (std::isfinite(room) && room > rounding)
        report_.worst_ratio = std::max(report_.worst_ratio, std::fabs(got - bound.value) / room);
    }
    if (right) return;
    throw Refusal{fmt::format("{} is {:.9g}, must be {:.9g} (any of [{:.9g}, {:.9g}]); {}",
                              element_text(decl(k), shapes_[k], position), got, bound.value, bound.low,
                              bound.high, where_)};
  }

  void compare_with_twin() {
    call(options_.twin);
    std::vector<std::vector<unsigned char>> wanted;
    for (size_t k = 0; k < results_.size(); ++k) {
      const auto* bytes = static_cast<const unsigned char*>(results_[k].data());
      wanted.emplace_back(bytes, bytes + results_[k].bytes());
      clear(k);
    }
    call(candidate_);
    for (size_t k = 0; k < results_.size(); ++k) {
      check_written(k);
      report_.elements += ir::element_count(shapes_[k]);
      if (results_[k].bytes() == 0 ||
          std::memcmp(wanted[k].data(), results_[k].data(), wanted[k].size()) == 0)
        continue;
      const Tensor want = Tensor::borrow(type(k), shapes_[k], wanted[k].data());
      const Tensor got = Tensor::borrow(type(k), shapes_[k], results_[k].data());
      const size_t size = size_of(type(k));
      for (int64_t i = 0; i < want.size(); ++i) {
        const size_t at = static_cast<size_t>(i) * size;
        const bool same =
            std::memcmp(wanted[k].data() + at, static_cast<const char*>(results_[k].data()) + at, size) == 0;
        const bool both_nan =
            ir::is_float(type(k)) && std::isnan(want.get_real(i)) && std::isnan(got.get_real(i));
        if (same || both_nan || !checks::on("gate.twin")) continue;
        throw Refusal{fmt::format("{} is {:.9g}, the twin's is {:.9g}; {}",
                                  element_text(decl(k), shapes_[k], i), got.get_real(i), want.get_real(i),
                                  where_)};
      }
    }
    report_.exact_elements = report_.elements;
  }

  const ir::Program& program_;
  const GateCandidate& candidate_;
  const GateOptions& options_;
  std::map<std::string, int64_t> sizes_;
  uint64_t seed_;
  GateReport& report_;
  std::vector<OperandPlan> plans_;
  double special_share_;
  int magnitude_ = 8;
  std::vector<GuardedArray> operands_;
  std::vector<GuardedArray> results_;
  std::vector<ir::Shape> shapes_;
  std::vector<bool> zero_signs_;
  std::vector<std::vector<int64_t>> samples_;  ///< positions in each result, in order of preference
  int trial_ = 0;
  std::string where_;
};

bool wanted(const GateOptions& options, int trial) {
  return options.only_trial < 0 || options.only_trial == trial;
}

/// What operands and results take.
int64_t memory_of(const ir::Program& program, const std::map<std::string, int64_t>& sizes) {
  size_t bytes = 0;
  for (const OperandPlan& plan : plan_operands(program, sizes)) bytes += bytes_of(plan.type, plan.shape);
  for (const ir::TensorId id : program.outputs) {
    const ir::TensorDecl& declared = program.tensors[static_cast<size_t>(id)];
    bytes += bytes_of(declared.type, shape_of(declared, as_dims(sizes)));
  }
  return static_cast<int64_t>(bytes);
}

void run_trials(const std::vector<GateTrial>& trials, bool exact_pair, Bench& bench,
                const GateOptions& options) {
  for (const GateTrial& trial : trials) {
    if (trial.exact_pair == exact_pair && wanted(options, trial.number)) bench.run(trial);
  }
}

/// Whether there are integers for which every intermediate is exact, at these sizes. What rounds at the
/// smallest ones, whatever the integers, rounds at larger ones, too: the operations are the same, and sums no
/// shorter. There it need not be asked again, which takes longer.
bool may_be_exact(const ir::Program& expression, const GateCandidate& candidate, const GateOptions& options,
                  const std::map<std::string, int64_t>& smallest) {
  GateReport unreported;
  return Bench(expression, candidate, options, smallest, options.seed, unreported).choose_magnitude();
}

void run_all(const ir::Program& expression, const GateCandidate& candidate, const GateOptions& options,
             GateReport& report) {
  std::vector<int64_t> bytes;
  for (const auto& sizes : options.sizes) bytes.push_back(memory_of(expression, sizes));
  const std::vector<std::vector<GateTrial>> trials =
      plan_gate_trials(bytes, options.large_bytes, options.thorough);
  if (options.sizes.empty()) return;
  const auto& smallest =
      options.sizes[static_cast<size_t>(std::min_element(bytes.begin(), bytes.end()) - bytes.begin())];
  const bool has_pair = options.exact_pair && !options.exact && checks::on("gate.exact_pair");
  const bool exact = !options.exact && may_be_exact(expression, candidate, options, smallest);
  GateOptions pair_options = options;
  pair_options.exact_pair.reset();
  const bool exact_pair = has_pair && may_be_exact(options.exact_pair->expression,
                                                   options.exact_pair->candidate, pair_options, smallest);
  const auto choose = [](Bench& bench, bool may_be) {
    if (may_be) {
      bench.choose_magnitude();
    } else {
      bench.keep_inexact();
    }
  };
  for (size_t s = 0; s < options.sizes.size(); ++s) {
    const uint64_t seed = options.seed * 0x9E3779B97F4A7C15u + s;
    {
      Bench bench(expression, candidate, options, options.sizes[s], seed, report);
      if (!options.exact) choose(bench, exact);
      run_trials(trials[s], false, bench, options);
    }
    if (!has_pair) continue;
    Bench pair(options.exact_pair->expression, options.exact_pair->candidate, pair_options, options.sizes[s],
               seed, report);
    choose(pair, exact_pair);
    run_trials(trials[s], true, pair, options);
  }
}

}  // namespace

Evidence test_numerically(const ir::Program& expression, const GateCandidate& candidate,
                          const GateOptions& options, GateReport* report) {
  const auto start = Clock::now();
  GateReport own;
  GateReport& done = report != nullptr ? *report : own;
  done = {};
  Evidence evidence;
  if (options.exact && !options.twin) throw Error(Fault::internal, "exactness is tested against a twin");
  try {
    run_all(expression, candidate, options, done);
    evidence.verdict = Verdict::tested;
    std::string sizes;
    for (const auto& assignment : options.sizes)
      sizes += (sizes.empty() ? "" : " | ") + sizes_text(assignment);
    const std::string share = fmt::format("{} elements, {} of them to the bit, {} unconstrained",
                                          done.elements, done.exact_elements, done.unconstrained);
    evidence.text = fmt::format(
        "seed {}; {} calls at {}; {}; {}; inputs {:016x}; {}", options.seed, done.calls, sizes, share,
        options.exact ? std::string("bit-equal to the twin")
                      : fmt::format("worst error {:.3f} of its bound{}", done.worst_ratio,
                                    options.exact_pair ? ", bit-equal with stand-ins" : ""),
        done.inputs_hash, processor());
  } catch (const Refusal& refusal) {
    evidence.verdict = Verdict::refuted;
    evidence.text = refusal.text;
  } catch (const NoBound& reason) {
    evidence.verdict = Verdict::unknown;
    evidence.text = reason.reason;
  }
  evidence.seconds = seconds_since(start);
  return evidence;
}

}  // namespace axrun::verify
