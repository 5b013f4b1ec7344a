#include "tests/verify/identity_mutants.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <stdexcept>

#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/known_scalars.h"
#include "tests/verify/identities.h"
#include "tests/verify/operator_terms.h"
#include "verify/equality/refutation.h"
#include "verify/tensor_equality.h"

namespace axrun::tests {
namespace {

using Kind = OperatorTerm::Kind;
using Terms = std::vector<OperatorTerm>;

const std::vector<std::vector<std::string>>& families() {
  static const std::vector<std::vector<std::string>> list = {
      {"Add", "Sub", "Mul", "Div", "Max", "Min"},
      {"Exp", "Tanh", "Relu", "Neg", "Abs", "Sigmoid", "Erf", "Identity", "Sqrt"},
      {"ReduceMax", "ReduceMin", "ReduceMean", "ReduceL2", "ReduceSumSquare"},
      {"And", "Or", "Xor"},
      {"Less", "LessOrEqual", "Greater", "GreaterOrEqual"},
      {"Softmax", "LogSoftmax"},
      {"MaxPool", "AveragePool"},
  };
  return list;
}

class Mutator {
 public:
  Mutator(const Identity& identity, Terms terms, std::mt19937_64& random)
      : inputs_(parse_inputs(identity.inputs)), terms_(std::move(terms)), random_(random) {
    other_ = parse_terms(identity.left);
    for (OperatorTerm& term : terms_) collect(term, all_);
    for (OperatorTerm& term : other_) collect(term, others_);
  }

  /// What was done, or nothing where it could not be.
  std::string mutate() {
    OperatorTerm& at = *all_[below(all_.size())];
    switch (below(9)) {
      case 0:
        if (at.arguments.size() < 2) return "";
        std::swap(at.arguments[0], at.arguments[1]);
        return "operands swapped";
      case 1:
        for (const std::vector<std::string>& family : families()) {
          if (std::find(family.begin(), family.end(), at.name) == family.end()) continue;
          at.name = family[below(family.size())];
          return "another operator";
        }
        return "";
      case 2: {
        if (at.attributes.empty()) return "";
        auto entry = at.attributes.begin();
        std::advance(entry, below(at.attributes.size()));
        entry->second = changed_numbers(entry->second);
        return "another attribute";
      }
      case 3: {
        if (at.kind != Kind::sizes || at.sizes.empty()) return "";
        std::string& size = at.sizes[below(at.sizes.size())];
        size = below(3) == 0 ? at.sizes[below(at.sizes.size())] : size + (below(2) == 0 ? " + 1" : " - 1");
        return "another size";
      }
      case 4:
        if (at.kind != Kind::input) return "";
        at.name = inputs_.names[below(inputs_.names.size())];
        return "another input";
      case 5: {
        if (at.kind != Kind::number) return "";
        const double value = std::stod(at.name);
        const double values[] = {value * 2, -value, value + 1, value * 1.0009765625, 0};
        at.name = std::to_string(values[below(5)]);
        return "another number";
      }
      case 6: {
        if (at.kind != Kind::call) return "";
        const OperatorTerm kept = at.arguments[below(at.arguments.size())];
        at = kept;
        return "an operator dropped";
      }
      case 7: {
        if (at.kind == Kind::sizes) return "";
        OperatorTerm around;
        around.kind = Kind::call;
        constexpr const char* operators[] = {"Neg", "Relu", "Abs", "Tanh"};
        around.name = operators[below(4)];
        around.arguments = {at};
        at = around;
        return "an operator added";
      }
      default: {
        const OperatorTerm taken =
            *(below(2) == 0 ? all_ : others_)[below(std::min(all_.size(), others_.size()))];
        if (taken.kind == Kind::sizes || at.kind == Kind::sizes) return "";
        at = taken;
        return "another term";
      }
    }
  }
  const Terms& terms() const { return terms_; }

 private:
  size_t below(size_t count) { return static_cast<size_t>(random_() % count); }
  void collect(OperatorTerm& term, std::vector<OperatorTerm*>& found) {
    found.push_back(&term);
    for (OperatorTerm& argument : term.arguments) collect(argument, found);
  }
  /// One of the integers in a text, changed by one; or two exchanged.
  std::string changed_numbers(const std::string& text) {
    std::vector<std::pair<size_t, size_t>> places;
    for (size_t k = 0; k < text.size(); ++k) {
      const size_t first = k;
      while (k < text.size() && (std::isdigit(static_cast<unsigned char>(text[k])) != 0 || text[k] == '-'))
        ++k;
      if (k > first) places.emplace_back(first, k - first);
    }
    if (places.empty()) return text;
    const auto [first, length] = places[below(places.size())];
    const auto [other, other_length] = places[below(places.size())];
    if (below(2) == 0 && length == other_length) {
      std::string swapped = text;
      for (size_t k = 0; k < length; ++k) std::swap(swapped[first + k], swapped[other + k]);
      return swapped;
    }
    const int64_t value = std::stoll(text.substr(first, length)) + (below(2) == 0 ? 1 : -1);
    return text.substr(0, first) + std::to_string(value) + text.substr(first + length);
  }

  Inputs inputs_;
  Terms terms_, other_;
  std::vector<OperatorTerm*> all_, others_;
  std::mt19937_64& random_;
};

/// Whether one of 100 random inputs at one size tells the sides apart, as a test with a tolerance would.
bool told_apart_at_random(const Inputs& inputs, const ir::Program& left, const ir::Program& right,
                          std::mt19937_64& random) {
  std::map<std::string, ir::Dim> known;
  for (const ir::loop::Size& size : sizes_of(inputs)) known.emplace(size.name, 4);
  const ir::Program a = ir::with_known_sizes(left, known), b = ir::with_known_sizes(right, known);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<ir::Tensor> operands;
    for (size_t k = 0; k < inputs.names.size(); ++k) {
      ir::Shape shape;
      for (const ir::Dim& dim : inputs.dims[k]) shape.push_back(dim.substitute(known).value());
      ir::Tensor tensor = ir::Tensor::allocate(inputs.types[k], shape);
      for (int64_t i = 0; i < tensor.size(); ++i) {
        if (ir::is_float(inputs.types[k])) {
          tensor.set_real(i, normal(random));
        } else {
          tensor.set_int(
              i, static_cast<int64_t>(random() % (inputs.types[k] == ir::ElementType::boolean ? 2 : 4)));
        }
      }
      operands.push_back(tensor);
    }
    const auto of = [&](const ir::Program& program) -> std::optional<std::vector<ir::Tensor>> {
      std::vector<ir::Tensor> mine = operands;
      for (size_t k = 0; k < mine.size(); ++k) {
        if (program.operands[k] == ir::none) mine[k] = {};
      }
      try {
        return ir::evaluate(program, mine);
      } catch (const Error&) {
        return std::nullopt;
      }
    };
    const auto x = of(a), y = of(b);
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

}  // namespace

MutantTrial try_identity_mutants(int wrong, uint64_t seed, const std::string& only) {
  MutantTrial trial;
  std::mt19937_64 random(seed);
  std::vector<Identity> identities = true_identities();
  std::erase_if(identities,
                [&](const Identity& identity) { return identity.name.find(only) == std::string::npos; });
  for (size_t k = 0; !identities.empty() && trial.wrong < wrong && k < 100 * static_cast<size_t>(wrong);
       ++k) {
    const Identity& identity = identities[k % identities.size()];
    Mutator mutator(identity, parse_terms(identity.right), random);
    const std::string kind = mutator.mutate();
    const std::string text = text_of(mutator.terms());
    if (kind.empty() || text == text_of(parse_terms(identity.right))) continue;
    const Inputs inputs = parse_inputs(identity.inputs);
    try {
      const ir::Program left = program_of(inputs, parse_terms(identity.left));
      const ir::Program right = program_of(inputs, mutator.terms());
      verify::ProofOptions options;
      options.counterexample_seconds = 0;
      options.seconds = 10;
      verify::Evidence evidence = verify::prove_equal(left, right, sizes_of(inputs), options);
      trial.seconds.push_back(evidence.seconds);
      const bool form = evidence.verdict == verify::Verdict::refuted;  // a type or a shape
      const bool differs = form || verify::equality::executed_difference(left, right, sizes_of(inputs), 0.5);
      const bool proved = evidence.verdict == verify::Verdict::proved;
      if (!differs) {
        ++(proved ? trial.equal_proved : trial.equal_unknown);
        continue;
      }
      ++trial.wrong;
      ++trial.by_kind[kind];
      if (proved) trial.accepted.push_back(identity.name + ": " + identity.left + " is not " + text);
      ++(proved || !differs ? trial.unknown : trial.refuted);
      if (!form && !told_apart_at_random(inputs, left, right, random)) ++trial.survivors;
    } catch (const std::exception&) {
      // No program.
    }
  }
  return trial;
}

}  // namespace axrun::tests
