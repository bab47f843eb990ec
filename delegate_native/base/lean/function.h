// Replaces std::function in a third of its code; the standard header takes longer to compile
// than most files that need one.
#ifndef QUADRA_BASE_LEAN_FUNCTION_H_
#define QUADRA_BASE_LEAN_FUNCTION_H_

#include <cstddef>
#include <memory>
#include <utility>

namespace quadra {

template <typename Signature>
class Function;

// Copies share the callable, which is called as a constant. Without one, it must not be called.
template <typename Result, typename... Arguments>
class Function<Result(Arguments...)> {
 public:
  Function() = default;
  Function(std::nullptr_t) {}
  template <typename Callable>
  Function(Callable callable)
      : callable_(static_cast<Any*>(new Of<Callable>(std::move(callable)))) {}

  explicit operator bool() const { return callable_ != nullptr; }
  Result operator()(Arguments... arguments) const { return callable_->Call(arguments...); }

 private:
  struct Any {
    virtual ~Any() = default;
    virtual Result Call(Arguments... arguments) const = 0;
  };
  template <typename Callable>
  struct Of final : Any {
    explicit Of(Callable it) : callable(std::move(it)) {}
    Result Call(Arguments... arguments) const override { return callable(arguments...); }
    const Callable callable;
  };

  std::shared_ptr<const Any> callable_;
};

}  // namespace quadra

#endif  // QUADRA_BASE_LEAN_FUNCTION_H_
