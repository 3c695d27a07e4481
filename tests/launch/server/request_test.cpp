// tests/launch/server/request_test.cpp: fields of requests, and requests that are refused.
#include "launch/server/request.h"

#include <gtest/gtest.h>

#include "tensor/error.h"
#include "tests/support/errors.h"

namespace weft {
namespace {

ServedTranslation read_request(const std::string& body, const ServerLimits& limits = {}) {
  return RequestReader(body, limits).translation({.beam = 4, .length_penalty = 0.9, .nbest = 3});
}
std::string refusal_of_request(const std::string& body, const ServerLimits& limits = {}) {
  return testing::refusal_of(ErrorKind::usage, [&] { read_request(body, limits); });
}

TEST(ServedTranslation, TakesTheCheckpointsSearchUnlessARequestSaysOtherwise) {
  const ServedTranslation usual = read_request(R"({"text": "a b"})");
  ASSERT_EQ(usual.lines.size(), 1u);
  EXPECT_EQ(usual.lines[0].text, "a b");
  EXPECT_EQ(usual.search.decode.beam, 4);
  EXPECT_EQ(usual.search.decode.nbest, 1);
  EXPECT_EQ(usual.search.decode.length_penalty, 0.9);
  EXPECT_EQ(usual.search.sampling.samples, 0);
  const ServedTranslation asked = read_request(
      R"({"model": "m", "text": ["a", "b"], "tag": "<2de>", "prefix": "x", "alignment": true, "samples": 5, "top_k": 7,
          "top_p": 0.5, "temperature": 2, "seed": 9, "mbr": "bleu"})");
  ASSERT_EQ(asked.lines.size(), 2u);
  EXPECT_EQ(asked.lines[1].tag, "<2de>");
  EXPECT_EQ(asked.lines[1].prefix, "x");
  EXPECT_TRUE(asked.alignment);
  EXPECT_EQ(asked.search.sampling.samples, 5);
  EXPECT_EQ(asked.search.sampling.top_k, 7);
  EXPECT_EQ(asked.search.sampling.top_p, 0.5);
  EXPECT_EQ(asked.search.sampling.temperature, 2);
  EXPECT_EQ(asked.search.sampling.seed, 9u);
  EXPECT_EQ(asked.search.utility, RiskUtility::bleu);
}

TEST(ServedTranslation, IsRefusedByTheNameOfItsField) {
  EXPECT_EQ(refusal_of_request("{"), "the body is not a JSON object in UTF-8");
  EXPECT_EQ(refusal_of_request("[]"), "the body is not a JSON object in UTF-8");
  EXPECT_EQ(refusal_of_request("{\"text\": \"\xff\"}"), "the body is not a JSON object in UTF-8");
  EXPECT_EQ(refusal_of_request("{}"), "\"text\" is missing");
  EXPECT_EQ(refusal_of_request(R"({"text": 1})"), "\"text\" must be a string or a list of strings");
  EXPECT_EQ(refusal_of_request(R"({"text": ["a", null]})"), "\"text\" must be a string or a list of strings");
  EXPECT_EQ(refusal_of_request(R"({"text": "a", "beams": 2})"), "unknown field \"beams\"; did you mean \"beam\"?");
  EXPECT_EQ(refusal_of_request(R"({"text": "a", "beam": 2.5})"), "\"beam\" must be a whole number");
  EXPECT_EQ(refusal_of_request(R"({"text": "a", "beam": 18446744073709551615})"), "\"beam\" must be a whole number");
  EXPECT_EQ(refusal_of_request(R"({"text": "a", "seed": -1})"), "\"seed\" must be a whole number from 0 on");
  EXPECT_EQ(refusal_of_request(R"({"text": "a", "alignment": 1})"), "\"alignment\" must be true or false");
  EXPECT_NE(refusal_of_request(R"({"text": "a", "mbr": "ter"})").find("one of none, chrf, bleu"), std::string::npos);
  EXPECT_EQ(refusal_of_request(R"({"text": "a", "beam": 17})"), "\"beam\" is above the limit of 16");
  EXPECT_EQ(refusal_of_request(R"({"text": "a", "samples": 65})"), "\"samples\" must be between 0 and 64");
  EXPECT_EQ(refusal_of_request(R"({"text": "a", "samples": 2, "temperature": 0})"),
            "temperature = 0 must be above 0; a beam of 1 is its limit at 0");
  EXPECT_EQ(refusal_of_request(R"({"text": "a", "samples": 0, "seed": 4})"),
            "\"seed\" applies only to samples: add \"samples\"");
  EXPECT_EQ(refusal_of_request(R"({"text": "a", "samples": 2, "nbest": 2})"),
            "\"nbest\" applies only to beam search: leave out \"samples\" or this field");
  EXPECT_EQ(refusal_of_request(R"({"text": "a", "samples": 1, "mbr": "chrf"})"),
            "\"mbr\" compares samples: \"samples\" must be at least 2");
  EXPECT_EQ(refusal_of_request(R"({"text": "a", "beam": 0})"), "beam = 0 must be between 1 and 1000");
}

TEST(ServedTranslation, HasLimits) {
  const ServerLimits limits{.lines = 2, .line_bytes = 3};
  EXPECT_EQ(refusal_of_request(R"({"text": ["a", "b"]})", limits), "");
  EXPECT_EQ(refusal_of_request(R"({"text": ["a", "b", "c"]})", limits), "\"text\" has 3 lines, and the limit is 2");
  EXPECT_EQ(refusal_of_request(R"({"text": "abcd"})", limits), "\"text\" has a line of 4 bytes, and the limit is 3");
  EXPECT_EQ(refusal_of_request(R"({"text": "a", "prefix": "abcd"})", limits),
            "\"prefix\" has a line of 4 bytes, and the limit is 3");
  for (const char* text : {R"("a\nb")", R"("a\u0000")"})
    EXPECT_EQ(refusal_of_request(std::string(R"({"text": )") + text + "}"),
              "\"text\" has a line break or NUL inside a line: send a list with one sentence per string");
}

TEST(ServedPairs, HaveAsManySourcesAsTargets) {
  const ServerLimits limits;
  const ServedPairs pairs = RequestReader(R"({"source": ["a", "b"], "target": ["c", "d"]})", limits).pairs();
  EXPECT_EQ(pairs.sources[1].text, "b");
  EXPECT_EQ(pairs.targets[1], "d");
  EXPECT_EQ(testing::refusal_of(ErrorKind::usage,
                                [&] { RequestReader(R"({"source": ["a"], "target": ["c", "d"]})", limits).pairs(); }),
            "\"source\" has 1 lines, but \"target\" has 2");
}

}  // namespace
}  // namespace weft
