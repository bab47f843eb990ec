// What messages say most. Written by host_tools/build/packed_words.py, for base/packing.h.
#ifndef QUADRA_BASE_SENTENCE_WORDS_H_
#define QUADRA_BASE_SENTENCE_WORDS_H_

namespace quadra {

struct SentenceWords {
  static constexpr bool IsPlaceholder(char) { return false; }
  static constexpr char kWords[] =
      "its |s |e |the | is |t |of |%d |, |is |and |es |a |er|%s|it |or|; |: | has | %d |'%s'|"
      "%zu |on|no |in|th|for |re|an |%d|d |%s |es|en|st|ma|an|to|er |no|%s: | %d|inpu|ro|not |"
      " %s|at|te|ne|pl|it has |y |number|de|option|constan|par|it|al|li|int|ri|ac|ts |lo|ax|"
      "in |for|ar|pen|di|siz|supported|are supported|tion|em|the model|has |; next|or |ll|rank|"
      "ha|are |rank %d|kernel|: %s|op|ke|ds |tens|ch|%lld|el|ve |zu| %lld | %|shape |com|that |"
      "ion|wh|with | %s |buff|scal|driver |the shape %s|s have |co|another |byte|"
      "the interpreter |needs |outpu|, which|up to|s are no |elements|an axis of %d|model|"
      "library|only |index|computed |do not fit |takes |s of %d |its input %d |OpenCL |used |"
      "make |its plan |other |must be |delegate|context|holds |shap|bytes; |key \"%s\"|window |"
      "its result has |its decomposition|needed|quantized |rank %d; rank|: %s; next: |"
      "does not |cannot be |graph|tensor '%s' has |its resul|of %zu|\"%s\"|int64|blocks of %d|"
      "weights |channel|do not |values |positive|damaged|there is no |its state |keeps |pixel|"
      "level %zu of its sparsity |more than |float32|'%s' allows |file|"
      "option inference_priority|inference_priority|input '%s' now has |padding|it makes %s; |"
      "its operands |more than 2^31 |its input has rank %d; rank|float32 and |indices |"
      "its option %s is no |work-item|helps|2^31 |this backend |callers|backend=opencl|allows |"
      "beyond 32 bit";
};

}  // namespace quadra

#endif  // QUADRA_BASE_SENTENCE_WORDS_H_
