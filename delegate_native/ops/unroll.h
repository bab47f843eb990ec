// Generated kernels: text repeated per register, filled in, and in braces.
#ifndef QUADRA_OPS_UNROLL_H_
#define QUADRA_OPS_UNROLL_H_

#include <initializer_list>
#include <string>

namespace quadra {

// The pattern for every i below n, `$` standing for i.
std::string Unroll(int n, const char* pattern);
// The pattern for every i below n and j below m (j runs fastest), `$` for i and `@` for j.
std::string Unroll(int n, int m, const char* pattern);

// The text with words[n] in place of each `$n`.
std::string Filled(const char* text, std::initializer_list<const char*> words);

// `head { body }`: what writes the opening brace writes the closing one.
std::string Block(const char* head, const std::string& body);

// What a text says before the condition that a work-item is beyond the grid. A return masks all
// that follows where work-items are lanes of a vector, which costs the compiler much time. There
// they cost nothing: they read what is no part of the source, which an image answers with zeros,
// and write where `inside` only.
constexpr char kLeaveOutside[] = "if ", kKeepOutside[] = "bool inside = !";

// for (int `i` = `from`; `more`; `i` += `step`) { body }. Where work-items run one after another,
// as lanes of a vector, the test is behind the body, which so runs at least once: a body that
// follows its test runs once more, for no lane.
std::string Loop(bool serial, const char* i, const char* from, const char* more, int step,
                 const std::string& body);

inline std::string Unroll(int n, const std::string& pattern) { return Unroll(n, pattern.c_str()); }
inline std::string Unroll(int n, int m, const std::string& pattern) {
  return Unroll(n, m, pattern.c_str());
}
inline std::string Block(const std::string& head, const std::string& body) {
  return Block(head.c_str(), body);
}

}  // namespace quadra

#endif  // QUADRA_OPS_UNROLL_H_
