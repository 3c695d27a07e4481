// data/packing/pair_scan.cpp: reads both files line by line, in parallel.
#include "data/packing/pair_scan.h"

#include "data/text/text_reader.h"
#include "tensor/error.h"

namespace weft {

int64_t scan_pairs(const std::string& source, const std::string& target, LineSampler* source_lines,
                   LineSampler* target_lines, const std::function<void(int64_t, int64_t)>& done) {
  constexpr int64_t kReportEvery = 4096;
  TextReader source_text(source), target_text(target);
  const int64_t all_bytes = source_text.file_bytes() + target_text.file_bytes();
  std::string line;
  const auto read = [&](TextReader& text, LineSampler* sampler) {
    if (!text.next(line)) return false;
    if (sampler) sampler->add(line);
    return true;
  };
  for (bool more = true; more;) {
    const bool has_source = read(source_text, source_lines), has_target = read(target_text, target_lines);
    more = has_source || has_target;
    if (!more || source_text.num_lines() % kReportEvery == 0)
      done(source_text.bytes_read() + target_text.bytes_read(), all_bytes);
  }
  const int64_t num_source = source_text.num_lines(), num_target = target_text.num_lines();
  if (num_source != num_target)
    fail(ErrorKind::data, fmt::format("{} has {} lines and {} has {}: line i of one must translate line i of the other",
                                      source, num_source, target, num_target));
  if (num_source == 0) fail(ErrorKind::data, fmt::format("{} and {} are empty", source, target));
  return num_source;
}

}  // namespace weft
