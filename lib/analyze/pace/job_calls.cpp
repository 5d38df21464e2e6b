#include "analyze/pace/job_calls.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "model/phrases.hpp"
#include "model/sort.hpp"

namespace culprit::analyze {

namespace {

// Whose calls: a member, the rank where told, and the process where one member holds several
// ("0x78cf@gpu-a:615").
using Caller = std::tuple<MemberId, Rank, std::string>;

Caller caller_of(const Facts& facts, const HistoryRow& h) {
  const GroupRow* group = facts.group(h.group);
  std::string process;
  if (group != nullptr)
    for (const std::string* text : {&group->description, &group->name})
      if (const std::size_t at = text->find('@');
          text->starts_with("0x") && at != std::string::npos) {
        process = text->substr(at + 1);
        break;
      }
  const MemberRow* m = facts.member(h.member);
  return {h.member, h.rank ? *h.rank : m != nullptr && m->rank ? *m->rank : kNoRank, process};
}

}  // namespace

CallLog longest_call_log(const Facts& facts, std::span<const HistoryRow> histories) {
  std::map<Caller, std::size_t> timed;
  for (const HistoryRow& h : histories)
    if (facts.counts(facts.member(h.member)))
      timed[caller_of(facts, h)] += static_cast<std::size_t>(std::ranges::count_if(
          h.entries, [](const HistoryEntry& e) { return e.created_ns != 0; }));
  const Caller* most = nullptr;
  std::size_t calls = 0;
  for (const auto& [caller, n] : timed)
    if (n > calls ||
        (n == calls && n > 0 && facts.order(std::get<0>(caller)) < facts.order(std::get<0>(*most))))
      most = &caller, calls = n;
  CallLog out;
  if (most == nullptr) return out;
  const auto& [member, rank, process] = *most;
  out.member = member;
  out.name = rank != kNoRank ? fmt::format("rank {}", rank) : process;
  for (const HistoryRow& h : histories) {
    if (!facts.counts(facts.member(h.member)) || caller_of(facts, h) != *most) continue;
    for (const HistoryEntry& e : h.entries) {
      if (e.created_ns == 0) continue;
      const auto offset = e.clock == 0 ? std::optional<Nanoseconds>(0)
                                       : facts.clock_offset(h.member, static_cast<Clock>(e.clock));
      Call call;
      // Only differences count: a clock that nothing ties to UTC measures them as well.
      if (__builtin_add_overflow(e.created_ns, offset.value_or(0), &call.time))
        continue;  // no moment of this world
      call.operation = e.operation;
      call.communicator = static_cast<std::uint64_t>(h.group);
      // The size as it is known, and calls of different sizes within a class told apart.
      call.elements =
          static_cast<std::uint64_t>(std::min(size_of_class(e.size_class), 1e15) * 1024) +
          e.signature % 1024;
      out.calls.push_back(call);
    }
  }
  sort_by(out.calls, &Call::time);
  return out;
}

JobSteps steps_of_calls(const Facts& facts, const CallLog& log, const CallPeriod& period) {
  JobSteps out;
  if (period.method == PeriodMethod::none || period.times.empty()) return out;
  Nanoseconds grain = kSecond;
  for (const Call& call : log.calls)
    while (grain > 1 && call.time % grain != 0) grain /= 10;
  if (period.median < 10 * grain) return out;
  const MemberRow* m = facts.member(log.member);
  out.from_calls = period_words(log, period);
  out.sources.push_back(m == nullptr ? "" : m->path);
  for (std::size_t i = 0; i < period.times.size(); ++i) {
    const bool ordinary = period.ordinary[i] != 0 && period.times[i] > 0;
    out.iteration.push_back(kNoValue);
    out.time.push_back(log.calls[period.starts[i + 1]].time);
    out.ms.push_back(ordinary ? static_cast<double>(period.times[i]) / 1e6 : kNoFigure);
    out.loss.push_back(kNoFigure);
    out.grad_norm.push_back(kNoFigure);
    out.not_a_number.push_back(0);
    out.attempt.push_back(0);
    out.place.push_back({log.member, 0, 0, 0});
  }
  return out;
}

Text period_words(const CallLog& log, const CallPeriod& period) {
  Text out = say(Phrase::iterations_of_calls, log.name, period.times.size(), period.period);
  return period.ambiguous ? out += say(Phrase::maybe_micro_batches) : out;
}

}  // namespace culprit::analyze
