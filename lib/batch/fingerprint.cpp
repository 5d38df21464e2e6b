#include "batch/fingerprint.hpp"

#include <cstdio>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "model/sort.hpp"

namespace culprit::batch {

namespace {

namespace fs = std::filesystem;

std::string hex(XXH128_hash_t h) { return fmt::format("{:016x}{:016x}", h.high64, h.low64); }

}  // namespace

std::string digest(std::string_view bytes) { return hex(XXH3_128bits(bytes.data(), bytes.size())); }

std::string digest_of_file(const std::string& path) {
  std::vector<char> block(1 << 18);
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return "";
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  std::size_t got = 0;
  while ((got = std::fread(block.data(), 1, block.size(), file)) > 0)
    XXH3_128bits_update(&state, block.data(), got);
  const bool broken = std::ferror(file) != 0;
  std::fclose(file);
  return broken ? "" : hex(XXH3_128bits_digest(&state));
}

Fingerprint fingerprint(const std::string& path, bool contents) {
  Fingerprint out;
  std::vector<std::string> rows;
  const auto see = [&](const fs::path& file, const std::string& name) {
    struct stat info {};
    if (lstat(file.c_str(), &info) != 0) {
      rows.push_back(name + "\t?");
      return;
    }
    if (S_ISDIR(info.st_mode)) return;
    const bool regular = S_ISREG(info.st_mode);
    if (regular) out.bytes += static_cast<std::uint64_t>(info.st_size);
    rows.push_back(fmt::format(
        "{}\t{:o}\t{}\t{}", name, info.st_mode & S_IFMT, regular ? info.st_size : 0,
        contents && regular ? digest_of_file(file.string())
                            : fmt::format("{}.{:09}", info.st_mtim.tv_sec, info.st_mtim.tv_nsec)));
  };
  // The bundle itself may be a link: it is what the user named.
  std::error_code error;
  const fs::path whole = fs::canonical(path, error);
  const fs::path root = error ? fs::path(path) : whole;
  if (!fs::is_directory(root, error)) {
    see(root, ".");
  } else {
    fs::recursive_directory_iterator it(root, fs::directory_options::skip_permission_denied, error);
    for (; !error && it != fs::recursive_directory_iterator(); it.increment(error))
      see(it->path(), it->path().lexically_relative(root).generic_string());
    if (error) rows.push_back("?\t" + error.message());
  }
  sort_rows(rows);
  std::string all;
  for (const std::string& row : rows) all += row + '\n';
  out.digest = digest(all);
  return out;
}

}  // namespace culprit::batch
