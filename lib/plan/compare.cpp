#include "plan/compare.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/ascii.hpp"

namespace culprit::plan {

namespace {

bool hexadecimal(char c) { return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

bool all(std::string_view text, bool (*of)(char)) {
  return !text.empty() && std::ranges::all_of(text, of);
}
// 8 digits (CRC32) and more; sums of fewer are too likely to be equal by chance.
bool looks_like_digest(std::string_view text) {
  return text.size() >= 8 && text.size() <= 256 && text.size() % 2 == 0 && all(text, hexadecimal);
}

// "rank 12" before "rank 100", names after ranks.
auto order(const std::string& item) {
  std::uint64_t rank = 0;
  const bool is_rank = item.rfind("rank ", 0) == 0 &&
                       std::from_chars(item.data() + 5, item.data() + item.size(), rank).ptr ==
                           item.data() + item.size();
  return std::tuple(!is_rank, rank, item);
}
struct ByOrder {
  bool operator()(const std::string& a, const std::string& b) const { return order(a) < order(b); }
};

std::string rank_item(std::string_view digits) {
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return fmt::format("rank {}", digits);
}

// The rank in a file's name: digits after "rank", or between the underscores of "__12_0.distcp".
// Megatron's mp_rank_00_001 is a place in the model, not a rank: two numbers stay a name.
std::string item_of_path(std::string_view path) {
  const std::string_view base = path.substr(path.rfind('/') + 1);
  const auto digits_at = [&](std::size_t at) {
    std::size_t end = at;
    while (end < base.size() && digit(base[end])) ++end;
    return base.substr(at, end - at);
  };
  if (base.size() > 9 && base.substr(0, 2) == "__" && base.substr(base.size() - 7) == ".distcp") {
    const std::string_view rank = digits_at(2);
    const std::string_view after = base.substr(2 + rank.size());
    if (!rank.empty() && rank.size() <= 9 && after == "_0.distcp") return rank_item(rank);
    return std::string(base);
  }
  const std::size_t at = base.find("rank");
  if (at == std::string_view::npos || (at > 0 && alpha(base[at - 1])) ||
      (at >= 3 && base.substr(at - 3, 3) == "mp_"))
    return std::string(path);
  std::size_t begin = at + 4;
  while (begin < base.size() && (base[begin] == '_' || base[begin] == '-' || base[begin] == '='))
    ++begin;
  const std::string_view rank = digits_at(begin);
  // More numbers, of another kind, make it one of several files of the rank.
  const std::string_view after = base.substr(std::min(base.size(), begin + rank.size()));
  if (rank.empty() || rank.size() > 9 || std::ranges::any_of(after, digit))
    return std::string(path);
  const std::string_view folder = path.substr(0, path.size() - base.size());
  return folder.empty() ? rank_item(rank) : std::string(folder) + rank_item(rank);
}

// The folder that all paths begin with, with its slash.
std::size_t shared_folder(const std::vector<std::string>& paths) {
  if (paths.empty()) return 0;
  std::size_t end = paths[0].rfind('/') == std::string::npos ? 0 : paths[0].rfind('/') + 1;
  for (const std::string& path : paths)
    while (end > 0 && path.compare(0, end, paths[0], 0, end) != 0) {
      const std::size_t slash = end < 2 ? std::string::npos : paths[0].rfind('/', end - 2);
      end = slash == std::string::npos ? 0 : slash + 1;
    }
  return end;
}

// "DIGEST  PATH", "DIGEST *PATH", "SHA256 (PATH) = DIGEST", "RANK DIGEST". Empty when it is none.
std::pair<std::string_view, std::string_view> key_and_digest(std::string_view line, bool& path) {
  if (const std::size_t equals = line.rfind(") = ");
      equals != std::string_view::npos && looks_like_digest(line.substr(equals + 4))) {
    if (const std::size_t open = line.find(" (");
        open != std::string_view::npos && open + 2 <= equals) {
      path = true;
      return {line.substr(open + 2, equals - open - 2), line.substr(equals + 4)};
    }
  }
  const std::size_t space = line.find_first_of(" \t");
  if (space == std::string_view::npos) return {};
  const std::string_view first = line.substr(0, space);
  std::string_view second = trimmed(line.substr(space));
  if (!second.empty() && second.front() == '*') second.remove_prefix(1);
  // A rank is short; a digest of digits alone is not.
  if (all(first, digit) && first.size() <= 7 && looks_like_digest(second)) {
    path = false;
    return {first, second};
  }
  if (looks_like_digest(first) && !second.empty()) {
    path = true;
    return {second, first};
  }
  if (looks_like_digest(second)) {
    path = true;
    return {first, second};
  }
  return {};
}

}  // namespace

std::string item_name(std::string_view key) {
  return all(key, digit) && key.size() <= 9 ? rank_item(key) : std::string(key);
}

void add_digest(DigestRun& run, std::string item, std::string_view digest) {
  std::string lower(digest);
  for (char& c : lower)
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  run.digests.push_back({std::move(item), std::move(lower)});
}

Result<DigestRun> read_digests(std::string_view text, const std::string& path) {
  struct Row {
    std::string key;
    std::string_view digest;
    bool is_path;
    std::uint64_t line;
  };
  std::vector<Row> rows;
  std::vector<std::string> paths;
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trimmed(text.substr(at, end - at));
    at = end + 1;
    ++number;
    if (line.empty() || line.front() == '#') continue;
    bool is_path = false;
    const auto [key, digest] = key_and_digest(line, is_path);
    if (key.empty())
      return fail("this line has no digest")
          .at({path, number})
          .hint(
              "lines are \"RANK DIGEST\" or those of sha256sum; a digest has 8 hexadecimal digits "
              "or more");
    rows.push_back({std::string(key), digest, is_path, number});
    if (is_path) paths.emplace_back(key);
  }
  if (rows.empty())
    return fail("there are no digests in it")
        .at({path, 0})
        .hint("lines are \"RANK DIGEST\" or those of sha256sum");
  const std::size_t folder = shared_folder(paths);
  DigestRun run{path, {}};
  std::map<std::string, std::pair<std::string, std::uint64_t>> seen;
  for (const Row& row : rows) {
    const std::string item =
        row.is_path ? item_of_path(std::string_view(row.key).substr(folder)) : item_name(row.key);
    add_digest(run, item, row.digest);
    const auto [it, fresh] = seen.emplace(item, std::pair(run.digests.back().digest, row.line));
    if (fresh) continue;
    if (it->second.first != run.digests.back().digest)
      return fail(fmt::format("{} has two digests, the other on line {}", item, it->second.second))
          .at({path, row.line})
          .hint("a file holds one run: give each run its own");
    run.digests.pop_back();
  }
  return run;
}

namespace {

struct Tally {
  std::map<std::size_t, std::size_t>
      deviations;  // by run: items in which it differs from a majority
  std::size_t ties = 0, compared = 0, alone = 0;
};

Tally compare_items(const std::vector<DigestRun>& runs, Comparison& out) {
  std::map<std::string, std::map<std::size_t, std::string>, ByOrder> items;
  for (std::size_t r = 0; r < runs.size(); ++r)
    for (const Digest& d : runs[r].digests) items[d.item].emplace(r, d.digest);
  out.items = items.size();
  Tally tally;
  for (const auto& [item, of] : items) {
    if (of.size() < runs.size()) {
      Missing missing{item, {}};
      for (std::size_t r = 0; r < runs.size(); ++r)
        if (of.count(r) == 0) missing.runs.push_back(runs[r].name);
      out.missing.push_back(std::move(missing));
    }
    if (of.size() < 2) {
      ++tally.alone;
      continue;
    }
    ++tally.compared;
    std::map<std::string, std::size_t> votes;
    for (const auto& [r, digest] : of) ++votes[digest];
    if (votes.size() == 1) {
      ++out.equal;
      continue;
    }
    Difference d{item, {}, {}, 0, of.size()};
    for (const auto& [digest, n] : votes)
      if (2 * n > of.size()) {
        d.majority = digest;
        d.agree = n;
      }
    tally.ties += d.majority.empty();
    for (const auto& [r, digest] : of) {
      if (digest == d.majority) continue;
      d.runs.push_back(runs[r].name);
      if (!d.majority.empty()) ++tally.deviations[r];
    }
    out.different.push_back(std::move(d));
  }
  return tally;
}

// What follows from the differences, and what to do next.
void tell_of(const Tally& tally, Comparison& out) {
  const auto& [deviations, ties, compared, alone] = tally;
  const auto s = [](std::size_t n) { return n == 1 ? "" : "s"; };
  if (out.runs < 2 || compared == 0) {
    out.summary = "there is nothing to compare: it takes the same ranks in two runs or more";
  } else if (out.different.empty()) {
    out.summary = fmt::format(
        "all {} state{} that two or more runs have are equal: no machine computed wrongly in these "
        "runs",
        compared, s(compared));
    out.advice.push_back("a fault that rarely shows needs more runs, or more steps a run");
  } else if (out.suspects.empty()) {
    out.summary = fmt::format("{} of {} state{} differ, and no majority says which run is right",
                              out.different.size(), compared, s(compared));
    out.advice.push_back(
        out.runs == 2
            ? "a third run tells which of the two is wrong"
            : "one more run may give a majority; when runs differ everywhere, training is not "
              "deterministic: fix the data order, the seeds and the algorithms of cuDNN first");
  } else if (out.suspects.size() == 1) {
    const std::size_t n = deviations.begin()->second;
    out.summary = fmt::format("run {} differs from the others in {} of {} state{}", out.suspects[0],
                              n, compared, s(compared));
    std::vector<std::string> where;
    for (const Difference& d : out.different)
      if (!d.majority.empty() && where.size() < 8) where.push_back(d.item);
    if (n <= 8) out.summary += fmt::format(": {}", fmt::join(where, ", "));
    if (n == compared && compared > 1)
      out.advice.push_back(
          "all ranks of it differ: the wrong value had reached everybody before this checkpoint. "
          "Compare earlier ones; the rank that differs first is where it began");
    else
      out.advice.push_back(
          "the machine that held this rank in that run is the suspect; run once more with it and "
          "without it");
    if (ties > 0) out.advice.push_back(fmt::format("{} more have no majority", ties));
  } else {
    out.summary = fmt::format("{} of {} runs differ from the majority: {}", out.suspects.size(),
                              out.runs, fmt::join(out.suspects, ", "));
    out.advice.push_back(
        "the same rank in several runs points to its machine; different ranks, to several machines "
        "or to training that is not deterministic");
  }
  if (alone > 0)
    out.advice.push_back(fmt::format("{} state{} stand{} in one run only, and {} not compared",
                                     alone, s(alone), alone == 1 ? "s" : "",
                                     alone == 1 ? "is" : "are"));
}

}  // namespace

Comparison compare_digests(const std::vector<DigestRun>& runs) {
  Comparison out;
  out.runs = runs.size();
  const Tally tally = compare_items(runs, out);
  for (const auto& [r, n] : tally.deviations) out.suspects.push_back(runs[r].name);
  tell_of(tally, out);
  return out;
}

}  // namespace culprit::plan
