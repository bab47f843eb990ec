// Texts that are packed when they are compiled: words that many of them say take a byte or two.
//
// A list of words is a struct with kWords, the words with a stroke between them, those first that
// are said most, and IsPlaceholder(c), for letters that stay as they are, as does what follows.
#ifndef QUADRA_BASE_PACKING_H_
#define QUADRA_BASE_PACKING_H_

#include <cstddef>
#include <string>

namespace quadra {
namespace packing {

// The first 128 words are a byte above 127. The others are two: one up to 8, and one above 127.
constexpr int kOneByte = 128;
constexpr int kMostWords = kOneByte + 8 * 128;

// Which list the words with these first letters are in. The compiler walks over each text: short
// lists are half of the time of a source.
constexpr int kPairs = 512;
constexpr int PairOf(const char* text) { return (text[0] * 31 + text[1]) & (kPairs - 1); }

constexpr int BytesOf(int word) { return word < kOneByte ? 1 : 2; }

constexpr size_t LengthOf(const char* text) {
  size_t length = 0;
  while (text[length]) ++length;
  return length;
}

struct Words {
  int count = 0;
  const char* begin[kMostWords + 1] = {};  // each ends before the next one's stroke
  int first[kPairs] = {};                  // the words that begin with these two letters, plus one
  int next[kMostWords] = {};
  bool are_fit = true;

  constexpr int Length(int i) const { return static_cast<int>(begin[i + 1] - begin[i]) - 1; }
};

template <class List>
constexpr Words FindWords() {
  Words words;
  const char* c = List::kWords;
  for (; *c && words.count < kMostWords; ++words.count) {
    words.begin[words.count] = c;
    for (; *c && *c != '|'; ++c) words.are_fit &= *c > 8 && !List::IsPlaceholder(*c);
    words.begin[words.count + 1] = c + 1;
    words.are_fit &= words.Length(words.count) > 1;
    if (*c) ++c;
  }
  words.are_fit &= !*c;
  for (int i = words.count; i-- > 0;) {
    int& first = words.first[PairOf(words.begin[i])];
    words.next[i] = first;
    first = i + 1;
  }
  return words;
}

template <class List>
constexpr Words kFound = FindWords<List>();

// How many letters of the text the word takes; 0 if it says something else.
constexpr int Taken(const Words& words, const char* text, int word) {
  const int length = words.Length(word);
  for (int at = 0; at < length; ++at) {
    if (text[at] != words.begin[word][at]) return 0;
  }
  return length;
}

// The fewest bytes for each end of the text, and the word that begins it, or -1.
template <size_t size>
struct Parsed {
  int bytes[size + 1] = {};
  int word[size + 1] = {};
};

// Words as long as `longest` are not used: a word is packed with shorter ones.
template <class List, size_t size>
constexpr Parsed<size> Parse(const char* text, int longest) {
  const Words& words = kFound<List>;
  Parsed<size> parsed;
  for (size_t at = LengthOf(text); at-- > 0;) {
    parsed.bytes[at] = 1 + parsed.bytes[at + 1];
    parsed.word[at] = -1;
    if (at > 0 && List::IsPlaceholder(text[at - 1])) continue;
    for (int i = words.first[PairOf(text + at)]; i > 0;) {
      const int word = i - 1;
      i = words.next[word];
      const int taken = Taken(words, text + at, word);
      if (!taken || taken >= longest) continue;
      const int bytes = BytesOf(word) + parsed.bytes[at + static_cast<size_t>(taken)];
      if (bytes < parsed.bytes[at]) parsed.bytes[at] = bytes, parsed.word[at] = word;
    }
  }
  return parsed;
}

// The end of what was written.
template <size_t size>
constexpr char* Write(const char* text, const Words& words, const Parsed<size>& parsed, char* to) {
  for (size_t at = 0; text[at];) {
    const int word = parsed.word[at];
    if (word < 0) {
      *to++ = text[at++];
      continue;
    }
    if (word >= kOneByte) *to++ = static_cast<char>(word / 128);
    *to++ = static_cast<char>(128 + word % 128);
    at += static_cast<size_t>(words.Length(word));
  }
  return to;
}

template <size_t size>
struct Bytes {
  char bytes[size + 1] = {};
};

constexpr int kAnyLength = 1 << 30;

template <class List, class Literal>
constexpr auto PackedOf() {
  static_assert(kFound<List>.are_fit, "a word is too short, has a placeholder, or is too many");
  constexpr auto parsed = Parse<List, LengthOf(Literal::Text())>(Literal::Text(), kAnyLength);
  Bytes<static_cast<size_t>(parsed.bytes[0])> packed;
  Write(Literal::Text(), kFound<List>, parsed, packed.bytes);
  return packed;
}

template <class List, class Literal>
constexpr auto kPacked = PackedOf<List, Literal>();

// The words themselves, each packed with shorter ones, and a zero behind each.
constexpr size_t kLongestWord = 64;

template <class List>
constexpr size_t BytesOfWords() {
  size_t bytes = 0;
  for (int i = 0; i < kFound<List>.count; ++i) {
    Bytes<kLongestWord> word;
    const int length = kFound<List>.Length(i);
    for (int at = 0; at < length; ++at) word.bytes[at] = kFound<List>.begin[i][at];
    bytes += static_cast<size_t>(Parse<List, kLongestWord>(word.bytes, length).bytes[0]) + 1;
  }
  return bytes;
}

template <class List>
constexpr auto PackWords() {
  Bytes<BytesOfWords<List>()> packed;
  char* to = packed.bytes;
  for (int i = 0; i < kFound<List>.count; ++i) {
    Bytes<kLongestWord> word;
    const int length = kFound<List>.Length(i);
    for (int at = 0; at < length; ++at) word.bytes[at] = kFound<List>.begin[i][at];
    to = Write(word.bytes, kFound<List>, Parse<List, kLongestWord>(word.bytes, length), to);
    *to++ = 0;
  }
  return packed;
}

// Where the packed words are.
class Unpacker {
 public:
  Unpacker(const char* words, int count);
  void Append(const char* packed, std::string* text) const;
  std::string operator()(const std::string& packed) const;

 private:
  int count_;
  const char* begin_[kMostWords];
};

template <class List>
const Unpacker& UnpackerOf() {
  static constexpr auto kPackedWords = PackWords<List>();
  static const Unpacker* const kUnpacker = new Unpacker(kPackedWords.bytes, kFound<List>.count);
  return *kUnpacker;
}

}  // namespace packing
}  // namespace quadra

#ifdef __clang_analyzer__  // clang-tidy: packing is half of the time that a source takes it
#define QUADRA_PACKED(List, literal) literal
#else
// The literal as a packed text: a const char* that is known when this is compiled.
#define QUADRA_PACKED(List, literal)                                                            \
  ([] {                                                                                         \
    struct Literal {                                                                            \
      static constexpr const char* Text() { return literal; }                                   \
    };                                                                                          \
    return static_cast<const char*>(::quadra::packing::kPacked<::quadra::List, Literal>.bytes); \
  }())

#endif

#endif  // QUADRA_BASE_PACKING_H_
