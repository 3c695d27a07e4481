// tests/emulation/ptx/source.h: parses the text of a PTX module, as nvcc writes it (PTX ISA 9.0, sections 4 and 5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::emulation::ptx {

enum class Space : uint8_t { global, shared, local, param };

struct Variable {
  std::string name;
  Space space = Space::global;
  size_t alignment = 1, bytes = 0;     // 0 bytes: dynamic shared memory
  std::vector<std::byte> values = {};  // initial ones; may be empty
};

// Registers of one type: name is complete, or a prefix if there are several, which have the numbers 0 to count - 1.
struct Registers {
  std::string name;
  std::string type;  // without its dot: pred, b16, f32, ...
  int count = 0;     // 0: one register
};

struct Statement {  // an instruction, or a label without opcode
  int line = 0;
  std::string label, opcode;          // opcode with all its types: "add.f32"
  std::string guard;                  // the predicate after @; empty if there is none
  bool negated = false;               // @!
  std::vector<std::string> operands;  // without spaces: "%r1", "[%rd1+8]", "{%f1,%f2}"
};

struct Function {
  std::string name;
  bool is_kernel = false;
  int line = 0;
  unsigned max_threads = 1024;  // of a block: .maxntid
  std::vector<Variable> params, results;
  std::vector<Variable> variables;  // also those of scopes within the function
  std::vector<Registers> registers;
  std::vector<Statement> statements;
};

struct Source {
  std::string file, target;  // target: "sm_90"
  std::vector<Variable> variables;
  std::map<std::string, Function> functions;  // by symbol
};

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws an Error that names file and line if the text contains something that nvcc does not write.
Source parse(const std::string& text, const std::string& file);

size_t bytes_of_type(const std::string& type);  // of "f32": 4; throws an Error if there is no such type

}  // namespace weft::emulation::ptx
