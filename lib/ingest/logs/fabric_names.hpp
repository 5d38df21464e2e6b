// How tools of an InfiniBand fabric name its nodes.
#pragma once

#include <string>

#include <re2/re2.h>

namespace culprit::ingest {

// A node of the fabric, and one of its ports.
struct FabricPort {
  std::string node, port;  // port: of a card its name, of a switch filled by who knows it
  bool of_switch = true;
};

// "n41 mlx5_2" is a card of n41; "MF0;leaf-2:MQM9700/U1" the switch leaf-2.
inline FabricPort fabric_node(std::string text) {
  static const re2::RE2 kCard(R"(^([\w.-]+)[ /]((?:mlx5|HCA|ibp|roce)[\w-]*))");
  FabricPort out;
  if (re2::RE2::PartialMatch(text, kCard, &out.node, &out.port)) {
    out.of_switch = false;
    return out;
  }
  if (const std::size_t semicolon = text.find(';'); semicolon != std::string::npos)
    text.erase(0, semicolon + 1);
  out.node = text.substr(0, text.find_first_of(":/"));
  return out;
}

}  // namespace culprit::ingest
