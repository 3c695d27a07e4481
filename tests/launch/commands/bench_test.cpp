// tests/launch/commands/bench_test.cpp: `weft bench` on a very small model: complete JSON with consistent
// numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>

#include "launch/commands.h"
#include "launch/reports/bench_report.h"
#include "tensor/context.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "trainer/cluster/machine.h"
#include "trainer/config/config_text.h"

namespace weft::testing {
namespace {

using Json = nlohmann::json;

const std::vector<std::string> kSmall = {"--seconds=0",         "--vocabulary=50",          "--model.width=16",
                                         "--model.heads=2",     "--model.feed_forward=32",  "--model.encoder_layers=1",
                                         "--batch.rows=64",     "--model.decoder_layers=1", "--batch.blocks=2",
                                         "--model.dropout=0.25"};

std::string bench(std::vector<std::string> args) {
  const auto world = make_single_communicator();
  args.insert(args.begin(), kSmall.begin(), kSmall.end());
  ::testing::internal::CaptureStdout();
  const int status = run_bench({args, world.get()});
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(status, 0);
  return text;
}

double sum_of(const Json& object) {
  double sum = 0;
  for (const auto& [name, value] : object.items()) sum += value.get<double>();
  return sum;
}

void expect_step_adds_up(const Json& step) {
  const double seconds = step.at("seconds");
  EXPECT_GT(seconds, 0);
  EXPECT_LE(step.at("best_seconds").get<double>(), seconds);
  EXPECT_EQ(step.at("steps"), 1);
  EXPECT_EQ(step.at("looked_at_seconds"), seconds);
  EXPECT_NEAR(sum_of(step.at("parts")), seconds, 1e-9);
  EXPECT_NEAR(sum_of(step.at("phases")), seconds, 1e-9);
  EXPECT_EQ(step.at("parts").size(), 9u);
  EXPECT_GT(step.at("parts").at("gemm").get<double>(), 0);
  EXPECT_GT(step.at("tokens").get<double>(), 64);
  EXPECT_DOUBLE_EQ(step.at("tokens_per_second"), step.at("tokens").get<double>() / seconds);
  EXPECT_DOUBLE_EQ(step.at("gflops"), step.at("flops").get<double>() / seconds / 1e9);
  EXPECT_DOUBLE_EQ(step.at("fill"),
                   (step.at("tokens").get<double>() + step.at("source_tokens").get<double>()) / (2 * 2 * 64));
}

TEST(Bench, WritesJsonWhoseNumbersAgree) {
  const Json json = Json::parse(bench({"--json", "--precision", "f32"}));
  EXPECT_EQ(json.at("precision"), "f32");
  EXPECT_EQ(json.at("ranks"), 1);
  EXPECT_EQ(json.at("threads"), num_threads());
  EXPECT_EQ(json.at("device"), json.at("processor"));
  const double peak = json.at("peak_gflops").at("f32");
  EXPECT_DOUBLE_EQ(peak, json.at("peaks").at(0).at("gflops"));
  EXPECT_EQ(json.at("peak_gflops").at("bf16").is_null(), !has_bf16_instructions());
  expect_step_adds_up(json.at("step"));
  EXPECT_DOUBLE_EQ(json.at("mfu"), json.at("step").at("gflops").get<double>() / peak);
  EXPECT_TRUE(json.at("all_reduce").empty());
  for (const char* key : {"before", "after", "other_cores", "waiting", "too_busy"})
    EXPECT_TRUE(json.at("load").contains(key)) << key;
}

TEST(Bench, SaysWhatItMeasured) {
  const Json config = Json::parse(bench({"--json"})).at("config");
  const Json expected = {{"width", 16},
                         {"heads", 2},
                         {"kv_heads", 2},
                         {"feed_forward", 32},
                         {"activation", "relu"},
                         {"norm_kind", "layer"},
                         {"positions", "interleaved"},
                         {"encoder_layers", 1},
                         {"decoder_layers", 1},
                         {"source_vocabulary", 50},
                         {"rows", 64},
                         {"target_vocabulary", 50},
                         {"source_rows", 64},
                         {"blocks", 2},
                         {"dropout", 0.25},
                         {"cuda_graph", false},
                         {"tune_gemm", false},
                         {"dp", 1},
                         {"tp", 1},
                         {"sequence", false},
                         {"parameters", config.at("parameters")}};
  EXPECT_EQ(config, expected);
  EXPECT_GT(config.at("parameters").get<int64_t>(), 50 * 16);
}

TEST(Bench, MeasuresEachProductOfTheLayersOnce) {
  const Json json = Json::parse(bench({"--json", "--precision=bf16"}));
  const double peak = json.at("peak_gflops").at(has_bf16_instructions() ? "bf16" : "f32");
  std::set<std::tuple<std::string, std::string>> seen;
  for (const Json& gemm : json.at("gemm")) {
    seen.emplace(gemm.at("name"), gemm.at("pass"));
    EXPECT_GE(gemm.at("best_gflops"), gemm.at("median_gflops"));
    EXPECT_GT(gemm.at("median_gflops"), 0);
    EXPECT_DOUBLE_EQ(gemm.at("share_of_peak"), gemm.at("best_gflops").get<double>() / peak);
    if (gemm.at("name") == "ffn up" && gemm.at("pass") == "weight_gradient") {
      EXPECT_EQ((std::vector<int64_t>{gemm.at("m"), gemm.at("n"), gemm.at("k")}), (std::vector<int64_t>{32, 16, 64}));
    }
  }
  EXPECT_EQ(seen.size(), 18u);
  EXPECT_EQ(json.at("gemm").size(), 18u);
}

TEST(Bench, ComparesEachOpWithACopyOfAsMuch) {
  const Json json = Json::parse(bench({"--json"}));
  EXPECT_EQ(json.at("copies").size(), 13u);
  EXPECT_GT(json.at("kernels").size(), 10u);
  for (const Json& kernel : json.at("kernels")) {
    const double bytes = kernel.at("bytes"), rate = kernel.at("gigabytes_per_second");
    EXPECT_DOUBLE_EQ(rate, bytes / kernel.at("best_seconds").get<double>() / 1e9);
    EXPECT_GE(kernel.at("median_seconds"), kernel.at("best_seconds"));
    const double copy = rate / kernel.at("share_of_copy").get<double>();
    EXPECT_TRUE(std::ranges::any_of(json.at("copies"), [&](const Json& c) {
      return std::abs(c.at("gigabytes_per_second").get<double>() - copy) < 1e-9 * copy;
    }));
    const bool counts = kernel.at("op").get<std::string>().starts_with("attention");
    EXPECT_EQ(kernel.at("gflops").is_null(), !counts) << kernel;
  }
}

TEST(Bench, WritesOneScreenForPeople) {
  const std::string text = bench({});
  for (const char* word :
       {"machine", "peak", "qkv", "forward", "copies", "residual_norm_backward", "target tokens/s", "MFU", "load"})
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text;
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 70);
}

TEST(Bench, MeasuresSeveralRanksTogether) {
  run_thread_ranks(2, [](Communicator& world) {
    set_num_threads(1);
    RunConfig config;
    config.model.width = 16, config.model.heads = 2, config.model.feed_forward = 32;
    config.model.encoder_layers = config.model.decoder_layers = 1;
    config.model.source_vocabulary = config.model.target_vocabulary = 50;
    config.batch.rows = 64, config.batch.blocks = 1, config.parallel.tp = 2;
    const BenchReport report = measure_machine(resolve_bench(config, world), world, /*seconds=*/0);
    EXPECT_EQ(report.ranks, 2);
    EXPECT_GT(report.peak(), report.rank_peak());
    EXPECT_EQ(report.products.front().product.k, 8);  // a rank's half of the heads
    ASSERT_EQ(report.all_reduce.size(), 4u);
    for (const AllReduceRate& rate : report.all_reduce) EXPECT_GT(rate.bytes_per_second(), 0);
  });
}

TEST(Bench, RefusesWhatCannotBeMeasured) {
  const auto message = [](const std::vector<std::string>& args) {
    const std::string text = message_of(ErrorKind::usage, [&] { bench(args); });
    ::testing::internal::GetCapturedStdout();
    return text;
  };
  EXPECT_EQ(message({"--model.source_rows=3"}),
            "unknown option '--model.source_rows'; did you mean --batch.source_rows?");
  EXPECT_NE(message({"--batch.source_rows=1"}).find("batch.source_rows = 1"), std::string::npos);
  EXPECT_NE(message({"--model.max_positions=-4"}).find("model.max_positions"), std::string::npos);
  EXPECT_NE(message({"--parallel.tp=3"}).find("parallel.tp"), std::string::npos);
}

TEST(Bench, WarnsOfABusyMachine) {
  LoadReport load{.before = 3, .after = 3, .other_cores = 1.5, .cores = 4, .waiting = 0.01};
  EXPECT_TRUE(load.too_busy());
  EXPECT_NE(load.warning().find("other processes used 1.5 of 4 cores"), std::string::npos) << load.warning();
  load.other_cores = 0.1;
  EXPECT_FALSE(load.too_busy());
  EXPECT_EQ(load.warning(), "");
  load.waiting = 0.2;
  EXPECT_TRUE(load.too_busy());
}

TEST(Bench, PrintsAMachineThatPlanReads) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/here.cfg";
  std::ofstream(file) << bench({"--machine"});
  Machine machine;
  std::vector<Field> fields = fields_of(machine);
  apply_cfg_file(file, fields, "plan");
  EXPECT_GT(machine.processor.flops, 0);
  EXPECT_EQ(machine.processor.flops.origin, ConstantOrigin::measured);
  EXPECT_EQ(machine.node.ranks, 1);
  check_machine(machine, 1);
}

TEST(Bench, PrintsAMachineAlone) {
  const auto world = make_single_communicator();
  expect_error(
      [&] {
        run_bench({{"--machine", "--json"}, world.get()});
      },
      ErrorKind::usage, {"--machine", "give only one of them"});
}

}  // namespace
}  // namespace weft::testing
