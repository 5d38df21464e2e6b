// What every device made of the same work, as digests: each GPU computes one batch again from the
// same weights, and whoever has another result than all others computes wrongly (ByteRobust,
// section 4.2, bit-wise alignment tests).
//
//   host,gpu,batch,pass,crc32              cab2-s05  2  0  3ff008ae  f6fafea5
//   gx-14,6,0,2,01ce9391                   cab2-s05  3  0  3ffffb52  152d883c
//
//   replay host=gx-14 gpu=6 pass=1 loss=2.118 gradsum=0x3fd81a22 MATCH
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/events.hpp"
#include "ingest/engine/network_rows.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostDigestRows = 2'000'000;
constexpr std::size_t kFewestDevices = 4, kFewestChecks = 2;
constexpr std::size_t kOneOf = 8;  // more odd devices than one of so many are a second kind
constexpr double kNearlyAllAgree = 0.8;

bool digits_only(std::string_view cell) {
  return !cell.empty() && cell.size() <= 9 &&
         cell.find_first_not_of("0123456789") == std::string_view::npos;
}

bool looks_like_digest(std::string_view cell) {
  if (cell.starts_with("0x")) cell.remove_prefix(2);
  return cell.size() >= 8 && cell.size() <= 64 &&
         cell.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

bool names_host(std::string_view cell) {
  return cell.size() > 1 && isalpha(static_cast<unsigned char>(cell.front())) &&
         cell.find_first_of("0123456789") != std::string_view::npos &&
         std::ranges::all_of(
             cell, [](unsigned char c) { return isalnum(c) || c == '-' || c == '.' || c == '_'; });
}

// What somebody made of a row: "yes", "NO", "ok", "True".
bool said(std::string_view cell) {
  return !cell.empty() && cell.size() <= 8 &&
         std::ranges::all_of(cell, [](unsigned char c) { return isalpha(c); });
}

// Rows of a table, or of words "key=value": what is no such word (a date, a verdict) is left out.
struct DigestRow {
  std::vector<std::string_view> keys, cells;  // no keys: a table's
};

DigestRow digest_row(std::string_view text) {
  constexpr std::size_t kFewestKeys = 3;
  DigestRow out;
  for (std::size_t at = text.find_first_not_of(' '); at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" ,;", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (const std::size_t equals = word.find('=');
        equals != std::string_view::npos && equals > 0 && equals + 1 < word.size()) {
      out.keys.push_back(word.substr(0, equals));
      out.cells.push_back(word.substr(equals + 1));
    }
    at = text.find_first_not_of(" ,;", end);
  }
  if (out.keys.size() < kFewestKeys) return {{}, cells_of(text)};
  return out;
}

// Of a computation, by the name of its digest in small letters: else it may be a file's or an
// image's.
bool digest_of_numbers(const std::string& name) {
  return std::ranges::any_of(std::array<std::string_view, 8>{"grad", "param", "weight", "loss",
                                                             "logit", "output", "result", "tensor"},
                             [&](std::string_view word) { return contains(name, word); });
}

// Of what each device is given, and not of what it makes of it.
bool digest_of_input(const std::string& name) {
  return std::ranges::any_of(std::array<std::string_view, 7>{"file", "data", "batch", "rng",
                                                             "shard", "ckpt", "checkpoint"},
                             [&](std::string_view word) { return contains(name, word); });
}

// What the columns are for.
struct DigestColumns {
  std::size_t count = 0, host = 0;
  std::optional<std::size_t> device, rank;
  std::vector<std::size_t> checks, digests;  // which work it was; what came of it
  bool twice = false;                        // "hash_run,hash_replay": two results of one row
  bool computed = false;                     // the name of a digest says so

  bool of_work = false;  // a check is a step or a batch, by its name
  // Files, commits and shards have digests by machine, too: a computation has a device or a rank,
  // or is of a step.
  bool good() const {
    return count > 0 && (device || rank || of_work) && (!checks.empty() || twice) &&
           !digests.empty();
  }
};

// header: empty where the table has none.
DigestColumns digest_columns(const std::vector<std::string_view>& header,
                             const std::vector<std::string_view>& row) {
  constexpr std::array<std::string_view, 7> kDevices{"gpu",    "device",    "local_rank", "gpu_id",
                                                     "gpuidx", "gpu_index", "idx"};
  constexpr std::array<std::string_view, 5> kHosts{"host", "node", "hostname", "machine", "server"};
  DigestColumns out;
  if (!header.empty() && header.size() != row.size()) return out;
  const auto named = std::ranges::find_if(header, [&](std::string_view name) {
    return contains(kHosts, std::string_view(lower(name)));
  });
  const auto host = named != header.end() ? row.begin() + (named - header.begin())
                                          : std::ranges::find_if(row, names_host);
  if (host == row.end() || !names_host(*host)) return out;
  out.host = static_cast<std::size_t>(host - row.begin());
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i == out.host) continue;
    const std::string name = header.empty() ? std::string() : lower(header[i]);
    const bool device =
        header.empty() ? i == out.host + 1 : contains(kDevices, std::string_view(name));
    if (digits_only(row[i]) && (name == "rank" || name == "global_rank")) {
      out.rank = i;
    } else if (digits_only(row[i]) && device && !out.device) {
      out.device = i;
    } else if (digits_only(row[i]) && row[i].size() < 8) {
      out.checks.push_back(i);
      out.of_work = out.of_work ||
                    contains(std::array<std::string_view, 4>{"step", "batch", "iteration", "iter"},
                             std::string_view(name));
    } else if (looks_like_digest(row[i])) {
      if (digest_of_input(name)) continue;
      out.digests.push_back(i);
      out.computed = out.computed || digest_of_numbers(name);
    } else if (!said(row[i]) && header.empty()) {
      return out;
    }
  }
  out.count = row.size();
  if (!header.empty() && out.digests.size() == 2)
    for (const std::string_view word : {"replay", "rerun", "again", "second", "repeat"})
      out.twice = out.twice || contains(lower(header[out.digests[1]]), word);
  return out;
}

bool fits_columns(const DigestColumns& columns, const std::vector<std::string_view>& cells) {
  const auto all = [&](const std::vector<std::size_t>& where, auto accept) {
    return std::ranges::all_of(where, [&](std::size_t i) { return accept(cells[i]); });
  };
  return cells.size() == columns.count && names_host(cells[columns.host]) &&
         (!columns.device || digits_only(cells[*columns.device])) &&
         all(columns.checks, digits_only) && all(columns.digests, looks_like_digest);
}

// visit(cells, number, offset, line) for each row; false: this is no such table. Between the rows
// of words a summary may stand: "step=88420 verdict=MISMATCH 1/48".
bool each_digest_row(std::string_view bytes, bool whole, DigestColumns& columns, auto visit) {
  constexpr std::size_t kRowsToOther = 4;
  std::vector<std::string_view> header;
  bool first = true, fits = true, words = false;
  std::size_t rows = 0, other = 0;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    const std::string_view text = trimmed(line);
    const bool cut = !whole && offset + line.size() + 1 >= bytes.size();
    if (line::remark(text) || cut) return true;
    const auto [keys, cells] = digest_row(text);
    if (words && (keys.empty() || cells.size() != columns.count)) return ++other, true;
    if (!columns.good()) {
      columns = digest_columns(keys.empty() ? header : keys, cells);
      if (!columns.good() && !first) return fits = false;
      first = false;
      if (!columns.good()) return header = cells, true;
      words = !keys.empty();
    }
    if (!fits_columns(columns, cells)) return fits = false;
    ++rows;
    visit(cells, number, offset, line);
    return true;
  });
  return fits && columns.good() && other * kRowsToOther <= rows;
}

// Whether the first rows have what may be a digest: most texts are told by that.
bool may_hold_digests(std::string_view bytes) {
  constexpr std::size_t kFewestDigits = 8;
  constexpr int kRows = 2;  // a heading may stand first
  int rows = 0;
  bool found = false;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t, std::size_t) {
    if (line::remark(line)) return true;
    std::size_t digits = 0;
    for (const char c : line) {
      const char letter = static_cast<char>(c | 0x20);
      digits = (c >= '0' && c <= '9') || (letter >= 'a' && letter <= 'f') ? digits + 1 : 0;
      found = found || digits == kFewestDigits;
    }
    return !found && ++rows < kRows;
  });
  return found;
}

bool sniff_digests(const Head& head) {
  if (!may_hold_digests(head.bytes)) return false;
  DigestColumns columns;
  std::size_t rows = 0, letters = 0;  // seconds since 1970 have none
  const bool fits =
      each_digest_row(head.bytes, head.whole, columns,
                      [&](const std::vector<std::string_view>& cells, auto, auto, auto) {
                        ++rows;
                        letters += std::ranges::all_of(columns.digests, [&](std::size_t i) {
                          return cells[i].find_first_of("abcdefABCDEF") != std::string_view::npos;
                        });
                      });
  return fits && rows >= kFewestDevices * kFewestChecks && 2 * letters > rows;
}

class DigestTable {
 public:
  void add(const DigestColumns& columns, const std::vector<std::string_view>& cells, Place place) {
    std::string device(cells[columns.host]);
    if (columns.device) device.append(1, ' ').append(cells[*columns.device]);
    std::string check, digest;
    for (const std::size_t i : columns.checks) check.append(cells[i]).append(1, ' ');
    for (const std::size_t i : columns.digests) digest.append(cells[i]).append(1, ' ');
    // Work of each device's own, done twice: the second time all come to what they came to before.
    if (columns.twice) {
      check = std::to_string(seen_[device]++);
      digest = cells[columns.digests[0]] == cells[columns.digests[1]] ? "same" : "other";
    }
    checks_[check].push_back({devices_.insert(std::move(device)).first, digest, place});
  }

  void tell(const DigestColumns& columns, Reading& reading) const {
    std::map<Device, std::pair<std::size_t, Place>, ByName> odd;
    std::set<std::string> results;
    std::size_t compared = 0;
    for (const auto& [check, rows] : checks_) {
      const std::string usual = usual_of(rows);
      if (usual.empty()) continue;
      ++compared;
      results.insert(usual);
      for (const Row& row : rows)
        if (row.digest != usual) ++odd.try_emplace(row.device, 0, row.place).first->second.first;
    }
    // The same digest whatever the work: of a file or an image, not of a computation.
    if (compared < kFewestChecks ||
        (!columns.twice && !columns.computed && results.size() < kFewestChecks) ||
        odd.size() * kOneOf > devices_.size())
      return;
    // Another driver or library makes all devices of a machine differ alike: none of them is odd.
    std::map<std::string_view, std::pair<std::size_t, std::size_t>> by_host;  // all, odd
    for (auto device = devices_.begin(); device != devices_.end(); ++device) {
      auto& [all, differ] = by_host[host_of(*device)];
      ++all;
      differ += odd.contains(device);
    }
    for (const auto& [device, seen] : odd) {
      const auto& [times, place] = seen;
      const auto& [all, differ] = by_host[host_of(*device)];
      if (times < kFewestChecks || (all > 1 && differ == all)) continue;
      const std::size_t cut = std::min(device->find(' '), device->size());
      line::Line said;
      said.prefix.host = Host(device->substr(0, cut));
      said.message = fmt::format(
          "same work, other result: {}{} differs from {} others in {} of {} checks",
          cut < device->size() ? "GPU " + device->substr(cut + 1) + " of " : std::string(),
          device->substr(0, cut), devices_.size() - odd.size(), times, compared);
      put_said(place, said, reading.text_kind, reading);
    }
  }

 private:
  using Device = std::set<std::string>::const_iterator;
  struct ByName {
    bool operator()(const Device& a, const Device& b) const { return *a < *b; }
  };
  struct Row {
    Device device;
    std::string digest;
    Place place;
  };
  static std::string_view host_of(std::string_view device) {
    return device.substr(0, device.find(' '));
  }
  static std::string usual_of(const std::vector<Row>& rows) {
    std::map<std::string_view, std::size_t> counts;
    for (const Row& row : rows) ++counts[row.digest];
    const auto most =
        std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; });
    const bool agreed =
        rows.size() >= kFewestDevices &&
        static_cast<double>(most->second) >= kNearlyAllAgree * static_cast<double>(rows.size());
    return agreed ? std::string(most->first) : std::string();
  }

  std::map<std::string, std::size_t> seen_;  // rows of a device
  std::set<std::string> devices_;
  std::map<std::string, std::vector<Row>> checks_;
};

std::string read_digests(std::string_view bytes, const MemberRow& member, Reading& reading) {
  DigestColumns columns;
  DigestTable table;
  std::size_t rows = 0;
  each_digest_row(bytes, true, columns,
                  [&](const std::vector<std::string_view>& cells, std::uint64_t number,
                      std::size_t offset, std::string_view line) {
                    if (++rows > kMostDigestRows) return;
                    const Place place = place_of_line(member.id, number, offset, line);
                    table.add(columns, cells, place);
                    std::int64_t rank = 0;
                    if (columns.rank && parse_whole(cells[*columns.rank], rank))
                      reading.sink.put(IdentityRow{.place = place,
                                                   .source = "rank map",
                                                   .host = Host(cells[columns.host]),
                                                   .rank = rank});
                  });
  table.tell(columns, reading);
  return rows > kMostDigestRows ? "digests.too_many" : "";
}

}  // namespace

extern constinit const Document kDigestTable{"digest-table",
                                             "digests of what each device made of the same work",
                                             256u << 20, sniff_digests, read_digests};

}  // namespace culprit::ingest
