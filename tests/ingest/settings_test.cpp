// Versions and settings: reports of nvidia-smi and of RDMA tools, and whole files of settings.
#include <fmt/format.h>

#include "kit.hpp"

namespace culprit::ingest {
namespace {

test::Rows file(const std::string& name, const std::string& bytes) {
  const test::Folder folder;
  folder.write(name, bytes);
  return test::read_folder(folder.path());
}

std::string settings(const test::Rows& rows) {
  std::string out;
  for (const ConfigRow& r : rows.configs) out += r.name + "=" + r.value + "\n";
  return out;
}

constexpr const char* kSmi =
    "\n==============NVSMI LOG==============\n\nDriver Version                            : "
    "550.90.07\nCUDA Version                              : 12.4\n\nAttached GPUs                  "
    "           : 2\n"
    "GPU 00000000:1B:00.0\n    Product Name                          : NVIDIA H100 80GB HBM3\n    "
    "Persistence Mode                      : Enabled\n    MIG Mode\n        Current                "
    "           : Disabled\n"
    "        Pending                           : Enabled\n    VBIOS Version                        "
    " : 96.00.89.00.01\n    ECC Mode\n        Current                           : Enabled\n        "
    "Pending                           : Disabled\n"
    "    ECC Errors\n        Volatile\n            SRAM Correctable              : 0\n    GPU "
    "Power Readings\n        Power Draw                        : 71.40 W\n        Current Power "
    "Limit               : 700.00 W\n"
    "    GPU Memory Power Readings\n        Power Draw                        : N/A\n        "
    "Current Power Limit               : 120.00 W\n"
    "GPU 00000000:43:00.0\n    MIG Mode\n        Current                           : N/A\n    "
    "Compute Mode                          : Default\n";

TEST(SmiSettings, FieldsOfEachGpuUnderTheirHeading) {
  const auto rows = file("nvidia-smi-q.txt", kSmi);
  EXPECT_EQ(settings(rows),
            "driver_version=550.90.07\ncuda_version=12.4\ngpu.count=2\ngpu.product[0000:1b:00]="
            "NVIDIA H100 80GB "
            "HBM3\ngpu.persistence_mode[0000:1b:00]=Enabled\ngpu.mig_mode[0000:1b:00]=Disabled\n"
            "gpu.vbios[0000:1b:00]=96.00.89.00.01\ngpu.ecc_mode[0000:1b:00]=Enabled\ngpu.power_"
            "limit[0000:1b:00]=700.00 W\ngpu.compute_mode[0000:43:00]=Default\n");
  EXPECT_EQ(rows.reasons(), "");
  EXPECT_EQ(rows.members[0].format, "nvidia-smi-q");
  EXPECT_EQ(rows.configs[6].place.line, 14u);
}

TEST(SmiProcesses, ProgramsThatHoldEachGpu) {
  EXPECT_EQ(settings(file("nvidia-smi.txt",
                          "+-----------------------------------------------------------------+\n"
                          "| Processes:                                                      |\n"
                          "|  GPU   GI   CI        PID   Type   Process name      GPU Memory |\n"
                          "|        ID   ID                                       Usage      |\n"
                          "|=================================================================|\n"
                          "|    0   N/A  N/A     15414      C   /opt/venv/bin/python3 639MiB |\n"
                          "|    1   N/A  N/A     90211      C   python3             29680MiB |\n"
                          "|    1   N/A  N/A     15364      C   /opt/venv/bin/python3 451MiB |\n"
                          "|    1   N/A  N/A      2211      G   /usr/lib/xorg/Xorg       4MiB |\n"
                          "+-----------------------------------------------------------------+\n")),
            "gpu.program[0]=python3\ngpu.program[1]=python3 python3\n");
}

TEST(CpuFrequency, TheGovernorAsPeoplePrintIt) {
  EXPECT_EQ(settings(file("freq.txt", "n1 | CHANGED | rc=0 >>\ngovernor: powersave\n")),
            "cpu.governor=powersave\n");
  EXPECT_EQ(settings(file("freq.txt", "governor: elected by the shareholders\n")), "");
}

TEST(SmiSettings, NotInOtherTexts) {
  EXPECT_EQ(settings(file("train.log",
                          "step 1\n    Persistence Mode                      : Enabled\nstep 2\n")),
            "");
}

TEST(Snapshots, LanesRatesAndGovernors) {
  EXPECT_EQ(
      settings(file("lspci-vv.txt",
                    "0000:07:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 40GB] (rev "
                    "a1)\n\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"
                    "\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16 (ok)\n"
                    "5e:00.0 Infiniband controller: Mellanox Technologies MT28908 Family\n"
                    "\t\tLnkSta:\tSpeed 16GT/s (ok), Width x4 (downgraded)\n"
                    "0000:00:1f.3 Audio device: Intel Corporation Device 1bc8\n"
                    "\t\tLnkSta:\tSpeed 2.5GT/s (ok), Width x1 (ok)\n")),
      "gpu.pcie_width[0000:07:00]=16\nnic.pcie_width[0000:5e:00]=4\n"
      "nic.pcie_speed[0000:5e:00]=16 GT/s\n");
  EXPECT_EQ(settings(file("ethtool.txt",
                          "Settings for ens1f0np0:\n\tSupported ports: [ FIBRE ]\n\tSpeed: "
                          "25000Mb/s\n\tLink detected: yes\nSettings for ens1f1np1:\n\tSpeed: "
                          "Unknown!\n\tLink detected: no\n")),
            "nic.rate[ens1f0np0]=25000Mb/s\n");
  EXPECT_EQ(settings(file("cpupower.txt",
                          "analyzing CPU 0:\n  driver: intel_pstate\n  hardware limits: 800 MHz - "
                          "3.70 GHz\n  current policy: frequency should be within 800 MHz and 3.70 "
                          "GHz.\n                  The governor \"powersave\" may decide which "
                          "speed to use\n                  within this range.\n")),
            "cpu.driver=intel_pstate\ncpu.hardware_limits=800 MHz - 3.70 GHz\n"
            "cpu.governor=powersave\n");
}

TEST(RdmaSettings, OfTheDeviceAbove) {
  EXPECT_EQ(settings(file("ibv_devinfo.txt",
                          "hca_id:\tmlx5_0\n\ttransport:\t\t\tInfiniBand "
                          "(0)\n\tfw_ver:\t\t\t\t28.39.1002\n\tboard_id:\t\t\tMT_"
                          "0000000838\n\t\tport:\t1\n\t\t\tactive_mtu:\t\t4096 (5)\n"
                          "hca_id:\tmlx5_1\n\tfw_ver:\t\t\t\t28.36.1010\n")),
            "nic.firmware[mlx5_0]=28.39.1002\nnic.board_id[mlx5_0]=MT_0000000838\nnic.active_mtu["
            "mlx5_0]=4096 (5)\nnic.firmware[mlx5_1]=28.36.1010\n");
  EXPECT_EQ(
      settings(file(
          "ibstat.txt",
          "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: "
          "28.39.1002\n\tPort 1:\n\t\tState: Active\n\t\tRate: 400\n\t\tLink layer: InfiniBand\n")),
      "nic.type[mlx5_0]=MT4129\nnic.firmware[mlx5_0]=28.39.1002\nnic.rate[mlx5_0]=400\nnic.link_"
      "layer[mlx5_0]=InfiniBand\n");
}

// Ports of the machine that are up; a tunnel inside of it and a port without a cable are none.
TEST(RankRanges, AProcessALine) {
  const auto rows = file("rank_map.txt", "task:0 gpu-a\ntask:1 gpu-b\n");
  ASSERT_EQ(rows.identities.size(), 2u);
  EXPECT_EQ(rows.identities[1].host, "gpu-b");
  EXPECT_EQ(rows.identities[1].rank, 1);
}

TEST(Interfaces, SizesOfPackets) {
  EXPECT_EQ(
      settings(file(
          "ip-link.txt",
          "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT\n"
          "4: roce0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT\n"
          "5: enp92s0np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group 1\n"
          "6: ens7: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc mq state DOWN group 1\n"
          "9: docker0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc noqueue state UP\n")),
      "interface.mtu[roce0]=9000\ninterface.mtu[enp92s0np0]=1500\n");
  EXPECT_EQ(settings(file("ifconfig.txt",
                          "eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500\n"
                          "eth1: flags=4099<UP,BROADCAST,MULTICAST>  mtu 9000\n")),
            "interface.mtu[eth0]=1500\n");
}

TEST(RdmaSettings, AllOfAPortInOneLine) {
  EXPECT_EQ(settings(file("ports.txt",
                          "hca_id: mlx5_0  port: 1 state: PORT_ACTIVE (4) max_mtu: 4096 (5) "
                          "active_mtu: 1024 (3) link_layer: Ethernet\n")),
            "nic.max_mtu[mlx5_0]=4096 (5)\nnic.active_mtu[mlx5_0]=1024 (3)\n"
            "nic.link_layer[mlx5_0]=Ethernet\n");
}

TEST(PingNames, ALineForEachMachine) {
  const auto rows = test::read_text(
      "ping -M do -s 8900 -c 2 192.168.30.14 (gx-14): 100% packet loss\n"
      "ping -s 56 -c 2 192.168.30.15: 0% packet loss, rtt 0.09 ms\n");
  ASSERT_EQ(rows.identities.size(), 1u);
  EXPECT_EQ(rows.identities[0].host, "gx-14");
  EXPECT_EQ(rows.identities[0].address, "192.168.30.14");
}

// Below headings of machines and ports, as loops over both print it.
TEST(FlowControl, OfPortsThatLoseNoPackets) {
  std::string text;
  for (const char* host : {"gx-07", "gx-08"})
    text += fmt::format(
        "## {} eth0\nPriority trust state: dscp\nPFC configuration:\n"
        "\tpriority    0   1   2   3   4   5   6   7\n"
        "\tenabled     0   0   0   1   0   0   0   0\ncma_roce_tos: 106\n",
        host);
  const auto rows = file("mlnx_qos.txt", text);
  EXPECT_EQ(settings(rows),
            "nic.trust=dscp\nnic.pfc=0 0 0 1 0 0 0 0\nnic.roce_tos=106\n"
            "nic.trust=dscp\nnic.pfc=0 0 0 1 0 0 0 0\nnic.roce_tos=106\n");
  EXPECT_EQ(rows.configs.front().host, "gx-07");
  EXPECT_EQ(rows.configs.back().host, "gx-08");
}

TEST(RdmaSettings, APortALine) {
  const auto rows = test::read_text(
      "gx-07 mlx5_2 port 1: state 4: ACTIVE phys 5: LinkUp rate: 100 Gb/sec (1X NDR) link_layer: "
      "InfiniBand\n"
      "mlx5_3: state 4: ACTIVE  phys_state 5: LinkUp  rate: 400 Gb/sec (4X NDR)\n");
  ASSERT_EQ(rows.configs.size(), 2u);
  const auto bare = test::read_text(
      "pm139 mlx5_4 State Active Physical LinkUp Rate 100 (1X NDR, width degraded)\n");
  const auto heading =
      test::read_text("n11 CA 'mlx5_2' State: Active  Physical state: LinkUp  Rate: 100  Base\n");
  ASSERT_EQ(heading.configs.size(), 1u);
  EXPECT_EQ(heading.configs[0].name + "=" + heading.configs[0].value, "nic.rate[mlx5_2]=100");
  ASSERT_EQ(bare.configs.size(), 1u);
  EXPECT_EQ(bare.configs[0].value, "100 (1X NDR)");
  EXPECT_EQ(bare.configs[0].host, "pm139");
  EXPECT_EQ(rows.configs[0].name + "=" + rows.configs[0].value,
            "nic.rate[mlx5_2]=100 Gb/sec (1X NDR)");
  EXPECT_EQ(rows.configs[0].host, "gx-07");
  EXPECT_FALSE(rows.configs[1].host);
}

TEST(Sysctl, KeepsWhatMattersAndRejectsNothing) {
  const auto rows =
      file("sysctl-a.txt",
           "abi.vsyscall32 = 1\nfs.file-nr = 7264\t0\t9223372036854775807\nkernel.hostname = "
           "n1\nkernel.numa_balancing = 0\nnet.core.rmem_max = "
           "212992\nnet.ipv4.conf.eth0.rp_filter = 2\n"
           "net.ipv4.tcp_rmem = 4096\t131072\t6291456\nsysctl: permission denied on key "
           "'net.ipv6.conf.all.stable_secret'\nvm.max_map_count = 65530\n");
  EXPECT_EQ(settings(rows),
            "sysctl.kernel.numa_balancing=0\nsysctl.net.core.rmem_max=212992\nsysctl.net.ipv4.tcp_"
            "rmem=4096\t131072\t6291456\nsysctl.vm.max_map_count=65530\n");
  EXPECT_EQ(rows.reasons(), "");
  EXPECT_EQ(rows.members[0].format, "sysctl");
  EXPECT_NE(file("notes.txt", "a.b = 1\nwhat we saw\nand did\nthen\n").members[0].format, "sysctl");
}

TEST(Packages, DpkgRpmAndPip) {
  EXPECT_EQ(
      settings(file(
          "dpkg.txt",
          "Desired=Unknown/Install/Remove/Purge/Hold\n| Status=Not/Inst\n||/ Name   Version  "
          "Architecture Description\n+++-====-====\nii  bash  5.1-6ubuntu1  amd64  GNU\n"
          "ii  libnccl2:amd64  2.19.3-1+cuda12.3  amd64  NVIDIA\nrc  libnvidia-compute-535  "
          "535.1-0  amd64  old\nhi  mlnx-ofed-kernel-dkms  23.10-OFED.23.10.0.5.5.1  all  x\n")),
      "package.libnccl2=2.19.3-1+cuda12.3\npackage.mlnx-ofed-kernel-dkms=23.10-OFED.23.10.0.5.5."
      "1\n");
  EXPECT_EQ(
      settings(file("rpm-qa.txt",
                    "bash-5.1.8-9.el9.x86_64\nlibnccl-2.19.3-1+cuda12.3.x86_64\nglibc-2.34-100.el9_"
                    "4.2.x86_64\nkernel-core-5.14.0-427.el9.x86_64\ntzdata-2024a-1.el9.noarch\n")),
      "package.libnccl=2.19.3-1+cuda12.3\npackage.glibc=2.34-100.el9_4.2\npackage.kernel-core=5.14."
      "0-427.el9\n");
  EXPECT_EQ(settings(file("pip-freeze.txt",
                          "Jinja2==3.1.3\nnvidia-nccl-cu12==2.20.5\ntorch==2.3.1+cu121\nflash_attn="
                          "=2.5.9\napex @ file:///opt/apex\n-e git+https://host/x#egg=x\n")),
            "pip.nvidia-nccl-cu12=2.20.5\npip.torch=2.3.1+cu121\npip.flash-attn=2.5.9\npip.apex="
            "file:///opt/apex\n");
  EXPECT_EQ(settings(file("pip-list.txt",
                          "Package    Version\n---------- -------\nJinja2     3.1.3\ntorch      "
                          "2.3.1\ntriton     2.3.1\n")),
            "pip.torch=2.3.1\npip.triton=2.3.1\n");
}

TEST(Environment, KeepsVariablesOfLibrariesOnly) {
  const auto rows = file(
      "env.txt",
      "HOME=/root\nPATH=/usr/"
      "bin\nNCCL_IB_HCA=mlx5_0\nAWS_SECRET_ACCESS_KEY=abc\nCUDA_VISIBLE_DEVICES=0\nBASH_FUNC_ml%%=("
      ") {  eval 1\n}\nOMP_NUM_THREADS=8\nLANG=C\nSHELL=/bin/sh\nTERM=dumb\nUSER=a\nSHLVL=1\n");
  EXPECT_EQ(settings(rows), "env.NCCL_IB_HCA=mlx5_0\nenv.OMP_NUM_THREADS=8\n");
  EXPECT_EQ(rows.reasons(), "");
  EXPECT_NE(
      file("env.txt", "HOME=/root\nPATH=/usr/bin\nRANK=3\nNCCL_IB_HCA=mlx5_0\n").members[0].format,
      "environment")
      << "that is a process";
  EXPECT_EQ(settings(file("env2.txt", "export NCCL_ALGO=Ring\ndeclare -x UCX_TLS=\"rc\"\n")),
            "env.NCCL_ALGO=Ring\nenv.UCX_TLS=rc\n");
  EXPECT_EQ(
      settings(file("os-release",
                    "NAME=\"Ubuntu\"\nVERSION_ID=\"22.04\"\nPRETTY_NAME=\"Ubuntu 22.04.4 LTS\"\n")),
      "os_release=Ubuntu 22.04.4 LTS\n");
}

TEST(Lsmod, WhatIsMissingIsToldLikeWhatIsLoaded) {
  const auto rows = file("lsmod.txt",
                         "Module                  Size  Used by\n"
                         "nvidia_peermem         20480  0\n"
                         "nvidia               9371648  120 nvidia_peermem\n"
                         "mlx5_ib               401408  2\n");
  EXPECT_EQ(settings(rows),
            "module.loaded.nvidia_peermem=loaded\nmodule.loaded.mlx5_ib=loaded\n"
            "module.loaded.nv_peer_mem=not loaded\nmodule.loaded.gdrdrv=not loaded\n"
            "module.loaded.nvidia_uvm=not loaded\nmodule.loaded.rdma_ucm=not loaded\n");
  EXPECT_EQ(settings(file("lsmod.txt",
                          "Module                  Size  Used by\nmlx5_ib               401408  "
                          "2\n")),
            "module.loaded.mlx5_ib=loaded\n");
}

// A tool that was run on several machines: each part is read as a file of its own, and rows stand
// where the lines do.
TEST(MachineSections, PartsOfSeveralMachinesAreReadAsFilesOfEach) {
  const std::string text =
      "n1: nvidia 9371648 120 nvidia_uvm,nvidia_peermem\nn1: nvidia_peermem 20480 0\n"
      "n2: nvidia 9371648 120 nvidia_uvm\n";
  const auto rows = file("modules.txt", text);
  std::string found;
  for (const ConfigRow& r : rows.configs)
    if (r.name == "module.loaded.nvidia_peermem")
      found += fmt::format("{} {} line {} '{}'\n", *r.host, r.value, r.place.line,
                           text.substr(r.place.offset, r.place.length));
  EXPECT_EQ(found,
            "n1 loaded line 2 'nvidia_peermem 20480 0'\n"
            "n2 not loaded line 3 'nvidia 9371648 120 nvidia_uvm'\n");
}

TEST(MachineSections, BelowHeadingsAndOfOneMachineNone) {
  const std::string modules = "nvidia 9371648 120 nvidia_uvm\nnvidia_uvm 4841472 16\n";
  const auto loaded = [](const test::Rows& rows) {
    std::string out;
    for (const ConfigRow& r : rows.configs)
      if (r.name == "module.loaded.nvidia_uvm") out += r.host ? *r.host + " " : "? ";
    return out;
  };
  EXPECT_EQ(loaded(file("m.txt", "---------------\ngx-01\n---------------\n" + modules +
                                     "---------------\ngx-02\n---------------\n" + modules +
                                     "---------------\ngx-[03-04]\n---------------\n" + modules)),
            "gx-01 gx-02 ");
  EXPECT_EQ(loaded(file("m.txt", "===== gx-01 lsmod\n" + modules + "===== gx-02 lsmod\n" + modules +
                                     "===== else\n" + modules)),
            "gx-01 gx-02 ");
  EXPECT_EQ(loaded(file("m.txt", "===== gx-01 lsmod\n" + modules)), "");
}

TEST(Snapshots, GovernorsOfManyMachines) {
  const auto rows = file("freq.txt",
                         "----- hpc-01\nscaling_governor (all cpus): 64 performance\n"
                         "----- hpc-02\nscaling_governor (all cpus): 64 performance\n"
                         "----- hpc-03\nscaling_governor (all cpus): 64 powersave\n");
  std::string found;
  for (const ConfigRow& r : rows.configs)
    if (r.name == "cpu.governor") found += (r.host ? *r.host : Host("?")) + "=" + r.value + " ";
  EXPECT_EQ(found, "hpc-01=performance hpc-02=performance hpc-03=powersave ");
}

TEST(Versions, ListsByHandAndTheReportOfTorch) {
  EXPECT_EQ(
      settings(file("versions.txt",
                    "# collected after the end\ndriver: 535.183.01\ncuda: 12.2\nnccl: 2.20.5\n"
                    "ofed: MLNX_OFED_LINUX-23.10-0.5.5.0\nkernel: 5.15.0-1053-nvidia\n"
                    "torch: 2.4.0+cu121\n")),
      "driver_version=535.183.01\npackage.cuda=12.2\nnccl_version=2.20.5\n"
      "package.mlnx-ofed=MLNX_OFED_LINUX-23.10-0.5.5.0\nkernel_version=5.15.0-1053-nvidia\n"
      "pip.torch=2.4.0+cu121\n");
  EXPECT_EQ(settings(file("software",
                          "NCCL_VERSION=2.21.5\nNVIDIA driver 550.54.15\n"
                          "Fabric Manager version = 550.54.15\n")),
            "nccl_version=2.21.5\ndriver_version=550.54.15\n"
            "package.nvidia-fabricmanager=550.54.15\n");
  EXPECT_EQ(settings(file("env.txt",
                          "Collecting environment information...\nPyTorch version: 2.3.1+cu121\n"
                          "Is debug build: False\nCUDA used to build PyTorch: 12.1\n"
                          "ROCM used to build PyTorch: N/A\n\nOS: Ubuntu 22.04.4 LTS (x86_64)\n"
                          "CUDA runtime version: 12.4.131\nNvidia driver version: 550.54.15\n"
                          "Versions of relevant libraries:\n[pip3] numpy==1.26.4\n"
                          "[pip3] nvidia-nccl-cu12==2.20.5\n[conda] Could not collect\n")),
            "pip.torch-cuda=12.1\n"
            "package.cuda-runtime=12.4.131\ndriver_version=550.54.15\npip.numpy=1.26.4\n"
            "pip.nvidia-nccl-cu12=2.20.5\n");
}

// A job that prints its versions and trains on has a log, and its last line may be the reason.
TEST(Versions, ALogThatBeginsWithThem) {
  const std::string report =
      "Collecting environment information...\nPyTorch version: 2.3.1+cu121\n"
      "CUDA used to build PyTorch: 12.1\nVersions of relevant libraries:\n"
      "[pip3] numpy==1.26.4\n";
  EXPECT_NE(settings(file("slurm-1.out", report)), "");
  EXPECT_EQ(settings(file("slurm-1.out", report + "RuntimeError: CUDA error: ECC\n")), "");
  std::string list = "driver: 535.183.01\n";
  for (int i = 0; i < 12; ++i) list += "nccl: 2.20." + std::to_string(i) + "\n";
  EXPECT_NE(settings(file("rank_3.log", list)), "");
  EXPECT_EQ(settings(file("rank_3.log", list + "RuntimeError: CUDA error: ECC\n")), "");
}

TEST(Versions, NotInConfigurations) {
  EXPECT_EQ(settings(file("config.yaml", "kernel: rbf\ntorch: true\nepochs: 12\nlr: 0.1\n")),
            "job.kernel=rbf\njob.torch=true\njob.epochs=12\njob.lr=0.1\n");
  EXPECT_EQ(settings(file("out.log",
                          "kernel: NVRM: loading 535.1\ndriver: ok 3\nnccl: 2 rings\n"
                          "step 1\nstep 2\nstep 3\n")),
            "");
}

TEST(DriverInformation, ModinfoAndEthtool) {
  EXPECT_EQ(
      settings(file("modinfo.txt",
                    "filename:       /lib/modules/5.15.0/updates/dkms/nvidia.ko.zst\nversion:      "
                    "  550.90.07\nlicense:        NVIDIA\nvermagic:       5.15.0 SMP\n")),
      "driver_version=550.90.07\n");
  EXPECT_EQ(settings(file("ethtool-i.txt",
                          "driver: mlx5_core\nversion: 24.04-0.6.6\nfirmware-version: 28.39.1002 "
                          "(MT_0000000838)\nbus-info: 0000:1a:00.0\n")),
            "ethernet.mlx5_core.driver=24.04-0.6.6\nethernet.mlx5_core.firmware=28.39.1002 "
            "(MT_0000000838)\n");
}

// Scripts, command lines and settings that start a job; the options of no other program.
TEST(LaunchScript, OptionsVariablesAndDirectives) {
  EXPECT_EQ(settings(file("run.sbatch",
                          "#!/bin/bash\n#SBATCH --nodes=8\n# a remark\nexport NCCL_IB_HCA=mlx5\n"
                          "srun python train.py --micro-batch-size 4 --overlap-grad-reduce\n")),
            "job.nodes=8\njob.env.NCCL_IB_HCA=mlx5\njob.micro_batch_size=4\n"
            "job.overlap_grad_reduce=set\n");
  EXPECT_EQ(settings(file("conf.toml", "[optim]\nlr = 3e-4\n# x\n[data]\nnum_workers = 16\n")),
            "job.optim.lr=3e-4\njob.data.num_workers=16\n");
  EXPECT_EQ(settings(file("backup.sh", "#!/bin/sh\nrsync -a --delete /a /b\n")), "");
}

TEST(JobConfigJson, ScalarsByTheirPath) {
  EXPECT_EQ(
      settings(file("args.json",
                    R"({"lr": 0.1, "fp16": {"enabled": true}, "num_workers": {"value": 16}})")),
      "job.lr=0.1\njob.fp16.enabled=true\njob.num_workers=16\n");
  EXPECT_EQ(settings(file("config.json", R"({"hf_token": "abc"})")), "job.hf_token=(not kept)\n");
  EXPECT_EQ(settings(file("results.json", R"({"lr": 0.1})")), "");
}

TEST(Settings, MemoryOfAMachine) {
  EXPECT_EQ(
      settings(file("free.txt",
                    "               total        used        free      shared  buff/cache   "
                    "available\nMem:         2063594      915707     1087594          79       "
                    "61954     1133594\n")),
      "host.memory=2016 GiB\n");
  EXPECT_EQ(settings(file("top.txt",
                          "top - 03:14:22 up 41 days\nMiB Mem : 1031722.0 total,   41822.1 free,  "
                          "402118.2 used,  587781.7 buff/cache\n")),
            "host.memory=1008 GiB\n");
  EXPECT_EQ(settings(file("meminfo", "MemTotal:       2113120256 kB\nMemFree: 1 kB\n")),
            "host.memory=2016 GiB\n");
}

TEST(Settings, PortsThatRedirect) {
  std::string text;
  for (const char* sign : {"+", "+", "-", "-"})
    text += fmt::format(
        "0000:15:01.0 PCI bridge: a switch\n\t\tACSCtl:\tSrcValid{0} TransBlk- ReqRedir{0} "
        "CmpltRedir{0} UpstreamFwd{0} EgressCtrl- DirectTrans-\n",
        sign);
  EXPECT_EQ(settings(file("lspci.txt", text)), "pci.redirecting_ports=2\n");
}

TEST(Settings, ServersOfMounts) {
  const auto rows = file("mounts.txt",
                         "filer2:/export/ckpt on /nfs/ckpt type nfs4 (rw,hard,addr=10.20.0.12)\n"
                         "filer1:/home /home nfs4 rw,addr=10.20.0.11 0 0\n"
                         "localhost:/x on /x type nfs4 (rw)\n");
  EXPECT_EQ(settings(rows), "storage.server=filer2\nstorage.server=filer1\n");
  ASSERT_EQ(rows.identities.size(), 2u);
  EXPECT_EQ(rows.identities[1].address, "10.20.0.11");
}

}  // namespace
}  // namespace culprit::ingest
