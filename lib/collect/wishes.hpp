// What an open verdict asks for, out of the document of a diagnosis.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "collect/script.hpp"
#include "model/host.hpp"
#include "model/rank.hpp"

namespace culprit::collect {

// In the order of the document, the likeliest to settle it first. A rank is looked for on its host;
// of the job is of all. Errors (input): no diagnosis of ours.
Result<std::vector<Wish>> wishes_of(std::string_view document, const std::map<Rank, Host>& host_of);

}  // namespace culprit::collect
