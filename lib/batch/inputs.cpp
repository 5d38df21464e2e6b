#include "batch/inputs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include <glob.h>

#include "batch/fingerprint.hpp"
#include "model/contains.hpp"
#include "model/sort.hpp"

namespace culprit::batch {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostListBytes = 64 << 20;
constexpr std::string_view kEndings[] = {".tar.zst", ".tar.bz2", ".tar.gz", ".tar.xz",
                                         ".tar.lz4", ".tbz2",    ".tzst",   ".tar",
                                         ".tgz",     ".txz",     ".zip"};

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string_view archive_ending(std::string_view name) {
  for (const std::string_view ending : kEndings)
    if (name.size() > ending.size() && name.ends_with(ending)) return ending;
  return {};
}

std::string absolute(const std::string& path) {
  std::error_code error;
  std::string out = fs::weakly_canonical(path, error).string();
  if (error) return path;
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

struct Folder {
  std::vector<std::string> bundles, files;  // names, sorted
  std::size_t with_manifest = 0;
  bool manifest = false;
};

Result<Folder> look_into(const fs::path& path) {
  Folder out;
  std::error_code error;
  fs::directory_iterator it(path, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with('.')) continue;
    if (is_folder(it->path())) {
      out.bundles.push_back(name);
      if (is_there(it->path() / "job.json")) ++out.with_manifest;
    } else if (!archive_ending(name).empty()) {
      out.bundles.push_back(name);
    } else {
      out.files.push_back(name);
      out.manifest = out.manifest || name == "job.json";
    }
  }
  if (error) return fail("cannot read this folder: " + error.message()).at({path.string(), 0});
  sort_rows(out.bundles);
  sort_rows(out.files);
  return out;
}

Result<std::string> read_list(const std::string& path) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (file == nullptr)
    return fail(std::string("cannot read this list: ") + std::strerror(errno)).at({path, 0});
  std::string out;
  char block[1 << 16];
  std::size_t got = 0;
  while (out.size() <= kMostListBytes && (got = std::fread(block, 1, sizeof block, file)) > 0)
    out.append(block, got);
  const bool broken = std::ferror(file) != 0;
  if (file != stdin) std::fclose(file);
  if (broken) return fail("cannot read this list").at({path, 0});
  if (out.size() > kMostListBytes) return fail("this list is too long").at({path, 0});
  return out;
}

// Line number and path of each line that says something.
std::vector<std::pair<std::uint64_t, std::string>> lines_of(const std::string& text) {
  std::vector<std::pair<std::uint64_t, std::string>> out;
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t'))
      line.pop_back();
    line.erase(0, line.find_first_not_of(" \t"));
    if (!line.empty() && line[0] != '#') out.emplace_back(number, std::move(line));
  }
  return out;
}

// A text whose first line names something that is there.
bool looks_like_list(const std::string& path) {
  std::error_code error;
  if (!archive_ending(path).empty() || !fs::is_regular_file(path, error)) return false;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return false;
  std::string head(1 << 16, '\0');
  head.resize(std::fread(head.data(), 1, head.size(), file));
  std::fclose(file);
  if (contains(head, '\0')) return false;
  const auto lines = lines_of(head);
  return !lines.empty() && is_there(lines.front().second);
}

std::vector<std::string> expanded(const std::string& pattern) {
  std::vector<std::string> out;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  return out;
}

class Finder {
 public:
  explicit Finder(const std::string& out) : out_(absolute(out)) {}

  Result<> word(const std::string& path, bool alone) {
    if (is_there(path)) {
      if (is_folder(path)) return folder(path, alone);
      if (looks_like_list(path)) return list(path);
      one(path);
      return {};
    }
    if (path.find_first_of("*?[") == std::string::npos)
      return fail("there is no such file or folder").at({path, 0});
    const auto matches = expanded(path);
    if (matches.empty()) return fail("this pattern matches nothing").at({path, 0});
    for (const std::string& match : matches) one(match);
    return {};
  }

  Result<> list(const std::string& path) {
    CULPRIT_TRY(text, read_list(path));
    for (const auto& [number, line] : lines_of(text)) {
      if (!is_there(line))
        return fail("there is no such file or folder: " + line)
            .at({path, number})
            .hint("each line of a list is the path of a bundle, relative to the working directory");
      one(line);
    }
    return {};
  }

  std::vector<Bundle> bundles;
  std::vector<std::string> left_out;

 private:
  Result<> folder(const std::string& path, bool alone) {
    CULPRIT_TRY(content, look_into(path));
    const bool many =
        !content.manifest && (alone ? !content.bundles.empty() : content.with_manifest >= 2);
    if (!many) {
      one(path);
      return {};
    }
    for (const std::string& name : content.bundles) one((fs::path(path) / name).string());
    for (const std::string& name : content.files)
      left_out.push_back((fs::path(path) / name).string());
    return {};
  }

  void one(const std::string& path) {
    std::string source = absolute(path);
    if (source == out_ || !seen_.insert(source).second) return;
    bundles.push_back({path, std::move(source), ""});
  }

  std::string out_;
  std::set<std::string> seen_;
};

// The last `parts` components of a path, as a name.
std::string name_of(const std::string& source, int parts) {
  fs::path path(source);
  std::string out = plain_name(path.filename().string());
  for (int i = 1; i < parts && path.has_parent_path(); ++i) {
    path = path.parent_path();
    const std::string more = path.filename().string();
    if (more.empty()) break;
    out = plain_name(more) + "-" + out;
  }
  return out.size() > 160 ? out.substr(out.size() - 160) : out;
}

void give_names(std::vector<Bundle>& bundles,
                const std::vector<std::pair<std::string, std::string>>& taken) {
  std::map<std::string, std::string> owner, earlier;  // name -> source, source -> name
  for (const auto& [source, name] : taken) {
    owner[name] = source;
    earlier[source] = name;
  }
  constexpr int kMostParts = 4;
  for (int parts = 1; parts <= kMostParts; ++parts) {
    std::map<std::string, int> wanted;
    for (const Bundle& b : bundles)
      if (b.name.empty()) ++wanted[name_of(b.source, parts)];
    for (Bundle& b : bundles) {
      if (!b.name.empty()) continue;
      if (const auto it = earlier.find(b.source); it != earlier.end()) {
        b.name = it->second;
        continue;
      }
      const std::string name = name_of(b.source, parts);
      if (wanted[name] == 1 && owner.count(name) == 0) owner[b.name = name] = b.source;
    }
  }
  for (Bundle& b : bundles)
    if (b.name.empty()) b.name = name_of(b.source, 1) + "-" + digest(b.source).substr(0, 12);
}

}  // namespace

std::string plain_name(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  name.erase(name.size() - archive_ending(name).size());
  std::string out;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    out += plain ? c : '_';
  }
  if (out.size() > 80) out.resize(80);
  if (out.find_first_not_of('.') == std::string::npos) return "bundle";
  if (out[0] == '.' || out[0] == '-') out[0] = '_';
  return out;
}

Result<Inputs> find_bundles(std::span<const std::string> words, std::span<const std::string> lists,
                            const std::string& out,
                            const std::vector<std::pair<std::string, std::string>>& taken) {
  Finder finder(out);
  for (const std::string& word : words)
    CULPRIT_CHECK(finder.word(word, words.size() == 1 && lists.empty()));
  for (const std::string& list : lists) CULPRIT_CHECK(finder.list(list));
  if (finder.bundles.empty())
    return fail("there is no bundle here")
        .at({words.empty() ? lists.empty() ? "" : lists[0] : words[0], 0})
        .hint(
            "a bundle is a folder, an archive or a file; name a folder of bundles, the bundles "
            "themselves, or a list of them");
  const std::string results = absolute(out);
  for (const Bundle& b : finder.bundles)
    if (results.starts_with(b.source + "/"))
      return usage_error("the results lie inside this bundle and would be read as part of it")
          .at({b.path, 0})
          .hint("name a folder outside of it with -o");
  // The names do not depend on the order in which the user listed them.
  sort_by(finder.bundles, &Bundle::source);
  give_names(finder.bundles, taken);
  sort_by(finder.bundles, &Bundle::name);
  return Inputs{std::move(finder.bundles), std::move(finder.left_out)};
}

}  // namespace culprit::batch
