// tests/launch/commands/verify_test.cpp: corpora and checkpoints, whole and damaged.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "launch/commands.h"
#include "tests/support/errors.h"
#include "tests/support/text_corpus.h"
#include "trainer/checkpoint/checkpoint.h"

namespace weft::testing {
namespace {

struct Verified {
  int status;
  std::string text;
};

Verified verify(const std::string& path) {
  ::testing::internal::CaptureStdout();
  const int status = run_verify({.args = {path}});
  return {status, ::testing::internal::GetCapturedStdout()};
}

void flip_middle_bit(const std::string& file) {
  std::string bytes = read_file(file);
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(file, std::ios::binary) << bytes;
}

TEST(Verify, ListsTheWholePartsOfACorpus) {
  const TextCorpus corpus(/*num_pairs=*/30);
  const std::string folder = corpus.folder();
  EXPECT_EQ(verify(folder).text, "ok       " + folder + " (tokenizers)\nok       " + folder + "/shard-00000.h5\n");
  EXPECT_EQ(verify(folder).status, 0);
}

TEST(Verify, NamesEachDamagedFileOfACorpus) {
  const TextCorpus corpus(/*num_pairs=*/30);
  flip_middle_bit(corpus.folder() + "/shard-00000.h5");
  flip_middle_bit(corpus.folder() + "/tokenizer.model");
  const Verified found = verify(corpus.folder());
  EXPECT_EQ(found.status, static_cast<int>(ErrorKind::data));
  EXPECT_NE(found.text.find("DAMAGED  " + corpus.folder() + "/shard-00000.h5: "), std::string::npos) << found.text;
  EXPECT_NE(found.text.find("DAMAGED  " + corpus.folder() + " (tokenizers): "), std::string::npos) << found.text;
}

TEST(Verify, ReadsACorpusAndTheCheckpointsOfARunInsideIt) {
  const TextCorpus corpus(/*num_pairs=*/30);
  const std::string damaged = corpus.folder() + "/checkpoints/step-00000004";
  std::filesystem::create_directories(damaged);
  const Verified found = verify(corpus.folder());
  EXPECT_NE(found.text.find("ok       " + corpus.folder() + "/shard-00000.h5\n"), std::string::npos) << found.text;
  EXPECT_NE(found.text.find("DAMAGED  " + damaged + ": "), std::string::npos) << found.text;
}

void write_checkpoint(const std::string& root, int64_t step) {
  const auto alone = make_single_communicator();
  Context ctx;
  ParamStore params(/*tp_rank=*/0, /*tp_size=*/1);
  params.declare({.name = "bias", .shape = {3}});
  params.allocate();
  params.initialize(ctx, /*seed=*/1);
  save_checkpoint(ctx, root, Mesh(*alone, {.dp = 1, .tp = 1}),
                  {.step = step,
                   .params = params,
                   .buffers = {{"model", "", params.values()}},
                   .state = {{"step", step}},
                   .extras = {}});
}

TEST(Verify, ReadsEveryCheckpointOfARun) {
  const TemporaryFolder folder;
  const std::string whole = folder / "run/checkpoints/step-00000003",
                    damaged = folder / "run/checkpoints/step-00000004";
  write_checkpoint(folder / "run/checkpoints", 3);
  std::filesystem::create_directory(damaged);
  const Verified found = verify(folder / "run");
  EXPECT_EQ(found.status, static_cast<int>(ErrorKind::checkpoint));
  EXPECT_NE(found.text.find("ok       " + whole + "\n"), std::string::npos) << found.text;
  EXPECT_NE(found.text.find("DAMAGED  " + damaged + ": "), std::string::npos) << found.text;
  EXPECT_EQ(verify(damaged + "/").text, verify(damaged).text) << "a slash at the end changes nothing";
}

TEST(Verify, ReadsTheLogOfARun) {
  const TemporaryFolder folder;
  const std::string log = folder / "log.jsonl";
  std::filesystem::create_directories(folder / "checkpoints/step-00000003");
  std::ofstream(log) << "{\"step\":1,\"loss\":\n{\"step\":2,\"loss\":3.5}\n";
  const Verified found = verify(folder.path());
  EXPECT_NE(found.text.find("DAMAGED  " + log + ": "), std::string::npos) << found.text;
  std::ofstream(log) << "{\"step\":1,\"loss\":3.5}\n";
  EXPECT_NE(verify(folder.path()).text.find("ok       " + log + "\n"), std::string::npos);
}

TEST(Verify, RefusesWhatIsNeither) {
  const TemporaryFolder folder;
  EXPECT_NE(message_of(ErrorKind::usage, [&] { run_verify({.args = {folder.path()}}); })
                .find("is not a packed corpus, a checkpoint or a run with checkpoints"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::testing
