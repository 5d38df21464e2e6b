// Which bundles a batch consists of, and what each is called.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/result.hpp"

namespace culprit::batch {

struct Bundle {
  std::string path;    // as given, or the folder's entry
  std::string source;  // absolute: what tells it from other bundles
  std::string name;    // of its folder in the results; unique
};

struct Inputs {
  std::vector<Bundle> bundles;        // by name
  std::vector<std::string> left_out;  // files beside bundles that are not bundles themselves
};

// words: what the user typed.
//   one folder      every folder and archive in it is a bundle; the folder itself when it has a
//                   job.json, or nothing but plain files
//   several words   each is a bundle; a folder whose entries have manifests is taken as above
//   a text file     of paths of bundles, one a line, "#" begins a remark
//   a pattern       week-*/job-?? that the shell left alone: each match is a bundle
// lists: files of paths, "-" is standard input. out: the results, never a bundle.
// taken: names of earlier bundles, by source: they keep theirs.
// Errors: nothing there, a line of a list that names nothing, results inside a bundle (usage).
Result<Inputs> find_bundles(std::span<const std::string> words, std::span<const std::string> lists,
                            const std::string& out,
                            const std::vector<std::pair<std::string, std::string>>& taken);

// A name made harmless for a file system: letters, digits, - _ . and at most 80 of them; an
// archive's ending is left out.
std::string plain_name(const std::string& path);

}  // namespace culprit::batch
