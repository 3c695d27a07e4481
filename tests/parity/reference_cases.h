// tests/parity/reference_cases.h: the models of tests/reference/pytorch/*_norm.h5 and variants.h5,
// for parameterised tests.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "tests/parity/reference_model.h"

namespace weft::testing {

struct ReferenceCase {
  const char *file, *name;
};
inline std::ostream& operator<<(std::ostream& out, const ReferenceCase& c) { return out << c.name; }

inline constexpr ReferenceCase kReferenceCases[] = {{"post_norm.h5", "post_relu"},
                                                    {"post_norm.h5", "post_gelu"},
                                                    {"post_norm.h5", "paper"},
                                                    {"pre_norm.h5", "pre_relu"},
                                                    {"pre_norm.h5", "pre_gelu"},
                                                    {"variants.h5", "pre_rms_swiglu_grouped"},
                                                    {"variants.h5", "post_geglu_one_kv_head"},
                                                    {"variants.h5", "pre_silu_rotary"},
                                                    {"variants.h5", "post_rms_glu"}};

inline ReferenceFile open(const ReferenceCase& c) { return ReferenceFile(c.file, c.name); }
inline std::string name_of(const ::testing::TestParamInfo<ReferenceCase>& info) { return info.param.name; }

}  // namespace weft::testing
