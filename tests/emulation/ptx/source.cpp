// tests/emulation/ptx/source.cpp: splits PTX into tokens, and tokens into declarations and statements.
#include "tests/emulation/ptx/source.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace weft::emulation::ptx {
namespace {

struct Token {
  std::string text;  // empty at the end of the file
  int line = 0;
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.' || c == '%';
}

// Words are identifiers, numbers, opcodes and directives; all other characters are tokens of their own.
std::vector<Token> tokens_of(const std::string& text) {
  std::vector<Token> tokens;
  int line = 1;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '\n') ++line;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at;
    } else if (text.compare(at, 2, "//") == 0) {
      at = std::min(text.find('\n', at), text.size());
    } else {
      size_t end = at + 1;
      if (c == '"') end = std::min(text.find('"', end), text.size() - 1) + 1;
      if (is_word(c))
        while (end < text.size() && (is_word(text[end]) || text.compare(end, 2, "::") == 0))
          end += text[end] == ':' ? 2 : 1;
      tokens.push_back({text.substr(at, end - at), line});
      at = end;
    }
  }
  tokens.push_back({"", line});
  return tokens;
}

class Parser {
 public:
  Parser(const std::string& text, const std::string& file) : tokens_(tokens_of(text)) { source_.file = file; }

  Source source() {
    while (!at_end()) directive();
    return std::move(source_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(source_.file + ":" + std::to_string(tokens_[at_].line) + ": " + what);
  }
  bool at_end() const { return tokens_[at_].text.empty(); }
  const std::string& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)].text; }
  std::string take() {
    if (at_end()) refuse("the file ends too early");
    return tokens_[at_++].text;
  }
  bool take_if(const std::string& text) {
    if (peek() != text) return false;
    ++at_;
    return true;
  }
  void expect(const std::string& text) {
    if (!take_if(text)) refuse("'" + text + "' is expected, not '" + peek() + "'");
  }
  int64_t number() {
    const std::string text = take();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) refuse("'" + text + "' is not a number");
    return value;
  }

  void directive() {
    const std::string word = take();
    if (word == ".version" || word == ".address_size") {
      take();
    } else if (word == ".target") {
      source_.target = take();
      while (take_if(",")) take();
    } else if (word == ".extern" || word == ".visible" || word == ".weak") {
      return;  // what follows is parsed as if it were not there
    } else if (word == ".global" || word == ".const" || word == ".shared") {
      source_.variables.push_back(variable(word == ".shared" ? Space::shared : Space::global));
      expect(";");
    } else if (word == ".entry" || word == ".func") {
      function(word == ".entry");
    } else {
      refuse("'" + word + "' is not known");
    }
  }

  // [.align N] .TYPE [.ptr [.global] [.align N]] NAME [ '[' [COUNT] ']' ] [ = { bytes } ]
  Variable variable(Space space) {
    Variable v{.name = "", .space = space};
    const size_t alignment = take_if(".align") ? static_cast<size_t>(number()) : 0;
    const size_t size = bytes_of_type(take().substr(1));
    v.alignment = alignment == 0 ? size : alignment;
    if (take_if(".ptr")) {  // says what the parameter points to
      take_if(".global");
      if (take_if(".align")) number();
    }
    v.name = take();
    v.bytes = size;
    if (take_if("[")) {
      v.bytes = peek() == "]" ? 0 : size * static_cast<size_t>(number());
      expect("]");
    }
    if (!take_if("=")) return v;
    expect("{");
    if (size != 1) refuse("initial values of a type other than .b8");
    do v.values.push_back(static_cast<std::byte>(number()));
    while (take_if(","));
    expect("}");
    return v;
  }

  std::vector<Variable> params() {
    std::vector<Variable> all;
    if (!take_if("(")) return all;
    while (!take_if(")")) {
      expect(".param");
      all.push_back(variable(Space::param));
      take_if(",");
    }
    return all;
  }

  void function(bool is_kernel) {
    Function f;
    f.is_kernel = is_kernel;
    f.line = tokens_[at_].line;
    f.results = params();
    f.name = take();
    f.params = params();
    for (;;) {
      if (take_if(".maxntid")) {
        f.max_threads = 1;
        do f.max_threads *= static_cast<unsigned>(number());
        while (take_if(","));
      } else if (take_if(".minnctapersm")) {
        take();
      } else {
        break;
      }
    }
    if (take_if(";")) return;  // a declaration
    expect("{");
    for (int depth = 1; depth > 0;) {
      if (take_if("{"))
        ++depth;
      else if (take_if("}"))
        --depth;
      else
        statement(f);
    }
    const std::string name = f.name;
    if (!source_.functions.emplace(name, std::move(f)).second) refuse(name + " is defined twice");
  }

  void statement(Function& f) {
    if (take_if(".reg")) return registers(f);
    if (take_if(".pragma")) {
      while (take() != ";") {
      }
      return;
    }
    for (const auto& [word, space] :
         {std::pair{".shared", Space::shared}, {".local", Space::local}, {".param", Space::local}})
      if (take_if(word)) {
        f.variables.push_back(variable(space));
        return expect(";");
      }
    if (peek(1) == ":") {
      f.statements.push_back({.line = tokens_[at_].line, .label = take()});
      return expect(":");
    }
    instruction(f);
  }

  void registers(Function& f) {
    const std::string type = take().substr(1);
    do {
      Registers r{.name = take(), .type = type};
      if (take_if("<")) {
        r.count = static_cast<int>(number());
        expect(">");
      }
      f.registers.push_back(std::move(r));
    } while (take_if(","));
    expect(";");
  }

  void instruction(Function& f) {
    Statement s{.line = tokens_[at_].line};
    if (take_if("@")) {
      s.negated = take_if("!");
      s.guard = take();
    }
    s.opcode = take();
    std::string operand;
    for (int depth = 0;;) {
      const std::string token = take();
      if (token == "[" || token == "{" || token == "(") ++depth;
      if (token == "]" || token == "}" || token == ")") --depth;
      const bool ends = token == ";" || (token == "," && depth == 0);
      if (ends && !operand.empty()) s.operands.push_back(operand);
      if (ends) operand.clear();
      if (token == ";") break;
      if (!ends) operand += token;
    }
    f.statements.push_back(std::move(s));
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  Source source_;
};

}  // namespace

Source parse(const std::string& text, const std::string& file) { return Parser(text, file).source(); }

size_t bytes_of_type(const std::string& type) {
  for (const auto& [suffix, bytes] : {std::pair{"8", 1}, {"16", 2}, {"32", 4}, {"64", 8}})
    if (type.size() >= 2 && std::string("bsuf").find(type[0]) != std::string::npos && type.substr(1) == suffix)
      return static_cast<size_t>(bytes);
  throw Error("." + type + " is not a known type");
}

}  // namespace weft::emulation::ptx
