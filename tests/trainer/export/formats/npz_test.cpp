// tests/trainer/export/formats/npz_test.cpp: the bytes of an archive, against one that numpy reads.
#include "trainer/export/formats/npz.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>

#include "data/atomic_file.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft::testing {
namespace {

template <typename T>
T number_at(const std::string& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

TEST(Npz, HoldsEachArrayUncompressedWithItsChecksum) {
  const TemporaryFolder folder;
  NpzWriter writer(folder / "a.npz");
  writer.add("W", {2, 3}, {1, 2, 3, 4, 5, 6});
  writer.add_bytes("special:model.yml", std::string_view("a: 1\n", 6));
  writer.finish();
  const std::string bytes = read_file(folder / "a.npz");

  EXPECT_EQ(bytes.substr(0, 4), "PK\3\4");
  EXPECT_EQ(number_at<uint16_t>(bytes, 8), 0);  // stored
  EXPECT_EQ(bytes.substr(30, 5), "W.npy");
  const size_t size = number_at<uint32_t>(bytes, 18);
  const std::string npy = bytes.substr(35, size);
  EXPECT_EQ(number_at<uint32_t>(bytes, 14), crc32_z(0, reinterpret_cast<const Bytef*>(npy.data()), npy.size()));
  EXPECT_EQ(npy.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(npy.size(), 64 + 64 + 6 * sizeof(float));  // the header ends at a multiple of 64
  EXPECT_TRUE(holds(npy, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"));
  EXPECT_EQ(number_at<float>(npy, npy.size() - 4), 6);
  EXPECT_TRUE(holds(bytes, "{'descr': '|i1', 'fortran_order': False, 'shape': (6,), }"));

  const std::string end = bytes.substr(bytes.size() - 22);
  EXPECT_EQ(end.substr(0, 4), "PK\5\6");
  EXPECT_EQ(number_at<uint16_t>(end, 10), 2);  // members
  const auto directory = number_at<uint32_t>(end, 16);
  EXPECT_EQ(bytes.substr(directory, 4), "PK\1\2");
  EXPECT_EQ(directory + number_at<uint32_t>(end, 12) + 22, bytes.size());
}

TEST(Npz, ShapeAndValuesMustAgree) {
  const TemporaryFolder folder;
  NpzWriter writer(folder / "a.npz");
  expect_error(
      [&] {
        writer.add("W", {2, 3}, {1, 2});
      },
      ErrorKind::internal, {"W has 2 values, but its shape needs 6"});
}

}  // namespace
}  // namespace weft::testing
