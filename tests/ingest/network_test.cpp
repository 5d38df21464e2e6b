// Descriptions of the network and of the job's shape.
#include "ingest/engine/document.hpp"

#include "kit.hpp"

namespace culprit::ingest {
namespace {

using test::Folder;
using test::read_text;

test::Rows file(const std::string& name, const std::string& bytes) {
  const Folder folder;
  folder.write(name, bytes);
  return test::read_folder(folder.path());
}

std::string networks(const test::Rows& rows) {
  std::string out;
  for (const NetworkRow& r : rows.networks) {
    out += fmt::format("{} {} {}:", r.kind, r.name, r.level);
    for (const auto& host : r.hosts) out += " " + host;
    for (const auto& child : r.children) out += " >" + child;
    out += "\n";
  }
  return out;
}

std::string settings(const test::Rows& rows) {
  std::string out;
  for (const ConfigRow& r : rows.configs)
    if (!r.name.starts_with("job.")) out += (out.empty() ? "" : " ") + r.name + "=" + r.value;
  return out;
}

TEST(SlurmTopology, Conf) {
  const auto rows = file("etc/slurm/topology.conf",
                         "# made by hand\n\nswitchname=leaf1 Nodes=p[01-02],q7   # rack "
                         "3\nSwitchName=leaf2 nodes=p[03-04] LinkSpeed=100\r\nSwitchName=mid \\\n  "
                         "Switches=leaf[1-2]\nSwitchName=top Switches=mid\n");
  EXPECT_EQ(networks(rows),
            "switch leaf1 0: p01 p02 q7\nswitch leaf2 0: p03 p04\nswitch mid 1: >leaf1 "
            ">leaf2\nswitch top 2: >mid\n");
  EXPECT_EQ(rows.networks[0].place.line, 3u);
  EXPECT_EQ(rows.networks[0].source, "slurm");
  EXPECT_EQ(rows.members[0].format, "slurm-topology");
  EXPECT_EQ(
      networks(
          file("t.conf", "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2,4\n")),
      "block b1 0: n1 n2\nblock b2 0: n3 n4\n");
}

TEST(SlurmTopology, ScontrolOnOneLineOrMore) {
  const std::string one =
      "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=a[1-2] SwitchName=s1 Level=0 LinkSpeed=1 Nodes=a3 "
      "SwitchName=top Level=1 LinkSpeed=1 Nodes=a[1-3] Switches=s[0-1]\n";
  const std::string want = "switch s0 0: a1 a2\nswitch s1 0: a3\nswitch top 1: a1 a2 a3 >s0 >s1\n";
  EXPECT_EQ(networks(file("topo.txt", one)), want);
  EXPECT_EQ(
      networks(file("topo.txt",
                    "$ scontrol show topology\nSwitchName=s0 Level=0 LinkSpeed=1 "
                    "Nodes=a[1-2]\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=a3\nSwitchName=top "
                    "Level=1 LinkSpeed=1 Nodes=a[1-3] Switches=s[0-1]")),
      want);
}

TEST(SlurmTopology, Yaml) {
  const auto rows =
      file("topology.yaml",
           "---\n- topology: main\n  cluster_default: true\n  tree:\n    switches:\n      - "
           "switch: root\n        children: l[1-2]\n      - switch: l1\n        nodes: \"n[1-2]\"  "
           " # left\n      - nodes: n3\n        switch: 'l2'\n"
           "      - {switch: l3, nodes: n[4-5]}\n      - switch: l4\n        nodes:\n          - "
           "n6\n          - n7\n      - switch: l5\n        nodes: [n8, \"n9\"]\n- topology: "
           "other\n  block:\n    block_sizes:\n      - 4\n    blocks:\n      - block: b1\n        "
           "nodes: m[1-2]\n- topology: third\n  flat: true\n");
  EXPECT_EQ(networks(rows),
            "switch root 1: >l1 >l2\nswitch l1 0: n1 n2\nswitch l2 0: n3\nswitch l3 0: n4 "
            "n5\nswitch l4 0: n6 n7\nswitch l5 0: n8 n9\nblock b1 0: m1 m2\n");
  EXPECT_EQ(rows.reasons(), "");
  EXPECT_EQ(file("deploy.yaml", "apiVersion: v1\ntopology: x\nswitch: y\n").networks.size(), 0u);
}

TEST(SlurmTopology, HostileFiles) {
  auto rows = file("topology.conf",
                   "SwitchName=a Nodes=n[0-1000000000000]\nSwitchName=b Nodes=n[x]\nSwitchName=c "
                   "Nodes=n1\nNodes=\nSwitchName=\nSwitchName=d\n=\n");
  EXPECT_EQ(rows.reasons(), "1:hostlist.too_many 2:hostlist.broken");
  ASSERT_EQ(rows.networks.size(), 2u);
  EXPECT_EQ(rows.networks[0].hosts.size(), 65536u);
  rows = file("topology.conf",
              "SwitchName=a Switches=b\nSwitchName=b Switches=a\nSwitchName=c "
              "Switches=c\nSwitchName=d Switches=a,e\nSwitchName=e Nodes=n1\n");
  EXPECT_EQ(rows.networks.size(), 5u);  // levels of a cycle mean nothing; it ends
  std::string chain = "SwitchName=s0 Nodes=n1\n";
  for (int i = 1; i < 20000; ++i) chain += fmt::format("SwitchName=s{} Switches=s{}\n", i, i - 1);
  EXPECT_EQ(file("topology.conf", chain).networks.back().level, 19999);
  std::string many;
  for (int i = 0; i < 40; ++i) many += fmt::format("SwitchName=s{} Nodes=n[0-60000]\n", i);
  std::size_t hosts = 0;
  for (const auto& r : file("topology.conf", many).networks) hosts += r.hosts.size();
  EXPECT_LE(hosts, 1u << 20);
  std::string deep = "- topology: x\n";
  for (int i = 0; i < 2000; ++i)
    deep += std::string(static_cast<std::size_t>(i), ' ') + "- switch:\n";
  deep += std::string(100000, '-') + "\n" + std::string(50000, '[') +
          "\n- {switch: " + std::string(5000, '{') + "}\n";
  for (int i = 0; i < 50000; ++i) deep += "- ";
  EXPECT_EQ(file("topology.yaml", deep + "\n").networks.size(), 0u);
}

TEST(Hostfile, Kinds) {
  auto rows =
      file("hostfile", "# nodes\nw2 slots=8\nw1 slots=8 max_slots=8 # first rack\n\nw10 slots=4\n");
  ASSERT_EQ(rows.identities.size(), 3u);
  EXPECT_EQ(rows.identities[0].host, "w2");
  EXPECT_EQ(rows.identities[0].node_rank, 0);
  EXPECT_EQ(rows.identities[0].source, "hostfile");
  EXPECT_FALSE(rows.identities[0].rank);
  EXPECT_EQ(rows.identities[2].node_rank, 2);
  EXPECT_EQ(settings(rows), "hostfile.slots=8 hostfile.slots=8 hostfile.slots=4");
  rows = file("conf/machinefile.txt", "w1:8\nw2:8\n");
  EXPECT_EQ(rows.identities.size(), 2u);
  EXPECT_EQ(settings(rows), "hostfile.slots=8 hostfile.slots=8");
  rows = file("job.nodefile", "w1\nw1\nw2\nw2\n");  // PBS: a line a slot
  ASSERT_EQ(rows.identities.size(), 2u);
  EXPECT_EQ(rows.identities[1].node_rank, 1);
  EXPECT_EQ(settings(rows), "hostfile.slots=2 hostfile.slots=2");
  EXPECT_EQ(file("anything.txt", "w1 slots=8\n10.0.0.2 slots=8\n").identities.size(), 2u);
}

TEST(Hostfile, OtherFilesAreNone) {
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
           {"notes.txt", "w1\nw2\n"},
           {"train.log", "hello slots=8 there\n"},
           {"hostfile.log", "reading hostfile\nw1 slots=8\n"},
           {"hostfile", "w1 slots=eight\n"},
           {"hostfile", "w1 slots=8\nERROR: something failed\n"},
           {"hostfile", "# nothing\n"},
           {"x.txt", "step=1 slots=8\n"}})
    EXPECT_EQ(file(name, text).identities.size(), 0u) << name << " " << text;
}

TEST(Wiring, OfSwitchesOrOfMachines) {
  EXPECT_EQ(networks(file("topology.txt", "# odd, even\nib-leaf-1: w1 w3\nib-leaf-2: w2, w4\n")),
            "switch ib-leaf-1 0: w1 w3\nswitch ib-leaf-2 0: w2 w4\n");
  EXPECT_EQ(
      networks(file("rails.yaml", "w1: {rail0: leaf-a, rail1: leaf-b}\nw2: {rail0: leaf-a}\n")),
      "switch leaf-a 0: w1 w2\nswitch leaf-b 0: w1\n");
  for (const std::string text :
       {"ib-leaf-1: w1 is in trouble\nib-leaf-2: w2 too\n", "w1: up 3 days\nw2: up 4 days\n",
        "ib-leaf-1: w1\n", "leaf-1: fan1 ok\nleaf-2: fan1 ok\n"})
    EXPECT_EQ(networks(file("notes.txt", text)), "") << text;
}

TEST(NetworkTable, CsvAndJson) {
  EXPECT_EQ(
      networks(file("inventory.csv",
                    "Host,ToR,Pod,rack\nw1,t1,p1,r1\nw2,t1,p1,r2\n\"w3\",t2,p1,r2\nw4\n")),
      "rack r1 0: w1\nrack r2 0: w2 w3\nswitch t1 0: w1 w2\nswitch t2 0: w3\npod p1 1: w1 w2 w3\n");
  EXPECT_EQ(networks(file("net.tsv", "hostname\tleaf\tip\nw1\tl1\t10.0.0.1\n")),
            "switch l1 0: w1\n");
  EXPECT_EQ(
      networks(file(
          "net.json",
          R"([ {"host": "w1", "switch": "s1", "rail": 3}, {"host": "w2", "switch": "s1", "rail": 4}, 5, {"host": 7} ])")),
      "rail 3 0: w1\nrail 4 0: w2\nswitch s1 0: w1 w2\n");
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
           {"m.csv", "timestamp,host,pod,value\n1,w1,p,2\n"},
           {"m.csv", "host,value\nw1,2\n"},
           {"m.csv", "host\nw1\n"},
           {"m.csv", "tor,pod\nt,p\n"},
           {"a.json", R"([{"host": "w1", "tor": "t", "temperature": 5}])"},
           {"a.json", R"({"host": "w1", "tor": "t"})"}})
    EXPECT_EQ(file(name, text).networks.size(), 0u) << text;
}

TEST(GpuTopology, NearestNics) {
  const std::string text =
      "\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tNIC1\tNIC2\tCPU Affinity\tNUMA Affinity\tGPU NUMA "
      "ID\x1b[0m\n"
      "GPU0\t X \tNV4\tNV4\tNODE\tPXB\tSYS\t0-31\t0\t\tN/A\nGPU1\tNV4\t X "
      "\tNV4\tSYS\tPIX\tPIX\t0-31\t0\t\tN/A\nGPU2\tNV4\tNV4\t X \tSYS\tSYS\tNODE\t32-63\t1\t\tN/A\n"
      "NIC0\tNODE\tSYS\tSYS\t X \tNODE\tSYS\nNIC1\tPXB\tPIX\tSYS\tNODE\t X "
      "\tSYS\nNIC2\tSYS\tPIX\tNODE\tSYS\tSYS\t X \n\nLegend:\n\n  X    = Self\n  SYS  = far\n\nNIC "
      "Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_bond_1\n  NIC2: mlx5_4\n";
  const auto rows = file("w1/nvidia-smi-topo.txt", text);
  EXPECT_EQ(rows.members[0].format, "gpu-topology");
  EXPECT_EQ(
      settings(rows),
      "gpu.peer_path[0]=NVLink gpu.peer_path[1]=NVLink gpu.peer_path[2]=NVLink topo.nic0=mlx5_0 "
      "topo.nic1=mlx5_bond_1 topo.nic2=mlx5_4 topo.gpu0.nic=mlx5_bond_1 "
      "topo.gpu1.nic=mlx5_bond_1,mlx5_4");
  EXPECT_EQ(settings(file("topo.txt",
                          "\tGPU0\tGPU1\tmlx5_0\tCPU Affinity\nGPU0\t X "
                          "\tNV1\tPHB\t0-7\nGPU1\tNV1\t X \tSYS\t0-7\nmlx5_0\tPHB\tSYS\t X \n")),
            "gpu.peer_path[0]=NVLink gpu.peer_path[1]=NVLink topo.gpu0.nic=mlx5_0");
  EXPECT_EQ(settings(file("train.log", text + "step 1\nstep 2\nstep 3\nRuntimeError: x\n")), "");
}

TEST(ParallelArguments, Megatron) {
  EXPECT_EQ(settings(read_text("using world size: 64, data-parallel size: 4, context-parallel "
                               "size: 2, hierarchical context-parallel sizes: None, "
                               "tensor-model-parallel size: 4, pipeline-model-parallel size: 2\n")),
            "parallel.framework=megatron world_size=64 parallel.dp=4 parallel.cp=2 parallel.tp=4 "
            "parallel.pp=2");
  EXPECT_EQ(settings(read_text(
                "using world size: 8, data-parallel-size: 2, tensor-model-parallel size: 2, "
                "encoder-tensor-model-parallel size: 0, pipeline-model-parallel size: 2\n")),
            "parallel.framework=megatron world_size=8 parallel.dp=2 parallel.tp=2 parallel.pp=2");
  const auto rows = read_text(
      "[default0]:------------------------ arguments ------------------------\n[default0]:  "
      "context_parallel_size ........................... 1\n[default0]:  "
      "expert_model_parallel_size ...................... 8\n"
      "[default0]:  expert_tensor_parallel_size ..................... 1\n[default0]:  "
      "tensor_model_parallel_size ...................... 2\n[default0]:  use_tp_pp_dp_mapping "
      "............................ True\n"
      "[default0]:  virtual_pipeline_model_parallel_size ............ None\n[default0]:  "
      "world_size ...................................... 16\n[default0]:  "
      "pipeline_model_parallel_size .................... 4\n");
  EXPECT_EQ(settings(rows),
            "parallel.framework=megatron parallel.cp=1 parallel.framework=megatron parallel.ep=8 "
            "parallel.framework=megatron parallel.etp=1 parallel.framework=megatron parallel.tp=2 "
            "parallel.framework=megatron "
            "parallel.order=tp-cp-ep-pp-dp parallel.framework=megatron world_size=16 "
            "parallel.framework=megatron parallel.pp=4");
  ASSERT_EQ(rows.identities.size(), 1u);
  EXPECT_EQ(rows.identities[0].world_size, 16);
  EXPECT_EQ(settings(read_text("> initializing tensor model parallel with size 4\n")),
            "parallel.framework=megatron parallel.tp=4");
  EXPECT_EQ(settings(read_text("  model_parallel_size ............. 2updated\n  pipe_parallel_size "
                               ".............. 0default\n")),
            "parallel.framework=gpt-neox parallel.tp=2 parallel.framework=gpt-neox parallel.pp=1");
  for (const char* other :
       {"[2026-02-11 08:14:02,113] [INFO] [config.py:1003:print]   world_size ................... "
        "2\n",
        "+ python pretrain.py --tensor-model-parallel-size 8\n",
        "    tensor_model_parallel_size ... is None\n", "using world size: many\n",
        "  world_size ......... 99999999999999999999\n"})
    EXPECT_EQ(settings(read_text(other)), "") << other;
}

TEST(ParallelArguments, LightningsMembers) {
  const Rows rows = read_text(
      "initializing distributed: GLOBAL_RANK: 2, MEMBER: 3/32\n"
      "initializing deepspeed distributed: GLOBAL_RANK: 21, MEMBER: 22/32\n"
      "GLOBAL_RANK: 3, MEMBER: 9/32\nGLOBAL_RANK: 33, MEMBER: 34/32\n");
  ASSERT_EQ(rows.identities.size(), 2u);
  EXPECT_EQ(rows.identities[1].rank, 21);
  EXPECT_EQ(rows.identities[1].world_size, 32);
}

TEST(ParallelArguments, NemoAndTorchtitan) {
  EXPECT_EQ(settings(read_text(
                "[NeMo I 2026-02-11 08:14:02 megatron_init:314] All tensor model parallel group "
                "ranks: [[0, 1, 2, 3], [4, 5, 6, 7]]\n[NeMo I 2026-02-11 08:14:02 "
                "megatron_init:269] All pipeline model parallel group ranks: [[0], [1]]\n")),
            "parallel.framework=nemo parallel.tp=4 parallel.framework=nemo parallel.pp=1");
  EXPECT_EQ(
      settings(read_text("[titan] 2026-02-11 08:14:02,113 - root - INFO - Building 4-D device mesh "
                         "with ['pp', 'dp_replicate', 'dp_shard', 'tp'], [2, 2, 4, 8]\n")),
      "parallel.framework=torchtitan parallel.tp=8 parallel.pp=2 parallel.dp=8 "
      "parallel.order=tp-dp-pp");
  EXPECT_EQ(settings(read_text(
                "[titan] 2026-02-11 08:14:02,113 - root - INFO - Building device mesh with "
                "parallelism: pp=2, dp_replicate=1, dp_shard=4, cp=2, tp=8, ep=4, etp=1\n")),
            "parallel.framework=torchtitan parallel.ep=4 parallel.tp=8 parallel.cp=2 parallel.pp=2 "
            "parallel.dp=4 parallel.order=tp-cp-ep-dp-pp");
  EXPECT_EQ(settings(read_text("Building 1-D device mesh with [], []\n")), "");
}

TEST(Nodelist, EnvironmentAndScontrol) {
  EXPECT_EQ(settings(read_text("SLURM_JOB_NODELIST=p[001-016],q7\n")),
            "slurm.nodelist=p[001-016],q7");
  EXPECT_EQ(
      settings(read_text(
          "   ReqNodeList=(null) ExcNodeList=p9\n   NodeList=p[001-016]\n   BatchHost=p001\n")),
      "slurm.nodelist=p[001-016]");
  EXPECT_EQ(settings(read_text("export SLURM_JOB_NODELIST='a,b'\nNodeList=(null)\n")),
            "slurm.nodelist=a,b");
  EXPECT_EQ(settings(file("environ.txt", "RANK=3\nWORLD_SIZE=8\nSLURM_JOB_NODELIST=p[1-2]\n")),
            "slurm.nodelist=p[1-2]");
}

TEST(NetworkFiles, SharedSamples) {
  const std::string folder = std::string(CULPRIT_SHARED_DIR) + "/formats/topology/";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "no samples here";
  const auto rows = [&](const std::string& name) {
    std::ifstream in(folder + name, std::ios::binary);
    return file(name, std::string((std::istreambuf_iterator<char>(in)), {}));
  };
  const auto spartan = rows("scontrol_show_topology_spartan.txt");
  ASSERT_EQ(spartan.networks.size(), 5u);
  EXPECT_EQ(spartan.networks[0].children.size(), 4u);
  EXPECT_EQ(spartan.networks[1].hosts.size(), 14u);
  EXPECT_EQ(rows("scontrol_show_topology_cloud.txt").networks.back().level, 2);
  EXPECT_NE(settings(rows("nvidia_smi_topo_m_8xNV18_8nic.txt")).find("topo.gpu1.nic=mlx5_1"),
            std::string::npos);
}

}  // namespace
}  // namespace culprit::ingest
