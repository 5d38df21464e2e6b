#include "analyze/compare/compare_runs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analyze/facts/job_life.hpp"
#include "model/contains.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"
#include "rules/changes.hpp"

namespace culprit::analyze {

namespace {

// The next change of the same kind tells less: the first five should not be five spellings of one
// thing.
constexpr double kRepeated = 0.93;
constexpr double kLeastScore = 0.2;

struct Value {
  std::string spelled;
  std::set<std::string> owners;  // hosts; "" when nobody says whose it is
  std::string path;
  std::uint64_t line = 0;
};
using Values = std::map<std::string, Value>;          // by key
using SettingValues = std::map<std::string, Values>;  // by name

bool describes_job(std::string_view name) {
  return name == "world_size" || (name.starts_with("parallel.") && name != "parallel.framework");
}

// Arguments that are another in each run by right explain nothing.
bool argument_of_job(std::string_view name) {
  return name.starts_with("job.") && !rules::change_rule(name.substr(4)).differs_by_right();
}

SettingValues settings_of(const Facts& facts, const rules::DriftRules& drift) {
  std::map<Rank, Host> host_of_rank;
  for (const RankRow& r : facts.ranks)
    if (r.host) host_of_rank.emplace(r.rank, *r.host);
  SettingValues out;
  for (const ConfigRow& row : facts.configs) {
    const MemberRow* member = facts.member(row.place.member);
    if (!facts.counts(member)) continue;
    std::string name = row.name;
    if (const std::size_t open = name.find('['); open != std::string::npos && name.back() == ']')
      name.resize(open);
    const rules::DriftRule& rule = drift.find(name);
    if (rule.ignored && !describes_job(name) && !argument_of_job(name)) continue;
    std::string host =
        row.host && !nameless_host(*row.host) ? short_host(*row.host) : name_of(member->host);
    if (const auto rank = row.rank ? row.rank : member->rank; host.empty() && rank)
      if (const auto it = host_of_rank.find(*rank); it != host_of_rank.end()) host = it->second;
    Value& value = out[name][rules::drift_key(row.value, rule.compare)];
    if (value.owners.empty() ||
        std::tie(member->path, row.place.line) < std::tie(value.path, value.line)) {
      value.path = member->path;
      value.line = row.place.line;
    }
    value.owners.insert(host);
    if (row.value.size() > value.spelled.size() ||
        (row.value.size() == value.spelled.size() && row.value < value.spelled))
      value.spelled = row.value;
  }
  return out;
}

// The value of most hosts; the first of several.
const Value& usual(const Values& values) {
  const Value* best = &values.begin()->second;
  for (const auto& [key, value] : values)
    if (value.owners.size() > best->owners.size()) best = &value;
  return *best;
}

std::size_t owners(const Values& values) {
  std::set<std::string> all;
  for (const auto& [key, value] : values) all.insert(value.owners.begin(), value.owners.end());
  return all.size();
}

// Each host says something else: a name or an address, whatever it is called.
bool is_identity(const Values& values) {
  return owners(values) >= 4 && values.size() * 2 > owners(values);
}

std::string_view compared_source_of(std::string_view name) {
  return name.substr(0, name.find('.'));
}

std::string shown(const std::string& value) { return value.empty() ? "\"\"" : value; }

Change of_setting(const std::string& name, const rules::DriftRule& rule, const Values* good,
                  const Values* bad) {
  Change out{.kind = describes_job(name) ? ChangeKind::shape : ChangeKind::setting, .what = name};
  const std::string label = rule.label.empty() ? name : rule.label;
  const bool heavy = rule.severity != Severity::info || out.kind == ChangeKind::shape;
  if (good != nullptr) out.places.push_back({false, usual(*good).path, usual(*good).line});
  if (good == nullptr || bad == nullptr) {
    const Value& value = usual(bad == nullptr ? *good : *bad);
    (bad == nullptr ? out.good : out.bad) = value.spelled;
    out.title = bad == nullptr ? say(Phrase::not_set_any_more, label, shown(value.spelled))
                               : say(Phrase::set_now, label, shown(value.spelled));
    // A run whose log is cut at its beginning does not print its layout.
    out.score = out.kind == ChangeKind::shape ? 0.45 : heavy ? 0.82 : 0.72;
    if (bad != nullptr) out.places.push_back({true, value.path, value.line});
    return out;
  }
  const Value &was = usual(*good), &is = usual(*bad);
  out.good = was.spelled;
  // Values that the good run did not have; the host that has one is named, when others have not.
  std::set<Host> hosts;
  const Value* first = nullptr;
  for (const auto& [key, value] : *bad)
    if (!good->contains(key)) {
      hosts.insert(value.owners.begin(), value.owners.end());
      if (first == nullptr || value.owners.size() > first->owners.size()) first = &value;
    }
  if (first == nullptr) return out;  // score 0: a value of the good run is gone, or hosts agree now
  out.bad = first->spelled;
  out.places.push_back({true, first->path, first->line});
  hosts.erase(Host());
  const bool everywhere = first == &is;
  if (!everywhere) out.hosts.assign(hosts.begin(), hosts.end());
  out.title = everywhere
                  ? say(Phrase::setting_became, label, shown(was.spelled), shown(first->spelled))
                  : say(Phrase::setting_on_some, label, shown(first->spelled),
                        named_some(out.hosts), shown(is.spelled));
  out.score = heavy ? 0.92 : everywhere ? 0.80 : 0.78;
  return out;
}

}  // namespace

std::string named_some(const std::vector<Host>& hosts, std::size_t most) {
  return named_some(std::vector<std::string>(hosts.begin(), hosts.end()), most);
}

std::string named_some(const std::vector<std::string>& names, std::size_t most) {
  std::string out;
  const std::size_t shown = std::min(most, names.size());
  for (std::size_t i = 0; i < shown; ++i)
    out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  if (names.size() > most) out += fmt::format(" and {} more", names.size() - most);
  return out;
}

std::vector<Change> changed_settings(const ComparedRun& good, const ComparedRun& bad,
                                     const rules::DriftRules& drift, const CompareParams& params) {
  const SettingValues was = settings_of(*good.facts, drift), is = settings_of(*bad.facts, drift);
  // A kind of source that one run has no file of says nothing about what is set.
  std::map<std::string, int, std::less<>> sources;
  for (const auto& [name, values] : was) sources[std::string(compared_source_of(name))] |= 1;
  for (const auto& [name, values] : is) sources[std::string(compared_source_of(name))] |= 2;
  std::set<std::string> names;
  for (const auto* side : {&was, &is})
    for (const auto& [name, values] : *side) names.insert(name);
  std::vector<Change> all;
  for (const std::string& name : names) {
    const auto g = was.find(name), b = is.find(name);
    const Values* before = g == was.end() ? nullptr : &g->second;
    const Values* now = b == is.end() ? nullptr : &b->second;
    if ((before == nullptr || now == nullptr) &&
        sources.find(compared_source_of(name))->second != 3)
      continue;
    // Of a version that only some logs print nothing follows from its absence.
    if ((before == nullptr || now == nullptr) && !contains(name, '.')) continue;
    if ((before != nullptr && is_identity(*before)) || (now != nullptr && is_identity(*now)))
      continue;
    Change one = of_setting(name, drift.find(name), before, now);
    if (one.score > 0) all.push_back(std::move(one));
  }
  // A new image changes a hundred packages: one line for those that say little.
  std::map<std::string, std::vector<std::size_t>> light;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].kind == ChangeKind::setting && all[i].score < 0.82 && contains(all[i].what, '.'))
      light[std::string(compared_source_of(all[i].what)) +
            fmt::format("/{}", fmt::join(all[i].hosts, ","))]
          .push_back(i);
  std::vector<Change> out;
  std::set<std::size_t> bundled;
  for (const auto& [source, indexes] : light) {
    if (indexes.size() < params.bundle_from) continue;
    Change one = all[indexes.front()];
    std::vector<std::string> what;
    for (const std::size_t i : indexes) {
      bundled.insert(i);
      what.push_back(all[i].what);
    }
    one.title = say(Phrase::settings_changed, indexes.size(), compared_source_of(one.what),
                    one.hosts.empty() ? std::string() : named_some(one.hosts), named_some(what, 6));
    one.what = std::string(compared_source_of(one.what)) + ".*";
    one.good.clear();
    one.bad = fmt::format("{}", fmt::join(what, ", "));
    out.push_back(std::move(one));
  }
  // Another layout is one decision, whatever numbers follow from it.
  std::optional<Change> shape;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (bundled.contains(i)) continue;
    if (all[i].kind != ChangeKind::shape) {
      out.push_back(std::move(all[i]));
    } else if (!shape) {
      shape = std::move(all[i]);
    } else {
      shape->title += say(Phrase::and_besides, all[i].title);
      shape->good.clear();
      shape->bad.clear();
    }
  }
  if (shape) out.push_back(std::move(*shape));
  return out;
}

std::vector<Change> changed_pace(const ComparedRun& good, const ComparedRun& bad,
                                 const CompareParams& params) {
  struct Pace {
    double ms = 0, spread = 0;
    std::size_t steps = 0;
  };
  const auto median = [](std::vector<double> v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  };
  const auto pace = [&](const JobSteps& steps) {
    Pace out;
    std::vector<double> ms;
    for (const double v : steps.ms)
      if (std::isfinite(v) && v > 0) ms.push_back(v);
    out.steps = steps.size();
    if (ms.size() < 5) return out;
    out.ms = median(ms);
    for (double& v : ms) v = std::abs(v - out.ms);
    out.spread = 1.4826 * median(ms);
    return out;
  };
  std::vector<Change> out;
  const Pace was = pace(*good.steps), is = pace(*bad.steps);
  const auto place = [](const ComparedRun& run, bool in_bad) {
    std::vector<ChangePlace> places;
    if (run.steps->place.empty()) return places;
    if (const MemberRow* m = run.facts->member(run.steps->place.front().member); m != nullptr)
      places.push_back({in_bad, m->path, run.steps->place.front().line});
    return places;
  };
  if (was.steps >= 5 && is.steps == 0) {
    Change one{ChangeKind::step_time,
               0.90,
               "steps",
               say(Phrase::no_step_completed, was.steps),
               fmt::format("{} steps", was.steps),
               "0 steps",
               -1,
               {},
               {},
               place(good, false)};
    out.push_back(std::move(one));
  }
  if (was.ms > 0 && is.ms > 0) {
    const double change = is.ms / was.ms - 1;
    const double spread = std::max({was.spread, is.spread, 0.005 * was.ms});
    if (std::abs(change) >= params.slower && std::abs(is.ms - was.ms) > 1.5 * spread) {
      Change one;
      one.kind = ChangeKind::step_time;
      one.what = "step_time";
      one.title = say(Phrase::steps_take_instead, is.ms, was.ms, 100 * change);
      one.good = fmt::format("{:.4g} ms", was.ms);
      one.bad = fmt::format("{:.4g} ms", is.ms);
      one.effect = change;
      one.score = change < 0 ? 0.5 : change >= params.much_slower ? 0.95 : 0.70;
      one.places = place(good, false);
      for (ChangePlace& p : place(bad, true)) one.places.push_back(std::move(p));
      out.push_back(std::move(one));
    }
  }
  return out;
}

std::vector<Change> changed_hosts(const ComparedRun& good, const ComparedRun& bad) {
  const auto hosts = [](const Facts& facts) {
    std::set<Host> out;
    for (const Host& host : hosts_of_job(facts)) out.insert(host);
    if (out.empty())
      for (const HostRow& h : facts.hosts) out.insert(short_host(h.host));
    return out;
  };
  const auto was = hosts(*good.facts), is = hosts(*bad.facts);
  std::vector<Host> gone, fresh;
  std::set_difference(was.begin(), was.end(), is.begin(), is.end(), std::back_inserter(gone));
  std::set_difference(is.begin(), is.end(), was.begin(), was.end(), std::back_inserter(fresh));
  std::vector<Change> out;
  if (was.empty() || is.empty() || (gone.empty() && fresh.empty())) return out;
  // One new machine among old ones is the first to look at; a job that was placed elsewhere
  // altogether tells nothing.
  const double common =
      static_cast<double>(is.size() - fresh.size()) / static_cast<double>(is.size());
  Change one{.kind = ChangeKind::hosts,
             .what = fresh.empty() ? "hosts gone" : "hosts new",
             .good = named_some(gone, 8),
             .bad = named_some(fresh, 8),
             .effect = 1 - common,
             .hosts = fresh};
  if (!fresh.empty() && !gone.empty())
    one.title = say(Phrase::hosts_new_in_place, fresh.size(), is.size(), one.bad, one.good);
  else if (!fresh.empty())
    one.title = say(Phrase::hosts_new, fresh.size(), is.size(), one.bad);
  else
    one.title = say(Phrase::hosts_less, gone.size(), one.good);
  one.score = fresh.empty() ? 0.6 : 0.3 + 0.55 * common;
  out.push_back(std::move(one));
  return out;
}

Comparison compare_runs(const ComparedRun& good, const ComparedRun& bad,
                        const std::vector<LineTemplate>& lines, const rules::RulePack& pack,
                        const rules::DriftRules& drift, const rules::Catalogue& catalogue,
                        const CompareParams& params) {
  Comparison out;
  const auto add = [&](std::vector<Change> more) {
    std::move(more.begin(), more.end(), std::back_inserter(out.changes));
  };
  add(changed_settings(good, bad, drift, params));
  add(changed_lines(good, bad, lines, pack, params, out.notes));
  add(changed_metrics(good, bad, catalogue, params));
  add(changed_pace(good, bad, params));
  add(changed_hosts(good, bad));
  if (good.steps->size() == 0 || bad.steps->size() == 0)
    out.notes.push_back(say(Phrase::steps_not_compared));
  if (good.metrics->metrics.empty() || bad.metrics->metrics.empty())
    out.notes.push_back(say(Phrase::metrics_not_compared));
  std::erase_if(out.changes, [](const Change& c) { return c.score < kLeastScore; });
  const auto order = [](const Change& a, const Change& b) {
    return a.score != b.score
               ? a.score > b.score
               : std::tie(a.kind, a.what, a.hosts) < std::tie(b.kind, b.what, b.hosts);
  };
  sort_rows(out.changes, order);
  std::map<ChangeKind, double> weight;
  for (Change& c : out.changes) {
    // New, gone and more frequent lines are of one kind here, and so are metrics of all and of one
    // machine.
    const ChangeKind kind = c.kind == ChangeKind::gone_lines || c.kind == ChangeKind::rate_of_lines
                                ? ChangeKind::new_lines
                            : c.kind == ChangeKind::machine ? ChangeKind::metric
                                                            : c.kind;
    double& w = weight.try_emplace(kind, 1).first->second;
    c.score *= w;
    w *= kRepeated;
  }
  sort_rows(out.changes, order);
  return out;
}

}  // namespace culprit::analyze
