// What a command prints on stdout, and how it ends.
#pragma once

#include <cstdio>
#include <string>

#include <sys/wait.h>

namespace culprit::test {

struct Printed {
  std::string text;
  int status = -1;  // exit code; -1: it could not be started or was killed
};

inline Printed printed(const std::string& command) {
  Printed out;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return out;
  char buffer[65536];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    out.text.append(buffer, n);
  const int ended = pclose(pipe);
  if (WIFEXITED(ended)) out.status = WEXITSTATUS(ended);
  return out;
}

}  // namespace culprit::test
