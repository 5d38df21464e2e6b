#include "report/html_page.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "report/html.hpp"

namespace culprit::report {

namespace {

constexpr int kWidth = 960;

constexpr const char kPageStyle[] =
    R"(.filter{display:flex;flex-wrap:wrap;gap:.6rem 1rem;align-items:end;margin:.6rem 0}
.filter label{display:block;font-size:.82rem;color:var(--soft)}
.filter input,.filter select{font:inherit;color:inherit;background:var(--ground);border:1px solid var(--grey);border-radius:.2rem;padding:.2rem .4rem;max-width:100%}
th button{all:unset;cursor:pointer;font-weight:600}
th button:focus-visible{outline:2px solid var(--blue)}
th[aria-sort=ascending] button::after{content:" \25B2"}th[aria-sort=descending] button::after{content:" \25BC"}
main.broad{max-width:84rem}
.numbers{display:flex;flex-wrap:wrap;gap:.5rem 2rem;margin:.6rem 0}
.numbers div{min-width:7rem}.numbers dd{font-size:1.3rem;font-variant-numeric:tabular-nums}
.numbers small{display:block;font-size:.8rem}
[hidden]{display:none!important}
th.keep{white-space:nowrap}
#rows td:not(.n):not(.keep){overflow-wrap:anywhere}
)";

// Sorts by the header that is pressed and hides the rows that do not match. The page is whole
// without it: what needs it is hidden until it runs.
constexpr const char kScript[] = R"(
(function () {
  "use strict";
  var table = document.getElementById("rows");
  if (!table) return;
  var body = table.tBodies[0], rows = Array.prototype.slice.call(body.rows);
  var word = document.getElementById("word"), kind = document.getElementById("kind");
  var count = document.getElementById("count");
  document.getElementById("filter").hidden = false;
  function show() {
    var text = word.value.toLowerCase(), seen = 0;
    rows.forEach(function (row) {
      var fits = (!kind.value || row.dataset.kind === kind.value) &&
                 (!text || row.textContent.toLowerCase().indexOf(text) >= 0);
      row.hidden = !fits;
      if (fits) seen++;
    });
    count.textContent = seen + " of " + rows.length;
  }
  word.addEventListener("input", show);
  kind.addEventListener("change", show);
  Array.prototype.forEach.call(table.tHead.rows[0].cells, function (cell, column) {
    var button = document.createElement("button");
    button.type = "button";
    button.textContent = cell.textContent;
    cell.textContent = "";
    cell.appendChild(button);
    button.addEventListener("click", function () {
      var up = cell.getAttribute("aria-sort") !== "ascending";
      Array.prototype.forEach.call(table.tHead.rows[0].cells, function (one) {
        one.removeAttribute("aria-sort");
      });
      cell.setAttribute("aria-sort", up ? "ascending" : "descending");
      function key(row) {
        var one = row.cells[column];
        return one.dataset.key === undefined ? one.textContent.trim() : one.dataset.key;
      }
      var order = rows.map(function (row, place) { return { row: row, key: key(row), place: place }; });
      order.sort(function (a, b) {
        var x = Number(a.key), y = Number(b.key), d;
        if (a.key !== "" && b.key !== "" && !isNaN(x) && !isNaN(y)) d = x - y;
        else d = a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
        return (up ? d : -d) || a.place - b.place;
      });
      order.forEach(function (one) { body.appendChild(one.row); });
    });
  });
  show();
})();
)";

}  // namespace

constinit const PageScript kTableScript{kScript, "TxN8gMhXVh/HxDhjijXBF3Dt8LZtAMS65sZp+hZwbZs="};

std::string html_page(const std::string& title, const std::string& body, const PageScript* script) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'";
  if (script != nullptr) out += fmt::format("; script-src 'sha256-{}'", script->sha256);
  out +=
      "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"culprit\">\n"  // own_files.cpp knows it by that
      "<meta name=\"referrer\" content=\"no-referrer\">\n";
  out += "<title>" + escaped(title) + "</title>\n<style>\n" + kHtmlStyle + kPageStyle +
         "</style>\n</head>\n<body>\n" + body;
  if (script != nullptr) out += fmt::format("<script>{}</script>\n", script->text);
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
    const double width = p.value / all * kWidth;
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
      kWidth, id, id, escaped(title), escaped(said), bar, key);
}

}  // namespace culprit::report
