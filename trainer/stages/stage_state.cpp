// trainer/stages/stage_state.cpp: reads and writes the part `data` of state.json.
#include "trainer/stages/stage_state.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tensor/error.h"

namespace weft {

using nlohmann::json;

bool is_same_mix(const std::vector<MixCorpus>& a, const std::vector<MixCorpus>& b) {
  return std::ranges::equal(a, b, [](const MixCorpus& x, const MixCorpus& y) {
    return x.number == y.number && x.weight == y.weight && x.min_score == y.min_score;
  });
}

void to_json(json& j, const StageState& s) {
  j = {{"corpora", json::array()},
       {"stages", json::array()},
       {"steps", s.steps},
       {"target_tokens", s.target_tokens},
       {"passed", s.passed}};
  for (const RunCorpus& c : s.corpora)
    j["corpora"].push_back({{"folder", c.folder}, {"manifest_sha256", c.manifest_sha256}});
  for (const PastStage& stage : s.stages) {
    json mix = json::array();
    for (const MixCorpus& c : stage.corpora) {
      mix.push_back({{"corpus", c.number}, {"weight", c.weight}});
      if (c.min_score) mix.back()["min_score"] = *c.min_score;
    }
    j["stages"].push_back({{"name", stage.name}, {"mix", mix}, {"first_step", stage.first_step}});
  }
}

void from_json(const json& j, StageState& s) {
  s = {};
  for (const json& c : j.at("corpora"))
    s.corpora.push_back({c.at("folder").get<std::string>(), c.at("manifest_sha256").get<std::string>()});
  for (const json& stage : j.at("stages")) {
    PastStage past{.name = stage.at("name").get<std::string>(),
                   .corpora = {},
                   .first_step = stage.at("first_step").get<int64_t>()};
    for (const json& c : stage.at("mix")) {
      const auto number = c.at("corpus").get<int64_t>();
      if (number < 0 || number >= std::ssize(s.corpora))
        fail(ErrorKind::checkpoint,
             fmt::format("a stage uses corpus {}, but the checkpoint lists {} corpora", number, s.corpora.size()));
      past.corpora.push_back({.folder = s.corpora[static_cast<size_t>(number)].folder,
                              .weight = c.at("weight").get<int64_t>(),
                              .number = number});
      if (c.contains("min_score")) past.corpora.back().min_score = c.at("min_score").get<float>();
    }
    s.stages.push_back(std::move(past));
  }
  j.at("steps").get_to(s.steps);
  j.at("target_tokens").get_to(s.target_tokens);
  j.at("passed").get_to(s.passed);
}

}  // namespace weft
