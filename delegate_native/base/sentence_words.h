// What messages and names repeat. Written by host_tools/build/packed_words.py, for base/packing.h.
#ifndef QUADRA_BASE_SENTENCE_WORDS_H_
#define QUADRA_BASE_SENTENCE_WORDS_H_

namespace quadra {

struct SentenceWords {
  static constexpr bool IsPlaceholder(char) { return false; }
  static constexpr char kWords[] =
      "its |the |e |s | is |of |%s|: |%d |t |is |in|and |a |; |it |, |es | has |er|%zu |"
      "\nSTABLEHLO_|on|no |or|%d| %d |re|th|for |en|E\n|%s | %s|an |'%s'|OR|RE|d |no|to|"
      "INVALID_|st|an|ER|inpu|er |de|IN|AT|not |te|ma|pl|it has |AL|ON| %d|ne|ri|ro|LO|it|al|"
      "at|ac|option|T_|E_|\nS|for|par|int|y |lo|ax|has |co|ll|op|supported|ts | %|"
      " are supported|ar|; next|bytes|rank|number|are |tion|rank %d|model|tensor|ha|ve |%lld|"
      "size |that |em|shap|zu| %lld |ds |D_|LE|with |kernel|el|TION|constant '%s'|driver |"
      "constan|scal|MAX|buff|the shape %s|s have |another |the interpreter |memory|OpenGL ES|"
      "needs |outpu|, which|the model ru|up to |s are no |elements|rank %d; rank|an axis of %d|"
      ": %s; next: |OpenCL |library|make |do not fit |only |index|computed |takes |s of %d |"
      "its input %d |needed|_DI|TO_|used |, or |its plan |other |must be |delegate|context|"
      "holds |key \"%s\"|mage|shape %s|window |its result has |its decomposition|quantized |"
      "_SIZE\n|SLIC|RAN|\nREDUCE_|process|does not |what |cannot be |graph|=%s: |before |"
      "sizes |tensor '%s' has |its resul|of %zu|\"%s\"|int64|blocks of %d|weights |channel|"
      "do not |values |kernel %s |positiv|MEM|_NOT_|COMP|PRO|HASHTABLE|damaged|there is no |"
      "in the model|its state |along |keeps |weights|its input has |pixel|"
      "level %zu of its sparsity |more than |float32|version|'%s' allows |\n\n\n\n|KERNE|"
      "DIRECTIONAL_SEQUENCE_|EQUAL\n|SUM\n|UNSORTED_SEGMENT_|option inference_priority|"
      "inference_priority|dimension|it makes %s; |its operands |batch|more than 2^31 |lists |"
      "float32 and |indices |its option %s is no |work-item|helps|activation|2^31 |precision|"
      "f32_f16|this backend |callers|OUT_OF_|backend=opencl|opencl|_FAILURE\n|IMAGE_FORMAT|"
      "PROGRAM|allows |beyond 32 bit|POOL_2D\n|CONCAT|DEPTH|QUAN|TIZE\n|PACE_|BATCH|TRANSPOSE\n";
};

}  // namespace quadra

#endif  // QUADRA_BASE_SENTENCE_WORDS_H_
