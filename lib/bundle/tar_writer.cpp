#include "bundle/tar_writer.hpp"

#include <filesystem>
#include <new>

#include <archive.h>
#include <archive_entry.h>

namespace culprit::bundle {

struct TarWriter::Impl {
  std::string path, part;
  archive* out = nullptr;
  ~Impl() {
    if (out == nullptr) return;
    archive_write_free(out);
    std::error_code ignored;
    std::filesystem::remove(part, ignored);
  }
  Error failed() const {
    return fail(std::string("cannot write this archive: ") +
                (archive_error_string(out) == nullptr ? "" : archive_error_string(out)))
        .at({path, 0})
        .hint("is the disk full, the folder writable?");
  }
};

TarWriter::TarWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TarWriter::TarWriter(TarWriter&&) noexcept = default;
TarWriter& TarWriter::operator=(TarWriter&&) noexcept = default;
TarWriter::~TarWriter() = default;

Result<TarWriter> TarWriter::create(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  impl->part = path + ".part";
  impl->out = archive_write_new();
  if (impl->out == nullptr) throw std::bad_alloc();
  archive_write_set_format_pax_restricted(impl->out);
  if (path.ends_with("gz")) {
    archive_write_add_filter_gzip(impl->out);
    archive_write_set_filter_option(impl->out, "gzip", "timestamp",
                                    nullptr);  // the same bytes tomorrow
  } else if (path.ends_with("zst")) {
    archive_write_add_filter_zstd(impl->out);
  } else if (path.ends_with("xz")) {
    archive_write_add_filter_xz(impl->out);
  }
  if (archive_write_open_filename(impl->out, impl->part.c_str()) != ARCHIVE_OK)
    return impl->failed();
  return TarWriter(std::move(impl));
}

Result<> TarWriter::add(const std::string& name, std::int64_t mtime_s, std::uint64_t size) {
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                       archive_entry_free);
  if (entry == nullptr) throw std::bad_alloc();
  archive_entry_set_pathname(entry.get(), name.c_str());
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(size));
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0644);
  archive_entry_set_mtime(entry.get(), mtime_s, 0);
  if (archive_write_header(impl_->out, entry.get()) < ARCHIVE_WARN) return impl_->failed();
  return {};
}

Result<> TarWriter::data(std::string_view bytes) {
  while (!bytes.empty()) {
    const la_ssize_t n = archive_write_data(impl_->out, bytes.data(), bytes.size());
    if (n <= 0) return impl_->failed();
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<> TarWriter::finish() {
  if (archive_write_close(impl_->out) != ARCHIVE_OK) return impl_->failed();
  archive_write_free(impl_->out);
  impl_->out = nullptr;
  std::error_code error;
  std::filesystem::rename(impl_->part, impl_->path, error);
  if (error) return fail("cannot write this archive: " + error.message()).at({impl_->path, 0});
  return {};
}

}  // namespace culprit::bundle
