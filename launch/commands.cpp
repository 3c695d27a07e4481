// launch/commands.cpp: what `weft` can do.
#include "launch/commands.h"

#include <fmt/format.h>

#include "launch/options/nearest.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr Command kCommands[] = {
    {"pack", "turn two text files into token shards, with a tokenizer trained on them or given", run_pack, false},
    {"train", "train or go on training, alone or under mpirun", run_train, true},
    {"translate", "translate standard input to standard output", run_translate, true},
    {"score", "log-probability of given translations", run_score, true},
    {"evaluate", "translate held-out sets and score them", run_evaluate, true},
    {"bleu", "BLEU, chrF and TER of one or several systems, and whether they differ", run_bleu, false},
    {"inspect", "look into a shard, a corpus, a checkpoint, a model or a run", run_inspect, false},
    {"bench", "how fast this machine trains: products, a step by part, tokens/s, all-reduce", run_bench, true},
    {"export", "a checkpoint's weights as a file for PyTorch", run_export, false},
    {"import", "weights from PyTorch as a checkpoint", run_import, false},
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
                   nearest.empty() ? "`weft help` lists them" : fmt::format("did you mean '{}'?", nearest)));
}

std::string program_help() {
  std::string text = "usage: weft COMMAND [options]\n\n";
  for (const Command& command : kCommands) text += fmt::format("  {:<10} {}\n", command.name, command.summary);
  return text +
         "\n`weft COMMAND --help` explains a command's options. Several ranks: mpirun -n 4 weft train ..., or srun "
         "--mpi=pmix;\nwithout such a launcher a command runs alone and does not start MPI (docs/reliability.md).\n";
}

}  // namespace weft
