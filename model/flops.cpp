// model/flops.cpp: computes the formula of flops.h, term by term.
#include "model/flops.h"

namespace weft {

TokenFlops forward_flops(const ModelConfig& c, double source_length, double target_length) {
  const auto width = static_cast<double>(c.width), feed_forward = static_cast<double>(c.feed_forward);
  const auto encoder_layers = static_cast<double>(c.encoder_layers);
  const auto decoder_layers = static_cast<double>(c.decoder_layers);
  const double square = 2 * width * width;  // a projection of a row from width to width
  const double keys_and_values = 2 * square * static_cast<double>(c.num_kv_heads()) / static_cast<double>(c.heads);
  const double matrices = is_gated(c.activation) ? 3 : 2;  // up, down and, if gated, the gate
  const double feed_forwards = matrices * 2 * width * feed_forward;
  const double attended = 2 * 2 * width;  // per key: the score, and the contribution of its value

  const double self = 2 * square + keys_and_values;  // q and out; k and v
  const double encoder = self + feed_forwards + attended * source_length;
  const double causal = self + attended * (target_length + 1) / 2;
  const double cross = 2 * square + attended * source_length;  // q, out
  const double output = 2 * width * static_cast<double>(c.target_vocabulary);
  return {.source = encoder_layers * encoder + decoder_layers * keys_and_values,
          .target = decoder_layers * (causal + cross + feed_forwards) + output};
}

}  // namespace weft
