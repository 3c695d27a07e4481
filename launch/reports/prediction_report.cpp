// launch/reports/prediction_report.cpp: tables of predicted times.
#include "launch/reports/prediction_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "trainer/config/fields.h"
#include "trainer/report/units.h"
#include "trainer/version.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMicro = 1e6, kMilli = 1e3;

std::vector<PredictedOp> by_part(const std::vector<PredictedOp>& ops) {
  std::vector<PredictedOp> parts;
  for (const PredictedOp& op : ops) {
    auto part = std::find_if(parts.begin(), parts.end(), [&](const PredictedOp& p) { return p.part == op.part; });
    if (part == parts.end()) part = parts.insert(parts.end(), {.part = op.part, .name = op.part});
    part->calls += op.calls, part->launches += op.launches;
    part->seconds += op.seconds, part->roofline += op.roofline;
  }
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return parts;
}

std::string row(const PredictedOp& op, const std::string& indent, double total) {
  return fmt::format("{:<42} {:>6} {:>9} {:>11.1f} {:>7.1f} % {:>11.0f} %\n", indent + op.name, op.calls, op.launches,
                     kMicro * op.seconds, 100 * op.seconds / total, 100 * op.roofline / op.seconds);
}

std::string table(const std::string& title, const std::vector<PredictedOp>& ops, double total) {
  std::string s = fmt::format("\n{:<42} {:>6} {:>9} {:>11} {:>9} {:>13}\n", title, "calls", "launches", "us", "share",
                              "of roofline");
  for (const PredictedOp& part : by_part(ops)) {
    s += row(part, "", total);
    for (const PredictedOp& op : ops)
      if (op.part == part.part && op.name != part.name) s += row(op, "  ", total);
  }
  return s;
}

Json ops_json(const std::vector<PredictedOp>& ops) {
  Json json = Json::array();
  for (const PredictedOp& op : ops)
    json.push_back({{"part", op.part},
                    {"op", op.name},
                    {"calls", op.calls},
                    {"launches", op.launches},
                    {"bytes", op.bytes},
                    {"flops", op.flops},
                    {"seconds", op.seconds},
                    {"roofline_seconds", op.roofline}});
  return json;
}

}  // namespace

std::string prediction_text(const Prediction& p) {
  const RunConfig& c = p.config;
  const GpuModel& gpu = gpu_model(p.gpu);
  const bool graphs = c.train.cuda_graph == CudaGraph::on;
  std::string s =
      fmt::format("PREDICTED, not measured: one {}, {} SMs at {:.3f} GHz, {:.2f} TB/s, {:.0f} Tflop/s, {} a kernel\n",
                  gpu.name, gpu.sms, gpu.clock / 1e9, gpu.bandwidth / 1e12, gpu.matmul_flops() / 1e12,
                  graphs ? fmt::format("{:.1f} us (CUDA graphs)", kMicro * gpu.gap_graph)
                         : fmt::format("{:.1f} us (no CUDA graphs)", kMicro * gpu.gap_stream));
  s +=
      fmt::format("model: width {}, {} heads, feed-forward {}, {} + {} layers, vocabulary {} / {}, {} parameters, {}\n",
                  c.model.width, c.model.heads, c.model.feed_forward, c.model.encoder_layers, c.model.decoder_layers,
                  c.model.source_vocabulary, c.model.target_vocabulary, format_count(static_cast<double>(p.parameters)),
                  print_value(c.train.precision));
  s += table(fmt::format("a block of {} + {} rows", c.batch.source_rows, c.batch.rows), p.block, p.block_seconds);
  s += table("a step adds", p.step, p.added_seconds);
  s += fmt::format("\na block {:.3f} ms; a step of {} {:.3f} ms, {} target tokens in {} rows\n",
                   kMilli * p.block_seconds, c.batch.blocks, kMilli * p.step_seconds(), p.target_tokens,
                   c.batch.blocks * c.batch.rows);
  return s + fmt::format("{:.0f} target tokens/s predicted\n", p.tokens_per_second());
}

std::string prediction_json(const Prediction& p) {
  const RunConfig& c = p.config;
  const GpuModel& gpu = gpu_model(p.gpu);
  const bool graphs = c.train.cuda_graph == CudaGraph::on;
  const Json json{{"version", kVersion},
                  {"predicted",
                   {{"target_tokens_per_second", p.tokens_per_second()},
                    {"step_seconds", p.step_seconds()},
                    {"block_seconds", p.block_seconds},
                    {"added_seconds", p.added_seconds},
                    {"source_tokens", p.source_tokens},
                    {"target_tokens", p.target_tokens}}},
                  {"gpu",
                   {{"name", gpu.name},
                    {"sms", gpu.sms},
                    {"clock", gpu.clock},
                    {"bytes_per_second", gpu.bandwidth},
                    {"matmul_flops", gpu.matmul_flops()},
                    {"gap_seconds", gpu.gap(graphs)}}},
                  {"config",
                   {{"width", c.model.width},
                    {"encoder_layers", c.model.encoder_layers},
                    {"decoder_layers", c.model.decoder_layers},
                    {"source_vocabulary", c.model.source_vocabulary},
                    {"target_vocabulary", c.model.target_vocabulary},
                    {"parameters", p.parameters},
                    {"source_rows", c.batch.source_rows},
                    {"rows", c.batch.rows},
                    {"blocks", c.batch.blocks},
                    {"precision", print_value(c.train.precision)},
                    {"cuda_graph", graphs}}},
                  {"block", ops_json(p.block)},
                  {"step", ops_json(p.step)}};
  return json.dump(2) + "\n";
}

}  // namespace weft
