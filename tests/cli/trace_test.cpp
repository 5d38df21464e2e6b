// `culprit export trace` of the samples against the rules of the Trace Event Format, and of what
// Perfetto's importer refuses: slices of a thread that overlap without nesting, flows with one end.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "support/printed.hpp"

namespace {

using namespace culprit;
using nlohmann::json;

using Track = std::pair<int, int>;
struct Span {
  double begin, end;
};

struct Checked {
  std::map<Track, std::string> threads;
  std::map<int, std::string> processes;
  std::map<Track, std::vector<Span>> slices;
  std::map<int, std::vector<json>> flows;
  std::map<std::string, std::size_t> phases;
};

void metadata(const json& e, Checked& out) {
  const std::string name = e.at("name");
  const int pid = e.at("pid");
  if (name == "process_name") {
    EXPECT_TRUE(out.processes.emplace(pid, e.at("args").at("name")).second) << "named twice";
  } else if (name == "thread_name") {
    EXPECT_TRUE(out.threads.emplace(Track(pid, e.at("tid")), e.at("args").at("name")).second);
  } else {
    EXPECT_TRUE(name == "process_sort_index" || name == "thread_sort_index") << name;
    EXPECT_TRUE(e.at("args").at("sort_index").is_number_integer());
  }
}

void event(const json& e, Checked& out) {
  const std::string phase = e.at("ph");
  ++out.phases[phase];
  ASSERT_TRUE(e.at("pid").is_number_integer());
  EXPECT_FALSE(e.at("name").get<std::string>().empty());
  if (phase == "M") return metadata(e, out);
  ASSERT_TRUE(e.at("ts").is_number());
  const double ts = e["ts"];
  EXPECT_GE(ts, 0);
  EXPECT_TRUE(out.processes.count(e["pid"]));
  if (phase == "C") {
    ASSERT_EQ(e.at("args").size(), 1u);
    EXPECT_TRUE(e["args"].begin()->is_number());
    return;
  }
  const Track track(e["pid"], e.at("tid"));
  EXPECT_TRUE(out.threads.count(track)) << "a thread without a name";
  if (phase == "X") {
    EXPECT_GE(e.at("dur").get<double>(), 0);
    out.slices[track].push_back({ts, ts + e["dur"].get<double>()});
  } else if (phase == "i") {
    EXPECT_EQ(e.at("s"), "t");
  } else {
    EXPECT_TRUE(phase == "s" || phase == "f") << phase;
    out.flows[e.at("id")].push_back(e);
  }
}

// Nanoseconds as they are printed: three decimals of a microsecond.
constexpr double kRounding = 0.0006;

void check_nesting(const std::vector<Span>& given) {
  std::vector<Span> all = given, open;
  std::sort(all.begin(), all.end(), [](const Span& a, const Span& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  for (const Span& s : all) {
    while (!open.empty() && open.back().end <= s.begin + kRounding) open.pop_back();
    if (!open.empty()) { EXPECT_LE(s.end, open.back().end + kRounding) << "half over another"; }
    open.push_back(s);
  }
}

void check_flow(const std::vector<json>& ends, const Checked& trace) {
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0]["ph"], "s");
  EXPECT_EQ(ends[1]["ph"], "f");
  EXPECT_EQ(ends[1]["bp"], "e");
  EXPECT_LE(ends[0]["ts"], ends[1]["ts"]);
  EXPECT_EQ(ends[0]["name"], ends[1]["name"]);
  EXPECT_EQ(ends[0]["cat"], ends[1]["cat"]);
  for (const json& end : ends) {
    const double ts = end["ts"];
    const auto& slices = trace.slices.at({end["pid"], end["tid"]});
    EXPECT_TRUE(std::any_of(slices.begin(), slices.end(), [&](const Span& s) {
      return s.begin <= ts + kRounding && ts <= s.end + kRounding;
    })) << "an arrow that begins or ends nowhere";
  }
}

Checked checked(const std::string& text) {
  Checked out;
  const json d = json::parse(text, nullptr, false);
  EXPECT_TRUE(d.is_object()) << text.substr(0, 200);
  if (!d.is_object()) return out;
  EXPECT_EQ(d.at("displayTimeUnit"), "ms");
  double last = 0;
  for (const json& e : d.at("traceEvents")) {
    event(e, out);
    if (e["ph"] == "M") continue;
    EXPECT_LE(last, e["ts"].get<double>()) << "out of order";
    last = e["ts"];
  }
  for (const auto& [track, slices] : out.slices) check_nesting(slices);
  for (const auto& [id, ends] : out.flows) check_flow(ends, out);
  return out;
}

std::string trace_of(const std::string& sample, const std::string& options = "") {
  return test::printed(std::string(CULPRIT_BINARY) + " export trace -q " + options + " " +
                       CULPRIT_SAMPLES_DIR + "/" + sample)
      .text;
}

TEST(Trace, OfAllSamplesKeepsTheRules) {
  std::size_t flows = 0, counters = 0;
  for (const auto& sample : std::filesystem::directory_iterator(CULPRIT_SAMPLES_DIR)) {
    SCOPED_TRACE(sample.path().filename().string());
    Checked trace = checked(trace_of(sample.path().filename().string()));
    EXPECT_FALSE(trace.slices.empty());
    flows += trace.flows.size();
    counters += trace.phases["C"];
  }
  EXPECT_GT(flows, 0u);
  EXPECT_GT(counters, 0u);
}

TEST(Trace, DoesNotDependOnThreads) {
  for (const char* sample : {"crash-two-nodes", "hang-silent-rank"})
    EXPECT_EQ(trace_of(sample, "--threads 1"), trace_of(sample, "--threads 4"));
}

TEST(Trace, DoesNotDependOnTheOrderOfFiles) {
  std::string pattern = (std::filesystem::temp_directory_path() / "culprit-trace-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const std::string folder = pattern;
  std::vector<std::string> traces;
  for (const char* order : {"sort", "sort -r"}) {
    const std::string tar = folder + "/a.tar";
    test::printed(std::string("cd ") + CULPRIT_SAMPLES_DIR + "/gpu-off-bus && find . -type f | " +
                  order + " | tar cf " + tar + " -T -");
    traces.push_back(test::printed(std::string(CULPRIT_BINARY) + " export trace -q " + tar).text);
  }
  std::filesystem::remove_all(folder);
  EXPECT_FALSE(traces[0].empty());
  EXPECT_EQ(traces[0], traces[1]);
}

TEST(Trace, ArrowsLeadFromTheCause) {
  const json d = json::parse(trace_of("crash-one-rank"));
  std::map<int, std::string> names;  // of the slices, by thread
  for (const json& e : d["traceEvents"])
    if (e["ph"] == "X" && e["cat"] == "cause") names[e["tid"]] = e["name"];
  std::size_t arrows = 0;
  for (const json& e : d["traceEvents"])
    if (e["ph"] == "s") {
      ++arrows;
      EXPECT_EQ(names[e["tid"]], "Python exception in the training program");
    }
  EXPECT_GT(arrows, 0u);
}

TEST(Trace, WaitsLeadBackToWhatIsWaitedFor) {
  const json d = json::parse(trace_of("hang-silent-rank"));
  std::map<int, std::string> thread;
  for (const json& e : d["traceEvents"])
    if (e["name"] == "thread_name") thread[e["tid"]] = e["args"]["name"];
  std::set<std::string> waiting, cause, arrows;
  for (const json& e : d["traceEvents"]) {
    if (e["ph"] == "X" && e["cat"] == "wait") waiting.insert(thread[e["tid"]]);
    if (e["ph"] == "s") arrows.insert(thread[e["tid"]]);
    if (e["name"] == "others wait for this: own code") cause.insert(thread[e["tid"]]);
  }
  EXPECT_EQ(cause, std::set<std::string>{"rank 5 collectives"});
  EXPECT_EQ(waiting.size(), 7u);
  EXPECT_EQ(waiting.count("rank 5 collectives"), 0u);
  EXPECT_EQ(arrows.count("rank 5 collectives"), 1u);
}

}  // namespace
