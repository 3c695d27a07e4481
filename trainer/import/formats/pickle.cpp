// trainer/import/formats/pickle.cpp: runs the instructions of a pickle that describe data.
#include "trainer/import/formats/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tensor/error.h"

namespace weft {
namespace {

using Kind = PickleValue::Kind;

constexpr uint64_t kMostMemos = 1 << 24;
constexpr size_t kMostArguments = 16;
constexpr size_t kMostValues = 1 << 20;  // about 90 MB
constexpr uint8_t kStop = '.';

bool is_callable(const std::string& name) {
  constexpr std::array<std::string_view, 4> kKnown = {"collections.OrderedDict", "torch._utils._rebuild_tensor",
                                                      "torch._utils._rebuild_tensor_v2",
                                                      "torch._utils._rebuild_parameter"};
  return std::ranges::find(kKnown, name) != kKnown.end();
}

}  // namespace

Pickle::Pickle(std::string_view bytes, std::string what) : bytes_(bytes), what_(std::move(what)) {
  for (uint8_t code = 0; (code = static_cast<uint8_t>(number(1))) != kStop;) step(code);
  result_ = pop();
  memo_.clear();
}

void Pickle::refuse(const std::string& why) const {
  fail(ErrorKind::checkpoint, fmt::format("{}: the pickle {}", what_, why));
}

std::string_view Pickle::take(uint64_t bytes) {
  if (bytes > bytes_.size() - at_) refuse("is truncated");
  at_ += bytes;
  return bytes_.substr(at_ - bytes, bytes);
}

uint64_t Pickle::number(size_t bytes) {
  uint64_t value = 0;
  const std::string_view digits = take(bytes);
  for (size_t i = 0; i < bytes; ++i) value |= static_cast<uint64_t>(static_cast<uint8_t>(digits[i])) << (8 * i);
  return value;
}

std::string Pickle::line() {
  const size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) refuse("is truncated");
  const std::string text(take(end - at_));
  take(1);
  return text;
}

void Pickle::push(PickleValue value) {
  if (values_.size() >= kMostValues) refuse("describes too many objects");
  values_.push_back(std::move(value));
  stack_.push_back(values_.size() - 1);
}

size_t Pickle::pop() {
  const size_t place = top();
  stack_.pop_back();
  return place;
}

size_t& Pickle::top() {
  if (stack_.empty()) refuse("is damaged: its stack is empty");
  return stack_.back();
}

std::vector<size_t> Pickle::pop_items(size_t count) {
  std::vector<size_t> items(count);
  for (size_t& item : items) item = pop();
  std::ranges::reverse(items);
  return items;
}

std::vector<size_t> Pickle::pop_arguments() {
  const PickleValue& tuple = values_[pop()];
  if (tuple.kind != Kind::tuple || tuple.of.size() > kMostArguments) refuse("is damaged");
  return tuple.of;
}

std::vector<size_t> Pickle::pop_to_mark() {
  const auto mark =
      std::find_if(stack_.rbegin(), stack_.rend(), [this](size_t place) { return values_[place].kind == Kind::mark; });
  if (mark == stack_.rend()) refuse("is damaged: a mark is missing");
  std::vector<size_t> items(mark.base(), stack_.end());
  stack_.erase(mark.base() - 1, stack_.end());
  return items;
}

void Pickle::remember(uint64_t key) {
  if (key >= kMostMemos || key > 2 * bytes_.size()) refuse("is damaged: a number of its memo is too large");
  if (key >= memo_.size()) memo_.resize(key + 1);
  memo_[key] = top() + 1;
}

void Pickle::recall(uint64_t key) {
  if (key >= memo_.size() || memo_[key] == 0) refuse("is damaged: its memo lacks a value");
  stack_.push_back(memo_[key] - 1);
}

void Pickle::push_text(uint64_t size) { push({.kind = Kind::text, .name = std::string(take(size))}); }

// LONG1: a whole number of up to 255 bytes. One that exceeds 64 bits is only compared with PyTorch's magic number.
void Pickle::push_big_whole() {
  const uint64_t size = number(1);
  if (size > sizeof(int64_t)) return push({.kind = Kind::whole, .name = std::string(take(size))});
  const uint64_t bits = number(size), sign = size == 0 ? 0 : uint64_t{1} << (8 * size - 1);
  push({.kind = Kind::whole, .number = static_cast<int64_t>((bits ^ sign) - sign)});
}

bool Pickle::push_constant(uint8_t code) {
  switch (code) {
    case 'N':
      push({});
      return true;
    case 0x88:
    case 0x89:
      push({.kind = Kind::truth, .number = code == 0x88});
      return true;
    case 'K':
      push({.kind = Kind::whole, .number = static_cast<int64_t>(number(1))});
      return true;
    case 'M':
      push({.kind = Kind::whole, .number = static_cast<int64_t>(number(2))});
      return true;
    case 'J':
      push({.kind = Kind::whole, .number = static_cast<int32_t>(number(4))});
      return true;
    case 0x8a:
      push_big_whole();
      return true;
    case 'G':
      take(8);
      push({.kind = Kind::real});
      return true;
    case 'X':
      push_text(number(4));
      return true;
    case 0x8c:
      push_text(number(1));
      return true;
    default:
      return false;
  }
}

bool Pickle::change_memo(uint8_t code) {
  switch (code) {
    case 'q':
      remember(number(1));
      return true;
    case 'r':
      remember(number(4));
      return true;
    case 0x94:
      remember(memo_.size());
      return true;
    case 'h':
      recall(number(1));
      return true;
    case 'j':
      recall(number(4));
      return true;
    default:
      return false;
  }
}

// Builds tuples, lists and dictionaries.
bool Pickle::collect(uint8_t code) {
  switch (code) {
    case '(':
      push({.kind = Kind::mark});
      return true;
    case ')':
    case ']':
    case '}':
      push({.kind = code == ')' ? Kind::tuple : code == ']' ? Kind::list : Kind::dict});
      return true;
    case 't':
      push({.kind = Kind::tuple, .of = pop_to_mark()});
      return true;
    case 0x85:
    case 0x86:
    case 0x87:
      push({.kind = Kind::tuple, .of = pop_items(static_cast<size_t>(code - 0x84))});
      return true;
    case 'a':
      add_to_top(Kind::list, pop_items(1));
      return true;
    case 'e':
      add_to_top(Kind::list, pop_to_mark());
      return true;
    case 's':
      add_to_top(Kind::dict, pop_items(2));
      return true;
    case 'u':
      add_to_top(Kind::dict, pop_to_mark());
      return true;
    default:
      return false;
  }
}

void Pickle::add_to_top(PickleValue::Kind kind, const std::vector<size_t>& items) {
  PickleValue& value = values_[top()];
  if (value.kind != kind || (kind == Kind::dict && items.size() % 2 != 0)) refuse("is damaged");
  value.of.insert(value.of.end(), items.begin(), items.end());
}

// REDUCE: the results of the known functions.
void Pickle::call() {
  const std::vector<size_t> arguments = pop_arguments();
  const std::string name = values_[pop()].name;
  if (!is_callable(name)) refuse(fmt::format("calls '{}', which is not executed", printable(name)));
  if (name == "collections.OrderedDict") {
    if (!arguments.empty()) refuse("contains an OrderedDict of a form that is not supported");
    push({.kind = Kind::dict});
  } else if (name == "torch._utils._rebuild_parameter") {
    if (arguments.empty()) refuse("is damaged");
    stack_.push_back(arguments[0]);
  } else {
    if (arguments.size() < 4) refuse("is damaged");
    push({.kind = Kind::tensor, .of = arguments});
  }
}

void Pickle::step(uint8_t code) {
  if (push_constant(code) || change_memo(code) || collect(code)) return;
  switch (code) {
    case 0x80:  // PROTO
      if (number(1) > 5) refuse("has an unknown protocol");
      return;
    case 0x95:  // FRAME
      take(8);
      return;
    case 'c': {  // GLOBAL
      const std::string module = line();
      return push({.kind = Kind::global, .name = module + "." + line()});
    }
    case 'R':
      return call();
    case 'Q': {  // BINPERSID
      const std::vector<size_t> id = pop_arguments();
      if (id.size() < 5) refuse("is damaged: a storage is incomplete");
      return push({.kind = Kind::storage, .of = id});
    }
    case 'b':  // BUILD sets attributes, such as _metadata of an OrderedDict
      pop();
      return static_cast<void>(top());
    default:
      refuse(fmt::format("contains the instruction {:#04x}, which is not executed", code));
  }
}

}  // namespace weft
