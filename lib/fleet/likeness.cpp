// Which earlier incidents are like this one: a weighted Jaccard index over all cards.
#include "fleet/likeness.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace culprit::fleet {

std::vector<Likeness> likest(const Cards& cards, std::uint64_t id,
                             std::span<const std::uint64_t> traits) {
  struct Trait {
    std::uint32_t cards = 0;
    bool mine = false;
    double weight = 0;
  };
  std::unordered_map<std::uint64_t, Trait> known;
  for (const CardRow& row : cards.rows())
    for (const std::uint64_t trait : cards.traits(row)) ++known[trait].cards;
  for (const std::uint64_t trait : traits) known[trait].mine = true;
  const auto all = static_cast<double>(cards.rows().size());
  for (auto& [trait, t] : known) t.weight = std::log1p(all / std::max(1u, t.cards));
  double own = 0;
  for (const std::uint64_t trait : traits) own += known[trait].weight;
  std::vector<Likeness> out;
  out.reserve(cards.rows().size());
  for (const CardRow& row : cards.rows()) {
    if (row.id == id) continue;
    double both = 0, either = own;
    for (const std::uint64_t trait : cards.traits(row)) {
      const Trait& t = known.find(trait)->second;
      (t.mine ? both : either) += t.weight;
    }
    out.push_back({&row, either > 0 ? both / either : 0});
  }
  std::ranges::sort(out, [](const Likeness& a, const Likeness& b) {
    if (a.share != b.share) return a.share > b.share;
    if (a.card->start != b.card->start) return a.card->start > b.card->start;
    return a.card->id < b.card->id;
  });
  return out;
}

}  // namespace culprit::fleet
