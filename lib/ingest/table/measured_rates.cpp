// Rates that somebody measured between machines, ports and GPUs (nccl-tests, perftest, a matrix
// product on each): a row each. What all slow ones have in common is told as a line.
//
//   server  client  dev     BW_avg_Gbps      # all_reduce_perf, pairs, busbw GB/s
//   gx-01   gx-02   mlx5_2  391.77           gx-01 gx-02   187.9
//   run  nodes       avg_busbw_GBps          gx-01 <-> gx-02
//   B    gx-[01-16]  46.4                     1048576  116265  395.47  394.65  0.045644
//
//            gx-01   gx-02   gx-03             # busbw GB/s, from each machine to each
//   gx-01        -    45.4    46.0
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/events.hpp"
#include "ingest/engine/host_blocks.hpp"
#include "ingest/engine/network_rows.hpp"
#include "ingest/table/measured_rates.hpp"
#include "ingest/engine/rate_book.hpp"
#include "line/line.hpp"
#include "model/contains.hpp"
#include "model/hostlist.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

using Words = std::initializer_list<std::string_view>;
using Cells = std::vector<std::string_view>;
using Parts = std::vector<RatePart>;

constexpr std::size_t kMostRateRows = 100'000, kMostHostsOfRow = 4096, kFewestRateRows = 4;
constexpr std::size_t kMostTimes = 6;  // a row with the same parts: more are a series

constexpr std::string_view kRateWords[] = {"fwd_", "forward_", "compute_", "bw",  "BW",
                                           "Bw",   "andwidth", "bps",      "B/s", "GBs",
                                           "b/s",  "FLOP",     "flop"};

// Of steps many lines tell a rate; a heading has hardly a digit, and stands among the first lines.
bool heads_rates(const Head& head) {
  constexpr int kFirst = 8;
  const auto rate = [](std::string_view line) {
    return std::ranges::any_of(kRateWords,
                               [&](std::string_view word) { return contains(line, word); });
  };
  if (std::ranges::none_of(kRateWords, [&](std::string_view word) { return head.has(word); }))
    return false;
  int lines = 0;
  bool found = false;
  each_text_line(head.bytes, [&](std::string_view line, std::uint64_t, std::size_t) {
    const auto digits = static_cast<std::size_t>(
        std::ranges::count_if(line, [](char c) { return c >= '0' && c <= '9'; }));
    found = line.size() < 512 && (line.starts_with('#') || digits * 6 < line.size()) && rate(line);
    return !found && ++lines < kFirst;
  });
  return found;
}

constexpr std::size_t kMostRateCells = 1024;

Cells blank_cells(std::string_view line) {
  constexpr std::string_view kBlank = " \t";
  Cells out;
  for (std::size_t at = line.find_first_not_of(kBlank);
       at < line.size() && out.size() < kMostRateCells;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    out.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlank, end);
  }
  return out;
}

// By tabs, else by what tables are separated with, else by blanks.
Cells rate_cells(std::string_view line) {
  for (const char separator : {'\t', ',', ';', '|'}) {
    if (!contains(line, separator)) continue;
    Cells out;
    for (std::size_t at = 0; at <= line.size() && out.size() < kMostRateCells;) {
      const std::size_t end = std::min(line.find(separator, at), line.size());
      out.push_back(trimmed(line.substr(at, end - at)));
      at = end + 1;
    }
    return out;
  }
  return blank_cells(line);
}

// "GEMM TFLOPS   H2D GB/s": by two blanks, where one belongs to a name; else nothing.
Cells wide_cells(std::string_view line) {
  if (line.find_first_of("\t,;|") != line.npos) return {};
  Cells out = wide_cells_of(line);
  return out.size() > 1 ? out : Cells();
}

enum class Column {
  other,
  host,
  device,
  gpu,
  rail,
  network_switch,
  group,
  stage,
  condition,
  series,
  rate,
  time
};

// What a rank or a stage works in a step, and does not wait.
bool names_work(std::string_view name) {
  static const re2::RE2 kWork(R"((?i)(?:fwd|bwd|forward|backward|compute)(?:_\w+)?_(?:ms|s|us))");
  static const re2::RE2 kWait(R"((?i)wait|recv|bubble|idle|sync)");
  const re2::StringPiece piece(name.data(), name.size());
  return re2::RE2::FullMatch(piece, kWork) && !re2::RE2::PartialMatch(piece, kWait);
}

// "pairs_to", "leaf_from", "rack_b": one of the two ends of what was measured.
bool names_an_end(std::string_view name) {
  static const re2::RE2 kEnd(
      R"((?:pairs?|leaf|tor|switch|rack|pod|group|node|host|server)_?(?:from|to|src|dst|source|dest|in|out|a|b|1|2))");
  return re2::RE2::FullMatch({name.data(), name.size()}, kEnd);
}

// "leaf07", "tor-3", "sw12": no machine is called so.
bool switch_named(std::string_view name) {
  static const re2::RE2 kSwitch(
      R"((?i)(?:leaf|tor|spine|switch)[-_]?(?:[a-z]?\d)[\w-]*|sw[-_]?\d+)");
  return re2::RE2::FullMatch({name.data(), name.size()}, kSwitch);
}

Column column_of(std::string_view heading) {
  std::string name = lower(trimmed(heading.substr(0, heading.find_first_of("([ "))));
  std::erase(name, '#');
  if (contains(Words{"host",    "node",   "hostname", "server",      "client",   "src",
                     "dst",     "source", "dest",     "destination", "from",     "to",
                     "peer",    "host_a", "host_b",   "sender",      "receiver", "node1",
                     "node2",   "host1",  "host2",    "nodes",       "hosts",    "nodelist",
                     "members", "pair",   "src_host", "dst_host",    "a",        "b"},
               name) ||
      names_an_end(name))
    return Column::host;
  if (contains(Words{"nic", "hca", "dev", "device", "ib_dev", "rdma_dev", "netdev", "ifname",
                     "interface"},
               name))
    return Column::device;
  if (contains(Words{"gpu", "gpu_index", "gpu_id", "local_rank"}, name)) return Column::gpu;
  if (contains(Words{"rail", "plane"}, name)) return Column::rail;
  if (contains(Words{"switch", "leaf", "tor", "switch_port", "leaf_switch", "leaf_port"}, name))
    return Column::network_switch;
  if (contains(Words{"rack", "pod", "group", "block", "zone"}, name)) return Column::group;
  if (contains(Words{"stage", "pp_stage", "pp", "pp_rank", "pipeline_stage", "pipeline_rank"},
               name))
    return Column::stage;
  if (contains(Words{"size", "bytes", "test", "coll", "collective", "op", "operation", "dtype",
                     "type", "cmd", "direction"},
               name))
    return Column::condition;
  if (contains(Words{"step", "iter", "iteration", "epoch", "global_step", "loss"}, name))
    return Column::series;
  return names_rate(heading) ? Column::rate : names_work(name) ? Column::time : Column::other;
}

// "gx-r11+r12 (8)", "gx-[01-16]", "gx-01 <-> gx-02": each by its whole name.
// "gn117-gn118": two machines that are called alike but for their numbers.
std::optional<std::pair<std::string_view, std::string_view>> pair_in(std::string_view name) {
  const auto stem = [](std::string_view one) {
    const std::size_t end = one.find_last_not_of("0123456789");
    return end == one.npos || end + 1 == one.size() ? std::string_view{} : one.substr(0, end + 1);
  };
  for (std::size_t at = name.find('-'); at != name.npos; at = name.find('-', at + 1)) {
    const std::string_view a = name.substr(0, at), b = name.substr(at + 1);
    if (a != b && !stem(a).empty() && stem(a) == stem(b)) return std::pair(a, b);
  }
  return std::nullopt;
}

std::vector<std::string> hosts_in(std::string_view cell) {
  static const re2::RE2 kBetween(R"(\s*(?:<->|->|\+|,|\s)\s*)"), kCount(R"(\s*\(\d+\)\s*$)"),
      kLast(R"(^(.*?)([A-Za-z]+)\d+$)");
  std::string text(cell);
  re2::RE2::Replace(&text, kCount, "");
  if (contains(text, '[')) {
    const Hostlist list = expand_hostlist(text, kMostHostsOfRow);
    return list.broken || list.capped ? std::vector<std::string>() : list.hosts;
  }
  re2::RE2::GlobalReplace(&text, kBetween, " ");
  std::vector<std::string> out;
  std::string stem, before;
  for (const std::string_view word : rate_cells(text)) {
    std::string head, last;
    re2::RE2::FullMatch({word.data(), word.size()}, kLast, &head, &last);
    if (out.empty()) before = head, stem = last;
    if (const auto two = pair_in(word)) {
      out.insert(out.end(), {std::string(two->first), std::string(two->second)});
      continue;
    }
    const bool rest = !out.empty() && head.empty() && !last.empty() && last == stem;
    out.push_back(rest ? before + std::string(word) : std::string(word));
  }
  const bool named = std::ranges::all_of(out, [](const auto& host) { return may_be_asked(host); });
  return named ? out : std::vector<std::string>();
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// "rail3" of 3.
std::string numbered(std::string_view kind, std::string_view value) {
  const bool number = !value.empty() && value.find_first_not_of("0123456789") == value.npos;
  return number ? fmt::format("{}{}", kind, value) : std::string(value);
}

// "gx-r11+r12 (8)": more machines than names, so that each is of several.
bool of_groups(std::string_view cell, std::size_t names) {
  static const re2::RE2 kCount(R"(\((\d{1,6})\)\s*$)");
  std::size_t count = 0;
  return re2::RE2::PartialMatch({cell.data(), cell.size()}, kCount, &count) && count > names;
}

void add_hosts(const std::vector<std::string>& hosts, Parts& out) {
  for (const std::string& host : hosts) out.push_back({RatePart::Kind::host, host, {}});
}

// "pod1-a" of "pod1-a07": machines below one switch are often numbered in a row.
std::string row_of(const std::string& host) {
  return host.substr(0, host.find_last_not_of("0123456789") + 1);
}

// A port of each of the machines, whatever is called so on all of them, and the way between the
// rows of both.
void add_device(std::string name, Parts& out) {
  const std::size_t before = out.size();
  if (before == 2 && out[0].kind == RatePart::Kind::host && out[1].kind == RatePart::Kind::host) {
    std::string a = row_of(out[0].host), b = row_of(out[1].host);
    if (b < a) a.swap(b);
    if (a != b)
      out.push_back({RatePart::Kind::rail, {}, fmt::format("{} between {} and {}", name, a, b)});
  }
  for (std::size_t i = 0; i < before; ++i)
    if (out[i].kind == RatePart::Kind::host)
      out.push_back({RatePart::Kind::device, out[i].host, name});
  out.push_back({RatePart::Kind::rail, {}, std::move(name)});
}

std::optional<double> rate_in(std::string_view cell) {
  cell = trimmed(cell.substr(0, cell.find(' ')));
  double value = 0;
  if (!parse_whole(cell, value) || !std::isfinite(value) || value <= 0) return std::nullopt;
  return value;
}

// "gpu3": a column of a device.
bool gpu_named(std::string_view heading) {
  const std::string name = lower(heading);
  return name.size() > 3 && name.size() <= 5 && name.starts_with("gpu") &&
         std::ranges::all_of(name.substr(3), [](char c) { return c >= '0' && c <= '9'; });
}

class RateTable {
 public:
  // named: what the file is called says that it holds rates.
  explicit RateTable(bool named) : told_(named) {}

  // True: the line is understood.
  bool take(std::string_view line, const Place& place) {
    const std::string_view text = trimmed(line);
    if (text.empty()) return true;
    if (perftest_heading(text) || perftest_banner(text)) return true;
    if (text.starts_with('#')) {
      ++section_;
      told_ = told_ || names_rate(text);
      // What was measured again counts as it is now; a delay is no rate.
      static const re2::RE2 kNoRate(
          R"((?i)\b(?:latenc\w*|delays?|hops?|times?)\b|(?:^|[\s(\[])(?:[mun]s|usec|msec)\b)");
      across_.clear();
      if (re2::RE2::PartialMatch({text.data(), text.size()}, kNoRate))
        matrix_ = false;
      else
        matrix_ = matrix_ || names_rate(text);
      return true;
    }
    if (take_pair(text) || take_command(text)) return true;
    if (perftest_ && take_perftest(blank_cells(text), place)) return true;
    const Cells cells = rate_cells(text);
    if (columns_.empty() && matrix_ && heads_matrix(cells)) {
      across_.clear();
      for (const std::string_view cell : cells)
        across_.emplace_back(cell.substr(0, cell.find('.')));
      if (MeasuredRates& before = column("matrix"); !before.rows.empty())
        before = MeasuredRates{"matrix", {}, {}, {}, {}, false};
      return true;
    }
    if (!across_.empty() && take_matrix(cells, place)) return true;
    if (columns_.empty() && (take_heading(wide_cells(text)) || take_heading(cells))) return true;
    return !columns_.empty() ? take_row(cells, place)
           : perftest_       ? false
           : told_           ? take_bare(cells, place)
                             : false;
  }
  bool series() const { return series_; }
  std::size_t rows() const { return rows_; }
  const std::vector<MeasuredRates>& measured() const { return measured_; }

  // So many rows of the same parts that they are a series of one moment after another.
  bool repeats() const {
    return std::ranges::any_of(times_, [](const auto& one) { return one.second > kMostTimes; });
  }

 private:
  // Of ib_write_bw and its like.
  bool perftest_heading(std::string_view text) {
    if (!contains(text, "BW average") || !contains(text, "#bytes") || contains(text, '\t'))
      return false;
    return perftest_ = true;
  }

  // What such a program prints of itself before its figures.
  static bool perftest_banner(std::string_view text) {
    static const re2::RE2 kBanner(
        R"(-{20,}|.*\bBW Test|(?:Dual-port|Number of qps|Connection type|(?:TX|RX) depth|CQ Moderation|Mtu|Link type|Max inline data|GID index|rdma_cm QPs|Data ex\. method|PCIe relax order|WARNING: BW peak won't be measured in this run\.|(?:local|remote) address:|GID:)\b?.*)");
    return re2::RE2::FullMatch({text.data(), text.size()}, kBanner);
  }

  bool take_pair(std::string_view text) {
    static const re2::RE2 kPair(R"((?:={2,}|#+)?\s*(\S+)\s*(?:<->|->)\s*(\S+?):?\s*(?:={2,})?)");
    std::string a, b;
    if (!re2::RE2::FullMatch({text.data(), text.size()}, kPair, &a, &b) || !may_be_asked(a) ||
        !may_be_asked(b))
      return false;
    pair_ = {a, b};
    return true;
  }

  // "      gx-01  gx-02  gx-03": the machines that a row names one by one stand across, too.
  static bool heads_matrix(const Cells& cells) {
    constexpr std::size_t kFewest = 3;
    std::set<std::string_view> names(cells.begin(), cells.end());
    return cells.size() >= kFewest && names.size() == cells.size() &&
           std::ranges::all_of(cells, [](std::string_view cell) {
             return may_be_asked(cell) && column_of(cell) == Column::other &&
                    cell.find_first_of("0123456789") != cell.npos;
           });
  }

  // "gx-01     -   45.4   46.0": from one machine to each.
  bool take_matrix(const Cells& cells, const Place& place) {
    if (cells.size() != across_.size() + 1) return false;
    const std::string from(cells[0].substr(0, cells[0].find('.')));
    if (std::ranges::find(across_, from) == across_.end()) return false;
    bool any = false;
    for (std::size_t i = 0; i < across_.size(); ++i) {
      const auto rate = rate_in(cells[i + 1]);
      if (!rate || across_[i] == from) continue;
      Parts parts;
      add_hosts({from, across_[i]}, parts);
      add(column("matrix"), parts, {}, *rate, place);
      any = count(parts) || any;
    }
    return any;
  }

  // "$ ssh gx-02 ib_write_bw -d mlx5_2 & ; ssh -p 22 gx-01 ib_write_bw -d mlx5_2 gx-02 -F": whoever
  // names the other one is the client, and of several commands the last.
  bool take_command(std::string_view text) {
    static const re2::RE2 kProgram(R"(\bib_(?:write|read|send)_bw\b)");
    const std::size_t ssh = text.rfind("ssh ");
    if (!re2::RE2::PartialMatch({text.data(), text.size()}, kProgram)) return false;
    pair_.clear();
    device_.clear();
    if (ssh == text.npos) return false;
    const Cells words = blank_cells(text.substr(ssh + 4));
    std::string_view client, server;
    bool measures = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string_view word = words[i];
      if (contains(word, "ib_") && contains(word, "_bw")) {
        measures = true;
      } else if (word == "-d" && measures && i + 1 < words.size()) {
        device_ = words[++i];
      } else if (word.starts_with('-')) {
        // Options of ssh and of the test that take a value.
        if (word.size() == 2 && contains(std::string_view("plioDsnqxm"), word[1])) ++i;
      } else if (!measures && client.empty()) {
        client = word.substr(word.find('@') == word.npos ? 0 : word.find('@') + 1);
      } else if (measures && may_be_asked(word)) {
        server = word;
      }
    }
    if (!measures || client == server || !may_be_asked(client) || server.empty()) return false;
    pair_ = {std::string(client), std::string(server)};
    return true;
  }

  bool take_heading(const Cells& cells) {
    bool part = false, rate = false;
    std::vector<Column> columns;
    for (const std::string_view cell : cells) {
      columns.push_back(told_ && gpu_named(cell) ? Column::rate : column_of(cell));
      const Column c = columns.back();
      series_ = series_ || c == Column::series;
      rate = rate || c == Column::rate;
      part = part || (c >= Column::host && c <= Column::group);
    }
    const auto has = [&](Column c) { return std::ranges::find(columns, c) != columns.end(); };
    stages_ = has(Column::stage) && has(Column::time) && !rate;
    if (!stages_ && (!part || !rate)) return false;
    columns_ = std::move(columns);
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i] == (stages_ ? Column::time : Column::rate)) column(std::string(cells[i]));
    return true;
  }

  bool take_row(const Cells& cells, const Place& place) {
    if (cells.size() != columns_.size()) return false;
    if (stages_) return take_stage(cells, place);
    Parts parts;
    std::string condition;
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (columns_[i] == Column::host) {
        const std::vector<std::string> hosts = hosts_in(cells[i]);
        if (hosts.empty()) return false;
        if (std::ranges::all_of(hosts, switch_named))
          for (const std::string& name : hosts)
            parts.push_back({RatePart::Kind::network_switch, {}, name});
        else if (!of_groups(cells[i], hosts.size()))
          add_hosts(hosts, parts);
        else
          for (const std::string& name : hosts) parts.push_back({RatePart::Kind::group, {}, name});
      }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string_view cell = cells[i];
      if (cell.empty() || cell == "-") continue;
      switch (columns_[i]) {
        case Column::device:
          if (!parts.empty()) add_device(std::string(cell), parts);
          break;
        case Column::gpu:
          if (!parts.empty()) add_device(numbered("GPU ", cell), parts);
          break;
        case Column::rail: add_device(numbered("rail", cell), parts); break;
        case Column::network_switch:
          parts.push_back({RatePart::Kind::network_switch,
                           {},
                           std::string(cell.substr(0, cell.find_first_of(": ")))});
          break;
        case Column::group: parts.push_back({RatePart::Kind::group, {}, std::string(cell)}); break;
        case Column::condition: condition += std::string(cell) + "|"; break;
        default: break;
      }
    }
    bool any = false;
    std::size_t nth = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (columns_[i] != Column::rate) continue;
      const auto rate = rate_in(cells[i]);
      const std::string& heading = measured_[nth].name;
      if (rate && gpu_named(heading)) {
        Parts of_device = parts;
        add_device(numbered("GPU ", std::string_view(heading).substr(3)), of_device);
        add(measured_[0], of_device, condition, *rate, place);
      } else if (rate) {
        add(measured_[nth], parts, condition, *rate, place);
      }
      any = any || rate;
      ++nth;
    }
    return any && count(parts);
  }

  // Times of work, of a stage or of a rank of it: the slower, the longer.
  bool take_stage(const Cells& cells, const Place& place) {
    Parts parts;
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (columns_[i] == Column::stage)
        parts.push_back({RatePart::Kind::stage, {}, std::string(cells[i])});
    std::size_t nth = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (columns_[i] != Column::time) continue;
      const auto time = rate_in(cells[i]);
      if (!time) return false;
      add(measured_[nth++], parts, {}, 1 / *time, place);
    }
    ++rows_;
    return true;
  }

  // Numbers of a pair that the heading above names.
  bool take_perftest(const Cells& cells, const Place& place) {
    constexpr std::size_t kAverage = 3;
    if (cells.size() <= kAverage || pair_.empty()) return false;
    const auto rate = rate_in(cells[kAverage]);
    if (!rate || !rate_in(cells[0])) return false;
    Parts parts;
    add_hosts(pair_, parts);
    if (!device_.empty()) add_device(device_, parts);
    add(column("BW average"), parts, std::string(cells[0]), *rate, place);
    return count(parts);
  }

  // "gx-01 gx-02 187.9", "gx-01 707 702 708": machines, and a number for all or for each GPU.
  bool take_bare(const Cells& cells, const Place& place) {
    std::size_t names = 0;
    while (names < cells.size() && (may_be_asked(cells[names]) || contains(cells[names], "->")))
      ++names;
    const std::size_t numbers = cells.size() - names;
    if (names == 0 || numbers == 0 || numbers > 16) return false;
    Parts hosts;
    for (std::size_t i = 0; i < names; ++i)
      for (const std::string& host : hosts_in(cells[i]))
        hosts.push_back({RatePart::Kind::host, host, {}});
    for (std::size_t i = names; i < cells.size(); ++i) {
      const auto rate = rate_in(cells[i]);
      if (!rate) return false;
      Parts parts = hosts;
      if (numbers > 1) add_device(fmt::format("GPU {}", i - names), parts);
      add(column("rate"), parts, {}, *rate, place);
    }
    return count(hosts);
  }

  MeasuredRates& column(const std::string& name) {
    const auto at = std::ranges::find(measured_, name, &MeasuredRates::name);
    return at != measured_.end()
               ? *at
               : measured_.emplace_back(MeasuredRates{name, {}, {}, {}, {}, stages_});
  }

  void add(MeasuredRates& to, const Parts& parts, const std::string& condition, double rate,
           const Place& place) {
    to.rows.push_back({parts, condition, rate});
    to.places.push_back(place);
    to.sections.push_back(section_);
  }

  bool count(const Parts& parts) {
    ++rows_;
    ++times_[parts];
    return true;
  }

  std::vector<Column> columns_;
  std::vector<std::string> across_;  // machines of a matrix
  std::vector<MeasuredRates> measured_;
  std::map<Parts, std::size_t> times_;
  std::vector<std::string> pair_;
  std::string device_;  // of both ends, where a command names it
  std::size_t rows_ = 0, section_ = 0;
  bool told_ = false, perftest_ = false, series_ = false;
  bool matrix_ = false;  // the remark above tells of a rate
  bool stages_ = false;  // rows are times of stages
};

std::string read_measured_rates(std::string_view bytes, const MemberRow& member, Reading& reading) {
  RateTable table(names_rate(file_name(member.path)));
  each_text_line(bytes, [&](std::string_view text, std::uint64_t number, std::size_t offset) {
    table.take(text, place_of_line(member.id, number, offset, text));
    return table.rows() < kMostRateRows;
  });
  tell_slowest(table.measured(), reading);
  return table.rows() >= kMostRateRows ? "rates.too_many" : "";
}

}  // namespace

bool measured_rates(const Head& head) {
  const bool named = names_rate(file_name(head.path));
  if (!named && !heads_rates(head)) return false;
  RateTable table(named);
  std::size_t lines = 0, good = 0;
  each_text_line(head.bytes, [&](std::string_view text, std::uint64_t, std::size_t offset) {
    if (!head.whole && offset + text.size() + 1 >= head.bytes.size()) return false;  // cut
    ++lines;
    good += table.take(text, {});
    return good * 4 + 8 >= lines * 3;
  });
  return table.rows() >= kFewestRateRows && good * 4 >= lines * 3 && !table.series() &&
         !table.repeats();
}

extern constinit const Document kMeasuredRates{"measured-rates",
                                               "rates measured between machines, ports and GPUs",
                                               64u << 20, measured_rates, read_measured_rates};

}  // namespace culprit::ingest
