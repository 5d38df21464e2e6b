// The page of a fleet: figures with their intervals on the first screen, then a picture and a table
// for each question.
#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "model/sort.hpp"
#include "report/fleet.hpp"
#include "report/html.hpp"
#include "report/html_page.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

constexpr std::size_t kMostBars = 16;
constexpr const char* kColours[] = {"f-blue", "f-orange", "f-green", "f-violet", "f-red"};

std::string figure(const char* name, const std::string& value, const std::string& below = "") {
  if (value.empty()) return "";
  return fmt::format("<div><dt>{}</dt><dd>{}{}</dd></div>\n", name, escaped(value),
                     below.empty() ? "" : "<small>" + escaped(below) + "</small>");
}

// "[1.2, 3.4]" behind a value stands below it.
std::string split_figure(const char* name, const std::string& text, const std::string& more) {
  const std::size_t at = text.find(" [");
  const std::string interval = at == std::string::npos ? "" : text.substr(at + 1);
  return figure(name, text.substr(0, at),
                interval + (more.empty() ? "" : (interval.empty() ? "" : "; ") + more));
}

std::string table_of(const std::string& head, const std::string& rows, const char* label) {
  return fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
      "aria-label=\"{}\"><table><thead><tr>{}</tr></thead><tbody>\n{}</tbody></table></div>\n",
      label, head, rows);
}

std::string head_cells(
    std::initializer_list<const char*> names) {  // a leading # makes a column of numbers
  std::string out;
  for (const char* name : names)
    out += *name == '#' ? fmt::format("<th scope=\"col\" class=\"n\">{}</th>", name + 1)
                        : fmt::format("<th scope=\"col\">{}</th>", name);
  return out;
}

std::string published_cell(const json& value) {
  if (value.is_array() && value.size() == 2)
    return percent(value[0].get<double>()) + " and " + percent(value[1].get<double>());
  return value.is_number() ? percent(value.get<double>()) : "";
}

std::string shares_table(const json& rows, const char* what, const char* published) {
  std::string body;
  for (const json& row : rows)
    body += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td></tr>\n",
        html_text(row, "name"), count(row, "count"),
        escaped(with_interval(member(row, "share"), true)),
        published_cell(member(row, "published")));
  return table_of(head_cells({what, "#count", "#share [95 %]", published}), body, what);
}

// Bars of shares with their intervals as lines, and the published share as a mark.
std::string shares_picture(const char* id, const json& rows, const std::string& title,
                           const std::string& source) {
  if (rows.empty()) return "";
  const std::size_t n = std::min(rows.size(), kMostBars);
  double most = 0.01;
  bool published = false;
  for (std::size_t i = 0; i < n; ++i) {
    const json& interval = list(member(rows[i], "share"), "interval");
    if (interval.size() == 2) most = std::max(most, interval[1].get<double>());
    if (member(rows[i], "published").is_number()) {
      most = std::max(most, number(rows[i], "published"));
      published = true;
    }
  }
  constexpr int kRow = 22, kLeft = 210, kRight = 60;
  const double scale = (kPageWidth - kLeft - kRight) / most;
  std::string svg, said;
  for (std::size_t i = 0; i < n; ++i) {
    const double y = 4 + static_cast<double>(i) * kRow;
    const json& share = member(rows[i], "share");
    const double value = number(share, "value");
    const json& interval = list(share, "interval");
    svg += fmt::format("<text class=\"end\" x=\"{}\" y=\"{}\">{}</text>", kLeft - 8, y + 12,
                       html_label(text(rows[i], "name"), 30));
    svg += fmt::format(
        "<rect class=\"f-blue\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"14\"><title>{}: {}, "
        "{}</title></rect>",
        kLeft, y, value * scale, html_text(rows[i], "name"), count(rows[i], "count"),
        escaped(with_interval(share, true)));
    double right = value;
    if (interval.size() == 2) {
      const double low = interval[0].get<double>(), high = interval[1].get<double>();
      svg += fmt::format("<line class=\"axis\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>",
                         kLeft + low * scale, kLeft + high * scale, y + 7, y + 7);
      right = high;
    }
    if (member(rows[i], "published").is_number()) {
      const double at = number(rows[i], "published");
      svg += fmt::format(
          "<path class=\"f-orange\" d=\"M{0:.1f} {1} l5 7 l-5 7 l-5 -7 z\"><title>{2}: "
          "{3}</title></path>",
          kLeft + at * scale, y, source, percent(at));
      right = std::max(right, at);
    }
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" class=\"dim\">{}</text>\n",
                       kLeft + right * scale + 8, y + 12, count(rows[i], "count"));
    if (i < 5) said += (said.empty() ? "" : ", ") + text(rows[i], "name") + " " + percent(value);
  }
  std::string out = html_picture(id, kPageWidth, static_cast<int>(n) * kRow + 8, title, said, svg);
  out +=
      "<p><span class=\"key\"><span class=\"swatch f-blue\"></span>here, with the 95 % "
      "interval</span>";
  if (published)
    out += "<span class=\"key\"><span class=\"swatch f-orange\"></span>" + source + "</span>";
  return out + "</p>\n";
}

std::string first_screen(const json& d) {
  const json& w = member(d, "watched");
  const json& r = member(d, "rates");
  const json& o = member(d, "offenders");
  std::string title = counted(count(w, "machines"), "machine");
  if (number(w, "days") > 0) title += fmt::format(", {:.0f} days", number(w, "days"));
  std::string out = "<h1>" + escaped(title) + "</h1>\n<p class=\"summary\">";
  if (number(w, "days") > 0)
    out += escaped(text(w, "from").substr(0, 10) + " to " + text(w, "to").substr(0, 10) + ". ");
  if (count(d, "incidents") > 0)
    out += fmt::format("{}, {} of them failed jobs{}. ",
                       counted(count(d, "incidents"), "diagnosed incident"), count(d, "failed"),
                       count(d, "undecided") > 0
                           ? fmt::format(", {} without an answer", count(d, "undecided"))
                           : "");
  if (count(d, "events") > 0)
    out += fmt::format("{} of other systems, in {}. ", counted(count(d, "events"), "event"),
                       counted(count(d, "episodes"), "episode"));
  const std::uint64_t beyond = count(o, "beyond_chance");
  out += beyond == 0 ? std::string("No machine fails more often than chance explains.")
                     : fmt::format("<strong>{} more often than chance explains.</strong>",
                                   beyond == 1 ? "1 machine fails"
                                               : fmt::format("{} machines fail", beyond));
  out += "</p>\n<dl class=\"numbers\">\n";
  if (count(d, "failed") > 0)
    out += split_figure("Interrupted jobs, a day and 1,000 machines",
                        with_interval(member(r, "interruptions_per_1000_machines_a_day"), false),
                        fmt::format("FT-HSDP: {}", number(r, "published_interruptions")));
  out += split_figure("Failures of machines, a day and 1,000",
                      with_interval(member(r, "failures_per_1000_machines_a_day"), false), "");
  out += split_figure("Between failures of a machine", days_of(member(r, "machine_mtbf")), "");
  out += split_figure("Between failures of a GPU", days_of(member(r, "gpu_mtbf")), "");
  out += split_figure("Between failures in the fleet", days_of(member(r, "fleet_mtbf")), "");
  const json& early = member(d, "early");
  if (count(early, "known") > 0)
    out +=
        split_figure("Failed in the first ten minutes", with_interval(member(early, "share"), true),
                     fmt::format("of {}; Aegis: {}", count(early, "known"),
                                 percent(number(early, "published"))));
  return out + "</dl>\n<p class=\"soft\">Brackets hold 95 % intervals.</p>\n";
}

// Weeks with more failures of a class than its own past explains, as a table.
std::string burst_table(const json& d) {
  std::string bursts;
  for (const json& b : list(d, "bursts"))
    bursts += fmt::format(
        "<tr><th scope=\"row\" class=\"keep\">{} to {}</th><td>{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        html_text(b, "from").substr(0, 10), html_text(b, "to").substr(0, 10),
        html_text(b, "component"), count(b, "count"), count(b, "machines"),
        short_number(number(b, "expected")), short_number(number(b, "chance")));
  if (bursts.empty()) return "";
  return "<h3>Batches</h3><p class=\"lead\">Weeks with more failures of a class than its own past "
         "explains.</p>" +
         table_of(head_cells(
                      {"week", "component", "#failures", "#machines", "#a week before", "#chance"}),
                  bursts, "Batches");
}

// Weeks as columns, the commonest components by colour.
std::string weeks(const json& d) {
  const json& rows = list(d, "weeks");
  if (rows.size() < 2) return "";
  std::map<std::string, std::uint64_t> totals;
  std::uint64_t most = 1;
  for (const json& row : rows) {
    std::uint64_t sum = 0;
    if (const json& counts = member(row, "counts"); counts.is_object())
      for (const auto& [name, n] : counts.items()) {
        const std::uint64_t value = n.is_number_unsigned() ? n.get<std::uint64_t>() : 0;
        totals[name] += value;
        sum += value;
      }
    most = std::max(most, sum);
  }
  std::vector<std::pair<std::string, std::uint64_t>> order(totals.begin(), totals.end());
  sort_rows(order, [](const auto& a, const auto& b) { return a.second > b.second; });
  constexpr int kHeight = 180, kLeft = 40, kBase = 20;
  const double width =
      static_cast<double>(kPageWidth - kLeft - 10) / static_cast<double>(rows.size());
  const double scale = static_cast<double>(kHeight) / static_cast<double>(most);
  std::string svg = fmt::format(
      "<line class=\"rule\" x1=\"{0}\" x2=\"{1}\" y1=\"10\" y2=\"10\"/><text class=\"end dim\" "
      "x=\"{2}\" y=\"14\">{3}</text>",
      kLeft, kPageWidth - 10, kLeft - 6, most);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double y = kHeight + 10;
    const double x = kLeft + static_cast<double>(i) * width;
    const json& counts = member(rows[i], "counts");
    const std::string day = html_text(rows[i], "from").substr(0, 10);
    const auto part = [&](const std::string& name, std::uint64_t n, const char* colour) {
      if (n == 0) return;
      const double height = static_cast<double>(n) * scale;
      y -= height;
      svg += fmt::format(
          "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
          "height=\"{:.1f}\"><title>week of {}: {} {}</title></rect>",
          colour, x, y, std::max(1.0, width - 1), std::max(0.5, height - 0.5), day, n,
          escaped(name));
    };
    std::uint64_t other = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::uint64_t n = count(counts, order[k].first.c_str());
      if (k < std::size(kColours))
        part(order[k].first, n, kColours[k]);
      else
        other += n;
    }
    part("others", other, "f-grey");
    if (i % std::max<std::size_t>(1, rows.size() / 8) == 0 && x < kPageWidth - 80)
      svg += fmt::format("<text class=\"dim\" x=\"{:.1f}\" y=\"{}\">{}</text>", x,
                         kHeight + 10 + kBase, day);
    svg += "\n";
  }
  svg += fmt::format("<line class=\"axis\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>", kLeft,
                     kPageWidth - 10, kHeight + 10, kHeight + 10);
  std::string key;
  for (std::size_t k = 0; k < order.size() && k < std::size(kColours); ++k)
    key += fmt::format("<span class=\"key\"><span class=\"swatch {}\"></span>{} ({})</span> ",
                       kColours[k], escaped(order[k].first), order[k].second);
  if (order.size() > std::size(kColours))
    key += "<span class=\"key\"><span class=\"swatch f-grey\"></span>others</span>";
  const std::string said = fmt::format("{} weeks, at most {} failures in one", rows.size(), most);
  return html_section("weeks", "Failures week by week", "",
                      html_picture("weeks-p", kPageWidth, kHeight + 40,
                                   "Failures by week and component", said, svg) +
                          "<p>" + key + "</p>\n" + burst_table(d));
}

std::string histogram(const json& o) {
  const json& rows = list(o, "counts");
  if (rows.size() < 2) return "";
  const std::size_t n = std::min<std::size_t>(rows.size(), 24);
  double most = 1;
  for (std::size_t i = 1; i < n; ++i)
    most = std::max(
        {most, static_cast<double>(count(rows[i], "machines")), number(rows[i], "expected")});
  constexpr int kHeight = 140, kLeft = 40;
  const double width = static_cast<double>(kPageWidth - kLeft - 10) / static_cast<double>(n - 1);
  std::string svg;
  for (std::size_t i = 1; i < n; ++i) {
    const double x = kLeft + static_cast<double>(i - 1) * width,
                 seen = static_cast<double>(count(rows[i], "machines")),
                 chance = number(rows[i], "expected");
    const double high = seen / most * kHeight, low = chance / most * kHeight;
    svg += fmt::format(
        "<rect class=\"f-blue\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"><title>{} machines failed {} times</title></rect>",
        x + width * 0.1, 20 + kHeight - high, width * 0.38, high, count(rows[i], "machines"),
        count(rows[i], "failures"));
    svg += fmt::format(
        "<rect class=\"f-orange\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\"><title>{} expected by chance</title></rect>",
        x + width * 0.52, 20 + kHeight - low, width * 0.38, low, short_number(chance));
    svg += fmt::format("<text class=\"mid\" x=\"{:.1f}\" y=\"{}\">{}</text>", x + width / 2,
                       kHeight + 36, count(rows[i], "failures"));
    if (seen > 0)
      svg += fmt::format("<text class=\"mid dim\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                         x + width * 0.29, 16 + kHeight - high, count(rows[i], "machines"));
  }
  svg += fmt::format("<line class=\"axis\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>", kLeft,
                     kPageWidth - 10, kHeight + 20, kHeight + 20);
  return html_picture("counts-p", kPageWidth, kHeight + 44,
                      "Machines by number of failures, and what chance would give",
                      fmt::format("variance / mean {}", short_number(number(o, "dispersion"))),
                      svg) +
         "<p><span class=\"key\"><span class=\"swatch f-blue\"></span>machines with so many "
         "failures</span><span class=\"swatch f-orange\"></span>expected, were all machines alike "
         "(Poisson)</p>\n";
}

// Posterior rates as intervals, beside the fleet's mean.
std::string forest(const json& o, const std::vector<const json*>& rows) {
  const std::size_t n = std::min<std::size_t>(rows.size(), 20);
  if (n == 0) return "";
  double most = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (const json& interval = list(*rows[i], "interval"); interval.size() == 2)
      most = std::max(most, interval[1].get<double>());
  if (!(most > 0)) return "";
  constexpr int kRow = 22, kLeft = 300;
  const double scale = (kPageWidth - kLeft - 20) / most;
  std::string svg;
  for (std::size_t i = 0; i < n; ++i) {
    const json& row = *rows[i];
    const json& interval = list(row, "interval");
    const double y = 12 + static_cast<double>(i) * kRow, rate = number(row, "rate_a_day");
    svg += fmt::format("<text class=\"end\" x=\"{}\" y=\"{}\">{}</text>", kLeft - 8, y + 4,
                       html_label(text(row, "machine"), 40));
    if (interval.size() == 2)
      svg += fmt::format("<line class=\"axis\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>",
                         kLeft + interval[0].get<double>() * scale,
                         kLeft + interval[1].get<double>() * scale, y, y);
    svg += fmt::format(
        "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{}\" r=\"5\"><title>{}: {} failures, {} a "
        "year</title></circle>\n",
        member(row, "beyond_chance") == true ? "f-red" : "f-blue", kLeft + rate * scale, y,
        html_text(row, "machine"), count(row, "count"), short_number(rate * 365.25));
    if (i == 0 && number(row, "times_fleet") > 0) {
      const double x = kLeft + rate / number(row, "times_fleet") * scale;
      svg += fmt::format("<line class=\"base\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1}\"/>",
                         x, n * kRow);
    }
  }
  return html_picture("rates-p", kPageWidth, static_cast<int>(n) * kRow + 6,
                      "Rates of the machines that fail most",
                      fmt::format("{} machines beyond chance", count(o, "beyond_chance")), svg) +
         "<p><span class=\"key\"><span class=\"swatch f-red\"></span>beyond chance</span><span "
         "class=\"key\"><span class=\"swatch f-blue\"></span>could be chance</span><span "
         "class=\"soft\">lines: 95 % "
         "intervals; dashed: mean of the fleet</span></p>\n";
}

std::string offenders(const json& d) {
  const json& o = member(d, "offenders");
  std::vector<const json*> shown;
  std::string beyond_rows, other_rows;
  for (const json& row : list(o, "machines")) {
    shown.push_back(&row);
    std::string what;
    for (const json& c : list(row, "components"))
      what += fmt::format("{}{} {}", what.empty() ? "" : ", ", count(c, "count"),
                          html_text(c, "component"));
    const bool beyond = member(row, "beyond_chance") == true;
    (beyond ? beyond_rows : other_rows) += fmt::format(
        "<tr><th scope=\"row\" class=\"{}\">{}</th><td class=\"n\">{}</td><td class=\"n\">{} "
        "x</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td "
        "class=\"keep\">{}</td></tr>\n",
        name_class(text(row, "machine")), html_text(row, "machine"), count(row, "count"),
        short_number(number(row, "times_fleet")), percent(number(row, "probability_twice")),
        short_number(number(row, "by_chance")), what, html_text(row, "last").substr(0, 10));
  }
  if (shown.empty() && list(o, "counts").size() < 2) return "";
  const std::uint64_t beyond = count(o, "beyond_chance");
  const std::string lead = fmt::format(
      "{}. Rates are drawn to the mean of the fleet by as much as few failures prove little; \"by "
      "chance\" is how many machines of the fleet would have as many failures were all alike.",
      beyond == 0
          ? std::string("No machine fails more often than chance explains")
          : fmt::format("{} more often than chance explains, where chance alone would give {}",
                        beyond == 1 ? "1 machine fails" : fmt::format("{} machines fail", beyond),
                        short_number(number(o, "expected_beyond"))));
  const auto table = [](const std::string& rows) {
    return table_of(head_cells({"machine", "#failures", "#rate / fleet", "#P(rate &gt; 2 x fleet)",
                                "#by chance", "components", "last"}),
                    rows, "Repeat offenders");
  };
  return html_section("offenders", "Repeat offenders", lead,
                      forest(o, shown) + (beyond_rows.empty() ? "" : table(beyond_rows)) +
                          (other_rows.empty() ? ""
                                              : "<details><summary>machines that failed more than "
                                                "once, which could be chance</summary>\n" +
                                                    table(other_rows) + "</details>\n") +
                          histogram(o));
}

std::string returning(const json& d) {
  std::string rows;
  for (const json& row : list(d, "returning")) {
    const bool repair = text(row, "advice") == "repair";
    rows += fmt::format(
        "<tr><th scope=\"row\" class=\"{}\">{}</th><td>{}</td><td class=\"n\">{}</td><td "
        "class=\"keep\">{} to {}</td><td>{}</td></tr>\n",
        name_class(text(row, "machine")), html_text(row, "machine"), html_text(row, "component"),
        count(row, "failures"), html_text(row, "first").substr(0, 10),
        html_text(row, "last").substr(0, 10),
        repair ? "<span class=\"tag red\">repair</span>"
               : "<span class=\"tag grey\">reboot and test</span>");
  }
  if (rows.empty()) return "";
  return html_section(
      "returning", "Reboot or repair",
      "Machines whose component failed again within 30 days of the failure before. One that passed "
      "three reboots and fails again is sent for repair (Aegis, appendix B).",
      table_of(head_cells({"machine", "component", "#failures in a row", "when", "advice"}), rows,
               "Reboot or repair"));
}

std::string shared(const json& d) {
  std::string rows, parts;
  for (const json& row : list(d, "groups"))
    rows += fmt::format(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        html_text(row, "name"), html_text(row, "value"), count(row, "machines"),
        count(row, "failing"), short_number(number(row, "expected")),
        short_number(number(row, "chance")));
  for (const json& row : list(d, "parts"))
    parts += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"mono\">{}</td><td class=\"n\">{}</td></tr>\n",
        html_text(row, "kind"), html_text(row, "id"), count(row, "count"));
  std::string out;
  if (!rows.empty())
    out += html_section(
        "shared", "What failing machines share",
        "Switches, versions and models: how many of their machines failed, and how many would, "
        "were all alike. Chance below 0.05 is worth a look.",
        "<details><summary>the table</summary>\n" +
            table_of(head_cells({"what", "value", "#machines", "#failed", "#expected", "#chance"}),
                     rows, "What failing machines share") +
            "</details>\n");
  if (!parts.empty())
    out += html_section("parts", "Parts that several incidents name", "",
                        table_of(head_cells({"kind", "part", "#incidents"}), parts, "Parts"));
  return out;
}

std::string outcomes(const json& d) {
  std::string rows;
  for (const json& row : list(member(d, "outcomes"), "verdicts"))
    rows += fmt::format(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        html_text(row, "name"), html_text(row, "table"), count(row, "count"),
        count(row, "confirmed"), count(row, "cleared"),
        escaped(with_interval(member(row, "share"), true)));
  if (rows.empty()) return "";
  return html_section(
      "outcomes", "Outcomes", "What was found after verdicts of one word, or one kind of cause.",
      table_of(
          head_cells({"verdict", "by", "#known", "#confirmed", "#cleared", "#confirmed [95 %]"}),
          rows, "Outcomes"));
}

std::string durations(const json& rows, const char* id, const char* title, const char* lead,
                      const char* what) {
  std::string body;
  const auto cell = [](const json& row, const char* key) {
    return member(row, key).is_number() ? seconds_of(number(row, key)) : std::string("–");
  };
  const bool beside = std::ranges::any_of(
      rows, [](const json& row) { return member(row, "published_mean_s").is_number(); });
  for (const json& row : rows)
    body += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td>{}</tr>\n",
        text(row, "name").empty() ? "all" : html_text(row, "name"), count(row, "count"),
        count(row, "open"), cell(row, "median_s"), cell(row, "mean_s"), cell(row, "p90_s"),
        cell(row, "longest_s"),
        beside ? fmt::format("<td class=\"n\">{}</td>", cell(row, "published_mean_s")) : "");
  if (body.empty()) return "";
  const std::string heads =
      beside ? head_cells({what, "#count", "#open", "#median", "#mean", "#90 %", "#longest",
                           "#ByteRobust mean"})
             : head_cells({what, "#count", "#open", "#median", "#mean", "#90 %", "#longest"});
  return html_section(id, title, lead, table_of(heads, body, title));
}

std::string classes(const json& d) {
  std::string body;
  for (const json& row : list(d, "event_classes")) {
    std::string what;
    for (const json& one : list(row, "descriptions"))
      what += fmt::format("{}{} {}", what.empty() ? "" : ", ", count(one, "count"),
                          html_text(one, "name"));
    body += fmt::format(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td>{}</td></tr>\n",
        html_text(row, "class"), html_text(row, "level"), count(row, "count"),
        escaped(with_interval(member(row, "rate"), false)), what);
  }
  if (body.empty()) return "";
  return html_section(
      "classes", "Events of other systems",
      "As those systems name them, event by event; rates are a day and 1,000 machines.",
      table_of(head_cells({"class", "level", "#events", "#rate [95 %]", "descriptions"}), body,
               "Events"));
}

std::string down(const json& d) {
  const json& v = member(d, "down");
  std::string rows = fmt::format(
      "<tr><th scope=\"row\">failing on a day</th><td class=\"n\">{}</td><td class=\"n\"></td><td "
      "class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
      short_number(number(v, "new_a_day")), count(v, "p99_new_a_day"), count(v, "most_new_a_day"));
  if (number(v, "mean") > 0)
    rows += fmt::format(
        "<tr><th scope=\"row\">down at the same time</th><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        short_number(number(v, "mean")), count(v, "median"), count(v, "p99"), count(v, "most"));
  return html_section(
      "down", "Machines down",
      "What standbys have to cover; <code>culprit plan standby --from fleet.db</code> plans them.",
      table_of(head_cells({"machines", "#mean", "#median", "#99 %", "#most"}), rows,
               "Machines down"));
}

std::string time_budget(const json& d) {
  std::vector<BarPart> parts;
  for (const json& row : list(member(d, "time"), "parts")) {
    const std::string name = text(row, "part");
    parts.push_back({name, number(row, "hours"), name == "training" ? "f-green" : "",
                     seconds_of(number(row, "hours") * 3600)});
  }
  // Training first, then what cost most.
  sort_by(parts, [](const BarPart& a) { return std::tuple(a.colour.empty(), -a.value); });
  static constexpr const char* kLosses[] = {"f-red",    "f-orange", "f-blue",
                                            "f-violet", "f-shade",  "f-grey"};
  std::size_t losses = 0;
  for (BarPart& part : parts)
    if (part.colour.empty()) part.colour = kLosses[std::min(losses++, std::size(kLosses) - 1)];
  const std::string bar = html_bar("time-p", "Time of the jobs", parts);
  if (bar.empty()) return "";
  return html_section(
      "time", "Where the time of the jobs went",
      fmt::format("{} GPU hours were not training.",
                  short_number(number(member(d, "time"), "unproductive_gpu_hours"))),
      bar);
}

std::string render(const json& d) {
  std::string body = "<main>\n" + first_screen(d) + offenders(d) + weeks(d);
  if (const json& rows = list(d, "symptoms"); !rows.empty())
    body += html_section("symptoms", "Symptoms",
                         "Of failed jobs, beside ByteRobust table 1 (778,135 jobs).",
                         shares_picture("symptoms-p", rows, "Symptoms", "ByteRobust") +
                             "<details><summary>the table</summary>\n" +
                             shares_table(rows, "symptom", "#ByteRobust") + "</details>\n");
  if (const json& rows = list(d, "components"); !rows.empty())
    body += html_section("components", "Components", "Beside FT-HSDP table 1 (32,000 GPUs).",
                         shares_picture("components-p", rows, "Components", "FT-HSDP") +
                             "<details><summary>the table</summary>\n" +
                             shares_table(rows, "component", "#FT-HSDP") + "</details>\n");
  if (const json& rows = list(d, "mechanisms"); !rows.empty())
    body += html_section("mechanisms", "What resolves them",
                         "Beside ByteRobust table 4: a dense and a mixture-of-experts job.",
                         shares_table(rows, "mechanism", "#ByteRobust"));
  if (const json& rows = list(d, "actions"); !rows.empty()) {
    std::string lines;
    for (const json& row : rows)
      lines += fmt::format("<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td></tr>\n",
                           html_text(row, "name"), count(row, "count"));
    body += html_section("actions", "Actions", "What the verdicts of all incidents ask for.",
                         "<table>\n<thead><tr><th scope=\"col\">action</th><th scope=\"col\" "
                         "class=\"n\">count</th></tr></thead>\n<tbody>\n" +
                             lines + "</tbody></table>\n");
  }
  body += outcomes(d) + returning(d) + shared(d) + classes(d);
  body += durations(list(d, "repair_times"), "repairs", "Repair times",
                    "From the beginning to the end of an episode. Open ones count as long as they "
                    "were seen (Kaplan-Meier).",
                    "class");
  body +=
      durations(list(d, "resolution"), "resolution", "From the first failure to the end of the job",
                "ByteRobust table 6 counts from localisation to a successful restart.", "symptom");
  body += down(d) + time_budget(d);
  std::string notes;
  for (const json& note : list(d, "notes"))
    notes += "<li>" + escaped(visible_text(note)) + "</li>\n";
  if (!notes.empty())
    body += html_section("notes", "Assumptions", "", "<ul>\n" + notes + "</ul>\n");
  body +=
      "</main>\n<footer><small>Written by culprit. Nothing here was loaded from "
      "elsewhere.</small></footer>\n";
  return html_page(
      fmt::format("Fleet: {}", counted(count(member(d, "watched"), "machines"), "machine")),
      page_file("table.css"), body);
}

}  // namespace

extern constinit const FleetFormat kFleetHtml{"html", "fleet.html", render};

}  // namespace culprit::report
