// launch/reports/watch_screen.cpp: a run's state from the records of its log.
#include "launch/reports/watch_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "trainer/plan/validation_sets.h"
#include "trainer/report/event_log.h"
#include "trainer/report/units.h"

namespace weft {
namespace {

constexpr size_t kRecentSteps = 50;  // for speed
constexpr int kLinesBesideChart = 11;
constexpr double kSilentSeconds = 30;  // and longer than any recent step: worth a word

double watched_number(const nlohmann::json& record, const char* key) {
  const auto it = record.find(key);
  return it != record.end() && it->is_number() ? it->get<double>() : std::nan("");
}

// Over the recent steps.
double sum(const WatchedLog& log, const char* key) {
  double total = 0;
  for (const nlohmann::json& step : log.steps)
    if (const double x = watched_number(step, key); std::isfinite(x)) total += x;
  return total;
}

double left_seconds(const TrainConfig& t, const WatchedLog& log) {
  const double left = static_cast<double>(t.steps) - watched_number(log.steps.back(), "step");
  const double by_steps = left * sum(log, "seconds") / static_cast<double>(log.steps.size());
  const double by_time = t.minutes > 0 ? 60 * t.minutes - log.seconds : by_steps;
  return std::max(0.0, std::min(by_steps, by_time));
}

std::vector<std::string> step_lines(const WatchedRun& run) {
  const nlohmann::json& now = run.log.steps.back();
  const double nll = watched_number(now, "nll"), seconds = sum(run.log, "seconds");
  const std::string mfu = now.contains("mfu") ? fmt::format("  mfu {:.1f} %", 100 * watched_number(now, "mfu")) : "";
  const auto speed = [&](const char* tokens) { return format_count(sum(run.log, tokens) / seconds); };
  return {
      fmt::format("step {} of {}, epoch {:.0f}: loss {:.4f}  nll {:.4f}  ppl {:.2f}",
                  with_commas(static_cast<int64_t>(watched_number(now, "step"))), with_commas(run.config.train.steps),
                  watched_number(now, "epoch"), watched_number(now, "loss"), nll, std::exp(nll)),
      fmt::format("lr {:.2e}  grad {:.3f}  src {}/s  tgt {}/s  fill {:.1f} %{}", watched_number(now, "lr"),
                  watched_number(now, "grad_norm"), speed("source_tokens"), speed("target_tokens"),
                  100 * watched_number(now, "fill"), mfu)};
}

std::string bar(double fraction, int width, bool utf8) {
  const int done = std::clamp(static_cast<int>(std::lround(fraction * width)), 0, width);
  std::string text;
  for (int i = 0; i < width; ++i) text += i < done ? (utf8 ? "━" : "#") : (utf8 ? "─" : "-");
  return text;
}

// Of its sets; one without a name is "".
std::vector<std::string> sets_of(const nlohmann::json& validation) {
  std::vector<std::string> names;
  if (const auto it = validation.find("sets"); it != validation.end() && it->is_array())
    for (const nlohmann::json& name : *it)
      if (name.is_string()) names.push_back(name.get<std::string>());
  if (names.empty()) names.emplace_back();
  return names;
}

std::string text_of_set(const nlohmann::json& v, const std::string& set) {
  const auto number = [&](const char* key) { return watched_number(v, validation_key(set, key).c_str()); };
  std::string text = fmt::format("{}{}loss {:.4f}", set, set.empty() ? "" : ": ", number("valid_loss"));
  if (v.contains(validation_key(set, "bleu")))
    text += fmt::format(", BLEU {:.2f}, chrF2 {:.2f}", number("bleu"), number("chrf"));
  if (v.contains(validation_key(set, "score"))) text += fmt::format(", score {:.6g}", number("score"));
  return text;
}

// By train.keep_best, or by the loss if the validations lack what it needs.
const nlohmann::json& best_of(const std::vector<nlohmann::json>& validations, const std::string& keep_best) {
  const auto quality_by = [](const BestRule& rule) {
    return [&rule](const nlohmann::json& v) {
      const auto value = rule.value([&](const std::string& key) {
        const double x = watched_number(v, key.c_str());
        return std::isnan(x) ? std::nullopt : std::optional(x);
      });
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
    lines.push_back((lines.empty() ? fmt::format("validation  step {:.0f}: ", watched_number(all.back(), "step"))
                                   : std::string(12, ' ')) +
                    text_of_set(all.back(), set));
  const nlohmann::json& best = best_of(all, run.config.train.keep_best);
  if (&best == &all.back()) return lines;
  std::string text;
  for (const std::string& set : sets_of(best)) text += (text.empty() ? "" : "; ") + text_of_set(best, set);
  lines.push_back(fmt::format("best        step {:.0f}: {}", watched_number(best, "step"), text));
  return lines;
}

std::string ranks_text(const nlohmann::json& step) {
  if (!step.contains("slowest_rank")) return "";
  return fmt::format("ranks       the others wait {:.1f} % of their time for rank {:.0f}",
                     100 * watched_number(step, "waiting"), watched_number(step, "slowest_rank"));
}

std::string silence(const WatchedRun& run) {
  if (run.finished) return "finished";
  double longest = 0;
  for (const nlohmann::json& step : run.log.steps) longest = std::max(longest, watched_number(step, "seconds"));
  if (run.silent_seconds < std::max(kSilentSeconds, 5 * longest)) return "";
  return fmt::format("no record for {}: stopped, or busy with a validation", format_duration(run.silent_seconds));
}

// Cuts at a character, not within its bytes.
std::string cut(const std::string& line, int columns) {
  size_t end = 0;
  for (int n = 0; end < line.size(); ++n) {
    if (n == columns) return line.substr(0, end);
    do ++end;
    while (end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80);
  }
  return line;
}

void add_lines(std::vector<std::string>& lines, const std::string& text) {
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
}

std::vector<std::string> all_lines(const WatchedRun& run, const ScreenSize& size, bool utf8) {
  const std::string quiet = silence(run);
  std::vector<std::string> lines{"run " + run.name + (quiet.empty() ? "" : ": " + quiet)};
  if (run.log.steps.empty()) {
    lines.emplace_back("no step yet");
    return lines;
  }
  const double left = left_seconds(run.config.train, run.log);
  const double fraction = run.log.seconds / std::max(run.log.seconds + left, 1e-9);
  const std::string percent = fmt::format(" {:.1f} %, {} left", 100 * fraction, format_duration(left));
  lines.push_back(bar(fraction, std::max(10, size.columns - static_cast<int>(percent.size())), utf8) + percent);
  for (const std::string& line : step_lines(run)) lines.push_back(line);
  const std::vector<std::string> validated = validation_lines(run);
  const int height = size.rows - kLinesBesideChart - std::max(0, static_cast<int>(validated.size()) - 2);
  if (height >= 4) {
    lines.emplace_back();
    add_lines(lines,
              draw_chart({run.log.loss, run.log.bleu}, {.width = size.columns - 2, .height = height, .utf8 = utf8}));
  }
  for (const std::string& line : validated) lines.push_back(line);
  if (const std::string ranks = ranks_text(run.log.steps.back()); !ranks.empty()) lines.push_back(ranks);
  if (!run.latest.empty())
    lines.push_back("checkpoints latest " + run.latest + (run.best.empty() ? "" : ", best " + run.best));
  return lines;
}

}  // namespace

void WatchedLog::add(const nlohmann::json& record) {
  const double step = watched_number(record, "step");
  if (record.contains("valid_loss")) {
    validations.push_back(record);
    if (record.contains("bleu")) bleu.points.emplace_back(step, watched_number(record, "bleu"));
  } else if (has_score(record) && std::isfinite(step)) {
    for (nlohmann::json& validation : validations) add_scores(record, validation);
  } else if (record.contains("loss") && std::isfinite(step)) {
    steps.push_back(record);
    if (steps.size() > kRecentSteps) steps.pop_front();
    loss.points.emplace_back(step, watched_number(record, "loss"));
    if (const double s = watched_number(record, "seconds"); std::isfinite(s)) seconds += s;
  }
}

std::string watch_screen(const WatchedRun& run, const ScreenSize& size, bool utf8) {
  std::vector<std::string> lines = all_lines(run, size, utf8);
  if (std::ssize(lines) > size.rows) lines.resize(static_cast<size_t>(size.rows));
  std::string screen;
  for (const std::string& line : lines) screen += cut(line, size.columns) + "\n";
  return screen;
}

}  // namespace weft
