// Which errors of communication a layer of replicas survives (FT-HSDP section 4.2):
// rules/tables/survival.json has them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::rules {

struct CommunicationError {
  std::string name;          // ncclRemoteError, "time-out" ...
  bool recoverable = false;  // the work can be tried again without the peer; else the process quits
  std::vector<std::string> words;
  std::string why, source;
};

// The first whose word stands in the message, or null.
const CommunicationError* communication_error(std::string_view message);
std::span<const CommunicationError> communication_errors();

}  // namespace culprit::rules
