// A pattern that is compiled when a line first meets it: most of them never are.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <re2/re2.h>

#include "rules/archive.hpp"

namespace culprit::rules {

class LazyPattern {
 public:
  // Logs are bytes; a torn character must not stop a match.
  explicit LazyPattern(std::string text,
                       re2::RE2::Options::Encoding encoding = re2::RE2::Options::EncodingLatin1)
      : text_(std::move(text)), encoding_(encoding) {}

  bool stands_in(std::string_view text) const {
    return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), expression());
  }
  // Behind the last byte of the first match; npos: there is none.
  std::size_t end_in(std::string_view text) const {
    re2::StringPiece all;
    const re2::StringPiece in(text.data(), text.size());
    if (!expression().Match(in, 0, in.size(), re2::RE2::UNANCHORED, &all, 1))
      return std::string_view::npos;
    return static_cast<std::size_t>(all.data() - text.data()) + all.size();
  }
  const std::string& text() const { return text_; }
  // "" where it is a pattern, else what is wrong with it.
  std::string trouble() const { return expression().ok() ? "" : expression().error(); }
  const re2::RE2& expression() const {
    std::call_once(once_, [this] {
      re2::RE2::Options options;
      options.set_log_errors(false);
      options.set_encoding(encoding_);
      compiled_ = std::make_unique<re2::RE2>(text_, options);
    });
    return *compiled_;
  }

 private:
  std::string text_;
  re2::RE2::Options::Encoding encoding_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<re2::RE2> compiled_;
};

template <class Archive, MaybeConst<std::shared_ptr<LazyPattern>> T>
void each_field(Archive& archive, T& pattern) {
  std::string text = pattern == nullptr ? std::string() : pattern->text();
  archive(text);
  if constexpr (!std::is_const_v<T>) pattern = std::make_shared<LazyPattern>(std::move(text));
}

}  // namespace culprit::rules
