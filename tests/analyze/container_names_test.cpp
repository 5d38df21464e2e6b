#include "analyze/facts/container_names.hpp"

#include <gtest/gtest.h>

namespace culprit::analyze {
namespace {

void file(Facts& facts, const char* path, const char* kind,
          std::initializer_list<const char*> speak) {
  MemberRow m;
  m.id = static_cast<MemberId>(facts.members.size()) + 1;
  m.kind = "file";
  m.path = path;
  m.text_kind = kind;
  facts.members.push_back(m);
  for (const char* name : speak) {
    EventRow e;
    e.place.member = m.id;
    e.host = Host(name);
    facts.events.push_back(e);
  }
}

TEST(ContainerNames, APodIsTheMachineThatItsFileIsCalledAfter) {
  Facts facts;
  file(facts, "kern_node-b3-03.log", "kernel", {"node-b3-03"});
  file(facts, "node-b3-02_pod.log", "nccl", {"grpo-worker-1"});
  file(facts, "node-b3-03_pod.log", "nccl", {"grpo-worker-2"});
  const auto names = container_names(facts);
  ASSERT_EQ(names.size(), 1u) << "of the other nothing shows that it is a machine";
  EXPECT_EQ(names[0].first, "grpo-worker-2");
  EXPECT_EQ(names[0].second, Host("node-b3-03"));
}

TEST(ContainerNames, NotWhereSeveralSpeakNorOfMachinesThemselves) {
  Facts facts;
  file(facts, "kern_node-b3-03.log", "kernel", {"node-b3-03"});
  file(facts, "kern_node-b3-04.log", "kernel", {"node-b3-04"});
  file(facts, "node-b3-03_job.log", "nccl", {"grpo-worker-1", "grpo-worker-2"});
  file(facts, "node-b3-04_copy.log", "nccl", {"node-b3-05"});
  EXPECT_TRUE(container_names(facts).empty());
}

}  // namespace
}  // namespace culprit::analyze
