// trainer/import/formats/zip_file.cpp: reads the directory of an archive with minizip.
#include "trainer/import/formats/zip_file.h"

#include <fmt/format.h>
#include <minizip/unzip.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr size_t kLongestName = 1024;
constexpr unsigned kBufferBytes = 1 << 18;
constexpr unsigned kEncrypted = 1;  // flag (PKWARE's APPNOTE 6.3, 4.4.4)

class Zip {
 public:
  explicit Zip(const std::string& path)
      : path_(path), size_(std::filesystem::file_size(path)), file_(unzOpen64(path.c_str()), &unzClose) {
    if (file_ == nullptr) fail(ErrorKind::checkpoint, fmt::format("{} is not a zip archive, or is truncated", path));
  }

  std::map<std::string, ZipMember> members() {
    std::map<std::string, ZipMember> all;
    int status = unzGoToFirstFile(file_.get());
    for (; status == UNZ_OK; status = unzGoToNextFile(file_.get())) {
      const auto [name, member] = current();
      if (!all.emplace(name, member).second) refuse(name, "occurs twice");
    }
    if (status != UNZ_END_OF_LIST_OF_FILE) fail(ErrorKind::checkpoint, path_ + ": the archive's directory is damaged");
    return all;
  }

 private:
  [[noreturn]] void refuse(const std::string& member, const std::string& why) const {
    fail(ErrorKind::checkpoint, fmt::format("{}: member '{}' {}", path_, printable(member), why));
  }

  std::pair<std::string, ZipMember> current() {
    unz_file_info64 info{};
    std::string name(kLongestName, '\0');
    const bool is_read =
        unzGetCurrentFileInfo64(file_.get(), &info, name.data(), name.size(), nullptr, 0, nullptr, 0) == UNZ_OK;
    if (!is_read || info.size_filename > name.size())
      fail(ErrorKind::checkpoint, path_ + ": the archive's directory is damaged");
    name.resize(info.size_filename);
    if ((info.flag & kEncrypted) != 0) refuse(name, "is encrypted");
    if (info.compression_method != 0 || info.compressed_size != info.uncompressed_size)
      refuse(name, "is compressed: save the file without compression");
    if (unzOpenCurrentFile(file_.get()) != UNZ_OK) refuse(name, "is damaged");
    const ZipMember member{.offset = unzGetCurrentFileZStreamPos64(file_.get()), .size = info.uncompressed_size};
    if (member.offset > size_ || member.size > size_ - member.offset) refuse(name, "exceeds the file");
    verify(name, member.size);
    return {name, member};
  }

  void verify(const std::string& name, uint64_t size) {
    if ((verified_ += size) > size_) refuse(name, "overlaps another member");
    uint64_t bytes = 0;
    int count = 0;
    while ((count = unzReadCurrentFile(file_.get(), buffer_.data(), kBufferBytes)) > 0)
      bytes += static_cast<uint64_t>(count);
    const int status = unzCloseCurrentFile(file_.get());
    if (count < 0 || status != UNZ_OK || bytes != size) refuse(name, "is damaged: its checksum differs");
  }

  std::string path_;
  uint64_t size_, verified_ = 0;
  std::unique_ptr<void, int (*)(unzFile)> file_;
  std::vector<char> buffer_ = std::vector<char>(kBufferBytes);
};

}  // namespace

std::map<std::string, ZipMember> zip_members(const std::string& path) { return Zip(path).members(); }

}  // namespace weft
