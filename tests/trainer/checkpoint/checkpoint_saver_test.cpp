// tests/trainer/checkpoint/checkpoint_saver_test.cpp: saves beside training, by all ranks.
#include "trainer/checkpoint/checkpoint_saver.h"

#include "tests/trainer/checkpoint/checkpoint_fixture.h"
#include "trainer/checkpoint/checkpoint_manifest.h"

namespace weft::checkpoint_test {
namespace {

// Runs use(saver, mesh, model) on the ranks of a grid whose writers may have any share, however small.
template <typename Use>
void on_ranks(int dp, int tp, Use&& use) {
  run_thread_ranks(dp * tp, [&](Communicator& world) {
    const Mesh mesh(world, {.dp = dp, .tp = tp});
    Model model(mesh.tp().rank(), tp);
    model.fill(3);
    CheckpointSaver saver(mesh, /*smallest_share=*/1);
    use(saver, mesh, model);
  });
}

void start(CheckpointSaver& saver, const Folder& folder, Model& model,
           std::function<void(const std::string&)> after_commit = {}) {
  saver.start(model.ctx, folder.path(), {1, model.params, model.buffers(), kState, {}}, std::move(after_commit));
}

TEST(CheckpointSaver, ManyRanksWriteFilesThatEveryGridLoads) {
  for (const auto& [dp, tp] : {std::pair{2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}}) {
    SCOPED_TRACE(fmt::format("dp {} x tp {}", dp, tp));
    const Folder folder;
    on_ranks(dp, tp, [&](CheckpointSaver& saver, const Mesh&, Model& model) {
      start(saver, folder, model);
      EXPECT_EQ(saver.finish(), folder / "step-00000001");
    });
    verify_checkpoint(folder / "step-00000001");
    EXPECT_EQ(read_checkpoint_manifest(folder / "step-00000001").format_version, 2);
    EXPECT_FALSE(fs::exists(folder / "step-00000001/optimizer.safetensors"));
    Model loaded(0, 1);
    load(folder / "step-00000001", loaded);
    EXPECT_EQ(loaded.content(), Model(0, 1).fill(3).content());
    Model half(1, 2);
    load(folder / "step-00000001", half);
    EXPECT_EQ(half.content(), Model(1, 2).fill(3).content());
  }
}

TEST(CheckpointSaver, TheParametersAreTheSameFileOfAnyNumberOfWriters) {
  const Folder one, four;
  save(one.path(), 1, {.seed = 3});
  on_ranks(4, 1, [&](CheckpointSaver& saver, const Mesh&, Model& model) {
    start(saver, four, model);
    saver.finish();
  });
  EXPECT_EQ(read_text(one / "step-00000001/model.safetensors"), read_text(four / "step-00000001/model.safetensors"));
}

TEST(CheckpointSaver, WritersHaveEvenShares) {
  Model model(0, 1);
  ParamStore many(0, 1);
  for (int i = 0; i < 40; ++i) many.declare({.name = fmt::format("p{:02d}", i), .shape = {10 + i % 3}, .init = {}});
  many.allocate();
  const FileLayout layout = file_layout(model.ctx, many,
                                        {{"model", "", many.values()},
                                         {"optimizer", "m.", many.values()},
                                         {"optimizer", "v.", many.values()},
                                         {kAverageKind, kAveragePrefix, many.values()}});
  const auto all = divide_into_files(layout, 1, 1);
  const int64_t total = stored_bytes(all, 0);
  ASSERT_EQ(all.size(), 3u);
  for (const int ranks : {2, 3, 6}) {
    const auto files = divide_into_files(layout, ranks, 1);
    int64_t sum = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const int64_t bytes = stored_bytes(files, rank);
      sum += bytes;
      EXPECT_LE(bytes, std::max(total / 4, total / ranks + 100)) << ranks << " ranks, rank " << rank;
    }
    EXPECT_EQ(sum, total);
  }
  EXPECT_EQ(divide_into_files(layout, 6, /*smallest_share=*/total).size(), 3u);
}

TEST(CheckpointSaver, SavesTheValuesOfItsStartWhileTheModelChanges) {
  const Folder folder;
  on_ranks(2, 1, [&](CheckpointSaver& saver, const Mesh&, Model& model) {
    start(saver, folder, model);
    saver.wait_until_copied();
    model.fill(77);
    saver.finish();
  });
  Model loaded(0, 1);
  load(folder / "step-00000001", loaded);
  EXPECT_EQ(loaded.content(), Model(0, 1).fill(3).content());
}

TEST(CheckpointSaver, CommitsAfterAllRanksHaveWrittenAndOnlyThen) {
  const Folder folder;
  on_ranks(2, 1, [&](CheckpointSaver& saver, const Mesh& mesh, Model& model) {
    std::string committed;
    start(saver, folder, model, [&](const std::string& path) { committed = path; });
    EXPECT_FALSE(fs::exists(folder / "step-00000001"));
    EXPECT_EQ(saver.advance(), std::nullopt);
    EXPECT_TRUE(saver.in_progress());
    EXPECT_EQ(saver.advance(), folder / "step-00000001");
    EXPECT_FALSE(saver.in_progress());
    EXPECT_FALSE(saver.is_ready());
    EXPECT_EQ(committed, mesh.world().is_main_rank() ? folder / "step-00000001" : "");
  });
}

TEST(CheckpointSaver, OneThatIsGivenUpLeavesNothing) {
  const Folder folder;
  run_thread_ranks(1, [&](Communicator& world) {
    const Mesh mesh(world, {.dp = 1, .tp = 1});
    Model model(0, 1);
    CheckpointSaver saver(mesh);
    start(saver, folder, model);
  });
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(CheckpointSaver, AfterAFailureTheNextSaveSucceeds) {
  const Folder folder;
  on_ranks(2, 1, [&](CheckpointSaver& saver, const Mesh& mesh, Model& model) {
    const float good = model.m[0];
    model.m[0] = std::nanf("");
    start(saver, folder, model);
    message_of(ErrorKind::diverged, [&] { saver.finish(); });
    EXPECT_FALSE(saver.in_progress());
    mesh.world().barrier();
    model.m[0] = good;
    start(saver, folder, model);
    saver.finish();
  });
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-00000001"});
}

}  // namespace
}  // namespace weft::checkpoint_test
