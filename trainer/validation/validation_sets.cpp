// trainer/validation/validation_sets.cpp: reads data.valid and train.keep_best.
#include "trainer/validation/validation_sets.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "data/text/number.h"
#include "data/text/split.h"
#include "tensor/error.h"

namespace weft {
namespace {

bool is_set_name(const std::string& text) {
  const auto is_part = [](unsigned char c) { return c < 0x80 && (std::isalnum(c) != 0 || c == '-' || c == '_'); };
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 && std::ranges::all_of(text, is_part);
}

[[noreturn]] void refuse_valid(const std::string& option, const std::string& why) {
  fail(ErrorKind::usage, fmt::format("data.valid = {}: {}", printable(option), why));
}

TextNoise noise_of(const std::string& text, const ValidationSet& set, const std::string& option) {
  for (const auto& [name, noise] : enum_names(TextNoise{}))
    if (text == name) return noise;
  refuse_valid(option, fmt::format("the set {} has an unknown noise '{}'; give {} (or, if the folder's name contains "
                                   "a :, write / after it)",
                                   set.name, printable(text), joined_enum_names<TextNoise>()));
}

ValidationSet set_of(const std::string& part, const std::string& option) {
  const size_t equals = part.find('=');
  const std::string name = part.substr(0, equals);
  if (equals == std::string::npos || !is_set_name(name))
    refuse_valid(option, fmt::format("'{}' must be NAME=FOLDER, where NAME is a letter followed by letters, digits, "
                                     "- and _ (write ./ before a folder whose name contains =)",
                                     printable(part)));
  ValidationSet set{.name = name, .folder = part.substr(equals + 1), .noise = TextNoise::none};
  if (const size_t colon = find_colon_after_folder(set.folder); colon != std::string::npos) {
    set.noise = noise_of(set.folder.substr(colon + 1), set, option);
    set.folder.resize(colon);
  }
  if (set.folder.empty()) refuse_valid(option, fmt::format("the set {} has no folder; give NAME=FOLDER", name));
  return set;
}

using Source = ValidationMetric::Source;

const ValidationMetric* metric_named(std::string_view name) {
  const auto found = std::ranges::find_if(
      kValidationMetrics, [&](const ValidationMetric& metric) { return metric.judges && metric.name() == name; });
  return found == std::end(kValidationMetrics) ? nullptr : found;
}

std::string judging_names() {  // loss, bleu, chrf or score
  std::vector<std::string_view> names;
  for (const ValidationMetric& metric : kValidationMetrics)
    if (metric.judges) names.push_back(metric.name());
  const std::string_view last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

[[noreturn]] void refuse_best(const std::string& option, const std::string& why) {
  fail(ErrorKind::usage, fmt::format("train.keep_best = {}: {}", printable(option), why));
}

// Only a score of train.validate_command may have a negative factor, because for some scores lower is better.
double factor_of(const std::string& text, bool may_be_negative, const std::string& option) {
  const double factor = parse_number<double>(text).value_or(0);
  if (factor == 0 || (factor < 0 && !may_be_negative))
    refuse_best(option, fmt::format("the factor '{}' must be a number above 0 (losses are negated automatically; "
                                    "only a score may have a factor below 0)",
                                    printable(text)));
  return factor;
}

std::string joined_names(const std::vector<ValidationSet>& sets) {
  std::string names;
  for (const ValidationSet& set : sets) names += (names.empty() ? "" : ", ") + set.name;
  return names;
}

}  // namespace

std::vector<ValidationSet> parse_validation_sets(const std::string& option) {
  if (option.empty()) return {};
  const size_t equals = option.find('=');
  if (equals == std::string::npos || !is_set_name(option.substr(0, equals))) {
    const size_t colon = find_colon_after_folder(option);
    for (const auto& [name, noise] : enum_names(TextNoise{}))
      if (colon != std::string::npos && option.substr(colon + 1) == name)
        refuse_valid(option, fmt::format("only a set with a name can have noise; give NAME={} (or, if the folder's "
                                         "name contains a :, write / after it)",
                                         printable(option)));
    return {{.name = "", .folder = option, .noise = TextNoise::none}};
  }
  std::vector<ValidationSet> sets;
  std::set<std::string> names;
  for (const std::string& part : split_at_commas(option)) {
    sets.push_back(set_of(part, option));
    if (!names.insert(sets.back().name).second)
      refuse_valid(option, fmt::format("the name {} is given twice; give each set its own name", sets.back().name));
  }
  return sets;
}

void BestRule::parse(const std::string& option) {
  std::string sum = option;
  std::erase(sum, ' ');
  for (const std::string_view text : split(sum, '+')) {
    const std::string part(text);
    const size_t times = part.find('*');
    Term term;
    const std::string what = times == std::string::npos ? part : part.substr(times + 1);
    const size_t dot = what.rfind('.');
    if (dot != std::string::npos) term.set = what.substr(0, dot);
    term.metric = metric_named(dot == std::string::npos ? what : what.substr(dot + 1));
    if (term.metric == nullptr || (dot != std::string::npos && !is_set_name(term.set)))
      refuse_best(option, fmt::format("'{}' is not a validation metric; give {}, a metric of a named set (dev.bleu), "
                                      "or a weighted sum (0.5*dev.bleu+0.5*news.bleu)",
                                      printable(what), judging_names()));
    if (times != std::string::npos)
      term.factor = factor_of(part.substr(0, times), term.metric->source == Source::command, option);
    terms_.push_back(std::move(term));
  }
}

void BestRule::write_text() {
  for (const Term& t : terms_) {
    std::string factor = t.factor == 1 ? "" : fmt::format("{}*", t.factor);
    std::erase(factor, '+');  // of 1e+16, because a + separates terms
    text_ +=
        fmt::format("{}{}{}{}{}", text_.empty() ? "" : "+", factor, t.set, t.set.empty() ? "" : ".", t.metric->name());
  }
}

BestRule::BestRule(const std::string& option, const std::vector<ValidationSet>& sets) {
  parse(option);
  for (Term& term : terms_) {
    if (term.set.empty() && !sets.empty()) term.set = sets.front().name;
    const auto is_of = [&](const ValidationSet& set) { return set.name == term.set; };
    if (term.set.empty() || std::ranges::any_of(sets, is_of)) continue;
    const std::string names = joined_names(sets);
    refuse_best(option, fmt::format("there is no validation set {}; data.valid contains {}", term.set,
                                    names.empty() ? "no named sets (give NAME=FOLDER,...)" : names));
  }
  write_text();
}

std::optional<BestRule> BestRule::read(const std::string& text) try {
  BestRule rule;
  rule.parse(text);
  rule.write_text();
  return rule;
} catch (const Error&) {
  return std::nullopt;
}

bool BestRule::needs_translations() const {
  return std::ranges::any_of(terms_, [](const Term& term) { return term.metric->source != Source::pairs; });
}

bool BestRule::needs_score() const {
  return std::ranges::any_of(terms_, [](const Term& term) { return term.metric->source == Source::command; });
}

std::optional<double> BestRule::value(const Numbers& number_at) const {
  double sum = 0;
  for (const Term& term : terms_) {
    const auto number = number_at(validation_key(term.set, term.metric->key));
    if (!number) return std::nullopt;
    sum += term.factor * (term.metric->better < 0 ? -*number : *number);
  }
  return sum;
}

}  // namespace weft
