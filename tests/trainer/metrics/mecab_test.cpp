// tests/trainer/metrics/mecab_test.cpp: MeCab's words, where sacreBLEU's Python packages are installed.
#include "trainer/metrics/mecab.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/variable.h"

namespace weft::testing {
namespace {

void expect_words(const MecabPackages& packages, const char* line, const char* words, const char* signature) {
  std::unique_ptr<Mecab> mecab;
  try {
    mecab = std::make_unique<Mecab>(packages, python_prefixes());
  } catch (const Error& e) {
    if (std::string_view(e.what()).find("there is no ") == std::string_view::npos) throw;
    GTEST_SKIP() << e.what();
  }
  EXPECT_EQ(mecab->words(line), words);
  EXPECT_EQ(mecab->signature(), signature);
}

TEST(Mecab, SplitsJapanese) {
  expect_words(kJapaneseMecab, "　令和の東京都に住んでいます。 ", "令 和 の 東京 都 に 住ん で い ます 。",
               "ja-mecab-0.996-IPA");
}

TEST(Mecab, SplitsKorean) {
  expect_words(kKoreanMecab, "아버지가 방에 들어가신다. ", "아버지 가 방 에 들어가 신다 .",
               "ko-mecab-0.996/ko-0.9.2-KO");
}

TEST(Mecab, MissingPackagesAreOneLineThatSaysHowToInstallThem) {
  const TemporaryFolder folder;
  EXPECT_EQ(message_of(ErrorKind::usage,
                       [&] {
                         Mecab(kJapaneseMecab, {folder.path(), "/nowhere"});
                       }),
            "BLEU's tokenizer ja-mecab needs sacreBLEU's Python packages, but there is no "
            "mecab_python3.libs/libmecab*.so* below " +
                folder.path() +
                ", /nowhere: install them with pip install 'sacrebleu[ja]', and activate their virtual environment");
}

TEST(Mecab, IsSoughtFirstInTheActiveEnvironment) {
  const Variable environment("VIRTUAL_ENV", "/env"), conda("CONDA_PREFIX"), home("HOME", "/home/a");
  EXPECT_EQ(python_prefixes(), (std::vector<std::string>{"/env", "/home/a/.local", "/usr/local", "/usr"}));
}

}  // namespace
}  // namespace weft::testing
