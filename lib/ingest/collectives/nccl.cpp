// NCCL text (src/debug.cc, init.cc, net_ib.cc, bootstrap.cc; 2.4 to 2.30): who is which rank of
// which communicator on which host and device, which addresses and NICs a process uses, which
// version and settings.
#include <re2/re2.h>

#include "ingest/collectives/nccl_calls.hpp"
#include "ingest/engine/operation.hpp"
#include "ingest/engine/recogniser.hpp"
#include "model/contains.hpp"
#include "model/pci.hpp"

namespace culprit::ingest {

namespace {

Outcome read_init(const TextLine& line, Reading& reading) {
  static const re2::RE2 kInit(
      R"(comm (0x[0-9a-f]+|\(nil\)) rank (\d+) n[rR]anks (\d+)(?: cudaDev (\d+))?(?: nvmlDev \d+)?(?: busId ([0-9a-f]+))?(?: commId (0x[0-9a-f]+))?.* - Init (START|COMPLETE))");
  IdentityRow row;
  std::int64_t rank = 0;
  std::int64_t nranks = 0;
  std::string pointer, device, bus, comm, phase;
  if (!re2::RE2::PartialMatch(line.line.message, kInit, &pointer, &rank, &nranks, &device, &bus,
                              &comm, &phase))
    return {false, nullptr, "nccl.init_torn"};
  if (!line.line.prefix.host || nranks < 1 || nranks > 10'000'000 || rank >= nranks)
    return {false, nullptr, "nccl.init_torn"};
  row.place = line.place;
  row.source = phase == "START" ? "nccl-init-start" : "nccl-init";
  row.host = line.line.prefix.host;
  row.pid = line.line.prefix.pid;
  row.task = line.line.prefix.task;
  row.rank = rank;
  row.world_size = nranks;
  if (!device.empty() && device.size() < 6) row.device = std::strtoll(device.c_str(), nullptr, 10);
  row.gpu = pci_from_bus_id(bus);
  row.communicator = comm.empty() ? "nccl-" + std::to_string(nranks) : normal_hash(comm);
  reading.sink.put(row);
  if (!comm.empty() && pointer.starts_with("0x"))
    tie_communicator(pointer, normal_hash(comm), rank, nranks, line, reading);
  if (line.line.prefix.rank) {  // the launcher's prefix names the global rank on the same line
    reading.sink.put(IdentityRow{.place = line.place,
                                 .source = "prefix",
                                 .host = row.host,
                                 .pid = row.pid,
                                 .rank = number_of(*line.line.prefix.rank),
                                 .gpu = row.gpu});
  }
  return {true};
}

// NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE ; OOB bond0:10.0.0.1<0>   ·   Bootstrap : Using
// eth0:10.0.0.1<0>
Outcome read_network(const TextLine& line, Reading& reading) {
  if (!line.line.prefix.host) return {};
  static const re2::RE2 kAddress(
      R"((?:OOB |Bootstrap ?: ?Using |NET/Socket ?: ?Using \[0\])([\w.-]+):([0-9a-fA-F.:]+)<\d+>)");
  static const re2::RE2 kNic(R"(\[\d+\]([\w.-]+):\d+/(?:IB|RoCE))");
  std::string interface, address;
  bool used = false;
  if (re2::RE2::PartialMatch(line.line.message, kAddress, &interface, &address) &&
      address != "127.0.0.1" && address != "::1") {
    reading.sink.put(IdentityRow{.place = line.place,
                                 .source = "nccl-net",
                                 .host = line.line.prefix.host,
                                 .address = address,
                                 .pid = line.line.prefix.pid,
                                 .task = line.line.prefix.task});
    used = true;
  }
  re2::StringPiece rest(line.line.message);
  std::string nic;
  for (int i = 0; i < 64 && re2::RE2::FindAndConsume(&rest, kNic, &nic); ++i) {
    reading.sink.put(IdentityRow{
        .place = line.place, .source = "nccl-net", .host = line.line.prefix.host, .nic = nic});
    used = true;
  }
  return {used};
}

Outcome read_settings(const TextLine& line, Reading& reading) {
  static const re2::RE2 kVersion(R"(NCCL version (\d+\.\d+[\w.+-]*))");
  static const re2::RE2 kSetting(R"((NCCL_[A-Z0-9_]+) set by environment to (.*?)\.?$)");
  ConfigRow row{.place = line.place, .host = line.line.prefix.host, .rank = line.line.prefix.rank};
  std::string key;
  if (re2::RE2::PartialMatch(line.line.message, kSetting, &key, &row.value))
    row.name = "env." + key;
  else if (!contains(line.line.message, "NCCL error") &&
           re2::RE2::PartialMatch(line.line.message, kVersion, &row.value))
    row.name = "nccl_version";
  else
    return {};
  row.value = row.value.substr(0, 400);
  reading.sink.put(row);
  return {true};
}

// NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0' (net.cc and net_ib.cc, 2.4 to 2.30)
Outcome read_direct(const TextLine& line, Reading& reading) {
  static const re2::RE2 kDirect(R"(GPU Direct RDMA (Enabled|Disabled) for HCA \d+ '([\w.:-]+)')");
  std::string state, nic;
  if (!line.line.prefix.host || !re2::RE2::PartialMatch(line.line.message, kDirect, &state, &nic))
    return {};
  reading.sink.put(ConfigRow{.place = line.place,
                             .name = "nccl.gpu_direct_rdma[" + nic.substr(0, 64) + "]",
                             .value = state == "Enabled" ? "enabled" : "disabled",
                             .host = line.line.prefix.host,
                             .rank = line.line.prefix.rank});
  return {true};
}

constexpr std::string_view kInitWords[] = {" - Init COMPLETE", " - Init START"};
constexpr std::string_view kNetworkWords[] = {"NET/IB : Using",     "NET/IB: Using",
                                              "Bootstrap : Using",  "Bootstrap: Using",
                                              "NET/Socket : Using", "NET/Socket: Using"};
constexpr std::string_view kDirectWords[] = {"GPU Direct RDMA "};
constexpr std::string_view kSettingWords[] = {"set by environment to", "NCCL version "};

}  // namespace

extern constinit const Recogniser kNcclDirect{
    "nccl-direct", "NCCL's word on GPUDirect RDMA for each NIC", kDirectWords, read_direct};
extern constinit const Recogniser kNcclInit{
    "nccl-init", "NCCL communicator set-up: host, pid, rank, device and PCI address", kInitWords,
    read_init};
extern constinit const Recogniser kNcclNetwork{
    "nccl-net", "NCCL's choice of network: addresses and NICs of a host", kNetworkWords,
    read_network};
extern constinit const Recogniser kNcclSettings{"nccl-settings", "NCCL version and NCCL_* settings",
                                                kSettingWords, read_settings};

}  // namespace culprit::ingest
