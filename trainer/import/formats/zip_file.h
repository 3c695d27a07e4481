// trainer/import/formats/zip_file.h: finds the members of an untrusted zip archive whose members are not compressed.
//
// numpy's .npz and PyTorch's files are such archives. Their members are then read directly from the file.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace weft {

struct ZipMember {
  uint64_t offset = 0, size = 0;  // of its content in the file
};

// Checks the CRC-32 of each member. Throws an Error of kind checkpoint that names file and member if the archive is
// damaged, if a member is compressed or encrypted, or if two members have the same name.
std::map<std::string, ZipMember> zip_members(const std::string& path);

}  // namespace weft
