// tests/model/parameters/param_store_test.cpp: the shards of every tp size are slices of the same global
// model.
#include "model/parameters/param_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "parallel/tensor_parallel.h"
#include "tensor/half.h"
#include "tensor/op/quantize.h"
#include "tests/support/errors.h"

namespace weft {
namespace {

constexpr int64_t kVocabulary = 11, kHeads = 12;

void declare_model(ParamStore& store) {
  const InitSpec normal = InitSpec::normal(0.5f);
  store.declare({.name = "table", .shape = {kVocabulary, 6}, .tp_dim = 0, .pad = true, .init = normal});
  store.declare({.name = "norm", .shape = {5}, .init = InitSpec::constant(1.0f)});
  store.declare({.name = "qkv", .shape = {3, kHeads, 2, 7}, .tp_dim = 1, .init = InitSpec::xavier(7, 24)});
  store.declare({.name = "down", .shape = {7, kHeads}, .tp_dim = 1, .init = normal});
  store.declare({.name = "bias", .shape = {kHeads}, .tp_dim = 0, .init = normal});
}

ParamStore store_of(int tp_rank, int tp_size) {
  ParamStore store(tp_rank, tp_size);
  declare_model(store);
  store.allocate();
  return store;
}

using GlobalModel = std::map<std::string, std::vector<float>>;

// Joins the initialised shards of all ranks; elements that no rank writes stay NaN, which equals nothing.
GlobalModel assembled(int tp_size) {
  GlobalModel model;
  for (int rank = 0; rank < tp_size; ++rank) {
    ParamStore store = store_of(rank, tp_size);
    Context ctx;
    store.initialize(ctx, 42);
    for (const Param& p : store.params()) {
      std::vector<float>& global = model[p.spec.name];
      global.resize(static_cast<size_t>(p.spec.shape.numel()), NAN);
      slice_to_global(p.spec, rank, tp_size, p.value.ptr<float>(), global.data());
    }
  }
  return model;
}

class ParamStoreTp : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, ParamStoreTp, ::testing::Values(1, 2, 3, 4));

TEST_P(ParamStoreTp, StartsFromTheSameGlobalValues) { EXPECT_EQ(assembled(GetParam()), assembled(1)); }

TEST_P(ParamStoreTp, SlicesAreTakenWhereTheyArePutBack) {
  for (int rank = 0; rank < GetParam(); ++rank) {
    const ParamStore store = store_of(rank, GetParam());
    for (const Param& p : store.params()) {
      std::vector<float> global(static_cast<size_t>(p.spec.shape.numel())), back(global.size(), -1.0f);
      for (size_t i = 0; i < global.size(); ++i) global[i] = static_cast<float>(i + 1);
      std::vector<float> local(static_cast<size_t>(p.numel()), -1.0f);
      slice_from_global(p, global.data(), local.data());
      slice_to_global(p.spec, rank, GetParam(), local.data(), back.data());
      size_t mine = 0;
      for (size_t i = 0; i < back.size(); ++i) {
        if (back[i] == -1.0f) continue;
        EXPECT_EQ(back[i], global[i]) << p.spec.name;
        ++mine;
      }
      const size_t padding = static_cast<size_t>(std::count(local.begin(), local.end(), 0.0f));
      EXPECT_EQ(mine + padding, local.size()) << p.spec.name;
    }
  }
}

TEST_P(ParamStoreTp, PaddingOfAVocabularyIsZeroAfterInitialization) {
  int64_t padding = 0;
  for (int rank = 0; rank < GetParam(); ++rank) {
    ParamStore store = store_of(rank, GetParam());
    Context ctx;
    store.initialize(ctx, 42);
    const Param* table = store.find("table");
    const VocabularyRange range = VocabularyRange::of(kVocabulary, rank, GetParam());
    EXPECT_EQ(table->begin, range.first);
    EXPECT_EQ(table->value.rows(), range.columns);
    for (int64_t i = range.valid * 6; i < table->numel(); ++i) EXPECT_EQ(table->value.ptr<float>()[i], 0.0f);
    padding += range.columns - range.valid;
  }
  EXPECT_EQ(padding, (GetParam() - kVocabulary % GetParam()) % GetParam());
}

TEST(ParamStore, InitialValuesFollowTheirSpec) {
  const GlobalModel model = assembled(1);
  for (const float v : model.at("norm")) EXPECT_EQ(v, 1.0f);
  const float bound = std::sqrt(6.0f / 31.0f);
  const auto [low, high] = std::minmax_element(model.at("qkv").begin(), model.at("qkv").end());
  EXPECT_GT(*low, -bound);
  EXPECT_LE(*high, bound);
  EXPECT_LT(*low, -0.9f * bound);
  EXPECT_GT(*high, 0.9f * bound);
  EXPECT_NE(model.at("down")[0], model.at("bias")[0]);  // each name draws its own numbers
}

TEST(ParamStore, ValuesDependOnNamesNotOnTheOrderOfDeclaration) {
  ParamStore one(0, 1);
  one.declare({.name = "bias", .shape = {kHeads}, .init = InitSpec::normal(0.5f)});
  one.allocate();
  Context ctx;
  one.initialize(ctx, 42);
  const float* values = one.params()[0].value.ptr<float>();
  EXPECT_EQ(std::vector<float>(values, values + kHeads), assembled(1).at("bias"));
}

TEST(ParamStore, ParametersAreAlignedInFlatMemoryWithZerosBetween) {
  ParamStore store = store_of(0, 2);
  Context ctx;
  store.initialize(ctx, 42);
  std::set<int64_t> owned;
  for (const Param& p : store.params()) {
    EXPECT_EQ(p.offset % 16, 0) << p.spec.name;
    EXPECT_EQ(p.value.ptr<float>(), store.values().ptr<float>() + p.offset);
    EXPECT_EQ(p.grad.ptr<float>(), store.grads().ptr<float>() + p.offset);
    for (int64_t i = 0; i < p.numel(); ++i) EXPECT_TRUE(owned.insert(p.offset + i).second) << p.spec.name;
  }
  for (int64_t i = 0; i < store.numel(); ++i) {
    EXPECT_TRUE(owned.count(i) || store.values().ptr<float>()[i] == 0.0f);
  }
  EXPECT_EQ(store.values().numel(), store.numel());
  EXPECT_EQ(store.global_numel(), 11 * 6 + 5 + 3 * 12 * 2 * 7 + 7 * 12 + 12);
}

TEST(ParamStore, FrozenParametersLieOutsideOfWhatTrains) {
  ParamStore store(0, 2, DType::bf16, Device::cpu, ParamUse::training, FrozenNames({"t*", "bias", "other"}));
  const InitSpec normal = InitSpec::normal(0.5f);
  const Param* table = store.declare({.name = "table", .shape = {6, 8}, .tp_dim = 0, .init = normal, .matrix = true});
  const Param* down = store.declare({.name = "down", .shape = {8, 10}, .tp_dim = 1, .init = normal, .matrix = true});
  const Param* bias = store.declare({.name = "bias", .shape = {12}, .init = normal});
  for (const Param* p : {table, down}) store.use_as_matrix(p, p->value.dim(0));
  store.allocate();
  EXPECT_EQ(store.numel(), 48);  // 8 x 5 elements, and the alignment
  EXPECT_EQ(store.grads().numel(), store.numel());
  EXPECT_EQ(store.trainable_numel(), 8 * 10);
  EXPECT_DOUBLE_EQ(store.trained_share(), 40.0 / (40 + 24));
  EXPECT_TRUE(table->grad.empty());
  EXPECT_EQ(bias->grad.numel(), 12);
  EXPECT_EQ(store.ranges([](const Param&) { return true; }).size(), 1u);
  EXPECT_EQ(store.unmatched_frozen_names(), std::vector<std::string>{"other"});

  Context ctx;
  store.initialize(ctx, 42);
  for (const Param* p : {table, down, bias}) {
    EXPECT_NE(p->value.ptr<float>()[0], 0) << p->spec.name;
    EXPECT_EQ(store.value_buffer().of(*p).data, p->value.data) << p->spec.name;
  }
  for (const Param* p : {table, down})
    EXPECT_EQ(p->compute.ptr<BFloat16>()[3].bits, from_float<BFloat16>(p->value.ptr<float>()[3]).bits) << p->spec.name;
}

TEST(ParamStore, HandlesStayValidAndKnowTheirShapeBeforeMemoryExists) {
  ParamStore store(1, 3);
  const Param* first = store.declare({.name = "w", .shape = {6, 4}, .tp_dim = 0});
  for (int i = 0; i < 100; ++i) store.declare({.name = fmt::format("b{}", i), .shape = {4}});
  EXPECT_EQ(first->value.shape, Shape({2, 4}));
  EXPECT_EQ(first->value.data, nullptr);
  store.allocate();
  EXPECT_EQ(first, store.find("w"));
  EXPECT_NE(first->value.data, nullptr);
  EXPECT_EQ(first->begin, 2);
  EXPECT_EQ(store.find("missing"), nullptr);
}

std::string refusal(ErrorKind kind, int tp_size, const ParamSpec& spec) {
  ParamStore store(0, tp_size);
  store.declare({.name = "taken", .shape = {1}});
  return testing::message_of(kind, [&] { store.declare(spec); });
}

TEST(ParamStore, RefusesHeadsThatCannotBeDividedWithNameAndNumbers) {
  const std::string message =
      refusal(ErrorKind::usage, 4, {.name = "encoder.0.qkv", .shape = {3, 6, 64, 384}, .tp_dim = 1});
  for (const char* part : {"encoder.0.qkv", "[3, 6, 64, 384]", "6", "parallel.tp = 4", "model.heads"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  }
}

TEST(ParamStore, RefusesMoreThanTheMachinesMemoryWithTheNumbers) {
  ParamStore store(0, 1);
  store.declare({.name = "w", .shape = {1 << 20, 1 << 20}});
  testing::expect_error([&] { store.allocate(); }, ErrorKind::usage,
                        {"1099511627776 parameters need 8192.0 GiB with their gradients, but"});
}

TEST(ParamStore, HasNoGradientsForInference) {
  ParamStore store(0, 1, DType::bf16, Device::cpu, ParamUse::inference);
  store.declare({.name = "w", .shape = {1 << 20, 1 << 20}, .matrix = true});
  testing::expect_error([&] { store.require_memory(); }, ErrorKind::usage,
                        {"1099511627776 parameters need 6144.0 GiB, but this machine"});
  ParamStore small(0, 1, DType::bf16, Device::cpu, ParamUse::inference);
  const Param* w = small.declare({.name = "w", .shape = {4, 32}, .matrix = true});
  small.allocate(/*shards=*/2);
  EXPECT_TRUE(w->grad.data == nullptr);
  EXPECT_FALSE(small.divided()) << "values are loaded whole";
  EXPECT_EQ(small.values().numel(), small.numel());
}

// A weight may have more dimensions than its matrix, as attention's output [width, heads, head size].
TEST(ParamStore, RoundsToInt8ByTheRowsThatGemmsRead) {
  ParamStore store(0, 1, DType::f32, Device::cpu, ParamUse::int8_inference);
  const InitSpec normal = InitSpec::normal(0.5f);
  const Param* const out = store.declare({.name = "out", .shape = {6, 3, 7}, .init = normal, .matrix = true});
  const Param* const table = store.declare({.name = "table", .shape = {9, 5}, .init = normal, .matrix = true});
  store.use_as_matrix(out, 6);
  store.allocate();
  Context ctx;
  store.initialize(ctx, 3);
  const auto expect_rounded_rows = [](const Param& p, int64_t cols) {
    std::vector<int8_t> q(static_cast<size_t>(cols));
    for (const float* row = p.value.ptr<float>(); row < p.value.ptr<float>() + p.numel(); row += cols) {
      const float scale = quantize_row(row, cols, q.data());
      for (size_t c = 0; c < q.size(); ++c) ASSERT_EQ(row[c], scale * q[c]) << p.spec.name << " column " << c;
      EXPECT_EQ(std::abs(*std::ranges::max_element(q, {}, [](int8_t x) { return std::abs(x); })), kInt8Max);
    }
  };
  expect_rounded_rows(*out, 21);
  expect_rounded_rows(*table, 5);
}

TEST(ParamStore, RefusesDuplicateNamesAndImpossibleDimensions) {
  EXPECT_NE(refusal(ErrorKind::internal, 1, {.name = "taken", .shape = {2}}).find("twice"), std::string::npos);
  refusal(ErrorKind::internal, 1, {.name = "w", .shape = {2}, .tp_dim = 1});
  refusal(ErrorKind::internal, 1, {.name = "w", .shape = {0}});
}

TEST(ParamStore, RefusesParametersBeyondTheMemoryBeforeTheyAreAllocated) {
  ParamStore params(/*tp_rank=*/0, /*tp_size=*/1);
  params.require_memory();
  params.declare({.name = "huge", .shape = {int64_t{1} << 24, int64_t{1} << 24}});
  testing::expect_error([&] { params.require_memory(); }, ErrorKind::usage,
                        {"281474976710656 parameters", "model.width"});
}

}  // namespace
}  // namespace weft
