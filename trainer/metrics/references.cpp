// trainer/metrics/references.cpp: checks and selects references, and formats their number for signatures.
#include "trainer/metrics/references.h"

#include "tensor/error.h"

namespace weft {

std::string num_references_field(int num_references) {
  return num_references == kVariableReferences ? "nrefs:var" : fmt::format("nrefs:{}", num_references);
}

void require_references(size_t num_hypotheses, const std::vector<std::vector<std::string>>& references) {
  for (const auto& reference : references) {
    require(reference.size() == num_hypotheses, ErrorKind::internal, "a score needs a reference for every hypothesis");
  }
}

std::vector<std::string_view> references_of_segment(const std::vector<std::vector<std::string>>& references, size_t i) {
  std::vector<std::string_view> of_segment;
  for (const auto& reference : references) of_segment.push_back(reference[i]);
  return of_segment;
}

}  // namespace weft
