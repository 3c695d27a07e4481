// data/output/resumable_files.cpp: keeps the state of a job beside its output.
#include "data/output/resumable_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/output/packed_copy.h"
#include "data/strict_json.h"
#include "tensor/error.h"

namespace weft {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr size_t kWriteAt = 1 << 20;  // bytes kept in memory before they are written

void refuse_other_job(const ResumableFiles::Job& earlier, const ResumableFiles::Job& now, const std::string& part) {
  const auto value = [](const ResumableFiles::Job& job, const std::string& name) {
    const auto found = job.find(name);
    return found == job.end() ? std::string() : found->second;
  };
  for (const ResumableFiles::Job* job : {&earlier, &now})
    for (const auto& [name, unused] : *job)
      if (value(earlier, name) != value(now, name))
        fail(ErrorKind::usage,
             fmt::format("{} was begun with {} = '{}', but now it is '{}': give the same options, or remove {}*", part,
                         name, printable(value(earlier, name)), printable(value(now, name)), part));
}

template <typename T>
T field(const json& state, const char* name, const std::string& file) {
  try {
    return state.at(name).get<T>();
  } catch (const json::exception&) {
    fail(ErrorKind::data, fmt::format("{} lacks a valid '{}': remove it and the .part files", file, name));
  }
}

}  // namespace

ResumableFiles::ResumableFiles(const std::vector<std::string>& paths, Job job)
    : state_file_(paths.front() + ".part.json"), job_(std::move(job)) {
  for (const std::string& path : paths) {
    files_.emplace_back();
    files_.back().path = path;
    files_.back().part = path + ".part";
  }
  const bool begun = fs::exists(state_file_);
  if (begun) read_state();
  for (File& file : files_) {
    if (is_complete_ && !fs::exists(file.part)) continue;
    if (!is_complete_ && fs::exists(file.path))
      fail(ErrorKind::usage, fmt::format("{} exists: remove it, or choose another name", file.path));
    prepare_output(file.path);
    open_part(file);
  }
  if (is_complete_) {
    give_names();
  } else {
    for (const File& file : files_) cut_off(file);  // also of files whose state is lost
    if (!begun) write_state();
  }
}

void ResumableFiles::read_state() {
  const json state = parse_strict_json(read_file(state_file_), state_file_, ErrorKind::data);
  refuse_other_job(field<Job>(state, "job", state_file_), job_, files_.front().part);
  num_lines_ = field<int64_t>(state, "lines", state_file_);
  input_digest_ = field<std::string>(state, "input_sha256", state_file_);
  is_complete_ = field<bool>(state, "complete", state_file_);
  const auto bytes = field<std::vector<int64_t>>(state, "bytes", state_file_);
  for (size_t i = 0; i < files_.size(); ++i) files_[i].bytes = i < bytes.size() ? bytes[i] : 0;
}

void ResumableFiles::open_part(File& file) {
  file.descriptor = FileDescriptor(open(file.part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file.descriptor) fail(ErrorKind::io, fmt::format("cannot open {}: {}", file.part, std::strerror(errno)));
  if (flock(file.descriptor.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    fail(ErrorKind::io, fmt::format("another process writes {}: try again when it has ended", file.part));
}

void ResumableFiles::cut_off(const File& file) const {
  if (static_cast<int64_t>(fs::file_size(file.part)) < file.bytes)
    fail(ErrorKind::data, fmt::format("{} is shorter than {} says: remove both", file.part, state_file_));
  if (ftruncate(file.descriptor.get(), file.bytes) != 0 || lseek(file.descriptor.get(), 0, SEEK_END) < 0)
    fail(ErrorKind::io, fmt::format("cannot shorten {}: {}", file.part, std::strerror(errno)));
}

void ResumableFiles::write_state() const {
  std::vector<int64_t> bytes;
  for (const File& file : files_) bytes.push_back(file.bytes);
  const json state = {{"job", job_},
                      {"lines", num_lines_},
                      {"input_sha256", input_digest_},
                      {"bytes", bytes},
                      {"complete", is_complete_}};
  write_file_atomically(state_file_, state.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

void ResumableFiles::write(size_t path, std::string_view text) {
  File& file = files_[path];
  file.unwritten += text;
  if (file.unwritten.size() >= kWriteAt) flush(file);
}

void ResumableFiles::flush(File& file) {
  write_all(file.descriptor.get(), file.unwritten.data(), file.unwritten.size(), file.part);
  file.bytes += std::ssize(file.unwritten);
  file.unwritten.clear();
}

void ResumableFiles::commit(int64_t num_lines, const std::string& input_digest) {
  for (File& file : files_) {
    flush(file);
    if (fsync(file.descriptor.get()) != 0)
      fail(ErrorKind::io, fmt::format("cannot write {} to disk: {}", file.part, std::strerror(errno)));
  }
  num_lines_ = num_lines;
  input_digest_ = input_digest;
  write_state();
}

void ResumableFiles::finish() {
  is_complete_ = true;
  write_state();
  give_names();
}

void ResumableFiles::give_names() {
  for (const File& file : files_) {
    if (!file.descriptor) continue;
    const Compression compression = compression_for(file.path);
    if (compression == Compression::none) {
      rename_durably(file.part, file.path);
    } else {
      write_packed_copy(file.part, file.path, compression);
      fs::remove(file.part);
    }
  }
  fs::remove(state_file_);
}

}  // namespace weft
