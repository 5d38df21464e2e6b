// One page to look at and to mail: the answer on the first screen, pictures where there is
// something to see, then what it rests on.
#include <fmt/format.h>

#include "report/html.hpp"
#include "report/html_page.hpp"
#include "report/terminal.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

constexpr std::size_t kMostTargets = 12;
constexpr std::size_t kMostNext = 24;
constexpr std::size_t kMostProofs = 4;  // links of a target

// What a target rests on, as links: "evidence 1, 2".
std::string proofs(const json& target, const std::map<std::string, std::string>& anchors) {
  std::string out;
  std::size_t n = 0;
  for (const json& id : list(target, "because")) {
    if (!id.is_string() || anchors.count(id.get<std::string>()) == 0) continue;
    if (++n > kMostProofs) break;
    out += (n == 1 ? "" : ", ") +
           html_link(anchors, id.get<std::string>(), n == 1 ? "evidence 1" : std::to_string(n));
  }
  return out.empty() ? "" : " (" + out + ")";
}

std::string targets(const json& d, const std::map<std::string, std::string>& anchors) {
  std::string out;
  const json& all = list(member(d, "verdict"), "targets");
  for (std::size_t i = 0; i < all.size() && i < kMostTargets; ++i) {
    const std::string kind = text(all[i], "kind");
    out +=
        fmt::format("<li>{} <strong>{}</strong>{}</li>\n", kind == "job" ? "the" : escaped(kind),
                    kind == "job" ? "job" : escaped(target_id(d, all[i])), proofs(all[i], anchors));
  }
  if (all.size() > kMostTargets)
    out += fmt::format("<li>and {} more</li>\n", all.size() - kMostTargets);
  return out.empty() ? "" : "<ul class=\"targets\">\n" + out + "</ul>\n";
}

std::string also_possible(const json& d) {
  std::string out;
  for (const json& c : alternatives(d))
    out += "<tr><td>" + html_text(c, "name") + "</td><td>" + html_text(c, "what") + "</td><td>" +
           html_text(c, "against") + "</td><td>" + html_text(c, "tells") + "</td></tr>\n";
  return out.empty() ? ""
                     : "<div><h2>Also possible</h2>\n<div class=\"scroll\"><table><thead><tr>"
                       "<th>Cause</th><th>For</th><th>Against</th><th>Would tell</th></tr></thead>"
                       "<tbody>\n" +
                           out + "</tbody></table></div></div>\n";
}

std::string next_steps(const json& verdict) {
  std::string out;
  const json& all = list(verdict, "next");
  for (std::size_t i = 0; i < all.size() && i < kMostNext; ++i) {
    const std::string kind = text(all[i], "kind"), said = html_text(all[i], "text");
    out += kind == "command"   ? "<li><code class=\"copy\">" + said + "</code></li>\n"
           : kind == "collect" ? "<li>Collect next time: " + said + "</li>\n"
                               : "<li>" + said + "</li>\n";
  }
  return out.empty() ? "" : "<h2>What to do next</h2>\n<ol class=\"next\">\n" + out + "</ol>\n";
}

std::string fact(const char* name, const std::string& value) {
  return value.empty() ? "" : fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", name, value);
}

std::string facts(const json& d) {
  const json& incident = member(d, "incident");
  const json& bundle = member(d, "bundle");
  const std::string symptom = text(incident, "symptom");
  const std::string start = text(incident, "start"), end = text(incident, "end");
  std::string when = html_clock(start, true);
  if (!end.empty() && end != start) {
    const bool day = start.size() < 10 || end.substr(0, 10) != start.substr(0, 10);
    when += (when.empty() ? "until " : " to ") + html_clock(end, day);
  }
  const std::uint64_t world = count(bundle, "world_size"), seen = count(bundle, "ranks");
  std::string ranks =
      world == 0 ? (seen == 0 ? "" : fmt::format("{} named", seen)) : std::to_string(world);
  if (world != 0 && seen < world) ranks += fmt::format(", {} of them in the logs", seen);
  const std::size_t hosts = list(bundle, "hosts").size();
  const std::string restart = text(member(d, "verdict"), "restart");
  return "<dl class=\"facts\">\n" + fact("Symptom", symptom == "None" ? "none" : escaped(symptom)) +
         fact("When (UTC)", when) + fact("Ranks", ranks) +
         fact("Hosts", hosts == 0 ? "" : std::to_string(hosts)) +
         fact("Restart the job", restart == "yes"            ? "yes, as it is"
                                 : restart == "no"           ? "not before somebody has looked"
                                 : restart == "after_repair" ? "after the steps below"
                                                             : "") +
         "</dl>\n";
}

std::string title_of(const json& d) {
  const json& verdict = member(d, "verdict");
  const json& who = list(verdict, "targets");
  std::string out = headline(text(verdict, "action"), taken_step(d));
  if (!who.empty() && text(verdict, "action") != "none") out += " " + target_name(d, who[0]);
  return out;
}

}  // namespace

std::string html_section(const char* id, const std::string& title, const std::string& lead,
                         const std::string& body) {
  if (body.empty()) return "";
  return fmt::format(
      "<section aria-labelledby=\"{0}\">\n<h2 id=\"{0}\">{1}</h2>\n{2}{3}</section>\n", id, title,
      lead.empty() ? "" : "<p class=\"lead\">" + lead + "</p>\n", body);
}

std::string html_picture(const char* id, int width, int height, const std::string& title,
                         const std::string& description, const std::string& content) {
  return fmt::format(
      "<div class=\"scroll wide\" tabindex=\"0\" role=\"group\" aria-label=\"{3}\">"
      "<svg role=\"img\" viewBox=\"0 0 {1} {2}\" aria-labelledby=\"{0}-t {0}-d\">"
      "<title id=\"{0}-t\">{3}</title><desc id=\"{0}-d\">{4}</desc>\n{5}</svg></div>\n",
      id, width, height, escaped(title), escaped(description), content);
}

std::string html_clock(const std::string& iso, bool date) {
  if (iso.size() < 19) return "";
  return escaped((date ? iso.substr(0, 10) + " " : std::string{}) + iso.substr(11, 8));
}

std::string html_label(const std::string& name, std::size_t most) {
  if (columns(name) <= most) return escaped(name);
  std::size_t end = 0;
  for (std::size_t shown = 0; end < name.size() && shown + 1 < most; ++shown)
    for (++end; end < name.size() && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80;) ++end;
  return escaped(name.substr(0, end)) + "…";
}

std::string html_verdict(const json& d) {
  const json& verdict = member(d, "verdict");
  const std::string action = text(verdict, "action"), precision = text(verdict, "precision");
  const json& who = list(verdict, "targets");
  std::string name;
  if (action != "none")
    for (std::size_t i = 0; i < who.size() && i < 3; ++i)
      name += (i == 0 ? "" : ", ") + escaped(target_name(d, who[i]));
  if (action != "none" && who.size() > 3) name += fmt::format(" and {} more", who.size() - 3);
  const std::string how = name.empty() || precision == "exact" ? ""
                          : precision == "group"               ? " (a group)"
                                                               : " (candidates)";
  const std::string word = headline(action, taken_step(d));
  std::string out = fmt::format("<div class=\"verdict {}\">\n", look_of_action(action).colour);
  out += name.empty() ? "<h1 class=\"action\">" + word + "</h1>\n"
                      : "<h1><span class=\"action\">" + word + "</span> " + name + how + "</h1>\n";
  if (!member(member(d, "bundle"), "complete").is_null() &&
      member(member(d, "bundle"), "complete") == false)
    out +=
        "<p><strong>Incomplete bundle:</strong> not all of it was read; <a href=\"#notes\">what is "
        "missing</a>.</p>\n";
  out += "<p class=\"summary\">" + html_text(verdict, "summary") + "</p>\n";
  if (action != "none") out += targets(d, html_anchors(d));
  if (const std::string sure = sureness(d); !sure.empty() && action != "none")
    out += "<p>" + escaped(sure) + "</p>\n";
  out += facts(d) + "</div>\n" + also_possible(d);
  if (const std::string next = next_steps(verdict); !next.empty())
    out += "<div>" + next + "</div>\n";
  return out;
}

namespace {

std::string to_html(const std::string& document, const RenderOptions& options) {
  const json d = parse_json(document);
  return html_page(
      title_of(d), "",
      "<main>\n" + html_verdict(d) + html_timeline(d) + html_waits(d) + html_rank_map(d) +
          html_stacks(d) + html_steps(d) + html_time(d) + html_metrics(d) +
          html_evidence(d, options) + html_considered(d) + html_other_findings(d, options) +
          html_settings(d) + html_ledger(d) + html_notes(d) +
          "</main>\n<footer><small>Written by culprit from bundle " +
          html_text(member(d, "bundle"), "digest") +
          ". Every claim leads to a file and a line of it; nothing here was loaded from "
          "elsewhere.</small></footer>\n");
}

}  // namespace

extern constinit const Format kHtml{"html", "report.html", to_html};

}  // namespace culprit::report
