// data/subword/train_tokenizer.cpp: runs SentencePiece's trainer from memory, and rephrases its errors.
#include "data/subword/train_tokenizer.h"

#include <sentencepiece_trainer.h>

#include <regex>

#include "data/batch.h"
#include "data/subword/line_iterator.h"
#include "tensor/error.h"
#include "tensor/random.h"

namespace weft {
namespace {

constexpr size_t kMaxSentenceBytes = 4192;  // SentencePiece's max_sentence_length
constexpr uint32_t kSamplePurpose = purpose_of("data.training_lines");

[[noreturn]] void fail_training(const std::string& message, int64_t vocab_size) {
  std::smatch match;
  if (std::regex_search(message, match, std::regex("value <= (\\d+)")))
    fail(ErrorKind::usage,
         fmt::format("--vocab-size {} is too large for this text: give at most {}", vocab_size, match[1].str()));
  if (std::regex_search(message, match, std::regex("smaller than required_chars\\. \\d+ vs (\\d+)")))
    fail(ErrorKind::usage, fmt::format("--vocab-size {} is too small for this text's characters: give at least {}, or "
                                       "a lower --character-coverage",
                                       vocab_size, match[1].str()));
  fail(ErrorKind::data, fmt::format("SentencePiece cannot train a tokenizer: {}", message));
}

}  // namespace

void LineSampler::add(std::string_view line) {
  while (line.size() > kMaxSentenceBytes) {
    size_t end = line.rfind(' ', kMaxSentenceBytes);
    if (end == std::string_view::npos || end == 0)  // a script without spaces
      for (end = kMaxSentenceBytes; (line[end] & 0xC0) == 0x80;) --end;
    add_part(line.substr(0, end));
    line.remove_prefix(end);
  }
  add_part(line);
}

void LineSampler::add_part(std::string_view line) {
  if (line.empty()) return;
  const uint64_t index = static_cast<uint64_t>(num_seen_++);
  if (static_cast<int64_t>(lines_.size()) < capacity_) {
    lines_.emplace_back(line);
    return;
  }
  // Line i replaces a kept line with probability capacity / (i + 1).
  const PhiloxBits bits = philox(seed_, index, 0, kSamplePurpose);
  const uint64_t slot = (uint64_t{bits.v[0]} << 32 | bits.v[1]) % (index + 1);
  if (slot < static_cast<uint64_t>(capacity_)) lines_[slot] = line;
}

std::string train_tokenizer(const std::vector<std::string>& lines, const TokenizerTraining& training) {
  if (lines.empty())
    fail(ErrorKind::data, "there is no text to train a tokenizer: every line is empty, or dropped by a filter");
  LineIterator iterator(lines);
  std::string tags;
  for (const std::string& tag : training.tags) tags += (tags.empty() ? "" : ",") + tag;
  std::string model;
  const auto status =
      sentencepiece::SentencePieceTrainer::Train({{"model_type", "bpe"},
                                                  {"vocab_size", std::to_string(training.vocab_size)},
                                                  {"character_coverage", std::to_string(training.character_coverage)},
                                                  {"byte_fallback", "true"},
                                                  {"normalization_rule_name", name_of_enum(training.normalization)},
                                                  {"max_sentence_length", std::to_string(kMaxSentenceBytes)},
                                                  {"unk_id", std::to_string(SpecialIds::unk)},
                                                  {"bos_id", std::to_string(SpecialIds::bos)},
                                                  {"eos_id", std::to_string(SpecialIds::eos)},
                                                  {"pad_id", "-1"},
                                                  {"control_symbols", tags},
                                                  {"minloglevel", "2"}},  // reports errors only
                                                 &iterator, &model);
  if (!status.ok()) fail_training(status.error_message(), training.vocab_size);
  return model;
}

}  // namespace weft
