#include "report/html_page.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "report/html.hpp"
#include "schema/embedded.hpp"

namespace culprit {

std::span<const EmbeddedFile> embedded_pages();  // the style sheets and scripts of this folder

namespace report {

namespace {}  // namespace

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

std::string_view colour_of_action(std::string_view action) {
  if (action == "none") return "green";
  if (action == "isolate" || action == "offline") return "red";
  if (action == "investigate") return "blue";
  return action.empty() ? "grey" : "orange";
}

std::string html_bar(const char* id, const std::string& title, const std::vector<BarPart>& parts) {
  double all = 0;
  for (const BarPart& p : parts) all += p.value;
  if (!(all > 0)) return "";
  std::string bar, key, said;
  double at = 0;
  for (const BarPart& p : parts) {
    if (!(p.value > 0)) continue;
    const double width = p.value / all * kPageWidth;
    bar += fmt::format(
        "<rect class=\"{}\" x=\"{:.2f}\" y=\"0\" width=\"{:.2f}\" height=\"24\"><title>{}: "
        "{}</title></rect>\n",
        p.colour, at, std::max(0.5, width - 1), escaped(p.name), escaped(p.shown));
    key += fmt::format("<span class=\"key\"><span class=\"swatch {}\"></span>{}: {}</span> ",
                       p.colour, escaped(p.name), escaped(p.shown));
    said += (said.empty() ? "" : ", ") + p.name + " " + p.shown;
    at += width;
  }
  return fmt::format(
      "<svg class=\"bar\" role=\"img\" viewBox=\"0 0 {} 24\" preserveAspectRatio=\"none\" "
      "aria-labelledby=\"{}-t\"><title id=\"{}-t\">{}: {}</title>\n{}</svg>\n<p>{}</p>\n",
      kPageWidth, id, id, escaped(title), escaped(said), bar, key);
}

}  // namespace report

}  // namespace culprit
