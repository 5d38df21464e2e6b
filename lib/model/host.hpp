// The name of a machine as a type of its own: paths, programs, devices and subjects are texts, too,
// and a text taken for a machine accuses one that is none. It reads as the text it is; a text
// becomes one only where somebody says so: Host(text).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace culprit {

class Host : public std::string {
 public:
  Host() = default;
  explicit Host(std::string name) : std::string(std::move(name)) {}
  explicit Host(std::string_view name) : std::string(name) {}
  explicit Host(const char* name) : std::string(name) {}
};

// Names that were read as those of machines.
inline std::vector<Host> hosts_of(std::vector<std::string> names) {
  std::vector<Host> out;
  out.reserve(names.size());
  for (std::string& name : names) out.emplace_back(std::move(name));
  return out;
}

// "" where it is not known.
inline const std::string& name_of(const std::optional<Host>& host) {
  static const std::string kUnknown;
  return host ? *host : kUnknown;
}

}  // namespace culprit

template <>
struct std::hash<culprit::Host> : std::hash<std::string> {};

// As the text it is: fmt 10 formats no class that is merely derived from one.
template <>
struct fmt::formatter<culprit::Host> : fmt::formatter<fmt::string_view> {};
