#include "bundle/paths.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace culprit::bundle {
namespace {

bool ends_with_any(std::string_view path, auto const& suffixes) {
  std::string lower(path.substr(path.size() - std::min<std::size_t>(path.size(), 8)));
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const std::string_view suffix : suffixes)
    if (std::string_view(lower).ends_with(suffix)) return true;
  return false;
}

}  // namespace

SafeName safe_name(std::string_view stored) {
  SafeName result;
  result.name.reserve(stored.size());
  while (!stored.empty()) {
    const std::size_t slash = stored.find('/');
    std::string_view component = stored.substr(0, slash);
    stored.remove_prefix(slash == std::string_view::npos ? stored.size() : slash + 1);
    if (component.empty() || component == ".") continue;
    if (component == "..") {
      component = "__";
      result.changed = true;
    }
    if (!result.name.empty()) result.name += '/';
    result.name += component;
  }
  return result;
}

std::string shorten(std::string_view path, std::size_t most) {
  constexpr std::size_t kHashBytes = 17;  // "~" and 16 digits
  if (path.size() <= most) return std::string(path);
  std::uint64_t hash =
      14695981039346656037ULL;  // FNV-1a: stable over runs and machines, which std::hash is not
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  std::string result(path.substr(0, most > kHashBytes ? most - kHashBytes : 0));
  while (!result.empty() && result.back() == '/') result.pop_back();
  result += '~';
  for (int shift = 60; shift >= 0; shift -= 4) result += "0123456789abcdef"[(hash >> shift) & 15];
  return result;
}

std::string_view last_component(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos || path.size() == 1 ? path : path.substr(slash + 1);
}

bool named_like_archive(std::string_view path) {
  static constexpr std::array<std::string_view, 11> kSuffixes = {
      ".zip", ".tar", ".tgz", ".gz", ".zst", ".xz", ".txz", ".tbz2", ".bz2", ".lz4", ".tzst"};
  return ends_with_any(path, kSuffixes);
}

bool named_like_tar_or_zip(std::string_view path) {
  static constexpr std::array<std::string_view, 11> kSuffixes = {
      ".zip",    ".tar",     ".tgz",    ".txz",     ".tbz2",   ".tzst",
      ".tar.gz", ".tar.zst", ".tar.xz", ".tar.bz2", ".tar.lz4"};
  return ends_with_any(path, kSuffixes);
}

}  // namespace culprit::bundle
