// Tables in which every value stands behind its own name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ingest/engine/document.hpp"
#include "model/time.hpp"

namespace culprit::ingest {

// A row: when, of which machine and device, and what is told of it. Views into the line.
//   n0519 mlx5_5 port 1 state ACTIVE rate 100 Gb/sec (1X NDR) symbol_error 88213
//   2026-11-09T16:55:00Z mds0 open=711 getattr=1343 load1=4.9
struct LabelledRow {
  struct Cell {
    std::string_view name, text, unit;
    double value = 0;  // NaN: a word
  };
  Timestamp time;  // Clock::none: not given
  std::string_view host, gpu, nic, port;
  std::vector<Cell> cells;

  std::string signature() const;  // the names, in order
};

// False: it is no such row.
bool parse_labelled_row(std::string_view line, LabelledRow& row);

// Whether the head's lines are rows with the same names, of machines or devices, and the catalogue
// of metrics has some of them. Steps of training are another reader's.
bool labelled_rows(const Head& head);

}  // namespace culprit::ingest
