#include "tests/operators/case.h"

#include <fmt/format.h>

#include "ir/dim.h"

namespace axrun::runtime {

ir::ValueId Case::add(ir::Tensor tensor, bool is_constant) {
  values.push_back(std::move(tensor));
  constant.push_back(is_constant);
  return static_cast<ir::ValueId>(values.size()) - 1;
}

namespace {

std::string describe_attribute(const ir::Attribute& a) {
  using Kind = ir::Attribute::Kind;
  switch (a.kind) {
    case Kind::integer:
      return fmt::format("{}", a.integer);
    case Kind::real:
      return fmt::format("{}", a.real);
    case Kind::string:
      return a.string;
    case Kind::integers: {
      std::string list;
      for (int64_t value : a.integers) list += fmt::format("{}{}", list.empty() ? "" : ",", value);
      return "[" + list + "]";
    }
    case Kind::strings: {
      std::string list;
      for (const std::string& value : a.strings) list += (list.empty() ? "" : ",") + value;
      return "[" + list + "]";
    }
    default:
      return "...";
  }
}

}  // namespace

std::string Case::describe() const {
  std::string text;
  for (const ir::Node& node : nodes) {
    text += fmt::format("{}{}{}-{}(", text.empty() ? "" : "; ", node.domain.empty() ? "" : node.domain + ".",
                        node.op, node.version);
    for (ir::ValueId id : node.inputs) {
      if (id == ir::absent) {
        text += "-, ";
        continue;
      }
      const ir::Tensor& tensor = values[static_cast<size_t>(id)];
      if (!tensor.defined()) {
        text += fmt::format("%{}, ", id);
      } else {
        text += fmt::format("{}{}{}, ", constant[static_cast<size_t>(id)] ? "constant " : "",
                            ir::name_of(tensor.type()), ir::to_string(ir::to_dims(tensor.shape())));
      }
    }
    for (const auto& [name, attribute] : node.attributes)
      text += fmt::format("{}={}, ", name, describe_attribute(attribute));
    text += fmt::format("{} outputs)", node.outputs.size());
  }
  return text;
}

NodeBuilder::NodeBuilder(Case& to, std::string_view op, int version, std::string_view domain)
    : case_(to), position_(to.nodes.size()) {
  to.nodes.emplace_back();
  node().op = op;
  node().version = version;
  node().domain = domain;
  node().name = fmt::format("node{}", position_);
}

NodeBuilder& NodeBuilder::input(ir::Tensor tensor, bool is_constant) {
  return value(case_.add(std::move(tensor), is_constant));
}

NodeBuilder& NodeBuilder::value(ir::ValueId id) {
  node().inputs.push_back(id);
  return *this;
}

ir::Attribute& NodeBuilder::attribute(const char* name, ir::Attribute::Kind kind) {
  ir::Attribute& attribute = node().attributes[name];
  attribute.kind = kind;
  return attribute;
}

NodeBuilder& NodeBuilder::integer(const char* name, int64_t value) {
  attribute(name, ir::Attribute::Kind::integer).integer = value;
  return *this;
}
NodeBuilder& NodeBuilder::real(const char* name, double value) {
  // Attributes of files are float32.
  attribute(name, ir::Attribute::Kind::real).real = static_cast<float>(value);
  return *this;
}
NodeBuilder& NodeBuilder::text(const char* name, std::string value) {
  attribute(name, ir::Attribute::Kind::string).string = std::move(value);
  return *this;
}
NodeBuilder& NodeBuilder::integers(const char* name, std::vector<int64_t> values) {
  attribute(name, ir::Attribute::Kind::integers).integers = std::move(values);
  return *this;
}
NodeBuilder& NodeBuilder::reals(const char* name, std::vector<double> values) {
  for (double& value : values) value = static_cast<float>(value);
  attribute(name, ir::Attribute::Kind::reals).reals = std::move(values);
  return *this;
}
NodeBuilder& NodeBuilder::texts(const char* name, std::vector<std::string> values) {
  attribute(name, ir::Attribute::Kind::strings).strings = std::move(values);
  return *this;
}
NodeBuilder& NodeBuilder::tensor(const char* name, ir::Tensor value) {
  attribute(name, ir::Attribute::Kind::tensor).tensor = std::move(value);
  return *this;
}

ir::ValueId NodeBuilder::output() {
  const ir::ValueId id = case_.add({}, false);
  node().outputs.push_back(id);
  return id;
}
void NodeBuilder::no_output() { node().outputs.push_back(ir::absent); }

}  // namespace axrun::runtime
