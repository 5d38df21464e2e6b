#include "analyze/pace/slow.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analyze/facts/job_life.hpp"
#include "analyze/metrics/crowd.hpp"
#include "analyze/pace/held_since.hpp"
#include "analyze/pace/slow_alarms.hpp"
#include "model/address.hpp"
#include "model/contains.hpp"
#include "model/ranges.hpp"
#include "model/confidence.hpp"
#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

struct Lead {
  Subject subject;
  std::optional<Host> host;
  std::vector<Rank> ranks;
  double confidence = 0;
  bool own_work = false, metric = false, event = false;
  bool same_work = false;  // it does what the others do, and takes longer
  bool of_part = false;    // its own hardware holds it down
  Text reason;             // what it does, a clause
  Text advice;
  std::vector<Evidence> evidence;
  std::vector<std::string> findings;
  std::set<std::string> entities;    // whose metrics stand out
  std::string first_metric;          // that made it one
  std::vector<std::string> besides;  // further metrics of them
  std::optional<Text> limit;         // that somebody set, and that holds it down
  std::optional<Text> fault;         // that the machine reports as well
  std::size_t crowd = 0;             // the others like them
  double work_ratio = 0;             // own work over that of the others
  std::size_t compared = 0;          // ranks or machines that tell of their work
  std::set<Host> machines;           // of a group that works more
  std::size_t held = 0;  // of them, known by what holds a device down, no effect of waiting
};

Text reason_of(const Lead& lead) {
  return !lead.limit || *lead.limit == lead.reason
             ? lead.reason
             : say(Phrase::limit_and_effect, *lead.limit, lead.reason);
}

// As many as a sentence holds.
std::span<const std::string> first_of(const std::vector<std::string>& names) {
  return std::span(names).first(std::min<std::size_t>(names.size(), 3));
}

std::string id_of(const MetricOutlier& o) {
  return fmt::format("outliers/{}/{}", o.metric, o.outlier.entity);
}

// Whose number it is: node-07/gpu3, node-07/mlx5_2, rank 12, node-07.
Subject subject_of(const MetricOutlier& o) {
  const std::string& name = o.outlier.entity;
  if (name.rfind("rank ", 0) == 0) return {SubjectKind::rank, name.substr(5)};
  const bool device = o.known != nullptr && name != o.host;
  if (device && o.known->entity == "gpu") return {SubjectKind::gpu, name};
  return {device && o.known->entity == "nic" ? SubjectKind::nic : SubjectKind::host, name};
}

std::optional<Host> host_of(const Facts& facts, Rank rank) {
  for (const RankRow& r : facts.ranks)
    if (r.rank == rank) return r.host;
  return std::nullopt;
}

std::vector<Rank> ranks_on(const Facts& facts, const Host& host) {
  std::vector<Rank> out;
  for (const RankRow& r : facts.ranks)
    if (r.host == host) out.push_back(r.rank);
  return out;
}

// Shared length over covered length of two stretches of time.
double overlap(Nanoseconds a, Nanoseconds b, Nanoseconds c, Nanoseconds d) {
  const double both = static_cast<double>(std::min(b, d)) - static_cast<double>(std::max(a, c));
  const double either = static_cast<double>(std::max(b, d)) - static_cast<double>(std::min(a, c));
  return both <= 0 || either <= 0 ? 0 : both / either;
}

std::string plain(double value) {
  return std::abs(value) >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

// Iterations that a row tells of: a log that prints every tenth step prints the time of one of
// them, and a coarse clock times several at once.
double stands_for(const JobSteps& steps, std::size_t i) {
  std::size_t before = i;
  while (before > 0 && steps.attempt[before - 1] == steps.attempt[i]) {
    --before;
    if (!steps.from_times || !std::isnan(steps.ms[before])) break;
  }
  if (before == i || steps.iteration[i] == kNoValue || steps.iteration[before] == kNoValue)
    return 1;
  return static_cast<double>(
      std::max<std::int64_t>(1, steps.iteration[i] - steps.iteration[before]));
}

class Joined {
 public:
  Joined(const Facts& facts, const JobSteps& steps, const FailSlow& report,
         std::span<const OwnWork> own, const OutlierReport& metrics,
         std::span<const Finding> classified, const SlowJobParams& params)
      : facts_(facts),
        steps_(steps),
        report_(report),
        own_(own),
        outliers_(metrics.outliers),
        readings_(metrics.readings),
        metrics_start_(metrics.start),
        metrics_end_(metrics.end),
        metrics_bin_(metrics.bin),
        job_hosts_(readings_.empty() && outliers_.empty() ? std::vector<Host>()
                                                          : hosts_of_job(facts)),
        compared_(metrics.judged > 0),
        classified_(classified),
        params_(params) {
    metrics_name_ours_ =
        !job_hosts_.empty() && std::ranges::any_of(facts.series, [&](const SeriesRow& row) {
          const MemberRow* m = facts.member(row.member);
          const auto& host = row.host || m == nullptr ? row.host : m->host;
          return host && ours(*host);
        });
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (!std::isnan(steps.ms[i])) total_ += steps.ms[i] * stands_for(steps, i);
  }

  std::vector<Finding> findings() {
    std::vector<Finding> out;
    for (std::size_t i = 0; i < report_.intervals.size(); ++i)
      out.push_back(tell(report_.intervals[i], i < own_.size() ? &own_[i] : nullptr));
    return out;
  }

 private:
  Finding tell(const SlowInterval& interval, const OwnWork* own) {
    const SlowParts* parts = own == nullptr ? nullptr : &own->parts;
    Finding f;
    const std::size_t last = interval.end - 1;
    f.analysis = Analysis::slow;
    f.event_class = "slow/interval";
    f.symptom = Symptom::mfu_decline;
    f.severity = Severity::warning;
    f.role = Role::confirmation;
    f.scope = Scope::job_wide;
    f.subject = {SubjectKind::job, "job"};
    // A job that rolls back counts the same steps again.
    f.id = fmt::format("slow/interval/{}", iteration_at(interval.start));
    if (const std::size_t attempt = steps_.attempt[interval.start]; attempt > 0)
      f.id += fmt::format("/attempt/{}", attempt);
    // The step before it ended when it began, unless that was one of another attempt.
    const bool first_of_attempt =
        interval.start == 0 || steps_.attempt[interval.start] != steps_.attempt[interval.start - 1];
    if (const auto t = time_at(first_of_attempt ? interval.start : interval.start - 1))
      f.start = first_of_attempt && interval.start > 0 && !std::isnan(steps_.ms[interval.start])
                    ? *t - static_cast<Nanoseconds>(std::min(steps_.ms[interval.start], 1e9) * 1e6)
                    : *t;
    if (const auto t = time_at(last)) f.end = t;
    f.count = interval.end - interval.start;
    f.title = say(Phrase::steps_took, interval.factor);
    double cost = interval_cost_ms(steps_, interval);
    if (cost == 0 && interval.against_peers)  // no step tells how long it took
      cost = (interval.level - interval.baseline) *
             static_cast<double>(iteration_at(last) - iteration_at(interval.start));
    // Counted in samples, a row stands for thousands; no more was lost than time went by.
    if (f.start && f.end && *f.end > *f.start)
      cost = std::min(cost, static_cast<double>(*f.end - *f.start) / 1e6);
    const double share = total_ > 0 ? cost / total_ : 0;
    // An attempt that ends slow, followed by one that is not: over, too.
    const bool next_is_slow = std::ranges::any_of(
        report_.intervals, [&](const SlowInterval& other) { return other.start == interval.end; });
    const bool over =
        interval.relieved ||
        (interval.end + FailSlowParams{}.min_regime <= steps_.size() && !next_is_slow);
    const bool transient = over && share < params_.transient_share;
    std::vector<Lead> leads = own_work(own);
    // The part of the step that grew on all machines is nobody's.
    const bool later = !over && (own == nullptr || !own->grown);
    metrics(leads, f.start, f.end, later);
    events(leads, f.start, f.end);
    if (!over) rounds(leads);
    if (!over && (own == nullptr || !own->grown)) alarms(leads);
    settle(leads);

    SlowFacts slow{.first = iteration_at(interval.start),
                   .last = iteration_at(last),
                   .baseline_ms = interval.baseline,
                   .level_ms = interval.level,
                   .factor = interval.factor,
                   .cost_s = cost / 1e3,
                   .share = share,
                   .over = over,
                   .transient = transient,
                   .shape = std::string(name(interval.shape)),
                   .from_calls = steps_.from_calls};
    if (facts_.world_size > 0)
      slow.gpu_hours = cost / 3.6e6 * static_cast<double>(facts_.world_size);
    slow.from_start = interval.from_start || first_of_attempt;
    slow.against_peers = interval.against_peers;
    blame(leads, own, f, slow);
    f.facts = slow;
    support(f, slow.first, parts);
    // What the suspect says of itself first: a report shows the first lines.
    step_evidence(f, interval.start);
    step_evidence(f, last);
    if (steps_.reckoned && f.start) f.why += say(Phrase::times_are_reckoned);
    if (!steps_.from_calls.empty()) f.why += say(Phrase::and_besides, steps_.from_calls);
    if (f.host) f.hosts = {*f.host};
    return f;
  }

  // Who stands out, and why: one lead, several alike, or none.
  void blame(const std::vector<Lead>& leads, const OwnWork* own, Finding& f,
             SlowFacts& slow) const {
    if (leads.empty()) {
      f.confidence = confidence::kSlowOver;
      if (own != nullptr && own->grown) {
        const GrownPart& grown = *own->grown;
        slow.grown = rules::name(grown.part);
        f.why = grown.outside_ms > 0
                    ? say(Phrase::part_grew, rules::label(grown.part), grown.name, grown.outside_ms,
                          grown.inside_ms, std::min(1.0, grown.explains) * 100)
                    : say(Phrase::part_dominates, rules::label(grown.part), grown.name,
                          grown.inside_ms, grown.explains * 100);
        return;
      }
      if (own != nullptr && own->load) {
        const UnequalLoad& load = *own->load;
        slow.grown = kUnequalLoad;
        f.why = load.load.empty()
                    ? say(Phrase::load_wanders, load.excess_ms, load.part, load.leads * 100)
                    : say(Phrase::work_follows_load, load.excess_ms, load.part, load.load,
                          load.correlation);
        return;
      }
      const SlowParts* parts = own == nullptr ? nullptr : &own->parts;
      const Text ranks = parts == nullptr ? say(Phrase::no_parts_of_steps)
                         : parts->answer != SlowPartsAnswer::not_enough && !parts->why.empty() &&
                                 own->tellers.empty()
                             ? parts->why
                             : say(Phrase::parts_tell_not);
      f.why = say(compared_ ? Phrase::no_metric_left_crowd : Phrase::no_metrics_to_compare, ranks);
      return;
    }
    const Lead& best = leads.front();
    const bool tie = std::any_of(leads.begin() + 1, leads.end(), [&](const Lead& other) {
      return other.confidence >= best.confidence - 0.05 && differ(best, other);
    });
    const std::set<Host> machines = tie ? held_down(leads, best) : std::set<Host>();
    if (!machines.empty())
      several_stand_out(leads, machines, f, slow);
    else if (tie)
      several_alike(leads, best, f);
    else
      one_stands_out(leads, best, f, slow);
  }

  // Machines that are alike in what holds their devices down: each slows the job. Empty where one
  // of the suspects is known by something else, which may be waiting for a machine that reports a
  // fault, and where they are half of the job.
  std::set<Host> held_down(const std::vector<Lead>& leads, const Lead& best) const {
    std::set<Host> out, group;
    for (const Lead& lead : leads) {
      // What several machines have more to do, because each is held down.
      if (lead.own_work && !lead.host && !lead.machines.empty()) {
        group.insert(lead.machines.begin(), lead.machines.end());
        continue;
      }
      // A machine that reports a fault beside what all of them show is one of them.
      if (lead.event && (!lead.metric || lead.held < 2)) return {};
      if (lead.confidence < best.confidence - 0.05) continue;
      if (!lead.metric || lead.own_work || !lead.host || lead.held < 2) return {};
      out.insert(*lead.host);
    }
    const std::size_t all = job_hosts_.empty() ? facts_.hosts.size() : job_hosts_.size();
    const bool theirs = std::ranges::includes(out, group);
    return theirs && out.size() * 2 < all ? out : std::set<Host>();
  }

  static void several_stand_out(const std::vector<Lead>& leads, const std::set<Host>& machines,
                                Finding& f, SlowFacts& slow) {
    const Lead& best = leads.front();
    f.subject = {SubjectKind::group, fmt::format("{}", fmt::join(machines, ", "))};
    f.hosts.assign(machines.begin(), machines.end());
    f.confidence = best.confidence;
    f.advice = best.advice;
    slow.reason = reason_of(best);
    slow.hardware = true;
    slow.by_limit = best.limit.has_value();
    f.why = say(Phrase::suspect_does, f.subject.id, slow.reason) + say(Phrase::in_same_stretch);
    for (const Lead& lead : leads) {
      if (!lead.host || machines.count(*lead.host) == 0) continue;
      f.evidence.insert(f.evidence.end(), lead.evidence.begin(),
                        lead.evidence.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(
                                                    lead.evidence.size(), 2)));
      f.leads_to.insert(f.leads_to.end(), lead.findings.begin(), lead.findings.end());
    }
  }

  static void several_alike(const std::vector<Lead>& leads, const Lead& best, Finding& f) {
    f.confidence = confidence::kSlowNobody;
    std::set<std::string> names;
    for (const Lead& lead : leads)
      if (lead.confidence >= best.confidence - 0.05)
        names.insert(lead.subject.kind == SubjectKind::rank ? "rank " + lead.subject.id
                                                            : lead.subject.id);
    f.why = say(Phrase::several_alike, fmt::format("{}", fmt::join(names, ", ")));
    for (const Lead& lead : leads)
      for (const std::string& id : lead.findings) f.leads_to.push_back(id);
  }

  static void one_stands_out(const std::vector<Lead>& leads, const Lead& best, Finding& f,
                             SlowFacts& slow) {
    f.subject = best.subject;
    f.host = best.host;
    // Several devices of one machine: what holds them down is the machine's.
    const auto devices = std::ranges::count_if(
        best.entities, [](const std::string& entity) { return contains(entity, "/gpu"); });
    if (f.host && devices > 1 && f.subject.kind == SubjectKind::gpu)
      f.subject = {SubjectKind::host, *f.host};
    // The one machine that stands out is theirs, as far as anything says.
    std::set<Host> machines;
    for (const Lead& lead : leads)
      if (lead.host) machines.insert(*lead.host);
    if (!f.host && machines.size() == 1) f.host = *machines.begin();
    f.ranks = best.ranks;
    f.confidence = best.confidence;
    f.scope = Scope::host_local;
    f.advice = best.advice;
    slow.reason = reason_of(best);
    slow.by_limit = best.limit.has_value();
    if (!best.besides.empty())
      slow.reason +=
          say(Phrase::metrics_besides, fmt::format("{}", fmt::join(first_of(best.besides), ", ")));
    if (best.fault) slow.reason += say(Phrase::and_fault, *best.fault);
    slow.hardware = best.metric || best.event || best.same_work;
    slow.event_only = best.event && !best.metric && !best.own_work;
    slow.of_part = best.of_part;
    slow.work_ratio = best.work_ratio;
    slow.compared = best.compared;
    f.why =
        say(Phrase::suspect_does,
            best.subject.kind == SubjectKind::rank ? "rank " + best.subject.id : best.subject.id,
            best.reason) +
        say(best.own_work && (best.metric || best.event) ? Phrase::times_and_metrics_agree
            : best.own_work                              ? Phrase::while_others_wait
                                                         : Phrase::in_same_stretch);
    f.evidence.insert(f.evidence.end(), best.evidence.begin(), best.evidence.end());
    f.leads_to = best.findings;
  }

  // What a simulation and the process groups add. They name shares, and bear out a suspect; they
  // make none.
  void support(Finding& f, std::int64_t first, const SlowParts* parts) const {
    for (const Finding& c : classified_) {
      if (c.outcome != Outcome::fired) continue;
      if (c.analysis == Analysis::what_if && c.id == fmt::format("what_if/{}", first) &&
          parts != nullptr) {
        f.why += say(Phrase::and_besides, c.title);
      }
      const bool within = !f.ranks.empty() && std::ranges::all_of(f.ranks, [&](Rank r) {
        return std::ranges::binary_search(c.ranks, r);
      });
      if (c.analysis == Analysis::slow_group && within) {
        f.why += say(Phrase::group_of_it, c.subject.id, c.title);
        f.leads_to.push_back(c.id);
      }
    }
  }

  // Whom the program names, where it does not tell by how much.
  std::vector<Lead> named(const OwnWork& own) const {
    if (!own.named || (own.load && !own.load->load.empty())) return {};
    const Rank rank = own.named->rank;
    Lead lead{.subject = {SubjectKind::rank, std::to_string(number_of(rank))},
              .ranks = {rank},
              .confidence = confidence::kSlowByParts,
              .own_work = true};
    lead.host = host_of(facts_, rank);
    lead.evidence = own.evidence;
    lead.reason = say(Phrase::named_slowest, own.named->times, own.named->of);
    lead.advice = say(Phrase::look_at_named, number_of(rank));
    return {std::move(lead)};
  }

  std::vector<Lead> own_work(const OwnWork* own) const {
    std::vector<Lead> out;
    if (own == nullptr) return out;
    const SlowParts* parts = &own->parts;
    if (parts->answer != SlowPartsAnswer::ranks || parts->ranks.empty()) return named(*own);
    // A table of another cluster's machines.
    if (const std::vector<Host> job = hosts_of_job(facts_);
        !own->tellers.empty() && !job.empty() &&
        std::ranges::none_of(own->tellers, [&](const Host& host) {
          return std::ranges::binary_search(job, short_host(host));
        }))
      return out;
    // Who does more because it was given more is not slow.
    if (own->load && !own->load->load.empty()) return out;
    Lead lead{.ranks = parts->ranks, .own_work = true};
    // Explained in full and against its own past is as sure as one source gets.
    lead.confidence = parts->against_outside && parts->explains >= confidence::kExplainsAll
                          ? confidence::kSlowAgainstOutside
                          : confidence::kSlowByParts;
    const bool one = parts->ranks.size() == 1;
    std::set<Host> hosts;
    std::string who;
    if (own->tellers.empty()) {
      for (const Rank rank : parts->ranks)
        if (const auto host = host_of(facts_, rank)) hosts.insert(*host);
      who = one ? fmt::format("rank {}", parts->ranks[0])
                : fmt::format("ranks {}", to_ranges(parts->ranks));
    } else {
      for (const Rank rank : parts->ranks)
        hosts.insert(own->tellers[static_cast<std::size_t>(number_of(rank))]);
      who = fmt::format("{}", fmt::join(hosts, ", "));
    }
    if (hosts.size() == 1) lead.host = *hosts.begin();
    lead.machines = hosts;
    if (!own->tellers.empty())
      lead.ranks = one ? ranks_on(facts_, *lead.host) : std::vector<Rank>();
    lead.subject = one && own->tellers.empty()
                       ? Subject{SubjectKind::rank, std::to_string(number_of(parts->ranks[0]))}
                   : lead.host ? Subject{SubjectKind::host, *lead.host}
                               : Subject{SubjectKind::group, who};
    lead.evidence = own->evidence;
    std::vector<double> theirs, others;
    for (const RankExcess& r : parts->all)
      (std::ranges::binary_search(parts->ranks, r.rank) ? theirs : others).push_back(r.own_inside);
    // A machine is one, however many ranks of it are meant.
    const std::size_t many = lead.subject.kind == SubjectKind::host ? 1 : parts->ranks.size();
    lead.reason = say(Phrase::spends_more, many, plain(parts->excess_ms), parts->part);
    lead.compared = parts->all.size();
    if (const double usual = median_of(others); usual > 0)
      lead.work_ratio = median_of(theirs) / usual;
    if (!theirs.empty() && !others.empty())
      lead.reason +=
          say(Phrase::own_work_of, plain(median_in_place(theirs)), plain(median_in_place(others)));
    if (parts->explains >= 0.995)
      lead.reason += say(Phrase::explains_all);
    else if (parts->explains > 0)
      lead.reason += say(Phrase::explains_share, parts->explains * 100);
    if (own->kernels) {
      lead.same_work = true;
      lead.reason += say(Phrase::same_kernels_longer, own->kernels->factor, own->kernels->kernel,
                         own->kernels->ms, own->kernels->others_ms);
    }
    lead.advice = say(Phrase::look_at_part, who, parts->ranks.size(), parts->part);
    out.push_back(std::move(lead));
    return out;
  }

  void metrics(std::vector<Lead>& leads, const std::optional<Nanoseconds>& start,
               const std::optional<Nanoseconds>& end, bool later) const {
    // What left the crowd with the slow stretch explains it; what was so all the time does not.
    if (start && end)
      for (const MetricOutlier& o : outliers_) {
        // Metrics that end within the stretch say nothing of its rest, and must have left the crowd
        // as it began.
        const Nanoseconds told =
            o.covered == 0 ? *end : std::min(*end, std::max(o.covered, o.outlier.end));
        const double least = told < *end ? params_.matching_begin : params_.matching;
        // Metrics that begin within it do not show what was so before: it must be far from usual.
        constexpr double kManifold = 3;
        const bool manifold = o.outlier.value > kManifold * o.outlier.crowd ||
                              kManifold * o.outlier.value < o.outlier.crowd;
        const Nanoseconds from =
            manifold && told > metrics_start_ ? std::max(*start, metrics_start_) : *start;
        if (o.known != nullptr && !of_another_job(o) &&
            overlap(from, told, o.outlier.start, o.outlier.end) >= least)
          add_metric(leads, o);
      }
    for (const MetricOutlier& o : readings_)
      if (!o.evidence.empty() && may_explain(o, start, end, later)) add_metric(leads, o);
    if (leads.empty() && later && (!start || !facts_.zone_known || facts_.day_assumed))
      for (const MetricOutlier* o : held(start)) add_metric(leads, *o);
  }

  std::vector<const MetricOutlier*> held(const std::optional<Nanoseconds>& start) const {
    const auto known = [](Nanoseconds t) { return t != kNoValue; };
    const auto first = std::ranges::find_if(steps_.time, known);
    const auto of_job = [&](const Host& host) { return job_hosts_.empty() || ours(host); };
    HeldSearch search{outliers_, metrics_start_, metrics_end_, metrics_bin_, start, {}, {}, of_job};
    if (first != steps_.time.end() && !facts_.zone_moved) {
      search.first_step = *first;
      search.last_step = *std::ranges::find_if(steps_.time.rbegin(), steps_.time.rend(), known);
    }
    return held_since(search);
  }

  // Or nothing tells where it ran.
  bool of_job(const Host& host) const {
    if (!all_hosts_) all_hosts_ = hosts_of_job(facts_);
    return all_hosts_->empty() || std::ranges::binary_search(*all_hosts_, short_host(host));
  }

  bool ours(const Host& host) const {
    return std::ranges::binary_search(job_hosts_, short_host(host));
  }

  // Where metrics name machines as the job does. An address that is none of them is nobody's.
  bool of_another_job(const MetricOutlier& o) const {
    if (job_hosts_.empty() || o.host.empty() || ours(o.host)) return false;
    return metrics_name_ours_ || is_address(o.host);
  }

  // A single reading counts that was taken in the stretch, or not long after the last step of one
  // that is not over. Of one at no known time a reason for which hardware holds a GPU down does: an
  // idle one has none; and a link that trained down.
  bool may_explain(const MetricOutlier& o, const std::optional<Nanoseconds>& start,
                   const std::optional<Nanoseconds>& end, bool later) const {
    if (of_another_job(o)) return false;
    // Nor has a low clock, where those of all others are as high as at work.
    constexpr std::size_t kManyAlike = 8;
    constexpr double kFarBelow = 0.8;
    const bool alone = o.known->bad == rules::MetricSide::low && o.outlier.size >= kManyAlike &&
                       o.outlier.value < kFarBelow * o.outlier.crowd;
    if (o.outlier.start == kNoValue || !start || !end)
      return o.known->zero_above || o.known->at_rest || alone;
    const Nanoseconds behind = later ? std::max(10 * kMinute, 2 * (*end - *start)) : 0;
    return o.outlier.start >= *start && o.outlier.start <= *end + behind;
  }

  void add_metric(std::vector<Lead>& leads, const MetricOutlier& o) const {
    const Text reason = o.against.empty()
                            ? say(Phrase::metric_against, o.metric, plain(o.outlier.value),
                                  plain(o.outlier.crowd), o.outlier.size - 1)
                            : say(Phrase::metric_against_metrics, o.metric, plain(o.outlier.value),
                                  fmt::format("{}", fmt::join(o.against, ", ")),
                                  plain(o.outlier.crowd), o.outlier.size - 1);
    Lead* known = nullptr;
    for (Lead& lead : leads)
      if (same_entity(lead, o)) known = &lead;
    // What a rank reports of its own steps is the source that own work was told from: it agrees
    // with itself, and says nothing of the machine.
    const bool own_times = o.known->entity == "rank";
    if (own_times && known != nullptr && known->own_work) return;
    if (known == nullptr) {
      Lead lead;
      lead.subject = subject_of(o);
      if (!o.host.empty()) lead.host = o.host;
      if (lead.subject.kind == SubjectKind::rank)
        lead.ranks = {Rank(std::strtoll(lead.subject.id.c_str(), nullptr, 10))};
      else if (lead.host && lead.subject.kind == SubjectKind::host)
        lead.ranks = ranks_on(facts_, *lead.host);
      lead.confidence = o.outlier.method == "reading" ? confidence::kSlowByMetrics
                        : o.against.empty()           ? confidence::kSlowByStacks
                                                      : confidence::kOutlierRelation;
      lead.reason = reason;
      lead.first_metric = o.metric;
      leads.push_back(std::move(lead));
      known = &leads.back();
    } else {
      known->confidence = std::max(
          known->confidence, known->own_work ? confidence::kSlowOwnWork : confidence::kSlowByParts);
      if (!known->metric && !(known->reason == reason))
        known->reason += say(Phrase::and_metric_of, o.outlier.entity, reason);
      else if (known->metric && o.metric != known->first_metric &&
               !contains(known->besides, o.metric))
        known->besides.push_back(o.metric);
    }
    if (!own_times) known->metric = true;
    if (known->entities.insert(o.outlier.entity).second && o.known->by_reading()) ++known->held;
    known->of_part = known->of_part || o.known->by_hardware();
    known->crowd = std::max(known->crowd, o.outlier.size);
    if (Text advice = advice_for(o); !advice.empty() && (o.known->limit || !known->limit))
      known->advice = std::move(advice);
    if (o.known->limit) known->limit = reason;
    known->findings.push_back(id_of(o));
    if (known->evidence.size() < 4)
      known->evidence.insert(known->evidence.end(), o.evidence.begin(), o.evidence.end());
  }

  // A fault that a machine reports in the middle of the slow stretch, and not before.
  void events(std::vector<Lead>& leads, const std::optional<Nanoseconds>& start,
              const std::optional<Nanoseconds>& end) const {
    if (!start || !end) return;
    static const std::set<Symptom> kSlowing = {
        Symptom::mfu_decline,      Symptom::thermal,          Symptom::network_congestion,
        Symptom::infiniband_error, Symptom::gpu_unavailable,  Symptom::cpu_overload,
        Symptom::disk_fault,       Symptom::filesystem_mount, Symptom::switch_fault};
    for (const Finding& c : classified_) {
      // What several machines report at once is not of one of them, and a switch is none.
      if (c.analysis != Analysis::classify || c.outcome != Outcome::fired || !c.host || !c.start ||
          c.hosts.size() > 1 || c.cause == CauseKind::shared || !of_job(*c.host))
        continue;
      // Who prints what the program does speaks for all ranks.
      if (c.cause == CauseKind::program && c.scope == Scope::job_wide) continue;
      // What may slow a machine has to begin when it became slow.
      constexpr Nanoseconds kBefore = 5 * kMinute, kBehind = 2 * kMinute;
      if (c.traits.has(Trait::may_slow) &&
          (*c.start < *start - kBefore || *c.start > *start + kBehind))
        continue;
      const Nanoseconds slack = std::max<Nanoseconds>(c.uncertainty, (*end - *start) / 10);
      if (c.traits.has(Trait::in_storms)
              ? !storm_within(facts_, c, *start - slack, *end)
              : kSlowing.count(c.symptom) == 0 || c.severity < Severity::warning ||
                    *c.start < *start - slack || *c.start > *end)
        continue;
      add_event(leads, c);
    }
  }

  // A fault that a machine reports of itself, at no known time.
  void alarms(std::vector<Lead>& leads) const {
    if (!leads.empty()) return;
    const auto ours = [&](const Host& host) { return of_job(host); };
    for (const Finding* c : alarms_without_moment(facts_, classified_, ours)) add_event(leads, *c);
  }

  void add_event(std::vector<Lead>& leads, const Finding& c) const {
    Lead* known = nullptr;
    for (Lead& lead : leads)
      if (lead.host == c.host) known = &lead;
    if (known == nullptr) {
      leads.push_back(Lead{
          .subject = c.subject.kind == SubjectKind::gpu || c.subject.kind == SubjectKind::nic
                         ? c.subject
                         : Subject{SubjectKind::host, *c.host},
          .host = c.host,
          .ranks = c.ranks,
          .confidence = confidence::kSlowByMetrics,
          .reason = c.traits.has(Trait::in_storms) ? say(Phrase::reports_storm, c.count, c.title)
                                                   : say(Phrase::reports_fault, c.title),
          .advice = c.advice});
      known = &leads.back();
    } else {
      known->confidence = std::max(known->confidence, known->own_work ? confidence::kSlowOwnWork
                                                                      : confidence::kSlowEventToo);
    }
    if (known->metric && !known->fault) known->fault = c.title;
    known->event = true;
    known->of_part = known->of_part || holds_part_down(c) || c.traits.has(Trait::in_storms);
    known->findings.push_back(c.id);
    known->evidence.insert(known->evidence.end(), c.evidence.begin(),
                           c.evidence.begin() + static_cast<std::ptrdiff_t>(
                                                    std::min<std::size_t>(c.evidence.size(), 2)));
  }

  // Looks at the stacks, taken while the job is slow: the parallel group that is the exception in
  // most of them (ByteRobust, section 5). A group is a direction to look in; with another source
  // that names one of its ranks it is a second witness.
  void rounds(std::vector<Lead>& leads) const {
    for (const Finding& c : classified_) {
      if (c.analysis != Analysis::stacks || c.outcome != Outcome::fired ||
          c.event_class != "slow_group" || c.ranks.empty())
        continue;
      const auto within = [&](Rank r) { return contains(c.ranks, r); };
      bool borne_out = false;
      for (Lead& lead : leads) {
        if (lead.ranks.empty() || !std::ranges::all_of(lead.ranks, within)) continue;
        lead.confidence = std::max(
            lead.confidence, lead.own_work ? confidence::kSlowStacksToo : confidence::kSlowByParts);
        lead.findings.push_back(c.id);
        borne_out = true;
      }
      if (borne_out) continue;
      Lead lead;
      lead.subject = c.hosts.size() == 1 ? Subject{SubjectKind::host, c.hosts.front()} : c.subject;
      if (c.hosts.size() == 1) lead.host = c.hosts.front();
      lead.ranks = c.ranks;
      lead.confidence = c.hosts.size() == 1 ? confidence::kSlowByMetrics : confidence::kSlowGroup;
      const auto* odd = std::get_if<OddStackFacts>(&c.facts);
      lead.reason = say(Phrase::exception_in_looks, to_ranges(c.ranks),
                        odd == nullptr ? 0 : odd->flags, odd == nullptr ? 0 : odd->rounds);
      lead.advice = say(Phrase::compare_ranks, to_ranges(c.ranks));
      lead.findings.push_back(c.id);
      lead.evidence.assign(c.evidence.begin(),
                           c.evidence.begin() + static_cast<std::ptrdiff_t>(
                                                    std::min<std::size_t>(c.evidence.size(), 2)));
      leads.push_back(std::move(lead));
    }
  }

  void settle(std::vector<Lead>& leads) const {
    // Everything slow everywhere is nobody's fault: more than a quarter of the machines, or of the
    // devices that were compared, cannot all be the odd ones. A limit was set on each.
    std::set<Host> hosts;
    std::size_t entities = 0, crowd = 0;
    for (const Lead& lead : leads) {
      if (lead.host) hosts.insert(*lead.host);
      entities += lead.entities.size();
      crowd = std::max(crowd, lead.crowd);
    }
    const bool few_devices = entities > hosts.size() && entities * 4 <= crowd;
    if (facts_.hosts.size() >= 4 && hosts.size() * 4 > facts_.hosts.size() && hosts.size() > 1 &&
        !few_devices)
      std::erase_if(leads, [](const Lead& lead) { return !lead.own_work && !lead.limit; });
    sort_by(leads, [](const Lead& a) { return std::tuple(-a.confidence, a.subject); });
    if (leads.size() > params_.most) leads.resize(params_.most);
  }

  // Two suspects that cannot be one: on different machines, or different ranks. Where nothing ties
  // ranks to machines, a machine and a rank may well be the same.
  bool differ(const Lead& a, const Lead& b) const {
    if (a.host && b.host) return a.host != b.host;
    if (a.ranks.empty() || b.ranks.empty()) return !a.own_work && !b.own_work;
    return std::ranges::none_of(a.ranks, [&](Rank r) { return contains(b.ranks, r); });
  }

  bool same_entity(const Lead& lead, const MetricOutlier& o) const {
    const Subject subject = subject_of(o);
    if (lead.subject == subject) return true;
    if (subject.kind == SubjectKind::rank)
      return std::ranges::any_of(
          lead.ranks, [&](Rank r) { return std::to_string(number_of(r)) == subject.id; });
    if (!lead.host || *lead.host != o.host) return false;
    // A GPU by its index, where ranks count GPUs: one GPU a rank.
    const std::size_t index = subject.id.find("/gpu");
    if (subject.kind == SubjectKind::gpu && lead.subject.kind == SubjectKind::rank &&
        index != std::string::npos)
      for (const RankRow& r : facts_.ranks)
        if (r.rank == lead.ranks[0] && r.local_rank &&
            subject.id.find_first_not_of("0123456789", index + 4) == std::string::npos)
          return std::to_string(number_of(*r.local_rank)) == subject.id.substr(index + 4);
    return true;
  }

  std::int64_t iteration_at(std::size_t i) const {
    return i < steps_.size() && steps_.iteration[i] != kNoValue ? steps_.iteration[i]
                                                                : static_cast<std::int64_t>(i);
  }
  std::optional<Nanoseconds> time_at(std::size_t i) const {
    return i < steps_.size() && steps_.time[i] != kNoValue ? std::optional(steps_.time[i])
                                                           : std::nullopt;
  }

  void step_evidence(Finding& f, std::size_t i) const {
    if (i >= steps_.size() || steps_.place[i].line == 0) return;
    std::string excerpt;
    if (steps_.iteration[i] != kNoValue) excerpt = fmt::format("iteration={}", steps_.iteration[i]);
    if (!std::isnan(steps_.ms[i]))
      excerpt += fmt::format("{}ms={:.6g}", excerpt.empty() ? "" : " ", steps_.ms[i]);
    f.evidence.push_back(facts_.evidence(steps_.place[i], excerpt));
  }

  const Facts& facts_;
  const JobSteps& steps_;
  const FailSlow& report_;
  std::span<const OwnWork> own_;
  std::span<const MetricOutlier> outliers_, readings_;
  const Nanoseconds metrics_start_, metrics_end_;       // first and last sample
  const Nanoseconds metrics_bin_;                       // grain of what stands out
  const std::vector<Host> job_hosts_;                   // sorted; empty: not known
  mutable std::optional<std::vector<Host>> all_hosts_;  // the same, once it is asked for
  bool metrics_name_ours_ = false;                      // some of them
  bool compared_;
  std::span<const Finding> classified_;
  const SlowJobParams& params_;
  double total_ = 0;
};

}  // namespace

double interval_cost_ms(const JobSteps& steps, const SlowInterval& interval) {
  double cost = 0;
  for (std::size_t i = interval.start; i < interval.end; ++i)
    if (!std::isnan(steps.ms[i])) cost += (steps.ms[i] - interval.baseline) * stands_for(steps, i);
  return cost;
}

std::vector<Finding> slow_findings(const Facts& facts, const JobSteps& steps,
                                   const FailSlow& report, std::span<const OwnWork> own,
                                   const OutlierReport& metrics,
                                   std::span<const Finding> classified,
                                   const SlowJobParams& params) {
  std::vector<Finding> out =
      Joined(facts, steps, report, own, metrics, classified, params).findings();
  if (!out.empty()) return out;
  Finding f{.id = "slow/none",
            .analysis = Analysis::slow,
            .outcome = report.enough ? Outcome::ruled_out : Outcome::not_enough_evidence,
            .subject = {SubjectKind::job, "job"},
            .event_class = "slow/interval",
            .scope = Scope::job_wide,
            .title = say(Phrase::pace_of_job),
            .count = steps.size()};
  double usual = 0;
  std::size_t longest = 0;
  for (const AttemptPace& a : report.attempts)
    if (a.judged && a.end - a.start > longest) longest = a.end - a.start, usual = a.baseline;
  constexpr std::size_t kTail = 8;  // a checkpoint or an evaluation may take a few
  if (!report.unconfirmed.empty() &&
      report.unconfirmed.front().end - report.unconfirmed.front().start >= kTail) {
    const SlowInterval& tail = report.unconfirmed.front();
    f.outcome = Outcome::not_enough_evidence;
    f.event_class = "slow/tail";
    f.why = say(Phrase::slow_at_the_end, tail.end - tail.start, tail.factor);
    for (const std::size_t i : {tail.start, tail.end - 1})
      if (i < steps.size() && steps.place[i].line != 0)
        f.evidence.push_back(facts.evidence(steps.place[i], fmt::format("ms={:.6g}", steps.ms[i])));
    return {f};
  }
  if (steps.size() == 0)
    f.why = say(Phrase::no_step_durations);
  else if (!report.enough)
    f.why = report.reason;
  else
    f.why = say(Phrase::none_slow_for_long, steps.size(), plain(usual));
  if (!steps.from_calls.empty()) f.why += say(Phrase::and_besides, steps.from_calls);
  f.confidence = report.enough ? confidence::kSlowSettled : 0;
  return {f};
}

}  // namespace culprit::analyze
