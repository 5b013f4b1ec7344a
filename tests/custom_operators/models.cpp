#include "tests/custom_operators/models.h"

#include <algorithm>
#include <cctype>

namespace axrun::custom_operators_test {

ModelMaker::ModelMaker(const std::vector<Input>& inputs, const std::vector<std::string>& outputs) {
  model_.set_ir_version(8);
  auto* standard = model_.add_opset_import();
  standard->set_version(17);
  auto* own = model_.add_opset_import();
  own->set_domain(domain);
  own->set_version(2);
  graph().set_name("graph");
  for (const Input& input : inputs) {
    auto* made = graph().add_input();
    made->set_name(input.name);
    auto* tensor = made->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(input.type);
    tensor->mutable_shape();
    for (const std::string& dim : input.dims) {
      auto* one = tensor->mutable_shape()->add_dim();
      std::isdigit(dim[0]) != 0 ? one->set_dim_value(std::stoll(dim)) : one->set_dim_param(dim);
    }
  }
  for (const std::string& output : outputs) graph().add_output()->set_name(output);
}

onnx::NodeProto& ModelMaker::node(const std::string& op, const std::vector<std::string>& inputs,
                                  const std::vector<std::string>& outputs) {
  auto* made = graph().add_node();
  made->set_op_type(op);
  made->set_name("the " + op);
  if (op.rfind("My", 0) == 0) made->set_domain(domain);
  for (const std::string& input : inputs) made->add_input(input);
  for (const std::string& output : outputs) made->add_output(output);
  return *made;
}

ModelMaker& ModelMaker::floats(const std::string& name, const std::vector<int64_t>& dims,
                               const std::vector<float>& values) {
  auto* made = graph().add_initializer();
  made->set_name(name);
  made->set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t dim : dims) made->add_dims(dim);
  for (const float value : values) made->add_float_data(value);
  return *this;
}

namespace {

onnx::AttributeProto& attribute(onnx::NodeProto& node, const std::string& name,
                                onnx::AttributeProto::AttributeType type) {
  auto* made = node.add_attribute();
  made->set_name(name);
  made->set_type(type);
  return *made;
}

}  // namespace

void set(onnx::NodeProto& node, const std::string& name, int64_t value) {
  attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}
void set(onnx::NodeProto& node, const std::string& name, double value) {
  attribute(node, name, onnx::AttributeProto::FLOAT).set_f(static_cast<float>(value));
}
void set(onnx::NodeProto& node, const std::string& name, const std::string& value) {
  attribute(node, name, onnx::AttributeProto::STRING).set_s(value);
}
void set(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
  auto& made = attribute(node, name, onnx::AttributeProto::INTS);
  for (const int64_t value : values) made.add_ints(value);
}
void set(onnx::NodeProto& node, const std::string& name, const std::vector<std::string>& values) {
  auto& made = attribute(node, name, onnx::AttributeProto::STRINGS);
  for (const std::string& value : values) made.add_strings(value);
}

Operators& Operators::add(const axrun_operator& made) {
  EXPECT_EQ(axrun_operators_add(handle_, &made), AXRUN_OK) << axrun_last_error();
  return *this;
}

std::string Operators::refused(const axrun_operator& made) {
  EXPECT_EQ(axrun_operators_add(handle_, &made), AXRUN_USER_ERROR);
  return axrun_last_error();
}

axrun_operator named(const char* name) {
  axrun_operator made = {};
  made.domain = domain;
  made.name = name;
  made.since = 1;
  return made;
}

axrun_operator with_text(const char* name, const char* text) {
  axrun_operator made = named(name);
  made.text = text;
  return made;
}

Values floats(const std::vector<int64_t>& dims, const std::vector<float>& values) {
  return {AXRUN_F32, dims, values, {}, {}};
}
Values integers(const std::vector<int64_t>& dims, const std::vector<int64_t>& values) {
  return {AXRUN_I64, dims, {}, values, {}};
}
Values strings(const std::vector<int64_t>& dims, const std::vector<std::string>& values) {
  return {AXRUN_STRING, dims, {}, {}, values};
}

Loaded::Loaded(const std::string& bytes, const Operators* operators, const How& how) {
  axrun_options* options = nullptr;
  EXPECT_EQ(axrun_options_create(&options), AXRUN_OK);
  EXPECT_EQ(axrun_options_set_tier(options, how.tier), AXRUN_OK);
  EXPECT_EQ(axrun_options_set_threads(options, how.threads), AXRUN_OK);
  EXPECT_EQ(axrun_options_set_optimize(options, how.tier == AXRUN_TIER_AUTO ? 1 : 0), AXRUN_OK);
  EXPECT_EQ(axrun_options_set_optimizer_priority(options, AXRUN_PRIORITY_NORMAL), AXRUN_OK);
  EXPECT_EQ(axrun_options_set_cache(options, how.cache.empty() ? nullptr : how.cache.c_str()), AXRUN_OK);
  if (operators != nullptr) {
    EXPECT_EQ(axrun_options_set_operators(options, operators->handle()), AXRUN_OK);
  }
  status_ = axrun_session_load_memory(bytes.data(), bytes.size(), nullptr, options, &session_);
  axrun_options_free(options);
  if (status_ != AXRUN_OK) {
    error_ = axrun_last_error();
    session_ = nullptr;
    return;
  }
  EXPECT_EQ(axrun_request_create(session_, &request_), AXRUN_OK);
}

Loaded::~Loaded() {
  axrun_request_free(request_);
  axrun_session_free(session_);
}

std::vector<Values> Loaded::run(const std::vector<Values>& inputs) {
  EXPECT_NE(session_, nullptr) << error_;
  if (session_ == nullptr) return {};
  inputs_ = inputs;  // bound tensors are read by every run
  for (size_t k = 0; k < inputs_.size(); ++k) {
    Values& given = inputs_[k];
    axrun_tensor tensor = {given.type, given.dims.size(), given.dims.data(), nullptr, 0};
    std::vector<const char*> pointers;
    if (given.type == AXRUN_F32) {
      tensor.data = given.floats.data();
      tensor.bytes = given.floats.size() * sizeof(float);
    } else if (given.type == AXRUN_I64) {
      tensor.data = given.integers.data();
      tensor.bytes = given.integers.size() * sizeof(int64_t);
    } else {
      for (const std::string& one : given.strings) pointers.push_back(one.c_str());
      tensor.data = pointers.data();
      tensor.bytes = pointers.size() * sizeof(const char*);
    }
    EXPECT_EQ(axrun_bind_input(request_, k, &tensor), AXRUN_OK) << axrun_last_error();
  }
  last_ = axrun_run(request_);
  error_ = last_ == AXRUN_OK ? "" : axrun_last_error();
  std::vector<Values> results;
  for (size_t k = 0; last_ == AXRUN_OK && k < axrun_output_count(session_); ++k) {
    axrun_tensor tensor;
    EXPECT_EQ(axrun_get_output(request_, k, &tensor), AXRUN_OK) << axrun_last_error();
    Values& made = results.emplace_back();
    made.type = tensor.type;
    made.dims.assign(tensor.dims, tensor.dims + tensor.rank);
    if (tensor.type == AXRUN_F32) {
      const auto* data = static_cast<const float*>(tensor.data);
      made.floats.assign(data, data + tensor.bytes / sizeof(float));
    } else if (tensor.type == AXRUN_I64) {
      const auto* data = static_cast<const int64_t*>(tensor.data);
      made.integers.assign(data, data + tensor.bytes / sizeof(int64_t));
    } else if (tensor.type == AXRUN_STRING) {
      const auto* data = static_cast<const char* const*>(tensor.data);
      made.strings.assign(data, data + tensor.bytes / sizeof(const char*));
    }
  }
  return results;
}

std::string Loaded::explanation() {
  char* json = nullptr;
  EXPECT_EQ(axrun_explain(request_, 2, &json), AXRUN_OK) << axrun_last_error();
  const std::string text = json == nullptr ? "" : json;
  axrun_text_free(json);
  return text;
}

}  // namespace axrun::custom_operators_test
