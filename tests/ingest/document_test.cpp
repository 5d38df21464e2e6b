#include "ingest/engine/document.hpp"
#include "ingest/engine/record_text.hpp"
#include "ingest/engine/scan.hpp"

#include "kit.hpp"

namespace culprit::ingest {
namespace {

using namespace std::string_literals;
using test::Folder;

test::Rows error_json(const std::string& bytes) {
  const Folder folder;
  folder.write("attempt_0/3/error.json", bytes);
  return test::read_folder(folder.path());
}

TEST(ErrorJson, Variants) {
  const std::string stack =
      R"("py_callstack": "Traceback (most recent call last):\n  File \"/w/a.py\", line 4, in f\n    go()\nRuntimeError: first\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"/w/b.py\", line 5, in g\nOSError: second\n")";
  const auto full = error_json(R"({"message": {"message": "OSError: second", "extraInfo": {)" +
                               stack + R"(, "timestamp": "1795231961"}}})");
  ASSERT_EQ(full.raised(), (std::vector<std::string>{"RuntimeError: first"}));
  EXPECT_EQ(full.tracebacks[0].file, "/w/a.py");
  EXPECT_EQ(full.tracebacks[0].source, "error.json");
  EXPECT_EQ(iso_utc(full.tracebacks[0].time.ns), "2026-11-21T03:32:41Z");
  EXPECT_EQ(full.tracebacks[0].time.clock, Clock::utc);
  const auto number = error_json(
      R"({"message": {"message": "KeyError: 'x'", "errorCode": 5, "extraInfo": {"timestamp": 1795231961}}})");
  EXPECT_EQ(number.raised(), (std::vector<std::string>{"KeyError: 'x'"}));
  EXPECT_EQ(number.tracebacks[0].time.ns, 1'795'231'961 * kSecond);
  EXPECT_EQ(error_json(R"({"message": "terminate called"})").raised(),
            (std::vector<std::string>{": terminate called"}));
  EXPECT_EQ(error_json(R"({"message": {"message": "x", "extraInfo": {"timestamp": "soon"}}})")
                .tracebacks.at(0)
                .time.clock,
            Clock::none);
  EXPECT_EQ(error_json(R"({"message": 5})").reasons(), "0:error_json.no_message");
  EXPECT_EQ(error_json(R"({"message": {"message": "cut)").reasons(), "0:error_json.not_json");
}

// What was read before the break stays, and that the rest is missing is said for the file, not only
// in a row of rejects.
TEST(Documents, OneThatBreaksOffIsNamed) {
  const std::string prometheus =
      R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"a","instance":"h1:9400"},"values":[[1795231961,"1"],[1795231962,"2"]]}]}})";
  const std::string pyspy =
      R"([{"pid": 4, "thread_id": 4, "thread_name": "MainThread", "active": true, "owns_gil": false, "frames": [{"name": "f", "filename": "a.py", "line": 3}]}])";
  struct Case {
    const char* path;
    std::string whole;
    std::size_t keep;
  };
  for (const Case& c : {Case{"prom.json", prometheus, prometheus.size() - 20},
                        Case{"prom.json", prometheus, prometheus.size() - 3},
                        Case{"stacks/rank0.json", pyspy + "\n" + pyspy, pyspy.size() + 80}}) {
    for (const bool cut : {false, true}) {
      const Folder folder;
      folder.write(c.path, cut ? c.whole.substr(0, c.keep) : c.whole);
      const test::Rows rows = test::read_folder(folder.path());
      EXPECT_EQ(rows.problems, cut ? std::vector<std::string>{std::string("document.cut ") + c.path}
                                   : std::vector<std::string>{});
      EXPECT_FALSE(rows.stacks.empty() && rows.chunks.empty())
          << "what stands before the break is read: " << c.path;
    }
  }
}

TEST(Detect, OurOwnHeads) {
  struct Case {
    const char* path;
    std::string bytes;
    const char* format;
    const char* kind;
  };
  for (const Case& c :
       {Case{"a.log", "", "empty", ""},
        {"a.log", "hello\nworld\n", "text", ""},
        {"dmesg", "[    0.000001] Linux version 6\n[    0.000002] x: y\n[    1.000000] z\n",
         "kernel-log", "kernel"},
        {"a", "6,1,2,-;x\n6,2,3,-;y\n SUBSYSTEM=pci\n6,3,4,-;z\n", "kernel-log", "kernel"},
        {"Xorg.0.log", "[    12.324] (II) X.Org X Server 1.20\n", "xorg", "source"},
        {"x.py", "import torch\n", "source", "source"},
        {"q.txt", "\n==============NVSMI LOG==============\n\nTimestamp : x\n", "nvidia-smi-q",
         "nvidia-smi"},
        {"n.log", "gpu:1:2 [0] NCCL INFO x\ngpu:1:2 [0] NCCL INFO y\n", "nccl-log", "nccl"},
        {"m.jsonl", "{\"loss\": 1.5}\n{\"loss\": 1.4}\n", "metrics-jsonl", "data"},
        {"n.jsonl", "{\"a\": 1.5}\n{\"a\": 1.4}\n", "json-rows", ""},
        {"m.csv", "step,loss\n1,2\n", "metrics-table", "data"},
        {"j.log", "{\"log\":\"x\\n\",\"stream\":\"stderr\"}\n", "text", ""},
        {"s.txt", "Thread 12 (idle): \"MainThread\"\n    f (a.py:1)\n", "stack-dump", "stack"},
        {"a.bin",
         std::string("\x7f"
                     "ELF\1\2\3\0",
                     8),
         "binary", ""},
        {"a.log", std::string(100, '\0') + std::string(900, 'x') + "\n", "text", ""},
        {"a.log", std::string(100, '\0'), "binary", ""},
        {"error.json", "{\"message\": {\"message\": \"x\"}}", "error-json", ""},
        {"answer.txt",
         "ISOLATE  gpu-7\nOne machine failed.\n\nEVIDENCE\n  GPU Xid 79\n\nread 1 file, 9 B, "
         "1 line: 1 used, 0 skipped, 0 rejected; 1 host\nnote: UTC is assumed\n",
         "culprit-report", "source"},
        {"train.log",
         "ISOLATE  gpu-7\nOne machine failed.\n\nread 1 file, 9 B, 1 line: 1 used, 0 skipped, 0 "
         "rejected; 1 host\nstep 1\n",
         "text", ""},
        {"isolate.log", "ISOLATE gpu-7\nEVIDENCE of a fault\n", "text", ""},
        {"answer.json",
         "{\n  \"bundle\": {\n    \"bytes\": 1,\n    \"rejected\": 0,\n    \"skipped\": 0,\n"
         "    \"used\": 1\n  }\n}\n",
         "culprit-report", "source"},
        {"c.yaml", "- a\n- b\nc d e\nf g\n", "configuration", "source"}}) {
    const Detected got = detect({c.path, c.bytes, true});
    EXPECT_EQ(got.format, c.format) << c.path;
    EXPECT_EQ(got.kind, c.kind) << c.path;
  }
}

TEST(Detect, NoTwoDocumentsClaimOneHead) {
  const std::string folder = CULPRIT_SHARED_DIR;
  if (!std::filesystem::is_directory(folder + "/formats")) GTEST_SKIP() << "no samples here";
  struct Want {
    const char* file;
    const char* format;
  };
  std::map<std::string, std::string> want;
  for (const Want& w : {Want{"stacks/pyspy_native_kitty_run1.txt", "stack-dump"},
                        {"stacks/gdb_gloo_allreduce_rank4.txt", "stack-dump"},
                        {"stacks/eustack_rank4.txt", "stack-dump"},
                        {"stacks/gdb_nccl_proxy_threads.txt", "stack-dump"},
                        {"stacks/pyspy_layout_rank1.json", "pyspy-json"},
                        {"stacks/stat_layout_hang_a.dot", "stat-dot"},
                        {"stacks/gdb_wrapped_from_line.txt", "stack-dump"},
                        {"stacks/elastic_error_rank0_fallout.json", "error-json"},
                        {"stacks/elastic_error_rank3.json", "error-json"},
                        {"stacks/gdb_pybt_rank5.txt", "stack-dump"},
                        {"stacks/pyspy_megatron_broadcast.txt", "stack-dump"},
                        {"stacks/pyspy_hex_thread_ids.txt", "stack-dump"},
                        {"stacks/faulthandler_rank1.txt", "stack-dump"},
                        {"stacks/faulthandler_segv.txt", "text"},
                        {"stacks/faulthandler_py314_cstack.txt", "text"},
                        {"stacks/elastic_torch27_no_error_file.log", "text"},
                        {"stacks/elastic_torch1x_sigkill.log", "text"},
                        {"stacks/elastic_torch20_bracket.log", "text"},
                        {"metrics/xpu_timer_single.prom", "prometheus-text"},
                        {"metrics/xpu_timer_hang_some_ranks.prom", "prometheus-text"},
                        {"metrics/node_exporter_this_machine.prom", "prometheus-text"},
                        {"metrics/dcgm_exporter.prom", "prometheus-text"},
                        {"metrics/prometheus_query_range.json", "prometheus-json"},
                        {"metrics/prometheus_query_vector.json", "prometheus-json"},
                        {"metrics/nvidia_smi_dmon.txt", "nvidia-smi-dmon"},
                        {"metrics/nvidia_smi_query_gpu.csv", "nvidia-smi-csv"},
                        {"metrics/rdma_statistic_show.txt", "rdma-statistic"},
                        {"metrics/sys_class_infiniband_mlx5_0.grep.txt", "sys-counters"},
                        {"metrics/ethtool_S_virtio.txt", "ethtool-statistics"},
                        {"metrics/megatron_golden_bert_tp1_pp4_h100.json", "megatron-golden"},
                        {"metrics/megatron_golden_gpt3_15b_h100.json", "megatron-golden"},
                        {"../bundles/failslow-a/bundle/metrics/rank_6.jsonl", "metrics-jsonl"},
                        {"kernel/dmesg_decode_iso_segfault_libnccl.log", "kernel-log"},
                        {"kernel/fabricmanager.log", "fabric-manager"},
                        {"kernel/dev_kmsg_nvswitch.log", "kernel-log"},
                        {"kernel/dmesg_T_xid119.log", "kernel-log"},
                        {"kernel/pstore_dmesg_erst.txt", "kernel-log"},
                        {"process_tree/proc_pid_rank5.txt", "process-dump"},
                        {"process_tree/ps_threads.txt", "process-tree"},
                        {"process_tree/pstree.txt", "process-tree"},
                        {"process_tree/ps_auxf.txt", "process-tree"},
                        {"training_logs/hf_trainer_tqdm_watchdog.log", "text"},
                        {"training_logs/torchtitan_plain.log", "text"},
                        {"training_logs/nemo_srun_label.log", "text"},
                        {"training_logs/gpt_neox_deepspeed.log", "text"},
                        {"nccl/init_two_nodes_tencent.log", "nccl-log"},
                        {"nccl/coll_sendrecv_issue584.log", "nccl-log"},
                        {"nccl/inspector_v4_node-pid1639453.log", "nccl-inspector"},
                        {"nccl/ras_status_json_missing_rank.json", "nccl-ras-json"},
                        {"flight_recorder/gloo_hang_a/nccl_trace_rank_5", "flight-recorder"},
                        {"flight_recorder/gloo_hang_a/rank_4.json", "flight-recorder-json"},
                        {"flight_recorder/nvrx_gpu_error_1st/_dump_9", "flight-recorder"}})
    want[w.file] = w.format;
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    std::string bytes(64 << 10, '\0');
    stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<std::size_t>(stream.gcount()));
    const std::string path = entry.path().string();
    const Head head{path, bytes, entry.file_size() == bytes.size()};
    int claims = 0;
    for (const Document* document : documents()) claims += document->sniff(head);
    for (const RecordText* records : record_texts()) claims += records->sniff(head);
    EXPECT_LE(claims, 1) << path;
    const std::string name = std::filesystem::relative(entry.path(), folder + "/formats").string();
    if (const auto it = want.find(name); it != want.end()) {
      ++found;
      EXPECT_EQ(detect(head).format, it->second) << name;
    }
  }
  EXPECT_EQ(found, want.size());
}

// A word that is told absent without a search is absent.
TEST(Head, TellsWordsAsASearchDoes) {
  const std::string text =
      "Name:\tpython3\r\nRANK=3\n\xC3\xA9t\xC3\xA9 [rank0]: \x1b[31mNVRM: Xid\n\0Filesystem |"s;
  const Head head{"x", text, true};
  for (std::size_t at = 0; at < text.size(); ++at)
    for (std::size_t length = 1; length <= 6; ++length) {
      const std::string word = text.substr(at, length);
      EXPECT_TRUE(head.has(word)) << word;
      if (word.size() > 1) { EXPECT_EQ(head.mentions(word), mentions(text, word)) << word; }
    }
  EXPECT_TRUE(head.mentions("nvrm"));
  EXPECT_TRUE(head.has_any({"absent", "Xid"}));
  EXPECT_FALSE(head.has("nvrm"));
  EXPECT_FALSE(head.has("Rank="));
  EXPECT_FALSE(head.has_any({"rank1", "File|"}));
  EXPECT_EQ(head.index().newlines(), 3);
  EXPECT_EQ(Head{}.index().newlines(), 0);
}

// Frames are told by hand where they are plain, and by a pattern where they are not.
TEST(Detect, FramesOfStacks) {
  const auto format_of = [](const std::string& frame) {
    std::string text;
    for (int i = 0; i < 8; ++i) text += frame + "\n";
    return std::string(detect({"out.txt", text, true}).format);
  };
  for (const char* frame :
       {"    wait (threading.py:320)", "    wait (a (b) c.py:3)", "      x (y)",
        "#3  0x00007f4112345678 in poll ()", "#12 0xdeadbeef in f ()", "#0  main (a=1) at x.c:3"})
    EXPECT_EQ(format_of(frame), "stack-dump") << frame;
  for (const char* frame : {"   wait (threading.py:320)", "    wait (threading.py:320) ", "    (x)",
                            "    wait (a) b)", "    wait (a ((b)) c)", "#3 0x1234 in poll ()",
                            "# 0x00007f4112345678", "#30x00007f4112345678", "    \xFF (x)"})
    EXPECT_NE(format_of(frame), "stack-dump") << frame;
}

}  // namespace
}  // namespace culprit::ingest
