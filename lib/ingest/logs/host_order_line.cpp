// "hosts (rank order): node-3 node-7 node-1", "hostfile order: quark gluon lepton": the machines of
// a run, in the order in which its ranks stand on them, as launch scripts print them.
#include <vector>

#include <re2/re2.h>

#include "ingest/engine/recogniser.hpp"
#include "line/header_layout.hpp"
#include "line/trimmed.hpp"

namespace culprit::ingest {

namespace {

Outcome read_host_order(const TextLine& line, Reading& reading) {
  constexpr std::size_t kLongestOrder = 16'384, kMostHosts = 4'096;
  static const re2::RE2 kOrder(
      R"((?i)(?:^|[^a-z])(?:hosts?|nodes?|hostfile|machines?)\b[ (]*(?:in )?(?:rank|node)?[ _-]?order\)? *[:=] *(.+)$)");
  const std::string_view text = line.line.message;
  std::string names;
  if (text.size() > kLongestOrder ||
      !re2::RE2::PartialMatch({text.data(), text.size()}, kOrder, &names))
    return {};
  std::vector<Host> hosts;
  for (std::size_t at = 0; at < names.size() && hosts.size() < kMostHosts;) {
    const std::size_t end = std::min(names.find_first_of(" ,[]'\"", at), names.size());
    const std::string word = names.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const bool host = word.size() <= 253 && isalnum(static_cast<unsigned char>(word[0])) != 0 &&
                      word.find_first_not_of(
                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                          "0123456789-._") == std::string::npos &&
                      line::may_name_machine(word);
    if (!host || std::ranges::find(hosts, Host(word)) != hosts.end()) return {};
    hosts.emplace_back(word);
  }
  if (hosts.size() < 2) return {};
  for (std::size_t i = 0; i < hosts.size(); ++i)
    reading.sink.put(IdentityRow{.place = line.place,
                                 .source = "host order",
                                 .host = hosts[i],
                                 .node_rank = static_cast<std::int64_t>(i)});
  return {true, nullptr, {}};
}

constexpr std::string_view kHostOrderWords[] = {"order:", "order):", "order=", "order :"};

}  // namespace

extern constinit const Recogniser kHostOrder{
    "host-order", "lines that list the machines of a run in the order of its ranks",
    kHostOrderWords, read_host_order};

}  // namespace culprit::ingest
