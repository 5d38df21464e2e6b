// Files that are read as a whole: JSON documents, dumps of one process. And the kinds of text that
// a file can be known to be from its head.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

// Which pairs of neighbouring bytes a text has. Nearly every word that is not in it has a pair that
// is not in it either, and is told absent without a search.
class BytePairs {
 public:
  explicit BytePairs(std::string_view text) {
    for (std::size_t i = 1; i < text.size(); ++i) {
      const std::uint32_t at = pair(text, i);
      bits_[at >> 6] |= std::uint64_t{1} << (at & 63);
    }
  }
  bool may_have(std::string_view word) const {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const std::uint32_t at = pair(word, i);
      if ((bits_[at >> 6] >> (at & 63) & 1) == 0) return false;
    }
    return true;
  }

 private:
  static std::uint32_t pair(std::string_view text, std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i - 1])) << 8 |
           static_cast<unsigned char>(text[i]);
  }
  std::array<std::uint64_t, 1024> bits_{};
};

struct Head {
  std::string_view path;
  std::string_view bytes;                               // the first 64 KiB at most
  bool whole = false;                                   // bytes is all there is
  mutable std::shared_ptr<const BytePairs> pairs = {};  // made at the first question

  // Some ninety formats ask for words of their own in one head.
  bool has(std::string_view word) const {
    if (!pairs) pairs = std::make_shared<const BytePairs>(bytes);
    return pairs->may_have(word) && bytes.find(word) != std::string_view::npos;
  }
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
