// What messages and names repeat. Written by host_tools/build/packed_words.py, for base/packing.h.
#ifndef QUADRA_BASE_SENTENCE_WORDS_H_
#define QUADRA_BASE_SENTENCE_WORDS_H_

namespace quadra {

struct SentenceWords {
  static constexpr bool IsPlaceholder(char) { return false; }
  static constexpr char kWords[] =
      "its |the |e |s |of | is |%d |t |%s|: |is |er|a |and |it |; |in|, |es | has |no |%zu |"
      "\nSTABLEHLO_|or|%d|re| %d |th|on| %d|for |%s | %s|an |E\n|ar|te|'%s'|en|d |rank|OR|RE|"
      "st|to|INVALID_|an|no|ER|er |inpu|it has |de|IN|AT|ma|pl|AL|not |ON|ne|ri|LO|al|at|ac|"
      "option|T_|E_|\nS|for|int|ll|ts |lo|ax|has |ou|y |op| %| are supported|it|supported|co|"
      "; next|bytes|tion|ns|are |ha|ve |model|tensor|%lld|size |that |shap|zu| %lld |ds |ion|"
      "D_|LE|with |kernel|numbers|el|TION|constant '%s'|driver |outpu|constan|scal|s have |MAX|"
      "con|buff|another |the interpreter |memory|OpenGL ES|needs |, which|the model ru|"
      "the shape %s|numbers |up to |s are no |elements|weights|rank %d; rank|an axis of %d|"
      ": %s; next: |OpenCL |library|make |do not fit |only |index|computed |takes |"
      "its input %d |needed|_DI|TO_|used |, or |its plan |other |must be |delegate|sizes |"
      "holds |key \"%s\"|mage|shape %s|window |its result has |its decomposition|quantized |"
      "numb|_SIZE\n|SLIC|RAN|\nREDUCE_|process|does not |what |cannot be |graph|=%s: |before |"
      "tensor '%s' has |its resul|of %zu|\"%s\"|int64|blocks of %d|channel|do not |values |"
      "is empt|kernel %s |positiv|MEM|_NOT_|COMP|PRO|HASHTABLE|damaged|there is no |"
      "in the model|its state |along |keeps |its input has |pixel|level %zu of its sparsity |"
      "more than |float32|'%s' allows |\n\n\n\n|KERNE|DIRECTIONAL_SEQUENCE_|EQUAL\n|SUM\n|"
      "UNSORTED_SEGMENT_|option inference_priority|inference_priority|it makes %s; |"
      "its operands |batch|groups |more than 2^31 |lists |float32 and |indices |"
      "its option %s is no |work-item|helps|activation|2^31 |precis|f32_f16|this backend |"
      "callers|OUT_OF_|backend=opencl|opencl|_FAILURE\n|IMAGE_FORMAT|PROGRAM|allows |"
      "beyond 32 bit|POOL_2D\n|CONCAT|DEPTH|QUAN|TIZE\n|PACE_|BATCH|TRANSPOSE\n";
};

}  // namespace quadra

#endif  // QUADRA_BASE_SENTENCE_WORDS_H_
