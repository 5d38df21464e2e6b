// SARIF 2.1.0: each finding a result, each class of findings a rule, locations in the files of the
// bundle. What the verdict rests on is an error, what fired besides a warning or a note; what was
// ruled out is a pass, and what could not be decided is open.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "model/contains.hpp"
#include "report/fields.hpp"
#include "report/report.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;
using ordered = nlohmann::ordered_json;

constexpr std::size_t kMostResults = 5000;  // what code-scanning services take of one run
constexpr std::size_t kMostLocations = 10;  // of one result
constexpr char kVerdictRule[] = "culprit/verdict";

// A path as a relative reference: whatever is not plain stands as %XX, a name cannot begin a
// scheme or climb.
std::string uri(const std::string& path) {
  static constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string out;
  for (const char c : path) {
    if (contains(kPlain, c))
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  while (out.starts_with('/')) out.erase(0, 1);
  return out;
}

ordered message(const std::string& text) {
  return {{"text", text.empty() ? std::string("no text") : text}};
}

ordered physical(const json& evidence) {
  ordered region;
  if (const std::uint64_t line = count(evidence, "line"); line != 0) {
    region["startLine"] = line;
    if (const std::string quoted = text(evidence, "excerpt"); !quoted.empty())
      region["snippet"] = {{"text", quoted}};
  } else {
    region["byteOffset"] = count(evidence, "byte_offset");
  }
  const json& path = member(evidence, "path");
  return {
      {"artifactLocation",
       {{"uri", uri(path.is_string() ? path.get<std::string>() : "")}, {"uriBaseId", "BUNDLE"}}},
      {"region", std::move(region)}};
}

ordered locations(const json& finding) {
  ordered out = ordered::array();
  const json& subject = member(finding, "subject");
  const json& all = list(finding, "evidence");
  for (std::size_t i = 0; i < all.size() && i < kMostLocations; ++i)
    out.push_back({{"physicalLocation", physical(all[i])}});
  if (const std::string id = text(subject, "id"); !id.empty()) {
    if (out.empty()) out.push_back(ordered::object());
    out[0]["logicalLocations"] = ordered::array({{{"name", id}, {"kind", text(subject, "kind")}}});
  }
  return out;
}

std::string rule_of(const json& finding) {
  const std::string name = text(finding, "class");
  return text(finding, "analysis") + (name.empty() ? "" : "/" + name);
}

std::string level_of(const json& finding, bool ground) {
  if (ground) return "error";
  return text(finding, "severity") == "info" ? "note" : "warning";
}

// The sentences of classify are those of a class; other analyses speak of one host or rank.
std::string help_of(const json& finding) {
  return text(finding, "analysis") == "classify" ? text(finding, "why") : text(finding, "title");
}

struct Run {
  ordered rules = ordered::array();
  ordered results = ordered::array();
  std::map<std::string, std::size_t> index;

  // Of a class: what holds for one host or rank alone stands in the result's message.
  std::size_t rule(const std::string& id, const std::string& title, const std::string& help) {
    const auto [it, added] = index.emplace(id, rules.size());
    if (added)
      rules.push_back({{"id", id},
                       {"shortDescription", message(title)},
                       {"help", message(help.empty() ? title : help)}});
    return it->second;
  }
};

void add_verdict(const json& d, Run& run) {
  const json& verdict = member(d, "verdict");
  const std::string action = text(verdict, "action");
  ordered result = {{"ruleId", kVerdictRule}};
  result["ruleIndex"] = run.rule(
      kVerdictRule, "The verdict on the job",
      "What ended, stopped or slowed the job, and what to do next; `culprit report` prints "
      "the whole reasoning.");
  result["kind"] = action == "none" ? "pass" : "fail";
  result["level"] = action == "none" ? "none" : "error";
  std::string said = headline(action, taken_step(d)) + ": " + text(verdict, "summary");
  for (const json& next : list(verdict, "next")) said += "\n- " + text(next, "text");
  result["message"] = message(said);
  std::string others;
  for (const json& c : alternatives(d))
    others += "\nalso possible: " + text(c, "name") + ": " + text(c, "what") +
              "; against it: " + text(c, "against");
  if (!others.empty()) result["message"] = message(said + others);
  const auto because = grounds(d);
  for (const json& f : list(d, "findings"))
    if (!because.empty() && member(f, "id") == because.front()) result["locations"] = locations(f);
  result["partialFingerprints"] = {
      {"culpritVerdict/v1", fingerprint(text(member(d, "bundle"), "digest") + action)}};
  run.results.push_back(std::move(result));
}

void add_finding(const json& f, bool ground, Run& run) {
  const std::string outcome = text(f, "outcome");
  ordered result = {{"ruleId", rule_of(f)}};
  result["ruleIndex"] = run.rule(rule_of(f), text(f, "title"), help_of(f));
  result["kind"] = outcome == "fired" ? "fail" : outcome == "ruled_out" ? "pass" : "open";
  result["level"] = outcome == "fired" ? level_of(f, ground) : "none";
  result["message"] = message(text(f, "title") + ": " + text(f, "why") +
                              (text(f, "advice").empty() ? "" : " " + text(f, "advice")));
  if (ordered found = locations(f); !found.empty()) result["locations"] = std::move(found);
  const json& id = member(f, "id");
  result["partialFingerprints"] = {
      {"culpritFinding/v1", fingerprint(id.is_string() ? id.get<std::string>() : "")}};
  result["rank"] = number(f, "confidence") * 100;
  result["properties"] = {{"id", text(f, "id")},
                          {"severity", text(f, "severity")},
                          {"role", text(f, "role")},
                          {"count", count(f, "count")},
                          {"ground", ground}};
  run.results.push_back(std::move(result));
}

ordered invocation(const json& bundle) {
  ordered notes = ordered::array();
  for (const json& p : list(bundle, "problems"))
    notes.push_back(
        {{"level", "warning"}, {"message", message(text(p, "path") + ": " + text(p, "reason"))}});
  for (const json& n : list(bundle, "notes"))
    notes.push_back({{"level", "note"}, {"message", message(visible_text(n))}});
  ordered out = {{"executionSuccessful", true}};
  if (!notes.empty()) out["toolExecutionNotifications"] = std::move(notes);
  return out;
}

std::string to_sarif(const std::string& document, const RenderOptions&) {
  const json d = without_ledger(document);
  const auto because = grounds(d);
  Run run;
  add_verdict(d, run);
  for (const json& f : list(d, "findings")) {
    const json& id = member(f, "id");
    const bool ground = id.is_string() && contains(because, id.get<std::string>());
    if (ground || run.results.size() < kMostResults) add_finding(f, ground, run);
  }
  const json& bundle = member(d, "bundle");
  ordered one;
  one["tool"] = {{"driver", {{"name", "culprit"}, {"rules", std::move(run.rules)}}}};
  one["automationDetails"] = {{"id", "culprit/" + text(bundle, "digest")}};
  one["invocations"] = ordered::array({invocation(bundle)});
  one["originalUriBaseIds"] = {
      {"BUNDLE", {{"description", message("the folder or archive that was diagnosed")}}}};
  one["results"] = std::move(run.results);
  ordered whole = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                   {"version", "2.1.0"}};
  whole["runs"] = ordered::array({std::move(one)});
  return json_text(whole) + "\n";
}

}  // namespace

extern constinit const Format kSarif{"sarif", "report.sarif", to_sarif};

}  // namespace culprit::report
