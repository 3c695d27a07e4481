// tests/data/text/gzip_test.cpp: gzip data in memory.
#include "data/text/gzip.h"

#include <gtest/gtest.h>

#include "tests/data/pack_fixture.h"

namespace weft::testing {
namespace {

TEST(Gunzip, GivesTheTextOfOneMemberAndOfSeveral) {
  const std::string text = joined(sentences(20000, 3));  // more than one chunk
  EXPECT_EQ(gunzip(gzipped(text), "x"), text);
  EXPECT_EQ(gunzip(gzipped(text) + gzipped("") + gzipped("end"), "x"), text + "end");
  EXPECT_TRUE(is_gzip(gzipped("")));
  EXPECT_FALSE(is_gzip("\x1f"));
}

TEST(Gunzip, NoticesWhatIsCutOffOrDamaged) {
  const std::string whole = gzipped(joined(sentences(5000, 3)));
  for (const size_t left_out : {whole.size() / 2, size_t{3}, whole.size() - 2})
    expect_error([&] { gunzip(whole.substr(0, whole.size() - left_out), "a.gz"); }, ErrorKind::data,
                 {"a.gz", "is cut off"});
  std::string damaged = whole;
  damaged[damaged.size() - 6] ^= 1;  // of the checksum
  expect_error([&] { gunzip(damaged, "a.gz"); }, ErrorKind::data, {"a.gz", "is damaged"});
  expect_error([&] { gunzip(whole + "text", "a.gz"); }, ErrorKind::data, {"a.gz", "is damaged"});
}

}  // namespace
}  // namespace weft::testing
