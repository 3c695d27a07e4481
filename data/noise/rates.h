// data/noise/rates.h: parses rates of named things, as users write them: "upper=0.05,typos=0.1".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Returns one rate per name, or 0 for a name that `list` does not contain. Throws a one-line usage Error that names
// `option` and what is wrong. Messages call a name a kind of `kind`, such as "noise".
std::vector<double> parse_rates(const std::string& option, const std::string& list,
                                const std::vector<std::string_view>& names, std::string_view kind);

// Returns true with probability `rate` if `bits` are random.
bool drawn(double rate, uint32_t bits);

}  // namespace weft
