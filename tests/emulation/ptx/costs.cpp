// tests/emulation/ptx/costs.cpp: what an access moves, by the rules of the hardware (CUDA C++ Programming Guide,
// "Device Memory Accesses" and "Shared Memory" of compute capabilities 5 to 9).
#include "tests/emulation/ptx/costs.h"

#include <algorithm>
#include <bit>
#include <regex>
#include <utility>

#include "tests/emulation/ptx/warp.h"

namespace weft::emulation::ptx {
namespace {

constexpr uint64_t kSectorBytes = 32, kWordBytes = 4;
constexpr uint64_t kBanks = 32;  // each has every 32nd word, and serves one word a cycle

int64_t divided_up(uint64_t n, uint64_t by) { return static_cast<int64_t>((n + by - 1) / by); }

void add(Counts::Share& to, const Counts::Share& share) { to.moved += share.moved, to.needed += share.needed; }

// Sorts and removes repetitions; returns the new end.
uint64_t* distinct(uint64_t* begin, uint64_t* end) {
  std::sort(begin, end);
  return std::unique(begin, end);
}

}  // namespace

Counts::Share WarpAccess::sectors() const {  // no access reaches into a second sector
  std::array<uint64_t, kLanes> all = addresses;
  const uint64_t* const end = distinct(all.data(), all.data() + lanes);
  const auto num_bytes = static_cast<uint64_t>(end - all.data()) * bytes;
  for (uint64_t& address : all) address /= kSectorBytes;
  return {distinct(all.data(), all.data() + (end - all.data())) - all.data(), divided_up(num_bytes, kSectorBytes)};
}

// A cycle serves all lanes of accesses of up to 4 bytes, 16 neighbours of 8 bytes, 8 of 16 bytes.
Counts::Share WarpAccess::bank_cycles() const {
  const int group = static_cast<int>(kBanks * kWordBytes / std::max(bytes, kWordBytes));
  Counts::Share share;
  for (int first = 0; first < lanes; first += group) {
    std::array<uint64_t, kBanks> words;
    uint64_t* end = words.data();
    for (int i = first; i < std::min(first + group, lanes); ++i)
      for (uint64_t byte = 0; byte < bytes; byte += kWordBytes)
        *end++ = (addresses[static_cast<size_t>(i)] + byte) / kWordBytes;
    end = distinct(words.data(), end);
    std::array<int64_t, kBanks> of_bank{};
    for (const uint64_t* word = words.data(); word != end; ++word) ++of_bank[*word % kBanks];
    share.moved += *std::ranges::max_element(of_bank);
    share.needed += divided_up(static_cast<uint64_t>(end - words.data()), kBanks);
  }
  return share;
}

void BlockSectors::note(const WarpAccess& access, bool is_store) {
  std::unordered_map<uint64_t, uint32_t>& sectors = is_store ? stores_ : loads_;
  const uint32_t bits = (1u << access.bytes) - 1;
  for (int i = 0; i < access.lanes; ++i) {
    const uint64_t address = access.addresses[static_cast<size_t>(i)];
    sectors[address / kSectorBytes] |= bits << address % kSectorBytes;
  }
}

void BlockSectors::finish(Counts& counts) {
  const auto share = [](const std::unordered_map<uint64_t, uint32_t>& sectors) {
    uint64_t bytes = 0;
    for (const auto& [sector, bits] : sectors) bytes += static_cast<uint64_t>(std::popcount(bits));
    return Counts::Share{static_cast<int64_t>(sectors.size()), divided_up(bytes, kSectorBytes)};
  };
  add(counts.loads, share(loads_)), add(counts.stores, share(stores_));
  loads_.clear(), stores_.clear();
}

void Counts::add(const Counts& other) {
  for (int64_t Counts::*count : {&Counts::blocks, &Counts::warp_instructions, &Counts::lane_instructions,
                                 &Counts::divergent_branches, &Counts::load_chains})
    this->*count += other.*count;
  issued += other.issued;
  for (Share Counts::*share :
       {&Counts::loads, &Counts::stores, &Counts::loads_at_once, &Counts::stores_at_once, &Counts::shared})
    ptx::add(this->*share, other.*share);
}

double issue_slots(const std::string& name) {
  static const std::pair<std::regex, double> kSlots[] = {
      {std::regex("(mov|cvta|ld\\.param|cvt\\.u64\\.u32|cvt\\.u32\\.u64).*"), 0},
      {std::regex("(and|or|xor|not)\\.(b32|pred)|shr\\.u64"), 0.5},
      {std::regex("(and|or|xor|not)\\.b64|mul\\.wide.*|mad\\.wide.*|(ld|st)\\..*"), 1},
      {std::regex("(div|sqrt)\\.rn\\.f32"), 9},
      {std::regex("rcp\\.rn\\.f32"), 7},
      {std::regex("(div|rem)\\.[su]32"), 14},
      {std::regex("(div|rem)\\.[su]64"), 90},
      {std::regex("mul\\.hi\\.[su]64"), 6},
      {std::regex(".*\\.[bfsu]64"), 2}};
  for (const auto& [pattern, slots] : kSlots)
    if (std::regex_match(name, pattern)) return slots;
  return 1;
}

CostMeter::CostMeter(const Program& program) : depths_(program.register_bytes / sizeof(Mask)) {}

void CostMeter::start_block(BlockSectors& sectors) {
  sectors_ = &sectors;
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
  counts.issued += form.slots;
  int deepest = depth_of_inputs(i);
  if (form.flow == Flow::branch) control_ = deepest;
  if (form.awaits_copies) control_ = std::max(control_, copied_);
  if (form.access_bytes > 0 && lanes != 0) {
    access(warp, i, lanes, counts);
    const bool is_store = form.results == 0;
    if (form.copies) copied_ = std::max(copied_, deepest + 1);
    if (is_store && form.space == Space::shared) stored_ = std::max(stored_, deepest);
    if (!is_store && form.space == Space::global) ++deepest;
  }
  for (size_t n = 0; n < form.results; ++n) depth(i.operands[n]) = deepest;
  longest_ = std::max({longest_, deepest, copied_});
}

void CostMeter::access(Warp& warp, const Instruction& i, Mask lanes, Counts& counts) {
  const Form& form = *i.form;
  for (size_t n = 0; n < form.operands.size(); ++n) {
    if (form.operands[n] != kAddress) continue;
    const bool in_shared = form.copies ? n == 0 : form.space == Space::shared;
    if (!in_shared && form.space != Space::global) continue;
    WarpAccess access{.bytes = form.access_bytes};
    for (Mask left = lanes; left != 0; left &= left - 1)
      access.addresses[static_cast<size_t>(access.lanes++)] = warp.address(i.operands[n], std::countr_zero(left));
    if (in_shared) {
      add(counts.shared, access.bank_cycles());
    } else {
      const bool is_store = form.results == 0 && !form.copies;
      add(is_store ? counts.stores_at_once : counts.loads_at_once, access.sectors());
      sectors_->note(access, is_store);
    }
  }
}

}  // namespace weft::emulation::ptx
