// model/lora_config.cpp: checks the options of adapters.
#include "model/lora_config.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "data/text/split.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 6> kParts = {"q", "k", "v", "out", "up", "down"};

}  // namespace

bool LoraConfig::targets_part(const std::string& part) const {
  return on() && std::ranges::count(split_at_commas(targets), part) > 0;
}

void LoraConfig::check() const {
  constexpr int64_t kMaxRank = 1 << 14;
  constexpr double kMaxAlpha = 1e6;
  if (rank < 0 || rank > kMaxRank)
    fail(ErrorKind::usage, fmt::format("lora.rank = {} must be between 0 and {}", rank, kMaxRank));
  if (!(alpha >= 0 && alpha <= kMaxAlpha))
    fail(ErrorKind::usage, fmt::format("lora.alpha = {} must be between 0 and {:g}", alpha, kMaxAlpha));
  if (!(dropout >= 0 && dropout < 1))
    fail(ErrorKind::usage, fmt::format("lora.dropout = {} must be in [0, 1)", dropout));
  const bool other_targets = targets != LoraConfig().targets;
  if (rank == 0 && (alpha > 0 || dropout > 0 || other_targets))
    fail(ErrorKind::usage, fmt::format("lora.{} has no effect without lora.rank", alpha > 0     ? "alpha"
                                                                                  : dropout > 0 ? "dropout"
                                                                                                : "targets"));
  for (const std::string& target : split_at_commas(targets))
    if (std::ranges::count(kParts, target) == 0)
      fail(ErrorKind::usage,
           fmt::format("lora.targets = '{}' is not valid: give some of q,k,v,out,up,down, separated by commas",
                       printable(targets)));
}

}  // namespace weft
