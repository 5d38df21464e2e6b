// nfsiostat: how long a file server takes to answer.
//
//   nas02:/export/data mounted on /data:
//   read:              ops/s            kB/s           kB/op         retrans    avg RTT (ms) ...
//                     31.600       31600.000        1000.100        0 (0.0%)         731.000 ...
#include <array>

#include <fmt/format.h>

#include "ingest/engine/events.hpp"
#include "model/contains.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

// A disk behind it has answered a read by then; what is written may wait for many.
constexpr double kSlowReadMs = 100, kSlowWriteMs = 2000;
constexpr double kFewestRequests = 1;  // a second

struct NfsMount final : Kept {
  std::string server;
};

std::optional<double> number_in(std::string_view& rest) {
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t\r"));
  rest.remove_prefix(word.size());
  double value = 0;
  return parse_whole(word, value) ? std::optional(value) : std::nullopt;
}

// The row of figures below a heading.
class NfsFigures final : public Assembler {
 public:
  explicit NfsFigures(std::string_view operation) : operation_(operation) {}

  Step feed(const TextLine& line, Reading& reading) override {
    std::string_view rest = line.raw;
    std::array<double, 3> rates{};  // requests and kB a second, kB each
    for (double& rate : rates) {
      const auto value = number_in(rest);
      if (!value) return Step::not_mine;
      rate = *value;
    }
    // "0 (0.0%)": sent again.
    const std::size_t close = rest.find(')');
    if (close == std::string_view::npos) return Step::not_mine;
    rest.remove_prefix(close + 1);
    const auto answer = number_in(rest);
    if (!answer) return Step::not_mine;
    const std::string& server = reading.keep<NfsMount>().server;
    if (!server.empty() && *answer >= (operation_ == "read" ? kSlowReadMs : kSlowWriteMs) &&
        rates[0] >= kFewestRequests)
      put_said(line.place, reading.host_of(line.line.prefix),
               fmt::format("nfs server {}: a {} takes {:.0f} ms, {:.0f} a second", server,
                           operation_, *answer, rates[0]),
               reading);
    return Step::finished;
  }

 private:
  std::string operation_;
};

Outcome read_nfsiostat(const TextLine& line, Reading& reading) {
  const std::string_view text = line.raw;
  if (const std::size_t at = text.find(" mounted on /"); at != std::string_view::npos) {
    const std::size_t colon = text.find(":/");
    if (colon == std::string_view::npos || colon > at || !text.ends_with(':') ||
        text.substr(0, colon).find(' ') != std::string_view::npos)
      return {};
    reading.keep<NfsMount>().server = text.substr(0, std::min<std::size_t>(colon, 253));
    return {true};
  }
  const std::string_view operation = text.substr(0, text.find(':'));
  if ((operation != "read" && operation != "write") || !contains(text, "avg RTT (ms)")) return {};
  Outcome outcome{true};
  outcome.assembler = std::make_unique<NfsFigures>(operation);
  return outcome;
}

constexpr std::string_view kNfsiostatWords[] = {"avg RTT (ms)", " mounted on /"};

}  // namespace

extern constinit const Recogniser kNfsiostat{
    "nfsiostat", "nfsiostat: how long NFS servers take to answer", kNfsiostatWords, read_nfsiostat};

}  // namespace culprit::ingest
