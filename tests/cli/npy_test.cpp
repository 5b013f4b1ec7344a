#include "runtime/cli/npy.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ir/error.h"
#include "tests/cli/archives.h"

namespace axrun::tests {
namespace {

using cli::parse_npy;
using ir::ElementType;
using ir::Shape;
using ir::Tensor;

TEST(Npy, ReadsNumbers) {
  const std::string bytes = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                                raw_bytes<float>({1, 2, 3, 4, 5, -6.5F}));
  const Tensor tensor = parse_npy(bytes, "x");
  EXPECT_EQ(tensor.type(), ElementType::f32);
  EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
  EXPECT_EQ(tensor.get_real(5), -6.5);
}

TEST(Npy, ReadsScalarsAndEmptyArrays) {
  const Tensor scalar =
      parse_npy(npy("{'descr': '<i8', 'fortran_order': False, 'shape': ()}", raw_bytes<int64_t>({-7})), "x");
  EXPECT_EQ(scalar.shape(), Shape{});
  EXPECT_EQ(scalar.get_int(0), -7);
  const Tensor empty = parse_npy(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (0, 4)}", ""), "x");
  EXPECT_EQ(empty.shape(), (Shape{0, 4}));
}

TEST(Npy, ColumnMajorBecomesRowMajor) {
  // The array [[1, 2, 3], [4, 5, 6]], column by column.
  const std::string bytes =
      npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3)}", raw_bytes<int16_t>({1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(parse_npy(bytes, "x").to_ints(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, BigEndianIsSwapped) {
  const std::string bytes =
      npy("{'descr': '>u4', 'fortran_order': False, 'shape': (2,)}", std::string("\0\0\1\2\0\0\0\3", 8));
  EXPECT_EQ(parse_npy(bytes, "x").to_ints(), (std::vector<int64_t>{258, 3}));
}

TEST(Npy, BooleansAreZeroOrOne) {
  const std::string bytes =
      npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", std::string("\0\1\7", 3));
  const Tensor tensor = parse_npy(bytes, "x");
  EXPECT_EQ(tensor.type(), ElementType::boolean);
  EXPECT_EQ(tensor.to_ints(), (std::vector<int64_t>{0, 1, 1}));
}

TEST(Npy, LongHeadersOfVersionTwo) {
  const std::string header =
      "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}" + std::string(70000, ' ');
  EXPECT_EQ(parse_npy(npy(header, raw_bytes<double>({0.5}), 2), "x").get_real(0), 0.5);
}

TEST(Npy, EveryCutIsRefused) {
  const std::string bytes = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                                raw_bytes<float>({1, 2, 3, 4, 5, 6}));
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(parse_npy(bytes.substr(0, length), "x"), Error) << length;
  }
  EXPECT_THROW(parse_npy(bytes + "more", "x"), Error);
}

TEST(Npy, HostileHeadersAreRefused) {
  const char* headers[] = {
      "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
      "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}",
      "{'descr': '<f4', 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'other': 1}",
      "{'descr': '<f4",
      "",
      "os.system('true')",
  };
  for (const char* header : headers) {
    EXPECT_THROW(parse_npy(npy(header, raw_bytes<float>({1})), "x"), Error) << header;
  }
}

TEST(Npz, ReadsStoredAndDeflatedArrays) {
  const std::string a =
      npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}", raw_bytes<int32_t>({4, 5}));
  const std::string b =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000,)}", std::string(4000, '\0'));
  const std::string archive = zip({{"a.npy", a, false}, {"deep/b.npy", b, true}});
  EXPECT_LT(archive.size(), 2000U) << "the second array is compressed";
  EXPECT_EQ(cli::parse_npz(archive, "a", "x").to_ints(), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(cli::parse_npz(archive, "deep/b", "x").shape(), Shape{1000});
  EXPECT_THROW(cli::parse_npz(archive, "c", "x"), Error);
  EXPECT_THROW(cli::parse_npz(archive, "", "x"), Error) << "which of the two";
  EXPECT_EQ(cli::parse_npz(zip({{"a.npy", a, true}}), "", "x").to_ints(), (std::vector<int64_t>{4, 5}));
}

TEST(Npz, EveryCutAndEveryChangedByteIsHandled) {
  const std::string a =
      npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}", raw_bytes<int32_t>({4, 5}));
  for (const bool deflated : {false, true}) {
    const std::string archive = zip({{"a.npy", a, deflated}});
    for (size_t length = 0; length < archive.size(); ++length) {
      EXPECT_THROW(cli::parse_npz(archive.substr(0, length), "a", "x"), Error) << length;
    }
    for (size_t at = 0; at < archive.size(); ++at) {
      for (const char value : {'\0', '\xff', static_cast<char>(archive[at] ^ 1)}) {
        std::string changed = archive;
        changed[at] = value;
        try {
          // Bytes that nobody reads (times, attributes) may change; the array may not.
          EXPECT_EQ(cli::parse_npz(changed, "a", "x").to_ints(), (std::vector<int64_t>{4, 5}));
        } catch (const Error&) {
        }
      }
    }
  }
}

}  // namespace
}  // namespace axrun::tests
