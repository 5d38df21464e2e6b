// Writes bundles from text: unpack_incidents CASES FOLDER [PREFIX] <REST >TRUTH.
//
// CASES/NAME.txt becomes the folder FOLDER/NAME, for names that begin with PREFIX; its truth is
// printed as a row for judge.awk. The format is described in tests/golden/incidents/README.md.
// REST has the lines that are folded there: "-- NAME/PATH BYTES --", these bytes, a line end.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fs = std::filesystem;

namespace {

std::string read_all(std::istream& stream) { return {std::istreambuf_iterator<char>(stream), {}}; }

// Takes a line, without its end, off the front of `text`.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

// What stands between `open` and `close`; empty if `line` is something else.
std::string_view between(std::string_view line, std::string_view open, std::string_view close) {
  if (line.size() < open.size() + close.size()) return {};
  if (!line.starts_with(open) || !line.ends_with(close)) return {};
  return line.substr(open.size(), line.size() - open.size() - close.size());
}

// The folded bytes of a member; each fold takes some off the front.
class Folded {
 public:
  explicit Folded(std::string_view bytes) : bytes_(bytes) {}

  std::string_view take(std::size_t count) {
    if (count > bytes_.size()) throw std::runtime_error("more is folded than there is");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  // The last line may have no end.
  std::string_view take_lines(std::size_t count) {
    std::size_t end = 0;
    for (; count > 0; --count) {
      if (end >= bytes_.size()) throw std::runtime_error("more is folded than there is");
      end = std::min(bytes_.find('\n', end), bytes_.size() - 1) + 1;
    }
    return take(end);
  }

  bool empty() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

std::string unescape(std::string_view line, Folded& folded) {
  std::string bytes;
  while (!line.empty()) {
    const std::size_t plain = std::min(line.find('\\'), line.size());
    bytes += line.substr(0, plain);
    line.remove_prefix(plain);
    if (line.empty()) break;
    std::size_t used = 2;
    if (line.starts_with("\\\\")) {
      bytes += '\\';
    } else if (line.starts_with("\\r")) {
      bytes += '\r';
    } else if (line.starts_with("\\x")) {
      bytes += static_cast<char>(std::stoi(std::string(line.substr(2, 2)), nullptr, 16));
      used = 4;
    } else if (line.starts_with("\\{") && line.find('}') != line.npos) {
      used = line.find('}') + 1;
      bytes += folded.take(std::stoul(std::string(line.substr(2))));
    } else {
      throw std::runtime_error("bad escape: " + std::string(line.substr(0, 8)));
    }
    line.remove_prefix(used);
  }
  return bytes;
}

void set_time(const fs::path& file, const std::string& text) {
  std::tm when{};
  if (strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &when) == nullptr)
    throw std::runtime_error("not a time: " + text);
  const timespec changed{timegm(&when), 0};
  const timespec times[] = {changed, changed};
  if (utimensat(AT_FDCWD, file.c_str(), times, 0) != 0)
    throw std::runtime_error("cannot write " + file.string());
}

struct Options {
  bool escaped = false, no_newline = false;
};

// Takes "(OPTION, OPTION)" off the end of `header`.
Options take_options(std::string_view& header) {
  Options options;
  const std::size_t open = header.rfind(" (");
  if (open == header.npos || !header.ends_with(')')) return options;
  std::string_view rest = header.substr(open + 2, header.size() - open - 3);
  while (!rest.empty()) {
    const std::string_view option = rest.substr(0, rest.find(", "));
    rest.remove_prefix(std::min(option.size() + 2, rest.size()));
    if (option == "escaped") {
      options.escaped = true;
    } else if (option == "no newline") {
      options.no_newline = true;
    } else {
      return {};  // as of "notes (draft)"
    }
  }
  header = header.substr(0, open);
  return options;
}

std::string expand(std::string_view body, const Options& options, Folded& folded) {
  std::string bytes;
  while (!body.empty()) {
    const std::string_view line = take_line(body);
    if (const std::string_view fold = between(line, "@@ ", " @@"); !fold.empty()) {
      const std::size_t count = std::stoul(std::string(fold));
      bytes += fold.find("line") != fold.npos ? folded.take_lines(count) : folded.take(count);
      continue;
    }
    bytes += options.escaped ? unescape(line, folded) : line;
    if (!body.empty() || !options.no_newline) bytes += '\n';
  }
  return bytes;
}

class Unpacker {
 public:
  Unpacker(fs::path folder, std::string_view rest) : folder_(std::move(folder)) {
    while (!rest.empty()) {
      const std::string header(between(take_line(rest), "-- ", " --"));
      const std::size_t space = header.rfind(' ');
      if (space == header.npos) throw std::runtime_error("malformed rest");
      const std::size_t size = std::stoul(header.substr(space + 1));
      rest_.emplace(header.substr(0, space), rest.substr(0, size));
      rest.remove_prefix(std::min(size + 1, rest.size()));
    }
  }

  void unpack(const std::string& name, std::string_view text) {
    std::map<std::string, std::string, std::less<>> head;
    for (std::string_view line = take_line(text); !line.empty(); line = take_line(text)) {
      const std::size_t colon = line.find(": ");
      if (colon != line.npos) head.emplace(line.substr(0, colon), line.substr(colon + 2));
    }
    std::printf("%s", name.c_str());
    for (const char* key : {"truth", "right", "blame", "innocent"}) {
      std::string& value = head[key];
      std::erase(value, ' ');
      std::printf("\t%s", value.empty() ? "-" : value.c_str());
    }
    std::printf("\n");
    while (!text.empty()) {
      const std::string_view header = between(take_line(text), "-- ", " --");
      if (header.empty()) throw std::runtime_error("a line stands before the first member");
      const char* begin = text.data();
      const auto is_header = [](std::string_view line) {
        return !between(line, "-- ", " --").empty();
      };
      while (!text.empty() && !is_header(text.substr(0, text.find('\n')))) take_line(text);
      write(name, header, {begin, text.data()}, head["changed"]);
    }
  }

  // What no case has used.
  std::string unused(std::string_view prefix) const {
    for (const auto& [path, bytes] : rest_)
      if (path.starts_with(prefix) && !used_.contains(path)) return path;
    return {};
  }

 private:
  void write(const std::string& name, std::string_view header, std::string_view body,
             const std::string& changed) {
    const Options options = take_options(header);
    const fs::path file = folder_ / name / header;
    fs::create_directories(file.parent_path());
    if (header.ends_with('/')) return;
    const std::string path = name + "/" + std::string(header);
    const auto rest = rest_.find(path);
    Folded folded(rest == rest_.end() ? std::string_view() : rest->second);
    used_.insert(path);
    try {
      std::ofstream(file, std::ios::binary) << expand(body, options, folded);
      if (!folded.empty()) throw std::runtime_error("less is folded than there is");
    } catch (const std::exception& error) { throw std::runtime_error(path + ": " + error.what()); }
    if (!changed.empty()) set_time(file, changed);
  }

  fs::path folder_;
  std::map<std::string, std::string_view, std::less<>> rest_;
  std::set<std::string> used_;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3 && argc != 4) throw std::runtime_error("CASES FOLDER [PREFIX]");
  const std::string prefix = argc == 4 ? argv[3] : "";
  std::cin.sync_with_stdio(false);
  const std::string rest = read_all(std::cin);
  Unpacker unpacker(argv[2], rest);
  std::set<fs::path> cases;
  for (const fs::directory_entry& entry : fs::directory_iterator(argv[1]))
    if (entry.path().filename().string().starts_with(prefix)) cases.insert(entry.path());
  if (cases.empty()) throw std::runtime_error("no case begins with " + prefix);
  for (const fs::path& file : cases) {
    std::ifstream stream(file, std::ios::binary);
    unpacker.unpack(file.stem().string(), read_all(stream));
  }
  if (const std::string path = unpacker.unused(prefix); !path.empty())
    throw std::runtime_error("folded, but no member of a case: " + path);
} catch (const std::exception& error) {
  std::fprintf(stderr, "unpack_incidents: %s\n", error.what());
  return EXIT_FAILURE;
}
