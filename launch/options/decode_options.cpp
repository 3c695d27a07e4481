// launch/options/decode_options.cpp: names, help texts and allowed values of the decoding options.
#include "launch/options/decode_options.h"

#include <fmt/format.h>

namespace weft {

void add_decode_options(Options& options, DecodeConfig& decode) {
  options.add("beam", decode.beam, "beam size: hypotheses kept per sentence; 1 = greedy");
  options.add("length-penalty", decode.length_penalty,
              "alpha of the length penalty ((5 + length) / 6)^alpha; 0 = none");
  options.add("max-length-factor", decode.max_length_factor,
              "a translation has at most factor * source tokens + extra tokens");
  options.add("max-length-extra", decode.max_length_extra, "extra tokens in the limit of max-length-factor");
  for (const char* key : {"beam", "length-penalty", "max-length-factor", "max-length-extra"})
    options.describe_default(key, "checkpoint's");
}

void complete_decode_options(const Options& options, const DecodeConfig& saved, DecodeConfig& decode) {
  decode = saved;
  decode.nbest = 1;
  options.set_given();
  check_decode_options(decode);
}

void check_decode_options(const DecodeConfig& c) {
  constexpr int64_t kLargestBeam = 1000;
  if (c.beam < 1 || c.beam > kLargestBeam)
    fail(ErrorKind::usage, fmt::format("beam = {}: give 1 to {}", c.beam, kLargestBeam));
  if (c.nbest < 1 || c.nbest > c.beam)
    fail(ErrorKind::usage, fmt::format("nbest = {}: must be between 1 and --beam ({})", c.nbest, c.beam));
  if (c.max_length_factor < 0 || c.max_length_extra < 0)
    fail(ErrorKind::usage, fmt::format("max-length-factor = {}, max-length-extra = {}: both must be 0 or more",
                                       c.max_length_factor, c.max_length_extra));
}

}  // namespace weft
