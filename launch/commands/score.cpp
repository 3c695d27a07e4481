// launch/commands/score.cpp: `weft score` prints a model's log-probability of each pair of lines in two files.
//
// Each output line contains the natural logarithm of the target's probability given the source and the tags, the number
// of target tokens (with eos, without tags), and the log-probability per token. With --reverse, the same three numbers
// of the source given the target follow, and the adequacy of the pair.
#include <fmt/format.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
  std::string reverse, source, target, output;
  TagRequest tags, reverse_tags;
  bool json = false;
};

bool parse(const std::vector<std::string>& args, ScoreRequest& r, Options& options) {
  r.model.add_to(options);
  options.add("source", r.source, "source sentences, one per line, plain or compressed (gzip, zstd, xz)");
  options.add("target", r.target, "translation of each source sentence, line by line");
  options.add("output", r.output, kOutputSentence);
  r.tags.add_to(options);
  options.add("reverse", r.reverse,
              "checkpoint of a model of the other direction, which scores each source given its target; prints both "
              "scores and the adequacy of the pair, for filtering");
  r.reverse_tags.add_reverse_to(options);
  options.add("json", r.json,
              "print one JSON object per pair instead of a table, with the log-probability of each token");
  if (!options.parse(args)) return false;
  for (const char* name : {"checkpoint", "source", "target"}) options.require(name);
  for (const char* name : {"reverse-tag", "reverse-target-tag"})
    if (options.given(name) && r.reverse.empty())
      fail(ErrorKind::usage, fmt::format("--{} applies only with --reverse", name));
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

// One of the directions in which pairs are scored.
class Direction {
 public:
  // `reverse`: the model of --reverse, which scores sources.
  Direction(LoadedModel model, const ScoreRequest& request, bool reverse)
      : model_(std::move(model)),
        request_(request),
        reverse_(reverse),
        limit_(longest_scored_tokens(model_.replica().model())) {
    tags().check(model_.source_tokenizer(), model_.target_tokenizer(), reverse ? "--reverse-" : "--");
  }

  struct Pair {
    PairIds ids;
    PairScore score;  // without tokens if the pair is too long
  };
  // `lines` contains source, target, source, target, ... All ranks call it.
  std::vector<Pair> score(const std::vector<std::string>& lines, int64_t pairs_before) {
    std::vector<PairIds> ids;
    std::vector<int64_t> given;
    std::vector<bool> fits;
    for (size_t i = 0; i < lines.size(); i += 2) {
      const std::string &given_line = lines[i + (reverse_ ? 1 : 0)], &scored_line = lines[i + (reverse_ ? 0 : 1)];
      EncodedPair pair =
          encode_pair(tags().line(given_line), scored_line, model_.source_tokenizer(), model_.target_tokenizer());
      fits.push_back(!is_too_long(pair.ids, pairs_before + static_cast<int64_t>(i / 2) + 1));
      given.push_back(fits.back() ? pair.given : 0);
      ids.push_back(fits.back() ? std::move(pair.ids) : PairIds());
    }
    std::vector<PairScore> scores = score_pairs(model_.replica(), ids, given);
    std::vector<Pair> pairs;
    for (size_t i = 0; i < ids.size(); ++i)
      pairs.push_back({std::move(ids[i]), fits[i] ? std::move(scores[i]) : PairScore()});
    return pairs;
  }
  ScoredText text_of(const Pair& pair) const {
    return {.score = pair.score.tokens() > 0 ? &pair.score : nullptr,
            .target = pair.ids.target,
            .tokenizer = model_.target_tokenizer()};
  }
  void print_too_long() const {
    if (num_too_long_ > 0)
      print_note("weft: pairs without a score, because {} can score at most {} tokens: {}; the first: {}\n",
                 model_.folder(), limit_, num_too_long_, first_too_long_);
  }

 private:
  const TagRequest& tags() const { return reverse_ ? request_.reverse_tags : request_.tags; }
  bool is_too_long(const PairIds& pair, int64_t line) {
    const bool is_given = std::ssize(pair.source) > limit_;
    if (!is_given && std::ssize(pair.target) <= limit_) return false;
    if (++num_too_long_ == 1)
      first_too_long_ =
          fmt::format("{}, line {} with {} tokens", is_given != reverse_ ? request_.source : request_.target, line,
                      is_given ? pair.source.size() : pair.target.size());
    return true;
  }

  LoadedModel model_;
  const ScoreRequest& request_;
  bool reverse_;
  int64_t limit_;
  int64_t num_too_long_ = 0;
  std::string first_too_long_;
};

// Reads both files before anything is printed, so that bad text leaves no half of a table.
void check_text(const ScoreRequest& r) {
  PairReader reader(r.source, r.target);
  ProgressBar bar("reading", "pairs", /*total=*/0, ProgressOutput::standard(r.model.quiet));
  int64_t num_read = 0;
  for (std::vector<std::string> lines = reader.next(); !lines.empty(); lines = reader.next())
    bar.update(num_read += std::ssize(lines) / 2);
}

std::string columns_of(const PairScore& score) {
  if (score.tokens() == 0) return "nan\t0\tnan";
  return fmt::format("{:.6f}\t{}\t{:.6f}", score.log_prob, score.tokens(), score.per_token());
}

std::string row_of(const Direction::Pair& pair, const Direction::Pair* reverse) {
  if (reverse == nullptr) return columns_of(pair.score);
  const bool both = pair.score.tokens() > 0 && reverse->score.tokens() > 0;
  return fmt::format("{}\t{}\t{:.6f}", columns_of(pair.score), columns_of(reverse->score),
                     both ? adequacy(pair.score, reverse->score) : std::numeric_limits<double>::quiet_NaN());
}

std::string json_of(const std::vector<Direction>& directions, int64_t index, const Direction::Pair& pair,
                    const Direction::Pair* reverse) {
  const ScoredText scored = directions[0].text_of(pair);
  if (reverse == nullptr) return score_line(index, scored);
  const ScoredText of_reverse = directions[1].text_of(*reverse);
  return score_line(index, scored, &of_reverse);
}

std::string header(bool reverse) {
  return std::string("log_prob\ttokens\tlog_prob_per_token") +
         (reverse ? "\treverse_log_prob\treverse_tokens\treverse_log_prob_per_token\tadequacy" : "") + "\n";
}

// Scores the pairs that earlier calls have not finished, in one direction or in both. Only rank 0 has an output.
void score_all(Communicator& world, std::vector<Direction>& directions, const ScoreRequest& r,
               std::optional<LineOutput>& output) {
  const bool both = directions.size() > 1;
  ProgressBar bar("scoring", "pairs", /*total=*/0, ProgressOutput::standard(r.model.quiet || !world.is_main_rank()));
  std::optional<PairReader> reader;  // only on rank 0
  const int64_t lines_before = number_of_rank0(world, [&] {
    reader.emplace(r.source, r.target);
    const int64_t finished = output->skip_finished([&](std::string& line) { return reader->next_line(line); });
    if (finished == 0 && !r.json) output->write(header(both));
    return finished;
  });
  int64_t done = lines_before / 2;
  bar.continue_from(done, reader ? reader->share_read() : 0);
  for (;;) {
    const std::vector<std::string> lines = lines_of_rank0(world, [&] { return reader->next(); });
    if (lines.empty()) break;
    std::vector<std::vector<Direction::Pair>> scored;
    for (Direction& direction : directions) scored.push_back(direction.score(lines, done));
    for (size_t i = 0; world.is_main_rank() && i < scored[0].size(); ++i) {
      const Direction::Pair& pair = scored[0][i];
      const Direction::Pair* reverse = both ? &scored[1][i] : nullptr;
      output->write(
          (r.json ? json_of(directions, done + static_cast<int64_t>(i), pair, reverse) : row_of(pair, reverse)) + "\n");
    }
    if (world.is_main_rank()) output->commit(lines);
    done += std::ssize(lines) / 2;
    bar.update(done, reader ? reader->share_read() : 0);
  }
  if (!world.is_main_rank()) return;
  output->finish();
  for (const Direction& direction : directions) direction.print_too_long();
}

ResumableFiles::Job job_of(const Options& options, const std::vector<CheckpointLease>& leases, const Mesh& mesh) {
  ResumableFiles::Job job = job_of(options, leases.front().folder, mesh);
  if (leases.size() > 1) job["--reverse"] = name_with_digest(leases[1].folder);
  return job;
}

}  // namespace

int run_score(const CommandContext& context) {
  ScoreRequest request;
  Options options(
      "score --checkpoint PATH --source FILE --target FILE [options]\n\n"
      "Prints the log-probability of each translation, the number of tokens, and the log-probability per token.\n\n"
      "  weft score --checkpoint runs/mine --source test.en --target test.de > scores.tsv\n"
      "  weft score --checkpoint runs/en-de --reverse runs/de-en --source web.en --target web.de --output "
      "scores.tsv.zst");
  if (!parse(context.args, request, options)) return 0;
  Communicator& world = *context.world;
  std::vector<CheckpointLease> leases;
  leases.push_back(find_checkpoint(world, request.model.checkpoint));
  if (!request.reverse.empty()) leases.push_back(find_checkpoint(world, request.reverse));
  std::vector<RunConfig> configs;
  for (const CheckpointLease& lease : leases)
    configs.push_back(config_for_use(lease.folder, request.model.parallel, world.size()));
  const Mesh mesh = mesh_for_use(request.model, configs.front(), world);
  std::optional<LineOutput> output;
  std::vector<std::string> files;
  if (!request.output.empty()) files.push_back(request.output);
  if (open_output(world, files, job_of(options, leases, mesh), output)) return 0;
  std::vector<Direction> directions;
  for (size_t i = 0; i < leases.size(); ++i)
    directions.emplace_back(request.model.load(leases[i].folder, configs[i], mesh), request, /*reverse=*/i > 0);
  all_or_none(world, [&] {
    if (world.is_main_rank()) check_text(request);
  });
  score_all(world, directions, request, output);
  return 0;
}

}  // namespace weft
