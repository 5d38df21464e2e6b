#include "model/finding.hpp"

namespace culprit {

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::fired: return "fired";
    case Outcome::ruled_out: return "ruled_out";
    case Outcome::not_enough_evidence: return "not_enough_evidence";
  }
  return "";
}

}  // namespace culprit
