// For a ticket.
#include <algorithm>

#include <fmt/format.h>

#include "model/contains.hpp"
#include "model/json.hpp"
#include "report/fields.hpp"
#include "report/report.hpp"
#include "report/terminal.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

// Text of the bundle must not become markup.
std::string md_escaped(const std::string& text) {
  std::string out;
  for (const char c : visible(text)) {
    if (contains(std::string_view("\\`*_{}[]<>#|!~"), c)) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

// Inside a code span, longer than any run of backquotes in the text.
std::string code(const std::string& text) {
  const std::string shown = visible(text);
  std::size_t run = 0;
  std::size_t longest = 0;
  for (const char c : shown) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const bool pad = !shown.empty() && (shown.front() == '`' || shown.back() == '`');
  return fence + (pad ? " " : "") + shown + (pad ? " " : "") + fence;
}

std::string md(const json& object, const char* key) { return md_escaped(text(object, key)); }

std::string evidence_section(const json& d) {
  const std::vector<std::string> because = shown_grounds(d);
  std::string out = because.empty() ? "" : "\n## Evidence\n\n";
  for (const std::string& id : because)
    for (const json& f : member(d, "findings")) {
      if (member(f, "id") != id) continue;
      out += fmt::format("- **{}** ({}{}): {}\n", md(f, "title"), md(f, "class"),
                         member(f, "count") == 0 ? ""
                         : member(f, "count") == 1
                             ? ", 1 line"
                             : fmt::format(", {} lines", member(f, "count").get<std::uint64_t>()),
                         md(f, "why"));
      for (const json& e : member(f, "evidence")) {
        const std::string reading = text(e, "reading"), excerpt = text(e, "excerpt");
        out += fmt::format(
            "  - {}{}{}\n",
            code(member(e, "line") == 0 ? fmt::format("{} at byte {}", text(e, "path"),
                                                      member(e, "byte_offset").get<std::uint64_t>())
                                        : fmt::format("{}:{}", text(e, "path"),
                                                      member(e, "line").get<std::uint64_t>())),
            reading.empty() ? "" : " " + md_escaped(reading),
            excerpt.empty() ? "" : " " + code(excerpt));
      }
    }
  return out;
}

std::string print_markdown(const json& d, const RenderOptions& options) {
  const json& v = member(d, "verdict");
  const bool nobody = member(v, "targets").empty();  // then there is nothing exact or not
  std::string out = fmt::format(
      "# {}\n\n**Action: {}**{} · symptom: {} · {} to {}\n", md(v, "summary"), md(v, "action"),
      nobody ? "" : fmt::format(" ({})", md(v, "precision")), md(member(d, "incident"), "symptom"),
      member(member(d, "incident"), "start").is_string()
          ? member(member(d, "incident"), "start").get<std::string>()
          : "unknown",
      member(member(d, "incident"), "end").is_string()
          ? member(member(d, "incident"), "end").get<std::string>()
          : "unknown");
  if (!member(d, "bundle").value("complete", true))
    out += "\n**INCOMPLETE BUNDLE**: not all of it was read; the end lists what is missing.\n";
  if (!member(v, "targets").empty()) {
    const std::string sure = sureness(d);
    out += "\n## Who" + (sure.empty() ? "" : " (" + md_escaped(sure) + ")") +
           "\n\n| kind | id |\n|---|---|\n";
    for (const json& t : member(v, "targets"))
      out += fmt::format("| {} | {} |\n", md(t, "kind"), md_escaped(target_id(d, t)));
  }
  if (const auto others = alternatives(d); !others.empty()) {
    out += "\n## Also possible\n\n| cause | for | against | would tell |\n|---|---|---|---|\n";
    for (const json& c : others)
      out += fmt::format("| {} | {} | {} | {} |\n", md(c, "name"), md(c, "what"), md(c, "against"),
                         md(c, "tells"));
  }
  out += evidence_section(d);
  if (!member(v, "chain").empty()) {
    out += "\n## What happened\n\n| time (UTC) | who | what |\n|---|---|---|\n";
    for (const json& c : member(v, "chain"))
      out += fmt::format("| {} | {} | {} |\n", text(c, "time"), md_escaped(chain_who(d, c)),
                         md(c, "what"));
  }
  if (!member(v, "next").empty()) {
    out += "\n## What to do next\n\n";
    for (const json& n : member(v, "next"))
      out += fmt::format("- {}{}\n", text(n, "kind") == "collect" ? "collect: " : "",
                         text(n, "kind") == "command" ? code(text(n, "text")) : md(n, "text"));
  }
  if (options.explain) {
    out += "\n## How the verdict was reached\n\n| step | outcome | why |\n|---|---|---|\n";
    for (const json& s : member(v, "steps"))
      out += fmt::format("| {} | {} | {} |\n", md(s, "step"), md(s, "outcome"), md(s, "why"));
  }
  const json& b = member(d, "bundle");
  out += fmt::format(
      "\n---\nRead {} files, {} lines: {} used, {} skipped, {} rejected.\n",
      member(b, "members").get<std::uint64_t>(), member(b, "lines").get<std::uint64_t>(),
      member(b, "used").get<std::uint64_t>(), member(b, "skipped").get<std::uint64_t>(),
      member(b, "rejected").get<std::uint64_t>());
  for (const json& problem : member(b, "problems"))
    out += fmt::format("\nNot read: {}: {}\n", code(text(problem, "path")), md(problem, "reason"));
  return out;
}

// A document that a stranger's database holds may be anything.
std::string to_markdown(const std::string& document, const RenderOptions& options) {
  const json d = without_ledger(document);
  if (!d.is_object()) return "";
  try {
    return print_markdown(d, options);
  } catch (const json::exception&) { return "the stored document is not a diagnosis\n"; }
}

}  // namespace

extern constinit const Format kMarkdown{"md", "report.md", to_markdown};

}  // namespace culprit::report
