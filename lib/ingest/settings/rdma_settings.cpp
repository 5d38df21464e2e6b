// Firmware, board, rate and MTU of RDMA devices: ibv_devinfo ("fw_ver:"), ibstat ("Firmware
// version:"), ibstatus ("rate:"). The heading above names the device (devices.cpp), which stands
// behind the setting's name: "nic.firmware[mlx5_0]".
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

Outcome read_rdma_settings(const TextLine& line, Reading& reading) {
  if (reading.text_kind != "rdma" || reading.current_nic.empty()) return {};
  const std::string_view text = trimmed(line.raw);
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon > 24) return {};
  const std::string key = lower(trimmed(text.substr(0, colon)));
  const std::string_view value = trimmed(text.substr(colon + 1));
  if (value.empty()) return {};
  for (const RdmaField& field : kRdmaFields) {
    if (key != field.key) continue;
    reading.sink.put(ConfigRow{
        line.place, std::string(field.name) + "[" + reading.current_nic.substr(0, 64) + "]",
        std::string(value.substr(0, 400))});
    return {true};
  }
  return {};
}

constexpr std::string_view kRdmaSettingsWords[] = {"fw_ver:", "Firmware version:", "link_layer:"};

}  // namespace

extern const Recogniser kRdmaSettings;
constinit const Recogniser kRdmaSettings{
    "rdma-settings", "ibstat, ibv_devinfo, ibstatus: firmware, board, rate and MTU of each device",
    kRdmaSettingsWords, read_rdma_settings, "rdma"};

}  // namespace culprit::ingest
