// Every bundle that is named, or every folder of samples/: the ledger adds up, file by file and in
// total; every target's findings exist and rest on evidence; the evidence's line and byte offset
// lead to the text it quotes. evidence [--any-excerpt] SAMPLES-FOLDER...
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "whole_path.hpp"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::size_t bundles = 0, failures = 0, fired = 0;
  culprit::test::Check check;
  check.excerpts = true;
  check.threads = 2;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--any-excerpt") == 0) {
      check.excerpts = false;
      continue;
    }
    std::vector<std::string> paths;
    if (fs::is_directory(argv[i]))
      for (const auto& entry : fs::directory_iterator(argv[i]))
        paths.push_back(entry.path().string());
    else
      paths.emplace_back(argv[i]);
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths) {
      const auto outcome = culprit::test::diagnose(path, check);
      ++bundles;
      fired += outcome.fired;
      failures += !outcome.broken.empty();
      for (const std::string& broken : outcome.broken)
        std::printf("%s: %s\n", path.c_str(), broken.c_str());
      if (outcome.document.empty()) {
        std::printf("%s: no report\n", path.c_str());
        ++failures;
      }
    }
  }
  std::printf("%zu bundles, %zu findings fired, %zu bundles with broken promises\n", bundles, fired,
              failures);
  if (bundles == 0) {
    std::printf("skipped: there are no samples\n");
    return 77;
  }
  return failures == 0 ? 0 : 1;
}
