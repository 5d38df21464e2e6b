// simulate --out DIR: incidents whose truth is known, of every kind there is.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "command.hpp"
#include "model/contains.hpp"
#include "model/shell.hpp"
#include "schema/schema.hpp"
#include "simulate/bundle.hpp"

namespace culprit::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostIncidents = 10'000, kMostRanks = 4096;

constexpr OptionSpec kSimulateOptions[] = {
    {"out", "DIR", "where the incidents go, a folder each; must be empty or new"},
    {"kind", "KIND", "the kind to simulate, or all (the default); may be repeated"},
    {"count", "N", "incidents of each kind (default 1)"},
    {"seed", "S", "a number: the same seed and options give the same bytes (default 1)"},
    {"ranks", "N", "ranks of each job (default: eight on each host)"},
    {"hosts", "N", "hosts of each job (default: drawn, 2 to 8)"},
    {"list", nullptr, "print the kinds and what happens in each"},
};

std::string listed() {
  std::string out;
  for (const simulate::Kind& kind : simulate::kinds())
    out += fmt::format("{:<24} {}\n", kind.name, kind.sentence);
  return out;
}

Result<std::vector<const simulate::Kind*>> chosen(const Arguments& arguments) {
  std::vector<const simulate::Kind*> out;
  std::vector<std::string> names{"all"};
  for (const simulate::Kind& kind : simulate::kinds()) names.push_back(kind.name);
  const std::vector<std::string> wanted = arguments.all("kind");
  for (const std::string& name : wanted) {
    if (name != "all" && simulate::find_kind(name) == nullptr) {
      const std::string near = schema::nearest(name, names);
      return usage_error(fmt::format("there is no kind '{}'", name))
          .hint(near.empty() ? "`culprit simulate --list` prints the kinds"
                             : fmt::format("did you mean {}?", near));
    }
  }
  for (const simulate::Kind& kind : simulate::kinds())
    if (wanted.empty() || contains(wanted, "all") || contains(wanted, kind.name))
      out.push_back(&kind);
  return out;
}

Result<> check_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    return usage_error("this is no folder").at({folder.string(), 0}).hint("name a new one");
  if (fs::exists(folder, error) && !fs::is_empty(folder, error))
    return usage_error("this folder is not empty")
        .at({folder.string(), 0})
        .hint("name a new one: files of two runs would be one incident");
  return {};
}

Result<Exit> run_simulate(const Arguments& arguments) {
  if (!arguments.positional().empty())
    return usage_error(fmt::format("simulate takes no '{}'", arguments.positional()[0]))
        .hint("the folder goes behind --out");
  if (arguments.has("list")) {
    print(listed());
    return Exit::finished;
  }
  if (!arguments.has("out"))
    return usage_error("simulate needs a folder for the incidents")
        .hint("culprit simulate --out incidents");
  CULPRIT_TRY(kinds, chosen(arguments));
  CULPRIT_TRY(count, arguments.number("count", 1));
  CULPRIT_TRY(seed, arguments.number("seed", 1));
  CULPRIT_TRY(ranks, arguments.number("ranks", 0));
  CULPRIT_TRY(hosts, arguments.number("hosts", 0));
  if (count < 1 || count * kinds.size() > kMostIncidents)
    return usage_error(fmt::format("--count takes 1 to {}", kMostIncidents / kinds.size()));
  if (ranks > kMostRanks || hosts > kMostRanks)
    return usage_error(fmt::format("--ranks and --hosts take 1 to {}", kMostRanks));
  const fs::path out = arguments.get("out");
  CULPRIT_CHECK(check_folder(out));

  // In an order that the seed draws, so that the number of an incident does not tell its kind.
  struct Planned {
    std::uint64_t order;
    const simulate::Kind* kind;
    std::uint64_t seed;
  };
  std::vector<Planned> plan;
  const simulate::Dice dice(seed);
  for (const simulate::Kind* kind : kinds)
    for (std::uint64_t i = 0; i < count; ++i) {
      simulate::Dice own = dice.fork(fmt::format("{} {}", kind->name, i));
      const std::uint64_t its = own.next() >> 12;  // a JSON reader with doubles keeps it whole
      plan.push_back({own.next(), kind, its});
    }
  std::ranges::sort(plan, {}, &Planned::order);
  const simulate::Size size{static_cast<int>(hosts), static_cast<int>(ranks)};
  for (std::size_t i = 0; i < plan.size(); ++i) {
    CULPRIT_TRY(incident, simulate::simulate(*plan[i].kind, size, plan[i].seed));
    CULPRIT_CHECK(simulate::write(incident, out / fmt::format("incident-{:04}", i + 1)));
  }
  print(fmt::format("{} incident{} of {} kind{} in {}; `culprit score {}` judges the answers\n",
                    plan.size(), plan.size() == 1 ? "" : "s", kinds.size(),
                    kinds.size() == 1 ? "" : "s", out.string(), shell_quoted(out.string())));
  return Exit::finished;
}

}  // namespace

constinit const Command kSimulate{
    "simulate",
    "incidents whose truth is known, to train people and to score analysers",
    "simulate --out DIR [--kind KIND] [options]",
    "  culprit simulate --out incidents\n"
    "  culprit simulate --out slow --kind gpu-thermal --kind storage-slow --count 20 --seed 7\n"
    "  culprit simulate --list\n\n"
    "  Each incident is a folder with the bundle, as people would collect it, and truth.json\n"
    "  beside it: who is guilty, which answers are right, who is innocent, and why.\n",
    kSimulateOptions,
    run_simulate};

}  // namespace culprit::cli
