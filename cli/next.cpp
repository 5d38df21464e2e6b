// next INCIDENT: the observation that is most worth having, of whom, and what its results mean.
#include <algorithm>

#include <fmt/format.h>

#include "collect.hpp"
#include "command.hpp"
#include "incident.hpp"
#include "model/hostlist.hpp"
#include "model/json.hpp"
#include "pack.hpp"
#include "report/fields.hpp"
#include "report/report.hpp"
#include "report/terminal.hpp"
#include "terminal.hpp"

namespace culprit::cli {

namespace {

using Json = nlohmann::ordered_json;

// What `report` prints first under "collect:", with what gives it where that is known.
struct Observed {
  std::string text;  // "": nothing is asked for
  const collect::Wish* wish = nullptr;
  std::vector<const collect::Observation*> files;
  std::vector<std::string> hosts;  // of whom; empty: of the scheduler alone, or no host is known
};

Observed observed(const nlohmann::json& verdict, const collect::Request& request) {
  Observed out;
  for (const nlohmann::json& step : report::list(verdict, "next"))
    if (report::text(step, "kind") == "collect") {
      out.text = report::text(step, "text");
      break;
    }
  const auto same = [&](const collect::Wish& w) { return report::visible(w.text) == out.text; };
  const auto wish = std::ranges::find_if(request.wishes, same);
  if (wish == request.wishes.end()) return out;
  out.wish = &*wish;
  out.files = collect::observations_of(wish->source, request.place);
  if (std::ranges::any_of(out.files, [](const auto* o) { return !o->on_job; }))
    out.hosts = wish->hosts.empty() ? request.hosts : wish->hosts;
  return out;
}

std::string answer(const nlohmann::json& document, const Observed& next) {
  if (!next.text.empty()) return "collect: " + next.text;
  const std::string who = report::accused(document);
  return fmt::format("nothing to collect: the verdict ({}{}) asks for nothing more",
                     report::headline(report::text(report::member(document, "verdict"), "action"),
                                      report::taken_step(document)),
                     who.empty() ? "" : " " + who);
}

std::string text_of(const Arguments& arguments, const nlohmann::json& document,
                    const std::string& place, const collect::Request& request,
                    const Observed& next) {
  const std::size_t width = std::clamp<std::size_t>(terminal_width(), 60, 160);
  const report::Ink ink{use_color(arguments)};
  std::string out = report::paragraph("", answer(document, next), width, 9);
  if (next.wish == nullptr) return out;
  if (!next.hosts.empty())
    out += report::paragraph("hosts:   ", report::visible(fold_hostlist(next.hosts)), width, 9, 9);
  out += "\n" + ink.bold("WHAT EACH RESULT MEANS") + "\n";
  for (const collect::Observation* o : next.files) {
    out += report::paragraph("  ", o->file + ": " + o->answers, width, 4, 2);
    for (const std::string& one : o->means) out += report::paragraph("    - ", one, width, 6, 6);
  }
  out += "\n" + ink.bold("HOW TO COLLECT IT") + "\n";
  out += fmt::format("  $ culprit next {} --script > collect.sh\n",
                     place.empty() ? "INCIDENT" : place);
  out += "  $ less collect.sh; sh collect.sh\n";
  if (const std::size_t others = request.wishes.size() - 1; others > 0)
    out += fmt::format("  The script also collects the {} that the report asks for next.\n",
                       others == 1 ? "one thing" : fmt::format("{} things", others));
  return out;
}

Json json_of(const nlohmann::json& document, const collect::Request& request,
             const Observed& next) {
  Json files = Json::array();
  for (const collect::Observation* o : next.files)
    files.push_back({{"file", o->file},
                     {"on", o->on_job ? "job" : "host"},
                     {"command", o->command},
                     {"answers", o->answers},
                     {"means", o->means}});
  Json out{{"schema", "culprit.next/1"}, {"answer", answer(document, next)}, {"collect", nullptr}};
  if (!next.text.empty())
    out["collect"] = {{"text", next.text},
                      {"source", next.wish == nullptr ? Json() : Json(name(next.wish->source))},
                      {"hosts", next.hosts},
                      {"files", std::move(files)}};
  out["in_script"] = request.wishes.size();
  return out;
}

Result<Exit> run_next(const Arguments& arguments) {
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  if (arguments.has("script") && wants_json(arguments))
    return usage_error("--script and --json exclude each other");
  CULPRIT_TRY(pack, load_pack(arguments));
  CULPRIT_TRY(incident, open_diagnosed(arguments, arguments.positional(), pack));
  collect::Request request;
  CULPRIT_CHECK(ask_of_verdict(arguments, incident, request));
  CULPRIT_CHECK(incident.db.read_to_the_end());
  if (arguments.has("script")) {
    CULPRIT_TRY(script, script_of_verdict(incident, request));
    print(script);
    return Exit::finished;
  }
  // JSON is for programs: the same bytes wherever the incident lies.
  const bool as_json = wants_json(arguments);
  const std::string place = as_json ? "" : place_of(arguments, incident.path);
  const nlohmann::json document =
      report::without_ledger(report::with_place(incident.document, place));
  const Observed next = observed(report::member(document, "verdict"), request);
  print(as_json ? identified(json_text(json_of(document, request, next)) + "\n")
                : text_of(arguments, document, place, request, next));
  return Exit::finished;
}

constexpr auto kNextOptions = with_read_options({
    {"script", nullptr, "print the script that collects it: that of `culprit collect --from`"},
    {"db,d", "FILE", "the database of the incident"},
    {"format", "FORMAT", "text or json"},
    {"json", nullptr, "the same as --format json"},
});

}  // namespace

constinit const Command kNext{
    "next",
    "the observation that is most worth having now",
    "next INCIDENT [--script] [options]",
    "  culprit next report/incident.db\n"
    "  culprit next job.tar.gz --script > collect.sh; less collect.sh; sh collect.sh\n\n"
    "  What `diagnose` asks for first under NEXT STEPS: of which hosts, with which files, and "
    "what\n"
    "  each result means. `culprit collect --from` has the options that say where the job ran.\n",
    kNextOptions,
    run_next};

}  // namespace culprit::cli
