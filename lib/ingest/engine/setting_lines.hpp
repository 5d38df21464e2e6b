// What readers of files of settings share: a file is of a kind when most of its lines are, and a
// line that is not says nothing.
#pragma once

#include <string>
#include <string_view>

#include "ingest/engine/document.hpp"
#include "ingest/engine/network_rows.hpp"

namespace culprit::ingest {

inline constexpr std::size_t kSettingBytes = 8u << 20;
inline constexpr std::size_t kSettingsPerFile = 20'000;

// Whether `accept` takes at least `percent` of the lines of the head; empty lines and one that the
// head cuts are left out.
template <class Accept>
bool setting_share(const Head& head, int percent, Accept accept) {
  ShareOfLines share(head, percent, 256);
  each_text_line(head.bytes, [&](std::string_view line, std::uint64_t, std::size_t offset) {
    if (trimmed(line).empty() || (!head.whole && offset + line.size() + 1 >= head.bytes.size()))
      return true;
    return share.take(accept(line));
  });
  return share.reached();
}

inline Place line_place(const MemberRow& member, std::uint64_t number, std::size_t offset,
                        std::string_view line) {
  return {member.id, number, offset,
          static_cast<std::uint32_t>(std::min<std::size_t>(line.size(), 1u << 20))};
}

inline bool starts_with_any(std::string_view text,
                            std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view one) { return text.starts_with(one); });
}

}  // namespace culprit::ingest
