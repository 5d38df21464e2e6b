// Decode of the six words that close an Xid 144-150 line (NVLink 5: GB200, B200 and later). Word 1
// holds the unit and the reason, word 2 the error status. Source: NVIDIA Xid catalogue, sheet "XID
// 144-150 Decode".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace culprit::rules {

struct NvlinkDecode {
  std::string unit;      // NETIR_LINK_EVT/NETIR_LINK_DOWN
  std::string severity;  // nonfatal, fatal, link_fatal: the table's word; the printed word beats it
  std::string action;    // reset_gpu, ignore, follow_xid_154
  std::string followup;  // investigate_peer_device, contact_support ...
  std::string origin;    // hw, sw, fw
  bool loses_packets_here = false;
  bool loses_packets_at_peer = false;
};

// message: the text of the Xid line. Drivers from R575 on use the second bit layout; "" tries the
// newer one first. nullopt: no six words, or no entry of the table fits.
std::optional<NvlinkDecode> decode_nvlink5(std::int64_t xid, std::string_view message,
                                           const std::string& driver_version);

}  // namespace culprit::rules
