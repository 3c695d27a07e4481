// launch/start/hosts.cpp: parses and prints lists of hosts.
#include "launch/start/hosts.h"

#include <fmt/format.h>

#include <numeric>
#include <sstream>

#include "data/text/number.h"
#include "tensor/error.h"

namespace weft {
namespace {

Host parse_host(const std::string& text) {
  constexpr int kMaxSlots = 1 << 20;
  const size_t colon = text.find(':');
  Host host{.name = text.substr(0, colon)};
  // A list of what is allowed, because ssh and its replacements pass names on to shells.
  constexpr char kAllowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  bool ok = !host.name.empty() && host.name[0] != '-' && host.name.find_first_not_of(kAllowed) == std::string::npos;
  if (colon != std::string::npos) {
    host.slots = parse_number<int>(std::string_view(text).substr(colon + 1)).value_or(0);
    ok = ok && host.slots >= 1 && host.slots <= kMaxSlots;
  }
  if (!ok) fail(ErrorKind::usage, fmt::format("--hosts: '{}' is not HOST or HOST:SLOTS, like a:4,b", printable(text)));
  return host;
}

}  // namespace

std::vector<Host> parse_hosts(const std::string& text) {
  std::vector<Host> hosts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) hosts.push_back(parse_host(part));
  return hosts;
}

std::string hosts_text(const std::vector<Host>& hosts) {
  std::string text;
  for (const Host& host : hosts) text += fmt::format("{}{}:{}", text.empty() ? "" : ",", host.name, host.slots);
  return text;
}

int num_slots(const std::vector<Host>& hosts) {
  return std::accumulate(hosts.begin(), hosts.end(), 0, [](int sum, const Host& host) { return sum + host.slots; });
}

}  // namespace weft
