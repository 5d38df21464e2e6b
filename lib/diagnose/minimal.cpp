#include "diagnose/minimal.hpp"

#include <algorithm>

namespace culprit::diagnose {

namespace {

using Items = std::vector<std::size_t>;

// One pass over the parts of a division: the first that holds alone, else the first that can go.
struct Pass {
  Holds found = Holds::no;
  Items items;
  bool part = false;  // a part alone, not what is left without one
};

Pass pass(const Items& items, std::size_t parts, const std::function<Holds(const Items&)>& holds) {
  for (const bool alone : {true, false}) {
    // One part is the whole; single ones of many are what smaller divisions have asked already.
    if (alone && (parts == 1 || (parts == items.size() && parts > 2))) continue;
    for (std::size_t i = 0; i < parts; ++i) {
      const auto begin = items.begin() + static_cast<std::ptrdiff_t>(items.size() * i / parts);
      const auto end = items.begin() + static_cast<std::ptrdiff_t>(items.size() * (i + 1) / parts);
      Items some;
      if (alone) {
        some.assign(begin, end);
      } else {
        some.assign(items.begin(), begin);
        some.insert(some.end(), end, items.end());
      }
      const Holds answer = holds(some);
      if (answer != Holds::no) return {answer, std::move(some), alone};
    }
  }
  return {};
}

}  // namespace

Minimal minimal(Items items, const std::function<Holds(const Items&)>& holds) {
  std::size_t parts = 2;
  while (!items.empty()) {
    parts = std::min(parts, items.size());
    Pass found = pass(items, parts, holds);
    if (found.found == Holds::stop) return {std::move(items), false};
    if (found.found == Holds::yes) {
      parts = found.part ? 2 : std::max<std::size_t>(2, parts - 1);
      items = std::move(found.items);
    } else if (parts == items.size()) {
      break;
    } else {
      parts *= 2;
    }
  }
  return {std::move(items), true};
}

}  // namespace culprit::diagnose
