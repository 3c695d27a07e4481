// tests/emulation/ptx/program.h: a kernel that is ready to run: instructions whose operands are places in the registers
// of a warp.
//
// A register holds the values of all lanes, one after the other: 32 of 2, 4 or 8 bytes. A predicate is a mask with one
// bit for each lane. Constants and special registers (%tid.x) are registers, too, and are written before the start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/emulation/ptx/source.h"

namespace weft::emulation::ptx {

inline constexpr int kLanes = 32;
using Mask = uint32_t;  // of lanes
inline constexpr Mask kAllLanes = 0xFFFFFFFFu;

class Warp;
struct Instruction;
using Execute = void (*)(Warp& warp, const Instruction& instruction, Mask lanes);

enum class Flow : uint8_t {
  next,      // the next instruction follows
  branch,    // to Instruction::target
  leave,     // the lanes end
  barrier,   // of the block
  together,  // all lanes of a mask execute it together
};

constexpr uint8_t kPredicate = 0, kAddress = 0xFF;  // besides sizes of 2, 4 and 8 bytes

// What happens to registers that are wider than an instruction's type (PTX ISA, "Operand Size Exceeding
// Instruction-Type Size").
enum class Wider : uint8_t { refused, narrowed, taken };

// One row of the table of instructions.
struct Form {
  Execute execute = nullptr;
  std::vector<uint8_t> operands;  // bytes of each operand, kPredicate or kAddress; results first
  Flow flow = Flow::next;
  Wider wider = Wider::refused;
  bool is_aligned = false;      // all lanes of the warp that have not ended execute it together
  int mask = -1;                // the operand that contains the lanes of Flow::together
  Space space = Space::global;  // of loads and stores
  uint8_t results = 1;          // the first operands
  uint8_t access_bytes = 0;     // of memory, by each lane
  bool copies = false;          // from global to shared memory
  bool awaits_copies = false;
  double slots = 1;  // instructions of machine code (costs.h)
  std::string name = {};
};

struct Operand {
  uint32_t place = 0;  // in the registers of a warp
  uint8_t bytes = 0;   // of a lane; kPredicate for a predicate
  int64_t offset = 0;  // of an address [register + offset]
};

struct Instruction {
  const Form* form = nullptr;
  const Operand* operands = nullptr;
  int guard = -1;  // place of the predicate; -1: none
  bool negated = false;
  int target = -1;  // of a branch
  int line = 0;     // in the file
};

struct Constant {
  Operand to;
  uint64_t bits = 0;
};

struct SpecialRegister {
  Operand to;
  std::string name;  // %tid.x
};

struct Program {
  std::string name, file;
  unsigned max_threads = 1024;
  std::vector<Variable> params;
  std::vector<size_t> param_offsets;
  size_t param_bytes = 0, static_shared_bytes = 0, local_bytes = 0, register_bytes = 0;
  std::vector<Instruction> code;
  std::vector<Operand> operands;  // of all instructions
  std::vector<Constant> constants;
  std::vector<SpecialRegister> special_registers;
};

// Address windows for generic addresses: global memory has its own addresses.
inline constexpr uint64_t kSharedWindow = uint64_t{1} << 60, kLocalWindow = uint64_t{2} << 60;
inline constexpr uint64_t kWindows = uint64_t{3} << 60;

class Globals;

// Throws an Error that names file and line if the function contains an unknown instruction or operand.
Program decode(const Source& source, const Function& kernel, const Globals& globals);

// Returns the row of the table for an opcode with its operands, of which `shape` lists the sizes ("1,2" for
// `d, {a, b}`); nullptr if there is none.
const Form* find_form(const std::string& opcode, const std::string& shape);

}  // namespace weft::emulation::ptx
