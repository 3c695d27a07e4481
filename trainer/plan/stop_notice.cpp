// trainer/plan/stop_notice.cpp: reads environment variables that mpirun and `weft launch` set.
#include "trainer/plan/stop_notice.h"

#include <fmt/format.h>

#include <cstdlib>

namespace weft {

std::string stop_notice() {
  constexpr int kEnoughSeconds = 60;  // enough for a step and a save of most runs
  constexpr int kOpenMpisSeconds = 1;
  const char* const ranks = std::getenv("OMPI_COMM_WORLD_SIZE");
  const char* const given = std::getenv("OMPI_MCA_odls_base_sigkill_timeout");
  const int seconds = given != nullptr ? std::atoi(given) : kOpenMpisSeconds;
  const bool alone = ranks == nullptr || std::atoi(ranks) < 2;
  if (alone || std::getenv(kLaunchVariable) != nullptr || seconds >= kEnoughSeconds) return "";
  return fmt::format(
      "mpirun kills the ranks {} s after Ctrl-C, even in a step or a save; to wait, use `weft launch -n {} train ...`",
      seconds, ranks);
}

}  // namespace weft
