#include "bundle/shape.hpp"

#include "bundle/paths.hpp"
#include "bundle/sections.hpp"

namespace culprit::bundle {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kTarBlock = 512;

// The header's checksum, with its own eight bytes taken as spaces; both ways of adding that were
// ever in use.
bool tar_checksum_holds(std::string_view head) {
  if (head.size() < kTarBlock) return false;
  long told = 0;
  bool digits = false;
  for (const char c : head.substr(148, 8)) {
    if (c >= '0' && c <= '7') {
      told = told * 8 + (c - '0');
      digits = true;
    } else if (digits || c != ' ') {
      break;
    }
  }
  long as_unsigned = 0, as_signed = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i) {
    const char c = i >= 148 && i < 156 ? ' ' : head[i];
    as_unsigned += static_cast<unsigned char>(c);
    as_signed += static_cast<signed char>(c);
  }
  return digits && (told == as_unsigned || told == as_signed);
}

bool is_gzip(std::string_view head) {
  return head.size() >= 10 && head.starts_with("\x1f\x8b\x08"sv) && (head[3] & 0xe0) == 0;
}

bool is_bzip2(std::string_view head) {
  if (head.size() < 10 || !head.starts_with("BZh"sv) || head[3] < '1' || head[3] > '9')
    return false;
  const std::string_view block = head.substr(4, 6);
  return block == "\x31\x41\x59\x26\x53\x59"sv || block == "\x17\x72\x45\x38\x50\x90"sv;
}

bool is_zstd(std::string_view head) {
  if (head.starts_with("\x28\xb5\x2f\xfd"sv)) return true;
  // Skippable frames, as pzstd puts first.
  return head.size() >= 4 && (head[0] & 0xf0) == 0x50 && head.substr(1, 3) == "\x2a\x4d\x18"sv;
}

}  // namespace

Shape recognise(std::string_view head, std::string_view path, bool top) {
  if (is_gzip(head)) return Shape::gzip;
  if (is_zstd(head)) return Shape::zstd;
  if (head.starts_with("\xfd"
                       "7zXZ\0"sv))
    return Shape::xz;
  if (is_bzip2(head)) return Shape::bzip2;
  if (head.starts_with("\x04\x22\x4d\x18"sv)) return Shape::lz4;
  if (head.starts_with("PK\3\4"sv) || head.starts_with("PK\5\6"sv))
    return top || named_like_archive(path) ? Shape::zip : Shape::plain;
  const bool tar_name = named_like_tar_or_zip(path);
  if (tar_checksum_holds(head) && (head.substr(257, 5) == "ustar"sv || tar_name)) return Shape::tar;
  if (tar_name && head.size() >= 2 * kTarBlock &&
      head.find_first_not_of('\0') == std::string_view::npos)
    return Shape::empty_tar;
  if (looks_like_bug_report(head)) return Shape::bug_report;
  if (looks_like_kubectl_dump(head)) return Shape::kubectl;
  return Shape::plain;
}

}  // namespace culprit::bundle
