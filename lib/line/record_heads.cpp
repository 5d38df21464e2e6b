// Records of several processes on one line: where launchers and NCCL begin another one.
#include <bit>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <re2/re2.h>

#include "line/prefix_forms.hpp"
#include "model/contains.hpp"

namespace culprit::line {

namespace {

// "gpu-a:615:18953 [2] NCCL INFO " at the start: the head of nearly every line of NCCL_DEBUG, of
// which a log may have millions. end: where it does.
struct NcclHead {
  std::string_view host;
  std::optional<std::int64_t> pid, device;
  std::size_t end = 0;
};
std::optional<NcclHead> plain_nccl_head(std::string_view text) {
  NcclHead out;
  Cursor c{text};
  out.host = c.word(host_char);
  if (out.host.empty() || !c.take(":") || !(out.pid = c.number()) || !c.take(":") || !c.number() ||
      !c.take(" [") || !(out.device = c.number()) ||
      !(c.take("] NCCL INFO") || c.take("] NCCL WARN")))
    return std::nullopt;
  out.end = c.at;
  return out;
}

// {"log":"... and {"MESSAGE":"...: the record inside is split, if at all, after it was unwrapped.
bool wrapped(std::string_view raw) {
  const std::size_t at = raw.find_first_not_of(' ');
  return at != std::string_view::npos && raw.substr(at, 2) == "{\"" &&
         (contains(raw, "\"log\"") || contains(raw, "\"MESSAGE\""));
}

// Before the head stands what is peeled, or what is with the head behind it: a time and a host, or
// a word that may be one.
bool nothing_but_prefixes(std::string_view raw, std::size_t head) {
  if (peel(raw.substr(0, head + 1)).message.size() <= 1) return true;
  const Line whole = peel(raw);
  return ((whole.prefix.time.clock != Clock::none && whole.prefix.host) ||
          whole.prefix.claimed_host) &&
         raw.substr(head).ends_with(whole.message);
}

// Where "[default3]:[rank43]: " ends, of which nearly every line of a log has one.
std::size_t launcher_labels_end(std::string_view raw) {
  constexpr std::size_t kLongest = 16;
  std::size_t end = 0;
  while (raw.substr(end, 5) == "[rank" || raw.substr(end, 8) == "[default") {
    const std::size_t close = raw.substr(end, kLongest).find(']');
    if (close == std::string_view::npos) break;
    end += close + 1;
    while (end < raw.size() && (raw[end] == ':' || raw[end] == ' ')) ++end;
  }
  return end;
}

}  // namespace

void read_nccl_head(std::string_view message, Prefix& prefix) {
  static const re2::RE2 kHead(
      R"(([^\s:()\[\]]+):(\d+):(\d+) \[(\d+)\] (?:\S+ ){0,3}?(?:\(\w+\) )?NCCL (?:INFO|WARN|TRACE))");
  std::string host;
  std::int64_t pid = 0, tid = 0, device = 0;
  auto head = plain_nccl_head(message);
  if (!head && re2::RE2::PartialMatch(re2::StringPiece(message.data(), message.size()), kHead,
                                      &host, &pid, &tid, &device))
    head = NcclHead{host, pid, device};
  if (!head) return;
  prefix.host = Host(head->host);
  prefix.pid = head->pid;
  prefix.device = head->device;
  prefix.nccl = true;
}

bool may_hold_heads(std::string_view raw) {
  const auto is_head = [&](std::size_t at) {
    return raw.compare(at, 5, "[rank") == 0 || raw.compare(at, 8, "[default") == 0 ||
           raw.compare(at, 5, "NCCL ") == 0;
  };
  std::size_t i = 0;
#if defined(__SSE2__)
  // The first two bytes of a head, sixteen places at once.
  const auto equals = [](__m128i bytes, char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
  for (; i + 17 <= raw.size(); i += 16) {
    const __m128i one = _mm_loadu_si128(reinterpret_cast<const __m128i*>(raw.data() + i));
    const __m128i two = _mm_loadu_si128(reinterpret_cast<const __m128i*>(raw.data() + i + 1));
    const __m128i launcher =
        _mm_and_si128(equals(one, '['), _mm_or_si128(equals(two, 'r'), equals(two, 'd')));
    const __m128i nccl = _mm_and_si128(equals(one, 'N'), equals(two, 'C'));
    for (auto places = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(launcher, nccl)));
         places != 0; places &= places - 1)
      if (is_head(i + static_cast<std::size_t>(std::countr_zero(places)))) return true;
  }
#endif
  for (; i < raw.size(); ++i)
    if ((raw[i] == '[' || raw[i] == 'N') && is_head(i)) return true;
  return false;
}

std::vector<std::size_t> record_heads(std::string_view raw) {
  // A launcher prefix or an NCCL head in the middle of a line is another process's record.
  static const re2::RE2 kInner(
      R"((\[rank\d+\]:|\[default\d+\]:|[A-Za-z0-9][\w.-]*:\d+:\d+ \[\d+\] (?:\S+ )?NCCL (?:INFO|WARN)))");
  std::vector<std::size_t> heads{0};
  if (!may_hold_heads(raw)) return heads;
  if (raw.starts_with('{') && raw.ends_with('}')) return heads;  // a record by itself
  if (const auto head = plain_nccl_head(raw);                    // one head, where it should be
      head && raw.find("NCCL ", head->end) == std::string_view::npos && !contains(raw, "[rank") &&
      !contains(raw, "[default"))
    return heads;
  if (const std::size_t begin = launcher_labels_end(raw);
      begin > 0 && !may_hold_heads(raw.substr(begin)))
    return heads;
  const re2::StringPiece input(raw.data(), raw.size());
  re2::StringPiece match;
  std::size_t at = 0;
  bool first = true;
  while (heads.size() < 64 && at < raw.size() &&
         kInner.Match(input, at, raw.size(), re2::RE2::UNANCHORED, &match, 1)) {
    const auto begin = static_cast<std::size_t>(match.data() - raw.data());
    // Nothing but prefixes before it: the head is the line's own.
    if (first && begin > 0 && wrapped(raw)) return heads;
    const bool prefix_stack = first && begin > 0 && nothing_but_prefixes(raw, begin);
    const bool stacked =
        begin > 0 && (raw[begin - 1] == ':' ||
                      (raw[begin - 1] == ' ' && begin > 1 &&
                       (raw[begin - 2] == ']' || raw[begin - 2] == ')' || raw[begin - 2] == ':')));
    if (begin > 0 && !prefix_stack && !stacked) heads.push_back(begin);
    first = false;
    at = begin + match.size();
  }
  return heads;
}

}  // namespace culprit::line
