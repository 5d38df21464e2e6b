// Where all trainers stand: one tree of their stacks, wide where many go, and the exception opened.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "report/html.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

constexpr double kTreeWidth = 960, kLeastOdd = 150, kLeastOther = 3;
constexpr int kTreeRow = 22;
constexpr std::size_t kMostDepth = 40, kMostTreeNodes = 400, kMostOddStacks = 6, kMostFrames = 60;
constexpr double kLetter = 7.2, kBoldLetter = 8;  // width of a letter, roughly

struct TreeBox {
  const json* node = nullptr;
  std::size_t depth = 0;
  double width = 0, inner = 0, x = 0;  // inner: of all below
  bool odd = false;
};

// Preorder with depths; a depth that leaps is a damaged document.
std::vector<TreeBox> frames_of(const json& tree) {
  std::vector<TreeBox> out;
  for (const json& n : list(tree, "nodes")) {
    if (out.size() >= kMostTreeNodes) break;
    const std::size_t depth = count(n, "depth");
    if (depth > (out.empty() ? 0 : out.back().depth + 1) || list(n, "frames").empty()) return {};
    out.push_back(TreeBox{.node = &n,
                          .depth = depth,
                          .odd = count(n, "odd") > 0 && count(n, "odd") == count(n, "processes")});
  }
  return out;
}

// Leaves are as wide as they have processes, and wide enough to be read where they are the
// exception; a node is as wide as what is below it.
void lay_out(std::vector<TreeBox>& frames, double processes) {
  std::vector<std::size_t> open;
  for (std::size_t i = frames.size(); i-- > 0;) {
    TreeBox& f = frames[i];
    f.width = f.inner;
    const bool leaf = i + 1 >= frames.size() || frames[i + 1].depth <= f.depth;
    if (leaf)
      f.width = std::max(
          f.odd ? kLeastOdd : kLeastOther,
          kTreeWidth * static_cast<double>(count(*f.node, "processes")) / std::max(1.0, processes));
    for (std::size_t up = i; up-- > 0;)
      if (frames[up].depth < f.depth) {
        frames[up].inner += f.width;
        break;
      }
  }
  double all = 0;
  for (const TreeBox& f : frames)
    if (f.depth == 0) all += f.width;
  const double scale = all > 0 ? kTreeWidth / all : 1;
  std::vector<double> next(kMostDepth + 2, 0);
  for (TreeBox& f : frames) {
    f.width *= scale;
    if (f.depth > kMostDepth) continue;
    f.x = next[f.depth];
    next[f.depth] += f.width;
    next[f.depth + 1] = f.x;
  }
}

std::string box_title(const json& n) {
  const json& all = list(n, "frames");
  std::string out = counted(count(n, "processes"), "process") + ", ranks " + text(n, "ranks") + ":";
  if (count(n, "processes") > 1)
    out = fmt::format("{} processes, ranks {}:", count(n, "processes"),
                      html_label(text(n, "ranks"), 80));
  else
    out = "1 process, rank " + escaped(text(n, "ranks")) + ":";
  for (const json& f : all) out += "\n" + escaped(visible_text(f));
  return out;
}

std::string drawn(const TreeBox& f) {
  const json& all = list(*f.node, "frames");
  std::string label = visible_text(all.back());
  if (all.size() > 1) label += fmt::format("  +{}", all.size() - 1);
  const double y = static_cast<double>(f.depth) * kTreeRow;
  std::string out = fmt::format(
      "<g><title>{}</title><rect class=\"{}\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" "
      "height=\"{}\"/>",
      box_title(*f.node), f.odd ? "f-red tile" : "f-pale tile", f.x, y, std::max(1.0, f.width - 1),
      kTreeRow - 2);
  const auto letters =
      static_cast<std::size_t>(std::max(0.0, (f.width - 8) / (f.odd ? kBoldLetter : kLetter)));
  const std::string counts = fmt::format("{} \u00d7 ", count(*f.node, "processes"));
  if (letters >= 5)
    out += fmt::format("<text{} x=\"{:.1f}\" y=\"{:.0f}\">{}</text>", f.odd ? " class=\"inv\"" : "",
                       f.x + 4, y + 14.5,
                       letters > 12 ? html_label(counts + label, letters)
                                    : std::to_string(count(*f.node, "processes")));
  return out + "</g>\n";
}

std::string odd_stacks(const json& tree) {
  std::string out;
  const json& all = list(tree, "odd");
  for (std::size_t i = 0; i < all.size() && i < kMostOddStacks; ++i) {
    const json& o = all[i];
    const std::string ranks = text(o, "ranks"), hosts = text(o, "hosts");
    std::string body;
    const json& frames = list(o, "frames");
    for (std::size_t k = 0; k < frames.size() && k < kMostFrames; ++k)
      body += escaped(visible_text(frames[k])) + "\n";
    if (frames.size() > kMostFrames)
      body += fmt::format("and {} more\n", frames.size() - kMostFrames);
    out += fmt::format(
        "<details open><summary><strong>{} {}</strong>{}: {} <span class=\"soft\">(innermost call "
        "first)</span></summary>\n<pre>{}</pre></details>\n",
        ranks.find_first_of(",-") == std::string::npos ? "rank" : "ranks", html_label(ranks, 80),
        hosts.empty() ? "" : " on " + html_label(hosts, 80), html_text(o, "doing"), body);
  }
  return out;
}

}  // namespace

std::string html_stacks(const json& d) {
  const json& tree = member(d, "stack_tree");
  std::vector<TreeBox> frames = frames_of(tree);
  if (frames.size() < 2) return "";
  lay_out(frames, static_cast<double>(count(tree, "processes")));
  std::string body;
  std::size_t depth = 0;
  for (const TreeBox& f : frames) {
    if (f.depth > kMostDepth) continue;
    depth = std::max(depth, f.depth);
    body += drawn(f);
  }
  const bool odd = !list(tree, "odd").empty();
  std::string lead =
      "Outermost call at the top; as wide as many processes go there. Calls that nobody leaves "
      "are one box (+n).";
  if (odd) lead += " Red: the exception, drawn wider than it is.";
  if (const auto hidden = count(tree, "hidden"); hidden > 0)
    lead += fmt::format(" {} boxes are not drawn: <code>culprit stacks</code> has all.", hidden);
  return html_section(
      "stacks", "Stacks of all processes", lead,
      html_picture("stacks-picture", static_cast<int>(kTreeWidth),
                   static_cast<int>(depth + 1) * kTreeRow, "Stack tree of all trainers",
                   fmt::format("{} stacks of trainers in {} boxes.", count(tree, "processes"),
                               frames.size()),
                   body) +
          odd_stacks(tree));
}

}  // namespace culprit::report
