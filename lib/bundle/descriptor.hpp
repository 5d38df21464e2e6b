// A file descriptor that is closed when its owner goes.
#pragma once

#include <unistd.h>

namespace culprit::bundle {

struct Descriptor {
  int fd = -1;
  explicit Descriptor(int opened) : fd(opened) {}
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

}  // namespace culprit::bundle
