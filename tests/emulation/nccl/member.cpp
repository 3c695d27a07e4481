// tests/emulation/nccl/member.cpp: ranks connect, are checked, leave and fail.
//
// Fault injection: with WEFT_EMULATED_NCCL_FAULT=RANK:NUMBER that rank of each group has an asynchronous
// error in its collective NUMBER, counted from 0, as if its network had failed. With -1 it never connects;
// with -2 its connection is refused. With RANK:NUMBER:stall it has no error but makes no progress any more.
#include "tests/emulation/nccl/member.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

namespace weft::emulation {
namespace {

constexpr int kSharesGpus = 23000;  // the first version that supports it

int number_in(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

std::string host_id() {
  const char* const chosen = std::getenv("NCCL_HOSTID");
  if (chosen != nullptr) return chosen;
  char name[64] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

std::mutex last_error_mutex;
std::string last_error_text;

}  // namespace

int emulated_version() { return number_in("WEFT_EMULATED_NCCL_VERSION", NCCL_VERSION_CODE); }

void set_last_error(const std::string& text) {
  const std::lock_guard lock(last_error_mutex);
  last_error_text = text;
}

const char* last_error() {
  thread_local std::string copy;
  const std::lock_guard lock(last_error_mutex);
  copy = last_error_text;
  return copy.c_str();
}

Member::Member(const std::string& segment_name, int rank, int size) : segment_(segment_name), rank_(rank), size_(size) {
  RankState& mine = shared(rank);
  cudaGetDevice(&mine.device);
  std::strncpy(mine.host, host_id().c_str(), sizeof mine.host - 1);
  int faulty_rank = -1, number = 0;
  const char* const fault = std::getenv("WEFT_EMULATED_NCCL_FAULT");
  const bool faulty =
      fault != nullptr && std::sscanf(fault, "%d:%d", &faulty_rank, &number) == 2 && faulty_rank == rank;
  if (faulty) faulty_collective_ = number;
  stalls_ = faulty && std::strstr(fault, ":stall") != nullptr;
  if (!faulty || number >= 0) mine.num_ranks = size;
  if (faulty && number == -2) fail(ncclInvalidUsage, "refused, as the test wanted");
}

ncclResult_t Member::connect() {
  for (int r = 0; r < size_ && error_ == ncclSuccess; ++r) {
    if (shared(r).num_ranks != 0) continue;
    if (shared(r).left) fail(ncclRemoteError, fmt::format("rank {} has left while the ranks connected", r));
    std::this_thread::yield();
    return ncclInProgress;
  }
  return error_ == ncclSuccess ? check_ranks() : error_.load();
}

ncclResult_t Member::check_ranks() {
  const bool shares_gpus = emulated_version() >= kSharesGpus && number_in("NCCL_MULTI_RANK_GPU_ENABLE", 0) == 1;
  for (int r = 0; r < size_; ++r) {
    if (shared(r).num_ranks != size_)
      fail(ncclInvalidUsage,
           fmt::format("rank {} connects {} ranks, rank {} {}", rank_, size_, r, +shared(r).num_ranks));
    for (int other = 0; other < r && !shares_gpus; ++other) {
      if (shared(r).device == shared(other).device && std::strcmp(shared(r).host, shared(other).host) == 0)
        fail(ncclInvalidUsage,
             fmt::format("Duplicate GPU detected : rank {} and rank {} both on CUDA device {}", r, other, device()));
    }
  }
  segment_.unlink();
  return error_;
}

void Member::abort() {
  aborted_ = true;
  leave();
}

void Member::leave() {
  shared(rank_).left = true;
  segment_.unlink();
}

void Member::fail(ncclResult_t error, const std::string& text) {
  ncclResult_t none = ncclSuccess;
  if (error_.compare_exchange_strong(none, error)) set_last_error(text);
}

bool Member::all_reached(uint64_t stage) {
  for (int r = 0; r < size_; ++r) {
    const bool left = shared(r).left;  // read first: its work before leaving counts
    if (shared(r).stage >= stage) continue;
    if (left) fail(ncclRemoteError, fmt::format("rank {} has left", r));
    std::this_thread::yield();  // lets the awaited process run
    return false;
  }
  return true;
}

void Member::count_collective() {
  if (num_collectives_++ != faulty_collective_) return;
  if (stalls_)
    stalled_ = true;
  else
    fail(ncclRemoteError, "the network failed, as the test wanted");
}

}  // namespace weft::emulation
