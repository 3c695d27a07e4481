// trainer/validation/validation_sets.h: parses the sets of data.valid and the rule of train.keep_best.
//
// docs/validation.md describes both options.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/corpus.h"
#include "data/noise/noise.h"
#include "trainer/validation/validation_metric.h"

namespace weft {

struct ValidationSet {
  std::string name;                   // empty if data.valid is just a folder
  std::string folder;                 // a packed corpus
  TextNoise noise = TextNoise::none;  // noise in the sources
  std::shared_ptr<Corpus> opened = {};
};

// Parses data.valid: FOLDER, or NAME=FOLDER,NAME=FOLDER:NOISE,..., or nothing. Numbers without the name of a set belong
// to the first set. Throws an Error of kind usage if the option cannot be parsed. Opens no set.
std::vector<ValidationSet> parse_validation_sets(const std::string& option);

// The rule of train.keep_best: a number of a set, or a weighted sum of numbers, such as 0.5*dev.bleu+0.5*news.bleu.
class BestRule {
 public:
  BestRule() = default;
  // A number without a set's name belongs to the first set. Throws a usage Error if the option or a set is unknown.
  BestRule(const std::string& option, const std::vector<ValidationSet>& sets);
  // Parses an earlier run's text(), which may name sets that no longer exist. Returns nullopt if the text is invalid.
  static std::optional<BestRule> read(const std::string& text);

  // Returns text such as "bleu", "dev.bleu" or "0.5*dev.bleu". Values of rules with the same text are comparable.
  const std::string& text() const { return text_; }
  bool needs_translations() const;
  bool needs_score() const;  // true if the rule uses a score of train.validate_command

  // Returns a value of which higher is better, so losses are negated. `number_at` returns the number of a validation at
  // a key of log.jsonl. value() returns nullopt if a number is missing.
  using Numbers = std::function<std::optional<double>(const std::string& key)>;
  std::optional<double> value(const Numbers& number_at) const;

 private:
  struct Term {
    double factor = 1;
    std::string set;
    const ValidationMetric* metric = nullptr;
  };
  void parse(const std::string& option);
  void write_text();

  std::vector<Term> terms_;
  std::string text_;
};

}  // namespace weft
