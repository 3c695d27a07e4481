// tests/emulation/nccl/segment.cpp: POSIX shared memory.
#include "tests/emulation/nccl/segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <random>
#include <stdexcept>

namespace weft::emulation {
namespace {

int open_or_throw(const std::string& name, int flags) {
  const int file = shm_open(name.c_str(), flags, S_IRUSR | S_IWUSR);
  if (file < 0) throw std::runtime_error(fmt::format("no shared memory {}", name));
  return file;
}

}  // namespace

std::string Segment::create() {
  std::random_device random;
  const std::string name = fmt::format("/weft-nccl-{}-{:08x}{:08x}", getpid(), random(), random());
  const int file = open_or_throw(name, O_RDWR | O_CREAT | O_EXCL);
  const int status = ftruncate(file, sizeof(Shared));
  close(file);
  if (status != 0) throw std::runtime_error("no room for shared memory");
  return name;
}

Segment::Segment(const std::string& name) : name_(name) {
  const int file = open_or_throw(name, O_RDWR);
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) throw std::runtime_error("shared memory cannot be mapped");
  shared_ = static_cast<Shared*>(memory);
}

Segment::~Segment() { munmap(shared_, sizeof(Shared)); }

void Segment::unlink() const { shm_unlink(name_.c_str()); }

}  // namespace weft::emulation
