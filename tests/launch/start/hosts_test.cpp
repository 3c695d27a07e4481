// tests/launch/start/hosts_test.cpp: lists of hosts.
#include "launch/start/hosts.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft {
namespace {

TEST(Hosts, AreReadWithTheirSlots) {
  const std::vector<Host> hosts = parse_hosts("a:4,b.example.org");
  EXPECT_EQ(hosts, (std::vector<Host>{{"a", 4}, {"b.example.org", 1}}));
  EXPECT_EQ(hosts_text(hosts), "a:4,b.example.org:1");
  EXPECT_EQ(num_slots(hosts), 5);
  EXPECT_TRUE(parse_hosts("").empty());
}

TEST(Hosts, AreRefusedByName) {
  for (const char* wrong :
       {"a:0", "a:x", "a:", ":4", "-x", "a:4:4", "a b", "a;reboot", "`id`", "$HOME", "x@a", "a:99999999999"})
    EXPECT_EQ(testing::message_of(ErrorKind::usage, [&] { parse_hosts(std::string("good:2,") + wrong); }),
              std::string("--hosts: '") + wrong + "' is not HOST or HOST:SLOTS, like a:4,b");
}

}  // namespace
}  // namespace weft
