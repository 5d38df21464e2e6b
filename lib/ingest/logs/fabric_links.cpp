// The links of an InfiniBand fabric as iblinkinfo lists them: links of fewer lanes or a lower rate
// than both ends could have, and switches that lost links to other switches.
//
//   Switch: 0x66657c6b33e32de7 MF0;leaf-7:MQM9700/U1:
//        31   49[  ] ==(  4X  106.25 Gbps Active/  LinkUp)==>   12   3[  ] "MF0;spine-1:MQM9700/U1"
//        ( ) 31   50[  ] ==(             Down/ Polling)==>             [  ] "" ( )
//   CA: node-7 mlx5_4:
//        0xa088  495  1[  ] ==( 1X  106.25 Gbps Active/  LinkUp)==>  18  59[  ] "leaf-4" ( Could be
//        4X )

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <re2/re2.h>

#include "ingest/engine/events.hpp"
#include "ingest/logs/fabric_names.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kFewestSwitches = 3, kFewestLinks = 4;
constexpr double kLost = 0.75;       // of the links that the usual switch has
constexpr std::size_t kFewLost = 4;  // one of so many switches may have lost links, no more

class FabricLinks final : public Kept {
 public:
  void of_switch(std::string name) {
    switch_ = fabric_node(std::move(name)).node;
    card_.clear();
  }
  void of_card(std::string host, std::string card) {
    switch_.clear();
    host_ = std::move(host);
    card_ = std::move(card);
  }
  void link(const std::string& port, const std::string& state, const std::string& far,
            const std::string& could, const Place& place, Reading& reading) {
    if (switch_.empty() && card_.empty()) return;
    const FabricPort other = fabric_node(far);
    const bool to_card = !card_.empty() || !other.of_switch;
    const std::string &host = card_.empty() ? other.node : host_,
                      &card = card_.empty() ? other.port : card_;
    if (!could.empty() && to_card)
      put_said(place, Host(host),
               fmt::format("port rate: {} of {} is {}, could be {}", card, host, state, could),
               reading);
    else if (!could.empty() && !far.empty())
      put_said(place, Host(switch_),
               fmt::format("switch port rate: port {} is {}, could be {}, link to {}", port, state,
                           could, other.node),
               reading);
    if (switch_.empty()) return;
    Switch& own = switches_[switch_];
    if (far.empty())
      own.last_down = place, ++own.down;
    else if (to_card)
      ++own.cards;
    else
      ++own.switches;
  }
  // Of switches that machines hang on, those with fewer links to other switches than is usual.
  void finish(Reading& reading) override {
    std::vector<std::size_t> all;
    for (const auto& [name, one] : switches_)
      if (one.cards > 0) all.push_back(one.switches);
    if (all.size() < kFewestSwitches) return;
    std::ranges::sort(all);
    const std::size_t usual = all[all.size() / 2];
    const auto lost = [&](const Switch& one) {
      return one.cards > 0 && one.down > 0 && usual >= kFewestLinks &&
             static_cast<double>(one.switches) <= kLost * static_cast<double>(usual);
    };
    const auto few =
        std::ranges::count_if(switches_, [&](const auto& one) { return lost(one.second); });
    if (static_cast<std::size_t>(few) * kFewLost > all.size() + kFewLost - 1) return;
    for (const auto& [name, one] : switches_)
      if (lost(one))
        put_said(one.last_down, Host(name),
                 fmt::format("switch links down: {} links to other switches, usual switches {}",
                             one.switches, usual),
                 reading);
  }

 private:
  struct Switch {
    std::size_t switches = 0, cards = 0, down = 0;  // its links, and ports without one
    Place last_down;
  };
  std::string switch_, host_, card_;  // whose links the lines below are
  std::map<std::string, Switch> switches_;
};

Outcome read_link(const TextLine& line, Reading& reading) {
  static const re2::RE2 kSwitch(R"(^Switch: 0x[0-9a-f]+ (\S.*):\s*$)"),
      kCard(R"(^CA: ([\w.-]+) ([\w-]+):\s*$)"),
      kLink(
          R"re((\d+)\[ *\] ==\(\s*(.*?)\s*\)==>.*"([^"]*)" \(\s*(?:Could be (\S+(?: \S+ Gbps)?))?\s*\))re"),
      kWidth(R"(^(\d+X\s+[\d.]+ Gbps))");
  const re2::StringPiece text(line.raw.data(), std::min<std::size_t>(line.raw.size(), 1024));
  std::string name, host, port, state, far, could;
  if (re2::RE2::PartialMatch(text, kSwitch, &name)) {
    reading.keep<FabricLinks>().of_switch(std::move(name));
    return {true};
  }
  if (re2::RE2::PartialMatch(text, kCard, &host, &name)) {
    reading.keep<FabricLinks>().of_card(std::move(host), std::move(name));
    return {true};
  }
  if (!re2::RE2::PartialMatch(text, kLink, &port, &state, &far, &could)) return {};
  std::string width;
  re2::RE2::PartialMatch(state, kWidth, &width);
  reading.keep<FabricLinks>().link(port, width.empty() ? state : width, far, could, line.place,
                                   reading);
  return {true};
}

constexpr std::string_view kLinkWords[] = {
    "Switch: 0x", ")==>  ",   " mlx5_0:",  " mlx5_1:",  " mlx5_2:",
    " mlx5_3:",   " mlx5_4:", " mlx5_5:",  " mlx5_6:",  " mlx5_7:",
    " mlx5_8:",   " mlx5_9:", " mlx5_10:", " mlx5_11:", " HCA-1:"};

}  // namespace

extern constinit const Recogniser kFabricLinks{"fabric-links", "links of a fabric by iblinkinfo",
                                               kLinkWords, read_link};

}  // namespace culprit::ingest
