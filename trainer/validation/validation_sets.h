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
  std::string name;                   // empty: the only set, given as just a folder
  std::string folder;                 // a packed corpus
  TextNoise noise = TextNoise::none;  // in the sources
  std::shared_ptr<Corpus> opened = {};
};

// Parses data.valid: FOLDER, or NAME=FOLDER,NAME=FOLDER:NOISE,...; empty: none. The first set is the main one, to which
// numbers without a name belong. Throws an Error of kind usage if it cannot be parsed. Opens no set.
std::vector<ValidationSet> parse_validation_sets(const std::string& option);

// train.keep_best: a number of a set, or a weighted sum of several, for example 0.5*dev.bleu+0.5*news.bleu.
class BestRule {
 public:
  BestRule() = default;
  // A number without a set's name belongs to the first set. Throws a usage Error for a bad option or an unknown set.
  BestRule(const std::string& option, const std::vector<ValidationSet>& sets);
  // Reads an earlier run's text(), which may name sets that no longer exist. Returns nothing if it cannot be parsed.
  static std::optional<BestRule> read(const std::string& text);

  // "bleu" if the set has no name, otherwise "dev.bleu", with factors other than 1. Rules with equal text compare.
  const std::string& text() const { return text_; }
  bool needs_translations() const;
  bool needs_score() const;  // true if it uses train.validate_command

  // Returns a value that is better if higher: a loss counts with the opposite sign. `number_at` returns a validation's
  // number at a key of log.jsonl. Returns nullopt if a number is missing.
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
