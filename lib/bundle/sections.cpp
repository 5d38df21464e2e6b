#include "bundle/sections.hpp"

#include <algorithm>
#include <utility>

#include "bundle/paths.hpp"
#include "model/contains.hpp"

namespace culprit::bundle {
namespace {

constexpr std::string_view kStart = "==== START logs for container ";
constexpr std::string_view kClose = " ====";
constexpr std::size_t kMaxSections =
    65'536;  // later ones stay in the last: no bytes are lost, memory is bounded
constexpr std::size_t kNameBytes = 512;
constexpr std::size_t kMarkBytes = 1'024;  // an END mark has at most 450 bytes

std::string_view without_cr(std::string_view text) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

bool blank(std::string_view text) {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

// A leading "/" stays: it is how a section is told from a member of the same name.
std::string section_name(std::string_view text) {
  const SafeName safe = safe_name(text);
  return shorten((text.starts_with('/') ? "/" : "") + safe.name, kNameBytes);
}

}  // namespace

bool looks_like_bug_report(std::string_view head) {
  return contains(head.substr(0, 8'192), "Start of NVIDIA bug report log file");
}

bool looks_like_kubectl_dump(std::string_view head) {
  for (std::size_t at = head.find(kStart); at != std::string_view::npos;
       at = head.find(kStart, at + 1))
    if (at == 0 || head[at - 1] == '\n') return true;
  return false;
}

void Splitter::open(const std::string& name) {
  if (names_.size() >= kMaxSections) return;
  const std::uint32_t times = ++names_[name];
  std::string unique = name;
  if (times > 1) {
    // "a~2" may be the name of another section already.
    for (std::uint32_t n = times; names_.contains(unique = name + "~" + std::to_string(n));)
      n = ++names_[name];
    names_[unique] = 1;
  }
  any_ = true;
  sink_.section(unique, offset_, line_);
}

void Splitter::content(std::string_view bytes) {
  if (bytes.empty()) return;
  if (!any_) open("preamble");
  sink_.bytes(bytes);
  offset_ += bytes.size();
  line_ += static_cast<std::uint64_t>(std::ranges::count(bytes, '\n'));
}

void Splitter::release() {
  const std::string held = std::exchange(held_, {});
  content(held);
}

// text: the line as the format sees it; raw: its bytes with what ends it.
void Splitter::judge(std::string_view text, std::string_view raw) {
  if (line(text) == Verdict::hold) {
    held_ += raw;
    return;
  }
  release();
  content(raw);
}

void Splitter::feed(std::string_view block) {
  std::size_t plain =
      0;  // block[plain, at) is content that nobody wants to see: given in one piece
  std::size_t at = 0;
  const auto flush = [&](std::size_t upto) {
    content(block.substr(plain, upto - plain));
    plain = upto;
  };
  while (at < block.size()) {
    const std::size_t newline = block.find('\n', at);
    const bool whole = newline != std::string_view::npos;
    const std::size_t stop = whole ? newline + 1 : block.size();
    const std::string_view piece = block.substr(at, stop - at);

    if (long_line_) {
      if (wants_ends()) {
        tail_ += piece.substr(piece.size() - std::min(piece.size(), kMarkBytes));
        tail_.erase(0, tail_.size() - std::min(tail_.size(), kMarkBytes));
        if (whole) line_end(without_cr(std::string_view(tail_).substr(0, tail_.size() - 1)));
      }
      if (whole) long_line_ = false;
    } else if (carry_.empty() && !wants_line(piece.front()) && held_.empty() &&
               (whole || !wants_ends())) {
      if (whole && wants_ends()) line_end(without_cr(piece.substr(0, piece.size() - 1)));
      long_line_ = !whole;
      tail_.clear();
    } else if (!whole && carry_.size() + piece.size() < kLineBytes) {
      flush(at);
      carry_ += piece;
      plain = stop;
    } else {
      flush(at);
      plain = stop;
      std::string joined;
      std::string_view raw = piece;
      if (!carry_.empty()) {
        joined = std::exchange(carry_, {}) + std::string(piece);
        raw = joined;
      }
      const std::string_view text = without_cr(whole ? raw.substr(0, raw.size() - 1) : raw);
      judge(text.substr(0, kLineBytes), raw);
      long_line_ = !whole;
      tail_.assign(!whole ? raw.substr(raw.size() - std::min(raw.size(), kMarkBytes))
                          : std::string_view{});
      if (whole && wants_ends()) line_end(text);
    }
    at = stop;
  }
  flush(block.size());
}

void Splitter::finish() {
  if (!carry_.empty()) {
    const std::string last = std::exchange(carry_, {});
    judge(without_cr(last), last);
    if (wants_ends()) line_end(without_cr(last));
  }
  release();
  if (!any_) open("preamble");  // an empty file is still told
}

Splitter::Verdict BugReportSplitter::line(std::string_view text) {
  constexpr std::size_t kLeastBar = 40, kScriptBar = 44;
  const std::string_view bar = trimmed(text);
  if (bar.size() >= kLeastBar && bar.size() < 256 &&
      bar.find_first_not_of('_') == std::string_view::npos) {
    release();
    state_ = State::after_bar;
    exact_bar_ = text.size() == kScriptBar;
    blanks_ = 0;
    return Verdict::hold;
  }
  if (state_ == State::outside) return Verdict::content;
  if (blank(text) && text.size() < 256 && ++blanks_ <= 2) return Verdict::hold;

  state_ = State::outside;
  std::string_view title = trimmed(text);
  if (title.starts_with("*** ")) {
    title = trimmed(title.substr(4));
    for (const std::string_view remark : {" does not exist", " not found"})
      if (title.ends_with(remark)) title.remove_suffix(remark.size());
  } else if (!title.starts_with('/')) {
    // "acpidump", "Scanning kernel log files ...", "End of NVIDIA bug report log file." come with
    // the very bar and the one empty line that the script prints; in content such a line is no more
    // than a line.
    if (!exact_bar_ || blanks_ != 1 || title.starts_with("Start of NVIDIA bug report log file"))
      return Verdict::content;
  }
  if (title.empty()) return Verdict::content;
  open(section_name(title));
  return Verdict::content;
}

Splitter::Verdict KubectlSplitter::line(std::string_view text) {
  if (text.starts_with(kStart) && text.ends_with(kClose)) {
    const std::string_view names =
        text.substr(kStart.size(), text.size() - kStart.size() - kClose.size());
    constexpr std::string_view kOfPod = " of pod ";
    const std::size_t of = names.find(kOfPod);
    if (of != std::string_view::npos && of > 0) {
      const std::string container(names.substr(0, of));
      const std::string pod(names.substr(of + kOfPod.size()));
      end_mark_ =
          "==== END logs for container " + container + " of pod " + pod + std::string(kClose);
      state_ = State::inside;
      open(section_name(pod + "/" + container));
      return Verdict::content;
    }
  }
  if (state_ == State::after && !blank(text)) {
    state_ = State::rest;
    open("rest");
  }
  return Verdict::content;
}

void KubectlSplitter::line_end(std::string_view tail) {
  if (state_ == State::inside && tail.ends_with(end_mark_)) state_ = State::after;
}

}  // namespace culprit::bundle
