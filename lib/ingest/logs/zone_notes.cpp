// What people note of the clocks of what they collected, in a README, a ticket or a comment:
//
//   job.log is in CET (local), kern.log of nodes in UTC      console is UTC, machines are on
//   sys/*.log are in local time (CEST, UTC+2)                America/Los_Angeles (-7)
//   train.log UTC; smi.csv is PDT (UTC-7)
#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"
#include "line/timestamp.hpp"
#include "line/trimmed.hpp"
#include "line/zone.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

// Whose clock a clause is of: the job's, the machines', both where it counts them up ("console and
// kernel logs"), or nobody's that is known.
std::vector<std::string_view> whose(const re2::StringPiece& clause) {
  static const re2::RE2 kMachines(
      R"((?i)(?:^|[^a-z])(?:kern(?:el)?|dmesg|journals?|journalctl|sys(?:log)?s?|messages|nodes?|hosts?|machines?|compute nodes?)(?:[^a-z]|$))"),
      kJob(
          R"((?i)(?:^|[^a-z])(?:job|console|trainer|training|train|stdout|slurm|rank|ranks|launcher|pods?|run[-_.]?\w*)(?:[^a-z]|$))");
  // "The nodes are managed by ops in Europe/Berlin": where people are.
  static const re2::RE2 kPeople(R"((?i)\bby\b[^()]*\bin\b)"),
      kLog(R"((?i)log|journal|dmesg|kern|print|stamp|clock|time|export|written)");
  if (re2::RE2::PartialMatch(clause, kPeople) && !re2::RE2::PartialMatch(clause, kLog)) return {};
  const bool machines = re2::RE2::PartialMatch(clause, kMachines);
  const bool job = re2::RE2::PartialMatch(clause, kJob);
  static const re2::RE2 kBoth(R"((?i) (?:and|und|et|y) |\+|&)");
  if (job && machines && re2::RE2::PartialMatch(clause, kBoth))
    return {"timezone.job", "timezone.machines"};
  if (job == machines) return {};
  return {job ? "timezone.job" : "timezone.machines"};
}

// "UTC+2", "CEST", "America/Los_Angeles" as line::Zone::named takes it; "" for none or for two.
std::string zone_of(re2::StringPiece clause) {
  static const re2::RE2 kZone(
      R"(\b((?:UTC|GMT)[+-]\d{1,2}(?::?\d\d)?|[A-Z][a-z]+/[A-Z][A-Za-z_]+|[A-Z]{3,4})\b)");
  std::string word, out;
  Nanoseconds offset = 0;
  while (re2::RE2::FindAndConsume(&clause, kZone, &word)) {
    const auto named = line::offset_named(word);
    if (!named) {  // "CET = UTC+1": what an abbreviation has told stands
      if (out.empty() && line::Zone::named(word)) return word;
      continue;
    }
    if (!out.empty() && *named != offset) return {};
    offset = *named;
    out = fmt::format("{:+03d}:00", offset / kHour);
  }
  return out;
}

// Files and folders of the bundle that a clause names and that print in a zone: "sys/*.log are in
// local time (CEST)", "smi.csv is PDT". Who copied one, and when, is another matter.
std::vector<std::string> files_in(re2::StringPiece clause) {
  static const re2::RE2 kOther(
      R"(\d:\d\d|(?i)\b(?:by|who|copied|uploaded|collected|taken|saved|see|first|last|was|were|had|from|since|until|after|before)\b)");
  if (re2::RE2::PartialMatch(clause, kOther)) return {};

  static const re2::RE2 kFile(
      R"((?:^|[\s(])((?:[\w.*-]+/)*[\w*-][\w.*-]*\.(?:log|csv|tsv|txt|jsonl?|out|err|dmesg|sel|journal)|[\w.-]+/(?:\*[\w.*]*)?)(?:[\s):]|$))");
  std::vector<std::string> out;
  std::string name;
  while (out.size() < 8 && re2::RE2::FindAndConsume(&clause, kFile, &name)) out.push_back(name);
  return out;
}

// Of the file that the clause stands in, or of the machine that it names: "BMC clock UTC+2",
// "nas-b clock EST". "" for neither. A note tells of other files than its own.
std::string own_clock(const re2::StringPiece& clause, const Reading& reading) {
  static const re2::RE2 kOwn(
      R"((?i)(?:^|[\s(])(?:([\w.-]+)(?:'s)? )?clock(?: (?:is|in|at|on|shows))*[ :=]+\(?(?:UTC|GMT|[A-Z]{3,4}\b|[A-Z][a-z]+/[A-Z][a-z]|[+-]\d\d:?\d\d))"),
      kLocal(R"((?i)\blocal(?: time)?,? \(?(?:UTC|GMT)[+-]\d)"),
      kThing(R"((?i)(?:this|the|its|own|local|system|log|file|node|host|machine))"),
      kController(R"((?i)(?:bmc|sel|ipmi))");
  std::string whose;
  const bool note = reading.text_kind == "notes";
  // "every night from 01:45 local (UTC+3)", written under a log; at what time of day somebody
  // collects or plans is told by a clock of his own.
  static const re2::RE2 kOthers(
      R"((?i)\d:\d\d.*\b(?:by|collected|maintenance|window|planned|scheduled)\b|\b(?:by|collected|maintenance|window|planned|scheduled)\b.*\d:\d\d)");
  if (re2::RE2::PartialMatch(clause, kLocal))
    return note || re2::RE2::PartialMatch(clause, kOthers) ? "" : reading.path;
  if (!re2::RE2::PartialMatch(clause, kOwn, &whose)) return {};
  if (re2::RE2::FullMatch(whose, kController)) {
    if (note) return "bmc";
    // A controller's list says so of itself; a kernel's log speaks of another clock.
    return reading.text_kind == "bmc" ? reading.path : std::string();
  }
  if (whose.empty() || re2::RE2::FullMatch(whose, kThing)) return note ? "" : reading.path;
  return whose.find_first_of("-0123456789") == std::string::npos ? std::string() : whose;
}

// Puts a semicolon between clauses. "the kernel log is in UTC+3 and the job prints UTC" are two,
// "console and kernel log" are one; "they differ: the console is UTC" begins anew where the colon
// stands, "logs of the job: UTC" does not.
void cut_clauses(std::string& text) {
  const auto zone_within = [&](std::size_t from, std::size_t to) {
    return !zone_of({text.data() + from, to - from}).empty();
  };
  for (std::size_t at = text.find(". "); at != text.npos; at = text.find(". ", at)) text[at] = ';';
  for (std::size_t at = text.find(": "); at != text.npos; at = text.find(": ", at + 1)) {
    const std::size_t end = std::min(text.find_first_of(",;", at), text.size());
    if (!whose({text.data() + at, end - at}).empty() && zone_within(at, end)) text[at] = ';';
  }
  for (std::size_t at = text.find(" and "); at != text.npos; at = text.find(" and ", at + 1))
    if (const std::size_t begin = text.find_last_of(",;", at) + 1,
        end = std::min(text.find_first_of(",;", at), text.size());
        zone_within(begin, at) && zone_within(at, end))
      text[at] = ';';
}

// own_clock_only: nothing but what it says of the clock of its own file counts.
Outcome read_clauses(const TextLine& line, Reading& reading, bool own_clock_only) {
  constexpr std::size_t kLongest = 300;
  if (line.raw.size() > kLongest || line.line.prefix.time.clock != Clock::none) return {};
  static const re2::RE2 kTells(
      R"(\b(?:is|are|in|on|prints?|runs?|uses?|log|clocks?|hosts|nodes|time|local)\b.{0,30}\b(?:UTC|GMT|CES?T|[EMP][SD]T|CDT|JST|KST|IST|SGT|HKT|AE[SD]T|[A-Z][a-z]+/[A-Z][a-z]\w*))");
  if (!re2::RE2::PartialMatch({line.raw.data(), line.raw.size()}, kTells)) return {};
  // "(CEST, UTC+2)" is one zone, so what stands between brackets is of the clause before.
  std::string text(line.raw);
  int depth = 0;
  for (char& c : text) {
    depth += (c == '(') - (c == ')');
    if (depth > 0 && (c == ',' || c == ';')) c = ' ';
  }
  cut_clauses(text);
  bool used = false;
  re2::StringPiece rest(text);
  static const re2::RE2 kClause(R"(([^,;]+)(?:[,;]|$))");
  std::string clause;
  while (re2::RE2::FindAndConsume(&rest, kClause, &clause)) {
    const std::vector<std::string_view> names = whose(clause);
    std::string zone = zone_of(clause);
    // "Console is local time": of which zone nobody says.
    if (zone.empty() && names.size() == 1 && names.front() == "timezone.job" &&
        contains(clause, "local time"))
      zone = "local";
    if (zone.empty()) continue;
    if (const std::string own = own_clock(clause, reading); !own.empty() && zone != "local") {
      reading.sink.put(ConfigRow{line.place, "timezone.file[" + own + "]", zone});
      used = true;
      continue;
    }
    if (own_clock_only) continue;
    if (zone != "local")
      for (const std::string& file : files_in(clause)) {
        reading.sink.put(ConfigRow{line.place, "timezone.file[" + file + "]", zone});
        used = true;
      }
    for (const std::string_view name : names) {
      reading.sink.put(ConfigRow{line.place, std::string(name), zone});
      used = true;
    }
  }
  return {used};
}

Outcome read_zone_note(const TextLine& line, Reading& reading) {
  return read_clauses(line, reading, false);
}

// A comment or a heading among what a tool printed.
Outcome read_zone_comment(const TextLine& line, Reading& reading) {
  const std::string_view text = line::trimmed(line.raw);
  const bool comment = text.starts_with('#') || text.starts_with("//") || text.starts_with('(') ||
                       text.starts_with("--") || text.starts_with(';');
  return read_clauses(line, reading, !comment);
}

// "torchrun on 6 hosts, TZ=Europe/Berlin": what a program was given by whoever started it, and so
// what it prints.
Outcome read_zone_setting(const TextLine& line, Reading& reading) {
  static const re2::RE2 kSetting(
      R"((?:^|[\s"';,(])TZ=["':]{0,2}([A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)*)\b)");
  std::string zone;
  if (reading.text_kind == "notes" ||
      !re2::RE2::PartialMatch({line.raw.data(), line.raw.size()}, kSetting, &zone) ||
      !line::Zone::named(zone))
    return {};
  reading.sink.put(ConfigRow{line.place, "timezone.file[" + reading.path + "]", zone});
  return {true};
}

constexpr std::string_view kZoneSettingWords[] = {"TZ=UTC",        "TZ=Etc/",    "TZ=Europe/",
                                                  "TZ=America/",   "TZ=Asia/",   "TZ=Africa/",
                                                  "TZ=Australia/", "TZ=Pacific/"};
constexpr std::string_view kCommentWords[] = {"local time", " clock ",  "clock:", "hosts UTC",
                                              "nodes UTC",  "logs UTC", " (UTC+", " (UTC-"};

}  // namespace

extern constinit const Recogniser kZoneSettings{
    "zone-settings", "the zone that a program was started with: TZ=Europe/Berlin",
    kZoneSettingWords, read_zone_setting};
extern constinit const Recogniser kZoneComments{"zone-comments",
                                                "comments that say in which zone a clock prints",
                                                kCommentWords, read_zone_comment};
extern constinit const Recogniser kZoneNotes{
    .name = "zone-notes",
    .summary = "notes of people: in which zone the job's and the machines' clocks print",
    .words = {},
    .read = read_zone_note,
    .whole_kind = "notes"};

}  // namespace culprit::ingest
