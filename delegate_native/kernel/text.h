// The language in which kernels' texts are written (docs/kernels.md). A text has named holes:
//
//   $name                 the value of that name, which has letters a to z
//   ${name}               the same before a letter
//   ${i*width+1}          a number, of numbers and values: + - * / % from left to right
//   ${i:x,y,z,w}          the word of that number: of a condition, the second where it holds
//   $if(number) TEXT      TEXT, which ends with the line, where the number is not 0
//   $if(!number) TEXT     where it is
//   $for(i, number) TEXT  TEXT for each i below the number
//
// TEXT that begins with a new line goes on to the line of its `$end`. A value may have holes, too.
// A name without a value stays as it is, so that no compiler accepts the text.
#ifndef QUADRA_KERNEL_TEXT_H_
#define QUADRA_KERNEL_TEXT_H_

#include <string>
#include <vector>

namespace quadra {

// std::string body = Text(kBody).Set("pixels", 4).Set("value", "max(v, w)");
class Text {
 public:
  // Neither the text nor names are copied.
  explicit Text(const char* text) : text_(text) {}
  explicit Text(const std::string& text) : text_(text.c_str()) {}
  ~Text();

  Text& Set(const char* name, int number);  // or a condition
  Text& Set(const char* name, const char* value);
  Text& Set(const char* name, const std::string& value);

  std::string str();
  operator std::string() { return str(); }

 private:
  struct Value {
    const char* name;
    std::string text;
  };
  enum class End { kText, kLine, kBlock };

  const std::string* Find(const char* name) const;
  int Number(const char** from, std::string* made) const;
  int Expression(const char** from, std::string* made) const;
  const char* Add(const char* from, End end, std::string* made);
  const char* AddHole(const char* from, std::string* made);
  const char* AddPart(const char* from, bool is_loop, std::string* made);

  const char* text_;
  std::vector<Value> values_;
};

}  // namespace quadra

#endif  // QUADRA_KERNEL_TEXT_H_
