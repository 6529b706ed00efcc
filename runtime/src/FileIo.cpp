// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Files as read-only memory maps, and whole files written atomically.

#include "FileIo.h"

#include "ErrorFormat.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace epifold::runtime {
namespace {

Error systemError(const char *verb, const std::string &path) {
  return makeError(ErrorCode::Io, "cannot {} '{}': {}", verb, path,
                   std::strerror(errno));
}

struct FileDescriptor {
  int value;
  ~FileDescriptor() {
    if (value >= 0)
      ::close(value);
  }
};

} // namespace

Expected<std::shared_ptr<const MappedFile>>
MappedFile::open(const std::string &path) {
  FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.value < 0)
    return systemError("open", path);
  struct stat status;
  if (::fstat(file.value, &status) != 0)
    return systemError("inspect", path);
  if (!S_ISREG(status.st_mode))
    return makeError(ErrorCode::Io, "cannot read '{}': not a regular file",
                     path);
  size_t size = static_cast<size_t>(status.st_size);
  void *data = nullptr;
  if (size != 0) {
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
    if (data == MAP_FAILED)
      return systemError("map", path);
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile(static_cast<const std::byte *>(data), size));
}

MappedFile::~MappedFile() {
  if (size_ != 0)
    ::munmap(const_cast<std::byte *>(data_), size_);
}

static bool isDeviceOrPipe(const std::string &path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) &&
         !S_ISDIR(status.st_mode);
}

static Expected<void>
writeAll(int file, std::span<const std::span<const std::byte>> chunks,
         const std::string &path) {
  for (std::span<const std::byte> chunk : chunks) {
    while (!chunk.empty()) {
      // One call moves at most 2 GiB on Linux.
      size_t count = std::min<size_t>(chunk.size(), size_t(1) << 30);
      ssize_t written = ::write(file, chunk.data(), count);
      if (written < 0 && errno == EINTR)
        continue;
      if (written < 0)
        return systemError("write", path);
      chunk = chunk.subspan(static_cast<size_t>(written));
    }
  }
  return {};
}

Expected<void>
writeFileAtomically(const std::string &path,
                    std::span<const std::span<const std::byte>> chunks) {
  // What is not a file is written to: a file in its place would take it away
  // from everyone else.
  if (isDeviceOrPipe(path)) {
    FileDescriptor device{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    if (device.value < 0)
      return systemError("open", path);
    return writeAll(device.value, chunks, path);
  }
  std::string temporary = path + ".XXXXXX";
  FileDescriptor file{::mkostemp(temporary.data(), O_CLOEXEC)};
  if (file.value < 0)
    return systemError("create a temporary file beside", path);
  auto fail = [&](const char *verb) {
    Error error = systemError(verb, path);
    ::unlink(temporary.c_str());
    return error;
  };
  if (Expected<void> written = writeAll(file.value, chunks, path); !written) {
    ::unlink(temporary.c_str());
    return written;
  }
  // mkostemp makes the file private; give it the mode that open would have.
  mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(file.value, 0666 & ~mask) != 0)
    return fail("set the mode of");
  if (::fsync(file.value) != 0)
    return fail("flush");
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return fail("replace");
  return {};
}

} // namespace epifold::runtime
