#include "delegate_native/runner/files.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace quadra {

bool FileExists(const std::string& path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0;
}

Outcome ReadFile(const std::string& path, std::string* bytes) {
  const std::string tried = "read " + path, do_next = "push it again, where the shell may read it";
  FILE* file = fopen(path.c_str(), "rb");
  if (!file) return Outcome::Misuse(tried, strerror(errno), do_next);
  bytes->clear();
  char block[4096];
  size_t count;
  while ((count = fread(block, 1, sizeof(block), file)) > 0) bytes->append(block, count);
  const bool failed = ferror(file);
  fclose(file);
  return failed ? Outcome::Misuse(tried, "it cannot be read", do_next) : Outcome();
}

Outcome WriteFile(const std::string& folder, const std::string& name, const std::string& bytes) {
  const std::string path = folder + "/" + name, temporary = folder + "/." + name + ".new";
  FILE* file = fopen(temporary.c_str(), "wb");
  if (!file) return CannotWrite(path, errno);
  const bool written = fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const int error = errno;
  if (fclose(file) != 0 || !written) return CannotWrite(path, written ? errno : error);
  return rename(temporary.c_str(), path.c_str()) == 0 ? Outcome() : CannotWrite(path, errno);
}

Outcome MakeFolder(const std::string& path) {
  return mkdir(path.c_str(), 0755) == 0 || errno == EEXIST ? Outcome() : CannotWrite(path, errno);
}

Outcome CannotWrite(const std::string& path, int error) {
  return Outcome::Failed("write " + path, strerror(error),
                         "free space on the device, then run the model again");
}

}  // namespace quadra
