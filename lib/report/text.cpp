// The verdict for a terminal: the answer in the first line, then who, why, what to do, and where it
// is written.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "model/json.hpp"
#include "report/report.hpp"
#include "report/terminal.hpp"

namespace culprit::report {

namespace {

std::string counted(std::uint64_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

using nlohmann::json;

struct Painter {
  bool on;
  std::string paint(const char* code, const std::string& text) const {
    return on ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }
  std::string strong(const std::string& t) const { return paint("1", t); }
  std::string faint(const std::string& t) const { return paint("2", t); }
  std::string heading(const std::string& t) const { return paint("1;36", t); }
};

std::string printable(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? visible(it->get<std::string>()) : std::string{};
}

const char* verb(const std::string& action, const std::string& step) {
  if (action == "none") return step == "no_failure" ? "NO FAILURE FOUND" : "NOTHING TO DO";
  if (action == "isolate") return "ISOLATE";
  if (action == "rollback") return "ROLL BACK";
  if (action == "repair") return "REPAIR";
  if (action == "checks") return "RUN CHECKS";
  if (action == "reattempt") return "TRY AGAIN";
  if (action == "offline") return "STOP";
  if (action == "mitigate") return "MITIGATE";
  if (action == "replay") return "REPLAY";
  return "INVESTIGATE";
}

// The step of the ladder that gave the answer.
std::string taken_step(const json& steps) {
  for (const json& step : steps)
    if (printable(step, "outcome") == "taken") return printable(step, "step");
  return {};
}

const char* paint_of(const std::string& action) {
  return action == "none" ? "1;32" : action == "isolate" ? "1;31" : "1;33";
}

std::string clock(const json& value) {
  if (!value.is_string()) return "-";
  const std::string iso = value.get<std::string>();
  return iso.size() >= 19 ? iso.substr(11, 8) : iso;
}

std::string date_of(const json& time) {
  return time.is_string() ? time.get<std::string>().substr(0, 10) : std::string{};
}

std::string shortened(const std::string& t, std::size_t width) {
  if (columns(t) <= width) return t;
  std::string out;
  for (std::size_t i = 0; i < t.size() && columns(out) + 2 < width; ++i) {
    out += t[i];
    while (i + 1 < t.size() && (static_cast<unsigned char>(t[i + 1]) & 0xC0) == 0x80) out += t[++i];
  }
  return out + "…";
}

// Some problems are told of files that were read all the same.
bool loses_input(const json& problem) {
  const std::string code = problem.value("code", "");
  return code != "bundle.path_unsafe" && code != "bundle.path_too_long" &&
         code != "bundle.no_archive";
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.0f} kB", static_cast<double>(bytes) / 1e3);
  if (bytes < 10'000'000'000) return fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

}  // namespace

namespace {

std::string to_text(const std::string& document, const RenderOptions& options) {
  const json d = json::parse(document, nullptr, false);
  if (!d.is_object()) return "";
  const Painter p{options.color};
  const auto more = [&](std::size_t all, std::size_t shown) {
    return all <= shown ? std::string{}
                        : p.faint(fmt::format("  and {} more{}", all - shown,
                                              options.verbose ? "" : " (-v)")) +
                              "\n";
  };
  const std::size_t width = std::clamp<std::size_t>(options.width, 60, 160);
  const json& v = d["verdict"];
  const std::string action = v["action"].get<std::string>();
  std::string out;

  // Hosts are what people act on; finer parts stand behind them.
  std::vector<std::string> names;
  for (const json& t : v["targets"])
    names.push_back(printable(t, "kind") == "job" ? std::string("the job")
                    : printable(t, "kind") == "host"
                        ? printable(t, "id")
                        : printable(t, "kind") + " " + printable(t, "id"));
  std::string who;
  for (std::size_t i = 0; i < names.size() && i < 4; ++i) who += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > 4) who += fmt::format(" and {} more", names.size() - 4);
  if (action == "none") who.clear();
  const std::string precision = printable(v, "precision");
  out += p.paint(paint_of(action), verb(action, taken_step(v["steps"]))) +
         (who.empty() ? "" : "  " + p.strong(who)) +
         (precision == "exact" || who.empty()
              ? ""
              : p.faint("  (" +
                        (precision == "group" ? std::string("group") : std::string("candidates")) +
                        ")")) +
         "\n";
  if (!d["bundle"].value("complete", true)) {
    std::size_t lost = 0;
    for (const json& problem : d["bundle"]["problems"]) lost += loses_input(problem);
    out += p.paint("1;33", "INCOMPLETE BUNDLE") + "  " +
           (lost == 0 ? std::string("reading it was cut off: files are missing")
                      : fmt::format("{} not read to {} end, see below",
                                    counted(lost, "file") + (lost == 1 ? " was" : " were"),
                                    lost == 1 ? "its" : "their")) +
           "\n";
  }
  out += wrapped(printable(v, "summary"), width, 0) + "\n";

  if (!v["targets"].empty() && action != "none") {
    out += "\n" + p.heading("WHO") + "\n";
    for (const json& t : v["targets"])
      out += fmt::format("  {:<8} {:<40} {:>3.0f} % sure\n", printable(t, "kind"),
                         shortened(printable(t, "id"), 40), t["confidence"].get<double>() * 100);
  }

  // Evidence of the findings that the targets rest on; the lines themselves, not our words for
  // them.
  std::vector<std::string> because;
  for (const json& t : v["targets"])
    for (const json& id : t["because"])
      if (std::find(because.begin(), because.end(), id.get<std::string>()) == because.end())
        because.push_back(id.get<std::string>());
  std::size_t shown = 0;
  std::set<std::string> places;  // a place is shown once, under the first claim that rests on it
  for (const std::string& id : because) {
    for (const json& f : d["findings"]) {
      if (f["id"] != id || shown >= (options.verbose ? 64u : 4u)) continue;
      const auto key = [](const json& e) {
        return fmt::format("{}:{}:{}", e["path"].get<std::string>(), e["line"].get<std::uint64_t>(),
                           e["byte_offset"].get<std::uint64_t>());
      };
      if (!options.verbose && !f["evidence"].empty() &&
          std::all_of(f["evidence"].begin(), f["evidence"].end(),
                      [&](const json& e) { return places.count(key(e)) != 0; }))
        continue;
      if (shown++ == 0) out += "\n" + p.heading("EVIDENCE") + "\n";
      out += fmt::format(
          "  {} {}\n", p.strong(printable(f, "title")),
          p.faint(f["count"] == 0
                      ? fmt::format("({})", printable(f, "class"))
                      : fmt::format("({}, {} line{})", printable(f, "class"),
                                    f["count"].get<std::uint64_t>(), f["count"] == 1 ? "" : "s")));
      std::size_t n = 0;
      for (const json& e : f["evidence"]) {
        if (n >= (options.verbose ? 16u : 2u)) break;
        if (!places.insert(key(e)).second && !options.verbose) continue;
        ++n;
        out += e["line"] == 0 ? fmt::format("    {} at byte {}\n", printable(e, "path"),
                                            e["byte_offset"].get<std::uint64_t>())
                              : fmt::format("    {}:{}\n", printable(e, "path"),
                                            e["line"].get<std::uint64_t>());
        if (!printable(e, "excerpt").empty())
          out += "      " + p.faint(shortened(printable(e, "excerpt"), width - 8)) + "\n";
      }
      // For an exception the message says more than the head of its stack.
      if (const std::string message = printable(f["numbers"], "message");
          printable(f["subject"], "kind") == "code" && !message.empty())
        out += "      " + shortened(message, width - 8) + "\n";
    }
  }

  if (!v["chain"].empty()) {
    std::string date;
    for (const json& c : v["chain"])
      if (date = date_of(c["time"]); !date.empty()) break;
    out +=
        "\n" + p.heading("TIMELINE") + (date.empty() ? "" : p.faint("  (UTC " + date + ")")) + "\n";
    std::size_t n = 0;
    for (const json& c : v["chain"]) {
      if (n++ >= (options.verbose ? 64u : 6u)) break;
      // Past midnight the times alone would run backwards.
      if (const std::string day = date_of(c["time"]); !day.empty() && day != date) {
        out += p.faint("  " + day) + "\n";
        date = day;
      }
      out +=
          fmt::format("  {:<9} {:<26} {}\n", clock(c["time"]), shortened(printable(c, "who"), 26),
                      shortened(printable(c, "what"), width - 40));
    }
    out += more(v["chain"].size(), options.verbose ? 64 : 6);
  }

  if (!v["next"].empty()) {
    out += "\n" + p.heading("NEXT STEPS") + "\n";
    std::size_t n = 0;
    for (const json& step : v["next"]) {
      if (n++ >= (options.verbose ? 64u : 6u)) break;
      const std::string kind = printable(step, "kind");
      if (kind == "command")
        out += "  $ " + printable(step, "text") + "\n";
      else
        out += fmt::format("  {} {}\n", kind == "collect" ? "collect:" : "-",
                           wrapped(printable(step, "text"), width, 4, kind == "collect" ? 11 : 4));
    }
    out += more(v["next"].size(), options.verbose ? 64 : 6);
  }

  if (options.explain) {
    out += "\n" + p.heading("THE LADDER") + "\n";
    for (const json& s : v["steps"]) {
      const std::string outcome = printable(s, "outcome");
      const char* mark = outcome == "taken" ? "=>" : outcome == "not_enough_evidence" ? " ?" : "  ";
      out += fmt::format(" {} {:<20} {}\n", mark, printable(s, "step"),
                         wrapped(printable(s, "why"), width, 25, 25));
    }
  }

  const json& b = d["bundle"];
  out += "\n" +
         p.faint(wrapped(
             fmt::format("read {}, {}, {}: {} used, {} skipped, {} rejected; {}, {}",
                         counted(b["members"], "file"), bytes_text(b["bytes"].get<std::uint64_t>()),
                         counted(b["lines"], "line"), b["used"].get<std::uint64_t>(),
                         b["skipped"].get<std::uint64_t>(), b["rejected"].get<std::uint64_t>(),
                         counted(b["hosts"].size(), "host"), counted(b["ranks"], "rank")),
             width, 5)) +
         "\n";
  for (const json& note : b["notes"])
    out += p.faint("note: " + wrapped(visible(note.get<std::string>()), width, 6, 6)) + "\n";
  std::size_t problems = 0;
  for (const json& problem : b["problems"])
    if (problems++ < (options.verbose ? 1000u : 3u))
      out +=
          p.paint("33", loses_input(problem) ? "not read: " : "note: ") +
          wrapped(printable(problem, "path") + ": " + printable(problem, "reason"), width, 10, 10) +
          "\n";
  if (problems > 3 && !options.verbose)
    out += fmt::format("not read: {} more (-v)\n", problems - 3);

  if (options.verbose) {
    out += "\n" + p.heading("ALL FINDINGS") + "\n";
    for (const json& f : d["findings"])
      out += fmt::format(
          "  {:<19} {:<11} {:<30} {}\n", printable(f, "outcome"), printable(f, "severity"),
          shortened(printable(f["subject"], "id"), 30),
          shortened(printable(f, "title") +
                        (printable(f, "outcome") == "ruled_out" ? ": " + printable(f, "why") : ""),
                    width - 66));
    out += "\n" + p.heading("LEDGER") + "\n";
    for (const json& m : d["ledger"])
      out += fmt::format(
          "  {:<48} {:<18} {} = {} used + {} skipped + {} rejected{}\n",
          shortened(printable(m, "path"), 48), printable(m, "format"),
          m["lines"].get<std::uint64_t>(), m["used"].get<std::uint64_t>(),
          m["skipped"].get<std::uint64_t>(), m["rejected"].get<std::uint64_t>(),
          m.contains("duplicate_of") ? ", a copy of " + printable(m, "duplicate_of") : "");
  }
  return out;
}

}  // namespace

extern const Format kText;
constinit const Format kText{"text", "report.txt", to_text};

}  // namespace culprit::report
