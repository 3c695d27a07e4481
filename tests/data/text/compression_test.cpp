// tests/data/text/compression_test.cpp: gzip, zstd and xz data in memory.
#include "data/text/compression.h"

#include <gtest/gtest.h>

#include "tests/data/pack_fixture.h"
#include "tests/data/packed_text.h"

namespace weft::testing {
namespace {

class Unpacked : public ::testing::TestWithParam<Compression> {
 protected:
  std::string packed(const std::string& text) const { return packed_with(GetParam(), text); }
};

TEST_P(Unpacked, GivesTheTextOfOnePartAndOfSeveral) {
  const std::string text = joined(sentences(20000, 3));  // more than one buffer
  EXPECT_EQ(unpacked(packed(text), "x"), text);
  EXPECT_EQ(unpacked(packed(text) + packed("") + packed("end"), "x"), text + "end");
  EXPECT_EQ(compression_of(packed("")), GetParam());
}

TEST_P(Unpacked, NoticesWhatIsCutOff) {
  const std::string whole = packed(joined(sentences(5000, 3)));
  for (const size_t left_out : {whole.size() / 2, size_t{3}, whole.size() - 6})
    expect_error([&] { unpacked(whole.substr(0, whole.size() - left_out), "a.packed"); }, ErrorKind::data,
                 {"a.packed", name_of(GetParam()), "is cut off"});
}

TEST_P(Unpacked, NoticesWhatIsDamagedOrFollowed) {
  const std::string whole = packed(joined(sentences(5000, 3)));
  std::string damaged = whole;
  for (size_t i = whole.size() / 2; i < whole.size() / 2 + 8; ++i) damaged[i] ^= 0x55;
  expect_error([&] { unpacked(damaged, "a.packed"); }, ErrorKind::data, {"a.packed", "is damaged"});
  expect_error([&] { unpacked(whole + "some more text", "a.packed"); }, ErrorKind::data, {"a.packed", "is damaged"});
}

INSTANTIATE_TEST_SUITE_P(Kinds, Unpacked, ::testing::ValuesIn(kPackings),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(UnpackedText, IsTextThatWasNotPacked) {
  for (const char* text : {"", "a", "\x1f", "(\xc2\xb5", "P*M is text"}) {
    EXPECT_EQ(compression_of(text), Compression::none);
    EXPECT_EQ(unpacked(text, "x"), text);
  }
}

TEST(UnpackedText, SkipsWhatPzstdPutsBetweenFrames) {
  using namespace std::string_literals;
  const std::string skipped = "\x50\x2a\x4d\x18\x04\0\0\0size"s;
  EXPECT_EQ(unpacked(skipped + zstd_packed("a\n") + skipped + zstd_packed("b\n"), "x"), "a\nb\n");
}

TEST(UnpackedText, RefusesAWindowThatTakesTooMuchMemory) {
  using namespace std::string_literals;
  // A frame's header (RFC 8878, section 3.1.1): no content size, no checksum; window descriptor 31 << 3 is 2 TiB.
  expect_error([] { unpacked("\x28\xb5\x2f\xfd\0\xf8"s + std::string(20, 'x'), "a.zst"); }, ErrorKind::data,
               {"a.zst", "needs too much memory"});
}

}  // namespace
}  // namespace weft::testing
