// launch/reports/run_page.h: shows training runs as one HTML page: curves, samples, attention, configuration.
//
// The page needs no network, because it contains its style, its script and its data (JSON). The style, the script and
// the HTML frame are in launch/reports/run_page/.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace weft {

struct PageRun {
  std::string name, config;         // config is the text of config.cfg
  std::vector<nlohmann::json> log;  // docs/formats/log-format.md
};

// Returns the data of the page. Runs of more than 2,000 steps are reduced to means of neighboring steps.
nlohmann::ordered_json run_page_data(const std::vector<PageRun>& runs);

std::string run_page(const std::vector<PageRun>& runs);

}  // namespace weft
