// launch/reports/run_page.h: shows training runs as one HTML page: curves, samples, attention, configuration.
//
// The page needs no network, because it contains its style, its script and its data (JSON). The style, the script and
// the HTML frame are in launch/reports/run_page/.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "trainer/report/event_log.h"

namespace weft {

struct PageRun {
  std::string name, config;                       // config is the text of config.cfg
  std::function<void(const RecordVisitor&)> log;  // calls for_each_scored_record()
};

// Returns the data of the page. Its size is bounded for runs of any length: more than 2,000 steps are reduced to means
// of neighboring steps, and if there are more than 200 validations, some of them are without samples and attention.
nlohmann::ordered_json run_page_data(const std::vector<PageRun>& runs);

std::string run_page(const std::vector<PageRun>& runs);

}  // namespace weft
