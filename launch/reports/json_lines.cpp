// launch/reports/json_lines.cpp: converts translations and scores to JSON objects.
#include "launch/reports/json_lines.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "data/batch.h"
#include "data/text/unicode.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

std::string to_line(const Json& json) {
  constexpr bool kEnsureAscii = false;
  return on_one_line(json.dump(-1, ' ', kEnsureAscii, Json::error_handler_t::replace));  // never throws
}

// Returns the tokens and `end` as pieces, and for each of them its log-probability, or null if it was given.
Json tokens_of(std::vector<int32_t> tokens, int32_t end, const std::vector<double>& log_probs,
               const Tokenizer& tokenizer) {
  tokens.push_back(end);
  Json numbers(tokens.size() - log_probs.size(), nullptr);
  for (const double log_prob : log_probs) numbers.push_back(log_prob);
  return {{"tokens", log_probs.size()}, {"pieces", pieces_of(tokens, tokenizer)}, {"log_probs", std::move(numbers)}};
}

Json json_of(const Translation& t, const Tokenizer& tokenizer) {
  Json json{{"text", t.text}, {"score", t.score}, {"log_prob", t.log_prob}};
  json.update(tokens_of(t.tokens, t.end, t.log_probs, tokenizer));
  return json;
}

Json json_of(const ScoredText& scored) {
  if (scored.score == nullptr)
    return {{"log_prob", nullptr},
            {"tokens", 0},
            {"log_prob_per_token", nullptr},
            {"pieces", Json::array()},
            {"log_probs", Json::array()}};
  Json json{{"log_prob", scored.score->log_prob},
            {"tokens", scored.score->tokens()},
            {"log_prob_per_token", scored.score->per_token()}};
  json.update(tokens_of(scored.target, SpecialIds::eos, scored.score->log_probs, scored.tokenizer));
  return json;
}

}  // namespace

std::vector<std::string> pieces_of(const std::vector<int32_t>& ids, const Tokenizer& tokenizer) {
  std::vector<std::string> pieces;
  for (const int32_t id : ids) pieces.push_back(tokenizer.piece(id));
  return pieces;
}

std::string on_one_line(const std::string& json) {
  std::string line;
  for (size_t i = 0; i < json.size();) {
    const CodePoint c = code_point_at(json, i);
    const auto length = static_cast<size_t>(c.num_bytes);
    line += is_control_or_line_break(c.value) ? fmt::format("\\u{:04x}", static_cast<uint32_t>(c.value))
                                              : json.substr(i, length);
    i += length;
  }
  return line;
}

std::string translation_line(const TranslatedLine& line, const Translator& translator) {
  Json json;
  json["index"] = line.index;
  json.update(json_of(line.nbest.front(), translator.target_tokenizer()));
  json["source_tokens"] = line.input.source.size();
  json["source_cut"] = translator.is_cut(line.input);
  if (line.alignment) {
    json["source_pieces"] = pieces_of(line.input.source, translator.source_tokenizer());
    json["alignment"] = Json::array();
    for (const AlignmentLink& link : *line.alignment) json["alignment"].push_back({link.source, link.target});
  }
  if (translator.lists_several()) {
    json["nbest"] = Json::array();
    for (const Translation& t : line.nbest) json["nbest"].push_back(json_of(t, translator.target_tokenizer()));
  }
  return to_line(json);
}

std::string score_line(int64_t index, const ScoredText& scored, const ScoredText* reverse) {
  Json json{{"index", index}};
  json.update(json_of(scored));
  if (reverse != nullptr) {
    json["reverse"] = json_of(*reverse);
    json["adequacy"] = nullptr;
    if (scored.score != nullptr && reverse->score != nullptr)
      json["adequacy"] = adequacy(*scored.score, *reverse->score);
  }
  return to_line(json);
}

}  // namespace weft
