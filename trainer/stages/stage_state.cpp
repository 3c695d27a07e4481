// trainer/stages/stage_state.cpp: the part `data` of state.json.
#include "trainer/stages/stage_state.h"

#include <nlohmann/json.hpp>

#include "tensor/error.h"

namespace weft {

using nlohmann::json;

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
    for (const Mix::Part& part : stage.parts) {
      mix.push_back({{"corpus", part.corpus}, {"weight", part.weight}});
      if (part.min_score) mix.back()["min_score"] = *part.min_score;
    }
    j["stages"].push_back({{"name", stage.name}, {"mix", mix}, {"first_step", stage.first_step}});
  }
}

void from_json(const json& j, StageState& s) {
  s = {};
  for (const json& c : j.at("corpora"))
    s.corpora.push_back({c.at("folder").get<std::string>(), c.at("manifest_sha256").get<std::string>()});
  for (const json& stage : j.at("stages")) {
    PastStage past{
        .name = stage.at("name").get<std::string>(), .parts = {}, .first_step = stage.at("first_step").get<int64_t>()};
    for (const json& part : stage.at("mix")) {
      past.parts.push_back({.corpus = part.at("corpus").get<int64_t>(), .weight = part.at("weight").get<int64_t>()});
      if (part.contains("min_score")) past.parts.back().min_score = part.at("min_score").get<float>();
    }
    for (const Mix::Part& part : past.parts)
      if (part.corpus < 0 || part.corpus >= std::ssize(s.corpora))
        fail(ErrorKind::checkpoint,
             fmt::format("a stage of the checkpoint names corpus {} of {}", part.corpus, s.corpora.size()));
    s.stages.push_back(std::move(past));
  }
  j.at("steps").get_to(s.steps);
  j.at("target_tokens").get_to(s.target_tokens);
  j.at("passed").get_to(s.passed);
}

}  // namespace weft
