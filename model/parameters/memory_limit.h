// model/parameters/memory_limit.h: how much memory this process may take: the machine's, or less where a control group
// says so.
#pragma once

#include <cstddef>
#include <string>

namespace weft {

size_t memory_limit();  // bytes; the smallest of all limits

// The smallest limit of the control groups that hold this process, as `root`/proc and `root`/sys/fs/cgroup say
// (version 2: memory.max; version 1: memory.limit_in_bytes); the largest size_t if there is none.
size_t control_group_limit(const std::string& root = "");

}  // namespace weft
