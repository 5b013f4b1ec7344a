// Messages of the Open Inference Protocol: what they say, what is refused, and that nothing in them can do
// harm.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "ir/error.h"
#include "runtime/serve/inference_protocol.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::Tensor;
using Json = nlohmann::ordered_json;
using runtime::RuntimeValue;
using runtime::Session;

/// x: f32 [n, 2], k: i64 [3] -> y: f32 [n, 2], l: i64 [3].
std::unique_ptr<Session> session() {
  ModelMaker m;
  const auto x = m.input("x", ElementType::f32, {ir::Dim::symbol("n"), 2});
  const auto k = m.input("k", ElementType::i64, {3});
  m.output(m.node("Neg", {x}));
  m.output(m.node("Abs", {k}), ElementType::i64);
  runtime::SessionOptions options;
  options.threads = 1;
  options.tier = runtime::Tier::fallback;
  return m.session(options);
}

Json good() {
  return {{"id", "42"},
          {"inputs",
           {{{"name", "k"}, {"datatype", "INT64"}, {"shape", {3}}, {"data", {1, -2, 3}}},
            {{"name", "x"}, {"datatype", "FP32"}, {"shape", {2, 2}}, {"data", {1, 2.5, -3, 4}}}}}};
}

serve::InferenceRequest parsed(const Session& session, const Json& json) {
  const std::string body = json.dump();
  return serve::parse_request(session, body, std::nullopt);
}

std::string refusal(const Session& session, const Json& json) {
  try {
    parsed(session, json);
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::user);
    return error.what();
  }
  ADD_FAILURE() << "taken: " << json.dump();
  return "";
}

TEST(InferenceProtocol, InputsAreFoundByName) {
  const auto model = session();
  const serve::InferenceRequest request = parsed(*model, good());
  EXPECT_EQ(request.id, "42");
  ASSERT_EQ(request.inputs.size(), 2u);
  EXPECT_EQ(request.inputs[0].tensor.shape(), (ir::Shape{2, 2}));
  EXPECT_EQ(request.inputs[0].tensor.get_real(1), 2.5);
  EXPECT_EQ(request.inputs[1].tensor.get_int(1), -2);
  EXPECT_EQ(request.outputs.size(), 2u);
  const serve::InferenceAnswer answer = serve::write_answer(*model, "m", request, model->run(request.inputs));
  const Json json = Json::parse(answer.body);
  EXPECT_EQ(json["id"], "42");
  EXPECT_EQ(json["model_name"], "m");
  EXPECT_EQ(json["outputs"][0]["data"], (Json{-1, -2.5, 3, -4}));
  EXPECT_EQ(json["outputs"][1]["data"], (Json{1, 2, 3}));
  EXPECT_EQ(json["outputs"][1]["datatype"], "INT64");
}

TEST(InferenceProtocol, NestedListsAreRowMajor) {
  const auto model = session();
  Json json = good();
  json["inputs"][1]["data"] = {{1, 2.5}, {-3, 4}};
  EXPECT_EQ(parsed(*model, json).inputs[0].tensor.get_real(2), -3);
}

TEST(InferenceProtocol, BinaryDataGoesBothWays) {
  const auto model = session();
  Json json = good();
  json["inputs"][1].erase("data");
  json["inputs"][1]["parameters"] = {{"binary_data_size", 16}};
  json["outputs"] = {{{"name", "@x"}}};
  json["outputs"][0]["name"] = model->outputs()[0].name;
  json["outputs"][0]["parameters"] = {{"binary_data", true}};
  const float values[4] = {1, std::numeric_limits<float>::infinity(), -3, std::nanf("")};
  std::string body = json.dump();
  const size_t length = body.size();
  body.append(reinterpret_cast<const char*>(values), sizeof values);
  const serve::InferenceRequest request = serve::parse_request(*model, body, length);
  const serve::InferenceAnswer answer = serve::write_answer(*model, "m", request, model->run(request.inputs));
  ASSERT_TRUE(answer.json_bytes.has_value());
  EXPECT_EQ(Json::parse(answer.body.substr(0, *answer.json_bytes))["outputs"].size(), 1u);
  ASSERT_EQ(answer.body.size(), *answer.json_bytes + sizeof values);
  float results[4];
  std::memcpy(results, answer.body.data() + *answer.json_bytes, sizeof results);
  EXPECT_EQ(results[0], -1);
  EXPECT_EQ(results[1], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(results[3]));

  // The same in JSON is written as Triton's server does.
  Json plain = json;
  plain.erase("outputs");
  body = plain.dump();
  const size_t plain_length = body.size();
  body.append(reinterpret_cast<const char*>(values), sizeof values);
  const serve::InferenceRequest in_json = serve::parse_request(*model, body, plain_length);
  const std::string text = serve::write_answer(*model, "m", in_json, model->run(in_json.inputs)).body;
  EXPECT_NE(text.find("\"data\":[-1.0,-Infinity,3.0,NaN]"), std::string::npos) << text;
}

TEST(InferenceProtocol, MistakesAreNamed) {
  const auto model = session();
  const auto changed = [&](const char* pointer, const Json& value) {
    Json json = good();
    json[Json::json_pointer(pointer)] = value;
    return refusal(*model, json);
  };
  EXPECT_NE(changed("/inputs/0/name", "q").find("no input 'q'"), std::string::npos);
  EXPECT_NE(changed("/inputs/1/name", "k").find("given twice"), std::string::npos);
  EXPECT_NE(changed("/inputs/0/datatype", "INT65").find("INT65"), std::string::npos);
  EXPECT_NE(changed("/inputs/0/data/1", 1.5).find("element 1"), std::string::npos);
  EXPECT_NE(changed("/inputs/0/data/1", "two").find("element 1"), std::string::npos);
  EXPECT_NE(changed("/inputs/0/data", Json{1, 2}).find("2 elements"), std::string::npos);
  EXPECT_NE(changed("/inputs/1/data", (Json{{1, 2}, {3, 4}, {5, 6}})).find("elements"), std::string::npos);
  EXPECT_NE(changed("/inputs/1/shape", Json{-2, -2}).find("no size"), std::string::npos);
  changed("/inputs/1/shape", Json{uint64_t{1} << 40, uint64_t{1} << 40});
  changed("/inputs/1/shape", Json{int64_t{1} << 45});
  changed("/inputs/1/shape", Json{"2", 2});
  changed("/inputs/1/shape", 4);
  changed("/inputs", 4);
  changed("/inputs/0", "k");
  changed("/id", 4);
  changed("/parameters", 4);
  changed("/parameters", Json{{"timeout", "soon"}});
  changed("/parameters", Json{{"timeout", -1}});
  changed("/outputs", Json{{{"name", "none"}}});
  changed("/inputs/0/parameters", Json{{"binary_data_size", 24}});
  refusal(*model, Json::array());
  refusal(*model, Json::object());
  EXPECT_THROW(serve::parse_request(*model, "{", std::nullopt), Error);
  EXPECT_THROW(serve::parse_request(*model, "", std::nullopt), Error);
  EXPECT_THROW(serve::parse_request(*model, "{}", 3), Error);
  const std::string body = good().dump();
  EXPECT_THROW(serve::parse_request(*model, body + "rest", body.size()), Error)
      << "bytes that belong to nothing";
}

TEST(InferenceProtocol, ShapesAloneAllocateNothing) {
  const auto model = session();
  Json json = good();
  json["inputs"][1]["shape"] = {int64_t{1} << 40, 2};
  json["inputs"][1]["data"] = {{1, 2}, {3, 4}};
  refusal(*model, json);
  json["inputs"][1]["data"] = Json::array();
  refusal(*model, json);
  Json deep = Json::array({1});
  for (int k = 0; k < 2000; ++k) deep = Json::array({std::move(deep)});
  json = good();
  json["inputs"][1]["data"] = deep;
  refusal(*model, json);
}

TEST(InferenceProtocol, EveryTypeComesBackAsItWent) {
  for (const ElementType type :
       {ElementType::boolean, ElementType::u8, ElementType::u16, ElementType::u32, ElementType::u64,
        ElementType::i8, ElementType::i16, ElementType::i32, ElementType::i64, ElementType::f16,
        ElementType::f32, ElementType::f64, ElementType::string}) {
    const std::string name(serve::datatype_of(type));
    ASSERT_FALSE(name.empty());
    EXPECT_EQ(serve::type_of(name), type);
    ModelMaker m;
    m.output(m.node("Identity", {m.input("x", type, {2})}), type);
    runtime::SessionOptions options;
    options.tier = runtime::Tier::fallback;
    const auto model = m.session(options);
    Json data = type == ElementType::string    ? Json{"", "\xc3\xa4 <b>"}
                : type == ElementType::boolean ? Json{true, false}
                : ir::is_float(type)           ? Json{0.5, -2.25}
                                               : Json{0, ir::integer_max(type)};
    if (type == ElementType::u64) data = Json{0, std::numeric_limits<uint64_t>::max()};
    for (const bool binary : {false, true}) {
      const Json json = {{"inputs", {{{"name", "x"}, {"datatype", name}, {"shape", {2}}, {"data", data}}}},
                         {"parameters", {{"binary_data_output", binary}}}};
      const auto request = parsed(*model, json);
      const auto answer = serve::write_answer(*model, "m", request, model->run(request.inputs));
      const Json got = Json::parse(answer.body.substr(0, answer.json_bytes.value_or(answer.body.size())));
      if (!binary) {
        EXPECT_EQ(got["outputs"][0]["data"], data) << name;
        continue;
      }
      // What was sent as binary data is sent back as it is.
      Json again = json;
      again["inputs"][0].erase("data");
      again["inputs"][0]["parameters"] = got["outputs"][0]["parameters"];
      std::string body = again.dump();
      const size_t length = body.size();
      const std::string bytes = answer.body.substr(*answer.json_bytes);
      const auto second = serve::parse_request(*model, body += bytes, length);
      const auto echo = serve::write_answer(*model, "m", second, model->run(second.inputs));
      EXPECT_EQ(echo.body.substr(*echo.json_bytes), bytes) << name;
    }
  }
}

TEST(InferenceProtocol, DamagedMessagesAreRefusedOrRunnable) {
  const auto model = session();
  std::mt19937 random(7);
  const std::string base = good().dump();
  int taken = 0;
  for (int k = 0; k < 20000; ++k) {
    std::string body = base;
    for (unsigned change = random() % 3 + 1; change > 0; --change) {
      const size_t at = random() % body.size();
      switch (random() % 3) {
        case 0:
          body[at] = static_cast<char>(random());
          break;
        case 1:
          body.erase(at, random() % 8 + 1);
          break;
        default:
          body.insert(at, body.substr(random() % body.size(), random() % 16));
      }
      if (body.empty()) body = " ";
    }
    try {
      const bool split = random() % 4 == 0;
      const auto request = serve::parse_request(
          *model, body, split ? std::optional<size_t>(random() % (body.size() + 2)) : std::nullopt);
      ++taken;
      serve::write_answer(*model, "m", request, model->run(request.inputs));
    } catch (const Error& error) {
      EXPECT_NE(error.fault(), Fault::internal) << error.what() << " for " << body;
    }
  }
  EXPECT_GT(taken, 0);
}

/// Outputs that only a run knows have the type and the rank that the file declares.
TEST(InferenceProtocol, MetadataSaysWhatTheFileDeclares) {
  ModelMaker m;
  const auto x = m.input("x", ElementType::f32, {ir::Dim::symbol("n")});
  const auto y = m.node("Reshape", {x, m.input("sizes", ElementType::i64, {2})});
  m.output(y);
  m.graph().value(y).dims = ir::Dims{ir::Dim::symbol("rows"), 3};
  const Json metadata = serve::model_metadata(*m.session(), "m");
  EXPECT_EQ(metadata["outputs"][0]["datatype"], "FP32");
  EXPECT_EQ(metadata["outputs"][0]["shape"], Json::parse("[-1, 3]"));
}

TEST(InferenceProtocol, OnlyTensorsOfKnownTypesAreServed) {
  EXPECT_NO_THROW(serve::require_servable(*session()));
  ModelMaker m;
  m.output(m.node("Identity", {m.input("x", ElementType::f8e4m3fn, {2})}), ElementType::f8e4m3fn);
  const auto model = m.session({});
  EXPECT_THROW(serve::require_servable(*model), Error);
}

}  // namespace
}  // namespace axrun::tests
