// launch/start/program_build.cpp: reads build IDs from the notes of the loaded program and libraries.
#include "launch/start/program_build.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "tensor/error.h"
#include "trainer/version.h"

namespace weft {
namespace {

constexpr std::string_view kBetweenParts = ", ";

// Returns the first bytes of the build ID as digits, or "unknown" if the file was linked without one.
std::string build_id(const dl_phdr_info& object) {
  constexpr size_t kBytes = 4, kAlignment = 4;
  const auto aligned = [](size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; };
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const std::byte*>(object.dlpi_addr + segment.p_vaddr);
    for (const std::byte* const end = at + segment.p_memsz; end - at > static_cast<ptrdiff_t>(sizeof(ElfW(Nhdr)));) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const std::byte* const id = at + sizeof note + aligned(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz >= kBytes) {
        std::string digits;
        for (size_t byte = 0; byte < kBytes; ++byte) digits += fmt::format("{:02x}", static_cast<uint8_t>(id[byte]));
        return digits;
      }
      at = id + aligned(note.n_descsz);
    }
  }
  return "unknown";
}

// Returns "" for objects that do not count. A library for some processors keeps its folder in glibc-hwcaps/.
std::string name_of(const std::filesystem::path& path) {
  if (path.empty()) return "weft";  // the program itself
  const std::string name = path.filename();
  if (!name.starts_with("libweft") && !name.starts_with("libmpi.so")) return "";
  const std::filesystem::path folder = path.parent_path();
  return folder.parent_path().filename() == "glibc-hwcaps" ? (folder.filename() / name).string() : name;
}

int add_part(dl_phdr_info* object, size_t, void* parts) {
  if (const std::string name = name_of(object->dlpi_name); !name.empty())
    static_cast<std::vector<std::string>*>(parts)->push_back(
        fmt::format("{} {}{}", name, name == "weft" ? fmt::format("{}-", kVersion) : "", build_id(*object)));
  return 0;  // continue
}

struct Part {
  std::string_view name, id;
};

std::vector<Part> parts_of(std::string_view build) {
  std::vector<Part> parts;
  while (!build.empty()) {
    const std::string_view part = build.substr(0, build.find(kBetweenParts));
    const size_t blank = std::min(part.find(' '), part.size());
    parts.push_back({part.substr(0, blank), part.substr(std::min(blank + 1, part.size()))});
    build.remove_prefix(std::min(build.size(), part.size() + kBetweenParts.size()));
  }
  return parts;
}

}  // namespace

std::string program_build() {
  std::vector<std::string> parts;
  dl_iterate_phdr(add_part, &parts);
  return fmt::format("{}", fmt::join(parts, kBetweenParts));
}

std::string build_difference(const std::string& main, const std::string& own) {
  const std::vector<Part> of_main = parts_of(main);
  for (const Part& part : parts_of(own)) {
    const auto other = std::ranges::find(of_main, part.name, &Part::name);
    if (other != of_main.end() && other->id != part.id)
      return fmt::format("{} {} instead of {}", part.name, part.id, other->id);
  }
  return "";
}

void require_same_build(const std::string& build, Communicator& world) {
  const std::string main_build = world.broadcast_string(build, 0), main_host = world.broadcast_string(host_name(), 0);
  all_or_none(world, [&] {
    if (const std::string difference = build_difference(main_build, build); !difference.empty())
      fail(ErrorKind::usage, fmt::format("rank {} on {} runs {} of rank 0 on {}: install the same build on all hosts",
                                         world.rank(), host_name(), difference, main_host));
  });
}

}  // namespace weft
