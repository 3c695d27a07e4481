// data/noise/rates.cpp: parses rates of named things.
#include "data/noise/rates.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "data/text/number.h"
#include "data/text/split.h"
#include "tensor/error.h"

namespace weft {

std::vector<double> parse_rates(const std::string& option, const std::string& list,
                                const std::vector<std::string_view>& names, std::string_view kind) {
  std::vector<double> rates(names.size());
  const auto bad = [&](const std::string& what) {
    fail(ErrorKind::usage, fmt::format("{} {}: {}", option, printable(list), what));
  };
  if (list.empty()) return rates;
  for (const std::string& item : split_at_commas(list)) {
    const size_t equals = item.find('=');
    const std::string name = item.substr(0, equals);
    const auto found = std::ranges::find(names, name);
    if (found == names.end())
      bad(fmt::format("'{}' is not a kind of {}; give one of {}", printable(name), kind, fmt::join(names, ", ")));
    if (equals == std::string::npos) bad(fmt::format("'{}' lacks a rate; write for example {}=0.05", name, name));
    double& rate = rates[static_cast<size_t>(found - names.begin())];
    if (rate != 0) bad(fmt::format("'{}' is given twice", name));
    const std::string number = item.substr(equals + 1);
    rate = parse_number<double>(number).value_or(0);
    if (!(rate > 0 && rate <= 1))
      bad(fmt::format("'{}' is not a rate; give a number above 0 and at most 1", printable(number)));
  }
  return rates;
}

bool drawn(double rate, uint32_t bits) { return bits < static_cast<uint64_t>(rate * 0x1p32); }

}  // namespace weft
