// explain CODE: what a number, a word or a line means, what it is not, and what to do.
#include "rules/explain.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "answers.hpp"
#include "command.hpp"
#include "incident.hpp"
#include "line/line.hpp"
#include "model/json.hpp"
#include "pack.hpp"
#include "report/terminal.hpp"
#include "terminal.hpp"

namespace culprit::cli {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::string& query, const std::optional<line::Line>& peeled,
             const rules::Answer& answer) {
  Json out;
  out["schema"] = "culprit.explain/1";
  out["query"] = query;
  out["exact"] = answer.exact && !answer.found.empty();
  out["line"] = nullptr;
  if (peeled) {
    Json line = {{"message", peeled->message}, {"host", nullptr}, {"rank", nullptr}};
    if (peeled->prefix.host) line["host"] = *peeled->prefix.host;
    if (peeled->prefix.rank) line["rank"] = *peeled->prefix.rank;
    out["line"] = std::move(line);
  }
  out["found"] = Json::array();
  for (const rules::Explanation& e : answer.found) {
    Json alike = Json::array(), properties = Json::array();
    for (const auto& one : e.look_alikes)
      alike.push_back({{"id", one.id}, {"title", one.title}, {"line", one.line}});
    for (const auto& [name, value] : e.properties)
      properties.push_back({{"name", name}, {"value", value}});
    out["found"].push_back({{"kind", e.kind},
                            {"id", e.id},
                            {"title", e.title},
                            {"means", e.means},
                            {"not", e.is_not},
                            {"look_alikes", alike},
                            {"do", e.advice},
                            {"source", e.source},
                            {"properties", properties}});
  }
  out["also"] = Json::array();
  for (const auto& one : answer.also)
    out["also"].push_back({{"kind", one.kind}, {"id", one.id}, {"title", one.title}});
  return out;
}

std::string text_of(const rules::Explanation& e, std::size_t width, report::Ink ink) {
  const std::string head = fmt::format("{}: {}", report::visible(e.id), report::visible(e.title));
  std::string out = ink.bold(head) + "\n";
  const auto paragraph = [&](const char* label, const std::string& text) {
    if (!text.empty())
      out += fmt::format("  {:<10} {}\n", label,
                         report::wrapped(report::visible(text), width, 13, 13));
  };
  paragraph("means", e.means);
  paragraph("not", e.is_not);
  for (std::size_t i = 0; i < e.look_alikes.size() && i < 4; ++i)
    paragraph(i == 0 ? "look-alike" : "",
              fmt::format("{} ({})", e.look_alikes[i].id, e.look_alikes[i].title));
  paragraph("do", e.advice);
  std::string short_ones;  // severity root · role …: on one line
  for (const auto& [name, value] : e.properties) {
    const bool is_short = name == "severity" || name == "role" || name == "scope" ||
                          name == "cause" || name == "unit" || name == "of" || name == "kind" ||
                          name == "number";
    if (is_short) short_ones += (short_ones.empty() ? "" : ", ") + name + " " + value;
  }
  paragraph("class", short_ones);
  for (const auto& [name, value] : e.properties) {
    if (name == "symptom" || name == "component" || name == "rule" || name == "tolerance" ||
        name == "numbers")
      paragraph(name.c_str(), value);
    else if (name == "leads to" || name == "can follow from" || name == "taken back by" ||
             name == "older drivers" || name == "exit codes" || name.starts_with("severity of"))
      paragraph("", fmt::format("{}: {}", name, value));
  }
  paragraph("source", e.source);
  return out;
}

// "xid79" is "xid 79".
std::string spaced(const std::string& query) {
  const auto digit =
      std::ranges::find_if(query, [](unsigned char c) { return std::isdigit(c) != 0; });
  const bool name_and_number =
      digit != query.begin() && digit != query.end() &&
      std::all_of(query.begin(), digit, [](unsigned char c) { return std::isalpha(c) != 0; }) &&
      std::all_of(digit, query.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  return name_and_number ? std::string(query.begin(), digit) + " " + std::string(digit, query.end())
                         : query;
}

// A number alone may be of several kinds: all that have a meaning, and then the others.
rules::Answer every_kind(const rules::RulePack& pack, const std::string& number) {
  rules::Answer all;
  for (const char* kind : {"xid", "sxid", "signal", "exit"}) {
    const std::string named = fmt::format("{} {}", kind, number);
    rules::Answer one = rules::explain(pack, named);
    if (!one.exact) continue;
    for (rules::Explanation& e : one.found) {
      const bool known = e.kind == "rule" || !rules::Glossary::built_in().named(e.id).empty() ||
                         rules::Glossary::built_in().numbered(e.kind, std::atoll(number.c_str()));
      const auto same = [&](const auto& other) { return other.id == e.id; };
      if (std::ranges::any_of(all.found, same)) continue;
      if (known)
        all.found.push_back(std::move(e));
      else
        all.also.push_back({e.kind, e.id, e.title});
    }
    for (rules::Related& r : one.also) all.also.push_back(std::move(r));
  }
  return all;
}

rules::Answer answer_to(const rules::RulePack& pack, const std::string& query) {
  const bool number = query.size() < 19 && std::ranges::all_of(query, [](unsigned char c) {
                        return std::isdigit(c) != 0;
                      });
  if (number)
    if (rules::Answer all = every_kind(pack, query); !all.found.empty()) return all;
  rules::Answer answer = rules::explain(pack, query);
  if (answer.exact && !answer.found.empty()) return answer;
  if (const std::string apart = spaced(query); apart != query)
    if (rules::Answer other = rules::explain(pack, apart); other.exact && !other.found.empty())
      return other;
  return answer;
}

std::optional<line::Line> peeled_line(const std::string& query) {
  return line::peel(std::string_view(query).substr(0, 1 << 20));
}

Result<Exit> run_explain(const Arguments& arguments) {
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  const bool by_line = arguments.has("line");
  const std::string query =
      by_line ? arguments.get("line") : fmt::format("{}", fmt::join(arguments.positional(), " "));
  if (query.find_first_not_of(" \t\r\n") == std::string::npos)
    return usage_error("explain needs a number, a word or a line").hint("culprit explain xid 79");
  if (by_line && !arguments.positional().empty())
    return usage_error("explain takes words or --line, not both");
  CULPRIT_TRY(pack, load_pack(arguments));
  std::optional<line::Line> peeled;
  if (by_line) peeled = peeled_line(query);
  const rules::Answer answer =
      peeled ? rules::explain_line(pack, peeled->message, query) : answer_to(pack, query);
  // A line that no rule knows is an answer; a word that does not exist is misspelt.
  const bool unknown = !by_line && answer.found.empty();
  if (wants_json(arguments)) {
    print(identified(json_text(json_of(query, peeled, answer)) + "\n"));
    return unknown ? Exit::usage : Exit::finished;
  }
  if (unknown)
    return usage_error(fmt::format("no rule, code or word is called '{}'", query))
        .hint(answer.also.empty()
                  ? "`culprit rules list` lists the rules; --line takes a line of a log"
                  : fmt::format("did you mean '{}'?", answer.also.front().id));
  const std::size_t width = std::clamp<std::size_t>(terminal_width(), 50, 120);
  std::string out;
  if (peeled && (peeled->prefix.host || peeled->prefix.rank))
    out += fmt::format("printed by{}{}\n",
                       peeled->prefix.host ? " " + report::visible(*peeled->prefix.host) : "",
                       peeled->prefix.rank ? fmt::format(" rank {}", *peeled->prefix.rank) : "");
  if (answer.found.empty())
    out += "no rule knows this line\n";
  else if (!answer.exact)
    out += fmt::format("nothing is called '{}'; the nearest:\n", report::visible(query));
  for (const rules::Explanation& e : answer.found)
    out += (out.empty() ? "" : "\n") + text_of(e, width, {use_color(arguments)});
  if (!answer.also.empty()) out += answer.found.empty() ? "\nperhaps:\n" : "\nsee also:\n";
  for (const auto& one : answer.also)
    out += fmt::format("  {:<34} {}\n", report::visible(one.id), report::visible(one.title));
  print(out);
  return Exit::finished;
}

constexpr OptionSpec kExplainOptions[] = {
    {"line", "LINE", "explain a line of a log, as printed"},
    {"rules", "DIR", "your own rules, besides ours; the same id replaces ours (may be repeated)"},
    {"format", "FORMAT", "text or json"},
    {"json", nullptr, "the same as --format json"},
};

}  // namespace

Json explained_answer(const rules::RulePack& pack, const std::string& query, bool line) {
  std::optional<line::Line> peeled;
  if (line) peeled = peeled_line(query);
  return json_of(
      query, peeled,
      peeled ? rules::explain_line(pack, peeled->message, query) : answer_to(pack, query));
}

constinit const Command kExplain{
    "explain",
    "what an error number, a word or a log line means",
    "explain CODE... | --line LINE [options]",
    "  culprit explain xid 79\n"
    "  culprit explain exit -9\n"
    "  culprit explain nccl remote error\n"
    "  culprit explain --line 'NVRM: Xid (PCI:0000:3b:00): 63, Row remapping event'\n\n"
    "  CODE: a number with its kind (xid, sxid, exit, signal, errno), the name of a result or "
    "state\n"
    "  (ENOMEM, NODE_FAIL), the id or class of a rule, a kind of verdict, a cause or action, the\n"
    "  name of a metric or setting, or words of a message.\n",
    kExplainOptions,
    run_explain};

}  // namespace culprit::cli
