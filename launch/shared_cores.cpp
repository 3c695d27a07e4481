// launch/shared_cores.cpp: sets libgomp's environment, and replaces the process by one that sees it.
#include "launch/shared_cores.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace weft {

void limit_spinning(char** arguments) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  std::error_code failed;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed || program.filename().string().starts_with("ld-")) return;  // the dynamic linker was started as a program
  if (setenv("GOMP_SPINCOUNT", "3000", 1) != 0) return;  // otherwise the program would start again and again
  execv(program.c_str(), arguments);  // returns only if it fails; then only the speed on busy machines is lost
}

}  // namespace weft
