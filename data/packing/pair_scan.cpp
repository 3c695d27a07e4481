// data/packing/pair_scan.cpp: reads pair by pair.
#include "data/packing/pair_scan.h"

#include "tensor/error.h"

namespace weft {

int64_t scan_pairs(const PairFiles& files, const std::function<void(const TextPair&)>& visit,
                   const std::function<void(int64_t, int64_t)>& done) {
  constexpr int64_t kReportEvery = 4096;
  PairText text(files);
  const int64_t all_bytes = text.file_bytes();
  for (TextPair pair; text.next(pair);) {
    visit(pair);
    if (text.num_pairs() % kReportEvery == 0) done(text.bytes_read(), all_bytes);
  }
  done(text.bytes_read(), all_bytes);
  if (text.num_pairs() == 0)
    fail(ErrorKind::data, fmt::format("{} {} empty", text.name(), files.tsv.empty() ? "are" : "is"));
  return text.num_pairs();
}

}  // namespace weft
