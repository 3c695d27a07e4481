// tests/trainer/run/staged_run.h: a small run in two stages, of which the second mixes two corpora.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/errors.h"
#include "tests/support/run_device.h"
#include "tests/support/text_corpus.h"
#include "tests/trainer/report/read_event_log.h"
#include "trainer/run/run.h"

namespace weft::testing {

inline const TextCorpus& large_corpus() {
  static const TextCorpus text(/*num_pairs=*/60);
  return text;
}

inline const TextCorpus& small_corpus() {
  static const TextCorpus text(/*num_pairs=*/7, 290, /*seed=*/2, large_corpus().folder());
  return text;
}

class StagedRun : public ::testing::Test {
 protected:
  StagedRun() {
    RunConfig& c = config_;
    c.model.width = 16, c.model.heads = 2, c.model.feed_forward = 16;
    c.model.encoder_layers = c.model.decoder_layers = 1;
    c.data.valid = large_corpus().folder();
    c.stages = {{.name = "first", .mix = a_, .steps = 3}, {.name = "last", .mix = a_ + ":3," + b_}};
    c.batch.rows = c.batch.source_rows = 64, c.batch.blocks = 2;
    c.schedule.kind = ScheduleKind::constant, c.schedule.lr = 1e-3, c.schedule.warmup = 1;
    c.train.output = folder_ / "run";
    c.train.steps = 6, c.train.validate_every = 2, c.train.save_every = 2, c.train.keep_last = 9;
    c.train.keep_best = "loss", c.train.validate_bleu = 0;
    use_test_device(c);
  }

  void run() const {
    const auto world = make_single_communicator();
    run_training(config_, *world);
  }
  std::vector<nlohmann::json> log(const char* key) const {
    std::vector<nlohmann::json> records;
    for (const auto& record : read_event_log(config_.train.output + "/log.jsonl"))
      if (record.contains(key)) records.push_back(record);
    return records;
  }
  std::string refused(ErrorKind kind = ErrorKind::usage) const {
    return refusal_of(kind, [&] { run(); });
  }

  const TemporaryFolder folder_;
  const std::string a_ = large_corpus().folder(), b_ = small_corpus().folder();
  RunConfig config_;
};

}  // namespace weft::testing
