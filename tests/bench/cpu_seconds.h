// tests/bench/cpu_seconds.h: CPU time of this process.
#pragma once

#include <sys/resource.h>

namespace weft {

inline double cpu_seconds() {  // of all threads of this process
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace weft
