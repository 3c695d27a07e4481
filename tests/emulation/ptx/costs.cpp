// tests/emulation/ptx/costs.cpp: sectors and banks (CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory",
// "Shared Memory and Memory Banks").
#include "tests/emulation/ptx/costs.h"

#include <algorithm>
#include <array>

#include "tests/emulation/ptx/warp.h"

namespace weft::emulation::ptx {
namespace {

constexpr uint64_t kSectorBytes = 32, kBankBytes = 4, kBanks = 32;

struct Addresses {
  std::array<uint64_t, kLanes> values;
  int count = 0;
  auto begin() { return values.begin(); }
  auto end() { return values.begin() + count; }
};

Addresses addresses_of(Warp& warp, const Operand& operand, Mask lanes) {
  Addresses addresses;
  for (int lane = 0; lane < kLanes; ++lane)
    if ((lanes >> lane & 1u) != 0)
      addresses.values[static_cast<size_t>(addresses.count++)] = warp.address(operand, lane);
  return addresses;
}

int64_t sectors_of(Addresses addresses) {  // no access is wider than a sector
  for (uint64_t& address : addresses) address /= kSectorBytes;
  std::sort(addresses.begin(), addresses.end());
  return std::unique(addresses.begin(), addresses.end()) - addresses.begin();
}

// The most different words of one bank that a group of lanes accesses. Lanes with wide accesses form several groups, of
// 128 bytes each.
int64_t passes_of(Addresses addresses, uint64_t bytes) {
  const int group = static_cast<int>(kBanks * kBankBytes / std::max(bytes, kBankBytes));
  int64_t passes = 0;
  for (int first = 0; first < addresses.count; first += group) {
    std::array<std::array<uint64_t, kLanes>, kBanks> words;
    std::array<int64_t, kBanks> num_words{};
    for (int i = first; i < std::min(first + group, addresses.count); ++i)
      for (uint64_t byte = 0; byte < bytes; byte += kBankBytes) {
        const uint64_t word = (addresses.values[static_cast<size_t>(i)] + byte) / kBankBytes, bank = word % kBanks;
        auto* const begin = words[bank].data();
        if (std::find(begin, begin + num_words[bank], word) == begin + num_words[bank]) begin[num_words[bank]++] = word;
      }
    passes += *std::ranges::max_element(num_words);
  }
  return passes;
}

}  // namespace

void Counts::add(const Counts& other) {
  for (int64_t Counts::*count :
       {&Counts::blocks, &Counts::warp_instructions, &Counts::lane_instructions, &Counts::divergent_branches,
        &Counts::issued, &Counts::global_accesses, &Counts::sectors, &Counts::shared_accesses, &Counts::shared_passes,
        &Counts::bank_conflicts, &Counts::load_chains})
    this->*count += other.*count;
}

CostMeter::CostMeter(const Program& program) : depths_(program.register_bytes / sizeof(Mask)) {}

void CostMeter::start_block() {
  std::ranges::fill(depths_, 0);
  control_ = stored_ = copied_ = longest_ = 0;
}

int CostMeter::depth_of_inputs(const Instruction& i) {
  int deepest = control_;
  if (i.guard >= 0) deepest = std::max(deepest, depth({.place = static_cast<uint32_t>(i.guard)}));
  for (size_t n = i.form->results; n < i.form->operands.size(); ++n) deepest = std::max(deepest, depth(i.operands[n]));
  return deepest;
}

void CostMeter::see(Warp& warp, const Instruction& i, Mask lanes, Counts& counts) {
  const Form& form = *i.form;
  if (!form.is_free) ++counts.issued;
  int deepest = depth_of_inputs(i);
  if (form.flow == Flow::branch) control_ = deepest;
  if (form.awaits_copies) control_ = std::max(control_, copied_);
  for (size_t n = 0; n < form.operands.size() && form.access_bytes > 0; ++n) {
    if (form.operands[n] != kAddress) continue;
    const bool copies = form.copies, in_shared = copies ? n == 0 : form.space == Space::shared;
    const Addresses addresses = addresses_of(warp, i.operands[n], lanes);
    if (in_shared) {
      const auto bytes = static_cast<int64_t>(form.access_bytes) * addresses.count;
      const int64_t passes = passes_of(addresses, form.access_bytes);
      ++counts.shared_accesses;
      counts.shared_passes += passes;
      counts.bank_conflicts += std::max<int64_t>(passes - (bytes + 127) / 128, 0);
      if (form.results == 0 && !copies) stored_ = std::max(stored_, deepest);
    } else if (copies || form.space == Space::global) {
      ++counts.global_accesses;
      counts.sectors += sectors_of(addresses);
      if (form.results > 0) ++deepest;
      if (copies) copied_ = std::max(copied_, deepest + 1);
    }
  }
  for (size_t n = 0; n < form.results; ++n) depth(i.operands[n]) = deepest;
  longest_ = std::max({longest_, deepest, copied_});
}

}  // namespace weft::emulation::ptx
