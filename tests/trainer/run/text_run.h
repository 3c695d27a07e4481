// tests/trainer/run/text_run.h: a small run on a small text, and what it leaves in its folder.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/errors.h"
#include "tests/support/run_device.h"
#include "tests/support/text_corpus.h"
#include "tests/trainer/report/read_event_log.h"
#include "trainer/run/run.h"

namespace weft::testing {

inline const TextCorpus& sixty_pairs() {
  static const TextCorpus text(/*num_pairs=*/60);
  return text;
}

inline RunConfig run_config(const TemporaryFolder& folder) {
  RunConfig c;
  c.model.width = 16, c.model.heads = 2, c.model.feed_forward = 16;
  c.model.encoder_layers = c.model.decoder_layers = 1;
  c.data.train = c.data.valid = sixty_pairs().folder();
  c.batch.rows = 64, c.batch.blocks = 2;
  c.schedule.lr = 3e-3, c.schedule.warmup = 5;
  c.train.output = folder / "run";
  c.train.steps = 6, c.train.validate_every = 2, c.train.save_every = 2, c.train.keep_last = 1;
  c.train.keep_best = "loss", c.train.validate_bleu = 4;
  use_test_device(c);
  return c;
}

inline int run(const RunConfig& config) {
  const auto world = make_single_communicator();
  return run_training(config, *world);
}

inline std::vector<int64_t> logged(const RunConfig& c, const char* field) {
  std::vector<int64_t> steps;
  for (const auto& record : read_event_log(c.train.output + "/log.jsonl"))
    if (record.contains(field)) steps.push_back(record.at("step").get<int64_t>());
  return steps;
}

inline std::string target(const RunConfig& c, const char* pointer) {
  return std::filesystem::read_symlink(c.train.output + "/checkpoints/" + pointer).string();
}

inline std::string refusal_of_run(const RunConfig& c) {
  return refusal_of(ErrorKind::usage, [&] { run(c); });
}

}  // namespace weft::testing
