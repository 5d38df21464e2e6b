// A limit of processors that holds its processes back: cpu.stat of a cgroup, whose periods are
// counted, and those in which the limit was reached.
//
//   nr_periods 184011
//   nr_throttled 181618
#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/events.hpp"
#include "model/number.hpp"

namespace culprit::ingest {

namespace {

constexpr double kOften = 0.5;                 // of the periods
constexpr std::int64_t kFewestPeriods = 1000;  // a hundred seconds

class CpuPeriods final : public Kept {
 public:
  void periods(std::int64_t count) { periods_ = count; }
  void throttled(std::int64_t count, const TextLine& line, Reading& reading) {
    if (periods_ >= kFewestPeriods && count <= periods_ &&
        static_cast<double>(count) >= kOften * static_cast<double>(periods_))
      put_said(line.place, reading.host_of(line.line.prefix),
               fmt::format("cpu limit: reached in {} of {} periods", count, periods_), reading);
    periods_ = 0;
  }

 private:
  std::int64_t periods_ = 0;
};

Outcome read_cgroup_cpu(const TextLine& line, Reading& reading) {
  static const re2::RE2 kCount(R"(\bnr_(periods|throttled)[ :=]+(\d+)\s*$)");
  std::string what, digits;
  std::int64_t count = 0;
  if (!re2::RE2::PartialMatch({line.raw.data(), line.raw.size()}, kCount, &what, &digits) ||
      !parse_whole(digits, count))
    return {};
  CpuPeriods& kept = reading.keep<CpuPeriods>();
  if (what == "periods")
    kept.periods(count);
  else
    kept.throttled(count, line, reading);
  return {true};
}

constexpr std::string_view kCgroupWords[] = {"nr_periods", "nr_throttled"};

}  // namespace

extern constinit const Recogniser kCgroupCpu{
    "cgroup-cpu", "cpu.stat: limits of processors that are reached", kCgroupWords, read_cgroup_cpu};

}  // namespace culprit::ingest
