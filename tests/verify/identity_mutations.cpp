#include "tests/verify/identity_mutations.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tests/verify/operator_terms.h"

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
      {"BitwiseAnd", "BitwiseOr", "BitwiseXor"},
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

  /// The kind of mistake, or nothing where it could not be made.
  std::string mutate() {
    OperatorTerm& at = *all_[below(all_.size())];
    switch (below(9)) {
      case 0:
        if (at.arguments.size() < 2) return "";
        std::swap(at.arguments[0], at.arguments[1]);
        return "swapped operands";
      case 1:
        for (const std::vector<std::string>& family : families()) {
          if (std::find(family.begin(), family.end(), at.name) == family.end()) continue;
          at.name = family[below(family.size())];
          return "wrong operator";
        }
        return "";
      case 2: {
        if (at.attributes.empty()) return "";
        auto entry = at.attributes.begin();
        std::advance(entry, below(at.attributes.size()));
        const std::string name = entry->first;
        entry->second = changed_numbers(entry->second);
        return name.find("ax") == 0 || name == "perm" ? "wrong axis" : "wrong attribute";
      }
      case 3: {
        if (at.kind != Kind::sizes || at.sizes.empty()) return "";
        std::string& size = at.sizes[below(at.sizes.size())];
        switch (below(3)) {
          case 0:
            size = size + (below(2) == 0 ? " + 1" : " - 1");
            return "off-by-one extent";
          case 1:
            size = at.sizes[below(at.sizes.size())];
            return "wrong size";
          default: {
            const std::vector<ir::loop::Size> names = sizes_of(inputs_);
            if (names.empty() || size.find_first_not_of("0123456789") == std::string::npos) return "";
            size = below(3) == 0 ? "4" : names[below(names.size())].name;
            return "wrong size";
          }
        }
      }
      case 4:
        if (at.kind != Kind::input) return "";
        at.name = inputs_.names[below(inputs_.names.size())];
        return "wrong operand";
      case 5: {
        if (at.kind != Kind::number) return "";
        const double value = std::stod(at.name);
        const double values[] = {value * 2, -value, value + 1, value * 1.0009765625, 0};
        at.name = std::to_string(values[below(5)]);
        return "wrong number";
      }
      case 6: {
        if (at.kind != Kind::call) return "";
        const OperatorTerm kept = at.arguments[below(at.arguments.size())];
        at = kept;
        return "dropped operator";
      }
      case 7: {
        if (at.kind == Kind::sizes) return "";
        OperatorTerm around;
        around.kind = Kind::call;
        constexpr const char* operators[] = {"Neg", "Relu", "Abs", "Tanh"};
        around.name = operators[below(4)];
        around.arguments = {at};
        at = around;
        return "added operator";
      }
      default: {
        const OperatorTerm taken =
            *(below(2) == 0 ? all_ : others_)[below(std::min(all_.size(), others_.size()))];
        if (taken.kind == Kind::sizes || at.kind == Kind::sizes) return "";
        at = taken;
        return "wrong term";
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

}  // namespace

std::optional<Mutation> mutate_term(const Identity& identity, std::mt19937_64& random) {
  Mutator mutator(identity, parse_terms(identity.right), random);
  const std::string kind = mutator.mutate();
  const std::string text = text_of(mutator.terms());
  if (kind.empty() || text == text_of(parse_terms(identity.right))) return std::nullopt;
  return Mutation{kind, {identity.name, identity.inputs, identity.left, text}};
}

}  // namespace axrun::tests
