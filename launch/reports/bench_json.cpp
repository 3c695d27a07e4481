// launch/reports/bench_json.cpp: formats the results of `weft bench` as JSON.
#include <nlohmann/json.hpp>

#include "launch/reports/bench_report.h"
#include "tensor/context.h"
#include "trainer/config/fields.h"
#include "trainer/version.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(ProductPass pass) {
  return pass == ProductPass::forward          ? "forward"
         : pass == ProductPass::input_gradient ? "input_gradient"
                                               : "weight_gradient";
}

Json config_json(const BenchReport& r) {
  const RunConfig& c = r.config;
  return {{"width", c.model.width},
          {"heads", c.model.heads},
          {"kv_heads", c.model.num_kv_heads()},
          {"feed_forward", c.model.feed_forward},
          {"activation", name_of_enum(c.model.activation)},
          {"norm_kind", name_of_enum(c.model.norm_kind)},
          {"positions", name_of_enum(c.model.positions)},
          {"encoder_layers", c.model.encoder_layers},
          {"decoder_layers", c.model.decoder_layers},
          {"source_vocabulary", c.model.source_vocabulary},
          {"target_vocabulary", c.model.target_vocabulary},
          {"parameters", r.parameters},
          {"rows", c.batch.rows},
          {"source_rows", c.batch.source_rows},
          {"blocks", c.batch.blocks},
          {"dropout", c.model.dropout},
          {"cuda_graph", c.train.cuda_graph == CudaGraph::on},
          {"tune_gemm", c.train.tune_gemm},
          {"dp", c.parallel.dp},
          {"tp", c.parallel.tp},
          {"sequence", c.parallel.sequence}};
}

Json times_json(const NamedSeconds& times) {
  Json json = Json::object();
  for (const auto& [name, seconds] : times) json[name] = seconds;
  return json;
}

Json step_json(const BenchReport& r) {
  const StepTimes& t = r.step;
  return {{"seconds", t.seconds},
          {"best_seconds", t.best_seconds},
          {"steps", t.steps},
          {"source_tokens", t.source_tokens},
          {"tokens", t.target_tokens},
          {"fill", t.fill},
          {"tokens_per_second", r.tokens_per_second()},
          {"flops", t.flops},
          {"gflops", r.flops_per_second() / kGiga},
          {"looked_at_seconds", t.looked_at},
          {"phases", times_json(t.phases)},
          {"parts", times_json(t.parts)}};
}

Json peaks_json(const BenchReport& r) {
  Json json = Json::array();
  for (const PeakRate& p : r.peaks)
    json.push_back({{"instruction", p.instruction},
                    {"precision", weft::name_of(p.dtype)},
                    {"gflops", p.flops_per_second / kGiga}});
  return json;
}

Json products_json(const BenchReport& r) {
  Json json = Json::array();
  for (const GemmRate& g : r.products)
    json.push_back({{"name", g.product.layer},
                    {"pass", name_of(g.product.pass)},
                    {"m", g.product.m},
                    {"n", g.product.n},
                    {"k", g.product.k},
                    {"best_gflops", g.best / kGiga},
                    {"median_gflops", g.median / kGiga},
                    {"share_of_peak", g.best / r.rank_peak()}});
  return json;
}

Json copies_json(const BenchReport& r) {
  Json json = Json::array();
  for (const CopyRate& c : r.copies)
    json.push_back({{"bytes", c.bytes}, {"gigabytes_per_second", c.bytes_per_second / kGiga}});
  return json;
}

Json kernels_json(const BenchReport& r) {
  Json json = Json::array();
  for (const KernelRate& k : r.kernels) {
    const double rate = k.cost.bytes / k.best;
    json.push_back({{"op", k.op},
                    {"calls", k.calls},
                    {"bytes", k.cost.bytes},
                    {"best_seconds", k.best},
                    {"median_seconds", k.median},
                    {"gigabytes_per_second", rate / kGiga},
                    {"share_of_copy", rate / copy_rate(r.copies, k.cost.bytes)},
                    {"gflops", k.cost.flops > 0 ? Json(k.cost.flops / k.best / kGiga) : Json()}});
  }
  return json;
}

Json all_reduce_json(const BenchReport& r) {
  Json json = Json::array();
  for (const AllReduceRate& a : r.all_reduce)
    json.push_back(
        {{"bytes", a.bytes}, {"seconds", a.seconds}, {"gigabytes_per_second", a.bytes_per_second() / kGiga}});
  return json;
}

}  // namespace

std::string bench_json(const BenchReport& r) {
  const Json json{
      {"version", kVersion},
      {"processor", cpu_description()},
      {"device", r.device_name()},
      {"precision", print_value(r.config.train.precision)},
      {"threads", r.threads},
      {"ranks", r.ranks},
      {"config", config_json(r)},
      {"peaks", peaks_json(r)},
      {"peak_gflops", {{"f32", r.peak_f32 / kGiga}, {"bf16", r.peak_bf16 > 0 ? Json(r.peak_bf16 / kGiga) : Json()}}},
      {"gemm", products_json(r)},
      {"copies", copies_json(r)},
      {"kernels", kernels_json(r)},
      {"step", step_json(r)},
      {"mfu", r.mfu()},
      {"all_reduce", all_reduce_json(r)},
      {"load",
       {{"before", r.load.before},
        {"after", r.load.after},
        {"other_cores", r.load.other_cores},
        {"waiting", r.load.waiting},
        {"too_busy", r.load.too_busy()}}}};
  return json.dump(2) + "\n";
}

}  // namespace weft
