// tests/launch/input_lines_test.cpp: several texts as one input, and lines that are bad.
#include "launch/input_lines.h"

#include <gtest/gtest.h>

#include "data/atomic_file.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft {
namespace {

using testing::expect_error;

class InputLinesTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    write_file_atomically(folder_ / name, text);
    return folder_ / name;
  }
  static std::vector<std::string> all(InputLines& input) {
    std::vector<std::string> lines;
    for (std::string line; input.next(line);) lines.push_back(line);
    return lines;
  }
  const testing::TemporaryFolder folder_;
};

TEST_F(InputLinesTest, AreThoseOfOneFileAfterTheOther) {
  InputLines input({file("a", "one\ntwo"), file("b", ""), file("c", "three\n")}, BadLines::error);
  EXPECT_EQ(input.share_read(), 0);
  std::string line;
  ASSERT_TRUE(input.next(line) && input.next(line));
  EXPECT_EQ(input.where(), folder_ / "a" + ", line 2");
  EXPECT_EQ(all(input), (std::vector<std::string>{"three"}));
  EXPECT_EQ(input.share_read(), 1);
}

TEST_F(InputLinesTest, AreMarkedIfTheyAreBad) {
  const std::string text = "one\nt\xFFo\n" + std::string((16 << 20) + 1, 'x') + "\nfour\n";
  InputLines input({file("a", text)}, BadLines::empty);
  std::string line;
  ASSERT_TRUE(input.next(line));
  input.reject(line, Error(ErrorKind::data, "no tag"));
  EXPECT_EQ(line, InputLines::kBad);
  EXPECT_EQ(all(input), (std::vector<std::string>{InputLines::kBad, InputLines::kBad, "four"}));
  ::testing::internal::CaptureStderr();
  input.print_bad_lines();
  const std::string report = ::testing::internal::GetCapturedStderr();
  for (const char* part : {"because they are bad: 3\n  no tag\n", "line 2: byte 2 (0xFF) is not valid UTF-8",
                           "line 3: the line is longer than 16 MiB"})
    EXPECT_NE(report.find(part), std::string::npos) << report;
}

TEST_F(InputLinesTest, EndTheCommandIfTheyAreBadAndThatIsAskedFor) {
  InputLines input({file("a", "one\nt\xFFo\n")}, BadLines::error);
  expect_error([&] { all(input); }, ErrorKind::data, {"line 2: byte 2 (0xFF) is not valid UTF-8"});
  expect_error([&] { InputLines({folder_ / "none"}, BadLines::empty); }, ErrorKind::data, {"there is no file"});
}

}  // namespace
}  // namespace weft
