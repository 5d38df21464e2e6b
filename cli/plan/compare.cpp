#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.hpp"
#include "incident.hpp"
#include "model/json.hpp"
#include "plan/compare.hpp"
#include "input.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t kMostPrintedOfPlanCompare = 40;

constexpr auto kPlanCompareOptions = joined(
    {{"run", "FILE",
      "the digests of one run (repeat it for each run): lines RANK DIGEST, sha256sum's, or JSON"},
     {"all", nullptr, "print all differences"}},
    kPlanOptions);

// {"0": "9f2c…"}, or {"runs": {"a": {"0": "9f2c…"}}} with several runs in one file.
Result<std::vector<plan::DigestRun>> runs_of_json(const std::string& text,
                                                  const std::string& path) {
  CULPRIT_TRY(parsed,
              parse_plan_json(text, path,
                              "an object of digests: {\"0\": \"9f2c...\", \"1\": \"03aa...\"}"));
  std::vector<plan::DigestRun> out;
  const auto add = [&](const std::string& name, const json& digests) -> Result<> {
    if (!digests.is_object())
      return usage_error(fmt::format("run {} is an object of digests", name))
          .at({path, 0})
          .hint("{\"0\": \"9f2c...\", \"1\": \"03aa...\"}");
    plan::DigestRun run{name, {}};
    std::set<std::string> seen;
    for (const auto& [key, value] : digests.items()) {
      if (!value.is_string() || value.get<std::string>().empty())
        return usage_error(fmt::format("the digest of '{}' is not text", key))
            .at({path, 0})
            .hint("{\"0\": \"9f2c...\", \"1\": \"03aa...\"}");
      const std::string item = plan::item_name(key);
      if (!seen.insert(item).second)
        return usage_error(fmt::format("{} is in it twice", item))
            .at({path, 0})
            .hint("one digest for each: keep the right one");
      plan::add_digest(run, item, value.get<std::string>());
    }
    out.push_back(std::move(run));
    return {};
  };
  if (parsed.is_object() && parsed.contains("runs") && parsed.at("runs").is_object()) {
    for (const auto& [name, digests] : parsed.at("runs").items()) CULPRIT_CHECK(add(name, digests));
  } else {
    CULPRIT_CHECK(add(path, parsed));
  }
  return out;
}

std::string short_digest(const std::string& digest) {
  return digest.size() > 12 ? digest.substr(0, 12) + "…" : digest;
}

std::string text_of(const plan::Comparison& c, bool all) {
  std::string out = report::visible(c.summary) + "\n";
  out += fmt::format("  {} runs, {} states: {} equal, {} different, {} not in every run\n", c.runs,
                     c.items, c.equal, c.different.size(), c.missing.size());
  std::size_t shown = 0;
  for (const plan::Difference& d : c.different) {
    if (!all && ++shown > kMostPrintedOfPlanCompare) {
      out += fmt::format("  and {} more; --all and --json have them\n",
                         c.different.size() - kMostPrintedOfPlanCompare);
      break;
    }
    if (d.majority.empty())
      out += fmt::format("  {}: no majority among {} runs\n", report::visible(d.item), d.present);
    else
      out +=
          fmt::format("  {}: {} differ{} from {} of {} ({})\n", report::visible(d.item),
                      report::visible(fmt::format("{}", fmt::join(d.runs, ", "))),
                      d.runs.size() == 1 ? "s" : "", d.agree, d.present, short_digest(d.majority));
  }
  shown = 0;
  for (const plan::Missing& m : c.missing) {
    if (!all && ++shown > kMostPrintedOfPlanCompare) {
      out += fmt::format("  and {} more\n", c.missing.size() - kMostPrintedOfPlanCompare);
      break;
    }
    out += fmt::format("  {}: missing in {}\n", report::visible(m.item),
                       report::visible(fmt::format("{}", fmt::join(m.runs, ", "))));
  }
  for (const std::string& advice : c.advice) out += "  next: " + report::visible(advice) + "\n";
  return out;
}

std::string json_of(const plan::Comparison& c) {
  ordered_json out{{"schema", "culprit.plan-compare/1"},
                   {"summary", c.summary},
                   {"suspects", c.suspects},
                   {"runs", c.runs},
                   {"states", c.items},
                   {"equal", c.equal},
                   {"different", ordered_json::array()},
                   {"missing", ordered_json::array()},
                   {"advice", c.advice}};
  for (const plan::Difference& d : c.different) {
    ordered_json one{{"item", d.item},
                     {"runs", d.runs},
                     {"majority", nullptr},
                     {"agree", d.agree},
                     {"present", d.present}};
    if (!d.majority.empty()) one["majority"] = d.majority;
    out["different"].push_back(std::move(one));
  }
  for (const plan::Missing& m : c.missing)
    out["missing"].push_back({{"item", m.item}, {"runs", m.runs}});
  return json_text(out) + "\n";
}

Result<Exit> run_plan_compare(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kPlanCompareOptions));
  std::vector<std::string> paths = arguments.all("run");
  if (paths.empty()) {
    CULPRIT_TRY(named, input.names("run", 4096));
    paths = std::move(named);
  }
  if (paths.empty())
    return usage_error("plan compare needs the digests of two runs or more")
        .hint("--run monday.sha256 --run tuesday.sha256, a file each");
  std::vector<plan::DigestRun> runs;
  for (const std::string& path : paths) {
    CULPRIT_TRY(text, read_plan_file(path));
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string::npos && text[first] == '{') {
      CULPRIT_TRY(several, runs_of_json(text, path));
      std::move(several.begin(), several.end(), std::back_inserter(runs));
    } else {
      CULPRIT_TRY(one, plan::read_digests(text, path));
      runs.push_back(std::move(one));
    }
  }
  std::set<std::string> names;
  for (const plan::DigestRun& one : runs)
    if (!names.insert(one.name).second)
      return usage_error(fmt::format("run {} is given twice: a copy would vote twice", one.name))
          .hint("give each run once");
  if (runs.size() < 2)
    return usage_error("plan compare needs the digests of two runs or more, and there is one")
        .at({paths.front(), 0})
        .hint("--run monday.sha256 --run tuesday.sha256, a file each");
  const plan::Comparison comparison = plan::compare_digests(runs);
  print(input.wants_json() ? identified(json_of(comparison))
                           : text_of(comparison, arguments.has("all")));
  return Exit::finished;
}

}  // namespace

constinit const Command kPlanCompare{
    "plan compare",
    "which rank's state differs between runs that should be equal",
    "plan compare --run FILE --run FILE... [options]",
    "  culprit plan compare --run run1.sha256 --run run2.sha256 --run run3.sha256\n\n"
    "  Digests of the ranks' checkpoints after deterministic training, or of the same step on "
    "several\n"
    "  machines: what differs from the majority, what has none, what is missing.\n",
    kPlanCompareOptions,
    run_plan_compare};

}  // namespace culprit::cli
