// The whole way of `culprit diagnose`, from a bundle on disk to the three reports, in this process;
// with a check of everything that must hold of any bundle whatsoever.
#pragma once

#include <string>
#include <vector>

namespace culprit::test {

struct Check {
  bool excerpts =
      false;  // evidence must quote its line word for word: for text that nobody damaged
  int threads = 1;
};

struct Diagnosed {
  std::string document;  // the JSON report; "" when the bundle cannot be opened at all
  std::size_t rejected = 0;
  std::size_t fired = 0;
  std::vector<std::string> broken;  // promises that do not hold, each as a sentence
};

// Reads `path` under limits that no test comes near, so that a small file cannot keep it busy for
// long.
Diagnosed diagnose(const std::string& path, const Check& check = {});

// A folder of its own under TMPDIR (or /dev/shm, /tmp), removed with the object.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }
  void write(const std::string& relative, const void* bytes,
             std::size_t size) const;  // makes the folders
  void clear() const;

 private:
  std::string path_;
};

}  // namespace culprit::test
