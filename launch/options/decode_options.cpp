// launch/options/decode_options.cpp: defines the names and help texts of the decoding options.
#include "launch/options/decode_options.h"

#include "trainer/inference/search_config.h"

namespace weft {

void add_decode_options(Options& options, DecodeConfig& decode) {
  options.add("beam", decode.beam, "beam size, the number of hypotheses kept per sentence; 1 = greedy");
  options.add("beam-kind", decode.beam_kind, kBeamKindHelp);
  options.add("length-penalty", decode.length_penalty, "alpha of the length penalty; 0 = none");
  options.add("length-penalty-kind", decode.length_penalty_kind, kLengthPenaltyHelp);
  options.add("max-length-factor", decode.max_length_factor,
              "max tokens of a translation: factor * source tokens + max-length-extra, or min-length if that is more");
  options.add("max-length-extra", decode.max_length_extra, "tokens added to max-length-factor * source tokens");
  options.add("min-length", decode.min_length, "min tokens of a translation, without tags and eos");
  options.add("allow-unknown", decode.allow_unknown, "allow the unknown token in translations");
  for (const char* key : {"beam", "beam-kind", "length-penalty", "length-penalty-kind", "max-length-factor",
                          "max-length-extra", "min-length", "allow-unknown"})
    options.describe_default(key, "checkpoint's");
}

void complete_decode_options(const Options& options, const DecodeConfig& saved, DecodeConfig& decode) {
  decode = saved;
  decode.nbest = 1;
  options.set_given();
  beam_options(decode);
}

}  // namespace weft
