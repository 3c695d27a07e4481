// trainer/health/replica_check.cpp: compares hashes of tensors between ranks.
#include "trainer/health/replica_check.h"

#include <array>
#include <cstring>

#include "tensor/error.h"
#include "tensor/transfer.h"

namespace weft {
namespace {

// Each step is a bijection of the hash, so a single word that differs always changes the hash.
uint64_t hash_of(const float* x, int64_t count) {
  constexpr uint64_t kPrime = 0x9E3779B97F4A7C15u;
  std::array<uint64_t, 8> lanes;
  for (size_t i = 0; i < lanes.size(); ++i) lanes[i] = i;
  const auto bytes = static_cast<size_t>(count) * sizeof(float);
  size_t at = 0;
  for (; at + sizeof lanes <= bytes; at += sizeof lanes) {
    std::array<uint64_t, 8> words;
    std::memcpy(words.data(), reinterpret_cast<const char*>(x) + at, sizeof words);
    for (size_t i = 0; i < lanes.size(); ++i) lanes[i] = (lanes[i] ^ words[i]) * kPrime;
  }
  uint64_t hash = bytes;
  for (; at < bytes; at += sizeof(float)) {
    uint32_t word;
    std::memcpy(&word, reinterpret_cast<const char*>(x) + at, sizeof word);
    hash = (hash ^ word) * kPrime;
  }
  for (const uint64_t lane : lanes) hash = (hash ^ lane ^ (hash >> 32)) * kPrime;
  return hash;
}

class Hashes {  // one hash for each parameter in each state
 public:
  Hashes(Context& ctx, const ParamStore& params, const std::vector<ReplicatedState>& states)
      : params_(params), states_(states) {
    std::vector<float> copy;
    for (const ReplicatedState& state : states) {
      for (const Param& p : params.params()) {
        const Tensor x = state.flat.has(p) ? state.flat.of(p) : Tensor();
        hashes_.push_back(x.empty() ? 0 : hash_of(on_host(ctx, x, copy), x.numel()));
      }
    }
  }

  // Describes the first tensor that differs between ranks, or returns "". `world_rank` maps group to world ranks.
  template <typename WorldRank>
  std::string difference(Communicator& group, bool also_split, const WorldRank& world_rank) {
    const auto words = static_cast<int64_t>(2 * hashes_.size());
    std::vector<uint64_t> all(hashes_.size() * static_cast<size_t>(group.size()));
    group.all_gather(Tensor(hashes_.data(), {words}, DType::i32),
                     Tensor(all.data(), {group.size(), words}, DType::i32));
    for (size_t i = 0; i < hashes_.size(); ++i) {
      const ParamSpec& spec = params_.params()[i % params_.params().size()].spec;
      if (spec.tp_dim >= 0 && !also_split) continue;
      for (int rank = 1; rank < group.size(); ++rank)
        if (all[static_cast<size_t>(rank) * hashes_.size() + i] != all[i])
          return fmt::format("{}{} differs between rank {} and rank {}", states_[i / params_.params().size()].what,
                             spec.name, world_rank(0), world_rank(rank));
    }
    return "";
  }

 private:
  const ParamStore& params_;
  const std::vector<ReplicatedState>& states_;
  std::vector<uint64_t> hashes_;
};

}  // namespace

void require_equal_replicas(Context& ctx, const ParamStore& params, const std::vector<ReplicatedState>& states,
                            const Mesh& mesh) {
  if (mesh.world().size() == 1) return;
  Hashes hashes(ctx, params, states);
  const int tp = mesh.tp().size(), first = mesh.world().rank() - mesh.tp().rank();
  std::string found =
      hashes.difference(mesh.dp(), /*also_split=*/true, [&](int rank) { return rank * tp + mesh.tp().rank(); });
  const std::string in_tp = hashes.difference(mesh.tp(), /*also_split=*/false, [&](int rank) { return first + rank; });
  if (found.empty()) found = in_tp;
  all_or_none(mesh.world(), [&] {
    if (!found.empty())
      fail(ErrorKind::diverged,
           fmt::format("{}: memory or a processor is faulty; resume from the last checkpoint, and use different "
                       "machines if the error happens again",
                       found));
  });
}

}  // namespace weft
