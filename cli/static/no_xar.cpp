// Linked into the static program only. Writing tar pulls libarchive's list of all formats, that the
// one for xar, that libxml2, and that 31 MB of ICU's tables, which nothing here ever asks for.
#include <archive.h>

extern "C" int archive_write_set_format_xar(struct archive*) { return ARCHIVE_FATAL; }
