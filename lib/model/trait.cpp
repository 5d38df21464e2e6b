#include "model/trait.hpp"

#include <iterator>

namespace culprit {

namespace {

#define CULPRIT_NAME(word) #word,
constexpr std::string_view kTraits[] = {CULPRIT_TRAITS(CULPRIT_NAME)};
#undef CULPRIT_NAME
static_assert(std::size(kTraits) <= 128);

}  // namespace

std::string_view name(Trait trait) { return kTraits[static_cast<std::size_t>(trait)]; }

std::optional<Trait> trait_named(std::string_view word) {
  for (std::size_t i = 0; i < std::size(kTraits); ++i)
    if (kTraits[i] == word) return static_cast<Trait>(i);
  return std::nullopt;
}

std::vector<std::string_view> names(const Traits& traits) {
  std::vector<std::string_view> out;
  for (std::size_t i = 0; i < std::size(kTraits); ++i)
    if (traits.has(static_cast<Trait>(i))) out.push_back(kTraits[i]);
  return out;
}

}  // namespace culprit
