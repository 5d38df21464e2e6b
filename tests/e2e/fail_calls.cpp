// A library to be preloaded: the n-th system call of a kind fails (fail_nth.cpp tells what is
// judged).
//   CULPRIT_FAIL_AT=N       which call, counted over all threads; 0: none
//   CULPRIT_FAIL_FOR=N      how many calls fail from there; a disk that stays full fails for ever
//   CULPRIT_FAIL_ERRNO=E    the error
//   CULPRIT_FAIL_READS=1    reading fails instead of opening for writing, writing, flushing,
//   renaming CULPRIT_FAIL_COUNT=FILE how many calls there were is written to this file at the end
// Standard error is left alone: there the errors are told.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<long> calls{0};
long first = 0, many = 1;
int error = ENOSPC;
bool reads = false;

long number(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atol(text);
}

__attribute__((constructor)) void begin() {
  first = number("CULPRIT_FAIL_AT", 0);
  many = number("CULPRIT_FAIL_FOR", 1);
  error = static_cast<int>(number("CULPRIT_FAIL_ERRNO", ENOSPC));
  reads = number("CULPRIT_FAIL_READS", 0) != 0;
}

__attribute__((destructor)) void end() {
  const char* path = std::getenv("CULPRIT_FAIL_COUNT");
  if (path == nullptr) return;
  char text[32];
  const int size = std::snprintf(text, sizeof text, "%ld\n", calls.load());
  const long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  static_cast<void>(!syscall(SYS_write, fd, text, size));
  syscall(SYS_close, fd);
}

bool fails(bool reading) {
  if (reading != reads) return false;
  const long n = ++calls;
  if (first == 0 || n < first || n - first >= many) return false;
  errno = error;
  return true;
}

template <class F>
F* next(F*, const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

bool for_writing(int flags) { return (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0; }

mode_t mode_of(int flags, va_list rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
}

}  // namespace

#define NEXT(name) static auto* const the = next(&name, #name)

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  NEXT(open);
  return for_writing(flags) && fails(false) ? -1 : the(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  NEXT(open64);
  return for_writing(flags) && fails(false) ? -1 : the(path, flags, mode);
}
FILE* fopen64(const char* path, const char* mode) {  // of the standard library's streams
  NEXT(fopen64);
  return mode[0] != 'r' && fails(false) ? nullptr : the(path, mode);
}
ssize_t write(int fd, const void* bytes, size_t size) {
  NEXT(write);
  return fd != 2 && fails(false) ? -1 : the(fd, bytes, size);
}
ssize_t writev(int fd, const iovec* parts, int count) {
  NEXT(writev);
  return fd != 2 && fails(false) ? -1 : the(fd, parts, count);
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t at) {
  NEXT(pwrite64);
  return fails(false) ? -1 : the(fd, bytes, size, at);
}
int fflush(FILE* file) {
  NEXT(fflush);
  return file == stdout && fails(false) ? EOF : the(file);
}
int fsync(int fd) {
  NEXT(fsync);
  return fails(false) ? -1 : the(fd);
}
int fdatasync(int fd) {
  NEXT(fdatasync);
  return fails(false) ? -1 : the(fd);
}
int ftruncate64(int fd, off64_t size) {
  NEXT(ftruncate64);
  return fails(false) ? -1 : the(fd, size);
}
int rename(const char* from, const char* to) {
  NEXT(rename);
  return fails(false) ? -1 : the(from, to);
}
int unlink(const char* path) {
  NEXT(unlink);
  return fails(false) ? -1 : the(path);
}
int mkdir(const char* path, mode_t mode) {
  NEXT(mkdir);
  return fails(false) ? -1 : the(path, mode);
}
ssize_t read(int fd, void* bytes, size_t size) {
  NEXT(read);
  return fails(true) ? -1 : the(fd, bytes, size);
}
ssize_t pread64(int fd, void* bytes, size_t size, off64_t at) {
  NEXT(pread64);
  return fails(true) ? -1 : the(fd, bytes, size, at);
}

}  // extern "C"
