// tests/launch/reports/json_lines_test.cpp: the JSON lines of translate and score.
#include "launch/reports/json_lines.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/trainer/inference/translation_fixture.h"

namespace weft::testing {
namespace {

using nlohmann::json;

class JsonLinesTest : public ::testing::Test {
 protected:
  // The line of a translation with one forced token, as an object.
  static json object(const DecodeConfig& decode, const std::vector<AlignmentLink>* links) {
    json parsed;
    on_grid(1, 1, [&](const Mesh& mesh) {
      const TemporaryFolder folder;
      const Tokenizer tokenizer(write_tokenizer(folder / "tokenizer.model"));
      RandomModel m(small_model_config(tokenizer.size()), mesh, /*max_positions=*/4);
      const Translator translator(m.replica, tokenizer, tokenizer, decode);
      const TranslationInput input{.source = tokenizer.encode("the house"), .prefix = tokenizer.encode("a")};
      const Translation t{.text = "a", .score = -2, .log_prob = -3, .tokens = {270, kByte}, .log_probs = {-1, -2}};
      parsed = json::parse(translation_line({7, input, NBest(2, t), links}, translator));
      EXPECT_EQ(parsed["source_cut"], input.source.size() > 3);
      EXPECT_EQ(parsed["source_tokens"], input.source.size());
    });
    return parsed;
  }
  static constexpr int32_t kByte = 3 + 0xE2;
};

TEST_F(JsonLinesTest, TellTokensWithTheirLogProbabilities) {
  const json line = object({.beam = 1}, nullptr);
  EXPECT_EQ(line["index"], 7);
  EXPECT_EQ(line["tokens"], 2);
  EXPECT_EQ(line["pieces"][1], "<0xE2>") << "a byte piece is text";
  EXPECT_EQ(line["pieces"][2], "</s>");
  EXPECT_EQ(line["log_probs"], json({nullptr, -1.0, -2.0})) << "the forced token has none";
  EXPECT_FALSE(line.contains("nbest") || line.contains("alignment"));
}

TEST_F(JsonLinesTest, HaveListsOfTranslationsAndLinksWhereTheyAreAskedFor) {
  const std::vector<AlignmentLink> links{{.source = 1, .target = 0}, {.source = 0, .target = 1}};
  const json line = object({.beam = 2, .nbest = 2}, &links);
  EXPECT_EQ(line["alignment"], json({{1, 0}, {0, 1}}));
  EXPECT_EQ(line["source_pieces"].size(), line["source_tokens"]);
  ASSERT_EQ(line["nbest"].size(), 2u);
  EXPECT_EQ(line["nbest"][1]["log_probs"], line["log_probs"]);
}

TEST_F(JsonLinesTest, BreakAtNoCharacter) { EXPECT_EQ(on_one_line("\"a\u2028\u0085b\""), R"("a\u2028\u0085b")"); }

}  // namespace
}  // namespace weft::testing
