// tests/model/grid_variants_test.cpp: each option of docs/model.md, changed by itself, changes the model and
// gives the same results on every grid.
//
// Grids with tp run with and without sequence parallelism.
#include <gtest/gtest.h>

#include "tests/support/definition/kinks.h"
#include "tests/support/grid_comparison.h"

namespace weft::testing {
namespace {

constexpr double kSmoothing = 0.1;

struct Variant {
  const char* name;
  void (*change)(ModelConfig&);
  double smoothing = kSmoothing;
};

// The base of the variants: no option set, no dropout.
ModelConfig plain_model() {
  ModelConfig c;
  c.width = 16, c.heads = 4, c.feed_forward = 20, c.encoder_layers = c.decoder_layers = 1;
  c.source_vocabulary = c.target_vocabulary = 23;
  c.dropout = 0;
  return c;
}

void separate_vocabularies(ModelConfig& c, Tying tying) { c.tying = tying, c.target_vocabulary = 17; }

const Variant kVariants[] = {
    {"post_with_final_norms", [](ModelConfig& c) { c.final_norm = true; }},
    {"pre", [](ModelConfig& c) { c.norm = NormPosition::pre; }},
    {"pre_with_final_norms", [](ModelConfig& c) { c.norm = NormPosition::pre, c.final_norm = true; }},
    {"gelu", [](ModelConfig& c) { c.activation = FeedForwardActivation::gelu; }},
    {"gelu_tanh", [](ModelConfig& c) { c.activation = FeedForwardActivation::gelu_tanh; }},
    {"gelu_sigmoid", [](ModelConfig& c) { c.activation = FeedForwardActivation::gelu_sigmoid; }},
    {"silu", [](ModelConfig& c) { c.activation = FeedForwardActivation::silu; }},
    {"glu", [](ModelConfig& c) { c.activation = FeedForwardActivation::glu; }},
    {"geglu", [](ModelConfig& c) { c.activation = FeedForwardActivation::geglu; }},
    {"swiglu", [](ModelConfig& c) { c.activation = FeedForwardActivation::swiglu; }},
    {"swiglu_dropped",
     [](ModelConfig& c) { c.activation = FeedForwardActivation::swiglu, c.dropout_feed_forward = 0.3; }},
    {"rms_norm", [](ModelConfig& c) { c.norm_kind = NormKind::rms, c.final_norm = true; }},
    {"rms_norm_pre", [](ModelConfig& c) { c.norm_kind = NormKind::rms, c.norm = NormPosition::pre; }},
    {"norm_eps", [](ModelConfig& c) { c.norm_eps = 0.1; }},
    {"embedding_norm", [](ModelConfig& c) { c.embedding_norm = true; }},
    {"embedding_norm_dropped", [](ModelConfig& c) { c.embedding_norm = true, c.dropout_embedding = 0.3; }},
    {"no_bias_in_attention", [](ModelConfig& c) { c.bias_attention = false; }},
    {"no_bias_in_feed_forward", [](ModelConfig& c) { c.bias_feed_forward = false; }},
    {"output_bias", [](ModelConfig& c) { c.bias_output = true; }},
    {"output_bias_untied", [](ModelConfig& c) { c.bias_output = true, c.tying = Tying::none; }},
    {"tying_none", [](ModelConfig& c) { c.tying = Tying::none; }},
    {"tying_output", [](ModelConfig& c) { c.tying = Tying::output; }},
    {"separate_vocabularies_tying_none", [](ModelConfig& c) { separate_vocabularies(c, Tying::none); }},
    {"separate_vocabularies_tying_output", [](ModelConfig& c) { separate_vocabularies(c, Tying::output); }},
    {"unscaled_embeddings", [](ModelConfig& c) { c.scale_embeddings = false; }},
    {"start_from_eos", [](ModelConfig& c) { c.start_token = StartToken::eos; }},
    {"start_from_zero", [](ModelConfig& c) { c.start_token = StartToken::zero; }},
    {"positions_halves", [](ModelConfig& c) { c.positions = Positions::halves; }},
    {"positions_tensor2tensor", [](ModelConfig& c) { c.positions = Positions::tensor2tensor; }},
    {"positions_learned", [](ModelConfig& c) { c.positions = Positions::learned, c.max_positions = 9; }},
    {"positions_rotary", [](ModelConfig& c) { c.positions = Positions::rotary; }},
    {"positions_rotary_halves", [](ModelConfig& c) { c.positions = Positions::rotary_halves; }},
    {"position_offset", [](ModelConfig& c) { c.position_offset = 2; }},
    {"embedding_init_xavier", [](ModelConfig& c) { c.embedding_init = EmbeddingInit::xavier; }},
    {"dropout_embedding", [](ModelConfig& c) { c.dropout_embedding = 0.3; }},
    {"dropout_embedding_on_learned_positions",
     [](ModelConfig& c) { c.positions = Positions::learned, c.max_positions = 9, c.dropout_embedding = 0.3; }},
    {"dropout_residual", [](ModelConfig& c) { c.dropout_residual = 0.3; }},
    {"dropout_attention", [](ModelConfig& c) { c.dropout_attention = 0.3; }},
    {"dropout_feed_forward", [](ModelConfig& c) { c.dropout_feed_forward = 0.3; }},
    {"dropout", [](ModelConfig& c) { c.dropout = 0.3; }},
    {"half_as_many_kv_heads", [](ModelConfig& c) { c.heads = 8, c.kv_heads = 4; }},
    {"half_as_many_kv_heads_dropped", [](ModelConfig& c) { c.heads = 8, c.kv_heads = 4, c.dropout_attention = 0.3; }},
    {"adapters", [](ModelConfig& c) { c.lora = {.rank = 4}; }},
    {"adapters_of_all_matrices",
     [](ModelConfig& c) { c.lora = {.rank = 3, .alpha = 9, .targets = "q,k,v,out,up,down"}; }},
    {"adapters_dropped", [](ModelConfig& c) { c.lora = {.rank = 2, .dropout = 0.3, .targets = "k,out,up,down"}; }},
    {"adapters_of_gates_and_shared_keys",
     [](ModelConfig& c) {
       c.activation = FeedForwardActivation::geglu, c.heads = 8, c.kv_heads = 4;
       c.lora = {.rank = 2, .dropout = 0.2, .targets = "v,up"};
     }},
    {"deeper_encoder", [](ModelConfig& c) { c.encoder_layers = 3; }},
    {"deeper_decoder", [](ModelConfig& c) { c.decoder_layers = 3; }},
    {"no_label_smoothing", [](ModelConfig&) {}, 0},
    {"much_label_smoothing", [](ModelConfig&) {}, 0.4},
};

const std::vector<Grid> kGrids{{2, 1}, {1, 2}, {2, 2}, {1, 4}, {1, 2, /*sequence=*/true}, {2, 2, true}, {1, 4, true}};

class EveryOption : public ::testing::TestWithParam<Variant> {};

TEST_P(EveryOption, ChangesTheModelAndIsTheSameOnEveryGrid) {
  const Variant& v = GetParam();
  ModelConfig config = plain_model();
  v.change(config);
  const std::vector<Block> blocks = random_blocks_off_kinks(config, /*count=*/4, 20, 24, 8);
  const GridResult one = run_on_grid(config, blocks, 1, 1, v.smoothing);
  EXPECT_NE(differences(one, run_on_grid(plain_model(), blocks, 1, 1, kSmoothing)), std::vector<std::string>{})
      << "the option does nothing";
  EXPECT_EQ(blind_spots(one, one), std::vector<std::string>{}) << "errors of ten tolerances that nobody would see";
  for (const Grid& grid : all_or_few(kGrids, {{2, 2}, {2, 2, /*sequence=*/true}}))
    for (const std::string& difference :
         differences(run_on_grid(config, blocks, grid.dp, grid.tp, v.smoothing, {.sequence = grid.sequence}), one))
      ADD_FAILURE() << grid.name() << ", " << v.name << ", " << difference;
}

INSTANTIATE_TEST_SUITE_P(Options, EveryOption, ::testing::ValuesIn(kVariants),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace weft::testing
