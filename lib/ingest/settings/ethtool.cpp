// ethtool IFACE: at which rate each Ethernet port came up.
#include <re2/re2.h>

#include "ingest/engine/network_rows.hpp"
#include "ingest/engine/recogniser.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

class PortSettings : public Assembler {
 public:
  PortSettings(std::string port, std::optional<Host> host)
      : port_(std::move(port)), host_(std::move(host)) {}

  Step feed(const TextLine& line, Reading& reading) override {
    const std::string_view text = line.raw;
    if (text.empty() || (text.front() != ' ' && text.front() != '\t')) return Step::not_mine;
    const std::string_view field = trimmed(text);
    if (field.starts_with("Speed:") && !contains(field, "Unknown"))
      reading.sink.put(ConfigRow{line.place, "nic.rate[" + port_ + "]",
                                 std::string(trimmed(field.substr(6)).substr(0, 32)), host_});
    return Step::watching;
  }
  std::uint64_t most_lines() const override { return 120; }

 private:
  std::string port_;
  std::optional<Host> host_;
};

Outcome read_ethtool(const TextLine& line, Reading& reading) {
  static const re2::RE2 kPort(R"(^Settings for ([\w.@-]{1,32}):\s*$)");
  std::string port;
  if (!re2::RE2::FullMatch(line.line.message, kPort, &port)) return {};
  return {true, std::make_unique<PortSettings>(port, reading.host_of(line.line.prefix))};
}

constexpr std::string_view kEthtoolWords[] = {"Settings for "};

}  // namespace

extern constinit const Recogniser kEthtool{"ethtool", "ethtool IFACE: rate of each Ethernet port",
                                           kEthtoolWords, read_ethtool};

}  // namespace culprit::ingest
