// Tensor data in files beside the model.

#include <sys/stat.h>

#include <filesystem>

#include "onnx_import/import.h"
#include "onnx_import/tensor_file.h"
#include "tests/onnx_import/models.h"

namespace axrun::onnx_import::test {
namespace {

namespace fs = std::filesystem;
using Entries = std::vector<std::pair<std::string, std::string>>;

ModelProto external_model(const std::vector<int64_t>& dims, const Entries& entries) {
  ModelProto model = relu_model();
  TensorProto& tensor = add_initializer(*model.mutable_graph(), "w", dims);
  tensor.clear_raw_data();
  tensor.set_data_location(TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto* entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  return model;
}

class ExternalDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_.file("models/inside"));
    std::string bytes;
    for (int k = 0; k < 4096; ++k) {
      const auto value = static_cast<float>(k);
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    root_.write("models/weights.bin", bytes);
    root_.write("models/inside/more.bin", bytes);
    root_.write("secret.bin", bytes);
  }

  ir::Model import(const std::vector<int64_t>& dims, const Entries& entries,
                   const std::string& where = "models/m.onnx") {
    return import_file(root_.write(where, external_model(dims, entries).SerializeAsString()));
  }

  void expect_refused(const std::string& text, const std::vector<int64_t>& dims, const Entries& entries,
                      Fault fault = Fault::model) {
    expect_error(fault, "initializer 'w': " + text, [&] { import(dims, entries); });
  }

  TemporaryFolder root_;
};

TEST_F(ExternalDataTest, IsCopiedOnceForAllThatShareIt) {
  const Entries entries = {{"location", "weights.bin"}, {"offset", "0"}, {"length", "16384"}};
  ModelProto proto = external_model({4096}, entries);
  *proto.mutable_graph()->add_initializer() = external_model({64, 64}, entries).graph().initializer(0);
  proto.mutable_graph()->mutable_initializer(1)->set_name("square");
  const ir::Model model = import_file(root_.write("models/m.onnx", proto.SerializeAsString()));
  const ir::Tensor& w = value_named(*model.graph, "w").constant;
  const ir::Tensor& square = value_named(*model.graph, "square").constant;
  EXPECT_EQ(w.as<float>()[4095], 4095.0f);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(w.data()) % 64, 0u);
  EXPECT_EQ(square.data(), w.data());
  EXPECT_EQ(square.shape(), (ir::Shape{64, 64}));
}

TEST_F(ExternalDataTest, PartsOfAFile) {
  EXPECT_EQ(
      value_named(*import({2}, {{"location", "weights.bin"}, {"offset", "40"}, {"length", "8"}}).graph, "w")
          .constant.as<float>()[1],
      11.0f);
  EXPECT_EQ(value_named(*import({2}, {{"location", "inside/more.bin"}, {"offset", "16376"}}).graph, "w")
                .constant.as<float>()[1],
            4095.0f);
  EXPECT_EQ(value_named(*import({2}, {{"location", "./weights.bin"}}).graph, "w").constant.as<float>()[1],
            1.0f);
  // Large and not aligned: copied.
  const ir::Model model =
      import({3, 1000}, {{"location", "weights.bin"}, {"offset", "2"}, {"length", "12000"}});
  EXPECT_EQ(value_named(*model.graph, "w").constant.shape(), (ir::Shape{3, 1000}));
}

TEST_F(ExternalDataTest, BoundsAreChecked) {
  const std::string file = "external data 'weights.bin' ";
  expect_refused(file + "has 16384 bytes, the tensor is said to be at 16380 + 8", {2},
                 {{"location", "weights.bin"}, {"offset", "16380"}, {"length", "8"}});
  expect_refused(file + "has 16384 bytes, the tensor is said to be at 16385 + 8", {2},
                 {{"location", "weights.bin"}, {"offset", "16385"}});
  expect_refused(file + "has 16384 bytes, the tensor is said to be at 8 + 18446744073709551615", {2},
                 {{"location", "weights.bin"}, {"offset", "8"}, {"length", "18446744073709551615"}});
  expect_refused("needs 8 bytes, " + file + "has 4", {2}, {{"location", "weights.bin"}, {"offset", "16380"}});
  expect_refused("needs 8 bytes, " + file + "has 12", {2}, {{"location", "weights.bin"}, {"length", "12"}});
  expect_refused("external data offset '-4' is not a number", {2},
                 {{"location", "weights.bin"}, {"offset", "-4"}});
  expect_refused("external data length '8 ' is not a number", {2},
                 {{"location", "weights.bin"}, {"length", "8 "}});
  expect_refused("external data offset '18446744073709551616' is not a number", {2},
                 {{"location", "weights.bin"}, {"offset", "18446744073709551616"}});
}

TEST_F(ExternalDataTest, NothingOutsideOfTheFolder) {
  expect_refused("external data '../secret.bin' is outside of the model's folder", {2},
                 {{"location", "../secret.bin"}});
  expect_refused("external data '../nothing.bin' is outside of the model's folder", {2},
                 {{"location", "../nothing.bin"}});
  expect_refused("external data 'inside/../../secret.bin' is outside", {2},
                 {{"location", "inside/../../secret.bin"}});
  const std::string absolute = root_.file("secret.bin");
  expect_refused("external data '" + absolute + "' is outside", {2}, {{"location", absolute}});
  fs::create_symlink("../secret.bin", root_.file("models/link.bin"));
  expect_refused("external data 'link.bin' is outside of the model's folder", {2},
                 {{"location", "link.bin"}});
  fs::create_directory_symlink("..", root_.file("models/up"));
  expect_refused("external data 'up/secret.bin' is outside of the model's folder", {2},
                 {{"location", "up/secret.bin"}});
  fs::create_directories(root_.file("models2"));
  fs::copy(root_.file("secret.bin"), root_.file("models2/weights.bin"));
  fs::create_directory_symlink("../models2", root_.file("models/beside"));
  expect_refused("external data 'beside/weights.bin' is outside", {2}, {{"location", "beside/weights.bin"}});
}

TEST_F(ExternalDataTest, LinksThatStayInside) {
  fs::create_symlink("inside/more.bin", root_.file("models/link.bin"));
  EXPECT_EQ(value_named(*import({2}, {{"location", "link.bin"}}).graph, "w").constant.as<float>()[1], 1.0f);
}

TEST_F(ExternalDataTest, AModelThatIsALink) {
  // Download caches keep all files in one folder, under other names, and link to them.
  fs::create_directories(root_.file("blobs"));
  fs::create_directories(root_.file("snapshot"));
  fs::rename(root_.file("models/weights.bin"), root_.file("blobs/1234"));
  root_.write("blobs/5678",
              external_model({2}, {{"location", "w.data"}, {"offset", "4"}}).SerializeAsString());
  fs::create_symlink("../blobs/5678", root_.file("snapshot/model.onnx"));
  fs::create_symlink("../blobs/1234", root_.file("snapshot/w.data"));
  const ir::Model model = import_file(root_.file("snapshot/model.onnx"));
  EXPECT_EQ(value_named(*model.graph, "w").constant.as<float>()[1], 2.0f);
  fs::remove(root_.file("snapshot/w.data"));
  fs::create_symlink("../secret.bin", root_.file("snapshot/w.data"));
  expect_error(Fault::model, "external data 'w.data' is outside of the model's folder",
               [&] { import_file(root_.file("snapshot/model.onnx")); });
}

TEST_F(ExternalDataTest, WhatIsNotAFile) {
  expect_refused("external data 'missing.bin' cannot be opened: No such file", {2},
                 {{"location", "missing.bin"}});
  expect_refused("external data '' has no location", {2}, {});
  expect_refused("external data 'weights.bin\\x00.png' is not a path", {2},
                 {{"location", std::string("weights.bin\0.png", 16)}});
  expect_refused("external data '*/_ORT_MEM_ADDR_/*' cannot be opened", {2},
                 {{"location", "*/_ORT_MEM_ADDR_/*"}, {"offset", "1234"}, {"length", "8"}});
  expect_error(Fault::user, "cannot be read: Is a directory", [&] {
    import({2}, {{ "location", "inside" }});
  });
  ASSERT_EQ(::mkfifo(root_.file("models/pipe").c_str(), 0600), 0);
  expect_error(Fault::user, "it is not a regular file", [&] { import({2}, {{ "location", "pipe" }}); });
}

TEST_F(ExternalDataTest, NeedsAFolder) {
  const std::string bytes = external_model({2}, {{"location", "weights.bin"}}).SerializeAsString();
  expect_error(Fault::model,
               "external data 'weights.bin' cannot be read: the model does not come from a folder",
               [&] { import_memory(bytes.data(), bytes.size()); });
  const ir::Model model = import_memory(bytes.data(), bytes.size(), root_.file("models"));
  EXPECT_EQ(value_named(*model.graph, "w").constant.as<float>()[1], 1.0f);
}

TEST_F(ExternalDataTest, DataBothHereAndThere) {
  ModelProto model = external_model({2}, {{"location", "weights.bin"}});
  model.mutable_graph()->mutable_initializer(0)->set_raw_data("12345678");
  const std::string bytes = model.SerializeAsString();
  expect_error(Fault::model, "initializer 'w': has its data twice",
               [&] { import_memory(bytes.data(), bytes.size(), root_.file("models")); });
}

TEST_F(ExternalDataTest, OfTensorFiles) {
  const std::string path =
      root_.write("models/input_0.pb", external_model({2}, {{"location", "weights.bin"}, {"offset", "8"}})
                                           .graph()
                                           .initializer(0)
                                           .SerializeAsString());
  EXPECT_EQ(read_tensor_file(path).tensor.as<float>()[0], 2.0f);
}

TEST_F(ExternalDataTest, InMemory) {
  const std::string bytes =
      external_model({4096}, {{"location", "here"}, {"offset", "4"}}).SerializeAsString();
  const auto values = std::make_shared<std::vector<float>>(5000, 2.5f);
  (*values)[1] = 7;
  ImportOptions options;
  options.memory_files["here"] = {values->data(), values->size() * sizeof(float), values};
  const auto import_here = [&] { return import_memory(bytes.data(), bytes.size(), {}, options); };
  ir::Tensor w = value_named(*import_here().graph, "w").constant;
  EXPECT_EQ(w.data(), values->data() + 1) << "borrowed";
  EXPECT_TRUE(w.keeps_buffer());
  // Without an owner: copied.
  options.memory_files["here"].owner.reset();
  w = value_named(*import_here().graph, "w").constant;
  EXPECT_NE(w.data(), values->data() + 1);
  EXPECT_EQ(w.as<float>()[0], 7.0f);
  // Bounds, as in files.
  options.memory_files["here"].size = 4096;
  expect_error(Fault::model, "initializer 'w': needs 16384 bytes, external data 'here' has 4092",
               import_here);
  // Other names are still files.
  options.memory_files.clear();
  expect_error(Fault::model, "cannot be read: the model does not come from a folder", import_here);
}

TEST(ModelFile, WhatIsNotAModel) {
  const TemporaryFolder folder;
  expect_error(Fault::user, "missing.onnx' cannot be opened: No such file",
               [&] { import_file(folder.file("missing.onnx")); });
  expect_error(Fault::user, "cannot be read: Is a directory", [&] { import_file(folder.path()); });
  expect_error(Fault::model, "the model file is empty", [&] { import_file(folder.write("empty.onnx", "")); });
  expect_error(Fault::model, "not an ONNX model, or damaged at byte 0: field 4 of ModelProto has wire type 3",
               [&] { import_file(folder.write("text.onnx", "#include <text>\n")); });
}

/// The outcome in words: of a model that is read, sums of its constants.
std::string outcome(const std::function<ir::Model()>& import) {
  try {
    const ir::Model model = import();
    std::string text;
    for (const ir::Value& value : model.graph->values) {
      double sum = 0;
      for (int64_t k = 0; k < value.constant.size(); ++k) sum += value.constant.get_real(k);
      text += value.name + " " + std::to_string(sum) + "; ";
    }
    return text;
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(ModelFile, IsReadAsFromMemory) {
  // Large raw data is left out at first: at the begin, at the end and between small fields.
  const TemporaryFolder folder;
  ModelProto model = relu_model();
  for (const int64_t size : {16383, 16384, 100000, 1, 40000, 16390})
    add_initializer(*model.mutable_graph(), "w" + std::to_string(size), {size});
  const std::string whole = model.SerializeAsString();
  size_t cut = whole.size();
  for (int turn = 0; turn < 300; ++turn, cut -= cut / 101 + 1) {
    for (const bool flip : {false, true}) {
      std::string bytes = whole.substr(0, cut);
      if (flip) bytes[cut / 2] = static_cast<char>(bytes[cut / 2] ^ (1 << turn % 8));
      EXPECT_EQ(outcome([&] { return import_file(folder.write("m.onnx", bytes)); }),
                outcome([&] { return import_memory(bytes.data(), bytes.size(), folder.path()); }))
          << cut << flip;
    }
  }
}

}  // namespace
}  // namespace axrun::onnx_import::test
