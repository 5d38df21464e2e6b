#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::Folder;

test::Rows read(const std::string& name, const std::string& bytes) {
  const Folder folder;
  folder.write(name, bytes);
  return test::read_folder(folder.path());
}

// A traceback and a kernel line, one record each, as `make` writes them; begins with the newest
// when told so.
template <class Make>
std::string records(Make make, bool newest_first, const char* between = "\n") {
  std::vector<std::string> all{make(1, "Traceback (most recent call last):"),
                               make(2, "  File \\\"/w/train.py\\\", line 40, in step"),
                               make(3, "    loss = table[index]"), make(4, "KeyError: 'vocab'")};
  if (newest_first) std::reverse(all.begin(), all.end());
  std::string out;
  for (const std::string& one : all) out += (out.empty() ? "" : between) + one;
  return out;
}

void expect_the_traceback(const test::Rows& rows, const char* what, const char* host = "gpu-07") {
  ASSERT_EQ(rows.raised(), (std::vector<std::string>{"KeyError: 'vocab'"})) << what;
  EXPECT_EQ(rows.tracebacks[0].file, "/w/train.py") << what;
  EXPECT_EQ(name_of(rows.tracebacks[0].host), host) << what;
  EXPECT_EQ(iso_utc(rows.tracebacks[0].time.ns), "2026-03-04T05:06:01Z") << what;
  EXPECT_EQ(rows.tracebacks[0].time.clock, Clock::utc) << what;
}

TEST(LogExport, JsonLinesInBothOrders) {
  const auto logcli = [](int s, const std::string& text) {
    return fmt::format(
        R"({{"labels":{{"host":"gpu-07","job":"train"}},"line":"{}","timestamp":"2026-03-04T05:06:0{}Z"}})",
        text, s);
  };
  const auto filebeat = [](int s, const std::string& text) {
    return fmt::format(
        R"({{"@timestamp":"2026-03-04T05:06:0{}.000Z","host":{{"name":"gpu-07"}},"log":{{"file":{{"path":"/var/log/pods/a.log"}}}},"message":"{}"}})",
        s, text);
  };
  const auto gcloud = [](int s, const std::string& text) {
    return fmt::format(
        R"({{"insertId":"a{}","logName":"projects/p/logs/stderr","resource":{{"type":"k8s_container","labels":{{"node_name":"gpu-07","pod_name":"ddp-3"}}}},"textPayload":"{}","timestamp":"2026-03-04T05:06:0{}Z"}})",
        s, text, s);
  };
  const auto watch = [](int s, const std::string& text) {
    return fmt::format(
        R"({{"logStreamName":"gpu-07","timestamp":{},"message":"{}","ingestionTime":{}}})",
        1'772'600'760'000 + s * 1000, text, 1'772'600'770'000);
  };
  for (const bool newest : {false, true}) {
    expect_the_traceback(read("loki.jsonl", records(logcli, newest) + "\n"),
                         newest ? "logcli, newest first" : "logcli");
    expect_the_traceback(read("beat.ndjson", records(filebeat, newest) + "\n"),
                         newest ? "filebeat, newest first" : "filebeat");
    expect_the_traceback(read("gcloud.jsonl", records(gcloud, newest) + "\n"),
                         newest ? "gcloud, newest first" : "gcloud");
    expect_the_traceback(read("gcloud.json", "[\n" + records(gcloud, newest, ",\n") + "\n]\n"),
                         "gcloud --format=json");
    expect_the_traceback(read("events.json", "{\"events\": [" + records(watch, newest, ",") +
                                                 "], \"nextToken\": \"f/3\"}"),
                         "CloudWatch");
  }
}

TEST(LogExport, DocumentsOfLogStores) {
  const auto loki = [](int s, const std::string& text) {
    return fmt::format(R"(["{}","{}"])", 1'772'600'760'000'000'000 + s * 1'000'000'000LL, text);
  };
  const auto insights = [](int s, const std::string& text) {
    return fmt::format(
        R"([{{"field":"@timestamp","value":"2026-03-04 05:06:0{}.000"}},{{"field":"@message","value":"{}"}},{{"field":"@logStream","value":"gpu-07"}}])",
        s, text);
  };
  const auto hit = [](int s, const std::string& text) {
    return fmt::format(
        R"({{"_index":"k8s","_id":"{}","_source":{{"@timestamp":"2026-03-04T05:06:0{}.000Z","message":"{}","host":{{"name":"gpu-07"}}}}}})",
        s, s, text);
  };
  for (const bool newest : {false, true}) {
    expect_the_traceback(
        read(
            "loki.json",
            R"({"status":"success","data":{"resultType":"streams","result":[{"stream":{"host":"gpu-07"},"values":[)" +
                records(loki, newest, ",") + "]}]}}"),
        "Loki");
    expect_the_traceback(read("insights.json", R"({"status":"Complete","results":[)" +
                                                   records(insights, newest, ",") + "]}"),
                         "Insights");
    expect_the_traceback(read("search.json", R"({"took":3,"hits":{"total":{"value":4},"hits":[)" +
                                                 records(hit, newest, ",") + "]}}"),
                         "Elasticsearch");
  }
}

TEST(LogExport, TwoStreamsAreToldApartAndAPlaceIsTheRecord) {
  const std::string bytes = R"({"status":"success","data":{"resultType":"streams","result":[
{"stream":{"node":"gpu-08","transport":"kernel"},"values":[["1772600765000000000","NVRM: Xid (PCI:0000:3b:00): 79, pid=0, GPU has fallen off the bus."]]},
{"stream":{"node":"gpu-09"},"values":[["1772600766000000000","quiet"]]}]}})";
  const auto rows = read("loki.json", bytes);
  ASSERT_EQ(rows.events.size(), 1u);
  EXPECT_EQ(rows.events[0].event_class, "gpu_xid/79");
  EXPECT_EQ(name_of(rows.events[0].host), "gpu-08");
  EXPECT_EQ(rows.events[0].place.line, 2u);
  EXPECT_EQ(bytes.substr(rows.events[0].place.offset, rows.events[0].place.length)
                .rfind("[\"1772600765000000000\"", 0),
            0u);
}

TEST(LogExport, ARecordMayHoldAWholeTraceback) {
  const auto rows = read(
      "x.json",
      R"({"events":[{"timestamp":1772600761000,"ingestionTime":1772600762000,"logStreamName":"gpu-07","message":"Traceback (most recent call last):\n  File \"/w/train.py\", line 40, in step\nKeyError: 'vocab'\n"}]})");
  expect_the_traceback(rows, "one record");
}

TEST(LogExport, TablesOfLogStores) {
  const auto row = [](int s, const std::string& text) {
    std::string cell;
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] != '\\') cell += text[i] == '"' ? "\"\"" : std::string(1, text[i]);
    return fmt::format("2026-03-04T05:06:0{}.000Z,gpu-07,\"{}\"", s, cell);
  };
  for (const bool newest : {false, true})
    for (const char* header : {"@timestamp,@logStream,@message\n", "_time,host,_raw\n",
                               "\xEF\xBB\xBFTime,Hostname,Line\r\n"})
      expect_the_traceback(read("export.csv", header + records(row, newest) + "\n"), header);
}

TEST(LogExport, ALineOfAMachineInATableIsThatMachines) {
  const auto rows = read("insights.csv",
                         "@timestamp,@log,@logStream,@message\n"
                         "2026-03-04 05:06:01.000,1:/ec2/messages,gpu-08,Mar  4 05:06:01 gpu-08 "
                         "kernel: [77.1] NVRM: Xid (PCI:0000:3b:00): 79 GPU has fallen off the "
                         "bus.\n"
                         "2026-03-04 05:06:02.000,1:/ec2/stdout,gpu-09,nothing to say\n");
  ASSERT_EQ(rows.events.size(), 1u);
  EXPECT_EQ(rows.events[0].event_class, "gpu_xid/79");
  EXPECT_EQ(name_of(rows.events[0].host), "gpu-08");
  EXPECT_EQ(rows.events[0].time.clock, Clock::utc);
  EXPECT_EQ(rows.events[0].place.line, 2u);
}

TEST(LogExport, OtherTablesAreLeftAlone) {
  const auto rows = read("steps.csv",
                         "time,step,log\n2026-03-04T05:06:01Z,1,0.5\n"
                         "2026-03-04T05:06:02Z,2,0.4\n2026-03-04T05:06:03Z,3,0.4\n");
  EXPECT_TRUE(rows.events.empty());
}

TEST(LogExport, OtherJsonIsLeftAlone) {
  const auto metrics = read(
      "p.json",
      R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"a","instance":"h1:9400"},"values":[[1795231961,"1"]]}]}})");
  EXPECT_EQ(metrics.members.at(0).format, "prometheus-json");
  const auto broken = read(
      "loki.json",
      R"({"status":"success","data":{"resultType":"streams","result":[{"stream":{"host":"gpu-07"},"values":[["17726)");
  EXPECT_EQ(broken.reasons(), "0:log_export.no_records");
  for (const char* hostile : {R"([{"logName":1,"textPayload":{"a":[]},"timestamp":"x"}])",
                              R"({"hits":{"hits":[{"_source":null,"timestamp":[]}]}})",
                              R"({"results":[[{"field":"@message"}]],"@message":0})"})
    EXPECT_TRUE(read("h.json", hostile).events.empty());
}

}  // namespace
}  // namespace culprit::ingest
