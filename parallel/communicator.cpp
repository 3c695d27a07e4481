// parallel/communicator.cpp: communicates host values and strings, and agrees on errors, with the collectives.
#include "parallel/communicator.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr int64_t kWord = sizeof(int32_t);  // bytes are sent as i32

Tensor words(std::vector<int32_t>& v) { return Tensor(v.data(), {static_cast<int64_t>(v.size())}, DType::i32); }

std::vector<int64_t> all_gather_values(Communicator& group, int64_t value) {
  std::vector<int64_t> all(static_cast<size_t>(group.size()));
  group.all_gather(Tensor(&value, {2}, DType::i32), Tensor(all.data(), {group.size(), 2}, DType::i32));
  return all;
}

std::vector<int32_t> pack(const std::string& text, int64_t num_words) {
  std::vector<int32_t> v(static_cast<size_t>(num_words));
  if (!text.empty()) std::memcpy(v.data(), text.data(), text.size());
  return v;
}

int64_t words_for(int64_t bytes) { return (bytes + kWord - 1) / kWord; }

// These functions convert an Error with its kind, host and frames to text and back.
std::string serialize(const std::exception_ptr& error) {
  ErrorKind kind = ErrorKind::internal;
  std::string message = "unknown exception", frames;
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    kind = e.kind(), message = e.what();
    for (const std::string& frame : e.frames()) frames += frame + '\0';
  } catch (const std::exception& e) {
    message = e.what();
  } catch (...) {
  }
  return static_cast<char>(kind) + host_name() + '\0' + frames + '\0' + message;
}

[[noreturn]] void throw_serialized(const std::string& text, int rank) {
  std::vector<std::string> frames;
  const std::string host = text.substr(1, text.find('\0') - 1);
  size_t at = 1 + host.size() + 1;
  for (size_t end; (end = text.find('\0', at)) != at; at = end + 1) frames.push_back(text.substr(at, end - at));
  std::string message = text.substr(at + 1);
  if (!message.starts_with("rank "))  // otherwise a smaller group has already added the rank
    message = fmt::format("rank {} on {}: {}", rank, host, message);
  std::swap(ErrorFrame::frames(), frames);  // a new Error copies the active frames, here the other rank's
  Error error(static_cast<ErrorKind>(text[0]), message);
  std::swap(ErrorFrame::frames(), frames);
  throw error;
}

}  // namespace

// Sends part after part. Communicators whose broadcasts wait for all ranks, such as NCCL's, override this function.
void Communicator::all_gather_v(const std::vector<Tensor>& parts) {
  require(std::ssize(parts) == size(), ErrorKind::internal, "all_gather_v needs one part per rank");
  for (int r = 0; r < size(); ++r)
    if (parts[static_cast<size_t>(r)].numel() > 0) broadcast(parts[static_cast<size_t>(r)], r);
}

double Communicator::sum(double value) {
  all_reduce(Tensor(&value, {1}, DType::f64));
  return value;
}

int64_t Communicator::max(int64_t value) {
  const std::vector<int64_t> all = all_gather_values(*this, value);
  return *std::max_element(all.begin(), all.end());
}

std::string Communicator::broadcast_string(const std::string& text, int root) {
  int64_t length = static_cast<int64_t>(text.size());
  broadcast(Tensor(&length, {2}, DType::i32), root);
  std::vector<int32_t> buffer =
      rank() == root ? pack(text, words_for(length)) : std::vector<int32_t>(static_cast<size_t>(words_for(length)));
  broadcast(words(buffer), root);
  return std::string(reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(length));
}

std::vector<std::string> Communicator::all_gather_strings(const std::string& text) {
  const std::vector<int64_t> lengths = all_gather_values(*this, static_cast<int64_t>(text.size()));
  const int64_t each = words_for(*std::max_element(lengths.begin(), lengths.end()));
  std::vector<int32_t> mine = pack(text, each), all(static_cast<size_t>(each * size()));
  all_gather(words(mine), words(all));
  std::vector<std::string> texts;
  for (int r = 0; r < size(); ++r) {
    texts.emplace_back(reinterpret_cast<const char*>(all.data() + r * each),
                       static_cast<size_t>(lengths[static_cast<size_t>(r)]));
  }
  return texts;
}

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

void agree(Communicator& world, const std::exception_ptr& error) {
  if (world.size() == 1) {
    if (error) std::rethrow_exception(error);
    return;
  }
  const int64_t first = world.size() - world.max(error ? world.size() - world.rank() : 0);
  if (first == world.size()) return;
  const int failing = static_cast<int>(first);
  throw_serialized(world.broadcast_string(world.rank() == failing ? serialize(error) : "", failing), failing);
}

}  // namespace weft
