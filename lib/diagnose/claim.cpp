// What a vendor asks for before a machine or a GPU is exchanged.
#include "diagnose/claim.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "model/contains.hpp"
#include "model/pci.hpp"
#include "model/sort.hpp"
#include "report/fields.hpp"
#include "rules/metrics.hpp"

namespace culprit::diagnose {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kWhichIndex = "nvidia-smi --query-gpu=index,pci.bus_id,serial --format=csv";
constexpr std::size_t kMostLines = 200;  // of a machine: a storm has no end
constexpr std::string_view kMachineFacts[] = {"driver_version", "cuda_version", "kernel_version",
                                              "os_release",     "bios_version", "nic.firmware",
                                              "nic.type",       "nic.board_id"};
struct Wanted {
  const char* setting;  // of a GPU
  const char* what;
  const char* command;  // {} is its PCI address
};
constexpr Wanted kGpuFacts[] = {
    {"gpu.product", "model", "nvidia-smi -q -i {}"},
    {"gpu.serial", "serial number", "nvidia-smi -q -i {}"},
    {"gpu.uuid", "UUID", "nvidia-smi -q -i {}"},
    {"gpu.vbios", "VBIOS version", "nvidia-smi -q -i {}"},
    {"gpu.inforom", "inforom version", "nvidia-smi -q -i {}"},
    {"gpu.ecc_mode", "ECC mode", "nvidia-smi -q -d ECC -i {}"},
    {"gpu.pcie_width", "PCIe link width", "lspci -vvs {}"},
    {"gpu.slot", "slot", "lspci -vvs {}"},
};

bool of_memory(std::string_view name) {
  return contains(name, "ecc") || contains(name, "remap") || contains(name, "retired");
}

class Claim {
 public:
  Claim(const store::Database& db, const Resolved& resolved, const nlohmann::json& document,
        std::string host)
      : db_(db), facts_(resolved.facts), document_(document), host_(std::move(host)) {
    for (const RankRow& r : facts_.ranks) {
      if (!r.host || *r.host != host_) continue;
      ranks_.insert(r.rank);
      if (!r.gpu) continue;
      rank_of_[*r.gpu] = r.rank;
      known_.insert(*r.gpu);
    }
    collect_settings();
    collect_lines();
    collect_series();
  }

  Json document() {
    Json out{{"schema", "culprit.claim/1"},
             {"host", host_},
             {"verdict", report::accused(document_)},
             {"machine", machine()},
             {"gpus", Json::array()}};
    const std::set<std::string> named = claimed();
    for (const auto& [gpu, rows] : readings_)
      if (gpu.find(':') == std::string::npos && named.count(gpu) == 0) untied_.insert(gpu);
    for (const std::string& gpu : named) out["gpus"].push_back(device(gpu));
    for (const std::string& gpu : untied_) out["gpus"].push_back(untied(gpu));
    out["lines"] = lines_.count("") ? lines_[""] : Json::array();
    out["left_out"] = left_out_;
    out["job"] = job();
    out["absent"] = absent_;
    return out;
  }

 private:
  std::string host_of(const std::optional<Host>& said, const std::optional<Rank>& rank,
                      const MemberRow& member) const {
    if (said) return analyze::short_host(*said);
    if (member.host) return *member.host;
    const auto one = rank ? rank : member.rank;
    return one && ranks_.count(*one) ? host_ : "";
  }
  Json place(MemberId member, std::uint64_t line) const {
    return {{"path", facts_.member(member)->path}, {"line", line}};
  }
  static Json with(Json row, Json place) {
    row.update(place);
    return row;
  }

  void collect_settings() {
    for (const ConfigRow& row : facts_.configs) {
      const MemberRow* member = facts_.member(row.place.member);
      if (!facts_.counts(member) || host_of(row.host, row.rank, *member) != host_) continue;
      std::string name = row.name, device;
      if (const std::size_t open = name.find('[');
          open != std::string::npos && name.back() == ']') {
        device = name.substr(open + 1, name.size() - open - 2);
        name.resize(open);
      }
      if (name == "gpu.uuid") gpu_of_uuid_[row.value] = device;
      if (name.starts_with("gpu.") && !device.empty()) known_.insert(device);
      const Json said = with({{"value", row.value}}, place(row.place.member, row.place.line));
      Json& rows =
          settings_[name.starts_with("gpu.") ? device : ""]
                   [name.starts_with("gpu.") || device.empty() ? name : name + " " + device];
      if (std::ranges::none_of(rows, [&](const Json& r) { return r["value"] == said["value"]; }))
        rows.push_back(said);
    }
  }

  void collect_lines() {
    // The address of a NIC is read as that of a device, too: a GPU is what its driver, its tool or
    // the job calls one.
    for (const EventRow& e : facts_.events)
      if (e.host && *e.host == host_ && e.gpu &&
          (contains(e.message, "NVRM") || contains(e.message, "GPU") ||
           facts_.member(e.place.member)->text_kind == "nvidia-smi"))
        known_.insert(gpu_named(*e.gpu));
    std::vector<const EventRow*> events;
    for (const EventRow& e : facts_.events) {
      if (!e.host || *e.host != host_ || !facts_.counts(facts_.member(e.place.member))) continue;
      const bool machine = e.scope == Scope::host_local && e.role == Role::root && !e.rank;
      if (machine || (e.gpu && known_.count(gpu_named(*e.gpu)))) events.push_back(&e);
    }
    const auto key = [&](const EventRow* e) {
      return std::tuple(!e->time_ns, e->time_ns, facts_.order(e->place.member), e->place.line);
    };
    sort_rows(events, [&](const EventRow* a, const EventRow* b) { return key(a) < key(b); });
    for (const EventRow* event : events) {
      const EventRow& e = *event;
      const std::string gpu = e.gpu && known_.count(gpu_named(*e.gpu)) ? gpu_named(*e.gpu) : "";
      if (++count_ > kMostLines) {
        ++left_out_;
        continue;
      }
      if (!gpu.empty()) claimed_.insert(gpu);
      lines_[gpu].push_back(
          with({{"time", e.time_ns ? Json(iso_utc(*e.time_ns)) : Json(nullptr)},
                {"class", e.event_class},
                {"xid", e.code && contains(e.message, "Xid") ? Json(*e.code) : Json(nullptr)},
                {"count", e.count},
                {"text", e.message}},
               place(e.place.member, e.place.line)));
    }
  }

  void collect_series() {
    const rules::Catalogue& catalogue = rules::Catalogue::built_in();
    for (const SeriesRow& s : facts_.series) {
      const MemberRow* member = facts_.member(s.member);
      if (!s.gpu || !facts_.counts(member) || host_of(s.host, s.rank, *member) != host_) continue;
      const auto known = catalogue.find(s.name, s.unit);
      if (!s.name.starts_with("DCGM_FI_") && !(known && of_memory(known->metric->name))) continue;
      const SeriesPoints points = db_.points(s.id);
      if (points.size() == 0) continue;
      const auto when = [&](std::size_t i) {
        const auto offset = facts_.clock_offset(s.member, s.clock);
        return points.times.empty() || points.times[i] == kNoValue || !offset
                   ? Json(nullptr)
                   : Json(iso_utc(points.times[i] + *offset));
      };
      const std::size_t last = points.size() - 1;
      const std::string gpu = gpu_named(*s.gpu);
      if (gpu.find(':') != std::string::npos) known_.insert(gpu);
      readings_[gpu].push_back(
          with({{"field", s.name},
                {"first", points.values[0]},
                {"last", points.values[last]},
                {"from", when(0)},
                {"to", when(last)},
                {"memory", known && of_memory(known->metric->name)}},
               place(s.member,
                     points.lines.empty() ? 0 : static_cast<std::uint64_t>(points.lines[last]))));
    }
  }

  std::string gpu_named(const std::string& printed) const {
    const auto it = gpu_of_uuid_.find(printed);
    return it == gpu_of_uuid_.end() ? normal_pci(printed).value_or(printed) : it->second;
  }

  // Those that lines or the verdict name; else all that are known.
  std::set<std::string> claimed() const {
    std::set<std::string> out = claimed_;
    for (const nlohmann::json& t : report::list(report::member(document_, "verdict"), "targets"))
      if (const std::string id = report::text(t, "id");
          report::text(t, "kind") == "gpu" && id.starts_with(host_ + "/"))
        out.insert(id.substr(host_.size() + 1));
    return out.empty() ? known_ : out;
  }

  Json machine() {
    Json out = Json::array();
    const auto& rows = settings_[""];
    for (const std::string_view name : kMachineFacts)
      for (const auto& [key, said] : rows)
        if (key == name || key.starts_with(std::string(name) + " "))
          for (const Json& one : said) out.push_back(with({{"what", key}}, one));
    const auto lacks = [&](const char* key, const char* what, const char* command) {
      if (rows.count(key) == 0) absent_.push_back({{"what", what}, {"command", command}});
    };
    lacks("driver_version", "driver version", "nvidia-smi");
    lacks("bios_version", "BIOS version", "dmidecode -s bios-version");
    lacks("machine.serial", "serial number of the machine", "dmidecode -s system-serial-number");
    if (std::ranges::none_of(facts_.members, [](const MemberRow& m) {
          return contains(m.path, "nvidia-bug-report");
        }))
      absent_.push_back({{"what", "NVIDIA's own collection"}, {"command", "nvidia-bug-report.sh"}});
    return out;
  }

  Json device(const std::string& gpu) {
    const auto rank = rank_of_.find(gpu);
    Json out{{"gpu", gpu},
             {"rank", rank == rank_of_.end() ? Json(nullptr) : Json(number_of(rank->second))},
             {"facts", Json::array()},
             {"lines", lines_.count(gpu) ? lines_[gpu] : Json::array()},
             {"readings", readings_.count(gpu) ? readings_[gpu] : Json::array()},
             {"absent", Json::array()}};
    const auto lacks = [&](const char* what, const std::string& command) {
      out["absent"].push_back({{"what", what}, {"command", command}});
    };
    auto& rows = settings_[gpu];
    for (const Wanted& w : kGpuFacts) {
      if (rows.count(w.setting) == 0) lacks(w.what, fmt::format(fmt::runtime(w.command), gpu));
      for (const Json& one : rows[w.setting]) out["facts"].push_back(with({{"what", w.what}}, one));
    }
    const auto any = [](const Json& list, auto test) { return std::ranges::any_of(list, test); };
    if (!any(out["lines"], [](const Json& l) { return !l["xid"].is_null(); }))
      lacks("Xid lines", "dmesg -T | grep Xid");
    if (!any(out["lines"],
             [](const Json& l) { return of_memory(l["class"].get_ref<const std::string&>()); }) &&
        !any(out["readings"], [](const Json& r) { return r["memory"] == true; }) && untied_.empty())
      lacks("counters of ECC errors and remapped rows",
            fmt::format("nvidia-smi -q -d ECC,ROW_REMAPPER -i {}", gpu));
    if (!untied_.empty())
      lacks("which readings by index are its own", kWhichIndex);
    else if (!any(out["readings"], [](const Json& r) {
               return r["field"].get_ref<const std::string&>().starts_with("DCGM_FI_");
             }))
      lacks("DCGM fields", "dcgmi dmon -e 310,311,312,313,393,394,395,396 -c 1");
    return out;
  }

  // Readings that name a GPU by its index, and nothing tells whose index that is.
  Json untied(const std::string& gpu) {
    Json out{{"gpu", gpu},
             {"rank", nullptr},
             {"facts", Json::array()},
             {"lines", Json::array()},
             {"readings", Json::array()},
             {"absent", Json::array()}};
    out["absent"].push_back({{"what", "its PCI address"}, {"command", kWhichIndex}});
    for (const Json& row : readings_[gpu])
      if (row["memory"] == true) out["readings"].push_back(row);
    return out;
  }

  Json job() {
    const auto ranks = report::count(report::member(document_, "bundle"), "world_size");
    const nlohmann::json& incident = report::member(document_, "incident");
    Json out{{"id", report::text(report::member(document_, "job"), "id")},
             {"gpus", ranks},
             {"start", report::text(incident, "start")},
             {"end", report::text(incident, "end")},
             {"lost", Json::array()}};
    for (const nlohmann::json& part : report::list(document_, "time")) {
      if (report::text(part, "part") == "training") continue;
      const double hours = report::number(part, "seconds") / 3600;
      out["lost"].push_back(
          {{"part", report::text(part, "part")},
           {"hours", hours},
           {"gpu_hours", ranks == 0 ? Json(nullptr) : Json(hours * static_cast<double>(ranks))}});
    }
    const auto at = [&](const char* key) { return report::number(incident, key) / 3.6e12; };
    const double failing = at("end_ns") - at("start_ns");
    out["failing_hours"] = at("start_ns") > 0 && failing > 0 ? Json(failing) : Json(nullptr);
    if (out["lost"].empty() && out["failing_hours"].is_null())
      absent_.push_back({{"what", "hours of the job lost"},
                         {"command", "culprit efficiency, of a bundle with the training output"}});
    return out;
  }

  const store::Database& db_;
  const analyze::Facts& facts_;
  const nlohmann::json& document_;
  const std::string host_;
  std::set<Rank> ranks_;
  std::map<std::string, Rank> rank_of_;                          // by GPU
  std::map<std::string, std::string> gpu_of_uuid_;               // -> PCI address
  std::set<std::string> known_, claimed_, untied_;               // GPUs
  std::map<std::string, std::map<std::string, Json>> settings_;  // of a GPU, "": the machine
  std::map<std::string, Json> lines_, readings_;                 // of a GPU, "": the machine
  std::size_t count_ = 0, left_out_ = 0;
  Json absent_ = Json::array();
};

}  // namespace

std::optional<Json> claim_of(const store::Database& db, const Resolved& resolved,
                             const nlohmann::json& document, const std::string& host) {
  const std::string wanted = analyze::short_host(host);
  for (const HostRow& h : resolved.facts.hosts)
    if (h.host == host || h.host == wanted) return Claim(db, resolved, document, h.host).document();
  return std::nullopt;
}

}  // namespace culprit::diagnose
