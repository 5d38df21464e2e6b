#include "ingest/engine/operation.hpp"

#include <algorithm>
#include <iterator>

#include "ingest/engine/network_rows.hpp"

namespace culprit::ingest {

namespace {

void replace(std::string& text, std::string_view what, std::string_view with) {
  if (const std::size_t at = text.find(what); at != std::string::npos)
    text.replace(at, what.size(), with);
}

}  // namespace

std::string torch_operation(std::string_view name) {
  std::string out = lower(name.substr(0, 64));
  replace(out, "allreduce", "all_reduce");
  replace(out, "allgather", "all_gather");
  replace(out, "alltoall", "all_to_all");
  if (out == "all_to_all_base") return "all_to_all";
  if (out == "recvanysource") return "recv";
  return out;
}

std::string nccl_operation(std::string_view name) {
  if (name == "AlltoAll" || name == "AllToAll") return "all_to_all";
  std::string out;
  for (const char c : name.substr(0, 64)) {
    const bool capital = c >= 'A' && c <= 'Z';
    if (capital && !out.empty()) out.push_back('_');
    out.push_back(capital ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return out;
}

ElementType nccl_type(std::int64_t code) {
  static constexpr ElementType kTypes[] = {{"int8", 1},     {"uint8", 1},      {"int32", 4},
                                           {"uint32", 4},   {"int64", 8},      {"uint64", 8},
                                           {"float16", 2},  {"float32", 4},    {"float64", 8},
                                           {"bfloat16", 2}, {"float8e4m3", 1}, {"float8e5m2", 1}};
  return code >= 0 && code < static_cast<std::int64_t>(std::size(kTypes)) ? kTypes[code]
                                                                          : ElementType{};
}

std::string normal_hash(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  while (text.size() > 1 && text.front() == '0') text.remove_prefix(1);
  return "0x" + lower(text);
}

}  // namespace culprit::ingest
