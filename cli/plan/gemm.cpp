// culprit plan gemm: matrix products on all GPUs, and which GPU is slow by their times.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.hpp"
#include "model/json.hpp"
#include "model/sort.hpp"
#include "plan/gemm.hpp"
#include "plan/group_command.hpp"
#include "cluster.hpp"
#include "incident.hpp"
#include "report/terminal.hpp"
#include "table_file.hpp"

namespace culprit::cli {

namespace {

using nlohmann::ordered_json;

constexpr auto kPlanGemmOptions =
    joined({kClusterHosts,
            {"types", "LIST", "number formats, one after the other (default fp8e4m3,fp16,fp32)"},
            {"shape", "M,N,K", "of the matrices (default 8192,8192,8192)"},
            {"repeats", "N", "of each product (default 3)"},
            {"gpus-per-host", "N", "GPUs of a host (default 8)"},
            {"command", "TEXT",
             "what runs on one GPU: {type} {m} {n} {k}; it prints these columns but the first "
             "three"},
            {"via", "TEXT", "how a command gets to a host (default: ssh {host})"},
            {"all", nullptr, "print all commands, and all slow GPUs"}},
           kPlanDatabase, kPlanOptions);
constexpr std::size_t kMostPrintedOfPlanGemm = 24;
constexpr std::size_t kMostGpusOfPlanGemm = std::size_t{1} << 20;

std::string text_of(const std::vector<plan::GemmRun>& runs, std::size_t hosts,
                    const plan::GemmParams& p, bool all) {
  std::string out = fmt::format(
      "{} number format{} on {} GPU{} of {} host{}: {} x {} x {}, {} time{} each\n", p.types.size(),
      p.types.size() == 1 ? "" : "s", p.gpus_per_host * static_cast<std::int64_t>(hosts),
      p.gpus_per_host * static_cast<std::int64_t>(hosts) == 1 ? "" : "s", hosts,
      hosts == 1 ? "" : "s", p.m, p.n, p.k, p.repeats, p.repeats == 1 ? "" : "s");
  out += "  All GPUs at the same time, one format after the other, with nothing else on them\n";
  out += fmt::format("\n  printf '{}\\n' >gemm.tsv\n",
                     "host\\tgpu\\ttype\\tm\\tn\\tk\\tbatch\\t"
                     "time_us\\ttflops");
  std::string type;
  std::size_t printed = 0;
  for (const plan::GemmRun& run : runs) {
    if (run.type != type) {
      type = run.type;
      printed = 0;
      out += fmt::format("\n{}, on all hosts at the same time\n", type);
    }
    if (!all && ++printed > 1) continue;
    out +=
        fmt::format("  {} >>gemm.tsv\n", plan::folded_command(report::visible(run.command), 76, 4));
    if (!all && hosts > 1)
      out += fmt::format("  and on {} more host{}; --all and --json have them\n", hosts - 1,
                         hosts == 2 ? "" : "s");
  }
  return out + "\nWhich GPU is slow:\n  culprit plan gemm solve gemm.tsv\n";
}

std::string json_of(const std::vector<plan::GemmRun>& runs, const plan::GemmParams& p) {
  ordered_json out{{"schema", "culprit.plan-gemm/1"},
                   {"shape", {p.m, p.n, p.k}},
                   {"repeats", p.repeats},
                   {"columns", plan::kGemmColumns},
                   {"runs", ordered_json::array()}};
  for (const plan::GemmRun& run : runs)
    out["runs"].push_back({{"type", run.type}, {"host", run.host}, {"command", run.command}});
  return json_text(out) + "\n";
}

struct MeasuredGpu {
  std::string host, gpu;  // "" = the table does not say
  auto operator<=>(const MeasuredGpu&) const = default;
  std::string named() const {
    return gpu.empty() ? host : host.empty() ? "GPU " + gpu : host + " GPU " + gpu;
  }
};

struct MeasuredGemm {
  std::vector<MeasuredGpu> gpus;
  std::vector<std::string> tests;
  plan::GemmTimes answer;
};

// What makes a test: its number format and shape.
struct TestColumns {
  const ingest::TableColumn *type, *m, *n, *k, *batch;

  std::string test_of(std::size_t row) const {
    std::string out = type != nullptr ? std::string(type->cells[row]) : "";
    std::string shape;
    for (const ingest::TableColumn* side : {m, n, k, batch})
      if (side != nullptr && (side != batch || side->values[row] > 0))
        shape += (shape.empty() ? "" : "x") + std::string(side->cells[row]);
    if (!shape.empty()) out += (out.empty() ? "" : " ") + shape;
    return out.empty() ? "GEMM" : out;
  }
};

// Where the table has no times, a time is what one operation takes.
Result<MeasuredGemm> read_gemm(const Arguments& arguments, const std::string& path) {
  CULPRIT_TRY(table, read_table_file(arguments, path));
  const auto* host = table.named({"host", "hostname", "node", "machine"});
  const auto* gpu =
      table.named({"gpu", "device", "gpuindex", "gpuid", "localrank", "rank", "uuid"});
  const auto* time = table.named({"time", "timeus", "timems", "times", "us", "ms", "s", "seconds",
                                  "latency", "latencyus", "duration", "durationms", "durationus"});
  const auto* rate = table.named({"tflops", "tflopss", "gflops", "flops", "throughput"});
  if ((host == nullptr && gpu == nullptr) || (time == nullptr && rate == nullptr))
    return fail("the table does not say what each GPU took")
        .at({path, 1})
        .hint("columns: host, gpu, type, and time_us or tflops, with a row for each repeat");
  const auto* value = time != nullptr ? time : rate;
  const TestColumns columns{
      table.named({"type", "dtype", "precision", "format", "intype", "datatype"}),
      table.named({"m"}), table.named({"n"}), table.named({"k"}), table.named({"batch"})};
  const auto gpu_of = [&](std::size_t row) {
    return MeasuredGpu{host != nullptr ? std::string(host->cells[row]) : "",
                       gpu != nullptr ? std::string(gpu->cells[row]) : ""};
  };
  MeasuredGemm out;
  std::vector<std::size_t> rows;
  for (std::size_t r = 0; r < table.rows; ++r)
    if (value->values[r] > 0 && std::isfinite(value->values[r])) rows.push_back(r);
  for (const std::size_t r : rows) {
    out.gpus.push_back(gpu_of(r));
    out.tests.push_back(columns.test_of(r));
  }
  sort_unique(out.gpus);
  sort_unique(out.tests);
  if (out.gpus.size() > kMostGpusOfPlanGemm)
    return fail(fmt::format("{} GPUs are more than {}", out.gpus.size(), kMostGpusOfPlanGemm))
        .at({path, 1})
        .hint("one table for each part of the cluster");
  const auto at = [](const auto& sorted, const auto& one) {
    return static_cast<std::size_t>(std::ranges::lower_bound(sorted, one) - sorted.begin());
  };
  std::vector<plan::GemmTime> times;
  for (const std::size_t r : rows)
    times.push_back({at(out.gpus, gpu_of(r)), at(out.tests, columns.test_of(r)),
                     time != nullptr ? value->values[r] : 1 / value->values[r]});
  out.answer = plan::compare_gemm_times(times);
  if (rows.size() < table.rows)
    remark(arguments,
           fmt::format("{}: {} rows left out: no positive number", path, table.rows - rows.size()));
  return out;
}

// Machines of which all GPUs, two at least, are slow: what they share is at fault.
std::vector<std::string> slow_hosts(const MeasuredGemm& m) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> counts;  // slow, all
  for (const MeasuredGpu& gpu : m.gpus) ++counts[gpu.host].second;
  for (const plan::SlowGpu& one : m.answer.slow) ++counts[m.gpus[one.gpu].host].first;
  std::vector<std::string> out;
  for (const auto& [host, count] : counts)
    if (!host.empty() && count.second > 1 && count.first == count.second) out.push_back(host);
  return out;
}

std::vector<std::string> names(const MeasuredGemm& m, const std::vector<std::size_t>& tests) {
  std::vector<std::string> out;
  for (const std::size_t test : tests) out.push_back(m.tests[test]);
  return out;
}

std::string listed(const MeasuredGemm& m, const std::vector<std::size_t>& tests) {
  return report::visible(fmt::format("{}", fmt::join(names(m, tests), ", ")));
}

std::string measured_text(const MeasuredGemm& m, bool all) {
  const plan::GemmTimes& a = m.answer;
  if (a.few.size() == m.tests.size() || (a.few.empty() && m.tests.empty()))
    return fmt::format("not enough: no test was run by {} GPUs or more\n",
                       plan::GemmTimeParams{}.least);
  std::string out = a.slow.empty()
                        ? fmt::format("no GPU is slow, of {} and {} test{}\n", m.gpus.size(),
                                      m.tests.size(), m.tests.size() == 1 ? "" : "s")
                        : fmt::format("{} slow GPU{}, of {} and {} test{}\n", a.slow.size(),
                                      a.slow.size() == 1 ? "" : "s", m.gpus.size(), m.tests.size(),
                                      m.tests.size() == 1 ? "" : "s");
  out += fmt::format("  healthy GPUs differ by {:.1f} %\n", 100 * a.spread);
  std::size_t shown = 0;
  const auto more = [&] { return shown++ < kMostPrintedOfPlanGemm || all; };
  for (const plan::SlowGpu& s : a.slow)
    if (more())
      out += report::paragraph(
          "  ",
          fmt::format("{}: {:.2f} times as long in {}{}", report::visible(m.gpus[s.gpu].named()),
                      s.factor, listed(m, s.slow),
                      s.usual.empty() ? "" : "; like the others in " + listed(m, s.usual)),
          78, 4);
  for (const std::string& host : slow_hosts(m))
    if (more())
      out += fmt::format("  all GPUs of {} are slow: power, cooling or a limit of the machine\n",
                         report::visible(host));
  for (const plan::UnsteadyGpu& u : a.unsteady)
    if (more())
      out += report::paragraph(
          "  ",
          fmt::format("contradiction: {} in {}: one repeat took {:.2f} times as long as another; "
                      "measure it again",
                      report::visible(m.gpus[u.gpu].named()), report::visible(m.tests[u.test]),
                      u.factor),
          78, 4);
  if (!all && shown > kMostPrintedOfPlanGemm)
    out +=
        fmt::format("  and {} more; --all and --json have them\n", shown - kMostPrintedOfPlanGemm);
  if (!a.few.empty())
    out += report::paragraph("  ", "not compared, of too few GPUs: " + listed(m, a.few), 78, 4);
  return out;
}

std::string measured_json(const MeasuredGemm& m) {
  const plan::GemmTimes& a = m.answer;
  ordered_json measured{{"gpus", m.gpus.size()},
                        {"tests", m.tests},
                        {"spread", a.spread},
                        {"slow", ordered_json::array()},
                        {"slow_hosts", slow_hosts(m)},
                        {"unsteady", ordered_json::array()},
                        {"not_compared", names(m, a.few)}};
  const auto put = [&](const char* list, std::size_t gpu, ordered_json more) {
    ordered_json one{{"host", m.gpus[gpu].host}, {"gpu", m.gpus[gpu].gpu}};
    one.update(more);
    measured[list].push_back(std::move(one));
  };
  for (const plan::SlowGpu& s : a.slow)
    put("slow", s.gpu,
        {{"factor", s.factor}, {"slow_in", names(m, s.slow)}, {"usual_in", names(m, s.usual)}});
  for (const plan::UnsteadyGpu& u : a.unsteady)
    put("unsteady", u.gpu, {{"test", m.tests[u.test]}, {"factor", u.factor}});
  return json_text(
             ordered_json{{"schema", "culprit.plan-gemm/1"}, {"measured", std::move(measured)}}) +
         "\n";
}

Result<plan::GemmParams> read_params(const PlanInput& input, const Cluster& cluster) {
  plan::GemmParams p;
  if (input.has("types")) {
    CULPRIT_TRY(types, input.names("types", 16));
    p.types = std::move(types);
  }
  CULPRIT_TRY(shape, input.reals("shape", 1, 1 << 20, 3));
  if (!shape.empty()) {
    if (shape.size() != 3 ||
        std::ranges::any_of(shape, [](double s) { return s != std::floor(s); }))
      return input.complaint("shape", "takes three whole numbers: M,N,K");
    p.m = static_cast<std::int64_t>(shape[0]);
    p.n = static_cast<std::int64_t>(shape[1]);
    p.k = static_cast<std::int64_t>(shape[2]);
  }
  CULPRIT_CHECK(input.set("repeats", p.repeats, 1, 1000));
  CULPRIT_TRY(gpus, input.integer("gpus-per-host", cluster.gpus.value_or(8), 1, 1024));
  p.gpus_per_host = gpus;
  CULPRIT_TRY(command, input.text("command", p.command));
  p.command = std::move(command);
  CULPRIT_TRY(via, input.text("via", p.via));
  p.via = std::move(via);
  return p;
}

Result<Exit> run_plan_gemm(const Arguments& arguments) {
  CULPRIT_TRY(input, PlanInput::read(arguments, kPlanGemmOptions, true));
  const auto& words = arguments.positional();
  if (!words.empty() && words[0] == "solve") {
    if (words.size() != 2)
      return usage_error("plan gemm solve takes one table of measured times")
          .hint("culprit plan gemm solve gemm.tsv");
    CULPRIT_TRY(measured, read_gemm(arguments, words[1]));
    print(input.wants_json() ? identified(measured_json(measured))
                             : measured_text(measured, arguments.has("all")));
    return Exit::finished;
  }
  CULPRIT_TRY(cluster, read_cluster(input, arguments));
  if (cluster.hosts.empty())
    return usage_error("plan gemm needs the hosts").hint("--hosts node[01-04], or -d incident.db");
  CULPRIT_TRY(p, read_params(input, cluster));
  CULPRIT_TRY(runs, plan::plan_gemm(cluster.hosts, p));
  print(input.wants_json() ? identified(json_of(runs, p))
                           : text_of(runs, cluster.hosts.size(), p, arguments.has("all")));
  return Exit::finished;
}

}  // namespace

constinit const Command kPlanGemm{
    "plan gemm",
    "which GPU computes slowly, by matrix products on all of them",
    "plan gemm [solve TABLE] [BUNDLE...] [options]",
    "  culprit plan gemm --hosts node[01-04]\n"
    "  culprit plan gemm solve gemm.tsv\n\n"
    "  The commands of a GEMM validation: FP8, FP16 and FP32 on all GPUs at the same time, three\n"
    "  times each. With the times: which GPU takes longer than the others, and in which format.\n",
    kPlanGemmOptions,
    run_plan_gemm};

}  // namespace culprit::cli
