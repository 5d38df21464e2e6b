// Tables of what a collective library counts (Aegis, NSDI 2025, section 4.2.2) while a job hangs:
// launches (CL), work requests (WR) and completions (WC) of each rank, communicator and peer. Every
// iteration has two collectives within each machine and one across all of them, in that order.
#include <fmt/format.h>

#include "simulate/bundle.hpp"
#include "simulate/words.hpp"

namespace culprit::simulate {

namespace {

constexpr int kWithin = 2;         // collectives of an iteration within a machine
constexpr int kHistory = 4;        // rows of each rank, communicator and peer
constexpr int kMostOpen = 4;       // requests of an operation that are not over, for each peer
constexpr double kUsualMs = 0.42;  // of one request

struct Counts {
  std::int64_t launches = 0, requests = 0, completions = 0;
};

class CounterTable {
 public:
  CounterTable(const Cast& cast, Dice dice)
      : cast_(cast),
        dice_(dice),
        fault_(cast.data()["counters"].get<std::string>()),
        iterations_(dice_.between(200, 6000)),
        form_(dice_.pick(kForms)),
        by_host_(dice_.chance(0.5)),
        // Nothing but the peer tells to whom requests go.
        peers_(fault_ == "destination" || dice_.chance(0.5)),
        names_host_(dice_.chance(0.7)),
        dated_(dice_.chance(0.5)) {}

  void write(Files& files) {
    for (int rank = 0; rank < cast_.world(); ++rank) {
      if (cast_.per_host > 1) rows({rank, true}, files);
      rows({rank, false}, files);
    }
  }

 private:
  struct Form {
    const char* ending;
    char separator;  // 0: JSON lines
  };
  static constexpr Form kForms[] = {{"csv", ','}, {"tsv", '\t'}, {"jsonl", 0}};
  // One rank in one of its communicators.
  struct Seat {
    int rank;
    bool within;
  };
  using Cells = std::vector<std::pair<const char*, std::string>>;

  int host_of(int rank) const { return rank / cast_.per_host; }
  int size_of(Seat seat) const {
    return seat.within ? cast_.per_host : static_cast<int>(cast_.hosts.size());
  }
  int neighbour(Seat seat, int step) const {
    const int size = size_of(seat), stride = seat.within ? 1 : cast_.per_host;
    const int first =
        seat.within ? host_of(seat.rank) * cast_.per_host : seat.rank % cast_.per_host;
    const int place = (seat.rank - first) / stride;
    return first + (place + step + size) % size * stride;
  }

  // Launches beyond those of whole iterations, and whether the last of them is not over.
  std::pair<int, bool> beyond(Seat seat) const {
    if (fault_ == "behind") {
      if (seat.rank == cast_.guilty.rank) return {0, false};
      if (host_of(seat.rank) == cast_.guilty.host) return {seat.within ? 1 : 0, seat.within};
      return seat.within ? std::pair{kWithin, false} : std::pair{1, true};
    }
    // The collective across machines stands; who is in another one goes on to the next within its
    // machine, and waits there.
    const bool stuck = seat.rank % cast_.per_host == cast_.guilty.rank % cast_.per_host;
    if (!seat.within) return {1, stuck};
    return {kWithin + (stuck ? 0 : 1), !stuck};
  }

  Counts counts(Seat seat, int peer) {
    const auto [more, open] = beyond(seat);
    const std::int64_t each = 2 * (size_of(seat) - 1);
    Counts out;
    out.launches = iterations_ * (seat.within ? kWithin : 1) + more;
    out.requests = out.completions = out.launches * each;
    if (!open) return out;
    if (fault_ != "behind" && !seat.within) {
      if ((fault_ == "source" ? seat.rank : peer) == cast_.guilty.rank)
        out.completions -= dice_.between(1, std::min<std::int64_t>(kMostOpen, each));
      return out;
    }
    // Of an operation that somebody never launched no more is over than was sent.
    const std::int64_t sent = dice_.between(0, each);
    out.requests += sent - each;
    out.completions += dice_.between(0, sent) - each;
    return out;
  }

  void rows(Seat seat, Files& files) {
    std::vector<int> peers{neighbour(seat, 1)};
    if (peers_ && neighbour(seat, -1) != peers[0]) peers.push_back(neighbour(seat, -1));
    for (const int peer : peers) {
      const Counts last = counts(seat, peer);
      const std::int64_t each = 2 * (size_of(seat) - 1);
      for (int ago = kHistory - 1; ago >= 0; --ago)
        row(seat, peer, ago,
            ago == 0 ? last
                     : Counts{last.launches - ago, (last.launches - ago) * each,
                              (last.launches - ago) * each},
            files);
    }
  }

  void row(Seat seat, int peer, int ago, const Counts& c, Files& files) {
    const Speaker who{host_of(seat.rank), seat.rank};
    const std::string host = fill(cast_, "{host}", {who}, dice_);
    Cells cells{{"communicator", seat.within ? fmt::format("tp{}", who.host)
                                             : fmt::format("dp{}", seat.rank % cast_.per_host)},
                {"rank", std::to_string(seat.rank)},
                {"CL", std::to_string(c.launches)},
                {"WR", std::to_string(c.requests)},
                {"WC", std::to_string(c.completions)},
                {"bytes", std::to_string(4 << 20)},
                {"time", fmt::format("{:.6f}", kUsualMs / 1000 * (0.85 + 0.3 * dice_.unit()))}};
    if (peers_) cells.emplace_back("peer", std::to_string(peer));
    if (dated_) {
      // The last row is of the moment at which the table was written.
      const Nanoseconds at = (ago == 0 ? cast_.collected - kMinute : cast_.onset) - ago * kSecond;
      cells.emplace_back("timestamp", fill(cast_, "{t.zs}", {who, at}, dice_));
    }
    if (names_host_) cells.emplace_back("host", host);
    std::string& text =
        files[by_host_ ? fmt::format("hosts/{}/collective-counters.{}", host, form_.ending)
                       : fmt::format("metrics/collective-counters.{}", form_.ending)];
    if (form_.separator != 0 && text.empty()) text += line(cells, true);
    text += line(cells, false);
  }

  std::string line(const Cells& cells, bool names) const {
    std::string out;
    for (const auto& [name, value] : cells) {
      if (!out.empty()) out += form_.separator == 0 ? ',' : form_.separator;
      const bool number = value.find_first_not_of("0123456789.") == value.npos;
      const char* quote = number ? "" : "\"";
      if (form_.separator == 0)
        out += fmt::format("\"{}\": {}{}{}", name, quote, value, quote);
      else
        out += names ? std::string(name) : value;
    }
    return (form_.separator == 0 ? "{" + out + "}" : out) + "\n";
  }

  const Cast& cast_;
  Dice dice_;
  std::string fault_;
  std::int64_t iterations_;
  Form form_;
  bool by_host_, peers_, names_host_, dated_;
};

}  // namespace

void count_requests(const Cast& cast, const Dice& dice, Files& files) {
  if (cast.data().contains("counters")) CounterTable(cast, dice.fork("counters")).write(files);
}

}  // namespace culprit::simulate
