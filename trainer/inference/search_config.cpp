// trainer/inference/search_config.cpp: checks the options of a search.
#include "trainer/inference/search_config.h"

#include <fmt/format.h>

#include <cmath>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr int64_t kLargestBeam = 1000, kMostSamples = 10'000;
constexpr double kLargestPenalty = 10;  // kLongestTarget to its power is still finite in f32

[[noreturn]] void refuse(const std::string& what) { fail(ErrorKind::usage, what); }

void check_sampling(const SamplingOptions& s) {
  if (s.samples > kMostSamples) refuse(fmt::format("samples = {} must be between 1 and {}", s.samples, kMostSamples));
  if (s.top_k < 0) refuse(fmt::format("top-k = {} must be at least 0", s.top_k));
  if (!(s.top_p > 0 && s.top_p <= 1)) refuse(fmt::format("top-p = {} must be above 0 and at most 1", s.top_p));
  if (!(s.temperature > 0 && std::isfinite(s.temperature)))
    refuse(fmt::format("temperature = {} must be above 0; a beam of 1 is its limit at 0", s.temperature));
}

// Suppressing a part of a character could leave nothing that completes it.
int32_t suppressed_id(const std::string& piece, const Tokenizer& target) {
  const int32_t id = target.id_of(piece);
  if (target.piece(id) != piece)
    refuse(fmt::format("the target vocabulary has no piece \"{}\" to suppress; \u2581 stands for a space", piece));
  if (id == SpecialIds::eos) refuse("eos cannot be suppressed: use --min-length");
  if (target.is_byte(id)) refuse(fmt::format("{} is part of a character and cannot be suppressed", piece));
  return id;
}

}  // namespace

BeamOptions beam_options(const DecodeConfig& c) {
  if (c.beam < 1 || c.beam > kLargestBeam)
    refuse(fmt::format("beam = {} must be between 1 and {}", c.beam, kLargestBeam));
  if (c.nbest < 1 || c.nbest > c.beam)
    refuse(fmt::format("nbest = {} must be between 1 and the beam size ({})", c.nbest, c.beam));
  if (c.max_length_factor < 0 || c.max_length_extra < 0 || (c.max_length_factor == 0 && c.max_length_extra == 0))
    refuse(fmt::format("max_length_factor = {} and max_length_extra = {} must both be at least 0, and one above 0",
                       c.max_length_factor, c.max_length_extra));
  if (!(std::abs(c.length_penalty) <= kLargestPenalty))
    refuse(fmt::format("length_penalty = {0} must be between -{1} and {1}", c.length_penalty, kLargestPenalty));
  if (c.min_length < 0 || c.min_length > kLongestTarget)
    refuse(fmt::format("min_length = {} must be between 0 and {}", c.min_length, kLongestTarget));
  return {.beam = c.beam,
          .kind = c.beam_kind,
          .length_penalty_kind = c.length_penalty_kind,
          .length_penalty = c.length_penalty,
          .nbest = c.nbest};
}

SearchOptions search_options(const SearchConfig& c) {
  if (c.no_repeat_ngram < 0) refuse(fmt::format("no-repeat-ngram = {} must be at least 0", c.no_repeat_ngram));
  if (c.utility != RiskUtility::none && c.sampling.samples < 2)
    refuse("minimum Bayes risk compares samples: give at least 2, such as --samples 32");
  SearchOptions options{
      .beam = beam_options(c.decode), .no_repeat_ngram = c.no_repeat_ngram, .sampling = c.sampling, .mean = c.mean};
  if (c.sampling.samples == 0) return options;
  check_sampling(c.sampling);
  options.beam.beam = 1;
  options.beam.kind = BeamKind::shrinking;
  return options;
}

// Only bos and the unknown token are special in a vocabulary without byte pieces.
TokenRules token_rules(const SearchConfig& config, const Tokenizer& target) {
  TokenRules rules;
  const auto set = [&](int32_t id, TokenClass c) { rules.classes[static_cast<size_t>(id)] = static_cast<int32_t>(c); };
  for (int32_t id = 0; id < target.size(); ++id) {
    TokenClass c = TokenClass::text;
    if (target.is_byte(id)) c = class_of_byte(target.byte_of(id));
    if (id == SpecialIds::eos) c = TokenClass::end;
    const bool is_unwanted = id == SpecialIds::unk && !config.decode.allow_unknown;
    if (id == SpecialIds::bos || target.is_padding(id) || is_unwanted) c = TokenClass::forbidden;
    rules.classes.push_back(static_cast<int32_t>(c));
  }
  for (const std::string& piece : config.suppressed) set(suppressed_id(piece, target), TokenClass::forbidden);
  return rules;
}

}  // namespace weft
