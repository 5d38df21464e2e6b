// A site's list of its machines: a table with a column of names and columns of addresses, whatever
// else stands in it ("host,mgmt,rdma,serial").
#include <algorithm>

#include "ingest/engine/document.hpp"
#include "ingest/engine/network_rows.hpp"
#include "ingest/engine/scan.hpp"
#include "line/timestamp.hpp"

namespace culprit::ingest {

namespace {

struct InventoryColumns {
  std::size_t host = 0, count = 0;  // count 0: this is no heading of an inventory
  std::vector<std::size_t> addresses;
};

InventoryColumns inventory_heading(std::string_view line) {
  InventoryColumns out;
  bool host = false;
  if (!mentions(line, "host") && !mentions(line, "node") && !mentions(line, "server") &&
      !mentions(line, "machine"))
    return out;
  const auto cells = cells_of(line);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string name = lower(cells[i]);
    if (line::names_moment(name)) return {};  // measured again and again
    if (!host && (name == "host" || name == "hostname" || name == "node" || name == "nodename" ||
                  name == "server" || name == "machine")) {
      host = true;
      out.host = i;
    }
    // kubectl's tables of pods name more than machines: node-table and pod-table read them.
    if (shaped_like_address(cells[i]) || name == "restarts" || name == "ready" || name == "status")
      return {};
  }
  if (host && cells.size() > 1) out.count = cells.size();
  return out;
}

bool machine_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && isalpha(static_cast<unsigned char>(text.front())) &&
         std::ranges::all_of(
             text, [](unsigned char c) { return isalnum(c) || c == '-' || c == '_' || c == '.'; });
}

// The columns that hold an address in every row of the head; empty for a table of something else.
InventoryColumns inventory_of(const Head& head) {
  InventoryColumns out;
  std::size_t rows = 0;
  bool fits = true;
  each_text_line(head.bytes, [&](std::string_view line, std::uint64_t, std::size_t offset) {
    const std::string_view text = trimmed(line);
    const bool cut = !head.whole && offset + line.size() + 1 >= head.bytes.size();
    if (text.empty() || cut) return true;
    if (out.count == 0) {
      out = inventory_heading(text);
      fits = out.count > 0;
      for (std::size_t i = 0; i < out.count; ++i)
        if (i != out.host) out.addresses.push_back(i);
      return fits;
    }
    const auto cells = cells_of(text);
    fits = cells.size() == out.count && machine_name(cells[out.host]);
    if (fits)
      std::erase_if(out.addresses, [&](std::size_t i) { return !shaped_like_address(cells[i]); });
    ++rows;
    return fits;
  });
  return fits && rows >= 2 && !out.addresses.empty() ? out : InventoryColumns{};
}

bool sniff_inventory(const Head& head) { return inventory_of(head).count > 0; }

std::string read_inventory(std::string_view bytes, const MemberRow& member, Reading& reading) {
  InventoryColumns columns;
  std::size_t hosts = 0;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    const std::string_view text = trimmed(line);
    if (text.empty() || hosts >= kHostsPerFile) return;
    if (columns.count == 0) {
      columns = inventory_heading(text);
      return;
    }
    const Place place = place_of_line(member.id, number, offset, line);
    const auto cells = cells_of(text);
    if (cells.size() != columns.count || !machine_name(cells[columns.host])) {
      reading.sink.put(RejectRow{place, "inventory.no_machine", std::string(text.substr(0, 200))});
      return;
    }
    ++hosts;
    for (const std::string_view cell : cells) {
      if (!shaped_like_address(cell)) continue;
      reading.sink.put(IdentityRow{.place = place,
                                   .source = "inventory",
                                   .host = Host(cells[columns.host]),
                                   .address = std::string(cell)});
    }
  });
  return {};
}

}  // namespace

extern constinit const Document kInventory{"inventory", "lists of machines with their addresses",
                                           64u << 20, sniff_inventory, read_inventory};

}  // namespace culprit::ingest
