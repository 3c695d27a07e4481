// tests/trainer/run/log_format_test.cpp: the keys that runs write into log.jsonl are those of
// docs/formats/log-format.md.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "data/atomic_file.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/report/read_event_log.h"
#include "trainer/run/run_log.h"

namespace weft::testing {
namespace {

using Keys = std::map<std::string, std::set<std::string>>;  // of each kind of record; of its lists as KIND.KEY

std::vector<std::string> in_backticks(const std::string& text) {
  static const std::regex words("`([^`]+)`");
  std::vector<std::string> found;
  for (std::sregex_token_iterator it(text.begin(), text.end(), words, 1), end; it != end; ++it)
    found.push_back(it->str());
  return found;
}

// A paragraph that begins with "**A step**" names the key by which its kind is known; rows of its table have one or
// several keys in the first column, and those of the objects in a list in the second.
Keys documented() {
  Keys keys;
  std::istringstream page(read_file(WEFT_SOURCE_DIR "/docs/formats/log-format.md"));
  std::string kind;
  for (std::string line; std::getline(page, line) && line != "## Versions";) {
    static const std::regex kinds("\\*\\*A (\\w+)\\*\\*.*"), rows("\\| (`[^|]*) \\| (.*) \\|");
    std::smatch match;
    if (std::regex_match(line, match, kinds)) {
      kind = match[1];
      for (const std::string& key : in_backticks(line))
        if (key.find('.') == std::string::npos && key != "step") keys[kind].insert(key);
    } else if (std::regex_match(line, match, rows)) {
      const std::vector<std::string> of_row = in_backticks(match[1]);
      keys[kind].insert(of_row.begin(), of_row.end());
      if (of_row.front() != "samples" && of_row.front() != "attention") continue;
      for (const std::string& key : in_backticks(match[2]))
        if (key.find('.') == std::string::npos) keys[kind + "." + of_row.front()].insert(key);
    }
  }
  return keys;
}

std::string kind_of(const nlohmann::json& record) {
  for (const auto& [key, kind] : {std::pair{"schema", "start"},
                                  {"loss", "step"},
                                  {"valid_loss", "validation"},
                                  {"score", "score"},
                                  {"no_score", "score"},
                                  {"rolled_back_to", "rollback"}})
    if (record.contains(key)) return kind;
  return record.dump();
}

// Returns the keys without `step` and `time`, which all records must contain.
Keys keys_of_log(const std::string& log) {
  Keys keys;
  for (const nlohmann::json& record : read_event_log(log)) {
    const std::string kind = kind_of(record);
    EXPECT_TRUE(record.contains("step") && record.contains("time")) << record;
    for (const auto& [key, value] : record.items()) {
      if (key == "step" || key == "time") continue;
      keys[kind].insert(std::regex_replace(key, std::regex("^(dev|news)\\."), "NAME."));
      for (const nlohmann::json& object : value.is_array() ? value : nlohmann::json::array({value}))
        if (kind == "validation" && object.is_object())
          for (const auto& [inner, unused] : object.items()) keys[kind + "." + key].insert(inner);
    }
  }
  return keys;
}

// A report with everything that a step can say.
StepReport full_step() {
  return {.step = 7,
          .stage = 1,
          .epochs = {1, 2},
          .totals = {.target_tokens = 9,
                     .target_weight = 2,
                     .flops = 1e6,
                     .not_finite = true,
                     .busy = {0.5, 1},
                     .corpora = {{.passed = 1, .nll = 6, .target_weight = 2}, {}}},
          .seconds = 1};
}

ValidationReport full_validation() {
  ValidationReport report{.step = 7, .sets = {}, .samples = {}, .attention = {}, .texts = {}};
  for (const char* name : {"dev", "news"})
    report.sets.push_back(
        {.name = name,
         .values = {{"valid_loss", 1}, {"valid_nll", 1}, {"bleu", 1}, {"chrf", 1}, {"length_ratio", 1}},
         .bleu_signature = "BLEU|tok:13a"});
  report.samples = {{"", "source", "reference", "hypothesis"}, {"news", "source", "reference", "hypothesis"}};
  report.attention = SampleAttention{.sample = 0, .source = {"a"}, .target = {"b"}, .weights = {1}};
  return report;
}

void write_every_record(const std::string& output) {
  RunConfig config;
  config.parallel.dp = 2;
  config.batch.blocks = 2;
  config.train.output = output, config.train.tensorboard = false, config.train.precision = Precision::f16;
  config.train.consistency = Consistency::rdrop;
  config.stages = {{.name = "first", .mix = "a", .steps = 3}, {.name = "last", .mix = "a,b"}};
  run_thread_ranks(2, [&](Communicator& world) {
    const Mesh mesh(world, config.parallel);
    RunLog log(config, parse_stages(config), mesh);
    log.set_limits({.flops = 1e9, .seconds = 0.5});
    if (!world.is_main_rank()) return;
    log.open(RunFolder(output, /*fresh=*/false), "plan", "config", TrainState());
    log.step(full_step(), {.seconds = 1, .last_step = 9, .stages_end = 9, .folders = {"a", "b"}});
    log.validation(full_validation(), "best");
    log.score({.step = 7, .scores = {{"score", 1}, {"dev.score", 1}, {"news.score", 2}}, .failure = ""}, "");
    log.score({.step = 7, .scores = {}, .failure = "exit status 1"}, "");
    log.rollback(7, 3);
  });
}

TEST(LogFormat, HasExactlyTheKeysThatRunsWrite) {
  const TemporaryFolder folder;
  write_every_record(folder / "run");
  const Keys in_log = keys_of_log(folder / "run/log.jsonl"), on_page = documented();
  EXPECT_EQ(in_log, on_page);
}

}  // namespace
}  // namespace weft::testing
