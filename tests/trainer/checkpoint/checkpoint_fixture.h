// tests/trainer/checkpoint/checkpoint_fixture.h: saves a small set of parameters on any grid of thread ranks.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "model/parameters/param_store.h"
#include "parallel/mesh.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "trainer/checkpoint/checkpoint.h"

namespace weft::checkpoint_test {

namespace fs = std::filesystem;
using Folder = testing::TemporaryFolder;
using testing::holds;
using testing::message_of;

inline std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// A rank's slices of four parameters (every kind of split) and of two moments.
struct Model {
  explicit Model(int tp_rank, int tp_size, int64_t width = 6) : params(tp_rank, tp_size) {
    params.declare({.name = "embedding", .shape = {11, width}, .tp_dim = 0, .pad = true, .init = {}});
    params.declare({.name = "qkv", .shape = {3, 4, 2, width}, .tp_dim = 1, .init = {}});
    params.declare({.name = "out.weight", .shape = {width, 8}, .tp_dim = 1, .init = {}});
    params.declare({.name = "norm.scale", .shape = {5}, .init = {}});
    params.allocate();
    for (std::vector<float>* moment : {&m, &v}) moment->assign(static_cast<size_t>(params.numel()), 0.0f);
  }

  std::vector<FlatState> buffers() {
    return {{"model", "", params.values()},
            {"optimizer", "adam.m.", Tensor(m.data(), {params.numel()})},
            {"optimizer", "adam.v.", Tensor(v.data(), {params.numel()})}};
  }

  Model& fill(float seed) {  // every global element has another value, the same on all grids
    for (const FlatState& buffer : buffers())
      for (const Param& p : params.params()) {
        seed += 1;
        std::vector<float> global(static_cast<size_t>(p.spec.shape.numel()));
        for (size_t i = 0; i < global.size(); ++i) global[i] = std::sin(seed + 0.37f * static_cast<float>(i));
        slice_from_global(p, global.data(), buffer.flat.matrices.ptr<float>() + p.offset);
      }
    return *this;
  }

  std::vector<float> content() {
    std::vector<float> all;
    for (const FlatState& b : buffers())
      all.insert(all.end(), b.flat.matrices.ptr<float>(), b.flat.matrices.ptr<float>() + b.flat.numel());
    return all;
  }

  Context ctx;
  ParamStore params;
  std::vector<float> m, v;
};

inline const nlohmann::json kState = {{"cursor", 17}, {"best", 0.1 + 0.2}, {"seed", 18446744073709551615u}};

struct SaveOptions {
  int dp = 1, tp = 1;
  float seed = 0;
  std::map<std::string, std::string> files = {};
  std::function<void(Communicator&, Model&)> before = nullptr;  // on every rank
};

inline void save(const std::string& root, int64_t step, const SaveOptions& options = {}) {
  run_thread_ranks(options.dp * options.tp, [&](Communicator& world) {
    const Mesh mesh(world, {.dp = options.dp, .tp = options.tp});
    Model model(mesh.tp().rank(), mesh.tp().size());
    model.fill(options.seed);
    if (options.before) options.before(world, model);
    const nlohmann::json state = world.rank() == 0 ? kState : nlohmann::json();  // only rank 0's is used
    save_checkpoint(
        model.ctx, root, mesh,
        {step, model.params, model.buffers(), state, {.config = "[train]\nsteps = 3\n", .files = options.files}});
  });
}

inline nlohmann::json load(const std::string& folder, Model& model) {
  return load_checkpoint(model.ctx, folder, model.params, model.buffers());
}

}  // namespace weft::checkpoint_test
