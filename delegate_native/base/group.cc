#include "delegate_native/base/group.h"

#include <algorithm>

#include "delegate_native/base/status.h"

namespace quadra {

std::string GroupText(bool gles, const Group& group) {
  const char* text = gles ? "layout(local_size_x = %d, local_size_y = %d, local_size_z = %d) in;\n"
                          : "__attribute__((reqd_work_group_size(%d, %d, %d)))";
  return Format(text, group[0], group[1], group[2]);
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

Group Shrunk(Group group, int most) {
  while (ItemsOf(group) > most) {
    int32_t* longest = std::max_element(group.begin(), group.end());
    *longest = (*longest + 1) / 2;
  }
  return group;
}

}  // namespace quadra
