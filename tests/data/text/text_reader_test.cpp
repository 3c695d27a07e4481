// tests/data/text/text_reader_test.cpp: lines of plain and packed files, and one-line errors for each kind of
// bad input.
#include "data/text/text_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/data/pack_fixture.h"
#include "tests/data/packed_text.h"

namespace weft {
namespace {

using namespace std::string_literals;
using testing::expect_error;
using testing::gzipped;
using testing::joined;
using testing::kPackings;
using testing::packed_with;
using testing::TemporaryFolder;

std::vector<std::string> lines_of(const std::string& path) {
  TextReader reader(path);
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

class TextReaderTest : public ::testing::Test {
 protected:
  std::string file_with(const std::string& bytes) {
    write_file_atomically(folder_ / "text", bytes);
    return folder_ / "text";
  }
  void expect_bad(const std::string& bytes, const std::vector<std::string>& parts) {
    const std::string path = file_with(bytes);
    expect_error([&] { lines_of(path); }, ErrorKind::data, parts);
  }
  TemporaryFolder folder_;
};

TEST_F(TextReaderTest, ReadsPlainAndPackedAlike) {
  const std::vector<std::string> lines = testing::sentences(20000, 3);  // more than one buffer
  EXPECT_EQ(lines_of(file_with(joined(lines))), lines);
  for (const Compression packing : kPackings)
    EXPECT_EQ(lines_of(file_with(packed_with(packing, joined(lines)))), lines) << name_of(packing);
}

TEST_F(TextReaderTest, ReadsConcatenatedParts) {
  for (const Compression packing : kPackings)
    EXPECT_EQ(lines_of(file_with(packed_with(packing, "a\nb") + packed_with(packing, "c\nd\n"))),
              (std::vector<std::string>{"a", "bc", "d"}))
        << name_of(packing);
}

TEST_F(TextReaderTest, TakesLineEndsOfBothKindsAndAMissingLastOne) {
  EXPECT_EQ(lines_of(file_with("a\r\n\nb\rc\nd")), (std::vector<std::string>{"a", "", "b\rc", "d"}));
  EXPECT_TRUE(lines_of(file_with("")).empty());
}

TEST_F(TextReaderTest, SkipsAByteOrderMarkAtTheStartOnly) {
  EXPECT_EQ(lines_of(file_with("\xEF\xBB\xBF"s + "a\n\xEF\xBB\xBF" + "b\n")),
            (std::vector<std::string>{"a", "\xEF\xBB\xBF" + "b"s}));
}

TEST_F(TextReaderTest, NamesFileLineAndByteOfInvalidUtf8) {
  expect_bad("fine\nf\xFCr\n", {folder_ / "text", "line 2", "byte 2", "0xFC", "iconv"});
}

TEST_F(TextReaderTest, NamesFileLineAndByteOfNul) {
  expect_bad("a\nb\nc\0d\n"s, {folder_ / "text", "line 3", "byte 2 is NUL", "iconv", "tr -d"});
}

TEST_F(TextReaderTest, RefusesALineAbove16Mebibytes) {
  EXPECT_EQ(lines_of(file_with(std::string(16 << 20, 'x') + "\n")).size(), 1u);
  expect_bad("a\n" + std::string((16 << 20) + 1, 'x') + "\n", {"line 2", "longer than 16 MiB"});
}

TEST_F(TextReaderTest, NamesOtherFormatsAndTheCommandThatUnpacksThem) {
  for (const auto& [bytes, parts] :
       std::vector<std::pair<std::string, std::vector<std::string>>>{{"PK\3\4\24\0\0\0"s, {"ZIP", "unzip"}},
                                                                     {"BZh91AY&SY"s, {"bzip2", "bunzip2"}},
                                                                     {"7z\xBC\xAF\x27\x1C\0\4"s, {"7z x"}},
                                                                     {"\x04\x22\x4D\x18@"s, {"lz4 -d"}},
                                                                     {"PAR1\x15\x04"s, {"Parquet"}},
                                                                     {"\x89HDF\r\n\x1A\n"s, {"HDF5"}},
                                                                     {"\xFF\xFEh\0"s, {"iconv -f UTF-16"}}})
    expect_bad(bytes, parts);
  EXPECT_EQ(lines_of(file_with("PK\nBZh9\n7z\n")).size(), 3u);
}

// Standard input is a pipe during the test.
class PipedText : public ::testing::Test {
 protected:
  PipedText() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    saved_ = FileDescriptor(dup(STDIN_FILENO));
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    writer_ = FileDescriptor(ends[1]);
  }
  ~PipedText() override { dup2(saved_.get(), STDIN_FILENO); }
  void write(const std::string& text) {
    ASSERT_EQ(::write(writer_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  FileDescriptor saved_, writer_;
};

TEST_F(PipedText, IsReadyAsSoonAsALineIsComplete) {
  TextReader reader = TextReader::standard_input();
  std::string line;
  EXPECT_FALSE(reader.ready());
  write("o");
  EXPECT_FALSE(reader.ready());
  write("ne\ntw");
  EXPECT_TRUE(reader.ready());
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line, "one");
  EXPECT_FALSE(reader.ready());
  write("o\n\nthree");
  for (const char* expected : {"two", ""}) {
    EXPECT_TRUE(reader.ready());
    EXPECT_TRUE(reader.next(line));
    EXPECT_EQ(line, expected);
  }
  EXPECT_FALSE(reader.ready());
  writer_.reset();
  EXPECT_TRUE(reader.ready());
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line, "three");
  EXPECT_FALSE(reader.next(line));
  EXPECT_EQ(reader.num_lines(), 4);
}

TEST_F(PipedText, MayBePackedAndArriveInParts) {
  const std::string bytes = gzipped("a\nb\n");
  write(bytes.substr(0, 3));
  TextReader reader = TextReader::standard_input();
  write(bytes.substr(3));
  writer_.reset();
  std::string line;
  EXPECT_TRUE(reader.next(line));
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line, "b");
  EXPECT_FALSE(reader.next(line));
}

TEST_F(TextReaderTest, NoticesWhatIsNoGzipBehindGzip) {
  std::string second = gzipped("c\nd\n");
  second[0] = 'x';
  EXPECT_THROW(lines_of(file_with(gzipped("a\nb\n") + second)), Error);
}

TEST_F(TextReaderTest, NoticesCutOffAndDamagedParts) {
  for (const Compression packing : kPackings) {
    const std::string whole = packed_with(packing, joined(testing::sentences(5000, 3)));
    expect_bad(whole.substr(0, whole.size() / 2), {folder_ / "text", "is cut off", name_of(packing)});
    expect_bad(whole.substr(0, whole.size() - 3), {folder_ / "text", "is cut off", name_of(packing)});
    std::string damaged = whole;
    for (size_t i = whole.size() / 2; i < whole.size() / 2 + 8; ++i) damaged[i] ^= 0x55;
    expect_bad(damaged, {folder_ / "text", "is damaged", name_of(packing)});
  }
}

TEST_F(TextReaderTest, NoticesAWrongChecksum) {
  for (const Compression packing : kPackings) {
    std::string damaged = packed_with(packing, joined(testing::sentences(5000, 3)));
    const size_t from_end = packing == Compression::gzip   ? 6
                            : packing == Compression::zstd ? 2
                                                           : 4;  // xz: of the footer
    damaged[damaged.size() - from_end] ^= 1;
    expect_bad(damaged, {folder_ / "text", "is damaged"});
  }
}

TEST_F(TextReaderTest, NamesWhatIsNotAFile) {
  expect_error([&] { TextReader reader(folder_ / "none"); }, ErrorKind::data, {"there is no file", "none"});
  expect_error([&] { TextReader reader(folder_.path()); }, ErrorKind::data,
               {"is a folder: give a file", folder_.path()});
}

}  // namespace
}  // namespace weft
