// trainer/metrics/sentencepiece_tokenizer.cpp: finds sacreBLEU's models, and keeps the opened ones.
#include "trainer/metrics/sentencepiece_tokenizer.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>

#include "data/subword/piece_splitter.h"
#include "data/text/unicode.h"
#include "tensor/error.h"

namespace weft {
namespace {

std::string model_path(std::string_view tokenizer) {
  const std::string name = tokenizer == "flores101"   ? "sacrebleu_tokenizer_spm.model"
                           : tokenizer == "flores200" ? "flores200sacrebleuspm"
                                                      : "spbleu-1k_tokenizer_spm.model";
  if (const char* const folder = std::getenv("SACREBLEU")) return fmt::format("{}/models/{}", folder, name);
  const char* const home = std::getenv("HOME");
  return fmt::format("{}/.sacrebleu/models/{}", home == nullptr ? "" : home, name);
}

const PieceSplitter& splitter_of(std::string_view tokenizer) {
  static std::mutex mutex;
  static std::map<std::string, PieceSplitter> opened;  // by path
  const std::string path = model_path(tokenizer);
  const std::lock_guard lock(mutex);
  if (const auto found = opened.find(path); found != opened.end()) return found->second;
  if (!std::filesystem::exists(path))
    fail(ErrorKind::usage,
         fmt::format("BLEU's tokenizer {0} needs the model {1}, which sacreBLEU downloads: python3 -c \"from "
                     "sacrebleu import BLEU; BLEU(tokenize='{0}')\"; the variable SACREBLEU can name another folder",
                     tokenizer, path));
  return opened.emplace(path, PieceSplitter(path)).first->second;
}

}  // namespace

std::string tokenize_sentencepiece(std::string_view line, std::string_view tokenizer) {
  std::string pieces;
  for (const std::string& piece : splitter_of(tokenizer).split(line)) pieces += piece + " ";
  return join_words(split_words(pieces));
}

}  // namespace weft
