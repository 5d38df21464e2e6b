#include "report/html_page.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "report/html.hpp"
#include "schema/embedded.hpp"

namespace culprit {

std::span<const EmbeddedFile> embedded_pages();  // the style sheets and scripts of this folder

namespace report {

namespace {

constexpr ActionLook kActionLooks[] = {{"", "a-other", "-"},
                                       {"isolate", "a-isolate", "I"},
                                       {"offline", "a-offline", "O"},
                                       {"repair", "a-repair", "R"},
                                       {"replay", "a-replay", "P"},
                                       {"checks", "a-checks", "C"},
                                       {"rollback", "a-rollback", "B"},
                                       {"mitigate", "a-mitigate", "M"},
                                       {"investigate", "a-investigate", "?"},
                                       {"reattempt", "a-reattempt", "A"},
                                       {"none", "a-none", "N"}};
constexpr double kRoomForMark = 2, kLeastWidth = 0.3;  // percent of a bar

}  // namespace

std::string_view page_file(std::string_view name) {
  for (const EmbeddedFile& file : embedded_pages())
    if (name == file.name) return file.text();
  return {};
}

PageScript table_script() {
  return {page_file("table.js"), "TxN8gMhXVh/HxDhjijXBF3Dt8LZtAMS65sZp+hZwbZs="};
}

std::string html_page(const std::string& title, std::string_view style, const std::string& body,
                      const std::optional<PageScript>& script) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'";
  if (script) out += fmt::format("; script-src 'sha256-{}'", script->sha256);
  out +=
      "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"culprit\">\n"  // own_files.cpp knows it by that
      "<meta name=\"referrer\" content=\"no-referrer\">\n";
  out += fmt::format("<title>{}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n{}",
                     escaped(title), page_file("page.css"), style, body);
  if (script) out += fmt::format("<script>{}</script>\n", script->text);
  return out + "</body>\n</html>\n";
}

const ActionLook& look_of_action(std::string_view action) {
  const auto it = std::ranges::find(kActionLooks, action, &ActionLook::action);
  return it == std::end(kActionLooks) ? kActionLooks[0] : *it;
}

std::string html_bar(const char* id, const std::string& title, const std::vector<BarPart>& parts) {
  double all = 0;
  for (const BarPart& p : parts) all += p.value;
  if (!(all > 0)) return "";
  std::string bar, key, said;
  double at = 0;
  for (const BarPart& p : parts) {
    if (!(p.value > 0)) continue;
    const double width = p.value / all * 100;
    bar += fmt::format(
        "<rect class=\"{}\" x=\"{:.2f}%\" y=\"0\" width=\"{:.2f}%\" height=\"100%\"><title>{}: "
        "{}</title></rect>\n",
        p.colour, at, std::max(kLeastWidth, width), escaped(p.name), escaped(p.shown));
    const std::string mark = escaped(p.mark);
    if (!mark.empty() && width >= kRoomForMark)
      bar += fmt::format("<text class=\"on\" x=\"{:.2f}%\" y=\"1.1rem\">{}</text>\n",
                         at + width / 2, mark);
    key += fmt::format("<span class=\"key\"><span class=\"swatch {}\">{}</span>{}: {}</span> ",
                       p.colour, mark, escaped(p.name), escaped(p.shown));
    said += (said.empty() ? "" : ", ") + p.name + " " + p.shown;
    at += width;
  }
  // Shares are percents, not a viewBox: letters would be stretched with it.
  return fmt::format(
      "<svg class=\"bar\" role=\"img\" aria-labelledby=\"{}-t\"><title id=\"{}-t\">{}: "
      "{}</title>\n{}</svg>\n<p>{}</p>\n",
      id, id, escaped(title), escaped(said), bar, key);
}

}  // namespace report

}  // namespace culprit
