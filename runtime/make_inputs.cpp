#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/error_place.h"
#include "ir/infer.h"
#include "runtime/free_sizes.h"
#include "runtime/input_domains.h"
#include "runtime/random.h"
#include "runtime/room.h"
#include "runtime/session.h"

namespace axrun::runtime {

using ir::ElementType;
using ir::Tensor;

namespace {

constexpr int64_t small_integers = 10;

/// Integers from `low` to `high`, both included, and why.
struct Range {
  int64_t low = 0;
  int64_t high = 0;
  std::string reason;
};

/// The least bound that is known; nothing is known: 1.
int64_t least(const std::vector<ir::Dim>& bounds, const std::map<std::string, ir::Dim>& sizes) {
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (const ir::Dim& bound : bounds) {
    if (const auto size = bound.substitute(sizes).constant()) fewest = std::min(fewest, *size);
  }
  return fewest == std::numeric_limits<int64_t>::max() ? 1 : std::max<int64_t>(1, fewest);
}

bool is_mask(const Port& port) {
  return port.name.find("mask") != std::string::npos || port.name.find("Mask") != std::string::npos;
}

/// The integers that make sense for this input; an empty reason leaves floats to [-1, 1).
Range range_of(const Port& port, const InputDomain& domain, const std::map<std::string, ir::Dim>& sizes) {
  switch (domain.kind) {
    case InputDomain::Kind::index:
      return {0, least(domain.bounds, sizes) - 1, domain.reason};
    case InputDomain::Kind::length: {
      const int64_t longest = least(domain.bounds, sizes);
      return {longest, longest, domain.reason};
    }
    case InputDomain::Kind::constant:
      return {domain.value, domain.value, domain.reason};
    case InputDomain::Kind::free:
      break;
  }
  if (ir::is_float(port.type)) return {};
  if (is_mask(port)) return {1, 1, "a mask that hides nothing"};
  if (port.type == ElementType::boolean) return {0, 1, "boolean"};
  if (port.type == ElementType::u8) return {0, 255, "bytes"};
  if (!ir::is_integer(port.type)) return {};  // strings
  return {0, std::min(small_integers - 1, ir::integer_max(port.type)), "small integers"};
}

Tensor fill(const Port& port, const ir::Shape& shape, const Range& range, Random random) {
  require_room(port.name, port.type, shape);
  if (port.type == ElementType::string) {
    std::vector<std::string> texts(static_cast<size_t>(ir::element_count(shape)));
    for (std::string& text : texts) text = static_cast<char>('a' + random.below(26));
    return Tensor::from_strings(shape, std::move(texts));
  }
  Tensor tensor = Tensor::allocate_uninitialized(port.type, shape);
  const bool integers = !range.reason.empty();
  if (port.type == ElementType::f32 && !integers) {
    auto* values = tensor.as<float>();
    for (int64_t k = 0; k < tensor.size(); ++k) values[k] = static_cast<float>(2 * random.uniform() - 1);
    return tensor;
  }
  for (int64_t k = 0; k < tensor.size(); ++k) {
    if (!integers) {
      tensor.set_real(k, 2 * random.uniform() - 1);
      continue;
    }
    const int64_t value = range.low + random.below(range.high - range.low + 1);
    if (ir::is_float(port.type)) {
      tensor.set_real(k, static_cast<double>(value));
    } else {
      tensor.set_int(k, value);
    }
  }
  return tensor;
}

std::string range_text(const Port& port, const Range& range) {
  if (port.type == ElementType::string) return "letters";
  if (range.reason.empty()) return "uniform in [-1, 1)";
  if (range.low == range.high) return fmt::format("{} everywhere ({})", range.low, range.reason);
  return fmt::format("integers {} to {} ({})", range.low, range.high, range.reason);
}

/// The graph with types and dims filled in, as far as they can be known before a run.
std::shared_ptr<const ir::Graph> examined_graph(const Session& session) {
  // The other tiers have filled them in where they simplified it.
  if (session.tier() != Tier::reference) return session.model().graph;
  auto copy = std::make_shared<ir::Graph>(*session.model().graph);
  ir::Inference inference(*session.model().graph, {});
  inference.run();
  for (size_t id = 0; id < copy->values.size(); ++id) {
    const ir::ValueFact& fact = inference.fact(static_cast<ir::ValueId>(id));
    copy->values[id].dims = fact.dims;
    copy->values[id].constant = fact.constant;
  }
  return copy;
}

}  // namespace

std::vector<RuntimeValue> make_inputs(const Session& session, const SessionOptions& options, uint64_t seed,
                                      int64_t free_size, std::vector<std::string>* notes) {
  const std::vector<InputDomain> domains = input_domains(*examined_graph(session));
  const Sizes sizes = choose_free_sizes(session.inputs(), options.dims, free_size);
  std::map<std::string, ir::Dim> dims;
  for (const auto& [name, size] : sizes) dims.emplace(name, ir::Dim(size));

  std::vector<RuntimeValue> values;
  for (size_t k = 0; k < session.inputs().size(); ++k) {
    const Port& port = session.inputs()[k];
    if (port.kind == ir::ValueKind::optional) {
      values.push_back(RuntimeValue::optional({}));
      if (notes != nullptr) notes->push_back(fmt::format("{}: an empty optional", port.name));
      continue;
    }
    if (port.kind != ir::ValueKind::tensor || port.type == ElementType::undefined) {
      throw PlacedError(
          Fault::user,
          fmt::format("input '{}' is not a tensor of a known type: no values can be made up for it",
                      port.name),
          ErrorPlace::of_input(port.name));
    }
    const auto fixed = options.shapes.find(port.name);
    const ir::Shape shape = fixed != options.shapes.end() ? fixed->second : shape_under(port, sizes);
    const InputDomain domain = k < domains.size() ? domains[k] : InputDomain{};
    const Range range = range_of(port, domain, dims);
    values.emplace_back(fill(port, shape, range, Random(seed, port.name)));
    if (notes != nullptr) {
      notes->push_back(fmt::format("{}: {} {}, {}", port.name, ir::name_of(port.type), ir::to_string(shape),
                                   range_text(port, range)));
    }
  }
  return values;
}

}  // namespace axrun::runtime
