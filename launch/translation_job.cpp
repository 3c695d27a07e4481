// launch/translation_job.cpp: reads, translates and writes chunks of lines.
#include "launch/translation_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "launch/reports/json_lines.h"
#include "tensor/clock.h"
#include "tensor/error.h"
#include "trainer/display/progress.h"
#include "trainer/display/units.h"
#include "trainer/inference/document_translator.h"
#include "trainer/inference/translator.h"

namespace weft {
namespace {

constexpr size_t kLinesPerRank = 2000;  // of a chunk

using Links = std::vector<std::vector<AlignmentLink>>;  // by line

// Computes the alignment of each line's best translation, and writes it on rank 0: to files of their own, or to those
// that follow the first one of `output`.
class AlignmentKeeper {
 public:
  AlignmentKeeper(LoadedModel& model, const AlignmentRequest& request, LineOutput* output)
      : model_(model),
        aligner_(model.replica(), request.choice(model.config().model)),
        paths_(request.paths()),
        output_(output) {
    all_or_none(model.replica().mesh().world(), [&] {
      if (output || !model.replica().mesh().world().is_main_rank()) return;
      for (const std::string& path : paths_)
        files_.push_back(open_alignment_file(path, model.source_tokenizer(), model.target_tokenizer(),
                                             request.describe(model.config().model)));
    });
  }
  // Returns the links of each line.
  Links add(const Translator& translator, const std::vector<TranslationInput>& inputs,
            const std::vector<NBest>& translations) {
    std::vector<PairIds> pairs;
    for (size_t i = 0; i < inputs.size(); ++i) pairs.push_back(translator.pair_of(inputs[i], translations[i].front()));
    Links links;
    aligner_.align(pairs, [&](const Alignment& alignment) {
      for (const auto& file : files_) file->add(alignment);
      for (size_t i = 0; output_ && i < paths_.size(); ++i)
        output_->write(
            alignment_line(paths_[i], alignment, model_.source_tokenizer(), model_.target_tokenizer()) + "\n", i + 1);
      links.push_back(best_links(alignment));
    });
    return links;
  }
  void finish() {
    for (const auto& file : files_) file->finish();
  }

 private:
  LoadedModel& model_;
  Aligner aligner_;
  std::vector<std::string> paths_;
  LineOutput* output_;                                 // null: `files_`, and on all ranks but 0
  std::vector<std::unique_ptr<AlignmentFile>> files_;  // empty except on rank 0
};

std::string text_of(const TranslatedLine& line, const Translator& translator, const TranslateRequest& r) {
  const NBest& nbest = line.nbest;
  if (r.json) return translation_line(line, translator) + "\n";
  if (r.scores) return fmt::format("{:.6f}\t{}\n", nbest.front().score, nbest.front().text);
  if (r.search.config.num_translations() == 1) return nbest.front().text + "\n";
  std::string text;
  for (const Translation& t : nbest) text += fmt::format("{} ||| {} ||| {:.6f}\n", line.index, t.text, t.score);
  return text;
}

// Names the lines that were cut, but no more than the first few of them.
class CutLines {
 public:
  void add(int64_t line, size_t tokens) {
    if (++count_ <= kMostNamed) named_ += fmt::format("{}line {} with {} tokens", count_ > 1 ? ", " : "", line, tokens);
  }
  void print(int64_t limit) const {
    if (count_ > 0)
      print_note("weft: lines that were longer than {} tokens and were cut: {} ({}{})\n", limit, count_, named_,
                 count_ > kMostNamed ? ", ..." : "");
  }

 private:
  static constexpr int64_t kMostNamed = 5;
  int64_t count_ = 0;
  std::string named_;
};

// Counts the tokens of the best translations, or of all samples. Measures the time of tokenization and search, but not
// of loading the model, of alignments and of waiting for input.
class SearchSpeed {
 public:
  explicit SearchSpeed(bool counts_all) : counts_all_(counts_all) {}
  void add(double begin, const std::vector<NBest>& translations) {
    seconds_ += monotonic_seconds() - begin;
    sentences_ += std::ssize(translations);
    for (const NBest& nbest : translations)
      for (size_t i = 0; i < (counts_all_ ? nbest.size() : 1); ++i) tokens_ += std::ssize(nbest[i].tokens) + 1;
  }
  std::string rate() const {  // "" before the first chunk
    return seconds_ > 0 ? fmt::format("{} tokens/s", format_count(tokens_per_second())) : "";
  }
  void print() const {
    print_note("weft: {} sentences, {} target tokens (with eos) in {:.3f} s, {:.0f} tokens/s\n", sentences_, tokens_,
               seconds_, tokens_per_second());
  }

 private:
  double tokens_per_second() const { return seconds_ > 0 ? static_cast<double>(tokens_) / seconds_ : 0; }
  bool counts_all_;
  double seconds_ = 0;
  int64_t sentences_ = 0, tokens_ = 0;
};

std::vector<const Replica*> replicas_of(const std::vector<LoadedModel>& models) {
  std::vector<const Replica*> replicas;
  for (const LoadedModel& model : models) replicas.push_back(&model.replica());
  return replicas;
}

class TranslationJob {
 public:
  TranslationJob(std::vector<LoadedModel>& models, const TranslateRequest& r, TranslationStreams& streams)
      : world_(models.front().replica().mesh().world()),
        request_(r),
        format_(r.lines()),
        streams_(streams),
        translator_(replicas_of(models), models.front().source_tokenizer(), models.front().target_tokenizer(),
                    r.search.config, r.batch),
        speed_(r.search.config.sampling.samples > 0),
        bar_("translating", "sentences", /*total=*/0,
             ProgressOutput::standard(r.model.quiet || !world_.is_main_rank())) {
    r.tags.check(translator_.source_tokenizer(), translator_.target_tokenizer());
    if (r.alignment.wanted())
      keeper_.emplace(models.front(), r.alignment, r.output.empty() || !streams.output ? nullptr : &*streams.output);
    if (r.documents > 0) documents_.emplace(translator_, r.documents);
  }

  void run() {
    skip_finished();
    std::vector<std::string> lines;  // read but not yet translated
    for (bool more = true; more;) {
      const std::vector<std::string> read = lines_of_rank0(world_, [&] { return read_chunk(); });
      more = !read.empty();
      lines.insert(lines.end(), read.begin(), read.end());
      const double begin = monotonic_seconds();
      std::vector<TranslationInput> inputs = encode(lines);
      if (documents_ && more) inputs.resize(documents_->num_complete(inputs));  // the rest waits for more lines
      translate(inputs, begin);
      const auto end = lines.begin() + std::ssize(inputs);
      if (world_.is_main_rank()) streams_.output->commit({lines.begin(), end});
      lines.erase(lines.begin(), end);
      done_ += std::ssize(inputs);
      share_done_ = share_read();
      bar_.update(done_, share_done_, speed_.rate());
    }
    if (keeper_) keeper_->finish();
    if (world_.is_main_rank()) streams_.output->finish(), print();
  }

 private:
  void print() const {
    if (documents_ && documents_->num_again() > 0)
      print_note(
          "weft: lines translated together: {}; lines translated again one by one, because the joint translation "
          "had too few or too many separators: {}\n",
          documents_->num_joined(), documents_->num_again());
    if (!request_.model.quiet) speed_.print();
    cut_.print(translator_.longest_source());
    streams_.input->print_bad_lines();
  }

  void skip_finished() {
    const auto next = [&](std::string& line) { return next_line(line); };
    done_ = number_of_rank0(world_, [&] { return streams_.output->skip_finished(next); });
    share_done_ = share_read();
    bar_.continue_from(done_, share_done_);
    if (done_ > 0 && world_.is_main_rank() && !request_.model.quiet)
      print_note("weft: {} already contains the translations of {} lines\n", request_.output, done_);
  }

  bool next_line(std::string& line) {
    InputLines& input = *streams_.input;
    if (!input.next(line)) return false;
    if (line == InputLines::kBad) return true;
    try {
      format_.check(line, input.where(), translator_);
    } catch (const Error& error) {
      input.reject(line, error);
    }
    return true;
  }

  // Waits for one line or the end of the input, and takes further lines only if they can be read without waiting.
  std::vector<std::string> read_chunk() {
    const size_t most = kLinesPerRank * static_cast<size_t>(translator_.mesh().dp().size());
    std::vector<std::string> lines;
    for (std::string line; lines.size() < most && (lines.empty() || streams_.input->ready()) && next_line(line);)
      lines.push_back(line);
    return lines;
  }

  std::vector<TranslationInput> encode(const std::vector<std::string>& lines) const {
    std::vector<TranslationInput> inputs;
    for (const std::string& line : lines) inputs.push_back(translator_.encode(format_.parse(line, "")));
    return inputs;
  }

  void translate(const std::vector<TranslationInput>& inputs, double begin) {
    const auto progress = [&](int64_t sentences) {
      const double part = static_cast<double>(sentences) / static_cast<double>(inputs.size());
      bar_.update(done_ + sentences, share_done_ + (share_read() - share_done_) * part, speed_.rate());
    };
    const std::vector<NBest> translations =
        documents_ ? documents_->translate(inputs, progress) : translator_.translate_inputs(inputs, progress);
    speed_.add(begin, translations);
    Links links;
    if (keeper_ && !inputs.empty()) links = keeper_->add(translator_, inputs, translations);
    for (size_t i = 0; world_.is_main_rank() && i < inputs.size(); ++i) {
      const int64_t index = done_ + static_cast<int64_t>(i);
      const TranslatedLine line{index, inputs[i], translations[i], request_.alignment.in_json() ? &links[i] : nullptr};
      streams_.output->write(text_of(line, translator_, request_));
      if (translator_.is_cut(inputs[i])) cut_.add(index + 1, inputs[i].source.size());
    }
  }

  double share_read() const { return streams_.input ? streams_.input->share_read() : 0; }

  Communicator& world_;
  const TranslateRequest& request_;
  TaggedLines format_;
  TranslationStreams& streams_;
  Translator translator_;
  std::optional<AlignmentKeeper> keeper_;
  std::optional<DocumentTranslator> documents_;
  SearchSpeed speed_;
  ProgressBar bar_;
  int64_t done_ = 0;       // lines
  double share_done_ = 0;  // of the input's bytes
  CutLines cut_;
};

}  // namespace

void translate_lines(std::vector<LoadedModel>& models, const TranslateRequest& request, TranslationStreams& streams) {
  TranslationJob(models, request, streams).run();
}

}  // namespace weft
