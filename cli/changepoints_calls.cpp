// changepoints of a call log: iterations are told from the calls first (GREYHOUND §4.2), then
// judged like any others.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "analyze/pace/call_period.hpp"
#include "changepoints.hpp"
#include "ingest/table/call_table.hpp"
#include "model/contains.hpp"
#include "model/sort.hpp"
#include "schema/schema.hpp"
#include "report/phrases.hpp"

namespace culprit::cli {

namespace {

std::string symbol_words(const ingest::CallTable& table, const analyze::CallSymbol& symbol) {
  const std::string& communicator =
      table.communicators[static_cast<std::size_t>(symbol.communicator)];
  return fmt::format(
      "{}{}{}", table.operations[symbol.operation],
      symbol.elements && *symbol.elements > 0 ? fmt::format(" of {}", *symbol.elements) : "",
      communicator.empty() ? "" : " on " + communicator);
}

// "all_reduce", or "all_reduce@dp" where several communicators have it.
Result<analyze::CallSymbol> anchor_of(const ingest::CallTable& table, const std::string& text,
                                      const std::string& path) {
  const std::size_t at = text.find('@');
  const std::string operation = text.substr(0, at);
  const auto op = std::ranges::find(table.operations, operation);
  if (op == table.operations.end()) {
    const std::string near = schema::nearest(operation, table.operations);
    return usage_error(fmt::format("no call is '{}'", operation))
        .at({path, 0})
        .hint(near.empty()
                  ? fmt::format("calls: {}",
                                fmt::join(table.operations.begin(),
                                          table.operations.begin() +
                                              static_cast<std::ptrdiff_t>(std::min<std::size_t>(
                                                  12, table.operations.size())),
                                          ", "))
                  : fmt::format("did you mean '{}'?", near));
  }
  const auto number = static_cast<std::uint32_t>(op - table.operations.begin());
  std::vector<std::string> on;
  std::optional<std::uint32_t> chosen;
  for (const auto& caller : table.callers)
    for (const auto& call : caller.calls) {
      const std::string& name = table.communicators[call.communicator];
      if (call.operation != number || (at != std::string::npos && name != text.substr(at + 1)) ||
          contains(on, name))
        continue;
      on.push_back(name);
      chosen = call.communicator;
      if (on.size() > 12) break;
    }
  if (on.size() == 1) return analyze::CallSymbol{number, *chosen, {}};
  if (on.empty())
    return usage_error(fmt::format("no call is '{}'", text))
        .at({path, 0})
        .hint(fmt::format("communicators: {}",
                          fmt::join(table.communicators.begin(),
                                    table.communicators.begin() +
                                        static_cast<std::ptrdiff_t>(
                                            std::min<std::size_t>(12, table.communicators.size())),
                                    ", ")));
  return usage_error(fmt::format("'{}' is called on several communicators", operation))
      .at({path, 0})
      .hint(fmt::format("say which: --anchor {}@{}", operation, on.front()));
}

// --method: by the names that people say, too.
Result<analyze::PeriodMethod> method_of(const Arguments& arguments) {
  const std::string name = arguments.get("method", "anchor");
  if (name == "anchor") return analyze::PeriodMethod::anchor;
  if (arguments.has("anchor"))
    return usage_error("--anchor goes with --method anchor").hint("leave one of the two out");
  if (name == "match" || name == "match-rate") return analyze::PeriodMethod::match_rate;
  if (name == "acf") return analyze::PeriodMethod::acf;
  return usage_error(fmt::format("--method takes acf, match or anchor, not '{}'", name))
      .hint("acf is GREYHOUND's as published; anchor, the default, finds more");
}

}  // namespace

Result<std::vector<NamedSeries>> series_of_calls(const Arguments& arguments,
                                                 const ingest::BareTable& table,
                                                 const std::string& path) {
  CULPRIT_TRY(unit, series_unit(arguments));
  CULPRIT_TRY(log, ingest::read_call_table(table, path, unit.ns));
  analyze::CallPeriodParams params;
  CULPRIT_TRY(method, method_of(arguments));
  params.method = method;
  if (arguments.has("anchor")) {
    CULPRIT_TRY(anchor, anchor_of(log, arguments.get("anchor"), path));
    params.anchor = anchor;
  }
  std::vector<NamedSeries> out;
  for (const auto& caller : log.callers) {
    std::vector<analyze::Call> calls;
    for (const auto& row : caller.calls)
      calls.push_back({row.time, row.operation, row.communicator, row.size});
    // A table may be written newest first, or a communicator after the other.
    sort_by(calls, &analyze::Call::time);
    const analyze::CallPeriod period = analyze::call_period(calls, params);
    NamedSeries series;
    series.name = caller.name.empty() ? "iteration time (ms)"
                                      : fmt::format("iteration time (ms) of {}", caller.name);
    CallReading reading{.calls = calls.size(),
                        .period = period.period,
                        .method = analyze::name(period.method),
                        .median_ms = static_cast<double>(period.median) / 1e6,
                        .confidence = period.confidence,
                        .ambiguous = period.ambiguous};
    if (period.anchor) reading.anchor = symbol_words(log, *period.anchor);
    std::size_t odd = 0;
    for (std::size_t i = 0; i < period.times.size(); ++i) {
      const bool ordinary = period.ordinary[i] != 0 && period.times[i] > 0;
      odd += !ordinary;
      series.values.push_back(ordinary ? static_cast<double>(period.times[i]) / 1e6
                                       : std::numeric_limits<double>::quiet_NaN());
      series.number.push_back(static_cast<double>(i));
      if (!log.since_start)
        series.clock.push_back(static_cast<double>(calls[period.starts[i + 1]].time) / 1e6);
    }
    if (period.method == analyze::PeriodMethod::none) {
      series.notes.push_back(
          fmt::format("{} calls show no iterations: {}", calls.size(), report::words(period.why)));
    } else {
      series.notes.push_back(fmt::format(
          "iterations are derived from {} calls: {} calls each, {} ms{}; counted from 0, "
          "the first that is whole in the log",
          calls.size(), period.period, fmt::format("{:.4g}", reading.median_ms),
          reading.anchor.empty()
              ? fmt::format(", by their {}",
                            reading.method == "acf" ? "autocorrelation" : "repetition")
              : fmt::format(", each from {}{} to the next", period.burst ? "a burst of " : "one ",
                            reading.anchor)));
      if (period.ambiguous)
        series.notes.push_back(
            "they may be micro-batches: the calls alone cannot tell. --anchor OPERATION names the "
            "call that ends an iteration");
      if (odd > 0)
        series.notes.push_back(
            fmt::format("{} of {} iterations have more or fewer calls than the others (evaluation, "
                        "checkpoint, lost records): their times are not used",
                        odd, period.times.size()));
    }
    series.from_calls = std::move(reading);
    out.push_back(std::move(series));
  }
  if (log.left_out > 0)
    out.front().notes.push_back(fmt::format(
        "{} rows without a time, a caller or an operation were left out", log.left_out));
  return out;
}

}  // namespace culprit::cli
