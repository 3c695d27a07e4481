// tests/trainer/import/pytorch_bin_test.cpp: files of torch.save, made here byte by byte as pickletools describes them.
// tests/exchange/huggingface_import.py reads files of PyTorch itself.
#include <gtest/gtest.h>
#include <minizip/zip.h>

#include <cstring>

#include "data/atomic_file.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "trainer/import/formats/pickle.h"
#include "trainer/import/formats/tensor_files.h"

namespace weft::testing {
namespace {

template <typename T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::string text(const std::string& s) { return "X" + raw(static_cast<uint32_t>(s.size())) + s; }
std::string whole(int32_t n) { return "J" + raw(n); }
std::string pair_of(int32_t a, int32_t b) { return whole(a) + whole(b) + "\x86"; }

struct Saved {
  std::string name, storage_class, key;
  int32_t elements, first, rows, columns, row_stride, column_stride;
};

std::string tensor(const Saved& t) {
  const std::string storage = "(" + text("storage") + "ctorch\n" + t.storage_class + "\n" + text(t.key) + text("cpu") +
                              whole(t.elements) + "tQ";
  return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + whole(t.first) + pair_of(t.rows, t.columns) +
         pair_of(t.row_stride, t.column_stride) + "\x89" + "ccollections\nOrderedDict\n)Rt" + "R";
}

std::string dictionary(const std::vector<Saved>& tensors) {
  std::string items;
  for (const Saved& t : tensors) items += text(t.name) + tensor(t);
  return "\x80\x02" + std::string("ccollections\nOrderedDict\n)Rq") + '\0' + "(" + items + "u}" + text("_metadata") +
         "}sb.";
}

class PyTorchBin : public ::testing::Test {
 protected:
  std::string path() const { return folder_ / "pytorch_model.bin"; }

  void zip(const std::vector<std::pair<std::string, std::string>>& members) const {
    const zipFile file = zipOpen64(path().c_str(), APPEND_STATUS_CREATE);
    for (const auto& [name, content] : members) {
      zipOpenNewFileInZip(file, ("archive/" + name).c_str(), nullptr, nullptr, 0, nullptr, 0, nullptr, 0, 0);
      zipWriteInFileInZip(file, content.data(), static_cast<unsigned>(content.size()));
      zipCloseFileInZip(file);
    }
    zipClose(file, nullptr);
  }
  TensorFiles open() const {
    TensorFiles files;
    add_pytorch_bin(path(), files);
    return files;
  }
  std::string refusal() const {
    return refusal_of(ErrorKind::checkpoint, [&] { open(); });
  }
  static std::vector<float> values(const TensorFiles& files, const std::string& name, int64_t count) {
    std::vector<float> found(static_cast<size_t>(count));
    files.read(name, 0, count, found.data());
    return found;
  }
  static std::string floats(const std::vector<float>& numbers) {
    return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)};
  }

  const TemporaryFolder folder_;
  const std::vector<Saved> two_ = {{"w", "FloatStorage", "0", 6, 0, 2, 3, 3, 1},
                                   {"v", "FloatStorage", "0", 6, 3, 1, 3, 3, 1}};
  const std::string six_ = floats({1, 2, 3, 4, 5, 6});
};

TEST_F(PyTorchBin, InAnArchiveReturnsTensorsThatMayShareAStorage) {
  zip({{"data.pkl", dictionary(two_)}, {"byteorder", "little"}, {"data/0", six_}, {"version", "3\n"}});
  const TensorFiles files = open();
  EXPECT_EQ(files.names(), (std::vector<std::string>{"v", "w"}));
  EXPECT_EQ(files.shape("w"), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(values(files, "w", 6), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values(files, "v", 3), (std::vector<float>{4, 5, 6}));
}

TEST_F(PyTorchBin, InAnOldFileReturnsTheSame) {
  const std::string protocol = "\x80\x02", magic = protocol + "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
  const std::string file = magic + protocol + "M\xe9\x03." + protocol + "}(" + text("little_endian") + "\x88u." +
                           dictionary(two_) + protocol + "]" + text("0") + "a." + raw(int64_t{6}) + six_;
  write_file_atomically(path(), file);
  EXPECT_EQ(values(open(), "v", 3), (std::vector<float>{4, 5, 6}));
  write_file_atomically(path(), file.substr(0, file.size() - 1));
  EXPECT_TRUE(holds(refusal(), "the file is truncated"));
}

TEST_F(PyTorchBin, IsNotExecuted) {
  const std::string call = "\x80\x02" + std::string("cposix\nsystem\n") + text("true") + "\x85R.";
  zip({{"data.pkl", call}});
  EXPECT_TRUE(holds(refusal(), "calls 'posix.system', which is not executed"));
}

TEST_F(PyTorchBin, RefusesWhatItsStoragesDoNotContain) {
  const auto refused = [&](Saved changed, const char* message) {
    zip({{"data.pkl", dictionary({changed})}, {"data/0", six_}});
    EXPECT_TRUE(holds(refusal(), message)) << refusal();
  };
  const Saved good = two_[0];
  Saved t = good;
  t.first = 1;
  refused(t, "tensor 'w' exceeds its storage");
  t = good, t.rows = -1;
  refused(t, "tensor 'w' exceeds its storage");
  t = good, t.elements = 7;
  refused(t, "storage '0' is missing or too short");
  t = good, t.key = "../0";
  refused(t, "storage '../0' is missing or too short");
  t = good, t.rows = 3, t.columns = 2, t.row_stride = 1, t.column_stride = 3;
  refused(t, "tensor 'w' is not contiguous");
  zip({{"data.pkl", dictionary(two_)}, {"byteorder", "big"}, {"data/0", six_}});
  EXPECT_TRUE(holds(refusal(), "not little-endian"));
  zip({{"data.pkl", "\x80\x02]."}});
  EXPECT_TRUE(holds(refusal(), "does not contain a state_dict"));
}

TEST_F(PyTorchBin, RefusesTensorsWithoutTheirBytes) {
  write_file_atomically(path(), six_);
  const auto file = std::make_shared<const CheckedReader>(path());
  TensorFiles files;
  expect_error(
      [&] {
        files.add(file, {{"w", {.dtype = "F32", .shape = {3}, .offset = 0, .bytes = 11}}});
      },
      ErrorKind::checkpoint, {"tensor 'w' of shape [3] is truncated: it has 11 bytes"});
  expect_error(
      [&] {
        files.add(file, {{"w", {.dtype = "F32", .shape = {3}, .offset = 16, .bytes = 12}}});
      },
      ErrorKind::checkpoint, {"is truncated"});
  files.add(file, {{"w", {.dtype = "F32", .shape = {3}, .offset = 12, .bytes = 12}}});
  EXPECT_EQ(values(files, "w", 3), (std::vector<float>{4, 5, 6}));
}

TEST(Pickle, RefusesDamage) {
  const std::vector<std::pair<std::string, const char*>> cases = {{"", "is truncated"},
                                                                  {"N", "is truncated"},
                                                                  {".", "its stack is empty"},
                                                                  {"t.", "a mark is missing"},
                                                                  {"h\5.", "its memo lacks a value"},
                                                                  {"r\xff\xff\xff\x7f.", "too large"},
                                                                  {"X\xff\xff\xff\xff", "is truncated"},
                                                                  {"\x81.", "instruction 0x81"},
                                                                  {"N(u.", "is damaged"}};
  for (const auto& [bytes, message] : cases)
    EXPECT_TRUE(holds(refusal_of(ErrorKind::checkpoint, [&] { Pickle(bytes, "x"); }), message)) << message;
}

}  // namespace
}  // namespace weft::testing
