// model/flops.cpp: the formula of flops.h, term by term.
#include "model/flops.h"

namespace weft {

TokenFlops forward_flops(const ModelConfig& c, double source_length, double target_length) {
  const auto width = static_cast<double>(c.width), feed_forward = static_cast<double>(c.feed_forward);
  const auto encoder_layers = static_cast<double>(c.encoder_layers);
  const auto decoder_layers = static_cast<double>(c.decoder_layers);
  const double square = 2 * width * width;                    // a projection of a row from width to width
  const double feed_forwards = 2 * 2 * width * feed_forward;  // up and down
  const double attended = 2 * 2 * width;                      // a key's score and its value's share

  const double encoder = 4 * square + feed_forwards + attended * source_length;  // q, k, v, out
  const double cross_keys = 2 * square;
  const double self = 4 * square + attended * (target_length + 1) / 2;
  const double cross = 2 * square + attended * source_length;  // q, out
  const double output = 2 * width * static_cast<double>(c.target_vocabulary);
  return {.source = encoder_layers * encoder + decoder_layers * cross_keys,
          .target = decoder_layers * (self + cross + feed_forwards) + output};
}

}  // namespace weft
