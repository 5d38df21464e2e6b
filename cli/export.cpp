// export metrics|steps|events: rows as CSV or JSON lines, for tools that read tables; export trace:
// the incident for Perfetto and Chrome; export card: the incident on one line, to be found again.
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "answer.hpp"
#include "command.hpp"
#include "diagnose/resolve.hpp"
#include "diagnose/trace.hpp"
#include "diagnosed.hpp"
#include "fleet/card.hpp"
#include "incident.hpp"
#include "model/contains.hpp"
#include "model/csv.hpp"
#include "model/json.hpp"
#include "store/utf8.hpp"
#include "pack.hpp"
#include "report/fields.hpp"
#include "report/trace.hpp"
#include "schema/schema.hpp"

namespace culprit::cli {

namespace {

constexpr std::size_t kPrintAt = 1u << 16;

// One table: the head once, then rows of the same columns. null and numbers that are none are empty
// cells.
class RowPrinter {
 public:
  RowPrinter(bool csv, std::vector<std::string> columns) : csv_(csv), columns_(std::move(columns)) {
    if (!csv_) return;
    for (std::size_t i = 0; i < columns_.size(); ++i) out_ += (i == 0 ? "" : ",") + columns_[i];
    out_ += "\n";
  }
  ~RowPrinter() { print(out_); }

  void row(const std::vector<nlohmann::ordered_json>& cells) {
    if (csv_) {
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (i > 0) out_ += ',';
        if (cells[i].is_string())
          out_ += store::valid_utf8(csv_cell(cells[i].get_ref<const std::string&>()));
        else if (!cells[i].is_null())
          out_ += cells[i].dump();
      }
      out_ += "\n";
    } else {
      nlohmann::ordered_json object;
      for (std::size_t i = 0; i < cells.size(); ++i) object[columns_[i]] = cells[i];
      out_ += json_text(object, -1) + "\n";
    }
    if (out_.size() < kPrintAt) return;
    print(out_);
    out_.clear();
  }

 private:
  bool csv_;
  std::vector<std::string> columns_;
  std::string out_;
};

nlohmann::ordered_json cell(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}
template <class T>
nlohmann::ordered_json cell(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}
nlohmann::ordered_json count_cell(std::int64_t value) {
  return value == kNoValue ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
}
nlohmann::ordered_json time_cell(const analyze::Facts& facts, MemberId member, Clock clock,
                                 std::int64_t raw) {
  const auto offset = facts.clock_offset(member, clock);
  return raw == kNoValue || !offset ? nlohmann::ordered_json(nullptr)
                                    : nlohmann::ordered_json(iso_utc(raw + *offset));
}

void export_events(const analyze::Facts& facts, RowPrinter& out) {
  for (const EventRow& e : facts.events) {
    const MemberRow* m = facts.member(e.place.member);
    if (!facts.counts(m)) continue;
    out.row(
        {e.time_ns ? nlohmann::ordered_json(iso_utc(*e.time_ns)) : nlohmann::ordered_json(nullptr),
         cell(e.host), cell(e.rank), cell(e.gpu), cell(e.nic), name(e.severity), name(e.role),
         e.event_class, e.rule, e.count, e.message, m->path, e.place.line});
  }
}

void export_steps(const store::Database& db, const analyze::Facts& facts, RowPrinter& out) {
  std::set<std::pair<std::int64_t, MemberId>> members;  // in the order of their paths
  for (const ProgressSpan& p : facts.progress)
    if (facts.counts(facts.member(p.member))) members.emplace(facts.order(p.member), p.member);
  for (const auto& [order, id] : members) {
    const MemberRow* m = facts.member(id);
    const StepTable t = db.steps(id);
    for (std::size_t i = 0; i < t.size(); ++i)
      out.row({time_cell(facts, id, t.clock, t.times[i]), cell(m->host), cell(m->rank),
               count_cell(t.iteration[i]), cell(t.iteration_ms[i]), cell(t.loss[i]),
               cell(t.grad_norm[i]), t.not_a_number[i] != 0, t.framework, m->path, t.lines[i]});
  }
}

void export_metrics(const store::Database& db, const analyze::Facts& facts, RowPrinter& out) {
  for (const SeriesRow& s : facts.series) {
    const MemberRow* m = facts.member(s.member);
    if (!facts.counts(m)) continue;
    const SeriesPoints p = db.points(s.id);
    for (std::size_t i = 0; i < p.size(); ++i)
      out.row(
          {p.times.empty() ? nlohmann::ordered_json(nullptr)
                           : time_cell(facts, s.member, s.clock, p.times[i]),
           p.steps.empty() ? nlohmann::ordered_json(nullptr) : count_cell(p.steps[i]), s.name,
           s.unit, cell(s.host ? s.host : m->host), cell(s.gpu), cell(s.nic),
           cell(s.rank ? s.rank : m->rank), s.labels, cell(p.values[i]), m->path,
           p.lines.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(p.lines[i])});
  }
}

Result<Exit> export_trace(const Arguments& arguments) {
  CULPRIT_CHECK(check_format(arguments, {"json"}));
  CULPRIT_TRY(pack, load_pack(arguments));
  const std::vector<std::string> sources(arguments.positional().begin() + 1,
                                         arguments.positional().end());
  CULPRIT_TRY(incident, open_diagnosed(arguments, sources, pack));
  const Trace trace = diagnose::trace_of(incident.db, incident.resolved.facts, incident.document);
  CULPRIT_CHECK(incident.db.read_to_the_end());
  print(report::to_trace_json(trace));
  return Exit::finished;
}

// Of each incident a line, in the order given.
Result<Exit> export_cards(const Arguments& arguments) {
  CULPRIT_CHECK(check_format(arguments, {"jsonl"}));
  std::vector<std::vector<std::string>> incidents;
  for (std::size_t i = 1; i < arguments.positional().size(); ++i)
    incidents.push_back({arguments.positional()[i]});
  if (incidents.empty()) incidents.emplace_back();  // of -d
  for (const auto& sources : incidents) {
    CULPRIT_TRY(document, diagnosis_of(arguments, sources));
    const auto card = fleet::card_of(report::without_ledger(document));
    if (!card)
      return fail("this is not a diagnosis that a card can be made of")
          .at({sources.empty() ? database_path(arguments) : sources[0], 0})
          .hint("a database with a verdict, report.json, or a bundle");
    print(*card + "\n");
  }
  return Exit::finished;
}

Result<Exit> run_export(const Arguments& arguments) {
  static const std::vector<std::string> kTables{"events", "steps", "metrics", "trace", "card"};
  if (arguments.positional().empty())
    return usage_error("export takes one of events, steps, metrics, trace, card")
        .hint("culprit export events -d incident.db --format csv");
  const std::string& table = arguments.positional()[0];
  if (arguments.has("out")) CULPRIT_CHECK(answer_into(arguments.get("out")));
  if (table == "trace") return export_trace(arguments);
  if (table == "card") return export_cards(arguments);
  if (!contains(kTables, table)) {
    const std::string near = schema::nearest(table, kTables);
    return usage_error(fmt::format("export has no '{}'", table))
        .hint(near.empty() ? "events, steps, metrics, trace, card"
                           : fmt::format("did you mean '{}'?", near));
  }
  if (arguments.positional().size() != 1 || !arguments.has("db"))
    return usage_error(fmt::format("export {} needs a database", table))
        .hint("culprit export events -d incident.db --format csv");
  CULPRIT_CHECK(check_format(arguments, {"csv", "jsonl"}));
  CULPRIT_TRY(db, open_database(arguments, store::Access::read));
  CULPRIT_TRY(resolved, diagnose::resolve(db, false));
  const bool csv = arguments.get("format", "csv") == "csv" && !arguments.has("json");
  const analyze::Facts& facts = resolved.facts;
  if (table == "events") {
    RowPrinter out(csv, {"time", "host", "rank", "gpu", "nic", "severity", "role", "class", "rule",
                         "count", "message", "path", "line"});
    export_events(facts, out);
  } else if (table == "steps") {
    RowPrinter out(csv, {"time", "host", "rank", "iteration", "iteration_ms", "loss", "grad_norm",
                         "not_a_number", "framework", "path", "line"});
    export_steps(db, facts, out);
  } else {
    RowPrinter out(csv, {"time", "step", "metric", "unit", "host", "gpu", "nic", "rank", "labels",
                         "value", "path", "line"});
    export_metrics(db, facts, out);
  }
  CULPRIT_CHECK(db.read_to_the_end());
  return Exit::finished;
}

constexpr auto kExportOptions = with_read_options({
    {"db,d", "FILE", "the database"},
    {"out,o", "FILE", "the same as --output"},
    {"format", "FORMAT", "csv (the default) or jsonl; a trace is json, a card jsonl"},
    {"json", nullptr, "the same as --format jsonl"},
});

}  // namespace

constinit const Command kExport{
    "export",
    "events, steps or metrics as rows, or the incident as a trace or card",
    "export events|steps|metrics -d FILE [--format csv|jsonl]\n"
    "       culprit export trace INCIDENT [-o FILE]\n"
    "       culprit export card INCIDENT...",
    "  culprit export events -d incident.db > events.csv\n"
    "  culprit export metrics -d incident.db --format jsonl | jq "
    "'select(.metric == \"temperature.gpu\")'\n"
    "  culprit export trace report/incident.db -o trace.json\n"
    "  culprit export card report/incident.db >> cards.jsonl\n\n"
    "  INCIDENT is a database, a folder of `diagnose -o`, or a bundle. "
    "Open the trace in ui.perfetto.dev or\n"
    "  chrome://tracing: hosts and ranks are tracks, arrows lead from "
    "the cause to what followed.\n"
    "  A card is the incident on one line, for `culprit outcome`, "
    "`culprit like` and `culprit fleet`.\n",
    kExportOptions,
    run_export};

}  // namespace culprit::cli
