// tests/trainer/checkpoint/checkpoint_damage_test.cpp: after damaged bytes, kills and full disks nothing
// wrong is loaded and nothing good is lost.
#include <algorithm>
#include <mutex>

#include "checkpoint_fixture.h"
#include "tests/support/file_size_limit.h"

namespace weft::checkpoint_test {
namespace {

// A checkpoint in which each file is damaged and repaired in turn.
class CheckpointDamage : public ::testing::Test {
 protected:
  void SetUp() override { save(folder_.path(), 1, {.files = {{"tokenizer.model", std::string(300, 't')}}}); }

  void expect_refused_with(const std::string& file, const std::string& content, const std::string& what) {
    write_text(step_ + "/" + file, content);
    expect_refused(file, what);
  }

  void expect_refused(const std::string& file, const std::string& what) {
    Model model(0, 1);
    const std::string message = message_of(ErrorKind::checkpoint, [&] { load(step_, model); });
    EXPECT_TRUE(holds(message, step_ + "/" + file)) << file << " " << what << ": " << message;
    const auto is_zero = [](float x) { return x == 0; };
    const auto content_after = model.content();
    EXPECT_TRUE(std::all_of(content_after.begin(), content_after.end(), is_zero)) << file << " " << what;
  }

  void put(const std::string& file, size_t at, char byte) {
    std::fstream(step_ + "/" + file, std::ios::in | std::ios::out | std::ios::binary).seekp(at).put(byte);
  }

  const Folder folder_;
  const std::string step_ = folder_ / "step-00000001";
};

TEST_F(CheckpointDamage, AFlippedBitAnywhereIsRefusedByFile) {
  for (const std::string& file : names_in(step_)) {
    const std::string good = read_text(step_ + "/" + file);
    const size_t stride = std::max<size_t>(1, good.size() / 200);
    for (size_t at = 0; at < good.size(); at += stride) {
      put(file, at, static_cast<char>(good[at] ^ (1 << (at % 8))));
      expect_refused(file, fmt::format("flipped at {}", at));
      put(file, at, good[at]);
    }
  }
  Model model(0, 1);
  EXPECT_EQ(load(step_, model), kState);  // it loads again after all repairs
}

TEST_F(CheckpointDamage, AnyOtherLengthIsRefusedByFile) {
  for (const std::string& file : names_in(step_)) {
    const std::string good = read_text(step_ + "/" + file);
    for (size_t length = 0; length < good.size(); length += 1 + good.size() / 40)
      expect_refused_with(file, good.substr(0, length), fmt::format("cut to {}", length));
    expect_refused_with(file, good.substr(0, good.size() - 1), "one short");
    expect_refused_with(file, good + "x", "one longer");
    write_text(step_ + "/" + file, good);
  }
}

TEST_F(CheckpointDamage, AFileOfAnotherCheckpointIsRefused) {
  save(folder_.path(), 2, {.seed = 9});
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    const std::string good = read_text(step_ + "/" + file);
    expect_refused_with(file, read_text(folder_ / "step-00000002/" + file), "swapped");
    write_text(step_ + "/" + file, good);
  }
}

TEST_F(CheckpointDamage, AMissingOrLinkedFileIsRefused) {
  for (const std::string& file : names_in(step_)) {
    Model model(0, 1);
    fs::rename(step_ + "/" + file, folder_ / "aside");
    const std::string missing = message_of(ErrorKind::checkpoint, [&] { load(step_, model); });
    EXPECT_TRUE(holds(missing, file)) << missing;
    fs::create_symlink(folder_ / "aside", step_ + "/" + file);
    const std::string linked = message_of(ErrorKind::checkpoint, [&] { load(step_, model); });
    EXPECT_TRUE(holds(linked, file) && holds(linked, "symbolic link")) << linked;
    fs::remove(step_ + "/" + file);
    fs::rename(folder_ / "aside", step_ + "/" + file);
  }
}

TEST(CheckpointFaults, LeftoversOfAKilledSaveAreIgnoredAndClearedByTheNext) {
  const Folder folder;
  save(folder.path(), 1);
  fs::copy(folder / "step-00000001", folder / "step-00000002.tmp-999", fs::copy_options::recursive);
  fs::create_symlink("step-00000001", folder / "step-00000001.tmp-999");
  EXPECT_EQ(find_latest_checkpoint(folder.path()), folder / "step-00000001");
  save(folder.path(), 2);
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-00000001", "step-00000002"}));
  EXPECT_TRUE(fs::exists(folder / "step-00000001/model.safetensors"));
}

TEST(CheckpointFaults, AStateOfAnotherStepIsRefused) {
  const Folder folder;
  const auto alone = make_single_communicator();
  Model model(0, 1);
  const std::string step = save_checkpoint(model.ctx, folder.path(), Mesh(*alone, {.dp = 1, .tp = 1}),
                                           {3, model.params, model.buffers(), {{"step", 2}}, {.config = ""}});
  const std::string message = message_of(ErrorKind::checkpoint, [&] { load(step, model); });
  EXPECT_TRUE(holds(message, "state.json: its step differs from step 3 in the manifest")) << message;
}

TEST(CheckpointFaults, ADamagedFolderOfTheSameStepIsMovedAside) {
  const Folder folder;
  save(folder.path(), 1);
  save(folder.path(), 2, {.seed = 1});
  fs::resize_file(folder / "step-00000002/model.safetensors", 100);
  ::testing::internal::CaptureStderr();
  save(folder.path(), 2, {.seed = 2});
  EXPECT_TRUE(holds(::testing::internal::GetCapturedStderr(), "renaming it to"));
  EXPECT_EQ(find_latest_checkpoint(folder.path()), folder / "step-00000002");
  const std::vector<std::string> names = names_in(folder.path());
  ASSERT_EQ(names.size(), 3u);
  EXPECT_TRUE(names[2].starts_with("step-00000002.damaged-"));
}

TEST(CheckpointFaults, AFullDiskIsOneClearErrorAndTheLastCheckpointStays) {
  const Folder folder;
  save(folder.path(), 1);
  const auto size_of = [&](const char* file) { return fs::file_size(folder / "step-00000001/" + file); };
  // The disk is full while writing the state, a tensor, the last byte of the largest file.
  for (const size_t limit : {size_t{10}, size_of("model.safetensors") / 2, size_of("optimizer.safetensors") - 1}) {
    std::string message;
    int num_ranks_told = 0;
    std::mutex mutex;
    {
      const testing::FileSizeLimit full(limit);
      run_thread_ranks(4, [&](Communicator& world) {
        const Mesh mesh(world, {.dp = 2, .tp = 2});
        Model model(mesh.tp().rank(), 2);
        const std::string said = message_of(ErrorKind::io, [&] {
          save_checkpoint(model.ctx, folder.path(), mesh, {2, model.params, model.buffers(), kState, {}});
        });
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(message.empty() || message == said) << message << " / " << said;
        message = said;
        ++num_ranks_told;
      });
    }
    EXPECT_EQ(num_ranks_told, 4);
    EXPECT_TRUE(holds(message, folder.path())) << message;
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-00000001"});
  }
  EXPECT_EQ(find_latest_checkpoint(folder.path()), folder / "step-00000001");
  save(folder.path(), 2);  // with space again
}

TEST(CheckpointFaults, AFailedSaveTakesTheFoldersAwayThatItMade) {
  const Folder folder;
  fs::create_directory(folder / "mine");
  const testing::FileSizeLimit full(10);
  for (const char* root : {"a/b/c", "mine/d/", "mine"}) {
    message_of(ErrorKind::io, [&] { save(folder / root, 1); });
    EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"mine"}) << root;
    EXPECT_TRUE(fs::is_empty(folder / "mine")) << root;
  }
}

TEST(CheckpointFaults, AFolderThatCannotBeMadeIsAnErrorOnAllRanks) {
  const Folder folder;
  write_text(folder / "checkpoints", "a file is in the way");
  const std::string message = message_of(ErrorKind::io, [&] { save(folder / "checkpoints", 1, {.dp = 2, .tp = 2}); });
  EXPECT_TRUE(holds(message, folder / "checkpoints")) << message;
}

}  // namespace
}  // namespace weft::checkpoint_test
