// Deterministic training gives the same checkpoint in every run (FT-HSDP §2.2): one that differs
// comes from a machine that computes wrongly. Digests of the ranks' states in runs that should be
// equal, and who differs from the majority. A "run" may be the whole job once more, or the same
// single-host training on another host.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/result.hpp"

namespace culprit::plan {

struct Digest {
  std::string item;    // "rank 12", or a file's name when that tells no rank
  std::string digest;  // lower case
};

struct DigestRun {
  std::string name;  // of the file or the host
  std::vector<Digest> digests;
};

struct Difference {
  std::string item;
  std::vector<std::string> runs;  // those that differ from the majority; of a tie, all that have it
  std::string majority;  // the digest of more than half of the runs that have this item; "" = a tie
  std::size_t agree = 0, present = 0;  // runs with the majority's digest; runs with this item
};

struct Missing {
  std::string item;
  std::vector<std::string> runs;  // those without it
};

struct Comparison {
  std::size_t runs = 0, items = 0,
              equal =
                  0;  // equal: the same in all runs that have it, of which there are two or more
  std::vector<Difference> different;  // by item, numbers in their order
  std::vector<Missing> missing;
  std::vector<std::string>
      suspects;         // runs that differ, and no other run does where a majority tells
  std::string summary;  // one sentence
  std::vector<std::string> advice;
};

Comparison compare_digests(const std::vector<DigestRun>& runs);

// Lines "RANK DIGEST" or those of sha256sum and its like ("DIGEST  PATH", "SHA256 (PATH) =
// DIGEST"), blank lines and # comments apart. A rank is read from names such as rank_12, rank12,
// __12_0.distcp; the folder that all paths share is left out. Errors (input): a line that is none,
// with its number; the same item twice with different digests; nothing at all.
Result<DigestRun> read_digests(std::string_view text, const std::string& path);

// Appends it, in lower case.
void add_digest(DigestRun& run, std::string item, std::string_view digest);
// "12", "0012" to "rank 12"; other names stay.
std::string item_name(std::string_view key);

}  // namespace culprit::plan
