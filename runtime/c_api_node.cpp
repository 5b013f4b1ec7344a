// What callbacks of operators ask of a node, and say of it.
#include <fmt/format.h>

#include "ir/text.h"
#include "runtime/c_api_operators.h"

using namespace axrun::c_api;
using axrun::Error;
using axrun::Fault;
namespace ir = axrun::ir;

namespace {

/// Keeps in mind what was asked for too early.
template <class Body>
axrun_status asked(axrun_node* node, const Body& body) noexcept {
  axrun_status status = AXRUN_OK;
  const axrun_status end = guarded([&] {
    require(node != nullptr, "node is NULL");
    require(node->context != nullptr, "in a call, inputs are asked of the call");
    try {
      body(*node->context);
    } catch (const ir::NotYetKnown& unknown) {
      node->unknown = unknown.what;
      status = fail(AXRUN_NOT_YET, unknown.what.c_str());
    }
  });
  return end == AXRUN_OK ? status : end;
}

int position(size_t index) {
  require(index < (size_t{1} << 30), "the index is too large");
  return static_cast<int>(index);
}

/// Null where there is none of the name; refuses another kind.
const ir::Attribute* attribute_of(const axrun_node* node, const char* name, ir::Attribute::Kind kind,
                                  const char* wanted) {
  require(node != nullptr && name != nullptr, "node or name is NULL");
  const auto found = node->node.attributes.find(name);
  if (found == node->node.attributes.end()) return nullptr;
  if (found->second.kind != kind)
    throw Error(Fault::model, fmt::format("attribute '{}' must be {}", name, wanted));
  return &found->second;
}

}  // namespace

const char* axrun_node_name(const axrun_node* node) { return node->node.name.c_str(); }
const char* axrun_node_operator(const axrun_node* node) { return node->node.op.c_str(); }
int axrun_node_version(const axrun_node* node) { return node->node.version; }

size_t axrun_node_input_count(const axrun_node* node) {
  size_t count = node->node.inputs.size();
  while (count > 0 && node->node.inputs[count - 1] == ir::absent) --count;
  return count;
}

size_t axrun_node_output_count(const axrun_node* node) {
  size_t count = node->node.outputs.size();
  while (count > 0 && node->node.outputs[count - 1] == ir::absent) --count;
  return count;
}

int axrun_node_has_input(const axrun_node* node, size_t index) {
  return static_cast<int>(index < node->node.inputs.size() && node->node.inputs[index] != ir::absent);
}

int axrun_node_wants_output(const axrun_node* node, size_t index) {
  return static_cast<int>(index < node->node.outputs.size() && node->node.outputs[index] != ir::absent);
}

axrun_status axrun_node_input_type(axrun_node* node, size_t index, int* type) {
  return asked(node, [&](const ir::OperatorContext& context) {
    require(type != nullptr, "type is NULL");
    *type = static_cast<int>(context.type(position(index)));
  });
}

axrun_status axrun_node_input_rank(axrun_node* node, size_t index, size_t* rank) {
  return asked(node, [&](const ir::OperatorContext& context) {
    require(rank != nullptr, "rank is NULL");
    *rank = context.dims(position(index)).size();
  });
}

axrun_status axrun_node_input_dims(axrun_node* node, size_t index, const int64_t** dims) {
  return asked(node, [&](const ir::OperatorContext& context) {
    require(dims != nullptr, "dims is NULL");
    auto shape = ir::constant_dims(context.dims(position(index)));
    if (!shape) throw ir::NotYetKnown{fmt::format("sizes of input {}", index)};
    shape->push_back(0);  // an address for scalars, too
    *dims = node->dims.emplace_back(std::move(*shape)).data();
  });
}

axrun_status axrun_node_input_value(axrun_node* node, size_t index, axrun_tensor* value) {
  return asked(node, [&](const ir::OperatorContext& context) {
    require(value != nullptr, "value is NULL");
    const ir::Tensor& constant = context.constant(position(index));
    const bool text = constant.type() == ir::ElementType::string;
    *value = view_of(constant, node->strings.emplace_back(text ? StringArrays(constant) : StringArrays()));
  });
}

axrun_status axrun_node_integer(axrun_node* node, const char* name, int64_t* value) {
  return guarded([&] {
    require(value != nullptr, "value is NULL");
    const auto* found = attribute_of(node, name, ir::Attribute::Kind::integer, "an integer");
    if (found != nullptr) *value = found->integer;
  });
}

axrun_status axrun_node_real(axrun_node* node, const char* name, double* value) {
  return guarded([&] {
    require(value != nullptr, "value is NULL");
    const auto* found = attribute_of(node, name, ir::Attribute::Kind::real, "a float");
    if (found != nullptr) *value = found->real;
  });
}

axrun_status axrun_node_string(axrun_node* node, const char* name, const char** value) {
  return guarded([&] {
    require(value != nullptr, "value is NULL");
    const auto* found = attribute_of(node, name, ir::Attribute::Kind::string, "a string");
    if (found != nullptr) *value = found->string.c_str();
  });
}

axrun_status axrun_node_integers(axrun_node* node, const char* name, const int64_t** values, size_t* count) {
  return guarded([&] {
    require(values != nullptr && count != nullptr, "values or count is NULL");
    const auto* found = attribute_of(node, name, ir::Attribute::Kind::integers, "a list of integers");
    if (found == nullptr) return;
    *values = found->integers.data();
    *count = found->integers.size();
  });
}

axrun_status axrun_node_reals(axrun_node* node, const char* name, const double** values, size_t* count) {
  return guarded([&] {
    require(values != nullptr && count != nullptr, "values or count is NULL");
    const auto* found = attribute_of(node, name, ir::Attribute::Kind::reals, "a list of floats");
    if (found == nullptr) return;
    *values = found->reals.data();
    *count = found->reals.size();
  });
}

axrun_status axrun_node_strings(axrun_node* node, const char* name, const char* const** values,
                                size_t* count) {
  return guarded([&] {
    require(values != nullptr && count != nullptr, "values or count is NULL");
    const auto* found = attribute_of(node, name, ir::Attribute::Kind::strings, "a list of strings");
    if (found == nullptr) return;
    std::vector<const char*>& pointers = node->pointers.emplace_back();
    for (const std::string& one : found->strings) pointers.push_back(one.c_str());
    *values = pointers.data();
    *count = pointers.size();
  });
}

axrun_status axrun_node_tensor(axrun_node* node, const char* name, axrun_tensor* value) {
  return guarded([&] {
    require(value != nullptr, "value is NULL");
    const auto* found = attribute_of(node, name, ir::Attribute::Kind::tensor, "a tensor");
    if (found == nullptr) return;
    const bool text = found->tensor.type() == ir::ElementType::string;
    *value = view_of(found->tensor,
                     node->strings.emplace_back(text ? StringArrays(found->tensor) : StringArrays()));
  });
}

axrun_status axrun_node_set_output(axrun_node* node, size_t index, int type, const int64_t* dims,
                                   size_t rank) {
  return asked(node, [&](const ir::OperatorContext& context) {
    if (index >= node->outputs.size()) {
      throw Error(Fault::model,
                  fmt::format("there is no output {}: the node has {}", index, context.outputs()));
    }
    require(type > AXRUN_UNDEFINED && type <= AXRUN_U2, "there is no such element type");
    require(rank == 0 || dims != nullptr, "dims is NULL");
    node->outputs[index] = {static_cast<ir::ElementType>(type), {dims, dims + rank}};
  });
}

axrun_status axrun_node_set_text(axrun_node* node, const char* text) {
  return asked(node, [&](const ir::OperatorContext&) {
    require(text != nullptr, "text is NULL");
    ir::Program program = ir::parse(text);
    ir::check_expression(program, true);
    node->text = std::move(program);
  });
}

axrun_status axrun_node_set_state(axrun_node* node, void* state, void (*release)(void* state)) {
  return asked(node, [&](const ir::OperatorContext&) {
    node->state = std::shared_ptr<void>(state, [release](void* kept) {
      if (release != nullptr) release(kept);
    });
  });
}

axrun_status axrun_node_fail(axrun_node* node, const char* text) {
  guarded([&] {
    require(node != nullptr && text != nullptr, "node or text is NULL");
    node->message = text;
  });
  return AXRUN_MODEL_ERROR;
}
