// tests/emulation/ptx/decode.cpp: finds the row of the table for each instruction, and the place of each operand. A
// called function is decoded in place of its call.
#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <set>
#include <tuple>

#include "tests/emulation/ptx/forms.h"

namespace weft::emulation::ptx {
namespace {

struct Symbol {  // of a variable
  Space space = Space::global;
  uint64_t address = 0;  // in its space
};

struct Scope {  // names of a function
  std::map<std::string, Operand> registers;
  std::map<std::string, Symbol> symbols;
  std::map<std::string, int> labels;
  std::vector<std::pair<size_t, std::string>> branches;  // by number of the instruction
};

constexpr char kEnd[] = "";  // label of the end of a called function

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// "{%f1,%f2}" and "%r1|%p1" have several parts.
std::vector<std::string> parts_of(const std::string& operand) {
  if (operand.front() == '{') return split(operand.substr(1, operand.size() - 2), ',');
  if (operand.front() != '[' && operand.front() != '!') return split(operand, '|');
  return {operand};
}

uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

std::optional<uint64_t> literal_bits(const std::string& text) {
  const bool is_float =
      text.starts_with("0f") || text.starts_with("0d") || text.starts_with("0F") || text.starts_with("0D");
  const bool is_hex = is_float || text.starts_with("0x");
  const bool is_negative = text.front() == '-';
  const char* const begin = text.data() + (is_hex ? 2 : is_negative ? 1 : 0);
  const char* const end = text.data() + text.size() - (!is_float && text.back() == 'U' ? 1 : 0);
  uint64_t value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value, is_hex ? 16 : 10);
  if (error != std::errc() || stop != end) return std::nullopt;
  return is_negative ? 0 - value : value;
}

class Decoder {
 public:
  Decoder(const Source& source, const Function& kernel, const Globals& globals)
      : source_(source), kernel_(kernel), globals_(globals) {}

  Program program() {
    p_.name = kernel_.name, p_.file = source_.file, p_.max_threads = kernel_.max_threads, p_.params = kernel_.params;
    Scope scope;
    for (const Variable& param : kernel_.params) {
      p_.param_offsets.push_back(round_up(p_.param_bytes, param.alignment));
      scope.symbols[param.name] = {Space::param, p_.param_offsets.back()};
      p_.param_bytes = p_.param_offsets.back() + param.bytes;
    }
    function(kernel_, scope);
    for (size_t i = 0; i < p_.code.size(); ++i) p_.code[i].operands = p_.operands.data() + first_operands_[i];
    return std::move(p_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(source_.file + ":" + std::to_string(line_) + ": " + what);
  }

  void function(const Function& f, Scope& scope) {
    for (const Variable& variable : f.variables) declare(variable, scope);
    for (const Variable& variable : source_.variables)  // dynamic shared memory follows the rest
      if (variable.space == Space::shared)
        scope.symbols[variable.name] = {Space::shared, round_up(p_.static_shared_bytes, 16)};
    for (const Registers& registers : f.registers) declare(registers, scope);
    for (const Statement& statement : f.statements) {
      line_ = statement.line;
      if (!statement.label.empty())
        scope.labels[statement.label] = static_cast<int>(p_.code.size());
      else if (statement.opcode == "call" || statement.opcode == "call.uni")
        call(statement, scope);
      else if (statement.opcode == "ret" && !f.is_kernel)
        branch(statement, kEnd, scope);
      else
        instruction(statement, scope);
    }
    scope.labels[kEnd] = static_cast<int>(p_.code.size());
    for (const auto& [number, label] : scope.branches) {
      const auto found = scope.labels.find(label);
      if (found == scope.labels.end()) refuse("there is no label " + label);
      p_.code[number].target = found->second;
    }
  }

  void declare(const Variable& variable, Scope& scope) {
    if (scope.symbols.contains(variable.name)) return;  // parameters of several calls have the same names and sizes
    size_t& size = variable.space == Space::shared ? p_.static_shared_bytes : p_.local_bytes;
    const size_t at = round_up(size, std::max<size_t>(variable.alignment, 8));
    scope.symbols[variable.name] = {variable.space, at};
    size = at + variable.bytes;
  }

  void declare(const Registers& registers, Scope& scope) {
    const uint8_t bytes = registers.type == "pred" ? kPredicate : static_cast<uint8_t>(bytes_of_type(registers.type));
    for (int i = 0; i < std::max(registers.count, 1); ++i)
      scope.registers[registers.count == 0 ? registers.name : registers.name + std::to_string(i)] = new_register(bytes);
  }

  Operand new_register(uint8_t bytes) {
    const Operand place{.place = static_cast<uint32_t>(p_.register_bytes), .bytes = bytes};
    p_.register_bytes += round_up(size_t{bytes} * kLanes, 64) + (bytes == kPredicate ? 64 : 0);
    return place;
  }

  // call (result), function, (parameters): the function's names of results and parameters stand for the caller's
  // variables.
  void call(const Statement& s, const Scope& scope) {
    const bool has_result = s.operands.size() == 3;
    const auto callee = source_.functions.find(s.operands.at(has_result ? 1 : 0));
    if (callee == source_.functions.end() || callee->second.is_kernel) refuse("a call of an unknown function");
    if (!s.guard.empty() || !calls_.insert(callee->first).second) refuse("a predicated or recursive call");
    Scope inner;
    const auto bind = [&](const std::vector<Variable>& names, const std::string& operand) {
      const std::vector<std::string> variables = split(operand.substr(1, operand.size() - 2), ',');
      if (variables.size() != names.size()) refuse("a call with another number of parameters");
      for (size_t i = 0; i < names.size(); ++i) inner.symbols[names[i].name] = scope.symbols.at(variables[i]);
    };
    if (has_result) bind(callee->second.results, s.operands[0]);
    bind(callee->second.params, s.operands.back());
    function(callee->second, inner);
    calls_.erase(callee->first);
  }

  void branch(const Statement& s, const std::string& label, Scope& scope) {
    scope.branches.emplace_back(p_.code.size(), label);
    emit(find_form("bra", ""), {}, s, scope);
  }

  void instruction(const Statement& s, Scope& scope) {
    if (s.opcode.starts_with("bra")) {
      if (s.operands.size() != 1) refuse("a branch to several labels");
      return branch(s, s.operands[0], scope);
    }
    std::vector<std::string> parts;
    std::string shape, opcode = s.opcode;
    for (const std::string& operand : s.operands) {
      const std::vector<std::string> more = parts_of(operand);
      shape += (shape.empty() ? "" : ",") + std::to_string(more.size());
      parts.insert(parts.end(), more.begin(), more.end());
      // Parameters of calls are in local memory.
      if (const size_t at = opcode.find(".param"); at != std::string::npos && is_local(operand, scope))
        opcode.replace(at, 6, ".local");
    }
    const Form* const form = find_form(opcode, shape);
    if (form == nullptr) refuse(s.opcode + " is not a known instruction");
    if (form->operands.size() != parts.size()) refuse(s.opcode + " with " + std::to_string(parts.size()) + " operands");
    std::vector<Operand> operands;
    for (size_t i = 0; i < parts.size(); ++i) operands.push_back(place(parts[i], form->operands[i], *form, scope));
    emit(form, operands, s, scope);
  }

  bool is_local(const std::string& operand, const Scope& scope) const {
    const std::string name = operand.substr(1, operand.find_first_of("+]") - 1);
    const auto found = scope.symbols.find(name);
    return operand.front() == '[' && found != scope.symbols.end() && found->second.space == Space::local;
  }

  void emit(const Form* form, const std::vector<Operand>& operands, const Statement& s, const Scope& scope) {
    Instruction i{.form = form, .negated = s.negated, .line = line_};
    if (!s.guard.empty()) i.guard = static_cast<int>(named_register(s.guard, scope).place);
    first_operands_.push_back(p_.operands.size());
    p_.operands.insert(p_.operands.end(), operands.begin(), operands.end());
    p_.code.push_back(i);
  }

  Operand named_register(const std::string& name, const Scope& scope) {
    if (const auto found = scope.registers.find(name); found != scope.registers.end()) return found->second;
    static const std::set<std::string> kSpecial{"%tid.x",    "%tid.y",    "%tid.z",   "%ntid.x",  "%ntid.y",
                                                "%ntid.z",   "%ctaid.x",  "%ctaid.y", "%ctaid.z", "%nctaid.x",
                                                "%nctaid.y", "%nctaid.z", "%laneid"};
    if (!kSpecial.contains(name)) refuse(name + " is not a known register");
    const auto [found, is_new] = special_.try_emplace(name);
    if (is_new) p_.special_registers.push_back({found->second = new_register(4), name});
    return found->second;
  }

  Operand constant(uint64_t bits, uint8_t bytes) {
    const auto [found, is_new] = constants_.try_emplace({bits, bytes});
    if (is_new) p_.constants.push_back({found->second = new_register(bytes), bits});
    return found->second;
  }

  Operand place(const std::string& text, uint8_t bytes, const Form& form, Scope& scope) {
    if (text.front() == '[') return address(text.substr(1, text.size() - 2), scope);
    if (text.front() == '!') return inverted(text.substr(1), scope);
    if (text.front() != '%' && !scope.registers.contains(text)) {
      if (const auto bits = literal_bits(text)) return constant(*bits, bytes);
      return constant(address_of(text, scope), bytes);
    }
    const Operand found = named_register(text, scope);
    if (found.bytes == bytes) return found;
    const bool is_wider = bytes != kPredicate && found.bytes > bytes;
    if (is_wider && form.wider == Wider::taken) return found;
    if (is_wider && form.wider == Wider::narrowed) return narrowed(found, bytes, scope);
    refuse(text + " has another size than " + form.name + " needs");
  }

  // [register + offset] or [variable + offset]
  Operand address(const std::string& text, Scope& scope) {
    const size_t plus = text.find_first_of("+-", 1);
    const std::string base = text.substr(0, plus);
    const std::string offset = plus == std::string::npos ? "0" : text.substr(text[plus] == '+' ? plus + 1 : plus);
    const std::optional<uint64_t> distance = literal_bits(offset);
    if (!distance) refuse("'" + text + "' is not an address");
    Operand operand = base.front() == '%' || scope.registers.contains(base) ? named_register(base, scope)
                                                                            : constant(address_of(base, scope), 8);
    if (operand.bytes != 4 && operand.bytes != 8) refuse("'" + text + "' is not an address");
    operand.offset = static_cast<int64_t>(*distance);
    return operand;
  }

  uint64_t address_of(const std::string& name, const Scope& scope) const {
    if (const auto found = scope.symbols.find(name); found != scope.symbols.end()) return found->second.address;
    const std::byte* const global = globals_.find(name);
    if (global == nullptr) refuse(name + " is not a known name");
    return reinterpret_cast<uintptr_t>(global);
  }

  Operand inverted(const std::string& predicate, Scope& scope) {
    const Operand result = new_register(kPredicate);
    emit(find_form("not.pred", "1,1"), {result, named_register(predicate, scope)}, {}, scope);
    return result;
  }

  Operand narrowed(Operand wide, uint8_t bytes, Scope& scope) {
    const auto type = [](size_t size) { return "u" + std::to_string(8 * size); };
    const Operand result = new_register(bytes);
    emit(find_form("cvt." + type(bytes) + "." + type(wide.bytes), "1,1"), {result, wide}, {}, scope);
    return result;
  }

  const Source& source_;
  const Function& kernel_;
  const Globals& globals_;
  Program p_;
  std::vector<size_t> first_operands_;  // by instruction
  std::map<std::string, Operand> special_;
  std::map<std::pair<uint64_t, uint8_t>, Operand> constants_;
  std::set<std::string> calls_;  // functions that are being decoded
  int line_ = 0;
};

}  // namespace

const Form* find_form(const std::string& opcode, const std::string& shape) {
  static const Table table = [] {
    Table t;
    add_integer_arithmetic(t);
    add_floating_point(t);
    add_comparison_and_logic(t);
    add_data_movement(t);
    add_conversions(t);
    add_warp_instructions(t);
    return t;
  }();
  const Form* const shaped = table.find(opcode + " " + shape);
  return shaped != nullptr ? shaped : table.find(opcode);
}

Program decode(const Source& source, const Function& kernel, const Globals& globals) {
  return Decoder(source, kernel, globals).program();
}

}  // namespace weft::emulation::ptx
