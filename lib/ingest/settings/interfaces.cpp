// Sizes of packets that the interfaces of a machine take: ip link, ip addr, ifconfig.
#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

namespace {

// "4: roce0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP" and "eth0:
// flags=4163<UP, BROADCAST,RUNNING,MULTICAST>  mtu 1500", of a port that is up. Bridges and tunnels
// inside of the machine have sizes of their own.
Outcome read_interface(const TextLine& line, Reading& reading) {
  static const re2::RE2 kInterface(
      R"(^\s*(?:\d+: )?((?:eno|ens|enp|eth|bond|ib|rail|rdma|roce|gpu|hsn|mlx|net|p\d)[\w.-]*): (?:flags=\d+)?<((?:\w|,|-)*)>\s+mtu (\d+)(.*))");
  std::string name, flags, mtu, rest;
  // Behind a machine's name where the lines of several are put together.
  const std::string_view text =
      line.line.prefix.host ? std::string_view(line.line.message) : line.raw;
  if (text.size() > 400 ||
      !re2::RE2::PartialMatch({text.data(), text.size()}, kInterface, &name, &flags, &mtu, &rest))
    return {};
  const std::string among = "," + flags + ",";
  if (among.find(",UP,") == std::string::npos || rest.find("state DOWN") != std::string::npos ||
      (among.find(",LOWER_UP,") == std::string::npos &&
       among.find(",RUNNING,") == std::string::npos))
    return {};
  reading.sink.put(ConfigRow{line.place, "interface.mtu[" + name.substr(0, 64) + "]", mtu,
                             reading.host_of(line.line.prefix)});
  return {true};
}

constexpr std::string_view kInterfaceWords[] = {" qdisc ", ": flags="};

}  // namespace

extern constinit const Recogniser kInterfaces{
    "interfaces", "ip link, ip addr, ifconfig: the sizes of packets that interfaces take",
    kInterfaceWords, read_interface};

}  // namespace culprit::ingest
