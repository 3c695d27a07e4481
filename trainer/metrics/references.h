// trainer/metrics/references.h: what BLEU, chrF and TER have in common: several references a segment.
//
// references[r][i] is the r-th reference of segment i; each metric's statistics of a segment take the references of
// that segment. A segment may have fewer than others; the scores of such a corpus are signed nrefs:var.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

inline constexpr int kVariableReferences = -1;  // as a number of references: not the same for all segments

std::string num_references_field(int num_references);  // "nrefs:2", "nrefs:var"

void require_references(size_t num_hypotheses, const std::vector<std::vector<std::string>>& references);
std::vector<std::string_view> references_of_segment(const std::vector<std::vector<std::string>>& references, size_t i);

}  // namespace weft
