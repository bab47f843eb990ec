#ifndef QUADRA_BASE_VERSION_H_
#define QUADRA_BASE_VERSION_H_

namespace quadra {

constexpr char kVersion[] = "0.1.0";

}  // namespace quadra

#endif  // QUADRA_BASE_VERSION_H_
