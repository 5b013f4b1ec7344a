// Operators that are told by functions.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <thread>

#include "tests/custom_operators/models.h"

namespace axrun::custom_operators_test {
namespace {

#define RETURN_IF_FAILED(call)                             \
  do {                                                     \
    const axrun_status status_of_call = (call);            \
    if (status_of_call != AXRUN_OK) return status_of_call; \
  } while (0)

struct Counts {
  std::atomic<int> defined{0}, computed{0}, released{0}, states{0};
};

/// MyScale(x; factor = 2): x * factor, and the sums of x's rows; x has any rank but 0.
axrun_status define_scale(void* context, axrun_node* node) {
  ++static_cast<Counts*>(context)->defined;
  int type = 0;
  size_t rank = 0;
  const int64_t* dims = nullptr;
  RETURN_IF_FAILED(axrun_node_input_type(node, 0, &type));
  RETURN_IF_FAILED(axrun_node_input_rank(node, 0, &rank));
  if (type != AXRUN_F32 || rank == 0) return axrun_node_fail(node, "it scales rows of f32");
  RETURN_IF_FAILED(axrun_node_input_dims(node, 0, &dims));
  RETURN_IF_FAILED(axrun_node_set_output(node, 0, AXRUN_F32, dims, rank));
  if (axrun_node_output_count(node) > 1) {
    RETURN_IF_FAILED(axrun_node_set_output(node, 1, AXRUN_F32, dims, rank - 1));
  }
  double factor = 2;
  RETURN_IF_FAILED(axrun_node_real(node, "factor", &factor));
  ++static_cast<Counts*>(context)->states;
  struct State {
    float factor;
    Counts* counts;
  };
  return axrun_node_set_state(node, new State{static_cast<float>(factor), static_cast<Counts*>(context)},
                              [](void* state) {
                                --static_cast<State*>(state)->counts->states;
                                delete static_cast<State*>(state);
                              });
}

axrun_status compute_scale(void* context, axrun_call* call) {
  ++static_cast<Counts*>(context)->computed;
  const float factor = *static_cast<float*>(axrun_call_state(call));
  axrun_tensor x, y, sums = {};
  RETURN_IF_FAILED(axrun_call_input(call, 0, &x));
  RETURN_IF_FAILED(axrun_call_output(call, 0, &y));
  if (axrun_call_output_count(call) > 1) RETURN_IF_FAILED(axrun_call_output(call, 1, &sums));
  struct Work {
    const float* x;
    float* y;
    float* sums;
    int64_t width;
    float factor;
  };
  const int64_t width = x.dims[x.rank - 1];
  const int64_t rows = width == 0 ? 0 : static_cast<int64_t>(x.bytes / sizeof(float)) / width;
  Work work = {static_cast<const float*>(x.data), static_cast<float*>(y.data), static_cast<float*>(sums.data),
               width, factor};
  return axrun_call_parallel_for(
      call, rows,
      [](void* given, int64_t begin, int64_t end) {
        const Work& todo = *static_cast<Work*>(given);
        for (int64_t row = begin; row < end; ++row) {
          float sum = 0;
          for (int64_t c = row * todo.width; c < (row + 1) * todo.width; ++c) {
            sum += todo.x[c];
            if (todo.y != nullptr) todo.y[c] = todo.factor * todo.x[c];
          }
          if (todo.sums != nullptr) todo.sums[row] = sum;
        }
      },
      &work);
}

axrun_operator scale(Counts& counts) {
  axrun_operator made = named("MyScale");
  made.define = define_scale;
  made.compute = compute_scale;
  made.context = &counts;
  made.release = [](void* context) { ++static_cast<Counts*>(context)->released; };
  return made;
}

TEST(CustomKernel, RunsBetweenOthersAtEveryShape) {
  Counts counts;
  {
    Operators operators;
    operators.add(scale(counts));
    ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"n", "c"}}}, {"y", "s"});
    model.node("Neg", {"x"}, {"minus"});
    set(model.node("MyScale", {"minus"}, {"scaled", "sums"}), "factor", 3.0);
    model.node("Relu", {"scaled"}, {"y"});
    model.node("Abs", {"sums"}, {"s"});
    for (const int tier : {AXRUN_TIER_REFERENCE, AXRUN_TIER_FALLBACK, AXRUN_TIER_AUTO}) {
      Loaded loaded(model.bytes(), &operators, {tier, 2, ""});
      for (const int64_t n : {2, 5, 0}) {
        std::vector<float> x;
        for (int64_t k = 0; k < 3 * n; ++k) x.push_back(static_cast<float>(k) - 4);
        const std::vector<Values> results = loaded.run({floats({n, 3}, x)});
        ASSERT_EQ(results.size(), 2U) << loaded.error();
        ASSERT_EQ(results[0].dims, (std::vector<int64_t>{n, 3}));
        ASSERT_EQ(results[1].dims, (std::vector<int64_t>{n}));
        for (int64_t k = 0; k < 3 * n; ++k)
          EXPECT_EQ(results[0].floats[static_cast<size_t>(k)],
                    std::max(0.0F, -3 * x[static_cast<size_t>(k)]));
        for (size_t row = 0; row < static_cast<size_t>(n); ++row)
          EXPECT_EQ(results[1].floats[row], std::abs(x[3 * row] + x[3 * row + 1] + x[3 * row + 2]));
      }
    }
    EXPECT_GT(counts.computed, 0);
    EXPECT_EQ(counts.released, 0);
  }
  EXPECT_EQ(counts.released, 1);
  EXPECT_EQ(counts.states, 0);
}

TEST(CustomKernel, SessionsKeepWhatTheyUse) {
  Counts counts;
  ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"2"}}}, {"y"});
  model.node("MyScale", {"x"}, {"y"});
  auto operators = std::make_unique<Operators>();
  operators->add(scale(counts));
  {
    Loaded loaded(model.bytes(), operators.get());
    operators = nullptr;
    EXPECT_EQ(counts.released, 0);
    EXPECT_EQ(loaded.run({floats({2}, {1, 2})})[0].floats, (std::vector<float>{2, 4}));
  }
  EXPECT_EQ(counts.released, 1);
}

TEST(CustomKernel, IsReleasedOnlyWhereItWasAdded) {
  Counts counts;
  Operators operators;
  operators.add(scale(counts));
  operators.refused(scale(counts));
  EXPECT_EQ(counts.released, 0);
}

TEST(CustomKernel, OutputsThatNobodyReadsAreNotComputed) {
  Counts counts;
  Operators operators;
  operators.add(scale(counts));
  ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"n", "2"}}}, {"s"});
  model.node("MyScale", {"x"}, {"unread", "s"});
  model.node("MyScale", {"x"}, {"dead"});
  Loaded loaded(model.bytes(), &operators);
  EXPECT_EQ(loaded.run({floats({1, 2}, {1, 2})})[0].floats, (std::vector<float>{3}));
  EXPECT_EQ(counts.computed, 1);
}

TEST(CustomKernel, RunsFromManyThreadsAtOnce) {
  Counts counts;
  Operators operators;
  operators.add(scale(counts));
  ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"n", "4"}}}, {"y"});
  model.node("MyScale", {"x"}, {"y"});
  Loaded loaded(model.bytes(), &operators, {AXRUN_TIER_AUTO, 2, ""});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 1; t <= 8; ++t) {
    threads.emplace_back([&, t] {
      axrun_request* request = nullptr;
      if (axrun_request_create(loaded.session(), &request) != AXRUN_OK) return void(++wrong);
      for (int k = 0; k < 50; ++k) {
        std::vector<float> x(static_cast<size_t>(4 * t), static_cast<float>(k));
        const int64_t dims[] = {t, 4};
        const axrun_tensor input = {AXRUN_F32, 2, dims, x.data(), x.size() * sizeof(float)};
        axrun_tensor y = {};
        if (axrun_bind_input(request, 0, &input) != AXRUN_OK || axrun_run(request) != AXRUN_OK ||
            axrun_get_output(request, 0, &y) != AXRUN_OK || y.bytes != input.bytes) {
          ++wrong;
          break;
        }
        for (size_t e = 0; e < x.size(); ++e) wrong += static_cast<const float*>(y.data)[e] != 2 * x[e];
      }
      axrun_request_free(request);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(CustomKernel, RunsInBodies) {
  Counts counts;
  Operators operators;
  operators.add(scale(counts));
  ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"n"}}, {"which", onnx::TensorProto::BOOL, {}}}, {"y"});
  auto& node = model.node("If", {"which"}, {"y"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto* attribute = node.add_attribute();
    attribute->set_name(branch);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    auto* body = attribute->mutable_g();
    body->set_name(branch);
    body->add_output()->set_name(branch);
    auto* inner = body->add_node();
    inner->set_name("inner");
    inner->set_domain(domain);
    inner->set_op_type("MyScale");
    inner->add_input("x");
    inner->add_output(branch);
    set(*inner, "factor", branch[0] == 't' ? 10.0 : 100.0);
  }
  Loaded loaded(model.bytes(), &operators);
  ASSERT_EQ(loaded.status(), AXRUN_OK) << loaded.error();
  for (uint8_t which = 0; which < 2; ++which) {
    axrun_request* request = nullptr;
    ASSERT_EQ(axrun_request_create(loaded.session(), &request), AXRUN_OK);
    float x[] = {1, 2};
    const int64_t dims[] = {2};
    const axrun_tensor input = {AXRUN_F32, 1, dims, x, sizeof x};
    const axrun_tensor condition = {AXRUN_BOOL, 0, nullptr, &which, 1};
    ASSERT_EQ(axrun_bind_input(request, 0, &input), AXRUN_OK);
    ASSERT_EQ(axrun_bind_input(request, 1, &condition), AXRUN_OK);
    ASSERT_EQ(axrun_run(request), AXRUN_OK) << axrun_last_error();
    axrun_tensor y = {};
    ASSERT_EQ(axrun_get_output(request, 0, &y), AXRUN_OK);
    EXPECT_EQ(static_cast<const float*>(y.data)[1], which != 0 ? 20 : 200);
    axrun_request_free(request);
  }
}

TEST(CustomKernel, ComputesInPlaceOfATextUntilSomethingFasterIsMade) {
  struct Energy {
    std::atomic<int> calls{0};
  } energy;
  axrun_operator made = with_text("MyEnergy",
                                  "program Energy(x: f32[n, c]) -> (y) {\n"
                                  "  y: f32[n] = reduce sum (i: n; j: c) { x[i, j] * x[i, j] }\n"
                                  "}");
  made.context = &energy;
  made.compute = [](void* context, axrun_call* call) {
    ++static_cast<Energy*>(context)->calls;
    axrun_tensor x, y;
    RETURN_IF_FAILED(axrun_call_input(call, 0, &x));
    RETURN_IF_FAILED(axrun_call_output(call, 0, &y));
    for (int64_t n = 0; n < x.dims[0]; ++n) {
      float sum = 0;
      for (int64_t c = 0; c < x.dims[1]; ++c) {
        const float value = static_cast<const float*>(x.data)[n * x.dims[1] + c];
        sum += value * value;
      }
      static_cast<float*>(y.data)[n] = sum;
    }
    return AXRUN_OK;
  };
  Operators operators;
  operators.add(made);
  ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"n", "2"}}}, {"y"});
  model.node("MyEnergy", {"x"}, {"y"});
  Loaded loaded(model.bytes(), &operators);
  EXPECT_EQ(loaded.run({floats({2, 2}, {1, 2, 3, 4})})[0].floats, (std::vector<float>{5, 25}));
  EXPECT_EQ(energy.calls, 1);
  Loaded reference(model.bytes(), &operators, {AXRUN_TIER_REFERENCE, 1, ""});
  EXPECT_EQ(reference.run({floats({2, 2}, {1, 2, 3, 4})})[0].floats, (std::vector<float>{5, 25}));
  EXPECT_EQ(energy.calls, 1);  // the text is what it means
}

TEST(CustomKernel, IsCalledByStagesOfAText) {
  // Twice what the kernel gives: as many numbers as are not negative.
  axrun_operator made = with_text("MyKept",
                                  "program Kept(x: f32[n]) -> (y) {\n"
                                  "  kept: f32[m] = opaque custom(x)\n"
                                  "  y: f32[m] = map (i: m) { 2:f32 * kept[i] }\n"
                                  "}");
  made.compute = [](void*, axrun_call* call) {
    axrun_tensor x, y;
    RETURN_IF_FAILED(axrun_call_input(call, 0, &x));
    const auto* begin = static_cast<const float*>(x.data);
    const auto* end = begin + x.dims[0];
    const int64_t count = std::count_if(begin, end, [](float value) { return value >= 0; });
    RETURN_IF_FAILED(axrun_call_make_output(call, 0, &count, 1, &y));
    std::copy_if(begin, end, static_cast<float*>(y.data), [](float value) { return value >= 0; });
    return AXRUN_OK;
  };
  Operators operators;
  operators.add(made);
  ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"n"}}}, {"y"});
  model.node("MyKept", {"x"}, {"kept"});
  model.node("Neg", {"kept"}, {"y"});
  for (const int tier : {AXRUN_TIER_REFERENCE, AXRUN_TIER_FALLBACK}) {
    Loaded loaded(model.bytes(), &operators, {tier, 1, ""});
    for (int k = 0; k < 2; ++k) {
      const std::vector<Values> results = loaded.run({floats({4}, {1, -2, 3, -4})});
      ASSERT_EQ(results.size(), 1U) << loaded.error();
      EXPECT_EQ(results[0].floats, (std::vector<float>{-2, -6}));
    }
    EXPECT_EQ(loaded.run({floats({1}, {-1})})[0].dims, (std::vector<int64_t>{0}));
  }
}

TEST(CustomKernel, ShapesMayFollowFromValues) {
  // MyRepeat(x, times): x as often.
  axrun_operator made = named("MyRepeat");
  made.define = [](void*, axrun_node* node) {
    axrun_tensor times;
    const int64_t* dims = nullptr;
    RETURN_IF_FAILED(axrun_node_input_value(node, 1, &times));
    RETURN_IF_FAILED(axrun_node_input_dims(node, 0, &dims));
    const int64_t size = dims[0] * *static_cast<const int64_t*>(times.data);
    return axrun_node_set_output(node, 0, AXRUN_F32, &size, 1);
  };
  made.compute = [](void*, axrun_call* call) {
    axrun_tensor x, y;
    RETURN_IF_FAILED(axrun_call_input(call, 0, &x));
    RETURN_IF_FAILED(axrun_call_output(call, 0, &y));
    for (size_t at = 0; at < y.bytes; at += x.bytes)
      std::memcpy(static_cast<char*>(y.data) + at, x.data, x.bytes);
    return AXRUN_OK;
  };
  Operators operators;
  operators.add(made);
  ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"n"}}, {"times", onnx::TensorProto::INT64, {}}}, {"y"});
  model.node("MyRepeat", {"x", "times"}, {"y"});
  for (const int tier : {AXRUN_TIER_REFERENCE, AXRUN_TIER_FALLBACK}) {
    Loaded loaded(model.bytes(), &operators, {tier, 1, ""});
    for (const int64_t times : {2, 1, 3}) {
      const std::vector<Values> results = loaded.run({floats({2}, {5, 6}), integers({}, {times})});
      ASSERT_EQ(results.size(), 1U) << loaded.error();
      EXPECT_EQ(results[0].floats.size(), static_cast<size_t>(2 * times));
      EXPECT_EQ(results[0].floats.back(), 6);
    }
  }
}

TEST(CustomKernel, ReadsAndWritesStrings) {
  // MyWords(text; separator): the words of all texts, and how many each has.
  axrun_operator made = named("MyWords");
  made.define = [](void*, axrun_node* node) {
    const int64_t open = -1;
    const int64_t* dims = nullptr;
    RETURN_IF_FAILED(axrun_node_input_dims(node, 0, &dims));
    RETURN_IF_FAILED(axrun_node_set_output(node, 0, AXRUN_STRING, &open, 1));
    return axrun_node_set_output(node, 1, AXRUN_I64, dims, 1);
  };
  made.compute = [](void*, axrun_call* call) {
    axrun_tensor texts, counts;
    const char* separator = " ";
    RETURN_IF_FAILED(axrun_node_string(axrun_call_node(call), "separator", &separator));
    RETURN_IF_FAILED(axrun_call_input(call, 0, &texts));
    RETURN_IF_FAILED(axrun_call_output(call, 1, &counts));
    std::vector<std::string> words;
    for (int64_t k = 0; k < texts.dims[0]; ++k) {
      const std::string text = static_cast<const char* const*>(texts.data)[k];
      const size_t before = words.size();
      for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(separator, at), text.size());
        if (end > at) words.push_back(text.substr(at, end - at));
        at = end + 1;
      }
      static_cast<int64_t*>(counts.data)[k] = static_cast<int64_t>(words.size() - before);
    }
    std::vector<const char*> pointers;
    for (const std::string& word : words) pointers.push_back(word.c_str());
    const auto count = static_cast<int64_t>(words.size());
    return axrun_call_set_strings(call, 0, &count, 1, pointers.data(), nullptr);
  };
  Operators operators;
  operators.add(made);
  ModelMaker model({{"text", onnx::TensorProto::STRING, {"n"}}}, {"words", "counts"});
  set(model.node("MyWords", {"text"}, {"words", "counts"}), "separator", std::string("-"));
  for (const int tier : {AXRUN_TIER_REFERENCE, AXRUN_TIER_FALLBACK}) {
    Loaded loaded(model.bytes(), &operators, {tier, 1, ""});
    const std::vector<Values> results = loaded.run({strings({2}, {"a-bc", "-d"})});
    ASSERT_EQ(results.size(), 2U) << loaded.error();
    EXPECT_EQ(results[0].strings, (std::vector<std::string>{"a", "bc", "d"}));
    EXPECT_EQ(results[1].integers, (std::vector<int64_t>{2, 1}));
  }
}

TEST(CustomKernel, AttributesOfEveryKind) {
  axrun_operator made = named("MyAttributes");
  made.define = [](void*, axrun_node* node) {
    int64_t integer = -1, missing = 7;
    const int64_t* integers = nullptr;
    const char* const* texts = nullptr;
    const double* reals = nullptr;
    size_t count = 0, text_count = 0, real_count = 5;
    RETURN_IF_FAILED(axrun_node_integer(node, "integer", &integer));
    RETURN_IF_FAILED(axrun_node_integer(node, "missing", &missing));
    RETURN_IF_FAILED(axrun_node_integers(node, "integers", &integers, &count));
    RETURN_IF_FAILED(axrun_node_strings(node, "texts", &texts, &text_count));
    RETURN_IF_FAILED(axrun_node_reals(node, "no reals", &reals, &real_count));
    const bool good = integer == 3 && missing == 7 && count == 2 && integers[1] == 5 && text_count == 2 &&
                      std::string(texts[1]) == "b" && reals == nullptr && real_count == 5 &&
                      std::string(axrun_node_operator(node)) == "MyAttributes" &&
                      axrun_node_version(node) == 2 && axrun_node_input_count(node) == 1 &&
                      axrun_node_has_input(node, 1) == 0 && axrun_node_wants_output(node, 0) == 1;
    if (!good) return axrun_node_fail(node, "an attribute is wrong");
    double real = 0;
    if (axrun_node_real(node, "integer", &real) != AXRUN_MODEL_ERROR)
      return axrun_node_fail(node, "an integer is no float");
    return axrun_node_set_text(node,
                               "program P(x: f32[n]) -> (y) { y: f32[n] = map (i: n) { x[i] + 3:f32 } }");
  };
  Operators operators;
  operators.add(made);
  ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"n"}}}, {"y"});
  auto& node = model.node("MyAttributes", {"x"}, {"y"});
  set(node, "integer", int64_t{3});
  set(node, "integers", std::vector<int64_t>{4, 5});
  set(node, "texts", std::vector<std::string>{"a", "b"});
  Loaded loaded(model.bytes(), &operators);
  ASSERT_EQ(loaded.status(), AXRUN_OK) << loaded.error();
  EXPECT_EQ(loaded.run({floats({1}, {1})})[0].floats[0], 4);
}

TEST(CustomKernel, FailuresNameTheNode) {
  ModelMaker model({{"x", onnx::TensorProto::FLOAT, {"2"}}}, {"y"});
  model.node("MyOp", {"x"}, {"y"});
  const auto load_error = [&](axrun_status (*define)(void*, axrun_node*)) {
    axrun_operator made = named("MyOp");
    made.define = define;
    made.compute = [](void*, axrun_call*) { return AXRUN_OK; };
    Operators operators;
    operators.add(made);
    const Loaded loaded(model.bytes(), &operators);
    EXPECT_EQ(loaded.status(), AXRUN_MODEL_ERROR);
    return loaded.error();
  };
  EXPECT_EQ(load_error([](void*, axrun_node* node) { return axrun_node_fail(node, "no such luck"); }),
            "MyOp 'the MyOp': no such luck");
  EXPECT_NE(load_error([](void*, axrun_node* node) {
              return axrun_node_set_text(node, "nonsense");
            }).find("MyOp 'the MyOp': "),
            std::string::npos);
  EXPECT_NE(load_error([](void*, axrun_node*) { return AXRUN_OK; }).find("what output 0 is"),
            std::string::npos);
  EXPECT_NE(load_error([](void*, axrun_node*) { return AXRUN_USER_ERROR; }).find("define answered user"),
            std::string::npos);
  EXPECT_NE(load_error([](void*, axrun_node* node) {
              return axrun_node_set_output(node, 1, AXRUN_F32, nullptr, 0);
            }).find("no output 1"),
            std::string::npos);

  const auto run_error = [&](axrun_status (*compute)(void*, axrun_call*)) {
    axrun_operator made = named("MyOp");
    made.define = [](void*, axrun_node* node) {
      const int64_t open = -1;
      return axrun_node_set_output(node, 0, AXRUN_F32, &open, 1);
    };
    made.compute = compute;
    Operators operators;
    operators.add(made);
    Loaded loaded(model.bytes(), &operators);
    EXPECT_TRUE(loaded.run({floats({2}, {1, 2})}).empty());
    EXPECT_EQ(loaded.last(), AXRUN_USER_ERROR);
    return loaded.error();
  };
  EXPECT_NE(run_error([](void*, axrun_call* call) {
              return axrun_call_fail(call, "x is too short");
            }).find("MyOp 'the MyOp': x is too short"),
            std::string::npos);
  EXPECT_NE(run_error([](void*, axrun_call*) { return AXRUN_OK; }).find("has not made output 0"),
            std::string::npos);
  EXPECT_NE(run_error([](void*, axrun_call* call) {
              axrun_tensor y;
              const int64_t dims[] = {1, 1};
              return axrun_call_make_output(call, 0, dims, 2, &y);
            }).find("cannot have shape [1, 1]"),
            std::string::npos);
  EXPECT_NE(run_error([](void*, axrun_call* call) {
              axrun_tensor y;
              return axrun_call_output(call, 0, &y);
            }).find("axrun_call_make_output makes it"),
            std::string::npos);
}

}  // namespace
}  // namespace axrun::custom_operators_test
