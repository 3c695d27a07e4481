// tests/fuzz/option_values.cpp: values of options that have a grammar of their own. The first byte chooses the option.
// A value that was read is written, and reads back, where a function writes it.
#include <array>

#include "data/noise/inline_marks.h"
#include "data/noise/noise_rates.h"
#include "data/order/mix.h"
#include "data/tags.h"
#include "launch/start/hosts.h"
#include "tests/fuzz/target.h"
#include "trainer/validation/validation_sets.h"

namespace {

void read_hosts(const std::string& text) {
  const std::vector<weft::Host> hosts = weft::parse_hosts(text);
  if (weft::parse_hosts(weft::hosts_text(hosts)) != hosts) std::abort();
}

void read_mix(const std::string& text) {
  const std::vector<weft::MixCorpus> mix = weft::parse_mix("data.mix", text);
  if (mix.size() == 1) return;  // whose text has no weight
  if (weft::parse_mix("data.mix", weft::mix_text(mix)) != mix) std::abort();
}

void read_tags(const std::string& text) {
  weft::split_tags(text);
  weft::tag_names(text, "--tags");
}

void read_noise(const std::string& text) {
  const weft::NoiseRates rates = weft::parse_noise_rates("data.source_noise", text);
  weft::parse_letter_cases("data.target_noise", text, rates);
}

void read_best(const std::string& text) {
  const std::vector<weft::ValidationSet> sets = weft::parse_validation_sets("dev=a,test=b");
  const std::string rule = weft::BestRule(text, sets).text();
  if (const auto again = weft::BestRule::read(rule); !again || again->text() != rule) std::abort();
}

void read_input(std::string_view bytes) {
  constexpr std::array kReaders = {
      +[](const std::string& text) { read_hosts(text); },
      +[](const std::string& text) { read_mix(text); },
      +[](const std::string& text) { read_tags(text); },
      +[](const std::string& text) { read_noise(text); },
      +[](const std::string& text) { weft::parse_mark_rates("data.marks", text); },
      +[](const std::string& text) { weft::parse_validation_sets(text); },
      +[](const std::string& text) { read_best(text); },
  };
  if (bytes.empty()) return;
  const size_t choice = static_cast<unsigned char>(bytes[0]) - size_t{'0'};  // '0', '1', ... in the kept inputs
  kReaders[choice % kReaders.size()](std::string(bytes.substr(1)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, read_input);
}
