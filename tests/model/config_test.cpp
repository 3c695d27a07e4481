// tests/model/config_test.cpp: models that cannot be built are refused with the numbers and the options to change.
#include "model/config.h"

#include <gtest/gtest.h>

#include <string>

#include "tensor/error.h"

namespace weft {
namespace {

ModelConfig usable() {
  ModelConfig c;
  c.source_vocabulary = c.target_vocabulary = 100;
  return c;
}

std::string refusal(ModelConfig c, int64_t tp) {
  try {
    c.resolve(tp);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::usage);
    return e.what();
  }
  return "";
}

TEST(ModelConfig, FillsTheDropoutRatesThatWereLeftOut) {
  ModelConfig c = usable();
  c.dropout = 0.3, c.dropout_attention = 0;
  c.resolve(1);
  EXPECT_EQ(c.dropout_residual, 0.3);
  EXPECT_EQ(c.dropout_attention, 0);
}

TEST(ModelConfig, NamesBothNumbersWhenHeadsDoNotDivideByTheRanks) {
  EXPECT_EQ(refusal(usable(), 3), "model.heads = 8 does not divide by parallel.tp = 3: change one of the two");
}

TEST(ModelConfig, NamesBothNumbersWhenWidthDoesNotDivideByHeads) {
  ModelConfig c = usable();
  c.width = 100;
  EXPECT_EQ(refusal(c, 1), "model.width = 100 does not divide by model.heads = 8: change one of the two");
}

TEST(ModelConfig, RefusesToTieVocabulariesOfDifferentSize) {
  ModelConfig c = usable();
  c.target_vocabulary = 90;
  EXPECT_NE(refusal(c, 1).find("model.tying = all needs one joint vocabulary"), std::string::npos);
  c.tying = Tying::output;
  EXPECT_EQ(refusal(c, 1), "");
}

TEST(ModelConfig, RefusesADropoutRateOfOne) {
  ModelConfig c = usable();
  c.dropout_attention = 1;
  EXPECT_EQ(refusal(c, 1), "model.dropout_attention = 1 must be in [0, 1)");
}

TEST(ModelConfig, GivesLearnedPositionsTheirUsualTable) {
  ModelConfig c = usable();
  c.positions = Positions::learned;
  c.resolve(1);
  EXPECT_EQ(c.max_positions, 1024);
  c.resolve(1);  // what was saved loads again
  EXPECT_EQ(c.max_positions, 1024);
}

TEST(ModelConfig, RefusesATableThatHoldsNoSentence) {
  ModelConfig c = usable();
  c.positions = Positions::learned, c.max_positions = 1;
  EXPECT_EQ(refusal(c, 1), "model.max_positions = 1 must be at least 2: a piece and its eos, or 0");
}

TEST(ModelConfig, RefusesAnOffsetOfLearnedPositions) {
  ModelConfig c = usable();
  c.positions = Positions::learned, c.position_offset = 2;
  EXPECT_EQ(refusal(c, 1),
            "model.position_offset = 2 is for sinusoids: with model.positions = learned the first token has the first "
            "row; leave it at 0");
}

TEST(ModelConfig, RefusesALimitOfSinusoids) {
  ModelConfig c = usable();
  c.max_positions = 512;
  EXPECT_EQ(refusal(c, 1),
            "model.max_positions = 512 is for model.positions = learned: sinusoids have no limit; leave it at 0");
}

}  // namespace
}  // namespace weft
