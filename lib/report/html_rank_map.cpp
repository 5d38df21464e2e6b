// A cell a rank, in the boxes of their hosts, in the colour of what became of it. Beyond some
// thousand ranks a cell is several of them, in the colour of the worst.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "model/picture.hpp"
#include "model/ranges.hpp"
#include "model/sort.hpp"
#include "report/html.hpp"
#include "report/html_page.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

constexpr std::size_t kRowOfCells = 64;  // when a cell is several ranks
constexpr double kLabelWidth = 96, kLetterWidth = 7;
constexpr std::size_t kMostCells = 4096;
constexpr std::size_t kNumbered = 256;    // cells with the rank in them
constexpr std::size_t kLabelled = 1024;   // cells in boxes with the host's name above
constexpr std::size_t kMostTitles = 512;  // boxes that tell their host when pointed at
constexpr std::size_t kMostRanks = 1u << 20;

struct Look {
  const char* colour;
  const char* meaning;
};
// In the order of RankState.
constexpr Look kLooks[kRankStates] = {{"red", "failed: the verdict rests on it"},
                                      {"red", "stopped: all wait for it"},
                                      {"violet", "silent: never reported what the others report"},
                                      {"violet", "slow: works while the others wait"},
                                      {"blue", "an error of its own"},
                                      {"orange", "waiting: lost a peer or timed out"},
                                      {"grey", "ended with the rest"},
                                      {"pale", "nothing found"},
                                      {"none", "nothing of it was collected"}};

struct Box {
  std::string name;  // of the host; "" when it is not known
  std::vector<Rank> ranks;
  bool target = false;
};

struct Grid {
  std::int64_t total = 0;
  std::vector<std::uint8_t> state;  // of each rank
  std::vector<Box> boxes;
  std::size_t per_cell = 1;
};

std::string ranks_in(const json& map, std::size_t state) {
  const std::string key(name(static_cast<RankState>(state)));
  return text(member(map, "states"), key.c_str());
}

void read_states(const json& map, Grid& grid) {
  grid.state.assign(static_cast<std::size_t>(grid.total),
                    static_cast<std::uint8_t>(RankState::unseen));
  for (std::size_t s = kRankStates; s-- > 0;)  // the worst last: it holds
    for (const Rank r : from_ranges(ranks_in(map, s), kMostRanks))
      if (is_rank_of(grid.total, r)) grid.state[index_of(r)] = static_cast<std::uint8_t>(s);
}

// Ranks of which no host is known stand in boxes of eight, as most machines have.
void read_boxes(const json& d, const json& map, Grid& grid) {
  std::set<std::string> targets;
  for (const json& t : list(member(d, "verdict"), "targets"))
    if (text(t, "kind") == "host") targets.insert(text(t, "id"));
  std::vector<bool> placed(static_cast<std::size_t>(grid.total));
  for (const json& h : list(map, "hosts")) {
    Box box{text(h, "host"), {}, false};
    box.target = targets.count(box.name) != 0;
    for (const Rank r : from_ranges(text(h, "ranks"), kMostRanks)) {
      if (!is_rank_of(grid.total, r) || placed[index_of(r)]) continue;
      placed[index_of(r)] = true;
      box.ranks.push_back(r);
    }
    if (!box.ranks.empty()) grid.boxes.push_back(std::move(box));
  }
  const bool small = grid.boxes.empty() && grid.total > 64;
  Box rest;
  const auto flush = [&] {
    if (!rest.ranks.empty()) grid.boxes.push_back(std::move(rest));
    rest = {};
  };
  for (std::int64_t r = 0; r < grid.total; ++r) {
    if (placed[static_cast<std::size_t>(r)]) {
      flush();
      continue;
    }
    rest.ranks.push_back(Rank(r));
    if (rest.ranks.size() == (small ? 16u : 8u)) flush();
  }
  flush();
  sort_by(grid.boxes, [](const Box& a) { return a.ranks.front(); });
}

// One cell a box, then one cell several boxes, until they can be drawn.
void aggregate(Grid& grid) {
  if (static_cast<std::size_t>(grid.total) <= kMostCells) return;
  const std::size_t together = (grid.boxes.size() + kMostCells - 1) / kMostCells;
  std::vector<Box> out;
  for (std::size_t i = 0; i < grid.boxes.size(); i += kRowOfCells * together) {
    Box row;
    std::vector<Rank> worst;
    for (std::size_t k = i; k < std::min(i + kRowOfCells * together, grid.boxes.size());
         k += together) {
      Rank chosen = grid.boxes[k].ranks.front();
      for (std::size_t b = k;
           b < std::min({k + together, i + kRowOfCells * together, grid.boxes.size()}); ++b)
        for (const Rank r : grid.boxes[b].ranks)
          if (grid.state[index_of(r)] < grid.state[index_of(chosen)]) chosen = r;
      worst.push_back(chosen);
    }
    row.name = fmt::format("from rank {}", grid.boxes[i].ranks.front());
    row.ranks = std::move(worst);
    out.push_back(std::move(row));
  }
  grid.per_cell = static_cast<std::size_t>(grid.total) /
                  std::max<std::size_t>(1, (grid.boxes.size() + together - 1) / together);
  grid.boxes = std::move(out);
}

enum class Label { above, beside, none };

// How large everything is drawn.
struct Style {
  std::size_t columns = 8;      // of a box
  double size = 26;             // of a cell
  double pitch = 0, gap = 8;    // from box to box
  double left = 4, above = 16;  // room for labels
  Label label = Label::above;
  bool numbered = false, titled = true;
};

Style style_of(const Grid& grid) {
  std::size_t cells = 0, widest = 1;
  for (const Box& b : grid.boxes) {
    cells += b.ranks.size();
    widest = std::max(widest, b.ranks.size());
  }
  Style out{.columns = grid.per_cell > 1 ? kRowOfCells : std::min<std::size_t>(widest, 16),
            .numbered = cells <= kNumbered && grid.per_cell == 1,
            .titled = grid.boxes.size() <= kMostTitles};
  out.size = out.numbered ? 26 : grid.per_cell > 1 ? 13 : cells > kLabelled ? 10 : 14;
  out.label = grid.per_cell > 1 ? Label::beside : cells > kLabelled ? Label::none : Label::above;
  const double width = static_cast<double>(out.columns) * out.size;
  if (out.label == Label::above) out.gap = 16;
  out.pitch = (out.label == Label::above ? std::max(kLabelWidth, width) : width) + out.gap;
  if (out.label == Label::beside) out.left = 124;
  if (out.label != Label::above) out.above = 2;
  return out;
}

struct Canvas {
  std::array<std::string, kRankStates> cells;  // one path a state
  std::string boxes, labels, numbers;
  double height = 0;
};

void label_box(const Box& box, const Style& style, double x, double y, Canvas& out) {
  if (style.label == Label::none) return;
  const bool beside = style.label == Label::beside;
  const double width = std::max(kLabelWidth, static_cast<double>(style.columns) * style.size);
  const auto room = static_cast<std::size_t>((beside ? style.left : width) / kLetterWidth);
  out.labels += fmt::format("<text class=\"{}\" x=\"{:.5g}\" y=\"{:.5g}\">{}</text>\n",
                            box.target ? "" : "dim", beside ? 0 : x, y + 11,
                            box.name.empty() ? "host not known" : html_label(box.name, room));
}

void draw_box(const Box& box, const Grid& grid, const Style& style, double x, double y,
              Canvas& out) {
  const double size = style.size, inner = size - 2;
  for (std::size_t i = 0; i < box.ranks.size(); ++i) {
    const double cx = x + static_cast<double>(i % style.columns) * size;
    const double cy = y + style.above + static_cast<double>(i / style.columns) * size;
    const std::size_t state = grid.state[static_cast<std::size_t>(box.ranks[i])];
    out.cells[state] += fmt::format("M{:.4g} {:.5g}h{}v{}h-{}z", cx, cy, inner, inner, inner);
    if (style.numbered)
      out.numbers +=
          fmt::format("<text class=\"{}\" x=\"{:.4g}\" y=\"{:.5g}\">{}</text>",
                      state >= static_cast<std::size_t>(RankState::quiet) ? "dim mid" : "on",
                      cx + inner / 2, cy + inner / 2 + 3.5, box.ranks[i]);
  }
  label_box(box, style, x, y, out);
  const double width = static_cast<double>(std::min(style.columns, box.ranks.size())) * size;
  const double height =
      static_cast<double>((box.ranks.size() + style.columns - 1) / style.columns) * size;
  const std::string ranks = to_ranges(box.ranks);
  std::string title =
      box.name.empty() ? "ranks " + ranks + ", host not known" : box.name + ", ranks " + ranks;
  title = style.titled && grid.per_cell == 1 ? "<title>" + escaped(title) + "</title>" : "";
  if (!box.target && title.empty()) return;
  out.boxes += fmt::format(
      "<rect class=\"{}\" x=\"{:.4g}\" y=\"{:.5g}\" width=\"{:.4g}\" height=\"{:.4g}\">{}</rect>\n",
      box.target ? "box" : "rule", x - 2, y + style.above - 2, width + 2, height + 2, title);
}

Canvas draw(const Grid& grid) {
  const Style style = style_of(grid);
  Canvas out;
  double x = style.left, y = 2, tallest = 0;
  for (const Box& box : grid.boxes) {
    if (x > style.left && x + style.pitch - style.gap > kPageWidth - 2) {
      x = style.left;
      y += tallest;
      tallest = 0;
    }
    draw_box(box, grid, style, x, y, out);
    const std::size_t rows = (box.ranks.size() + style.columns - 1) / style.columns;
    tallest = std::max(tallest, static_cast<double>(rows) * style.size + style.above +
                                    (style.label == Label::above ? 10 : 6));
    x += style.pitch;
  }
  out.height = y + tallest;
  return out;
}

std::string table(const json& map) {
  std::string rows;
  for (std::size_t s = 0; s < kRankStates; ++s) {
    const std::string ranks = ranks_in(map, s);
    if (ranks.empty()) continue;
    rows += fmt::format(
        "<tr><th scope=\"row\"><span class=\"swatch f-{}\"></span>{}</th><td "
        "class=\"n\">{}</td><td class=\"mono\">{}</td></tr>\n",
        kLooks[s].colour, kLooks[s].meaning, from_ranges(ranks, kMostRanks).size(),
        html_label(ranks, 400));
  }
  return "<table>\n<thead><tr><th scope=\"col\">State</th><th scope=\"col\" class=\"n\">Number</th>"
         "<th scope=\"col\">Ranks</th></tr></thead>\n<tbody>\n" +
         rows + "</tbody></table>\n";
}

}  // namespace

std::string html_rank_map(const json& d) {
  const json& map = member(d, "rank_map");
  Grid grid;
  grid.total = static_cast<std::int64_t>(std::min<std::uint64_t>(count(map, "total"), kMostRanks));
  if (grid.total < 2) return "";
  read_states(map, grid);
  read_boxes(d, map, grid);
  // Where nothing was found the picture would say nothing.
  const auto quiet = static_cast<std::uint8_t>(RankState::quiet);
  if (std::ranges::all_of(grid.state, [&](std::uint8_t s) { return s >= quiet; }) &&
      std::ranges::none_of(grid.boxes, &Box::target))
    return "";
  aggregate(grid);
  const Canvas canvas = draw(grid);
  std::string body;
  for (std::size_t s = 0; s < kRankStates; ++s)
    if (!canvas.cells[s].empty())
      body += fmt::format("<path class=\"f-{}\" d=\"{}\"><title>{}</title></path>\n",
                          kLooks[s].colour, canvas.cells[s], kLooks[s].meaning);
  body += "<g pointer-events=\"all\">" + canvas.boxes + "</g>" + canvas.labels +
          "<g pointer-events=\"none\">" + canvas.numbers + "</g>";
  const json& layout = member(map, "layout");
  std::string lead =
      grid.per_cell > 1
          ? fmt::format("Each cell is about {} ranks, in the colour of the worst of them.",
                        grid.per_cell)
          : "Each cell is a rank, each box a host; a red box is a target of the verdict.";
  if (layout.is_object())
    lead += fmt::format(" Parallel layout: tensor {}, pipeline {}, data {}.", count(layout, "tp"),
                        count(layout, "pp"), count(layout, "dp"));
  return html_section(
      "ranks", "Ranks", lead,
      html_picture(
          "ranks-picture", kPageWidth, static_cast<int>(canvas.height) + 2, "State of every rank",
          fmt::format("{} ranks; the table below has the ranks of each state.", grid.total), body) +
          table(map));
}

}  // namespace culprit::report
