#include "diagnose/trace.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "diagnose/trace_canvas.hpp"
#include "diagnose/trace_curves.hpp"
#include "model/json.hpp"
#include "model/ranges.hpp"
#include "report/fields.hpp"

namespace culprit::diagnose {

namespace {

using nlohmann::json;

constexpr Nanoseconds kLeast = 1'000'000;  // of a slice for something that took no time

std::optional<Nanoseconds> time_in(const json& object, const char* key) {
  const json& value = report::member(object, key);
  if (!value.is_number_integer() || !drawable(value.get<Nanoseconds>())) return {};
  return value.get<Nanoseconds>();
}

std::string id_of(const json& finding) { return report::text(finding, "id"); }

// Whose a finding is: a rank, a host, or nobody's alone.
struct Owner {
  std::optional<Host> host;
  std::optional<Rank> rank;
};
Owner owner_of(const json& finding) {
  const json& subject = report::member(finding, "subject");
  const json& raw = report::member(subject, "id");
  const std::string kind = report::text(subject, "kind");
  const std::string id = raw.is_string() ? raw.get<std::string>() : "";
  const auto single = [&](const std::string& ranks) -> std::optional<Rank> {
    const std::vector<Rank> all = from_ranges(ranks);
    return all.size() == 1 ? std::optional(all[0]) : std::nullopt;
  };
  if (kind == "rank") return {{}, single(id)};
  if (kind == "host" || kind == "gpu" || kind == "link")
    return {Host(id.substr(0, id.find('/'))), {}};
  return {{}, single(report::text(finding, "ranks"))};
}

class TraceMaker {
 public:
  TraceMaker(const store::Database& db, const analyze::Facts& facts, const std::string& document,
             const TraceLimits& limits)
      : db_(db),
        document_(parse_json(document)),
        canvas_{facts, limits,
                TraceTracks(facts, named(document_).first, named(document_).second, limits)} {}

  Trace make() {
    about();
    findings();
    events();
    draw_steps(db_, canvas_);
    draw_calls(canvas_);
    draw_waits(document_, canvas_);
    Trace& trace = canvas_.trace;
    trace.counters = curves_of(db_, canvas_.facts, named(document_).first, canvas_.tracks,
                               canvas_.limits, canvas_.left_out["metrics"]);
    for (const Trace::Counter& c : trace.counters) canvas_.see(c.points.back().first);
    // Nobody saw the end of a wait: it lasts until the last that is known.
    for (const std::size_t i : canvas_.waiting)
      trace.slices[i].end = std::max(trace.slices[i].end, canvas_.last);
    canvas_.tracks.put_in_order(trace);
    for (const auto& [what, count] : canvas_.left_out)
      if (count > 0) trace.about.emplace_back(what + " left out", std::to_string(count));
    return std::move(trace);
  }

 private:
  static std::pair<std::set<Host>, std::set<Rank>> named(const json& document) {
    std::pair<std::set<Host>, std::set<Rank>> out;
    std::set<std::string> told;
    for (const std::string& id : report::grounds(document)) told.insert(id);
    for (const json& link : report::list(report::member(document, "verdict"), "chain"))
      told.insert(report::text(link, "finding"));
    for (const json& f : report::list(document, "findings"))
      if (told.count(id_of(f)) != 0 || report::text(f, "role") == name(Role::root)) {
        const Owner owner = owner_of(f);
        if (owner.host) out.first.insert(*owner.host);
        if (owner.rank) out.second.insert(*owner.rank);
      }
    return out;
  }

  void about() {
    const json& verdict = report::member(document_, "verdict");
    canvas_.trace.about = {
        {"program", report::text(report::member(document_, "tool"), "name") + " " +
                        report::text(report::member(document_, "tool"), "version")},
        {"bundle", report::text(report::member(document_, "bundle"), "digest")},
        {"verdict",
         report::headline(report::text(verdict, "action"), report::taken_step(document_)) + " " +
             report::accused(document_)},
        {"summary", report::text(verdict, "summary")}};
    const json& incident = report::member(document_, "incident");
    const auto start = time_in(incident, "start_ns"), end = time_in(incident, "end_ns");
    if (start || end) {
      const Nanoseconds begin = start ? *start : *end;
      canvas_.add(canvas_.tracks.track({}, {}, Lane::verdict), begin,
                  std::max(begin + kLeast, end.value_or(begin)), canvas_.trace.about[2].second,
                  "verdict", {{"summary", canvas_.trace.about[3].second}});
    }
  }

  // Each finding that fired, as long as its lines say; arrows from the first one that the verdict
  // rests on to what followed from it.
  void findings() {
    std::set<std::string> causes, told;
    for (const std::string& id : report::grounds(document_)) causes.insert(id);
    const json& chain = report::list(report::member(document_, "verdict"), "chain");
    for (const json& link : chain) told.insert(report::text(link, "finding"));
    std::map<std::string, std::size_t> slice_of;
    std::size_t others = 0;
    for (const json& f : report::list(document_, "findings")) {
      const json& interval = report::member(f, "interval");
      const auto start = time_in(interval, "start_ns");
      const std::string id = id_of(f);
      const bool shown = causes.count(id) != 0 || told.count(id) != 0;
      if (report::text(f, "outcome") != name(Outcome::fired) || !start) continue;
      if (!shown && others++ >= canvas_.limits.findings) {
        ++canvas_.left_out["findings"];
        continue;
      }
      Trace::Args args{{"finding", shown_text(id)},
                       {"class", report::text(f, "class")},
                       {"severity", report::text(f, "severity")},
                       {"role", report::text(f, "role")}};
      if (const json& evidence = report::list(f, "evidence"); !evidence.empty()) {
        args.emplace_back("place", shown_text(report::place(evidence[0])));
        args.emplace_back("words", report::shortened(report::quoted(evidence[0]), kMostWords));
      }
      const Owner owner = owner_of(f);
      slice_of[id] = canvas_.trace.slices.size();
      canvas_.add(canvas_.tracks.track(owner.host, owner.rank, Lane::findings), *start,
                  std::max(time_in(interval, "end_ns").value_or(*start), *start + kLeast),
                  report::shortened(report::text(f, "title"), kMostWords),
                  causes.count(id) != 0 ? "cause" : "finding", std::move(args));
    }
    std::optional<std::size_t> cause;
    for (const json& link : chain) {
      const std::string id = report::text(link, "finding");
      const auto found = slice_of.find(id);
      if (found == slice_of.end()) continue;
      if (causes.count(id) != 0)
        cause = cause ? cause : std::optional(found->second);
      else if (cause)
        canvas_.trace.flows.push_back({*cause, found->second});
    }
  }

  // Each line that a rule knows; of too many, one slice for those of a class on a track, and of
  // still too many, one for those of a class.
  void events() {
    std::vector<const EventRow*> all;
    for (const EventRow& e : canvas_.facts.events)
      if (e.time_ns && drawable(*e.time_ns) && !e.elsewhere &&
          canvas_.facts.counts(canvas_.facts.member(e.place.member)))
        all.push_back(&e);
    // The order of reading is the container's.
    std::ranges::sort(all, {}, [&](const EventRow* a) {
      return std::tuple(*a->time_ns, canvas_.facts.order(a->place.member), a->place.offset);
    });
    std::vector<std::size_t> tracks;
    std::set<std::pair<std::size_t, std::string_view>> kinds;
    for (const EventRow* e : all) {
      tracks.push_back(canvas_.tracks.track(e->host, e->rank, Lane::events));
      kinds.emplace(tracks.back(), e->event_class);
    }
    const bool single = all.size() <= canvas_.limits.events;
    const std::size_t job = canvas_.tracks.track({}, {}, Lane::events);
    struct Sum {
      Nanoseconds begin, end;
      std::uint64_t count = 0, rows = 0;
      const EventRow* first;
    };
    std::map<std::pair<std::size_t, std::string_view>, Sum> sums;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const EventRow& e = *all[i];
      if (single && !canvas_.tracks.shared(tracks[i])) {
        canvas_.see(*e.time_ns);
        canvas_.trace.instants.push_back(
            {tracks[i], *e.time_ns, e.event_class, name(e.severity).data(), args_of(e, e.count)});
        continue;
      }
      const std::size_t track = kinds.size() <= canvas_.limits.events ? tracks[i] : job;
      auto [at, fresh] =
          sums.try_emplace({track, e.event_class}, Sum{*e.time_ns, *e.time_ns, 0, 0, &e});
      at->second.begin = std::min(at->second.begin, *e.time_ns);
      if (e.last_time_ns && drawable(*e.last_time_ns))
        at->second.end = std::max(at->second.end, *e.last_time_ns);
      at->second.end = std::max(at->second.end, *e.time_ns);
      at->second.count += e.count;
      ++at->second.rows;
    }
    for (const auto& [key, sum] : sums)
      canvas_.add(
          key.first, sum.begin, std::max(sum.end, sum.begin + kLeast),
          sum.rows == 1 ? std::string(key.second) : fmt::format("{} ×{}", key.second, sum.rows),
          name(sum.first->severity).data(), args_of(*sum.first, sum.count));
  }

  Trace::Args args_of(const EventRow& e, std::uint64_t count) const {
    Trace::Args args{
        {"line", shown_text(e.message)},
        {"place", fmt::format("{}:{}", shown_text(canvas_.facts.member(e.place.member)->path),
                              e.place.line)},
        {"role", std::string(name(e.role))}};
    if (count > 1) args.emplace_back("lines", std::to_string(count));
    if (e.gpu) args.emplace_back("gpu", shown_text(*e.gpu));
    if (e.nic) args.emplace_back("nic", shown_text(*e.nic));
    if (e.peer) args.emplace_back("peer", shown_text(*e.peer));
    return args;
  }

  const store::Database& db_;
  json document_;
  TraceCanvas canvas_;
};

}  // namespace

Trace trace_of(const store::Database& db, const analyze::Facts& facts, const std::string& document,
               const TraceLimits& limits) {
  return TraceMaker(db, facts, document, limits).make();
}

}  // namespace culprit::diagnose
