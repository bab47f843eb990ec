// What messages and names repeat. Written by host_tools/build/packed_words.py, for base/packing.h.
#ifndef QUADRA_BASE_SENTENCE_WORDS_H_
#define QUADRA_BASE_SENTENCE_WORDS_H_

namespace quadra {

struct SentenceWords {
  static constexpr bool IsPlaceholder(char) { return false; }
  static constexpr char kWords[] =
      "its |the |e |s | is |of |%s|t |%d |is |in|and |es |a |it |, |: |er| has |; |"
      "\nSTABLEHLO_|%zu |or|no |%d|re| %d |en|for |on|th|E\n|%s |'%s'|an |te| %s|OR|RE|d |no|"
      "to|INVALID_|st|an|ER|inpu|er |ro|de|IN|AT|not |ma|it has |AL|ON| %d|pl|ne|ri|LO|it|at|"
      "ac|option|op|ts |T_|E_|\nS|for|par|al|int|y |lo|ax|has |co|ll|supported| %|"
      " are supported|ar|rank|number|; next: |are |tion|rank %d|el|model|tensor|ha|ve |%lld|"
      "that |em|ion|shap|zu| %lld |ds |D_|LE|size |with |kernel|TION|constant '%s'|driver |"
      "constan|scal|MAX|con|buff|the shape %s|s have |another |the interpreter |OpenGL ES|"
      "needs |outpu|, which|the model ru|up to |s are no |elements|rank %d; rank|an axis of %d|"
      ": %s; next: |OpenCL |library|memory|do not fit |only |index|computed |bytes; |takes |"
      "s of %d |its input %d |needed|_DI|TO_|used |, or |its plan |make |other |must be |"
      "delegate|holds |key \"%s\"|mage|shape %s|window |its result has |its decomposition|"
      "quantized |_SIZE\n|SLIC|RAN|\nREDUCE_|does not |what |cannot be |graph|=%s: |before |"
      "sizes |tensor '%s' has |its resul|of %zu|\"%s\"|int64|blocks of %d|weights |channel|"
      "do not |values |kernel %s |positiv|MEM|_NOT_|COMP|PRO|HASHTABLE|damaged|there is no |"
      "in the model|its state |along |keeps |its input has |level %zu of its sparsity |"
      "more than |float32|'%s' allows |\n\n\n\n|KERNE|DIRECTIONAL_SEQUENCE_|EQUAL\n|SUM\n|"
      "UNSORTED_SEGMENT_|option inference_priority|inference_priority|dimens|it makes %s; |"
      "its operands |batch|more than 2^31 |lists |float32 and |indices |its option %s is no |"
      "work-item|helps|activation|2^31 |this backend |callers|OUT_OF_|backend=opencl|"
      "_FAILURE\n|IMAGE_FORMAT|PROGRAM|allows |beyond 32 bit|POOL_2D\n|CONCAT|DEPTH|QUAN|"
      "TIZE\n|PACE_|BATCH|TRANSPOSE\n";
};

}  // namespace quadra

#endif  // QUADRA_BASE_SENTENCE_WORDS_H_
