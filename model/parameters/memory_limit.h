// model/parameters/memory_limit.h: finds the memory that this process may use, which a control group may limit.
#pragma once

#include <cstddef>
#include <string>

namespace weft {

size_t memory_limit();  // bytes; the smallest of all limits

// Returns the smallest limit of this process's control groups, from `root`/proc and `root`/sys/fs/cgroup (version 2:
// memory.max; version 1: memory.limit_in_bytes), or the largest size_t if there is no limit.
size_t control_group_limit(const std::string& root = "");

}  // namespace weft
