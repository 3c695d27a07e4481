// trainer/metrics/references.h: selects references for BLEU, chrF and TER, which accept several references per segment.
//
// references[r][i] is the r-th reference of segment i. If segments have different numbers of references, the signature
// of the score contains nrefs:var.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

inline constexpr int kVariableReferences = -1;  // the number of references differs between segments

std::string num_references_field(int num_references);  // "nrefs:2", "nrefs:var"

void require_references(size_t num_hypotheses, const std::vector<std::vector<std::string>>& references);
std::vector<std::string_view> references_of_segment(const std::vector<std::vector<std::string>>& references, size_t i);

}  // namespace weft
