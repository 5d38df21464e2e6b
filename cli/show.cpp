// show FINDING: from a claim down to the bytes it rests on.
#include <filesystem>

#include <fmt/format.h>

#include "answers.hpp"
#include "bundle/bundle.hpp"
#include "command.hpp"
#include "diagnose/analyse.hpp"
#include "diagnose/conclude.hpp"
#include "diagnose/identity.hpp"
#include "diagnose/read.hpp"
#include "incident.hpp"
#include "model/contains.hpp"
#include "model/figure.hpp"
#include "model/json.hpp"
#include "pack.hpp"
#include "report/terminal.hpp"
#include "schema/schema.hpp"
#include "store/database.hpp"
#include "report/phrases.hpp"

namespace culprit::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostLineBytes = 400;

// A piece of evidence with the lines of the bundle around it, where the bundle is at hand.
struct Shown {
  const Evidence* evidence = nullptr;
  std::vector<std::string> lines;  // the first is the line named
  bool missing = false;            // a bundle was given, and it is not in it
};

struct Lookup {
  std::vector<MemberRow> members;
  std::vector<std::string> bundles;
  std::uint64_t context = 2;
};

Shown shown(const Evidence& e, const Lookup& lookup) {
  Shown out{&e, {}, false};
  if (e.line == 0) return out;  // a record of a binary file: its bytes tell a reader nothing
  std::string stored = e.path;
  for (const MemberRow& m : lookup.members)
    if (m.id == e.member) stored = m.stored_path;
  std::string bytes;
  for (const std::string& bundle : lookup.bundles) {
    // A few lines more than the claim needs, so that one can judge it.
    auto range = bundle::read_range(
        bundle, stored, e.offset,
        std::min<std::uint64_t>(e.length + 200 * (lookup.context + 1), 1 << 16), {});
    if (range) {
      bytes = std::move(*range);
      break;
    }
  }
  out.missing = bytes.empty() && !lookup.bundles.empty();
  std::size_t at = 0;
  for (std::uint64_t n = 0; n <= lookup.context && at < bytes.size(); ++n) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    out.lines.push_back(bytes.substr(at, std::min(end - at, kMostLineBytes)));
    at = end + 1;
  }
  return out;
}

std::string text_of(const Finding& f, const Lookup& lookup) {
  std::string out = fmt::format("{}\n  {}: {} {} ({}, {}, weight {:.2f})\n  {}\n",
                                report::visible(f.id), name(f.outcome), name(f.subject.kind),
                                report::visible(f.subject.id), name(f.severity), name(f.role),
                                f.confidence, report::visible(report::words(f.title)));
  out += report::paragraph("  ", report::visible(report::words(f.why)), 96, 2);
  if (f.start)
    out += fmt::format("  from {}{} (to within {})\n", iso_utc(*f.start),
                       f.end ? " to " + iso_utc(*f.end) : "", human_duration(f.uncertainty));
  for (const auto& [key, value] : numbers_of(f, report::words))
    if (!value.empty()) out += fmt::format("  {} = {}\n", key, report::visible(value));
  for (const Evidence& e : f.evidence) {
    const Shown one = shown(e, lookup);
    if (e.line == 0)
      out +=
          fmt::format("\n  {} at byte {}, {} bytes\n", report::visible(e.path), e.offset, e.length);
    else
      out += fmt::format("\n  {}:{} (byte {})\n", report::visible(e.path), e.line, e.offset);
    if (!e.reading.empty()) out += "    " + report::visible(e.reading) + "\n";
    if (one.lines.empty()) {
      if (!e.excerpt.empty()) out += "    " + report::visible(e.excerpt) + "\n";
      if (one.missing)
        out += fmt::format("    (not in {}: was the database made from another bundle?)\n",
                           fmt::join(lookup.bundles, ", "));
      continue;
    }
    for (std::size_t n = 0; n < one.lines.size(); ++n)
      out += fmt::format("  {} {:>7}  {}\n", n == 0 ? ">" : " ", e.line + n,
                         report::visible(one.lines[n]));
  }
  return out + "\n";
}

Json time_of(const std::optional<Nanoseconds>& time) {
  return time ? Json(iso_utc(*time)) : Json(nullptr);
}

Json json_of(const Finding& f, const Lookup* lookup) {
  Json out = {
      {"id", f.id},
      {"analysis", f.analysis},
      {"outcome", name(f.outcome)},
      {"subject", {{"kind", f.subject.kind}, {"id", f.subject.id}}},
      {"class", f.event_class},
      {"symptom", f.symptom},
      {"severity", name(f.severity)},
      {"role", name(f.role)},
      {"scope", name(f.scope)},
      {"confidence", f.confidence},
      {"title", report::words(f.title)},
      {"why", report::words(f.why)},
      {"advice", report::words(f.advice)},
      {"interval",
       {{"start", time_of(f.start)}, {"end", time_of(f.end)}, {"uncertainty_ns", f.uncertainty}}},
      {"count", f.count}};
  out["numbers"] = Json::object();
  for (const auto& [key, value] : numbers_of(f, report::words))
    out["numbers"][key] = figure(f.analysis, key, value);
  if (lookup == nullptr) return out;
  out["evidence"] = Json::array();
  for (const Evidence& e : f.evidence) {
    const Shown one = shown(e, *lookup);
    out["evidence"].push_back({{"path", e.path},
                               {"line", e.line},
                               {"byte_offset", e.offset},
                               {"length", e.length},
                               {"excerpt", e.excerpt},
                               {"lines", one.lines}});
    if (!e.reading.empty()) out["evidence"].back()["reading"] = e.reading;
  }
  return out;
}

// By id, else by a part of the id or the class. A usage error when there is none.
Result<std::vector<const Finding*>> find(const std::vector<Finding>& findings,
                                         const std::string& wanted) {
  std::vector<const Finding*> found;
  for (const Finding& f : findings)
    if (f.id == wanted) found = {&f};
  if (found.empty())
    for (const Finding& f : findings)
      if (contains(f.id, wanted) || f.event_class == wanted) found.push_back(&f);
  if (!found.empty()) return found;
  std::vector<std::string> names;
  for (const Finding& f : findings) names.push_back(f.id);
  const std::string near = schema::nearest(wanted, names);
  return usage_error(fmt::format("there is no finding '{}'", wanted))
      .hint(near.empty() ? "`culprit show -d FILE` lists them"
                         : fmt::format("did you mean '{}'?", near));
}

// The words of the command line, apart: bundles are there, findings are not files.
struct Words {
  std::vector<std::string> findings, bundles;
};

Words words_of(const Arguments& arguments) {
  Words out;
  std::error_code error;
  for (const std::string& word : arguments.positional())
    (std::filesystem::exists(word, error) ? out.bundles : out.findings).push_back(word);
  return out;
}

// Without a database the bundles are diagnosed again: the same bundle gives the same findings.
Result<store::Database> diagnosed(const Arguments& arguments,
                                  const std::vector<std::string>& bundles) {
  CULPRIT_TRY(pack, load_pack(arguments));
  CULPRIT_TRY(db, diagnose::open_new(bundles, ""));
  CULPRIT_CHECK(read_sources(arguments, bundles, pack, db));
  CULPRIT_TRY(incident, diagnose::resolve(db, true));
  CULPRIT_TRY(findings, diagnose::analyse(db, incident, pack));
  CULPRIT_CHECK(diagnose::conclude(db, incident, std::move(findings)));
  return db;
}

Result<Exit> run_show(const Arguments& arguments) {
  const Words words = words_of(arguments);
  if (!arguments.has("db") && words.bundles.empty())
    return usage_error("show needs a database, or a bundle")
        .hint("culprit show FINDING -d incident.db, or culprit show FINDING BUNDLE");
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  CULPRIT_TRY(db, arguments.has("db") ? open_database(arguments, store::Access::read)
                                      : diagnosed(arguments, words.bundles));
  const auto findings = db.findings();
  CULPRIT_CHECK(db.read_to_the_end());
  const bool as_json = wants_json(arguments);
  Json document;
  document["schema"] = "culprit.show/1";
  document["findings"] = Json::array();
  std::string out;
  if (words.findings.empty()) {
    for (const Finding& f : findings) {
      out += fmt::format("{:<19} {}\n", name(f.outcome), report::visible(f.id));
      if (as_json) document["findings"].push_back(json_of(f, nullptr));
    }
    if (out.empty()) out = "this database has no findings\n";
  } else {
    Lookup lookup{db.members(), arguments.all("bundle"), 2};
    lookup.bundles.insert(lookup.bundles.end(), words.bundles.begin(), words.bundles.end());
    CULPRIT_TRY(context, arguments.number("context", 2));
    lookup.context = context;
    for (const std::string& bundle : lookup.bundles) CULPRIT_CHECK(bundle::check_readable(bundle));
    for (const std::string& wanted : words.findings) {
      CULPRIT_TRY(found, find(findings, wanted));
      for (const Finding* f : found) {
        if (as_json)
          document["findings"].push_back(json_of(*f, &lookup));
        else
          out += text_of(*f, lookup);
      }
    }
  }
  if (!as_json) {
    print(out);
    return Exit::finished;
  }
  print(report::identified(json_text(document) + "\n", diagnose::identity_of(db)));
  return Exit::finished;
}

constexpr OptionSpec kShowOptions[] = {
    {"db,d", "FILE", "the database, or the folder of `diagnose -o`"},
    {"bundle", "BUNDLE",
     "the bundle it was read from: shows the raw lines, not only the kept excerpts (may be "
     "repeated)"},
    {"context", "N", "raw lines after the one named (default 2)"},
    {"format", "FORMAT", "text or json"},
    {"json", nullptr, "the same as --format json"},
};

}  // namespace

Result<Json> shown_answer(const store::Database& db, const std::vector<Finding>& findings,
                          const std::string& wanted, const std::vector<std::string>& bundles,
                          std::uint64_t context) {
  CULPRIT_TRY(found, find(findings, wanted));
  const Lookup lookup{db.members(), bundles, context};
  Json out = Json::array();
  for (const Finding* f : found) out.push_back(json_of(*f, &lookup));
  return out;
}

constinit const Command kShow{
    "show",
    "a finding, down to the raw lines",
    "show [FINDING...] BUNDLE... | -d FILE [--bundle BUNDLE]",
    "  culprit show -d incident.db                               lists the findings\n"
    "  culprit show gpu_xid/79 -d incident.db --bundle job.tar.gz\n"
    "  culprit show gpu_xid/79 job.tar.gz                        diagnoses it again\n",
    kShowOptions,
    run_show};

}  // namespace culprit::cli
