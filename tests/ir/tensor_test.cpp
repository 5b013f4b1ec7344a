#include "ir/tensor.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "ir/error.h"

namespace axrun::ir {
namespace {

using enum ElementType;

const std::vector<ElementType> numeric_types = {f16,        bf16, f32, f64, f8e4m3fn, f8e4m3fnuz, f8e5m2,
                                                f8e5m2fnuz, i4,   i8,  i16, i32,      i64,        u4,
                                                u8,         u16,  u32, u64, boolean};

std::string user_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::user) << error.what();
    return error.what();
  }
  return "no error";
}

#define EXPECT_USER_ERROR(statement, part) \
  EXPECT_NE(user_error([&] { statement; }).find(part), std::string::npos) << user_error([&] { statement; })

TEST(Shapes, ElementCount) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({2, 3, 4}), 24);
  EXPECT_EQ(element_count({INT64_MAX, INT64_MAX, 0}), 0);
  EXPECT_EQ(element_count({INT64_MAX}), INT64_MAX);
  EXPECT_USER_ERROR(element_count({2, -1}), "[2, -1] has a negative dimension");
  EXPECT_USER_ERROR(element_count({0, -1}), "negative dimension");
  EXPECT_USER_ERROR(element_count({int64_t{1} << 32, int64_t{1} << 31}), "more than 2^63 elements");
}

TEST(Shapes, RowMajorStrides) {
  EXPECT_EQ(row_major_strides({}), Shape());
  EXPECT_EQ(row_major_strides({5}), Shape({1}));
  EXPECT_EQ(row_major_strides({2, 3, 4}), Shape({12, 4, 1}));
  EXPECT_EQ(row_major_strides({2, 0, 4}), Shape({0, 4, 1}));
  EXPECT_USER_ERROR(row_major_strides({0, INT64_MAX, INT64_MAX}), "overflow");
}

TEST(Allocation, IsZeroAlignedAndWritable) {
  for (const ElementType type : numeric_types) {
    const Tensor tensor = Tensor::allocate(type, {3, 5});
    EXPECT_EQ(tensor.type(), type);
    EXPECT_EQ(tensor.shape(), Shape({3, 5}));
    EXPECT_EQ(tensor.size(), 15);
    EXPECT_EQ(tensor.bytes(), 15 * size_of(type));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0u);
    for (size_t i = 0; i < tensor.bytes(); ++i) EXPECT_EQ(tensor.as<uint8_t>()[i], 0) << name_of(type);
    Tensor raw = Tensor::allocate_uninitialized(type, {1000});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(raw.data()) % 64, 0u);
    std::memset(raw.data(), 0x11, raw.bytes());
  }
}

TEST(Allocation, ScalarsAndEmptyTensors) {
  const Tensor scalar = Tensor::scalar(f32, 2.5);
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.size(), 1);
  EXPECT_EQ(scalar.get_real(0), 2.5);
  for (const ElementType type : {f32, string}) {
    const Tensor empty = Tensor::allocate(type, {4, 0, 3});
    EXPECT_TRUE(empty.defined());
    EXPECT_EQ(empty.size(), 0);
    EXPECT_EQ(empty.clone().shape(), Shape({4, 0, 3}));
    EXPECT_EQ(empty.reshaped({0}).size(), 0);
  }
  EXPECT_TRUE(Tensor::from_i64({}).to_ints().empty());
  EXPECT_EQ(Tensor::allocate(f32, {0}).converted(i8).size(), 0);
  EXPECT_FALSE(Tensor().defined());
  EXPECT_FALSE(Tensor().clone().defined());
}

TEST(Allocation, AbsurdSizesAreRefusedWithTheShape) {
  EXPECT_USER_ERROR(Tensor::allocate(f32, {2, -3}), "[2, -3]");
  EXPECT_USER_ERROR(Tensor::allocate(f32, {INT64_MAX, 3}), "more than 2^63 elements");
  EXPECT_USER_ERROR(Tensor::allocate(f32, {INT64_MAX}),
                    "f32 tensor of shape [9223372036854775807] is too large");
  EXPECT_USER_ERROR(Tensor::allocate(u8, {(int64_t{1} << 40) + 1}), "more than 2^40 bytes");
  EXPECT_USER_ERROR(Tensor::allocate(f64, {(int64_t{1} << 37) + 1}), "more than 2^40 bytes");
  EXPECT_USER_ERROR(Tensor::allocate_uninitialized(f64, {(int64_t{1} << 37) + 1}), "more than 2^40 bytes");
  EXPECT_USER_ERROR(Tensor::allocate(string, {int64_t{1} << 39}),
                    "string tensor of shape [549755813888] is too large");
  EXPECT_USER_ERROR(Tensor::from_strings({2, 2}, {"a"}), "1 strings were given");
  EXPECT_USER_ERROR(Tensor::borrow(f32, {1}, nullptr), "no data");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// In a process of its own, whose address space is limited first.
TEST(AllocationDeathTest, RunningOutOfMemoryIsAnError) {
  const auto allocate_with_little_memory = [](ElementType type) {
    const rlimit limit{int64_t{1} << 30, int64_t{1} << 30};
    setrlimit(RLIMIT_AS, &limit);
    const std::string text = user_error([type] { Tensor::allocate(type, {1 << 10, 1 << 20}); });
    std::exit(text == "not enough memory for a " + std::string(name_of(type)) +
                          " tensor of shape [1024, 1048576]"
                  ? 0
                  : 1);
  };
  EXPECT_EXIT(allocate_with_little_memory(f32), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(allocate_with_little_memory(string), testing::ExitedWithCode(0), "");
}
#endif

TEST(Sharing, CopiesShareAndClonesDoNot) {
  Tensor original = Tensor::from_i64({1, 2, 3, 4});
  Tensor copy = original;
  Tensor reshaped = original.reshaped({2, 2});
  Tensor clone = original.clone();
  copy.set_int(0, 9);
  EXPECT_EQ(original.get_int(0), 9);
  EXPECT_EQ(reshaped.get_int(0), 9);
  EXPECT_EQ(reshaped.shape(), Shape({2, 2}));
  EXPECT_EQ(clone.get_int(0), 1);
  EXPECT_USER_ERROR(original.reshaped({3}), "cannot be reshaped to [3]");
  original = Tensor();
  EXPECT_EQ(copy.to_ints(), std::vector<int64_t>({9, 2, 3, 4}));
}

TEST(Sharing, BorrowedMemoryKeepsItsOwner) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  const std::weak_ptr<std::vector<float>> watch = owner;
  float* data = owner->data();
  Tensor tensor = Tensor::borrow(f32, {3}, data, std::move(owner));
  EXPECT_EQ(tensor.data(), data);
  EXPECT_FALSE(watch.expired());
  tensor = tensor.reshaped({3, 1});
  EXPECT_EQ(tensor.get_real(2), 3);
  tensor = Tensor();
  EXPECT_TRUE(watch.expired());
}

TEST(Sharing, LentTensorsAreWhatIsBorrowed) {
  float first[] = {1, 2, 3, 4};
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{5, 6, 7, 8});
  const std::weak_ptr<std::vector<float>> watch = owner;
  Tensor tensor;
  tensor.lend(f32, {4}, first);
  EXPECT_EQ(tensor.to_ints(), std::vector<int64_t>({1, 2, 3, 4}));
  const int64_t* const shape = tensor.shape().data();
  tensor.lend(f32, {4}, owner->data(), owner);
  owner = nullptr;
  EXPECT_EQ(tensor.to_ints(), std::vector<int64_t>({5, 6, 7, 8}));
  EXPECT_EQ(tensor.shape().data(), shape) << "the shape was allocated anew";
  EXPECT_FALSE(watch.expired());
  tensor.lend(f32, {2, 2}, first);
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(tensor.shape(), ir::Shape({2, 2}));
  tensor.lend(i64, {0}, nullptr);
  EXPECT_EQ(tensor.type(), i64);
  EXPECT_EQ(tensor.size(), 0);
  EXPECT_USER_ERROR(tensor.lend(i64, {3}, nullptr), "no data");
  tensor.lend(f32, {2, 2}, first);
  EXPECT_USER_ERROR(tensor.lend(f32, {2, 2}, nullptr), "no data");
}

TEST(Sharing, BorrowedMemoryNeedNotBeAligned) {
  unsigned char file[1 + 4 * sizeof(float)];
  const float values[] = {1.5f, -2, 3, 4};
  std::memcpy(file + 1, values, sizeof values);
  Tensor tensor = Tensor::borrow(f32, {4}, file + 1);
  EXPECT_EQ(tensor.get_real(1), -2);
  tensor.set_int(0, 7);
  EXPECT_EQ(tensor.converted(i64).to_ints(), std::vector<int64_t>({7, -2, 3, 4}));
}

TEST(Strings, AreOwnedClonedAndNotNumbers) {
  Tensor tensor = Tensor::from_strings({2}, {"one", std::string("t\0wo", 4)});
  Tensor clone = tensor.clone();
  tensor.strings()[0] = "changed";
  EXPECT_EQ(clone.strings()[0], "one");
  EXPECT_EQ(clone.strings()[1].size(), 4u);
  EXPECT_EQ(Tensor::allocate(string, {3}).strings()[2], "");
  EXPECT_USER_ERROR(tensor.get_real(0), "a string is not a number");
  EXPECT_USER_ERROR(tensor.set_int(0, 1), "a string is not a number");
  EXPECT_USER_ERROR(tensor.converted(f32), "cannot be converted to f32");
  EXPECT_EQ(tensor.converted(string).strings()[0], "changed");
}

TEST(Elements, StoredAndReadBack) {
  for (const ElementType type : numeric_types) {
    Tensor tensor = Tensor::allocate(type, {2});
    tensor.set_int(1, 1);
    EXPECT_EQ(tensor.get_int(1), 1) << name_of(type);
    EXPECT_EQ(tensor.get_real(1), 1) << name_of(type);
    EXPECT_EQ(tensor.get_int(0), 0) << name_of(type);
    tensor.set_real(0, 1.75);
    EXPECT_EQ(tensor.get_real(0), round_to(type, 1.75)) << name_of(type);
  }
}

TEST(Elements, IntegersWrapAndRealsSaturate) {
  Tensor bytes = Tensor::allocate(u8, {1});
  bytes.set_int(0, 300);
  EXPECT_EQ(bytes.get_int(0), 44);
  bytes.set_real(0, 300.5);
  EXPECT_EQ(bytes.get_int(0), 255);
  bytes.set_real(0, -7);
  EXPECT_EQ(bytes.get_int(0), 0);
  Tensor nibble = Tensor::allocate(i4, {1});
  nibble.set_int(0, 9);
  EXPECT_EQ(nibble.get_int(0), -7);
  EXPECT_EQ(nibble.as<int8_t>()[0], -7);
  Tensor flag = Tensor::allocate(boolean, {1});
  flag.set_real(0, 0.5);
  EXPECT_EQ(flag.as<uint8_t>()[0], 1);
}

TEST(Elements, SixtyFourBitIntegersAreExact) {
  Tensor wide = Tensor::allocate(u64, {1});
  wide.set_int(0, -1);
  EXPECT_EQ(wide.get_int(0), -1);
  EXPECT_EQ(wide.get_real(0), 0x1p64);
  wide.set_real(0, 0x1.8p63);
  EXPECT_EQ(wide.as<uint64_t>()[0], uint64_t{3} << 62);
  Tensor exact = Tensor::from_i64({INT64_MAX, INT64_MIN, (int64_t{1} << 53) + 1});
  EXPECT_EQ(exact.to_ints(), std::vector<int64_t>({INT64_MAX, INT64_MIN, (int64_t{1} << 53) + 1}));
  EXPECT_EQ(exact.converted(u64).converted(i64).to_ints(), exact.to_ints());
}

TEST(Elements, RealsOutOfRangeAreDefined) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const ElementType type : {f64, f32, f16, bf16, f8e5m2}) {
    Tensor tensor = Tensor::allocate(type, {1});
    tensor.set_real(0, std::numeric_limits<double>::quiet_NaN());
    EXPECT_EQ(tensor.get_int(0), 0) << name_of(type);
    EXPECT_TRUE(std::isnan(tensor.get_real(0))) << name_of(type);
    if (type == f8e5m2) continue;
    tensor.set_real(0, -infinity);
    EXPECT_EQ(tensor.get_int(0), INT64_MIN) << name_of(type);
    tensor.set_real(0, infinity);
    EXPECT_EQ(tensor.get_int(0), INT64_MAX) << name_of(type);
  }
}

TEST(Elements, IntegersRoundOnceToFloats) {
  // Just above a halfway case of the narrow type, by less than a double can hold.
  const int64_t above_half_f32 = (int64_t{1} << 62) + (int64_t{1} << 38) + 1;
  const int64_t above_half_bf16 = (int64_t{1} << 62) + (int64_t{1} << 54) + 1;
  Tensor single = Tensor::allocate(f32, {1});
  single.set_int(0, above_half_f32);
  EXPECT_EQ(single.get_real(0), 0x1p62 + 0x1p39);
  Tensor brain = Tensor::allocate(bf16, {1});
  brain.set_int(0, -above_half_bf16);
  EXPECT_EQ(brain.get_real(0), -(0x1p62 + 0x1p55));
  for (const ElementType source : {i64, u64}) {
    Tensor integers = Tensor::from_i64({above_half_f32, above_half_bf16}).converted(source);
    EXPECT_EQ(integers.converted(f32).get_real(0), 0x1p62 + 0x1p39) << name_of(source);
    EXPECT_EQ(integers.converted(bf16).get_real(1), 0x1p62 + 0x1p55) << name_of(source);
  }
  Tensor large = Tensor::allocate(u64, {1});
  large.as<uint64_t>()[0] = (uint64_t{1} << 63) + (uint64_t{1} << 39) + 1;
  EXPECT_EQ(large.converted(f32).get_real(0), 0x1p63 + 0x1p40);
  EXPECT_EQ(large.converted(f64).get_real(0), 0x1p63 + 0x1p39);
}

TEST(Conversion, AgreesWithGetAndSetForEveryPair) {
  constexpr uint64_t seed = 31;
  std::mt19937_64 random(seed);
  constexpr int64_t count = 1100;  // more than two chunks
  for (const ElementType from : numeric_types) {
    Tensor source = Tensor::allocate(from, {count});
    for (size_t i = 0; i < source.bytes(); ++i) source.as<uint8_t>()[i] = static_cast<uint8_t>(random());
    for (const ElementType to : numeric_types) {
      const Tensor result = source.converted(to);
      ASSERT_EQ(result.type(), to);
      Tensor expected = Tensor::allocate(to, {1});
      for (int64_t i = 0; i < count; ++i) {
        // The random integers of 64 bits include none whose double rounding would show in f32 or bf16.
        if (is_float(from) || from == u64) {
          expected.set_real(0, source.get_real(i));
        } else {
          expected.set_int(0, source.get_int(i));
        }
        if (from == u64 && !is_float(to)) expected.set_int(0, source.get_int(i));
        const double got = result.get_real(i);
        const double want = from == to ? source.get_real(i) : expected.get_real(0);
        ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
            << "seed " << seed << ": " << name_of(from) << " to " << name_of(to) << " at " << i << ": " << got
            << " instead of " << want;
      }
    }
  }
}

}  // namespace
}  // namespace axrun::ir
