// tests/model/config_test.cpp: impossible models are refused with the numbers and the options to change.
#include "model/config.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/errors.h"

namespace weft {
namespace {

ModelConfig usable() {
  ModelConfig c;
  c.source_vocabulary = c.target_vocabulary = 100;
  return c;
}

std::string refusal(ModelConfig c, int64_t tp) {
  return testing::refusal_of(ErrorKind::usage, [&] { c.resolve(tp); });
}

TEST(ModelConfig, FillsTheDropoutRatesThatWereLeftOut) {
  ModelConfig c = usable();
  c.dropout = 0.3, c.dropout_attention = 0;
  c.resolve(1);
  EXPECT_EQ(c.dropout_residual, 0.3);
  EXPECT_EQ(c.dropout_attention, 0);
}

TEST(ModelConfig, NamesBothNumbersWhenHeadsDoNotDivideByTheRanks) {
  EXPECT_EQ(refusal(usable(), 3), "model.heads = 8 is not divisible by parallel.tp = 3: change one of the two");
}

TEST(ModelConfig, NamesBothNumbersWhenWidthDoesNotDivideByHeads) {
  ModelConfig c = usable();
  c.width = 100;
  EXPECT_EQ(refusal(c, 1), "model.width = 100 is not divisible by model.heads = 8: change one of the two");
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
  c.resolve(1);  // a saved configuration loads again
  EXPECT_EQ(c.max_positions, 1024);
}

TEST(ModelConfig, RefusesATableThatHoldsNoSentence) {
  ModelConfig c = usable();
  c.positions = Positions::learned, c.max_positions = 1;
  EXPECT_EQ(refusal(c, 1), "model.max_positions = 1 must be 0 (for 1024) or at least 2 (a token and eos)");
}

TEST(ModelConfig, RefusesAnOffsetOfLearnedPositions) {
  ModelConfig c = usable();
  c.positions = Positions::learned, c.position_offset = 2;
  EXPECT_EQ(refusal(c, 1),
            "model.position_offset = 2 must be 0, because with model.positions = learned, the first token always "
            "uses the first row of the table");
}

TEST(ModelConfig, RefusesSizesBeyondAnyModelInOneLine) {
  const std::pair<int64_t ModelConfig::*, std::pair<const char*, int64_t>> limits[] = {
      {&ModelConfig::width, {"width", 1 << 20}},
      {&ModelConfig::heads, {"heads", 1 << 20}},
      {&ModelConfig::feed_forward, {"feed_forward", 1 << 20}},
      {&ModelConfig::encoder_layers, {"encoder_layers", 1000}},
      {&ModelConfig::decoder_layers, {"decoder_layers", 1000}},
      {&ModelConfig::source_vocabulary, {"source_vocabulary", 1 << 24}},
      {&ModelConfig::target_vocabulary, {"target_vocabulary", 1 << 24}},
      {&ModelConfig::max_positions, {"max_positions", 1 << 20}}};
  for (const auto& [member, limit] : limits)
    for (const int64_t value : {limit.second + 1, int64_t{4'000'000'000}, INT64_MAX}) {
      ModelConfig c = usable();
      c.positions = Positions::learned;
      c.*member = value;
      EXPECT_EQ(refusal(c, 1), fmt::format("model.{} = {} must be at most {}", limit.first, value, limit.second));
    }
}

TEST(ModelConfig, CountsTheParametersOfTheLargestModelWithoutOverflow) {
  ModelConfig c = usable();
  c.width = c.feed_forward = c.heads = 1 << 20;
  c.encoder_layers = c.decoder_layers = 1000;
  c.source_vocabulary = c.target_vocabulary = 1 << 24;
  EXPECT_EQ(refusal(c, 1), "");
  const long double weights = 1000.0L * (4 + 2 + 8 + 2) * c.width * c.width + 1.0L * c.source_vocabulary * c.width;
  EXPECT_LT(weights * 4 * sizeof(double), static_cast<long double>(INT64_MAX));  // bytes of values, gradients, moments
}

TEST(ModelConfig, RefusesAnOffsetBeyondAnySentence) {
  for (const int64_t offset : {INT64_MIN, INT64_MAX}) {
    ModelConfig c = usable();
    c.position_offset = offset;
    EXPECT_EQ(refusal(c, 1), fmt::format("model.position_offset = {} must be between -1048576 and 1048576", offset));
  }
}

TEST(ModelConfig, RefusesALimitOfSinusoids) {
  ModelConfig c = usable();
  c.max_positions = 512;
  EXPECT_EQ(refusal(c, 1),
            "model.max_positions = 512 must be 0, because only model.positions = learned limits the length of "
            "sentences");
}

TEST(ModelConfig, NamesBothNumbersWhenHeadsOfKeysDoNotDivide) {
  ModelConfig c = usable();
  c.kv_heads = c.heads + 1;
  EXPECT_EQ(refusal(c, 1),
            fmt::format("model.heads = {} is not divisible by model.kv_heads = {}: change one of the two", c.heads,
                        c.kv_heads));
  c.kv_heads = -1;
  EXPECT_EQ(refusal(c, 1), "model.kv_heads = -1 must be 0 (same as model.heads) or at least 1");
  c.kv_heads = 1;
  EXPECT_EQ(refusal(c, 2), "model.kv_heads = 1 is not divisible by parallel.tp = 2: change one of the two");
}

TEST(ModelConfig, RefusesRotaryPositionsOfAnOddHeadAndWithAnOffset) {
  ModelConfig c = usable();
  c.positions = Positions::rotary, c.width = 3 * c.heads;
  EXPECT_EQ(refusal(c, 1),
            "model.width / model.heads = 3 must be even, because rotary positions rotate pairs of columns");
  c = usable();
  c.positions = Positions::rotary_halves, c.position_offset = 2;
  EXPECT_EQ(refusal(c, 1),
            "model.position_offset = 2 must be 0, because rotary positions use only distances between tokens");
}

}  // namespace
}  // namespace weft
