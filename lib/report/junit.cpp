// JUnit XML for pipelines: one suite a bundle, one case a kind of cause and one a finding.
// What fails is what the verdict says: the step that was taken, unless there is nothing to do, and
// the findings that it rests on. A case that had too little to go by is skipped. Only what all
// dialects share: the XSD of Jenkins and that of Ant both take it.

#include <fmt/format.h>

#include "model/contains.hpp"
#include "report/fields.hpp"
#include "report/report.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

constexpr std::size_t kMostFindings = 2000;  // beyond them the cases repeat themselves
constexpr std::size_t kPlacesPerCase = 16;   // of one finding
constexpr char kNoTime[] = "1970-01-01T00:00:00";

struct Suite {
  std::size_t tests = 0, failures = 0, skipped = 0;
  std::string cases;
  std::string output;  // what fired and fails nobody

  void open(const std::string& group, const std::string& name) {
    ++tests;
    cases += fmt::format("    <testcase classname=\"culprit.{}\" name=\"{}\" time=\"0\"",
                         escaped(group), escaped(name));
  }
  void pass() { cases += "/>\n"; }
  void fail(const std::string& kind, const std::string& message, const std::string& body) {
    ++failures;
    cases +=
        fmt::format(">\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n",
                    escaped(kind), escaped(message), escaped(body));
  }
  void skip(const std::string& why) {
    ++skipped;
    cases += fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", escaped(why));
  }
};

std::string places_of(const json& finding) {
  std::string out;
  const json& all = list(finding, "evidence");
  for (std::size_t i = 0; i < all.size() && i < kPlacesPerCase; ++i) {
    out += place(all[i]) + "\n";
    if (const std::string words = quoted(all[i]); !words.empty()) out += "    " + words + "\n";
  }
  if (all.size() > kPlacesPerCase) out += fmt::format("and {} more\n", all.size() - kPlacesPerCase);
  return out;
}

std::string verdict_body(const json& verdict) {
  std::string out = text(verdict, "summary") + "\n";
  for (const json& t : list(verdict, "targets"))
    out += fmt::format("{} {}\n", text(t, "kind"), text(t, "id"));
  for (const json& n : list(verdict, "next"))
    out += (text(n, "kind") == "command"   ? "$ "
            : text(n, "kind") == "collect" ? "collect: "
                                           : "- ") +
           text(n, "text") + "\n";
  return out;
}

void kinds(const json& verdict, Suite& suite) {
  const std::string action = text(verdict, "action");
  for (const json& s : list(verdict, "steps")) {
    suite.open("kinds", text(s, "step"));
    const std::string outcome = text(s, "outcome");
    if (outcome == "taken" && action != "none")
      suite.fail(action, text(verdict, "summary"), text(s, "why") + "\n" + verdict_body(verdict));
    else if (outcome == "not_enough_evidence")
      suite.skip(text(s, "why"));
    else
      suite.pass();
  }
}

void findings(const json& document, Suite& suite) {
  const bool nothing_to_do = text(member(document, "verdict"), "action") == "none";
  const auto because = grounds(document);
  const json& all = list(document, "findings");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const json& f = all[i];
    const std::string outcome = text(f, "outcome");
    const json& id = member(f, "id");
    const bool ground = id.is_string() && contains(because, id.get<std::string>());
    if (i >= kMostFindings && !ground) continue;
    suite.open("findings." + text(f, "analysis"), text(f, "id"));
    if (ground && outcome == "fired" && !nothing_to_do) {
      suite.fail(text(f, "class").empty() ? text(f, "analysis") : text(f, "class"),
                 text(f, "title"), text(f, "why") + "\n" + places_of(f));
    } else if (outcome == "not_enough_evidence") {
      suite.skip(text(f, "why"));
    } else {
      suite.pass();
      if (outcome == "fired")
        suite.output += fmt::format("{} ({}): {}\n{}", text(f, "title"),
                                    text(member(f, "subject"), "id"), text(f, "id"), places_of(f));
    }
  }
  if (all.size() > kMostFindings)
    suite.output += fmt::format(
        "{} findings; those after the first {} that the verdict does not rest on are left out\n",
        all.size(), kMostFindings);
}

std::string ending(const json& bundle) {
  std::string out;
  for (const json& note : list(bundle, "notes")) out += "note: " + visible_text(note) + "\n";
  for (const json& p : list(bundle, "problems"))
    out += "not read: " + text(p, "path") + ": " + text(p, "reason") + "\n";
  return out;
}

std::string to_junit(const std::string& document, const RenderOptions&) {
  const json d = without_ledger(document);
  const json& incident = member(d, "incident");
  const json& bundle = member(d, "bundle");
  Suite suite;
  kinds(member(d, "verdict"), suite);
  findings(d, suite);
  std::string when =
      text(incident, "start").empty() ? text(incident, "end") : text(incident, "start");
  when = when.size() < 19 ? kNoTime
                          : when.substr(0, 19);  // the dialects know neither zones nor fractions
  const std::pair<const char*, std::string> properties[] = {
      {"action", text(member(d, "verdict"), "action")},
      {"symptom", text(incident, "symptom")},
      {"bundle", text(bundle, "digest")},
      {"lines", std::to_string(count(bundle, "lines"))},
      {"used", std::to_string(count(bundle, "used"))},
      {"skipped", std::to_string(count(bundle, "skipped"))},
      {"rejected", std::to_string(count(bundle, "rejected"))}};
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  out += fmt::format(
      "  <testsuite name=\"culprit\" package=\"culprit\" id=\"0\" hostname=\"localhost\" "
      "timestamp=\"{}\" time=\"0\" "
      "tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n    <properties>\n",
      escaped(when), suite.tests, suite.failures, suite.skipped);
  for (const auto& [name, value] : properties)
    out += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, escaped(value));
  out += "    </properties>\n" + suite.cases;
  out += fmt::format("    <system-out>{}</system-out>\n", escaped(suite.output));
  out += fmt::format("    <system-err>{}</system-err>\n  </testsuite>\n</testsuites>\n",
                     escaped(ending(bundle)));
  return out;
}

}  // namespace

extern constinit const Format kJunit{"junit", "report.junit.xml", to_junit};

}  // namespace culprit::report
