// tests/data/noise/letter_case_test.cpp: upper case as Python's, and title case.
#include "data/noise/letter_case.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(UpperCase, MapsLettersOfAllScripts) {
  EXPECT_EQ(upper_case("Grüße, Ελλάς, мир, 12 東京"), "GRÜSSE, ΕΛΛΆΣ, МИР, 12 東京");
  EXPECT_EQ(upper_case("ǆ ŉ ﬃ ꭰ ÿ"), "Ǆ ʼN FFI Ꭰ Ÿ");
  EXPECT_EQ(upper_case("\u03b0"), "\u03a5\u0308\u0301") << "three characters";
  EXPECT_EQ(upper_case("ĀāĂ"), "ĀĀĂ") << "every second character";
}

TEST(UpperCase, PassesBytesThatAreNoUtf8) { EXPECT_EQ(upper_case("a\xFFz"), "A\xFFZ"); }

TEST(TitleCase, RaisesTheFirstLetterOfEachWord) {
  EXPECT_EQ(title_case("the  BIG (öl-)tanker … \"x\" 3rd"), "The  Big (Öl-)tanker … \"X\" 3rd");
  EXPECT_EQ(title_case("ﬁne ǆep ǆ SSß ßa ŉa ᾳα"), "Fine ǅep ǅ Ssß Ssa ʼNa ᾼα") << "title case is not upper case";
  EXPECT_EQ(title_case("ქართული"), "ქართული") << "Mkhedruli has no title case";
  EXPECT_EQ(title_case(" "), " ");
  EXPECT_EQ(title_case(""), "");
}

TEST(TitleCase, EndsAWordInTheFinalSigma) { EXPECT_EQ(title_case("ΟΣ ΣΟΦΟΣ «ΩΣ» Σ ΣΣ"), "Ος Σοφος «Ως» Σ Σς"); }

}  // namespace
}  // namespace weft
