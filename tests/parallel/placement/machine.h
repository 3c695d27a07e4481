// tests/parallel/placement/machine.h: a made-up /sys.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace weft::testing {

class Machine {
 public:
  const std::string& sysfs() const { return folder_.path(); }

  void has(const std::string& file, const std::string& line) const {
    const std::filesystem::path path = folder_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << line << "\n";
  }
  void has_node(int id, const std::string& cores) const {
    has("devices/system/node/node" + std::to_string(id) + "/cpulist", cores);
  }
  void has_interface(const std::string& name, int mbits, bool hardware = true) const {
    has("class/net/" + name + "/carrier", "1");
    has("class/net/" + name + "/type", "1");
    has("class/net/" + name + "/speed", std::to_string(mbits));
    if (hardware) has("class/net/" + name + "/device/vendor", "0x15b3");
  }

 private:
  const TemporaryFolder folder_;
};

}  // namespace weft::testing
