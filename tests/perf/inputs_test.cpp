#include "perf/host/inputs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "perf/host/tensor_file.h"

namespace axrun::perf {
namespace {

class DataFolder : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(path_); }
  void TearDown() override { std::filesystem::remove_all(path_); }

  void write(int k, const std::string& name, std::uint8_t value) {
    Tensor tensor = make_tensor(name, Type::uint8, {1});
    tensor.bytes.data()[0] = static_cast<std::byte>(value);
    write_tensor_file(path_ + "/input_" + std::to_string(k) + ".pb", tensor);
  }

  const std::string path_ = testing::TempDir() + "data_" + std::to_string(getpid());
};

const std::vector<InputDeclaration> two_inputs = {{"first", Type::uint8, {1}, {""}},
                                                  {"second", Type::uint8, {1}, {""}}};

TEST_F(DataFolder, NameInTheFileDecidesElseItsNumber) {
  write(0, "second", 20);
  write(1, "first", 10);
  std::vector<Tensor> inputs = read_inputs(path_, two_inputs);
  EXPECT_EQ(inputs[0].bytes.data()[0], std::byte{10});
  EXPECT_EQ(inputs[1].bytes.data()[0], std::byte{20});
  write(0, "", 30);
  write(1, "", 40);
  inputs = read_inputs(path_, two_inputs);
  EXPECT_EQ(inputs[0].bytes.data()[0], std::byte{30});
  EXPECT_EQ(inputs[1].bytes.data()[0], std::byte{40});
}

TEST_F(DataFolder, MissingAndForeignInputsAreRefused) {
  write(0, "first", 1);
  EXPECT_THROW(read_inputs(path_, two_inputs), HostError);
  write(1, "third", 1);
  EXPECT_THROW(read_inputs(path_, two_inputs), HostError);
}

const InputDeclaration open_input = {"x", Type::int64, {-1, 3, -1}, {"batch", "", ""}};

TEST(MadeUpInputs, OpenDimsAreOneUnlessChosen) {
  EXPECT_EQ(make_up_inputs({open_input}, {}, 0)[0].shape, (std::vector<std::int64_t>{1, 3, 1}));
  EXPECT_EQ(make_up_inputs({open_input}, {{}, {{"batch", 4}}}, 0)[0].shape,
            (std::vector<std::int64_t>{4, 3, 1}));
  EXPECT_EQ(make_up_inputs({open_input}, {{{"x", {2, 3, 5}}}, {}}, 0)[0].shape,
            (std::vector<std::int64_t>{2, 3, 5}));
}

TEST(MadeUpInputs, ChoicesThatNameNothingOrContradictAreRefused) {
  EXPECT_THROW(make_up_inputs({open_input}, {{{"y", {1, 3, 1}}}, {}}, 0), HostError);
  EXPECT_THROW(make_up_inputs({open_input}, {{}, {{"time", 4}}}, 0), HostError);
  EXPECT_THROW(make_up_inputs({open_input}, {{{"x", {1, 4, 1}}}, {}}, 0), HostError);
  EXPECT_THROW(make_up_inputs({open_input}, {{{"x", {1, 3}}}, {}}, 0), HostError);
}

TEST(MadeUpInputs, ValuesAreSmallAndReplayable) {
  const std::vector<InputDeclaration> declared = {{"f", Type::float32, {1000}, {""}},
                                                  {"i", Type::int32, {1000}, {""}}};
  const std::vector<Tensor> first = make_up_inputs(declared, {}, 5), again = make_up_inputs(declared, {}, 5);
  const std::vector<Tensor> other = make_up_inputs(declared, {}, 6);
  bool zero = false, one = false;
  for (std::size_t k = 0; k < 1000; ++k) {
    float real;
    std::int32_t integer;
    std::memcpy(&real, first[0].bytes.data() + k * 4, 4);
    std::memcpy(&integer, first[1].bytes.data() + k * 4, 4);
    ASSERT_TRUE(real >= 0 && real < 1) << real;
    ASSERT_TRUE(integer == 0 || integer == 1) << integer;
    (integer ? one : zero) = true;
  }
  EXPECT_TRUE(zero && one);
  EXPECT_EQ(std::memcmp(first[0].bytes.data(), again[0].bytes.data(), 4000), 0);
  EXPECT_NE(std::memcmp(first[0].bytes.data(), other[0].bytes.data(), 4000), 0);
}

}  // namespace
}  // namespace axrun::perf
