// trainer/metrics/sentencepiece_tokenizer.h: splits text into the pieces of the SentencePiece models that sacreBLEU
// uses.
//
// The models cover 100 languages and more, so that scores of spBLEU (Goyal et al. 2022) are comparable across
// languages. sacreBLEU downloads them to the folder models/ of SACREBLEU or ~/.sacrebleu. Weft reads them there.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// Returns the pieces, separated by one space. Throws a usage Error that says how to get the model if it is missing.
// REQUIRES: the tokenizer is flores101, flores200 or spBLEU-1K.
std::string tokenize_sentencepiece(std::string_view line, std::string_view tokenizer);

}  // namespace weft
