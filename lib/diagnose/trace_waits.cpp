// Who waits for whom, as slices of a trace and arrows from what is waited for.
#include "diagnose/trace_canvas.hpp"
#include "model/ranges.hpp"
#include "report/fields.hpp"

namespace culprit::diagnose {

namespace {

using nlohmann::json;

// Of the ranks of a node, each a slice; the first of them. A call that a recorder shows unfinished
// is the wait already.
std::optional<std::size_t> draw_node(const json& node, const std::string& source, Nanoseconds since,
                                     TraceCanvas& canvas) {
  const bool end = report::member(node, "end") == true;
  const std::string doing = shown_text(report::text(node, "doing"));
  std::optional<std::size_t> first;
  std::set<std::size_t> drawn;  // tracks that many ranks share
  for (const Rank rank : from_ranges(report::text(node, "ranks"))) {
    const auto pending = canvas.waiting_of.find(rank);
    if (!end && pending != canvas.waiting_of.end()) {
      first = first ? first : pending->second;
      continue;
    }
    const std::size_t track = canvas.tracks.track({}, rank, Lane::calls);
    if (canvas.tracks.shared(track) && !drawn.insert(track).second) continue;
    if (canvas.waiting.size() >= canvas.limits.calls) {
      ++canvas.left_out["waits"];
      continue;
    }
    const std::size_t slice = canvas.trace.slices.size();
    first = first ? first : slice;
    canvas.waiting.push_back(slice);
    canvas.add(track, since, since, (end ? "others wait for this: " : "waits: ") + doing,
               end ? "cause" : "wait",
               {{"ranks", shown_text(report::text(node, "ranks"))}, {"told by", source}});
  }
  return first;
}

}  // namespace

void draw_waits(const json& document, TraceCanvas& canvas) {
  const json& waits = report::member(document, "waits");
  const json& nodes = report::list(waits, "nodes");
  const json& start = report::member(report::member(document, "incident"), "start_ns");
  std::optional<Nanoseconds> since = canvas.last_step;
  if (!since && start.is_number_integer()) since = start.get<Nanoseconds>();
  if (!since || !drawable(*since)) return;
  std::vector<std::optional<std::size_t>> first;
  for (const json& node : nodes)
    first.push_back(draw_node(node, report::text(waits, "source"), *since, canvas));
  for (const json& edge : report::list(waits, "edges")) {
    if (!report::member(edge, "from").is_number_unsigned() ||
        !report::member(edge, "to").is_number_unsigned())
      continue;
    const std::uint64_t from = report::count(edge, "from"), to = report::count(edge, "to");
    if (from < first.size() && to < first.size() && first[from] && first[to])
      canvas.trace.flows.push_back({*first[to], *first[from]});
  }
}

}  // namespace culprit::diagnose
