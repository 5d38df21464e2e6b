// What exporters and tables call an instance: a host with the port that it was asked at.
#pragma once

#include <string_view>

namespace culprit::line {

// "10.0.0.3:9400" or "node-07:9100" without its port; "" for an address that means "here".
inline std::string_view without_port(std::string_view instance) {
  if (instance.starts_with("[")) {
    const std::size_t end = instance.find(']');
    instance = end == std::string_view::npos ? instance : instance.substr(1, end - 1);
  } else if (const std::size_t colon = instance.find(':');
             colon != std::string_view::npos &&
             instance.find(':', colon + 1) == std::string_view::npos) {
    instance = instance.substr(0, colon);
  }
  return instance == "localhost" || instance.starts_with("127.") || instance == "0.0.0.0" ||
                 instance == "::1" || instance == "::"
             ? std::string_view{}
             : instance;
}

}  // namespace culprit::line
