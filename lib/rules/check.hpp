// The proof that a rule carries with it: its sample lines pass through the line layer and the whole
// pack.
#pragma once

#include <string>
#include <vector>

#include "rules/grammar.hpp"
#include "rules/pack.hpp"

namespace culprit::rules {

struct SampleFailure {
  std::string rule, file;
  std::string key;  // samples.fires[1]
  std::string line;
  std::string reason;  // "is taken by 'gpu-xid' (gpu_xid/79)"
};

// Every `fires` line must end with its rule, without another rule of the same severity beside it
// that neither stands over the other; every `silent` line must not. Only rules whose file is in
// `files` are checked; empty = all.
std::vector<SampleFailure> check_samples(const RulePack& pack,
                                         const std::vector<std::string>& files = {});

// The same for the samples of the grammar's speakers; no built-in rule may know them.
std::vector<SampleFailure> check_grammar(const RulePack& pack, const Grammar& grammar);

}  // namespace culprit::rules
