// job.json, the manifest (schemas/job-v1.json).
#include "ingest/logs/manifest.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "ingest/engine/document.hpp"
#include "ingest/engine/network_rows.hpp"
#include "line/timestamp.hpp"
#include "line/zone.hpp"
#include "model/contains.hpp"
#include "model/hostlist.hpp"
#include "model/json.hpp"
#include "model/number.hpp"
#include "schema/schema.hpp"

namespace culprit::ingest {

namespace {

using nlohmann::json;

constexpr std::size_t kMostNotes = 20;

bool sniff_manifest(const Head& head) {
  // At the top of the bundle, or in the one folder that an archive wraps around it. A Job of
  // Kubernetes saved under that name is no manifest.
  return head.base() == "job.json" && std::ranges::count(head.path, '/') <= 1 &&
         !head.has("\"apiVersion\"");
}

using Groups = std::vector<std::pair<std::string, std::vector<std::string>>>;

// {"10.0.0.4": ["node-04"]}: written the other way round, or an address would become a machine.
Groups hosts_first(Groups groups, auto& notes) {
  const auto inverted = [](const auto& group) {
    return shaped_like_address(group.first) &&
           std::ranges::none_of(group.second,
                                [](const std::string& name) { return shaped_like_address(name); });
  };
  if (std::ranges::none_of(groups, inverted)) return groups;
  notes.add("addresses: its keys are addresses; they are read as those of the hosts they lead to");
  std::map<std::string, std::vector<std::string>> by_host;
  for (auto& group : groups)
    if (inverted(group))
      for (const std::string& host : group.second) by_host[host].push_back(group.first);
    else
      for (std::string& address : group.second) by_host[group.first].push_back(std::move(address));
  return {by_host.begin(), by_host.end()};
}

// Containers by their kind alone: what is nested deep enough would overflow the stack of a printer.
std::string shown(const json& value) {
  if (value.is_structured()) return value.is_object() ? "an object" : "a list";
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() > 40 ? text.substr(0, 37) + "..." : text;
}

// What the reading has to say.
struct Notes {
  std::vector<std::string>& out;
  std::size_t dropped = 0;
  bool full() const { return out.size() >= kMostNotes; }
  void add(std::string text) {
    if (out.size() < kMostNotes)
      out.push_back(std::move(text));
    else
      ++dropped;
  }
};

// One object: its values by name and type. null is absent.
class Object {
 public:
  Object(const json& object, std::string path, Notes& notes)
      : object_(object), path_(std::move(path)), notes_(notes) {}

  const json* find(const char* key) {
    known_.emplace_back(key);
    const auto it = object_.find(key);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }

  std::string text(const char* key) {
    const json* value = find(key);
    if (value == nullptr) return {};
    // Job numbers and versions are written without quotes, too.
    if (value->is_string()) return value->get<std::string>();
    if (value->is_number_integer()) return value->dump();
    lost(key, *value, "is not text");
    return {};
  }

  std::optional<std::int64_t> number(const char* key, std::int64_t least, std::int64_t most) {
    const json* value = find(key);
    if (value == nullptr) return std::nullopt;
    std::optional<std::int64_t> out;
    if (value->is_number_unsigned()) {
      if (const auto v = value->get<std::uint64_t>(); v <= static_cast<std::uint64_t>(most))
        out = static_cast<std::int64_t>(v);
    } else if (value->is_number_integer()) {
      out = value->get<std::int64_t>();
    } else if (value->is_number_float()) {
      if (const double v = value->get<double>(); std::fabs(v) < 1e15 && v == std::floor(v))
        out = static_cast<std::int64_t>(v);
    } else if (value->is_string()) {  // "16": the environment variables it comes from are texts
      out = whole_number<std::int64_t>(value->get_ref<const std::string&>());
    }
    if (out && *out >= least && *out <= most) return out;
    lost(key, *value,
         out ? fmt::format("is not between {} and {}", least, most) : "is not a whole number");
    return std::nullopt;
  }

  // An array of texts, one text, or a list as Slurm writes them: "node[01-04]".
  std::vector<std::string> names(const char* key) {
    const json* value = find(key);
    return value == nullptr ? std::vector<std::string>{} : names_of(key, *value);
  }

  std::vector<std::pair<std::string, std::vector<std::string>>> groups(const char* key) {
    std::vector<std::pair<std::string, std::vector<std::string>>> out;
    const json* value = find(key);
    if (value == nullptr) return out;
    if (!value->is_object()) {
      lost(key, *value, "is not an object");
      return out;
    }
    for (const auto& [name, members] : value->items())
      if (auto list = names_of(fmt::format("{}.{}", key, name), members); !list.empty())
        out.emplace_back(name, std::move(list));
    return out;
  }

  const json* object(const char* key) {
    const json* value = find(key);
    if (value != nullptr && !value->is_object()) {
      lost(key, *value, "is not an object");
      return nullptr;
    }
    return value;
  }

  void lost(const std::string& key, const json& value, const std::string& why) {
    notes_.add(fmt::format("{}: {} {}; it is left out", at(key), shown(value), why));
  }

  std::string at(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

  // After all known keys were asked for.
  void name_unknown() {
    for (const auto& [key, value] : object_.items()) {
      if (contains(known_, key)) continue;
      const std::string near = notes_.full() || key.size() > 60 ? "" : schema::nearest(key, known_);
      notes_.add(fmt::format("unknown key '{}'{}; it is not used", at(key.substr(0, 60)),
                             near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near)));
    }
  }

 private:
  std::vector<std::string> names_of(const std::string& key, const json& value) {
    std::vector<std::string> out;
    if (value.is_string()) {
      const Hostlist list = expand_hostlist(value.get_ref<const std::string&>());
      if (list.broken) lost(key, value, "is a broken list");
      return list.hosts;
    }
    if (!value.is_array()) {
      lost(key, value, "is not a list");
      return out;
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
      const json& one = value[i];
      if (one.is_string() && !one.get_ref<const std::string&>().empty())
        out.push_back(one.get<std::string>());
      else if (!one.is_null())
        lost(fmt::format("{}[{}]", key, i), one, "is not text");
    }
    return out;
  }

  const json& object_;
  std::string path_;
  Notes& notes_;
  std::vector<std::string> known_;
};

// As UTC where its zone is known: "2026-11-21T03:19:19+08:00" or, with the manifest's zone, without
// one; or a number of seconds since 1970. "" for what is no time.
std::string manifest_moment(Object& object, const char* key,
                            const std::optional<line::Zone>& zone) {
  const json* value = object.find(key);
  if (value == nullptr) return {};
  if (value->is_number()) {
    const double seconds = value->get<double>();
    if (seconds > 1e8 && seconds < 7e9) return iso_utc(static_cast<Nanoseconds>(seconds) * kSecond);
    object.lost(key, *value, "is not a time");
    return {};
  }
  const std::string text = value->is_string() ? value->get<std::string>() : "";
  Timestamp stamp;
  if (line::parse_iso(text, stamp) == 0 && line::parse_calendar(text, stamp) == 0)
    stamp.clock = Clock::none;
  if (stamp.clock == Clock::local && zone)
    stamp = {Clock::utc, zone->utc(stamp.ns), stamp.precision};
  if (stamp.clock == Clock::utc) return iso_utc(stamp.ns);
  if (stamp.clock == Clock::local) return text;
  if (!value->is_string() || !text.empty()) object.lost(key, *value, "is not a time");
  return {};
}

std::optional<line::Zone> zone_of(Object& object, const std::string& key, const json* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_string())
    if (const auto zone = line::Zone::named(value->get_ref<const std::string&>())) return zone;
  object.lost(key, *value,
              "is not a time zone that this system knows (UTC, +08:00, Asia/Singapore)");
  return std::nullopt;
}

std::vector<ManifestAttempt> attempts_of(Object& top, const std::optional<line::Zone>& zone,
                                         Notes& notes) {
  std::vector<ManifestAttempt> out;
  const json* list = top.find("attempts");
  if (list == nullptr) return out;
  if (!list->is_array()) {
    top.lost("attempts", *list, "is not a list");
    return out;
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    const json& one = (*list)[i];
    const std::string path = fmt::format("attempts[{}]", i);
    if (!one.is_object()) {
      if (!one.is_null()) top.lost(path, one, "is not an object");
      continue;
    }
    Object object(one, path, notes);
    ManifestAttempt attempt{
        .id = object.number("id", 0, 1'000'000'000)
                  .value_or(out.empty() ? static_cast<std::int64_t>(i) : out.back().id + 1),
        .start = manifest_moment(object, "start", zone),
        .end = manifest_moment(object, "end", zone),
        .code_version = object.text("code_version"),
        .action_before = object.text("action_before"),
        .exit_code = object.number("exit_code", -1'000'000, 1'000'000),
        .hosts = hosts_of(object.names("hosts"))};
    object.name_unknown();
    out.push_back(std::move(attempt));
  }
  return out;
}

void read_zones(Object& top, Manifest& m, std::optional<line::Zone>& zone) {
  const json* own = top.find("timezone");
  if ((zone = zone_of(top, "timezone", own))) m.timezone = own->get<std::string>();
  const json* of_sources = top.object("timezones");
  if (of_sources == nullptr) return;
  for (const auto& [source, value] : of_sources->items())
    if (!value.is_null() && zone_of(top, "timezones." + source, &value))
      m.timezones.emplace_back(source, value.get<std::string>());
}

void read_parallelism(Object& top, Manifest& m, Notes& notes) {
  const json* sizes = top.object("parallelism");
  if (sizes == nullptr) return;
  Object object(*sizes, "parallelism", notes);
  json kept = json::object();
  for (const char* key : {"tp", "pp", "dp", "cp", "ep", "etp"})
    if (const auto size = object.number(key, 1, 10'000'000)) kept[key] = *size;
  if (const json* order = object.find("order")) {
    // Fastest first, each dimension once, as Megatron writes it.
    bool valid = order->is_string();
    std::vector<std::string> seen;
    for (std::size_t at = 0; valid && at <= order->get_ref<const std::string&>().size();) {
      const auto& text = order->get_ref<const std::string&>();
      const std::size_t end = std::min(text.find('-', at), text.size());
      const std::string word = text.substr(at, end - at);
      valid = (word == "tp" || word == "cp" || word == "ep" || word == "dp" || word == "pp") &&
              !contains(seen, word);
      seen.push_back(word);
      at = end + 1;
    }
    if (valid)
      kept["order"] = *order;
    else
      object.lost("order", *order, "is not an order such as tp-cp-ep-dp-pp");
  }
  object.name_unknown();
  if (!kept.empty()) m.parallelism = kept.dump();
}

// {"node-1": [0, {"rank": 1, "local_rank": 1}]}
void read_ranks(Object& top, Manifest& m, Notes& notes) {
  const json* hosts = top.object("ranks");
  if (hosts == nullptr) return;
  for (const auto& [host, list] : hosts->items()) {
    if (!list.is_array()) {
      if (!list.is_null()) top.lost("ranks." + host, list, "is not a list");
      continue;
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      const json entry = list[i].is_object() ? list[i] : json{{"rank", list[i]}};
      Object object(entry, fmt::format("ranks.{}[{}]", host, i), notes);
      const auto rank = object.number("rank", 0, 9'999'999);
      const auto local = object.number("local_rank", 0, 9'999'999);
      object.name_unknown();
      if (!rank) continue;
      m.ranks.push_back({.rank = Rank(*rank), .host = Host(host), .source = "manifest"});
      if (local) m.ranks.back().local_rank = LocalRank(*local);
    }
  }
}

// JSON with comments; a key that stands twice is a remark, not the end.
Result<json> parse(std::string_view document, const std::string& path, Notes& notes) {
  auto strict = schema::parse_strict(document, path);
  if (strict) return strict;
  json loose = parse_json(document, nullptr, true);
  if (loose.is_discarded()) return std::move(strict).error();
  notes.add(strict.error().what + "; the last of them counts");
  return loose;
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view document, const std::string& path,
                                std::vector<std::string>& out) {
  Notes notes{out};
  CULPRIT_TRY(parsed, parse(document, path, notes));
  if (!parsed.is_object())
    return fail("the manifest is not a JSON object")
        .at({path, 1})
        .hint("`culprit schema job-v1.json` prints what a manifest may hold");
  Manifest m;
  m.document = std::string(document);
  Object top(parsed, "", notes);
  top.find("$schema");
  top.find("schema");
  m.job = top.text("job");
  m.job_id = top.text("job_id");
  m.world_size = top.number("world_size", 1, 10'000'000);
  m.gpus_per_node = top.number("gpus_per_node", 1, 1024);
  m.hosts = hosts_of(top.names("hosts"));
  m.addresses = hosts_first(top.groups("addresses"), notes);
  std::optional<line::Zone> zone;
  read_zones(top, m, zone);
  m.year = top.number("year", 1970, 2200);
  if (const json* network = top.object("network")) {
    Object object(*network, "network", notes);
    m.tor = object.groups("tor");
    m.pod = object.groups("pod");
    object.name_unknown();
  }
  if (const json* boots = top.object("boot_times")) {
    Object object(*boots, "boot_times", notes);
    for (const auto& [host, value] : boots->items())
      if (std::string time = manifest_moment(object, host.c_str(), zone); !time.empty())
        m.boot_times.emplace_back(host, std::move(time));
  }
  m.attempts = attempts_of(top, zone, notes);
  read_parallelism(top, m, notes);
  read_ranks(top, m, notes);
  top.object("collective_volume");
  top.object("clocks");  // for people: files of the hosts and clocks.txt say it, too
  manifest_moment(top, "collected_at", zone);  // of the bundle; each host has a clock of its own
  top.names("tiers");                          // of `culprit collect`, for people
  top.name_unknown();
  if (notes.dropped > 0)
    out.push_back(fmt::format("and {} more remarks of that kind", notes.dropped));
  return m;
}

namespace {

std::string read_manifest(std::string_view bytes, const MemberRow& member, Reading& reading) {
  std::vector<std::string> notes;
  auto manifest = parse_manifest(bytes, member.path, notes);
  const Place place{member.id, 1, 0,
                    static_cast<std::uint32_t>(std::min<std::size_t>(bytes.size(), 1u << 30))};
  if (!manifest) {
    reading.sink.put(
        RejectRow{{member.id, manifest.error().where ? manifest.error().where->line : 1, 0, 0},
                  "manifest.not_json",
                  manifest.error().what});
    return "manifest.not_json";
  }
  for (std::string& note : notes)
    reading.sink.put(RejectRow{place, "manifest.value", std::move(note)});
  reading.sink.put(*manifest, place);
  return {};
}

}  // namespace

extern constinit const Document kManifest{
    "job-manifest", "job.json: the optional manifest of a bundle (schemas/job-v1.json)", 16u << 20,
    sniff_manifest, read_manifest};

}  // namespace culprit::ingest
