// launch/reports/run_page.h: training runs as one HTML page: curves, samples, attention, configuration.
//
// The page needs no network: its style, script and data are in it. launch/reports/run_page/ has the style, the script
// and the frame; the data are JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace weft {

struct PageRun {
  std::string name, config;         // config: the text of its config.cfg
  std::vector<nlohmann::json> log;  // docs/log-format.md
};

// What the page shows. Of more than 2,000 steps it has means of neighbouring ones.
nlohmann::ordered_json run_page_data(const std::vector<PageRun>& runs);

std::string run_page(const std::vector<PageRun>& runs);

}  // namespace weft
