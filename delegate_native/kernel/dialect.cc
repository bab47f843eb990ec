#include "delegate_native/kernel/dialect.h"

#include "delegate_native/base/status.h"
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/constructors.h"
#include "delegate_native/kernel/prelude.h"
#include "delegate_native/kernel/renderer.h"
#include "delegate_native/kernel/text.h"

namespace quadra {
namespace {

// A text for all languages: functions are inline where the language says so, $four and $one are the
// types of four numbers and of one, $p begins the names of those of ints.
std::string InLanguage(const char* text, Language language, bool ints) {
  Text made(text);
  made.Set("inline", language == Language::kOpenCl ? "static inline" : "");
  made.Set("four", ints ? "ivec4" : "vec4").Set("one", ints ? "int" : "float");
  return made.Set("p", ints ? "int_" : "");
}

// The parts that the sources, or parts behind them, ask for.
std::string Parts(const std::string& sources, Language language) {
  std::string parts;
  for (const PreludePart* const table : {kWideParts, kPreludeParts}) {
    size_t count = 0;
    while (table[count].word) ++count;
    while (count-- > 0) {
      const PreludePart& part = table[count];
      if (sources.find(part.word) == std::string::npos &&
          parts.find(part.word) == std::string::npos) {
        continue;
      }
      const bool own = language == Language::kGles && part.gles;
      parts.insert(0, InLanguage(own ? part.gles : part.opencl, language, false));
    }
  }
  return parts;
}

}  // namespace

std::string Prelude(const Dialect& dialect, const std::string& sources) {
  const Language language = dialect.language;
  const std::string functions = InLanguage(kLaneFunctions, language, false) +
                                InLanguage(kLaneFunctions, language, true) +
                                Parts(sources, language);
  if (language == Language::kGles) {
    // Extensions come before anything else.
    return std::string("#version 310 es\n") +
           (dialect.image_units > 0 ? "#extension GL_EXT_texture_buffer : require\n" : "") +
           "precision " + (ComputesHalf(dialect.precision) ? "mediump" : "highp") + " float;\n" +
           kGlesPrelude + functions;
  }
  const bool half = StoresHalf(dialect.precision);
  // A kernel that computes with floats may read what others keep as halfs.
  const bool has_halfs = sources.find("HALF4") != std::string::npos;
  return WithCasts(kOpenClPrelude + (kOpenClWide + functions) + (has_halfs ? kOpenClHalfs : "") +
                   (half ? kOpenClHalfLanes : kOpenClLanes));
}

RenderedKernel Render(const KernelDesc& desc, const std::vector<TensorLayout>& layouts,
                      const Dialect& dialect, const std::string& entry) {
  if (dialect.language == Language::kGles) return RenderGles(desc, layouts, dialect, entry);
  RenderedKernel kernel = RenderOpenCl(desc, layouts, dialect, entry);
  kernel.source = WithCasts(kernel.source);
  return kernel;
}

}  // namespace quadra
