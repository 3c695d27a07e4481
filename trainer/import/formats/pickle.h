// trainer/import/formats/pickle.h: reads the pickles of PyTorch's files without executing anything.
//
// A pickle is a program for a stack machine (Python's Lib/pickletools.py describes its instructions). This reader knows
// the instructions that describe data. Of the functions that a pickle can name, it knows those that rebuild tensors and
// dictionaries, and builds their results itself. Everything else is refused.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct PickleValue {
  enum Kind : uint8_t { none, truth, whole, real, text, tuple, list, dict, global, storage, tensor, mark };
  Kind kind = none;
  int64_t number = 0;      // of whole and truth
  std::string name;        // of text, and "torch.FloatStorage" of global
  std::vector<size_t> of;  // places of the items; of dict: key, value, key, ...; of storage and tensor: see below
};

// A storage has the items of its persistent id: "storage", its class, its key, its device, its number of elements.
// A tensor has the arguments of torch._utils._rebuild_tensor_v2: storage, first element, shape, strides, ...
class Pickle {
 public:
  // Parses the pickle at the begin of `bytes`. Throws an Error of kind checkpoint that starts with `what` (a path).
  Pickle(std::string_view bytes, std::string what);

  const PickleValue& result() const { return values_.at(result_); }
  const PickleValue& at(size_t place) const { return values_.at(place); }
  size_t size() const { return at_; }  // bytes that the pickle takes

 private:
  void step(uint8_t code);
  bool push_constant(uint8_t code);
  bool change_memo(uint8_t code);
  bool collect(uint8_t code);
  void call();
  void push(PickleValue value);
  void push_text(uint64_t size);
  void push_big_whole();
  size_t pop();
  void add_to_top(PickleValue::Kind kind, const std::vector<size_t>& items);
  std::vector<size_t> pop_items(size_t count);  // in the order in which they were pushed
  std::vector<size_t> pop_arguments();          // the items of a tuple
  std::vector<size_t> pop_to_mark();
  size_t& top();
  void remember(uint64_t key);
  void recall(uint64_t key);
  uint64_t number(size_t bytes);  // little-endian
  std::string_view take(uint64_t bytes);
  std::string line();
  [[noreturn]] void refuse(const std::string& why) const;

  std::string_view bytes_;
  std::string what_;
  size_t at_ = 0, result_ = 0;
  std::deque<PickleValue> values_;  // never removed, so that values can contain each other in cycles
  std::vector<size_t> stack_;
  std::vector<size_t> memo_;  // place + 1, or 0
};

}  // namespace weft
