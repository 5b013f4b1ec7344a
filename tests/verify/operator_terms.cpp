#include "tests/verify/operator_terms.h"

#include <algorithm>
#include <deque>
#include <set>
#include <stdexcept>

#include "ir/builder.h"
#include "ir/compose.h"
#include "ir/operator.h"
#include "ir/types.h"

namespace axrun::tests {
namespace {

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \n") - first + 1);
}

/// Split at a character outside of brackets.
std::vector<std::string> parts(const std::string& text, char at) {
  std::vector<std::string> list;
  int depth = 0;
  std::string part;
  for (const char c : text) {
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    if (c == at && depth == 0) {
      list.push_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trimmed(part).empty()) list.push_back(trimmed(part));
  return list;
}

OperatorTerm parse_term(const std::string& text) {
  OperatorTerm term;
  if (text.empty()) throw std::runtime_error("an empty term");
  if (text[0] == '{') {
    term.kind = OperatorTerm::Kind::sizes;
    term.sizes = parts(text.substr(1, text.size() - 2), ',');
    return term;
  }
  const size_t open = text.find('(');
  if (open == std::string::npos) {
    const bool number = text.find_first_of("0123456789") == 0 || text[0] == '-' || text == "inf";
    term.kind = number ? OperatorTerm::Kind::number : OperatorTerm::Kind::input;
    term.name = text;
    return term;
  }
  term.kind = OperatorTerm::Kind::call;
  term.name = text.substr(0, open);
  const std::vector<std::string> halves = parts(text.substr(open + 1, text.size() - open - 2), ';');
  for (const std::string& argument : halves.empty() ? halves : parts(halves[0], ','))
    term.arguments.push_back(parse_term(argument));
  if (halves.size() > 1) {
    for (const std::string& attribute : parts(halves[1], ',')) {
      const size_t equals = attribute.find('=');
      if (equals == std::string::npos) throw std::runtime_error("no attribute: " + attribute);
      term.attributes[trimmed(attribute.substr(0, equals))] = trimmed(attribute.substr(equals + 1));
    }
  }
  return term;
}

ir::Attribute attribute_of(const std::string& text) {
  ir::Attribute attribute;
  using Kind = ir::Attribute::Kind;
  if (text[0] == '[') {
    attribute.kind = Kind::integers;
    for (const std::string& part : parts(text.substr(1, text.size() - 2), ','))
      attribute.integers.push_back(std::stoll(part));
  } else if (text.find_first_of("0123456789") > 1) {
    attribute.kind = Kind::string;
    attribute.string = text;
  } else if (text.find('.') != std::string::npos) {
    attribute.kind = Kind::real;
    attribute.real = std::stod(text);
  } else {
    attribute.kind = Kind::integer;
    attribute.integer = std::stoll(text);
  }
  return attribute;
}

class Composer {
 public:
  explicit Composer(const Inputs& inputs) : inputs_(inputs) {
    for (size_t k = 0; k < inputs.names.size(); ++k) {
      values_.push_back({inputs.types[k], inputs.dims[k]});
      outside_.push_back(static_cast<ir::ValueId>(k));
    }
  }

  ir::ValueId value(const OperatorTerm& term) {
    if (term.kind == OperatorTerm::Kind::input) {
      const auto found = std::find(inputs_.names.begin(), inputs_.names.end(), term.name);
      if (found == inputs_.names.end()) throw std::runtime_error("no input: " + term.name);
      return static_cast<ir::ValueId>(found - inputs_.names.begin());
    }
    const std::string text = term.text();
    const auto known = known_.find(text);
    if (known != known_.end()) return known->second;
    return known_[text] = term.kind == OperatorTerm::Kind::number ? number(term) : call(term);
  }

  ir::Program program(const std::vector<ir::ValueId>& outputs) {
    std::vector<ir::ValueId> wanted = outputs;
    return ir::compose("terms", parts_, outside_, wanted);
  }
  ir::Program identity(ir::ValueId input) {
    ir::Builder b("input");
    const Inputs& in = inputs_;
    const auto k = static_cast<size_t>(input);
    const ir::TensorRef x = b.operand(0, in.types[k], in.dims[k]);
    b.output(b.map(in.dims[k], [&](const ir::Indices& i) { return x(i); }));
    return b.finish();
  }
  /// Outputs must be computed: an input is copied.
  ir::ValueId copied(ir::ValueId input) {
    programs_.push_back(identity(input));
    return add({input});
  }
  bool is_input(ir::ValueId id) const { return static_cast<size_t>(id) < inputs_.names.size(); }

 private:
  struct Known {
    ir::ElementType type;
    ir::Dims dims;
  };

  ir::ValueId add(const std::vector<ir::ValueId>& operands) {
    const ir::Program& program = programs_.back();
    const ir::TensorDecl& output = program.tensors[static_cast<size_t>(program.outputs.at(0))];
    const auto id = static_cast<ir::ValueId>(values_.size());
    values_.push_back({output.type, output.dims});
    parts_.push_back({&program, operands, {id}});
    return id;
  }

  ir::ValueId number(const OperatorTerm& term) {
    ir::Builder b("number");
    const double value = std::stod(term.name);
    b.output(b.map({}, [&](const ir::Indices&) { return b.literal(ir::ElementType::f32, value); }));
    programs_.push_back(b.finish());
    return add({});
  }

  ir::ValueId call(const OperatorTerm& term) {
    ir::Node node;
    node.name = "n" + std::to_string(values_.size());
    node.op = term.name;
    node.version = term.name.rfind("Bitwise", 0) == 0 ? 18 : 17;
    for (const auto& [name, text] : term.attributes) node.attributes[name] = attribute_of(text);
    std::vector<ir::OperandInfo> infos;
    std::vector<ir::ValueId> operands;
    for (const OperatorTerm& argument : term.arguments) {
      ir::OperandInfo info;
      info.present = true;
      if (argument.kind == OperatorTerm::Kind::sizes) {
        ir::Dims dims;
        for (const std::string& size : argument.sizes)
          dims.push_back(size[0] == '-' ? ir::Dim(-std::stoll(size.substr(1))) : ir::parse_dim(size));
        elements_.push_back(dims);
        info.type = ir::ElementType::i64;
        info.dims = ir::Dims{ir::Dim(static_cast<int64_t>(dims.size()))};
        info.elements = &elements_.back();
        if (const auto constant = ir::constant_dims(dims)) {
          tensors_.push_back(ir::Tensor::from_i64(*constant));
          info.constant = &tensors_.back();
        }
        operands.push_back(ir::absent);
      } else {
        operands.push_back(value(argument));
        info.type = values_[static_cast<size_t>(operands.back())].type;
        info.dims = values_[static_cast<size_t>(operands.back())].dims;
      }
      node.inputs.push_back(static_cast<ir::ValueId>(node.inputs.size()));
      infos.push_back(info);
    }
    node.outputs = {100};
    try {
      programs_.push_back(ir::define_node(node, infos));
    } catch (const ir::NotYetKnown& unknown) {
      throw std::runtime_error(term.name + ": not known: " + unknown.what);
    }
    return add(operands);
  }

  const Inputs& inputs_;
  std::vector<Known> values_;
  std::vector<ir::ValueId> outside_;
  std::map<std::string, ir::ValueId> known_;
  std::deque<ir::Program> programs_;
  std::deque<ir::Dims> elements_;
  std::deque<ir::Tensor> tensors_;
  std::vector<ir::Part> parts_;
};

}  // namespace

std::string OperatorTerm::text() const {
  if (kind == Kind::input || kind == Kind::number) return name;
  std::string out = kind == Kind::sizes ? "{" : name + "(";
  const size_t count = kind == Kind::sizes ? sizes.size() : arguments.size();
  for (size_t k = 0; k < count; ++k)
    out += (k == 0 ? "" : ", ") + (kind == Kind::sizes ? sizes[k] : arguments[k].text());
  const char* separator = "; ";
  for (const auto& [attribute, value] : attributes) {
    out += separator + attribute + "=" + value;
    separator = ", ";
  }
  return out + (kind == Kind::sizes ? "}" : ")");
}

std::vector<OperatorTerm> parse_terms(const std::string& text) {
  std::vector<OperatorTerm> terms;
  for (const std::string& part : parts(text, '|')) terms.push_back(parse_term(part));
  return terms;
}

std::string text_of(const std::vector<OperatorTerm>& terms) {
  std::string out;
  for (const OperatorTerm& term : terms) out += (out.empty() ? "" : " | ") + term.text();
  return out;
}

Inputs parse_inputs(const std::string& text) {
  Inputs inputs;
  for (const std::string& declared : parts(text, ';')) {
    const size_t colon = declared.find(':');
    inputs.names.push_back(trimmed(declared.substr(0, colon)));
    std::string dims = trimmed(declared.substr(colon + 1));
    ir::ElementType type = ir::ElementType::f32;
    const size_t space = dims.find(' ');
    if (const auto named = ir::parse_element_type(dims.substr(0, space))) {
      type = *named;
      dims = space == std::string::npos ? "" : dims.substr(space + 1);
    }
    inputs.types.push_back(type);
    ir::Dims list;
    for (const std::string& dim : parts(dims, ',')) list.push_back(ir::parse_dim(dim));
    inputs.dims.push_back(std::move(list));
  }
  return inputs;
}

ir::Program program_of(const Inputs& inputs, const std::vector<OperatorTerm>& terms) {
  Composer composer(inputs);
  std::vector<ir::ValueId> outputs;
  for (const OperatorTerm& term : terms) {
    const ir::ValueId id = composer.value(term);
    outputs.push_back(composer.is_input(id) ? composer.copied(id) : id);
  }
  return composer.program(outputs);
}

std::vector<ir::loop::Size> sizes_of(const Inputs& inputs) {
  std::set<std::string> names;
  for (const ir::Dims& dims : inputs.dims) {
    for (const ir::Dim& dim : dims) {
      std::vector<std::string> found;
      dim.collect_symbols(found);
      names.insert(found.begin(), found.end());
    }
  }
  std::vector<ir::loop::Size> sizes;
  for (const std::string& name : names) sizes.push_back({name, 1, 64, 1});
  return sizes;
}

}  // namespace axrun::tests
