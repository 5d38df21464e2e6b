#include "report/trace.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "model/json.hpp"
#include "report/terminal.hpp"

namespace culprit::report {

namespace {

std::string quoted_text(const std::string& text) {
  return nlohmann::json(visible(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class TraceWriter {
 public:
  explicit TraceWriter(const Trace& trace) : trace_(trace), origin_(origin()) {}

  std::string print() {
    metadata();
    slices();
    instants();
    flows();
    counters();
    // Ends of flows behind the slices that they bind to.
    std::ranges::stable_sort(lines_, [](const Line& a, const Line& b) {
      return std::tie(a.time, a.order) < std::tie(b.time, b.order);
    });
    std::string out = "{\"displayTimeUnit\":\"ms\",\"otherData\":{";
    // What the maker says of itself comes first: bundle/own_files.cpp knows a trace by it.
    for (const auto& [name, value] : trace_.about)
      out += fmt::format("{}:{},", quoted_text(name), quoted_text(value));
    out += fmt::format("\"origin\":\"{}\"", iso_utc(origin_));
    out += "},\n\"traceEvents\":[\n" + metadata_;
    for (const Line& line : lines_) out += line.text;
    if (out.ends_with(",\n")) out.erase(out.size() - 2, 1);
    return out + "]}\n";
  }

 private:
  struct Line {
    Nanoseconds time;
    int order;  // of the same time
    std::string text;
  };

  Nanoseconds origin() const {
    Nanoseconds first = std::numeric_limits<Nanoseconds>::max();
    for (const Trace::Slice& s : trace_.slices) first = std::min(first, s.begin);
    for (const Trace::Instant& i : trace_.instants) first = std::min(first, i.time);
    for (const Trace::Counter& c : trace_.counters)
      if (!c.points.empty()) first = std::min(first, c.points.front().first);
    return first == std::numeric_limits<Nanoseconds>::max() ? 0 : first;
  }

  // Neither 0 nor each other's: a thread with the number of its process would be its main thread.
  std::size_t pid(std::size_t process) const { return process + 1; }
  std::size_t tid(std::size_t thread) const { return trace_.processes.size() + thread + 1; }
  std::string where(std::size_t thread) const {
    return fmt::format("\"pid\":{},\"tid\":{}", pid(trace_.threads[thread].process), tid(thread));
  }
  static std::string microseconds(Nanoseconds ns) {
    return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
  }
  std::string stamp(Nanoseconds time) const { return microseconds(time - origin_); }

  static std::string args_of(const Trace::Args& args) {
    std::string out;
    for (const auto& [name, value] : args)
      out += fmt::format("{}{}:{}", out.empty() ? "" : ",", quoted_text(name), quoted_text(value));
    return out.empty() ? out : ",\"args\":{" + out + "}";
  }

  void metadata() {
    for (std::size_t i = 0; i < trace_.processes.size(); ++i)
      for (const auto& [what, key, value] :
           {std::tuple("process_name", "name", quoted_text(trace_.processes[i].name)),
            std::tuple("process_sort_index", "sort_index", std::to_string(i))})
        metadata_ +=
            fmt::format("{{\"ph\":\"M\",\"pid\":{},\"name\":\"{}\",\"args\":{{\"{}\":{}}}}},\n",
                        pid(i), what, key, value);
    for (std::size_t i = 0; i < trace_.threads.size(); ++i)
      for (const auto& [what, key, value] :
           {std::tuple("thread_name", "name", quoted_text(trace_.threads[i].name)),
            std::tuple("thread_sort_index", "sort_index", std::to_string(i))})
        metadata_ += fmt::format("{{\"ph\":\"M\",{},\"name\":\"{}\",\"args\":{{\"{}\":{}}}}},\n",
                                 where(i), what, key, value);
  }

  void slices() {
    for (const Trace::Slice& s : trace_.slices)
      lines_.push_back(
          {s.begin, 0,
           fmt::format("{{\"ph\":\"X\",{},\"ts\":{},\"dur\":{},\"name\":{},\"cat\":\"{}\"{}}},\n",
                       where(s.thread), stamp(s.begin), microseconds(s.end - s.begin),
                       quoted_text(s.name), s.category, args_of(s.args))});
  }

  void instants() {
    for (const Trace::Instant& i : trace_.instants)
      lines_.push_back(
          {i.time, 1,
           fmt::format("{{\"ph\":\"i\",\"s\":\"t\",{},\"ts\":{},\"name\":{},\"cat\":\"{}\"{}}},\n",
                       where(i.thread), stamp(i.time), quoted_text(i.name), i.category,
                       args_of(i.args))});
  }

  // Both ends within their slices, the consequence not before its cause.
  void flows() {
    std::size_t id = 0;
    for (const Trace::Flow& f : trace_.flows) {
      const Trace::Slice& from = trace_.slices[f.from];
      const Trace::Slice& to = trace_.slices[f.to];
      const Nanoseconds arrival = std::max(from.begin, to.begin);
      if (arrival > to.end) continue;  // over before the cause: clocks that do not agree
      ++id;
      lines_.push_back(
          {from.begin, 2,
           fmt::format(
               "{{\"ph\":\"s\",\"id\":{},{},\"ts\":{},\"name\":\"leads to\",\"cat\":\"flow\"}},"
               "\n",
               id, where(from.thread), stamp(from.begin))});
      lines_.push_back(
          {arrival, 3,
           fmt::format("{{\"ph\":\"f\",\"bp\":\"e\",\"id\":{},{},\"ts\":{},\"name\":\"leads to\","
                       "\"cat\":\"flow\"}},\n",
                       id, where(to.thread), stamp(arrival))});
    }
  }

  void counters() {
    for (const Trace::Counter& c : trace_.counters) {
      const std::string name = quoted_text(c.name);
      const std::string unit = quoted_text(c.unit.empty() ? "value" : c.unit);
      for (const auto& [time, value] : c.points)
        lines_.push_back(
            {time, 4,
             fmt::format("{{\"ph\":\"C\",\"pid\":{},\"ts\":{},\"name\":{},\"args\":{{{}:{}}}}},\n",
                         pid(c.process), stamp(time), name, unit, value)});
    }
  }

  const Trace& trace_;
  Nanoseconds origin_;
  std::string metadata_;
  std::vector<Line> lines_;
};

}  // namespace

std::string to_trace_json(const Trace& trace) { return TraceWriter(trace).print(); }

}  // namespace culprit::report
