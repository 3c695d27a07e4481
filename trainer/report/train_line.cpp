// trainer/report/train_line.cpp: formats the numbers, and omits numbers that do not fit.
#include "trainer/report/train_line.h"

#include <fmt/format.h>

#include <vector>

#include "trainer/display/units.h"

namespace weft {

std::string train_line(const TrainStatus& s, size_t width) {
  struct Part {
    int dropped;  // order in which parts are dropped; 0: never
    std::string text;
  };
  const auto share = [](const char* name, double x) { return x > 0 ? fmt::format("{} {:.1f}%", name, 100 * x) : ""; };
  std::vector<Part> parts = {
      {0, s.total_steps > 0 ? fmt::format("step {}/{}", s.step, s.total_steps) : fmt::format("step {}", s.step)},
      {8, s.data},
      {0, fmt::format("loss {:.4f}", s.loss)},
      {5, fmt::format("nll {:.4f}", s.nll)},
      {5, s.divergence > 0 ? fmt::format("div {:.4f}", s.divergence) : ""},
      {1, fmt::format("ppl {}", format_perplexity(s.nll))},
      {2, fmt::format("lr {:.2e}", s.lr)},
      {4, fmt::format("grad {:.3f}", s.grad_norm)},
      {3, fmt::format("src {}/s", format_count(s.source_tokens_per_second))},
      {7, fmt::format("tgt {}/s", format_count(s.target_tokens_per_second))},
      {6, fmt::format("fill {:.1f}%", 100 * s.fill)},
      {10, share("mfu", s.mfu)},
      {9, share("roofline", s.roofline)},
      {11, s.others},
      {0, fmt::format("{} left", format_duration(s.eta_seconds))}};
  const auto line = [&] {
    std::string text;
    for (const Part& part : parts)
      if (!part.text.empty()) text += (text.empty() ? "" : "  ") + part.text;
    return text;
  };
  for (int next = 1; next <= 11 && line().size() > width; ++next)
    std::erase_if(parts, [&](const Part& part) { return part.dropped == next; });
  return line();
}

}  // namespace weft
