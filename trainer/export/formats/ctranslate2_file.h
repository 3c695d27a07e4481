// trainer/export/formats/ctranslate2_file.h: writes CTranslate2's model.bin: variables and aliases by name.
//
// The file has version 6 of the binary format and revision 7 of TransformerSpec (OpenNMT/CTranslate2 0d8bcd36,
// python/ctranslate2/specs/model_spec.py). It is little-endian: u32 version; name of the specification; u32 revision;
// u32 number of variables, each with name, u8 rank, u32 sizes, u8 type, u32 bytes, values; u32 number of aliases, each
// with name and variable's name. A name is u16 length + 1, bytes, NUL. Variables and aliases are sorted by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trainer/export/weights.h"

namespace weft {

class Ctranslate2File {
 public:
  void flag(const std::string& name, bool value) { small_number(name, value ? 1 : 0); }
  void small_number(const std::string& name, int8_t value);
  void short_number(const std::string& name, int16_t value);
  void number(const std::string& name, int32_t value);
  void real(const std::string& name, float value);
  // Adds an f32 array; write() calls `values`. Throws an Error of kind usage for 4 GiB or more, because sizes are u32.
  void array(const std::string& name, std::vector<int64_t> shape, MakeValues values);
  void alias(const std::string& name, const std::string& variable) { aliases_[name] = variable; }

  void write(const std::string& path) const;  // REQUIRES: the file is new

 private:
  struct Variable {
    std::vector<int64_t> shape;  // []: a scalar
    uint8_t type;
    std::string bytes;  // value of a scalar
    MakeValues values;  // values of an array
  };
  template <typename T>
  void scalar(const std::string& name, uint8_t type, T value);

  std::map<std::string, Variable> variables_;
  std::map<std::string, std::string> aliases_;
};

}  // namespace weft
