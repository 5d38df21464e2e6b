// A table with a row for each machine: `kubectl get nodes -L`, lists that somebody keeps of images
// and drivers. What nearly all machines have alike is compared.
//
//   NAME       STATUS  VERSION   cuda.driver-version.full  node-image
//   pool-0aq4  Ready   v1.30.5   550.90.07                 cos-113
#include <array>
#include <map>
#include <set>

#include "ingest/engine/document.hpp"
#include "ingest/engine/network_rows.hpp"
#include "ingest/settings/asked_machines.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr std::string_view kTableKind = "machines";
constexpr std::size_t kMostMachineCells = 64;

// Between commas, semicolons, bars or tabs where the heading has some, else between two blanks or
// more.
std::vector<std::string_view> machine_cells(std::string_view line, char separator) {
  std::vector<std::string_view> out;
  while (!line.empty() && out.size() < kMostMachineCells) {
    std::size_t end = separator != ' ' ? line.find(separator) : line.find("  ");
    end = std::min(end, line.size());
    out.push_back(trimmed(line.substr(0, end)));
    line.remove_prefix(std::min(end + (separator == ' ' ? 0 : 1), line.size()));
    if (separator == ' ') line = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
  }
  return out;
}

struct MachineHeading {
  char separator = ' ';
  std::vector<std::string> names;  // none: this is no heading
};

MachineHeading machine_heading(std::string_view line) {
  static constexpr std::array<std::string_view, 9> kMachines{
      "name", "node", "host", "hostname", "machine", "server", "nodename", "node_name", "instance"};
  MachineHeading out;
  for (const char c : {'\t', '|', ';', ','})
    if (contains(line, c)) {
      out.separator = c;
      break;
    }
  const auto cells = machine_cells(line, out.separator);
  if (cells.size() < 2 || !contains(kMachines, std::string_view(lower(cells[0])))) return {};
  for (const std::string_view cell : cells) out.names.emplace_back(cell);
  return out;
}

// What differs by right: since when a machine is there, and what it is called elsewhere.
bool differs_by_right(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kOwn{"age",     "uptime", "since",  "boot",
                                                         "created", "ip",     "serial", "uuid",
                                                         "mac",     "rack",   "slot",   "address"};
  const std::string small = lower(name);
  return std::ranges::any_of(kOwn, [&](std::string_view own) {
    const std::size_t at = small.find(own);
    return at != std::string::npos &&
           (at == 0 || isalpha(static_cast<unsigned char>(small[at - 1])) == 0);
  });
}

class MachineRows final : public Kept {
 public:
  void line(std::string_view text, const Place& place, Reading& reading) {
    if (heading_.names.empty()) {
      heading_ = machine_heading(text);
      return;
    }
    const auto cells = machine_cells(text, heading_.separator);
    if (cells.size() != heading_.names.size() || !may_be_asked(cells[0])) return;
    for (std::size_t i = 1; i < cells.size(); ++i)
      if (!differs_by_right(heading_.names[i]))
        reading.keep<AskedMachines>().add(heading_.names[i], cells[0], cells[i], place);
  }

 private:
  MachineHeading heading_;
};

Outcome read_machine_row(const TextLine& line, Reading& reading) {
  if (trimmed(line.raw).empty()) return {};
  reading.keep<MachineRows>().line(line.raw, line.place, reading);
  return {true};
}

}  // namespace

// Each machine once, in rows of one width, and of a column nearly all have one value while some
// have another. Declared in engine/kinds.cpp.
bool machine_table(const Head& head) {
  if (!head.whole) return false;
  MachineHeading heading;
  std::set<std::string_view> machines;
  std::vector<std::map<std::string_view, std::size_t>> columns;
  bool fits = true;
  each_text_line(head.bytes, [&](std::string_view text, std::uint64_t, std::size_t) {
    if (trimmed(text).empty()) return true;
    if (heading.names.empty()) {
      heading = machine_heading(text);
      columns.resize(heading.names.size());
      return fits = !heading.names.empty();
    }
    const auto cells = machine_cells(text, heading.separator);
    fits = cells.size() == heading.names.size() && may_be_asked(cells[0]) &&
           machines.insert(cells[0]).second;
    if (fits)
      for (std::size_t i = 1; i < cells.size(); ++i) ++columns[i][cells[i]];
    return fits;
  });
  if (!fits || machines.size() < kFewestAsked) return false;
  for (std::size_t i = 1; i < columns.size(); ++i) {
    const auto usual =
        std::ranges::max_element(columns[i], {}, [](const auto& one) { return one.second; });
    if (!differs_by_right(heading.names[i]) && usual->second < machines.size() &&
        nearly_all(usual->second, machines.size()))
      return true;
  }
  return false;
}

extern constinit const Recogniser kMachineTable{.name = "machine-table",
                                                .summary = "tables with a row for each machine",
                                                .words = {},
                                                .read = read_machine_row,
                                                .whole_kind = kTableKind};

}  // namespace culprit::ingest
