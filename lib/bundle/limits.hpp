// Counts what a walk reads and tells the visitor no more than the limits allow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bundle/bundle.hpp"
#include "bundle/byte_source.hpp"

namespace culprit::bundle {

// One compressed file or archive that is being read. Bytes that reach the visitor count for every
// layer around them: a bomb of many harmless layers (42.zip) bursts the outermost one.
struct Layer {
  Layer* parent = nullptr;
  std::string path;
  std::uint64_t in = 0;  // compressed bytes that were taken ...
  std::uint64_t in_most =
      UINT64_MAX;         // ... of so many there are: a zip may have its bytes read again and again
  std::uint64_t out = 0;  // bytes this layer made of them
  std::uint64_t leaf = 0;  // bytes that came out at the innermost end

  bool burst(const Limits& limits) const;
};

const Layer* burst_layer(const Layer* innermost,
                         const Limits& limits);  // the outermost one that burst, or nullptr
Trouble expansion_trouble(const Layer& layer, const Limits& limits);
void count_leaf(Layer* innermost, std::uint64_t bytes);

// Stands between the walk and the visitor. One member is open at a time.
class Teller {
 public:
  Teller(const Limits& limits, Visitor& visitor) : limits_(limits), visitor_(visitor) {}

  bool over();  // the caller wants no more, or a limit of the whole walk is hit
  bool count(const std::string& path);  // one entry; false when there are too many of them
  bool begin(const MemberHead& head);   // true: the bytes are wanted
  bool data(std::string_view bytes);    // false: the member has to end here; the reason was told
  void end(bool complete);
  void note(const MemberHead& head);
  void own(const std::string& path) { visitor_.own(path); }
  void taken(std::uint64_t bytes) { visitor_.taken(bytes); }
  // True: unit_end() has to come. False: the unit is counted, and left alone.
  bool unit(const Unit& unit) { return visitor_.unit(unit) || (count(unit.path), false); }
  void unit_end() { visitor_.unit_end(); }
  void counted() { visitor_.counted(entries_); }
  void problem(const std::string& path, const Trouble& trouble, bool incomplete = true);

  std::uint64_t entries() const { return entries_; }
  const Limits& limits() const { return limits_; }

 private:
  const Limits& limits_;
  Visitor& visitor_;
  std::string path_;
  std::uint64_t entries_ = 0;
  std::uint64_t member_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
  bool open_ = false;
  bool cut_ = false;
  bool over_ = false;
};

}  // namespace culprit::bundle
