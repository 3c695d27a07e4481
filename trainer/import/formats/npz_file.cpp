// trainer/import/formats/npz_file.cpp: finds the arrays of numpy's .npz (numpy.lib.format, versions 1 to 3).
#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "tensor/error.h"
#include "trainer/import/formats/marian_file.h"
#include "trainer/import/formats/zip_file.h"

namespace weft {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY", kEnd = ".npy";
constexpr uint64_t kLongestHeader = 4096;

// The header is a literal of Python: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class NpyHeader {
 public:
  NpyHeader(const CheckedReader& file, const std::string& name, const ZipMember& member) : file_(file), name_(name) {
    char magic[12];  // magic, version, and a length of 2 or 4 bytes
    if (member.size < sizeof magic) refuse("is too short for an array");
    file.read(member.offset, magic, sizeof magic);
    if (std::string_view(magic, kMagic.size()) != kMagic) refuse("is not an array of numpy");
    const bool is_short = magic[6] == 1;
    uint32_t length = 0;
    std::memcpy(&length, magic + 8, is_short ? 2 : 4);
    const uint64_t before = is_short ? 10 : 12;
    if (length > kLongestHeader || length > member.size - before) refuse("has a header that is too long");
    text_.resize(length);
    file.read(member.offset + before, text_.data(), length);
    tensor_ = {.dtype = dtype(),
               .shape = shape(),
               .offset = member.offset + before + length,
               .bytes = member.size - before - length};
    if (after("'fortran_order':").substr(0, 5) != "False") refuse("is in Fortran's order");
  }
  const TensorInFile& tensor() const { return tensor_; }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    fail(ErrorKind::checkpoint, fmt::format("{}: array '{}' {}", file_.path(), printable(name_), why));
  }

  std::string_view after(std::string_view key) const {
    const size_t at = text_.find(key);
    if (at == std::string::npos) refuse("has a damaged header");
    std::string_view rest = std::string_view(text_).substr(at + key.size());
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    return rest;
  }

  std::string dtype() const {
    const std::string_view rest = after("'descr':");
    if (rest.empty() || rest.front() != '\'') refuse("has fields");
    const std::string descr(rest.substr(1, rest.find('\'', 1) - 1));
    if (descr == "<f4") return "F32";
    if (descr == "<f2") return "F16";
    return descr == "|i1" || descr == "<i1" ? "I8" : descr;  // the latter is Marian's spelling
  }

  std::vector<int64_t> shape() const {
    std::string_view rest = after("'shape':");
    if (rest.empty() || rest.front() != '(') refuse("has a damaged header");
    std::vector<int64_t> sizes;
    for (rest.remove_prefix(1); !rest.empty() && rest.front() != ')';) {
      int64_t size = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
      if (error != std::errc()) refuse("has a damaged header");
      sizes.push_back(size);
      rest.remove_prefix(static_cast<size_t>(end - rest.data()));
      while (!rest.empty() && (rest.front() == ',' || rest.front() == ' ')) rest.remove_prefix(1);
    }
    return sizes;
  }

  const CheckedReader& file_;
  const std::string& name_;
  std::string text_;
  TensorInFile tensor_;
};

}  // namespace

TensorFiles open_npz(const std::string& path) {
  const auto file = std::make_shared<const CheckedReader>(path);
  std::map<std::string, TensorInFile> tensors;
  for (const auto& [member, place] : zip_members(path)) {
    const std::string name = member.ends_with(kEnd) ? member.substr(0, member.size() - kEnd.size()) : member;
    tensors[name] = NpyHeader(*file, name, place).tensor();
  }
  TensorFiles all;
  all.add(file, tensors);
  return all;
}

}  // namespace weft
