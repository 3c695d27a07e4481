// tests/launch/mpi_environment_test.cpp: launchers without PMIx and of another MPI library are detected.
#include "launch/mpi_environment.h"

#include <gtest/gtest.h>

#include "tensor/error.h"
#include "tests/support/errors.h"
#include "tests/support/variable.h"

namespace weft {
namespace {

TEST(RequireAllRanks, RefusesRanksThatDoNotSeeEachOther) {
  EXPECT_THROW(require_all_ranks({.as_rank = true, .size = 4}, 1), Error);
  EXPECT_NO_THROW(require_all_ranks({.as_rank = true, .size = 4}, 4));
  EXPECT_NO_THROW(require_all_ranks({.as_rank = true, .size = 0}, 3));  // the launcher gives no size
}

using testing::Variable;

class LaunchedByOthers : public ::testing::Test {
 protected:
  const Variable ranks_{"OMPI_COMM_WORLD_SIZE"}, pmi_size_{"PMI_SIZE"}, pmi_rank_{"PMI_RANK"}, pmix_{"PMIX_RANK"},
      tasks_{"SLURM_STEP_NUM_TASKS"};
};

TEST_F(LaunchedByOthers, AreRefusedIfPmixIsMissing) {
  const Variable tasks("SLURM_STEP_NUM_TASKS", "4");
  EXPECT_EQ(testing::message_of(ErrorKind::usage, [] { require_pmix(launched_as()); }),
            "4 processes were started without PMIx, and each would do all the work: use srun --mpi=pmix, or the mpirun "
            "of this program's MPI library");
  const Variable pmi2("PMI_RANK", "1");
  EXPECT_TRUE(testing::holds(testing::message_of(ErrorKind::usage, [] { require_pmix(launched_as()); }),
                             "several processes were started without PMIx"));
  const Variable pmix("PMIX_RANK", "1");
  EXPECT_NO_THROW(require_pmix(launched_as()));
}

TEST_F(LaunchedByOthers, AreSingleProcessesIfTheyAreAlone) {
  const Variable tasks("SLURM_STEP_NUM_TASKS", "1");
  EXPECT_FALSE(launched_as().as_rank);
  const Variable size("PMI_SIZE", "1"), rank("PMI_RANK", "0");
  EXPECT_FALSE(launched_as().as_rank);
}

}  // namespace
}  // namespace weft
