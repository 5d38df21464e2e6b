// lspci -vv: how many lanes of PCIe, and how fast, each NIC and GPU came up with.
//
// A GPU at rest lowers the speed of its link, so of GPUs the width alone is a setting.
#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"
#include "line/trimmed.hpp"
#include "model/pci.hpp"

namespace culprit::ingest {

namespace {

constexpr std::uint64_t kLinesOfADevice = 400;

// The indented lines below a device's heading. The rules see them, too.
class PciDevice : public Assembler {
 public:
  PciDevice(std::string kind, std::string address, std::optional<Host> host)
      : kind_(std::move(kind)), address_(std::move(address)), host_(std::move(host)) {}

  Step feed(const TextLine& line, Reading& reading) override {
    static const re2::RE2 kStatus(R"(^\s+LnkSta:\s+Speed ([0-9.]+)GT/s[^,]*, Width x(\d{1,2})\b)");
    const std::string_view text = line.raw;
    if (text.empty() || (text.front() != ' ' && text.front() != '\t')) return Step::not_mine;
    if (const std::size_t at = text.find("Physical Slot: "); at != std::string_view::npos)
      put(line.place, "slot", std::string(line::trimmed(text.substr(at + 15))), reading);
    std::string speed, width;
    if (!re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kStatus, &speed,
                                &width))
      return Step::watching;
    put(line.place, "pcie_width", width, reading);
    if (kind_ == "nic") put(line.place, "pcie_speed", speed + " GT/s", reading);
    return Step::watching;
  }
  std::uint64_t most_lines() const override { return kLinesOfADevice; }

 private:
  void put(const Place& place, const char* what, std::string value, Reading& reading) {
    reading.sink.put(
        ConfigRow{place, kind_ + "." + what + "[" + address_ + "]", std::move(value), host_});
  }

  std::string kind_, address_;
  std::optional<Host> host_;
};

Outcome read_lspci(const TextLine& line, Reading& reading) {
  static const re2::RE2 kDevice(
      R"(^((?:[0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]) )"
      R"((3D controller|VGA compatible controller|Infiniband controller|Ethernet controller)(?: \[\w+\])?: (\S+))");
  std::string address, kind, vendor;
  if (!re2::RE2::PartialMatch(line.line.message, kDevice, &address, &kind, &vendor)) return {};
  const auto pci = normal_pci(address);
  const bool gpu = kind.ends_with("D controller") || kind.starts_with("VGA");
  if (!pci || (gpu && vendor != "NVIDIA")) return {};
  return {true,
          std::make_unique<PciDevice>(gpu ? "gpu" : "nic", *pci, reading.host_of(line.line.prefix)),
          {}};
}

// A card a line, as loops over machines print it: "gx-07 mlx5_2 LnkSta: Speed 8GT/s (downgraded),
// Width x4 (downgraded)".
Outcome read_pci_row(const TextLine& line, Reading& reading) {
  static const re2::RE2 kRow(
      R"(^\W*(?:([A-Za-z][\w.-]*\d[\w.-]*)[ :]+)?((?:mlx\d|bnxt_re|irdma)\w*)\b[^:]*LnkSta:\s+Speed ([\d.]+)GT/s[^,]*,\s*Width\s+x(\d{1,2})\b)");
  std::string host, nic, speed, width;
  if (line.raw.size() > 400 || !re2::RE2::PartialMatch({line.raw.data(), line.raw.size()}, kRow,
                                                       &host, &nic, &speed, &width))
    return {};
  std::optional<Host> whose = reading.host_of(line.line.prefix);
  if (!host.empty()) whose = Host(host);
  reading.sink.put(ConfigRow{line.place, "nic.pcie_width[" + nic + "]", width, whose});
  reading.sink.put(ConfigRow{line.place, "nic.pcie_speed[" + nic + "]", speed + " GT/s", whose});
  return {true};
}

// How many ports of a machine's bridges send traffic between devices by the root complex: GPUs and
// NICs reach each other slowly there.
struct RedirectingPorts final : Kept {
  Place first;
  std::optional<Host> host;
  int ports = 0, redirecting = 0;
  void finish(Reading& reading) override {
    constexpr int kFewestPorts = 4;  // of all that a machine has
    if (ports >= kFewestPorts)
      reading.sink.put(
          ConfigRow{first, "pci.redirecting_ports", std::to_string(redirecting), host});
  }
};

Outcome read_redirect(const TextLine& line, Reading& reading) {
  static const re2::RE2 kControl(R"(\bACSCtl:\s+SrcValid[-+].* ReqRedir([-+]))");
  std::string redirects;
  if (!re2::RE2::PartialMatch({line.raw.data(), line.raw.size()}, kControl, &redirects)) return {};
  auto& all = reading.keep<RedirectingPorts>();
  if (all.ports++ == 0) all.first = line.place, all.host = reading.host_of(line.line.prefix);
  all.redirecting += redirects == "+";
  return {true};
}

constexpr std::string_view kRedirectWords[] = {"ACSCtl:"};
constexpr std::string_view kPciRowWords[] = {" LnkSta:"};
constexpr std::string_view kLspciWords[] = {"3D controller", "VGA compatible controller",
                                            "Infiniband controller", "Ethernet controller"};

}  // namespace

extern constinit const Recogniser kPciRedirect{
    "pcie-redirect", "lspci -vv: ports that redirect traffic between devices", kRedirectWords,
    read_redirect};
extern constinit const Recogniser kPciRows{
    "pcie-rows", "PCIe lanes and speed of cards, a line each", kPciRowWords, read_pci_row};
extern constinit const Recogniser kLspci{
    "lspci", "lspci -vv: PCIe lanes and speed of each NIC and GPU", kLspciWords, read_lspci};

}  // namespace culprit::ingest
