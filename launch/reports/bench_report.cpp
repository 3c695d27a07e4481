// launch/reports/bench_report.cpp: formats the results of `weft bench` as tables.
#include "launch/reports/bench_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "trainer/config/fields.h"
#include "trainer/display/units.h"

namespace weft {
namespace {

std::string count_of(int64_t n, const char* thing) { return fmt::format("{} {}{}", n, thing, n == 1 ? "" : "s"); }

std::string setting_text(const BenchReport& r) {
  const RunConfig& c = r.config;
  std::string s;
  const auto row = [&](const char* name, const std::string& text) { s += fmt::format("{:<11} {}\n", name, text); };
  row("machine", fmt::format("{}; {} x {}", r.device_name(), count_of(r.ranks, "rank"), count_of(r.threads, "thread")));
  row("model", fmt::format("width {}, {} heads, feed-forward {}, {} + {} layers, vocabulary {} / {}, {} parameters",
                           c.model.width, c.model.heads, c.model.feed_forward, c.model.encoder_layers,
                           c.model.decoder_layers, c.model.source_vocabulary, c.model.target_vocabulary,
                           format_count(static_cast<double>(r.parameters))));
  row("step",
      fmt::format("{} of {} x {} rows, dp {} x tp {}{}, {}; {} + {} tokens, {:.1f} % filled",
                  count_of(c.batch.blocks, "block"), c.batch.source_rows, c.batch.rows, c.parallel.dp, c.parallel.tp,
                  c.parallel.sequence ? " with parallel.sequence" : "", print_value(c.train.precision),
                  r.step.source_tokens, r.step.target_tokens, 100 * r.step.fill));
  return s;
}

std::string peak_text(const BenchReport& r) {
  std::string s = fmt::format("\npeak of {:<47} GFLOP/s\n", r.ranks > 1                   ? "rank 0"
                                                            : r.own.device == Device::cpu ? "the processor"
                                                                                          : "the GPU");
  for (const PeakRate& p : r.peaks)
    s += fmt::format("  {:<44} {:<6} {:>9.0f}\n", p.instruction, weft::name_of(p.dtype), p.flops_per_second / kGiga);
  return s;
}

std::string products_text(const BenchReport& r) {
  std::string s = fmt::format("\nmatrix products: best and median GFLOP/s, share of the peak\n  {:<11}{:<19}", "",
                              "rows x out x in");
  for (const char* pass : {"forward", "to the input", "to the weight"}) s += fmt::format(" {:>23}", pass);
  for (const GemmRate& g : r.products) {
    if (g.product.pass == ProductPass::forward)
      s += fmt::format("\n  {:<11}{:<19}", g.product.layer,
                       fmt::format("{} x {} x {}", g.product.m, g.product.n, g.product.k));
    s += fmt::format(" {:>7.0f} {:>7.0f} {:>5.1f} %", g.best / kGiga, g.median / kGiga, 100 * g.best / r.rank_peak());
  }
  return s + "\n";
}

// Contains sums over all shapes of an op, whose time is compared with the time of copies.
struct OpRate {
  std::string op;
  int64_t calls = 0;
  double bytes = 0, flops = 0, seconds = 0, copy_seconds = 0;
};

std::vector<OpRate> rates_by_op(const BenchReport& r) {
  std::vector<OpRate> rates;
  for (const KernelRate& k : r.kernels) {
    auto found = std::find_if(rates.begin(), rates.end(), [&](const OpRate& rate) { return rate.op == k.op; });
    if (found == rates.end()) found = rates.insert(rates.end(), {.op = k.op});
    const auto calls = static_cast<double>(k.calls);
    found->calls += k.calls;
    found->bytes += calls * k.cost.bytes, found->flops += calls * k.cost.flops;
    found->seconds += calls * k.best, found->copy_seconds += calls * k.cost.bytes / copy_rate(r.copies, k.cost.bytes);
  }
  std::sort(rates.begin(), rates.end(), [](const OpRate& a, const OpRate& b) { return a.seconds > b.seconds; });
  return rates;
}

std::string kernels_text(const BenchReport& r) {
  std::string s = "\ncopies within memory: GB/s, read and written\n ";
  for (size_t i = 0; i < r.copies.size(); i += 3) {
    const CopyRate& copy = r.copies[i];
    s += fmt::format("   {}: {:.1f}", format_bytes(static_cast<size_t>(copy.bytes)), copy.bytes_per_second / kGiga);
  }
  s += fmt::format("\n\nops of a block, one by one: calls, total best time, GB/s, share of a copy's rate, GFLOP/s\n");
  for (const OpRate& o : rates_by_op(r)) {
    s += fmt::format("  {:<24} {:>5} {:>12.6f} s {:>8.1f} {:>6.1f} %", o.op, o.calls, o.seconds,
                     o.bytes / o.seconds / kGiga, 100 * o.copy_seconds / o.seconds);
    s += o.flops > 0 ? fmt::format(" {:>9.0f}\n", o.flops / o.seconds / kGiga) : "\n";
  }
  return s;
}

std::string step_text(const BenchReport& r) {
  const StepTimes& t = r.step;
  std::string s = fmt::format("\na step: median {:.4g} s, best {:.4g} s of {}\n", t.seconds, t.best_seconds, t.steps);
  const auto table = [&](const NamedSeconds& times) {
    for (const auto& [name, seconds] : times)
      s += fmt::format("  {:<44} {:>10.4f} s {:>6.1f} %\n", name, seconds, 100 * seconds / t.looked_at);
  };
  if (t.looked_at != t.seconds)
    s += fmt::format("  parts of a separate step ({:.4g} s) that waits for each op\n", t.looked_at);
  table(t.phases);
  s += "  by part\n";
  table(t.parts);
  return s + fmt::format("\n{:.0f} target tokens/s; {:.1f} GFLOP/s of the model, {:.1f} % of the peak {:.0f} (MFU)\n",
                         r.tokens_per_second(), r.flops_per_second() / kGiga, 100 * r.mfu(), r.peak() / kGiga);
}

std::string all_reduce_text(const BenchReport& r) {
  if (r.all_reduce.empty()) return "";
  std::string s = fmt::format("\nall-reduce of {} ranks\n", r.ranks);
  for (const AllReduceRate& a : r.all_reduce)
    s += fmt::format("  {:<20} {:>12.6f} s {:>8.2f} GB/s\n", format_bytes(static_cast<size_t>(a.bytes)), a.seconds,
                     a.bytes_per_second() / kGiga);
  return s;
}

}  // namespace

std::string bench_text(const BenchReport& r) {
  const std::string warning = r.load.warning();
  return setting_text(r) + fmt::format("{:<11} {:.2f} before, {:.2f} after\n", "load", r.load.before, r.load.after) +
         peak_text(r) + products_text(r) + kernels_text(r) + step_text(r) + all_reduce_text(r) +
         (warning.empty() ? "" : fmt::format("\nWARNING: {}\n", warning));
}

}  // namespace weft
