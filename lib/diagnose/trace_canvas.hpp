// What a trace is drawn on: its tracks, and what has been put on them.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/facts/facts.hpp"
#include "diagnose/trace.hpp"
#include "diagnose/trace_tracks.hpp"
#include "model/json.hpp"
#include "model/trace.hpp"
#include "report/fields.hpp"
#include "report/terminal.hpp"
#include "store/database.hpp"

namespace culprit::diagnose {

inline constexpr double kMostMs = 1e9;  // of a step or a call: eleven days

// A text of the bundle, as long as a viewer shows it: escapes of what is unseen count.
inline std::string shown_text(const std::string& text) {
  return report::shortened(report::visible(text), kMostWords);
}

struct TraceCanvas {
  const analyze::Facts& facts;
  const TraceLimits& limits;
  TraceTracks tracks;
  Trace trace = {};
  std::vector<std::size_t> waiting = {};             // slices of which nobody saw the end
  std::map<std::string, std::size_t> left_out = {};  // what, how many
  std::map<Rank, std::size_t> waiting_of = {};       // the slice of a rank's own unfinished call
  std::optional<Nanoseconds> last_step = {};         // when the job finished one
  Nanoseconds last = std::numeric_limits<Nanoseconds>::min();  // that is known

  void see(Nanoseconds time) { last = std::max(last, time); }
  void add(std::size_t track, Nanoseconds begin, Nanoseconds end, std::string name,
           const char* category, Trace::Args args) {
    end = std::max(begin, end);
    see(end);
    trace.slices.push_back({track, begin, end, std::move(name), category, std::move(args)});
  }
};

// Of the job, and of each rank whose own log reports them; of too many, some in a row are one.
void draw_steps(const store::Database& db, TraceCanvas& canvas);
// What ranks were in when they were looked at; of too many, those of a kind on a track are one.
void draw_calls(TraceCanvas& canvas);
// The wait-for graph of the document (schemas/diagnosis-v1.json): from the last step, which the
// ranks had finished, to the end. After steps and calls.
void draw_waits(const nlohmann::json& document, TraceCanvas& canvas);

}  // namespace culprit::diagnose
