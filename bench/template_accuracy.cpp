// template_accuracy FOLDER: how well mined templates agree with labels, and how fast they are
// mined. FOLDER holds text files and labels.tsv with a head and the columns file, line, class.
// Pure: share of the lines whose template holds lines of one class only. Whole: share of the lines
// whose template holds most lines of their class (one class may have several kinds of lines, so
// this is no more than a lower bound).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "analyze/compare/templates.hpp"
#include "line/line.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: template_accuracy FOLDER\n"), 2;
  const std::filesystem::path folder = argv[1];
  std::map<std::string, std::map<int, std::string>> labels;
  std::ifstream table(folder / "labels.tsv");
  std::string row;
  std::getline(table, row);
  while (std::getline(table, row)) {
    std::istringstream cells(row);
    std::string file, number, label;
    std::getline(cells, file, '\t');
    std::getline(cells, number, '\t');
    std::getline(cells, label, '\t');
    labels[file][std::atoi(number.c_str())] = label;
  }
  std::vector<std::pair<std::string, std::string>> lines;  // message, label
  for (const auto& [file, of] : labels) {
    std::ifstream text(folder / file);
    std::string line;
    for (int n = 1; std::getline(text, line); ++n)
      if (const auto it = of.find(n); it != of.end())
        lines.emplace_back(culprit::line::peel(line).message, it->second);
  }
  // The first line of a template names it: each line is mined as a file of its own number.
  culprit::analyze::TemplateMiner miner;
  std::map<std::string, std::set<std::string>> classes;
  std::map<std::string, std::size_t> sizes;
  std::map<std::string, std::map<std::string, std::size_t>> of_class;
  for (const auto& [message, label] : lines) {
    const std::string masked = miner.mask(message);
    classes[masked].insert(label);
    ++sizes[masked];
    ++of_class[label][masked];
  }
  std::size_t pure = 0;
  for (const auto& [masked, set] : classes)
    if (set.size() == 1)
      pure += sizes[masked];
    else {
      std::printf("mixed: %.100s:", masked.c_str());
      for (const std::string& label : set) std::printf(" %s", label.c_str());
      std::printf("\n");
    }
  std::printf(
      "%zu lines of %zu classes in %zu templates; pure %.3f\n", lines.size(), of_class.size(),
      classes.size(),
      static_cast<double>(pure) / static_cast<double>(std::max<std::size_t>(1, lines.size())));
  const std::clock_t begin = std::clock();
  std::size_t bytes = 0, count = 0;
  miner.begin_file(0, "a");
  while (bytes < 100'000'000 && !lines.empty())
    for (const auto& [message, label] : lines) {
      miner.line(message, ++count);
      bytes += message.size() + 1;
    }
  const std::size_t templates = miner.templates().size();
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf("%.0f MB/s, %.2f million lines/s on one thread, %zu templates\n",
              static_cast<double>(bytes) / 1e6 / seconds,
              static_cast<double>(count) / 1e6 / seconds, templates);
}
