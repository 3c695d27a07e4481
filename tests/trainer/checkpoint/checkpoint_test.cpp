// tests/trainer/checkpoint/checkpoint_test.cpp: saving and loading from any grid to any other, and refused
// checkpoints.
#include "trainer/checkpoint/checkpoint.h"

#include <cstring>
#include <limits>

#include "checkpoint_fixture.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/checkpoint/safetensors.h"

namespace weft::checkpoint_test {
namespace {

const std::vector<std::pair<int, int>> kGrids = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {1, 4}};

TEST(Checkpoint, TensorFilesAreTheSameBytesOnEveryGrid) {
  const Folder folder;
  std::string model, optimizer;
  for (const auto& [dp, tp] : kGrids) {
    const std::string root = folder / fmt::format("{}x{}", dp, tp);
    save(root, 7, {.dp = dp, .tp = tp});
    const std::string step = root + "/step-00000007/";
    if (model.empty())
      model = read_text(step + "model.safetensors"), optimizer = read_text(step + "optimizer.safetensors");
    EXPECT_EQ(read_text(step + "model.safetensors"), model) << dp << "x" << tp;
    EXPECT_EQ(read_text(step + "optimizer.safetensors"), optimizer) << dp << "x" << tp;
  }
  EXPECT_GT(model.size(), 4u * (11 * 6 + 3 * 4 * 2 * 6 + 6 * 8 + 5));
}

TEST(Checkpoint, LoadsOnEveryGridWhatAnyGridSaved) {
  const Folder folder;
  for (const auto& [dp, tp] : kGrids) {
    const std::string root = folder / fmt::format("{}x{}", dp, tp);
    save(root, 7, {.dp = dp, .tp = tp, .seed = 3});
    for (const int tp_size : {1, 2, 4})
      for (int rank = 0; rank < tp_size; ++rank) {
        Model expected(rank, tp_size), loaded(rank, tp_size);
        EXPECT_EQ(load(root + "/step-00000007", loaded), kState);
        EXPECT_EQ(loaded.content(), expected.fill(3).content())
            << dp << "x" << tp << " to rank " << rank << " of " << tp_size;
      }
  }
}

// Weft would not write it, but its digests are right.
TEST(Checkpoint, ANumberThatIsNotFiniteIsRefusedByTensorAndPlace) {
  const Folder folder;
  save(folder.path(), 7);
  const std::string step = folder / "step-00000007", file = step + "/optimizer.safetensors";
  std::string content = read_text(file);
  const float bad = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(content.data() + content.size() - 3 * sizeof bad, &bad, sizeof bad);  // near the end of adam.v.qkv
  CheckpointManifest manifest = read_checkpoint_manifest(step);
  fs::remove(file), fs::remove(step + "/" + kManifestName);
  manifest.files["optimizer.safetensors"] = write_digested(file, content);
  write_checkpoint_manifest(step, manifest);

  Model model(0, 1);
  const std::string message = message_of(ErrorKind::checkpoint, [&] { load(step, model); });
  EXPECT_TRUE(holds(message, file + ": tensor 'adam.v.qkv' contains nan at [2, 3, 1, 3] (not finite: 1 of 144 values)"))
      << message;
}

TEST(Checkpoint, OneRankReadsForAllOfItsHost) {
  const Folder folder;
  save(folder.path(), 7, {.seed = 3});
  const std::string step = folder / "step-00000007";
  const auto load_on_all = [&](bool verified) {
    run_thread_ranks(4, [&](Communicator& world) {
      Model model(world.rank() % 2, 2);
      load_tensors(model.ctx, step, model.params, model.buffers(), world, verified);
      EXPECT_EQ(model.content(), Model(world.rank() % 2, 2).fill(3).content());
    });
  };
  load_on_all(false);
  load_on_all(true);
  fs::resize_file(step + "/optimizer.safetensors", 100);
  EXPECT_TRUE(
      holds(message_of(ErrorKind::checkpoint, [&] { load_on_all(false); }), "optimizer.safetensors is damaged"));
}

TEST(Checkpoint, VocabularyIsStoredWithoutTheRowsThatPadIt) {
  const Folder folder;
  save(folder.path(), 1, {.tp = 4});
  const SafetensorsFile file(folder / "step-00000001/model.safetensors");
  EXPECT_EQ(file.entries().at("embedding").shape, (std::vector<int64_t>{11, 6}));
  EXPECT_EQ(file.entries().at("qkv").shape, (std::vector<int64_t>{3, 4, 2, 6}));
}

TEST(Checkpoint, ManifestListsEveryFileAndTensor) {
  const Folder folder;
  save(folder / "run", 1200, {.dp = 2, .tp = 2, .files = {{"tokenizer.model", "entries"}}});
  const CheckpointManifest manifest = read_checkpoint_manifest(folder / "run/step-00001200");
  std::vector<std::string> names = {kManifestName};
  for (const auto& [name, digest] : manifest.files) names.push_back(name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, names_in(folder / "run/step-00001200"));
  EXPECT_EQ(names_in(folder / "run"), std::vector<std::string>{"step-00001200"});
  EXPECT_EQ(read_text(folder / "run/step-00001200/tokenizer.model"), "entries");
  EXPECT_EQ(manifest.step, 1200);
  EXPECT_EQ(manifest.dp, 2);
  EXPECT_EQ(manifest.tp, 2);
  EXPECT_EQ(manifest.tensors.size(), 12u);
  EXPECT_EQ(manifest.tensors.at("adam.v.qkv").file, "optimizer.safetensors");
  EXPECT_EQ(manifest.tensors.at("adam.v.qkv").shape, (std::vector<int64_t>{3, 4, 2, 6}));
}

TEST(Checkpoint, LoadsTheModelWithoutTheOptimizer) {
  const Folder folder;
  save(folder.path(), 1, {.seed = 5});
  Model loaded(0, 1), expected(0, 1);
  load_checkpoint(loaded.ctx, folder / "step-00000001", loaded.params, {loaded.buffers()[0]});
  expected.fill(5);
  EXPECT_EQ(0, memcmp(loaded.params.values().data, expected.params.values().data, expected.params.values().bytes()));
  EXPECT_EQ(loaded.m[0], 0.0f);
}

TEST(Checkpoint, AnotherModelIsRefusedByNameAndNothingIsLoaded) {
  const Folder folder;
  save(folder.path(), 1);
  const std::string step = folder / "step-00000001";

  Model wider(0, 1, /*width=*/8);
  const std::string misshaped = message_of(ErrorKind::checkpoint, [&] { load(step, wider); });
  EXPECT_TRUE(holds(misshaped, "[11, 6]") && holds(misshaped, "[11, 8]") && holds(misshaped, "embedding")) << misshaped;
  EXPECT_EQ(wider.content(), Model(0, 1, 8).content());

  ParamStore more(0, 1), fewer(0, 1);
  const Model model(0, 1);
  for (const Param& p : model.params.params()) {
    more.declare(p.spec);
    if (p.spec.name != "qkv") fewer.declare(p.spec);
  }
  more.declare({.name = "new.bias", .shape = {3}, .init = {}});
  more.allocate();
  fewer.allocate();
  Context ctx;
  const auto load_into = [&](ParamStore& params) {
    return message_of(ErrorKind::checkpoint, [&] {
      load_checkpoint(ctx, step, params, {{"model", "", params.values()}});
    });
  };
  const std::string missing = load_into(more), extra = load_into(fewer);
  EXPECT_TRUE(holds(missing, "'new.bias' is missing") && holds(missing, "model.safetensors")) << missing;
  EXPECT_TRUE(holds(extra, "'qkv' is not in this model")) << extra;
}

TEST(Checkpoint, AValueThatIsNotFiniteStopsTheSaveOnAllRanks) {
  const Folder folder;
  save(folder.path(), 1);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    for (int tp_rank = 0; tp_rank < 2; ++tp_rank) {
      const auto spoil = [&](Communicator& world, Model& model) {
        if (world.rank() % 2 == tp_rank) model.v[static_cast<size_t>(model.params.find("qkv")->offset) + 3] = bad;
      };
      const std::string message =
          message_of(ErrorKind::diverged, [&] { save(folder.path(), 2, {.dp = 2, .tp = 2, .before = spoil}); });
      EXPECT_TRUE(holds(message, "adam.v.qkv")) << message;
    }
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-00000001"});
}

TEST(Checkpoint, AWholeFolderOfThisStepIsNeverOverwritten) {
  const Folder folder;
  save(folder.path(), 1, {.seed = 1});
  const std::string before = read_text(folder / "step-00000001/model.safetensors");
  const std::string message = message_of(ErrorKind::io, [&] { save(folder.path(), 1, {.tp = 2, .seed = 2}); });
  EXPECT_TRUE(holds(message, "step-00000001 already exists")) << message;
  EXPECT_EQ(read_text(folder / "step-00000001/model.safetensors"), before);
  EXPECT_EQ(names_in(folder.path()).size(), 1u);
}

TEST(Checkpoint, AStateThatJsonCannotHoldIsRefused) {
  const Folder folder;
  run_thread_ranks(1, [&](Communicator& world) {
    const Mesh mesh(world, {.dp = 1, .tp = 1});
    Model model(0, 1);
    const nlohmann::json state = {{"best", std::numeric_limits<double>::quiet_NaN()}};
    message_of(ErrorKind::internal, [&] {
      save_checkpoint(model.ctx, folder.path(), mesh, {1, model.params, model.buffers(), state, {}});
    });
  });
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(Checkpoint, TwoFilesOfOneNameAreRefused) {
  const Folder folder;
  const std::string message = message_of(ErrorKind::usage, [&] {
    save(folder / "run", 1, {.files = {{"config.cfg", "of somebody else"}}});
  });
  EXPECT_TRUE(holds(message, "'config.cfg'")) << message;
}

}  // namespace
}  // namespace weft::checkpoint_test
