// tests/data/sha256_test.cpp: SHA-256 against the examples of FIPS 180-4.
#include "data/sha256.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/data/pack_fixture.h"

namespace weft {
namespace {

constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kMillionA = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256, EqualsThePublishedExamples) {
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abc"), kAbc);
}

TEST(Sha256, TakesBytesInAnyParts) {
  Sha256 sha;
  const std::string part(999, 'a');
  for (int i = 0; i < 1001; ++i) sha.update(part.data(), part.size());
  sha.update("a", 1);
  EXPECT_EQ(sha.hex(), kMillionA);
}

TEST(Sha256, ReadsAWholeDescriptorWithoutMovingIt) {
  const testing::TemporaryFolder folder;
  write_file_atomically(folder / "a", "abc");
  EXPECT_EQ(sha256_of_file(folder / "a"), kAbc);
  const FileDescriptor file(open((folder / "a").c_str(), O_RDONLY));
  lseek(file.get(), 2, SEEK_SET);
  EXPECT_EQ(sha256_of_descriptor(file.get(), "a"), kAbc);
  EXPECT_EQ(lseek(file.get(), 0, SEEK_CUR), 2);
}

TEST(Sha256, NamesAFileThatIsNotThere) {
  testing::expect_error([] { sha256_of_file("/nowhere/a"); }, ErrorKind::data, {"/nowhere/a"});
}

}  // namespace
}  // namespace weft
