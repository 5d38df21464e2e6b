// The table of enumerations: what it counts, and that each of its names is met in lines and by
// `explain`.
#include "rules/enumerations.hpp"

#include <algorithm>
#include <map>

#include "kit.hpp"
#include "rules/explain.hpp"
#include "rules/grammar.hpp"
#include "schema/embedded.hpp"

namespace culprit::rules::test {

namespace {

const std::vector<Enumeration>& lists() { return Enumerations::built_in().all(); }

std::string met(std::string_view line) {
  const auto said = Grammar::built_in().said(line);
  return said ? said->event_class + " " + said->code : std::string("-");
}

std::string refused(std::string_view entries, std::size_t count) {
  const std::string text =
      R"({"about": "A.", "enumerations": [{"name": "mine", "title": "T", "source": "S", "date": "2026-01", "count": )" +
      std::to_string(count) + R"(, "entries": [)" + std::string(entries) + "]}]}";
  const auto parsed = Enumerations::parse(text);
  return parsed ? "" : parsed.error().what;
}

TEST(Enumerations, HoldWhatTheirDocumentsCount) {
  const auto parsed = Enumerations::parse(embedded_rule("tables/enumerations.json"));
  ASSERT_TRUE(parsed.has_value()) << parsed.error().what;
  // As counted in the headers and manuals themselves.
  const std::map<std::string, std::size_t> counted = {{"cudaError_t", 138},
                                                      {"CUresult", 103},
                                                      {"hipError_t", 79},
                                                      {"nvmlReturn_t", 32},
                                                      {"nv_status", 151},
                                                      {"ncclResult_t", 10},
                                                      {"ibv_wc_status", 24},
                                                      {"ibv_event_type", 21},
                                                      {"errno", 135},
                                                      {"fi_errno", 148},
                                                      {"ucs_status_t", 33},
                                                      {"pmix_status_t", 111},
                                                      {"opal_status", 69},
                                                      {"orte_status", 106},
                                                      {"MPI_ERR", 85},
                                                      {"grpc_status", 52},
                                                      {"cublasStatus_t", 10},
                                                      {"cudnnStatus_t", 53},
                                                      {"cufftResult", 21},
                                                      {"HTTP", 40},
                                                      {"slurm_job_state", 28},
                                                      {"slurm_job_reason", 216},
                                                      {"slurm_node_state", 36},
                                                      {"kubernetes_container_reason", 33},
                                                      {"kubernetes_pod_reason", 32},
                                                      {"kubernetes_node_condition", 15},
                                                      {"kubernetes_job_reason", 7},
                                                      {"slurm_node_reason", 14}};
  ASSERT_EQ(lists().size(), counted.size());
  const auto& reasons = Grammar::built_in().reasons();
  for (const Enumeration& list : lists()) {
    ASSERT_TRUE(counted.contains(list.name)) << list.name;
    EXPECT_EQ(list.entries.size(), counted.at(list.name)) << list.name;
    EXPECT_EQ(list.entries.size(), list.count) << list.name;
    std::set<std::string> codes;
    for (const EnumerationEntry& entry : list.entries) {
      EXPECT_TRUE(codes.insert(entry.code).second) << entry.code;
      EXPECT_TRUE(!entry.means.empty() || !entry.reason.empty()) << entry.code;
      const bool known =
          std::ranges::find(reasons, entry.reason, &ReasonRow::name) != reasons.end();
      EXPECT_TRUE(entry.reason.empty() || known) << entry.code << " " << entry.reason;
    }
  }
}

TEST(Enumerations, ALineThatHoldsACodeIsNamedByIt) {
  std::size_t asked = 0;
  for (const Enumeration& list : lists())
    for (const EnumerationEntry& entry : list.entries) {
      if (list.shape.empty() || entry.reason.empty() || entry.vague) continue;
      const std::string line = "node-3:44:55 [0] NCCL WARN what it got is " + entry.code + " here";
      EXPECT_EQ(met(line), "nccl/" + entry.reason + " " + entry.code);
      ++asked;
    }
  EXPECT_GT(asked, 1000u);
}

TEST(Enumerations, NamesThatSayNothingAreNotTakenFromLines) {
  EXPECT_EQ(met("node-3:44:55 [0] NCCL WARN ncclInProgress: connection refused"),
            "nccl/refused ECONNREFUSED");
  EXPECT_EQ(met("node-3:44:55 [0] NCCL WARN code = Unavailable desc = connection refused"),
            "nccl/refused ECONNREFUSED");
}

TEST(Enumerations, LinesOfTheirOwnSpeakers) {
  EXPECT_EQ(met("node-3:44:55 [0] NCCL WARN NET/IB : mlx5_0:1 told IBV_EVENT_PORT_ERR"),
            "nccl_ib/link_down IBV_EVENT_PORT_ERR");
  EXPECT_EQ(met("[1763607601.1] [n:1 :0] wireup.c:20 UCX  ERROR ep 0x5: UCS_ERR_CONNECTION_RESET"),
            "ucx_ucp/reset UCS_ERR_CONNECTION_RESET");
  EXPECT_EQ(met("libfabric:4431:1763607601::efa:ep_ctrl:efa_recv():20<warn> it said FI_EAGAIN"),
            "libfabric/busy FI_EAGAIN");
  EXPECT_EQ(met("[n:1] PMIX ERROR: PMIX_ERR_UNREACH in file client.c at line 3"),
            "pmix/unreachable PMIX_ERR_UNREACH");
  EXPECT_EQ(met("time=\"x\" level=error msg=\"the registry answered HTTP 503\""),
            "service/busy HTTP 503");
  EXPECT_EQ(met("[1.0] NVRM: rpcRmApiAlloc_GSP failed: status=0x0000006A"),
            "nvrm_gsp/mismatch NV_ERR_LIB_RM_VERSION_MISMATCH");
  EXPECT_EQ(met("[1.0] mlx5_core 0000:3b:00.0: mlx5_cmd_exec failed: -133"),
            "mlx5/hardware EHWPOISON");
}

TEST(Enumerations, ExplainFindsEach) {
  for (const Enumeration& list : lists())
    for (const EnumerationEntry& entry : list.entries) {
      const Answer answer = explain(embedded(), entry.code);
      EXPECT_TRUE(answer.exact) << entry.code;
      const auto it = std::ranges::find_if(answer.found, [&](const Explanation& e) {
        return e.kind == "code" && e.id == entry.code && e.properties.front().second == list.name;
      });
      ASSERT_NE(it, answer.found.end()) << list.name << " " << entry.code;
      EXPECT_FALSE(it->means.empty()) << entry.code;
    }
}

TEST(Enumerations, ExplainFindsThemByNumberAndInAnyCase) {
  const auto first = [](std::string_view query) {
    const Answer answer = explain(embedded(), query);
    return answer.found.empty() ? std::string() : answer.found.front().id;
  };
  EXPECT_EQ(first("errno 12"), "ENOMEM");
  EXPECT_EQ(first("errno -110"), "ETIMEDOUT");
  EXPECT_EQ(first("errno 11"), "EAGAIN");
  EXPECT_EQ(first("cudaError_t 700"), "cudaErrorIllegalAddress");
  EXPECT_EQ(first("NV_STATUS 0x62"), "NV_ERR_RESET_REQUIRED");
  EXPECT_EQ(first("mpi_err 15"), "MPI_ERR_TRUNCATE");
  EXPECT_EQ(first("503"), "HTTP 503");
  EXPECT_EQ(first("http 503"), "HTTP 503");
  EXPECT_EQ(first("crashloopbackoff"), "CrashLoopBackOff");
  EXPECT_EQ(first("qosmaxnodeperuserlimit"), "QOSMaxNodePerUserLimit");
  EXPECT_TRUE(explain(embedded(), "errno 9999").found.empty() ||
              !explain(embedded(), "errno 9999").exact);
  // What an own rule knows of a name stands beside it, with advice.
  const Answer answer = explain(embedded(), "cudaErrorECCUncorrectable");
  ASSERT_EQ(answer.found.size(), 2u);
  EXPECT_EQ(answer.found.back().id, "cuda_ecc_uncorrectable");
  EXPECT_FALSE(answer.found.back().advice.empty());
  const Answer retried = explain(embedded(), "IBV_WC_RETRY_EXC_ERR");
  EXPECT_TRUE(std::ranges::any_of(
      retried.also, [](const Related& r) { return r.id == "nccl-ib-completion-error"; }));
}

TEST(Enumerations, RefusesWhatDoesNotHold) {
  constexpr std::string_view kOne = R"({"code": "A", "means": "M."})";
  EXPECT_EQ(refused(kOne, 1), "");
  EXPECT_NE(refused(kOne, 2).find("mine: has 1 entries, not 2"), std::string::npos);
  EXPECT_NE(refused(R"({"code": "A", "means": "M."}, {"code": "A", "means": "N."})", 2)
                .find("mine: 'A' stands twice"),
            std::string::npos);
  EXPECT_NE(refused(R"({"code": "A"})", 1), "");
}

}  // namespace

}  // namespace culprit::rules::test
