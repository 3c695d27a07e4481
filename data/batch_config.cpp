// data/batch_config.cpp: checks the ranges of the options.
#include "data/batch_config.h"

#include "tensor/error.h"

namespace weft {
namespace {

// These limits are far above practical values, but low enough that products do not overflow.
constexpr int64_t kMaxRows = 1 << 20, kMaxBlocks = 1 << 16, kMaxPairs = 1 << 30;

void require_in(int64_t value, int64_t least, int64_t most, const char* name) {
  if (value < least) fail(ErrorKind::usage, fmt::format("batch.{} = {} must be at least {}", name, value, least));
  if (value > most) fail(ErrorKind::usage, fmt::format("batch.{} = {} must be at most {}", name, value, most));
}

}  // namespace

void resolve_blocks(BatchConfig& c) {
  require_in(c.rows, 2, kMaxRows, "rows");
  require_in(c.tokens, 0, kMaxRows * kMaxBlocks, "tokens");
  c.blocks = c.blocks_of_step();
  require_in(c.source_rows, 2, kMaxRows, "source_rows");
  require_in(c.blocks, 1, kMaxBlocks, "blocks");
  require_in(c.look_ahead, 1, kMaxPairs, "look_ahead");
  require_in(c.page, 1, kMaxPairs, "page");
  require_in(c.window, 1, kMaxPairs, "window");
}

}  // namespace weft
