// trainer/validation/validation_sets.h: the sets of data.valid, and by which of their numbers train.keep_best chooses.
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
  std::string name;                   // empty: the only one, given as a folder alone
  std::string folder;                 // a packed corpus
  TextNoise noise = TextNoise::none;  // of the sources
  std::shared_ptr<Corpus> opened = {};
};

// Of data.valid: FOLDER, or NAME=FOLDER,NAME=FOLDER:NOISE,...; empty: none. The first set is the main one: numbers
// without a name are its own. What cannot be read is an Error of kind usage; no set is opened.
std::vector<ValidationSet> parse_validation_sets(const std::string& option);

// train.keep_best: a number of a set, or a weighted sum of several, for example 0.5*dev.bleu+0.5*news.bleu.
class BestRule {
 public:
  BestRule() = default;
  // A number without a set's name is of the first set. What cannot be read, and a set that is not there, is an Error of
  // kind usage.
  BestRule(const std::string& option, const std::vector<ValidationSet>& sets);
  // Of an earlier run's text(): it may name sets that are not there any more. Nothing if it cannot be read.
  static std::optional<BestRule> read(const std::string& text);

  // "bleu" if the set has no name, else "dev.bleu"; with the factors that are not 1. Values of equal text compare.
  const std::string& text() const { return text_; }
  bool needs_translations() const;
  bool needs_score() const;  // of train.validate_command

  // Higher is better: a loss counts with the opposite sign. `number_at` returns what a validation has at a key of
  // log.jsonl. Nothing if one is missing.
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
