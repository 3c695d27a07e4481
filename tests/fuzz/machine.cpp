// tests/fuzz/machine.cpp: a machine file of `weft plan --machine`. A machine that was read is written, and reads back.
#include "trainer/cluster/machine.h"

#include "tests/fuzz/target.h"
#include "trainer/config/config_text.h"

namespace {

std::string read_back(std::string_view bytes) {
  weft::Machine machine;
  std::vector<weft::Field> fields = weft::fields_of(machine);
  weft::apply_cfg_file(weft::fuzz::file("machine.cfg", bytes), fields, "plan");
  return weft::fields_to_cfg(weft::fields_of(machine));
}

void read_input(std::string_view bytes) {
  const std::string text = read_back(bytes);
  if (read_back(text) != text) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, read_input);
}
