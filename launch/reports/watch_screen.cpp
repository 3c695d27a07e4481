// launch/reports/watch_screen.cpp: computes a run's state from the records of its log.
#include "launch/reports/watch_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/text/split.h"
#include "tensor/error.h"
#include "trainer/display/units.h"
#include "trainer/report/event_log.h"
#include "trainer/report/log_curves.h"
#include "trainer/report/log_record.h"
#include "trainer/validation/validation_metric.h"
#include "trainer/validation/validation_sets.h"

namespace weft {
namespace {

constexpr size_t kRecentSteps = 50;  // number of steps for speeds and shares
constexpr int kLinesBesideChart = 12;
constexpr size_t kMaxCorpora = 6;
constexpr double kSilentSeconds = 30;  // after this time, a log without new records is reported

double number_or_nan(const nlohmann::json& record, const std::string& key) {
  return number_at(record, key).value_or(std::nan(""));
}

// Sums over the recent steps.
double sum(const WatchedLog& log, const char* key) {
  double total = 0;
  for (const nlohmann::json& step : log.steps) total += number_or_0(step, key);
  return total;
}

// Averages over the recent steps, weighted by the time of each step, as for the speeds.
double mean_share(const WatchedLog& log, const char* key) {
  double total = 0;
  for (const nlohmann::json& step : log.steps) total += number_or_0(step, key) * number_or_0(step, "seconds");
  return total / sum(log, "seconds");
}

int64_t last_step(const WatchedRun& run) {
  const int64_t steps = run.config.train.steps;
  const int64_t expected = integer_at(run.log.steps.back(), "stages_end").value_or(steps);
  return steps > 0 ? std::min(steps, expected) : expected;  // 0: another limit ends the run
}

double left_seconds(const WatchedRun& run) {
  if (run.finished) return 0;
  const TrainConfig& t = run.config.train;
  const WatchedLog& log = run.log;
  const double left = static_cast<double>(last_step(run)) - number_or_nan(log.steps.back(), "step");
  const double by_steps = left * sum(log, "seconds") / static_cast<double>(log.steps.size());
  const double by_time = t.minutes > 0 ? 60 * t.minutes - log.seconds : by_steps;
  return std::max(0.0, std::min(by_steps, by_time));
}

std::vector<std::string> step_lines(const WatchedRun& run) {
  const nlohmann::json& now = run.log.steps.back();
  const double nll = number_or_nan(now, "nll"), seconds = sum(run.log, "seconds");
  std::string shares;
  for (const char* key : {"fill", "mfu", "roofline"})
    if (now.contains(key))
      shares += fmt::format("{}{} {:.1f} %", shares.empty() ? "" : "  ", key, 100 * mean_share(run.log, key));
  const auto speed = [&](const char* tokens) { return format_count(sum(run.log, tokens) / seconds); };
  return {fmt::format("step {} of {}, epoch {:.0f}: loss {:.4f}  nll {:.4f}  ppl {}",
                      with_commas(integer_at(now, "step").value_or(0)), with_commas(last_step(run)),
                      number_or_nan(now, "epoch"), number_or_nan(now, "loss"), nll, format_perplexity(nll)),
          fmt::format("lr {:.2e}  grad {:.3f}  src {}/s  tgt {}/s", number_or_nan(now, "lr"),
                      number_or_nan(now, "grad_norm"), speed("source_tokens"), speed("target_tokens")),
          shares};
}

// Returns the stage with its position in the configuration, or an empty text for a run without stages.
std::string stage_text(const WatchedRun& run) {
  if (run.log.stage.empty()) return "";
  const auto& stages = run.config.stages;
  const auto at = std::ranges::find(stages, run.log.stage, [](const auto& stage) { return stage.name; });
  const std::string place =
      at == stages.end() ? "" : fmt::format(" ({} of {})", at - stages.begin() + 1, stages.size());
  return fmt::format("stage {}{}, since step {}", run.log.stage, place, with_commas(run.log.stage_since));
}

// For a run on several corpora, returns a line per corpus. The first is like "corpora     clean: epoch 3, nll 2.10".
std::vector<std::string> corpus_lines(const nlohmann::json& step) {
  const auto epochs = numbers_in(step, "epochs");
  std::vector<std::string> folders, lines;
  for (const auto& [folder, epoch] : epochs) folders.push_back(folder);
  const std::vector<std::string> names = distinct_names(folders);
  for (size_t i = 0; i < epochs.size(); ++i) {
    if (i == kMaxCorpora) {
      lines.push_back(fmt::format("{:12}and {} more", "", epochs.size() - i));
      break;
    }
    const auto losses = step.find("corpus_nll");
    const auto nll = losses == step.end() ? std::nullopt : number_at(*losses, folders[i]);
    lines.push_back(fmt::format("{:<12}{}: epoch {:.0f}{}", i == 0 ? "corpora" : "", names[i], epochs[i].second,
                                nll ? fmt::format(", nll {:.4f}", *nll) : ""));
  }
  return lines;
}

std::string bar(double fraction, int width, bool utf8) {
  const int done = std::clamp(static_cast<int>(std::lround(fraction * width)), 0, width);
  std::string text;
  for (int i = 0; i < width; ++i) text += i < done ? (utf8 ? "━" : "#") : (utf8 ? "─" : "-");
  return text;
}

std::string text_of_set(const nlohmann::json& v, const std::string& set) {
  std::vector<std::string> words;
  const std::string signature = text_at(v, validation_key(set, kBleuSignature));
  for (const ValidationMetric& metric : kValidationMetrics)
    if (const std::string key = validation_key(set, metric.key); metric.judges && v.contains(key))
      words.push_back(worded(metric, number_or_nan(v, key), signature));
  return fmt::format("{}{}{}", set, set.empty() ? "" : ": ", fmt::join(words, ", "));
}

// Returns the best validation by the metric in train.keep_best, or by the loss if the validations lack this metric.
const nlohmann::json& best_of(const std::vector<nlohmann::json>& validations, const std::string& keep_best) {
  const auto quality_by = [](const BestRule& rule) {
    return [&rule](const nlohmann::json& v) {
      const auto value = rule.value([&](const std::string& key) { return number_at(v, key); });
      return value.value_or(-std::numeric_limits<double>::infinity());
    };
  };
  const BestRule by_loss = *BestRule::read("loss"), rule = BestRule::read(keep_best).value_or(by_loss);
  const auto best = std::ranges::max_element(validations, {}, quality_by(rule));
  return std::isfinite(quality_by(rule)(*best)) ? *best
                                                : *std::ranges::max_element(validations, {}, quality_by(by_loss));
}

std::vector<std::string> validation_lines(const WatchedRun& run) {
  const std::vector<nlohmann::json>& all = run.log.validations;
  if (all.empty()) return {};
  std::vector<std::string> lines;
  for (const std::string& set : sets_of(all.back()))
    lines.push_back((lines.empty() ? fmt::format("validation  step {:.0f}: ", number_or_nan(all.back(), "step"))
                                   : std::string(12, ' ')) +
                    text_of_set(all.back(), set));
  const nlohmann::json& best = best_of(all, run.config.train.keep_best);
  if (&best == &all.back()) return lines;
  std::string text;
  for (const std::string& set : sets_of(best)) text += (text.empty() ? "" : "; ") + text_of_set(best, set);
  lines.push_back(fmt::format("best        step {:.0f}: {}", number_or_nan(best, "step"), text));
  return lines;
}

std::string ranks_text(const nlohmann::json& step) {
  if (!step.contains("slowest_rank")) return "";
  return fmt::format("ranks       other ranks wait {:.1f} % of their time for rank {:.0f}",
                     100 * number_or_nan(step, "waiting"), number_or_nan(step, "slowest_rank"));
}

std::string silence(const WatchedRun& run) {
  if (run.finished) return "finished";
  double longest = 0;
  for (const nlohmann::json& step : run.log.steps) longest = std::max(longest, number_or_nan(step, "seconds"));
  if (run.silent_seconds < std::max(kSilentSeconds, 5 * longest)) return "";
  return fmt::format("no log record for {}: stopped, or validation in progress", format_duration(run.silent_seconds));
}

// Cuts between characters, and never within the bytes of a character.
std::string cut(const std::string& line, int columns) {
  size_t end = 0;
  for (int n = 0; end < line.size(); ++n) {
    if (n == columns) return line.substr(0, end);
    do ++end;
    while (end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80);
  }
  return line;
}

std::vector<std::string> all_lines(const WatchedRun& run, const ScreenSize& size, bool utf8) {
  const std::string quiet = silence(run);
  std::vector<std::string> lines{"run " + run.name + (quiet.empty() ? "" : ": " + quiet)};
  if (run.log.steps.empty()) {
    lines.emplace_back("no step yet");
    return lines;
  }
  const double left = left_seconds(run);
  const double fraction = run.log.seconds / std::max(run.log.seconds + left, 1e-9);
  const std::string percent = fmt::format(" {:.1f} %, {} left", 100 * fraction, format_duration(left));
  lines.push_back(bar(fraction, std::max(10, size.columns - static_cast<int>(percent.size())), utf8) + percent);
  for (const std::string& line : step_lines(run)) lines.push_back(line);
  if (const std::string stage = stage_text(run); !stage.empty()) lines.push_back(stage);
  const std::vector<std::string> corpora = corpus_lines(run.log.steps.back()), validated = validation_lines(run);
  const int more = std::max(0, static_cast<int>(std::ssize(validated)) - 2) + static_cast<int>(std::ssize(corpora)) +
                   (run.log.stage.empty() ? 0 : 1);
  const int height = size.rows - kLinesBesideChart - more;
  if (height >= 4) {
    lines.emplace_back();
    const std::string chart =
        draw_chart({run.log.loss, run.log.bleu}, {.width = size.columns - 2, .height = height, .utf8 = utf8});
    for (const std::string_view line : split_lines(chart)) lines.emplace_back(line);
  }
  lines.insert(lines.end(), corpora.begin(), corpora.end());
  lines.insert(lines.end(), validated.begin(), validated.end());
  if (const std::string ranks = ranks_text(run.log.steps.back()); !ranks.empty()) lines.push_back(ranks);
  if (!run.latest.empty())
    lines.push_back("checkpoints latest " + run.latest + (run.best.empty() ? "" : ", best " + run.best));
  return lines;
}

}  // namespace

void WatchedLog::add(const nlohmann::json& record) {
  const double step = number_or_nan(record, "step");
  if (is_validation(record)) {
    validations.push_back(record);
    for (const char* texts : {"samples", "attention"}) validations.back().erase(texts);  // of any size, and not shown
    if (record.contains("bleu")) bleu.add(step, number_or_nan(record, "bleu"));
  } else if (has_score(record) && std::isfinite(step)) {
    for (nlohmann::json& validation : validations) add_scores(record, validation);
  } else if (record.contains("loss") && std::isfinite(step)) {
    steps.push_back(record);
    if (steps.size() > kRecentSteps) steps.pop_front();
    loss.add(step, number_or_nan(record, "loss"));
    seconds += number_or_0(record, "seconds");
    if (const std::string now = text_at(record, "stage"); now != stage)
      stage = now, stage_since = integer_at(record, "step").value_or(0);
  }
}

std::string watch_screen(const WatchedRun& run, const ScreenSize& size, bool utf8) {
  std::vector<std::string> lines = all_lines(run, size, utf8);
  if (std::ssize(lines) > size.rows) lines.resize(static_cast<size_t>(std::max(0, size.rows)));
  std::string screen;
  for (const std::string& line : lines)  // names in a log may contain control sequences
    screen += cut(printable(line, line.size()), size.columns) + "\n";
  return screen;
}

}  // namespace weft
