#include "analyze/facts/host_names.hpp"

#include <algorithm>

#include <re2/re2.h>

#include "analyze/facts/facts.hpp"
#include "model/address.hpp"

namespace culprit::analyze {

namespace {

// "10-24-7-61" is how addresses stand in names of files; the address, else nothing.
std::string address_with_dashes(std::string name) {
  static const re2::RE2 kAddress(R"(\d{1,3}(?:-\d{1,3}){3})");
  // Asked for the host of every row: nearly all begin with a letter.
  if (name.empty() || name[0] < '0' || name[0] > '9' || !re2::RE2::FullMatch(name, kAddress))
    return {};
  std::replace(name.begin(), name.end(), '-', '.');
  return name;
}

// "gpu-a17-ib2", "gpu-a17-rail3": the name that a network of its own gives to a machine. The length
// of the machine's name; npos: none.
std::size_t machine_of_interface(const std::string& name) {
  static const re2::RE2 kInterface(
      R"(.+?([-_.](?:r|rail|ib|roce|rdma|hca|nic|eth|opa|hsn)\d{0,2}))");
  // Asked for every file: what stands behind the last of these tells nearly all.
  const std::size_t last = name.find_last_of("-_.");
  if (last == std::string::npos || last + 1 == name.size() ||
      std::string_view("rihneo").find(name[last + 1]) == std::string_view::npos)
    return std::string::npos;
  std::string end;
  if (!re2::RE2::FullMatch(name, kInterface, &end)) return std::string::npos;
  return name.size() - end.size();
}

// "r07", "rail3": racks are called so, too.
bool rack_or_rail(std::string_view end) {
  return end.starts_with("rail") || end.find_first_not_of("0123456789", 1) == std::string::npos;
}

}  // namespace

Host HostNames::canonical(const std::string& name) const {
  if (const auto it = address_.find(name); it != address_.end()) return it->second;
  if (is_address(name)) return Host(name);
  Host small = short_host(name);
  if (const auto it = address_.find(small); it != address_.end()) return it->second;
  if (const auto it = address_.find(address_with_dashes(small)); it != address_.end())
    return it->second;
  const auto it = domains_.find(small);
  // Where a machine of the shorter name is known, too, it is that one's. "gpu-r07" beside "gpu" may
  // be a rack's: not if it is a name of its own.
  if (const std::size_t end = machine_of_interface(small);
      end != std::string::npos && domains_.count(small.substr(0, end)) > 0 &&
      (it == domains_.end() || !rack_or_rail(small.substr(end + 1))))
    return Host(small.substr(0, end));
  if (it != domains_.end()) return it->second.size() > 1 ? Host(name) : small;
  return small;
}

void HostNames::learn(const std::string& name) {
  if (nameless_host(name) || is_address(name)) return;
  const std::string small = short_host(name);
  if (small.find_first_not_of("0123456789") == std::string::npos)
    return;  // part of an address, a number: no name
  if (!address_with_dashes(small).empty()) return;
  auto& domains = domains_[small];
  if (name.size() > small.size()) domains.insert(name.substr(small.size()));
}

void HostNames::learn_address(const std::string& address, const Host& host) {
  if (!address.empty() && !nameless_host(address) && address != host)
    address_.emplace(address, host);
}

void HostNames::learn_addresses_in_names() {
  static const re2::RE2 kAddress(
      R"((?:^|-)((?:10|172-(?:1[6-9]|2\d|3[01])|192-168)(?:-\d{1,3}){2,3})$)");
  std::map<std::string, std::set<std::string>> named;
  for (const auto& [name, domains] : domains_) {
    std::string address;
    if (!re2::RE2::PartialMatch(name, kAddress, &address) ||
        std::count(address.begin(), address.end(), '-') != 3)
      continue;
    std::replace(address.begin(), address.end(), '-', '.');
    named[address].insert(name);
  }
  for (const auto& [address, hosts] : named)
    if (hosts.size() == 1) learn_address(address, Host(*hosts.begin()));
}

namespace {

// "cn-110" in its stem and number, "10.40.3.10" in its network and the last part; nothing without
// both, or where the number is too long to count machines.
std::optional<std::pair<std::string, std::int64_t>> stem_and_number(const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  if (digits == 0 || digits == name.size() || name.size() - digits > 6) return std::nullopt;
  return std::pair(name.substr(0, digits), std::strtoll(name.c_str() + digits, nullptr, 10));
}

}  // namespace

void HostNames::learn_addresses_by_number(const std::set<std::string>& addresses) {
  constexpr std::size_t kFewest = 4;
  using Numbered = std::map<std::int64_t, std::string>;
  std::map<std::string, Numbered> machines, networks;  // by what stands before the number
  std::set<std::string> twice;                         // "n7" and "n07"
  const auto number = [&](const std::string& name, std::map<std::string, Numbered>& out) {
    if (const auto parts = stem_and_number(name))
      if (!out[parts->first].emplace(parts->second, name).second) twice.insert(parts->first);
  };
  for (const auto& [name, domains] : domains_)
    if (!is_address(Host(name))) number(name, machines);
  for (const std::string& address : addresses)
    if (address_.count(address) == 0) number(address, networks);
  for (const auto& [network, of_network] : networks) {
    const Numbered* alike = nullptr;
    std::size_t stems = 0;
    for (const auto& [stem, of_stem] : machines)
      if (twice.count(stem) == 0 &&
          std::ranges::equal(of_stem, of_network, {}, &Numbered::value_type::first,
                             &Numbered::value_type::first))
        alike = &of_stem, ++stems;
    if (of_network.size() < kFewest || stems != 1 || twice.count(network) > 0) continue;
    for (const auto& [n, address] : of_network) learn_address(address, canonical(alike->at(n)));
  }
}

void HostNames::learn_addresses_as_others(const std::set<std::string>& addresses) {
  constexpr std::size_t kFewest = 4;
  // By the stem of the names and the network: how far apart both numbers are; with two distances
  // neither says anything.
  struct Distance {
    std::int64_t apart = 0;
    std::size_t pairs = 0;
    bool alike = true;
  };
  std::map<std::pair<std::string, std::string>, Distance> found;
  std::set<std::string> placed;
  for (const auto& [address, host] : address_) {
    placed.insert(host);
    const auto place = stem_and_number(address), machine = stem_and_number(host);
    if (!is_address(Host(address)) || !place || !machine) continue;
    const std::int64_t apart = place->second - machine->second;
    Distance& of = found[{place->first, machine->first}];
    of.alike = of.alike && (of.pairs == 0 || of.apart == apart);
    of.apart = apart;
    ++of.pairs;
  }
  std::map<std::string, std::string> learnt;
  for (const std::string& address : addresses) {
    const auto place = address_.count(address) > 0 ? std::nullopt : stem_and_number(address);
    if (!place) continue;
    std::size_t fits = 0;
    for (const auto& [name, domains] : domains_) {
      const auto machine = stem_and_number(name);
      if (!machine || placed.count(name) > 0) continue;
      const auto of = found.find({place->first, machine->first});
      if (of == found.end() || !of->second.alike || of->second.pairs < kFewest ||
          place->second - machine->second != of->second.apart)
        continue;
      learnt[address] = name;
      ++fits;
    }
    if (fits != 1) learnt.erase(address);
  }
  for (const auto& [address, host] : learnt) learn_address(address, Host(host));
}

Host HostNames::by_ending(const std::string& end) const {
  const auto it = endings_.find(end);
  return it == endings_.end() ? Host() : it->second;
}

void HostNames::learn_endings() {
  // Such ends are drawn by chance, or count the slots of a rack of which many are known: "u19" of
  // h200-r3-u19. "node01" is a name of its own beside login-node01.
  static const re2::RE2 kDrawn(R"([a-z0-9]*\d[a-z0-9]*[a-z][a-z0-9]*)"),
      kCounted(R"([a-z]{1,2}\d{1,4})");
  constexpr std::size_t kMany = 4;
  std::map<std::string_view, std::size_t> racks;
  for (const auto& [name, domains] : domains_)
    if (const std::size_t at = name.rfind('-'); at != std::string::npos)
      ++racks[std::string_view(name).substr(0, at)];
  for (const auto& [name, domains] : domains_)
    for (std::size_t at = name.find('-'); at != std::string::npos; at = name.find('-', at + 1)) {
      const std::string end = name.substr(at + 1);
      const bool drawn = end.size() >= 4 && re2::RE2::FullMatch(end, kDrawn);
      const bool counted = re2::RE2::FullMatch(end, kCounted) &&
                           racks[std::string_view(name).substr(0, at)] >= kMany;
      const bool rack = re2::RE2::FullMatch(end, kCounted);
      if ((!drawn && !rack) || known(end)) continue;
      const auto [it, fresh] = endings_.try_emplace(end, Host(name));
      // Of several racks, or of one of which too few are known, it may be another's.
      if (!fresh || (!drawn && !counted)) it->second = Host();
    }
}

std::optional<Host> HostNames::speaker(const std::optional<Host>& printed,
                                       const MemberRow* file) const {
  if (printed && !nameless_host(*printed)) return canonical(*printed);
  return file != nullptr ? file->host : std::nullopt;
}

bool HostNames::known(const std::string& name) const {
  return domains_.count(short_host(name)) > 0 || (!is_address(name) && address_.count(name) > 0);
}

}  // namespace culprit::analyze
