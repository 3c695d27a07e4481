// tests/emulation/runtime/kernel_names.h: names of kernels from the symbol tables of the modules.
#pragma once

#include <string>

namespace weft::emulation {

// "norm_forward<BFloat16, 1>": the C++ name of a function without weft's namespaces and its parameters. Kernels
// are local symbols, which dladdr does not know, so it reads the ELF symbol table of the function's file.
std::string kernel_name(const void* function);

std::string readable_name(const std::string& symbol);  // the same of a mangled name

}  // namespace weft::emulation
