// Any bytes, as a bundle of one file: archives, compressed files, sections. Nothing may crash;
// every member begins and ends, its bytes are as many as are told, its path stays inside of the
// bundle; and a second walk tells the same.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bundle/bundle.hpp"

namespace {

using namespace culprit;

void hold(bool promise, const char* what) {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

class Judge final : public bundle::Visitor {
 public:
  explicit Judge(const bundle::Limits& limits) : limits_(limits) {}

  bool begin(const bundle::MemberHead& head) override {
    hold(!open_, "a member begins in another");
    path(head.path);
    hold(head.kind == bundle::MemberKind::file, "only files have bytes");
    open_ = true;
    size_ = 0;
    hold(++entries_ <= limits_.members, "the limit of members");
    log += "begin " + head.path + '\n';
    return true;
  }
  void data(std::string_view bytes) override {
    hold(open_ && !bytes.empty(), "bytes of a member");
    size_ += bytes.size();
    total_ += bytes.size();
    hold(size_ <= limits_.member_bytes && total_ <= limits_.total_bytes, "a limit of bytes");
    log += bytes;
  }
  void end(const bundle::MemberEnd& end) override {
    hold(open_ && end.size == size_, "the size that is told");
    hold(end.complete || problems_ > 0, "no loss without a problem");
    open_ = false;
    log += "\nend\n";
  }
  void note(const bundle::MemberHead& head) override {
    hold(!open_, "a note within a member");
    path(head.path);
    log += "note " + head.path + '\n';
  }
  void problem(const bundle::Problem& problem) override {
    hold(problem.code.starts_with("bundle.") && !problem.reason.empty(), "a code and a reason");
    ++problems_;
    log += problem.code + ' ' + problem.path + ' ' + problem.reason + '\n';
  }
  bool closed() const { return !open_; }
  std::string log;

 private:
  void path(const std::string& path) const {
    hold(!path.empty() && path.front() != '/' && path.size() <= limits_.path_bytes + 64,
         "a relative path");
    for (std::size_t at = 0; at <= path.size();) {
      const std::size_t slash = std::min(path.find('/', at), path.size());
      hold(path.substr(at, slash - at) != "..", "a path within the bundle");
      at = slash + 1;
    }
  }

  const bundle::Limits& limits_;
  bool open_ = false;
  int problems_ = 0;
  std::uint64_t size_ = 0, total_ = 0, entries_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int fd = memfd_create("bundle", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != static_cast<ssize_t>(size))
    std::exit(70);
  bundle::Limits limits;
  limits.members = 500;
  limits.member_bytes = 1 << 20;
  limits.total_bytes = 4 << 20;
  limits.depth = 4;
  std::string first;
  for (int round = 0; round < 2; ++round) {
    Judge judge(limits);
    if (!bundle::walk(path, limits, judge)) return 0;
    hold(judge.closed(), "every member ends");
    if (round == 0)
      first = std::move(judge.log);
    else
      hold(judge.log == first, "the same bytes of the same bundle");
  }
  return 0;
}
