// launch/commands.cpp: the table of subcommands.
#include "launch/commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "tensor/error.h"
#include "trainer/config/nearest.h"
#include "trainer/display/progress.h"
#include "trainer/display/wrap.h"

namespace weft {
namespace {

constexpr Command kCommands[] = {
    {"pack", "convert parallel text to token shards, with a new or an existing tokenizer", run_pack, false},
    {"train", "start or resume training, in one process or on several ranks", run_train, true},
    {"launch", "start a command such as train on several ranks, and restart training after failures", run_launch,
     false},
    {"translate", "translate standard input to standard output", run_translate, true},
    {"score", "print the log-probability of given translations", run_score, true},
    {"serve", "answer HTTP requests for translations and scores, with a page to try a model", run_serve, false},
    {"evaluate", "translate test sets and score the translations", run_evaluate, true},
    {"bleu", "compute BLEU, chrF and TER of one or several systems, with significance tests", run_bleu, false},
    {"inspect", "show a shard, a corpus, a checkpoint, a model or a run", run_inspect, false},
    {"inspect model", "show a model's layers, parameters, FLOPs and memory", run_inspect_model, false},
    {"watch", "show the progress, curves and validations of a run while it trains", run_watch, false},
    {"audit", "find lines of test sets, and faulty pairs, in a training text", run_audit, false},
    {"verify", "check corpora, checkpoints and runs for damage", run_verify, false},
    {"bench", "measure training speed: matrix products, parts of a step, tokens/s, all-reduce", run_bench, true},
    {"plan", "predict memory, time and efficiency of a run on a cluster, for each dp x tp grid", run_plan, false},
    {"average", "average the weights of several checkpoints into a new checkpoint", run_average, false},
    {"export", "write a model to a folder for CTranslate2, Hugging Face, Marian or PyTorch", run_export, false},
    {"import", "make a checkpoint from a model of Hugging Face or PyTorch", run_import, false},
    {"vocabulary", "replace, grow or prune the vocabulary of a model, or add tags", run_vocabulary, false},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (name == command.name) return command;
    names.push_back(command.name);
  }
  const std::string nearest = nearest_name(name, names);
  fail(ErrorKind::usage,
       fmt::format("unknown command '{}'; {}", name,
                   nearest.empty() ? "`weft help` lists the commands" : fmt::format("did you mean '{}'?", nearest)));
}

FoundCommand find_command(const std::vector<std::string>& args) {
  const std::string two_words = args.size() > 1 ? args[0] + " " + args[1] : "";
  const auto it = std::ranges::find_if(kCommands, [&](const Command& command) { return two_words == command.name; });
  if (it != std::end(kCommands)) return {*it, {.args = {args.begin() + 2, args.end()}}};
  return {find_command(args.at(0)), {.args = {args.begin() + 1, args.end()}}};
}

namespace {

constexpr char kOnSeveralRanks[] =
    "`weft COMMAND --help` explains the options of a command. `weft launch -n 4 train ...` trains on 4 ranks. You can "
    "also start ranks with mpirun or srun --mpi=pmix (docs/hardware/cluster.md). Without a launcher, a command runs in "
    "one process and does not start MPI.";

std::string program_manual() {
  std::string text = manual_name("weft", "train and use translation Transformers on CPUs and GPUs") +
                     ".SH SYNOPSIS\nweft COMMAND [options]\n.SH COMMANDS\n";
  for (const Command& command : kCommands)
    text += fmt::format(".TP\n.BR {} (1)\n{}\n", roff(manual_page_of(command.name)), roff(command.summary));
  return text + ".SH DESCRIPTION\n" + roff(kOnSeveralRanks) + "\n";
}

}  // namespace

std::string program_help(HelpFormat format) {
  if (format == HelpFormat::man) return program_manual();
  constexpr size_t kSummaryColumn = 13;
  const size_t columns = output_columns();
  std::string text = format == HelpFormat::words ? "" : "usage: weft COMMAND [options]\n\n";
  for (const Command& command : kCommands) {
    if (format == HelpFormat::words)
      text += fmt::format("{}\t\t{}\n", command.name, command.summary);
    else if (std::string_view(command.name).find(' ') == std::string_view::npos)
      text += fmt::format("  {:<10} {}\n", command.name, wrap_words(command.summary, kSummaryColumn, columns));
  }
  return format == HelpFormat::words ? text : text + "\n" + wrap_words(kOnSeveralRanks, 0, columns) + "\n";
}

}  // namespace weft
