// trainer/config/absolute_paths.h: lists the options that contain paths, and makes these paths absolute, so that a
// saved configuration names the same files in every current folder.
#pragma once

#include "trainer/config/run_config.h"

namespace weft {

// Leaves paths relative if the name of the current folder contains a character that the options cannot hold.
RunConfig with_absolute_paths(RunConfig config);

}  // namespace weft
