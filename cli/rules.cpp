#include <cctype>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "command.hpp"
#include "ingest/engine/document.hpp"
#include "ingest/engine/events.hpp"
#include "line/line.hpp"
#include "model/contains.hpp"
#include "model/json.hpp"
#include "model/shell.hpp"
#include "pack.hpp"
#include "report/terminal.hpp"
#include "rule_new.hpp"
#include "rules/check.hpp"
#include "rules_causes.hpp"
#include "rules_page.hpp"
#include "schema/schema.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

std::string dump(const ordered_json& value) { return json_text(value, -1) + "\n"; }

Result<Exit> list(const Arguments& arguments, const rules::RulePack& pack) {
  std::string out;
  if (arguments.get("format") == "html") {
    print(rules_page(pack));
    return Exit::finished;
  }
  for (const rules::Rule& rule : pack.rules()) {
    if (wants_json(arguments)) {
      out += dump({{"id", rule.id},
                   {"class", rule.event_class},
                   {"severity", name(rule.meaning.severity)},
                   {"role", name(rule.meaning.role)},
                   {"scope", name(rule.meaning.scope)},
                   {"title", rule.meaning.title},
                   {"codes", rule.codes.size()},
                   {"file", rule.file}});
    } else {
      out += fmt::format("{:<34} {:<12} {:<13} {}{}\n", rule.id, name(rule.meaning.severity),
                         name(rule.meaning.role), rule.meaning.title,
                         rule.codes.empty() ? "" : fmt::format(" ({} numbers)", rule.codes.size()));
    }
  }
  print(out);
  return Exit::finished;
}

// "79", "xid79", "Xid 79": a class with this number in its place that the pack has; "" = none.
std::string class_of_number(const rules::RulePack& pack, const std::string& word) {
  const std::size_t digits = word.find_last_not_of("0123456789") + 1;  // npos + 1 is 0
  if (digits == word.size() || word.size() - digits > 9) return {};
  std::string kind;
  for (const unsigned char c : word.substr(0, digits))
    if (std::isalnum(c) != 0) kind += static_cast<char>(std::tolower(c));
  const std::int64_t code = std::atoll(word.c_str() + digits);
  for (const rules::Rule& rule : pack.rules()) {
    const std::size_t open = rule.event_class.find("{code}");
    if (open == std::string::npos || !rule.codes.contains(code)) continue;
    if (rule.event_class.find(kind) < open || kind.empty())
      return rule.event_class.substr(0, open) + std::to_string(code);
  }
  return {};
}

Result<Exit> show(const rules::RulePack& pack, const std::vector<std::string>& words) {
  if (words.empty())
    return usage_error("rules show needs a rule id or a class such as gpu_xid/79")
        .hint("`culprit rules list` prints the ids");
  std::string out;
  for (const std::string& word : words) {
    const rules::Rule* rule = pack.find(word);
    std::optional<std::int64_t> code;
    if (rule == nullptr) {
      rule = pack.of_class(word);
      if (const std::size_t slash = word.find('/'); rule != nullptr && slash != std::string::npos)
        code = std::strtoll(word.c_str() + slash + 1, nullptr, 10);
    }
    if (rule == nullptr) {
      std::vector<std::string> ids;
      for (const auto& one : pack.rules()) {
        ids.push_back(one.id);
        ids.push_back(one.event_class);
      }
      std::string near = class_of_number(pack, word);
      if (near.empty()) near = schema::nearest(word, ids);
      return usage_error(fmt::format("there is no rule or class '{}'", word))
          .hint(near.empty() ? "`culprit rules list` prints them"
                             : fmt::format("did you mean '{}'?", near));
    }
    const rules::Meaning& m = rules::meaning_of(*rule, code);
    out += fmt::format(
        "{}  ({})\n  class      {}\n  severity   {}\n  role       {}\n  scope      {}\n", rule->id,
        m.title, code ? word : rule->event_class, name(m.severity), name(m.role), name(m.scope));
    if (!m.component.empty()) out += fmt::format("  component  {}\n", m.component);
    out += fmt::format("  symptom    {}\n", name(m.symptom));
    if (m.tolerance)
      out += fmt::format("  tolerance  counts from {} within {} s\n", m.tolerance->count,
                         m.tolerance->window_s);
    if (!m.traits.none()) out += fmt::format("  traits     {}\n", fmt::join(names(m.traits), ", "));
    if (!m.leads_to.empty()) out += fmt::format("  leads to   {}\n", fmt::join(m.leads_to, ", "));
    if (!m.action.empty()) out += fmt::format("  action     {}\n", m.action);
    for (const auto& old : m.history)
      out += fmt::format("  before     from driver {}: {}\n", old.from, old.title);
    out += fmt::format("  why        {}\n", m.why);
    if (!m.advice.empty()) out += fmt::format("  advice     {}\n", m.advice);
    out += fmt::format("  source     {}\n  file       {}\n", rule->source, rule->file);
    for (const auto& pattern : rule->match) out += fmt::format("  match      {}\n", pattern);
    for (const auto& pattern : rule->unless) out += fmt::format("  unless     {}\n", pattern);
    if (!code && !rule->codes.empty()) {
      out += fmt::format("  numbers    {}", rule->codes.size());
      if (const std::size_t open = rule->event_class.find('{'); open != std::string::npos)
        out += fmt::format(": `culprit rules show {}{}` shows one",
                           rule->event_class.substr(0, open), rule->codes.begin()->first);
      out += "\n";
    }
    for (const auto& sample : rule->fires)
      out += fmt::format("  fires      {}\n", report::visible(sample));
    for (const auto& sample : rule->silent)
      out += fmt::format("  silent     {}\n", report::visible(sample));
  }
  print(out);
  return Exit::finished;
}

// The files of the user's rules when given, else the whole pack.
Result<Exit> check(const Arguments& arguments, const rules::RulePack& pack, bool all) {
  std::vector<std::string> files;
  if (!all && !arguments.all("rules").empty())
    for (const auto& rule : pack.rules())
      if (rule.file.rfind("rules/", 0) != 0) files.push_back(rule.file);
  auto failures = rules::check_samples(pack, files);
  if (files.empty())
    for (auto& one : rules::check_grammar(pack, rules::Grammar::built_in()))
      failures.push_back(std::move(one));
  for (const auto& failure : failures) {
    Error error = usage_error(
        fmt::format("{} of '{}' {}: {}", failure.key, failure.rule, failure.reason, failure.line));
    error.where = Where{failure.file, 0};
    print_error(error);
  }
  std::size_t samples = 0;
  for (const auto& rule : pack.rules()) samples += rule.fires.size() + rule.silent.size();
  print(fmt::format("{} rules, {} sample lines, {} failed\n", pack.rules().size(), samples,
                    failures.size()));
  return failures.empty() ? Exit::finished : Exit::usage;
}

// What the pack says of each line of each file, for rule authors.
Result<Exit> match(const Arguments& arguments, const rules::RulePack& pack,
                   const std::vector<std::string>& files) {
  if (files.empty()) return usage_error("rules match needs a file, or - for standard input");
  const bool as_json = wants_json(arguments);
  for (const std::string& path : files) {
    std::ifstream file;
    if (path != "-") {
      file.open(path, std::ios::binary);
      if (!file)
        return fail(fmt::format("cannot read this file: {}", std::strerror(errno))).at({path, 0});
    }
    std::istream& stream = path == "-" ? std::cin : file;
    std::string text;
    std::uint64_t number = 0;
    std::string out;
    while (std::getline(stream, text)) {
      ++number;
      if (text.size() > (1 << 20)) text.resize(1 << 20);
      const line::Line line = line::peel(text);
      const auto found = pack.match(line.message);
      // Where a rule knows no more than a shape, the grammar still says who speaks.
      const auto said = !found || found->rule->fallback ? rules::Grammar::built_in().said(text)
                                                        : std::optional<rules::Said>();
      std::optional<EventRow> event;
      if (found) {
        rules::RulePack const& p = pack;
        NullSink nothing;
        const ingest::Reading reading{nothing, p, {}, {}, {}};
        event = ingest::make_event({{0, number, 0, 0}, text, line}, *found, reading);
      }
      if (as_json) {
        ordered_json row = {{"file", path},        {"line", number},  {"class", nullptr},
                            {"severity", nullptr}, {"role", nullptr}, {"host", nullptr},
                            {"gpu", nullptr},      {"rank", nullptr}, {"grammar", nullptr},
                            {"title", nullptr}};
        if (found) {
          row["class"] = found->event_class;
          row["severity"] = name(found->severity);
          row["role"] = name(found->role);
        }
        if (said) {
          row["grammar"] = said->event_class;
          row["title"] = said->title;
        }
        const auto& host = event && event->host ? event->host : line.prefix.host;
        if (host) row["host"] = *host;
        if (event && event->gpu) row["gpu"] = *event->gpu;
        const auto& rank = event && event->rank ? event->rank : line.prefix.rank;
        if (rank) row["rank"] = *rank;
        out += dump(row);
      } else if (found) {
        out += fmt::format("{}:{}: {:<12} {:<30} {}\n", path, number, name(found->severity),
                           found->event_class, report::visible(line.message.substr(0, 120)));
      } else if (said) {
        out += fmt::format("{}:{}: {:<12} {:<30} {}\n", path, number, "grammar", said->event_class,
                           report::visible(said->title));
      }
      if (out.size() > (1 << 16)) {
        print(out);
        out.clear();
      }
    }
    print(out);
  }
  return Exit::finished;
}

constexpr OptionSpec kRulesOptions[] = {
    {"rules", "DIR", "your own rules, besides ours; the same id replaces ours (may be repeated)"},
    {"from", "LINE", "for `new`: a line as it was printed"},
    {"format", "FORMAT", "text, json or html (json: an object a line; html: of `list`)"},
    {"json", nullptr, "the same as --format json"},
};

Result<Exit> run_rules(const Arguments& arguments) {
  std::vector<std::string> words = arguments.positional();
  static const std::vector<std::string> kVerbs{"list", "show",  "causes", "check",
                                               "test", "match", "new"};
  if (words.empty())
    return usage_error("rules needs one of list, show, causes, check, test, match, new")
        .hint("`culprit help rules` has examples");
  const std::string verb = words[0];
  words.erase(words.begin());
  if (!contains(kVerbs, verb)) {
    const std::string near = schema::nearest(verb, kVerbs);
    return usage_error(fmt::format("rules has no '{}'", verb))
        .hint(near.empty() ? "list, show, causes, check, test, match, new"
                           : fmt::format("did you mean '{}'?", near));
  }
  if (verb == "list")
    CULPRIT_CHECK(check_format(arguments, {"text", "json", "html"}));
  else
    CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  if (verb == "new") {
    const std::string line = arguments.get("from");
    if (line.empty() || !words.empty())
      return usage_error("rules new takes the line that the rule is to know")
          .hint("culprit rules new --from 'LINE' --output my-rules/mine.json");
    print(rule_skeleton(line));
    return Exit::finished;
  }
  if (!words.empty() && (verb == "list" || verb == "causes" || verb == "check" || verb == "test"))
    return usage_error(fmt::format("rules {} takes no '{}'", verb, words[0]))
        .hint(fmt::format("your own rules are named by an option: culprit rules {} --rules {}",
                          verb, shell_quoted(words[0])));
  if (verb == "causes") {
    print(causes_listing(wants_json(arguments)));
    return Exit::finished;
  }
  // check reports every failing sample itself; the others refuse a pack that has one in the user's
  // part.
  CULPRIT_TRY(pack, load_pack(arguments, verb != "check" && verb != "test"));
  if (verb == "list") return list(arguments, pack);
  if (verb == "show") return show(pack, words);
  if (verb == "check") return check(arguments, pack, false);
  if (verb == "test") return check(arguments, pack, true);
  return match(arguments, pack, words);
}

}  // namespace

constinit const Command kRules{
    "rules",
    "the rule pack and your own rules",
    "rules list|show|causes|check|test|match|new [ARGUMENT...] [options]",
    "  culprit rules list\n"
    "  culprit rules list --format html --output rules.html    a reference to read or to publish\n"
    "  culprit rules show gpu_xid/79\n"
    "  culprit rules causes                         how are kinds of cause weighed, what rules a "
    "candidate out?\n"
    "  culprit rules check --rules my-rules/        are my rules well-formed, do their samples "
    "hold?\n"
    "  culprit rules test --rules my-rules/         do all samples, ours too, hold with mine "
    "beside them?\n"
    "  culprit rules new --from 'LINE'              the skeleton of a rule that knows this line\n"
    "  culprit rules match dmesg.txt --format json  what does the pack say of each line?\n",
    kRulesOptions,
    run_rules};

}  // namespace culprit::cli
