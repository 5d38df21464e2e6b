// PCI addresses as drivers, NCCL and nvidia-smi spell them, brought to one form: "0000:3b:00"
// (domain, bus, device in lower case; the function is left out, a GPU has one).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace culprit {

// "PCI:0000:3b:00" "0000:3B:00.0" "00000000:3B:00.0" "3b:00.0"; nullopt for anything else, such as
// "...".
std::optional<std::string> normal_pci(std::string_view text);

// NCCL's busId: hexadecimal without separators, 53000 = 0000:53:00.0
std::optional<std::string> pci_from_bus_id(std::string_view text);

}  // namespace culprit
