// tests/launch/commands/vocabulary_test.cpp: `weft vocabulary`: rows of kept, composed and new entries, and what it
// refuses.
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "data/atomic_file.h"
#include "data/subword/piece_list.h"
#include "data/subword/piece_splitter.h"
#include "launch/commands.h"
#include "model/transformer.h"
#include "tests/support/errors.h"
#include "tests/support/text_corpus.h"
#include "trainer/checkpoint/stored_model.h"
#include "trainer/config/config_text.h"
#include "trainer/train_state.h"

namespace weft::testing {
namespace {

class Vocabulary : public ::testing::Test {
 protected:
  static constexpr int64_t kWidth = 8;

  static const TextCorpus& corpus() {
    static const TextCorpus text(/*num_pairs=*/60);
    return text;
  }
  static std::string tokenizer() { return corpus().folder() + "/tokenizer.model"; }
  static PieceList pieces() { return read_pieces(read_file(tokenizer()), "tokenizer"); }

  // A checkpoint with random weights and these files of tokenizers.
  std::string saved(Tying tying, const std::map<std::string, std::string>& tokenizers, int64_t step = 7) const {
    RunConfig c;
    c.model = {.width = kWidth, .heads = 2, .feed_forward = 8, .encoder_layers = 1, .decoder_layers = 1};
    c.model.bias_output = true, c.model.tying = tying;
    c.model.source_vocabulary = c.model.target_vocabulary = pieces().entries;
    c.parallel = {.dp = 1, .tp = 1};
    c.model.resolve(1);
    ParamStore params(0, 1);
    const Transformer model(c.model, params, /*num_positions=*/1);
    Context ctx;
    params.allocate();
    params.initialize(ctx, 3);
    for (int64_t i = 0; const Param& p : params.params())
      if (p.spec.name == "output.bias")
        for (; i < p.numel(); ++i) p.value.ptr<float>()[i] = static_cast<float>(i);
    const auto alone = make_single_communicator();
    return save_checkpoint(
        ctx, folder_ / "run/checkpoints", Mesh(*alone, c.parallel),
        {.step = step,
         .params = params,
         .buffers = {{"model", "", params.values()}},
         .state = TrainState{.step = step, .cursor = {.num_streams = 1, .streams = {{0, {}}}}}.to_json(),
         .extras = {.config = to_cfg(c), .files = tokenizers}});
  }
  std::string saved() const { return saved(Tying::all, {{"tokenizer.model", read_file(tokenizer())}}); }
  std::string grown_tokenizer() const {  // with a word of two old pieces, and a character
    PieceList list = pieces();
    const std::vector<Piece> added{{.text = list.pieces[40].text + list.pieces[41].text}, {.text = "\u6F22"}};
    list.pieces.insert(list.pieces.end(), added.begin(), added.end());
    list.entries += 2;
    write_file_atomically(folder_ / "grown.model", with_pieces(read_file(tokenizer()), list));
    return folder_ / "grown.model";
  }
  static std::vector<int64_t> old_ids(const std::string& text) {  // of the text's pieces
    std::vector<int64_t> ids;
    const Tokenizer known(tokenizer());
    for (const std::string& piece : PieceSplitter(without_normalization(read_file(tokenizer())), "model").split(text))
      ids.push_back(known.id_of(piece));
    return ids;
  }
  void change(std::vector<std::string> args) const {
    args.insert(args.end(), {"--checkpoint", folder_ / "run", "--output", output()});
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(run_vocabulary({.args = args}), 0);
    printed_ = ::testing::internal::GetCapturedStdout();
  }
  void expect_refusal(std::vector<std::string> args, const std::string& message) const {
    args.insert(args.end(), {"--checkpoint", folder_ / "run", "--output", output()});
    expect_error([&] { run_vocabulary({.args = args}); }, ErrorKind::usage, {message});
    EXPECT_FALSE(std::filesystem::exists(output()));
  }
  std::string output() const { return folder_ / "changed"; }
  std::string checkpoint() const { return output() + "/step-00000000"; }
  static std::vector<float> tensor(const std::string& folder, const std::string& name) {
    const StoredModel model(folder, StoredWeights::training);
    std::vector<float> values(static_cast<size_t>(model.numel(name)));
    model.read(name, values.data());
    return values;
  }
  static std::vector<float> row(const std::vector<float>& table, int64_t id) {
    return {table.begin() + id * kWidth, table.begin() + (id + 1) * kWidth};
  }

  const TemporaryFolder folder_;
  mutable std::string printed_;
};

TEST_F(Vocabulary, GrowsByRowsOfOldPieces) {
  const std::string before = saved();
  const int64_t n = pieces().entries;
  change({"--grow", grown_tokenizer(), "--tag", "<2da>=" + pieces().pieces[50].text});
  const auto old = tensor(before, "embedding.weight"), now = tensor(checkpoint(), "embedding.weight");
  ASSERT_EQ(std::ssize(now), (n + 3) * kWidth);
  for (int64_t id = 0; id < n; ++id) ASSERT_EQ(row(now, id), row(old, id)) << id;
  const auto of = old_ids(pieces().pieces[40].text + pieces().pieces[41].text);
  for (size_t i = 0; i < kWidth; ++i) {
    double sum = 0;
    for (const int64_t id : of) sum += row(old, id)[i];
    EXPECT_FLOAT_EQ(row(now, n)[i], static_cast<float>(sum / static_cast<double>(of.size())));
  }
  EXPECT_NE(row(now, n + 1), row(old, 0));
  EXPECT_EQ(row(now, n + 2), row(old, 50));
  const auto bias = tensor(checkpoint(), "output.bias");
  EXPECT_FLOAT_EQ(bias[static_cast<size_t>(n)], std::accumulate(of.begin(), of.end(), 0.0f) / std::ssize(of));
  EXPECT_EQ(bias.back(), 50);
  for (const char* name : {"encoder.0.self_attention.qkv.weight", "decoder.0.feed_forward.norm.bias"})
    EXPECT_EQ(tensor(checkpoint(), name), tensor(before, name)) << name;
  EXPECT_EQ(kept_config(checkpoint()).model.target_vocabulary, n + 3);
  EXPECT_TRUE(Tokenizer(checkpoint() + "/tokenizer.model").is_tag(static_cast<int32_t>(n + 2)));
  EXPECT_TRUE(holds(printed_, fmt::format("{} entries, before {}", n + 3, n))) << printed_;
}

TEST_F(Vocabulary, ShrinksToTheTextsPieces) {
  const std::string before = saved();
  write_file_atomically(folder_ / "text", "two three\n");
  change({"--prune", folder_ / "text"});
  const Tokenizer small(checkpoint() + "/tokenizer.model"), large(tokenizer());
  EXPECT_LT(small.size(), large.size());
  const auto ids = small.encode("two three"), old_ids = large.encode("two three");
  ASSERT_EQ(ids.size(), old_ids.size());
  const auto old = tensor(before, "embedding.weight"), now = tensor(checkpoint(), "embedding.weight");
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(small.piece(ids[i]), large.piece(old_ids[i]));
    EXPECT_EQ(row(now, ids[i]), row(old, old_ids[i]));
  }
}

TEST_F(Vocabulary, GivesEntriesWithoutOldPiecesTheMeanButABiasNoNoise) {
  PieceList list = pieces();
  list.pieces.push_back({.text = "<2da>", .type = Piece::control});
  const int64_t n = list.entries++;
  write_file_atomically(folder_ / "tagged.model", with_pieces(read_file(tokenizer()), list));
  const std::string before = saved();
  change({"--tokenizer", folder_ / "tagged.model"});
  const auto old = tensor(before, "embedding.weight"), now = tensor(checkpoint(), "embedding.weight");
  for (int64_t id = 0; id < n; ++id) EXPECT_NE(row(now, n), row(old, id));
  // The bias of each old entry is its id. Those of unknown, begin and end of sentence count for no mean.
  EXPECT_FLOAT_EQ(tensor(checkpoint(), "output.bias").back(), static_cast<float>(n + 2) / 2);
}

TEST_F(Vocabulary, OfBothSidesIsReplacedByOneTokenizer) {
  const std::string model = read_file(tokenizer());
  const std::string before = saved(Tying::all, {{"source.model", model}, {"target.model", model}});
  change({"--tokenizer", grown_tokenizer()});
  EXPECT_TRUE(std::filesystem::exists(checkpoint() + "/tokenizer.model"));
  EXPECT_FALSE(std::filesystem::exists(checkpoint() + "/source.model"));
  EXPECT_EQ(row(tensor(checkpoint(), "embedding.weight"), 60), row(tensor(before, "embedding.weight"), 60));
}

TEST_F(Vocabulary, OfTwoTokenizersGrowsForOneSide) {
  const std::string model = read_file(tokenizer());
  const std::string before = saved(Tying::all, {{"source.model", model}, {"target.model", model}});
  expect_refusal({"--tag", "<2da>=</s>", "--side", "source"}, "--side applies to models with two vocabularies, or");
  change({"--grow", grown_tokenizer(), "--side", "target"});
  const int64_t n = pieces().entries;
  const auto kanji = [&](const char* file) {
    const PieceList list = read_pieces(read_file(checkpoint() + file), file);
    EXPECT_EQ(list.entries, n + 2);
    return list.pieces[static_cast<size_t>(n + 1)];
  };
  EXPECT_TRUE(kanji("/source.model").is_other_sides());
  EXPECT_EQ(kanji("/target.model").type, Piece::normal);
  const auto old = tensor(before, "embedding.weight"), now = tensor(checkpoint(), "embedding.weight");
  ASSERT_EQ(std::ssize(now), (n + 2) * kWidth);
  const auto of = old_ids(pieces().pieces[40].text + pieces().pieces[41].text);
  double sum = 0;
  for (const int64_t id : of) sum += row(old, id)[0];
  EXPECT_FLOAT_EQ(row(now, n)[0], static_cast<float>(sum / static_cast<double>(of.size())));
}

TEST_F(Vocabulary, OfTwoTokenizersIsPrunedByBoth) {
  PieceList source = pieces();  // without the pieces of the word "three"
  for (Piece& piece : source.pieces)
    if (piece.text.size() > 3 && piece.text.find("hre") != std::string::npos)
      piece.score = Piece::kOtherSide, piece.type = Piece::unused;
  const std::string model = read_file(tokenizer());
  saved(Tying::all, {{"source.model", with_pieces(model, source)}, {"target.model", model}});
  write_file_atomically(folder_ / "text", "two three\n");
  change({"--prune", folder_ / "text"});
  const Tokenizer small(checkpoint() + "/target.model"), large(tokenizer());
  EXPECT_LT(small.size(), large.size());
  EXPECT_EQ(Tokenizer(checkpoint() + "/source.model").size(), small.size());
  const auto ids = small.encode("two three"), old = large.encode("two three");
  ASSERT_EQ(ids.size(), old.size());
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(small.piece(ids[i]), large.piece(old[i]));
}

TEST_F(Vocabulary, OfOneSideChangesOnlyItsTable) {
  const std::string model = read_file(tokenizer());
  const std::string before = saved(Tying::none, {{"source.model", model}, {"target.model", model}});
  expect_refusal({"--grow", grown_tokenizer()}, "the model has two vocabularies: choose one with --side");
  change({"--grow", grown_tokenizer(), "--side", "source"});
  const int64_t n = pieces().entries;
  EXPECT_EQ(std::ssize(tensor(checkpoint(), "source_embedding.weight")), (n + 2) * kWidth);
  for (const char* name : {"target_embedding.weight", "output.weight", "output.bias"})
    EXPECT_EQ(tensor(checkpoint(), name), tensor(before, name)) << name;
}

TEST_F(Vocabulary, OfAModelWithOtherTensorsIsRefused) {
  const std::string folder = saved();
  PieceList list = pieces();
  list.pieces.resize(list.pieces.size() - 5);
  list.entries = std::ssize(list.pieces);
  saved(Tying::all, {{"tokenizer.model", with_pieces(read_file(tokenizer()), list)}}, 8);
  expect_error(
      [&] {
        run_vocabulary({.args = {"--checkpoint", folder_ / "run/checkpoints/step-00000008", "--output", output(),
                                 "--tag", "<2da>=</s>"}});
      },
      ErrorKind::checkpoint, {"tokenizer.model does not have the"});
}

TEST_F(Vocabulary, GrowsByTheTokenizerOfItsSide) {
  const std::string model = read_file(tokenizer());
  saved(Tying::none, {{"source.model", model}, {"target.model", model}});
  std::filesystem::create_directory(folder_ / "other");
  write_file_atomically(folder_ / "other/source.model", model);
  write_file_atomically(folder_ / "other/target.model", read_file(grown_tokenizer()));
  change({"--grow", folder_ / "other", "--side", "target"});
  EXPECT_EQ(kept_config(checkpoint()).model.target_vocabulary, pieces().entries + 2);
  EXPECT_EQ(kept_config(checkpoint()).model.source_vocabulary, pieces().entries);
}

TEST_F(Vocabulary, RefusesWhatItCannotDo) {
  saved();
  expect_refusal({}, "nothing to do: give --tokenizer, --grow, --prune or --tag");
  expect_refusal({"--tag", "<2da>"}, "--tag '<2da>' is not valid: give the new tag and an old one");
  expect_refusal({"--tag", "<2da>,<2sv>=</s>"}, "give one new tag");
  expect_refusal({"--tag", "<pad>=</s>"}, "give one new tag that is not <pad>");
  expect_refusal({"--tag", "<2da>=nothing"}, "the model's vocabulary has no entry 'nothing'");
  expect_refusal({"--grow", grown_tokenizer(), "--side", "source"}, "--side applies to models with two vocabularies");
}

}  // namespace
}  // namespace weft::testing
