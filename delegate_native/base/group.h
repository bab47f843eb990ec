// How many work-items run together as a group, and where a kernel's text says so.
#ifndef QUADRA_BASE_GROUP_H_
#define QUADRA_BASE_GROUP_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace quadra {

// Along x, y, z. All 0: not said.
using Group = std::array<int32_t, 3>;

inline int64_t ItemsOf(const Group& group) { return int64_t{group[0]} * group[1] * group[2]; }

// The declaration of the group: in OpenCL before the kernel, in OpenGL ES before everything else.
std::string GroupText(bool gles, const Group& group);
// The text with `to` in the place of `from`, where it has that.
std::string Replaced(std::string text, const std::string& from, const std::string& to);

// The group with at most so many work-items (1 or more): its longest sides are halved.
Group Shrunk(Group group, int most);

}  // namespace quadra

#endif  // QUADRA_BASE_GROUP_H_
