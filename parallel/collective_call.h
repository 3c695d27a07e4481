// parallel/collective_call.h: describes a collective in messages about ranks that hang.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace weft {

struct CollectiveCall {
  const char* name = "";
  int64_t bytes = 0;
  int rank = 0, size = 1;  // within its group
  int64_t step = -1;       // -1: unknown
};

// Returns "all_reduce of 4096 bytes in step 7, rank 1 of a group of 2".
inline std::string describe(const CollectiveCall& c) {
  return fmt::format("{} of {} bytes{}, rank {} of a group of {}", c.name, c.bytes,
                     c.step < 0 ? "" : fmt::format(" in step {}", c.step), c.rank, c.size);
}

}  // namespace weft
