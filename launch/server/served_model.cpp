// launch/server/served_model.cpp: joins the sentences of several requests into one search, and writes the answers.
#include "launch/server/served_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/tags.h"
#include "launch/reports/alignment_files.h"
#include "launch/reports/json_lines.h"
#include "tensor/clock.h"
#include "tensor/error.h"
#include "trainer/inference/evaluate.h"

namespace weft {
namespace {

constexpr size_t kMostTranslators = 3;  // each has its own memory for keys and values

std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<std::string> tag_names(const Tokenizer& tokenizer) {
  std::vector<std::string> tags = tags_of(tokenizer);
  std::erase(tags, kSeparator);
  return tags;
}

// All options that a request can set.
std::string kind_of(const std::string& model, const SearchConfig& s) {
  return fmt::format("beam {} {} {} samples {} {} {} {} {} {} of {}", s.decode.beam, s.decode.nbest,
                     s.decode.length_penalty, s.sampling.samples, s.sampling.top_k, s.sampling.top_p,
                     s.sampling.temperature, s.sampling.seed, name_of_enum(s.utility), model);
}

// Calls `compute`, which sets the answers. If it throws, they are its exception.
template <typename Compute>
void answer_all(const std::vector<std::shared_ptr<Work>>& all, const Compute& compute) {
  try {
    compute();
  } catch (...) {
    for (const std::shared_ptr<Work>& work : all) work->answer.set_exception(std::current_exception());
  }
}

}  // namespace

struct ServedModel::TranslationWork : Work {
  explicit TranslationWork(ServedModel& of) : model(of) {}
  void do_together(const std::vector<std::shared_ptr<Work>>& all, ServerMetrics& metrics) override {
    answer_all(all, [&] { model.translate(all, metrics); });
  }
  ServedModel& model;
  SearchConfig search;
  bool alignment = false;
  std::vector<TranslationInput> inputs;
};

struct ServedModel::ScoreWork : Work {
  explicit ScoreWork(ServedModel& of) : model(of) {}
  void do_together(const std::vector<std::shared_ptr<Work>>& all, ServerMetrics& metrics) override {
    answer_all(all, [&] { model.score(all, metrics); });
  }
  ServedModel& model;
  std::vector<EncodedPair> pairs;
  std::vector<bool> scored;  // false if too long
};

ServedModel::ServedModel(std::string name, LoadedModel model)
    : name_(std::move(name)),
      model_(std::move(model)),
      aligner_(model_.replica(), AlignmentRequest().choice(model_.config().model)) {
  SearchConfig usual{.decode = model_.config().decode};
  usual.decode.nbest = 1;
  longest_prefix_ = translator_for(kind_of(name_, usual), usual).longest_prefix();
}

std::string ServedModel::description() const {
  return nlohmann::ordered_json{{"name", name_},
                                {"step", model_.step()},
                                {"beam", model_.config().decode.beam},
                                {"source_tags", tag_names(model_.source_tokenizer())},
                                {"target_tags", tag_names(model_.target_tokenizer())}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::shared_ptr<Work> ServedModel::work_for(const ServedTranslation& request) {
  auto work = std::make_shared<TranslationWork>(*this);
  for (const TaggedLine& line : request.lines) {
    work->inputs.push_back(encode_line(line, model_.source_tokenizer(), model_.target_tokenizer()));
    const int64_t prefix = std::ssize(work->inputs.back().prefix);
    if (prefix > longest_prefix_)
      fail(ErrorKind::usage,
           fmt::format("\"prefix\" has {} tokens, but this model can generate at most {}", prefix, longest_prefix_));
  }
  work->search = request.search;
  work->alignment = request.alignment;
  work->sentences = std::ssize(work->inputs) * request.search.requests_per_sentence();
  work->kind = kind_of(name_, request.search);
  return work;
}

std::shared_ptr<Work> ServedModel::work_for(const ServedPairs& request) {
  auto work = std::make_shared<ScoreWork>(*this);
  const int64_t longest = longest_scored_tokens(model_.replica().model());
  for (size_t i = 0; i < request.targets.size(); ++i) {
    EncodedPair pair =
        encode_pair(request.sources[i], request.targets[i], model_.source_tokenizer(), model_.target_tokenizer());
    work->scored.push_back(std::ssize(pair.ids.source) <= longest && std::ssize(pair.ids.target) <= longest);
    work->pairs.push_back(work->scored.back() ? std::move(pair) : EncodedPair());
  }
  work->sentences = std::ssize(work->pairs);
  work->kind = "score of " + name_;
  return work;
}

Translator& ServedModel::translator_for(const std::string& kind, const SearchConfig& search) {
  const auto found = std::ranges::find_if(translators_, [&](const auto& entry) { return entry.first == kind; });
  if (found != translators_.end()) {
    translators_.splice(translators_.begin(), translators_, found);
  } else {
    if (translators_.size() == kMostTranslators) translators_.pop_back();
    translators_.emplace_front(std::piecewise_construct, std::forward_as_tuple(kind),
                               std::forward_as_tuple(std::vector{&model_.replica()}, model_.source_tokenizer(),
                                                     model_.target_tokenizer(), search));
  }
  return translators_.front().second;
}

void ServedModel::translate(const std::vector<std::shared_ptr<Work>>& all, ServerMetrics& metrics) {
  const double begin = monotonic_seconds();
  std::vector<TranslationInput> inputs;
  std::vector<const TranslationWork*> works;
  for (const std::shared_ptr<Work>& work : all) {
    works.push_back(static_cast<const TranslationWork*>(work.get()));
    inputs.insert(inputs.end(), works.back()->inputs.begin(), works.back()->inputs.end());
  }
  Translator& translator = translator_for(all.front()->kind, works.front()->search);
  const std::vector<NBest> found = translator.translate_inputs(inputs);
  const double seconds = monotonic_seconds() - begin;

  size_t at = 0;
  int64_t source_tokens = 0, target_tokens = 0, sentences = 0;
  std::vector<std::string> answers;
  for (const TranslationWork* work : works) {
    std::vector<PairIds> pairs;
    for (size_t i = 0; work->alignment && i < work->inputs.size(); ++i)
      pairs.push_back(translator.pair_of(work->inputs[i], found[at + i].front()));
    std::vector<std::vector<AlignmentLink>> links;
    if (!pairs.empty()) aligner_.align(pairs, [&](const Alignment& a) { links.push_back(best_links(a)); });
    std::vector<std::string> lines;
    for (size_t i = 0; i < work->inputs.size(); ++i, ++at) {
      lines.push_back(translation_line({.index = static_cast<int64_t>(i),
                                        .input = work->inputs[i],
                                        .nbest = found[at],
                                        .alignment = work->alignment ? &links[i] : nullptr},
                                       translator));
      source_tokens += std::ssize(work->inputs[i].source);
      for (const Translation& t : found[at]) target_tokens += std::ssize(t.log_probs);
    }
    sentences += work->sentences;
    answers.push_back(fmt::format(R"({{"model":{},"step":{},"seconds":{:.6f},"translations":[{}]}})",
                                  json_string(name_), model_.step(), seconds, fmt::join(lines, ",")));
  }
  metrics.add_batch(sentences, source_tokens, target_tokens, seconds);
  for (size_t i = 0; i < all.size(); ++i) all[i]->answer.set_value(std::move(answers[i]));
}

void ServedModel::score(const std::vector<std::shared_ptr<Work>>& all, ServerMetrics& metrics) {
  const double begin = monotonic_seconds();
  std::vector<PairIds> pairs;
  std::vector<int64_t> given;
  for (const std::shared_ptr<Work>& work : all)
    for (const EncodedPair& pair : static_cast<const ScoreWork&>(*work).pairs) {
      pairs.push_back(pair.ids);
      given.push_back(pair.given);
    }
  const std::vector<PairScore> found = score_pairs(model_.replica(), pairs, given);
  int64_t source_tokens = 0, target_tokens = 0;
  size_t at = 0;
  std::vector<std::string> answers;
  for (const std::shared_ptr<Work>& work : all) {
    const auto& scored = static_cast<const ScoreWork&>(*work).scored;
    std::vector<std::string> lines;
    for (size_t i = 0; i < scored.size(); ++i, ++at) {
      const auto index = static_cast<int64_t>(i);
      lines.push_back(score_line(index, {.score = scored[i] ? &found[at] : nullptr,
                                         .target = pairs[at].target,
                                         .tokenizer = model_.target_tokenizer()}));
      source_tokens += std::ssize(pairs[at].source);
      target_tokens += found[at].tokens();
    }
    answers.push_back(fmt::format(R"({{"model":{},"step":{},"scores":[{}]}})", json_string(name_), model_.step(),
                                  fmt::join(lines, ",")));
  }
  metrics.add_batch(std::ssize(pairs), source_tokens, target_tokens, monotonic_seconds() - begin);
  for (size_t i = 0; i < all.size(); ++i) all[i]->answer.set_value(std::move(answers[i]));
}

}  // namespace weft
