// tests/launch/mpi_environment_test.cpp: launchers of another MPI library are detected.
#include "launch/mpi_environment.h"

#include <gtest/gtest.h>

#include "tensor/error.h"

namespace weft {
namespace {

TEST(RequireAllRanks, RefusesRanksThatDoNotSeeEachOther) {
  EXPECT_THROW(require_all_ranks({.as_rank = true, .size = 4}, 1), Error);
  EXPECT_NO_THROW(require_all_ranks({.as_rank = true, .size = 4}, 4));
  EXPECT_NO_THROW(require_all_ranks({.as_rank = true, .size = 0}, 3));  // the launcher gives no size
}

}  // namespace
}  // namespace weft
