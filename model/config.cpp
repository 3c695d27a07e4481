// model/config.cpp: checks that a model can be built on a grid of ranks.
#include "model/config.h"

#include <string>

#include "data/batch.h"
#include "tensor/error.h"

namespace weft {
namespace {

// These limits exceed any model ever trained, but they are low enough that their products do not overflow.
constexpr int64_t kMaxUnits = 1 << 20, kMaxBlocks = 1000, kMaxEntries = 1 << 24;

void require_within(int64_t value, int64_t most, const char* option) {
  if (value < 1) fail(ErrorKind::usage, fmt::format("{} = {} must be at least 1", option, value));
  if (value > most) fail(ErrorKind::usage, fmt::format("{} = {} must be at most {}", option, value, most));
}

void require_divides(int64_t whole, const char* whole_option, int64_t parts, const char* parts_option) {
  if (whole % parts == 0) return;
  fail(ErrorKind::usage, fmt::format("{} = {} is not divisible by {} = {}: change one of the two", whole_option, whole,
                                     parts_option, parts));
}

void resolve_rate(double& rate, double common, const char* option) {
  if (rate == -1) rate = common;
  if (!(rate >= 0 && rate < 1)) fail(ErrorKind::usage, fmt::format("{} = {} must be in [0, 1)", option, rate));
}

void check_norm_eps(const ModelConfig& c) {
  constexpr double kLeast = 1e-12;
  if (c.norm_eps != 0 && !(c.norm_eps >= kLeast && c.norm_eps < 1))
    fail(ErrorKind::usage, fmt::format("model.norm_eps = {} must be in [{}, 1), or 0 for {}", c.norm_eps, kLeast,
                                       formula_of(c.norm_kind).eps));
}

constexpr int64_t kUsualPositions = 1024, kMaxPositions = 1 << 20;

void refuse_option(const char* option, int64_t value, const std::string& why) {
  if (value != 0) fail(ErrorKind::usage, fmt::format("{} = {} must be 0, because {}", option, value, why));
}

void resolve_positions(ModelConfig& c) {
  if (c.position_offset < -kMaxPositions || c.position_offset > kMaxPositions)
    fail(ErrorKind::usage, fmt::format("model.position_offset = {} must be between {} and {}", c.position_offset,
                                       -kMaxPositions, kMaxPositions));
  if (c.positions != Positions::learned)
    refuse_option("model.max_positions", c.max_positions,
                  "only model.positions = learned limits the length of sentences");
  if (is_rotary(c.positions)) {
    refuse_option("model.position_offset", c.position_offset, "rotary positions use only distances between tokens");
    if (c.head_size() % 2 != 0)
      fail(ErrorKind::usage, fmt::format("model.width / model.heads = {} must be even, because rotary positions "
                                         "rotate pairs of columns",
                                         c.head_size()));
  }
  if (c.positions != Positions::learned) return;
  refuse_option("model.position_offset", c.position_offset,
                "with model.positions = learned, the first token always uses the first row of the table");
  if (c.max_positions == 0) c.max_positions = kUsualPositions;
  if (c.max_positions < 2)
    fail(ErrorKind::usage, fmt::format("model.max_positions = {} must be 0 (for {}) or at least 2 (a token and eos)",
                                       c.max_positions, kUsualPositions));
  require_within(c.max_positions, kMaxPositions, "model.max_positions");
}

}  // namespace

PositionLayout sinusoid_layout(Positions positions) {
  switch (positions) {
    case Positions::interleaved:
      return PositionLayout::interleaved;
    case Positions::halves:
      return PositionLayout::halves;
    case Positions::tensor2tensor:
      return PositionLayout::tensor2tensor;
    default:
      fail(ErrorKind::internal, "these positions are not sinusoids");
  }
}

int32_t ModelConfig::start_id() const {
  switch (start_token) {
    case StartToken::bos:
      return SpecialIds::bos;
    case StartToken::eos:
      return SpecialIds::eos;
    case StartToken::zero:
      break;
  }
  return -1;
}

void ModelConfig::resolve(int64_t tp) {
  require_within(width, kMaxUnits, "model.width");
  require_within(heads, kMaxUnits, "model.heads");
  require_within(feed_forward, kMaxUnits, "model.feed_forward");
  require_within(encoder_layers, kMaxBlocks, "model.encoder_layers");
  require_within(decoder_layers, kMaxBlocks, "model.decoder_layers");
  require_within(source_vocabulary, kMaxEntries, "model.source_vocabulary");
  require_within(target_vocabulary, kMaxEntries, "model.target_vocabulary");
  require_within(tp, kMaxUnits, "parallel.tp");
  require_divides(width, "model.width", heads, "model.heads");
  require_divides(heads, "model.heads", tp, "parallel.tp");
  if (kv_heads < 0)
    fail(ErrorKind::usage, fmt::format("model.kv_heads = {} must be 0 (same as model.heads) or at least 1", kv_heads));
  if (kv_heads != 0) {
    require_divides(heads, "model.heads", kv_heads, "model.kv_heads");
    require_divides(kv_heads, "model.kv_heads", tp, "parallel.tp");
  }
  require_divides(feed_forward, "model.feed_forward", tp, "parallel.tp");
  if (target_vocabulary < tp)
    fail(ErrorKind::usage,
         fmt::format("the target vocabulary of {} entries is too small for parallel.tp = {}; use a smaller parallel.tp",
                     target_vocabulary, tp));
  if (tying == Tying::all && source_vocabulary != target_vocabulary)
    fail(ErrorKind::usage,
         fmt::format("model.tying = all needs one joint vocabulary, but the source has {} entries and the target {}: "
                     "use model.tying = output, or pack without --separate-vocabularies",
                     source_vocabulary, target_vocabulary));
  lora.check();
  check_norm_eps(*this);
  resolve_positions(*this);
  resolve_rate(dropout, dropout, "model.dropout");
  resolve_rate(dropout_embedding, dropout, "model.dropout_embedding");
  resolve_rate(dropout_residual, dropout, "model.dropout_residual");
  resolve_rate(dropout_attention, dropout, "model.dropout_attention");
  resolve_rate(dropout_feed_forward, dropout, "model.dropout_feed_forward");
}

}  // namespace weft
