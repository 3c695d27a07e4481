// launch/commands.h: the table of subcommands: name, one line, function, whether ranks may share its work. Help and
// usage errors come from it.
//
// A command reads its options first (launch/options/options.h) and returns 0 if --help was asked for: then `world` is
// not set.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace weft {

class Communicator;

struct CommandContext {
  std::vector<std::string> args;  // after the subcommand's name
  Communicator* world = nullptr;  // set if the command is distributed
};

struct Command {
  const char* name;
  const char* summary;
  int (*run)(const CommandContext&);  // returns the exit status; throws Error
  bool distributed;                   // over the ranks that a launcher started; else it is refused as several
};

std::span<const Command> commands();
const Command& find_command(const std::string& name);  // an Error of kind usage with the nearest name
std::string program_help();

int run_pack(const CommandContext&);
int run_train(const CommandContext&);
int run_translate(const CommandContext&);
int run_score(const CommandContext&);
int run_evaluate(const CommandContext&);
int run_bleu(const CommandContext&);
int run_inspect(const CommandContext&);
int run_bench(const CommandContext&);
int run_export(const CommandContext&);
int run_import(const CommandContext&);

}  // namespace weft
