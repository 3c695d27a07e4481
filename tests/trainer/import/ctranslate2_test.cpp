// tests/trainer/import/ctranslate2_test.cpp: exports for CTranslate2 come back.
#include "trainer/export/ctranslate2.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/errors.h"
#include "tests/trainer/export/export_fixture.h"
#include "tests/trainer/import/imported_values.h"
#include "trainer/import/imported_model.h"

namespace weft::testing {
namespace {

struct Form {
  const char* name;
  std::function<void(ModelConfig&)> change;
};

class Ctranslate2Import : public Export, public ::testing::WithParamInterface<Form> {
 protected:
  ImportedModel exported_and_imported() {
    const ExportedModel exported = model();
    OutputFolder folder(output(), /*force=*/false);
    export_ctranslate2(exported, folder);
    folder.commit();
    return import_ctranslate2(output());
  }
};

TEST_P(Ctranslate2Import, OfAnExportReturnsEveryBitAndTheSameOptions) {
  GetParam().change(config_);
  config_.tying == Tying::all ? give_joint_tokenizer() : give_two_tokenizers();
  const ImportedModel imported = exported_and_imported();
  ModelConfig found = imported.config.model, expected = config_;
  expected.dropout = found.dropout, expected.resolve(/*tp=*/1);
  EXPECT_EQ(found.positions, expected.positions);
  EXPECT_EQ(found.position_offset, expected.position_offset);
  EXPECT_EQ(found.activation, expected.activation);
  EXPECT_EQ(found.start_token, expected.start_token);
  EXPECT_EQ(found.norm, expected.norm);
  EXPECT_EQ(found.epsilon(), expected.epsilon());
  EXPECT_EQ(found.scale_embeddings, expected.scale_embeddings);
  EXPECT_EQ(found.num_kv_heads(), expected.num_kv_heads());
  ParamStore theirs(0, 1), mine(0, 1);
  const Transformer a(found, theirs, /*num_positions=*/1), b(expected, mine, /*num_positions=*/1);
  theirs.lay_out(), mine.lay_out();
  ASSERT_EQ(theirs.numel(), mine.numel());
  for (const Param& p : mine.params()) EXPECT_EQ(values_of(imported, p.spec.name), ours(p.spec.name)) << p.spec.name;
}

const Form kForms[] = {
    {"PreNorm", [](ModelConfig&) {}},
    {"PostNormOfMarian",
     [](ModelConfig& c) {
       c.norm = NormPosition::post, c.final_norm = false, c.positions = Positions::tensor2tensor;
       c.start_token = StartToken::zero, c.norm_eps = 1e-6, c.bias_output = true;
     }},
    {"TiedOutputAndHalves",
     [](ModelConfig& c) {
       c.tying = Tying::output, c.positions = Positions::halves, c.scale_embeddings = false;
       c.activation = FeedForwardActivation::gelu_sigmoid;
     }},
    {"LearnedPositionsAndNormOfEmbeddings",
     [](ModelConfig& c) {
       c.positions = Positions::learned, c.max_positions = 9, c.embedding_norm = true, c.tying = Tying::none;
       c.start_token = StartToken::eos;
     }},
    {"OffsetAndNoBiases",
     [](ModelConfig& c) {
       c.positions = Positions::tensor2tensor, c.position_offset = 2;
       c.bias_attention = c.bias_feed_forward = false;
     }},
    {"RotaryGroupedQueryGatedRms",
     [](ModelConfig& c) {
       c.heads = 6, c.kv_heads = 2, c.positions = Positions::rotary_halves, c.norm_kind = NormKind::rms;
       c.activation = FeedForwardActivation::swiglu;
     }},
};
INSTANTIATE_TEST_SUITE_P(Forms, Ctranslate2Import, ::testing::ValuesIn(kForms),
                         [](const auto& form) { return std::string(form.param.name); });

class Ctranslate2Damage : public Ctranslate2Import {};

TEST_F(Ctranslate2Damage, IsRefusedByName) {
  give_joint_tokenizer();
  exported_and_imported();
  const std::string good = read_file(output() + "/model.bin");
  const auto refused = [&](const std::string& bytes, const char* message) {
    write_file_atomically(output() + "/model.bin", bytes);
    expect_error([&] { import_ctranslate2(output()); }, ErrorKind::checkpoint, {message});
  };
  refused("\5" + good.substr(1), "version 5 of model.bin is not supported");
  refused(good.substr(0, good.size() - 9), "is truncated");
  const size_t at = good.find("encoder/layer_0/ffn/linear_1/bias");
  std::string deeper = good;
  const size_t heads = good.find("decoder/num_heads") + std::string("decoder/num_heads").size() + 1 + 1 + 1 + 4;
  deeper[heads] = 4;
  refused(deeper, "decoder/num_heads = 4 is not supported, only 3");
  std::string renamed = good;
  renamed[at] = 'E';
  refused(renamed, "lacks tensor 'encoder/layer_0/ffn/linear_1/bias'");
  write_file_atomically(output() + "/model.bin", good);
  std::filesystem::remove(output() + "/tokenizer.model");
  expect_error([&] { import_ctranslate2(output()); }, ErrorKind::checkpoint, {"source.model does not exist"});
}

}  // namespace
}  // namespace weft::testing
