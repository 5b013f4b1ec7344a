// Small remakes of models that ONNX Runtime's own tests have and that bend ONNX's rules, run in every tier.
// What is expected is what ONNX Runtime 1.32 gave.
#include <cmath>

#include "runtime/log.h"
#include "runtime/session.h"
#include "tests/onnx_import/models.h"

namespace axrun::onnx_import::test {
namespace {

using runtime::RuntimeValue;
using Values = std::vector<RuntimeValue>;

class FoundModels : public testing::TestWithParam<runtime::Tier> {
 protected:
  Values run(const ModelProto& model, const Values& inputs) const {
    runtime::SessionOptions options;
    options.threads = 1;
    options.tier = GetParam();
    const std::string bytes = model.SerializeAsString();
    const auto session = runtime::Session::load_memory(bytes.data(), bytes.size(), options);
    return session->run(inputs);
  }
};

void add_port(GraphProto& graph, bool is_input, const std::string& name, int32_t type,
              const std::vector<std::string>& dims) {
  auto* port = is_input ? graph.add_input() : graph.add_output();
  port->set_name(name);
  auto* tensor = port->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();
  for (const std::string& dim : dims) {
    auto* made = tensor->mutable_shape()->add_dim();
    if (std::isdigit(static_cast<unsigned char>(dim[0])) != 0) {
      made->set_dim_value(std::stoll(dim));
    } else {
      made->set_dim_param(dim);
    }
  }
}

ir::Tensor reals(ir::ElementType type, const std::vector<double>& values) {
  ir::Tensor tensor = ir::Tensor::allocate(type, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k) tensor.set_real(static_cast<int64_t>(k), values[k]);
  return tensor;
}

/// x -> Gelu of com.microsoft, which is not imported.
TEST_P(FoundModels, OperatorsOfADomainThatIsNotImported) {
  ModelProto model = empty_model();
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "x", {3});
  add_node(graph, "Gelu", {"x"}, {"y"}, "gelu").set_domain("com.microsoft");
  add_output(graph, "y");
  std::vector<std::string> told;
  runtime::set_log(runtime::LogLevel::warn, [&](const runtime::LogRecord& record) {
    if (std::string_view(record.event) == "model_note") told.push_back(record.fields.back().second);
  });
  const ir::Tensor y = run(model, {RuntimeValue(reals(ir::ElementType::f32, {-1, 0, 2}))})[0].tensor;
  runtime::set_log(runtime::LogLevel::off, {});
  for (int64_t k = 0; k < 3; ++k) {
    const double x = std::vector<double>{-1, 0, 2}[static_cast<size_t>(k)];
    EXPECT_NEAR(y.get_real(k), 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))), 1e-6);
  }
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("com.microsoft is not imported: version 1 is taken"), std::string::npos) << told[0];
}

/// trips, x -> Loop { iteration (of `declared` dims), condition, x -> x, `scanned`: the iteration number } ->
/// x, z
ModelProto counting_loop(const std::vector<std::string>& declared, const std::vector<std::string>& scanned,
                         const std::string& op = "Identity") {
  ModelProto model = empty_model();
  GraphProto& graph = *model.mutable_graph();
  add_port(graph, true, "trips", TensorProto::INT64, {});
  add_port(graph, true, "x", TensorProto::FLOAT, {"2"});
  NodeProto& loop = add_node(graph, "Loop", {"trips", "", "x"}, {"y", "z"}, "loop");
  GraphProto& body = *add_attribute(loop, "body", AttributeProto::GRAPH).mutable_g();
  body.set_name("body");
  add_port(body, true, "iteration", TensorProto::INT64, declared);
  add_port(body, true, "again", TensorProto::BOOL, declared);
  add_port(body, true, "state", TensorProto::FLOAT, {"2"});
  add_node(body, "Identity", {"again"}, {"more"});
  add_node(body, "Identity", {"state"}, {"next"});
  add_node(body, op, {"iteration"}, {"number"});
  add_port(body, false, "more", TensorProto::BOOL, declared);
  add_port(body, false, "next", TensorProto::FLOAT, {"2"});
  add_port(body, false, "number", TensorProto::INT64, scanned);
  add_output(graph, "y");
  add_output(graph, "z");
  return model;
}

Values with_trips(int64_t count) {
  ir::Tensor trips = ir::Tensor::allocate(ir::ElementType::i64, {});
  trips.set_int(0, count);
  return {RuntimeValue(trips), RuntimeValue(reals(ir::ElementType::f32, {3, 4}))};
}

TEST_P(FoundModels, ALoopThatMakesNoTripGivesWhatItsBodyDeclares) {
  const auto expect_scanned = [&](const ModelProto& model, int64_t trips, const ir::Shape& shape) {
    const Values results = run(model, with_trips(trips));
    EXPECT_EQ(results[0].tensor.get_real(1), 4);
    EXPECT_EQ(results[1].tensor.shape(), shape);
    EXPECT_EQ(results[1].type, ir::ElementType::i64);
  };
  for (const auto& one : {std::vector<std::string>{"1"}, {"n"}, {"5"}}) {
    expect_scanned(counting_loop(one, {"1"}), 0, {0, 1});
    expect_scanned(counting_loop(one, {"1"}), 1, {1, 1});
    expect_scanned(counting_loop(one, {"1"}), 3, {3, 1});
  }
  expect_scanned(counting_loop({}, {}), 0, {0});
  expect_scanned(counting_loop({}, {}), 2, {2});
  expect_scanned(counting_loop({"2", "k"}, {"2", "k"}, "NonZero"), 0, {0, 2, 0});
}

/// The iteration number is squeezed, and added to halves.
TEST_P(FoundModels, ABodyMayTakeTheIterationNumberForAVector) {
  ModelProto model = empty_model();
  GraphProto& graph = *model.mutable_graph();
  add_port(graph, true, "trips", TensorProto::INT64, {});
  add_port(graph, true, "x", TensorProto::FLOAT16, {"2"});
  NodeProto& loop = add_node(graph, "Loop", {"trips", "", "x"}, {"y"}, "loop");
  GraphProto& body = *add_attribute(loop, "body", AttributeProto::GRAPH).mutable_g();
  body.set_name("body");
  add_port(body, true, "iteration", TensorProto::INT64, {"1"});
  add_port(body, true, "again", TensorProto::BOOL, {"1"});
  add_port(body, true, "state", TensorProto::FLOAT16, {"2"});
  TensorProto& axes = *body.add_initializer();
  axes.set_name("axes");
  axes.set_data_type(TensorProto::INT64);
  axes.add_dims(1);
  axes.add_int64_data(0);
  add_node(body, "Squeeze", {"again", "axes"}, {"more"});
  add_node(body, "Squeeze", {"iteration", "axes"}, {"number"});
  add_int(add_node(body, "Cast", {"number"}, {"half"}), "to", TensorProto::FLOAT16);
  add_node(body, "Add", {"state", "half"}, {"next"});
  add_port(body, false, "more", TensorProto::BOOL, {});
  add_port(body, false, "next", TensorProto::FLOAT16, {"2"});
  add_output(graph, "y");
  Values inputs = with_trips(4);
  inputs[1] = RuntimeValue(reals(ir::ElementType::f16, {3, 4}));
  const Values results = run(model, inputs);
  EXPECT_EQ(results[0].type, ir::ElementType::f16);
  EXPECT_EQ(results[0].tensor.get_real(0), 9);
  EXPECT_EQ(results[0].tensor.get_real(1), 10);
}

INSTANTIATE_TEST_SUITE_P(Tiers, FoundModels,
                         testing::Values(runtime::Tier::reference, runtime::Tier::fallback,
                                         runtime::Tier::automatic),
                         [](const auto& info) {
                           return std::string(info.param == runtime::Tier::reference  ? "reference"
                                              : info.param == runtime::Tier::fallback ? "fallback"
                                                                                      : "automatic");
                         });

}  // namespace
}  // namespace axrun::onnx_import::test
