// launch/start/hosts.h: parses and prints the hosts on which ranks start.
#pragma once

#include <string>
#include <vector>

namespace weft {

struct Host {
  std::string name;
  int slots = 1;  // maximum number of ranks
  bool operator==(const Host&) const = default;
};

std::vector<Host> parse_hosts(const std::string& text);  // parses "a:4,b"; an Error of kind usage names the wrong part
std::string hosts_text(const std::vector<Host>& hosts);  // returns "a:4,b:1", the form of mpirun's --host
int num_slots(const std::vector<Host>& hosts);

}  // namespace weft
