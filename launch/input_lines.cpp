// launch/input_lines.cpp: reads several texts as one.
#include "launch/input_lines.h"

#include <utility>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr size_t kMostNamed = 10;

TextReader open_first(const std::vector<std::string>& files) {
  return files.empty() ? TextReader::standard_input() : TextReader(files.front());
}

}  // namespace

const std::string InputLines::kBad(1, '\0');

InputLines::InputLines(std::vector<std::string> files, BadLines bad_lines)
    : files_(std::move(files)), bad_lines_(bad_lines), reader_(open_first(files_)) {
  for (const std::string& file : files_) all_bytes_ += TextReader(file).file_bytes();
  if (files_.empty()) all_bytes_ = reader_.file_bytes();
}

bool InputLines::next(std::string& line) {
  for (;;) {
    try {
      if (reader_.next(line)) return true;
    } catch (const BadLine& bad) {
      reject(line, bad);
      return true;
    }
    if (file_ + 1 >= files_.size()) return false;
    bytes_before_ += reader_.file_bytes();
    reader_ = TextReader(files_[++file_]);
  }
}

std::string InputLines::where() const { return fmt::format("{}, line {}", reader_.path(), reader_.num_lines()); }

void InputLines::reject(std::string& line, const Error& error) {
  if (bad_lines_ == BadLines::error) throw Error(error);
  if (++num_bad_ <= static_cast<int64_t>(kMostNamed)) first_bad_.emplace_back(error.what());
  line = kBad;
}

double InputLines::share_read() const {
  return all_bytes_ > 0 ? static_cast<double>(bytes_before_ + reader_.bytes_read()) / static_cast<double>(all_bytes_)
                        : 0.0;
}

void InputLines::print_bad_lines() const {
  if (num_bad_ == 0) return;
  print_note("weft: lines that are translated as empty lines because they are bad: {}\n", num_bad_);
  for (const std::string& message : first_bad_) print_note("  {}\n", message);
  if (num_bad_ > std::ssize(first_bad_)) print_note("  ...\n");
}

}  // namespace weft
