// tests/launch/commands/exchange_test.cpp: `weft export` and `weft import`: round trips of a checkpoint, and
// errors that leave no files.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "data/subword/train_tokenizer.h"
#include "data/tokenizer.h"
#include "launch/commands.h"
#include "model/transformer.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/config/config_text.h"
#include "trainer/inference/model_loader.h"
#include "trainer/train_state.h"

namespace weft::testing {
namespace {

namespace fs = std::filesystem;

std::string tokenizer_of(const std::string& alphabet, int vocabulary) {
  std::vector<std::string> lines;
  for (int i = 0; i < 300; ++i) {
    std::string line;
    for (int k = 0; k < 12; ++k) line += alphabet[static_cast<size_t>(i * 7 + k * (i % 5 + 1)) % alphabet.size()];
    lines.push_back(line);
  }
  return train_tokenizer(lines, {.vocab_size = vocabulary});
}

// A checkpoint of step 40 in `folder_`.
class Exchange : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file_atomically(tokenizer_, tokenizer_of("abcdefgh", 300));
    RunConfig config;
    config.model = {.width = 16, .heads = 2, .feed_forward = 24, .encoder_layers = 1, .decoder_layers = 1};
    config.model.source_vocabulary = config.model.target_vocabulary = Tokenizer(tokenizer_).size();
    config.parallel = {.dp = 1, .tp = 1};
    config.model.resolve(1);
    ParamStore params(0, 1);
    const Transformer model(config.model, params, /*num_positions=*/1);
    params.allocate();
    Context ctx;
    params.initialize(ctx, /*seed=*/3);
    const auto alone = make_single_communicator();
    const TrainState state{.step = 40};
    checkpoint_ =
        save_checkpoint(ctx, folder_ / "checkpoints", Mesh(*alone, config.parallel),
                        {.step = 40,
                         .params = params,
                         .buffers = {{"model", "", params.values()}},
                         .state = state.to_json(),
                         .extras = {.config = to_cfg(config), .files = {{"tokenizer.model", read_file(tokenizer_)}}}});
  }

  static int run(int (*command)(const CommandContext&), std::vector<std::string> args) {
    ::testing::internal::CaptureStdout();
    try {
      const int status = command({.args = std::move(args)});
      ::testing::internal::GetCapturedStdout();
      return status;
    } catch (...) {
      ::testing::internal::GetCapturedStdout();
      throw;
    }
  }
  void export_to(const std::string& folder, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--checkpoint", folder_ / "checkpoints", "--format", "pytorch", "--output", folder});
    ASSERT_EQ(run(run_export, more), 0);
  }
  std::vector<std::string> import_arguments(const std::string& tokenizer) const {
    return {"--weights", weights_, "--config", config_, "--tokenizer", tokenizer, "--output", imported_};
  }
  std::string refusal(ErrorKind kind, const std::vector<std::string>& args) const {
    const Error error = error_of([&] { run(run_import, args); });
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_TRUE(error.frames().empty());  // one line
    EXPECT_FALSE(fs::exists(imported_));
    return error.what();
  }
  void configure(const std::string& from, const std::string& to) {
    std::string text = read_file(config_);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    write_file_atomically(config_, text.replace(at, from.size(), to));
  }

  const TemporaryFolder folder_;
  const std::string tokenizer_ = folder_ / "tokenizer.model";
  const std::string exported_ = folder_ / "exported", weights_ = exported_ + "/model.safetensors";
  const std::string config_ = folder_ / "model.cfg";
  const std::string imported_ = folder_ / "imported";
  std::string checkpoint_;
};

TEST_F(Exchange, ADamagedConfigurationOrTokenizerIsAnErrorOfTheCheckpoint) {
  for (const char* file : {"/config.cfg", "/tokenizer.model"}) {
    const std::string good = read_file(checkpoint_ + file);
    std::string damaged = good;
    damaged[damaged.size() / 2] ^= 1;
    write_file_atomically(checkpoint_ + file, damaged);
    expect_error(
        [&] {
          run(run_export, {"--checkpoint", checkpoint_, "--format", "pytorch", "--output", exported_});
        },
        ErrorKind::checkpoint, {checkpoint_ + file, "is damaged"});
    write_file_atomically(checkpoint_ + file, good);
  }
}

class Import : public Exchange {
 protected:
  void SetUp() override {
    Exchange::SetUp();
    export_to(exported_);
    fs::copy_file(checkpoint_ + "/config.cfg", config_);
  }
};

TEST_F(Import, MakesACheckpointOfStepZeroWithTheSameBits) {
  fs::rename(tokenizer_, folder_ / "another-name.model");
  ASSERT_EQ(run(run_import, import_arguments(folder_ / "another-name.model")), 0);
  const std::string folder = resolve_checkpoint(imported_);
  EXPECT_EQ(read_file(folder + "/model.safetensors"), read_file(checkpoint_ + "/model.safetensors"));
  EXPECT_EQ(read_file(folder + "/tokenizer.model"), read_file(checkpoint_ + "/tokenizer.model"));
  EXPECT_EQ(read_file(folder + "/config.cfg"), read_file(checkpoint_ + "/config.cfg"));

  RunConfig config;
  apply_cfg_file(folder + "/config.cfg", config);
  const auto alone = make_single_communicator();
  const Mesh mesh(*alone, config.parallel);
  EXPECT_EQ(LoadedModel(folder, config, mesh).step(), 0);
}

TEST_F(Import, TakesAnExportedFolderWithItsTokenizer) {
  ASSERT_EQ(run(run_import, {"--weights", exported_, "--config", config_, "--output", imported_}), 0);
  const std::string folder = resolve_checkpoint(imported_);
  EXPECT_EQ(read_file(folder + "/model.safetensors"), read_file(checkpoint_ + "/model.safetensors"));
  EXPECT_EQ(read_file(folder + "/tokenizer.model"), read_file(checkpoint_ + "/tokenizer.model"));
  fs::remove_all(imported_);
  fs::remove(exported_ + "/tokenizer.model");
  EXPECT_TRUE(holds(refusal(ErrorKind::usage, {"--weights", exported_, "--config", config_, "--output", imported_}),
                    "--tokenizer"));
  std::vector<std::string> given = import_arguments(tokenizer_);
  given[1] = exported_;
  ASSERT_EQ(run(run_import, given), 0);
}

TEST_F(Import, TakesTheTwoTokenizersOfAFolder) {
  write_file_atomically(exported_ + "/source.model", tokenizer_of("ijklmnop", 300));
  fs::rename(exported_ + "/tokenizer.model", exported_ + "/target.model");
  EXPECT_TRUE(holds(refusal(ErrorKind::usage, {"--weights", exported_, "--config", config_, "--output", imported_}),
                    "model.tying = all needs one vocabulary for both sides"));
  configure("tying = all", "tying = output");
  ASSERT_EQ(run(run_import, {"--weights", exported_, "--config", config_, "--output", imported_}), 0);
  EXPECT_EQ(read_file(resolve_checkpoint(imported_) + "/target.model"), read_file(tokenizer_));
}

TEST_F(Import, FindsTheVocabularySizesInTheTokenizer) {
  configure(fmt::format("source_vocabulary = {}", Tokenizer(tokenizer_).size()), "source_vocabulary = 0");
  EXPECT_EQ(run(run_import, import_arguments(tokenizer_)), 0);
}

TEST_F(Import, RefusesAVocabularyOfAnotherSize) {
  write_file_atomically(folder_ / "other.model", tokenizer_of("abcd", 280));
  const int64_t own = Tokenizer(tokenizer_).size(), other = Tokenizer(folder_ / "other.model").size();
  ASSERT_NE(own, other);
  EXPECT_TRUE(holds(refusal(ErrorKind::usage, import_arguments(folder_ / "other.model")),
                    fmt::format("model.source_vocabulary = {}, but the tokenizer {}/other.model has {} entries", own,
                                folder_.path(), other)));
  configure(fmt::format("source_vocabulary = {}", own), "source_vocabulary = 0");
  configure(fmt::format("target_vocabulary = {}", own), "target_vocabulary = 0");
  EXPECT_TRUE(holds(refusal(ErrorKind::checkpoint, import_arguments(folder_ / "other.model")),
                    fmt::format("has {} rows, but the target tokenizer has {} entries", own, other)));
}

TEST_F(Import, LeavesNoFolderAfterAFileThatDoesNotFit) {
  configure("feed_forward = 24", "feed_forward = 26");
  EXPECT_TRUE(holds(refusal(ErrorKind::checkpoint, import_arguments(tokenizer_)),
                    "tensor 'decoder.layers.0.linear1.bias' has shape [24], but the model needs [26]"));
  write_file_atomically(weights_, "no weights");
  refusal(ErrorKind::checkpoint, import_arguments(tokenizer_));
}

TEST_F(Import, RefusesOneTableForTwoTokenizers) {
  const std::string other = folder_ / "other.model";
  write_file_atomically(other, tokenizer_of("ijklmnop", 300));
  EXPECT_TRUE(holds(refusal(ErrorKind::usage, {"--weights", weights_, "--config", config_, "--source-tokenizer",
                                               tokenizer_, "--target-tokenizer", other, "--output", imported_}),
                    "model.tying = all needs one vocabulary for both sides"));
  EXPECT_TRUE(holds(refusal(ErrorKind::usage, {"--weights", weights_, "--config", config_, "--source-tokenizer",
                                               tokenizer_, "--output", imported_}),
                    "only one of --source-tokenizer and --target-tokenizer is given: give both, or neither"));
}

TEST_F(Import, LeavesWhatIsThereAlready) {
  const std::string mine = folder_ / "imported/mine";
  fs::create_directory(imported_);
  write_file_atomically(mine, "");
  EXPECT_THROW(run(run_import, import_arguments(tokenizer_)), Error);
  EXPECT_TRUE(fs::exists(mine));
  fs::remove_all(imported_);
  fs::create_symlink("nowhere", imported_);
  EXPECT_TRUE(holds(refusal(ErrorKind::usage, import_arguments(tokenizer_)), imported_ + " already exists"));
  EXPECT_TRUE(fs::is_symlink(imported_));
  write_file_atomically(folder_ / "nowhere", "a file");
  EXPECT_THROW(run(run_import, import_arguments(tokenizer_)), Error);
  EXPECT_TRUE(fs::is_symlink(imported_));
  EXPECT_EQ(read_file(folder_ / "nowhere"), "a file");
}

TEST_F(Import, TakesAFolderThatHoldsOnlyWhatAKilledImportLeft) {
  fs::create_directories(folder_ / "imported/step-00000000.tmp-99999");
  write_file_atomically(folder_ / "imported/step-00000000.tmp-99999/state.json", "{");
  EXPECT_EQ(run(run_import, import_arguments(tokenizer_)), 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(imported_), {}), 1);
  EXPECT_EQ(resolve_checkpoint(imported_), folder_ / "imported/step-00000000");
}

TEST_F(Import, LeavesNoParentOfANameThatIsTooLong) {
  std::vector<std::string> args = import_arguments(tokenizer_);
  args.back() = folder_ / "n/m/" + std::string(300, 'o');
  EXPECT_THROW(run(run_import, args), fs::filesystem_error);  // for which main() names the option
  EXPECT_FALSE(fs::exists(folder_ / "n"));
}

TEST_F(Exchange, ExportWritesAFolderAndReplacesItOnlyWhenForced) {
  for (const std::string format : {"ctranslate2", "pytorch"}) {
    std::vector<std::string> args = {"--checkpoint", checkpoint_, "--format", format, "--output", folder_ / format};
    ASSERT_EQ(run(run_export, args), 0);
    EXPECT_EQ(read_file(folder_ / format + "/tokenizer.model"), read_file(tokenizer_));
    write_file_atomically(folder_ / format + "/tokenizer.model", "another");
    EXPECT_TRUE(
        holds(error_of([&] { run(run_export, args); }).what(), "already exists: use a different name, or --force"));
    EXPECT_EQ(read_file(folder_ / format + "/tokenizer.model"), "another");
    args.push_back("--force");
    ASSERT_EQ(run(run_export, args), 0);
    EXPECT_EQ(read_file(folder_ / format + "/tokenizer.model"), read_file(tokenizer_));
  }
}

TEST_F(Exchange, ExportRefusesAnEngineThatCannotHoldTheModelAndMakesNoFolder) {
  export_to(exported_);
  fs::copy_file(checkpoint_ + "/config.cfg", config_);
  configure("position_offset = 0", "position_offset = 2");
  ASSERT_EQ(run(run_import, import_arguments(tokenizer_)), 0);
  const Error error = error_of([&] {
    run(run_export, {"--checkpoint", imported_, "--format", "huggingface", "--output", folder_ / "engine"});
  });
  EXPECT_EQ(error.kind(), ErrorKind::usage);
  EXPECT_TRUE(holds(error.what(), "MarianMTModel does not support model.position_offset = 2: only 0 is supported"))
      << error.what();
  EXPECT_FALSE(fs::exists(folder_ / "engine"));
}

}  // namespace
}  // namespace weft::testing
