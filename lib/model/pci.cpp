#include "model/pci.hpp"

#include <cstdint>
#include <vector>

#include <fmt/format.h>

namespace culprit {

namespace {

std::optional<std::uint64_t> hex(std::string_view text) {
  if (text.empty() || text.size() > 9) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    unsigned digit = 0;
    if (c >= '0' && c <= '9')
      digit = static_cast<unsigned>(c - '0');
    else if (c >= 'a' && c <= 'f')
      digit = static_cast<unsigned>(c - 'a') + 10;
    else if (c >= 'A' && c <= 'F')
      digit = static_cast<unsigned>(c - 'A') + 10;
    else
      return std::nullopt;
    value = value * 16 + digit;
  }
  return value;
}

}  // namespace

std::optional<std::string> normal_pci(std::string_view text) {
  if (text.rfind("PCI:", 0) == 0 || text.rfind("pci:", 0) == 0) text.remove_prefix(4);
  if (text.rfind("GPU", 0) == 0) text.remove_prefix(3);
  if (const std::size_t space = text.find(' '); space != std::string_view::npos)
    text = text.substr(0, space);
  if (const std::size_t dot = text.find('.'); dot != std::string_view::npos)
    text = text.substr(0, dot);
  std::vector<std::uint64_t> fields;
  while (true) {
    const std::size_t colon = text.find(':');
    const auto value = hex(text.substr(0, colon));
    if (!value || fields.size() == 3) return std::nullopt;
    fields.push_back(*value);
    if (colon == std::string_view::npos) break;
    text.remove_prefix(colon + 1);
  }
  if (fields.size() == 2) fields.insert(fields.begin(), 0);
  if (fields.size() != 3 || fields[1] > 0xff || fields[2] > 0xff) return std::nullopt;
  return fmt::format("{:04x}:{:02x}:{:02x}", fields[0], fields[1], fields[2]);
}

std::optional<std::string> pci_from_bus_id(std::string_view text) {
  const auto value = hex(text);
  if (!value || text.size() < 4) return std::nullopt;
  return fmt::format("{:04x}:{:02x}:{:02x}", *value >> 20, (*value >> 12) & 0xff,
                     (*value >> 4) & 0xff);
}

}  // namespace culprit
