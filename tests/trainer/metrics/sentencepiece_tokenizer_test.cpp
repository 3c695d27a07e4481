// tests/trainer/metrics/sentencepiece_tokenizer_test.cpp: sacreBLEU's models are read from its folder, or asked for.
#include "trainer/metrics/sentencepiece_tokenizer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "data/atomic_file.h"
#include "data/subword/train_tokenizer.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/variable.h"
#include "trainer/metrics/bleu.h"

namespace weft::testing {
namespace {

TEST(SentencePieceTokenizer, SplitsWithTheModelInSacrebleusFolder) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "models");
  write_file_atomically(folder / "models/flores200sacrebleuspm",
                        train_tokenizer({"ab ab ab ab c"}, {.vocab_size = 265}));
  const Variable variable("SACREBLEU", folder.path().c_str());
  EXPECT_EQ(tokenize_sentencepiece("ab cab", "flores200"), "▁ab ▁ c ab");
  const BleuScore score = bleu({"ab c"}, {{"ab c"}}, {.tokenizer = BleuTokenizer::flores200});
  EXPECT_NE(score.signature.find("|tok:flores200|"), std::string::npos) << score.signature;
}

TEST(SentencePieceTokenizer, AMissingModelIsOneLineThatSaysHowToGetIt) {
  const Variable variable("SACREBLEU", "/nowhere");
  EXPECT_EQ(message_of(ErrorKind::usage, [] { require_tokenizer(BleuTokenizer::flores101); }),
            "BLEU's tokenizer flores101 needs the model /nowhere/models/sacrebleu_tokenizer_spm.model, which sacreBLEU "
            "downloads: python3 -c \"from sacrebleu import BLEU; BLEU(tokenize='flores101')\"; the variable SACREBLEU "
            "can name another folder");
}

TEST(SentencePieceTokenizer, TheFolderIsInTheHomeUnlessAVariableNamesIt) {
  const Variable variable("SACREBLEU"), home("HOME", "/nowhere");
  const std::string message = message_of(ErrorKind::usage, [] { tokenize_sentencepiece("", "flores200"); });
  EXPECT_NE(message.find(" /nowhere/.sacrebleu/models/flores200sacrebleuspm,"), std::string::npos) << message;
}

}  // namespace
}  // namespace weft::testing
