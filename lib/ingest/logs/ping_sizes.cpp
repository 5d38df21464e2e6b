// Packets of several sizes that were sent to one address, as people look for a path that does not
// carry large ones: small ones all arrive, large ones never do. What a job sends is large.
//
//   PING 10.21.2.11 (10.21.2.11) from 10.21.1.11 rdma0: 8972(9000) bytes of data.
//   3 packets transmitted, 0 received, 100% packet loss, time 2046ms
#include <map>

#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/events.hpp"
#include "line/trimmed.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostTargets = 10'000;
constexpr std::int64_t kLarge = 1501;  // bytes, with headers: more than Ethernet carries by default

// Of a network of the site's own: what the internet carries is nobody's setting.
bool of_the_site(std::string_view target) {
  static const re2::RE2 kPrivate(R"((?:10|172\.(?:1[6-9]|2\d|3[01])|192\.168)\.[\d.]+)");
  return re2::RE2::FullMatch({target.data(), target.size()}, kPrivate);
}

class PingSizes final : public Kept {
 public:
  // from: the address and interface that it is sent from, if that is printed.
  void begin(std::string target, std::string from, std::int64_t size, const Place& place) {
    target_ = of_the_site(target) ? std::move(target) + "|" + std::move(from) : std::string();
    size_ = size;
    place_ = place;
  }
  void end(std::int64_t sent, std::int64_t received) {
    if (target_.empty() || sent < 2 ||
        (targets_.size() >= kMostTargets && !targets_.contains(target_)))
      return;
    Target& to = targets_[target_];
    if (received == sent) to.arrives = std::max(to.arrives, size_);
    if (received == 0 && (to.lost == 0 || size_ < to.lost)) to.lost = size_, to.place = place_;
    target_.clear();
  }
  // The sender's own interface refused it: no path is at fault.
  void refused() { target_.clear(); }
  // One line for all: what they have in common is the path.
  void finish(Reading& reading) override {
    std::string targets;
    const Target* first = nullptr;
    for (const auto& [name, to] : targets_) {
      if (to.arrives == 0 || to.lost < kLarge || to.arrives >= to.lost) continue;
      if (first == nullptr) first = &to;
      if (targets.size() < 128)
        targets += (targets.empty() ? "" : ", ") + name.substr(0, name.find('|'));
    }
    if (first == nullptr) return;
    line::Line said;
    said.message =
        fmt::format("path MTU: packets of {} bytes never arrive at {}, of {} bytes all do",
                    first->lost, targets, first->arrives);
    put_said(first->place, said, reading.text_kind, reading);
  }

 private:
  struct Target {
    std::int64_t arrives = 0, lost = 0;  // bytes: the largest that arrives, the smallest that never
    Place place;
  };
  std::map<std::string, Target> targets_;
  std::string target_;
  std::int64_t size_ = 0;
  Place place_;
};

Outcome read_ping(const TextLine& line, Reading& reading) {
  static const re2::RE2 kHead(
      R"(PING (?:\S+) \(([^)]*)\)(?: from ([^:]*):)?.*\b\d+\((\d+)\) bytes of data)"),
      kSum(R"((\d+) packets transmitted, (\d+) received)");
  const std::string_view text = line::trimmed(line.raw.substr(0, 512));
  const re2::StringPiece piece(text.data(), text.size());
  std::string target, from;
  std::int64_t one = 0, two = 0;
  if (re2::RE2::PartialMatch(piece, kHead, &target, &from, &one)) {
    reading.keep<PingSizes>().begin(std::move(target), std::move(from), one, line.place);
    return {true};
  }
  if (text.find("message too long") != std::string_view::npos) {
    reading.keep<PingSizes>().refused();
    return {true};
  }
  if (!re2::RE2::PartialMatch(piece, kSum, &one, &two)) return {};
  reading.keep<PingSizes>().end(one, two);
  return {true};
}

// "ping -s 8900 -c 2 10.0.3.14 (gx-14): 0% packet loss": a line for each of several, with their
// names.
Outcome read_ping_name(const TextLine& line, Reading& reading) {
  static const re2::RE2 kNamed(
      R"(^\s*ping [^|]*?\b((?:\d{1,3}\.){3}\d{1,3}) \(([A-Za-z][\w.-]*\d[\w.-]*)\)\W+\d+(?:\.\d+)?% packet loss)");
  IdentityRow row;
  std::string address, name;
  if (line.raw.size() > 400 ||
      !re2::RE2::PartialMatch({line.raw.data(), line.raw.size()}, kNamed, &address, &name))
    return {};
  row.place = line.place;
  row.source = "ping";
  row.host = Host(name);
  row.address = address;
  reading.sink.put(row);
  return {true};
}

constexpr std::string_view kPingNameWords[] = {"% packet loss"};
constexpr std::string_view kPingWords[] = {"bytes of data", "packets transmitted",
                                           "ping: local error: "};

}  // namespace

extern constinit const Recogniser kPingNames{"ping-names",
                                             "ping, a line for each machine: names and addresses",
                                             kPingNameWords, read_ping_name};
extern constinit const Recogniser kPingSizes{
    "ping-sizes", "ping with several sizes: paths on which large packets are lost", kPingWords,
    read_ping};

}  // namespace culprit::ingest
