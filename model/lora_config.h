// model/lora_config.h: defines the options of low-rank adapters (Hu et al. 2021, "LoRA", section 4.1).
#pragma once

#include <cstdint>
#include <string>

#include "tensor/on_resume.h"

namespace weft {

struct LoraConfig {
  int64_t rank = 0;
  double alpha = 0, dropout = 0;
  std::string targets = "q,v";

  template <typename V>
  void fields(V& v) {
    v("rank", rank,
      "train only low-rank adapters of matrices, W + alpha / rank * B A, where B and A have this rank; all other "
      "parameters keep the values of train.init; 0 = no adapters",
      OnResume::model);
    v("alpha", alpha, "factor alpha of the adapters' update; 0 = lora.rank", OnResume::model);
    v("dropout", dropout, "dropout rate of the adapters' inputs", OnResume::retrains);
    v("targets", targets,
      "matrices that get adapters, separated by commas: q, k, v and out of all attention layers, and up and down of "
      "the "
      "feed-forward layers",
      OnResume::model);
  }

  bool on() const { return rank > 0; }
  bool targets_part(const std::string& part) const;  // "q"
  double scale() const { return alpha > 0 ? alpha / static_cast<double>(rank) : 1; }
  void check() const;  // throws an Error of kind usage that names the option
};

}  // namespace weft
