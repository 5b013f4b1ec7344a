#include "perf/host/tensor_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace axrun::perf {
namespace {

class TensorFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  Tensor read_bytes(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return read_tensor_file(path_);
  }

  std::string written(const Tensor& tensor) {
    write_tensor_file(path_, tensor);
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string path_ = testing::TempDir() + "tensor_" + std::to_string(getpid()) + ".pb";
};

template <class Number>
std::vector<Number> values(const Tensor& tensor) {
  std::vector<Number> numbers(tensor.bytes.size() / sizeof(Number));
  if (!numbers.empty()) std::memcpy(numbers.data(), tensor.bytes.data(), tensor.bytes.size());
  return numbers;
}

Tensor counting_tensor(Type type, std::vector<std::int64_t> shape) {
  Tensor tensor = make_tensor("x", type, std::move(shape));
  for (std::size_t k = 0; k < tensor.bytes.size(); ++k) tensor.bytes.data()[k] = static_cast<std::byte>(k);
  for (std::size_t k = 0; k < tensor.strings.size(); ++k) tensor.strings[k] = std::string(k, 's');
  return tensor;
}

TEST_F(TensorFile, WrittenTensorsReadBackEqual) {
  for (int number = 1; number <= static_cast<int>(Type::int4); ++number) {
    for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {3, 5}, {2, 0, 4}}) {
      const Tensor tensor = counting_tensor(static_cast<Type>(number), shape);
      write_tensor_file(path_, tensor);
      const Tensor back = read_tensor_file(path_);
      EXPECT_EQ(back.name, "x");
      EXPECT_EQ(back.type, tensor.type);
      EXPECT_EQ(back.shape, shape);
      EXPECT_EQ(back.strings, tensor.strings);
      EXPECT_EQ(values<std::uint8_t>(back), values<std::uint8_t>(tensor)) << name_of(tensor.type);
    }
  }
}

TEST_F(TensorFile, TypedFieldsAreReadPackedAndUnpacked) {
  // dims = [2], data_type = int32, int32_data = [-1, 300]: the negative one takes ten bytes.
  const std::string minus_one = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", three_hundred = "\xac\x02";
  const std::string head = "\x08\x02\x10\x06";
  EXPECT_EQ(values<std::int32_t>(read_bytes(head + "\x2a\x0c" + minus_one + three_hundred)),
            (std::vector<std::int32_t>{-1, 300}));
  EXPECT_EQ(values<std::int32_t>(read_bytes(head + "\x28" + minus_one + "\x28" + three_hundred)),
            (std::vector<std::int32_t>{-1, 300}));
  // float_data = [1.0], packed and not.
  const std::string one("\x00\x00\x80\x3f", 4);
  EXPECT_EQ(values<float>(read_bytes("\x08\x01\x10\x01\x22\x04" + one)), std::vector<float>{1});
  EXPECT_EQ(values<float>(read_bytes("\x08\x01\x10\x01\x25" + one)), std::vector<float>{1});
}

TEST_F(TensorFile, NarrowTypesComeFromTheLowBytesOfInt32Data) {
  // dims = [2], data_type = float16, int32_data = [0x3c00, 0x4000]
  EXPECT_EQ(values<std::uint16_t>(read_bytes("\x08\x02\x10\x0a\x2a\x05\x80\x78\x80\x80\x01")),
            (std::vector<std::uint16_t>{0x3c00, 0x4000}));
}

TEST_F(TensorFile, EveryTruncationIsRefused) {
  const std::string whole = written(counting_tensor(Type::float32, {3, 5}));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(read_bytes(whole.substr(0, size)), HostError) << size << " of " << whole.size() << " bytes";
  }
}

TEST_F(TensorFile, ClaimsThatDoNotFitAreRefusedBeforeAllocation) {
  const std::string huge = "\x08\xff\xff\xff\xff\xff\xff\x3f", float32 = "\x10\x01";
  EXPECT_THROW(read_bytes(huge + float32), HostError);         // 2^48 - 1 elements, no data
  EXPECT_THROW(read_bytes(huge + huge + float32), HostError);  // the product overflows
  EXPECT_THROW(read_bytes("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x10\x01"), HostError);  // a dim of -1
  EXPECT_THROW(read_bytes("\x08\x02\x10\x01\x4a\x04\x01\x02\x03\x04"), HostError);  // 4 bytes for 2 floats
  EXPECT_THROW(read_bytes("\x08\x01\x10\x63\x4a\x01\x01"), HostError);              // element type 99
}

TEST_F(TensorFile, DataInAnotherFileIsRefused) {
  EXPECT_THROW(read_bytes(std::string("\x08\x00\x10\x01\x70\x01", 6)), HostError);
}

TEST_F(TensorFile, MissingFileAndFolderAreRefusedByName) {
  try {
    read_tensor_file("/nowhere/input_0.pb");
    FAIL() << "a missing file was read";
  } catch (const HostError& error) {
    EXPECT_EQ(error.exit_code, HostError::user);
    EXPECT_NE(std::string(error.what()).find("/nowhere/input_0.pb"), std::string::npos);
  }
  EXPECT_THROW(read_tensor_file("/"), HostError);
}

}  // namespace
}  // namespace axrun::perf
