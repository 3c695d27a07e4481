// tensor/cpu/gemm/amx.cpp: checks that processor and system provide AMX tiles, and configures the tiles.
#include "tensor/cpu/gemm/amx.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace weft::cpu {

#if defined(__x86_64__)

namespace {

bool ask_for_tiles() {
  constexpr unsigned kTileBf16 = 1u << 22, kTile = 1u << 24;  // leaf 7, edx
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & kTileBf16) == 0 || (d & kTile) == 0) return false;
  constexpr unsigned kBf16 = 1u << 5;  // leaf 7.1, eax: rounding to bf16, used with the tile instructions
  if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || (a & kBf16) == 0) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

struct alignas(64) Shapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

constexpr Shapes full_tiles() {
  Shapes shapes;
  for (int i = 0; i < 8; ++i) shapes.row_bytes[i] = kTileBytes, shapes.rows[i] = kTileRows;
  return shapes;
}
constexpr Shapes kFullTiles = full_tiles();

}  // namespace

bool has_amx() {
  static const bool has = ask_for_tiles();
  return has;
}

bool has_amx_int8() {
  constexpr unsigned kTileInt8 = 1u << 25;  // leaf 7, edx
  unsigned a = 0, b = 0, c = 0, d = 0;
  return has_amx() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kTileInt8) != 0;
}

bool has_avx_vnni() {
  constexpr unsigned kAvxVnni = 1u << 4;  // leaf 7.1, eax
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & kAvxVnni) != 0;
}

TileConfig::TileConfig(bool wanted) : wanted_(wanted) {
  if (wanted) asm volatile("ldtilecfg %0" ::"m"(kFullTiles));
}
TileConfig::~TileConfig() {
  if (wanted_) asm volatile("tilerelease");
}

#else

bool has_amx() { return false; }
bool has_amx_int8() { return false; }
bool has_avx_vnni() { return false; }

TileConfig::TileConfig(bool wanted) : wanted_(wanted) {}
TileConfig::~TileConfig() = default;

#endif

}  // namespace weft::cpu
