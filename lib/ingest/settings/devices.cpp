// Lines that say which device or driver the text is about: headings of nvidia-smi -q, ibstat and
// ibv_devinfo blocks (the lines below belong to that device), and driver versions wherever they are
// printed.
#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"
#include "model/pci.hpp"

namespace culprit::ingest {

namespace {

Outcome read_smi_heading(const TextLine& line, Reading& reading) {
  static const re2::RE2 kHeading(R"(^GPU ([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s*$)");
  std::string pci;
  if (!re2::RE2::FullMatch(line.line.message, kHeading, &pci)) return {};
  reading.current_gpu = normal_pci(pci).value_or("");
  return {true};
}

// Errors that a GPU counted in all its life: many hosts run for years with rows that were replaced
// long ago. What it counted since the driver was loaded stands under "Volatile".
class EccHistory : public Assembler {
 public:
  explicit EccHistory(std::size_t indentation) : indentation_(indentation) {}
  Step feed(const TextLine& line, Reading&) override {
    const std::size_t begin = line.raw.find_first_not_of(" \t");
    return begin == std::string_view::npos || begin <= indentation_ ? Step::not_mine : Step::took;
  }
  std::uint64_t most_lines() const override { return 32; }

 private:
  std::size_t indentation_;
};

Outcome read_ecc_history(const TextLine& line, Reading& reading) {
  const std::string_view text = line.raw;
  const std::size_t begin = text.find_first_not_of(" \t");
  if (reading.text_kind != "nvidia-smi" || begin == std::string_view::npos) return {};
  std::string_view heading = text.substr(begin);
  while (!heading.empty() && (heading.back() == ' ' || heading.back() == '\r'))
    heading.remove_suffix(1);
  if (heading != "Aggregate" && heading != "<aggregate>") return {};
  return {true, std::make_unique<EccHistory>(begin)};
}

Outcome read_nic_heading(const TextLine& line, Reading& reading) {
  static const re2::RE2 kHeading(
      R"(^(?:CA '([\w.-]+)'|hca_id:\s+([\w.-]+)|Infiniband device '([\w.-]+)'))");
  std::string a, b, c;
  if (!re2::RE2::PartialMatch(line.line.message, kHeading, &a, &b, &c)) return {};
  reading.current_nic = !a.empty() ? a : !b.empty() ? b : c;
  return {true};
}

Outcome read_driver(const TextLine& line, Reading& reading) {
  static const re2::RE2 kDriver(
      R"((?:NVIDIA UNIX.*Kernel Module(?: for \S+)?\s+|Driver Version\s*:\s*|NVRM version: .*Kernel Module(?: for \S+)?\s+)(\d{3}\.\d+(?:\.\d+)?))");
  ConfigRow row;
  if (!re2::RE2::PartialMatch(line.line.message, kDriver, &row.value)) return {};
  row.place = line.place;
  row.name = "driver_version";
  row.host = reading.host_of(line.line.prefix);
  reading.sink.put(row);
  return {true};
}

constexpr std::string_view kSmiWords[] = {"GPU 0000"};
constexpr std::string_view kHistoryWords[] = {"Aggregate"};
constexpr std::string_view kNicWords[] = {"hca_id:", "Infiniband device '", "CA 'mlx", "CA 'bnxt"};
constexpr std::string_view kDriverWords[] = {"Driver Version", "NVIDIA UNIX", "NVRM version"};

}  // namespace

extern const Recogniser kDriver;
extern constinit const Recogniser kSmiHeading{
    "nvidia-smi-q", "nvidia-smi -q: ECC, remapped rows, clocks event reasons of each GPU",
    kSmiWords, read_smi_heading};
extern constinit const Recogniser kEccHistory{
    "ecc-history",
    "nvidia-smi -q: ECC errors of a GPU's whole life, which "
    "are no error of the job",
    kHistoryWords, read_ecc_history};
extern constinit const Recogniser kNicHeading{"rdma-devices",
                                              "ibstat, ibv_devinfo, ibstatus: state of each port",
                                              kNicWords, read_nic_heading};
constinit const Recogniser kDriver{"nvidia-driver",
                                   "NVIDIA driver versions in kernel logs and nvidia-smi",
                                   kDriverWords, read_driver};

}  // namespace culprit::ingest
