// trainer/inference/document_translator.cpp: joins lines into windows and splits their translations at separators.
#include "trainer/inference/document_translator.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "data/tags.h"
#include "tensor/error.h"

namespace weft {
namespace {

int32_t separator_of(const Tokenizer& tokenizer) {
  check_tags(kSeparator, tokenizer, "--documents");
  return tag_ids(kSeparator, tokenizer)[0];
}

}  // namespace

DocumentTranslator::DocumentTranslator(Translator& translator, int64_t longest)
    : translator_(translator),
      longest_(longest),
      source_separator_(separator_of(translator.source_tokenizer())),
      target_separator_(separator_of(translator.target_tokenizer())) {
  if (longest < 1 || longest > translator.longest_source())
    fail(ErrorKind::usage, fmt::format("--documents {} must be between 1 and {}, the model's maximum source length",
                                       longest, translator.longest_source()));
}

bool DocumentTranslator::fits(const TranslationInput& joined, const TranslationInput& line) const {
  const Tokenizer& tokenizer = translator_.source_tokenizer();
  const size_t tags = num_leading_tags(line.source, tokenizer);
  const bool has_text_prefix = num_leading_tags(line.prefix, translator_.target_tokenizer()) < line.prefix.size();
  return !has_text_prefix && joined.prefix == line.prefix && tags == num_leading_tags(joined.source, tokenizer) &&
         std::equal(line.source.begin(), line.source.begin() + static_cast<std::ptrdiff_t>(tags),
                    joined.source.begin()) &&
         std::ssize(joined.source) + 1 + std::ssize(line.source) - static_cast<int64_t>(tags) <= longest_;
}

std::vector<DocumentTranslator::Window> DocumentTranslator::windows_of(
    const std::vector<TranslationInput>& lines) const {
  std::vector<Window> windows;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<int32_t>& source = lines[i].source;
    const bool goes_on =
        !windows.empty() && translator_.has_text(windows.back().input) && translator_.has_text(lines[i]);
    if (!goes_on || !fits(windows.back().input, lines[i])) {
      windows.push_back({.begin = i, .count = 1, .input = lines[i]});
      continue;
    }
    Window& window = windows.back();
    const auto tags = static_cast<std::ptrdiff_t>(num_leading_tags(source, translator_.source_tokenizer()));
    window.input.source.push_back(source_separator_);
    window.input.source.insert(window.input.source.end(), source.begin() + tags, source.end());
    ++window.count;
  }
  return windows;
}

size_t DocumentTranslator::num_complete(const std::vector<TranslationInput>& lines) const {
  if (lines.empty() || !translator_.has_text(lines.back())) return lines.size();
  return windows_of(lines).back().begin;
}

std::vector<Translation> DocumentTranslator::split(const Translation& joined) const {
  const size_t num_forced = joined.tokens.size() + 1 - joined.log_probs.size();
  std::vector<Translation> parts(1);
  const auto end_part = [&](int32_t end) {
    Translation& part = parts.back();
    part.end = end;
    part.text = translator_.target_tokenizer().decode(part.tokens);
    part.log_prob = std::accumulate(part.log_probs.begin(), part.log_probs.end(), 0.0);
    part.score = translator_.score_of(part.log_prob, std::ssize(part.log_probs), static_cast<int64_t>(num_forced));
  };
  for (size_t i = 0; i <= joined.tokens.size(); ++i) {
    if (i >= num_forced) parts.back().log_probs.push_back(joined.log_probs[i - num_forced]);
    if (i == joined.tokens.size()) break;
    if (joined.tokens[i] != target_separator_) {
      parts.back().tokens.push_back(joined.tokens[i]);
      continue;
    }
    end_part(target_separator_);
    parts.emplace_back();
  }
  end_part(joined.end);
  return parts;
}

std::vector<NBest> DocumentTranslator::translate(const std::vector<TranslationInput>& lines,
                                                 const Translator::Progress& progress) {
  std::vector<Window> windows = windows_of(lines);
  std::vector<TranslationInput> inputs;
  inputs.reserve(windows.size());
  for (Window& window : windows) inputs.push_back(std::move(window.input));
  const std::vector<NBest> found = translator_.translate_inputs(std::move(inputs));

  std::vector<NBest> all(lines.size());
  std::vector<size_t> again;
  for (size_t w = 0; w < windows.size(); ++w) {
    const auto [begin, count, unused] = windows[w];
    if (count == 1) {
      all[begin] = found[w];
      continue;
    }
    num_joined_ += static_cast<int64_t>(count);
    std::vector<Translation> parts = split(found[w].front());
    for (size_t i = 0; i < count; ++i) {
      if (parts.size() != count)
        again.push_back(begin + i);
      else
        all[begin + i] = {std::move(parts[i])};
    }
  }
  num_again_ += std::ssize(again);
  std::vector<TranslationInput> alone;
  alone.reserve(again.size());
  for (const size_t i : again) alone.push_back(lines[i]);
  std::vector<NBest> second = translator_.translate_inputs(std::move(alone));
  for (size_t i = 0; i < again.size(); ++i) all[again[i]] = std::move(second[i]);
  if (progress) progress(std::ssize(lines));
  return all;
}

}  // namespace weft
