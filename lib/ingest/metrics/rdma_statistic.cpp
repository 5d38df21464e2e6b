// `rdma statistic show`: the counters of each link of an RDMA device, a line a link; with -p on
// lines of their own; with -j as JSON. Several snapshots may follow each other, with what `date`
// printed between them.
#include <string>

#include "ingest/engine/document.hpp"
#include "ingest/engine/lenient_json.hpp"
#include "ingest/metrics/metric_value.hpp"
#include "ingest/engine/name_moment.hpp"
#include "ingest/engine/record_text.hpp"
#include "ingest/engine/series_book.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kLongestRdmaName = 128;

// "mlx5_0/1"
bool is_link(std::string_view word) {
  const std::size_t slash = word.find('/');
  return slash != std::string_view::npos && slash > 0 && slash + 1 < word.size() &&
         word.size() <= kLongestRdmaName &&
         word.find_first_not_of("0123456789-", slash + 1) == std::string_view::npos;
}

SeriesRow counter(std::string_view nic, std::string_view name, Clock clock, bool of_name) {
  SeriesRow key{
      .name = std::string(name), .kind = "counter", .nic = std::string(nic), .clock = clock};
  if (of_name) key.labels = kTimeOfName;
  return key;
}

class RdmaStatistic final : public RecordReader {
 public:
  explicit RdmaStatistic(std::string_view path) : of_name_(moment_of_name(path, time_)) {}
  Outcome read(std::string_view raw, const Place& place, Reading& reading) override {
    return row(raw, place, reading, false);
  }
  Outcome tail(std::string_view raw, const Place& place, Reading& reading) override {
    return row(raw, place, reading, true);
  }

 private:
  Outcome row(std::string_view raw, const Place& place, Reading& reading, bool cut) {
    std::string_view rest = raw;
    const bool indented = !raw.empty() && (raw[0] == ' ' || raw[0] == '\t');
    std::string_view word = next_word(rest);
    if (word.empty() || word == "$" || word[0] == '#' || word == "rdma") {
      Timestamp moment;
      if (!word.empty() && word[0] == '#' && moment_alone(raw, moment))
        time_ = moment, of_name_ = false;
      return {};
    }
    if (word == "link") {
      const std::string_view link = next_word(rest);
      if (!is_link(link)) return nic_.clear(), Outcome{false, nullptr, "rdma.link"};
      nic_ = link;
      word = next_word(rest);
      if (word == "cntn" || word == "lqpn")
        return nic_.clear(), Outcome{};  // counters of queue pairs: of no interest here
    } else if (!indented) {
      Timestamp moment;
      if (!moment_alone(raw, moment)) return {false, nullptr, "rdma.line"};
      time_ = moment;
      of_name_ = false;
      return {};
    }
    if (nic_.empty()) return {false, nullptr, "rdma.no_link"};
    if (book_ == nullptr) book_ = &reading.keep<SeriesBook>();
    bool added = false;
    for (; !word.empty(); word = next_word(rest)) {
      const std::string_view number = next_word(rest);
      if (cut && rest.empty()) return {added, nullptr, "rdma.cut"};
      double value = 0;
      if (number.empty() || word.size() > kLongestRdmaName ||
          read_number(number, value) != number.size())
        return {added, nullptr, "rdma.value"};
      const auto series = book_->series(counter(nic_, word, time_.clock, of_name_));
      if (series == SeriesBook::kFull) return {added, nullptr, "series.too_many"};
      book_->add(series, kNoValue, time_.clock == Clock::none ? kNoValue : time_.ns, value, place,
                 reading);
      added = true;
    }
    return {added};
  }

  std::string nic_;
  Timestamp time_;
  bool of_name_ = false;  // nothing in the file says when
  SeriesBook* book_ = nullptr;
};

bool sniff_text(const Head& head) {
  std::string_view rest = head.bytes;
  for (int lines = 0; !rest.empty() && lines < 4;) {
    const std::size_t end = rest.find('\n');
    std::string_view raw = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (line::trimmed(raw).empty()) continue;
    ++lines;
    if (next_word(raw) != "link" || !is_link(next_word(raw))) continue;
    std::string_view name = next_word(raw);
    if (name == "state") return false;  // rdma link show
    if (name.empty()) {                 // -p: the counters stand below
      raw = rest.substr(0, rest.find('\n'));
      if (raw.empty() || (raw[0] != ' ' && raw[0] != '\t')) return false;
      name = next_word(raw);
    }
    const std::string_view number = next_word(raw);
    double value = 0;
    return !number.empty() && read_number(number, value) == line::trimmed(number).size();
  }
  return false;
}

// [{"ifindex":0,"ifname":"mlx5_0","port":1,"rx_write_requests":0,...}]
bool sniff_rdma_statistic_json(const Head& head) {
  const std::size_t open = head.bytes.find_first_not_of(" \r\n\t");
  if (open == std::string_view::npos || head.bytes[open] != '[') return false;
  const std::size_t brace = head.bytes.find_first_not_of(" \r\n\t", open + 1);
  if (brace == std::string_view::npos || head.bytes[brace] != '{') return false;
  const std::string_view first = head.bytes.substr(brace, head.bytes.find('}', brace) - brace);
  const auto has = [&](std::string_view text) { return contains(first, text); };
  return has("\"ifname\"") && has("\"port\"") &&
         (has("\"rx_write_requests\"") || has("\"out_of_sequence\"") || has("\"packet_seq_err\"") ||
          has("\"rnr_nak_retry_err\"") || has("\"np_cnp_sent\"") || has("\"duplicate_request\"") ||
          has("_bytes\"") || has("_pkts\""));
}

std::string read_rdma_statistic_json(std::string_view bytes, const MemberRow& member,
                                     Reading& reading) {
  Tree tree;
  read_lenient_json(bytes, tree);
  SeriesBook& book = reading.keep<SeriesBook>();
  std::size_t added = 0;
  Timestamp time;
  const bool of_name = moment_of_name(member.path, time);
  tree.each(tree.root, [&](const Value& link) {
    const std::string_view device = tree.find(link, "ifname").text();
    const Value port = tree.find(link, "port");
    if (!link.is_dict() || device.empty() || device.size() > kLongestRdmaName) return true;
    const std::string nic =
        std::string(device) +
        (port.kind == Value::Kind::integer ? "/" + std::to_string(port.integer) : std::string());
    const Tree::Node& node = tree.nodes[link.node];
    const Place place{
        member.id,
        1 + static_cast<std::uint64_t>(std::count(
                bytes.begin(),
                bytes.begin() + std::min<std::ptrdiff_t>(node.offset,
                                                         static_cast<std::ptrdiff_t>(bytes.size())),
                '\n')),
        node.offset, node.length};
    tree.each_pair(link, [&](const Value& name, const Value& value) {
      if (value.kind != Value::Kind::integer && value.kind != Value::Kind::real) return true;
      if (name.text() == "ifindex" || name.text() == "port" || name.text().empty() ||
          name.text().size() > kLongestRdmaName)
        return true;
      const auto series = book.series(counter(nic, name.text(), time.clock, of_name));
      book.add(series, kNoValue, of_name ? time.ns : kNoValue,
               value.kind == Value::Kind::integer ? static_cast<double>(value.integer) : value.real,
               place, reading);
      ++added;
      return true;
    });
    return true;
  });
  reading.cut = tree.truncated;
  if (added == 0) return "rdma.no_counters";
  if (tree.truncated)
    reading.sink.put(
        RejectRow{{member.id, 0, 0, 0},
                  "rdma.cut",
                  std::string(bytes.substr(bytes.size() > 80 ? bytes.size() - 80 : 0))});
  return "";
}

std::unique_ptr<RecordReader> make_rdma_statistic(const Head& head) {
  return std::make_unique<RdmaStatistic>(head.path);
}

}  // namespace

extern constinit const RecordText kRdmaStatistic{"rdma-statistic", "rdma statistic show",
                                                 sniff_text, make_rdma_statistic, true};
extern constinit const Document kRdmaStatisticJson{
    "rdma-statistic-json",     "rdma -j statistic show", 16u << 20,
    sniff_rdma_statistic_json, read_rdma_statistic_json, true};

}  // namespace culprit::ingest
