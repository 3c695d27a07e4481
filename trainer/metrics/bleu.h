// trainer/metrics/bleu.h: computes corpus BLEU (Papineni et al. 2002) as sacreBLEU 2 defines it, to the last digit.
//
// Ten integers (BleuStats) describe a segment. The score of a corpus depends only on the sums of these integers, so
// ranks can score parts of a corpus and add up their BleuStats. All functions are pure. Lines are UTF-8 without '\n'.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/enum_names.h"

namespace weft {

// See tokenizers.h, mecab.h and sentencepiece_tokenizer.h; `none`: white space only; `automatic`: chosen_tokenizer()
// decides.
enum class BleuTokenizer : uint8_t {
  v13a,
  intl,
  chars,
  zh,
  ja_mecab,
  ko_mecab,
  flores101,
  flores200,
  spbleu_1k,
  none,
  automatic
};
constexpr EnumNames<BleuTokenizer, 12> enum_names(BleuTokenizer) {
  return {{{"auto", BleuTokenizer::automatic},
           {"13a", BleuTokenizer::v13a},
           {"intl", BleuTokenizer::intl},
           {"char", BleuTokenizer::chars},
           {"zh", BleuTokenizer::zh},
           {"ja-mecab", BleuTokenizer::ja_mecab},
           {"ko-mecab", BleuTokenizer::ko_mecab},
           {"flores101", BleuTokenizer::flores101},
           {"flores200", BleuTokenizer::flores200},
           {"spBLEU-1K", BleuTokenizer::spbleu_1k},
           {"spm", BleuTokenizer::flores101},  // sacreBLEU's old name
           {"none", BleuTokenizer::none}}};
}

inline constexpr const char* kTokenizerHelp =
    "BLEU's tokenizer: 13a, intl, char, zh, none (splits at spaces), or with sacreBLEU's files ja-mecab, ko-mecab, "
    "flores101, flores200, spBLEU-1K; auto = zh for Chinese, char for other scripts without spaces, 13a otherwise";

enum class BleuSmoothing : uint8_t { exp, floor, add_k, none };
constexpr EnumNames<BleuSmoothing, 4> enum_names(BleuSmoothing) {
  return {{{"exp", BleuSmoothing::exp},
           {"floor", BleuSmoothing::floor},
           {"add-k", BleuSmoothing::add_k},
           {"none", BleuSmoothing::none}}};
}

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::v13a;
  BleuSmoothing smoothing = BleuSmoothing::exp;  // treatment of n-gram orders without a match
  double smoothing_value = -1;                   // for floor and add_k; if negative, 0.1 for floor and 1 for add_k
  bool lower_case = false;
  bool effective_order = false;  // ignore orders longer than the hypothesis; for single sentences
};

struct BleuStats {
  static constexpr int kMaxOrder = 4;
  int64_t hypothesis_length = 0;
  int64_t reference_length = 0;              // of the reference closest in length; on a tie, of the shorter one
  std::array<int64_t, kMaxOrder> correct{};  // n-grams of the hypothesis found in a reference, clipped
  std::array<int64_t, kMaxOrder> total{};    // all n-grams of the hypothesis

  BleuStats& operator+=(const BleuStats& other);
  bool operator==(const BleuStats&) const = default;
};

struct BleuScore {
  double score = 0;                                       // 0 to 100
  std::array<double, BleuStats::kMaxOrder> precisions{};  // percent, smoothed
  double brevity_penalty = 0;
  double ratio = 0;  // hypothesis length / reference length
  BleuStats stats;
  std::string signature;  // lists everything that affects the score
};

// Returns `option`, but for `automatic` the tokenizer that fits the references: zh if most letters are Chinese (Han
// without kana), char if most belong to other scripts without spaces between words (Japanese, Thai, Lao, Khmer ...),
// and 13a otherwise. REQUIRES for all other functions: the tokenizer is not `automatic`.
BleuTokenizer chosen_tokenizer(BleuTokenizer option, const std::vector<std::string>& references);

// Throws a usage Error if the tokenizer needs a file that is missing.
void require_tokenizer(BleuTokenizer option);

BleuStats bleu_stats(std::string_view hypothesis, const std::vector<std::string_view>& references,
                     const BleuOptions& options = {});
BleuScore bleu_from_stats(const BleuStats& stats, int num_references, const BleuOptions& options = {});

// references[r][i] is the r-th reference of segment i (trainer/metrics/references.h).
BleuScore bleu(const std::vector<std::string>& hypotheses, const std::vector<std::vector<std::string>>& references,
               const BleuOptions& options = {});

// Returns "BLEU|nrefs:1|...|version:weft-0.2.0 = 27.3 58.1/33.0/21.0/13.8 (BP = 1.000 ratio = 1.005 hyp_len = ...
// ref_len = ...)".
std::string format(const BleuScore& score, int num_digits = 1);

}  // namespace weft
