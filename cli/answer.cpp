#include "answer.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

#include "command.hpp"
#include "store/database.hpp"

namespace culprit::cli {

namespace {

int output_error = 0;  // errno of the first write that failed
// An answer that was not printed, because rows of the database could not be read.
std::optional<Error> unread_rows;
std::FILE* answer_stream = nullptr;  // nullptr: not opened yet
std::string answer_path,
    answer_part;  // of --output; answer_part is "" when it is written in place: a device, a pipe
std::atomic<const char*> unfinished_answer{nullptr};

std::FILE* open_answer() {
  if (answer_stream != nullptr) return answer_stream;
  if (answer_path.empty()) return answer_stream = stdout;
  const std::string& path = answer_part.empty() ? answer_path : answer_part;
  if (!answer_part.empty()) unfinished_answer = answer_part.c_str();
  answer_stream = std::fopen(path.c_str(), "wbe");
  if (answer_stream == nullptr) output_error = errno;
  return answer_stream;
}

}  // namespace

Result<> answer_into(const std::string& path) {
  if (path == "-") return {};
  struct stat info {};
  const bool there = stat(path.c_str(), &info) == 0;
  if (there && S_ISDIR(info.st_mode))
    return usage_error("--output takes a file, and this is a folder").at({path, 0});
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  const bool in_place = there && !S_ISREG(info.st_mode);
  if (access(in_place ? path.c_str() : folder.c_str(), W_OK) != 0)
    return fail("cannot write this file: " + std::generic_category().message(errno))
        .at({path, 0})
        .hint("name a file in a folder that exists and that you may write to with --output");
  answer_path = path;
  if (!in_place) answer_part = path + ".part";
  return {};
}

bool answers_on_terminal() { return answer_path.empty() && isatty(STDOUT_FILENO) == 1; }

void print(std::string_view text) {
  if (output_error != 0 || unread_rows || (unread_rows = store::unread())) return;
  std::FILE* file = open_answer();
  if (file == nullptr) return;
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0)
    output_error = errno != 0 ? errno : EIO;
}

void drop_answer() noexcept {
  if (const char* path = unfinished_answer.exchange(nullptr); path != nullptr) unlink(path);
}

Result<> finish_answer(bool keep) {
  if (!answer_path.empty() && keep && !unread_rows) open_answer();  // an empty answer is one, too
  std::FILE* file = answer_stream != nullptr ? answer_stream
                    : answer_path.empty()    ? stdout
                                             : nullptr;
  if (file != nullptr && std::fclose(file) != 0 && output_error == 0) output_error = errno;
  if (!answer_part.empty() && keep && !unread_rows && output_error == 0) {
    if (std::rename(answer_part.c_str(), answer_path.c_str()) != 0)
      output_error = errno;
    else
      unfinished_answer = nullptr;
  }
  drop_answer();
  if (unread_rows) return std::move(*unread_rows);
  if (output_error == 0 || output_error == EPIPE) return {};
  Error error = fail("cannot write the answer: " + std::generic_category().message(output_error));
  if (answer_path.empty()) return std::move(error).hint("standard output is not complete");
  return std::move(error).at({answer_path, 0}).hint("is the disk full, the folder writable?");
}

}  // namespace culprit::cli
