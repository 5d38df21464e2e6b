// The names of the machines of a bundle: short and full ones, addresses, pods, and what people call
// them in names of files.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "model/rows.hpp"

namespace culprit::analyze {

class HostNames {
 public:
  // Two names of one machine (short and full) become one: the shorter, unless two machines share
  // it.
  Host canonical(const std::string& name) const;
  void learn(const std::string& name);
  // Another name of a machine: an address, a pod, the name that a node has in the scheduler.
  void learn_address(const std::string& address, const Host& host);
  // "h800-10-8-33-21", "ip-172-31-45-3": clouds and sites name machines after their addresses. Of
  // private networks only: other four numbers are rows and racks.
  void learn_addresses_in_names();
  // Addresses of one network that end in 40 to 47 beside machines whose names do, and no others:
  // each is that machine's. One number by itself, or a part of them, is chance.
  void learn_addresses_by_number(const std::set<std::string>& addresses);
  // Addresses that nobody calls his own, where machines called alike have addresses that end as far
  // from their numbers: beside cn-110 at 10.40.3.10 and three more such, 10.40.3.18 is cn-118.
  void learn_addresses_as_others(const std::set<std::string>& addresses);
  // "describe_node_q8zd.txt" beside gke-pool-7c1f2e90-q8zd: people keep the end of a long name.
  // Empty: no name, or several, end so. After learn_endings().
  Host by_ending(const std::string& end) const;
  void learn_endings();
  bool known(const std::string& name) const;
  // Who prints a line: the machine that it names, else that of its file (null: not known).
  std::optional<Host> speaker(const std::optional<Host>& printed, const MemberRow* file) const;
  const std::map<std::string, Host>& addresses() const { return address_; }

 private:
  std::map<std::string, std::set<std::string>> domains_;  // short name -> domains seen
  std::map<std::string, Host> address_;
  std::map<std::string, Host> endings_;  // of names; of several: empty
};

}  // namespace culprit::analyze
