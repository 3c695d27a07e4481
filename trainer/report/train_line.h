// trainer/report/train_line.h: a step of training in one line, for people.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

struct TrainStatus {
  int64_t step = 0, total_steps = 0;  // total_steps: 0 if the run's time ends it first
  std::string data;                   // its stage and epochs, with stages or a mix; else empty
  double fraction = 0;                // of the whole run, by steps or by minutes, whichever ends first
  double loss = 0, nll = 0, lr = 0, grad_norm = 0;
  double source_tokens_per_second = 0, target_tokens_per_second = 0;  // real tokens, all ranks
  double fill = 0;                                                    // of the blocks' rows, 0 to 1
  double mfu = 0;                                                     // model FLOP utilisation, 0 to 1; 0: not known
  double roofline = 0;  // the least time of a step, as a share of its time; 0: not known
  double eta_seconds = 0;
};

// Loss, NLL, perplexity, ... in one line. Of what does not fit in `width` columns, perplexity goes first, then the
// learning rate, ...; the step, the loss and the time that is left stay.
std::string train_line(const TrainStatus& s, size_t width = std::string::npos);

}  // namespace weft
