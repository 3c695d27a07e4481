// data/packing/pair_variants.h: makes variants of a pair for training: noise, marks to copy, sampled segmentations.
//
// Variant v of pair i is a pure function of (seed, i, v) and of the text. All variants have the same distribution, and
// none is always the plain pair. So the rates hold in every epoch, whichever variant the epoch uses.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "data/noise/inline_marks.h"
#include "data/noise/noise_rates.h"
#include "data/packing/pair_text.h"
#include "data/shards/manifest.h"
#include "data/shards/shard.h"
#include "data/subword/subword_sampler.h"
#include "data/tokenizer.h"
#include "tensor/enum_names.h"

namespace weft {

enum class SubwordSides : uint8_t { both, source, target };
constexpr EnumNames<SubwordSides, 3> enum_names(SubwordSides) {
  return {{{"both", SubwordSides::both}, {"source", SubwordSides::source}, {"target", SubwordSides::target}}};
}

struct VariantOptions {
  int64_t count = 0;         // 0: no variants
  double bpe_dropout = 0;    // for BPE models: the probability that a merge is left out; 0: none
  double unigram_alpha = 0;  // for unigram models: SubwordSampler's alpha; 0: none
  SubwordSides subword_sides = SubwordSides::both;
  std::string noise, noise_target;  // in the syntax of parse_noise_rates() and parse_letter_cases()
  double concatenate = 0;           // share of variants that start with the previous pair, on both sides
  std::string insert;               // emoji and markup for both sides, in the syntax of parse_mark_rates()
  bool operator==(const VariantOptions&) const = default;
};

struct PairNoise {  // the parsed options; the constructor throws usage Errors
  explicit PairNoise(const VariantOptions& options);
  NoiseRates rates;
  std::set<TextNoise> target_cases;  // letter cases that also change the target
  MarkRates marks;
};

// Both functions throw usage Errors, for example if an option does not suit the kind of the given models.
void check_variant_options(const VariantOptions& options);
void check_variant_models(const VariantOptions& options, const std::string& source_model,
                          const std::string& target_model);

Variants variants_of(const VariantOptions& options);  // in the manifest's form
// Converts options back from the manifest of `folder`. Throws a usage Error if the manifest does not record them all.
VariantOptions variant_options_of(const Variants& variants, const std::string& folder);

class PairVariants {  // several threads may call its functions
 public:
  struct PlainPair {  // a pair without noise; refers to the arguments of prepare()
    const TextPair& text;
    const PairIds& ids;
    std::string source, target;  // normalized text of sides whose segmentation is sampled
  };

  // Keeps references to the tokenizers. `source_model` and `target_model` are the tokenizers' files.
  PairVariants(const VariantOptions& options, uint64_t seed, const Tokenizer& source, const std::string& source_model,
               const Tokenizer& target, const std::string& target_model);

  int64_t count() const { return count_; }
  PlainPair prepare(const TextPair& text, const PairIds& ids) const;
  // A side of the result may be empty or longer than the plain side. `before`: the previous pair, if it may be joined.
  PairIds make(const PlainPair& plain, const TextPair* before, int64_t number, int64_t variant) const;

 private:
  struct Side {
    Side(const Tokenizer& tokenizer, const std::string& model, bool is_sampled, const VariantOptions& options);
    // `normalised` is the normalized text, or null if it is unknown.
    std::vector<int32_t> encode(const std::string& tags, const std::string& text, const std::string* normalised,
                                CountedRandom random) const;

    const Tokenizer& tokenizer;
    std::optional<SubwordSampler> sampler;
    double alpha = 0;
  };

  int64_t count_;
  uint64_t seed_;
  PairNoise noise_;
  double concatenate_;
  Side source_, target_;
};

// Converts pairs to the letter cases of their first variant, without other noise. The tokenizer is trained on the
// converted pairs, so that it does not split text in capitals into single letters.
class LetterCases {
 public:
  LetterCases(const VariantOptions& options, uint64_t seed);
  TextPair of(TextPair pair, int64_t number) const;
  bool any() const { return noise_.rates.any(); }

 private:
  uint64_t seed_;
  PairNoise noise_;  // with rates of letter cases only
};

}  // namespace weft
