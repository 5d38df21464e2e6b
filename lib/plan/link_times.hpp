// Whose fault slow transfers are, by the measured times of many pairs: a host is slow with all its
// partners, a link with one. log t = common + host + host (or sender + receiver, where each host
// has enough transfers of either kind) + link, by least squares in which links that stay far off
// lose their weight (iteratively reweighted; Tukey's biweight, Beaton & Tukey 1974). So do all
// links of a host that is very slow: who is slow with each of two partners or more is one slow
// host.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace culprit::plan {

struct LinkTime {
  std::size_t from = 0, to = 0;  // positions in the list of hosts
  double time = 0;               // of one transfer of the same size, any unit
};

struct LinkTimeParams {
  double factor = 1.10;       // GREYHOUND section 4.3: slow is what exceeds the middle by over 10 %
  double threshold = 4;       // and by so many deviations
  std::size_t least = 4;      // measured pairs
  std::size_t of_a_host = 2;  // its transfers, to accuse it and not a link
};

struct SlowEnd {
  enum class Side { both, sends, receives };
  std::size_t host = 0;
  Side side = Side::both;
  double factor = 1, score = 0;     // against the middle; deviations of the estimate
  std::size_t slow = 0, links = 0;  // of its transfers
};

struct SlowLink {
  std::size_t from = 0, to = 0;
  double time = 0, expected = 0, score = 0;  // expected: by what its two ends do with others
};

struct LinkTimes {
  bool enough = false;
  double middle = 0;            // of all, in the unit of the times
  double spread = 0;            // relative, between healthy links
  std::vector<SlowEnd> hosts;   // worst first
  std::vector<SlowLink> links;  // worst first
  std::vector<std::size_t>
      once;                  // slow in the one transfer they took part in: host or link, by order
  std::size_t unusable = 0;  // no positive number, or to itself
};

// Pairs that were measured several times count with the median. Order does not matter.
LinkTimes attribute_link_times(std::span<const LinkTime> times, std::size_t hosts,
                               const LinkTimeParams& params = {});

}  // namespace culprit::plan
