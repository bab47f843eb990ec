#include "delegate_native/delegate/probe.h"

#include "delegate_native/base/json_writer.h"
#include "delegate_native/delegate/backends.h"

namespace quadra {

std::string ProbeBackends(const Options& options) {
  JsonWriter json;
  json.BeginObject();
  json.Key("backends").BeginArray();
  for (const std::string& name : BackendsToTry(options)) {
    Gpu gpu;
    const Status status = OpenGpu(options, name, {}, nullptr, &gpu);
    json.BeginObject();
    json.Key("name").Text(name);
    json.Key("works").Flag(status.ok());
    json.Key("reason").Text(status.message());
    json.Key("device").Text(gpu.target.device_name);
    json.Key("vendor").Text(gpu.target.vendor);
    json.Key("version").Text(gpu.target.api_version);
    json.Key("driver").Text(gpu.target.driver);
    json.Key("half").Flag(gpu.target.supports_fp16);
    json.Key("cpu").Flag(gpu.target.vector_width > 4);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.text();
}

}  // namespace quadra
