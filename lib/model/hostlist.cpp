#include "model/hostlist.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <tuple>

#include "model/ascii.hpp"
#include "model/sort.hpp"

namespace culprit {

namespace {

constexpr std::size_t kLongestName = 255;
constexpr std::size_t kMostDigits = 18;  // what fits a 64-bit number

bool separates(char c) { return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::int64_t number(std::string_view digits) {
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::string padded(std::int64_t value, std::size_t width) {
  std::string out = std::to_string(value);
  return out.size() < width ? std::string(width - out.size(), '0') + out : out;
}

// "001-003,007" to texts, `most` at most. False when it is none.
bool ranges(std::string_view inside, std::size_t most, std::vector<std::string>& out,
            bool& capped) {
  std::size_t at = 0;
  while (true) {
    const std::size_t end = std::min(inside.find(',', at), inside.size());
    const std::string_view one = inside.substr(at, end - at);
    const std::size_t dash = one.find('-');
    const std::string_view low = one.substr(0, dash);
    const std::string_view high = dash == std::string_view::npos ? low : one.substr(dash + 1);
    for (const std::string_view bound : {low, high})
      if (bound.empty() || bound.size() > kMostDigits || !std::ranges::all_of(bound, digit))
        return false;
    const std::int64_t first = number(low);
    const std::int64_t last = number(high);
    if (last < first) return false;
    for (std::int64_t n = first; n <= last; ++n) {
      if (out.size() >= most) {
        capped = true;
        break;
      }  // the rest must be well formed all the same
      out.push_back(padded(n, low.size()));
    }
    if (end == inside.size()) return true;
    at = end + 1;
  }
}

bool expand_one(std::string_view text, std::size_t most, Hostlist& out) {
  struct Part {
    std::string_view before;
    std::vector<std::string> values;
  };
  std::vector<Part> parts;
  std::size_t at = 0;
  std::string_view tail;
  while (true) {
    const std::size_t open = text.find_first_of("[]", at);
    if (open == std::string_view::npos) {
      tail = text.substr(at);
      break;
    }
    if (text[open] == ']' || parts.size() >= 16) return false;
    const std::size_t close = text.find_first_of("[]", open + 1);
    if (close == std::string_view::npos || text[close] == '[') return false;
    Part part{text.substr(at, open - at), {}};
    if (!ranges(text.substr(open + 1, close - open - 1), most, part.values, out.capped))
      return false;
    parts.push_back(std::move(part));
    at = close + 1;
  }
  if (!parts.empty() && !tail.empty()) out.text_after_brackets = true;
  std::vector<std::size_t> turn(parts.size(), 0);
  while (true) {
    if (out.hosts.size() >= most) {
      out.capped = true;
      return true;
    }
    std::string name;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      name += parts[i].before;
      name += parts[i].values[turn[i]];
    }
    name += tail;
    if (name.size() > kLongestName) return false;
    out.hosts.push_back(std::move(name));
    std::size_t i = parts.size();
    while (i > 0 && ++turn[i - 1] == parts[i - 1].values.size()) turn[--i] = 0;
    if (i == 0) return true;
  }
}

}  // namespace

Hostlist expand_hostlist(std::string_view text, std::size_t most) {
  Hostlist out;
  most = std::max<std::size_t>(most, 1);
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const bool end = at == text.size();
    if (!end && text[at] == '[') ++depth;
    if (!end && text[at] == ']') --depth;
    // Inside brackets a comma separates ranges; a line end there would be a torn list.
    if (!end && (!separates(text[at]) || depth > 0)) {
      if (static_cast<unsigned char>(text[at]) < 0x20 || text[at] == 0x7f || text[at] == '(' ||
          text[at] == '=')
        out.broken = true;  // "(null)" is no host
      continue;
    }
    if (at > begin && !out.capped && !out.broken &&
        !expand_one(text.substr(begin, at - begin), most, out))
      out.broken = true;
    begin = at + 1;
  }
  if (depth != 0) out.broken = true;
  if (out.broken) out.hosts.clear();
  return out;
}

std::string fold_hostlist(const std::vector<Host>& hosts) {
  return fold_hostlist(std::vector<std::string>(hosts.begin(), hosts.end()));
}

std::string fold_hostlist(std::vector<std::string> hosts) {
  struct Name {
    std::string_view prefix, digits;
    std::int64_t value;
  };
  sort_unique(hosts);
  std::vector<Name> names;
  for (const std::string& host : hosts) {
    std::size_t begin = host.size();
    while (begin > 0 && digit(host[begin - 1]) && host.size() - begin < kMostDigits) --begin;
    const std::string_view whole(host);
    names.push_back({whole.substr(0, begin), whole.substr(begin),
                     begin < host.size() ? number(whole.substr(begin)) : -1});
  }
  sort_by(names, [](const Name& a) { return std::tuple(a.prefix, a.value, a.digits.size()); });
  std::string out;
  for (std::size_t i = 0; i < names.size();) {
    std::string inside;
    std::size_t ranges_of_prefix = 0;
    std::size_t j = i;
    const std::string_view prefix = names[i].prefix;
    for (; j < names.size() && names[j].prefix == prefix && names[j].value >= 0;) {
      std::size_t k = j;  // as far as the lower bound's width makes the very texts
      while (k + 1 < names.size() && names[k + 1].prefix == prefix &&
             names[k + 1].value == names[k].value + 1 &&
             names[k + 1].digits == padded(names[k + 1].value, names[j].digits.size()))
        ++k;
      if (!inside.empty()) inside += ',';
      inside += names[j].digits;
      if (k > j) {
        inside += '-';
        inside += names[k].digits;
      }
      ranges_of_prefix += k - j + 1;
      j = k + 1;
    }
    if (!out.empty()) out += ',';
    out += prefix;
    if (ranges_of_prefix > 1)
      out += '[' + inside + ']';
    else
      out += inside;
    i = std::max(j, i + 1);
  }
  return out;
}

}  // namespace culprit
