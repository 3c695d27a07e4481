// tests/trainer/config/config_text_test.cpp: reading and writing configurations, and errors in them.
#include "trainer/config/config_text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "tests/support/errors.h"
#include "trainer/config/fields.h"
#include "trainer/plan/update_options.h"

namespace weft {
namespace {

std::string usage_error(const std::function<void()>& body) { return testing::message_of(ErrorKind::usage, body); }

std::string cfg_error(const std::string& text) {
  return usage_error([&] {
    RunConfig config;
    apply_cfg(text, "a.cfg", config);
  });
}

TEST(ConfigText, ReadsSectionsCommentsAndEveryKindOfValue) {
  RunConfig config;
  apply_cfg(
      "# a comment\n[model]\nwidth = 64   # beside a value\nnorm = pre\nfinal_norm = true\n\n[schedule]\nlr=1.5e-3\n"
      "[train]\nseed = 18446744073709551615\noutput = runs/a b\n[optimizer]\nclip_norm = 1\n",
      "a.cfg", config);
  EXPECT_EQ(config.model.width, 64);
  EXPECT_EQ(config.model.norm, NormPosition::pre);
  EXPECT_TRUE(config.model.final_norm);
  EXPECT_EQ(config.schedule.lr, 1.5e-3);
  EXPECT_EQ(config.train.seed, 18446744073709551615u);
  EXPECT_EQ(config.train.output, "runs/a b");
  EXPECT_EQ(config.optimizer.clip_norm, 1);
}

// Gives every field a value other than its default, so that a lost field would show.
RunConfig unusual_config() {
  RunConfig config;
  std::vector<Field> fields;
  FieldCollector all(fields, "");
  config.sections(all);
  for (Field& field : fields) {
    const std::string before = field.get();
    std::vector<std::string> candidates = field.choices;
    candidates.insert(candidates.end(), {"0.1234567890123456", "77"});
    for (const std::string& candidate : candidates) {
      try {
        field.set(candidate);
      } catch (const Error&) {
      }
      if (field.get() != before) break;
    }
    EXPECT_NE(field.get(), before) << field.key;
  }
  return config;
}

TEST(ConfigText, WritesAConfigThatLoadsAgainEqual) {
  const RunConfig config = unusual_config();
  const std::string text = to_cfg(config);
  RunConfig again;
  apply_cfg(text, "a.cfg", again);
  EXPECT_EQ(to_cfg(again), text);
  EXPECT_NE(text, to_cfg(RunConfig{}));
  EXPECT_EQ(again.optimizer.beta1, 0.1234567890123456);
}

TEST(ConfigText, ReadsStagesInTheOrderOfTheirSections) {
  RunConfig config;
  apply_cfg(
      "[stage.warm-up]\nmix = a:3,b:1\nsteps = 10\n\n[stage.2]\nmix = b\n[stage.2.schedule]\nlr = 0.5\n"
      "[stage.warm-up]\ntokens = 7\n",
      "a.cfg", config);
  ASSERT_EQ(config.stages.size(), 2u);
  EXPECT_EQ(config.stages[0].name, "warm-up");
  EXPECT_EQ(config.stages[0].mix, "a:3,b:1");
  EXPECT_EQ(config.stages[0].tokens, 7);
  EXPECT_FALSE(config.stages[0].has_schedule);
  EXPECT_TRUE(config.stages[1].has_schedule);
  EXPECT_EQ(config.stages[1].schedule.lr, 0.5);
  const std::string text = to_cfg(config);
  EXPECT_NE(text.find("[stage.warm-up]\n"), std::string::npos);
  EXPECT_NE(text.find("[stage.2.schedule]\n"), std::string::npos);
  RunConfig again;
  apply_cfg(text, "b.cfg", again);
  EXPECT_EQ(to_cfg(again), text);
}

TEST(ConfigText, KeepsAStageWhoseSectionIsEmpty) {
  RunConfig config;
  apply_cfg("[stage.a]\n[stage.b]\nmix = b\n", "a.cfg", config);
  EXPECT_EQ(config.stages.size(), 2u);  // so a lacking mix is refused
}

TEST(ConfigText, RefusesStagesWithoutANameOrWithUnknownKeys) {
  RunConfig config;
  for (const char* text : {"[stage]\nmix = a\n", "[stage.]\nmix = a\n", "[stage.a b]\nmix = a\n"})
    testing::expect_error([&] { apply_cfg(text, "a.cfg", config); }, ErrorKind::usage, {"a.cfg"});
  testing::expect_error([&] { apply_cfg("[stage.1]\nmixx = a\n", "a.cfg", config); }, ErrorKind::usage,
                        {"a.cfg:2: unknown key 'stage.1.mixx'; did you mean 'stage.1.mix'?"});
}

TEST(ConfigText, ReadsEachConfigurationOfTheTree) {
  int count = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(WEFT_SOURCE_DIR "/configs")) {
    const std::string path = file.path().string();
    if (file.is_directory() || path.find("/machines/") != std::string::npos) continue;
    SCOPED_TRACE(path);
    RunConfig config;
    apply_cfg_file(path, config);
    check_optimizer(config);
    check_schedules(config, parse_stages(config));
    EXPECT_EQ(describe_options_without_effect(config), "");
    EXPECT_EQ(config.stages.size(), path.ends_with("/stages.cfg") ? 3u : 0u);
    ++count;
  }
  EXPECT_GE(count, 18);
}

TEST(ConfigText, WritesEachFieldsSentence) {
  EXPECT_NE(to_cfg({}).find("[train]\n# total number of optimizer steps\nsteps = 100000\n"), std::string::npos);
}

TEST(ConfigText, ReadsAndWritesTheDeviceBeforeTheFirstSection) {
  RunConfig config;
  apply_cfg("device = cpu\n[model]\nwidth = 64\n", "a.cfg", config);
  EXPECT_EQ(config.device, DeviceChoice::cpu);
  const std::string text = to_cfg(config);
  EXPECT_NE(text.find("\ndevice = cpu\n\n[model]\n"), std::string::npos) << text;
  EXPECT_EQ(cfg_error("device = gpu\n"), "a.cfg:1: device = 'gpu' is not valid: give one of auto, cpu, cuda");
}

TEST(ConfigText, NamesFileLineAndNearestKeyOfAnUnknownOne) {
  EXPECT_EQ(cfg_error("[model]\nwidth = 64\n\nheds = 4\n"),
            "a.cfg:4: unknown key 'model.heds'; did you mean 'model.heads'?");
  EXPECT_EQ(cfg_error("[trian]\nseed = 4\n"), "a.cfg:2: unknown key 'trian.seed'; did you mean 'train.seed'?");
}

TEST(ConfigText, NamesKeyValueAndWhatIsAllowed) {
  EXPECT_EQ(cfg_error("[model]\nnorm = prenorm\n"),
            "a.cfg:2: model.norm = 'prenorm' is not valid: give one of post, pre");
}

TEST(ConfigText, NamesTheLineThatIsNeitherASectionNorAValue) {
  EXPECT_EQ(cfg_error("[model]\n# width\nwidth # 3\n"), "a.cfg:3: 'width' is neither a [section] nor 'key = value'");
  EXPECT_EQ(cfg_error("%invalid_line%<\n"), "a.cfg:1: '%invalid_line%<' is neither a [section] nor 'key = value'");
}

TEST(ConfigText, RefusesACarriageReturnWithinALine) {
  EXPECT_EQ(
      cfg_error("# old line ends\r[model]\rwidth = 64\r"),
      "a.cfg:1: a carriage return within the line '# old line ends\\r[model]\\rwidth = 64\\r': end lines with \\n or "
      "\\r\\n");
  RunConfig config;
  apply_cfg("[model]\r\nwidth = 64\r\n", "a.cfg", config);  // at the end of each line
  EXPECT_EQ(config.model.width, 64);
}

TEST(ConfigText, RefusesWhatIsGivenTwice) {
  EXPECT_EQ(cfg_error("[model]\nwidth = 1\nwidth = 2\n"), "a.cfg:3: model.width is given twice");
}

TEST(ConfigText, LoadsEveryConfigurationThatComesWithWeft) {
  int found = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(WEFT_SOURCE_DIR "/configs")) {
    if (entry.path().extension() != ".cfg" || entry.path().parent_path().filename() == "machines") continue;
    RunConfig config;
    EXPECT_NO_THROW(apply_cfg_file(entry.path(), config)) << entry.path();
    config.model.source_vocabulary = config.model.target_vocabulary = 8000;  // as with data
    EXPECT_NO_THROW(config.model.resolve(1)) << entry.path();
    ++found;
  }
  EXPECT_GE(found, 5);
}

}  // namespace
}  // namespace weft
