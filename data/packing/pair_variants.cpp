// data/packing/pair_variants.cpp: varies the text first, then its segmentation.
#include "data/packing/pair_variants.h"

#include <utility>

#include "data/tags.h"
#include "data/text/number.h"
#include "tensor/error.h"
#include "tensor/random.h"

namespace weft {
namespace {

bool samples(const VariantOptions& o) { return o.bpe_dropout > 0 || o.unigram_alpha > 0; }
bool samples_source(const VariantOptions& o) { return samples(o) && o.subword_sides != SubwordSides::target; }
bool samples_target(const VariantOptions& o) { return samples(o) && o.subword_sides != SubwordSides::source; }

double alpha_for(PieceList::Kind kind, const VariantOptions& o) {
  return kind == PieceList::bpe ? o.bpe_dropout : o.unigram_alpha;
}

void check_probability(const char* option, double value) {
  if (!(value >= 0 && value < 1))
    fail(ErrorKind::usage, fmt::format("{} {}: must be a probability that is at least 0 and below 1", option, value));
}

std::string made_text(const Variants& variants, const char* option) {
  const auto found = variants.made_by.find(option);
  return found == variants.made_by.end() ? "" : found->second;
}

double made_number(const Variants& variants, const char* option) {
  return parse_number<double>(made_text(variants, option)).value_or(0);
}

}  // namespace

PairNoise::PairNoise(const VariantOptions& options)
    : rates(parse_noise_rates("--noise", options.noise)),
      target_cases(parse_letter_cases("--noise-target", options.noise_target, rates)),
      marks(parse_mark_rates("--insert", options.insert)) {}

void check_variant_options(const VariantOptions& o) {
  if (o.count < 0 || o.count > kMaxVariants)
    fail(ErrorKind::usage, fmt::format("--variants {}: must be from 1 to {}, or 0 for none", o.count, kMaxVariants));
  check_probability("--bpe-dropout", o.bpe_dropout);
  check_probability("--concatenate", o.concatenate);
  if (!(o.unigram_alpha >= 0 && o.unigram_alpha <= 100))
    fail(ErrorKind::usage, fmt::format("--unigram-alpha {}: must be above 0 and at most 100", o.unigram_alpha));
  const PairNoise noise(o);
  if (o.subword_sides != SubwordSides::both && !samples(o))
    fail(ErrorKind::usage, "--subword-sides needs --bpe-dropout or --unigram-alpha");
  const bool varies = samples(o) || noise.rates.any() || noise.marks.any() || o.concatenate > 0;
  if (o.count > 0 && !varies)
    fail(ErrorKind::usage, fmt::format("--variants {} would make equal variants: add --bpe-dropout, --unigram-alpha, "
                                       "--noise, --insert or --concatenate",
                                       o.count));
  if (o.count == 0 && varies)
    fail(ErrorKind::usage,
         "--bpe-dropout, --unigram-alpha, --noise, --insert and --concatenate need --variants, the number of variants "
         "per pair");
}

void check_variant_models(const VariantOptions& o, const std::string& source_model, const std::string& target_model) {
  bool bpe = false, unigram = false;
  std::string models;
  for (const auto& [sampled, model] :
       {std::pair{samples_source(o), &source_model}, {samples_target(o), &target_model}}) {
    if (!sampled) continue;
    (SubwordSampler(*model).kind() == PieceList::bpe ? bpe : unigram) = true;
    if (models != *model) models += (models.empty() ? "" : " and ") + *model;
  }
  if (o.bpe_dropout > 0 && !bpe)
    fail(ErrorKind::usage, fmt::format("--bpe-dropout: {} is a unigram model; give --unigram-alpha instead", models));
  if (o.unigram_alpha > 0 && !unigram)
    fail(ErrorKind::usage, fmt::format("--unigram-alpha: {} is a BPE model; give --bpe-dropout instead", models));
}

Variants variants_of(const VariantOptions& o) {
  Variants variants{.count = o.count, .made_by = {}};
  const auto add = [&](const char* option, const std::string& value) { variants.made_by[option] = value; };
  if (o.bpe_dropout > 0) add("bpe-dropout", fmt::format("{}", o.bpe_dropout));
  if (o.unigram_alpha > 0) add("unigram-alpha", fmt::format("{}", o.unigram_alpha));
  if (o.subword_sides != SubwordSides::both) add("subword-sides", name_of_enum(o.subword_sides));
  if (!o.noise.empty()) add("noise", o.noise);
  if (!o.noise_target.empty()) add("noise-target", o.noise_target);
  if (o.concatenate > 0) add("concatenate", fmt::format("{}", o.concatenate));
  if (!o.insert.empty()) add("insert", o.insert);
  return variants;
}

VariantOptions variant_options_of(const Variants& variants, const std::string& folder) {
  if (variants.count == 0) return {};
  VariantOptions o{.count = variants.count,
                   .bpe_dropout = made_number(variants, "bpe-dropout"),
                   .unigram_alpha = made_number(variants, "unigram-alpha"),
                   .noise = made_text(variants, "noise"),
                   .noise_target = made_text(variants, "noise-target"),
                   .concatenate = made_number(variants, "concatenate"),
                   .insert = made_text(variants, "insert")};
  for (const auto& [name, sides] : enum_names(SubwordSides()))
    if (made_text(variants, "subword-sides") == name) o.subword_sides = sides;
  if (variants_of(o).made_by != variants.made_by || variants.made_by.empty())
    fail(ErrorKind::usage, fmt::format("--append: {}/{} does not record how its variants were made, or records unknown "
                                       "options: pack all text again",
                                       folder, kManifestFile));
  return o;
}

PairVariants::Side::Side(const Tokenizer& tokenizer, const std::string& model, bool is_sampled,
                         const VariantOptions& options)
    : tokenizer(tokenizer) {
  if (!is_sampled) return;
  sampler.emplace(model);
  alpha = alpha_for(sampler->kind(), options);
  if (alpha == 0) sampler.reset();
}

std::vector<int32_t> PairVariants::Side::encode(const std::string& tags, const std::string& text,
                                                const std::string* normalised, CountedRandom random) const {
  if (!sampler) return encode_with_tags(tags, text, tokenizer);
  std::vector<int32_t> ids = tag_ids(tags, tokenizer);
  const std::vector<int32_t> sampled =
      sampler->sample(normalised != nullptr ? *normalised : tokenizer.normalise(text), alpha, random);
  ids.insert(ids.end(), sampled.begin(), sampled.end());
  return ids;
}

PairVariants::PairVariants(const VariantOptions& options, uint64_t seed, const Tokenizer& source,
                           const std::string& source_model, const Tokenizer& target, const std::string& target_model)
    : count_(options.count),
      seed_(seed),
      noise_(options),
      concatenate_(options.concatenate),
      source_(source, source_model, samples_source(options), options),
      target_(target, target_model, samples_target(options), options) {}

PairVariants::PlainPair PairVariants::prepare(const TextPair& text, const PairIds& ids) const {
  return {.text = text,
          .ids = ids,
          .source = source_.sampler ? source_.tokenizer.normalise(text.source) : "",
          .target = target_.sampler ? target_.tokenizer.normalise(text.target) : ""};
}

PairIds PairVariants::make(const PlainPair& plain, const TextPair* before, int64_t number, int64_t variant) const {
  const auto pair = static_cast<uint64_t>(number);
  const auto index = static_cast<uint32_t>(variant);
  const NoisePlace place{.seed = seed_, .pair = pair, .visit = index};
  const auto random = [&](uint32_t purpose) { return CountedRandom(seed_, pair, index, purpose); };

  std::string source = plain.text.source, target = plain.text.target;
  if (before != nullptr && random(purpose_of("pack.concatenate")).uniform() < concatenate_) {
    source = before->source + " " + source;
    target = before->target + " " + target;
  }
  const ChosenNoise chosen = choose_noise(noise_.rates, place);
  source = with_noise(chosen, source, place);
  if (noise_.target_cases.contains(chosen.letter_case)) target = with_noise(chosen.letter_case, target, place);
  insert_marks(noise_.marks, place, source, target);  // last, because noise must not change the marks

  PairIds ids = plain.ids;  // including weight and score
  const TextPair& text = plain.text;
  const bool same_source = source == text.source, same_target = target == text.target;
  if (source_.sampler || !same_source)
    ids.source =
        source_.encode(text.tag, source, same_source ? &plain.source : nullptr, random(purpose_of("pack.source")));
  if (target_.sampler || !same_target)
    ids.target = target_.encode(text.target_tag, target, same_target ? &plain.target : nullptr,
                                random(purpose_of("pack.target")));
  return ids;
}

LetterCases::LetterCases(const VariantOptions& options, uint64_t seed) : seed_(seed), noise_(options) {
  for (const TextNoise other : {TextNoise::typos, TextNoise::punctuation, TextNoise::words})
    noise_.rates.of[static_cast<size_t>(other)] = 0;
}

TextPair LetterCases::of(TextPair pair, int64_t number) const {
  const NoisePlace place{.seed = seed_, .pair = static_cast<uint64_t>(number), .visit = 0};
  const TextNoise letter_case = choose_noise(noise_.rates, place).letter_case;
  pair.source = with_noise(letter_case, pair.source, place);
  if (noise_.target_cases.contains(letter_case)) pair.target = with_noise(letter_case, pair.target, place);
  return pair;
}

}  // namespace weft
