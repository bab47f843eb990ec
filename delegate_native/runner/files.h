// The files of a run folder. One is written beside its place and renamed: none is ever half there.
#ifndef QUADRA_RUNNER_FILES_H_
#define QUADRA_RUNNER_FILES_H_

#include <string>

#include "delegate_native/runner/outcome.h"

namespace quadra {

bool FileExists(const std::string& path);
Outcome ReadFile(const std::string& path, std::string* bytes);
Outcome WriteFile(const std::string& folder, const std::string& name, const std::string& bytes);
Outcome MakeFolder(const std::string& path);  // it may be there
Outcome CannotWrite(const std::string& path, int error);

}  // namespace quadra

#endif  // QUADRA_RUNNER_FILES_H_
