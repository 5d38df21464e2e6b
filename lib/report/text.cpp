// The verdict for a terminal: the answer in the first line, then who, why, what to do, and where it
// is written.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "model/json.hpp"
#include "model/shell.hpp"
#include "report/fields.hpp"
#include "report/report.hpp"
#include "report/terminal.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

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

// The page, section by section.
class TextPage : Ink {
 public:
  TextPage(const json& document, const RenderOptions& options)
      : Ink{options.color},
        document_(document),
        verdict_(member(document, "verdict")),
        options_(options),
        width_(std::clamp<std::size_t>(options.width, 60, 160)),
        action_(member(verdict_, "action").get<std::string>()) {}

  std::string print() {
    head();
    who();
    also_possible();
    evidence();
    timeline();
    next_steps();
    if (options_.explain) {
      compared();
      reasons();
    }
    foot();
    if (options_.verbose) everything();
    return std::move(out_);
  }

 private:
  std::string heading(const char* title) const { return "\n" + paint("1;36", title); }
  std::string more(std::size_t all, std::size_t shown) const {
    return all <= shown
               ? std::string{}
               : dim(fmt::format("  and {} more{}", all - shown, options_.verbose ? "" : " (-v)")) +
                     "\n";
  }

  void head() {
    const std::string who = accused(document_);
    const std::string precision = text(verdict_, "precision");
    out_ += paint(paint_of(action_), headline(action_, taken_step(document_))) +
            (who.empty() ? "" : "  " + bold(who)) +
            (precision == "exact" || who.empty()
                 ? ""
                 : dim("  (" +
                       (precision == "group" ? std::string("group") : std::string("candidates")) +
                       ")")) +
            "\n";
    if (!member(document_, "bundle").value("complete", true)) {
      std::size_t lost = 0;
      for (const json& problem : member(member(document_, "bundle"), "problems"))
        lost += loses_input(problem);
      out_ += paint("1;33", "INCOMPLETE BUNDLE") + "  " +
              (lost == 0 ? std::string("reading it was cut off: files are missing")
                         : fmt::format("{} not read to {} end, see below",
                                       counted(lost, "file") + (lost == 1 ? " was" : " were"),
                                       lost == 1 ? "its" : "their")) +
              (member(verdict_, "targets").empty() ? "" : "; confidence is lower for it") + "\n";
    }
    out_ += wrapped(text(verdict_, "summary"), width_, 0) + "\n";
    if (const std::string known = about(document_); !known.empty())
      out_ += dim(wrapped(known, width_, 0)) + "\n";
  }

  void who() {
    if (!member(verdict_, "targets").empty() && action_ != "none") {
      const std::string sure = sureness(document_);
      out_ += heading("WHO") + (sure.empty() ? "" : dim("  (" + sure + ")")) + "\n";
      const auto name = [&](const json& t) {
        return shortened(
            text(t, "kind") == "job" ? std::string("the job") : target_id(document_, t),
            std::max<std::size_t>(40, width_ - 23));
      };
      for (const json& t : member(verdict_, "targets")) {
        const std::string shown = name(t);
        out_ += fmt::format("  {:<8} {}\n", text(t, "kind"), shown);
      }
    }
  }

  void also_possible() {
    const std::vector<json> others = alternatives(document_);
    if (others.empty()) return;
    out_ += heading("ALSO POSSIBLE") + "\n";
    for (const json& c : others) {
      std::string whom;
      for (const json& t : member(c, "targets"))
        if (text(t, "kind") != "job")
          whom += (whom.empty() ? "" : ", ") + shortened(text(t, "id"), 60);
      out_ += "  " + bold(text(c, "name") + (whom.empty() ? "" : ": " + whom)) + "\n";
      for (const auto& [label, key] :
           {std::pair("for", "what"), {"against", "against"}, {"would tell", "tells"}})
        if (const std::string said = text(c, key); !said.empty())
          out_ += fmt::format("    {:<11}{}\n", label, wrapped(said, width_, 15, 15));
    }
  }

  // Every hypothesis, and what its score is made of.
  void compared() {
    out_ +=
        heading("WHAT COULD HAVE HAPPENED") + dim("  (decibans against an unknown cause)") + "\n";
    for (const json& c : member(verdict_, "differential")) {
      out_ += fmt::format(" {:>4} {:<20} {}\n", member(c, "score").get<int>(), text(c, "kind"),
                          wrapped(text(c, "what"), width_, 26, 26));
      for (const json& weight : member(c, "weights"))
        out_ += dim(fmt::format("        {:>+4} {}\n", member(weight, "decibans").get<int>(),
                                wrapped(text(weight, "reason"), width_, 13, 13)));
    }
  }

  // Lines of the findings that the verdict rests on, not our words for them.
  void evidence() {
    std::size_t shown = 0, cut = 0;
    std::string first;
    std::set<std::string> places;  // a place is shown once, under the first claim that rests on it
    for (const std::string& id : shown_grounds(document_))
      for (const json& f : member(document_, "findings")) {
        if (member(f, "id") != id) continue;
        const json& lines = member(f, "evidence");
        if (!options_.verbose && !lines.empty() &&
            std::ranges::all_of(lines, [&](const json& e) { return places.count(key(e)) != 0; }))
          continue;
        if (shown >= (options_.verbose ? 64u : 4u) && !is_context(f)) {
          ++cut;
          continue;
        }
        if (shown++ == 0) {
          out_ += heading("EVIDENCE") + "\n";
          first = id;
        }
        evidence_of(f, places);
      }
    out_ += more(shown + cut, shown);
    if (shown != 0 && !options_.show.empty())
      out_ += dim(fmt::format("  raw lines: culprit show {} {}", shell_quoted(visible(first)),
                              options_.show)) +
              "\n";
  }

  static std::string key(const json& e) {
    return fmt::format("{}:{}:{}", member(e, "path").get<std::string>(),
                       member(e, "line").get<std::uint64_t>(),
                       member(e, "byte_offset").get<std::uint64_t>());
  }

  // As it stands there, on two lines at the most: the reason of an error is often at its end.
  void quote(const std::string& excerpt) {
    const std::size_t room = width_ - 6;
    std::string first = excerpt, second;
    if (columns(excerpt) > room) {
      first = excerpt.substr(0, cut_at(excerpt, room));
      second = excerpt.substr(first.size());
      second.erase(0, second.find_first_not_of(' '));
    }
    out_ += "      " + dim(first) + "\n";
    if (!second.empty()) out_ += "      " + dim(shortened(second, room)) + "\n";
  }

  void evidence_of(const json& f, std::set<std::string>& places) {
    const auto lines = member(f, "count").get<std::uint64_t>();
    out_ += fmt::format(
        "  {} {}\n", bold(text(f, "title")),
        dim(lines == 0 ? fmt::format("({})", text(f, "class"))
                       : fmt::format("({}, {})", text(f, "class"), counted(lines, "line"))));
    std::size_t n = 0, cut = 0;
    for (const json& e : member(f, "evidence")) {
      if (!options_.verbose && places.count(key(e)) != 0) continue;
      if (n >= (options_.verbose ? 16u : is_context(f) ? 3u : 2u)) {
        ++cut;
        continue;
      }
      places.insert(key(e));
      ++n;
      out_ += "    " + place(e) + "\n";
      if (const std::string words = quoted(e); !words.empty()) quote(words);
    }
    if (cut > 0) out_ += "  " + more(n + cut, n);
  }

  void timeline() {
    if (!member(verdict_, "chain").empty()) {
      std::string date;
      for (const json& c : member(verdict_, "chain"))
        if (date = date_of(member(c, "time")); !date.empty()) break;
      out_ += heading("TIMELINE") + (date.empty() ? "" : dim("  (UTC " + date + ")")) + "\n";
      std::size_t n = 0;
      for (const json& c : member(verdict_, "chain")) {
        if (n++ >= (options_.verbose ? 64u : 6u)) break;
        // Past midnight the times alone would run backwards.
        if (const std::string day = date_of(member(c, "time")); !day.empty() && day != date) {
          out_ += dim("  " + day) + "\n";
          date = day;
        }
        out_ += fmt::format("  {:<9} {:<26} {}\n", clock(member(c, "time")),
                            shortened(chain_who(document_, c), 26),
                            shortened(text(c, "what"), width_ - 40));
      }
      out_ += more(member(verdict_, "chain").size(), options_.verbose ? 64 : 6);
    }
  }

  void next_steps() {
    if (!member(verdict_, "next").empty()) {
      out_ += heading("NEXT STEPS") + "\n";
      std::size_t n = 0;
      for (const json& step : member(verdict_, "next")) {
        if (n++ >= (options_.verbose ? 64u : 6u)) break;
        const std::string kind = text(step, "kind");
        if (kind == "command")
          out_ += "  $ " + text(step, "text") + "\n";
        else
          out_ += fmt::format("  {} {}\n", kind == "collect" ? "collect:" : "-",
                              wrapped(text(step, "text"), width_, 4, kind == "collect" ? 11 : 4));
      }
      out_ += more(member(verdict_, "next").size(), options_.verbose ? 64 : 6);
    }
  }

  void reasons() {
    out_ += heading("EACH KIND OF CAUSE") + "\n";
    for (const json& s : member(verdict_, "steps")) {
      const std::string outcome = text(s, "outcome");
      const char* mark = outcome == "taken" ? "=>" : outcome == "not_enough_evidence" ? " ?" : "  ";
      out_ += fmt::format(" {} {:<20} {}\n", mark, text(s, "step"),
                          wrapped(text(s, "why"), width_, 25, 25));
    }
  }

  void foot() {
    const json& b = member(document_, "bundle");
    out_ += "\n" +
            dim(wrapped(fmt::format("read {}, {}, {}: {} used, {} skipped, {} rejected; {}, {}",
                                    counted(member(b, "members"), "file"),
                                    bytes_text(member(b, "bytes").get<std::uint64_t>()),
                                    counted(member(b, "lines"), "line"),
                                    member(b, "used").get<std::uint64_t>(),
                                    member(b, "skipped").get<std::uint64_t>(),
                                    member(b, "rejected").get<std::uint64_t>(),
                                    counted(member(b, "hosts").size(), "host"),
                                    counted(member(b, "ranks"), "rank")),
                        width_, 5)) +
            "\n";
    for (const json& note : member(b, "notes"))
      out_ += dim("note: " + wrapped(visible(note.get<std::string>()), width_, 6, 6)) + "\n";
    std::size_t problems = 0;
    for (const json& problem : member(b, "problems"))
      if (problems++ < (options_.verbose ? 1000u : 3u))
        out_ += paint("33", loses_input(problem) ? "not read: " : "note: ") +
                wrapped(text(problem, "path") + ": " + text(problem, "reason"), width_, 10, 10) +
                "\n";
    if (problems > 3 && !options_.verbose)
      out_ += fmt::format("not read: {} more (-v)\n", problems - 3);
  }

  void everything() {
    out_ += heading("ALL FINDINGS") + "\n";
    for (const json& f : member(document_, "findings"))
      out_ +=
          fmt::format("  {:<19} {:<11} {}\n      {}\n", text(f, "outcome"), text(f, "severity"),
                      shortened(text(member(f, "subject"), "id"), width_ - 34),
                      wrapped(text(f, "title") +
                                  (text(f, "outcome") == "ruled_out" ? ": " + text(f, "why") : ""),
                              width_, 6, 6));
    out_ += heading("LEDGER") + "\n";
    for (const json& m : member(document_, "ledger"))
      out_ += fmt::format(
          "  {:<48} {:<18} {} = {} used + {} skipped + {} rejected{}\n",
          shortened(text(m, "path"), 48), text(m, "format"),
          member(m, "lines").get<std::uint64_t>(), member(m, "used").get<std::uint64_t>(),
          member(m, "skipped").get<std::uint64_t>(), member(m, "rejected").get<std::uint64_t>(),
          m.contains("duplicate_of") ? ", a copy of " + text(m, "duplicate_of") : "");
  }

  const json& document_;
  const json& verdict_;
  const RenderOptions& options_;
  std::size_t width_;
  std::string action_;
  std::string out_;
};

// A document that a stranger's database holds may be anything.
std::string to_text(const std::string& document, const RenderOptions& options) {
  const json d = options.verbose ? parse_json(document) : with_grounds(document);
  if (!d.is_object()) return "";
  try {
    return TextPage(d, options).print();
  } catch (const json::exception&) { return "the stored document is not a diagnosis\n"; }
}

}  // namespace

extern constinit const Format kText{"text", "report.txt", to_text};

}  // namespace culprit::report
