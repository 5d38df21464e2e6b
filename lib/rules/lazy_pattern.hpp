// A pattern that is compiled when a line first meets it: most of them never are.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <re2/re2.h>

namespace culprit::rules {

class LazyPattern {
 public:
  explicit LazyPattern(std::string text) : text_(std::move(text)) {}

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
  // "" where it is a pattern, else what is wrong with it.
  std::string trouble() const { return expression().ok() ? "" : expression().error(); }
  const re2::RE2& expression() const {
    std::call_once(once_, [this] {
      re2::RE2::Options options;
      options.set_log_errors(false);
      // Logs are bytes; a torn character must not stop a match.
      options.set_encoding(re2::RE2::Options::EncodingLatin1);
      compiled_ = std::make_unique<re2::RE2>(text_, options);
    });
    return *compiled_;
  }

 private:
  std::string text_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<re2::RE2> compiled_;
};

}  // namespace culprit::rules
