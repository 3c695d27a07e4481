// tests/parity/decode_test.cpp: the encoder's output and the logits of incremental decoding equal PyTorch's.
#include <gtest/gtest.h>

#include "tests/parity/reference_cases.h"
#include "tests/support/compare.h"

namespace weft::testing {
namespace {

struct Rows {  // begin and end of each sentence's rows
  std::vector<int32_t> begin, end;
  SequenceRanges ranges(Pass& p) const { return {.begin = upload(p, begin), .end = upload(p, end)}; }
};
Rows rows_of(const std::vector<int32_t>& offsets) {
  return {{offsets.begin(), offsets.end() - 1}, {offsets.begin() + 1, offsets.end()}};
}

class PytorchDecoding : public ::testing::TestWithParam<ReferenceCase> {
 protected:
  PytorchDecoding()
      : file_(open(GetParam())),
        config_(config_of(file_)),
        weights_(parameters_of(file_, "weights", config_)),
        block_(block_of(file_)),
        model_(config_, *world_, /*seed=*/1),
        slots_(block_.num_sentences()),
        state_(model_.ctx, *model_.model, model_.tp, slots_, kLongest, static_cast<int64_t>(block_.source.size())) {
    put(model_.ctx, weights_, model_.params);
    std::vector<int32_t> ids = block_.source;
    for (size_t i = static_cast<size_t>(block_.source_tokens()); i < ids.size(); ++i) ids[i] = -1;
    Pass p = model_.pass(0, /*training=*/false);
    const Sequences source{upload(p, ids), upload(p, block_.source_positions),
                           rows_of(block_.source_offsets).ranges(p)};
    model_.model->start_decoding(p, source, state_);
  }

  // The logits of every target row, from one step for each position over all sentences that reach it.
  std::vector<float> logits_by_steps() {
    std::vector<float> all(static_cast<size_t>(block_.target_tokens() * config_.target_vocabulary));
    const Rows sources = rows_of(block_.source_offsets);
    Rows queries, keys;
    const auto num_slots = static_cast<size_t>(slots_);
    for (int32_t step = 0; step < kLongest; ++step) {
      std::vector<int32_t> ids(num_slots, -1), positions(num_slots, step), cache_rows(num_slots), row(num_slots);
      queries = keys = {row, row};
      for (size_t i = 0; i < num_slots; ++i) {
        const auto slot = static_cast<int32_t>(i);
        row[i] = block_.target_offsets[i] + step;
        const bool open = row[i] < block_.target_offsets[i + 1];
        if (open)
          ids[i] = block_.target_in[static_cast<size_t>(row[i])];
        else
          row[i] = -1;
        cache_rows[i] = slot * kLongest + step;
        queries.begin[i] = slot, queries.end[i] = slot + (open ? 1 : 0);
        keys.begin[i] = slot * kLongest, keys.end[i] = slot * kLongest + (open ? step + 1 : 0);
      }
      Pass p = model_.pass(0, /*training=*/false);
      p.arena.reset();
      const Tensor logits = p.arena.tensor({slots_, config_.target_vocabulary});
      model_.model->decode_step(p, upload(p, ids),
                                {.cache_rows = upload(p, cache_rows),
                                 .positions = upload(p, positions),
                                 .queries = queries.ranges(p),
                                 .self_keys = keys.ranges(p),
                                 .cross_keys = sources.ranges(p)},
                                state_, logits);
      const std::vector<float> got = to_host<float>(model_.ctx, logits);
      for (size_t i = 0; i < num_slots; ++i)
        if (row[i] >= 0)
          std::copy_n(got.begin() + static_cast<int64_t>(i) * logits.cols(), logits.cols(),
                      all.begin() + row[i] * logits.cols());
    }
    return all;
  }

  static constexpr int32_t kLongest = 10;
  ReferenceFile file_;
  ModelConfig config_;
  std::map<std::string, Doubles> weights_;
  Block block_;
  std::unique_ptr<Communicator> world_ = make_single_communicator();
  SmallModel model_;
  int64_t slots_;
  Transformer::DecodeState state_;
};

// Keys and values of cross-attention: W x + b in double, with x from the encoder and known weights.
TEST_P(PytorchDecoding, CachesKeysAndValuesOfTheSameEncoderOutput) {
  const Doubles encoder_output = file_.numbers("encoder_output");
  const auto width = static_cast<size_t>(config_.width), rows = encoder_output.size() / width;
  const auto kv_width = static_cast<size_t>(config_.num_kv_heads() * config_.head_size());
  for (int64_t layer = 0; layer < config_.decoder_layers; ++layer) {
    const std::string name = fmt::format("decoder.{}.cross_attention.kv.", layer);
    const Doubles& w = weights_.at(name + "weight");
    const Doubles b = config_.bias_attention ? weights_.at(name + "bias") : Doubles(2 * kv_width);
    Doubles k(rows * kv_width), v(rows * kv_width);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t o = 0; o < kv_width; ++o) {
        double &key = k[r * kv_width + o], &value = v[r * kv_width + o];
        key = b[o], value = b[kv_width + o];
        for (size_t i = 0; i < width; ++i) {
          key += w[o * width + i] * encoder_output[r * width + i];
          value += w[(kv_width + o) * width + i] * encoder_output[r * width + i];
        }
      }
    }
    const KeyValueCache& cache = state_.blocks[static_cast<size_t>(layer)].cross;
    const auto real = static_cast<int64_t>(rows);
    expect_close_in_norm(to_host<float>(model_.ctx, cache.k.slice_rows(0, real)), k, kTolerance, 0,
                         (name + "keys").c_str());
    expect_close_in_norm(to_host<float>(model_.ctx, cache.v.slice_rows(0, real)), v, kTolerance, 0,
                         (name + "values").c_str());
  }
}

TEST_P(PytorchDecoding, GivesTheSameLogitsStepByStep) {
  expect_close_in_norm(logits_by_steps(), file_.numbers("logits"), kTolerance, 0, "logits");
}

INSTANTIATE_TEST_SUITE_P(Cases, PytorchDecoding, ::testing::ValuesIn(kReferenceCases), name_of);

}  // namespace
}  // namespace weft::testing
