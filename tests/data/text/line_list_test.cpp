// tests/data/text/line_list_test.cpp: lists of lines are read, and lists for another text are refused.
#include "data/text/line_list.h"

#include <gtest/gtest.h>

#include "data/atomic_file.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft::testing {
namespace {

class LineLists : public ::testing::Test {
 protected:
  std::string list(const std::string& text) {
    write_file_atomically(folder_ / "list", text);
    return folder_ / "list";
  }
  TemporaryFolder folder_;
};

TEST_F(LineLists, HaveNumbersReasonsAndComments) {
  const LineList found = read_line_list(list("# a comment\n3\trepeats line 7\n\n 1 \n# 20 pairs\n3\n"));
  EXPECT_EQ(found.numbers, (std::unordered_set<int64_t>{0, 2}));
  EXPECT_EQ(found.num_pairs, 20);
  EXPECT_EQ(read_line_list(list(size_of_text(5))).num_pairs, 5);
}

TEST_F(LineLists, OfAnotherTextAreRefused) {
  EXPECT_NO_THROW(require_list_of(list("3\n# 20 pairs\n"), 20));
  EXPECT_NO_THROW(require_list_of(list("3\n"), 3));
  const std::string path = list("3\n# 20 pairs\n");
  EXPECT_EQ(message_of(ErrorKind::data, [&] { require_list_of(path, 21); }),
            path + " lists lines of a text of 20 pairs, but this text has 21: audit this text");
  EXPECT_EQ(message_of(ErrorKind::data, [&] { require_list_of(list("9\n"), 8); }),
            path + " lists line 9, but the text has only 8 pairs");
}

TEST_F(LineLists, WithSomethingElseAreRefused) {
  for (const char* text : {"0\n", "-2\n", "five\n", "3.5\n", "99999999999999999999\n"})
    EXPECT_NE(message_of(ErrorKind::data, [&] { read_line_list(list(text)); }).find("line 1: "), std::string::npos)
        << text;
}

}  // namespace
}  // namespace weft::testing
