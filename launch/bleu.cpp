// launch/bleu.cpp: `weft bleu`: BLEU and chrF of a translation against one or more references.
#include "trainer/bleu.h"

#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "launch/commands.h"
#include "launch/options.h"
#include "tensor/error.h"
#include "trainer/chrf.h"
#include "trainer/unicode.h"

namespace weft {
namespace {

// Lines end at LF alone: a carriage return is white space, U+2028 a character. The last one may lack its end.
std::vector<std::string> read_lines(std::istream& in, const std::string& name) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (const auto bad = first_invalid_utf8(line))
      fail(ErrorKind::data,
           fmt::format("{}:{}: byte {} is not UTF-8; convert the file with iconv", name, lines.size() + 1, *bad + 1));
    lines.push_back(std::move(line));
  }
  if (in.bad()) fail(ErrorKind::io, fmt::format("{}: cannot be read to its end", name));
  return lines;
}

std::vector<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in || in.peek() == std::char_traits<char>::eof()) {
    fail(ErrorKind::data, fmt::format("{}: {}", path, in.is_open() ? "is empty or a folder" : "cannot be opened"));
  }
  return read_lines(in, path);
}

nlohmann::json to_json(const BleuScore& bleu, const ChrfScore& chrf, size_t num_segments) {
  return {{"segments", num_segments},
          {"bleu",
           {{"score", bleu.score},
            {"signature", bleu.signature},
            {"precisions", bleu.precisions},
            {"brevity_penalty", bleu.brevity_penalty},
            {"ratio", bleu.ratio},
            {"hypothesis_length", bleu.stats.hypothesis_length},
            {"reference_length", bleu.stats.reference_length}}},
          {"chrf", {{"name", chrf.name}, {"score", chrf.score}, {"signature", chrf.signature}}}};
}

struct Request {
  BleuOptions bleu;
  ChrfOptions chrf;
  std::vector<std::string> reference_files, hypothesis_files;
  double smooth_value = 0;
  int64_t width = 1;
  bool json = false;
};

bool parse(const std::vector<std::string>& args, Request& request) {
  Options options("bleu --reference FILE [--reference FILE2 ...] [HYPOTHESIS] [options]");
  options.positional("HYPOTHESIS", request.hypothesis_files,
                     "the translation, one sentence a line; standard input if not given");
  options.add("reference", request.reference_files, "the right translation, line by line; may be given several times");
  options.add("tokenize", request.bleu.tokenizer,
              "how BLEU cuts words: 13a (text as people write it) or none (at spaces)");
  options.add("smooth", request.bleu.smoothing,
              "what BLEU does for n-grams without a match: exp, floor, add-k or none");
  options.add("smooth-value", request.smooth_value, "for floor (0.1 if not given) and add-k (1)");
  options.add("lowercase", request.bleu.lower_case, "compare without case");
  options.add("effective-order", request.bleu.effective_order,
              "leave out n-grams longer than the text: for one sentence");
  options.add("chrf-word-order", request.chrf.word_order, "word n-grams in chrF: 0 gives chrF2, 2 gives chrF2++");
  options.add("width", request.width, "digits after the point");
  options.add("json", request.json, "print one JSON object with all digits");
  if (!options.parse(args)) return false;
  options.require("reference");
  if (request.hypothesis_files.size() > 1)
    fail(ErrorKind::usage, fmt::format("one hypothesis at a time, not {}; further references are named by --reference",
                                       request.hypothesis_files.size()));
  if (request.chrf.word_order < 0 || request.chrf.word_order > ChrfOptions::kMaxWordOrder)
    fail(ErrorKind::usage, fmt::format("chrf-word-order = {}: give 0, 1 or 2", request.chrf.word_order));
  if (request.width < 0 || request.width > 15)
    fail(ErrorKind::usage, fmt::format("width = {}: give 0 to 15", request.width));
  if (options.given("smooth-value")) {
    const bool applies =
        request.bleu.smoothing == BleuSmoothing::floor || request.bleu.smoothing == BleuSmoothing::add_k;
    if (!applies || request.smooth_value < 0)
      fail(ErrorKind::usage, "smooth-value: give 0 or more, and --smooth floor or --smooth add-k with it");
    request.bleu.smoothing_value = request.smooth_value;
  }
  request.chrf.lower_case = request.bleu.lower_case;
  return true;
}

}  // namespace

int run_bleu(const CommandContext& context) {
  Request request;
  if (!parse(context.args, request)) return 0;
  const std::string name = request.hypothesis_files.empty() ? "standard input" : request.hypothesis_files[0];
  const std::vector<std::string> hypotheses =
      request.hypothesis_files.empty() ? read_lines(std::cin, name) : read_file(request.hypothesis_files[0]);
  std::vector<std::vector<std::string>> references;
  for (const std::string& file : request.reference_files) {
    references.push_back(read_file(file));
    if (references.back().size() != hypotheses.size())
      fail(ErrorKind::data, fmt::format("{} has {} lines, {} has {}: each needs one line for the same sentence", name,
                                        hypotheses.size(), file, references.back().size()));
  }
  const BleuScore bleu_score = bleu(hypotheses, references, request.bleu);
  const ChrfScore chrf_score = chrf(hypotheses, references, request.chrf);
  if (request.json) {
    fmt::print("{}\n", to_json(bleu_score, chrf_score, hypotheses.size()).dump(2));
  } else {
    fmt::print("{}\n{}\n", format(bleu_score, static_cast<int>(request.width)),
               format(chrf_score, static_cast<int>(request.width)));
  }
  return 0;
}

}  // namespace weft
