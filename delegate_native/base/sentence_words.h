// What messages say most. Written by host_tools/build/packed_words.py, for base/packing.h.
#ifndef QUADRA_BASE_SENTENCE_WORDS_H_
#define QUADRA_BASE_SENTENCE_WORDS_H_

namespace quadra {

struct SentenceWords {
  static constexpr bool IsPlaceholder(char) { return false; }
  static constexpr char kWords[] =
      "the |its |e |s | is |t |%s|of |%d |is |es |, |and |it |a |er|: | has |or|; |'%s'|%zu |"
      "no | %d |in|for |es|on|th|re|an |%d|d |en|ma|no|to|%s |st|an|te|inpu| %d|er |ro| %s|"
      "not |at|it has |ts |; next: |ne|pl|ri|number|it|de|option|constan|par|li|int|y |lo|ax|"
      "in |for|ar|pen|di|siz|supported| %|has |are supported|ac|al|or |ll|model|rank|el|: %s|"
      "are |tion|rank %d|kernel|ke|tens|op|ve |ch|%lld|ha|that |em|ion|zu| %lld |shape |ds |"
      " %s |com|with |driver |scal|con|buff|the shape %s|s have |co|another |the interpreter |"
      "needs |outpu|, which|the model ru|up to |s are no |elements|rank %d; rank|an axis of %d|"
      "OpenCL |library|memory|do not fit |only |index|computed |bytes; |takes |s of %d |"
      "its input %d |needed|used |its plan |make |other |must be |delegate|holds |shap|"
      "key \"%s\"|window |its result has |its decomposition|quantized |does not |what |"
      "cannot be |graph|=%s: |before |tensor '%s' has |its resul|of %zu|\"%s\"|int64|"
      "blocks of %d|weights |channel|do not |values |positiv|damaged|there is no |its state |"
      "along |keeps |its input has |level %zu of its sparsity |more than |float32|'%s' allows |"
      "option inference_priority|inference_priority|it makes %s; |its operands |"
      "more than 2^31 |float32 and |indices |its option %s is no |work-item|helps|activation|"
      "2^31 |this backend |callers|backend=opencl|allows |beyond 32 bit";
};

}  // namespace quadra

#endif  // QUADRA_BASE_SENTENCE_WORDS_H_
