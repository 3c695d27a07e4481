// launch/start/hosts.h: the hosts that ranks are started on.
#pragma once

#include <string>
#include <vector>

namespace weft {

struct Host {
  std::string name;
  int slots = 1;  // ranks that it may have
  bool operator==(const Host&) const = default;
};

std::vector<Host> parse_hosts(const std::string& text);  // "a:4,b"; an Error of kind usage names a wrong part
std::string hosts_text(const std::vector<Host>& hosts);  // "a:4,b:1", which mpirun's --host reads
int num_slots(const std::vector<Host>& hosts);

}  // namespace weft
