// trainer/inference/translator.cpp: encodes sentences, divides them among the dp ranks, and decodes hypotheses.
#include "trainer/inference/translator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "data/tags.h"
#include "tensor/error.h"

namespace weft {
namespace {

// Packer converts the hypotheses of sentences to bytes, for messages between ranks. Unpacker converts them back.
class Packer {
 public:
  void add(int64_t index, const std::vector<Hypothesis>& nbest) {
    put(index);
    put(static_cast<int64_t>(nbest.size()));
    for (const Hypothesis& h : nbest) {
      put(h.log_prob);
      put(h.score);
      put_all(h.tokens);
      put_all(h.log_probs);
    }
  }
  const std::string& bytes() const { return bytes_; }

 private:
  template <typename T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <typename T>
  void put_all(const std::vector<T>& values) {
    put(static_cast<int64_t>(values.size()));
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(const std::string& bytes) : bytes_(bytes) {}
  bool more() const { return at_ < bytes_.size(); }
  void next(std::vector<std::vector<Hypothesis>>& all) {
    std::vector<Hypothesis>& nbest = all[static_cast<size_t>(get<int64_t>())];
    nbest.resize(static_cast<size_t>(get<int64_t>()));
    for (Hypothesis& h : nbest) {
      h.log_prob = get<double>();
      h.score = get<double>();
      get_all(h.tokens);
      get_all(h.log_probs);
    }
  }

 private:
  template <typename T>
  T get() {
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  template <typename T>
  void get_all(std::vector<T>& values) {
    values.resize(static_cast<size_t>(get<int64_t>()));
    if (!values.empty()) std::memcpy(values.data(), bytes_.data() + at_, values.size() * sizeof(T));
    at_ += values.size() * sizeof(T);
  }
  const std::string& bytes_;
  size_t at_ = 0;
};

// Returns the indices of this rank's sentences: every dp-th sentence of the list sorted from longest to shortest.
std::vector<size_t> share_of(const std::vector<TranslationInput>& inputs, const Communicator& dp) {
  const std::vector<size_t> order = longest_first(inputs);
  std::vector<size_t> mine;
  for (auto i = static_cast<size_t>(dp.rank()); i < order.size(); i += static_cast<size_t>(dp.size()))
    mine.push_back(order[i]);
  return mine;
}

std::vector<SearchModel> search_models(const std::vector<const Replica*>& replicas) {
  std::vector<SearchModel> models;
  for (const Replica* replica : replicas)
    models.push_back({.ctx = replica->context(), .model = replica->model(), .tp = replica->tp()});
  return models;
}

// Returns the sample with the highest expected utility, which becomes its score. In ties, it is the first one.
Hypothesis least_risk(const std::vector<Hypothesis>& samples, RiskUtility utility, const Tokenizer& tokenizer) {
  std::vector<std::string> texts;
  for (const Hypothesis& h : samples) texts.push_back(tokenizer.decode(h.tokens));
  const std::vector<double> utilities = expected_utilities(texts, utility);
  const auto best = std::ranges::max_element(utilities) - utilities.begin();
  Hypothesis h = samples[static_cast<size_t>(best)];
  h.score = utilities[static_cast<size_t>(best)];
  return h;
}

Translation translation_of(Hypothesis h, const Tokenizer& tokenizer) {
  Translation t{.text = tokenizer.decode(h.tokens), .score = h.score, .log_prob = h.log_prob};
  t.tokens = std::move(h.tokens);
  t.log_probs = std::move(h.log_probs);
  return t;
}

}  // namespace

Translator::Translator(const std::vector<const Replica*>& replicas, const Tokenizer& source, const Tokenizer& target,
                       const SearchConfig& config, int64_t batch)
    : mesh_(replicas.front()->mesh()),
      source_(source),
      target_(target),
      config_(config),
      search_(search_models(replicas), search_options(config), token_rules(config, target), batch) {
  if (config.decode.min_length > search_.longest_target())
    fail(ErrorKind::usage,
         fmt::format("min_length = {} must be at most {}, the most tokens that this model can generate",
                     config.decode.min_length, search_.longest_target()));
}

TranslationInput encode_line(const TaggedLine& line, const Tokenizer& source, const Tokenizer& target) {
  const std::vector<int32_t> text = source.encode(line.text);
  TranslationInput input{.source = tag_ids(line.tag, source),
                         .prefix = encode_with_tags(line.target_tag, text.empty() ? "" : line.prefix, target)};
  input.source.insert(input.source.end(), text.begin(), text.end());
  return input;
}

EncodedPair encode_pair(const TaggedLine& line, const std::string& target_text, const Tokenizer& source,
                        const Tokenizer& target) {
  TranslationInput input = encode_line(line, source, target);
  EncodedPair pair{.ids = {.source = std::move(input.source), .target = std::move(input.prefix)}};
  pair.given = std::ssize(pair.ids.target);
  const std::vector<int32_t> text = target.encode(target_text);
  pair.ids.target.insert(pair.ids.target.end(), text.begin(), text.end());
  return pair;
}

PairIds Translator::pair_of(const TranslationInput& input, const Translation& translation) const {
  if (!has_text(input)) return {};
  const auto length = std::min(std::ssize(input.source), longest_source());
  return {.source = {input.source.begin(), input.source.begin() + length}, .target = translation.tokens};
}

bool Translator::has_text(const TranslationInput& input) const {
  return num_leading_tags(input.source, source_) < input.source.size();
}

double Translator::score_of(double log_prob, int64_t tokens, int64_t forced) const {
  return log_prob / length_penalty(beam_options(config_.decode), tokens, forced);
}

int64_t Translator::max_tokens(const TranslationInput& input) const {
  if (!has_text(input)) return std::ssize(input.prefix);  // which are only tags
  const auto source_tokens = static_cast<double>(input.source.size() - num_leading_tags(input.source, source_));
  const double wanted = static_cast<double>(input.prefix.size()) + config_.decode.max_length_factor * source_tokens +
                        static_cast<double>(config_.decode.max_length_extra);
  const int64_t longest = search_.longest_target(), least = std::min(min_tokens(input), longest);
  return static_cast<int64_t>(std::clamp(wanted, static_cast<double>(least), static_cast<double>(longest)));
}

int64_t Translator::min_tokens(const TranslationInput& input) const {
  return static_cast<int64_t>(num_leading_tags(input.prefix, target_)) + config_.decode.min_length;
}

// Returns the hypotheses of inputs[i] for each i of `mine`.
std::vector<std::vector<Hypothesis>> Translator::search(const std::vector<TranslationInput>& inputs,
                                                        const std::vector<size_t>& mine, const Progress& progress) {
  const int64_t repeats = config_.requests_per_sentence();
  std::vector<BeamRequest> requests;
  for (const size_t i : mine)
    for (int64_t sample = 0; sample < repeats; ++sample)
      requests.push_back({.source = inputs[i].source,
                          .max_tokens = max_tokens(inputs[i]),
                          .prefix = inputs[i].prefix,
                          .min_tokens = min_tokens(inputs[i]),
                          .sample = sample});
  auto found = search_.search(requests, [&](int64_t done) { progress(done / repeats); });
  if (config_.sampling.samples == 0) return found;
  std::vector<std::vector<Hypothesis>> of_inputs(mine.size());
  for (size_t i = 0; i < found.size(); ++i)
    of_inputs[i / static_cast<size_t>(repeats)].push_back(std::move(found[i].front()));
  if (config_.utility == RiskUtility::none) return of_inputs;
  for (std::vector<Hypothesis>& samples : of_inputs) samples = {least_risk(samples, config_.utility, target_)};
  return of_inputs;
}

std::vector<NBest> Translator::translate_inputs(std::vector<TranslationInput> inputs, const Progress& progress) {
  for (TranslationInput& input : inputs) {
    if (std::ssize(input.prefix) > longest_prefix())
      fail(ErrorKind::data, fmt::format("a target prefix has {} tokens, but this model can generate at most {}",
                                        input.prefix.size(), longest_prefix()));
    if (!is_cut(input)) continue;
    input.source.resize(static_cast<size_t>(longest_source()));
    ++num_cut_;
  }
  const std::vector<size_t> mine = share_of(inputs, mesh_.dp());
  const auto total = static_cast<int64_t>(inputs.size());
  const std::vector<std::vector<Hypothesis>> found = all_or_none(mesh_.dp(), [&] {
    return search(inputs, mine, [&](int64_t done) {
      if (progress) progress(std::min(done * mesh_.dp().size(), total));
    });
  });

  Packer packer;
  for (size_t i = 0; i < mine.size(); ++i) packer.add(static_cast<int64_t>(mine[i]), found[i]);
  std::vector<std::vector<Hypothesis>> all(inputs.size());
  for (const std::string& bytes : mesh_.dp().all_gather_strings(packer.bytes()))
    for (Unpacker unpacker(bytes); unpacker.more();) unpacker.next(all);

  std::vector<NBest> translations(inputs.size());
  for (size_t i = 0; i < all.size(); ++i)
    for (Hypothesis& h : all[i]) translations[i].push_back(translation_of(std::move(h), target_));
  return translations;
}

}  // namespace weft
