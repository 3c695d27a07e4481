// tests/support/file_size_limit.h: a disk that is full, for all files of this process.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace weft::testing {

class FileSizeLimit {  // writing beyond it fails with EFBIG, like ENOSPC on a full disk
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_;
  void (*handler_)(int);
};

}  // namespace weft::testing
