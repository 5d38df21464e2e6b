#include "analyze/hang/standstill.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "analyze/facts/job_life.hpp"
#include "model/phrases.hpp"

namespace culprit::analyze {

namespace {

struct DumpFile {
  Nanoseconds newest = 0;             // the last thing it knows of
  std::optional<Nanoseconds> oldest;  // launch of its oldest unfinished collective
  Nanoseconds timeout = 0;            // of that
  std::optional<Nanoseconds> made;
};

std::optional<Nanoseconds> utc(const Facts& facts, const Timestamp& time, MemberId member) {
  if (time.clock == Clock::utc) return time.ns;
  if (time.clock == Clock::none) return std::nullopt;
  const auto offset = facts.clock_offset(member, time.clock);
  return offset ? std::optional(time.ns + *offset) : std::nullopt;
}

std::map<MemberId, DumpFile> dumps_of(const Facts& facts, const StandstillParams& params) {
  std::map<MemberId, DumpFile> out;
  for (const CollectiveSample& c : facts.collectives) {
    const CollectiveRow& row = c.row;
    if (row.source != CollectiveSource::recorder || row.time.clock != Clock::utc) continue;
    if (!facts.counts(facts.member(row.place.member))) continue;
    DumpFile& d = out[row.place.member];
    d.newest =
        std::max({d.newest, row.time.ns, row.started_ns.value_or(0), row.completed_ns.value_or(0)});
    // A send may be left behind by a job that goes on.
    if (row.p2p || row.state == "completed") continue;
    if (d.oldest && *d.oldest <= row.time.ns) continue;
    d.oldest = row.time.ns;
    d.timeout = row.timeout_ms && *row.timeout_ms > 0 ? *row.timeout_ms * (kSecond / 1000)
                                                      : params.unknown_timeout;
  }
  for (const RecorderRow& r : facts.recorders)
    if (const auto at = out.find(r.place.member); at != out.end() && !at->second.made)
      at->second.made = utc(facts, r.time, r.place.member);
  for (auto& [member, d] : out) {
    if (d.made) continue;
    const MemberRow* m = facts.member(member);
    const Nanoseconds written = m == nullptr ? 0 : m->mtime_s * kSecond;
    if (written > d.newest && written - d.newest <= params.believable) d.made = written;
  }
  return out;
}

// The last step that any log of the job reports, and the time a step took.
struct LastStep {
  Nanoseconds at = 0, pace = 0;
  Nanoseconds written = 0;  // the log was, for the last time; 0 not known
};
std::optional<LastStep> last_logged_step(const Facts& facts) {
  std::optional<LastStep> out;
  for (const ProgressSpan& p : facts.progress) {
    if (!p.last.time_ns || p.framework == "tqdm") continue;
    Nanoseconds pace = 0;
    if (p.first.time_ns && p.first.iteration && p.last.iteration &&
        *p.last.iteration > *p.first.iteration)
      pace = (*p.last.time_ns - *p.first.time_ns) / (*p.last.iteration - *p.first.iteration);
    if (out && *p.last.time_ns <= out->at) continue;
    const MemberRow* m = facts.member(p.member);
    out = LastStep{*p.last.time_ns, pace, m == nullptr ? 0 : m->mtime_s * kSecond};
  }
  return out;
}

// When stacks of the job's processes were taken: by what they print, else by their files, where the
// log's own file is as old as its last line: then files kept their times; else by snapshots of the
// machines.
std::optional<Nanoseconds> looked_at(const Facts& facts, const LastStep& step,
                                     const StandstillParams& params) {
  const bool kept = step.written != 0 && step.written - step.at < params.unknown_timeout / 2;
  std::vector<Nanoseconds> times;
  std::set<Host> undated;  // machines of stacks that nothing dates
  for (const StackSample& s : facts.samples) {
    if (s.row.source == "traceback" || s.row.source == "recorder") continue;
    const MemberRow* m = facts.member(s.row.place.member);
    if (!facts.counts(m)) continue;
    if (const auto printed = utc(facts, s.row.time, s.row.place.member)) {
      times.push_back(*printed);
      continue;
    }
    undated.insert(m->host ? short_host(*m->host) : Host());
    // A console is older than what stands at its end; files of dumps are written once.
    const Nanoseconds written = m->mtime_s * kSecond;
    if (kept && m->text_kind == "stack" && written > step.at &&
        written - step.at <= params.believable)
      times.push_back(written);
  }
  // Stacks without a time are of the moment at which their machine was looked at.
  if (times.empty())
    for (const Host& host : undated)
      if (const auto at = facts.looked_at.find(host); at != facts.looked_at.end() &&
                                                      at->second - step.at <= params.believable &&
                                                      !zones_apart(at->second, step.at))
        times.push_back(at->second);
  if (times.empty()) return std::nullopt;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

void by_age(const std::map<MemberId, DumpFile>& dumps, const StandstillParams& params,
            Standstill& out) {
  std::size_t open = 0, dated = 0, late = 0, late_by_itself = 0;
  Nanoseconds timeout = 0;
  std::vector<Nanoseconds> quiet;
  for (const auto& [member, d] : dumps) {
    if (d.made && *d.made > d.newest) quiet.push_back(*d.made - d.newest);
    if (!d.oldest) continue;
    ++open;
    if (d.newest - *d.oldest >= d.timeout) {
      ++late_by_itself;
      timeout = std::max(timeout, d.timeout);
    }
    if (!d.made) continue;
    ++dated;
    // Launches that go on beside the old one are another group's, and a healthy one's.
    if (*d.made - *d.oldest >= d.timeout && 2 * (*d.made - d.newest) >= d.timeout) {
      ++late;
      timeout = std::max(timeout, d.timeout);
    }
  }
  const auto most = [&](std::size_t part, std::size_t all) {
    return part > 0 && static_cast<double>(part) >= params.share * static_cast<double>(all);
  };
  if (late_by_itself >= 2 || (late_by_itself == 1 && open == 1) ||
      (most(late, dated) && most(dated, open))) {
    out.proven = true;
    const std::size_t n = std::max(late, late_by_itself);
    out.why = say(Phrase::past_its_timeout, n, human_duration(timeout));
  }
  if (!most(quiet.size(), dumps.size())) return;
  const auto low = quiet.begin() + static_cast<std::ptrdiff_t>(quiet.size() / 10);
  std::nth_element(quiet.begin(), low, quiet.end());
  out.quiet = *low;
  out.quiet_why = say(Phrase::dumps_after_last_launch, human_duration(*low));
}

// What the looks of PyTorch's debug server show, each a file: how far every rank was on every
// group.
void by_looks(const Facts& facts, const StandstillParams& params, Standstill& out) {
  using Frontiers =
      std::map<std::pair<GroupId, std::optional<Rank>>, std::pair<std::int64_t, std::int64_t>>;
  std::map<Nanoseconds, Frontiers> looks;
  bool pending = false, others = false;
  for (const FrontierRow& f : facts.frontiers) {
    const MemberRow* m = facts.member(f.place.member);
    if (f.source != CollectiveSource::recorder || !facts.counts(m)) continue;
    if (m->format != "recorder-tables")
      others = true;
    else if (f.time.clock != Clock::none)
      looks[f.time.ns][{f.group, f.rank}] = {f.enqueued, f.completed};
    else
      looks.try_emplace(0);
  }
  out.periodic = !looks.empty() && !others;
  if (looks.empty()) return;
  const auto& [last, now] = *looks.rbegin();
  for (const auto& [who, at] : now) pending = pending || at.first > at.second;
  Nanoseconds since = last;
  for (auto look = looks.rbegin(); look != looks.rend() && look->second == now; ++look)
    since = look->first;
  if (!pending || last - since < params.unchanged) return;
  out.proven = true;
  out.why = say(Phrase::unchanged_in_looks, human_duration(last - since));
}

// The kernel names a rank's process that it saw blocked for its time-out and more: no collective of
// the job ends without that rank.
Text blocked_rank(const Facts& facts) {
  std::map<std::pair<std::string, std::int64_t>, std::optional<Rank>> trainers;
  for (const ProcessRow& p : facts.processes)
    if (p.host && (p.rank || p.role == "trainer")) {
      auto& rank = trainers[{short_host(*p.host), p.pid}];
      if (p.rank) rank = p.rank;
    }
  for (const EventRow& e : facts.events) {
    if (!e.traits.has(Trait::hung_task) || !e.pid || !e.host) continue;
    const auto it = trainers.find({short_host(*e.host), *e.pid});
    if (it == trainers.end()) continue;
    return it->second ? say(Phrase::kernel_blocked_rank, *e.host, *it->second)
                      : say(Phrase::kernel_blocked_trainer, *e.host);
  }
  return {};
}

// When somebody ended the job, where the clock of that word is the job's: not a zone apart.
std::optional<Nanoseconds> ended_by_request(const Facts& facts, const LastStep& step) {
  std::optional<Nanoseconds> out;
  for (const EventRow& e : facts.events)
    if (e.traits.has_any({Trait::scheduler_ended, Trait::time_limit}) && e.time_ns &&
        facts.counts(facts.member(e.place.member)) && !zones_apart(*e.time_ns, step.at) &&
        *e.time_ns > step.at && (!out || *e.time_ns < *out))
      out = e.time_ns;
  return out;
}

bool made_all_steps(const Facts& facts) {
  return std::ranges::any_of(facts.progress, [](const ProgressSpan& p) {
    return p.last.iteration && p.last.total && *p.last.total > 0 &&
           *p.last.iteration >= *p.last.total;
  });
}

}  // namespace

Standstill standstill(const Facts& facts, const StandstillParams& params) {
  Standstill out;
  by_age(dumps_of(facts, params), params, out);
  if (!out.proven) by_looks(facts, params, out);
  if (const Text why = blocked_rank(facts); !out.proven && !why.empty()) {
    out.proven = true;
    out.why = why;
  }
  if (out.proven || !facts.exits.empty() || job_completed(facts) || made_all_steps(facts))
    return out;
  if (const auto step = last_logged_step(facts)) {
    const auto looked = looked_at(facts, *step, params);
    if (looked &&
        *looked - step->at >= std::max(params.unknown_timeout, params.steps * step->pace)) {
      out.proven = true;
      out.why = say(Phrase::stacks_after_last_step, human_duration(*looked - step->at));
    }
    const auto ended = ended_by_request(facts, *step);
    if (!out.proven && ended &&
        *ended - step->at >= std::max(params.unknown_timeout, params.steps * step->pace)) {
      out.proven = true;
      out.why = say(Phrase::ended_after_last_step, human_duration(*ended - step->at));
    }
  }
  return out;
}

Text went_on(const Facts& facts, const StandstillParams& params) {
  std::optional<Nanoseconds> dumped;
  for (const CollectiveSample& c : facts.collectives)
    if (c.row.time.clock == Clock::utc)
      dumped = std::max(dumped.value_or(c.row.time.ns), c.row.time.ns);
  for (const FrontierRow& f : facts.frontiers)
    if (f.source == CollectiveSource::work_requests && f.time.clock == Clock::utc)
      dumped = std::max(dumped.value_or(f.time.ns), f.time.ns);
  if (dumped)
    for (const ProgressSpan& p : facts.progress) {
      if (!p.last.time_ns || p.framework == "tqdm") continue;
      // By iterations: many ranks may print the same.
      const bool paced = p.first.time_ns && *p.last.time_ns > *p.first.time_ns &&
                         p.first.iteration && p.last.iteration &&
                         *p.last.iteration > *p.first.iteration;
      const Nanoseconds steps =
          paced ? params.went_on_steps * ((*p.last.time_ns - *p.first.time_ns) /
                                          (*p.last.iteration - *p.first.iteration))
                : params.went_on;
      if (*p.last.time_ns > *dumped + std::clamp(steps, params.least_went_on, params.went_on))
        return say(Phrase::steps_after_dumps);
    }
  bool failed = false, ended = false;
  for (const ExitRow& x : facts.exits) (x.code == 0 ? ended : failed) = true;
  if (ended && !failed) return say(Phrase::ended_with_success);
  return {};
}

HangWord hang_known(const Facts& facts, const std::vector<Signal>& signals) {
  const HangWord word = hang_reported(signals);
  if (word.known || !went_on(facts).empty()) return word;
  const Standstill still = standstill(facts);
  return {still.proven, still.why, still.proven};
}

}  // namespace culprit::analyze
