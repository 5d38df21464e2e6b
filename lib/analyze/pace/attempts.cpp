#include "analyze/pace/attempts.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "line/timestamp.hpp"
#include "model/hostlist.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

constexpr std::size_t kMostRoots = 64;  // of one attempt: a storm of errors has few kinds

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ||
         c == '[' || c == ']';
}

// Words of the text; a comma within brackets belongs to its word: node-[07,09].
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out(1);
  bool inside = false;
  for (const char c : text) {
    if (c == '[') inside = true;
    if (c == ']') inside = false;
    if (is_word(c) || (inside && c == ','))
      out.back() += c;
    else if (!out.back().empty())
      out.emplace_back();
  }
  for (std::string& word : out)
    while (!word.empty() && word.back() == '.') word.pop_back();
  std::erase(out, "");
  return out;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool begins(std::string_view word, std::initializer_list<std::string_view> stems) {
  return std::ranges::any_of(stems, [&](std::string_view stem) { return word.starts_with(stem); });
}

std::optional<Measure> measure_of(std::string_view word, std::string_view next) {
  if (begins(word, {"evict", "isolat", "drain", "cordon", "blocklist", "exclud"}))
    return Measure::evict;
  if (begins(word, {"repair", "replac", "reseat", "rma"})) return Measure::repair;
  if (begins(word, {"reboot", "power-cycl", "powercycl"})) return Measure::reboot;
  if (begins(word, {"check", "diag", "bitwise", "bit-wise"}) && !begins(word, {"checkpoint"}))
    return Measure::checks;
  if (begins(word, {"rollback", "roll-back", "revert"}) ||
      (begins(word, {"roll"}) && next == "back"))
    return Measure::rollback;
  if (begins(word, {"replay"})) return Measure::replay;
  if (begins(word, {"investigat"})) return Measure::investigate;
  if (begins(word, {"mitigat"})) return Measure::mitigate;
  if (begins(word, {"reattempt", "re-attempt", "restart", "retr", "requeue", "resum", "resubmit",
                    "relaunch"}))
    return Measure::reattempt;
  if (begins(word, {"stop", "offline", "halt"}) && word != "stop-time") return Measure::stop;
  return std::nullopt;
}

void add(std::vector<Host>& hosts, Host host) {
  const auto it = std::ranges::lower_bound(hosts, host);
  if (it == hosts.end() || *it != host) hosts.insert(it, std::move(host));
}

std::optional<Nanoseconds> utc(const std::string& text, const std::string& zone) {
  Timestamp stamp;
  if (text.empty() || line::parse_iso(text, stamp) == 0) return std::nullopt;
  if (stamp.clock == Clock::utc) return stamp.ns;
  if (stamp.clock != Clock::local) return std::nullopt;
  Nanoseconds offset = 0;
  if (zone.size() >= 5 && (zone[0] == '+' || zone[0] == '-')) {
    int hours = 0, minutes = 0;
    std::from_chars(zone.data() + 1, zone.data() + 3, hours);
    std::from_chars(zone.data() + zone.size() - 2, zone.data() + zone.size(), minutes);
    offset = (hours * 3600 + minutes * 60) * kSecond * (zone[0] == '-' ? -1 : 1);
  }
  return stamp.ns - offset;
}

void step(Attempt& a, std::int64_t iteration, Nanoseconds time, bool good) {
  if (time != kNoValue && a.source != "manifest") {
    a.start = std::min(a.start.value_or(time), time);
    a.end = std::max(a.end.value_or(time), time);
  }
  if (iteration == kNoValue) return;
  if (!a.first) a.first = iteration;
  if (good) a.furthest = std::max(a.furthest.value_or(iteration), iteration);
}

// Finds attempts by number and by moment, of which a job that restarts at once has thousands.
class AttemptIndex {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  explicit AttemptIndex(const std::vector<Attempt>& all) : earliest_(all.size()) {
    Nanoseconds least = std::numeric_limits<Nanoseconds>::max();
    for (std::size_t i = all.size(); i-- > 0;) {
      least = std::min(least, all[i].start.value_or(least));
      earliest_[i] = least;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      first_.emplace(all[i].id, i);
      last_[all[i].id] = i;
    }
  }

  std::size_t first(std::int64_t id) const { return at(first_, id); }
  std::size_t last(std::int64_t id) const { return at(last_, id); }
  // The last one that had begun by then.
  std::size_t begun_by(Nanoseconds time) const {
    const auto end =
        std::ranges::partition_point(earliest_, [&](Nanoseconds start) { return start <= time; });
    return end == earliest_.begin() ? kNone : static_cast<std::size_t>(end - earliest_.begin()) - 1;
  }

 private:
  using ById = std::unordered_map<std::int64_t, std::size_t>;
  static std::size_t at(const ById& map, std::int64_t id) {
    const auto it = map.find(id);
    return it == map.end() ? kNone : it->second;
  }

  ById first_, last_;
  std::vector<Nanoseconds> earliest_;  // of this and all later ones
};

std::vector<Attempt> from_manifest(const Facts& facts, const JobSteps& steps) {
  const Manifest& m = *facts.manifest;
  std::vector<Attempt> out;
  for (const ManifestAttempt& one : m.attempts) {
    Attempt a{.id = one.id,
              .source = "manifest",
              .start = utc(one.start, m.timezone),
              .end = utc(one.end, m.timezone),
              .exit_code = one.exit_code};
    for (const Host& host : one.hosts) add(a.hosts, short_host(host));
    out.push_back(std::move(a));
  }
  // A step belongs to the last attempt that began before it; without times to its folder's, or to
  // the one of its number.
  const bool timed =
      std::ranges::all_of(out, [](const Attempt& a) { return a.start.has_value(); }) &&
      std::ranges::is_sorted(out,
                             [](const Attempt& a, const Attempt& b) { return a.start < b.start; });
  const std::size_t counted = steps.size() == 0 ? 0 : steps.attempt.back() + 1;
  const AttemptIndex index(out);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::size_t of = AttemptIndex::kNone;
    const MemberRow* member = facts.member(steps.place[i].member);
    if (timed && steps.time[i] != kNoValue)
      of = index.begun_by(steps.time[i]);
    else if (member != nullptr && member->attempt)
      of = index.last(*member->attempt);
    else if (counted == out.size() && steps.attempt[i] < out.size())
      of = steps.attempt[i];
    if (of != AttemptIndex::kNone)
      step(out[of], steps.iteration[i], steps.time[i], steps.not_a_number[i] == 0);
  }
  return out;
}

std::vector<Attempt> from_folders(const Facts& facts, const JobSteps& steps) {
  std::map<std::int64_t, Attempt> found;
  for (const MemberRow& m : facts.members) {
    if (!m.attempt || !facts.counts(&m)) continue;
    Attempt& a = found[*m.attempt];
    a.id = *m.attempt;
    a.source = "folder";
    if (m.host) add(a.hosts, short_host(*m.host));
  }
  // Whose logs a folder holds are the hosts of that attempt only when each has its log of each
  // attempt.
  if (found.size() > 1)
    for (auto& [id, a] : found)
      if (a.hosts.size() < facts.hosts.size()) a.hosts.clear();
  std::size_t told = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const MemberRow* m = facts.member(steps.place[i].member);
    if (m == nullptr || !m->attempt) continue;
    ++told;
    step(found[*m->attempt], steps.iteration[i], steps.time[i], steps.not_a_number[i] == 0);
  }
  // Steps may have no time; what the attempt said at its end has one.
  for (const EventRow& e : facts.events) {
    const MemberRow* m = facts.member(e.place.member);
    const auto end = e.last_time_ns ? e.last_time_ns : e.time_ns;
    if (m == nullptr || !m->attempt || !facts.counts(m) || !end) continue;
    if (Attempt& a = found[*m->attempt]; !a.end || *a.end < *end) a.end = end;
  }
  std::vector<Attempt> out;
  for (auto& [id, a] : found) out.push_back(std::move(a));
  if (told == 0 && out.size() > 1 && steps.size() > 0 && steps.attempt.back() + 1 == out.size())
    for (std::size_t i = 0; i < steps.size(); ++i)
      step(out[steps.attempt[i]], steps.iteration[i], steps.time[i], steps.not_a_number[i] == 0);
  return out;
}

std::vector<Attempt> from_steps(const JobSteps& steps) {
  std::vector<Attempt> out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    while (out.size() <= steps.attempt[i]) {
      out.emplace_back();
      out.back().id = static_cast<std::int64_t>(out.size()) - 1;
      out.back().source = "steps";
      out.back().first_step = Evidence{};
      out.back().first_step->member = steps.place[i].member;
      out.back().first_step->line = steps.place[i].line;
    }
    step(out[steps.attempt[i]], steps.iteration[i], steps.time[i], steps.not_a_number[i] == 0);
  }
  return out;
}

// Signs of what each attempt failed of: critical errors and exceptions in its logs.
void find_roots(const Facts& facts, std::vector<Attempt>& all) {
  std::vector<std::set<std::tuple<std::string, SubjectKind, std::string>>> seen(all.size());
  const AttemptIndex index(all);
  const auto attempt_at = [&](const MemberRow& m, const std::optional<Nanoseconds>& time) {
    const std::size_t named = m.attempt ? index.first(*m.attempt) : AttemptIndex::kNone;
    return named != AttemptIndex::kNone || !time ? named : index.begun_by(*time);
  };
  const auto sign = [&](MemberId id, const std::optional<Nanoseconds>& time,
                        std::string event_class, Subject subject) {
    const MemberRow* m = facts.member(id);
    if (!facts.counts(m)) return;
    const std::size_t i = attempt_at(*m, time);
    if (i >= all.size() || seen[i].size() >= kMostRoots) return;
    seen[i].insert({std::move(event_class), subject.kind, std::move(subject.id)});
  };
  for (const EventRow& e : facts.events) {
    if (e.role != Role::root || e.severity != Severity::critical) continue;
    const MemberRow* m = facts.member(e.place.member);
    const Host host = e.host         ? short_host(*e.host)
                      : m != nullptr ? m->host.value_or(Host())
                                     : Host();
    if (host.empty() && !e.rank) continue;
    sign(e.place.member, e.time_ns, e.event_class,
         !host.empty() ? Subject{SubjectKind::host, host}
                       : Subject{SubjectKind::rank, std::to_string(number_of(*e.rank))});
  }
  for (const TracebackRow& t : facts.tracebacks)
    if (!t.file.empty())
      sign(t.place.member, t.time_ns, "",
           {SubjectKind::code, fmt::format("{}:{}", t.file, t.file_line)});
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const auto& [event_class, kind, id] : seen[i])
      all[i].roots.push_back({std::nullopt, event_class, {kind, id}, false});
}

}  // namespace

std::vector<Tried> parse_measures(std::string_view text, std::span<const Host> hosts) {
  std::vector<Tried> out;
  const auto words = words_of(text.substr(0, 4096));
  bool negated = false, said = false;
  std::size_t now = std::string::npos;  // index in out of the measure whose words follow
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = lower(words[i]);
    const std::string after = i + 1 < words.size() ? lower(words[i + 1]) : "";
    if (word == "no" || word == "not" || word == "without" || word == "never") {
      negated = true;
      continue;
    }
    if (const auto measure = measure_of(word, after)) {
      said = true;
      now = std::string::npos;
      if (!negated) {
        const auto it =
            std::ranges::find_if(out, [&](const Tried& t) { return t.measure == *measure; });
        now = static_cast<std::size_t>(it - out.begin());
        if (it == out.end()) out.push_back({*measure, {}, "", {}, false});
      }
      negated = false;
      continue;
    }
    if (begins(word, {"pass", "ok", "clean"}) || begins(word, {"fail"})) {
      for (Tried& t : out)
        if (t.measure == Measure::checks && !(t.passed && !*t.passed))
          t.passed = begins(word, {"fail"}) == negated;
      negated = false;
      continue;
    }
    if (word != "and" && word != "of" && word != "the" && word != "all") negated = false;
    if (now == std::string::npos) continue;
    if (out[now].measure == Measure::rollback && i > 0 && lower(words[i - 1]) == "to" &&
        out[now].to.empty()) {
      out[now].to = words[i];
      continue;
    }
    if (out[now].measure != Measure::evict && out[now].measure != Measure::repair &&
        out[now].measure != Measure::reboot && out[now].measure != Measure::checks)
      continue;
    const Hostlist list = expand_hostlist(words[i], 4096);
    if (list.broken) continue;
    for (const std::string& one : list.hosts) {
      const Host host = short_host(one);
      const bool known = std::ranges::binary_search(hosts, host);
      const bool name_like = host.size() > 1 &&
                             std::isalpha(static_cast<unsigned char>(host[0])) != 0 &&
                             std::ranges::any_of(host, [](char c) { return c >= '0' && c <= '9'; });
      if (known || (hosts.empty() && name_like)) add(out[now].hosts, host);
    }
  }
  if (out.empty() && !said && !words.empty() && lower(words[0]) != "none") out.push_back({});
  return out;
}

std::vector<Attempt> attempts(const Facts& facts, const JobSteps& steps) {
  std::vector<Attempt> out;
  std::vector<Host> known;  // all hosts that any attempt had
  const bool manifest = facts.manifest && facts.manifest->attempts.size() > 1;
  if (manifest) {
    out = from_manifest(facts, steps);
    for (const Host& host : facts.manifest->hosts) add(known, short_host(host));
    for (const Attempt& a : out)
      for (const Host& host : a.hosts) add(known, host);
  } else {
    out = from_folders(facts, steps);
    if (out.size() < 2) out = from_steps(steps);
  }
  if (out.size() < 2) return {};
  find_roots(facts, out);
  std::optional<std::int64_t> best = out[0].furthest;
  for (std::size_t i = 1; i < out.size(); ++i) {
    Attempt& a = out[i];
    const Attempt& last = out[i - 1];
    a.progressed = a.furthest && best && *a.furthest > *best;
    if (a.furthest) best = std::max(best.value_or(*a.furthest), *a.furthest);
    if (manifest) a.before = parse_measures(facts.manifest->attempts[i].action_before, known);
    const auto has = [&](Measure m) { return std::ranges::find(a.before, m, &Tried::measure); };
    std::vector<Host> gone;
    if (!a.hosts.empty())
      std::set_difference(last.hosts.begin(), last.hosts.end(), a.hosts.begin(), a.hosts.end(),
                          std::back_inserter(gone));
    if (!gone.empty()) {
      if (const auto it = has(Measure::evict); it == a.before.end())
        a.before.push_back({Measure::evict, gone, "", {}, true});
      else if (it->hosts.empty())
        it->hosts = gone;
    }
    if (manifest) {
      const std::string& from = facts.manifest->attempts[i - 1].code_version;
      const std::string& to = facts.manifest->attempts[i].code_version;
      if (!from.empty() && !to.empty() && from != to && has(Measure::rollback) == a.before.end())
        a.before.push_back({Measure::rollback, {}, to, {}, true});
    }
    // It ran again, and nothing tells that anything was changed.
    if (a.before.empty()) a.before.push_back({Measure::reattempt, {}, "", {}, true});
  }
  return out;
}

AttemptHistory history_of(std::span<const Attempt> attempts, std::span<const PastFailure> earlier) {
  AttemptHistory out;
  for (std::size_t i = 0; i + 1 < attempts.size(); ++i) {
    const Attempt& a = attempts[i];
    out.failures.push_back(PastFailure{.name = fmt::format("attempt {}", a.id),
                                       .start = a.start,
                                       .end = a.end ? a.end : attempts[i + 1].start,
                                       .furthest = a.furthest,
                                       .ended_well = a.exit_code == 0,
                                       .hosts = a.hosts,
                                       .roots = a.roots,
                                       .answers = attempts[i + 1].before});
  }
  if (!attempts.empty()) {
    out.first = attempts.back().first;
    out.furthest = attempts.back().furthest;
    out.hosts = attempts.back().hosts;
    if (attempts.size() > 1) {
      out.start = attempts.back().start;
      out.first_step = attempts.back().first_step;
    }
  }
  // Those without a time come first: nothing says that they are recent.
  std::vector<PastFailure> others;
  for (const PastFailure& e : earlier) {
    const auto when = e.end ? e.end : e.start;
    const auto same = std::ranges::find_if(out.failures, [&](const PastFailure& f) {
      return when && f.start && f.end && *f.start <= *when && *when <= *f.end;
    });
    if (same == out.failures.end()) {
      others.push_back(e);
      continue;
    }
    same->roots.insert(same->roots.end(), e.roots.begin(), e.roots.end());
    if (!same->furthest) same->furthest = e.furthest;
    if (same->hosts.empty()) same->hosts = e.hosts;
    if (std::ranges::all_of(
            same->answers,
            [](const Tried& t) { return t.inferred && t.measure == Measure::reattempt; }) &&
        !e.answers.empty())
      same->answers = e.answers;
  }
  sort_rows(others, [](const PastFailure& a, const PastFailure& b) {
    return (a.end ? a.end : a.start) < (b.end ? b.end : b.start);
  });
  for (PastFailure& e : others) {
    const auto when = e.end ? e.end : e.start;
    auto at = out.failures.begin();
    if (when)
      for (auto it = out.failures.begin(); it != out.failures.end(); ++it)
        if (const auto other = it->end ? it->end : it->start; !other || *other <= *when)
          at = it + 1;
    out.failures.insert(at, std::move(e));
  }
  return out;
}

}  // namespace culprit::analyze
