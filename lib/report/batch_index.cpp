// The index of a batch: what needs hands first, each bundle with a link to its report.
#include <algorithm>

#include <fmt/format.h>

#include "model/sort.hpp"
#include "report/fields.hpp"
#include "report/html.hpp"
#include "report/html_page.hpp"
#include "report/report.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

constexpr std::size_t kMostNamed = 3;
constexpr std::size_t kMostLeftOut = 50;
constexpr std::size_t kMostRepeated = 8;

// What needs a person first.
constexpr std::string_view kOrder[] = {"",       "isolate",  "offline",  "repair",      "replay",
                                       "checks", "rollback", "mitigate", "investigate", "reattempt",
                                       "none"};

std::size_t place_of(const std::string& action) {
  const auto it = std::ranges::find(kOrder, action);
  return static_cast<std::size_t>(it - std::begin(kOrder));
}

std::string action_of(const json& row) { return text(row, "action"); }

std::string accused_of(const json& row) {
  const json& targets = list(row, "targets");
  std::string out;
  for (std::size_t i = 0; i < targets.size() && i < kMostNamed; ++i) {
    const std::string kind = text(targets[i], "kind"), id = text(targets[i], "id");
    const std::string name = kind == "host" || kind == "job" ? id : kind + " " + id;
    out += (i == 0 ? "" : ", ") + escaped(kind == "job" ? "the job" : name);
  }
  if (targets.size() > kMostNamed) out += fmt::format(" and {} more", targets.size() - kMostNamed);
  return out;
}

std::string row_of(const json& row) {
  const std::string action = action_of(row), name = text(row, "name");
  const std::string word = action.empty() ? "not diagnosed" : action;
  const std::string report = text(row, "report");
  std::string out = fmt::format("<tr data-kind=\"{}\"><th scope=\"row\" class=\"{}\">",
                                escaped(word), name_class(name));
  out += report.empty() ? escaped(name)
                        : fmt::format("<a href=\"{}\">{}</a>", escaped(report), escaped(name));
  out +=
      fmt::format("</th><td class=\"keep\" data-key=\"{}\"><span class=\"tag {}\">{}</span></td>",
                  place_of(action), look_of_action(action).colour, escaped(word));
  if (action.empty()) {
    out += fmt::format("<td colspan=\"1\">{}</td><td></td><td class=\"n\" data-key=\"-1\"></td>",
                       html_text(row, "reason"));
    out += "<td class=\"keep\" data-key=\"\"></td><td></td><td class=\"n\" data-key=\"-1\"></td>";
    return out + "</tr>\n";
  }
  const std::string same = text(row, "same_contents_as");
  out +=
      "<td>" + accused_of(row) +
      (same.empty() ? ""
                    : " <span class=\"soft\">(same contents as " + escaped(same) + ")</span>") +
      (member(row, "complete") == false ? " <span class=\"soft\">(incomplete bundle)</span>" : "") +
      "</td>";
  const std::string symptom = text(row, "symptom");
  out += "<td>" + (symptom == "None" ? "" : escaped(symptom)) + "</td>";
  const double sure = number(row, "confidence");
  out += fmt::format("<td class=\"n\" data-key=\"{:.2f}\">{}</td>", sure,
                     list(row, "targets").empty() ? "" : fmt::format("{:.2f}", sure));
  const std::string start = text(row, "start");
  out += fmt::format("<td class=\"keep\" data-key=\"{}\">{}</td>", escaped(start),
                     html_clock(start, true));
  out += "<td>" + html_text(row, "job") + "</td>";
  out += fmt::format("<td class=\"n\">{}</td></tr>\n", count(row, "hosts"));
  return out;
}

std::string incident_table(const json& d) {
  std::vector<const json*> rows;
  for (const json& row : list(d, "entries")) rows.push_back(&row);
  sort_by(rows, [](const json* a) { return place_of(action_of(*a)); });
  std::string body, choices;
  for (const json* row : rows) body += row_of(*row);
  for (const std::string_view action : kOrder)
    if (std::ranges::any_of(rows, [&](const json* r) { return action_of(*r) == action; })) {
      const std::string_view word = action.empty() ? "not diagnosed" : action;
      choices += fmt::format("<option value=\"{0}\">{0}</option>", word);
    }
  return "<section aria-labelledby=\"bundles\">\n<h2 id=\"bundles\">Bundles</h2>\n"
         "<form id=\"filter\" class=\"filter\" hidden><div><label for=\"word\">contains</label>"
         "<input id=\"word\" type=\"search\" autocomplete=\"off\"></div>"
         "<div><label for=\"kind\">verdict</label><select id=\"kind\"><option value=\"\">all"
         "</option>" +
         choices +
         "</select></div><div><output id=\"count\" for=\"word kind\"></output></div></form>\n"
         "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Bundles\">"
         "<table id=\"rows\" class=\"stack\"><thead><tr><th scope=\"col\">bundle</th>"
         "<th scope=\"col\">verdict</th><th scope=\"col\">what it names</th><th scope=\"col\">"
         "symptom</th><th scope=\"col\" class=\"n\">weight</th><th scope=\"col\">first failure "
         "(UTC)</th><th scope=\"col\">job</th><th scope=\"col\" "
         "class=\"n\">hosts</th></tr></thead>\n"
         "<tbody>\n" +
         body + "</tbody></table></div>\n</section>\n";
}

std::string repeated(const json& d) {
  std::string body, others;
  std::size_t shown = 0;
  for (const json& row : list(d, "repeated_hosts")) {
    std::string names;
    for (const json& name : list(row, "bundles"))
      names += (names.empty() ? "" : ", ") + escaped(visible_text(name));
    std::string& rows = ++shown <= kMostRepeated ? body : others;
    rows += fmt::format(
        "<tr><th scope=\"row\" class=\"{}\">{}</th><td class=\"n\">{}</td><td>{}</td></tr>\n",
        name_class(text(row, "host")), html_text(row, "host"), count(row, "count"), names);
  }
  if (body.empty()) return "";
  const auto table = [](const std::string& rows) {
    return "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
           "aria-label=\"Machines\"><table><thead><tr>"
           "<th scope=\"col\">machine</th><th scope=\"col\" class=\"n\">incidents</th><th "
           "scope=\"col\">"
           "bundles</th></tr></thead><tbody>\n" +
           rows + "</tbody></table></div>\n";
  };
  if (!others.empty())
    others = fmt::format("<details><summary>and {} more</summary>\n", shown - kMostRepeated) +
             table(others) + "</details>\n";
  return html_section(
      "again", "Machines that several verdicts act on",
      "<code>culprit fleet</code> tells which of them fail more often than chance explains.",
      table(body) + others);
}

std::string left_out(const json& d) {
  const json& files = list(d, "left_out");
  std::string body;
  for (std::size_t i = 0; i < files.size() && i < kMostLeftOut; ++i)
    body += "<li class=\"mono\">" + escaped(visible_text(files[i])) + "</li>\n";
  if (body.empty()) return "";
  if (files.size() > kMostLeftOut)
    body += fmt::format("<li>and {} more</li>\n", files.size() - kMostLeftOut);
  return html_section("left-out", "Files that are not bundles",
                      "They lie beside the bundles and were not read.",
                      "<ul>\n" + body + "</ul>\n");
}

}  // namespace

std::string batch_index(const std::string& summary) {
  const json d = parse_json(summary);
  const std::uint64_t bundles = count(d, "bundles"), missing = count(d, "not_diagnosed");
  std::vector<BarPart> parts;
  const json& actions = member(d, "actions");
  for (const std::string_view action : kOrder) {
    const auto n = action.empty() ? missing : count(actions, std::string(action).c_str());
    const ActionLook& look = look_of_action(action);
    parts.push_back({action.empty() ? "not diagnosed" : std::string(action), static_cast<double>(n),
                     fmt::format("f-mark {}", look.colour), std::to_string(n),
                     std::string(look.mark)});
  }
  std::string body = "<main class=\"broad\">\n";
  body += fmt::format("<h1>{}</h1>\n", counted(bundles, "bundle"));
  body += html_bar("verdicts", "Verdicts", parts);
  if (missing > 0)
    body += fmt::format("<p>{} could not be diagnosed: the table has the reason.</p>\n", missing);
  body += repeated(d) + incident_table(d) + left_out(d);
  body +=
      "</main>\n<footer><small>Written by culprit. Nothing here was loaded from elsewhere; "
      "<code>summary.json</code>, <code>summary.csv</code> and <code>fleet.db</code> beside this "
      "page hold the same.</small></footer>\n";
  return html_page(fmt::format("{} bundles", bundles), page_file("table.css"), body,
                   table_script());
}

}  // namespace culprit::report
