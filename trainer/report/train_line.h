// trainer/report/train_line.h: describes a step of training in one line, for people.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

struct TrainStatus {
  int64_t step = 0, total_steps = 0;  // total_steps is 0 if train.minutes ends the run first
  std::string data;                   // stage and epochs, if there are stages or a mix; otherwise empty
  double fraction = 0;                // progress of the whole run, by steps or by minutes, whichever ends first
  double loss = 0, nll = 0, lr = 0, grad_norm = 0;
  double divergence = 0;                                              // part of the loss (train.consistency); 0: none
  double source_tokens_per_second = 0, target_tokens_per_second = 0;  // real tokens, all ranks
  double fill = 0;                                                    // share of rows that contain tokens, 0 to 1
  double mfu = 0;                                                     // model FLOP utilization, 0 to 1; 0: unknown
  double roofline = 0;  // minimum time of a step / its real time; 0: unknown
  std::string others;   // for example "others use 60 % of the cores"; otherwise empty
  double eta_seconds = 0;
};

// Returns loss, NLL, perplexity and so on in one line. If the line is longer than `width` columns, drops perplexity
// first, then the learning rate and so on, but always keeps the step, the loss and the remaining time.
std::string train_line(const TrainStatus& s, size_t width = std::string::npos);

}  // namespace weft
