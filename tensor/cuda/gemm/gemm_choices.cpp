// tensor/cuda/gemm/gemm_choices.cpp: reads and writes GEMM choices as text.
#include "tensor/cuda/gemm/gemm_choices.h"

#include <sstream>

#include "tensor/cuda/runtime/runtime.h"
#include "tensor/error.h"

namespace weft::cuda {
namespace {

// Increase the first number if keys or proposals change, that is, the plan's preferences or the order of enumerators.
std::string first_line() { return fmt::format("1, {}, cuBLASLt {}", properties().name, cublasLtGetVersion()); }

std::string name_of(const GemmKey& k) {
  return fmt::format(
      "{}x{}x{} {}>{} strides {},{},{} trans {:d}{:d} epilogue {},{} {:d}{:d}{:d}{:d} aligned {},{},{},{},{}", k.m, k.n,
      k.k, weft::name_of(k.ab), weft::name_of(k.c), k.a_stride, k.b_stride, k.c_stride, k.trans_a, k.trans_b,
      static_cast<int>(k.epilogue), static_cast<int>(k.activation), k.bias, k.accumulate, k.d_bias, k.saves,
      k.a_alignment, k.b_alignment, k.c_alignment, k.bias_alignment, k.saved_alignment);
}

[[noreturn]] void fail_as_damaged(const std::string& line) {
  fail(ErrorKind::io, fmt::format("the saved GEMM choices (train.tune_gemm) are corrupt: '{}'", printable(line, 80)));
}

}  // namespace

GemmChoices::GemmChoices(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != first_line()) return;
  while (std::getline(lines, line)) {
    const size_t end = line.find('\t');
    const std::string choice = end == std::string::npos ? "" : line.substr(end + 1);
    const bool separate = choice.ends_with("\tseparate");
    if (choice.size() < 2 || choice[0] < '0' || choice[0] >= '0' + kMaxProposals ||
        choice.substr(1) != (separate ? "\tseparate" : "\tfused"))
      fail_as_damaged(line);
    by_gemm_[line.substr(0, end)] = {.proposal = static_cast<size_t>(choice[0] - '0'), .separate = separate};
  }
}

std::string GemmChoices::text() const {
  std::string text = first_line() + "\n";
  for (const auto& [gemm, choice] : by_gemm_)
    text += fmt::format("{}\t{}\t{}\n", gemm, choice.proposal, choice.separate ? "separate" : "fused");
  return text;
}

const GemmChoice* GemmChoices::find(const GemmKey& key) const {
  const auto found = by_gemm_.find(name_of(key));
  return found == by_gemm_.end() ? nullptr : &found->second;
}

void GemmChoices::set(const GemmKey& key, GemmChoice choice) { by_gemm_[name_of(key)] = choice; }

}  // namespace weft::cuda
