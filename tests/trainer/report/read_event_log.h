// tests/trainer/report/read_event_log.h: all records of a log at once.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trainer/report/event_log.h"

namespace weft {

inline std::vector<nlohmann::json> read_event_log(const std::string& path) {
  std::vector<nlohmann::json> records;
  for_each_record(path, [&](nlohmann::json&& record) { records.push_back(std::move(record)); });
  return records;
}

}  // namespace weft
