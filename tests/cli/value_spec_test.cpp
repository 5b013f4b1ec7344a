#include "runtime/cli/value_spec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "ir/error.h"
#include "onnx_import/tensor_file.h"
#include "tests/cli/archives.h"

namespace axrun::tests {
namespace {

using cli::parse_value_spec;
using cli::split_port_spec;
using cli::value_of;
using ir::ElementType;
using ir::Shape;
using ir::Tensor;
using runtime::Port;

Port port(const std::string& name = "x") {
  Port made;
  made.name = name;
  made.type = ElementType::f32;
  return made;
}

Tensor tensor_of(const std::string& text, const std::optional<Shape>& shape = std::nullopt) {
  return value_of(parse_value_spec(text), port(), shape).tensor;
}

class ValueSpecFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("axrun_value_spec_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& content) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::filesystem::path folder_;
};

TEST(ValueSpec, InlineElements) {
  const Tensor tensor = tensor_of("2x2xf32=1,-2.5,1e3,nan");
  EXPECT_EQ(tensor.shape(), (Shape{2, 2}));
  EXPECT_EQ(tensor.get_real(1), -2.5);
  EXPECT_EQ(tensor.get_real(2), 1000);
  EXPECT_TRUE(std::isnan(tensor.get_real(3)));
  EXPECT_TRUE(std::isinf(tensor_of("f32=-inf").get_real(0)));
}

TEST(ValueSpec, ScalarsAndFilling) {
  EXPECT_EQ(tensor_of("i64=5").shape(), Shape{});
  EXPECT_EQ(tensor_of("3xi64=5").to_ints(), (std::vector<int64_t>{5, 5, 5}));
  EXPECT_EQ(tensor_of("u64=18446744073709551615").as<uint64_t>()[0], UINT64_MAX);
  EXPECT_EQ(tensor_of("2xbool=true,0").to_ints(), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(tensor_of("2xstring=a,b=c").strings()[1], "b=c");
  EXPECT_EQ(tensor_of("0x3xf32=").shape(), (Shape{0, 3}));
}

TEST(ValueSpec, NamedValues) {
  EXPECT_EQ(tensor_of("ones", Shape{2}).to_ints(), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(tensor_of("2xi8=ones").to_ints(), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(tensor_of("zeros", Shape{1}).get_real(0), 0);
  EXPECT_THROW(tensor_of("zeros"), Error) << "no shape";
  EXPECT_THROW(tensor_of("random", Shape{1}), Error) << "made elsewhere";
}

TEST(ValueSpec, MistakesAreRefused) {
  for (const char* text : {"",
                           "5",
                           "f32",
                           "xf32=1",
                           "2x=1",
                           "2xf33=1",
                           "-1xf32=1",
                           "2xf32=1,2,3",
                           "f32=abc",
                           "f32=",
                           "i8=128",
                           "i64=1.5",
                           "bool=2",
                           "u8=-1",
                           "i64=99999999999999999999",
                           "@file.bin",
                           "@",
                           "2 xf32=1",
                           "4611686018427387904x4xf32=0",
                           "99999999999xf32=0",
                           "undefined=1"}) {
    EXPECT_THROW(tensor_of(text), Error) << text;
  }
}

TEST_F(ValueSpecFiles, RawNpyNpzAndProtobuf) {
  const std::string raw = file("x.bin", raw_bytes<float>({1, 2}));
  EXPECT_EQ(tensor_of("2xf32=@" + raw).to_ints(), (std::vector<int64_t>{1, 2}));
  EXPECT_THROW(tensor_of("3xf32=@" + raw), Error);
  EXPECT_THROW(tensor_of("@" + raw), Error);
  EXPECT_THROW(tensor_of("2xf32=@" + (folder_ / "missing.bin").string()), Error);

  const std::string array =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", raw_bytes<float>({3, 4}));
  EXPECT_EQ(tensor_of("@" + file("x.npy", array)).to_ints(), (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(tensor_of("2xf32=@" + file("x.npy", array)).shape(), Shape{2});
  EXPECT_THROW(tensor_of("2xf64=@" + file("x.npy", array)), Error) << "stated type differs";
  EXPECT_THROW(tensor_of("1x2xf32=@" + file("x.npy", array)), Error) << "stated shape differs";

  const std::string archive = file("x.npz", zip({{"k.npy", array, true}, {"l.npy", array, false}}));
  EXPECT_EQ(tensor_of("@" + archive + ":k").to_ints(), (std::vector<int64_t>{3, 4}));
  EXPECT_THROW(tensor_of("@" + archive), Error);
  EXPECT_THROW(tensor_of("@" + archive + ":m"), Error);

  const std::string proto = file("x.pb", onnx_import::tensor_to_bytes("x", tensor_of("2xi32=8,9")));
  EXPECT_EQ(tensor_of("@" + proto).to_ints(), (std::vector<int64_t>{8, 9}));
  EXPECT_THROW(tensor_of("@" + file("y.pb", "garbage")), Error);
}

TEST(ValueSpec, NamesMayContainColons) {
  const std::vector<Port> ports = {port("input"), port("input:0"), port("a b")};
  EXPECT_EQ(split_port_spec("input:i64=1", ports, "--input"), (std::pair<size_t, std::string>{0, "i64=1"}));
  EXPECT_EQ(split_port_spec("input:0:i64=1", ports, "--input"), (std::pair<size_t, std::string>{1, "i64=1"}));
  EXPECT_EQ(split_port_spec("a b:zeros", ports, "--input").first, 2U);
  EXPECT_THROW(split_port_spec("other:zeros", ports, "--input"), Error);
  EXPECT_THROW(split_port_spec("input", ports, "--input"), Error);
}

}  // namespace
}  // namespace axrun::tests
