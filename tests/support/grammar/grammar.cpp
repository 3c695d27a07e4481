// tests/support/grammar/grammar.cpp: draws sentences of the built-in grammar and divides them into sets.
#include "tests/support/grammar/grammar.h"

#include <string>
#include <unordered_set>
#include <utility>

#include "tensor/error.h"
#include "tensor/random.h"
#include "tests/support/grammar/grammar_sentences.h"

namespace weft::testing::grammar {
namespace {

uint32_t random_below(uint32_t bound, uint32_t bits) {
  return static_cast<uint32_t>((static_cast<uint64_t>(bits) * bound) >> 32);
}

// Draws the parts of one sentence: the n-th number drawn is a pure function of (seed, sentence, n).
class Speaker {
 public:
  Speaker(uint64_t seed, uint32_t sentence) : seed_(seed), sentence_(sentence) {}

  bool combined() const { return combined_; }  // it has a held-out combination

  Text sentence() {
    switch (below(7)) {
      case 0: {
        const Object thing = object();
        return request(thing, room_number());
      }
      case 1: {
        const Word& modal_verb = one_of(kModals);
        const Verb& verb = one_of(kVerbs);
        const Object thing = object();
        return modal(modal_verb, verb, thing, time());
      }
      case 2: {
        const Word& introduction = one_of(kReports);
        const Person& person = one_of(kPersons);
        const Verb& verb = one_of(kVerbs);
        return report(introduction, person, verb, object());
      }
      case 3: {
        const Person& person = one_of(kPersons);
        const Verb& verb = one_of(kVerbs);
        const Object thing = object();
        return relative(person, verb, thing, time());
      }
      case 4: {
        const Object subject = object();
        const Word& adjective = adjective_of(*subject.thing);
        return predicate(subject, adjective, below(2) == 0);
      }
      case 5: {
        const int number = room_number(), num_nights = between(1, 29);
        return reservation(number, num_nights, time());
      }
      default: {
        const Person& person = one_of(kPersons);
        const Verb& verb = one_of(kVerbs);
        const Object thing = object();
        return question(person, verb, thing, time());
      }
    }
  }

 private:
  uint32_t below(uint32_t bound) {
    return random_below(bound, random_bits(seed_, draw_++, sentence_, purpose_of("grammar.sentence")));
  }
  int between(int first, int last) { return first + static_cast<int>(below(static_cast<uint32_t>(last - first + 1))); }

  template <typename T, size_t N>
  const T& one_of(const std::array<T, N>& list) {
    return list[below(N)];
  }

  int room_number() {
    const int number = between(2, 399);
    combined_ |= held_out_number(number);
    return number;
  }

  const Word& adjective_of(const Thing& thing) {
    const Word& adjective = one_of(kAdjectives);
    combined_ |= held_out_adjective(thing, adjective);
    return adjective;
  }

  Object object() {
    constexpr std::array kDeterminers = {Determiner::definite, Determiner::definite, Determiner::indefinite,
                                         Determiner::counted, Determiner::definite_plural};
    Object object{.thing = &one_of(kThings), .determiner = one_of(kDeterminers)};
    if (below(2) == 0) object.adjective = &adjective_of(*object.thing);
    if (object.determiner == Determiner::counted) object.count = between(2, 39);
    return object;
  }

  Clock clock() {
    const ClockKind kind{static_cast<uint8_t>(below(4))};
    const int hour = between(1, 11);
    return {kind, hour, kind == ClockKind::minutes_past ? between(3, 19) : 0};
  }

  Text time() {
    switch (below(3)) {
      case 0: {
        const Word& weekday = one_of(kWeekdays);
        return on(weekday, clock());
      }
      case 1: {
        const Word &weekday = one_of(kWeekdays), &ordinal = one_of(kOrdinals);
        return on(weekday, ordinal, one_of(kMonths));
      }
      default:
        return below(2) == 0 ? tomorrow() : at(clock());
    }
  }

  uint64_t seed_, draw_ = 0;
  uint32_t sentence_;
  bool combined_ = false;
};

// Short sentences are drawn first, so sets in the order of drawing would be unequal.
void shuffle(std::vector<Text>& pairs, uint64_t seed) {
  for (size_t i = pairs.size(); i > 1; --i)
    std::swap(pairs[i - 1],
              pairs[random_below(static_cast<uint32_t>(i), random_bits(seed, i, 0, purpose_of("grammar.shuffle")))]);
}

}  // namespace

bool held_out_number(int value) { return value >= 200 && value <= 249; }

bool held_out_adjective(const Thing& thing, const Word& adjective) {
  const auto thing_index = &thing - kThings.data(), adjective_index = &adjective - kAdjectives.data();
  return (3 * thing_index + 1) % static_cast<std::ptrdiff_t>(kAdjectives.size()) == adjective_index;
}

Corpus make_corpus(int64_t num_pairs, uint64_t seed) {
  const size_t count = static_cast<size_t>(num_pairs), num_held_out = Corpus::kNumTest + Corpus::kNumValid;
  if (num_pairs <= static_cast<int64_t>(num_held_out) || num_pairs > 1'000'000)
    fail(ErrorKind::usage, fmt::format("{} pairs: the grammar makes {} to 1000000", num_pairs, num_held_out + 1));
  Corpus corpus;
  std::vector<Text>& pairs = corpus.train;
  std::unordered_set<std::string> seen;
  for (uint32_t sentence = 0; pairs.size() < count; ++sentence) {
    Speaker speaker(seed, sentence);
    Text pair = speaker.sentence();
    if (!seen.insert(pair.en).second) continue;
    if (!speaker.combined())
      pairs.push_back(std::move(pair));
    else if (corpus.combinations.size() < Corpus::kMaxCombinations)
      corpus.combinations.push_back(std::move(pair));
  }
  shuffle(pairs, seed);
  const auto end_of_test = pairs.begin() + Corpus::kNumTest, end_of_valid = end_of_test + Corpus::kNumValid;
  corpus.test.assign(pairs.begin(), end_of_test);
  corpus.valid.assign(end_of_test, end_of_valid);
  pairs.erase(pairs.begin(), end_of_valid);
  return corpus;
}

}  // namespace weft::testing::grammar
