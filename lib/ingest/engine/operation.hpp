// Names of collective operations and element types, as the rows spell them, from the spellings of
// those who print them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace culprit::ingest {

// ALLREDUCE -> all_reduce, _ALLGATHER_BASE -> _all_gather_base, ALLTOALL_BASE -> all_to_all,
// COALESCED -> coalesced: what the flight recorder of the same process calls it. A name not known
// comes back in lower case.
std::string torch_operation(std::string_view name);

// AllReduce -> all_reduce, AlltoAll -> all_to_all, AllGatherV -> all_gather_v, Send -> send.
std::string nccl_operation(std::string_view name);

// NCCL's datatype codes. An unknown code has no name and no size.
struct ElementType {
  std::string_view name;
  int bytes = 0;
};
ElementType nccl_type(std::int64_t code);

inline bool is_p2p(std::string_view operation) {
  return operation == "send" || operation == "recv";
}

// commHash and commId are printed as 0xf9c2, f9c2 and 000000000000f9c2: one spelling of them.
std::string normal_hash(std::string_view text);

}  // namespace culprit::ingest
