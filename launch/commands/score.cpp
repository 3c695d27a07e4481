// launch/commands/score.cpp: `weft score` prints a model's log-probability of each pair of lines in two files.
//
// Each output line contains the natural logarithm of the target's probability given the source and the tags, the number
// of target tokens (with eos, without tags), and the log-probability per token.
#include <fmt/format.h>

#include <optional>
#include <string>

#include "data/text/text_reader.h"
#include "launch/commands.h"
#include "launch/line_output.h"
#include "launch/open_model.h"
#include "launch/options/options.h"
#include "launch/options/tag_options.h"
#include "launch/reports/json_lines.h"
#include "tensor/error.h"
#include "trainer/display/progress.h"
#include "trainer/inference/evaluate.h"

namespace weft {
namespace {

constexpr size_t kChunkPairs = 10'000;

struct ScoreRequest {
  ModelRequest model;
  std::string source, target, output;
  TagRequest tags;
  bool json = false;
};

bool parse(const std::vector<std::string>& args, ScoreRequest& r, Options& options) {
  r.model.add_to(options);
  options.add("source", r.source, "source sentences, one per line, plain or compressed (gzip, zstd, xz)");
  options.add("target", r.target, "translation of each source sentence, line by line");
  options.add("output", r.output, kOutputSentence);
  r.tags.add_to(options);
  options.add("json", r.json,
              "print one JSON object per pair instead of a table, with the log-probability of each token");
  if (!options.parse(args)) return false;
  for (const char* name : {"checkpoint", "source", "target"}) options.require(name);
  return true;
}

// Reads two files in chunks of pairs. A chunk contains the lines source, target, source, target, ...
class PairReader {
 public:
  PairReader(const std::string& source, const std::string& target) : source_(source), target_(target) {}
  std::vector<std::string> next() {
    std::vector<std::string> lines;
    for (std::string line; lines.size() < 2 * kChunkPairs && next_line(line);) lines.push_back(line);
    return lines;
  }
  bool next_line(std::string& line) {  // source and target in turns
    TextReader& reader = is_target_ ? target_ : source_;
    if (reader.next(line)) {
      is_target_ = !is_target_;
      return true;
    }
    if (!is_target_) {  // both must end
      std::string rest;
      if (!target_.next(rest)) return false;
    }
    const bool more_sources = is_target_;
    fail(ErrorKind::data,
         fmt::format("{} has more lines than {}, which has only {}: each source line needs one target line",
                     (more_sources ? source_ : target_).path(), (more_sources ? target_ : source_).path(),
                     (more_sources ? target_ : source_).num_lines()));
  }
  double share_read() const {
    return source_.file_bytes() > 0
               ? static_cast<double>(source_.bytes_read()) / static_cast<double>(source_.file_bytes())
               : 1.0;
  }

 private:
  TextReader source_, target_;
  bool is_target_ = false;  // the next line
};

// Names the pairs that are too long to be scored.
class TooLong {
 public:
  TooLong(const ScoreRequest& request, int64_t limit) : request_(request), limit_(limit) {}

  bool is(const PairIds& pair, int64_t line) {
    const bool is_source = std::ssize(pair.source) > limit_;
    if (!is_source && std::ssize(pair.target) <= limit_) return false;
    if (++count_ == 1)
      first_ = fmt::format("{}, line {} with {} tokens", is_source ? request_.source : request_.target, line,
                           is_source ? pair.source.size() : pair.target.size());
    return true;
  }
  void print() const {
    if (count_ > 0)
      print_note("weft: pairs without a score, because this model can score at most {} tokens: {}; the first: {}\n",
                 limit_, count_, first_);
  }

 private:
  const ScoreRequest& request_;
  int64_t limit_, count_ = 0;
  std::string first_;
};

struct EncodedPairs {
  std::vector<PairIds> pairs;  // empty if too long
  std::vector<int64_t> given;  // number of target tags per pair
  std::vector<bool> scored;    // false if too long
};

EncodedPairs encode(LoadedModel& model, const std::vector<std::string>& lines, const TagRequest& tags,
                    int64_t lines_before, TooLong& too_long) {
  EncodedPairs all;
  for (size_t i = 0; i < lines.size(); i += 2) {
    EncodedPair pair =
        encode_pair(tags.line(lines[i]), lines[i + 1], model.source_tokenizer(), model.target_tokenizer());
    const bool scored = !too_long.is(pair.ids, lines_before + static_cast<int64_t>(i / 2) + 1);
    all.given.push_back(scored ? pair.given : 0);
    all.scored.push_back(scored);
    all.pairs.push_back(scored ? std::move(pair.ids) : PairIds());
  }
  return all;
}

// Reads both files before anything is printed, so that bad text leaves no half of a table.
void check_text(const ScoreRequest& r) {
  PairReader reader(r.source, r.target);
  ProgressBar bar("reading", "pairs", /*total=*/0, ProgressOutput::standard(r.model.quiet));
  int64_t num_read = 0;
  for (std::vector<std::string> lines = reader.next(); !lines.empty(); lines = reader.next())
    bar.update(num_read += std::ssize(lines) / 2);
}

void write(const std::vector<PairScore>& scores, const EncodedPairs& all, int64_t pairs_before,
           const Tokenizer* json_tokenizer, LineOutput& output) {
  for (size_t i = 0; i < scores.size(); ++i) {
    const int64_t index = pairs_before + static_cast<int64_t>(i);
    const double log_prob = scores[i].log_prob, per_token = log_prob / static_cast<double>(scores[i].tokens());
    if (json_tokenizer)
      output.write(
          (all.scored[i] ? score_line(index, scores[i], all.pairs[i].target, *json_tokenizer) : no_score_line(index)) +
          "\n");
    else if (all.scored[i])
      output.write(fmt::format("{:.6f}\t{}\t{:.6f}\n", log_prob, scores[i].tokens(), per_token));
    else
      output.write("nan\t0\tnan\n");
  }
}

// Scores the pairs that earlier calls have not finished. Only rank 0 has an output.
void score_all(LoadedModel& model, const ScoreRequest& r, std::optional<LineOutput>& output) {
  Communicator& world = model.replica().mesh().world();
  ProgressBar bar("scoring", "pairs", /*total=*/0, ProgressOutput::standard(r.model.quiet || !world.is_main_rank()));
  TooLong too_long(r, longest_scored_tokens(model.replica().model()));
  std::optional<PairReader> reader;  // only on rank 0
  const int64_t lines_before = number_of_rank0(world, [&] {
    reader.emplace(r.source, r.target);
    const int64_t finished = output->skip_finished([&](std::string& line) { return reader->next_line(line); });
    if (finished == 0 && !r.json) output->write("log_prob\ttokens\tlog_prob_per_token\n");
    return finished;
  });
  int64_t done = lines_before / 2;
  bar.continue_from(done, reader ? reader->share_read() : 0);
  for (;;) {
    const std::vector<std::string> lines = lines_of_rank0(world, [&] { return reader->next(); });
    if (lines.empty()) break;
    const EncodedPairs all = encode(model, lines, r.tags, done, too_long);
    const std::vector<PairScore> scores = score_pairs(model.replica(), all.pairs, all.given);
    if (world.is_main_rank()) {
      write(scores, all, done, r.json ? &model.target_tokenizer() : nullptr, *output);
      output->commit(lines);
    }
    done += std::ssize(scores);
    bar.update(done, reader ? reader->share_read() : 0);
  }
  if (!world.is_main_rank()) return;
  output->finish();
  too_long.print();
}

}  // namespace

int run_score(const CommandContext& context) {
  ScoreRequest request;
  Options options(
      "score --checkpoint PATH --source FILE --target FILE [options]\n\n"
      "Prints the log-probability of each translation, the number of tokens, and the log-probability per token.\n\n"
      "  weft score --checkpoint runs/mine --source test.en --target test.de > scores.tsv");
  if (!parse(context.args, request, options)) return 0;
  Communicator& world = *context.world;
  const CheckpointLease lease = find_checkpoint(world, request.model.checkpoint);
  const RunConfig config = config_for_use(lease.folder, request.model.parallel, world.size());
  const Mesh mesh = mesh_for_use(request.model, config, world);
  std::optional<LineOutput> output;
  std::vector<std::string> files;
  if (!request.output.empty()) files.push_back(request.output);
  if (open_output(world, files, job_of(options, lease.folder, mesh), output)) return 0;
  LoadedModel model = request.model.load(lease.folder, config, mesh);
  all_or_none(world, [&] {
    if (world.is_main_rank()) check_text(request);
  });
  score_all(model, request, output);
  return 0;
}

}  // namespace weft
