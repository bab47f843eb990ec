// The natives of Java's org.quadra.gpu.QuadraNative. Text crosses as UTF-8 bytes: JNI's own strings
// are encoded otherwise.
#include <jni.h>
#include <time.h>

#include <string>
#include <utility>

#include "delegate_native/base/status.h"
#include "delegate_native/delegate/delegate.h"
#include "delegate_native/delegate/options.h"
#include "delegate_native/delegate/probe.h"
#include "delegate_native/delegate/quadra.h"

namespace quadra {
namespace {

constexpr char kClass[] = "org/quadra/gpu/QuadraNative";

TfLiteDelegate* FromHandle(jlong handle) {
  // Java has no pointers. NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<TfLiteDelegate*>(static_cast<intptr_t>(handle));
}

// Null where Java has no memory left; its exception is then pending.
jbyteArray ToBytes(JNIEnv* env, const std::string& text) {
  const jsize size = static_cast<jsize>(text.size());
  jbyteArray bytes = env->NewByteArray(size);
  if (bytes) env->SetByteArrayRegion(bytes, 0, size, reinterpret_cast<const jbyte*>(text.data()));
  return bytes;
}

std::string FromBytes(JNIEnv* env, jbyteArray bytes) {
  std::string text(static_cast<size_t>(env->GetArrayLength(bytes)), '\0');
  env->GetByteArrayRegion(bytes, 0, static_cast<jsize>(text.size()),
                          reinterpret_cast<jbyte*>(&text[0]));
  return text;
}

// `words` is key NUL value NUL …
Status ReadOptions(JNIEnv* env, jbyteArray words, Options* options) {
  const std::string text = FromBytes(env, words);
  QUADRA_RETURN_IF_ERROR(DefaultOptions(options));
  for (size_t at = 0; at < text.size();) {
    const std::string key = text.c_str() + at;
    at += key.size() + 1;
    if (at >= text.size()) return Internal("the option '%s' came without a value", key.c_str());
    const std::string value = text.c_str() + at;
    at += value.size() + 1;
    QUADRA_RETURN_IF_ERROR(SetOption(key, value, options));
  }
  return Status();
}

// Puts the sentence where Java looks for it; says whether there was none.
bool Succeeded(JNIEnv* env, const Status& status, jobjectArray error) {
  if (status.ok()) return true;
  jbyteArray sentence = ToBytes(env, status.message());
  if (sentence) env->SetObjectArrayElement(error, 0, sentence);
  return false;
}

// A Java object that is told the verdicts, and what tells it: QuadraNative.tell.
struct JavaListener {
  JavaVM* vm;
  jobject listener;
  jclass teller;
  jmethodID tell;
};

// On a thread that Java knows: it is there that interpreters are made.
void TellJava(void* data, const QuadraVerdict* verdict) {
  const JavaListener& java = *static_cast<JavaListener*>(data);
  JNIEnv* env = nullptr;
  if (java.vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_6) != JNI_OK) return;
  jbyteArray json = ToBytes(env, ToJson(*verdict));
  if (!json) return;
  env->CallStaticVoidMethod(java.teller, java.tell, java.listener, json);
  env->DeleteLocalRef(json);
}

// Null where Java has no memory left.
JavaListener* Listener(JNIEnv* env, jclass caller, jobject listener) {
  JavaVM* vm = nullptr;
  const jmethodID tell =
      env->GetStaticMethodID(caller, "tell", "(Lorg/quadra/gpu/VerdictListener;[B)V");
  if (!tell || env->GetJavaVM(&vm) != JNI_OK) return nullptr;
  return new JavaListener{vm, env->NewGlobalRef(listener),
                          static_cast<jclass>(env->NewGlobalRef(caller)), tell};
}

jlong Create(JNIEnv* env, jclass caller, jbyteArray words, jobject listener, jobjectArray error) {
  Options options;
  Status status = ReadOptions(env, words, &options);
  if (status.ok()) status = CheckOptions(options);
  if (!Succeeded(env, status, error)) return 0;
  VerdictListener told;
  if (listener) {
    told = {TellJava, Listener(env, caller, listener)};
    if (!told.data) return 0;  // with Java's exception
  }
  TfLiteDelegate* delegate = (new Delegate(std::move(options), told))->c_delegate();
  return static_cast<jlong>(reinterpret_cast<intptr_t>(delegate));
}

void Destroy(JNIEnv* env, jclass, jlong handle) {
  TfLiteDelegate* delegate = FromHandle(handle);
  auto* java = static_cast<JavaListener*>(Delegate::From(delegate)->listener().data);
  QuadraDelegateDelete(delegate);
  if (!java) return;
  env->DeleteGlobalRef(java->listener);
  env->DeleteGlobalRef(java->teller);
  delete java;
}

jbyteArray Report(JNIEnv* env, jclass, jlong handle) {
  return ToBytes(env, Delegate::From(FromHandle(handle))->Report());
}

// `numbers` are all of a direct buffer.
void ReadState(JNIEnv* env, jclass, jlong handle, jbyteArray name, jobject numbers,
               jobjectArray error) {
  const Delegate* const delegate = Delegate::From(FromHandle(handle));
  Succeeded(env,
            delegate->states().Read(FromBytes(env, name), env->GetDirectBufferAddress(numbers),
                                    static_cast<size_t>(env->GetDirectBufferCapacity(numbers))),
            error);
}

// Null: zeros, without a name in all states.
void WriteState(JNIEnv* env, jclass, jlong handle, jbyteArray name, jobject numbers,
                jobjectArray error) {
  const std::string text = name ? FromBytes(env, name) : std::string();
  const void* const from = numbers ? env->GetDirectBufferAddress(numbers) : nullptr;
  const size_t bytes =
      numbers ? static_cast<size_t>(env->GetDirectBufferCapacity(numbers)) : size_t{0};
  const Delegate* const delegate = Delegate::From(FromHandle(handle));
  Succeeded(env, delegate->states().Write(name ? text.c_str() : nullptr, from, bytes), error);
}

jbyteArray Probe(JNIEnv* env, jclass, jbyteArray words, jobjectArray error) {
  Options options;
  if (!Succeeded(env, ReadOptions(env, words, &options), error)) return nullptr;
  return ToBytes(env, ProbeBackends(options));
}

// Android's Java API gives the processor time of a process in milliseconds, too coarse for an
// inference.
jlong CpuTimeNanos(JNIEnv*, jclass) {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<jlong>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

template <typename Function>
JNINativeMethod Method(const char* name, const char* signature, Function function) {
  return {const_cast<char*>(name), const_cast<char*>(signature), reinterpret_cast<void*>(function)};
}

}  // namespace
}  // namespace quadra

extern "C" QUADRA_EXPORT jint JNI_OnLoad(JavaVM* vm, void*) {
  JNIEnv* env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_6) != JNI_OK) return JNI_ERR;
  jclass java = env->FindClass(quadra::kClass);
  if (!java) {  // the library is used without its Java API
    env->ExceptionClear();
    return JNI_VERSION_1_6;
  }
  const JNINativeMethod methods[] = {
      quadra::Method("create", "([BLorg/quadra/gpu/VerdictListener;[[B)J", &quadra::Create),
      quadra::Method("destroy", "(J)V", &quadra::Destroy),
      quadra::Method("report", "(J)[B", &quadra::Report),
      quadra::Method("readState", "(J[BLjava/nio/ByteBuffer;[[B)V", &quadra::ReadState),
      quadra::Method("writeState", "(J[BLjava/nio/ByteBuffer;[[B)V", &quadra::WriteState),
      quadra::Method("probe", "([B[[B)[B", &quadra::Probe),
      quadra::Method("cpuTimeNanos", "()J", &quadra::CpuTimeNanos),
  };
  const jint count = static_cast<jint>(sizeof(methods) / sizeof(methods[0]));
  return env->RegisterNatives(java, methods, count) == JNI_OK ? JNI_VERSION_1_6 : JNI_ERR;
}
