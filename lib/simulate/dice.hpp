// Draws that are the same on every machine: splitmix64 (Steele, Lea, Flood 2014), with a stream of
// its own for each purpose, so that one more draw for one thing changes nothing else.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

namespace culprit::simulate {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  // A stream for `purpose`, the same whatever was drawn before.
  Dice fork(std::string_view purpose) const {
    std::uint64_t hash = 0xcbf29ce484222325ULL ^ seed_of(state_);
    for (const char c : purpose) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return Dice(seed_of(hash));
  }
  std::uint64_t next() { return seed_of(state_ += 0x9e3779b97f4a7c15ULL); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }  // [0, 1)
  bool chance(double share) { return unit() < share; }
  std::int64_t between(std::int64_t low, std::int64_t high) {  // both included
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  const auto& pick(const auto& list) { return list[next() % std::size(list)]; }

 private:
  static std::uint64_t seed_of(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace culprit::simulate
