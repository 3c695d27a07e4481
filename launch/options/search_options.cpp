// launch/options/search_options.cpp: defines the options of a search, and refuses those that have no effect.
#include "launch/options/search_options.h"

#include <fmt/format.h>

#include "launch/options/decode_options.h"
#include "tensor/error.h"

namespace weft {
namespace {

void refuse_given(const Options& options, std::initializer_list<const char*> names, const std::string& reason) {
  for (const char* name : names)
    if (options.given(name)) fail(ErrorKind::usage, fmt::format("--{} {}", name, reason));
}

}  // namespace

void SearchRequest::add_to(Options& options) {
  add_decode_options(options, config.decode);
  options.add("nbest", config.decode.nbest,
              "number of translations per sentence; above 1, each output line is `index ||| text ||| score`");
  options.add("suppress", config.suppressed,
              "piece of the target vocabulary that is never predicted; may be repeated; see docs/decoding.md");
  options.add("no-repeat-ngram", config.no_repeat_ngram,
              "forbid that a translation contains the same sequence of this many tokens twice; 0 = allow it");
  options.add("sample", sample, "draw translations from the model's distribution instead of searching the best ones");
  options.add("samples", samples, "number of samples per sentence, printed as with --nbest; implies --sample");
  options.add("top-k", config.sampling.top_k, "draw only from the k most probable tokens; 0 = from all");
  options.add("top-p", config.sampling.top_p,
              "draw only from the fewest most probable tokens whose probabilities add up to p; 1 = from all");
  options.add("temperature", config.sampling.temperature,
              "exponent 1 / temperature of probabilities: below 1 for more probable samples");
  options.add("seed", config.sampling.seed, "seed of the samples");
  options.add("mbr", config.utility,
              "print only the sample that is most similar to the others, on average: similarity = chrf or bleu");
  options.add(
      "ensemble", ensemble,
      "further checkpoint with the same vocabularies, averaged with --checkpoint for each token; may be repeated");
  options.add("ensemble-mean", config.mean, "what an ensemble averages: probability or log-probability");
}

void SearchRequest::complete(const Options& options, const DecodeConfig& saved) {
  const bool draws = sample || options.given("samples");
  if (draws)
    refuse_given(options, {"beam", "beam-kind", "nbest"},
                 "applies only to beam search: leave out --sample or this option");
  else
    refuse_given(options, {"top-k", "top-p", "temperature", "seed", "mbr"}, "applies only to samples: add --samples N");
  if (ensemble.empty()) refuse_given(options, {"ensemble-mean"}, "applies only with --ensemble");
  if (samples < 1) fail(ErrorKind::usage, fmt::format("--samples must be at least 1, but is {}", samples));
  if (draws) config.sampling.samples = samples;
  complete_decode_options(options, saved, config.decode);
  search_options(config);
}

}  // namespace weft
