#include "runtime/optimizer/open_answer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

int64_t extent_of(const LinearDim& dim, const int64_t* values) {
  int64_t extent = dim.constant;
  for (const auto& [size, factor] : dim.terms) extent += factor * values[size];
  return extent;
}

}  // namespace

std::unique_ptr<const OpenAnswer> OpenAnswer::of(Known known) {
  const StepExpression& expression = *known.expression;
  if (expression.output_dims.size() != known.outputs.size()) return nullptr;
  const size_t sizes = expression.symbols.size();
  if (sizes > most_sizes || known.ranges.size() != sizes) return nullptr;
  auto answer = std::make_unique<OpenAnswer>();
  answer->known_ = std::move(known);
  answer->ports_ = expression.ports();
  while (answer->find_source()) {
  }
  if (answer->sources_.size() != sizes) return nullptr;
  answer->read_limits();
  return answer->read_verdicts() && answer->read_order() ? std::move(answer) : nullptr;
}

bool OpenAnswer::find_source() {
  const StepExpression& expression = *known_.expression;
  const auto is_told = [&](int size) {
    return std::any_of(sources_.begin(), sources_.end(),
                       [&](const Source& source) { return source.size == static_cast<size_t>(size); });
  };
  for (const StepExpression::Port& port : ports_) {
    const LinearDims& dims = expression.dims(port);
    for (size_t d = 0; d < dims.size(); ++d) {
      const auto& terms = dims[d].terms;
      const auto open =
          std::find_if(terms.begin(), terms.end(), [&](const auto& term) { return !is_told(term.first); });
      const auto several =
          open == terms.end()
              ? open
              : std::find_if(open + 1, terms.end(), [&](const auto& term) { return !is_told(term.first); });
      if (open == terms.end() || several != terms.end()) continue;
      sources_.push_back({static_cast<size_t>(open->first), port, d, open->second});
      return true;
    }
  }
  return false;
}

void OpenAnswer::read_limits() {
  for (const std::string& name : known_.expression->symbols) {
    const auto range = std::find_if(known_.ranges.begin(), known_.ranges.end(),
                                    [&](const ir::loop::Size& one) { return one.name == name; });
    if (range == known_.ranges.end()) {
      limits_.push_back({1, 0, 1, 0});  // of none
      continue;
    }
    const int64_t served = known_.tested ? verify::served_up_to(known_.tested->largest(name)) : range->high;
    limits_.push_back({range->low, range->high, range->divisor, served});
  }
  most_product_ = known_.tested ? verify::served_up_to(known_.tested->largest_product()) : INT64_MAX;
}

bool OpenAnswer::read_verdicts() {
  for (const Verdict& verdict : known_.verdicts) {
    Judged judged{{}, verdict.use};
    for (const std::string& name : known_.expression->symbols) {
      const auto found = verdict.sizes.find(name);
      if (found == verdict.sizes.end()) return false;
      judged.sizes.push_back(static_cast<double>(found->second) + 1);
    }
    verdicts_.push_back(std::move(judged));
  }
  return true;
}

bool OpenAnswer::read_order() {
  const std::vector<std::string>& symbols = known_.expression->symbols;
  if (!known_.kernel) return true;
  for (const ir::loop::Size& one : known_.kernel->code_sizes()) {
    const auto found = std::find(symbols.begin(), symbols.end(), one.name);
    if (found == symbols.end() && one.low != one.high) return false;
    if (found == symbols.end()) {
      order_.push_back({std::nullopt, one.low});
    } else {
      order_.push_back({static_cast<size_t>(found - symbols.begin()), 0});
    }
  }
  return order_.size() <= most_sizes;
}

bool OpenAnswer::has_ranks(const PortSizes& ports) const {
  return std::all_of(ports_.begin(), ports_.end(), [&](const StepExpression::Port& port) {
    const size_t rank = known_.expression->dims(port).size();
    if (port.is_output) return rank == ports.rank_of_output(static_cast<size_t>(known_.outputs[port.index]));
    return port.index < ports.inputs() && rank == ports.rank_of_input(port.index);
  });
}

int64_t OpenAnswer::extent(const PortSizes& ports, const StepExpression::Port& port, size_t d) const {
  return port.is_output ? ports.dim_of_output(static_cast<size_t>(known_.outputs[port.index]), d)
                        : ports.dim_of_input(port.index, d);
}

bool OpenAnswer::solve(const PortSizes& ports, int64_t* values) const {
  for (const Source& source : sources_) {
    const LinearDim& dim = known_.expression->dims(source.port)[source.dim];
    int64_t rest = extent(ports, source.port, source.dim) - dim.constant;
    for (const auto& [size, factor] : dim.terms) {
      if (static_cast<size_t>(size) != source.size) rest -= factor * values[size];
    }
    if (rest % source.factor != 0 || rest / source.factor < 0) return false;
    values[source.size] = rest / source.factor;
  }
  return true;
}

bool OpenAnswer::fits(const PortSizes& ports, const int64_t* values) const {
  for (const StepExpression::Port& port : ports_) {
    const LinearDims& dims = known_.expression->dims(port);
    for (size_t d = 0; d < dims.size(); ++d) {
      if (extent_of(dims[d], values) != extent(ports, port, d)) return false;
    }
  }
  return true;
}

bool OpenAnswer::is_in_range(const int64_t* values) const {
  for (size_t s = 0; s < limits_.size(); ++s) {
    const Limits& limits = limits_[s];
    if (values[s] < limits.low || values[s] > limits.high || values[s] % limits.divisor != 0) return false;
  }
  return true;
}

bool OpenAnswer::is_covered(const int64_t* values) const {
  int64_t product = 1;
  for (size_t s = 0; s < limits_.size(); ++s) {
    if (values[s] > limits_[s].served || __builtin_mul_overflow(product, values[s], &product)) return false;
  }
  return product <= most_product_;
}

const OpenAnswer::Judged* OpenAnswer::nearest(const int64_t* values) const {
  const Judged* nearest = nullptr;
  double least = 0;
  for (const Judged& verdict : verdicts_) {
    double distance = 0;
    for (size_t s = 0; verdicts_.size() > 1 && s < verdict.sizes.size(); ++s)
      distance += std::fabs(std::log2((static_cast<double>(values[s]) + 1) / verdict.sizes[s]));
    if (nearest != nullptr && distance >= least) continue;
    nearest = &verdict;
    least = distance;
  }
  return nearest;
}

OpenAnswer::Says OpenAnswer::at(const PortSizes& ports, KernelSource::Found& found) const {
  std::array<int64_t, most_sizes> values;
  const bool is_for_it = has_ranks(ports) && solve(ports, values.data()) && fits(ports, values.data());
  if (!is_for_it || !is_in_range(values.data())) return Says::not_for_it;
  found.open = known_.open_anyway;
  if (!known_.tested) return Says::found;
  if (!is_covered(values.data())) return Says::ask;
  const Judged* const verdict = nearest(values.data());
  if (verdict == nullptr || (verdict->use && known_.kernel == nullptr)) return Says::ask;
  for (size_t s = 0; s < verdict->sizes.size(); ++s) {
    const double ratio = (static_cast<double>(values[s]) + 1) / verdict->sizes[s];
    found.open = found.open || ratio > 2 || ratio < 0.5;
  }
  if (!verdict->use) return Says::found;
  std::array<int64_t, most_sizes> of_code;
  for (size_t k = 0; k < order_.size(); ++k)
    of_code[k] = order_[k].size ? values[*order_[k].size] : order_[k].fixed;
  auto bound = known_.kernel->resized(of_code.data());
  if (bound == nullptr) return Says::ask;
  const auto count = static_cast<std::ptrdiff_t>(sources_.size());
  found.kernel = make_in_block<JitKernel>(known_.parts, std::move(bound),
                                          std::vector<int64_t>(values.begin(), values.begin() + count));
  return Says::found;
}

}  // namespace axrun::runtime
