// tests/trainer/checkpoint/checkpoint_files_test.cpp: finding, resolving, linking and pruning, also after
// kills.
#include <sys/socket.h>
#include <sys/un.h>

#include "checkpoint_fixture.h"
#include "data/atomic_file.h"
#include "trainer/checkpoint/checkpoint_manifest.h"

namespace weft::checkpoint_test {
namespace {

void damage(const std::string& path) {
  std::string text = read_text(path);
  text[text.size() / 2] ^= 1;
  write_text(path, text);
}

// The messages of find_latest_checkpoint on stderr; its result goes to `found`.
std::string said_while_finding(const std::string& root, std::string& found) {
  ::testing::internal::CaptureStderr();
  found = find_latest_checkpoint(root).value_or("nothing");
  return ::testing::internal::GetCapturedStderr();
}

TEST(CheckpointFiles, FolderNamesAreStepsAndNothingElse) {
  EXPECT_EQ(step_folder_name(1200), "step-00001200");
  EXPECT_EQ(step_folder_name(123456789012), "step-123456789012");
  EXPECT_EQ(step_of_folder("step-123456789012"), 123456789012);
  for (const char* name : {"step-1200", "step-000001200", "step-0000120x", "step-00001200.tmp-7", "best", "step-", ""})
    EXPECT_FALSE(step_of_folder(name)) << name;
  EXPECT_TRUE(is_temporary_name("step-00001200.tmp-7"));
  for (const char* name : {"step-00001200", "step-00001200.damaged-7", "notes.tmp-7"})
    EXPECT_FALSE(is_temporary_name(name)) << name;
}

TEST(CheckpointFiles, FindsTheNewestOrNothing) {
  const Folder folder;
  EXPECT_FALSE(find_latest_checkpoint(folder / "none"));
  EXPECT_FALSE(find_latest_checkpoint(folder.path()));
  for (const int64_t step : {5, 1000, 20}) save(folder.path(), step);
  EXPECT_EQ(find_latest_checkpoint(folder.path()), folder / "step-00001000");
}

TEST(CheckpointFiles, DamagedOnesArePassedOverWithTheReason) {
  const Folder folder;
  for (const int64_t step : {1, 2, 3, 4}) save(folder.path(), step);
  damage(folder / "step-00000004/optimizer.safetensors");
  fs::remove(folder / "step-00000003/MANIFEST.json");
  fs::remove(folder / "step-00000002/state.json");
  fs::create_directory(folder / "step-00000009.tmp-1");
  fs::create_symlink("step-00000077", folder / "latest");
  std::string found;
  const std::string said = said_while_finding(folder.path(), found);
  EXPECT_EQ(found, folder / "step-00000001");
  for (const char* part : {"step-00000004/optimizer.safetensors is damaged",
                           "step-00000003/MANIFEST.json: No such file", "step-00000002/state.json: No such file"})
    EXPECT_TRUE(holds(said, part)) << said;
}

TEST(CheckpointFiles, OneThatCannotBeReadNowIsNotPassedOver) {
  const Folder folder;
  save(folder.path(), 1);
  save(folder.path(), 2);
  const std::string file = folder / "step-00000002/model.safetensors";
  fs::remove(file);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};  // opening it fails, but not because it is missing
  ASSERT_LT(file.size(), sizeof address.sun_path);
  file.copy(address.sun_path, file.size());
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::string message = message_of(ErrorKind::io, [&] { find_latest_checkpoint(folder.path()); });
  EXPECT_TRUE(holds(message, "cannot read checkpoint ")) << message;
}

TEST(CheckpointFiles, NoneWholeIsAnErrorAndNotABeginningAnew) {
  const Folder folder;
  save(folder.path(), 1);
  damage(folder / "step-00000001/MANIFEST.json");
  ::testing::internal::CaptureStderr();
  const std::string message = message_of(ErrorKind::checkpoint, [&] { find_latest_checkpoint(folder.path()); });
  EXPECT_TRUE(holds(::testing::internal::GetCapturedStderr(), "skipped"));
  EXPECT_TRUE(holds(message, "no checkpoint in")) << message;
}

TEST(CheckpointFiles, AFolderOfAnotherStepsNameIsRefused) {
  const Folder folder;
  save(folder.path(), 1);
  fs::rename(folder / "step-00000001", folder / "step-00000002");
  EXPECT_TRUE(holds(message_of(ErrorKind::checkpoint, [&] { verify_checkpoint(folder / "step-00000002"); }),
                    "step 1 differs from the folder's name"));
  fs::rename(folder / "step-00000002", folder / "a-good-model");
  verify_checkpoint(folder / "a-good-model");
}

TEST(CheckpointFiles, PointersAreRelativeLinksThatMove) {
  const Folder folder;
  save(folder.path(), 1);
  save(folder.path(), 2);
  point_to(folder.path(), "latest", folder / "step-00000001");
  point_to(folder.path(), "latest", folder / "step-00000002/");
  EXPECT_EQ(fs::read_symlink(folder / "latest"), "step-00000002");
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"latest", "step-00000001", "step-00000002"}));
  message_of(ErrorKind::io, [&] { point_to(folder.path(), "latest", folder / "step-00000003"); });
  EXPECT_EQ(fs::read_symlink(folder / "latest"), "step-00000002");
}

TEST(CheckpointFiles, ResolvesStepFoldersRunsAndPointers) {
  const Folder folder;
  const std::string root = folder / "checkpoints";
  for (const int64_t step : {1, 2}) save(root, step);
  EXPECT_EQ(resolve_checkpoint(root + "/step-00000001/"), root + "/step-00000001");
  EXPECT_EQ(resolve_checkpoint(folder.path()), root + "/step-00000002");
  point_to(root, "best", root + "/step-00000001");
  EXPECT_EQ(resolve_checkpoint(folder.path() + "/"), root + "/step-00000001");
  EXPECT_EQ(resolve_checkpoint(root), root + "/step-00000001");
  EXPECT_EQ(fs::path(resolve_checkpoint(root + "/best")).filename(), "step-00000001");
  fs::rename(root + "/step-00000002", folder / "exported");
  EXPECT_EQ(resolve_checkpoint(folder / "exported"), folder / "exported");
}

TEST(CheckpointFiles, APruningRunLeavesWhatIsBeingRead) {
  const Folder folder;
  for (const int64_t step : {1, 2, 3}) save(folder.path(), step);
  const auto prune = [&] {
    prune_checkpoints(folder.path(), /*keep_last=*/1, /*keep_every=*/0, /*good_until=*/-1, {});
  };
  {
    const CheckpointLease lease = lease_checkpoint(folder / "step-00000001"), newest = lease_checkpoint(folder.path());
    EXPECT_EQ(newest.folder, folder / "step-00000003");
    prune();
    EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-00000001", "step-00000003"}));
  }
  prune();
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-00000003"}));
}

TEST(CheckpointFiles, APruningRunLeavesAllThatIsReadTogether) {
  const Folder folder;
  for (const int64_t step : {1, 2, 3}) save(folder.path(), step);
  {
    const std::vector<CheckpointLease> leases = lease_step_folders(folder.path());
    ASSERT_EQ(leases.size(), 3u);
    EXPECT_EQ(leases.front().folder, folder / "step-00000003");
    prune_checkpoints(folder.path(), /*keep_last=*/1, /*keep_every=*/0);
    EXPECT_EQ(names_in(folder.path()).size(), 3u);
  }
  prune_checkpoints(folder.path(), /*keep_last=*/1, /*keep_every=*/0);
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-00000003"}));
}

TEST(CheckpointFiles, AnExplicitCheckpointIsNeverReplacedByAnother) {
  const Folder folder;
  save(folder.path(), 1);
  save(folder.path(), 2);
  fs::remove(folder / "step-00000002/MANIFEST.json");
  Model model(0, 1);
  message_of(ErrorKind::checkpoint, [&] { load(resolve_checkpoint(folder / "step-00000002"), model); });
  message_of(ErrorKind::checkpoint, [&] { resolve_checkpoint(folder / "step-00000003"); });
  fs::create_directory(folder / "empty");
  EXPECT_TRUE(holds(message_of(ErrorKind::checkpoint, [&] { resolve_checkpoint(folder / "empty"); }),
                    "contains no checkpoint"));
}

TEST(CheckpointFiles, ADanglingBestFallsBackToTheNewest) {
  const Folder folder;
  save(folder.path(), 1);
  save(folder.path(), 2);
  point_to(folder.path(), "best", folder / "step-00000002");
  fs::remove_all(folder / "step-00000002");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(resolve_checkpoint(folder.path()), folder / "step-00000001");
  EXPECT_TRUE(holds(::testing::internal::GetCapturedStderr(), "(the best) skipped"));
}

TEST(CheckpointFiles, PruningKeepsTheLastOnesAndThePointersTargets) {
  const Folder folder;
  for (const int64_t step : {1, 2, 3, 4, 5}) save(folder.path(), step);
  point_to(folder.path(), "best", folder / "step-00000002");
  point_to(folder.path(), "latest", folder / "step-00000005");
  prune_checkpoints(folder.path(), 2, 0);
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"best", "latest", "step-00000002", "step-00000004", "step-00000005"}));
}

TEST(CheckpointFiles, PruningKeepsSomeForGood) {
  const Folder folder;
  for (const int64_t step : {1, 2, 3, 4, 5, 6, 7}) save(folder.path(), step);
  prune_checkpoints(folder.path(), 1, 3);
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-00000003", "step-00000006", "step-00000007"}));
}

TEST(CheckpointFiles, PruningKeepsThoseThatAwaitAScore) {
  const Folder folder;
  for (const int64_t step : {1, 2, 3, 4}) save(folder.path(), step);
  prune_checkpoints(folder.path(), 1, 0, /*good_until=*/-1, /*awaited=*/{2, 9});
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-00000002", "step-00000004"}));
  EXPECT_TRUE(has_checkpoint(folder.path(), 2));
  EXPECT_FALSE(has_checkpoint(folder.path(), 3));
}

TEST(CheckpointFiles, PruningKeepsTheNewestThatIsKnownToBeGoodAndTheNextOne) {
  const Folder folder;
  for (const int64_t step : {1, 2, 3, 4, 5, 6, 7}) save(folder.path(), step);
  fs::remove(folder / "step-00000003/MANIFEST.json");
  EXPECT_EQ(newest_checkpoint_until(folder.path(), 3), folder / "step-00000002");
  prune_checkpoints(folder.path(), 1, 0, /*good_until=*/3);
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"step-00000002", "step-00000003", "step-00000004", "step-00000007"}));
  EXPECT_EQ(newest_checkpoint_until(folder.path(), 1), "");
}

TEST(CheckpointFiles, PruningNeitherCountsNorTouchesWhatIsNotAWholeCheckpoint) {
  const Folder folder;
  for (const int64_t step : {1, 2, 3, 4}) save(folder.path(), step);
  fs::remove(folder / "step-00000004/MANIFEST.json");
  fs::create_directory(folder / "step-00000000");
  write_text(folder / "step-00000000/notes.txt", "mine");
  fs::create_directory(folder / "old");
  write_text(folder / "step-00000009", "a file");
  prune_checkpoints(folder.path(), 1, 0);
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"old", "step-00000000", "step-00000003", "step-00000004", "step-00000009"}));
  message_of(ErrorKind::usage, [&] { prune_checkpoints(folder.path(), 0, 0); });
}

}  // namespace
}  // namespace weft::checkpoint_test
