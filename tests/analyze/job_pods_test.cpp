// Which pods are the job's, and events that speak of others.
#include <gtest/gtest.h>

#include "analyze/facts/job_pods.hpp"

namespace culprit::analyze {
namespace {

TEST(JobPods, WhatControllersAppendIsNoPartOfTheName) {
  EXPECT_EQ(pod_stem("titan-d34b-worker-13"), "titan-d34b");
  EXPECT_EQ(pod_stem("titan-d34b-master-0"), "titan-d34b");
  EXPECT_EQ(pod_stem("mxt-70b-c4-slice-job-0-0-sww2z"), "mxt-70b-c4-slice");
  EXPECT_EQ(pod_stem("trainer-7d9f8b6c5d-x2x4z"), "trainer");
  EXPECT_EQ(pod_stem("solo"), "solo");
}

Facts bundle() {
  Facts facts;
  for (const char* path : {"pods/llama-sft-worker-0.log", "pods/llama-sft-worker-1.log"}) {
    MemberRow m;
    m.id = static_cast<MemberId>(facts.members.size() + 1);
    m.path = path;
    facts.members.push_back(m);
    IdentityRow i;
    i.source = "pod";
    i.host = Host("n1");
    i.address = std::string(path).substr(5, 18);
    facts.identities.push_back(i);
  }
  return facts;
}

EventRow event(const char* message) {
  EventRow e;
  e.message = message;
  return e;
}

TEST(JobPods, EventsOfOtherPodsAreToldApart) {
  const JobPods pods(bundle());
  EXPECT_TRUE(pods.another(event("Warning FailedScheduling pod/finetune-k2jjf 0/64 nodes")));
  EXPECT_TRUE(pods.another(event("Unable to attach volumes pod=\"team-b/nb-5fvxp-0\"")));
  EXPECT_FALSE(pods.another(event("Warning FailedMount pod/llama-sft-worker-1 MountVolume")));
  EXPECT_FALSE(pods.another(event("Normal Stopped jobset/llama-sft Preempted")));
  EXPECT_FALSE(pods.another(event("Warning NodeNotReady node/n1 Node is not ready")));
  EXPECT_FALSE(JobPods(Facts()).another(event("Warning FailedScheduling pod/finetune-k2jjf")))
      << "no pod is known to be the job's";
}

// "logs_NAME.txt", and a name without what the controller appended to it.
TEST(JobPods, LogsCalledAfterThem) {
  Facts facts;
  MemberRow m;
  m.id = 1;
  m.path = "kubectl/logs_maxi70-rows-0-2.txt";
  facts.members.push_back(m);
  IdentityRow i;
  i.source = "pod";
  i.host = Host("n1");
  i.address = "maxi70-rows-0-2-7fq2k";
  facts.identities.push_back(i);
  const JobPods pods(facts);
  EXPECT_TRUE(pods.another(event("Warning FailedScheduling pod/nb-b3e7b 0/14 nodes")));
  EXPECT_FALSE(pods.another(event("Normal Killing pod/maxi70-rows-0-3-9xk2p Stopping container")));
}

void placed(Facts& facts, const char* pod, const char* node) {
  IdentityRow i;
  i.source = "pod";
  i.host = Host(node);
  i.address = pod;
  facts.identities.push_back(i);
}

// Counted pods on the machines on which the job speaks; what runs on every machine is not counted.
TEST(JobPods, PodsOnTheMachinesOfTheJob) {
  Facts facts;
  for (const char* node : {"ip-1", "ip-2"}) {
    placed(facts, (std::string("rhea-worker-") + node[3]).c_str(), node);
    placed(facts, (std::string("dcgm-exporter-x2ls") + node[3]).c_str(), node);
  }
  placed(facts, "notebook-0", "ip-7");
  EXPECT_TRUE(JobPods(facts).another(event("Warning FailedMount pod/notebook-0 MountVolume")));
  EXPECT_FALSE(JobPods(facts).another(event("Warning BackOff pod/rhea-worker-0 Back-off")));
  // Two such workloads, and the job names no machine.
  placed(facts, "zeta-worker-0", "ip-3");
  placed(facts, "zeta-worker-1", "ip-4");
  EXPECT_FALSE(JobPods(facts).another(event("Warning FailedMount pod/notebook-0 MountVolume")));
  RankRow rank;
  rank.host = Host("ip-1");
  facts.ranks.push_back(rank);
  rank.host = Host("ip-2");
  facts.ranks.push_back(rank);
  EXPECT_TRUE(JobPods(facts).another(event("Warning FailedMount pod/zeta-worker-0 MountVolume")));
}

}  // namespace
}  // namespace culprit::analyze
