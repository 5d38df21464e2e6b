#include "analyze/faults/drift.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include <fmt/format.h>
#include <re2/re2.h>

#include "model/confidence.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"
#include "rules/rule.hpp"

namespace culprit::analyze {

namespace {

// One setting of one host.
struct Said {
  std::map<std::string, std::set<std::string>> spellings;           // by key
  std::map<std::string, std::set<std::string>> devices;             // key -> devices that say so
  std::map<std::string, std::pair<std::string, DriftPlace>> first;  // key -> path and place
  std::map<std::pair<std::string, std::string>, DriftPlace> of_device;  // key, device
};

template <class Word>
std::string listed(const std::vector<Word>& words, std::size_t most = 6) {
  std::string out;
  for (std::size_t i = 0; i < words.size() && i < most; ++i)
    out += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  if (words.size() > most) out += fmt::format(" and {} more", words.size() - most);
  return out;
}

// The rule's advice with the hosts that it is about.
Text advice_of(const rules::DriftRule& rule, const std::vector<Host>& hosts) {
  const std::size_t at = rule.advice.find("{hosts}");
  if (at == std::string::npos) return Text(rule.advice);
  return Text(rule.advice.substr(0, at)) +
         (hosts.empty() ? say(Phrase::hosts_of_one_kind) : Text(listed(hosts))) +
         Text(rule.advice.substr(at + 7));
}

// "env.NCCL_IB_HCA" -> "env": settings of one kind come from the same sort of file, so a host that
// has others of the kind could have had this one.
std::string_view source_of(std::string_view name) { return name.substr(0, name.find('.')); }

std::string label_of(const DriftItem& item) {
  return item.rule->label.empty() ? item.name : item.rule->label;
}

int rank_of(const DriftItem& item) {
  if (item.state == DriftState::same || item.state == DriftState::one_host) return 10;
  return item.rule->severity == Severity::critical  ? 0
         : item.rule->severity == Severity::warning ? 1
                                                    : 2;
}

// The value that nearly all devices have, of all hosts together: where few hosts were looked at,
// they are the crowd. Empty where there is none.
std::string usual_of_devices(const std::map<Host, Said>& hosts) {
  constexpr std::size_t kLeastDevices = 8;
  constexpr double kNearlyAll = 0.8;
  std::map<std::string, std::size_t> having;
  std::size_t all = 0;
  for (const auto& [host, said] : hosts)
    for (const auto& [key, devices] : said.devices) {
      having[key] += devices.size();
      all += devices.size();
    }
  for (const auto& [key, count] : having)
    if (all >= kLeastDevices && static_cast<double>(count) >= kNearlyAll * static_cast<double>(all))
      return key;
  return {};
}

// What the device of that name has on the other hosts, all of three or more alike: of ports of
// several kinds each is compared with its own. Empty where they do not agree.
std::string usual_of_same_device(const std::map<Host, Said>& hosts, const Host& odd,
                                 const std::string& device) {
  constexpr std::size_t kFewestHosts = 3;
  std::string usual;
  std::size_t agree = 0;
  for (const auto& [host, said] : hosts) {
    if (host == odd) continue;
    for (const auto& [key, devices] : said.devices) {
      if (devices.count(device) == 0) continue;
      if (agree > 0 && key != usual) return {};
      usual = key;
      ++agree;
    }
  }
  return agree >= kFewestHosts ? usual : std::string();
}

// The one host of which a device has another value than the same device of all others, where the
// hosts have the same values as a set: ports of several kinds in one machine hide each other.
void compare_same_devices(const std::map<Host, Said>& hosts, DriftItem& item) {
  std::map<std::string, std::map<std::string, std::vector<Host>>> devices;  // -> value -> hosts
  for (const auto& [host, said] : hosts)
    for (const auto& [key, names] : said.devices)
      for (const std::string& name : names) devices[name][key].push_back(host);
  std::optional<DriftItem> out;
  for (const auto& [device, values] : devices) {
    if (values.size() != 2) continue;
    const auto odd =
        std::ranges::min_element(values, {}, [](const auto& value) { return value.second.size(); });
    const Host& host = odd->second.front();
    const std::string usual = usual_of_same_device(hosts, host, device);
    if (odd->second.size() > 1 || usual.empty()) continue;
    if (out && out->values[1].hosts.front() != host) return;
    if (!out) {
      out = item;
      out->state = DriftState::differs;
      out->usual_of_device = usual;
      out->values.assign(2, {});
      out->values[0].value = usual;
      out->values[0].hosts = values.at(usual);
      for (const Host& other : out->values[0].hosts)
        out->values[0].places.push_back(hosts.at(other).of_device.at({usual, device}));
      out->values[1].value = odd->first;
      out->values[1].hosts = {host};
      out->values[1].places = {hosts.at(host).of_device.at({odd->first, device})};
    }
    out->values[1].devices.push_back(host + " " + device);
  }
  if (out) item = std::move(*out);
}

DriftItem compare(std::string name, const rules::DriftRule& rule, const std::map<Host, Said>& hosts,
                  const DriftParams& params) {
  DriftItem item{.name = std::move(name), .rule = &rule};
  std::map<std::vector<std::string>, DriftValue> groups;
  std::map<std::vector<std::string>, std::map<std::string, std::set<std::string>>> spellings;
  for (const auto& [host, said] : hosts) {
    std::vector<std::string> signature;
    for (const auto& [key, spelled] : said.spellings) signature.push_back(key);
    DriftValue& group = groups[signature];
    group.hosts.push_back(host);
    for (const auto& [key, spelled] : said.spellings)
      spellings[signature][key].insert(spelled.begin(), spelled.end());
  }
  std::vector<std::pair<std::vector<std::string>, DriftValue>> sorted;
  for (auto& [signature, group] : groups) {
    // The longest spelling says most: "2.19.3+cuda12.3" rather than "2.19.3".
    for (const std::string& key : signature) {
      const auto& spelled = spellings[signature][key];
      const auto longest = std::ranges::max_element(
          spelled, [](const auto& a, const auto& b) { return a.size() < b.size(); });
      group.value += (group.value.empty() ? "" : " | ") + *longest;
    }
    sorted.emplace_back(signature, std::move(group));
  }
  sort_rows(sorted, [](const auto& a, const auto& b) {
    return a.second.hosts.size() != b.second.hosts.size()
               ? a.second.hosts.size() > b.second.hosts.size()
               : a.first < b.first;
  });
  bool majority = static_cast<double>(sorted.front().second.hosts.size()) >=
                  params.majority * static_cast<double>(hosts.size());
  if (const std::string usual = majority ? std::string() : usual_of_devices(hosts);
      !usual.empty()) {
    const auto at =
        std::ranges::find(sorted, std::vector{usual}, &decltype(sorted)::value_type::first);
    if (at != sorted.end()) {
      std::rotate(sorted.begin(), at, at + 1);
      majority = item.by_devices = true;
    }
  }
  item.state = hosts.size() < 2     ? DriftState::one_host
               : sorted.size() == 1 ? DriftState::same
               : majority           ? DriftState::differs
                                    : DriftState::no_majority;
  if (item.state == DriftState::differs)
    for (std::size_t i = 1; i < sorted.size(); ++i)
      for (const Host& host : sorted[i].second.hosts)
        for (const auto& [key, devices] : hosts.at(host).devices)
          if (sorted[i].first.size() > 1 && !contains(sorted[0].first, key))
            for (const std::string& device : devices)
              sorted[i].second.devices.push_back(host + " " + device);
  for (const auto& one : sorted) {
    const auto& signature = one.first;
    DriftValue value = one.second;
    sort_rows(value.devices);
    // A value that the most usual answer does not have, of that one what the next does not; or the
    // first.
    const auto& other =
        &one == &sorted.front() && sorted.size() > 1 ? sorted[1].first : sorted.front().first;
    const auto odd = std::ranges::find_if(
        signature, [&](const std::string& key) { return !contains(other, key); });
    for (const Host& host : value.hosts)
      value.places.push_back(
          hosts.at(host).first.at(odd == signature.end() ? signature.front() : *odd).second);
    item.values.push_back(std::move(value));
  }
  if (item.state == DriftState::differs && item.values.size() == 2 &&
      item.values[1].hosts.size() == 1 && !item.values[1].devices.empty()) {
    const Host& odd = item.values[1].hosts.front();
    item.usual_of_device =
        usual_of_same_device(hosts, odd, item.values[1].devices.front().substr(odd.size() + 1));
  }
  if (item.state == DriftState::same) compare_same_devices(hosts, item);
  return item;
}

}  // namespace

std::vector<std::string> DriftReport::minority() const {
  std::set<std::string> out;
  for (const DriftItem& item : items)
    if (item.state == DriftState::differs)
      for (std::size_t i = 1; i < item.values.size(); ++i)
        out.insert(item.values[i].hosts.begin(), item.values[i].hosts.end());
  return {out.begin(), out.end()};
}

DriftReport compare_settings(const Facts& facts, const rules::DriftRules& rules,
                             const DriftParams& params) {
  std::map<Rank, Host> host_of_rank;
  for (const RankRow& r : facts.ranks)
    if (r.host) host_of_rank.emplace(r.rank, *r.host);
  std::map<Host, const HostRow*> known;
  for (const HostRow& h : facts.hosts) known.emplace(h.host, &h);
  const auto host_of = [&](const ConfigRow& row, const MemberRow& member) -> Host {
    if (row.host && !nameless_host(*row.host))
      return known.count(*row.host) > 0 ? *row.host : short_host(*row.host);
    if (member.host) return *member.host;
    const auto rank = row.rank ? row.rank : member.rank;
    if (rank)
      if (const auto it = host_of_rank.find(*rank); it != host_of_rank.end()) return it->second;
    return {};
  };
  std::map<std::string, std::map<Host, Said>> settings;  // name -> host
  std::map<std::string, std::set<Host>> sources;         // kind of source -> hosts
  DriftReport out;
  std::set<Host> hosts;
  // A file that tells a host's setting twice is a log that saw it change, across an upgrade and a
  // boot: the last line holds.
  std::map<std::tuple<MemberId, std::string_view, std::string_view>, std::uint64_t> last;
  for (const ConfigRow& row : facts.configs)
    if (rules.find(row.name).entity == "host") {
      std::uint64_t& line = last[{row.place.member, row.name,
                                  row.host ? std::string_view(*row.host) : std::string_view()}];
      line = std::max(line, row.place.line);
    }
  for (const ConfigRow& row : facts.configs) {
    const MemberRow* member = facts.member(row.place.member);
    if (!facts.counts(member)) continue;
    std::string name = row.name, device;  // "gpu.ecc_mode[0000:3b:00]"
    if (const std::size_t open = name.find('['); open != std::string::npos && name.back() == ']') {
      device = name.substr(open + 1, name.size() - open - 2);
      name.resize(open);
    }
    const rules::DriftRule& rule = rules.find(name);
    if (rule.ignored) continue;
    if (const auto it = last.find({row.place.member, row.name,
                                   row.host ? std::string_view(*row.host) : std::string_view()});
        it != last.end() && row.place.line < it->second)
      continue;
    const Host host = host_of(row, *member);
    if (host.empty()) continue;
    hosts.insert(host);
    sources[std::string(source_of(name))].insert(host);
    Said& said = settings[name][host];
    const std::string key = rules::drift_key(row.value, rule.compare);
    said.spellings[key].insert(row.value);
    const auto here = std::pair(member->path, DriftPlace{row.place, row.value});
    if (!device.empty() && said.devices[key].insert(device).second)
      said.of_device.emplace(std::pair(key, device), here.second);
    const auto [it, fresh] = said.first.emplace(key, here);
    if (!fresh &&
        std::tie(here.first, here.second.place.line, row.value) <
            std::tie(it->second.first, it->second.second.place.line, it->second.second.value))
      it->second = here;
  }
  out.hosts.assign(hosts.begin(), hosts.end());
  for (const auto& [name, by_host] : settings) {
    DriftItem item = compare(name, rules.find(name), by_host, params);
    for (const Host& host : sources[std::string(source_of(name))])
      if (by_host.count(host) == 0) item.missing.push_back(host);
    out.items.push_back(std::move(item));
  }
  sort_by(out.items,
          [](const DriftItem& a) { return std::pair(rank_of(a), std::string_view(a.name)); });
  return out;
}

namespace {

// One host; of a setting that somebody sets back a few are no other than one: they were installed
// alike.
bool few_hosts(const DriftItem& item) {
  const std::size_t odd = item.values[1].hosts.size();
  const bool set = (item.rule->entity == "host" && !item.rule->part) || item.rule->set_by_command;
  return odd == 1 || (set && odd <= 3 && item.values[0].hosts.size() >= 4 * odd);
}

// Whether one host alone has another value, and a slower one: at most that share of the others'.
bool slower_alone(const DriftItem& item, double share) {
  const std::string& slower = item.rule->slower;
  if (slower.empty() || item.state != DriftState::differs || item.values.size() != 2 ||
      !few_hosts(item) || (item.values[0].hosts.size() < 2 && !item.by_devices))
    return false;
  const std::string& odd = item.values[1].places.front().value;
  const std::string& usual = item.values[0].value;
  if (slower == "unlike") return true;
  if (slower == "more words") return std::ranges::count(odd, ' ') > std::ranges::count(usual, ' ');
  if (slower != "lower" && slower != "higher") return odd == slower;
  // Of GPUs or ports of several kinds in one machine no single number is the usual one, but that of
  // the same device elsewhere.
  const bool kinds = usual.find(" | ") != std::string::npos;
  if (kinds && item.usual_of_device.empty()) return false;
  const double theirs = std::strtod((kinds ? item.usual_of_device : usual).c_str(), nullptr);
  const double own = std::strtod(odd.c_str(), nullptr);
  // Of a GPU none is a number: its links are all down.
  const bool told = own > 0 || (item.rule->entity == "gpu" && odd.starts_with('0'));
  return slower == "lower" ? told && own <= share * theirs : theirs <= share * own;
}

// What differs are devices that a job's traffic goes over.
bool carries_traffic(const DriftItem& item) {
  if (item.rule->carries.empty()) return true;
  const re2::RE2 names(item.rule->carries, re2::RE2::Quiet);
  const auto& devices = item.values[1].devices;
  return !devices.empty() && std::ranges::all_of(devices, [&](const std::string& device) {
    return names.ok() && re2::RE2::PartialMatch(device.substr(device.find(' ') + 1), names);
  });
}

Finding finding_of(const DriftItem& item, const Facts& facts, const DriftParams& params) {
  Finding f;
  f.id = "drift/" + item.name;
  f.analysis = Analysis::drift;
  f.subject = {SubjectKind::config, item.name};
  f.event_class = "config_drift";
  f.role = Role::confirmation;
  f.severity = item.rule->severity;
  std::size_t total = 0;
  for (const DriftValue& v : item.values) total += v.hosts.size();
  f.count = total;
  f.facts = SettingFacts{item.rule->explains, false, false, {}, {}};
  f.figures = {{"hosts", std::to_string(total)}};
  const std::string label = label_of(item);
  if (item.state == DriftState::differs) {
    std::string told;
    std::set<Host> minority;
    for (std::size_t i = 1; i < item.values.size(); ++i) {
      const DriftValue& v = item.values[i];
      minority.insert(v.hosts.begin(), v.hosts.end());
      if (i <= 3) told += (i == 1 ? "" : "; ") + fmt::format("{} on {}", v.value, listed(v.hosts));
      if (i <= 3 && !v.devices.empty()) told += fmt::format(" ({})", listed(v.devices));
    }
    f.hosts.assign(minority.begin(), minority.end());
    f.title = say(Phrase::setting_unlike_others, label);
    f.why = say(Phrase::hosts_have_setting, item.values[0].hosts.size(), total, label,
                item.values[0].value, told);
    f.confidence = confidence::kSettingMajority;
    if (item.rule->compare != rules::DriftCompare::version ||
        rules::compare_versions(item.values[1].value, item.values[0].value) <
            0)  // ahead leads to none
      f.leads_to = item.rule->leads_to;
    auto& setting = std::get<SettingFacts>(f.facts);
    setting.slows = slower_alone(item, 0.95);
    setting.far_below = slower_alone(item, 0.5) && carries_traffic(item);
    setting.device = item.rule->part || item.rule->entity == "gpu" || item.rule->entity == "nic";
    setting.set_by_command = item.rule->set_by_command;
    setting.beside_job = item.rule->slower == "more words";
    setting.programs = item.rule->programs;
    setting.under_load = item.rule->under_load;
    setting.of_image = item.rule->of_image;
    setting.label = label;
    setting.value = told;
    f.figures.emplace_back("majority", item.values[0].value);
    f.figures.emplace_back("minority", told);
    f.figures.emplace_back("minority_hosts", std::to_string(f.hosts.size()));
  } else {
    std::string told;
    for (std::size_t i = 0; i < item.values.size() && i < 4; ++i)
      told += (i == 0 ? "" : "; ") +
              fmt::format("{} on {}", item.values[i].value, listed(item.values[i].hosts));
    f.title = say(Phrase::setting_split, label);
    f.why = say(Phrase::no_majority_agrees, total, 100 * params.majority, told);
    f.confidence = confidence::kSettingSplit;
    f.figures.emplace_back("values", told);
  }
  sort_rows(f.figures);
  f.advice = advice_of(*item.rule, f.hosts);
  // Those that differ first, and the majority once to compare with.
  for (std::size_t i = item.state == DriftState::differs ? 1 : 0; i < item.values.size(); ++i)
    for (const DriftPlace& p : item.values[i].places)
      if (f.evidence.size() + 1 < params.places)
        f.evidence.push_back(facts.evidence(p.place, p.value));
  if (item.state == DriftState::differs && !item.values[0].places.empty())
    f.evidence.push_back(
        facts.evidence(item.values[0].places.front().place, item.values[0].places.front().value));
  return f;
}

Finding none_differs(const DriftReport& report, std::size_t compared) {
  Finding f;
  f.id = "drift/settings";
  f.analysis = Analysis::drift;
  f.subject = {SubjectKind::config, "settings"};
  f.event_class = "config_drift";
  f.role = Role::confirmation;
  f.outcome = compared > 0 ? Outcome::ruled_out : Outcome::not_enough_evidence;
  f.title = say(compared > 0 ? Phrase::settings_same : Phrase::settings_uncompared);
  f.why = compared > 0
              ? say(Phrase::settings_compared, compared, report.hosts.size())
              : say(Phrase::setting_of_one_host, report.items.size(), listed(report.hosts));
  f.confidence = compared > 0 ? confidence::kSettingsCompared : confidence::kSettingsUnknown;
  f.figures = {{"hosts", std::to_string(report.hosts.size())},
               {"settings", std::to_string(compared)}};
  return f;
}

}  // namespace

std::vector<Finding> drift_findings(const DriftReport& report, const Facts& facts,
                                    const DriftParams& params) {
  std::vector<Finding> out;
  std::size_t compared = 0;
  std::size_t more = 0;
  for (const DriftItem& item : report.items) {
    compared += item.state != DriftState::one_host;
    if (item.state != DriftState::differs && item.state != DriftState::no_majority) continue;
    if (out.size() >= params.findings) {
      ++more;
      continue;
    }
    out.push_back(finding_of(item, facts, params));
  }
  if (more > 0) {
    Finding f;
    f.id = "drift/more";
    f.analysis = Analysis::drift;
    f.subject = {SubjectKind::config, fmt::format("{} more settings", more)};
    f.event_class = "config_drift";
    f.role = Role::confirmation;
    f.count = more;
    f.title = say(Phrase::more_settings);
    f.why = say(Phrase::settings_more, more);
    f.confidence = confidence::kSettingMajority;
    f.facts = SettingFacts{"other", false, false, {}, {}};
    f.figures = {{"settings", std::to_string(more)}};
    out.push_back(std::move(f));
  }
  if (out.empty() && !report.items.empty()) out.push_back(none_differs(report, compared));
  return out;
}

}  // namespace culprit::analyze
