// How one test came out on every device: a row each, with a word or a count for it. Who alone
// fails what all others pass fails by itself, whatever the test is called.
//
//   host,gpu,test,result,detail                nid004125 gpu2 mismatches=17/2000 maxabsdiff=3.4e+38
//   mgx29,5,diagnostic,Fail,GEMM miscompares   rep=0 host=mgx29 gpu=5 grad_sha=d8fd4d45 DIFFERS
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/events.hpp"
#include "ingest/engine/network_rows.hpp"
#include "ingest/engine/scan.hpp"
#include "line/line.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostTestRows = 1'000'000, kFewestTestRows = 8, kFewestTested = 4;
constexpr std::size_t kOneFailsOf =
    8;  // more failing devices than one of so many are a second kind

using TestWords = std::initializer_list<std::string_view>;

std::optional<bool> verdict_word(std::string_view word) {
  const std::string low = lower(word);
  if (contains(TestWords{"same", "ok", "okay", "pass", "passed", "match", "matches", "matched",
                         "equal", "identical", "good", "clean", "finite", "yes", "true"},
               low))
    return true;
  if (contains(TestWords{"fail", "failed", "mismatch", "mismatched", "mismatches", "miscompare",
                         "differ", "differs", "different", "diff", "wrong"},
               low))
    return false;
  return std::nullopt;
}

// "mismatches=17/2000", "miscompares=0", "bitwise_mismatches": how many results were wrong.
bool counts_wrong_results(std::string_view key) {
  return mentions(key, "mismatch") || mentions(key, "miscompare");
}

// Of what a device computes, as a test's name or a key tells.
bool of_computation(std::string_view text) {
  const std::string low = lower(text);
  return std::ranges::any_of(TestWords{"gemm", "matmul", "replay", "grad", "crc", "mismatch",
                                       "miscompare", "bitwise", "determinis"},
                             [&](std::string_view word) { return contains(low, word); });
}

struct TestRow {
  std::string host, gpu, test;
  std::optional<bool> passed;
  bool computes = false, foreign = false;
};

// What a row tells of that is no device: a file, a version, what a program made of its input.
bool of_something_else(std::string_view key) {
  return contains(TestWords{"file",       "path",    "shard",   "commit", "image",   "package",
                            "driver",     "version", "prompts", "loss",   "process", "pid",
                            "checkpoint", "dataset", "table",   "name",   "user",    "job",
                            "firmware",   "vbios",   "label",   "labels", "tokens",  "config"},
                  key);
}

// Somebody calls it a test.
bool called_test(std::string_view text) {
  const std::string low = lower(text);
  return std::ranges::any_of(TestWords{"test", "check", "diag", "burn", "stress", "replay", "gemm",
                                       "verify", "compar", "determinis", "crc", "probe"},
                             [&](std::string_view word) { return contains(low, word); });
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t at = line.find_first_not_of(" \t"); at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    std::string_view word = line.substr(at, end - at);
    while (word.ends_with(',') || word.ends_with(';') || word.ends_with('|')) word.remove_suffix(1);
    if (!word.empty()) out.push_back(word);
    at = line.find_first_not_of(" \t", end);
  }
  return out;
}

class TestRows {
 public:
  // False: the line is no row of a test.
  bool parse(std::string_view line, TestRow& row) {
    if (take_row(cells_of(line), row)) return true;
    // What is said behind words may hold commas: "mismatches=17  first at 22 (bit 3, SM 6)".
    return heading_.empty() && line.find(',') != line.npos && line.find('=') != line.npos &&
           take_row(words_of(line), row);
  }
  bool headed() const { return !heading_.empty(); }

 private:
  bool take_row(const std::vector<std::string_view>& cells, TestRow& row) {
    row = {};
    if (cells.size() < 2) return false;
    if (heading_.empty() && is_heading(cells)) {
      for (const std::string_view cell : cells) heading_.push_back(lower(trimmed(cell)));
      return false;
    }
    const bool named = heading_.size() == cells.size();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      std::string_view key = named ? std::string_view(heading_[i]) : std::string_view();
      std::string_view value = trimmed(cells[i]);
      if (const std::size_t equals = value.find_first_of("=:");
          !named && equals != std::string_view::npos && equals > 0) {
        key = value.substr(0, equals);
        value.remove_prefix(equals + 1);
      }
      take(key, value, i + 1 == cells.size(), row);
    }
    return !row.host.empty() && !row.gpu.empty() && row.passed.has_value() && !row.foreign;
  }

  static bool is_heading(const std::vector<std::string_view>& cells) {
    const auto any = [&](TestWords words) {
      return std::ranges::any_of(
          cells, [&](std::string_view cell) { return contains(words, lower(trimmed(cell))); });
    };
    return any({"host", "node", "hostname"}) && std::ranges::none_of(cells, [](auto cell) {
             return cell.find('=') != std::string_view::npos;
           });
  }

  static bool machine(std::string_view word) {
    return word.size() > 2 && word.size() <= 253 &&
           std::isalpha(static_cast<unsigned char>(word[0])) &&
           word.find_first_of("0123456789") != std::string_view::npos &&
           line::may_name_machine(word) && std::ranges::all_of(word, [](unsigned char c) {
             return std::isalnum(c) || c == '-' || c == '.' || c == '_';
           });
  }

  // "5", "gpu5"; "" for anything else.
  static std::string_view number_of_gpu(std::string_view value) {
    std::int64_t number = 0;
    if (value.size() > 3 && lower(value.substr(0, 3)) == "gpu") value.remove_prefix(3);
    return value.size() < 3 && parse_whole(value, number) ? value : std::string_view();
  }

  void take(std::string_view key, std::string_view value, bool last, TestRow& row) const {
    const std::string name = lower(key);
    std::int64_t number = 0;
    row.foreign = row.foreign || of_something_else(name.empty() ? lower(value) : name);
    if (contains(TestWords{"host", "node", "hostname"}, name)) {
      if (machine(value)) row.host = value;
    } else if (contains(
                   TestWords{"gpu", "device", "local_gpu", "gpu_index", "gpu_id", "local_rank"},
                   name)) {
      row.gpu = number_of_gpu(value);
    } else if (name.empty() && value.size() > 3 && !number_of_gpu(value).empty()) {
      row.gpu = number_of_gpu(value);
    } else if (counts_wrong_results(name)) {
      const std::string_view count = value.substr(0, value.find('/'));
      if (!parse_whole(count, number) || number < 0) return;
      row.computes = true;
      row.passed = row.passed.value_or(true) && number == 0;
    } else if (contains(TestWords{"result", "status", "verdict", "outcome", "match", "check"},
                        name) ||
               (name.empty() && last)) {
      if (const auto word = verdict_word(value)) row.passed = row.passed.value_or(true) && *word;
    } else if (contains(TestWords{"test", "task"}, name)) {
      row.test = value;
    } else if (name.empty() && row.host.empty() && machine(value)) {
      row.host = value;
    }
    row.computes = row.computes || of_computation(name);
  }

  std::vector<std::string> heading_;
};

bool sniff_tested_devices(const Head& head) {
  TestRows rows;
  TestRow row;
  std::set<std::string> devices;
  std::size_t lines = 0, good = 0;
  const std::string_view top = head.bytes.substr(0, 4096);
  if (!called_test(head.path) && !called_test(head.bytes.substr(0, head.bytes.find('\n'))) &&
      !(head.index().may_have("mismatch") && mentions(top, "mismatch")) &&
      !(head.index().may_have("miscompare") && mentions(top, "miscompare")))
    return false;
  each_text_line(head.bytes, [&](std::string_view text, std::uint64_t, std::size_t offset) {
    const bool cut = !head.whole && offset + text.size() + 1 >= head.bytes.size();
    if (line::remark(text) || cut) return true;
    ++lines;
    if (rows.parse(text, row)) {
      ++good;
      devices.insert(row.host + "/" + row.gpu);
    }
    return lines < 64 || good * 4 >= lines * 3;
  });
  return good >= kFewestTestRows && devices.size() >= kFewestTested &&
         (good + rows.headed()) * 10 >= lines * 9;
}

class Tested {
 public:
  explicit Tested(bool computes) : computes_(computes) {}

  void add(const TestRow& row, const Place& place) {
    Runs& runs = devices_[{row.host, row.gpu}][row.test];
    ++runs.times;
    computes_ = computes_ || row.computes;
    if (!*row.passed && ++runs.failed == 1) runs.place = place;
  }

  void tell(Reading& reading) const {
    const auto odd = static_cast<std::size_t>(
        std::ranges::count_if(devices_, [](const auto& one) { return failed(one.second); }));
    if (odd == 0 || devices_.size() < kFewestTested || odd * kOneFailsOf > devices_.size()) return;
    // Another driver or library makes all devices of a machine compute alike, and unlike others.
    std::map<std::string, std::pair<std::size_t, std::size_t>> by_host;  // all, failing
    for (const auto& [name, device] : devices_) {
      auto& [all, failing] = by_host[name.first];
      ++all;
      failing += failed(device);
    }
    for (const auto& [name, device] : devices_) {
      // Once of many times it may have been the test.
      const auto worst = std::ranges::find_if(device, [](const auto& one) {
        return one.second.failed > 0 && 2 * one.second.failed > one.second.times;
      });
      if (worst == device.end()) continue;
      const auto& [test, runs] = *worst;
      const auto& [all, failing] = by_host[name.first];
      if (computes_ && all > 1 && failing == all) continue;
      const std::string gpu = "GPU " + name.second + " of ";
      line::Line said;
      said.prefix.host = Host(name.first);
      said.message =
          computes_ ? fmt::format(
                          "same work, other result: {}{} differs from {} others in {} of {} checks",
                          gpu, name.first, devices_.size() - odd, runs.failed, runs.times)
                    : fmt::format("test {}failed on {}{} alone: {} of {}, {} others passed",
                                  test.empty() ? std::string() : test + " ", gpu, name.first,
                                  runs.failed, runs.times, devices_.size() - odd);
      put_said(runs.place, said, reading.text_kind, reading);
    }
  }

 private:
  struct Runs {
    std::size_t times = 0, failed = 0;
    Place place;
  };
  using Device = std::map<std::string, Runs>;  // by test; "": it has no name
  static bool failed(const Device& device) {
    return std::ranges::any_of(device, [](const auto& one) { return one.second.failed > 0; });
  }
  bool computes_ = false;
  std::map<std::pair<std::string, std::string>, Device> devices_;  // by host and GPU
};

std::string read_tested_devices(std::string_view bytes, const MemberRow& member, Reading& reading) {
  TestRows rows;
  TestRow row;
  Tested tested(of_computation(member.path));
  std::size_t count = 0;
  each_text_line(bytes, [&](std::string_view text, std::uint64_t number, std::size_t offset) {
    if (line::remark(text) || !rows.parse(text, row) || ++count > kMostTestRows) return;
    tested.add(row, place_of_line(member.id, number, offset, text));
  });
  tested.tell(reading);
  return count > kMostTestRows ? "tests.too_many" : "";
}

}  // namespace

extern constinit const Document kTestedDevices{
    "tested-devices", "how a test came out on every device, a row each", 64u << 20,
    sniff_tested_devices, read_tested_devices};

}  // namespace culprit::ingest
