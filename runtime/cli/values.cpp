#include "runtime/cli/values.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"
#include "runtime/cli/data_values.h"
#include "runtime/cli/value_spec.h"
#include "runtime/free_sizes.h"

namespace axrun::cli {

using runtime::Port;
using runtime::RuntimeValue;
using runtime::Session;

namespace {

struct Given {
  ValueSpec spec;
  std::string text;
};

/// The specifications by port.
std::vector<std::optional<Given>> specs_of(const std::vector<std::string>& texts,
                                           const std::vector<Port>& ports, const std::string& flag) {
  std::vector<std::optional<Given>> specs(ports.size());
  for (const std::string& text : texts) {
    const auto [port, spec] = split_port_spec(text, ports, flag);
    if (specs[port]) {
      throw Error(Fault::user, fmt::format("{} {}: a second value for '{}'", flag, text, ports[port].name));
    }
    specs[port] = Given{parse_value_spec(spec), spec};
  }
  return specs;
}

/// The sizes that a given value shows for the dims that the model names.
void learn_sizes(const Port& port, const ir::Shape& shape, runtime::Sizes& sizes) {
  if (!port.dims || port.dims->size() != shape.size()) return;
  for (size_t d = 0; d < shape.size(); ++d) {
    std::vector<std::string> names;
    (*port.dims)[d].collect_symbols(names);
    if (names.size() == 1 && ir::Dim::symbol(names[0]) == (*port.dims)[d]) sizes.emplace(names[0], shape[d]);
  }
}

/// Inputs that are given in full, by --input or --data.
std::vector<std::optional<RuntimeValue>> read_given(const Session& session, const Options& options,
                                                    std::vector<std::optional<Given>>& specs,
                                                    std::vector<std::string>& origins) {
  const std::vector<Port>& ports = session.inputs();
  std::vector<std::optional<RuntimeValue>> values(ports.size());
  if (!options.data.empty()) values = read_data_inputs(options.data, ports);
  for (size_t k = 0; k < ports.size(); ++k) {
    if (values[k])
      origins[k] = fmt::format("{}: {}, from {}", ports[k].name, describe(*values[k]), options.data);
    if (!specs[k]) continue;
    values[k].reset();
    const ValueSpec& spec = specs[k]->spec;
    const bool generated = spec.source == ValueSpec::Source::zeros ||
                           spec.source == ValueSpec::Source::ones || spec.source == ValueSpec::Source::random;
    if (generated && (!spec.type || spec.source == ValueSpec::Source::random)) continue;
    values[k] = value_of(spec, ports[k], std::nullopt);
    origins[k] = fmt::format("{}: {}, {}", ports[k].name, describe(*values[k]), specs[k]->text);
  }
  return values;
}

/// Options under which the remaining inputs fit those that are given.
runtime::SessionOptions fitting_options(const Session& session, const Options& options,
                                        const std::vector<std::optional<RuntimeValue>>& values,
                                        const std::vector<std::optional<Given>>& specs) {
  const std::vector<Port>& ports = session.inputs();
  runtime::SessionOptions fitting;
  fitting.dims = options.dims;
  fitting.shapes = options.shapes;
  for (size_t k = 0; k < ports.size(); ++k) {
    if (values[k] && values[k]->kind == ir::ValueKind::tensor) {
      learn_sizes(ports[k], values[k]->tensor.shape(), fitting.dims);
    } else if (specs[k] && specs[k]->spec.type) {
      learn_sizes(ports[k], specs[k]->spec.shape, fitting.dims);
      fitting.shapes[ports[k].name] = specs[k]->spec.shape;
    }
  }
  return fitting;
}

/// Values that need the shapes of others: `zeros` and the like, and what nobody has given.
void make_remaining(const Session& session, const Options& options, int64_t free_size,
                    const std::vector<std::optional<Given>>& specs,
                    std::vector<std::optional<RuntimeValue>>& values, Inputs& inputs) {
  const std::vector<Port>& ports = session.inputs();
  const runtime::SessionOptions fitting = fitting_options(session, options, values, specs);
  std::vector<std::string> notes;
  const std::vector<RuntimeValue> made =
      runtime::make_inputs(session, fitting, options.seed, free_size, &notes);
  for (size_t k = 0; k < ports.size(); ++k) {
    if (values[k]) continue;
    if (specs[k] && specs[k]->spec.source != ValueSpec::Source::random) {
      values[k] = value_of(specs[k]->spec, ports[k], made[k].tensor.shape());
      inputs.origins[k] = fmt::format("{}: {}, {}", ports[k].name, describe(*values[k]), specs[k]->text);
    } else {
      values[k] = made[k];
      inputs.origins[k] = fmt::format("{}, seed {}", notes[k], options.seed);
    }
  }
  for (const auto& [name, size] : runtime::choose_free_sizes(ports, fitting.dims, free_size)) {
    if (fitting.dims.count(name) == 0) inputs.open_dims.push_back(fmt::format("{}={}", name, size));
  }
}

}  // namespace

const char* kind_name(ir::ValueKind kind) {
  switch (kind) {
    case ir::ValueKind::tensor:
      return "tensor";
    case ir::ValueKind::sequence:
      return "sequence";
    case ir::ValueKind::optional:
      return "optional";
    case ir::ValueKind::map:
      return "map";
  }
  return "unknown";
}

std::string describe(const RuntimeValue& value) {
  switch (value.kind) {
    case ir::ValueKind::tensor:
      return value.tensor.defined()
                 ? fmt::format("{} {}", ir::name_of(value.tensor.type()), ir::to_string(value.tensor.shape()))
                 : "nothing";
    case ir::ValueKind::sequence:
      return fmt::format("sequence of {}", value.items ? value.items->size() : 0);
    case ir::ValueKind::optional:
      return value.items && !value.items->empty() ? fmt::format("optional {}", describe(value.items->front()))
                                                  : "empty optional";
    case ir::ValueKind::map:
      return fmt::format("map of {}",
                         value.items && !value.items->empty() ? value.items->front().tensor.size() : 0);
  }
  return "unknown";
}

Inputs gather_inputs(const Session& session, const Options& options, int64_t free_size) {
  const std::vector<Port>& ports = session.inputs();
  Inputs inputs;
  inputs.origins.resize(ports.size());
  std::vector<std::optional<Given>> specs = specs_of(options.inputs, ports, "--input");
  std::vector<std::optional<RuntimeValue>> values = read_given(session, options, specs, inputs.origins);
  if (!options.data.empty()) {
    for (size_t k = 0; k < ports.size(); ++k) {
      if (values[k] || specs[k]) continue;
      throw Error(Fault::user, fmt::format("'{}' has no value for input '{}'", options.data, ports[k].name));
    }
  }
  const bool complete =
      std::all_of(values.begin(), values.end(), [](const auto& v) { return v.has_value(); });
  if (!complete) make_remaining(session, options, free_size, specs, values, inputs);
  for (auto& value : values) inputs.values.push_back(std::move(*value));
  return inputs;
}

void check_expected(const Session& session, const Options& options) {
  specs_of(options.expects, session.outputs(), "--expect");
}

std::vector<std::optional<RuntimeValue>> gather_expected(const Session& session, const Options& options,
                                                         const std::vector<RuntimeValue>& got) {
  std::vector<Port> ports = session.outputs();
  // What a run has produced is surer than what the model says of it.
  for (size_t k = 0; k < ports.size() && k < got.size(); ++k) ports[k].kind = got[k].kind;
  const std::vector<std::optional<Given>> specs = specs_of(options.expects, ports, "--expect");
  std::vector<std::optional<RuntimeValue>> expected(ports.size());
  for (size_t k = 0; k < ports.size(); ++k) {
    if (specs[k]) {
      std::optional<ir::Shape> shape;
      if (got[k].kind == ir::ValueKind::tensor) shape = got[k].tensor.shape();
      Port port = ports[k];
      if (port.type == ir::ElementType::undefined) port.type = got[k].type;
      expected[k] = value_of(specs[k]->spec, port, shape);
    } else if (!options.data.empty()) {
      expected[k] = read_data_output(options.data, k, ports[k].kind);
    }
  }
  return expected;
}

}  // namespace axrun::cli
