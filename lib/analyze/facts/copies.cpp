// Equal logs of one name and one owner.
#include "analyze/facts/copies.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include <re2/re2.h>

#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kMostOriginals =
    16;  // of one text: each further file is held against all of them

// What a program or daemon wrote line by line; no dump, no snapshot, no table.
bool log_text(const MemberRow& m) {
  static const std::set<std::string> kSnapshots{"data",       "stack", "process", "source",
                                                "nvidia-smi", "dcgm",  "rdma"};
  static const std::set<std::string> kFormats{"text",           "kernel-log", "nccl-log",
                                              "fabric-manager", "ipmi-sel",   "kubectl-describe"};
  return kSnapshots.count(m.text_kind) == 0 && kFormats.count(m.format) > 0;
}

// "console.log", "console.txt.gz", "console.log.bak" and "console (1).log" are one name.
std::string name_without_copy_marks(const std::string& path) {
  static const re2::RE2 kMarks(
      R"((?i)(?:\.(?:gz|xz|zst|bz2|bak|orig|copy|log|txt)|~|[ _-]copy| ?\(\d\)|[_-]backup)$)");
  std::string name = path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
  for (int turn = 0; turn < 8 && name.size() > 1; ++turn) {
    re2::StringPiece mark;
    if (!kMarks.Match(name, 0, name.size(), re2::RE2::UNANCHORED, &mark, 1) ||
        mark.size() == name.size())
      break;
    name.resize(name.size() - mark.size());
  }
  return name;
}

bool owners_agree(const MemberRow& a, const MemberRow& b) {
  const auto agree = [](const auto& x, const auto& y) { return !x || !y || *x == *y; };
  return agree(a.host, b.host) && agree(a.rank, b.rank) && agree(a.local_rank, b.local_rank) &&
         agree(a.attempt, b.attempt);
}

// "out/0/stderr.log" and "out/1/stderr.log": two of a kind, whatever the number counts.
bool differ_in_numbers_only(const std::string& a, const std::string& b) {
  const auto without = [](const std::string& path) {
    std::string out;
    for (const char c : path)
      if (c < '0' || c > '9')
        out += c;
      else if (out.empty() || out.back() != '#')
        out += '#';
    return out;
  };
  return a != b && without(a) == without(b);
}

}  // namespace

void mark_copies(std::vector<MemberRow>& members) {
  std::map<std::string, std::vector<MemberRow*>> by_digest;
  for (MemberRow& m : members)
    if (m.kind == "file" && m.size > 0 && log_text(m)) by_digest[m.digest].push_back(&m);
  std::map<std::pair<std::string, std::string>, std::vector<MemberRow*>> same;  // digest, name
  for (const auto& [digest, files] : by_digest)
    for (MemberRow* m : files)
      if (files.size() > 1) same[{digest, name_without_copy_marks(m->path)}].push_back(m);
  for (auto& [key, group] : same) {
    // The copy whose owner is known stands; else the first path.
    sort_by(group, [](const MemberRow* m) {
      return std::tuple(!m->host && !m->rank, std::string_view(m->path), m->id);
    });
    std::vector<MemberRow*> originals;
    for (MemberRow* m : group) {
      const auto it = std::ranges::find_if(originals, [&](const MemberRow* one) {
        return owners_agree(*one, *m) && !differ_in_numbers_only(one->path, m->path);
      });
      if (it != originals.end())
        m->duplicate_of = (*it)->id;
      else if (originals.size() < kMostOriginals)
        originals.push_back(m);
    }
  }
}

}  // namespace culprit::analyze
