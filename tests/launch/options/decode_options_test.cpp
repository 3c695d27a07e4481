// tests/launch/options/decode_options_test.cpp: refusals name the options as the command line has them.
#include "launch/options/decode_options.h"

#include <gtest/gtest.h>

#include "tensor/error.h"

namespace weft::testing {
namespace {

std::string refusal_of(const DecodeConfig& decode) {
  try {
    check_decode_options(decode);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(DecodeOptions, NamesTheOptionThatWasGiven) {
  EXPECT_EQ(refusal_of({}), "");
  EXPECT_EQ(refusal_of({.beam = 2, .nbest = 3}), "nbest = 3: give 1 to 2, the beam, or a larger --beam with it");
  EXPECT_EQ(refusal_of({.beam = 0}), "beam = 0: give 1 to 1000");
  EXPECT_EQ(refusal_of({.max_length_factor = -1}), "max-length-factor = -1, max-length-extra = 10: give 0 or more");
}

}  // namespace
}  // namespace weft::testing
