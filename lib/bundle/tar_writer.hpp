// Members into a tar archive, packed as its name's ending says (.gz .zst .xz, else not).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "model/result.hpp"

namespace culprit::bundle {

class TarWriter {
 public:
  // Written beside and renamed by finish(): an archive is there whole or not at all.
  static Result<TarWriter> create(const std::string& path);
  TarWriter(TarWriter&&) noexcept;
  TarWriter& operator=(TarWriter&&) noexcept;
  ~TarWriter();

  Result<> add(const std::string& name, std::int64_t mtime_s, std::uint64_t size);
  Result<> data(std::string_view bytes);  // of the member added last; as many as were promised
  Result<> finish();

 private:
  struct Impl;
  explicit TarWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace culprit::bundle
