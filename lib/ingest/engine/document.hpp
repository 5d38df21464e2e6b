// Files that are read as a whole: JSON documents, dumps of one process. And the kinds of text that
// a file can be known to be from its head.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

// What some ninety formats ask of one head, found in one pass: how many lines it has, and which
// pairs of neighbouring bytes, letters in any case. Nearly every word that is not in it has a pair
// that is not in it either, and is told absent without a search.
class HeadIndex {
 public:
  explicit HeadIndex(std::string_view text);
  bool may_have(std::string_view word) const;
  std::int64_t newlines() const { return newlines_; }

 private:
  std::array<bool, 64 * 64> pairs_{};
  std::int64_t newlines_ = 0;
};

struct Head {
  std::string_view path;
  std::string_view bytes;                               // the first 64 KiB at most
  bool whole = false;                                   // bytes is all there is
  mutable std::shared_ptr<const HeadIndex> known = {};  // made at the first question

  const HeadIndex& index() const;
  bool has(std::string_view word) const;
  // In letters of any case; the word is in small ones.
  bool mentions(std::string_view word) const;
  bool has_any(std::initializer_list<std::string_view> words) const;
  std::string_view base() const {
    return path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1);
  }
};

// Whether all lines of the head are JSON objects, but for blank ones and one that the head cuts.
inline bool only_objects(const Head& head) {
  for (std::string_view rest = head.bytes; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const std::size_t first = text.find_first_not_of("\xEF\xBB\xBF \t\r");
    if (first != std::string_view::npos && text[first] != '{') return false;
  }
  return true;
}

// Whether of the lines of a head, at most so many, at least a share are of a kind. Most heads are
// of no kind, and their first lines show it.
class ShareOfLines {
 public:
  ShareOfLines(std::string_view bytes, int percent, std::int64_t at_most);
  ShareOfLines(const Head& head, int percent, std::int64_t at_most)
      : percent_(percent), most_(std::min(at_most, head.index().newlines() + 1)) {}
  // One line more. False: no line that follows changes the answer.
  bool take(bool good) {
    ++lines_;
    good_ += good;
    return lines_ < most_ && (good_ + most_ - lines_) * 100 >= percent_ * most_;
  }
  bool reached() const { return lines_ > 0 && good_ * 100 >= percent_ * lines_; }

 private:
  std::int64_t percent_, most_;  // as many lines as there can be
  std::int64_t lines_ = 0, good_ = 0;
};

struct Document {
  std::string_view name;
  std::string_view summary;
  std::size_t max_bytes;  // a larger file is rejected with 'document.too_large'
  bool (*sniff)(const Head& head);
  // Puts rows; "" or the stable code of a reject.
  std::string (*read)(std::string_view bytes, const MemberRow& member, Reading& reading);
  bool of_machine = false;  // what a tool prints of the machine on which it runs
};

struct TextKind {
  std::string_view name;  // format name
  std::string_view summary;
  std::string_view kind;  // kernel nvidia-smi ... as in a rule's `where`; "data", "stack",
                          // "process" and "source": rules do not apply
  bool (*sniff)(const Head& head);
  bool of_machine = false;  // what a tool prints of the machine on which it runs
};

std::span<const Document* const> documents();
std::span<const TextKind> text_kinds();

// The format of a head. Two documents that claim one head are an error of ours; a test holds every
// sample against all.
struct RecordText;

struct Detected {
  const Document* document = nullptr;
  const RecordText* records = nullptr;
  std::string_view format;  // "text" when nothing more is known, "binary", "empty"
  std::string_view kind;
  bool text = false;
  bool rules_apply = false;
};
Detected detect(const Head& head);

}  // namespace culprit::ingest
