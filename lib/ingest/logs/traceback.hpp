// Python tracebacks, however they reached us: a log, the text inside an error.json, a torchrun
// report.
#pragma once

#include <string>
#include <string_view>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

// Lines in, exception out. Chained exceptions ("During handling of ...", "The above exception was
// the direct cause of ...") are one traceback; what is kept is the first of the chain, which the
// others follow from.
class TracebackParser {
 public:
  // line without its prefixes. False: the line does not belong to the traceback (which is then
  // complete or torn).
  bool feed(std::string_view line);
  bool complete() const { return have_exception_; }
  // The line that was fed last names the exception that is kept.
  bool names_it() const { return names_it_; }

  // What follows is no part of a message that ends with a colon.
  void announced_nothing() { told_ = true; }

  // type, message, file, file_line, function are set.
  void fill(TracebackRow& row) const;
  // "file, function" of the innermost frame, be it a library's; "" when there is none.
  std::string raised_in() const {
    return innermost_.file.empty() ? std::string{} : innermost_.file + ", " + innermost_.function;
  }

 private:
  struct Frame {
    std::string file, function;
    std::int64_t line = 0;
  };
  bool announces() const;
  bool take_announced(std::string_view body, std::size_t indent);

  std::string type_, message_;
  Frame innermost_, own_;  // of the first exception of the chain
  Frame current_innermost_, current_own_;
  bool have_exception_ = false;
  bool chained_ = false;  // a connector was seen: the next exception is a consequence
  bool in_frames_ = true;
  bool names_it_ = false;
  std::size_t margin_ =
      0;  // by which the whole traceback is indented, as a parent prints a child's
  int blank_ = 0;
  int announced_ = 0;  // lines below a message that ends with a colon
  bool told_ = false;  // such a message has the exception that it announces
};

// "TypeError: unsupported operand" -> {"TypeError", "unsupported operand"}; false when it is no
// exception line.
bool split_exception(std::string_view line, std::string& type, std::string& message);

// What the rules say of "type: message", for the row; rules may also ask for the place where it was
// raised.
void classify_traceback(TracebackRow& row, const rules::RulePack& pack,
                        const std::string& raised_in = {});

}  // namespace culprit::ingest
