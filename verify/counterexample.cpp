#include "verify/counterexample.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <set>

#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/loop/interpreter.h"

namespace axrun::verify {
namespace {

using ir::Dim;
using ir::Tensor;
using ir::loop::LoopProgram;

/// Integers in the extents of loops and the sizes of scratch buffers.
void collect_literals(const Dim& dim, std::set<int64_t>& found) {
  int64_t value = 0;
  bool inside = false;
  const std::string text = dim.to_string() + " ";
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && value < 1000) value = value * 10 + (c - '0');
    if (!digit && inside && value > 1) found.insert(value);
    if (!digit) value = 0;
    inside = digit;
  }
}

void collect_literals(const ir::loop::Block& body, std::set<int64_t>& found) {
  for (const ir::loop::Statement& statement : body) {
    if (const auto* loop = std::get_if<ir::loop::Loop>(&statement)) {
      collect_literals(loop->extent, found);
      found.insert(loop->step);
      collect_literals(loop->body, found);
    }
  }
}

/// How often statements run, about: extents at the first iteration of the loops around them.
double iterations(const ir::loop::Block& body, const std::map<std::string, Dim>& known) {
  double count = 0;
  for (const ir::loop::Statement& statement : body) {
    if (std::holds_alternative<ir::loop::Compute>(statement)) count += 1;
    const auto* loop = std::get_if<ir::loop::Loop>(&statement);
    if (loop == nullptr) continue;
    std::map<std::string, Dim> inside = known;
    inside[loop->variable] = 0;
    const auto extent = loop->extent.substitute(known).constant();
    if (!extent) return 1e18;
    count += std::max(0.0, std::ceil(static_cast<double>(*extent) / static_cast<double>(loop->step))) *
             iterations(loop->body, inside);
  }
  return count;
}

/// Floats are multiples of `unit`.
Tensor random_tensor(ir::ElementType type, const ir::Shape& shape, int kind, double unit,
                     std::mt19937_64& random) {
  Tensor tensor = Tensor::allocate(type, shape);
  // Mixed, negative only (a maximum that starts at 0 is noticed), positive only.
  const int64_t low = kind == 1 ? -9 : kind == 2 ? 1 : -4, high = kind == 1 ? -1 : kind == 2 ? 9 : 4;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const int64_t value = low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
    if (ir::is_float(type)) {
      tensor.set_real(i, static_cast<double>(value) * unit);
    } else {
      tensor.set_int(i, type == ir::ElementType::boolean ? value & 1
                        : ir::is_unsigned_integer(type)  ? std::abs(value)
                                                         : value);
    }
  }
  return tensor;
}

/// Indices of the smallest dimension that they lead into, from either end.
void lead_inside(const LoopProgram& program, int buffer, const std::map<std::string, Dim>& sizes,
                 Tensor& indices) {
  int64_t size = 0;
  for (const ir::loop::Value& value : program.values) {
    for (const ir::loop::Lookup& lookup : value.access.lookups) {
      if (lookup.buffer != buffer) continue;
      const ir::loop::Buffer& table = program.buffers[static_cast<size_t>(value.access.buffer)];
      const int64_t here = table.dims[static_cast<size_t>(lookup.dimension)].substitute(sizes).value();
      size = size == 0 ? here : std::min(size, here);
    }
  }
  if (size <= 0) return;
  for (int64_t i = 0; i < indices.size(); ++i) indices.set_int(i, indices.get_int(i) % size);
}

bool differ(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return false;
  return !(std::abs(a - b) <= 1e-3 * std::max({1.0, std::abs(a), std::abs(b)}));
}

std::string described(const std::map<std::string, int64_t>& sizes) {
  std::string out;
  for (const auto& [name, value] : sizes)
    out += (out.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  return out.empty() ? "" : "at " + out + ": ";
}

std::string position_text(const ir::Shape& shape, int64_t position) {
  std::string out;
  for (size_t d = shape.size(); d-- > 0;) {
    out = std::to_string(position % shape[d]) + (out.empty() ? "" : ", ") + out;
    position /= shape[d];
  }
  return "[" + out + "]";
}

std::optional<std::string> compare(const LoopProgram& program, const ir::loop::Outcome& outcome,
                                   const std::vector<Tensor>& wanted) {
  size_t next = 0;
  for (const ir::loop::Buffer& buffer : program.buffers) {
    if (buffer.role != ir::loop::Role::output) continue;
    const Tensor &found = outcome.outputs[next], &want = wanted[next];
    ++next;
    if (found.shape() != want.shape()) return buffer.name + " has another shape";
    for (int64_t i = 0; i < want.size(); ++i) {
      const double a = found.get_real(i), b = want.get_real(i);
      if (!differ(a, b)) continue;
      return buffer.name + position_text(found.shape(), i) + " is " + std::to_string(a) +
             ", the expression gives " + std::to_string(b);
    }
  }
  return std::nullopt;
}

std::optional<std::string> try_sizes(const LoopProgram& program, const ir::Program& expression,
                                     const std::map<std::string, int64_t>& sizes, int kind,
                                     std::mt19937_64& random) {
  std::map<std::string, Dim> known(sizes.begin(), sizes.end());
  // From step to step of a recurrence with large weights, roundings grow until they look like mistakes.
  const bool recurs = std::any_of(expression.stages.begin(), expression.stages.end(),
                                  [](const ir::Stage& stage) { return stage.step != nullptr; });
  const double unit = recurs ? 0x1p-5 : 1;
  std::vector<Tensor> inputs;
  for (const ir::loop::Buffer& buffer : program.buffers) {
    if (buffer.role != ir::loop::Role::input) continue;
    ir::Shape shape;
    for (const Dim& dim : buffer.dims) shape.push_back(dim.substitute(known).value());
    inputs.push_back(random_tensor(buffer.type, shape, kind, unit, random));
    if (!ir::is_float(buffer.type))
      lead_inside(program, static_cast<int>(&buffer - program.buffers.data()), known, inputs.back());
  }
  const ir::loop::Outcome outcome = ir::loop::interpret(program, sizes, inputs);
  if (outcome.mistake) return described(sizes) + outcome.text;
  std::vector<Tensor> operands;
  size_t next = 0;
  for (const ir::TensorId id : expression.operands)
    operands.push_back(id == ir::none ? Tensor() : inputs.at(next++));
  ir::EvaluateOptions options;
  options.wide = true;
  const auto difference = compare(program, outcome, ir::evaluate(expression, operands, options));
  if (!difference) return std::nullopt;
  return described(sizes) + *difference;
}

}  // namespace

std::map<std::string, int64_t> trial_sizes(const LoopProgram& program, int trial, uint64_t seed) {
  std::set<int64_t> literals = {2, 3, 5, 7, 13, 17};
  collect_literals(program.body, literals);
  std::mt19937_64 random(seed * 1000003 + static_cast<uint64_t>(trial));
  std::map<std::string, int64_t> sizes;
  for (const ir::loop::Size& size : program.sizes) {
    std::set<int64_t> values;
    const auto offer = [&](int64_t value) {
      value = (std::max(value, size.low) + size.divisor - 1) / size.divisor * size.divisor;
      if (value <= size.high) values.insert(value);
    };
    for (const int64_t value : {size.low, int64_t{1}, size.low + 1}) offer(value);
    for (const int64_t literal : literals) {
      for (const int64_t value : {literal - 1, literal, literal + 1, 2 * literal + 1}) offer(value);
    }
    std::vector<int64_t> list(values.begin(), values.end());
    if (list.empty()) return {};
    if (list.size() > 4) std::erase_if(list, [&](int64_t value) { return value > list[3] && value > 100; });
    // Small ones first: most mistakes show there.
    const size_t most =
        trial < 4 ? std::min<size_t>(list.size(), 2 + 2 * static_cast<size_t>(trial)) : list.size();
    sizes[size.name] = list[random() % most];
  }
  return sizes;
}

std::optional<std::string> counterexample(const LoopProgram& program, const ir::Program& expression,
                                          const SearchOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::mt19937_64 random(options.seed);
  const int trials = program.sizes.empty() ? std::min(options.trials, 3) : options.trials;
  for (int trial = 0; trial < trials && seconds() < options.seconds; ++trial) {
    const auto sizes = trial_sizes(program, trial, options.seed);
    if (sizes.size() != program.sizes.size()) return std::nullopt;  // no size is claimed
    try {
      const std::map<std::string, Dim> known(sizes.begin(), sizes.end());
      if (iterations(program.body, known) > static_cast<double>(options.most_iterations)) continue;
      if (auto found = try_sizes(program, expression, sizes, trial % 3, random)) return found;
    } catch (const Error&) {
      // The inputs do not suit these sizes (a division by zero): nothing follows.
    }
  }
  return std::nullopt;
}

}  // namespace axrun::verify
