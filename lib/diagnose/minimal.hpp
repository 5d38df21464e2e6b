// Delta debugging: the part of a whole that cannot be made smaller.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace culprit::diagnose {

enum class Holds { no, yes, stop };  // stop: no more may be asked

struct Minimal {
  std::vector<std::size_t> kept;  // of the items, in their order
  bool complete = true;           // false: stopped before it was minimal
};

// Of items for which `holds` says yes, some for which it does, too, and does not without any one of
// them (1-minimal). The algorithm ddmin of Zeller and Hildebrandt, "Simplifying and Isolating
// Failure-Inducing Input", IEEE TSE 28(2), 2002, section 3.2: at worst n² + 3n questions, 2 log n
// for a single item. The same answers give the same part.
Minimal minimal(std::vector<std::size_t> items,
                const std::function<Holds(const std::vector<std::size_t>&)>& holds);

}  // namespace culprit::diagnose
