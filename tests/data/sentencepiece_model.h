// tests/data/sentencepiece_model.h: trains models with SentencePiece's own trainer that `weft pack` would not
// train.
#pragma once

#include <gtest/gtest.h>
#include <sentencepiece_trainer.h>

#include <string>
#include <unordered_map>

#include "tests/data/pack_fixture.h"

namespace weft::testing {

// Trains folder/other.model on sentences() with these settings and a few defaults; returns its path.
inline std::string train_sentencepiece(const TemporaryFolder& folder,
                                       std::unordered_map<std::string, std::string> settings) {
  write_file_atomically(folder / "text", joined(sentences(500, 1)));
  settings.merge(std::unordered_map<std::string, std::string>{{"input", folder / "text"},
                                                              {"model_prefix", folder / "other"},
                                                              {"vocab_size", "60"},
                                                              {"model_type", "bpe"},
                                                              {"minloglevel", "2"}});
  const auto status = sentencepiece::SentencePieceTrainer::Train(settings);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return folder / "other.model";
}

// A model whose piece kFirstOwnPiece is the text `piece`.
inline constexpr int32_t kFirstOwnPiece = 3;
inline std::string tokenizer_with_piece(const TemporaryFolder& folder, const std::string& piece) {
  return train_sentencepiece(folder, {{"normalization_rule_name", "identity"}, {"user_defined_symbols", piece}});
}

}  // namespace weft::testing
