// Which errors a layer of replicas survives, and the table of them.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "rules/survival.hpp"
#include "schema/schema.hpp"

namespace culprit::rules {
namespace {

TEST(CommunicationErrors, TheTableSatisfiesItsSchema) {
  const auto schema = nlohmann::json::parse(schema::text("survival-v1.json"));
  const auto table = nlohmann::json::parse(embedded_rule("tables/survival.json"));
  for (const auto& v : schema::validate(table, schema)) ADD_FAILURE() << v.path << ": " << v.reason;
}

// FT-HSDP section 4.2 names these.
TEST(CommunicationErrors, AsThePaperHasThem) {
  struct Case {
    const char* message;
    const char* error;
    bool recoverable;
  };
  for (const Case& c : {
           Case{
               "NCCL error in: ProcessGroupNCCL.cpp:1970, remote process exited or there was a "
               "network error, NCCL version 2.19.3\nncclRemoteError: A call failed possibly due to "
               "a network error",
               "ncclRemoteError", true},
           Case{"[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=812",
                "time-out", true},
           Case{"unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version "
                "2.19.3\nncclSystemError: System call (e.g. socket, malloc) failed",
                "ncclSystemError", false},
           Case{"invalid argument (run with NCCL_DEBUG=WARN for details)", "ncclInvalidArgument",
                false},
           Case{"CUDA error: an illegal memory access was encountered", "CUDA error", false},
           Case{"[c10d] recvValue failed: Connection reset by peer", "connection lost", true},
       }) {
    const CommunicationError* found = communication_error(c.message);
    ASSERT_NE(found, nullptr) << c.message;
    EXPECT_EQ(found->name, c.error) << c.message;
    EXPECT_EQ(found->recoverable, c.recoverable) << c.message;
  }
  EXPECT_EQ(communication_error("iteration 12 | lm loss: 2.0"), nullptr);
}

}  // namespace
}  // namespace culprit::rules
