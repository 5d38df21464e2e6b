#include "fleet/incident.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include "model/hostlist.hpp"
#include "model/json.hpp"
#include "model/ranges.hpp"
#include "model/terms.hpp"

namespace culprit::fleet {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

const json& member(const json& object, const char* key) {
  static const json kNothing;
  if (!object.is_object()) return kNothing;
  const auto it = object.find(key);
  return it == object.end() ? kNothing : *it;
}

std::string text(const json& object, const char* key) {
  const json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

double number(const json& object, const char* key) {
  const json& value = member(object, key);
  return value.is_number() ? value.get<double>() : 0;
}

std::optional<Nanoseconds> time_of(const json& object, const char* key) {
  return parse_utc(text(object, key));
}

json instant_or_null(const std::optional<Nanoseconds>& t) {
  return t ? json(iso_utc(*t)) : json(nullptr);
}

// The verdict asks somebody to act on what it names; otherwise its targets are where to look.
bool acts(const std::string& action, const std::string& precision) {
  const Action known = term_named<Action>(action).value_or(Action::none);
  return precision == name(Precision::exact) &&
         (known == Action::isolate || known == Action::offline || known == Action::repair ||
          known == Action::mitigate);
}

class Hosts {
 public:
  explicit Hosts(const json& document) {
    for (const json& host : member(member(document, "bundle"), "hosts"))
      if (host.is_string()) names_.insert(host.get<std::string>());
    for (const json& row : member(member(document, "rank_map"), "hosts"))
      for (const Rank rank : from_ranges(text(row, "ranks")))
        of_rank_.emplace(std::to_string(number_of(rank)), text(row, "host"));
  }
  const std::set<std::string>& names() const { return names_; }

  std::string of(const std::string& kind, const std::string& id) const {
    if (kind == "host") return id;
    if (kind == "rank") {
      const auto it = of_rank_.find(id);
      return it == of_rank_.end() ? "" : it->second;
    }
    const std::string first = id.substr(0, id.find('/'));
    return kind != "code" && kind != "switch" && names_.count(first) > 0 ? first : "";
  }

 private:
  std::set<std::string> names_;
  std::map<std::string, std::string> of_rank_;
};

std::string class_behind(const json& document, const json& targets) {
  if (!targets.is_array() || targets.empty()) return "";
  const json& because = member(targets[0], "because");
  if (!because.is_array() || because.empty() || !because[0].is_string()) return "";
  for (const json& finding : member(document, "findings"))
    if (text(finding, "id") == because[0].get_ref<const std::string&>())
      return text(finding, "class");
  return "";
}

}  // namespace

std::optional<Nanoseconds> parse_utc(const std::string& text) {
  long year = 0;
  unsigned month = 0, day = 0, hour = 0, minute = 0, second = 0;
  int used = 0;
  if (std::sscanf(text.c_str(), "%5ld-%2u-%2uT%2u:%2u:%2u%n", &year, &month, &day, &hour, &minute,
                  &second, &used) != 6 ||
      year < 1700 || year > 2250 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 24 ||
      minute > 59 || second > 60)
    return std::nullopt;
  std::size_t at = static_cast<std::size_t>(used);
  Nanoseconds fraction = 0, unit = kSecond;
  if (at < text.size() && text[at] == '.')
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      fraction += (unit /= 10) * (text[at] - '0');
  if (text.substr(at) != "Z" && text.substr(at) != "+00:00") return std::nullopt;
  const std::int64_t days = days_from_civil(year, month, day);
  return ((days * 24 + hour) * 60 + minute) * 60 * kSecond + second * kSecond + fraction;
}

std::optional<FleetIncident> incident_of(
    const json& document,
    const std::function<std::string(const std::string& event_class)>& component_of,
    std::optional<Nanoseconds> job_start) {
  if (text(document, "schema") != "culprit.diagnosis/1") return std::nullopt;
  const json& bundle = member(document, "bundle");
  const json& verdict = member(document, "verdict");
  const json& incident = member(document, "incident");
  FleetIncident out;
  out.id = text(bundle, "digest");
  out.start = time_of(incident, "start");
  out.end = time_of(incident, "end");
  out.symptom = text(incident, "symptom");
  out.action = text(verdict, "action");
  out.precision = text(verdict, "precision");
  out.restart = text(verdict, "restart");
  out.summary = text(verdict, "summary");
  out.gpus = static_cast<std::int64_t>(std::max(number(bundle, "world_size"), 0.0));
  const json& complete = member(bundle, "complete");
  out.complete = !complete.is_boolean() || complete.get<bool>();
  const Hosts hosts(document);
  out.hosts.assign(hosts.names().begin(), hosts.names().end());
  const json& targets = member(verdict, "targets");
  for (const json& t : targets) {
    const std::string kind = text(t, "kind"), id = text(t, "id");
    const std::string host = hosts.of(kind, id);
    out.targets.push_back({kind, id, host, number(t, "confidence"), false});
    out.targets.back().blamed = acts(out.action, out.precision);
  }
  if (!out.targets.empty()) out.confidence = out.targets.front().confidence;
  out.event_class = class_behind(document, targets);
  if (!out.event_class.empty() && component_of) out.component = component_of(out.event_class);
  for (const json& part : member(document, "time"))
    out.time.push_back({text(part, "part"), number(part, "seconds")});
  if (job_start && out.start && *out.start >= *job_start)
    out.ran_s = static_cast<double>(*out.start - *job_start) / 1e9;
  return out;
}

ordered_json to_json(const FleetIncident& i) {
  ordered_json targets = ordered_json::array(), attributes = targets, time = targets;
  for (const FleetTarget& t : i.targets)
    targets.push_back({{"kind", t.kind},
                       {"id", t.id},
                       {"host", t.host},
                       {"confidence", t.confidence},
                       {"blamed", t.blamed}});
  for (const FleetAttribute& a : i.attributes)
    attributes.push_back(
        {{"host", a.host}, {"device", a.device}, {"name", a.name}, {"value", a.value}});
  for (const FleetTime& t : i.time) time.push_back({{"part", t.part}, {"seconds", t.seconds}});
  return {{"id", i.id},
          {"name", i.name},
          {"source", i.source},
          {"job", i.job},
          {"job_id", i.job_id},
          {"start", instant_or_null(i.start)},
          {"end", instant_or_null(i.end)},
          {"ran_s", i.ran_s ? ordered_json(*i.ran_s) : ordered_json(nullptr)},
          {"symptom", i.symptom},
          {"action", i.action},
          {"precision", i.precision},
          {"restart", i.restart},
          {"class", i.event_class},
          {"component", i.component},
          {"confidence", i.confidence},
          {"gpus", i.gpus},
          {"complete", i.complete},
          {"summary", i.summary},
          {"report", i.report},
          {"hosts", i.hosts},
          {"targets", targets},
          {"attributes", attributes},
          {"time", time}};
}

std::optional<FleetIncident> from_json(const json& v) {
  FleetIncident i;
  i.id = text(v, "id");
  if (i.id.empty()) return std::nullopt;
  i.name = text(v, "name");
  i.source = text(v, "source");
  i.job = text(v, "job");
  i.job_id = text(v, "job_id");
  i.start = time_of(v, "start");
  i.end = time_of(v, "end");
  if (member(v, "ran_s").is_number()) i.ran_s = number(v, "ran_s");
  i.symptom = text(v, "symptom");
  i.action = text(v, "action");
  i.precision = text(v, "precision");
  i.restart = text(v, "restart");
  i.event_class = text(v, "class");
  i.component = text(v, "component");
  i.confidence = number(v, "confidence");
  i.gpus = static_cast<std::int64_t>(number(v, "gpus"));
  i.complete = member(v, "complete") != false;
  i.summary = text(v, "summary");
  i.report = text(v, "report");
  if (const json& hosts = member(v, "hosts"); hosts.is_string())  // of a card, folded
    i.hosts = expand_hostlist(hosts.get_ref<const std::string&>()).hosts;
  else
    for (const json& h : hosts)
      if (h.is_string()) i.hosts.push_back(h.get<std::string>());
  for (const json& t : member(v, "targets"))
    i.targets.push_back({text(t, "kind"), text(t, "id"), text(t, "host"), number(t, "confidence"),
                         member(t, "blamed") == true});
  for (const json& a : member(v, "attributes"))
    i.attributes.push_back({text(a, "host"), text(a, "device"), text(a, "name"), text(a, "value")});
  for (const json& t : member(v, "time")) i.time.push_back({text(t, "part"), number(t, "seconds")});
  return i;
}

}  // namespace culprit::fleet
