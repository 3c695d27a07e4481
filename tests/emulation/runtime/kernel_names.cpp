// tests/emulation/runtime/kernel_names.cpp: reads ELF symbol tables, and shortens C++ names.
#include "tests/emulation/runtime/kernel_names.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <vector>

namespace weft::emulation {
namespace {

using Names = std::map<uint64_t, std::string>;  // by address in the file

template <typename T>
std::vector<T> read(std::ifstream& file, uint64_t offset, uint64_t bytes) {
  std::vector<T> items(bytes / sizeof(T));
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(items.data()), static_cast<std::streamsize>(items.size() * sizeof(T)));
  return items;
}

Names functions_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto header = read<Elf64_Ehdr>(file, 0, sizeof(Elf64_Ehdr)).front();
  const auto sections = read<Elf64_Shdr>(file, header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  Names names;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& strings = sections[section.sh_link];
    const auto text = read<char>(file, strings.sh_offset, strings.sh_size);
    for (const Elf64_Sym& symbol : read<Elf64_Sym>(file, section.sh_offset, section.sh_size))
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_name < text.size())
        names.try_emplace(symbol.st_value, text.data() + symbol.st_name);
  }
  return names;
}

void erase_all(std::string& text, const std::string& part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) text.erase(at, part.size());
}

// The parameters are the last parentheses outside of template arguments.
std::string without_parameters(const std::string& name) {
  int depth = 0;
  for (size_t at = 0; at < name.size(); ++at) {
    if (name[at] == '<') ++depth;
    if (name[at] == '>') --depth;
    if (name[at] == '(' && depth == 0) return name.substr(0, at);
  }
  return name;
}

}  // namespace

std::string readable_name(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         std::free);
  std::string name = status == 0 ? demangled.get() : symbol;
  for (const char* part : {"(anonymous namespace)::", "weft::cuda::", "weft::emulation::", "weft::testing::", "weft::"})
    erase_all(name, part);
  name = without_parameters(name);
  return name.starts_with("void ") ? name.substr(std::strlen("void ")) : name;
}

std::string kernel_name(const void* function) {
  static auto* const modules = new std::map<std::string, Names>;
  Dl_info found{};
  if (dladdr(function, &found) == 0) return "a kernel of no file";
  const auto module = modules->find(found.dli_fname);
  const Names& names =
      module != modules->end() ? module->second : (*modules)[found.dli_fname] = functions_of(found.dli_fname);
  const auto offset = static_cast<const char*>(function) - static_cast<const char*>(found.dli_fbase);
  // Programs that are not position-independent have absolute addresses.
  for (const uint64_t address : {static_cast<uint64_t>(offset), reinterpret_cast<uint64_t>(function)})
    if (const auto name = names.find(address); name != names.end()) return readable_name(name->second);
  return "a kernel without a name";
}

}  // namespace weft::emulation
