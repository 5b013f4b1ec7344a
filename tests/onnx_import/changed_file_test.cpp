// Files of a model that are cut, overwritten or deleted while sessions use it, and while they are read.

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "onnx_import/input_file.h"
#include "runtime/session.h"
#include "tests/onnx_import/models.h"
#include "tests/optimizer/knobs.h"

namespace axrun::onnx_import::test {
namespace {

namespace fs = std::filesystem;
using runtime::RuntimeValue;
using runtime::Session;
using runtime::Tier;

constexpr int64_t words = 20000, width = 24, wide = 192;

/// In the model's file or, with `aside`, in that one.
void add_weights(GraphProto& graph, const std::string& name, const std::vector<int64_t>& dims,
                 std::string* aside) {
  TensorProto& tensor = add_initializer(graph, name, dims);
  std::mt19937 random(static_cast<uint32_t>(name.front()));
  auto* values = reinterpret_cast<float*>(tensor.mutable_raw_data()->data());
  for (size_t k = 0; k < tensor.raw_data().size() / sizeof(float); ++k)
    values[k] = std::uniform_real_distribution<float>(-1, 1)(random);
  if (aside == nullptr) return;
  const auto add = [&](const char* key, const std::string& value) {
    auto* entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", "weights.bin");
  add("offset", std::to_string(aside->size()));
  add("length", std::to_string(tensor.raw_data().size()));
  aside->append(tensor.raw_data());
  tensor.clear_raw_data();
  tensor.set_data_location(TensorProto::EXTERNAL);
}

/// Rows of two tables, of which a run reads a few, then two products.
ModelProto two_tables(std::string& aside) {
  ModelProto model = empty_model();
  GraphProto& graph = *model.mutable_graph();
  add_input(graph, "ids", {1}, TensorProto::INT64);
  graph.mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("rows");
  add_weights(graph, "table", {words, width}, nullptr);
  add_weights(graph, "other", {words, width}, &aside);
  add_weights(graph, "first", {width, wide}, &aside);
  add_weights(graph, "last", {wide, 16}, nullptr);
  add_node(graph, "Gather", {"table", "ids"}, {"a"});
  add_node(graph, "Gather", {"other", "ids"}, {"b"});
  add_node(graph, "Add", {"a", "b"}, {"c"});
  add_node(graph, "MatMul", {"c", "first"}, {"d"});
  add_node(graph, "Sigmoid", {"d"}, {"e"});
  add_node(graph, "Mul", {"d", "e"}, {"f"});
  add_node(graph, "MatMul", {"f", "last"}, {"y"});
  add_output(graph, "y");
  return model;
}

void cut(const std::string& path) { fs::resize_file(path, 100); }
void overwrite(const std::string& path) {
  const std::string bytes(fs::file_size(path), '\x3f');
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).write(bytes.data(), bytes.size());
}
void erase(const std::string& path) { fs::remove(path); }

struct Damage {
  const char* name;
  void (*apply)(const std::string& path);
};
constexpr std::array<Damage, 3> damages = {{{"cut", cut}, {"overwritten", overwrite}, {"deleted", erase}}};

class ChangedFiles : public ::testing::Test {
 protected:
  void write() {
    std::string aside;
    path_ = folder_.write("model.onnx", two_tables(aside).SerializeAsString());
    aside_ = folder_.write("weights.bin", aside);
  }

  std::unique_ptr<Session> load(Tier tier) const {
    runtime::SessionOptions options;
    options.threads = 1;
    options.tier = tier;
    return Session::load(path_, options);
  }

  static ir::Tensor answer(Session& session, int64_t rows) {
    std::vector<int64_t> ids(static_cast<size_t>(rows));
    for (int64_t k = 0; k < rows; ++k) ids[static_cast<size_t>(k)] = (k * 7919 + rows * 104729) % words;
    return session.run({RuntimeValue(ir::Tensor::from_i64(ids))})[0].tensor;
  }

  void expect_answers(Session& session) {
    for (const auto& [rows, want] : answers_) {
      const ir::Tensor got = answer(session, rows);
      ASSERT_EQ(got.shape(), want.shape());
      for (int64_t k = 0; k < want.size(); ++k) ASSERT_NEAR(got.get_real(k), want.get_real(k), 1e-4) << rows;
    }
  }

  void find_answers() {
    const auto session = load(Tier::fallback);
    for (const int64_t rows : {1, 7, 40, 64, 97, 201}) answers_[rows] = answer(*session, rows);
  }

  const axrun::tests::Knobs knobs_{{"AXRUN_OPTIMIZE", "1"}, {"AXRUN_SWAP", "always"}, {"AXRUN_CACHE", "off"}};
  TemporaryFolder folder_;
  std::string path_, aside_;
  std::map<int64_t, ir::Tensor> answers_;
};

TEST_F(ChangedFiles, LeaveSessionsAlone) {
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.name);
    write();
    find_answers();
    const std::unique_ptr<Session> sessions[] = {load(Tier::reference), load(Tier::fallback),
                                                 load(Tier::automatic)};
    answer(*sessions[2], 40);
    damage.apply(path_);
    damage.apply(aside_);
    for (const auto& session : sessions) expect_answers(*session);
    ASSERT_TRUE(sessions[2]->wait_for_optimizer(120));
    expect_answers(*sessions[2]);
    EXPECT_FALSE(sessions[2]->optimizer_status().swaps.empty());
  }
}

TEST_F(ChangedFiles, AreRefusedWhileTheyAreRead) {
  for (const Damage& damage : {damages[0], damages[1]}) {
    write();
    // Times of files are as coarse as the kernel's clock.
    const struct timespec past[2] = {{1, 0}, {1, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, aside_.c_str(), past, 0), 0);
    const auto file = InputFile::open(aside_);
    std::string bytes(file->size(), '\0');
    file->read(0, bytes.data(), bytes.size());
    damage.apply(aside_);
    expect_error(Fault::user, "weights.bin' was written to while it was read",
                 [&] { file->read(0, bytes.data(), bytes.size()); });
  }
}

TEST_F(ChangedFiles, GiveWhatIsReadTwiceTheSameValues) {
  // By every call of the function, wherever the bytes begin.
  for (size_t shift = 0; shift < 4; ++shift) {
    ModelProto model = empty_model();
    add_opset(model, "local", 1);
    onnx::FunctionProto& function = *model.add_functions();
    function.set_domain("local");
    function.set_name("plus");
    function.set_doc_string(std::string(shift, 'x'));
    function.add_input("a");
    function.add_output("b");
    function.add_opset_import()->set_version(17);
    NodeProto& constant = *function.add_node();
    constant.set_op_type("Constant");
    constant.add_output("c");
    *add_attribute(constant, "value", AttributeProto::TENSOR).mutable_t() = float_tensor("", {100000});
    NodeProto& sum = *function.add_node();
    sum.set_op_type("Add");
    sum.add_input("a");
    sum.add_input("c");
    sum.add_output("b");
    GraphProto& graph = *model.mutable_graph();
    add_input(graph, "x", {1});
    for (const auto& [from, to] : {std::pair("x", "y"), std::pair("y", "z")})
      add_node(graph, "plus", {from}, {to}, to).set_domain("local");
    add_output(graph, "z");
    const auto session = Session::load(folder_.write("calls.onnx", model.SerializeAsString()));
    const ir::Tensor z =
        session->run({RuntimeValue(ir::Tensor::allocate(ir::ElementType::f32, {1}))})[0].tensor;
    for (const int64_t k : {0, 1, 1024, 70000, 99999}) EXPECT_EQ(z.get_real(k), 2.0 * static_cast<double>(k));
  }
}

}  // namespace
}  // namespace axrun::onnx_import::test
