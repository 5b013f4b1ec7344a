#include "tests/verify/identity_mutants.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <random>
#include <set>
#include <sstream>

#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/known_scalars.h"
#include "tests/verify/identities.h"
#include "tests/verify/identity_mutations.h"
#include "tests/verify/limited_child.h"
#include "tests/verify/operator_terms.h"
#include "verify/equality/refutation.h"
#include "verify/tensor_equality.h"

namespace axrun::tests {
namespace {

std::optional<std::vector<ir::Tensor>> results(const ir::Program& program, std::vector<ir::Tensor> operands,
                                               bool wide) {
  for (size_t k = 0; k < operands.size(); ++k) {
    if (program.operands[k] == ir::none) operands[k] = {};
  }
  ir::EvaluateOptions options;
  options.wide = wide;
  try {
    return ir::evaluate(program, operands, options);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<ir::Tensor> random_inputs(const Inputs& inputs, const std::map<std::string, ir::Dim>& known,
                                      double scale, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<ir::Tensor> operands;
  for (size_t k = 0; k < inputs.names.size(); ++k) {
    ir::Shape shape;
    for (const ir::Dim& dim : inputs.dims[k]) shape.push_back(dim.substitute(known).value());
    ir::Tensor tensor = ir::Tensor::allocate(inputs.types[k], shape);
    for (int64_t i = 0; i < tensor.size(); ++i) {
      if (ir::is_float(inputs.types[k])) {
        tensor.set_real(i, scale * normal(random));
      } else {
        tensor.set_int(
            i, static_cast<int64_t>(random() % (inputs.types[k] == ir::ElementType::boolean ? 2 : 4)));
      }
    }
    operands.push_back(tensor);
  }
  return operands;
}

std::map<std::string, ir::Dim> sizes_at(const Inputs& inputs, int64_t value) {
  std::map<std::string, ir::Dim> known;
  for (const ir::loop::Size& size : sizes_of(inputs)) known.emplace(size.name, ir::Dim(value));
  return known;
}

/// Whether one of 100 random inputs at one size tells the sides apart, as a test with a tolerance would.
bool told_apart_at_random(const Inputs& inputs, const ir::Program& left, const ir::Program& right,
                          std::mt19937_64& random) {
  const std::map<std::string, ir::Dim> known = sizes_at(inputs, 4);
  const ir::Program a = ir::with_known_sizes(left, known), b = ir::with_known_sizes(right, known);
  for (int trial = 0; trial < 100; ++trial) {
    const std::vector<ir::Tensor> operands = random_inputs(inputs, known, 1, random);
    const auto x = results(a, operands, false), y = results(b, operands, false);
    if (x.has_value() != y.has_value()) return true;
    if (!x) continue;
    for (size_t k = 0; k < x->size(); ++k) {
      const ir::Tensor &p = (*x)[k], &q = (*y)[k];
      if (p.shape() != q.shape() || p.type() != q.type()) return true;
      for (int64_t i = 0; i < p.size(); ++i) {
        const double u = p.get_real(i), v = q.get_real(i);
        if (std::isnan(u) && std::isnan(v)) continue;
        if (!(std::abs(u - v) <= 1e-3 + 1e-3 * std::abs(v)) && u != v) return true;
      }
    }
  }
  return false;
}

/// Whether for some inputs the left side in f32 is what it is over the reals, nearly, and the right side is
/// not.
bool goes_wrong(const Inputs& inputs, const ir::Program& left, const ir::Program& right,
                std::mt19937_64& random) {
  for (const int64_t size : {3, 1, 4}) {
    const std::map<std::string, ir::Dim> known = sizes_at(inputs, size);
    const ir::Program a = ir::with_known_sizes(left, known), b = ir::with_known_sizes(right, known);
    for (const double scale : {1.0, 100.0, 1e4, 1e6, 1e9, 0.01}) {
      const std::vector<ir::Tensor> operands = random_inputs(inputs, known, scale, random);
      const auto exact = results(a, operands, true), x = results(a, operands, false),
                 y = results(b, operands, false);
      if (!exact || !x || !y || (*x)[0].shape() != (*y)[0].shape()) continue;
      double most = 1e-3;
      for (int64_t i = 0; i < (*x)[0].size(); ++i) most = std::max(most, std::abs((*exact)[0].get_real(i)));
      bool right_there = std::isfinite(most), wrong_here = false;
      for (int64_t i = 0; i < (*x)[0].size(); ++i) {
        const double e = (*exact)[0].get_real(i);
        right_there = right_there && std::abs((*x)[0].get_real(i) - e) <= 1e-4 * most;
        wrong_here = wrong_here || !(std::abs((*y)[0].get_real(i) - e) <= 1e-2 * most);
      }
      if (right_there && wrong_here) return true;
    }
  }
  return false;
}

/// What the prover says: that the sides are equal, and safe where that is the mistake; and the time it took.
struct Answer {
  bool proved = false, ended = false;
  double seconds = 0;
};

constexpr int most_seconds = 20;  ///< of processor time: the limits that the prover itself has are 5 and 5

std::string ask(const Inputs& inputs, const ir::Program& left, const ir::Program& right, bool unsafe) {
  verify::ProofOptions options;
  options.counterexample_seconds = 0;
  options.seconds = 5;
  const verify::Evidence evidence = verify::prove_equal(left, right, sizes_of(inputs), options);
  bool proved = evidence.verdict == verify::Verdict::proved;
  double seconds = evidence.seconds;
  if (unsafe && proved) {
    const verify::Evidence safety = verify::prove_safe(left, right, sizes_of(inputs), {}, options);
    proved = safety.verdict == verify::Verdict::proved;
    seconds += safety.seconds;
  }
  return fmt::format("{} {}", proved ? 1 : 0, seconds);
}

Answer answer_of(const std::optional<std::string>& text) {
  Answer answer;
  if (!text) return {false, true, most_seconds};
  std::istringstream in(*text);
  in >> answer.proved >> answer.seconds;
  return answer;
}

}  // namespace

MutantTrial try_identity_mutants(int wrong, uint64_t seed, const std::string& only,
                                 const std::function<void(const MutantTrial&)>& progress) {
  MutantTrial trial;
  std::mt19937_64 draws(seed);
  std::vector<Identity> identities = true_identities();
  const std::vector<Identity> bits = bit_identities();
  identities.insert(identities.end(), bits.begin(), bits.end());
  std::erase_if(identities,
                [&](const Identity& identity) { return identity.name.find(only) == std::string::npos; });
  std::set<std::string> known;
  for (size_t k = 0; !identities.empty() && trial.wrong < wrong && k < 100 * static_cast<size_t>(wrong);
       ++k) {
    const Identity& identity = identities[k % identities.size()];
    try {
      const auto mutation = draws() % 2 == 0 ? mutate_context(identity, draws) : mutate_term(identity, draws);
      if (!mutation) continue;
      const Identity& mutant = mutation->mutant;
      if (!known.insert(mutant.inputs + "|" + mutant.left + "|" + mutant.right).second) continue;
      const Inputs inputs = parse_inputs(mutant.inputs);
      const ir::Program left = program_of(inputs, parse_terms(mutant.left));
      const ir::Program right = program_of(inputs, parse_terms(mutant.right));
      LimitedChild prover([&] { return ask(inputs, left, right, mutation->unsafe); }, most_seconds);
      std::mt19937_64 random(seed + 1000003 * (k + 1));
      const bool confirmed =
          mutation->unsafe
              ? goes_wrong(inputs, left, right, random)
              : verify::equality::executed_difference(left, right, sizes_of(inputs), 0.5).has_value();
      const bool survives = confirmed && !told_apart_at_random(inputs, left, right, random);
      const Answer answer = answer_of(prover.result());
      trial.seconds.push_back(answer.seconds);
      trial.ended += answer.ended ? 1 : 0;
      if (!confirmed) {
        ++(answer.proved ? trial.equal_proved : trial.equal_unknown);
        continue;
      }
      ++trial.wrong;
      MutantTrial::Counts& counts = trial.by_kind[mutation->kind];
      ++counts.wrong;
      counts.unsafe += mutation->unsafe ? 1 : 0;
      if (answer.proved)
        trial.accepted.push_back(identity.name + ": " + mutant.left + " is not " + mutant.right);
      if (survives) {
        ++trial.survivors;
        ++counts.survivors;
      }
      if (progress) progress(trial);
    } catch (const std::exception&) {
      // No program.
    }
  }
  return trial;
}

}  // namespace axrun::tests
