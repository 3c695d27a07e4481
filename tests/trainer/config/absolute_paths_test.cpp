// tests/trainer/config/absolute_paths_test.cpp: options that contain paths name the same files in every folder.
#include "trainer/config/absolute_paths.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "trainer/config/config_text.h"

namespace weft {
namespace {

RunConfig config_of(const std::string& text) {
  RunConfig config;
  apply_cfg(text, "test.cfg", config);
  return with_absolute_paths(config);
}

const std::string kHere = std::filesystem::current_path().string() + "/";

TEST(AbsolutePaths, KeepWeightsNumbersAndNames) {
  const RunConfig c = config_of(
      "[data]\ntrain = packed/clean:3, ./crawl\nmin_score = crawl:0.5\nvalid = dev=d/v,noisy=d/v:lower\n"
      "[train]\nepochs = packed/clean:2\ninit = runs/old\noutput = runs/../new\n"
      "[stage.a]\nmix = v:2/\nmin_score = 0.8\nepochs = v:2/:1\n");
  EXPECT_EQ(c.data.train, kHere + "packed/clean:3," + kHere + "crawl");
  EXPECT_EQ(c.data.min_score, kHere + "crawl:0.5");
  EXPECT_EQ(c.data.valid, "dev=" + kHere + "d/v,noisy=" + kHere + "d/v:lower");
  EXPECT_EQ(c.train.epochs, kHere + "packed/clean:2");
  EXPECT_EQ(c.train.init, kHere + "runs/old");
  EXPECT_EQ(c.train.output, kHere + "new");
  EXPECT_EQ(c.stages.at(0).mix, kHere + "v:2/");
  EXPECT_EQ(c.stages.at(0).min_score, "0.8");
  EXPECT_EQ(c.stages.at(0).epochs, kHere + "v:2/:1");
}

TEST(AbsolutePaths, LeaveOtherValuesAlone) {
  const RunConfig none = config_of("");
  EXPECT_EQ(to_cfg(none), to_cfg({}));
  const RunConfig c = config_of("[data]\ntrain = /a/b,/c:2\nvalid = ./x=y,z\n[train]\nepochs = 3\n");
  EXPECT_EQ(c.data.train, "/a/b,/c:2");
  EXPECT_EQ(c.data.valid, kHere + "x=y,z");  // one folder
  EXPECT_EQ(c.train.epochs, "3");
  EXPECT_EQ(to_cfg(with_absolute_paths(c)), to_cfg(c));
}

}  // namespace
}  // namespace weft
