// Collective calls as slices of a trace.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "diagnose/trace_canvas.hpp"
#include "report/fields.hpp"

namespace culprit::diagnose {

namespace {

struct Call {
  std::size_t track;
  std::string name;
  bool pending;
  Nanoseconds begin, end;
  std::size_t count;
  const CollectiveRow* first;
};

std::optional<Call> call_of(TraceCanvas& canvas, const CollectiveRow& c) {
  const MemberRow* m = canvas.facts.member(c.place.member);
  const auto offset = canvas.facts.clock_offset(c.place.member, c.time.clock);
  if (!canvas.facts.counts(m)) return {};
  std::optional<Nanoseconds> begin = c.started_ns;
  if (!begin && offset && c.time.clock != Clock::none) begin = c.time.ns + *offset;
  if (!begin || !drawable(*begin) || (c.completed_ns && !drawable(*c.completed_ns))) {
    ++canvas.left_out["collectives without a time"];
    return {};
  }
  std::optional<Nanoseconds> end = c.completed_ns;
  if (!end && c.duration_ms && *c.duration_ms >= 0 && *c.duration_ms < kMostMs)
    end = *begin + std::llround(*c.duration_ms * 1e6);
  const bool pending = !end && c.state != "completed";
  const GroupRow* group = canvas.facts.group(c.group);
  const std::string of = group == nullptr              ? ""
                         : !group->description.empty() ? group->description
                                                       : group->name;
  const auto host = c.host ? c.host : m->host;
  const auto rank = c.rank ? c.rank : m->rank;
  return Call{canvas.tracks.track(host, rank, Lane::calls),
              fmt::format("{}{}{}{}", pending ? "waits in " : "", c.operation,
                          of.empty() ? "" : " of ", report::shortened(of, 60)),
              pending,
              *begin,
              end.value_or(*begin),
              1,
              &c};
}

void put_call(TraceCanvas& canvas, Call& call) {
  const CollectiveRow& c = *call.first;
  Trace::Args args{{"state", c.state}};
  if (call.count > 1) {
    args.emplace_back("calls", std::to_string(call.count));
  } else {
    if (c.sequence >= 0) args.emplace_back("sequence", std::to_string(c.sequence));
    if (!c.sizes.empty()) args.emplace_back("sizes", report::shortened(c.sizes, 60));
    if (c.p2p && c.peer != kUnknownRank) args.emplace_back("peer", fmt::format("rank {}", c.peer));
    if (c.timeout_ms) args.emplace_back("timeout_ms", std::to_string(*c.timeout_ms));
  }
  if (call.pending) {
    canvas.waiting.push_back(canvas.trace.slices.size());
    const auto rank = c.rank ? c.rank : canvas.facts.member(c.place.member)->rank;
    if (rank && !canvas.tracks.shared(call.track))
      canvas.waiting_of.emplace(*rank, canvas.trace.slices.size());
  }
  canvas.add(call.track, call.begin, call.end, std::move(call.name),
             call.pending ? "wait" : "collective", std::move(args));
}

}  // namespace

void draw_calls(TraceCanvas& canvas) {
  std::vector<Call> all;
  for (const analyze::CollectiveSample& s : canvas.facts.collectives)
    if (auto call = call_of(canvas, s.row)) all.push_back(std::move(*call));
  std::ranges::sort(all, [&](const Call& a, const Call& b) {
    const auto key = [&](const Call& call) {
      const CollectiveRow& c = *call.first;
      return std::tuple(call.begin, canvas.facts.order(c.place.member), c.place.offset, c.record,
                        c.sequence);
    };
    return key(a) < key(b);
  });
  const bool single = all.size() <= canvas.limits.calls;
  std::map<std::tuple<std::size_t, bool, std::string>, std::size_t> sums;
  std::vector<Call> kept;
  for (Call& call : all) {
    if (single && !canvas.tracks.shared(call.track)) {
      kept.push_back(std::move(call));
      continue;
    }
    const auto [at, fresh] = sums.try_emplace({call.track, !call.pending, call.name}, kept.size());
    if (fresh) {
      kept.push_back(std::move(call));
      continue;
    }
    Call& sum = kept[at->second];
    sum.begin = std::min(sum.begin, call.begin);
    sum.end = std::max(sum.end, call.end);
    ++sum.count;
  }
  // What waits says more than what is done.
  std::stable_partition(kept.begin(), kept.end(), [](const Call& c) { return c.pending; });
  if (kept.size() > canvas.limits.calls)
    canvas.left_out["collectives"] = kept.size() - canvas.limits.calls;
  kept.resize(std::min(kept.size(), canvas.limits.calls), kept.empty() ? Call{} : kept.front());
  for (Call& call : kept) put_call(canvas, call);
}

}  // namespace culprit::diagnose
