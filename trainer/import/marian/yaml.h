// trainer/import/marian/yaml.h: reads the top level of an untrusted YAML file, such as Marian's.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weft {

// Returns an object of the entries whose values are scalars or lists of scalars. Other values become null. Aliases
// that multiply the text are refused. Plain scalars become numbers, true, false or null if YAML 1.2 (10.3.2) says so,
// and all others strings. Throws an Error of kind checkpoint that starts with `what` (a path).
nlohmann::json parse_yaml(const std::string& text, const std::string& what);

}  // namespace weft
