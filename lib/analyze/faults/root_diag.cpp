#include "analyze/faults/root_diag.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include <re2/re2.h>

#include "analyze/facts/step_lines.hpp"
#include "model/address.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

struct Edge {
  Host reporter, peer;
  std::optional<Nanoseconds> time;
  const Signal* signal;
};

constexpr std::size_t kLeastOfBurst = 3;  // fewer have a host in common by chance
// Whoever prints first is in all of its own reports: one other host, at least two connections of
// which broke, is as good a culprit.
constexpr std::size_t kLeastWitnesses = 2;
constexpr double kLeastCover = 0.5;  // of the first breaks: fewer single out nobody
constexpr double kLeastOrders = 20;  // in which the first breaks might as well have come
constexpr double kByChance = 0.1;    // that so many connections all cross the switch
constexpr Nanoseconds kLongAgo = std::numeric_limits<Nanoseconds>::min();
constexpr std::int64_t kTrainedOn = 3;  // steps that no rank makes without its peers
constexpr Nanoseconds kLeastPause =
    kSecond / 2;  // clocks of machines differ by some hundred milliseconds

// Edges that broke together, and how many of them touch each host, the most first.
struct Burst {
  std::vector<const Edge*> edges;
  std::vector<std::pair<std::size_t, Host>> ranked;
  std::size_t reporters = 0;
  std::size_t second() const { return ranked.size() > 1 ? ranked[1].first : 0; }
  double cover() const {
    return static_cast<double>(ranked.front().first) / static_cast<double>(edges.size());
  }
};

Burst ranked_burst(std::vector<const Edge*> edges) {
  Burst out;
  std::map<Host, std::size_t> touches;
  std::set<Host> reporters;
  for (const Edge* e : edges) {
    ++touches[e->reporter];
    if (e->peer != e->reporter) ++touches[e->peer];
    reporters.insert(e->reporter);
  }
  for (const auto& [host, n] : touches) out.ranked.emplace_back(n, host);
  sort_rows(out.ranked, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  out.edges = std::move(edges);
  out.reporters = reporters.size();
  return out;
}

// Every rank is connected to the store of rank 0, and to no other rank's: whoever else fails, such
// connections have the same host at their end.
bool to_the_store(const Edge& e) {
  return e.signal->meaning.traits.has_any({Trait::store_lost, Trait::store_unreached});
}

// Other hosts that say that their connection to it broke.
std::size_t witnesses(const Burst& burst, const Host& host) {
  std::set<std::string> others;
  for (const Edge* e : burst.edges)
    if (e->peer == host && e->reporter != host && !to_the_store(*e)) others.insert(e->reporter);
  return others.size();
}

// A connection that has another end, or both on one machine, broke clearly before all of its own.
bool preceded(const Burst& burst, const Host& host) {
  const Edge *own = nullptr, *other = nullptr;
  for (const Edge* e : burst.edges) {
    const Edge*& first = e->reporter == host || e->peer == host ? own : other;
    if (e->time && (first == nullptr || *e->time < *first->time)) first = e;
  }
  if (own == nullptr || other == nullptr) return false;
  const auto &a = own->signal->evidence, &b = other->signal->evidence;
  const bool one_clock = !a.empty() && !b.empty() && a.front().member == b.front().member;
  const Nanoseconds unsure = one_clock ? 0 : own->signal->uncertainty + other->signal->uncertainty;
  return *other->time + std::max(kLeastPause, unsure) < *own->time;
}

// Breaks without a time support, and never decide: of those that have one, more touch another host.
bool outweighed(const Burst& burst, const Host& host) {
  std::vector<const Edge*> dated;
  std::ranges::copy_if(burst.edges, std::back_inserter(dated),
                       [](const Edge* e) { return e->time.has_value(); });
  if (dated.size() < 2) return false;
  const Burst known = ranked_burst(dated);
  return std::ranges::none_of(known.ranked, [&](const auto& one) {
    return one.second == host && one.first == known.ranked.front().first;
  });
}

bool stands_out(const Burst& burst, const RootDiagParams& params) {
  return burst.edges.size() >= kLeastOfBurst && burst.cover() >= params.cover &&
         static_cast<double>(burst.second()) <=
             params.ahead * static_cast<double>(burst.ranked.front().first);
}

// What broke before the first pause that is long for these breaks: a cascade follows the cause
// within seconds, and counted together with it hides it.
std::vector<const Edge*> first_burst(const std::vector<Edge>& edges, const RootDiagParams& params) {
  std::vector<const Edge*> dated;
  for (const Edge& e : edges)
    if (e.time) dated.push_back(&e);
  sort_rows(dated, [](const Edge* a, const Edge* b) { return *a->time < *b->time; });
  Nanoseconds longest = 0;
  for (std::size_t i = 1; i < dated.size(); ++i) {
    const Nanoseconds pause = *dated[i]->time - *dated[i - 1]->time;
    const Nanoseconds unsure = dated[i]->signal->uncertainty + dated[i - 1]->signal->uncertainty;
    const bool late = *dated[i]->time - *dated.front()->time > params.burst;
    if (late || (i >= kLeastOfBurst && pause > std::max({kLeastPause, unsure, 3 * longest}))) {
      dated.resize(i);
      break;
    }
    longest = std::max(longest, pause);
  }
  return dated;
}

// The breaks that come first as long as they have one host in common: the connections of a host
// that dies break together, and those of the hosts that die of it come after them, however short
// the pause. Among hosts with as long a run the one that reports nothing itself is ahead: a dead
// host is silent.
std::vector<const Edge*> common_run(const std::vector<Edge>& edges, const RootDiagParams& params) {
  std::vector<const Edge*> dated;
  for (const Edge& e : edges)
    if (e.time) dated.push_back(&e);
  sort_rows(dated, [](const Edge* a, const Edge* b) { return *a->time < *b->time; });
  while (!dated.empty() && *dated.back()->time - *dated.front()->time > params.burst)
    dated.pop_back();
  std::set<Host> ends, reporters;
  for (const Edge* e : dated) {
    ends.insert({e->reporter, e->peer});
    reporters.insert(e->reporter);
  }
  std::size_t longest = 0, next = 0;
  bool silent = false;
  for (const Host& host : ends) {
    std::size_t run = 0;
    while (run < dated.size() && (dated[run]->reporter == host || dated[run]->peer == host)) ++run;
    const bool says_nothing = reporters.count(host) == 0;
    if (run > longest || (run == longest && says_nothing && !silent))
      next = longest, longest = run, silent = says_nothing;
    else
      next = std::max(next, run);
  }
  // That these k of n come first by accident has the chance 1 : (n over k), however uncertain each
  // single clock is.
  double orders = 1;
  for (std::size_t i = 0; i < longest; ++i)
    orders *= static_cast<double>(dated.size() - i) / static_cast<double>(longest - i);
  if (longest < kLeastOfBurst || 2 * next > longest ||
      (longest < dated.size() && orders < kLeastOrders))
    return {};
  dated.resize(longest);
  return dated;
}

// Hosts of which the bundle has what the job printed there.
std::set<Host> hosts_with_output(const Facts& facts) {
  std::set<Host> out;
  for (const HostRow& h : facts.hosts)
    if (h.has_log) out.insert(h.host);
  for (const EventRow& e : facts.events)
    if (e.host && e.rank) out.insert(*e.host);
  return out;
}

// Whether the job trained on after a break: all ranks stepped together since, or training began
// only then.
class Training {
 public:
  explicit Training(const Facts& facts) : last_step_(last_step(facts).value_or(kLongAgo)) {
    for (const ProgressSpan& p : facts.progress)
      if (p.framework != "tqdm" && p.last.time_ns && p.first.time_ns && p.first.iteration &&
          p.last.iteration && *p.last.iteration - *p.first.iteration >= kTrainedOn)
        last_begin_ = std::max(last_begin_, *p.first.time_ns);
  }
  bool went_on(const Signal& s, const RootDiagParams& params) const {
    return s.end && (*s.end + s.uncertainty + params.retried < last_step_ ||
                     *s.end + s.uncertainty < last_begin_);
  }

 private:
  Nanoseconds last_step_, last_begin_ = kLongAgo;
};

// Hosts that report a link of their own which went down, and not that it came back: just before the
// first connection broke, or, without a time, of the adapter that connections broke on.
// Of the adapter, too, where nothing tells the zone of the times: whole half hours are none.
std::set<Host> hosts_with_open_link(const Facts& facts, const std::vector<Edge>& edges,
                                    const std::vector<Signal>& signals) {
  constexpr Nanoseconds kRetried = 2 * kMinute, kBehind = 5 * kSecond;
  std::optional<Nanoseconds> broke;
  std::set<std::string> adapters;
  for (const Edge& e : edges) {
    if (e.time && (!broke || *e.time < *broke)) broke = e.time;
    if (e.signal->nic) adapters.insert(*e.signal->nic);
  }
  std::set<Host> out;
  for (const Signal& s : signals) {
    if (!s.host || !s.takes_part() || s.meaning.cause != CauseKind::network ||
        s.meaning.role != Role::root || (!s.alerts.empty() && s.alerts.back().closed))
      continue;
    const bool then = !s.alerts.empty() && s.end && broke && *s.end >= *broke - kRetried &&
                      *s.end <= *broke + kBehind;
    const bool no_moment = !(s.end && broke) || (!facts.zone_known && zones_apart(*s.end, *broke));
    const bool same = no_moment && s.nic && adapters.count(*s.nic) > 0;
    if (then || same) out.insert(*s.host);
  }
  return out;
}

// The host is known by another address of the same network.
bool has_another_address(const Facts& facts, const Host& host, const std::string& address) {
  const std::string network = address.substr(0, address.rfind('.') + 1);
  return std::ranges::any_of(facts.hosts, [&](const HostRow& row) {
    return row.host == host && std::ranges::any_of(row.addresses, [&](const std::string& own) {
             return own != address && !network.empty() && own.starts_with(network);
           });
  });
}

// "sg209" and 10.9.3.209: sites number both alike.
bool numbered_alike(const std::string& host, const std::string& address) {
  static const re2::RE2 kHost(R"(\D0*(\d{1,3})$)"), kAddress(R"(\.(\d{1,3})$)");
  std::string a, b;
  return re2::RE2::PartialMatch(host, kHost, &a) && re2::RE2::PartialMatch(address, kAddress, &b) &&
         a == b;
}

// Small numbers agree by chance where a site begins to count its addresses at another one than its
// machines: then a machine whose address is known has to show that it does not. Of several racks
// each has a machine of that number.
bool number_tells(const Facts& facts, const Host& host, const std::string& address) {
  constexpr std::size_t kLong = 3;  // digits
  if (!numbered_alike(host, address)) return false;
  const auto alike = std::ranges::count_if(
      facts.hosts, [&](const HostRow& row) { return numbered_alike(row.host, address); });
  if (alike > 1) return false;
  const std::string network = address.substr(0, address.rfind('.') + 1);
  bool shown = address.size() - network.size() >= kLong;
  for (const HostRow& row : facts.hosts)
    for (const std::string& own : row.addresses)
      if (own.starts_with(network)) {
        if (!numbered_alike(row.host, own)) return false;
        shown = true;
      }
  return shown;
}

// Nobody reports a connection to itself. An address that all reporters name but one, which names
// others, is of that one when its link is the only one that stays down, or its number is the
// address's.
void name_by_those_who_lost_it(const Facts& facts, std::vector<Edge>& edges,
                               const std::vector<Signal>& signals) {
  const std::set<Host> down = hosts_with_open_link(facts, edges, signals);
  std::set<Host> reporters;
  std::map<Host, std::set<Host>> named;
  for (const Edge& e : edges) {
    reporters.insert(e.reporter);
    if (is_address(e.peer) && e.signal->meaning.symptom == Symptom::infiniband_error)
      named[e.peer].insert(e.reporter);
  }
  const auto rename = [&](const Host& address, const Host& host) {
    if (!has_another_address(facts, host, address))
      for (Edge& e : edges)
        if (e.peer == address) e.peer = host;
  };
  for (const auto& [address, by] : named) {
    // It says nothing itself, and its own link is the one that stays down.
    if (by.size() >= kLeastWitnesses && by == reporters && down.size() == 1 &&
        by.count(*down.begin()) == 0 && numbered_alike(*down.begin(), address))
      rename(address, *down.begin());
    if (by.size() + 1 != reporters.size()) continue;
    const Host& host = *std::ranges::find_if(
        reporters, [&, &who = by](const Host& one) { return who.count(one) == 0; });
    const bool own_link = by.size() >= kLeastWitnesses && down.size() == 1 && down.count(host) > 0;
    if (own_link || number_tells(facts, host, address)) rename(address, host);
  }
  // Or a machine of which something was collected, and whose number no other has.
  for (const auto& [address, by] : named)
    for (const HostRow& row : facts.hosts)
      if (by.count(row.host) == 0 && number_tells(facts, row.host, address))
        rename(address, row.host);
}

// Connections between two hosts that broke, each end once.
std::vector<Edge> broken_edges(const Facts& facts, const std::vector<Signal>& signals,
                               const RootDiagParams& params) {
  std::vector<Edge> edges;
  std::set<std::pair<std::string, std::string>> seen;
  const Training training(facts);
  for (const Signal& s : signals) {
    if (!s.takes_part() || s.meaning.severity != Severity::distributed ||
        s.meaning.role != Role::cascade || !s.host || !s.peer_host)
      continue;
    // A machine's connection to itself: of processes that went, unless its own adapter reports it.
    if (*s.host == *s.peer_host && s.meaning.symptom != Symptom::infiniband_error) continue;
    // Whoever calls before the other end listens tries again.
    if (training.went_on(s, params)) continue;
    if (seen.insert({*s.host, *s.peer_host}).second)
      edges.push_back({*s.host, *s.peer_host, s.start, &s});
  }
  name_by_those_who_lost_it(facts, edges, signals);
  return edges;
}

// The host that more of the first breaks involve than any other; of several the one that reports
// none itself, for a dead host is silent. Empty: no such host, or nobody but itself says so.
Host leading(const Burst& burst) {
  std::vector<Host> most;
  for (const auto& [touches, host] : burst.ranked)
    if (touches == burst.ranked.front().first) most.push_back(host);
  if (most.size() > 1) {
    std::set<Host> reporters;
    for (const Edge* e : burst.edges) reporters.insert(e->reporter);
    std::erase_if(most, [&](const Host& host) { return reporters.count(host) != 0; });
  }
  if (most.size() != 1 || burst.ranked.front().first < kLeastOfBurst ||
      burst.cover() < kLeastCover || witnesses(burst, most.front()) < kLeastWitnesses ||
      preceded(burst, most.front()) || outweighed(burst, most.front()))
    return {};
  return most.front();
}

// Hosts that report a link of their own which stays down, a minority of the ends, when each broken
// connection has one of them at an end. However uncertain their clocks are, these two accounts are
// of one event. down: those that say so of the very adapter or moment.
std::vector<Host> alerted(const Burst& burst, std::set<Host> down,
                          const std::vector<Signal>& signals) {
  std::set<Host> met;
  if (burst.edges.size() < kLeastOfBurst) {
    // Too few to single one out: that of which others say it, and it itself.
    const auto& [touches, host] = burst.ranked.front();
    const bool own = touches == burst.edges.size() && down.count(host) > 0;
    return own && witnesses(burst, host) >= kLeastWitnesses ? std::vector<Host>{host}
                                                            : std::vector<Host>{};
  }
  for (const Signal& s : signals)
    if (s.host && s.meaning.cause == CauseKind::network && s.meaning.role == Role::root &&
        s.meaning.severity == Severity::critical && s.takes_part() &&
        (s.alerts.empty() || !s.alerts.back().closed))
      down.insert(*s.host);
  for (const Edge* e : burst.edges) {
    if (down.count(e->reporter) == 0 && down.count(e->peer) == 0) return {};
    for (const Host& end : {e->reporter, e->peer})
      if (down.count(end) != 0) met.insert(end);
  }
  if (2 * met.size() > burst.ranked.size()) return {};
  return {met.begin(), met.end()};
}

// NetDiag: a switch that every broken connection crosses.
bool names_switch(const Facts& facts, const Burst& burst, Finding& f) {
  const auto& best = burst.ranked.front();
  if (facts.manifest)
    for (const auto* level : {&facts.manifest->tor, &facts.manifest->pod}) {
      std::map<std::string, std::string> of;
      for (const auto& [name, hosts] : *level)
        for (const auto& host : hosts) of[short_host(host)] = name;
      std::map<std::string, std::size_t> crossed;
      std::size_t known = 0;
      for (const Edge* e : burst.edges) {
        const auto a = of.find(e->reporter);
        const auto b = of.find(e->peer);
        if (a == of.end() || b == of.end()) continue;
        ++known;
        ++crossed[a->second];
        if (b->second != a->second) ++crossed[b->second];
      }
      if (known < 3 || level->size() < 2) continue;
      std::vector<std::pair<std::size_t, Host>> order;
      for (const auto& [name, n] : crossed) order.emplace_back(n, name);
      sort_rows(order, [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
      });
      const std::size_t next = order.size() > 1 ? order[1].first : 0;
      // Below a switch that most machines hang from most connections end.
      const auto below =
          std::ranges::count_if(of, [&](const auto& one) { return one.second == order[0].second; });
      const double share = static_cast<double>(below) / static_cast<double>(of.size());
      double chance = 1;  // of as many connections, each with one end below it, or both
      for (const Edge* e : burst.edges) {
        const auto a = of.find(e->reporter), b = of.find(e->peer);
        if (a == of.end() || b == of.end()) continue;
        const int ends = (a->second == order[0].second) + (b->second == order[0].second);
        if (ends > 0) chance *= ends == 2 ? share * share : 1 - (1 - share) * (1 - share);
      }
      if (chance > kByChance) continue;
      if (static_cast<double>(order[0].first) < 0.95 * static_cast<double>(known) ||
          static_cast<double>(next) > 0.8 * static_cast<double>(order[0].first))
        continue;
      f.id = "root_diag/switch/" + order[0].second;
      f.subject = {SubjectKind::network_switch, order[0].second};
      f.scope = Scope::shared;
      f.symptom = Symptom::switch_fault;
      f.confidence = confidence::kSwitchCrossed;
      f.title = say(Phrase::switch_crossed_by_all);
      f.why = say(Phrase::broke_first_cross, order[0].first, known, order[0].second, best.second,
                  best.first);
      f.remedy = "check_switch";
      f.advice = say(Phrase::look_at_ports, order[0].second);
      return true;
    }
  return false;
}

Finding of_broken_connections() {
  Finding f;
  f.analysis = Analysis::root_diag;
  f.severity = Severity::distributed;
  f.role = Role::root;
  f.scope = Scope::host_local;
  f.symptom = Symptom::infiniband_error;
  f.event_class = "broken_connections";
  return f;
}

void of_no_single_host(Finding& f) {
  f.id = "root_diag/none";
  f.subject = {SubjectKind::job, "job"};
  f.scope = Scope::job_wide;
  f.confidence = confidence::kNoHostStandsOut;
  f.title = say(Phrase::no_host_stands_out);
}

void names_nobody(const Burst& burst, Finding& f) {
  const auto& ranked = burst.ranked;
  const auto& best = ranked.front();
  const std::size_t second = burst.second();
  of_no_single_host(f);
  // Two hosts that report each other are a pair, two reports of three hosts tell nothing.
  const bool pair = burst.edges.size() == 2 && ranked.size() == 2;
  f.outcome =
      burst.edges.size() < kLeastOfBurst ? Outcome::not_enough_evidence : Outcome::ruled_out;
  f.why = pair ? say(Phrase::lost_each_other, ranked[0].second, ranked[1].second)
          : burst.edges.size() == 2 ? say(Phrase::two_connections_only, best.second, best.first)
          : burst.edges.size() < 2
              ? say(Phrase::one_connection_only, burst.edges.front()->reporter,
                    burst.edges.front()->peer)
              : say(Phrase::nobody_clearly_ahead, burst.edges.size(), best.first, best.second,
                    second, ranked.size() > 1 ? ranked[1].second : Host());
  for (const auto& [n, host] : ranked) f.hosts.push_back(host);
  sort_rows(f.hosts);
}

void names_host(const Facts& facts, const Burst& burst, bool by_order, bool store_only,
                Finding& f) {
  const auto& [touched, host] = burst.ranked.front();
  f.id = "root_diag/host/" + host;
  f.subject = {SubjectKind::host, host};
  f.host = host;
  f.hosts = {host};
  f.confidence = by_order
                     ? confidence::kFirstByOrder
                     : confidence::kBrokeFirstLeast + confidence::kBrokeFirstCover * burst.cover();
  f.title = say(Phrase::host_broke_first);
  f.why = say(Phrase::broke_first_touch, touched, burst.edges.size(), host, burst.second());
  f.remedy = "isolate_node";
  f.advice = say(Phrase::take_out_of_job, host);
  if (store_only) {
    f.outcome = Outcome::not_enough_evidence;
    f.why += say(Phrase::only_to_the_store);
    f.facts = BreakFacts{true, {}};
    return;
  }
  // A process that ends takes its connections along as a machine does. What that host printed
  // tells the two apart; here output of the others was collected and none of it.
  const auto heard = hosts_with_output(facts);
  if (heard.count(host) == 0 &&
      std::ranges::any_of(burst.edges, [&](auto* e) { return heard.count(e->reporter) != 0; })) {
    f.outcome = Outcome::not_enough_evidence;
    f.why += say(Phrase::nothing_printed_of_it);
  }
}

// The first group of breaks by their own pace; where that names nobody, all of the first seconds;
// then those that come first in order: true.
std::pair<Burst, bool> telling_burst(const std::vector<Edge>& edges,
                                     const std::optional<Nanoseconds>& first,
                                     const RootDiagParams& params) {
  Burst burst = ranked_burst(first_burst(edges, params));
  if (burst.edges.size() >= kLeastOfBurst && stands_out(burst, params)) return {burst, false};
  std::vector<const Edge*> all;
  for (const Edge& e : edges)
    if (!e.time || (first && *e.time - *first <= params.burst)) all.push_back(&e);
  burst = ranked_burst(std::move(all));
  if (!stands_out(burst, params))
    if (auto run = common_run(edges, params); !run.empty())
      return {ranked_burst(std::move(run)), true};
  return {burst, false};
}

// The adapters report two machines alone, one of them or both the other as its peer, and whatever
// else broke was closed by one of them: a process that ends closes its connections to all. Which of
// the two, or what lies between them, these do not tell. Empty: not so.
std::vector<Host> pair_of_adapters(const std::vector<Edge>& edges) {
  const auto by_adapter = [](const Edge& e) {
    return e.signal->meaning.symptom == Symptom::infiniband_error && e.peer != e.reporter &&
           !is_address(e.peer);
  };
  std::set<Host> ends;
  for (const Edge& e : edges)
    if (by_adapter(e)) ends.insert({e.reporter, e.peer});
  if (ends.size() != 2) return {};
  const bool met = std::ranges::all_of(edges, [&](const Edge& e) {
    return ends.contains(e.peer) || (by_adapter(e) && ends.contains(e.reporter));
  });
  return met ? std::vector<Host>(ends.begin(), ends.end()) : std::vector<Host>();
}

// Nobody knows on which machines those ran that lost a connection, and all of them name one of two
// machines as its other end: the two lost each other.
std::vector<Finding> pair_of_ends(const std::vector<Signal>& signals) {
  std::map<Host, std::size_t> named;
  std::size_t lines = 0;
  Finding f = of_broken_connections();
  for (const Signal& s : signals) {
    if (!s.takes_part() || s.meaning.severity != Severity::distributed ||
        s.meaning.role != Role::cascade || !s.peer_host || s.host ||
        s.meaning.traits.has_any({Trait::store_lost, Trait::store_unreached, Trait::rendezvous}))
      continue;
    ++named[*s.peer_host];
    lines += s.count;
    if (s.start && (!f.start || *s.start < *f.start)) f.start = s.start;
    if (!s.evidence.empty()) f.evidence.push_back(s.evidence.front());
  }
  if (lines < kLeastOfBurst || named.size() != 2 ||
      std::ranges::any_of(named, [](const auto& one) { return is_address(one.first); }))
    return {};
  of_no_single_host(f);
  f.outcome = Outcome::not_enough_evidence;
  f.why = say(Phrase::lost_each_other, named.begin()->first, named.rbegin()->first);
  for (const auto& [host, times] : named) f.hosts.push_back(host);
  return {f};
}

}  // namespace

std::vector<Finding> root_diag(const Facts& facts, const std::vector<Signal>& signals,
                               const RootDiagParams& params) {
  const std::vector<Edge> edges = broken_edges(facts, signals, params);
  if (edges.empty()) return pair_of_ends(signals);
  std::optional<Nanoseconds> first;
  for (const Edge& e : edges)
    if (e.time && (!first || *e.time < *first)) first = e.time;
  const auto [burst, by_order] = telling_burst(edges, first, params);

  Finding f = of_broken_connections();
  f.start = first;
  f.count = edges.size();
  for (const Edge* e : burst.edges)
    for (const Evidence& one : e->signal->evidence)
      if (f.evidence.size() < 8) {
        f.evidence.push_back(one);
        break;
      }
  f.figures = {{"edges", std::to_string(edges.size())},
               {"edges_in_first_burst", std::to_string(burst.edges.size())},
               {"reporters", std::to_string(burst.reporters)}};

  const auto& best = burst.ranked.front();
  const std::size_t others = witnesses(burst, best.second);
  const bool late = preceded(burst, best.second) || outweighed(burst, best.second);
  const bool store_only =
      others < kLeastWitnesses &&
      std::ranges::all_of(burst.edges, [](const Edge* e) { return to_the_store(*e); });
  if (stands_out(burst, params) && !late && (others >= kLeastWitnesses || store_only)) {
    names_host(facts, burst, by_order, store_only, f);
    return {f};
  }

  if (names_switch(facts, burst, f)) return {f};
  if (const std::vector<Host> pair = pair_of_adapters(edges);
      !pair.empty() && burst.edges.size() >= kLeastOfBurst) {
    of_no_single_host(f);
    f.outcome = Outcome::not_enough_evidence;
    f.count = 1;  // however many connections: one way
    f.why = say(Phrase::lost_each_other, pair.front(), pair.back());
    f.hosts = pair;
    return {f};
  }
  names_nobody(burst, f);
  if (BreakFacts known{false, leading(burst),
                       alerted(burst, hosts_with_open_link(facts, edges, signals), signals)};
      !known.most.empty() || !known.alerted.empty())
    f.facts = std::move(known);
  if (stands_out(burst, params)) {
    f.outcome = Outcome::ruled_out;
    f.why = late
                ? say(Phrase::another_broke_before, best.first, burst.edges.size(), best.second)
                : say(Phrase::only_it_says_so, best.first, burst.edges.size(), best.second, others);
  }
  return {f};
}

std::vector<Finding> root_diag(const Facts& facts, const std::vector<Signal>& signals) {
  return root_diag(facts, signals, RootDiagParams{});
}

}  // namespace culprit::analyze
