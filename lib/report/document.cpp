#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/figure.hpp"
#include "model/hostlist.hpp"
#include "model/json.hpp"
#include "model/ranges.hpp"
#include "model/sort.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

constexpr std::size_t kMostAlerts = 64;  // of one finding

// Whole seconds, as `fromdate` of jq reads them; what is finer stands beside it in nanoseconds.
std::string second(Nanoseconds t) {
  const Nanoseconds rest = t % kSecond;
  return iso_utc(t - (rest < 0 ? rest + kSecond : rest));
}

// {"start": "2026-11-18T02:40:08Z", "start_ns": 1795...}
void put_time(json& object, const std::string& key, const std::optional<Nanoseconds>& t) {
  object[key] = t ? json(second(*t)) : json(nullptr);
  object[key + "_ns"] = t ? json(*t) : json(nullptr);
}

// Two decimals: a confidence is a judgement, not a measurement.
double rounded(double value) {
  return static_cast<double>(static_cast<int>(value * 100 + 0.5)) / 100.0;
}

json subject(const Subject& s) { return {{"kind", name(s.kind)}, {"id", s.id}}; }

json evidence(const Evidence& e) {
  json out = {
      {"path", e.path}, {"line", e.line}, {"byte_offset", e.offset}, {"excerpt", e.excerpt}};
  if (!e.reading.empty()) out["reading"] = e.reading;
  return out;
}

json finding(const Finding& f) {
  json numbers = json::object();
  for (const auto& [key, value] : numbers_of(f, words))
    numbers[key] = figure(f.analysis, key, value);
  json places = json::array();
  for (const Evidence& e : f.evidence) places.push_back(evidence(e));
  json interval = {{"uncertainty_ns", f.uncertainty}};
  put_time(interval, "start", f.start);
  put_time(interval, "end", f.end);
  json out = {{"id", f.id},
              {"analysis", name(f.analysis)},
              {"outcome", name(f.outcome)},
              {"subject", subject(f.subject)},
              {"class", f.event_class},
              {"symptom", name(f.symptom)},
              {"severity", name(f.severity)},
              {"role", name(f.role)},
              {"scope", name(f.scope)},
              {"confidence", rounded(f.confidence)},
              {"why", words(f.why)},
              {"title", words(f.title)},
              {"advice", words(f.advice)},
              {"interval", interval},
              {"count", f.count},
              {"numbers", numbers},
              {"evidence", places}};
  // Times without a date are no interval on the time line.
  json alerts = json::array();
  for (const Alert& a : f.alerts)
    if (a.begin && alerts.size() < kMostAlerts) {
      alerts.push_back({{"cleared", a.closed}});
      put_time(alerts.back(), "start", a.begin);
      put_time(alerts.back(), "end", a.closed ? a.end : std::nullopt);
    }
  if (!alerts.empty()) out["alerts"] = std::move(alerts);
  if (!f.hosts.empty()) out["hosts"] = fold_hostlist(f.hosts);
  if (!f.ranks.empty()) out["ranks"] = to_ranges(f.ranks);
  return out;
}

json rank_map(const RankMap& map) {
  json states = json::object();
  for (std::size_t i = 0; i < map.ranks.size(); ++i)
    if (!map.ranks[i].empty())
      states[std::string(name(static_cast<RankState>(i)))] = to_ranges(map.ranks[i]);
  json hosts = json::array();
  for (const auto& [host, ranks] : map.hosts)
    hosts.push_back({{"host", host}, {"ranks", to_ranges(ranks)}});
  json out = {{"total", map.total}, {"hosts", hosts}, {"states", states}};
  if (map.tp != 0) out["layout"] = {{"tp", map.tp}, {"pp", map.pp}, {"dp", map.dp}};
  return out;
}

// Microseconds are finer than any log's clock of steps.
json milliseconds(const std::vector<double>& values) {
  json out = json::array();
  for (const double v : values)
    out.push_back(std::isfinite(v) ? json(std::round(v * 1000) / 1000) : json(nullptr));
  return out;
}

// Six digits: more than a picture shows, and the same on every machine.
json readings(const std::vector<double>& values) {
  json out = json::array();
  for (const double v : values) {
    if (!std::isfinite(v)) {
      out.push_back(nullptr);
      continue;
    }
    out.push_back(std::strtod(fmt::format("{:.6g}", v).c_str(), nullptr));
  }
  return out;
}

json wait_picture(const WaitPicture& graph) {
  json nodes = json::array(), edges = json::array();
  for (const WaitPicture::Node& n : graph.nodes) {
    nodes.push_back(
        {{"size", n.size}, {"layer", n.layer}, {"doing", words(n.doing)}, {"end", n.end}});
    if (!n.ranks.empty()) nodes.back()["ranks"] = to_ranges(n.ranks);
    if (!n.hosts.empty()) nodes.back()["hosts"] = n.hosts;
  }
  for (const WaitPicture::Edge& e : graph.edges)
    edges.push_back({{"from", e.from}, {"to", e.to}, {"what", e.what}});
  return {{"source", graph.source}, {"nodes", nodes}, {"edges", edges}, {"hidden", graph.hidden}};
}

json stack_icicle(const StackIcicle& tree) {
  json nodes = json::array(), odd = json::array();
  for (const StackIcicle::Node& n : tree.nodes)
    nodes.push_back({{"frames", n.frames},
                     {"depth", n.depth},
                     {"processes", n.processes},
                     {"odd", n.odd},
                     {"ranks", n.ranks}});
  for (const StackIcicle::Odd& o : tree.odd)
    odd.push_back(
        {{"ranks", o.ranks}, {"hosts", o.hosts}, {"doing", words(o.doing)}, {"frames", o.frames}});
  return {{"processes", tree.processes}, {"nodes", nodes}, {"odd", odd}, {"hidden", tree.hidden}};
}

json metric_panel(const MetricPanel& p) {
  return {{"metric", p.metric},
          {"unit", p.unit},
          {"entity", p.entity},
          {"start", second(p.begin)},
          {"end", second(p.end)},
          {"out_start", second(p.out_begin)},
          {"out_end", second(p.out_end)},
          {"value", readings(p.value)},
          {"low", readings(p.low)},
          {"middle", readings(p.middle)},
          {"high", readings(p.high)},
          {"crowd", p.crowd},
          {"of", p.crowd_name}};
}

json settings(const Settings& s) {
  json lines = json::array();
  for (const SettingLine& line : s.lines) {
    json values = json::array();
    for (const SettingLine::Value& v : line.values)
      values.push_back({{"value", v.value}, {"hosts", v.hosts}, {"count", v.count}});
    lines.push_back({{"name", line.name}, {"values", values}, {"differs", line.differs}});
    if (!line.missing.empty()) lines.back()["missing"] = line.missing;
  }
  return {{"hosts", s.hosts}, {"same", s.same}, {"differing", s.differing}, {"lines", lines}};
}

json step_chart(const StepChart& chart) {
  json slow = json::array();
  for (const StepChart::Slow& s : chart.slow)
    slow.push_back({{"begin", s.begin},
                    {"end", s.end},
                    {"first", s.first},
                    {"last", s.last},
                    {"factor", std::round(s.factor * 1000) / 1000},
                    {"open", s.open}});
  json out = {{"rows", chart.rows},           {"bucket", chart.bucket},
              {"iteration", chart.iteration}, {"ms", milliseconds(chart.ms)},
              {"restarts", chart.restarts},   {"slow", slow}};
  if (!chart.high.empty()) out["high_ms"] = milliseconds(chart.high);
  if (!chart.loss.empty()) out["loss"] = readings(chart.loss);
  if (!chart.grad_norm.empty()) out["grad_norm"] = readings(chart.grad_norm);
  if (!chart.bad.empty()) out["not_a_number"] = chart.bad;
  json checkpoints = json::array();
  for (const StepChart::Checkpoint& c : chart.checkpoints) {
    checkpoints.push_back({{"event", name(c.event)}, {"point", c.point}});
    if (c.iteration) checkpoints.back()["iteration"] = *c.iteration;
  }
  if (!checkpoints.empty()) out["checkpoints"] = std::move(checkpoints);
  if (chart.baseline > 0) out["baseline_ms"] = std::round(chart.baseline * 1000) / 1000;
  return out;
}

// What a program that restarts jobs needs to know: as it is, only after what the verdict asks for,
// or not at all.
const char* restart_after(const Verdict& v) {
  if (v.action == Action::none || v.action == Action::reattempt || v.action == Action::mitigate)
    return "yes";
  if (v.action == Action::offline || v.action == Action::investigate) return "no";
  return "after_repair";
}

// As json_text() writes it: nearly all texts are plain.
std::string json_string(const std::string& text) {
  const bool plain = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  return plain ? '"' + text + '"' : json_text(json(text), -1);
}

// One file of the ledger, as one line: they are written by the hundred thousand.
std::string ledger_row(const MemberRow& m, const std::map<MemberId, const MemberRow*>& by_id) {
  std::string out =
      fmt::format(R"({{"complete":{},"digest":{})", m.complete, json_string(m.digest));
  if (m.duplicate_of != 0) {
    const auto copied = by_id.find(m.duplicate_of);
    out +=
        R"(,"duplicate_of":)" +
        json_string(copied == by_id.end() || copied->second == nullptr ? "" : copied->second->path);
  }
  out += R"(,"format":)" + json_string(m.format);
  if (m.host) out += R"(,"host":)" + json_string(*m.host);
  out += fmt::format(R"(,"kind":{},"lines":{},"path":{})", json_string(m.kind), m.lines,
                     json_string(m.path));
  if (m.rank) out += fmt::format(R"(,"rank":{})", number_of(*m.rank));
  return out + fmt::format(R"(,"rejected":{},"size":{},"skipped":{},"used":{}}})", m.rejected,
                           m.size, m.skipped, m.used);
}

// Lists of the document that grow with the bundle are written row by row: as one tree of the
// library they would take several times their text.
class LongLists {
 public:
  explicit LongLists(std::string document) : document_(std::move(document)) {}

  // Appends all up to the empty list of this name on the outermost level, then the list of the
  // texts that `make` makes of the rows.
  template <class Rows, class Make>
  void list(std::string_view name, const Rows& rows, Make make) {
    const std::string empty = fmt::format("\n  \"{}\": [", name);
    const std::size_t at = document_.find(empty, done_) + empty.size();
    out_.append(document_, done_, at - done_);
    done_ = at;
    const std::size_t from = out_.size();
    std::size_t done = 0;
    for (const auto& row : rows) {
      out_ += done == 0 ? "\n    " : ",\n    ";
      const std::string text = make(row);
      for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
        out_.append(text, begin, end - begin);
        if (end < text.size()) out_ += "    ";
        begin = end;
      }
      if (++done == kSampled)
        out_.reserve(out_.size() + document_.size() +
                     (out_.size() - from) * 5 / 4 / kSampled * (rows.size() - kSampled));
    }
    if (done > 0) out_ += "\n  ";
  }
  std::string finish() {
    out_.append(document_, done_, document_.size() - done_);
    out_ += '\n';
    return std::move(out_);
  }

 private:
  // So many rows tell how much room the others want. A string that grows is there twice each time
  // it is moved; room that is never touched costs nothing, so it is not shrunk either.
  static constexpr std::size_t kSampled = 256;

  std::string document_, out_;
  std::size_t done_ = 0;
};

// Members by path, so that a document does not depend on the order of reading.
std::vector<const MemberRow*> members_by_path(const Incident& incident) {
  std::vector<const MemberRow*> members;
  for (const MemberRow& m : incident.members) members.push_back(&m);
  sort_by(members, [](const MemberRow* a) { return std::tie(a->path, a->digest, a->id); });
  return members;
}

json bundle_summary(const Incident& incident) {
  std::uint64_t bytes = 0, lines = 0, used = 0, skipped = 0, rejected = 0;
  for (const MemberRow& m : incident.members) {
    bytes += m.size;
    lines += m.lines;
    used += m.used;
    skipped += m.skipped;
    rejected += m.rejected;
  }
  json problems = json::array();
  for (const ProblemRow& p : incident.problems)
    problems.push_back({{"path", p.path}, {"code", p.code}, {"reason", p.reason}});
  return {{"digest", bundle_digest(incident.members)},
          {"members", incident.members.size()},
          {"bytes", bytes},
          {"lines", lines},
          {"used", used},
          {"skipped", skipped},
          {"rejected", rejected},
          {"complete", incident.complete},
          {"problems", problems},
          {"hosts", incident.hosts},
          {"ranks", incident.ranks},
          {"world_size", incident.world_size},
          {"notes", words(incident.notes)}};
}

json symptom(const Verdict& v) {
  json out = {{"symptom", name(v.symptom)}};
  put_time(out, "start", v.start);
  put_time(out, "end", v.end);
  return out;
}

json candidate(const Candidate& c) {
  json targets = json::array(), weights = json::array();
  for (const Target& t : c.targets) targets.push_back(subject(t.subject));
  for (const Weight& weight : c.weights)
    weights.push_back({{"decibans", weight.decibans}, {"reason", words(weight.reason)}});
  json out = {{"kind", name(c.kind)}, {"name", c.name},   {"action", name(c.action)},
              {"targets", targets},   {"score", c.score}, {"what", words(c.what)},
              {"weights", weights}};
  if (!c.against.empty()) out["against"] = words(c.against);
  if (!c.tells.empty()) out["tells"] = words(c.tells);
  return out;
}

json sureness_of(const Verdict& v) {
  json out = {{"word", name(v.sureness)}};
  if (v.counted) out["right"] = v.counted->right, out["of"] = v.counted->of;
  return out;
}

json verdict(const Verdict& v) {
  json targets = json::array();
  for (const Target& t : v.targets)
    targets.push_back({{"kind", name(t.subject.kind)},
                       {"id", t.subject.id},
                       {"confidence", rounded(t.confidence)},
                       {"because", t.because}});
  json steps = json::array();
  for (const Step& s : v.steps)
    steps.push_back({{"step", name(s.step)},
                     {"outcome", name(s.outcome)},
                     {"reason", reason(s.why)},
                     {"why", words(s.why)}});
  json following = json::array();
  for (const NextStep& n : v.next) {
    following.push_back({{"kind", name(n.kind)}, {"text", words(n.text)}});
    if (n.source == Source::none) continue;
    following.back()["source"] = name(n.source);
    following.back()["of"] = {{"kind", name(n.of.kind)}, {"id", n.of.id}};
  }
  json chain = json::array();
  for (const ChainLink& c : v.chain) {
    chain.push_back({{"who", words(c.who)}, {"what", words(c.what)}, {"finding", c.finding}});
    put_time(chain.back(), "time", c.time);
  }
  json differential = json::array();
  for (const Candidate& c : v.differential) differential.push_back(candidate(c));
  return {{"action", name(v.action)},
          {"sureness", sureness_of(v)},
          {"differential", differential},
          {"restart", restart_after(v)},
          {"targets", targets},
          {"precision", name(v.precision)},
          {"reason", reason(v.summary)},
          {"summary", words(v.summary)},
          {"steps", steps},
          {"next", following},
          {"chain", chain}};
}

// How the machines' time was spent.
json time_parts(const std::vector<TimePart>& parts) {
  json out = json::array();
  for (const TimePart& part : parts)
    out.push_back(
        {{"part", part.name}, {"seconds", std::round(static_cast<double>(part.time) / 1e6) / 1e3}});
  return out;
}

}  // namespace

std::string to_json(const Incident& incident) {
  json document;
  document["schema"] = "culprit.diagnosis/1";
  document["tool"] = json(tool_json(incident.identity));
  document["job"] = json(job_json(incident.identity));
  document["bundle"] = bundle_summary(incident);
  document["incident"] = symptom(incident.verdict);
  document["verdict"] = verdict(incident.verdict);
  document["findings"] = json::array();
  document["ledger"] = json::array();
  if (incident.map.total > 0) document["rank_map"] = rank_map(incident.map);
  if (!incident.steps.ms.empty()) document["steps"] = step_chart(incident.steps);
  if (!incident.time.empty()) document["time"] = time_parts(incident.time);
  if (!incident.waits.nodes.empty()) document["waits"] = wait_picture(incident.waits);
  if (!incident.stacks.nodes.empty()) document["stack_tree"] = stack_icicle(incident.stacks);
  json panels = json::array();
  for (const MetricPanel& p : incident.metrics) panels.push_back(metric_panel(p));
  if (!panels.empty()) document["metrics"] = std::move(panels);
  if (!incident.settings.lines.empty()) document["settings"] = settings(incident.settings);
  const auto members = members_by_path(incident);
  std::map<MemberId, const MemberRow*> by_id;  // of those that have copies
  for (const MemberRow* m : members)
    if (m->duplicate_of != 0) by_id[m->duplicate_of] = nullptr;
  if (!by_id.empty())
    for (const MemberRow* m : members)
      if (const auto copied = by_id.find(m->id); copied != by_id.end()) copied->second = m;
  LongLists lists(json_text(document));
  document.clear();
  lists.list("findings", incident.findings, [](const Finding& f) { return json_text(finding(f)); });
  lists.list("ledger", members, [&](const MemberRow* m) { return ledger_row(*m, by_id); });
  return lists.finish();
}

}  // namespace culprit::report
