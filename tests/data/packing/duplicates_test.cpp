// tests/data/packing/duplicates_test.cpp: which pairs are found, compared with a set of all of them.
#include "data/packing/duplicates.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/data/pack_fixture.h"

namespace weft::testing {
namespace {

std::vector<bool> duplicates_in(const std::vector<TextPair>& pairs) {
  const TemporaryFolder folder;
  DuplicateFinder finder(folder.path());
  for (const TextPair& pair : pairs) finder.add(pair);
  const std::vector<bool> found = finder.finish();
  EXPECT_TRUE(names_in(folder.path()).empty()) << "temporary files remain";
  return found;
}

TEST(DuplicateFinder, KeepsTheFirstOfEach) {
  EXPECT_EQ(duplicates_in({{"a", "b"}, {"b", "a"}, {"a", "b"}, {"a", "c"}, {"a", "b"}}),
            (std::vector<bool>{false, false, true, false, true}));
  EXPECT_TRUE(duplicates_in({}).empty());
}

TEST(DuplicateFinder, IgnoresWhiteSpaceAtTheEndsOnly) {
  EXPECT_EQ(duplicates_in({{"a b", "c"}, {" a b\t", "c "}, {"a  b", "c"}, {"a", "b c"}}),
            (std::vector<bool>{false, true, false, false}));
}

TEST(DuplicateFinder, AgreesWithASetOverManyBuffers) {
  constexpr int64_t kPairs = 400'000;  // more than the buffers of all files hold
  std::vector<TextPair> pairs;
  for (int64_t i = 0; i < kPairs; ++i)
    pairs.push_back(
        {std::to_string(random_bits(7, static_cast<uint64_t>(i), 0, purpose_of("test.text")) % 300'000), "x"});
  std::set<std::string> seen;
  const std::vector<bool> found = duplicates_in(pairs);
  ASSERT_EQ(std::ssize(found), kPairs);
  for (size_t i = 0; i < pairs.size(); ++i) ASSERT_EQ(found[i], !seen.insert(pairs[i].source).second) << i;
}

}  // namespace
}  // namespace weft::testing
