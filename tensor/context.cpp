// tensor/context.cpp: creates a device's runtime, sets the number of CPU threads and checks the CPU's instruction sets.
#include "tensor/context.h"

#include <omp.h>

#include <fstream>
#include <string_view>

#include "tensor/backend.h"
#include "tensor/error.h"

namespace weft {

Context::Context(Device device, bool dry_run) : device_(device), dry_run_(dry_run) {
  runtime_ = backend(device).make_runtime(dry_run);
}

Context::~Context() = default;

int num_devices(Device device) { return backend(device).num_devices(); }
void use_device(Device device, int index) { backend(device).use_device(index); }
DeviceProperties device_properties(Device device) { return backend(device).properties(); }

void set_num_threads(int count) {
  require(count >= 1, ErrorKind::usage, "the number of threads must be at least 1");
  omp_set_num_threads(count);
}

int num_threads() { return omp_get_max_threads(); }
bool binds_threads() { return omp_get_proc_bind() != omp_proc_bind_false; }

namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(':');
    if (colon != std::string::npos && colon + 2 < line.size()) return line.substr(colon + 2);
  }
  return "unnamed processor";
}

// This file is compiled with the same -march as the kernels, so the compiler's macros show the kernels' instructions.
#if defined(__AVX512F__)
constexpr std::string_view kKernelInstructions = "AVX-512";
#elif defined(__AVX2__)
constexpr std::string_view kKernelInstructions = "AVX2";
#elif defined(__SSE4_2__)
constexpr std::string_view kKernelInstructions = "SSE4.2";
#else
constexpr std::string_view kKernelInstructions = "baseline instructions";
#endif

// Returns the best instruction set that this processor has but the kernels do not use, or an empty string.
std::string_view unused_instructions() {
#if defined(__x86_64__) && !defined(__AVX512F__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return "AVX-512";
  }
#if !defined(__AVX2__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) return "AVX2";
#endif
#endif
  return "";
}

// Lists the instruction sets that the kernels use but this processor lacks. Returns an empty string if there are none.
std::string missing_features() {
  std::string missing;
  [[maybe_unused]] const auto need = [&](bool present, const char* name) {
    if (!present) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
#if defined(__x86_64__)
  __builtin_cpu_init();
#if defined(__SSE4_2__)
  need(__builtin_cpu_supports("sse4.2"), "SSE4.2");
#endif
#if defined(__AVX__)
  need(__builtin_cpu_supports("avx"), "AVX");
#endif
#if defined(__FMA__)
  need(__builtin_cpu_supports("fma"), "FMA");
#endif
#if defined(__AVX2__)
  need(__builtin_cpu_supports("avx2"), "AVX2");
#endif
#if defined(__BMI2__)
  need(__builtin_cpu_supports("bmi2"), "BMI2");
#endif
#if defined(__AVX512F__)
  need(__builtin_cpu_supports("avx512f"), "AVX-512F");
#endif
#if defined(__AVX512BW__)
  need(__builtin_cpu_supports("avx512bw"), "AVX-512BW");
#endif
#if defined(__AVX512DQ__)
  need(__builtin_cpu_supports("avx512dq"), "AVX-512DQ");
#endif
#if defined(__AVX512VL__)
  need(__builtin_cpu_supports("avx512vl"), "AVX-512VL");
#endif
#if defined(__AVX512VBMI__)
  need(__builtin_cpu_supports("avx512vbmi"), "AVX-512VBMI");
#endif
#endif
  return missing;
}

}  // namespace

std::string cpu_description() {
  const std::string_view unused = unused_instructions();
  const std::string remark = unused.empty() ? "" : fmt::format(" though it has {}", unused);
  return fmt::format("{}, kernels for {}{}", processor_name(), kKernelInstructions, remark);
}

void require_cpu_features() {
  const std::string missing = missing_features();
  if (missing.empty()) return;
  fail(ErrorKind::usage, fmt::format("this program was compiled for {}, which this processor ({}) lacks; configure and "
                                     "build it again on this machine with -DWEFT_MARCH=native",
                                     missing, processor_name()));
}

}  // namespace weft
