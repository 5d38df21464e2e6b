#include "analyze/pace/restart_parts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "analyze/facts/job_pods.hpp"
#include "analyze/facts/path_facts.hpp"
#include "analyze/facts/scheduler_job.hpp"
#include "model/contains.hpp"
#include "model/enum_name.hpp"
#include "model/sort.hpp"
#include "rules/restart_parts.hpp"

namespace culprit::analyze {

namespace {

struct Mark {
  const StartMarkRow* row = nullptr;
  std::optional<Nanoseconds> time;
};

// One stretch of a part: from its first begin to the last end before it begins anew.
struct PartStretch {
  Mark begin, end;  // end.row is null: nothing says that it ended
};

// The attempts of the job by its steps, and to which of them a line belongs that stands before
// their first step.
class StartsOfJob {
 public:
  StartsOfJob(const Facts& facts, const JobSteps& steps) : facts_(facts), steps_(steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (first_.size() <= steps.attempt[i]) first_.resize(steps.attempt[i] + 1, i);
      last_.resize(first_.size(), i);
      last_[steps.attempt[i]] = i;
      lines_[steps.place[i].member].emplace_back(steps.place[i].line, i);
    }
    for (auto& [member, lines] : lines_) sort_rows(lines);
  }

  std::size_t size() const { return first_.size(); }  // attempts that reached a step
  std::size_t first(std::size_t attempt) const { return first_[attempt]; }
  std::optional<Nanoseconds> first_time(std::size_t attempt) const {
    return attempt < size() ? at(first_[attempt]) : std::nullopt;
  }
  std::optional<Nanoseconds> time_before(std::size_t attempt) const {
    return attempt > 0 && attempt <= size() ? at(last_[attempt - 1]) : std::nullopt;
  }

  // The one that comes next, for what may begin while the job still trains.
  std::optional<std::size_t> next(Nanoseconds time) const {
    for (std::size_t k = 0; k < size(); ++k) {
      const auto first = at(first_[k]);
      if (!first) return std::nullopt;
      if (time <= *first) return k;
    }
    return size();
  }
  // Nothing for what was printed while it trained, or for what cannot be placed.
  std::optional<std::size_t> of(const Mark& mark) const {
    const Place& place = mark.row->place;
    const auto own = lines_.find(place.member);
    if (own != lines_.end()) {
      const auto next = std::ranges::upper_bound(own->second, std::pair(place.line, steps_.size()));
      if (next != own->second.end())
        return begins(next->second) ? std::optional(steps_.attempt[next->second]) : std::nullopt;
    }
    if (mark.time) return by_time(*mark.time);
    if (own != lines_.end()) return steps_.attempt[own->second.back().second] + 1;
    const MemberRow* member = facts_.member(place.member);
    if (member == nullptr) return std::nullopt;
    // A listing that gives ages and no dates is of the one start there was.
    if (size() == 1 && mark.row->edge == "took" && !of_earlier_run(member->path) &&
        file_of_run(member->path).age >= 0)
      return 0;
    if (!member->attempt) return std::nullopt;
    for (std::size_t k = 0; k < size(); ++k)
      if (const MemberRow* of = facts_.member(steps_.place[first_[k]].member);
          of != nullptr && of->attempt == member->attempt)
        return k;
    return std::nullopt;
  }

 private:
  bool begins(std::size_t step) const { return first_[steps_.attempt[step]] == step; }
  std::optional<Nanoseconds> at(std::size_t step) const {
    return steps_.time[step] == kNoValue ? std::nullopt : std::optional(steps_.time[step]);
  }
  std::optional<std::size_t> by_time(Nanoseconds time) const {
    const auto k = next(time);
    if (!k || *k == 0) return k;
    const auto trained = at(last_[*k - 1]);
    return trained && *trained < time ? k : std::nullopt;
  }

  const Facts& facts_;
  const JobSteps& steps_;
  std::vector<std::size_t> first_, last_;  // rows, by attempt
  std::map<MemberId, std::vector<std::pair<std::uint64_t, std::size_t>>> lines_;  // and rows
};

// Times of marks in UTC: by what their own log is known by; in a log that no analysis dated, by the
// zone of all others, when these have one. Nothing where they have several.
class MarkTimes {
 public:
  MarkTimes(const Facts& facts, const JobSteps& steps) : facts_(facts) {
    std::set<Nanoseconds> zones;
    for (const MemberClock& c : facts.member_clocks)
      if (c.clock == Clock::local) zones.insert(c.offset);
    for (const EventRow& e : facts.events) {
      if (!e.time_ns || e.time.clock == Clock::none) continue;
      offsets_.try_emplace({e.place.member, e.time.clock}, *e.time_ns - e.time.ns);
      if (e.time.clock == Clock::local) zones.insert(*e.time_ns - e.time.ns);
    }
    if (zones.size() == 1) zone_ = *zones.begin();
    for (const Nanoseconds t : steps.time)
      if (t != kNoValue && !near_) near_ = t;
  }

  std::optional<Nanoseconds> operator()(const StartMarkRow& row) const {
    const Timestamp& t = row.time;
    if (t.clock == Clock::none) return std::nullopt;
    if (const auto offset = facts_.clock_offset(row.place.member, t.clock)) return t.ns + *offset;
    if (const auto it = offsets_.find({row.place.member, t.clock}); it != offsets_.end())
      return t.ns + it->second;
    if (!zone_) return std::nullopt;
    if (t.clock == Clock::local) return t.ns + *zone_;
    if (t.clock != Clock::local_no_year || !near_) return std::nullopt;
    return with_year(t.ns, nearest_year(t.ns, *near_ - *zone_)) + *zone_;
  }

 private:
  const Facts& facts_;
  std::map<std::pair<MemberId, Clock>, Nanoseconds> offsets_;
  std::optional<Nanoseconds> zone_, near_;
};

// Schedulers and kubelets speak of everybody's jobs and pods. Where none is known to be ours, those
// of one name are taken, and of several none.
class Ours {
 public:
  Ours(const Facts& facts, std::span<const StartMarkRow> marks)
      : pods_(facts), job_(job_by_number(facts)) {
    for (const StartMarkRow& m : marks) {
      if (!of_others_too(m)) continue;
      if (is_job(m) && job_.empty()) several_jobs_ = several_jobs_ || note(only_job_, m.about);
      if (is_job(m)) continue;
      known_pods_ = known_pods_ || pods_.ours(m.about);
      several_stems_ = note(only_stem_, pod_stem(m.about)) || several_stems_;
    }
  }
  bool operator()(const StartMarkRow& m) const {
    if (!of_others_too(m)) return true;
    if (is_job(m)) return job_.empty() ? !several_jobs_ : m.about == job_;
    return known_pods_ ? pods_.ours(m.about) : !several_stems_;
  }

 private:
  static bool of_others_too(const StartMarkRow& m) {
    return !m.about.empty() && (m.part == "allocation" || m.part == "container");
  }
  static bool is_job(const StartMarkRow& m) {
    return m.about.find_first_not_of("0123456789") == std::string::npos;
  }
  // Whether it is another than the one noted.
  static bool note(std::string& only, const std::string& now) {
    if (only.empty()) only = now;
    return only != now;
  }

  JobPods pods_;
  std::string job_, only_job_, only_stem_;
  bool several_jobs_ = false, several_stems_ = false, known_pods_ = false;
};

StartMarkRow mark_of(const CheckpointRow& c) {
  return {.place = c.place,
          .time = c.time,
          .part = "checkpoint",
          .edge = c.event == CheckpointEvent::loading ? "begin" : "end"};
}

// Those of one process or pod, in the order of time.
std::vector<PartStretch> stretches_of(std::vector<Mark>& marks) {
  std::ranges::stable_sort(marks, {}, [](const Mark& m) { return *m.time; });
  std::vector<PartStretch> out;
  for (const Mark& mark : marks) {
    const bool begins = mark.row->edge == "begin";
    if (begins && (out.empty() || out.back().end.row != nullptr))
      out.push_back({mark, {}});
    else if (!begins && !out.empty())
      out.back().end = mark;
  }
  return out;
}

class PartsOfStarts {
 public:
  PartsOfStarts(const Facts& facts, const JobSteps& steps, std::vector<StartMarkRow> marks)
      : facts_(facts), steps_(steps), starts_(facts, steps), rows_(std::move(marks)) {
    for (std::size_t k = 0; k <= std::max<std::size_t>(starts_.size(), 1); ++k) {
      Start start{.attempt = static_cast<std::int64_t>(k),
                  .since = starts_.time_before(k),
                  .until = starts_.first_time(k)};
      if (k < starts_.size() && steps.iteration[starts_.first(k)] != kNoValue)
        start.iteration = steps.iteration[starts_.first(k)];
      if (start.since && start.until) start.took = *start.until - *start.since;
      for (const rules::RestartPart& part : rules::restart_parts())
        start.parts.push_back({.name = part.name, .label = part.label});
      out_.push_back(std::move(start));
    }
  }

  std::vector<Start> made() && {
    share_out();
    for (auto& [key, stretches] : stretches_)
      time_part(out_[key.first].parts[key.second], key, stretches);
    for (std::size_t k = 0; k < starts_.size(); ++k) first_step(k);
    // What reached no step was a start when somebody came together for it: who only reads a
    // checkpoint behind the last step evaluates it.
    std::erase_if(out_, [&](const Start& s) {
      const bool reached = static_cast<std::size_t>(s.attempt) < starts_.size();
      constexpr std::string_view kTogether[] = {"allocation", "container", "rendezvous", "nccl"};
      const auto tells = [&](const StartPart& p) {
        if (p.state == PartState::not_seen) return false;
        return reached ? p.name != "first step" : contains(kTogether, p.name);
      };
      return !(reached && s.since) && std::ranges::none_of(s.parts, tells);
    });
    return std::move(out_);
  }

 private:
  using Key = std::pair<std::size_t, std::size_t>;  // start, part

  std::size_t part_index(const std::string& name) const {
    const auto& parts = out_[0].parts;
    return static_cast<std::size_t>(std::ranges::find(parts, name, &StartPart::name) -
                                    parts.begin());
  }

  void share_out() {
    const Ours ours(facts_, rows_);
    const MarkTimes times(facts_, steps_);
    std::map<std::tuple<Key, MemberId, std::string, std::string>, std::vector<Mark>> dated;
    std::map<std::tuple<Key, MemberId, std::string>, double> printed;
    for (const StartMarkRow& row : rows_) {
      const std::size_t part = part_index(row.part);
      if (part == out_[0].parts.size() || !facts_.counts(facts_.member(row.place.member)) ||
          !ours(row))
        continue;
      const Mark mark{&row, times(row)};
      if (row.edge == "took") {
        const double seconds = row.seconds.value_or(0);
        const auto k = starts_.of(mark);
        // What one process printed of several things comes on top; of many pods each has its own.
        if (k && row.who.find_first_not_of(':') == std::string::npos)
          take_printed({*k, part}, mark, seconds);
        else if (k)
          take_printed({*k, part}, mark,
                       printed[{{*k, part}, row.place.member, row.who}] += seconds);
        continue;
      }
      const bool early = mark.time && row.part == "allocation";
      const auto k = early ? starts_.next(*mark.time) : starts_.of(mark);
      if (!k) continue;
      if (mark.time)
        dated[{{*k, part}, row.place.member, row.who, row.about}].push_back(mark);
      else
        see(out_[*k].parts[part], PartState::no_time, mark);
    }
    for (auto& [key, marks] : dated)
      for (const PartStretch& s : stretches_of(marks)) stretches_[std::get<0>(key)].push_back(s);
  }

  // A state that tells more replaces one that tells less.
  void see(StartPart& part, PartState state, const Mark& mark) {
    ++part.lines;
    if (state <= part.state) return;
    part.state = state;
    part.took = part.start = part.end = {};
    part.first = facts_.evidence(mark.row->place);
    part.last = {};
  }

  void take_printed(Key key, const Mark& mark, double seconds) {
    StartPart& part = out_[key.first].parts[key.second];
    see(part, PartState::printed, mark);
    part.took = std::max(part.took.value_or(0), static_cast<Nanoseconds>(seconds * 1e9));
  }

  void time_part(StartPart& part, Key key, std::vector<PartStretch>& all) {
    if (part.name == "first step") return;
    std::vector<PartStretch> closed;
    for (const PartStretch& s : all) {
      see(part, s.end.row != nullptr ? PartState::timed : PartState::no_end, s.begin);
      if (s.end.row == nullptr) continue;
      ++part.lines;
      closed.push_back(s);
    }
    if (closed.empty()) return;
    // A job that waited while the one before it still trained held up nobody.
    if (const auto since = out_[key.first].since)
      for (PartStretch& s : closed) s.begin.time = std::max(*s.begin.time, *since);
    std::ranges::stable_sort(closed, {}, [](const PartStretch& s) { return *s.begin.time; });
    Nanoseconds took = 0, until = *closed.front().begin.time;
    const PartStretch* last = &closed.front();
    for (const PartStretch& s : closed) {
      took += std::max<Nanoseconds>(0, *s.end.time - std::max(until, *s.begin.time));
      until = std::max(until, *s.end.time);
      if (*s.end.time > *last->end.time) last = &s;
    }
    part.took = took;
    part.start = closed.front().begin.time;
    part.end = until;
    part.first = facts_.evidence(closed.front().begin.row->place);
    part.last = facts_.evidence(last->end.row->place);
  }

  // From the line that says that training begins to the line of the first step; else what that line
  // prints, as long as it stands for one step.
  void first_step(std::size_t k) {
    StartPart& part = out_[k].parts[part_index("first step")];
    const std::size_t row = starts_.first(k);
    const auto until = out_[k].until;
    const Mark* begin = nullptr;
    for (const PartStretch& s : stretches_[{k, part_index("first step")}])
      if (until && *s.begin.time <= *until && (begin == nullptr || *begin->time < *s.begin.time))
        begin = &s.begin;
    if (begin != nullptr) {
      see(part, PartState::timed, *begin);
      ++part.lines;
      part.start = begin->time;
      part.end = until;
      part.took = *until - *begin->time;
      part.last = facts_.evidence(steps_.place[row]);
    } else if (!std::isnan(steps_.ms[row]) && !steps_.from_times && row + 1 < steps_.size() &&
               steps_.attempt[row + 1] == k &&
               steps_.iteration[row + 1] == steps_.iteration[row] + 1) {
      part.state = PartState::printed;
      part.took = static_cast<Nanoseconds>(std::clamp(steps_.ms[row], 0.0, 9e12) * 1e6);
      ++part.lines;
      part.first = facts_.evidence(steps_.place[row]);
    }
  }

  const Facts& facts_;
  const JobSteps& steps_;
  StartsOfJob starts_;
  std::vector<StartMarkRow> rows_;
  std::vector<Start> out_;
  std::map<Key, std::vector<PartStretch>> stretches_;
};

}  // namespace

std::string_view name(PartState state) { return enum_name(state); }

std::vector<Start> restart_parts(const Facts& facts, const JobSteps& steps,
                                 std::span<const StartMarkRow> marks,
                                 std::span<const CheckpointRow> checkpoints) {
  std::vector<StartMarkRow> all(marks.begin(), marks.end());
  for (const CheckpointRow& c : checkpoints)
    if (c.event == CheckpointEvent::loading || c.event == CheckpointEvent::loaded)
      all.push_back(mark_of(c));
  return PartsOfStarts(facts, steps, std::move(all)).made();
}

}  // namespace culprit::analyze
