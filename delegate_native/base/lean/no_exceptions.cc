// Nothing here throws, so what carries exceptions is left out of Android libraries: the unwinder,
// the personality of C++ frames and the demangler of messages, 150 KB on arm64. An exception of the
// C++ library (a string that is too long) ends the process, as it would without a handler.
#ifdef __ANDROID__
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>

extern "C" {

// "Nobody catches this": __cxa_throw then ends the process with a message.
int _Unwind_RaiseException(void*) { return 5; }  // _URC_END_OF_STACK
void _Unwind_DeleteException(void*) {}
[[noreturn]] void _Unwind_Resume(void*) { abort(); }
[[noreturn]] int __gxx_personality_v0() { abort(); }
[[noreturn]] void* __cxa_begin_catch(void*) noexcept { abort(); }
char* __cxa_demangle(const char*, char*, size_t*, int* status) {
  if (status) *status = -1;
  return nullptr;
}
#ifdef __arm__
[[noreturn]] void __cxa_end_cleanup() { abort(); }
[[noreturn]] int __aeabi_unwind_cpp_pr0() { abort(); }
[[noreturn]] int __aeabi_unwind_cpp_pr1() { abort(); }
[[noreturn]] int __aeabi_unwind_cpp_pr2() { abort(); }
#endif

}  // extern "C"

[[noreturn]] void std::terminate() noexcept { abort(); }

// Strings of our own flags: those in the C++ library's archive throw.
template class std::basic_string<char>;
template std::string std::operator+(const char*, const std::string&);

// Those of the C++ library throw.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return malloc(bytes ? bytes : 1);
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return malloc(bytes ? bytes : 1);
}
void* operator new(size_t bytes) {
  void* memory = malloc(bytes ? bytes : 1);
  if (!memory) abort();
  return memory;
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void operator delete(void* memory) noexcept { free(memory); }
void operator delete[](void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t) noexcept { free(memory); }
void operator delete[](void* memory, size_t) noexcept { free(memory); }
// Nothing is aligned to more than malloc does; builds that are not optimised ask all the same.
void* operator new(size_t, std::align_val_t) { abort(); }
void operator delete(void*, size_t, std::align_val_t) noexcept { abort(); }
#endif  // __ANDROID__
