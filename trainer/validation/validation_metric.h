// trainer/validation/validation_metric.h: lists the numbers of a validation with their keys and words, how they are
// drawn, and whether a higher or a lower value is better.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

struct ValidationMetric {
  enum class Source : uint8_t { pairs, translations, command };  // command: train.validate_command

  std::string_view key;          // in log.jsonl
  std::string_view word;         // in messages of a run and in tables
  std::string_view title, unit;  // for its curve
  int digits;                    // decimal places; -1 = six significant digits
  int better;                    // 1 = a higher value, -1 = a lower value, 0 = unknown
  Source source;
  bool judges = true;    // true if allowed in train.keep_best and shown by `weft watch`
  bool in_lines = true;  // false: only in a run's log and curves

  std::string_view name() const { return without_valid(key); }  // in train.keep_best
  static constexpr std::string_view without_valid(std::string_view key) {
    return key.starts_with("valid_") ? key.substr(6) : key;
  }
};

inline constexpr std::string_view kBleuSignature = "bleu_signature";  // a text in log.jsonl, beside the numbers

inline constexpr ValidationMetric kValidationMetrics[] = {
    {"valid_loss", "loss", "Loss", ", nats per target token", 4, -1, ValidationMetric::Source::pairs},
    {"valid_nll", "nll", "Negative log-likelihood", ", nats", 4, -1, ValidationMetric::Source::pairs, false},
    {"bleu", "BLEU", "BLEU", "", 2, 1, ValidationMetric::Source::translations},
    {"chrf", "chrF2", "chrF", "", 2, 1, ValidationMetric::Source::translations},
    {"length_ratio", "length ratio", "Length", " over that of the references", 3, 0,
     ValidationMetric::Source::translations, /*judges=*/false, /*in_lines=*/false},
    {"score", "score", "Score", "", -1, 0, ValidationMetric::Source::command},
};

// Returns the key of a set's number in log.jsonl: `key` itself if the set has no name, and otherwise NAME.loss for
// valid_loss, NAME.nll for valid_nll, NAME.bleu, NAME.chrf, NAME.length_ratio or NAME.score; also NAME.bleu_signature.
inline std::string validation_key(std::string_view set, std::string_view key) {
  if (set.empty()) return std::string(key);
  return fmt::format("{}.{}", set, ValidationMetric::without_valid(key));
}

// Returns for example "BLEU 31.20 (13a)": BLEU has its tokenizer, which the signature contains unless it is empty.
inline std::string worded(const ValidationMetric& metric, double value, std::string_view bleu_signature) {
  const std::string text = metric.digits < 0 ? fmt::format("{} {:.6g}", metric.word, value)
                                             : fmt::format("{} {:.{}f}", metric.word, value, metric.digits);
  const size_t field = bleu_signature.find("tok:");
  if (metric.key != "bleu" || field == std::string_view::npos) return text;
  const std::string_view tokenizer = bleu_signature.substr(field + 4);
  return fmt::format("{} ({})", text, tokenizer.substr(0, tokenizer.find('|')));
}

}  // namespace weft
