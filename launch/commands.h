// launch/commands.h: declares the table of subcommands, which help, man pages, completion and usage errors use.
//
// A name may consist of two words, such as `inspect model`. `weft help` does not list a name of two words, but the help
// of the first word mentions it. A command first parses its options (launch/options/options.h). With --help, a command
// prints its help and returns 0, and `world` is not set.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launch/options/help_format.h"

namespace weft {

class Communicator;

struct CommandContext {
  std::vector<std::string> args;  // arguments after the command's name
  Communicator* world = nullptr;  // set if the command is distributed
};

struct Command {
  const char* name;
  const char* summary;
  int (*run)(const CommandContext&);  // returns the exit status; throws Error
  bool distributed;                   // true: runs on all ranks of a launcher; false: refuses several ranks
};

std::span<const Command> commands();
const Command& find_command(const std::string& name);  // the Error for an unknown name suggests the nearest
struct FoundCommand {
  const Command& command;
  CommandContext context;  // contains the arguments after the name
};
FoundCommand find_command(const std::vector<std::string>& args);  // REQUIRES: at least one argument.
std::string program_help(HelpFormat format = HelpFormat::text);

int run_pack(const CommandContext&);
int run_train(const CommandContext&);
int run_launch(const CommandContext&);
int run_translate(const CommandContext&);
int run_score(const CommandContext&);
int run_serve(const CommandContext&);
int run_evaluate(const CommandContext&);
int run_bleu(const CommandContext&);
int run_inspect(const CommandContext&);
int run_inspect_model(const CommandContext&);
int run_watch(const CommandContext&);
int run_audit(const CommandContext&);
int run_verify(const CommandContext&);
int run_bench(const CommandContext&);
int run_plan(const CommandContext&);
int run_average(const CommandContext&);
int run_export(const CommandContext&);
int run_import(const CommandContext&);
int run_vocabulary(const CommandContext&);

}  // namespace weft
