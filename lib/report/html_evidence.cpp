// What the verdict rests on, how it was reached, and what became of every file.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "model/contains.hpp"
#include "model/shell.hpp"
#include "report/html.hpp"
#include "report/terminal.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

constexpr std::size_t kFirstPlaces = 4;  // shown at once
constexpr std::size_t kMostPlaces = 24;  // of one finding
constexpr std::size_t kMostGrounds = 40;
constexpr std::size_t kMostOthers = 120;
constexpr std::size_t kMostFiles = 400;
constexpr std::size_t kMostNotes = 200;
constexpr std::size_t kLongestExcerpt = 600;

std::string excerpt(const std::string& quoted) {
  if (quoted.size() <= kLongestExcerpt) return escaped(quoted);
  return html_label(quoted, kLongestExcerpt);
}

std::string quoted_place(const json& evidence) {
  const std::string words = quoted(evidence);
  return "<pre><span class=\"soft\">" + escaped(place(evidence)) + "</span>" +
         (words.empty() ? "" : "\n" + excerpt(words)) + "</pre>\n";
}

std::string places(const json& finding) {
  const json& all = list(finding, "evidence");
  std::string first, more;
  for (std::size_t i = 0; i < all.size() && i < kMostPlaces; ++i)
    (i < kFirstPlaces ? first : more) += quoted_place(all[i]);
  if (all.size() > kMostPlaces)
    more += fmt::format("<p class=\"soft\">and {} more places</p>\n", all.size() - kMostPlaces);
  if (more.empty()) return first;
  return first + fmt::format("<details><summary>{} more places</summary>\n{}</details>\n",
                             all.size() - kFirstPlaces, more);
}

std::string show_command(const json& finding, const RenderOptions& options) {
  const json& id = member(finding, "id");
  if (!id.is_string() || options.place.empty()) return "";
  return "<p><code class=\"copy\">culprit show " +
         escaped(visible(shell_quoted(id.get<std::string>()))) + " " +
         escaped(visible(options.place)) + "</code></p>\n";
}

const char* colour_of(const json& finding) {
  const std::string severity = text(finding, "severity");
  return severity == "critical"      ? "red"
         : severity == "distributed" ? "orange"
         : severity == "warning"     ? "blue"
                                     : "grey";
}

std::string seen_on(const json& finding) {
  std::string out = html_text(member(finding, "subject"), "kind") + " " +
                    html_text(member(finding, "subject"), "id");
  if (out == "job job") out = "the job";
  const std::string hosts = text(finding, "hosts"), ranks = text(finding, "ranks");
  const std::string id = text(member(finding, "subject"), "id");
  if (!hosts.empty() && hosts != id && !id.starts_with(hosts + "/"))
    out += "; hosts " + html_label(hosts, 160);
  if (!ranks.empty() && text(member(finding, "subject"), "kind") != "rank")
    out += "; ranks " + html_label(ranks, 160);
  const json& interval = member(finding, "interval");
  if (const std::string start = exact_time(interval, "start"); !start.empty())
    out += "; " + html_clock(start, true);
  if (const std::uint64_t n = count(finding, "count"); n > 0) out += "; " + counted(n, "line");
  return out;
}

std::string described(const json& f, const std::string& anchor, const RenderOptions& options) {
  return fmt::format(
      "<h3 id=\"{}\">{} <span class=\"tag {}\">{}</span></h3>\n<p "
      "class=\"soft\">{}</p>\n<p>{}</p>\n{}{}",
      anchor, html_text(f, "title"), colour_of(f), html_text(f, "severity"), seen_on(f),
      html_text(f, "why"), places(f), show_command(f, options));
}

bool is_ground(const json& finding, const std::vector<std::string>& because) {
  const json& id = member(finding, "id");
  return id.is_string() && contains(because, id.get_ref<const std::string&>());
}

const char* outcome_words(const std::string& outcome, bool nothing_to_do) {
  if (outcome == "taken")
    return nothing_to_do ? "<span class=\"tag green\">taken</span>"
                         : "<span class=\"tag red\">taken</span>";
  return outcome == "ruled_out" ? "ruled out" : "open";
}

}  // namespace

std::map<std::string, std::string> html_anchors(const json& d) {
  std::map<std::string, std::string> out;
  std::map<std::string, std::size_t> shown;  // by outcome
  const auto because = shown_grounds(d);
  const std::set<std::string> first(
      because.begin(),
      because.begin() + static_cast<std::ptrdiff_t>(std::min(kMostGrounds, because.size())));
  const std::set<std::string> all(because.begin(), because.end());
  std::size_t n = 0;
  for (const json& f : list(d, "findings")) {
    ++n;
    if (!member(f, "id").is_string()) continue;
    const std::string id = f["id"].get<std::string>();
    if (all.count(id) != 0 ? first.count(id) == 0 : ++shown[text(f, "outcome")] > kMostOthers)
      continue;
    out.emplace(id, fmt::format("finding-{}", n));
  }
  return out;
}

std::string html_link(const std::map<std::string, std::string>& anchors, const std::string& id,
                      const std::string& content) {
  const auto it = anchors.find(id);
  return it == anchors.end() ? content : "<a href=\"#" + it->second + "\">" + content + "</a>";
}

std::string html_evidence(const json& d, const RenderOptions& options) {
  std::map<std::string, const json*> by_id;
  for (const json& f : list(d, "findings"))
    if (member(f, "id").is_string()) by_id.emplace(f["id"].get<std::string>(), &f);
  std::string body;
  std::size_t shown = 0;
  const auto because = shown_grounds(d);
  const auto anchors = html_anchors(d);
  for (const std::string& id : because) {
    const auto it = by_id.find(id);
    if (it == by_id.end()) continue;
    if (++shown > kMostGrounds) break;
    body += described(*it->second, anchors.at(id), options);
  }
  if (because.size() > kMostGrounds)
    body +=
        fmt::format("<p class=\"soft\">and {} more findings</p>\n", because.size() - kMostGrounds);
  return html_section("evidence", "Evidence",
                      "What the verdict rests on, with the lines that say it.", body);
}

std::string html_considered(const json& d) {
  std::string rows;
  const bool nothing_to_do = text(member(d, "verdict"), "action") == "none";
  for (const json& s : list(member(d, "verdict"), "steps")) {
    std::string step = text(s, "step");
    std::ranges::replace(step, '_', ' ');
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td class=\"keep\">{}</td><td>{}</td></tr>\n",
                        escaped(step), outcome_words(text(s, "outcome"), nothing_to_do),
                        html_text(s, "why"));
  }
  if (rows.empty()) return "";
  return html_section("considered", "What was considered, and why it was left",
                      "Every kind of cause is asked; of those that stand the one with the most for "
                      "it is the verdict.",
                      "<table class=\"stack\">\n<thead><tr><th scope=\"col\">Question</th><th "
                      "scope=\"col\">Outcome</th>"
                      "<th scope=\"col\">Why</th></tr></thead>\n<tbody>\n" +
                          rows + "</tbody></table>\n");
}

namespace {

constexpr std::size_t kAlike = 3;  // findings of one kind that are listed under one heading

std::string id_of(const json& finding, const std::map<std::string, std::string>& anchors) {
  const auto anchor = anchors.find(text(finding, "id"));
  return anchor == anchors.end() ? "" : " id=\"" + anchor->second + "\"";
}

// Findings of one class and role: one, a few, or a list under one heading.
std::string folded(const std::vector<const json*>& alike,
                   const std::map<std::string, std::string>& anchors,
                   const RenderOptions& options) {
  const auto head = [](const json& f) {
    return fmt::format("{} <span class=\"tag {}\">{}</span>", html_text(f, "title"), colour_of(f),
                       html_text(f, "role"));
  };
  const auto more = [&](const json& f) {
    return (list(f, "evidence").empty() ? "" : quoted_place(f["evidence"][0])) +
           show_command(f, options);
  };
  std::string out;
  if (alike.size() < kAlike) {
    for (const json* f : alike)
      out += fmt::format(
          "<details{}><summary>{} <span class=\"soft\">{}</span></summary>\n<p>{}</p>\n"
          "{}</details>\n",
          id_of(*f, anchors), head(*f), seen_on(*f), html_text(*f, "why"), more(*f));
    return out;
  }
  const json& first = *alike.front();
  out = fmt::format(
      "<details><summary>{} <span class=\"soft\">{} findings, from {}</span></summary>\n<p>{}</p>"
      "\n<ul>\n",
      head(first), alike.size(), seen_on(first), html_text(first, "why"));
  for (const json* f : alike) {
    const std::string why =
        text(*f, "why") == text(first, "why") ? "" : "<br>" + html_text(*f, "why");
    out += fmt::format("<li{}>{}{}\n{}</li>\n", id_of(*f, anchors), seen_on(*f), why, more(*f));
  }
  return out + "</ul></details>\n";
}

}  // namespace

std::string html_other_findings(const json& d, const RenderOptions& options) {
  struct Kind {
    const char* outcome;
    const char* title;
    std::vector<std::vector<const json*>> alike = {};  // in the order of the first of each
    std::map<std::tuple<std::string, std::string, std::string>, std::size_t> index = {};
    std::size_t n = 0;
  };
  Kind kinds[] = {{"fired", "Found besides; the verdict does not rest on it"},
                  {"ruled_out", "Looked for and ruled out"},
                  {"not_enough_evidence", "Not decided"}};
  const auto because = shown_grounds(d);
  for (const json& f : list(d, "findings")) {
    if (is_ground(f, because)) continue;
    for (Kind& kind : kinds) {
      if (text(f, "outcome") != kind.outcome || ++kind.n > kMostOthers) continue;
      const auto [at, fresh] = kind.index.try_emplace(
          std::tuple(text(f, "class"), text(f, "title"), text(f, "role")), kind.alike.size());
      if (fresh) kind.alike.emplace_back();
      kind.alike[at->second].push_back(&f);
    }
  }
  const auto anchors = html_anchors(d);
  std::string body;
  for (const Kind& kind : kinds) {
    if (kind.n == 0) continue;
    body += fmt::format("<h3>{} ({})</h3>\n", kind.title, kind.n);
    for (const auto& alike : kind.alike) body += folded(alike, anchors, options);
    if (kind.n > kMostOthers)
      body += fmt::format("<p class=\"soft\">and {} more</p>\n", kind.n - kMostOthers);
  }
  return html_section("others", "All other findings", "", body);
}

std::string html_ledger(const json& d) {
  const json& bundle = member(d, "bundle");
  const json& all = list(d, "ledger");
  if (all.empty()) return "";
  std::string rows;
  for (std::size_t i = 0; i < all.size() && i < kMostFiles; ++i) {
    const json& m = all[i];
    rows += fmt::format(
        "<tr><th scope=\"row\" class=\"mono\">{}</th><td>{}{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td>"
        "<td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        html_text(m, "path"), html_text(m, "format"),
        member(m, "duplicate_of").is_string() ? "; a copy of " + html_text(m, "duplicate_of") : "",
        count(m, "lines"), count(m, "used"), count(m, "skipped"), count(m, "rejected"));
  }
  std::string body = fmt::format("<p>{}, {}: {} used, {} skipped, {} rejected.</p>\n",
                                 counted(count(bundle, "members"), "file"),
                                 counted(count(bundle, "lines"), "line"), count(bundle, "used"),
                                 count(bundle, "skipped"), count(bundle, "rejected"));
  body +=
      "<details><summary>Every file</summary>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
      "aria-label=\"Ledger\"><table>\n"
      "<thead><tr><th scope=\"col\">File</th><th scope=\"col\">Format</th><th scope=\"col\" "
      "class=\"n\">Lines</th>"
      "<th scope=\"col\" class=\"n\">Used</th><th scope=\"col\" class=\"n\">Skipped</th>"
      "<th scope=\"col\" class=\"n\">Rejected</th></tr></thead>\n<tbody>\n" +
      rows + "</tbody></table></div>\n";
  if (all.size() > kMostFiles)
    body += fmt::format("<p class=\"soft\">and {} more files: report.json has them all</p>\n",
                        all.size() - kMostFiles);
  return html_section(
      "ledger", "What was read",
      "Each line was used, skipped as saying nothing of the incident, or rejected as damaged.",
      body + "</details>\n");
}

std::string html_notes(const json& d) {
  const json& bundle = member(d, "bundle");
  std::string items;
  std::size_t n = 0;
  for (const json& p : list(bundle, "problems"))
    if (n++ < kMostNotes)
      items += "<li>Not read: <span class=\"mono\">" + html_text(p, "path") +
               "</span>: " + html_text(p, "reason") + "</li>\n";
  for (const json& note : list(bundle, "notes"))
    if (n++ < kMostNotes) items += "<li>" + escaped(visible_text(note)) + "</li>\n";
  if (n > kMostNotes) items += fmt::format("<li>and {} more</li>\n", n - kMostNotes);
  return html_section("notes", "Notes", "",
                      items.empty() ? "" : "<ul class=\"next\">\n" + items + "</ul>\n");
}

}  // namespace culprit::report
