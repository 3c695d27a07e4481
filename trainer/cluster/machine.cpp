// trainer/cluster/machine.cpp: parses numbers with their origin, and checks machines.
#include "trainer/cluster/machine.h"

#include <algorithm>

#include "data/text/number.h"
#include "tensor/error.h"

namespace weft {
namespace {

void require_positive(double value, const char* key, const char* use) {
  if (value > 0) return;
  fail(ErrorKind::usage, fmt::format("{} must be above 0 to predict {}: set it in the machine file", key, use));
}

}  // namespace

bool Constant::parse(const std::string& text) {
  const size_t space = text.find(' ');
  const std::optional<double> number = parse_number<double>(std::string_view(text).substr(0, space));
  if (!number || *number < 0) return false;
  Constant parsed{.value = *number, .origin = ConstantOrigin::given};
  if (space != std::string::npos) {
    const std::string word = text.substr(std::min(text.find_first_not_of(' ', space), text.size()));
    bool known = false;
    for (const auto& [name, origin] : enum_names(ConstantOrigin{}))
      if (word == name) parsed.origin = origin, known = true;
    if (!known) return false;
  }
  *this = parsed;
  return true;
}

std::string Constant::text() const { return fmt::format("{} {}", value, name_of_enum(origin)); }

void check_machine(const Machine& m, int64_t ranks) {
  if (m.node.ranks < 1) fail(ErrorKind::usage, fmt::format("node.ranks = {} must be at least 1", m.node.ranks));
  if (!(m.other_programs >= 0 && m.other_programs <= 1))
    fail(ErrorKind::usage, fmt::format("other_programs = {} must be between 0 and 1", m.other_programs));
  if (m.node.cores < 0) fail(ErrorKind::usage, fmt::format("node.cores = {} must be at least 0", m.node.cores));
  if (m.processor.lost_to_collectives.value > 1)
    fail(ErrorKind::usage,
         fmt::format("processor.lost_to_collectives = {} must be at most 1", m.processor.lost_to_collectives.value));
  require_positive(m.processor.flops, "processor.flops", "a step");
  require_positive(m.processor.update_bandwidth, "processor.update_bandwidth", "a step");
  require_positive(m.processor.sentences, "processor.sentences", "validations");
  require_positive(m.disk.bandwidth, "disk.bandwidth", "saves");
  if (ranks > 1 && m.node.ranks > 1) require_positive(m.node.bandwidth, "node.bandwidth", "several ranks per node");
  if (ranks > m.node.ranks) require_positive(m.network.bandwidth, "network.bandwidth", "several nodes");
}

}  // namespace weft
