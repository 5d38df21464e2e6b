// Numbers of processes as types of their own: the job, the launcher of a node and a process group
// each count from 0, and a number taken for another's accuses the wrong process. Nothing turns into
// a rank, and a rank into nothing, without being told to: Rank(number) and number_of(rank).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace culprit {

// Of the job: what torch calls the global rank.
enum class Rank : std::int64_t {};
// Of one launcher, which most often has a node: LOCAL_RANK.
enum class LocalRank : std::int64_t {};

// In keys, where a rank is not known.
inline constexpr Rank kNoRank{-1};

constexpr std::int64_t number_of(Rank rank) { return static_cast<std::int64_t>(rank); }
constexpr std::int64_t number_of(LocalRank rank) { return static_cast<std::int64_t>(rank); }

// Of a table that has an entry for each rank of a job: is_rank_of() first.
constexpr std::size_t index_of(Rank rank) { return static_cast<std::size_t>(rank); }

// Of a job, or of the part of it that is looked at, with ranks 0 to size - 1.
constexpr bool is_rank_of(std::int64_t size, Rank rank) {
  return number_of(rank) >= 0 && number_of(rank) < size;
}

// A number that was read, or none, is one of these; and back.
template <class Kind>
constexpr std::optional<Kind> maybe(const std::optional<std::int64_t>& number) {
  return number ? std::optional(Kind(*number)) : std::nullopt;
}
template <class Kind>
constexpr std::optional<std::int64_t> number_of(const std::optional<Kind>& rank) {
  return rank ? std::optional(number_of(*rank)) : std::nullopt;
}

// How fmt prints them.
constexpr std::int64_t format_as(Rank rank) { return number_of(rank); }
constexpr std::int64_t format_as(LocalRank rank) { return number_of(rank); }

}  // namespace culprit
