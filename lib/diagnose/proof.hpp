// The smallest set of lines that still gives the verdict of a bundle.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "diagnose/read.hpp"
#include "model/finding.hpp"
#include "model/result.hpp"
#include "rules/pack.hpp"
#include "store/database.hpp"
#include "diagnose/resolve.hpp"

namespace culprit::diagnose {

// What has to stay the same: the action, whom it is about, and the kind of cause.
struct ProvedVerdict {
  Action action = Action::none;
  StepId cause{};
  Precision precision = Precision::exact;
  std::vector<Subject> targets;  // sorted
  auto operator<=>(const ProvedVerdict&) const = default;
};
ProvedVerdict proved(const Verdict& verdict);

struct ProofLine {
  std::string path;        // as the report names it
  std::uint64_t line = 0;  // 1-based; 0: the file as a whole
  std::string words;       // what stands there; "" of a whole file
  ProvedVerdict without;   // the verdict when this alone is taken away
};

struct Proof {
  std::vector<ProofLine> lines;  // by path and line
  bool minimal = true;           // none of them can go
  std::size_t runs = 0;          // of the whole analysis
  std::size_t of_files = 0, of_lines = 0;
};

struct ProofRequest {
  ReadRequest read;  // of the bundle; its sources, manifest, zone and limits
  std::size_t most_runs = 3000;
  std::chrono::seconds time{300};  // a run that has begun is finished
  std::uint64_t most_bytes = 1u << 30;
};

// The bundle is read into memory, and parts of it are read again from a temporary archive, each as
// a bundle of its own. Files of formats without lines, and of more than 16 MB, are kept or left out
// as a whole. The same bundle gives the same lines unless the time runs out.
class Prover {
 public:
  // Errors: a bundle that cannot be read, standard input, one that is larger than most_bytes or
  // whose verdict is another when it is packed anew.
  static Result<Prover> read(const ProofRequest& request, const rules::RulePack& pack);
  Prover(Prover&&) noexcept;
  Prover& operator=(Prover&&) noexcept;
  ~Prover();

  const ProvedVerdict& verdict() const;
  Result<Proof> prove();
  // The lines of the proof as an archive under pseudonyms, packed as its name's ending says. The
  // verdict that it gives, with the same pseudonyms in place of names, is in `given` and `wanted`.
  struct Written {
    std::size_t files = 0;
    ProvedVerdict given, wanted;
  };
  Result<Written> write(const std::string& path);

 private:
  struct Impl;
  explicit Prover(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace culprit::diagnose
