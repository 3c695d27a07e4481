// data/noise/rates.h: rates of named things, as users write them: "upper=0.05,typos=0.1".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Returns the rate of each of `names`, or 0 if none is given. Throws a one-line usage Error that names `option` and
// what is wrong. `kind` says what the names are, such as "noise".
std::vector<double> parse_rates(const std::string& option, const std::string& list,
                                const std::vector<std::string_view>& names, std::string_view kind);

// True with probability `rate` if `bits` are random.
bool drawn(double rate, uint32_t bits);

}  // namespace weft
