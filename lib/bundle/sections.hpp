// Files that hold many files. An nvidia-bug-report.log is
//     ____________________________________________          (44 underscores)
//     <empty line>
//     *** /proc/cpuinfo            or   /usr/bin/nvidia-smi --query   or   a title
//     content ...
// and `kubectl logs` of a dump is, for each container,
//     ==== START logs for container c of pod ns/p ====
//     content ...==== END logs for container c of pod ns/p ====        (glued when the log has no
//     last newline)
// Every byte of the file goes to exactly one section; lines that separate belong to the section
// they begin, END lines to the one they end. What stands before the first section is "preamble",
// what stands between two containers is "rest". Lines may be of any length; what is held back is
// bounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace culprit::bundle {

bool looks_like_bug_report(std::string_view head);
bool looks_like_kubectl_dump(std::string_view head);

class SectionSink {
 public:
  virtual ~SectionSink() = default;
  // Ends the section before. name is unique in this file.
  virtual void section(const std::string& name, std::uint64_t offset, std::uint64_t line) = 0;
  virtual void bytes(std::string_view bytes) = 0;
};

// Cuts a stream of blocks into lines, offers each to the format, and gives the bytes to the sink.
class Splitter {
 public:
  explicit Splitter(SectionSink& sink) : sink_(sink) {}
  virtual ~Splitter() = default;
  void feed(std::string_view block);
  void finish();

 protected:
  enum class Verdict { content, hold };
  // A whole line without its end, or the first kLineBytes of a longer one.
  virtual Verdict line(std::string_view text) = 0;
  // The last bytes of a line that was content, whether it was longer or not.
  virtual void line_end(std::string_view) {}
  virtual bool wants_line(char first) const = 0;  // false: a line that begins so is content, unseen
  virtual bool wants_ends() const { return false; }

  void open(const std::string&
                name);  // a section that begins with what is held, or with the line at hand
  void release();       // what is held is content after all

  static constexpr std::size_t kLineBytes = 2048;

 private:
  void content(std::string_view bytes);
  void judge(std::string_view text, std::string_view raw);

  SectionSink& sink_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::string carry_;         // beginning of a line whose end has not come
  std::string tail_;          // last bytes of a long line
  std::string held_;          // lines that may begin a section
  std::uint64_t offset_ = 0;  // of the first byte that is not given to the sink yet
  std::uint64_t line_ = 0;    // lines before it
  bool long_line_ = false;    // the beginning of the line was judged, the rest is content
  bool any_ = false;          // a section is open
};

class BugReportSplitter : public Splitter {
 public:
  using Splitter::Splitter;

 private:
  Verdict line(std::string_view text) override;
  bool wants_line(char first) const override { return first == '_' || state_ != State::outside; }

  enum class State { outside, after_bar, after_blank };
  State state_ = State::outside;
  bool exact_bar_ = false;  // 44 underscores: what the script prints
  int blanks_ = 0;
};

class KubectlSplitter : public Splitter {
 public:
  using Splitter::Splitter;

 private:
  Verdict line(std::string_view text) override;
  void line_end(std::string_view tail) override;
  bool wants_line(char first) const override { return first == '=' || state_ == State::after; }
  bool wants_ends() const override { return state_ == State::inside; }

  enum class State { before, inside, after, rest };
  State state_ = State::before;
  std::string end_mark_;
};

}  // namespace culprit::bundle
