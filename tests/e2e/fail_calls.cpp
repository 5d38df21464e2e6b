// A library to be preloaded: the n-th system call of a kind fails (fail_nth.cpp tells what is
// judged).
//   CULPRIT_FAIL_AT=N       which call, counted over all threads; 0: none
//   CULPRIT_FAIL_FOR=N      how many calls fail from there; a disk that stays full fails for ever
//   CULPRIT_FAIL_ERRNO=E    the error; 0: the process is killed before the call
//   CULPRIT_FAIL_KIND=KIND  write: opening for writing, writing, flushing, renaming ...; read:
//                           reading, mapping and locking of files; memory: malloc and what is like
//                           it, from main on
//   CULPRIT_FAIL_COUNT=FILE how many calls there were is written to this file at the end
// Standard error is left alone: there the errors are told.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

enum class Kind { write, read, memory };

std::atomic<long> calls{0};
long first = 0, many = 1;
int error = ENOSPC;
Kind kind = Kind::write;
std::atomic<bool> in_main{false};

long number(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atol(text);
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

__attribute__((constructor)) void begin() {
  first = number("CULPRIT_FAIL_AT", 0);
  many = number("CULPRIT_FAIL_FOR", 1);
  error = static_cast<int>(number("CULPRIT_FAIL_ERRNO", ENOSPC));
  const char* name = std::getenv("CULPRIT_FAIL_KIND");
  if (name != nullptr && std::strcmp(name, "read") == 0) kind = Kind::read;
  if (name != nullptr && std::strcmp(name, "memory") == 0) kind = Kind::memory;
  // A program that does not unwind its libraries ends as well.
  std::at_quick_exit(end);
}

bool fails(Kind asked) {
  if (asked != kind) return false;
  const long n = ++calls;
  if (first == 0 || n < first || n - first >= many) return false;
  if (error == 0) {
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    for (;;) syscall(SYS_pause);
  }
  errno = error;
  return true;
}

template <class F>
F* next(F*, const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

Kind kind_of(int flags) {
  return (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0 ? Kind::write : Kind::read;
}

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
  return fails(kind_of(flags)) ? -1 : the(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  NEXT(open64);
  return fails(kind_of(flags)) ? -1 : the(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  NEXT(openat);
  return fails(kind_of(flags)) ? -1 : the(folder, path, flags, mode);
}
FILE* fopen(const char* path, const char* mode) {
  NEXT(fopen);
  return fails(mode[0] == 'r' ? Kind::read : Kind::write) ? nullptr : the(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {  // of the standard library's streams
  NEXT(fopen64);
  return fails(mode[0] == 'r' ? Kind::read : Kind::write) ? nullptr : the(path, mode);
}
ssize_t write(int fd, const void* bytes, size_t size) {
  NEXT(write);
  return fd != 2 && fails(Kind::write) ? -1 : the(fd, bytes, size);
}
ssize_t writev(int fd, const iovec* parts, int count) {
  NEXT(writev);
  return fd != 2 && fails(Kind::write) ? -1 : the(fd, parts, count);
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t at) {
  NEXT(pwrite64);
  return fails(Kind::write) ? -1 : the(fd, bytes, size, at);
}
int fflush(FILE* file) {
  NEXT(fflush);
  return file == stdout && fails(Kind::write) ? EOF : the(file);
}
int fsync(int fd) {
  NEXT(fsync);
  return fails(Kind::write) ? -1 : the(fd);
}
int fdatasync(int fd) {
  NEXT(fdatasync);
  return fails(Kind::write) ? -1 : the(fd);
}
int ftruncate64(int fd, off64_t size) {
  NEXT(ftruncate64);
  return fails(Kind::write) ? -1 : the(fd, size);
}
int rename(const char* from, const char* to) {
  NEXT(rename);
  return fails(Kind::write) ? -1 : the(from, to);
}
int unlink(const char* path) {
  NEXT(unlink);
  return fails(Kind::write) ? -1 : the(path);
}
int mkdir(const char* path, mode_t mode) {
  NEXT(mkdir);
  return fails(Kind::write) ? -1 : the(path, mode);
}
ssize_t read(int fd, void* bytes, size_t size) {
  NEXT(read);
  return fails(Kind::read) ? -1 : the(fd, bytes, size);
}
ssize_t pread(int fd, void* bytes, size_t size, off_t at) {
  NEXT(pread);
  return fails(Kind::read) ? -1 : the(fd, bytes, size, at);
}
dirent* readdir(DIR* folder) {
  NEXT(readdir);
  return fails(Kind::read) ? nullptr : the(folder);
}
ssize_t pread64(int fd, void* bytes, size_t size, off64_t at) {
  NEXT(pread64);
  return fails(Kind::read) ? -1 : the(fd, bytes, size, at);
}
void* mmap64(void* address, size_t size, int protection, int flags, int fd, off64_t at) {
  NEXT(mmap64);
  return fd >= 0 && fails(Kind::read) ? MAP_FAILED : the(address, size, protection, flags, fd, at);
}
// The locks of SQLite.
int fcntl64(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  NEXT(fcntl64);
  const bool lock = command == F_SETLK || command == F_SETLKW;
  return lock && fails(Kind::read) ? -1 : the(fd, command, argument);
}

// The names under which glibc's own allocator can be reached, whoever stands before it.
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t size) { return in_main && fails(Kind::memory) ? nullptr : __libc_malloc(size); }
void* calloc(size_t count, size_t size) {
  return in_main && fails(Kind::memory) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* bytes, size_t size) {
  return in_main && fails(Kind::memory) ? nullptr : __libc_realloc(bytes, size);
}
void* memalign(size_t alignment, size_t size) {
  return in_main && fails(Kind::memory) ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** out, size_t alignment, size_t size) {
  *out = memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}

using Main = int(int, char**, char**);
static Main* program = nullptr;
static int counted_main(int argc, char** argv, char** environment) {
  in_main = true;
  const int status = program(argc, argv, environment);
  in_main = false;
  return status;
}
int __libc_start_main(Main* main, int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*loader_fini)(), void* stack_end) {
  NEXT(__libc_start_main);
  program = main;
  return the(counted_main, argc, argv, init, fini, loader_fini, stack_end);
}

}  // extern "C"
