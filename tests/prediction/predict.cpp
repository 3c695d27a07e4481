// tests/prediction/predict.cpp: predicts a training step of a GPU from the shapes of its ops
// (docs/development/gpu-kernels.md).
//
//   predict h100|h200|a100 [--config FILE] [--section.key=value ...] [--measured BENCH.json]
//
// Prints each op's predicted time, or with what `weft bench --json` measured of the same configuration each op's
// measured time beside it, the greatest difference first. WEFT_CUDA_MODULE may name the emulated device.
#include "tests/prediction/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "launch/options/run_options.h"
#include "tensor/error.h"

namespace {

using namespace weft;

constexpr double kMicro = 1e6, kMilli = 1e3;

std::string table(const std::string& title, const std::vector<PredictedOp>& ops, double total) {
  std::string s = fmt::format("\n{:<42} {:<12} {:>6} {:>9} {:>11} {:>9} {:>13}\n", title, "part", "calls", "launches",
                              "us", "share", "of roofline");
  for (const PredictedOp& op : ops)
    s += fmt::format("{:<42} {:<12} {:>6} {:>9} {:>11.1f} {:>7.1f} % {:>11.0f} %\n", op.name, op.part, op.calls,
                     op.launches, kMicro * op.seconds, 100 * op.seconds / total, 100 * op.roofline / op.seconds);
  return s;
}

std::string report(const Prediction& p) {
  const BatchConfig& batch = p.config.batch;
  return fmt::format("PREDICTED, not measured: one {}\n", gpu_model(p.gpu).name) +
         table(fmt::format("a block of {} + {} rows", batch.source_rows, batch.rows), p.block, p.block_seconds) +
         table("a step adds", p.step, p.added_seconds) +
         fmt::format(
             "\na block {:.3f} ms; a step of {} {:.3f} ms, {} target tokens, {:.0f} target tokens/s predicted\n",
             kMilli * p.block_seconds, batch.blocks, kMilli * p.step_seconds(), p.target_tokens, p.tokens_per_second());
}

std::string comparison(const Prediction& p, const nlohmann::json& measured) {
  const auto row = [](const std::string& name, int64_t calls, double was, double predicted) {
    return fmt::format("{:<42} {:>6} {:>11.1f} {:>11.1f} {:>8.2f}\n", name, calls, kMicro * was, kMicro * predicted,
                       was / predicted);
  };
  std::string s = fmt::format("{} beside the prediction of one {}: ops of a step of one block, one by one\n",
                              measured.at("device").get<std::string>(), gpu_model(p.gpu).name) +
                  fmt::format("{:<42} {:>6} {:>11} {:>11} {:>8}\n", "", "calls", "measured us", "predicted", "ratio");
  const std::vector<ComparedOp> ops = compare_with_prediction(p.gpu, p.config, measured);
  for (const ComparedOp& op : ops) s += row(op.name, op.calls, op.measured, op.predicted);
  s += row("a step as it trains", 1, measured.at("step").at("seconds"), p.step_seconds());
  s += "look first at:";
  for (size_t i = 0; i < std::min<size_t>(ops.size(), 5); ++i) s += (i == 0 ? " " : "; ") + ops[i].name;
  return s + "\n";
}

std::string take_measured(std::vector<std::string>& args) {  // the option's value, which the others do not know
  const auto found = std::ranges::find(args, "--measured");
  if (found == args.end()) return "";
  require(found + 1 != args.end(), ErrorKind::usage, "--measured needs a file");
  const std::string file = *(found + 1);
  args.erase(found, found + 2);
  return file;
}

void run(std::vector<std::string> args) {
  require(!args.empty(), ErrorKind::usage, "usage: predict h100|h200|a100 [--config FILE] [--measured BENCH.json] ...");
  const auto names = enum_names(GpuKind());
  const auto found = std::ranges::find(names, args.front(), [](const auto& name) { return std::string(name.first); });
  require(found != names.end(), ErrorKind::usage, "give one of h100, h200, a100");
  const GpuKind gpu = found->second;
  args.erase(args.begin());
  const std::string measured = take_measured(args);
  RunConfig config;
  bool unused = false;
  if (!read_run_config(args, config, unused)) return;
  const Prediction prediction = predict(gpu, resolve_prediction(config));
  const std::string text =
      measured.empty() ? report(prediction) : comparison(prediction, nlohmann::json::parse(read_file(measured)));
  std::fputs(text.c_str(), stdout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run({argv + 1, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "predict: {}\n", error.what());
    return 1;
  }
}
