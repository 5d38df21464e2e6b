// Counters of /sys/class/infiniband and /sys/class/net: as `grep . -r` prints them (path:value), as
// `head` or `tail` do
// (==> path <==), and as the single files of a copied tree. They are absolute since the driver was
// loaded; those of the classic PMA stop at 15, 255, 65535 ... instead of beginning again, and are
// kept as they are.
#include <string>

#include "ingest/engine/document.hpp"
#include "ingest/metrics/metric_value.hpp"
#include "ingest/engine/record_text.hpp"
#include "ingest/engine/series_book.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

struct Counter {
  std::string nic;  // mlx5_0/1, eth0
  std::string_view name;
};

bool plain_word(std::string_view word, std::string_view also) {
  if (word.empty() || word.size() > 128) return false;
  for (const char c : word)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
          contains(also, c)))
      return false;
  return true;
}

// ".../mlx5_0/ports/1/counters/link_downed", ".../ports/1/hw_counters/...",
// ".../net/eth0/statistics/rx_errors"
bool counter_of(std::string_view path, Counter& out) {
  std::string_view part[5];  // from the end
  std::size_t parts = 0;
  for (; parts < 5; ++parts) {
    const std::size_t slash = path.rfind('/');
    part[parts] = slash == std::string_view::npos ? path : path.substr(slash + 1);
    if (slash == std::string_view::npos) {
      ++parts;
      break;
    }
    path = path.substr(0, slash);
  }
  if (parts < 4 || !plain_word(part[0], "")) return false;
  out.name = part[0];
  if (parts == 5 && (part[1] == "counters" || part[1] == "hw_counters") && part[3] == "ports" &&
      plain_word(part[4], "-.") && part[2].size() <= 4 &&
      part[2].find_first_not_of("0123456789") == std::string_view::npos && !part[2].empty()) {
    out.nic = std::string(part[4]) + "/" + std::string(part[2]);
    return out.name != "lifespan";  // how often the others are refreshed
  }
  if (part[1] == "statistics" && part[3] == "net" && plain_word(part[2], "-.@:")) {
    out.nic = part[2];
    return true;
  }
  return false;
}

bool of_tree(std::string_view path) {
  return contains(path, "/infiniband/") || contains(path, "/ports/") ||
         (contains(path, "/net/") && contains(path, "/statistics/"));
}

// Where the path of "path:value" ends: at the first colon behind the last folder; a PCI address in
// the path has colons too.
std::size_t path_end(std::string_view text) {
  for (const std::string_view folder : {"/counters/", "/hw_counters/", "/statistics/"})
    if (const std::size_t at = text.find(folder); at != std::string_view::npos)
      return text.find(':', at);
  return std::string_view::npos;
}

bool missing_counter(std::string_view value) {
  return value.empty() || value.starts_with("N/A") || value == "-";
}

bool put(const Counter& counter, std::string_view host, double value, const Place& place,
         Reading& reading) {
  SeriesRow key{.name = std::string(counter.name), .kind = "counter", .nic = counter.nic};
  if (!host.empty()) key.host = Host(host);
  SeriesBook& book = reading.keep<SeriesBook>();
  const auto series = book.series(key);
  book.add(series, kNoValue, kNoValue, value, place, reading);
  return series != SeriesBook::kFull;
}

class SysCounters final : public RecordReader {
 public:
  Outcome read(std::string_view raw, const Place& place, Reading& reading) override {
    std::string_view text = line::trimmed(raw);
    if (text.starts_with("==> ") && text.ends_with(" <==")) {
      heading_ = text.substr(4, text.size() - 8);
      return {};
    }
    if (text.empty()) return {};
    Counter counter;
    if (!heading_.empty()) {
      const std::string path = std::move(heading_);
      heading_.clear();
      return counter_of(path, counter) ? value_of(counter, {}, text, place, reading) : Outcome{};
    }
    const std::string_view host = take_host(text);
    const std::size_t colon = path_end(text);
    if (colon == std::string_view::npos)
      return of_tree(text) || text[0] == '#' || text[0] == '$' || text.starts_with("grep:")
                 ? Outcome{}
                 : Outcome{false, nullptr, "sys_counters.line"};
    if (!counter_of(text.substr(0, colon), counter)) return {};
    return value_of(counter, host, line::trimmed(text.substr(colon + 1)), place, reading);
  }
  Outcome tail(std::string_view raw, const Place& place, Reading& reading) override {
    return line::trimmed(raw).empty() ? read(raw, place, reading)
                                      : Outcome{false, nullptr, "sys_counters.cut"};
  }

 private:
  static Outcome value_of(const Counter& counter, std::string_view host, std::string_view text,
                          const Place& place, Reading& reading) {
    double value = 0;
    if (missing_counter(text)) return {};
    if (read_number(text, value) != text.size()) return {false, nullptr, "sys_counters.value"};
    if (!put(counter, host, value, place, reading)) return {false, nullptr, "series.too_many"};
    return {true};
  }

  std::string heading_;
};

bool sniff_sys_counters(const Head& head) {
  if (!head.has_any({"/counters/", "/hw_counters/", "/statistics/"})) return false;
  ShareOfLines share(head, 60, 128);
  int counters = 0;
  bool heading = false;
  for (std::string_view rest = head.bytes; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    std::string_view text = line::trimmed(rest.substr(0, std::min<std::size_t>(end, 4096)));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (text.empty()) continue;
    if (heading) {
      heading = false;
      continue;
    }
    Counter counter;
    if (text.starts_with("==> ") && text.ends_with(" <==")) {
      text = text.substr(4, text.size() - 8);
      heading = true;
      counters += counter_of(text, counter);
      if (!share.take(of_tree(text))) break;
      continue;
    }
    take_host(text);
    const bool prose = text.find(' ') < text.find('/');
    const std::size_t colon = prose ? std::string_view::npos : path_end(text);
    counters += colon != std::string_view::npos && counter_of(text.substr(0, colon), counter);
    if (!share.take(!prose && of_tree(text))) break;
  }
  return counters > 0 && share.reached();
}

std::unique_ptr<RecordReader> make_sys_counters(const Head&) {
  return std::make_unique<SysCounters>();
}

bool sniff_file(const Head& head) {
  Counter counter;
  if (!head.whole || head.bytes.size() > 64 || !counter_of(head.path, counter)) return false;
  const std::size_t end = head.bytes.find_last_not_of("\r\n\t ");
  const std::string_view text = head.bytes.substr(0, end == std::string_view::npos ? 0 : end + 1);
  double value = 0;
  return missing_counter(text) || read_number(text, value) == text.size();
}

std::string read_file(std::string_view bytes, const MemberRow& member, Reading& reading) {
  Counter counter;
  double value = 0;
  if (!counter_of(member.path, counter)) return "sys_counters.path";
  if (missing_counter(line::trimmed(bytes)) || read_number(bytes, value) == 0) return "";
  put(counter, {}, value, {member.id, 1, 0, static_cast<std::uint32_t>(bytes.size())}, reading);
  return "";
}

}  // namespace

extern constinit const RecordText kSysCounters{
    "sys-counters", "counters of /sys/class/infiniband and /sys/class/net, path:value",
    sniff_sys_counters, make_sys_counters, true};
extern constinit const Document kSysCounterFile{
    "sys-counter-file", "single counter files of /sys/class/infiniband and /sys/class/net", 64,
    sniff_file, read_file};

}  // namespace culprit::ingest
