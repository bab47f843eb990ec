// Kernels' texts are a tenth of the library, and say the same few words again and again. So they
// are packed when they are compiled: a byte above 127 is a word of the list below.
#ifndef QUADRA_KERNEL_PACKED_TEXT_H_
#define QUADRA_KERNEL_PACKED_TEXT_H_

#include <cstddef>
#include <string>

namespace quadra {

// Packed texts may be joined, and filled in where they say $ or @; printf may not read them as its
// format. The text without packed words.
std::string Unpacked(const std::string& text);

namespace packing {

constexpr int kMostWords = 128;

// What saves most over all texts; in the order of first letters, with a stroke between them.
constexpr char kWords[] =
    "\n#define |  |    |     |        |  int | != 0| * | * dilation_| + | += | - | - 1| / |"
    " : | < | = | == | >= 0 && | ? |#define |#undef |(int)get_local_|) |) * |) + |) - |"
    ") / |) {\n|) { |)(__VA_ARGS__))|))|), |);\n|);\n    |);\n  p = p * t|, |"
    ", -32768.0f, 32767|, 0|...) ((|.000244140625f|.0f|.x|;\n|;\n    |; |; ++|GLOBAL_|"
    "GROUP_BARRIER(|LOCAL_|a, |along_|at_|batch|before_|block|cell|choose(|count_|dst_|"
    "first|float|floor|for (int |for (int i = 0; i < |from_|from_x, from_y, |global|hidden|"
    "high|if (|image|in|int|int |inverse, |is_equal(|is_less(|ivec4(|last|least_|left_|low|"
    "max(|min(|most|multiplier|num4 v = |num_lanes_from|num_with_lane(|onto_grid(|part|"
    "place|rank|read_|read_src(|read_weights(|return |right|s / dst_s|scale|shift|slice|"
    "src_|state_|step|stride_|sum|sum4_t |sum_t |sx, sy, b * src_s + |tail|to_|typedef |"
    "v = |v, |vec|vec4 |vec4(|vec4(0.|vec4(0.0f|vec4(1.0f|weights_|write_dst(|x, y, |}\n|"
    "}\n    ";

struct Words {
  int count = 0;
  const char* begin[kMostWords + 1] = {};  // each ends before the next one's stroke
  int first[128 + 1] = {};                 // the first word that begins with this letter
  bool are_fit = true;
};

// Packed texts are filled in at these.
constexpr bool IsPlaceholder(char c) { return c == '$' || c == '@' || c == '%'; }

constexpr Words FindWords() {
  Words words;
  const char* next = kWords;
  for (int letter = 0; letter < 128; ++letter) {
    words.first[letter] = words.count;
    while (*next == letter && words.count < kMostWords) {
      words.begin[words.count++] = next;
      while (*next && *next != '|') words.are_fit &= !IsPlaceholder(*next++);
      if (*next) ++next;
    }
  }
  words.first[128] = words.count;
  words.begin[words.count] = next + 1;
  words.are_fit &= !*next;
  return words;
}

constexpr Words kFound = FindWords();
static_assert(kFound.are_fit, "the words are out of order, too many, or have a placeholder");

// How many letters of the text its word `i` takes; 0 if it begins otherwise.
constexpr int Taken(const char* text, int i) {
  const int size = static_cast<int>(kFound.begin[i + 1] - kFound.begin[i]) - 1;
  for (int at = 0; at < size; ++at) {
    if (text[at] != kFound.begin[i][at]) return 0;
  }
  return size;
}

// Packs into `packed`, unless it is null, and returns how many bytes that takes.
constexpr size_t Pack(const char* text, char* packed) {
  size_t bytes = 0;
  while (*text) {
    int word = -1, taken = 1;
    const int letter = static_cast<unsigned char>(*text);
    for (int i = kFound.first[letter]; i < kFound.first[letter + 1]; ++i) {
      const int size = Taken(text, i);
      if (size > taken) word = i, taken = size;
    }
    if (packed) packed[bytes] = word < 0 ? *text : static_cast<char>(128 + word);
    ++bytes;
    text += taken;
  }
  return bytes;
}

template <size_t size>
struct Bytes {
  char bytes[size + 1] = {};
};

template <typename Literal>
constexpr auto PackedOf() {
  Bytes<Pack(Literal::Text(), nullptr)> packed;
  Pack(Literal::Text(), packed.bytes);
  return packed;
}

template <typename Literal>
constexpr auto kPacked = PackedOf<Literal>();

}  // namespace packing
}  // namespace quadra

// The literal as a packed text: a const char* that is known when this is compiled.
#define QUADRA_TEXT(literal)                                                    \
  ([] {                                                                         \
    struct Literal {                                                            \
      static constexpr const char* Text() { return literal; }                   \
    };                                                                          \
    return static_cast<const char*>(::quadra::packing::kPacked<Literal>.bytes); \
  }())

#endif  // QUADRA_KERNEL_PACKED_TEXT_H_
