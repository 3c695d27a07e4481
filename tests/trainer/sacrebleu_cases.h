// tests/trainer/sacrebleu_cases.h: the expected values that tests/reference/sacrebleu_cases.py wrote.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "trainer/version.h"

namespace weft {

inline const nlohmann::json& sacrebleu_cases() {
  static const nlohmann::json cases =
      nlohmann::json::parse(std::ifstream(WEFT_SOURCE_DIR "/tests/reference/sacrebleu_cases.json"));
  return cases;
}

// The line as sacreBLEU prints it, signed with our name.
inline std::string with_our_version(std::string line) {
  const std::string placeholder = "version:VERSION";
  return line.replace(line.find(placeholder), placeholder.size(), std::string("version:weft-") + kVersion);
}

}  // namespace weft
