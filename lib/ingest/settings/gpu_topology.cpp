// nvidia-smi topo -m: which NICs are nearest to each GPU, and how it reaches the other GPUs.
#include <algorithm>
#include <map>
#include <vector>

#include "ingest/engine/document.hpp"
#include "ingest/engine/network_rows.hpp"
#include "line/line.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

bool numbered(std::string_view word, std::string_view prefix) {
  return word.size() > prefix.size() && word.size() < prefix.size() + 5 &&
         word.starts_with(prefix) &&
         word.find_first_not_of("0123456789", prefix.size()) == std::string_view::npos;
}

bool device(std::string_view word) {
  return numbered(word, "GPU") || numbered(word, "NIC") || word.starts_with("mlx");
}

std::vector<std::string> topology_words(std::string_view line) {
  std::vector<std::string> out;
  const std::string text = line::clean(line.substr(0, 16384));
  for (std::size_t at = text.find_first_not_of(" \t\r");
       at != std::string::npos && out.size() < 512;) {
    const std::size_t end = std::min(text.find_first_of(" \t\r", at), text.size());
    out.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(" \t\r", end);
  }
  return out;
}

// Of a whole file only: a log that prints the matrix first is a log.
bool sniff_gpu_topology(const Head& head) {
  if (!head.whole || !head.has("GPU0")) return false;
  std::size_t lines = 0;
  std::size_t others = 0;
  bool header = false;
  bool row = false;
  each_text_line(head.bytes, [&](std::string_view line, std::uint64_t, std::size_t) {
    const auto all = topology_words(line);
    if (all.empty()) return;
    ++lines;
    const std::string& first = all[0];
    if (!header && all.size() > 1 && first == "GPU0" && all[1] != "X")
      header = true;
    else if (header && first == "GPU0" && all.size() > 1 && all[1] == "X")
      row = true;
    else if (!device(first) && !numbered(first.substr(0, first.find(':')), "NIC") &&
             first != "Legend:" && first != "NIC" && !(all.size() > 1 && all[1] == "="))
      ++others;
  });
  return header && row && others <= 2;
}

int distance(std::string_view cell) {
  static constexpr std::string_view kNearest[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
  const auto it = std::ranges::find(kNearest, cell);
  return it == std::end(kNearest) ? 99 : static_cast<int>(it - std::begin(kNearest));
}

// How a GPU reaches most others of its machine: "NV18", "SYS".
std::string usual_path(const std::vector<std::string>& columns,
                       const std::vector<std::string>& cells) {
  std::map<std::string, std::size_t> count;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (numbered(columns[i], "GPU") && cells[i + 1] != "X") ++count[cells[i + 1]];
  const auto most = std::ranges::max_element(count, {}, [](const auto& one) { return one.second; });
  return most == count.end() ? std::string() : most->first;
}

std::string read_gpu_topology(std::string_view bytes, const MemberRow& member, Reading& reading) {
  struct Near {
    Place place;
    int best = 99;
    std::vector<std::string> nics;
  };
  std::vector<std::string> columns;
  std::vector<std::pair<std::string, Near>> gpus;
  std::map<std::string, std::string> legend;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    const auto all = topology_words(line);
    if (all.empty()) return;
    const Place place{member.id, number, offset,
                      static_cast<std::uint32_t>(std::min<std::size_t>(line.size(), 1u << 20))};
    if (columns.empty()) {
      if (all[0] != "GPU0" || all.size() < 2 || all[1] == "X") return;
      for (const auto& word : all) {
        if (!device(word)) break;  // "CPU Affinity" and what follows it
        columns.push_back(word);
      }
      return;
    }
    if (numbered(all[0], "GPU") && all.size() > columns.size()) {
      Near near;
      near.place = place;
      const std::string path = usual_path(columns, all);
      if (!path.empty())
        reading.sink.put(ConfigRow{place, "gpu.peer_path[" + all[0].substr(3) + "]",
                                   path.starts_with("NV") ? "NVLink" : "no NVLink"});
      for (std::size_t i = 0; i < columns.size(); ++i) {
        if (numbered(columns[i], "GPU")) continue;
        const int far = distance(all[i + 1]);
        if (far < near.best) {
          near.best = far;
          near.nics.clear();
        }
        if (far == near.best && far < 99) near.nics.push_back(columns[i]);
      }
      gpus.emplace_back(all[0], std::move(near));
    } else if (all.size() == 2 && all[0].back() == ':' &&
               numbered(std::string_view(all[0]).substr(0, all[0].size() - 1), "NIC")) {
      const std::string nic = all[0].substr(0, all[0].size() - 1);
      legend[nic] = all[1];
      reading.sink.put(ConfigRow{place, "topo." + lower(nic), all[1].substr(0, 64)});
    }
  });
  for (const auto& [gpu, near] : gpus) {
    if (near.best > 2) continue;  // further than the host bridge: none is its own
    std::string list;
    for (const auto& nic : near.nics) {
      const auto it = legend.find(nic);
      list += (list.empty() ? "" : ",") + (it == legend.end() ? nic : it->second);
    }
    reading.sink.put(ConfigRow{near.place, "topo." + lower(gpu) + ".nic", list.substr(0, 400)});
  }
  return columns.empty() ? "gpu_topology.no_matrix" : "";
}

}  // namespace

extern constinit const Document kGpuTopology{
    "gpu-topology",    "nvidia-smi topo -m: the NICs nearest to each GPU",
    64u << 10,         sniff_gpu_topology,
    read_gpu_topology, true};

}  // namespace culprit::ingest
