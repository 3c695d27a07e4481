// tests/launch/options/decode_options_test.cpp: errors have the option names of the command line.
#include "launch/options/decode_options.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft::testing {
namespace {

std::string refusal_of_decoding(const DecodeConfig& decode) {
  return refusal_of(ErrorKind::usage, [&] { check_decode_options(decode); });
}

TEST(DecodeOptions, NamesTheOptionThatWasGiven) {
  EXPECT_EQ(refusal_of_decoding({}), "");
  EXPECT_EQ(refusal_of_decoding({.beam = 2, .nbest = 3}), "nbest = 3: must be between 1 and --beam (2)");
  EXPECT_EQ(refusal_of_decoding({.beam = 0}), "beam = 0: give 1 to 1000");
  EXPECT_EQ(refusal_of_decoding({.max_length_factor = -1}),
            "max-length-factor = -1, max-length-extra = 10: both must be 0 or more");
}

}  // namespace
}  // namespace weft::testing
