// `ethtool -S DEVICE`: the driver's own counters of one interface. The output does not name the
// interface: the command does, when it was echoed, or the file, or a heading that a script put
// above each of them, "[mlx5_0 ens3 rail0]", be it with the counters of /sys/class/infiniband or
// without.
#include <string>

#include "ingest/metrics/metric_value.hpp"
#include "ingest/engine/name_moment.hpp"
#include "ingest/engine/record_text.hpp"
#include "ingest/engine/series_book.hpp"
#include "line/digit.hpp"
#include "model/contains.hpp"
#include "rules/metrics.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kLongestStatisticName = 128;

// The word behind "ethtool -S" of a command, or of a file name in which a collector put other
// characters for the blanks: ethtool_-S_eth0, ethtool-S-eth0.txt.
std::string_view device_of(std::string_view text, bool file) {
  const std::size_t tool = text.find("ethtool");
  if (tool == std::string_view::npos) return {};
  text.remove_prefix(tool + 7);
  const std::string_view between = file ? " _-.+" : " \t";
  const auto pass = [&] {
    text.remove_prefix(std::min(text.find_first_not_of(between), text.size()));
  };
  pass();
  if (text.starts_with("--statistics"))
    text.remove_prefix(12);
  else if (text.starts_with("statistics"))
    text.remove_prefix(10);
  else if (text.starts_with("-S"))
    text.remove_prefix(2);
  else if (text.starts_with("S") && file)
    text.remove_prefix(1);
  else
    return {};
  if (text.empty() || !contains(between, text[0])) return {};
  pass();
  if (file)
    for (const std::string_view ending : {".txt", ".log", ".out"})
      if (text.ends_with(ending)) text.remove_suffix(ending.size());
  const std::string_view device = text.substr(0, text.find_first_of(" \t\r|>;"));
  return device.size() <= kLongestStatisticName ? device : std::string_view{};
}

// "[rdma0]", "[mlx5_0 ens3 rail0]" -> its first word; "" of another line.
std::string_view device_heading(std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']')) return {};
  const std::string_view device = text.substr(1, text.find_first_of(" ,]") - 1);
  return device.size() > 1 && device.size() <= kLongestStatisticName && line::alpha(device[0]) &&
                 line::digit(device.back())
             ? device
             : std::string_view{};
}

bool known_counter(const std::string& name) {
  const auto match = rules::Catalogue::built_in().find(name);
  return match && match->metric->entity == "nic" && match->kind == rules::MetricKind::counter;
}

bool statistics_heading(std::string_view text) { return line::trimmed(text) == "NIC statistics:"; }

class EthtoolStatistics final : public RecordReader {
 public:
  EthtoolStatistics(std::string_view device, std::string_view path)
      : device_(device), of_file_(device), of_name_(moment_of_name(path, time_)) {}

  Outcome read(std::string_view raw, const Place& place, Reading& reading) override {
    const std::string_view text = line::trimmed(raw);
    if (text.empty()) return {};
    if (statistics_heading(text)) {
      if (in_block_ && !named_) device_.clear();  // a second interface, and nobody says which
      in_block_ = true;
      named_ = false;
      return {};
    }
    if (const std::string_view device = device_of(text, false); !device.empty()) {
      device_ = device;
      named_ = true;
      return {};
    }
    if (const std::string_view device = device_heading(text); !device.empty()) {
      device_ = device;
      named_ = in_block_ = true;
      return {};
    }
    if (text.starts_with('#')) return {};
    if (text.starts_with(kPairs)) return pairs(text.substr(kPairs.size()), place, reading);
    if (text == "no stats available" || text.starts_with("Cannot get ")) return {};
    Timestamp moment;
    if (raw[0] != ' ' && raw[0] != '\t' && moment_alone(text, moment)) {
      time_ = moment;
      of_name_ = false;
      if (in_block_ && !named_) device_ = of_file_, in_block_ = false;  // the same interface, later
      return {};
    }
    // "rx_prio3_pause: 12", "[0]: rx_ucast_packets: 5"
    const std::size_t colon = text.rfind(": ");
    if (!in_block_ || colon == std::string_view::npos || colon == 0 ||
        colon > kLongestStatisticName)
      return {false, nullptr, "ethtool.line"};
    const std::string_view number = line::trimmed(text.substr(colon + 2));
    double value = 0;
    if (number == "N/A") return {};
    if (read_number(number, value) != number.size()) return {false, nullptr, "ethtool.value"};
    return put(text.substr(0, colon), value, place, reading);
  }
  Outcome tail(std::string_view raw, const Place& place, Reading& reading) override {
    return line::trimmed(raw).empty() || statistics_heading(raw)
               ? read(raw, place, reading)
               : Outcome{false, nullptr, "ethtool.cut"};
  }

 private:
  static constexpr std::string_view kPairs = "hw_counters: ";

  Outcome put(std::string_view name, double value, const Place& place, Reading& reading) {
    SeriesRow key;
    key.name = name;
    if (!device_.empty()) key.nic = device_;
    key.clock = time_.clock;
    if (of_name_) key.labels = kTimeOfName;
    SeriesBook& book = reading.keep<SeriesBook>();
    const auto series = book.series(key);
    if (series == SeriesBook::kFull) return {false, nullptr, "series.too_many"};
    book.add(series, kNoValue, time_.clock == Clock::none ? kNoValue : time_.ns, value, place,
             reading);
    return {true};
  }
  // "packet_seq_err=26 out_of_sequence=13"
  Outcome pairs(std::string_view text, const Place& place, Reading& reading) {
    Outcome out{false, nullptr, "ethtool.value"};
    while (!text.empty()) {
      const std::string_view word = text.substr(0, text.find(' '));
      text.remove_prefix(std::min(word.size() + 1, text.size()));
      const std::size_t equals = word.find('=');
      double value = 0;
      if (equals == std::string_view::npos || equals == 0 ||
          read_number(word.substr(equals + 1), value) != word.size() - equals - 1)
        continue;
      out = put(word.substr(0, equals), value, place, reading);
    }
    return out;
  }

  std::string device_;  // of the lines below; "" not known
  const std::string of_file_;
  bool in_block_ = false;
  bool named_ = false;  // a command has been seen since the last heading
  Timestamp time_;
  bool of_name_ = false;  // nothing in the file says when
};

bool sniff_ethtool_statistics(const Head& head) {
  constexpr int kLooked = 4;
  std::string_view rest = head.bytes;
  bool below_device = false;
  for (int lines = 0; !rest.empty() && lines < kLooked;) {
    const std::size_t end = rest.find('\n');
    const std::string_view text = line::trimmed(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (text.empty()) continue;
    ++lines;
    if (statistics_heading(text)) return true;
    if (below_device && known_counter(std::string(text.substr(0, text.find(':'))))) return true;
    below_device = below_device || !device_heading(text).empty();
  }
  return false;
}

std::unique_ptr<RecordReader> make_ethtool_statistics(const Head& head) {
  return std::make_unique<EthtoolStatistics>(device_of(head.base(), true), head.path);
}

}  // namespace

extern constinit const RecordText kEthtoolStatistics{
    "ethtool-statistics", "ethtool -S", sniff_ethtool_statistics, make_ethtool_statistics, true};

}  // namespace culprit::ingest
