// launch/options/enum_names.h: the words for every enum that a user can choose; they stand here and nowhere else.
#pragma once

#include <array>
#include <string>
#include <utility>

#include "trainer/metrics/bleu.h"
#include "trainer/run_config.h"

namespace weft {

template <typename E, size_t N>
using EnumNames = std::array<std::pair<const char*, E>, N>;

constexpr EnumNames<DeviceChoice, 3> enum_names(DeviceChoice) {
  return {{{"auto", DeviceChoice::automatic}, {"cpu", DeviceChoice::cpu}, {"cuda", DeviceChoice::cuda}}};
}
constexpr EnumNames<Communication, 3> enum_names(Communication) {
  return {{{"auto", Communication::automatic}, {"nccl", Communication::nccl}, {"mpi", Communication::mpi}}};
}
constexpr EnumNames<NormPosition, 2> enum_names(NormPosition) {
  return {{{"post", NormPosition::post}, {"pre", NormPosition::pre}}};
}
constexpr EnumNames<Tying, 3> enum_names(Tying) {
  return {{{"none", Tying::none}, {"output", Tying::output}, {"all", Tying::all}}};
}
constexpr EnumNames<Positions, 4> enum_names(Positions) {
  return {{{"interleaved", Positions::interleaved},
           {"halves", Positions::halves},
           {"tensor2tensor", Positions::tensor2tensor},
           {"learned", Positions::learned}}};
}
constexpr EnumNames<EmbeddingInit, 2> enum_names(EmbeddingInit) {
  return {{{"normal", EmbeddingInit::normal}, {"xavier", EmbeddingInit::xavier}}};
}
constexpr EnumNames<Activation, 3> enum_names(Activation) {
  return {{{"relu", Activation::relu}, {"gelu", Activation::gelu}, {"gelu_tanh", Activation::gelu_tanh}}};
}
constexpr EnumNames<ScheduleKind, 4> enum_names(ScheduleKind) {
  return {{{"inverse_sqrt", ScheduleKind::inverse_sqrt},
           {"linear", ScheduleKind::linear},
           {"cosine", ScheduleKind::cosine},
           {"constant", ScheduleKind::constant}}};
}
constexpr EnumNames<Precision, 4> enum_names(Precision) {
  return {
      {{"auto", Precision::automatic}, {"f32", Precision::f32}, {"bf16", Precision::bf16}, {"f16", Precision::f16}}};
}
constexpr EnumNames<BestMetric, 2> enum_names(BestMetric) {
  return {{{"loss", BestMetric::loss}, {"bleu", BestMetric::bleu}}};
}
constexpr EnumNames<BleuTokenizer, 5> enum_names(BleuTokenizer) {
  return {{{"13a", BleuTokenizer::v13a},
           {"intl", BleuTokenizer::intl},
           {"char", BleuTokenizer::chars},
           {"zh", BleuTokenizer::zh},
           {"none", BleuTokenizer::none}}};
}
constexpr EnumNames<BleuSmoothing, 4> enum_names(BleuSmoothing) {
  return {{{"exp", BleuSmoothing::exp},
           {"floor", BleuSmoothing::floor},
           {"add-k", BleuSmoothing::add_k},
           {"none", BleuSmoothing::none}}};
}

template <typename E>
std::string joined_enum_names() {
  std::string all;
  for (const auto& [name, value] : enum_names(E{})) all += (all.empty() ? "" : ", ") + std::string(name);
  return all;
}

}  // namespace weft
