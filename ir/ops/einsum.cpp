// Einsum: the equation is parsed into labels per dimension; a contraction of one or two tensors is one
// reduction over the labels that are not kept.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "ir/ops/compute.h"
#include "ir/ops/reduction_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// A letter, or a dimension of the ellipsis: negative, so that it sorts before every letter; -1 is the last
/// one.
using Label = int;
using Labels = std::vector<Label>;

constexpr size_t no_ellipsis = std::string::npos;

/// One side of a comma: letters, and where the ellipsis stands among them.
struct Term {
  std::string letters;
  size_t ellipsis = no_ellipsis;

  /// With an ellipsis of `count` dims.
  Labels expand(size_t count) const {
    Labels labels;
    for (size_t place = 0; place <= letters.size(); ++place) {
      if (place == ellipsis) {
        for (size_t k = count; k > 0; --k) labels.push_back(-static_cast<int>(k));
      }
      if (place < letters.size()) labels.push_back(letters[place]);
    }
    return labels;
  }
};

Term parse_term(const OperatorContext& context, std::string_view text) {
  Term term;
  for (size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      term.letters.push_back(c);
    } else {
      const bool ellipsis = text.substr(k, 3) == "..." && term.ellipsis == no_ellipsis;
      context.check(ellipsis, fmt::format("the term '{}' cannot be read", text));
      term.ellipsis = term.letters.size();
      k += 2;
    }
  }
  return term;
}

struct Equation {
  std::vector<Term> inputs;
  std::optional<Term> output;
};

Equation parse_equation(const OperatorContext& context) {
  context.check(context.has_attribute("equation"), "attribute 'equation' is missing");
  std::string text = context.string("equation", "");
  std::erase(text, ' ');
  Equation equation;
  if (const size_t arrow = text.find("->"); arrow != std::string::npos) {
    equation.output = parse_term(context, std::string_view(text).substr(arrow + 2));
    text.resize(arrow);
  }
  for (size_t start = 0; start <= text.size();) {
    const size_t comma = std::min(text.find(',', start), text.size());
    equation.inputs.push_back(parse_term(context, std::string_view(text).substr(start, comma - start)));
    start = comma + 1;
  }
  context.check(
      static_cast<int>(equation.inputs.size()) == context.inputs(),
      fmt::format("the equation has {} terms for {} inputs", equation.inputs.size(), context.inputs()));
  return equation;
}

/// A tensor and the label of each of its dimensions; a label that repeats addresses a diagonal.
struct Operand {
  TensorRef tensor;
  Labels labels;
};

using Extents = std::map<Label, Dim>;

Labels default_output(const std::vector<Operand>& operands, size_t ellipsis) {
  Labels labels;
  for (size_t k = ellipsis; k > 0; --k) labels.push_back(-static_cast<int>(k));
  std::map<Label, int> uses;
  for (const Operand& operand : operands) {
    for (Label label : operand.labels) ++uses[label];
  }
  for (const auto& [label, count] : uses) {
    if (label > 0 && count == 1) labels.push_back(label);
  }
  return labels;
}

/// sum over the labels not in `kept` of the product of the operands. Sums of narrow floats are kept as
/// float32.
Operand contract(const OperatorContext& context, Builder& b, const std::vector<Operand>& operands,
                 const Labels& kept, const Extents& extents) {
  Labels summed;
  for (const Operand& operand : operands) {
    for (Label label : operand.labels) {
      const auto has = [&](const Labels& list) {
        return std::find(list.begin(), list.end(), label) != list.end();
      };
      if (!has(kept) && !has(summed)) summed.push_back(label);
    }
  }
  const auto dims_of = [&](const Labels& labels) {
    Dims dims;
    for (Label label : labels) dims.push_back(extents.at(label));
    return dims;
  };
  const auto product_at = [&](const Indices& i, const Indices& k) {
    std::map<Label, Scalar> point;
    for (size_t n = 0; n < kept.size(); ++n) point[kept[n]] = i[n];
    for (size_t n = 0; n < summed.size(); ++n) point[summed[n]] = k[n];
    Scalar value;
    for (const Operand& operand : operands) {
      Indices at;
      for (size_t d = 0; d < operand.labels.size(); ++d) {
        // A dimension of 1 is repeated along its label, be it 1 for the sizes at hand alone.
        const Dim& dim = operand.tensor.dims()[d];
        const bool spread = dim == Dim(1) || (dim != extents.at(operand.labels[d]) && context.is_one(dim));
        at.push_back(spread ? b.integer(0) : point.at(operand.labels[d]));
      }
      const Scalar element = widen(operand.tensor(at));
      value = value.defined() ? value * element : element;
    }
    return value;
  };
  const Dims dims = dims_of(kept);
  if (summed.empty()) return {b.map(dims, [&](const Indices& i) { return product_at(i, {}); }), kept};
  return {b.sum(dims, dims_of(summed), product_at), kept};
}

/// The labels of a and b that the output or a later operand uses.
Labels labels_to_keep(const std::vector<Operand>& operands, const Labels& output) {
  std::set<Label> wanted(output.begin(), output.end());
  for (size_t k = 2; k < operands.size(); ++k)
    wanted.insert(operands[k].labels.begin(), operands[k].labels.end());
  Labels kept;
  for (size_t k = 0; k < 2; ++k) {
    for (Label label : operands[k].labels) {
      if (wanted.erase(label) > 0) kept.push_back(label);
    }
  }
  return kept;
}

void define_einsum(const OperatorContext& context, Builder& b) {
  context.check(context.inputs() > 0, "at least one input is needed");
  const Equation equation = parse_equation(context);
  std::vector<Operand> operands;
  Extents extents;
  size_t ellipsis = 0;
  for (int k = 0; k < context.inputs(); ++k) {
    require_type(context, k, TypeClass::number);
    require_same_type(context, 0, k);
    const Term& term = equation.inputs[static_cast<size_t>(k)];
    const TensorRef x = operand(b, context, k);
    const size_t rank = x.dims().size();
    const bool fits =
        term.ellipsis == no_ellipsis ? rank == term.letters.size() : rank >= term.letters.size();
    context.check(fits, fmt::format("input {} of rank {} does not fit its term", k, rank));
    const size_t count = rank - term.letters.size();
    ellipsis = std::max(ellipsis, count);
    operands.push_back({x, term.expand(count)});
    for (size_t d = 0; d < rank; ++d) {
      const auto [place, added] = extents.try_emplace(operands.back().labels[d], x.dims()[d]);
      if (!added) place->second = context.broadcast({{place->second}, {x.dims()[d]}})[0];
    }
  }
  const Labels output =
      equation.output ? equation.output->expand(ellipsis) : default_output(operands, ellipsis);
  context.check(std::set<Label>(output.begin(), output.end()).size() == output.size(),
                "an output label repeats");
  for (Label label : output) context.check(extents.contains(label), "an output label is in no input");
  while (operands.size() > 2) {
    const Labels kept = labels_to_keep(operands, output);
    const Operand pair = contract(context, b, {operands[0], operands[1]}, kept, extents);
    operands.erase(operands.begin(), operands.begin() + 2);
    operands.insert(operands.begin(), pair);
  }
  const TensorRef result = contract(context, b, operands, output, extents).tensor;
  const ElementType type = context.type(0);
  if (result.type() == type) return b.output(result);
  const Dims dims = result.dims();
  b.output(b.map(dims, [&](const Indices& i) { return cast(type, result(i)); }));
}

}  // namespace

void einsum_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "Einsum", 12, define_einsum}});
}

}  // namespace axrun::ir
