// launch/commands/train.cpp: `weft train` reads the configuration from a file and options, and trains on all ranks.
#include "launch/commands.h"
#include "launch/options/run_options.h"
#include "trainer/run/run.h"

namespace weft {

int run_train(const CommandContext& context) {
  RunConfig config;
  bool dry_run = false;
  if (!read_run_config(context.args, config, dry_run)) return 0;
  OtherPrograms others(*context.world);
  if (dry_run) {
    print_plan(config, *context.world, &others);
    return 0;
  }
  return run_training(config, *context.world, &others);
}

}  // namespace weft
