// Firmware, board, rate and MTU of RDMA devices: ibv_devinfo ("fw_ver:"), ibstat ("Firmware
// version:"), ibstatus ("rate:"). The heading above names the device (devices.cpp), which stands
// behind the setting's name: "nic.firmware[mlx5_0]".
#include <re2/re2.h>

#include "ingest/engine/network_rows.hpp"
#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

namespace {

struct RdmaField {
  std::string_view key;  // in small letters
  std::string_view name;
};

// rdma-core: libibverbs/examples/devinfo.c; infiniband-diags: src/ibstat.c, scripts/ibstatus.
constexpr RdmaField kRdmaFields[] = {
    {"fw_ver", "nic.firmware"},       {"firmware version", "nic.firmware"},
    {"board_id", "nic.board_id"},     {"ca type", "nic.type"},
    {"hca_type", "nic.type"},         {"rate", "nic.rate"},
    {"active_mtu", "nic.active_mtu"}, {"max_mtu", "nic.max_mtu"},
    {"link_layer", "nic.link_layer"}, {"link layer", "nic.link_layer"},
};

void put_setting(const RdmaField& field, std::string_view value, const TextLine& line,
                 Reading& reading) {
  reading.sink.put(
      ConfigRow{line.place, std::string(field.name) + "[" + reading.current_nic.substr(0, 64) + "]",
                std::string(value.substr(0, 400))});
}

// All of a port in the line that names the device: "hca_id: mlx5_0  port: 1 active_mtu: 4096 (5)
// link_layer: Ethernet".
void read_port_fields(const TextLine& line, Reading& reading) {
  static const re2::RE2 kField(R"(\b([a-z_]+):\s+(\S+(?: \(\d+\))?))");
  re2::StringPiece text(line.raw.data(), line.raw.size());
  std::string key, value;
  while (re2::RE2::FindAndConsume(&text, kField, &key, &value))
    for (const RdmaField& field : kRdmaFields)
      if (key == field.key) put_setting(field, value, line, reading);
}

Outcome read_rdma_settings(const TextLine& line, Reading& reading) {
  if (reading.text_kind != "rdma" || reading.current_nic.empty()) return {};
  const std::string_view text = trimmed(line.raw);
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon > 24) return {};
  const std::string key = lower(trimmed(text.substr(0, colon)));
  const std::string_view value = trimmed(text.substr(colon + 1));
  if (value.empty()) return {};
  if (key == "hca_id") {
    read_port_fields(line, reading);
    return {};
  }
  for (const RdmaField& field : kRdmaFields)
    if (key == field.key) {
      put_setting(field, value, line, reading);
      return {true};
    }
  return {};
}

// A port a line, as loops over machines print it, with the machine before it or not:
// "gx-07 mlx5_2 port 1: state 4: ACTIVE phys 5: LinkUp rate: 100 Gb/sec (1X NDR)"
// "pod2-n11 CA 'mlx5_2' State: Active  Physical state: LinkUp  Rate: 100  Base lid: 421"
Outcome read_port_line(const TextLine& line, Reading& reading) {
  static const re2::RE2 kPort(
      R"((?i)^\W*(?:([A-Za-z][\w.-]*\d[\w.-]*)[ :]+)?(?:CA ')?((?:mlx\d|bnxt_re|irdma|hfi1|ib)\w*)\b.*\bstate:? .*\brate:? +(\d+(?:\.\d+)?(?: Gb/sec)?(?: \(\d+X \w+)?))");
  std::string host, nic, rate;
  if (line.raw.size() > 400 ||
      !re2::RE2::PartialMatch({line.raw.data(), line.raw.size()}, kPort, &host, &nic, &rate))
    return {};
  // "mlx5_2: state" begins as lines of several machines do, and is none of theirs.
  std::optional<Host> whose = reading.host_of(line.line.prefix);
  if (whose == Host(nic)) whose.reset();
  if (!host.empty()) whose = Host(host);
  if (rate.find('(') != std::string::npos) rate += ")";
  reading.sink.put(ConfigRow{line.place, "nic.rate[" + nic.substr(0, 64) + "]", rate, whose});
  return {true};
}

constexpr std::string_view kPortLineWords[] = {" Gb/sec (", "LinkUp"};
constexpr std::string_view kRdmaSettingsWords[] = {"fw_ver:", "Firmware version:", "link_layer:"};

}  // namespace

extern constinit const Recogniser kRdmaPortLines{
    "rdma-port-lines", "ports of RDMA devices, a line each", kPortLineWords, read_port_line};
extern constinit const Recogniser kRdmaSettings{
    "rdma-settings", "ibstat, ibv_devinfo, ibstatus: firmware, board, rate and MTU of each device",
    kRdmaSettingsWords, read_rdma_settings, "rdma"};

}  // namespace culprit::ingest
